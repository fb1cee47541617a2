/* SPDX-License-Identifier: MIT */
/* The HTML report in a real Chromium: what it does, what it looks like to the keyboard, on a phone,
 * on paper, without scripts. */
#include <criterion/criterion.h>

#include <sys/stat.h>

#include <base/json.h>
#include <ci/browser.h>
#include <reports/html.h>
#include <reports/sample.h>

#define LIMIT 240

/* A page of all verdicts, two subjects, a leak, proofs, and hostile texts; and a browser that shows
 * it. */
struct fixture {
	struct sample s;
	struct sp_result_case cases[4 * SP_VERDICT_MAX_ + SAMPLE_N_HOSTILE];
	struct sp_result_defect defects[2];
	struct browser b;
	char page[300];
};

static void fill(struct fixture *f)
{
	size_t n = 0;

	for (int v = 0; v < SP_VERDICT_MAX_; v++) {
		f->cases[n++] = sample_cases[v];
		f->cases[n] = sample_cases[v];
		f->cases[n++].subject = (char *)"local:poll";
	}
	for (size_t i = 0; i < SAMPLE_N_HOSTILE; i++) {
		f->cases[n] = sample_hostile_case(sample_hostile[i], SP_FAIL);
		f->cases[n].subject = (char *)"bash";
		f->cases[n++].suite = (char *)"hostile";
	}
	f->defects[0] =
	    (struct sp_result_defect){(char *)"kill-none", (char *)"kill", (char *)"caught",
				      (char *)"kill.b.fail", (char *)"it lives"};
	f->defects[1] = (struct sp_result_defect){(char *)"kill-late", (char *)"kill",
						  (char *)"green", (char *)"", NULL};
	sample_open(&f->s, f->cases, n);
	f->s.run.leaks = sample_leaks;
	f->s.run.n_leaks = 1;
	f->s.run.end.leaks = 1;
	f->s.run.defects = f->defects;
	f->s.run.n_defects = 2;
}

/* False, with the skip named, where there is no browser. */
static bool open_fixture(struct fixture *f)
{
	struct sp_error err = SP_ERROR_INIT;

	if (!browser_is_there()) {
		cr_skip_test("there is no /usr/bin/chromium (Debian's package chromium)");
		return false;
	}
	fill(f);
	snprintf(f->page, sizeof(f->page), "%s/page.html", f->s.dir);
	cr_assert_eq(sp_html_write(&f->s.set, f->page, &err), 0, "%s", err.message);
	if (browser_open(&f->b, &err) || browser_look(&f->b, 1280, 1000, false, false, &err) ||
	    browser_load(&f->b, f->page, &err)) {
		browser_close(&f->b);
		sample_close(&f->s);
		cr_assert_fail("%s", err.message);
	}
	return true;
}

static void close_fixture(struct fixture *f)
{
	unsigned complaints = f->b.complaints;
	char complaint[512];

	snprintf(complaint, sizeof(complaint), "%s", f->b.complaint);
	browser_close(&f->b);
	sample_close(&f->s);
	cr_expect_eq(complaints, 0, "the page complained: %s", complaint);
}

/* Evaluates, and expects a value as text. */
static void expect(struct fixture *f, const char *expression, const char *expected)
{
	struct sp_error err = SP_ERROR_INIT;
	char *actual SP_FREE = browser_eval(&f->b, expression, &err);

	cr_expect(actual && !strcmp(actual, expected), "%s is %s, expected %s", expression,
		  actual ? actual : err.message, expected);
}

static void press(struct fixture *f, const char *key)
{
	struct sp_error err = SP_ERROR_INIT;

	cr_expect_eq(browser_key(&f->b, key, &err), 0, "%s: %s", key, err.message);
}

/* A frame later: what an input changes is drawn in the next one. */
#define FRAME "new Promise(r=>requestAnimationFrame(()=>requestAnimationFrame(()=>r('drawn'))))"
#define SHOWN "document.querySelectorAll('#cases tr.row:not([hidden])').length"
#define CARDS "document.querySelectorAll('#failures .card:not([hidden])').length"

Test(browser, nothing_is_fetched_and_nothing_broke_out, .timeout = LIMIT)
{
	struct fixture f;

	if (!open_fixture(&f))
		return;
	expect(&f, "performance.getEntriesByType('resource').length", "0");
	expect(&f, "typeof window.broken", "undefined");
	expect(&f, "document.scripts.length", "1");
	expect(&f, "document.images.length", "0");
	/* The text is there as text. */
	expect(&f, "document.body.textContent.includes('<img src=x onerror=window.broken=1>')",
	       "true");
	/* An event handler that somebody got in would not run. */
	expect(&f,
	       "(()=>{const i=document.createElement('div');i.innerHTML='<img src=x "
	       "onerror=\"window.broken=2\">';"
	       "document.body.append(i);return 'in'})()",
	       "in");
	expect(&f, FRAME, "drawn");
	expect(&f, "typeof window.broken", "undefined");
	f.b.complaints = 0; /* the policy told of that attempt */
	close_fixture(&f);
}

Test(browser, search_and_filter, .timeout = LIMIT)
{
	struct fixture f;
	struct sp_error err = SP_ERROR_INIT;

	if (!open_fixture(&f))
		return;
	expect(&f, SHOWN, "17");
	press(&f, "/");
	expect(&f, "document.activeElement.id", "search");
	cr_expect_eq(browser_call(&f.b, "Input.insertText", "{\"text\":\"kill.b\"}", NULL, &err),
		     0);
	expect(&f, FRAME, "drawn");
	expect(&f, SHOWN, "1");
	expect(&f, CARDS, "2");
	expect(&f, "document.getElementById('count').textContent", "1 of 17 cases");
	press(&f, "Escape");
	expect(&f, SHOWN, "17");
	expect(&f, "document.activeElement.tagName", "BODY");
	expect(&f, "document.querySelector('.filter button[data-v=s]').click()", "undefined");
	expect(&f, SHOWN, "1");
	expect(&f,
	       "document.querySelector('.filter button[data-v=s]').getAttribute('aria-pressed')",
	       "true");
	expect(&f, "document.querySelector('.filter button[data-v=w]').click()", "undefined");
	expect(&f, SHOWN, "2");
	press(&f, "Escape");
	expect(&f, SHOWN, "17");
	close_fixture(&f);
}

Test(browser, keyboard, .timeout = LIMIT)
{
	struct fixture f;

	if (!open_fixture(&f))
		return;
	press(&f, "j");
	expect(&f, "document.activeElement===document.querySelectorAll('#failures .card')[0]",
	       "true");
	press(&f, "j");
	expect(&f, "document.activeElement===document.querySelectorAll('#failures .card')[1]",
	       "true");
	press(&f, "k");
	expect(&f, "document.activeElement===document.querySelectorAll('#failures .card')[0]",
	       "true");
	expect(&f, "document.activeElement.querySelector('details').open", "true");
	press(&f, "o");
	expect(&f, "document.activeElement.querySelector('details').open", "false");
	press(&f, "t");
	expect(&f, "document.documentElement.dataset.theme", "dark");
	press(&f, "t");
	expect(&f, "document.documentElement.dataset.theme", "light");
	press(&f, "?");
	expect(&f, "document.getElementById('keys').open", "true");
	press(&f, "Escape");
	expect(&f, "document.getElementById('keys').open", "false");
	/* A link of the matrix leads to its card, even one that a filter has hidden. */
	expect(&f, "document.querySelector('.filter button[data-v=s]').click()", "undefined");
	expect(&f,
	       "(()=>{const a=document.querySelector('#matrix td.f a');a.click();return "
	       "a.hash==location.hash})()",
	       "true");
	expect(&f, FRAME, "drawn");
	expect(&f,
	       "document.activeElement.classList.contains('card')&&!document.activeElement.hidden",
	       "true");
	/* Everything that can be clicked can be reached by Tab. */
	expect(&f,
	       "[...document.querySelectorAll('a[href],button,input,summary')].filter(e=>e."
	       "tabIndex<0).length",
	       "0");
	close_fixture(&f);
}

Test(browser, a_command_is_copied, .timeout = LIMIT)
{
	struct fixture f;

	if (!open_fixture(&f))
		return;
	expect(&f,
	       "(()=>{const c=[...document.querySelectorAll('#failures .card')].find(c=>"
	       "c.textContent.includes('kill.b.fail'));c.querySelector('.copy').click();"
	       "return String(getSelection())})()",
	       "sandproof run --case kill.b.fail");
	close_fixture(&f);
}

/* Every piece of text against what is behind it: at least 4.5 to 1 (WCAG AA), in both themes. */
static const char contrast[] =
    "(()=>{const c=document.createElement('canvas').getContext('2d',{willReadFrequently:true});"
    "const "
    "rgb=s=>{c.clearRect(0,0,1,1);c.fillStyle=s;c.fillRect(0,0,1,1);return[...c.getImageData(0,0,1,"
    "1).data]};"
    "const mix=(a,b)=>{const t=a[3]/255;return[0,1,2].map(i=>a[i]*t+b[i]*(1-t)).concat(255)};"
    "const lum=p=>{const f=p.slice(0,3).map(v=>(v/=255)<=.03928?v/12.92:((v+.055)/1.055)**2.4);"
    "return .2126*f[0]+.7152*f[1]+.0722*f[2]};"
    "const behind=e=>{let "
    "l=[];for(;e;e=e.parentElement)l.push(rgb(getComputedStyle(e).backgroundColor));"
    "return l.reverse().reduce((b,a)=>mix(a,b),[255,255,255,255])};let bad=[];"
    "const seen=new Set();for(const e of document.querySelectorAll('body *')){"
    "if(e.closest('script,style,svg,.vh,dialog,.skip,[hidden]')||![...e.childNodes].some(n=>n."
    "nodeType==3&&n.data.trim()))continue;"
    "const "
    "s=getComputedStyle(e),b=behind(e),t=mix(rgb(s.color),b),k=t+'|'+b;if(seen.has(k))continue;"
    "seen.add(k);"
    "const x=lum(t),y=lum(b),r=(Math.max(x,y)+.05)/(Math.min(x,y)+.05);"
    "if(r<4.5)bad.push(e.tagName+'.'+e.className+' '+r.toFixed(2)+' "
    "'+e.textContent.trim().slice(0,20))}"
    "return bad.length?bad.slice(0,8).join('; '):'readable, '+(seen.size>8)})()";

Test(browser, text_can_be_read_in_light_and_dark, .timeout = LIMIT)
{
	struct fixture f;
	struct sp_error err = SP_ERROR_INIT;

	if (!open_fixture(&f))
		return;
	expect(&f, contrast, "readable, true");
	cr_expect_eq(browser_look(&f.b, 1280, 1000, false, true, &err), 0, "%s", err.message);
	expect(&f, "getComputedStyle(document.body).backgroundColor", "rgb(16, 19, 23)");
	expect(&f, contrast, "readable, true");
	/* No verdict is told by its colour alone. */
	expect(&f,
	       "[...document.querySelectorAll('td.v')].filter(e=>!/[✓✗▲○◐◆■]/"
	       ".test(e.textContent)).length",
	       "0");
	close_fixture(&f);
}

Test(browser, fits_a_phone, .timeout = LIMIT)
{
	struct fixture f;
	struct sp_error err = SP_ERROR_INIT;

	if (!open_fixture(&f))
		return;
	cr_expect_eq(browser_look(&f.b, 360, 740, true, false, &err), 0, "%s", err.message);
	cr_expect_eq(browser_load(&f.b, f.page, &err), 0, "%s", err.message);
	/* Tables scroll in themselves; the page never does sideways. */
	expect(
	    &f,
	    "[...document.querySelectorAll('body "
	    "*')].filter(e=>e.getBoundingClientRect().right>361&&"
	    "!e.closest('.scroll,nav ul,pre')).map(e=>e.tagName+'.'+e.className).slice(0,5).join()",
	    "");
	expect(&f, "document.documentElement.scrollWidth<=360", "true");
	expect(&f,
	       "[...document.querySelectorAll('main>section,article,.panel')].filter(e=>"
	       "e.getBoundingClientRect().right>361).length",
	       "0");
	close_fixture(&f);
}

/* Scripts off: what the page says stands in the page, and controls that would do nothing are not
 * shown. */
Test(browser, is_whole_without_scripts, .timeout = LIMIT)
{
	struct fixture f;
	struct sp_error err = SP_ERROR_INIT;

	if (!open_fixture(&f))
		return;
	cr_expect_eq(browser_call(&f.b, "Emulation.setScriptExecutionDisabled", "{\"value\":true}",
				  NULL, &err),
		     0, "%s", err.message);
	cr_expect_eq(browser_load(&f.b, f.page, &err), 0, "%s", err.message);
	expect(&f, "document.documentElement.classList.contains('js')", "false");
	expect(
	    &f,
	    "[...document.querySelectorAll('button,input')].filter(e=>e.checkVisibility()).length",
	    "0");
	expect(
	    &f,
	    "['kill.b.fail','it lives','pid 7','sandproof run --case kill.b.fail','needs control',"
	    "'kill-none','worker 0','All cases'].filter(t=>!document.body.innerText.includes(t)&&"
	    "!document.body.textContent.includes(t)).join()",
	    "");
	expect(&f, SHOWN, "17");
	/* A summary opens its details without any script. */
	expect(&f, "document.querySelectorAll('details>summary').length>0", "true");
	close_fixture(&f);
}

Test(browser, on_paper, .timeout = LIMIT)
{
	struct fixture f;
	struct sp_error err = SP_ERROR_INIT;
	cJSON *pdf SP_CLEANUP(sp_json_done) = NULL;
	const char *data;

	if (!open_fixture(&f))
		return;
	cr_expect_eq(
	    browser_call(&f.b, "Emulation.setEmulatedMedia", "{\"media\":\"print\"}", NULL, &err),
	    0);
	expect(&f,
	       "['nav','.filter','.copy','#theme'].filter(s=>document.querySelector(s)."
	       "checkVisibility()).join()",
	       "");
	expect(&f, "getComputedStyle(document.body).backgroundColor", "rgb(255, 255, 255)");
	expect(&f,
	       "(dispatchEvent(new "
	       "Event('beforeprint')),document.querySelectorAll('details:not([open])').length)",
	       "0");
	expect(&f,
	       "(dispatchEvent(new "
	       "Event('afterprint')),document.querySelectorAll('details:not([open])').length>0)",
	       "true");
	cr_expect_eq(browser_call(&f.b, "Page.printToPDF", "{}", &pdf, &err), 0, "%s", err.message);
	data = sp_json_str(pdf, "data");
	cr_expect(data && strlen(data) > 20000 && !strncmp(data, "JVBERi", 6), "no PDF");
	close_fixture(&f);
}

/* Pictures for people, in out/screenshots of the build: a test cannot say whether a page looks
 * well. */
Test(browser, pictures, .timeout = LIMIT)
{
	static const struct {
		const char *name;
		unsigned width, height;
		bool phone, dark;
	} looks[] = {
	    {"desktop-light", 1280, 1000, false, false},
	    {"desktop-dark", 1280, 1000, false, true},
	    {"phone-light", 390, 844, true, false},
	    {"phone-dark", 390, 844, true, true},
	};
	struct fixture f;
	struct sp_error err = SP_ERROR_INIT;

	if (!open_fixture(&f))
		return;
	(void)sp_mkdirs(SP_TEST_BIN_DIR "/screenshots", 0755);
	for (size_t i = 0; i < SP_COUNT(looks); i++) {
		char path[512];
		struct stat st = {.st_size = 0};

		snprintf(path, sizeof(path), SP_TEST_BIN_DIR "/screenshots/%s.png", looks[i].name);
		cr_expect_eq(browser_look(&f.b, looks[i].width, looks[i].height, looks[i].phone,
					  looks[i].dark, &err),
			     0, "%s", err.message);
		cr_expect_eq(browser_shot(&f.b, path, true, &err), 0, "%s", err.message);
		cr_expect_eq(stat(path, &st), 0);
		cr_expect_gt(st.st_size, 10000, "%s has %lld bytes", path, (long long)st.st_size);
	}
	close_fixture(&f);
}
