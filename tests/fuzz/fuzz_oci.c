/* fuzz_oci: what registries send: manifests, challenges, answers of a server for tokens; and
 * files of logins. The first byte chooses which.
 *
 *     1. Each is read, or refused with a message that can be printed.
 *     2. The files of a manifest have unique names that lead to no other folder, and digests.
 *     3. What becomes part of a request has neither spaces nor control characters at its ends
 *        or in it.
 */
#include "mutate.h"

#include "dice.h"
#include "hub/oci.h"

static void
manifest(const uint8_t *p, size_t n)
{
	struct oci_manifest m;
	struct err e = ERR_INIT;
	size_t i, j;

	if (oci_manifest_parse(&m, p, n, "fuzz", &e) < 0) {
		must_say(e.code == ERR_CORRUPT || e.code == ERR_FORMAT || e.code == ERR_MEMORY, &e);
		fuzz_printable(e.object);
		fuzz_printable(e.fact);
	}
	for (i = 0; e.code == ERR_NONE && i < m.n; i++) {
		must(oci_digest_is_valid(m.layers[i].digest) && m.layers[i].size <= INT64_MAX);
		must(hub_path_is_safe(m.layers[i].path));
		for (j = 0; j < i; j++)
			must(strcmp(m.layers[i].path, m.layers[j].path) != 0);
	}
	must(e.code != ERR_NONE || !*m.child || (oci_digest_is_valid(m.child) && m.n == 0));
	oci_manifest_free(&m);
}

static void
header_is_plain(const char *value)
{
	size_t i;

	for (i = 0; value[i]; i++)
		must(value[i] >= ' ' && value[i] <= '~' && (value[i] != ' ' || i <= 6));
}

static void
challenge(const uint8_t *p, size_t n)
{
	char *text = malloc(n + 1);
	struct oci_challenge c;

	must(text);
	memcpy(text, p, n);
	text[n] = '\0';
	oci_challenge_parse(&c, text);
	must(!(c.bearer && c.basic));
	must(strlen(c.realm) + strlen(c.service) + strlen(c.scope) <= 3 * strlen(text));
	free(text);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char to[256] = "";

	if (size == 0)
		return 0;
	if (data[0] % 4 == 0)
		manifest(data + 1, size - 1);
	else if (data[0] % 4 == 1)
		challenge(data + 1, size - 1);
	else if (data[0] % 4 == 2 && oci_token_parse(data + 1, size - 1, to, sizeof to) == 0)
		must(strncmp(to, "Bearer ", 7) == 0 && to[7]);
	else if (data[0] % 4 == 3 && oci_login_parse(data + 1, size - 1, "h", to, sizeof to))
		must(strncmp(to, "Basic ", 6) == 0 && to[6]);
	header_is_plain(to);
	return 0;
}

/* ---- whole constructs ---- */

static const char *const types[] = { "application/vnd.ollama.image.model",
	"application/vnd.ollama.image.license", "application/vnd.docker.ai.gguf.v3",
	"application/vnd.cncf.model.weight.v1.raw", "application/vnd.cncf.model.weight.v1.tar+gzip",
	"application/vnd.cncf.model.doc.v1.raw", "application/vnd.cncf.model.weight.config.v1.raw",
	"application/octet-stream", "" };
static const char *const paths[] = { "a", "a/b.gguf", "../a", "/a", "a\\\\b", "model.gguf", "LICENSE",
	"2-LICENSE", "a//b", ".git/x", "C:\\\\a", "\\u202e", "" };
static const char *const sizes[] = { "0", "5", "-1", "9223372036854775807", "1e3", "\"5\"", "null" };

static void
put_layer(struct buf *b, struct dice *d)
{
	char digest[80];

	memset(digest, "0af"[roll(d, 3)], 64);
	digest[roll(d, 8) ? 64 : 63] = '\0';
	buf_printf(b, "{\"mediaType\":\"%s\",\"digest\":\"sha256:%s\",\"size\":%s", ONE_OF(d, types), digest,
	           roll(d, 4) ? "7" : ONE_OF(d, sizes));
	if (roll(d, 2))
		buf_printf(b, ",\"annotations\":{\"%s\":\"%s\"}", roll(d, 2) ? OCI_PATH : OCI_TITLE,
		           ONE_OF(d, paths));
	buf_text(b, "}");
}

static void
put_manifest(struct buf *b, struct dice *d)
{
	unsigned i, n = roll(d, 8);

	buf_text(b, "{\"schemaVersion\":2");
	if (roll(d, 2)) {
		buf_text(b, ",\"config\":");
		put_layer(b, d);
	}
	buf_printf(b, ",\"%s\":[", roll(d, 6) ? "layers" : "manifests");
	for (i = 0; i < n; i++) {
		buf_text(b, i ? "," : "");
		put_layer(b, d);
	}
	buf_text(b, "]}");
}

static void
put_challenge(struct buf *b, struct dice *d)
{
	static const char *const schemes[] = { "Bearer ", "Basic ", "Digest ", "bearer\t", "" };
	static const char *const names[] = { "realm", "service", "scope", "error", "" };
	static const char *const values[] = { "\"https://h/t\"", "x", "\"a\\\"b\"", "\"", "\"a,b=c\"", "" };
	unsigned i, n = roll(d, 6);

	buf_text(b, ONE_OF(d, schemes));
	for (i = 0; i < n; i++)
		buf_printf(b, "%s%s=%s", i ? ", " : "", ONE_OF(d, names), ONE_OF(d, values));
}

size_t
LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
	struct dice d = { .state = seed };
	struct buf b = { 0 };

	if (roll(&d, 2))
		return LLVMFuzzerMutate(data, size, max);
	buf_u8(&b, (uint8_t)roll(&d, 2));
	if (b.p[0] == 0)
		put_manifest(&b, &d);
	else
		put_challenge(&b, &d);
	size = b.n < max ? b.n : max;
	memcpy(data, b.p, size);
	buf_free(&b);
	return size;
}
