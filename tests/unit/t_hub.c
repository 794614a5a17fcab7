/* hub: addresses, sources, headers and JSON answers, good and bad. */
#include <string.h>

#include "hub/hf.h"
#include "hub/partial.h"
#include "hub/source.h"
#include "net/answer.h"
#include "net/url.h"
#include "test.h"

/* ---- addresses ---- */

static const struct {
	const char *text, *normal; /* NULL: refused */
} urls[] = {
	{ "https://Example.ORG:443/a?b#c", "https://example.org/a?b" },
	{ "http://127.0.0.1:8080", "http://127.0.0.1:8080/" },
	{ "HTTPS://h?q", "https://h/?q" },
	{ "https://[::1]:1/x", "https://[::1]:1/x" },
	{ "https://u@h/", NULL }, { "https://u:p@h/", NULL }, { "https://h/a b", NULL },
	{ "https://h\\x/", NULL }, { "https://h/\n", NULL }, { "ftp://h/", NULL }, { "https://", NULL },
	{ "https:///x", NULL }, { "https://h:0/", NULL }, { "https://h:65536/", NULL },
	{ "https://h:/", NULL }, { "https://-h/", NULL }, { "https://h%41/", NULL },
	{ "https://[::1/", NULL }, { "https://\xc3\xa9/", NULL }, { "", NULL },
};

static const struct {
	const char *base, *location, *target;
} joins[] = {
	{ "https://h/a/b?c", "/x?y", "https://h/x?y" }, { "https://h/a/b?c", "x", "https://h/a/x" },
	{ "https://h/a/b?c", "?d", "https://h/a/b?d" }, { "https://h/a", "//k/z", "https://k/z" },
	{ "https://h/a", "http://k/", "http://k/" }, { "https://h/a", "file:///etc/passwd", NULL },
	{ "https://h/a", "https://u:p@k/", NULL }, { "https://h/a", "gopher:x", NULL },
};

static void
test_urls(void)
{
	static struct url u, base;
	size_t i;

	for (i = 0; i < sizeof urls / sizeof *urls; i++) {
		struct err e = ERR_INIT;
		int r = url_parse(&u, urls[i].text, &e);

		test_ok(urls[i].normal ? r == 0 && strcmp(u.text, urls[i].normal) == 0
		                       : r < 0 && e.code == ERR_USAGE && !strstr(e.object, "p@"),
		        "address %zu", i);
	}
	for (i = 0; i < sizeof joins / sizeof *joins; i++) {
		struct err e = ERR_INIT;
		int r = url_parse(&base, joins[i].base, &e) < 0 ? -2
		        : url_join(&u, &base, joins[i].location, &e);

		test_ok(joins[i].target ? r == 0 && strcmp(u.text, joins[i].target) == 0
		                        : r == -1 && e.code == ERR_CORRUPT, "redirect %zu", i);
	}
	for (i = 0; i < 5; i++) {
		static const char *const hosts[] = { "http://127.0.0.1/", "http://localhost/",
			"http://127.0.0.1.example.org/", "http://127.1/", "http://localhost.example.org/" };

		url_parse(&u, hosts[i], &(struct err)ERR_INIT);
		test_ok(u.loopback == (i < 2), "loopback: %s", hosts[i]);
	}
}

/* ---- sources ---- */

static const struct {
	const char *text;
	int kind;                 /* -1: refused */
	const char *org, *repo, *revision, *path, *tag;
	int folder;
} sources[] = {
	{ "hf://o/r", HUB_HF, "o", "r", "", "", "", 0 },
	{ "hf://models/o/r", HUB_HF, "o", "r", "", "", "", 0 },
	{ "hf://o/r@v1", HUB_HF, "o", "r", "v1", "", "", 0 },
	{ "hf://o/r@v1/a/b", HUB_HF, "o", "r", "v1", "a/b", "", 0 },
	{ "hf://o/r/a/b@v1", HUB_HF, "o", "r", "v1", "a/b", "", 0 },
	{ "hf://o/r/a/", HUB_HF, "o", "r", "", "a", "", 1 },
	{ "hf://o/r@refs/pr/3/a", HUB_HF, "o", "r", "refs/pr/3", "a", "", 0 },
	{ "hf://o/r/a@refs/pr/3", HUB_HF, "o", "r", "refs/pr/3", "a", "", 0 },
	{ "hf://o/r/a@b/c", HUB_HF, "o", "r", "", "a@b/c", "", 0 },
	{ "hf://o/r@main/a@b", HUB_HF, "o", "r", "main", "a@b", "", 0 },
	{ "hf://o/r:Q4_K_M", HUB_HF, "o", "r", "", "", "Q4_K_M", 0 },
	{ "hf://o/r:Q4_K_M@v1", HUB_HF, "o", "r", "v1", "", "Q4_K_M", 0 },
	{ "https://huggingface.co/o/r", HUB_HF, "o", "r", "", "", "", 0 },
	{ "https://hf.co/o/r/blob/main/a%20b?download=true", HUB_HF, "o", "r", "main", "a b", "", 0 },
	{ "https://hub.test/o/r/tree/refs%2Fpr%2F1", HUB_HF, "o", "r", "refs/pr/1", "", "", 0 },
	{ "https://huggingface.co/docs/hub", HUB_HTTP, "", "", "", "", "", 0 },
	{ "https://example.org/o/r", HUB_HTTP, "", "", "", "", "", 0 },
	{ "file:///a%20b", HUB_FILE, "", "", "", "/a b", "", 0 },
	{ "a/b", HUB_FILE, "", "", "", "a/b", "", 0 },
	{ "ollama://llama3:8b", HUB_OLLAMA, "", "", "", "", "8b", 0 },
	{ "oci://localhost:5000/a/b:v1", HUB_OCI, "", "", "", "", "v1", 0 },
	{ "hf://o", -1, "", "", "", "", "", 0 }, { "hf://o/", -1, "", "", "", "", "", 0 },
	{ "hf://datasets/o/r", -1, "", "", "", "", "", 0 }, { "hf://dataset/o/r", -1, "", "", "", "", "", 0 },
	{ "hf://o/r@", -1, "", "", "", "", "", 0 }, { "hf://o/r@../x", -1, "", "", "", "", "", 0 },
	{ "hf://o/r/../x", -1, "", "", "", "", "", 0 }, { "hf://o/r//x", -1, "", "", "", "", "", 0 },
	{ "hf://o/r/a\\b", -1, "", "", "", "", "", 0 }, { "hf://o/r/.git/x", -1, "", "", "", "", "", 0 },
	{ "hf://o--p/r", -1, "", "", "", "", "", 0 }, { "hf://../r", -1, "", "", "", "", "", 0 },
	{ "hf://o/r:", -1, "", "", "", "", "", 0 }, { "hf://o/r:t/x", -1, "", "", "", "", "", 0 },
	{ "oci://x", -1, "", "", "", "", "", 0 }, { "oci://h/n@sha256:12", -1, "", "", "", "", "", 0 },
	{ "s3://b/k", -1, "", "", "", "", "", 0 }, { "gopher://x/y", -1, "", "", "", "", "", 0 },
	{ "https://huggingface.co/datasets/o/resolve", -1, "", "", "", "", "", 0 },
	{ "", -1, "", "", "", "", "", 0 },
};

static void
test_sources(void)
{
	static struct hub_source s;
	size_t i;

	for (i = 0; i < sizeof sources / sizeof *sources; i++) {
		struct err e = ERR_INIT;
		int r = hub_source_parse(&s, sources[i].text, "https://hub.test", &e);

		if (sources[i].kind < 0)
			test_ok(r < 0 && e.code == ERR_USAGE, "refused: %s", sources[i].text);
		else
			test_ok(r == 0 && (int)s.kind == sources[i].kind && !strcmp(s.org, sources[i].org) &&
			        !strcmp(s.repo, sources[i].repo) && !strcmp(s.revision, sources[i].revision) &&
			        !strcmp(s.path, sources[i].path) && !strcmp(s.tag, sources[i].tag) &&
			        s.folder == sources[i].folder, "source: %s", sources[i].text);
	}
}

static void
test_paths(void)
{
	static const char *const bad[] = { "", "/", "/a", "a/", "a//b", ".", "..", "a/..", "a\\b", "C:x",
		"a\nb", "a/.git", ".GIT/x", "\xff", "\xe2\x80\xae" };
	static const char *const good[] = { "a", "a/b.c", "...", ".gitattributes", "a b", "C/x", "\xc3\xa9" };
	char text[300];
	size_t i;

	for (i = 0; i < sizeof bad / sizeof *bad; i++)
		test_ok(!hub_path_is_safe(bad[i]), "unsafe path %zu", i);
	for (i = 0; i < sizeof good / sizeof *good; i++)
		test_ok(hub_path_is_safe(good[i]), "safe path %zu", i);
	memset(text, 'n', 256);
	text[256] = '\0';
	test_ok(!hub_path_is_safe(text), "a part of 256 bytes");
	text[255] = '\0';
	test_ok(hub_path_is_safe(text), "a part of 255 bytes");
}

/* ---- headers ---- */

static void
lines(struct http_answer *a, const char *text)
{
	const char *end;

	for (; *text; text = *end ? end + 1 : end) {
		end = strchr(text, '\n') ? strchr(text, '\n') : text + strlen(text);
		answer_line(a, text, (size_t)(end - text));
	}
}

static void
test_headers(void)
{
	static const char *const bad_ranges[] = { "bytes 5-4/10", "bytes 0-10/10", "bytes -1/10", "bytes 0-/10",
		"bytes 0-1", "items 0-1/2", "bytes 0-1/2x", "bytes 0-18446744073709551615/*",
		"bytes 99999999999999999999-1/2" };
	static struct http_answer a;
	char text[200], tag[65];
	size_t i;

	lines(&a, "HTTP/1.1 206 Partial\nContent-Range: bytes 10-19/100\nETag: W/\"x\"\nContent-Length: 10");
	test_ok(a.status == 206 && a.ranged && a.range_from == 10 && a.range_to == 20 &&
	        a.range_total == 100 && a.length == 10 && a.accepts_ranges, "a range");
	test_ok(answer_etag(tag, sizeof tag, a.etag) && strcmp(tag, "x") == 0 &&
	        !answer_etag_is_strong(a.etag), "a weak ETag");
	for (i = 0; i < sizeof bad_ranges / sizeof *bad_ranges; i++) {
		snprintf(text, sizeof text, "HTTP/1.1 206 x\nContent-Range: %s", bad_ranges[i]);
		lines(&a, text);
		test_ok(!a.ranged && a.bad_range, "not a range: %s", bad_ranges[i]);
	}
	lines(&a, "HTTP/2 302\nlocation:  /x \nx-linked-size: 7\nx-repo-commit: c\nX-Error-Code: E");
	test_ok(a.status == 302 && !strcmp(a.location, "/x") && a.linked_size == 7 &&
	        !strcmp(a.repo_commit, "c") && !strcmp(a.error_code, "E") && !a.etag[0], "a redirect");
	lines(&a, "HTTP/1.1 429 x\nRetry-After: 7");
	test_ok(a.retry_after == 7, "Retry-After");
	lines(&a, "HTTP/1.1 429 x\nRetry-After: Wed, 21 Oct 2015 07:28:00 GMT\nRateLimit: \"api\";r=0;t=55");
	test_ok(a.retry_after == 56, "RateLimit");
	lines(&a, "HTTP/1.1 200 x\nLink: <https://h/2?c=d>; rel=\"next\", <x>; rel=\"last\"");
	test_ok(!strcmp(a.next, "https://h/2?c=d"), "Link");
	lines(&a, "HTTP/1.1 200 x\nLink: <a>; rel=\"prev\", <b>; rel=\"next\"");
	test_ok(!strcmp(a.next, "b"), "the second Link");
	lines(&a, "HTTP/1.1 200 x\nLink: <a>; rel=\"xet-auth\"\nLink: <\nContent-Length: 1x\nETag: \"a\x01\"");
	test_ok(!a.next[0] && a.length == HTTP_UNKNOWN && !a.etag[0], "headers that are malformed");
}

/* ---- JSON ---- */

#define OID "0123456789012345678901234567890123456789"
#define SHA "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void
test_json(void)
{
	static const char page[] = "[{\"type\":\"directory\",\"path\":\"d\"},{\"type\":\"file\",\"path\":\"b\","
		"\"size\":3,\"oid\":\"" OID "\"},{\"type\":\"file\",\"path\":\"a\",\"size\":134,\"oid\":\"" OID
		"\",\"lfs\":{\"oid\":\"sha256:" SHA "\",\"size\":9}},{\"type\":\"file\",\"path\":\"../x\",\"size\":1,"
		"\"oid\":\"" OID "\"}]";
	static const char *const bad[] = { "{}", "[1]", "[{\"type\":\"file\",\"path\":\"a\"}]", "[" };
	static const char info[] = "{\"sha\":\"" OID "\",\"gated\":\"auto\",\"private\":false,\"cardData\":"
		"{\"license\":\"mit\"}}";
	static const char tags[] = "{\"sha\":\"" OID "\",\"tags\":[\"x\",\"license:cc-by-nc-4.0\"]}";
	struct hf_listing l = { .n = 0 };
	struct err e = ERR_INIT;
	struct hf_info i;
	size_t k;

	test_ok(hf_parse_list(page, sizeof page - 1, &l, &e) == 0 && hf_listing_finish(&l, &e) == 0 &&
	        l.n == 2 && l.skipped == 1, "a list: two files, one left out");
	test_ok(l.n == 2 && !strcmp(l.files[0].path, "a") && l.files[0].kind == DOWNLOAD_SHA256 &&
	        l.files[0].size == 9 && !strcmp(l.files[0].digest, SHA), "a large file");
	test_ok(l.n == 2 && l.files[1].kind == DOWNLOAD_GIT && l.files[1].size == 3, "a small file");
	test_ok(hf_parse_list(page, sizeof page - 1, &l, &e) == 0 && hf_listing_finish(&l, &e) < 0 &&
	        e.code == ERR_CORRUPT, "files that are listed twice");
	hf_listing_free(&l);
	for (k = 0; k < sizeof bad / sizeof *bad; k++) {
		e = (struct err)ERR_INIT;
		test_ok(hf_parse_list(bad[k], strlen(bad[k]), &l, &e) < 0 && e.code == ERR_CORRUPT,
		        "not a list: %s", bad[k]);
	}
	hf_listing_free(&l);
	e = (struct err)ERR_INIT;
	test_ok(hf_parse_info(info, sizeof info - 1, &i, &e) == 0 && i.gated && !strcmp(i.license, "mit") &&
	        !strcmp(i.commit, OID), "a description");
	test_ok(hf_parse_info(tags, sizeof tags - 1, &i, &e) == 0 && !strcmp(i.license, "cc-by-nc-4.0"),
	        "a licence among the tags");
	test_ok(hf_parse_info("{}", 2, &i, &e) < 0 && e.code == ERR_CORRUPT, "a description without commit");
}

int
main(void)
{
	test_urls();
	test_sources();
	test_paths();
	test_headers();
	test_json();
	return test_done();
}
