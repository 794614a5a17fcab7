/* The architecture of a model from the names of its tensors, and names in .apr files. */
#include "arch/guess.h"
#include "arch/match.h"
#include "convert.h"

/* Architectures whose names, in one form at least, are those of another one. */
static const char *const same[][2] = { { "smollm3", "llama" }, { "granite", "llama" },
	{ "nemotron", "starcoder2" }, { NULL, NULL } };

static const char *
expected(const char *name)
{
	size_t i;

	for (i = 0; same[i][0]; i++)
		if (strcmp(same[i][0], name) == 0)
			return same[i][1];
	return name;
}

/* Whether a folder has tensors that only its configuration explains. */
static int
is_packed(const struct model *m)
{
	size_t i;

	for (i = 0; i < m->tensor_count; i++) {
		const char *name = tensor_name(m->tensors[i]);

		if (strstr(name, "_scale") || strstr(name, "_packed") || strstr(name, ".eh_proj"))
			return 1;
	}
	return 0;
}

static void
one(const char *what, const char *form_name, const struct model *m, enum arch_form want,
    const char *name)
{
	enum arch_form form;
	const struct arch *a = arch_guess(m, &form);

	if (want == ARCH_FOLDER && is_packed(m))
		test_ok(!a, "%s, %s: weights that are packed show nothing", what, form_name);
	else
		test_ok(a && form == want && (strcmp(a->name, name) == 0 ||
		                              strcmp(a->name, expected(name)) == 0),
		        "%s, %s: names show %s: %s", what, form_name, name, a ? a->name : "nothing");
}

/* The names of a folder as .apr files have them, and back. */
static void
there_and_back(struct convert *c)
{
	const struct arch *a = c->subject.arch;
	const struct model *m = c->subject.plan;
	char apr[MATCH_NAME], back[MATCH_NAME];
	struct match found, folder;
	size_t i, bad = 0;

	for (i = 0; i < m->tensor_count; i++) {
		const char *name = tensor_name(m->tensors[i]);

		if (!match_find(a, ARCH_FOLDER, name, 0, &folder) || folder.other)
			continue;
		match_apr(name, apr);
		if (strstr(apr, "model.") == apr || !match_find(a, ARCH_APR, apr, 0, &found) ||
		    strcmp(match_name(found.rule, ARCH_FOLDER, found.bias, found.block,
		                      found.expert, back), name) != 0) {
			printf("# %s -> %s\n", name, apr);
			bad++;
		}
	}
	test_ok(bad == 0, "%s: each name comes back from its form apr", c->name);
}

static void
each(struct convert *c)
{
	const char *name = model_text(&c->expected.plan, "general.architecture");

	one(c->name, "folder", c->subject.plan, ARCH_FOLDER, name);
	one(c->name, "GGUF", &c->expected.plan, ARCH_GGUF, name);
	there_and_back(c);
}

/* Version 2, section 10.8: both tables. */
static void
test_table(void)
{
	static const char *const table[][2] = {
#define W(n) { "model." n, n }
		W("encoder.conv1.weight"), W("encoder.conv1.bias"), W("encoder.conv2.weight"),
		W("encoder.conv2.bias"),
		{ "model.encoder.embed_positions.weight", "encoder.positional_embedding" },
		W("encoder.layer_norm.weight"), W("encoder.layer_norm.bias"),
		W("encoder.layers.5.self_attn_layer_norm.weight"),
		W("encoder.layers.5.self_attn.q_proj.weight"),
		{ "model.decoder.embed_tokens.weight", "decoder.token_embedding" },
		{ "model.decoder.embed_positions.weight", "decoder.positional_embedding" },
		W("decoder.layer_norm.weight"), W("decoder.layer_norm.bias"),
		W("decoder.layers.5.self_attn_layer_norm.weight"),
		W("decoder.layers.5.encoder_attn_layer_norm.weight"),
		W("decoder.layers.5.final_layer_norm.weight"),
		{ "model.embed_tokens.weight", "token_embedding" },
		{ "model.layers.0.self_attn.q_proj.weight", "layers.0.attn.q_proj.weight" },
	};
	const struct arch *whisper = arch_by_name("whisper"), *llama = arch_by_name("llama");
	char dst[MATCH_NAME];
	struct match m;
	size_t i;

	for (i = 0; i < sizeof table / sizeof *table; i++)
		test_ok(strcmp(match_apr(table[i][0], dst), table[i][1]) == 0 &&
		        match_find(i < 16 ? whisper : llama, ARCH_APR, dst, 0, &m),
		        "%s is %s", table[i][0], dst);
	test_ok(match_find(llama, ARCH_GGUF, "blk.0.attn_q.weight", 0, &m) &&
	        strcmp(match_name(m.rule, ARCH_APR, false, 0, 0, dst),
	               "layers.0.attn.q_proj.weight") == 0, "blk.0.attn_q.weight is %s", dst);
	test_ok(match_find(llama, ARCH_GGUF, "token_embd.weight", 0, &m) &&
	        strcmp(match_name(m.rule, ARCH_APR, false, 0, 0, dst), "token_embedding") == 0,
	        "token_embd.weight is %s", dst);
}

/* Names that are long or odd do no harm. */
static void
test_odd(void)
{
	static char name[70000], dst[MATCH_NAME];
	static const char *const starts[] = { "model.layers.", "model.", "embeddings.",
		"model.layers.1234567890.self_attn." };
	struct err e = ERR_INIT;
	struct model m;
	enum arch_form form;
	size_t i;

	for (i = 0; i < 4; i++) {
		memset(name, '7', sizeof name - 1);
		memcpy(name, starts[i], strlen(starts[i]));
		match_apr(name, dst);
		test_ok(strlen(dst) < MATCH_NAME, "a long name after %s", starts[i]);
	}
	model_init(&m, &e);
	test_ok(!arch_guess(&m, &form), "a model without tensors");
	for (i = 0; i < 20000; i++) {
		size_t n = (size_t)snprintf(name, sizeof name, "n%zu.%zu", i, i);

		model_add_tensor(&m, tensor_new(name, n, dtype_by_name("F32"), 0, NULL,
		                                TENSOR_OWN_SIZE, "test", &e), &e);
	}
	test_ok(!arch_guess(&m, &form), "20,000 kinds of names");
	test_ok(arch_form_of(arch_by_name("llama"), &m) == ARCH_FOLDER, "names of no form");
	model_free(&m);
	arch_unknown("f", "lama", &e);
	test_ok(strstr(e.hint, "nearest known one is llama") != NULL, "lama: %s", e.hint);
}

int
main(void)
{
	const char *data = test_data();

	test_table();
	test_odd();
	if (data)
		convert_each(data, each);
	else
		test_skip("model folders", "no reference data in APR_TEST_DATA");
	return test_done();
}
