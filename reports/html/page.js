(function () {
	'use strict';
	var root = document.documentElement, store = null;
	try { store = window.localStorage; } catch (e) { /* a file: page may have none */ }
	root.classList.add('js');

	function all(selector, from) { return Array.prototype.slice.call((from || document).querySelectorAll(selector)); }
	function one(id) { return document.getElementById(id); }

	/* Theme: what the system says, until somebody says otherwise. */
	function dark() {
		return root.dataset.theme ? root.dataset.theme === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
	}
	function setTheme(theme) {
		root.dataset.theme = theme;
		one('theme').textContent = theme === 'dark' ? 'Light' : 'Dark';
		try { if (store) store.setItem('sandproof-theme', theme); } catch (e) { /* full or forbidden */ }
	}
	var kept = null;
	try { kept = store && store.getItem('sandproof-theme'); } catch (e) { /* forbidden */ }
	if (kept === 'dark' || kept === 'light') setTheme(kept);
	else one('theme').textContent = dark() ? 'Light' : 'Dark';
	one('theme').addEventListener('click', function () { setTheme(dark() ? 'light' : 'dark'); });

	/* Search and filter. Texts are taken at the first use: opening the page must not wait for them. */
	var search = one('search'), count = one('count'), chips = all('.filter button'), rows = null, groups = null, cards = null;
	function collect() {
		if (rows) return;
		rows = all('#cases tr.row').map(function (row) {
			return { row: row, text: row.textContent.toLowerCase(), classes: all('.v', row).map(function (v) { return v.className; }).join(' ') };
		});
		groups = all('#cases tbody');
		cards = all('#failures .card').map(function (card) {
			return { row: card, text: card.textContent.toLowerCase(), classes: card.className };
		});
	}
	function apply() {
		collect();
		var words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
		var wanted = chips.filter(function (c) { return c.getAttribute('aria-pressed') === 'true'; }).map(function (c) { return c.dataset.v; });
		function fits(item) {
			return words.every(function (w) { return item.text.indexOf(w) >= 0; }) &&
				(!wanted.length || wanted.some(function (v) { return (' ' + item.classes + ' ').indexOf(' ' + v + ' ') >= 0; }));
		}
		var shown = 0;
		rows.forEach(function (item) { shown += !(item.row.hidden = !fits(item)); });
		groups.forEach(function (g) { g.hidden = !g.querySelector('tr.row:not([hidden])'); });
		cards.forEach(function (item) { item.row.hidden = !fits(item); });
		count.textContent = words.length || wanted.length ? shown + ' of ' + rows.length + ' cases' : '';
	}
	var later = 0;
	search.addEventListener('input', function () {
		cancelAnimationFrame(later);
		later = requestAnimationFrame(apply);
	});
	chips.forEach(function (chip) {
		chip.addEventListener('click', function () {
			chip.setAttribute('aria-pressed', chip.getAttribute('aria-pressed') !== 'true');
			apply();
		});
	});
	function clear() {
		search.value = '';
		chips.forEach(function (c) { c.setAttribute('aria-pressed', 'false'); });
		apply();
	}

	/* Copying the command that runs a case again. */
	document.addEventListener('click', function (event) {
		var button = event.target.closest && event.target.closest('button.copy');
		if (!button) return;
		var pre = button.parentNode.querySelector('pre'), selection = getSelection(), range = document.createRange();
		range.selectNodeContents(pre);
		selection.removeAllRanges();
		selection.addRange(range);
		var done = false;
		try { done = document.execCommand('copy'); } catch (e) { /* the selection stays */ }
		button.textContent = done ? 'Copied' : 'Selected';
		setTimeout(function () { button.textContent = 'Copy'; }, 1500);
	});

	/* Keyboard. */
	var at = -1;
	function go(step) {
		var visible = all('#failures .card').filter(function (c) { return !c.hidden; });
		if (!visible.length) return;
		at = Math.max(0, Math.min(visible.length - 1, at + step));
		show(visible[at]);
	}
	function show(card) {
		card.scrollIntoView({ block: 'start' });
		card.setAttribute('tabindex', '-1');
		card.focus({ preventScroll: true });
		card.classList.remove('flash');
		void card.offsetWidth;
		card.classList.add('flash');
	}
	var keys = {
		'/': function () { search.focus(); search.select(); },
		j: function () { go(1); },
		k: function () { go(-1); },
		o: function () {
			var card = document.activeElement && document.activeElement.closest('.card'), d = card && card.querySelector('details');
			if (d) d.open = !d.open;
		},
		t: function () { one('theme').click(); },
		'?': function () { var d = one('keys'); if (d.open) d.close(); else d.showModal(); }
	};
	document.addEventListener('keydown', function (event) {
		var typing = /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName);
		if (event.key === 'Escape' && !one('keys').open) {
			clear();
			if (typing) event.target.blur();
			return;
		}
		if (typing || event.ctrlKey || event.metaKey || event.altKey || !keys[event.key]) return;
		event.preventDefault();
		keys[event.key]();
	});
	one('help').addEventListener('click', keys['?']);

	/* A link from the matrix. */
	function follow() {
		var target = location.hash.length > 1 && one(decodeURIComponent(location.hash.slice(1)));
		if (!target) return;
		for (var d = target; d; d = d.parentElement) if (d.tagName === 'DETAILS') d.open = true;
		if (target.classList.contains('card')) {
			if (target.hidden) clear();
			at = all('#failures .card').indexOf(target);
			show(target);
		}
	}
	addEventListener('hashchange', follow);
	if (location.hash) follow();

	/* On paper nothing can be unfolded. */
	var opened = [];
	addEventListener('beforeprint', function () {
		opened = all('details:not([open])');
		opened.forEach(function (d) { d.open = true; });
	});
	addEventListener('afterprint', function () { opened.forEach(function (d) { d.open = false; }); });
})();
