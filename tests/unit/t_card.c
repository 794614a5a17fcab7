/* card: the fields of a model card from keys and front matter, as text, Markdown and JSON. */
#include "report/card.h"

#include <string.h>
#include <time.h>

#include "core/le.h"
#include "core/mem.h"
#include "core/text.h"
#include "test.h"

struct keys {
	const char *key;
	uint8_t leaf;
	const char *text; /* of VALUE_STRING and VALUE_JSON, or a number */
};

/* A card of these keys and this README.md, or NULL with e filled. */
static json_t *
card_of(const struct keys *keys, const char *readme, struct err *e)
{
	struct model m;
	struct weights_blob blob = { (const uint8_t *)readme, readme ? strlen(readme) : 0 };
	struct weights w = { .name = "in", .plan = &m, .blobs = &blob };
	struct buf b = { 0 };
	json_t *card = NULL;

	if (model_init(&m, e) < 0)
		return NULL;
	for (; keys->key; keys++) {
		buf_clear(&b);
		if (keys->leaf == VALUE_STRING)
			buf_u64(&b, strlen(keys->text));
		if (keys->leaf == VALUE_U32 || keys->leaf == VALUE_BOOL)
			buf_put(&b, &(uint32_t){ (uint32_t)atoi(keys->text) }, keys->leaf == VALUE_BOOL ? 1 : 4);
		else
			buf_text(&b, keys->text);
		if (model_add_meta(&m, keys->key, strlen(keys->key), (struct value_type){ 0, keys->leaf },
		                   b.p, b.n, e) < 0)
			break;
	}
	if (!readme || model_add_blob(&m, "README.md", "text", blob.n, e) == 0)
		card = card_read(&w, e);
	buf_free(&b);
	model_free(&m);
	return card;
}

static void
is(const char *name, const struct keys *keys, const char *readme, const char *json)
{
	struct err e = ERR_INIT;
	json_t *card = card_of(keys, readme, &e), *want = json_loads(json, 0, NULL);
	struct buf shown = { 0 };

	if (card)
		json_write(card, &shown);
	test_ok(card && want && json_equal(card, want), "%s: %s %s", name, buf_string(&shown),
	        e.fact);
	buf_free(&shown);
	json_decref(card);
	json_decref(want);
}

static const struct keys none[] = { { NULL, 0, NULL } };

static const struct keys real[] = {
	{ "created_at", VALUE_STRING, "1764278947" },
	{ "aprender_version", VALUE_STRING, "0.19.0" },
	{ "license", VALUE_JSON, "{\"uuid\":\"u\",\"tier\":\"Team\"}" },
	{ "metrics", VALUE_JSON, "{\"loss\":0.5}" },
	{ "model_card", VALUE_JSON, "{\"model_id\":\"digits\",\"name\":\"Digits\",\"version\":\"1.0\","
	  "\"license\":\"MIT\",\"param_count\":12,\"metrics\":{\"accuracy\":0.94999998807907104},"
	  "\"target_hardware\":[\"cpu\",\"wasm\"],\"own\":{\"x\":1}}" },
	{ NULL, 0, NULL }
};

static const struct keys gguf[] = {
	{ "general.architecture", VALUE_STRING, "llama" },
	{ "general.name", VALUE_STRING, "Tiny" },
	{ "general.license", VALUE_STRING, "mit" },
	{ "general.base_model.count", VALUE_U32, "1" },
	{ "general.base_model.0.name", VALUE_STRING, "Big" },
	{ "general.base_model.0.repo_url", VALUE_STRING, "https://example.org/big" },
	{ "compliance.gdpr_training_consent", VALUE_BOOL, "1" },
	{ "compliance.export_control", VALUE_STRING, "EAR99" },
	{ "out_of_scope", VALUE_STRING, "advice on health" },
	{ NULL, 0, NULL }
};

static void
fields(void)
{
	is("nothing", none, NULL, "{}");
	is("an APR file", real, NULL, "{\"name\":\"Digits\",\"version\":\"1.0\",\"param_count\":12,"
	   "\"license\":\"MIT\",\"license_terms\":{\"uuid\":\"u\",\"tier\":\"Team\"},"
	   "\"model_id\":\"digits\",\"framework_version\":\"0.19.0\",\"created_at\":\"1764278947\","
	   "\"target_hardware\":[\"cpu\",\"wasm\"],\"metrics\":{\"accuracy\":0.94999998807907104},"
	   "\"more\":{\"own\":{\"x\":1}}}");
	is("a GGUF file", gguf, NULL, "{\"name\":\"Tiny\",\"architecture\":\"llama\",\"license\":\"mit\","
	   "\"base_models\":[{\"name\":\"Big\",\"repo_url\":\"https://example.org/big\"}],"
	   "\"out_of_scope\":[\"advice on health\"],"
	   "\"compliance\":{\"gdpr_training_consent\":true,\"export_control\":\"EAR99\"}}");
	is("front matter", none, "---\nlicense: mit\nlanguage: en\nbase_model: [a/b, https://x.org]\n"
	   "compliance:\n  bias_audit_date: 2025-01-15\ninference: false\n---\n# T\n",
	   "{\"license\":\"mit\",\"languages\":[\"en\"],"
	   "\"base_models\":[{\"name\":\"a/b\"},{\"repo_url\":\"https://x.org\"}],"
	   "\"compliance\":{\"bias_audit_date\":\"2025-01-15\"},\"more\":{\"inference\":\"false\"}}");
	is("keys before front matter", gguf, "---\nname: Other\nauthor: A\n---\n",
	   "{\"name\":\"Tiny\",\"author\":\"A\",\"architecture\":\"llama\",\"license\":\"mit\","
	   "\"base_models\":[{\"name\":\"Big\",\"repo_url\":\"https://example.org/big\"}],"
	   "\"out_of_scope\":[\"advice on health\"],"
	   "\"compliance\":{\"gdpr_training_consent\":true,\"export_control\":\"EAR99\"}}");
	is("several licences", none, "---\nlicense: [mit, [x], apache-2.0]\n---\n",
	   "{\"license\":\"mit,apache-2.0\"}");
	is("wrong types", none, "---\nlicense: {a: b}\ntags: {c: d}\nmetrics: 3\nlanguage: [[x], y]\n---\n",
	   "{\"languages\":[\"y\"],\"license_terms\":{\"a\":\"b\"}}");
}

static void
refused(void)
{
	static const struct keys bad[] = { { "model_card", VALUE_JSON, "{" }, { NULL, 0, NULL } };
	struct err e = ERR_INIT, f = ERR_INIT;

	test_ok(!card_of(bad, NULL, &e) && e.code == ERR_CORRUPT &&
	        strcmp(e.object, "model_card") == 0, "a model_card that is not JSON: %s", e.fact);
	test_ok(!card_of(none, "---\na: [\n---\n", &f) && f.code == ERR_CORRUPT &&
	        strcmp(f.object, "README.md") == 0, "front matter that is not YAML: %s", f.fact);
}

static void
printed(const char *name, void (*put)(struct buf *, const json_t *), const struct keys *keys,
        const char *readme, const char *want)
{
	struct err e = ERR_INIT;
	struct buf b = { 0 };
	json_t *card = card_of(keys, readme, &e);

	if (card)
		put(&b, card);
	if (!test_ok(buf_string(&b) && strcmp((char *)b.p, want) == 0, "%s", name))
		printf("# %s\n", (char *)b.p);
	buf_free(&b);
	json_decref(card);
}

static void
put_json(struct buf *to, const json_t *card)
{
	card_json(to, card, "m.apr");
}

static void
prints(void)
{
	printed("text", card_text, real, NULL,
	        "name                Digits\n"
	        "version             1.0\n"
	        "param_count         12\n"
	        "license             MIT\n"
	        "license_terms.uuid  u\n"
	        "license_terms.tier  Team\n"
	        "model_id            digits\n"
	        "framework_version   0.19.0\n"
	        "created_at          1764278947 (2025-11-27T21:29:07Z)\n"
	        "target_hardware     cpu, wasm\n"
	        "metrics.accuracy    0.95\n"
	        "own                 {\"x\":1}\n");
	printed("text of entries and lines", card_text, gguf,
	        "---\ndescription: \"one\\ntwo \\e[1m\"\n---\n",
	        "name                Tiny\n"
	        "description         one\n"
	        "                    two \\x1b[1m\n"
	        "architecture        llama\n"
	        "license             mit\n"
	        "base_models         Big, https://example.org/big\n"
	        "out_of_scope        advice on health\n"
	        "compliance.gdpr_training_consent yes\n"
	        "compliance.export_control EAR99\n");
	printed("Markdown", card_markdown, gguf,
	        "---\ndescription: \"a *b* <i>\\ntwo\"\nmetrics: {f1: 0.5}\nfoo_bar: \"[x](y)\"\n---\n",
	        "# Tiny\n"
	        "\na \\*b\\* &lt;i&gt;\\\ntwo\n"
	        "\n## Model\n\n"
	        "- **Architecture:** llama\n"
	        "- **License:** mit\n"
	        "- **Base models:**\n"
	        "  - Big, https://example.org/big\n"
	        "\n## Intended use\n\n"
	        "- **Out of scope:** advice on health\n"
	        "\n## Evaluation\n\n"
	        "- **f1:** 0.5\n"
	        "\n## Compliance\n\n"
	        "- **Consent to training (GDPR):** yes\n"
	        "- **Export control:** EAR99\n"
	        "\n## More\n\n"
	        "- **foo\\_bar:** \\[x\\](y)\n");
	printed("an empty card", card_markdown, none, NULL, "# Model card\n");
	printed("JSON", put_json, none, "---\nlicense: mit\n---\n",
	        "{\"license\":\"mit\",\"model\":\"m.apr\"}\n");
}

/* 1000 entries behind 100,000 other keys: each key is looked at once. */
static void
many_keys(void)
{
	enum { OTHERS = 100000, ENTRIES = 1000 };
	struct model m = { 0 };
	struct weights w = { .name = "in", .plan = &m };
	struct meta *meta = mem_array(OTHERS + ENTRIES + 1, sizeof *meta);
	struct err e = ERR_INIT;
	uint8_t count[4], text[9] = { 1, 0, 0, 0, 0, 0, 0, 0, 'x' };
	char *names = mem_array(OTHERS + ENTRIES + 1, 48);
	clock_t begun;
	json_t *card;
	size_t i;

	if (!meta || !names)
		abort();
	le32_put(count, UINT32_MAX);
	for (i = 0; i <= OTHERS + ENTRIES; i++) {
		const char *form = i < OTHERS ? "general.base_model.0.names%zu" : "general.base_model.%zu.name";

		snprintf(names + 48 * i, 48, form, i < OTHERS ? i : i - OTHERS);
		meta[i] = (struct meta){ .key = names + 48 * i, .type = { 0, VALUE_STRING },
			.wire = text, .wire_bytes = sizeof text, .blob = SIZE_MAX };
	}
	meta[0] = (struct meta){ .key = (char[]){ "general.base_model.count" },
		.type = { 0, VALUE_U32 }, .wire = count, .wire_bytes = 4, .blob = SIZE_MAX };
	m.meta = meta;
	m.meta_count = OTHERS + ENTRIES + 1;
	begun = clock();
	card = card_read(&w, &e);
	test_ok(json_array_size(json_object_get(card, "base_models")) == ENTRIES &&
	        strcmp(json_string_value(json_object_get(json_array_get(
	                   json_object_get(card, "base_models"), 999), "name")), "x") == 0 &&
	        clock() - begun < CLOCKS_PER_SEC, "1000 base models behind many keys, in %.3f s",
	        (double)(clock() - begun) / CLOCKS_PER_SEC);
	json_decref(card);
	free(meta);
	free(names);
}

/* JSON that is shown in part ends with a whole character, wherever it is cut. */
static void
cuts(void)
{
	char text[2200];
	size_t shift, i;

	for (shift = 0; shift < 3; shift++) {
		struct keys keys[] = { { "model_card", VALUE_JSON, text }, { NULL, 0, NULL } };
		size_t n = (size_t)snprintf(text, sizeof text, "{\"own\":{\"x\":\"%.*s", (int)shift, "ab");
		struct err e = ERR_INIT;
		struct buf b = { 0 };
		json_t *card;

		for (i = 0; i < 690; i++)
			n += (size_t)snprintf(text + n, sizeof text - n, "\xe2\x82\xac");
		snprintf(text + n, sizeof text - n, "\"}}");
		card = card_of(keys, NULL, &e);
		if (card)
			card_text(&b, card);
		test_ok(b.n > 1990 && text_utf8(b.p, b.n, false) && memmem(b.p, b.n, "\xac ...", 5),
		        "long JSON is cut between characters, %zu", shift);
		buf_free(&b);
		json_decref(card);
	}
}

int
main(void)
{
	fields();
	refused();
	prints();
	many_keys();
	cuts();
	return test_done();
}
