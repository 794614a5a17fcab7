/* fuzz_hub: what a hub answers, and what users write as a source. The first byte chooses: a list of
 * files, a description, the head of an answer, an address, a source.
 *
 *     1. It is accepted, or refused with a message that can be printed.
 *     2. Each path that is accepted stays below its folder, and no path is listed twice.
 *     3. An address that is accepted is accepted again in its normal form, which stays the same.
 *     4. No field of a head has control characters; a range is not empty and inside its total.
 */
#include "mutate.h"

#include "hub/hf.h"

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
	if (data[0] % 5 == 0)
		list(data + 1, size - 1);
	else if (data[0] % 5 == 1)
		info(data + 1, size - 1);
	else if (data[0] % 5 == 2)
		head(data + 1, size - 1);
	else if (data[0] % 5 == 3)
		address(text);
	else
		source(text);
	free(text);
	return 0;
}

/* ---- whole constructs ---- */

#define OID "0123456789012345678901234567890123456789"
#define SHA "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static const char *const entries[] = {
	"{\"type\":\"file\",\"path\":\"a/b.c\",\"size\":7,\"oid\":\"" OID "\"}",
	"{\"type\":\"file\",\"path\":\"a\",\"size\":7,\"oid\":\"" OID "\",\"lfs\":{\"oid\":\"" SHA
	"\",\"size\":9}}",
	"{\"type\":\"file\",\"path\":\"../x\",\"size\":1,\"oid\":\"" OID "\"}",
	"{\"type\":\"file\",\"path\":\"\\u202e\",\"size\":1,\"oid\":\"" OID "\"}",
	"{\"type\":\"directory\",\"path\":\"d\"}",
};
static const char *const members[] = { "\"sha\":\"" OID "\"", "\"gated\":\"manual\"",
	"\"cardData\":{\"license\":[\"mit\"]}", "\"tags\":[\"license:x\"]",
	"\"cardData\":{\"license\":\"other\",\"license_name\":\"\\u0001\"}" };
static const char *const headers[] = { "HTTP/1.1 206 x\n", "HTTP/1.1 302 x\n",
	"Content-Range: bytes 0-9/10\n", "Content-Range: bytes 5-4/*\n", "Content-Length: 10\n",
	"ETag: W/\"" OID "\"\n", "X-Linked-Etag: \"" SHA "\"\n", "X-Linked-Size: 5\n",
	"X-Repo-Commit: " OID "\n", "Link: <https://h/?a>; rel=\"next\", <b>; rel=\"last\"\n",
	"Retry-After: 7\n", "RateLimit: \"api\";r=0;t=55\n", "Location: //h/x\n" };
static const char *const parts[] = { "https://", "http://", "hf://", "models/", "o/r", "@main",
	"@refs/pr/1", "/a", ":Q4", "oci://h:1/", "ollama://", "file://", "%2F", "..", "huggingface.co/",
	"hub.test/", "/resolve/main/", "[::1]", ":80", "?q", "#f", " //h" };
#define PICK(list, seed) list[(seed) / 3 % (sizeof list / sizeof *list)]

size_t
LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
	struct buf b = { 0 };
	size_t at, n;

	if (size < 1 || seed % 3 == 0)
		return LLVMFuzzerMutate(data, size, max);
	switch (data[0] % 5) {
	case 0:
		buf_printf(&b, "%s%s", PICK(entries, seed), seed & 4 ? "," : "");
		break;
	case 1:
		buf_printf(&b, "%s%s", PICK(members, seed), seed & 4 ? "," : "");
		break;
	case 2:
		buf_text(&b, PICK(headers, seed));
		break;
	default:
		buf_text(&b, PICK(parts, seed));
		break;
	}
	/* In a list or an object after its bracket; else anywhere. */
	at = data[0] % 5 < 2 ? (size < 2 ? size : 2) : 1 + (seed >> 8) % size;
	n = size - at;
	if (b.n + size > max) {
		buf_free(&b);
		return LLVMFuzzerMutate(data, size, max);
	}
	memmove(data + at + b.n, data + at, n);
	memcpy(data + at, b.p, b.n);
	n = size + b.n;
	buf_free(&b);
	return n;
}
