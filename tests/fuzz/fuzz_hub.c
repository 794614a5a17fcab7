/* fuzz_hub: what a hub answers, and what users write as a source. The first byte chooses: a list of
 * files, a description, the head of an answer, an address, a source, the record of an upload.
 *
 *     1. It is accepted, or refused with a message that can be printed.
 *     2. Each path that is accepted stays below its folder, and no path is listed twice.
 *     3. An address that is accepted is accepted again in its normal form, which stays the same.
 *     4. No field of a head has control characters; a range is not empty and inside its total.
 *     5. A record has as many addresses as parts, all parsed, and counts the parts that were sent.
 */
#include "dice.h"
#include "mutate.h"

#include "hub/hf.h"
#include "hub/push_session.h"

#define KINDS 6
#define OID "0123456789012345678901234567890123456789"
#define SHA "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void
refused(const struct err *e)
{
	must_say(e->code == ERR_CORRUPT || e->code == ERR_USAGE || e->code == ERR_NETWORK ||
	         e->code == ERR_MEMORY, e);
	fuzz_printable(e->object);
	fuzz_printable(e->fact);
}

static void
list(const uint8_t *p, size_t n)
{
	struct hf_listing l = { .n = 0 };
	struct err e = ERR_INIT;
	size_t i;

	if (hf_parse_list(p, n, &l, &e) < 0 || hf_listing_finish(&l, &e) < 0)
		refused(&e);
	for (i = 0; i < l.n; i++) {
		must(hub_path_is_safe(l.files[i].path) && !strstr(l.files[i].path, "/../"));
		must(e.code != ERR_NONE || hf_listing_find(&l, l.files[i].path) == &l.files[i]);
	}
	fuzz_printable(l.skipped_name);
	hf_listing_free(&l);
}

static void
info(const uint8_t *p, size_t n)
{
	struct hf_info i;
	struct err e = ERR_INIT;

	if (hf_parse_info(p, n, &i, &e) < 0)
		refused(&e);
	else
		must(strlen(i.commit) == 40);
	fuzz_printable(i.license);
}

static void
no_controls(const char *s)
{
	for (; *s; s++)
		must((uint8_t)*s >= ' ' && *s != 0x7f);
}

static void
head(const uint8_t *p, size_t n)
{
	static struct http_answer a;
	char commit[CACHE_COMMIT], tag[65];
	struct err e = ERR_INIT;
	const uint8_t *end;
	struct hf_file f;

	answer_reset(&a);
	for (; n > 0; n -= (size_t)(end - p) + 1, p = end + 1) {
		end = memchr(p, '\n', n);
		answer_line(&a, (const char *)p, end ? (size_t)(end - p) : n);
		if (!end)
			break;
	}
	must(!a.ranged || (a.range_from < a.range_to && a.range_to <= a.range_total));
	no_controls(a.location);
	no_controls(a.next);
	no_controls(a.etag);
	no_controls(a.error_message);
	answer_etag(tag, sizeof tag, a.etag);
	if (hf_parse_facts(&a, "fuzz", commit, &f, &e) < 0)
		refused(&e);
	else
		must(strlen(f.digest) == (f.kind == DOWNLOAD_GIT ? 40 : 64));
}

static void
address(const char *text)
{
	static struct url u, again;
	struct err e = ERR_INIT;
	const char *end = strchr(text, ' ');

	if (url_parse(&u, text, &e) == 0) {
		must(url_parse(&again, u.text, &e) == 0 && strcmp(again.text, u.text) == 0);
		must(url_same_origin(&u, &again) && !strchr(u.host, '@') && u.text[u.path] == '/');
	} else {
		refused(&e);
	}
	e = (struct err)ERR_INIT;
	if (end && url_parse(&u, "https://h/a/b?c", &e) == 0 && url_join(&u, &u, end + 1, &e) < 0)
		refused(&e);
}

static void
source(const char *text)
{
	static struct hub_source s;
	struct err e = ERR_INIT;

	if (hub_source_parse(&s, text, "https://hub.test", &e) < 0)
		refused(&e);
	else if (s.kind == HUB_HF)
		must(*s.org && *s.repo && (!*s.path || hub_path_is_safe(s.path)) &&
		     (!*s.revision || hub_path_is_safe(s.revision)));
}

static void
record(const char *text, size_t n)
{
	static struct push_session s;
	static struct url u;
	struct err e = ERR_INIT;
	size_t i, sent = 0;

	s = (struct push_session){ .fd = -1, .oid = SHA, .size = 100 };
	session_parse(&s, text, n);
	for (i = 0; i < s.n; i++) {
		must(s.address[i] && url_parse(&u, s.address[i], &e) == 0);
		sent += s.etag[i] != NULL;
	}
	must(sent == s.sent && (s.n == 0 || (s.complete && s.chunk * (s.n - 1) < s.size &&
	                                     s.chunk * s.n >= s.size)));
	session_close(&s);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text;

	if (size < 1)
		return 0;
	text = malloc(size);
	must(text);
	memcpy(text, data + 1, size - 1);
	text[size - 1] = '\0';
	if (data[0] % KINDS == 0)
		list(data + 1, size - 1);
	else if (data[0] % KINDS == 1)
		info(data + 1, size - 1);
	else if (data[0] % KINDS == 2)
		head(data + 1, size - 1);
	else if (data[0] % KINDS == 3)
		address(text);
	else if (data[0] % KINDS == 4)
		source(text);
	else
		record(text, size - 1);
	free(text);
	return 0;
}

/* ---- whole answers ---- */

static const char *const words[] = { "a", "config.json", "sub", "..", ".", ".git", "", "m.gguf",
	"\\u00e9", "\\u202e", "x\\u0000y", "C:", "a\\\\b", "model-00001-of-00002.safetensors" };
static const char *const sizes[] = { "0", "7", "9007199254740993", "18446744073709551615", "-1", "1e3",
	"\"12\"", "null" };
static const char *const digests[] = { "\"" OID "\"", "\"" SHA "\"", "\"" OID "0\"", "\"\"", "5",
	"\"0123456789ABCDEF0123456789abcdef01234567\"" };
static const char *const members[] = { "\"sha\":\"" OID "\"", "\"gated\":\"manual\"",
	"\"gated\":false", "\"private\":true", "\"cardData\":{\"license\":[\"mit\"]}",
	"\"cardData\":null", "\"tags\":[\"license:x\",3]", "\"sha\":\"main\"", "\"siblings\":[{}]",
	"\"cardData\":{\"license\":\"other\",\"license_name\":\"\\u0001\"}" };
static const char *const statuses[] = { "200", "206", "302", "307", "404", "429", "100", "99", "2e2" };
static const char *const headers[] = { "Content-Range: bytes 0-9/10", "Content-Range: bytes 5-4/*",
	"Content-Range: bytes 3-9/*", "Content-Range: bytes */10", "Content-Length: 10",
	"Content-Length: -1", "Accept-Ranges: bytes", "ETag: W/\"" OID "\"", "ETag: \"" OID "\"",
	"X-Linked-Etag: \"" SHA "\"", "X-Linked-Size: 5", "X-Repo-Commit: " OID, "x-repo-commit: main",
	"X-Error-Code: EntryNotFound", "X-Error-Message: a\tb", "Last-Modified: now",
	"Link: <https://h/?a>; rel=\"next\", <b>; rel=\"last\"", "Link: <>;;rel=next", "Retry-After: 7",
	"Retry-After: Wed, 21 Oct 2026 07:28:00 GMT", "RateLimit: \"api\";r=0;t=55", "Location: //h/x",
	"Location: ../y?z", "Docker-Content-Digest: sha256:" SHA, "Range: 0-99",
	"WWW-Authenticate: Bearer realm=\"https://h/t\"", "no colon", ":", "" };
static const char *const hosts[] = { "h", "huggingface.co", "[::1]", "127.0.0.1", "u@h", "h:80", "h:0",
	"h:65536", "H.Test:443", "a_b", "[", "" };
static const char *const paths[] = { "/", "/a/b", "/../x", "?q=1&r", "#f", "/%2F", "/%", "\\", " //h/x",
	" /y", " ?z", " https://[::1]:8/", " ../..", "" };
static const char *const parts[] = { "https://", "http://", "hf://", "models/", "datasets/", "o/r",
	"@main", "@refs/pr/1", "/a", ":Q4", "oci://h:1/", "ollama://", "file://", "%2F", "..",
	"huggingface.co/", "hub.test/", "/resolve/main/", "/tree/x", ("@sha256:" SHA), "[::1]", ":80", "?q",
	"#f" };

static struct dice thrown;

static unsigned
dice(unsigned n)
{
	return roll(&thrown, n);
}

#define PICK(list) ONE_OF(&thrown, list)

static void
put_entry(struct buf *b)
{
	unsigned n = 1 + dice(3), i;

	buf_printf(b, "{\"type\":\"%s\",\"path\":\"", dice(8) ? "file" : "directory");
	for (i = 0; i < n; i++)
		buf_printf(b, "%s%s", i ? "/" : "", PICK(words));
	buf_printf(b, "\",\"size\":%s,\"oid\":%s", PICK(sizes), dice(3) ? digests[0] : PICK(digests));
	if (dice(3) == 0)
		buf_printf(b, ",\"lfs\":{\"oid\":%s,\"size\":%s}", dice(3) ? digests[1] : PICK(digests),
		           PICK(sizes));
	buf_text(b, "}");
}

static void
put_list(struct buf *b)
{
	unsigned n = dice(6), i;

	buf_text(b, "[");
	for (i = 0; i < n; i++) {
		buf_text(b, i ? "," : "");
		put_entry(b);
	}
	buf_text(b, "]");
}

static void
put_info(struct buf *b)
{
	unsigned n = dice(5), i;

	buf_text(b, "{\"id\":\"o/r\"");
	for (i = 0; i < n; i++)
		buf_printf(b, ",%s", PICK(members));
	buf_text(b, "}");
}

static void
put_head(struct buf *b)
{
	unsigned n = dice(12), i;

	buf_printf(b, "HTTP/1.1 %s x\n", PICK(statuses));
	for (i = 0; i < n; i++)
		buf_printf(b, "%s\n", PICK(headers));
}

static void
put_address(struct buf *b)
{
	buf_printf(b, "%s%s%s%s%s", dice(8) ? "https://" : "http://", PICK(hosts), PICK(paths), PICK(paths),
	           PICK(paths));
}

static void
put_source(struct buf *b)
{
	unsigned n = 1 + dice(6), i;

	for (i = 0; i < n; i++)
		buf_text(b, PICK(parts));
}

static void
put_record(struct buf *b)
{
	unsigned chunk = 1 + dice(101), n = (100 + chunk - 1) / chunk + (dice(16) == 0), i;

	buf_printf(b, "{\"oid\":\"%s\",\"size\":%u,\"chunk\":%u,\"complete\":\"https://%s/\",\"addresses\":[",
	           SHA, dice(16) ? 100 : dice(200), chunk, dice(8) ? "h" : PICK(hosts));
	for (i = 0; i < n; i++)
		buf_printf(b, "%s\"https://h/%u%s\"", i ? "," : "", i, dice(32) ? "" : PICK(paths));
	buf_text(b, "]}\n");
	for (n = dice(8), i = 0; i < n; i++)
		buf_printf(b, "{\"part\":%u,\"etag\":\"%u\"}%s", dice(102), dice(9), dice(16) ? "\n" : "");
}

/* Writes a whole answer, most of which are accepted, or changes the bytes of one. */
size_t
LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
	static void (*const put[KINDS])(struct buf *b) = { put_list, put_info, put_head, put_address,
		put_source, put_record };
	struct buf b = { 0 };
	unsigned kind;
	size_t n;

	thrown.state = seed;
	if (size < 1 || dice(3) == 0)
		return LLVMFuzzerMutate(data, size, max);
	kind = dice(4) ? data[0] % KINDS : dice(KINDS);
	buf_u8(&b, (uint8_t)kind);
	put[kind](&b);
	n = buf_ok(&b) && b.n <= max ? b.n : 0;
	if (n > 0)
		memcpy(data, b.p, n);
	buf_free(&b);
	if (n == 0)
		return LLVMFuzzerMutate(data, size, max);
	return dice(2) ? n : LLVMFuzzerMutate(data, n, max);
}
