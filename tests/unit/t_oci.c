/* Manifests, challenges, tokens and logins of registries, as strangers write them. */
#include "test.h"

#include <string.h>

#include "core/buf.h"
#include "hub/oci.h"

#define D(c) "sha256:" c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c \
	c c c c c c c c c c c c c c c c c c c c c c
#define LAYER(type, digest, notes) "{\"mediaType\":\"" type "\",\"digest\":\"" digest \
	"\",\"size\":5" notes "}"
#define NAMED(path) ",\"annotations\":{\"org.cncf.model.filepath\":\"" path "\"}"
#define OLLAMA "application/vnd.ollama.image."
#define PACK "application/vnd.cncf.model."

/* Manifests that are read: the layers as "PATH:ROLE" with spaces between. */
static const struct {
	const char *what, *text, *layers;
} good[] = {
	{ "Ollama", "{\"schemaVersion\":2,\"config\":" LAYER("x", D("c"), "") ",\"layers\":["
	  LAYER(OLLAMA "model", D("a"), "") "," LAYER(OLLAMA "template", D("b"), "") ","
	  LAYER(OLLAMA "license", D("c"), "") "," LAYER(OLLAMA "license", D("d"), "") ","
	  LAYER(OLLAMA "params", D("e"), "") "]}",
	  "model.gguf:0 template.txt:3 LICENSE:3 4-LICENSE:3 params.json:3" },
	{ "Docker", "{\"layers\":[" LAYER("application/vnd.docker.ai.gguf.v3", D("a"), "") ","
	  LAYER("application/vnd.docker.ai.license", D("b"), "") "]}", "model.gguf:0 LICENSE:3" },
	{ "ModelPack", "{\"layers\":[" LAYER(PACK "weight.v1.raw", D("a"), NAMED("sub/a.safetensors")) ","
	  LAYER(PACK "weight.config.v1.raw", D("b"), NAMED("config.json")) ","
	  LAYER(PACK "doc.v1.raw", D("c"), NAMED("README.md")) ","
	  LAYER(PACK "code.v1.raw", D("d"), NAMED("run.py")) "]}",
	  "sub/a.safetensors:0 config.json:1 README.md:2 run.py:3" },
	{ "archives are told apart", "{\"layers\":[" LAYER(PACK "weight.v1.tar", D("a"), "") ","
	  LAYER(PACK "doc.v1.tar+gzip", D("b"), NAMED("doc")) ","
	  LAYER("application/vnd.oci.image.layer.v1.tar", D("b"), "") "]}",
	  "model.bin:4 doc:4 layer:4" },
	{ "a title is a name", "{\"layers\":[" LAYER("a/b", D("a"),
	  ",\"annotations\":{\"org.opencontainers.image.title\":\"x.gguf\"}") "," LAYER("a/b", D("a"), "")
	  "]}", "x.gguf:1 layer:5" },
	{ "names that leave the folder do not count", "{\"layers\":["
	  LAYER(PACK "weight.v1.raw", D("a"), NAMED("../../x")) ","
	  LAYER(PACK "weight.v1.raw", D("a"), NAMED("/etc/x")) ","
	  LAYER(PACK "weight.v1.raw", D("a"), NAMED("a\\\\b")) "]}",
	  "model.bin:0 2-model.bin:0 3-model.bin:0" },
	{ "no layers", "{\"layers\":[]}", "" },
};

static const struct {
	const char *text, *fact;
	enum err_code code;
} bad[] = {
	{ "", "", ERR_CORRUPT },
	{ "[]", "", ERR_CORRUPT },
	{ "{}", "is not a manifest with layers", ERR_FORMAT },
	{ "{\"layers\":3}", "is not a manifest with layers", ERR_FORMAT },
	{ "{\"layers\":[3]}", "layer 0 of the manifest is not an object", ERR_CORRUPT },
	{ "{\"layers\":[{}]}", "layer 0 of the manifest has no digest", ERR_CORRUPT },
	{ "{\"layers\":[{\"digest\":\"sha256:../../x\"}]}", "not sha256 and 64 digits", ERR_CORRUPT },
	{ "{\"layers\":[{\"digest\":\"" D("A") "\"}]}", "not sha256 and 64 digits", ERR_CORRUPT },
	{ "{\"layers\":[{\"digest\":\"" D("a") "\"}]}", "has no valid size", ERR_CORRUPT },
	{ "{\"layers\":[{\"digest\":\"" D("a") "\",\"size\":-1}]}", "has no valid size", ERR_CORRUPT },
	{ "{\"config\":{},\"layers\":[]}", "the config of the manifest has no digest", ERR_CORRUPT },
	{ "{\"manifests\":[]}", "has none for a model", ERR_FORMAT },
	{ "{\"manifests\":[{\"platform\":{\"os\":\"unknown\"}}]}", "has none for a model", ERR_FORMAT },
	{ "{\"layers\":[" LAYER("a", D("a"), NAMED("x")) "," LAYER("a", D("b"), NAMED("x")) "]}",
	  "two layers of the manifest are the file x", ERR_CORRUPT },
	{ "{\"layers\":[{\"digest\":\"" D("a") "\",\"size\":9223372036854775807},{\"digest\":\"" D("a")
	  "\",\"size\":9223372036854775807},{\"digest\":\"" D("a") "\",\"size\":9223372036854775807}]}",
	  "", ERR_CORRUPT },
};

static void
manifests(void)
{
	size_t i, j;

	for (i = 0; i < sizeof good / sizeof *good; i++) {
		struct oci_manifest m;
		struct err e = ERR_INIT;
		struct buf b = { 0 };
		int done = oci_manifest_parse(&m, good[i].text, strlen(good[i].text), "m", &e);

		for (j = 0; j < m.n; j++)
			buf_printf(&b, "%s%s:%d", j ? " " : "", m.layers[j].path, (int)m.layers[j].role);
		test_ok(done == 0 && strcmp(buf_string(&b), good[i].layers) == 0, "%s: %s%s", good[i].what,
		        (const char *)b.p, e.fact);
		buf_free(&b);
		oci_manifest_free(&m);
	}
	for (i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct oci_manifest m;
		struct err e = ERR_INIT;
		int done = oci_manifest_parse(&m, bad[i].text, strlen(bad[i].text), "m", &e);

		test_ok(done < 0 && e.code == bad[i].code && strstr(e.fact, bad[i].fact), "refused: %s",
		        e.fact);
		oci_manifest_free(&m);
	}
}

/* A list of manifests: the first that is not an attestation. */
static void
lists(void)
{
	static const char text[] = "{\"manifests\":[{\"digest\":\"" D("a") "\",\"size\":1,\"platform\":"
		"{\"os\":\"unknown\"}},{\"digest\":\"" D("b") "\",\"size\":1}]}";
	struct oci_manifest m;
	struct err e = ERR_INIT;

	test_ok(oci_manifest_parse(&m, text, sizeof text - 1, "m", &e) == 0 &&
	        strcmp(m.child, D("b")) == 0 && m.n == 0, "a list of manifests");
	oci_manifest_free(&m);
}

/* WWW-Authenticate: "bearer basic realm service scope". */
static void
challenges(void)
{
	static const struct {
		const char *text, *want;
	} rows[] = {
		{ "Bearer realm=\"https://h/token\",service=\"s\",scope=\"repository:a/b:pull,push\"",
		  "1 0 https://h/token s repository:a/b:pull,push" },
		{ "bearer  realm = \"x\"", "1 0   " },
		{ "BEARER scope=x , realm=https", "1 0 https  x" },
		{ "Basic realm=\"a \\\"b\\\"\"", "0 1 a \"b\"  " },
		{ "Digest realm=\"x\"", "0 0 x  " },
		{ "", "0 0   " },
		{ "Bearer", "1 0   " },
		{ "Bearer realm=\"x", "1 0   " },
		{ "Bearer realm=\"x\" service=\"y\"", "1 0 x y " },
		{ "Bearer =,realm=\"x\"", "1 0   " },
	};
	size_t i;

	for (i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct oci_challenge c;
		struct buf b = { 0 };

		oci_challenge_parse(&c, rows[i].text);
		buf_printf(&b, "%d %d %s %s %s", c.bearer, c.basic, c.realm, c.service, c.scope);
		test_ok(strcmp(buf_string(&b), rows[i].want) == 0, "challenge %s: %s", rows[i].text,
		        (const char *)b.p);
		buf_free(&b);
	}
}

static void
tokens(void)
{
	static const struct {
		const char *text, *want; /* NULL: none */
	} rows[] = {
		{ "{\"token\":\"abc\",\"expires_in\":300}", "Bearer abc" },
		{ "{\"access_token\":\"x.y\"}", "Bearer x.y" },
		{ "{\"token\":\"\"}", NULL }, { "{\"token\":\"a\\r\\nEvil: x\"}", NULL },
		{ "{\"token\":\"a b\"}", NULL }, { "{\"token\":3}", NULL }, { "{}", NULL },
		{ "\"token\"", NULL }, { "{\"token\":\"01234567890123456789\"}", NULL },
	};
	char to[24];
	size_t i;

	for (i = 0; i < sizeof rows / sizeof *rows; i++) {
		int done = oci_token_parse(rows[i].text, strlen(rows[i].text), to, sizeof to);

		test_ok(rows[i].want ? done == 0 && strcmp(to, rows[i].want) == 0 : done < 0, "token of %s",
		        rows[i].text);
	}
}

static void
logins(void)
{
	static const char text[] = "{\"auths\":{\"h:5000\":{\"auth\":\"dTpw\"},"
		"\"https://index.docker.io/v1/\":{\"auth\":\"ZDpk\"},\"bad\":{\"auth\":\"a\\nb\"}}}";
	static const struct {
		const char *registry, *want;
	} rows[] = { { "h:5000", "Basic dTpw" }, { "registry-1.docker.io", "Basic ZDpk" },
		{ "h", NULL }, { "bad", NULL } };
	char to[64];
	size_t i;

	for (i = 0; i < sizeof rows / sizeof *rows; i++) {
		bool has = oci_login_parse(text, sizeof text - 1, rows[i].registry, to, sizeof to);

		test_ok(rows[i].want ? has && strcmp(to, rows[i].want) == 0 : !has, "login at %s",
		        rows[i].registry);
	}
}

/* Defaults of names. */
static void
names(void)
{
	static const struct {
		const char *text, *want;
	} rows[] = {
		{ "ollama://llama3", "https://registry.ollama.ai library/llama3 latest" },
		{ "ollama://me/m:q4", "https://registry.ollama.ai me/m q4" },
		{ "ollama://host.org/me/m", "https://host.org me/m latest" },
		{ "oci://docker.io/ai/m:1", "https://registry-1.docker.io ai/m 1" },
		{ "oci://h:5000/m@" D("a"), "https://h:5000 m " D("a") },
	};
	static struct oci o;
	size_t i;

	for (i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct hub_source s;
		struct err e = ERR_INIT;
		char got[800];

		test_ok(hub_source_parse(&s, rows[i].text, "https://huggingface.co", &e) == 0, "parsed: %s",
		        rows[i].text);
		oci_name(&o, &s);
		snprintf(got, sizeof got, "%s %s %s", o.base, o.name, o.reference);
		test_ok(strcmp(got, rows[i].want) == 0, "%s is %s", rows[i].text, got);
	}
}

int
main(void)
{
	manifests();
	lists();
	challenges();
	tokens();
	logins();
	names();
	return test_done();
}
