/* SPDX-License-Identifier: MIT */
/*
 * Replays the golden dialogues: whole exchanges as they stand on the wire, written from the
 * service's own description. Their form is described in golden/README.md.
 */
#include <ctype.h>
#include <fcntl.h>

#include <fakes/render-api/testing.h>

#define GOLDEN SP_SOURCE_DIR "/fakes/render-api/golden"
#define HEADERS_MAX 12
#define NAMES_MAX 16

/* What the names of a dialogue stand for. */
struct bindings {
	char name[NAMES_MAX][24];
	char value[NAMES_MAX][48];
	size_t n;
};

/* One side of an exchange; lines are borrowed from the file's text. */
struct message {
	char *head;
	char *headers[HEADERS_MAX];
	size_t n_headers;
	struct sp_buf body;
	bool has_body;
};

struct exchange {
	struct message request;
	struct message answer;
	/* Ask again while the answer holds this; or NULL. */
	const char *again;
	/* The body of the answer is not compared. */
	bool any_body;
};

/* A dialogue as it is read, line by line. */
struct dialogue {
	const char *file;
	char era;
	const char *faults[4];
	struct server server;
	struct bindings bindings;
	struct exchange now;
	bool in_body;
	size_t n_exchanges;
};

static const char *value_of(const struct bindings *bindings, const char *name, size_t len)
{
	for (size_t i = 0; i < bindings->n; i++)
		if (strlen(bindings->name[i]) == len && !memcmp(bindings->name[i], name, len))
			return bindings->value[i];
	return NULL;
}

static void keep(struct bindings *bindings, const char *name, size_t name_len, const char *value,
		 size_t len)
{
	cr_assert(bindings->n < NAMES_MAX && len < sizeof(bindings->value[0]) &&
		      name_len < sizeof(bindings->name[0]),
		  "too many names, or too long: %.*s = %.*s", (int)name_len, name, (int)len, value);
	memcpy(bindings->name[bindings->n], name, name_len);
	memcpy(bindings->value[bindings->n++], value, len);
}

/* True for a {word} of small letters and digits, which JSON never has. */
static bool is_name(const char *text, size_t *ret_len)
{
	if (*text != '{')
		return false;
	*ret_len = strspn(text + 1, "abcdefghijklmnopqrstuvwxyz0123456789");
	return *ret_len && text[1 + *ret_len] == '}';
}

/* Names that mean "whatever it is", every time. */
static bool is_free(const char *name, size_t len)
{
	return (len == 4 && !memcmp(name, "time", 4)) || (len == 1 && *name == 'n');
}

static void expand(struct sp_buf *out, const char *text, const struct bindings *bindings)
{
	for (; *text; text++) {
		size_t len = 0;
		const char *value =
			is_name(text, &len) ? value_of(bindings, text + 1, len) : NULL;

		if (value) {
			sp_buf_adds(out, value);
			text += len + 1;
		} else {
			sp_buf_addc(out, *text);
		}
	}
}

/* Compares, binding what is new. Where it differs, or NULL. */
static const char *compare(const char *expected, const char *actual, struct bindings *bindings)
{
	while (*expected) {
		size_t len, n;
		const char *value;

		if (!is_name(expected, &len)) {
			if (*expected++ != *actual++)
				return actual - 1;
			continue;
		}
		value = value_of(bindings, expected + 1, len);
		n = value ? strlen(value) :
			    strspn(actual, "abcdefghijklmnopqrstuvwxyz0123456789-:.TZ");
		if (value ? strncmp(value, actual, n) != 0 : !n)
			return actual;
		if (!value && !is_free(expected + 1, len))
			keep(bindings, expected + 1, len, actual, n);
		expected += len + 2;
		actual += n;
	}
	return *actual ? actual : NULL;
}

/* ---- One exchange ---- */

static struct reply say(struct dialogue *d)
{
	const struct message *request = &d->now.request;
	struct sp_buf method SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	struct sp_buf target SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	struct sp_buf body SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	struct ask ask = { .method = NULL };
	struct reply reply = { .status = 0 };
	struct curl_slist *headers = NULL;
	size_t word = strcspn(request->head, " ");

	sp_buf_add(&method, request->head, word);
	expand(&target, request->head + word + 1, &d->bindings);
	expand(&body, sp_buf_str(&request->body), &d->bindings);
	ask.method = sp_buf_str(&method);
	ask.target = sp_buf_str(&target);
	ask.body = request->has_body ? sp_buf_str(&body) : NULL;
	ask.body_len = body.len;
	CURL *easy = test_easy(&d->server, &ask, &reply, &headers);

	for (size_t i = 0; i < request->n_headers; i++) {
		struct sp_buf line SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);

		expand(&line, request->headers[i], &d->bindings);
		headers = curl_slist_append(headers, sp_buf_str(&line));
	}
	curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
	reply.code = curl_easy_perform(easy);
	curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &reply.status);
	curl_easy_cleanup(easy);
	curl_slist_free_all(headers);
	return reply;
}

/* The value of a header of the answer, in any case of its name; NULL without. */
static char *header_value(const struct reply *reply, const char *name, size_t len)
{
	const char *line = sp_buf_str(&reply->headers);

	for (; line; line = strstr(line, "\r\n")) {
		line += strspn(line, "\r\n");
		if (!*line)
			return NULL;
		if (strncasecmp(line, name, len) || line[len] != ':')
			continue;
		line += len + 1;
		line += strspn(line, " ");
		return strndup(line, strcspn(line, "\r"));
	}
	return NULL;
}

/* "Name: value" has to be there, "!Name" must not. */
static void check_header(struct dialogue *d, const struct reply *reply, const char *line)
{
	bool absent = *line == '!';
	const char *name = line + absent;
	size_t len = strcspn(name, ":");
	char *value SP_FREE = header_value(reply, name, len);

	if (absent) {
		cr_expect(!value, "%s, %s: no %s expected, got `%s`", d->file, d->now.request.head,
			  name, value);
		return;
	}
	cr_expect(value && !compare(name + len + 2, value, &d->bindings),
		  "%s, %s: `%s` expected, got `%s`", d->file, d->now.request.head, line,
		  value ? value : "(no such header)");
}

static void check_answer(struct dialogue *d, const struct reply *reply)
{
	const struct message *answer = &d->now.answer;
	const char *expected = sp_buf_str(&answer->body);
	const char *differs;
	long status = strtol(answer->head, NULL, 10);

	for (size_t i = 0; i < answer->n_headers; i++)
		check_header(d, reply, answer->headers[i]);
	differs = d->now.any_body ? NULL :
				    compare(expected, sp_buf_str(&reply->body), &d->bindings);
	cr_assert(reply->status == status && !differs,
		  "%s, %s: %ld expected, got %ld\nexpected %s\nactual   %s\nfrom     %s", d->file,
		  d->now.request.head, status, reply->status, expected, sp_buf_str(&reply->body),
		  differs ? differs : "");
}

static void begin(struct dialogue *d)
{
	d->server = server_start(d->era, d->faults);
	keep(&d->bindings, "workspace", 9, d->server.workspace, strlen(d->server.workspace));
	keep(&d->bindings, "key", 3, d->server.key, strlen(d->server.key));
	keep(&d->bindings, "control", 7, d->server.control_token,
	     strlen(d->server.control_token));
}

static void play(struct dialogue *d)
{
	uint64_t limit = sp_deadline_ms(TEST_LIMIT_MS);

	if (!d->now.answer.head)
		return;
	if (!d->n_exchanges++)
		begin(d);
	struct reply reply = say(d);

	while (d->now.again && has(&reply, d->now.again)) {
		cr_assert(sp_now() < limit, "%s, %s: never ends", d->file, d->now.request.head);
		reply_done(&reply);
		reply = say(d);
	}
	check_answer(d, &reply);
	reply_done(&reply);
	sp_buf_done(&d->now.request.body);
	sp_buf_done(&d->now.answer.body);
	d->now = (struct exchange){ .again = NULL };
}

/* ---- A file ---- */

/* A line that begins with a blank continues the one before. */
static void add_body(struct message *message, const char *line)
{
	message->body.ceiling = SP_BUF_LINE;
	if (*line == ' ')
		line += strspn(line, " ");
	else if (message->has_body)
		sp_buf_addc(&message->body, '\n');
	sp_buf_adds(&message->body, line);
	message->has_body = true;
}

static void add_line(struct dialogue *d, struct message *message, char *line)
{
	if (!message->head) {
		message->head = line;
		d->in_body = false;
	} else if (d->in_body) {
		add_body(message, line);
	} else if (!*line) {
		d->in_body = true;
	} else {
		cr_assert(message->n_headers < HEADERS_MAX, "%s: too many headers", d->file);
		message->headers[message->n_headers++] = line;
	}
}

static void add_fault(struct dialogue *d, const char *name)
{
	size_t i = 0;

	while (d->faults[i])
		i++;
	cr_assert(i + 1 < SP_COUNT(d->faults), "%s: too many faults", d->file);
	d->faults[i] = name;
}

static void read_line(struct dialogue *d, char *line)
{
	char *rest = line[0] && line[1] ? line + 2 : line + strlen(line);

	if (*line == '>' && d->now.answer.head)
		play(d);
	if (*line == '>')
		add_line(d, &d->now.request, rest);
	else if (*line == '<' && !strcmp(rest, "*"))
		d->now.any_body = true;
	else if (*line == '<')
		add_line(d, &d->now.answer, rest);
	else if (!strncmp(line, "again while ", 12))
		d->now.again = line + 12;
	else if (!strncmp(line, "era ", 4))
		d->era = line[4];
	else if (!strncmp(line, "fault ", 6))
		add_fault(d, line + 6);
	else
		cr_assert(!*line || *line == '#', "%s: `%s` is none of its lines", d->file, line);
}

static void play_file(const char *file)
{
	struct dialogue d = { .file = file, .era = 'C' };
	struct sp_buf text SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_COMMAND);
	char path[512];
	char *line, *rest;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", GOLDEN, file);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	cr_assert(fd >= 0, "%s: %s", path, strerror(errno));
	test_read(fd, &text, false);
	close(fd);
	rest = text.data;
	while ((line = strsep(&rest, "\n")))
		read_line(&d, line);
	play(&d);
	cr_expect(d.n_exchanges, "%s: no exchange in it", file);
	if (d.n_exchanges)
		server_stop(&d.server);
}

/*
 * The rows of the service's table of routes, its four routes of the proxy, and what belongs to no
 * single one. A file that is not named here is found by the test as well.
 */
static const char *const files[] = {
	"01-create.http",	   "02-list.http",
	"03-get.http",		   "04-terminate.http",
	"05-mint-run.http",	   "06-mint-file.http",
	"07-files-list.http",	   "08-execs.http",
	"09-exec.http",		   "10-exec-status.http",
	"11-logs.http",		   "12-groups.http",
	"13-group-create.http",	   "14-snapshot-create.http",
	"15-snapshots.http",	   "16-snapshot.http",
	"17-snapshot-delete.http", "18-suspend.http",
	"19-images.http",	   "20-run-stream.http",
	"21-run-sync.http",	   "22-upload.http",
	"23-download.http",	   "30-refusals.http",
	"31-rate-limit.http",	   "32-edge.http",
	"33-no-entitlement.http",  "40-era-a.http",
	"41-era-b.http",	   "42-restore.http",
};

Test(golden, every_dialogue, .timeout = 240)
{
	for (size_t i = 0; i < SP_COUNT(files); i++)
		play_file(files[i]);
}

Test(golden, no_file_is_forgotten)
{
	size_t found = 0;
	struct dirent *entry;
	DIR *dir = opendir(GOLDEN);

	cr_assert(dir, "%s: %s", GOLDEN, strerror(errno));
	while ((entry = readdir(dir))) {
		bool known = false;

		if (!isdigit((unsigned char)*entry->d_name))
			continue;
		for (size_t i = 0; i < SP_COUNT(files); i++)
			known = known || !strcmp(files[i], entry->d_name);
		cr_expect(known, "%s is never played", entry->d_name);
		found++;
	}
	closedir(dir);
	cr_expect(found == SP_COUNT(files), "%zu dialogues expected, %zu found", SP_COUNT(files),
		  found);
}
