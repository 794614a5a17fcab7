/* Hyper-parameters as keys of GGUF and as config.json. */
#include <math.h>

#include "adapt/keys.h"
#include "convert.h"
#include "core/le.h"

/* ---- as keys ---- */

static bool
is_hyper(const char *key, const char *arch)
{
	size_t n = strlen(arch);

	return strcmp(key, "general.file_type") == 0 ||
		(strncmp(key, arch, n) == 0 && key[n] == '.' &&
		 strcmp(key + n, ".rope.scaling.attn_factor") != 0 &&
		 strncmp(key, "tokenizer.", 10) != 0);
}

static void
show(const struct meta *m, const char *what)
{
	size_t i;

	printf("# %s %s type %u,%u:", what, m->key, m->type.depth, m->type.leaf);
	for (i = 0; i < m->wire_bytes && i < 40; i++)
		printf(" %02x", m->wire[i]);
	printf("\n");
}

/* The next key of a model that is one of hyper-parameters, from index *i. */
static const struct meta *
next_key(const struct model *m, const char *arch, size_t *i)
{
	while (*i < m->meta_count) {
		const struct meta *key = &m->meta[(*i)++];

		if (is_hyper(key->key, arch))
			return key;
	}
	return NULL;
}

static bool
same(const struct model *made, const struct model *expected, const char *arch)
{
	const struct meta *a, *b;
	size_t i = 0, k = 0;

	do {
		a = next_key(made, arch, &i);
		b = next_key(expected, arch, &k);
		if ((a || b) && (!a || !b || strcmp(a->key, b->key) != 0 ||
		    a->type.depth != b->type.depth || a->type.leaf != b->type.leaf ||
		    a->wire_bytes != b->wire_bytes || memcmp(a->wire, b->wire, a->wire_bytes))) {
			if (a)
				show(a, "made");
			if (b)
				show(b, "expected");
			return false;
		}
	} while (a && b);
	return true;
}

static uint32_t
file_type(const struct model *expected)
{
	uint64_t n = 0;

	model_u64(expected, "general.file_type", &n);
	return (uint32_t)n;
}

/* The keys that stand before general.type. */
static void
each_first(struct convert *c)
{
	const char *key = "phi3.rope.scaling.attn_factor";
	const struct meta *expected = model_find(&c->expected.plan, key), *m;
	struct model made;
	struct err e = ERR_INIT;
	int r = model_init(&made, &e);

	if (r == 0)
		r = keys_put_first(&c->subject, &made, &e);
	m = model_find(&made, key);
	test_ok(r == 0 && made.meta_count == (expected ? 1 : 0) && (!expected || (m &&
	        m->type.leaf == VALUE_F32 && memcmp(m->wire, expected->wire, 4) == 0)),
	        "%s: first keys %s", c->name, e.fact);
	model_free(&made);
}

static void
each_put(struct convert *c)
{
	const char *arch = model_text(&c->expected.plan, "general.architecture");
	struct model made;
	struct err e = ERR_INIT;
	size_t n;
	int r = model_init(&made, &e);

	if (r == 0)
		r = keys_put(&c->subject, file_type(&c->expected.plan), &made, &e);
	if (!weights_file(&c->subject.w, "1_Pooling/config.json", &n))
		model_unset_meta(&c->expected.plan, "bert.pooling_type");
	test_ok(r == 0 && same(&made, &c->expected.plan, arch), "%s: keys %s%s%s", c->name,
	        e.object, e.fact[0] ? ": " : "", e.fact);
	model_free(&made);
}

/* ---- as config.json ---- */

/* Members that no program needs: training, versions, what the class assumes anyway, or what
 * GGUF cannot say; and those that come from the tokenizer or the tensors. */
static const char *const apart[] = {
	"transformers_version", "_name_or_path", "auto_map", "torch_dtype", "use_cache",
	"gradient_checkpointing", "initializer_range", "initializer_factor", "aux_loss_alpha",
	"router_aux_loss_coef", "seq_aux", "ep_size", "pretraining_tp", "task_specific_params",
	"attention_dropout", "resid_pdrop", "residual_dropout", "embedding_dropout",
	"summary_activation", "summary_first_dropout", "summary_proj_to_labels", "summary_type",
	"summary_use_proj", "output_past", "num_nextn_predict_layers", "quantization_config",
	/* other names for the same */
	"model_max_length", "sliding_window_pattern", "d_inner", "d_model", "n_layer",
	"layer_norm_epsilon", "activation_function", "type",
	/* the code of the class has no such member, or only one value */
	"apply_residual_connection_post_layernorm", "fused_add_norm", "rms_norm", "ssm_cfg",
	"pad_vocab_size_multiple", "mlp_type", "norm_type", "attention_softmax_in_fp32",
	"scale_attention_softmax_in_fp32", "scale_attn_weights", "max_window_layers",
	/* no key in GGUF; see DEVIATIONS.md */
	"query_pre_attn_scalar", "sliding_window", "bos_token_id", "eos_token_id",
};

static bool
is_apart(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof apart / sizeof *apart; i++)
		if (strcmp(apart[i], name) == 0)
			return true;
	return false;
}

/* Equal in single precision, which is what the keys hold. */
static bool
equal(const json_t *a, const json_t *b)
{
	const char *name;
	json_t *v;

	if (json_is_number(a) && json_is_number(b))
		return fabs(json_number_value(a) - json_number_value(b)) <=
			6e-8 * fabs(json_number_value(a));
	if (json_is_array(a) && json_is_real(json_array_get(a, 0)))
		return json_array_size(a) == json_array_size(b) &&
			equal(json_array_get(a, 3), json_array_get(b, 3));
	if (!json_is_object(a))
		return json_equal(a, b) || (json_is_null(a) && !b);
	json_object_foreach((json_t *)(uintptr_t)a, name, v)
		if (!is_apart(name) && !equal(v, json_object_get(b, name)))
			return false;
	return true;
}

/* Whether a config has all members of the original that matter. */
static bool
complete(const json_t *config, const json_t *original)
{
	const char *name;
	bool all = true;
	json_t *v;

	json_object_foreach((json_t *)(uintptr_t)original, name, v) {
		if (is_apart(name) || equal(v, json_object_get(config, name)))
			continue;
		printf("# %s is missing or differs\n", name);
		all = false;
	}
	return all;
}

static void
add_factors(const struct load *l, json_t *config, struct err *e)
{
	size_t i;

	for (i = 0; i < l->plan.tensor_count; i++) {
		const struct tensor *t = l->plan.tensors[i];
		float values[64];
		size_t n = (size_t)tensor_items(t);

		if (strncmp(tensor_name(t), "rope_f", 6) == 0 && n <= 64) {
			memcpy(values, l->weights.tensors[i], n * sizeof *values);
			keys_factors(config, tensor_name(t), values, n, e);
		}
	}
}

static void
each_config(struct convert *c)
{
	struct subject made = { .plan = &c->expected.plan, .w = c->expected.weights,
		.form = ARCH_GGUF };
	const char *arch = model_text(&c->expected.plan, "general.architecture");
	struct model again;
	struct err e = ERR_INIT;
	uint64_t rows = 0;
	bool tied;
	int r;

	made.arch = arch_by_name(arch);
	tied = json_is_true(json_object_get(c->subject.config, "tie_word_embeddings"));
	json_member_u64(c->subject.config, "vocab_size", &rows);
	made.config = keys_config(&made, "bfloat16", rows, tied, &e);
	add_factors(&c->expected, made.config, &e);
	test_ok(made.config && e.code == ERR_NONE, "%s: config.json %s %s", c->name, e.object,
	        e.fact);
	if (strcmp(c->name, "mistral") == 0) { /* without a window the same as Llama */
		json_object_del(c->subject.config, "model_type");
		json_object_del(c->subject.config, "architectures");
	} else if (strcmp(c->name, "cohere") == 0) { /* the larger of two lengths */
		json_object_del(c->subject.config, "max_position_embeddings");
	}
	test_ok(complete(made.config, c->subject.config), "%s: all members", c->name);
	made.arch = keys_arch(&made);
	r = model_init(&again, &e);
	if (r == 0)
		r = keys_put(&made, file_type(&c->expected.plan), &again, &e);
	model_unset_meta(&c->expected.plan, "bert.pooling_type");
	test_ok(r == 0 && same(&again, &c->expected.plan, arch), "%s: the keys again %s %s",
	        c->name, e.object, e.fact);
	model_free(&again);
	json_decref(made.config);
}

int
main(void)
{
	const char *data = test_data();

	if (data) {
		convert_each(data, each_put);
		convert_each(data, each_first);
		convert_each(data, each_config);
	} else {
		test_skip("model folders", "no reference data in APR_TEST_DATA");
	}
	return test_done();
}
