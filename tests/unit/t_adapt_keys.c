/* Hyper-parameters as keys of GGUF and as config.json. */
#include <math.h>

#include "adapt/keys/keys.h"
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

static void
configs(const char *data)
{
	convert_each(data, each_config);
}

/* ---- variants and errors, without reference data ---- */

static char noted[512]; /* the notes of keys_text, a line each */

static void
take_note(const char *text)
{
	size_t n = strlen(noted);

	snprintf(noted + n, sizeof noted - n, "%s\n", text);
}

/* The keys of a config.json as text: "key value; key value". */
static const char *
keys_text(const char *text, bool first, struct buf *b, struct err *e)
{
	struct model plan, made;
	struct subject s = { .plan = &plan, .w = { .name = "test", .plan = &plan },
		.form = ARCH_FOLDER, .note = take_note };
	const char *type = "";
	size_t i;
	int r = -1;

	noted[0] = '\0';
	if (model_init(&plan, e) < 0 || model_init(&made, e) < 0)
		return "";
	s.config = json_parse(text, strlen(text), ERR_CORRUPT, "config.json", e);
	subject_flatten(s.config);
	json_member_text(s.config, "model_type", &type);
	s.arch = arch_by_folder(type);
	if (s.config)
		r = first ? keys_put_first(&s, &made, e) : keys_put(&s, 1, &made, e);
	buf_clear(b);
	for (i = 0; r == 0 && i < made.meta_count; i++) {
		const struct meta *m = &made.meta[i];
		json_t *v = value_to_json(m->type, m->wire, m->wire_bytes);

		buf_printf(b, "%s%s ", i ? "; " : "", m->key + strcspn(m->key, ".") + 1);
		json_write(v, b);
		json_decref(v);
	}
	json_decref(s.config);
	model_free(&made);
	model_free(&plan);
	return buf_string(b);
}

#define LLAMA "\"model_type\":\"llama\",\"hidden_size\":64,\"num_hidden_layers\":2," \
	"\"num_attention_heads\":4,\"vocab_size\":9"

static void
variants(void)
{
	static const struct { const char *name, *config, *contains; } cases[] = {
		{ "Llama as transformers 5 writes it", "{" LLAMA ",\"rope_parameters\":{\"rope_type\":"
		  "\"llama3\",\"rope_theta\":500000,\"factor\":8}}", "head_count_kv 4; rope.freq_base "
		  "\"500000\"; attention.layer_norm_rms_epsilon \"9.99999997e-07\"; "
		  "attention.key_length 16" },
		{ "members that are missing", "{" LLAMA "}", "block_count 2; context_length 2048; "
		  "embedding_length 64; attention.head_count 4; attention.head_count_kv 4; "
		  "rope.freq_base \"10000\"" },
		{ "linear scaling", "{" LLAMA ",\"rope_scaling\":{\"type\":\"linear\",\"factor\":2}}",
		  "rope.scaling.type \"linear\"; rope.scaling.factor \"2\"; rope.freq_base" },
		{ "yarn with all members", "{" LLAMA ",\"rope_scaling\":{\"rope_type\":\"yarn\","
		  "\"factor\":4,\"attention_factor\":1.5,\"beta_fast\":8,\"extrapolation_factor\":1}}",
		  "rope.scaling.type \"yarn\"; rope.scaling.factor \"4\"; "
		  "rope.scaling.original_context_length 2048; rope.scaling.yarn_ext_factor \"1\"; "
		  "rope.scaling.yarn_attn_factor \"1.5\"; rope.scaling.yarn_beta_fast \"8\"; "
		  "rope.freq_base" },
		{ "heads of each block", "{\"model_type\":\"llama\",\"hidden_size\":64,"
		  "\"num_hidden_layers\":2,\"num_attention_heads\":[4,8],\"head_dim\":8,"
		  "\"num_key_value_heads\":[2,4],\"vocab_size\":9}",
		  "attention.head_count [4,8]; attention.head_count_kv [2,4]" },
		{ "Gemma 3 with pictures, whose text part has few members", "{\"model_type\":\"gemma3\","
		  "\"text_config\":{\"model_type\":\"gemma3_text\",\"hidden_size\":2560,"
		  "\"intermediate_size\":10240,\"num_hidden_layers\":34,\"sliding_window\":1024,"
		  "\"rope_scaling\":{\"factor\":8.0,\"rope_type\":\"linear\"}},\"vision_config\":{}}",
		  "block_count 34; context_length 131072; embedding_length 2560; feed_forward_length "
		  "10240; attention.head_count 8; attention.head_count_kv 4; rope.scaling.type "
		  "\"linear\"; rope.scaling.factor \"8\"; rope.freq_base \"1000000\"; "
		  "rope.freq_base_swa \"10000\"; attention.layer_norm_rms_epsilon \"9.99999997e-07\"; "
		  "attention.key_length 256; attention.value_length 256; file_type 1; "
		  "attention.sliding_window 1024" },
		{ "Gemma 3 as transformers 5 writes it", "{\"model_type\":\"gemma3_text\","
		  "\"hidden_size\":64,\"intermediate_size\":64,\"num_hidden_layers\":2,"
		  "\"rope_parameters\":{\"full_attention\":{\"rope_type\":\"default\",\"rope_theta\":"
		  "1000000.0},\"sliding_attention\":{\"rope_theta\":20000,\"rope_type\":\"default\"}}}",
		  "rope.freq_base \"1000000\"; rope.freq_base_swa \"20000\"" },
		{ "Mistral 3, a text part", "{\"model_type\":\"mistral3\",\"text_config\":{\"model_type\":"
		  "\"mistral\",\"hidden_size\":64,\"num_hidden_layers\":2,\"num_attention_heads\":4,"
		  "\"vocab_size\":9,\"head_dim\":32,\"num_key_value_heads\":2,\"rope_theta\":1e9}}",
		  "rope.freq_base \"1e+09\"; attention.layer_norm_rms_epsilon \"9.99999997e-07\"; "
		  "attention.key_length 32" },
		{ "OLMo 3", "{\"model_type\":\"olmo2\",\"hidden_size\":64,\"num_hidden_layers\":5,"
		  "\"num_attention_heads\":4,\"sliding_window\":16}", "attention.sliding_window 16; "
		  "attention.sliding_window_pattern [true,true,true,false,true]" },
		{ "Falcon with one head of keys", "{\"model_type\":\"falcon\",\"hidden_size\":64,"
		  "\"num_hidden_layers\":2,\"num_attention_heads\":8,\"num_kv_heads\":8,"
		  "\"multi_query\":true,\"new_decoder_architecture\":false,\"rope_theta\":5e5}",
		  "attention.head_count 8; attention.head_count_kv 1; attention.layer_norm_epsilon "
		  "\"9.99999975e-06\"; file_type 1; rope.freq_base \"500000\"" },
		{ "Falcon of before", "{\"model_type\":\"RefinedWeb\",\"hidden_size\":64,"
		  "\"n_layer\":2,\"n_head\":8,\"n_head_kv\":4}", "block_count 2; attention.head_count "
		  "8; attention.head_count_kv 4" },
		{ "GPT-2 without n_ctx", "{\"model_type\":\"gpt2\",\"n_embd\":64,\"n_layer\":2,"
		  "\"n_head\":4,\"n_positions\":128,\"n_inner\":null}", "block_count 2; context_length "
		  "128; embedding_length 64; feed_forward_length 256" },
		{ "Mamba that computes its rank", "{\"model_type\":\"mamba\",\"hidden_size\":100,"
		  "\"num_hidden_layers\":1,\"time_step_rank\":\"auto\"}", "ssm.inner_size 200; "
		  "ssm.state_size 16; ssm.time_step_rank 7" },
		{ "DeepSeek without experts", "{\"model_type\":\"deepseek_v3\",\"hidden_size\":64,"
		  "\"num_hidden_layers\":3,\"num_attention_heads\":4,\"qk_nope_head_dim\":8,"
		  "\"qk_rope_head_dim\":4,\"v_head_dim\":8,\"intermediate_size\":77,\"vocab_size\":9}",
		  "leading_dense_block_count 3; vocab_size 9; attention.kv_lora_rank 512; "
		  "attention.key_length_mla 12; attention.value_length_mla 8; "
		  "expert_feed_forward_length 77; expert_shared_count 0; rope.dimension_count 4" },
		{ "a classifier", "{\"model_type\":\"bert\",\"hidden_size\":64,\"num_hidden_layers\":1,"
		  "\"num_attention_heads\":4,\"id2label\":{\"0\":\"no\",\"1\":\"yes\"}}",
		  "attention.causal false; classifier.output_labels [\"no\",\"yes\"]" },
	};
	struct buf b = { 0 };
	size_t i;

	for (i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct err e = ERR_INIT;
		const char *text = keys_text(cases[i].config, false, &b, &e);

		test_ok(strstr(text, cases[i].contains) != NULL && e.code == ERR_NONE, "%s %s",
		        cases[i].name, e.fact);
		if (!strstr(text, cases[i].contains))
			printf("# %s\n", text);
	}
	buf_free(&b);
}

#define PHI3 "\"model_type\":\"phi3\",\"hidden_size\":64,\"num_attention_heads\":4," \
	"\"max_position_embeddings\":16384"

static void
factors(void)
{
	static const struct { const char *name, *config, *text; } cases[] = {
		{ "su", "{" PHI3 ",\"rope_scaling\":{\"type\":\"su\",\"long_factor\":[1]}}",
		  "rope.scaling.attn_factor \"1.08012342\"" },
		{ "yarn", "{" PHI3 ",\"rope_scaling\":{\"type\":\"yarn\",\"long_factor\":[1]}}",
		  "rope.scaling.attn_factor \"1.13862944\"" },
		{ "a context that is not extended", "{" PHI3 ",\"original_max_position_embeddings\":"
		  "16384,\"rope_scaling\":{\"type\":\"longrope\",\"long_factor\":[1]}}",
		  "rope.scaling.attn_factor \"1\"" },
		{ "no factors", "{" PHI3 "}", "" },
	};
	struct buf b = { 0 };
	size_t i;

	for (i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct err e = ERR_INIT;
		const char *text = keys_text(cases[i].config, true, &b, &e);

		test_ok(strcmp(text, cases[i].text) == 0 && e.code == ERR_NONE, "Phi-3: %s: %s %s",
		        cases[i].name, text, e.fact);
	}
	buf_free(&b);
}

#define GEMMA(type, rest) "{\"model_type\":\"" type "\",\"hidden_size\":4608," \
	"\"intermediate_size\":64,\"num_attention_heads\":32,\"num_key_value_heads\":16," \
	"\"head_dim\":128,\"sliding_window\":64,\"vocab_size\":9," \
	"\"max_position_embeddings\":64,\"rms_norm_eps\":1e-6," rest "}"
#define SCALAR(own, derived) "config.json: query_pre_attn_scalar " own " has no key in GGUF, " \
	"whose readers use " derived ": the GGUF file answers differently from the folder\n"

/* What is lost is noted, and nothing else is. */
static void
losses(void)
{
	static const struct { const char *name, *config, *note; } cases[] = {
		{ "a scale that readers derive", GEMMA("gemma2", "\"num_hidden_layers\":26,"
		  "\"query_pre_attn_scalar\":128"), "" },
		{ "another scale", GEMMA("gemma2", "\"num_hidden_layers\":26,"
		  "\"query_pre_attn_scalar\":144"), SCALAR("144", "128") },
		{ "the scale of 27 billion parameters", GEMMA("gemma2", "\"num_hidden_layers\":46,"
		  "\"query_pre_attn_scalar\":144"), "" },
		{ "another scale there", GEMMA("gemma2", "\"num_hidden_layers\":46,"
		  "\"query_pre_attn_scalar\":128"), SCALAR("128", "144") },
		{ "Gemma 3", GEMMA("gemma3_text", "\"num_hidden_layers\":62,"
		  "\"query_pre_attn_scalar\":224.5"), SCALAR("224.5", "144") },
		{ "a scale that is not stated", GEMMA("gemma3_text", "\"num_hidden_layers\":4"), "" },
		{ "a scale of another architecture", "{" LLAMA ",\"query_pre_attn_scalar\":9}", "" },
		{ "blocks without positions", "{\"model_type\":\"smollm3\",\"hidden_size\":64,"
		  "\"num_hidden_layers\":4,\"num_attention_heads\":4,\"vocab_size\":9,"
		  "\"no_rope_layers\":[1,0,1,1]}", "config.json: no_rope_layers has no key in GGUF, "
		  "whose readers skip every 4th block\n" },
	};
	struct buf b = { 0 };
	size_t i;

	for (i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct err e = ERR_INIT;

		keys_text(cases[i].config, false, &b, &e);
		test_ok(e.code == ERR_NONE && strcmp(noted, cases[i].note) == 0, "%s: %s %s",
		        cases[i].name, noted, e.fact);
	}
	buf_free(&b);
}

static void
errors(void)
{
	static const struct { const char *config, *fact; } cases[] = {
		{ "{\"model_type\":\"llama\",\"hidden_size\":64,\"num_attention_heads\":4}",
		  "num_hidden_layers is missing" },
		{ "{\"model_type\":\"llama\",\"hidden_size\":64,\"num_hidden_layers\":2}",
		  "num_attention_heads is missing" },
		{ "{\"model_type\":\"llama\",\"n_embd\":-64,\"num_hidden_layers\":2}",
		  "n_embd has an invalid value" },
		{ "{\"model_type\":\"llama\",\"hidden_size\":\"64\",\"num_hidden_layers\":2}",
		  "hidden_size has an invalid value" },
		{ "{\"model_type\":\"llama\",\"hidden_size\":64.5,\"num_hidden_layers\":2}",
		  "hidden_size has an invalid value" },
		{ "{\"model_type\":\"llama\",\"hidden_size\":64,\"num_hidden_layers\":2147483648}",
		  "num_hidden_layers has an invalid value" },
		{ "{\"model_type\":\"llama\",\"hidden_size\":64,\"num_hidden_layers\":true}",
		  "num_hidden_layers has an invalid value" },
		{ "{\"model_type\":\"llama\",\"hidden_size\":64,\"num_hidden_layers\":2,"
		  "\"num_attention_heads\":0}", "num_attention_heads has an invalid value" },
		{ "{\"model_type\":\"llama\",\"hidden_size\":64,\"num_hidden_layers\":2,"
		  "\"num_attention_heads\":[]}", "num_attention_heads is not a list of a number" },
		{ "{\"model_type\":\"llama\",\"hidden_size\":64,\"num_hidden_layers\":2,"
		  "\"num_attention_heads\":[4,-1]}", "num_attention_heads is not a list of a number" },
		{ "{\"model_type\":\"llama\",\"hidden_size\":64,\"num_hidden_layers\":2,"
		  "\"num_attention_heads\":[4,4,4]}", "num_attention_heads is not a list of a number" },
		{ "{" LLAMA ",\"rms_norm_eps\":1e300}", "rms_norm_eps has an invalid value" },
		{ "{" LLAMA ",\"rope_theta\":\"10000\"}", "rope_theta has an invalid value" },
		{ "{" LLAMA ",\"rope_scaling\":{\"rope_type\":1}}", "rope_type is not a string" },
		{ "{" LLAMA ",\"rope_scaling\":[]}", "rope_scaling is not an object" },
		{ "{" LLAMA ",\"rope_parameters\":\"yarn\"}", "rope_parameters is not an object" },
		{ "{" LLAMA ",\"rope_scaling\":{\"type\":\"yarn\"}}", "factor is missing" },
		{ "{" LLAMA ",\"rope_scaling\":{\"type\":\"linear\",\"factor\":\"2\"}}",
		  "factor has an invalid value" },
		{ "{" LLAMA ",\"hidden_size\":32}", "duplicate" },
		{ "{" LLAMA ",\"scoring_func\":\"tanh\"}", "scoring_func is an unknown function" },
		{ "{\"model_type\":\"gpt_neox\",\"hidden_size\":64,\"num_hidden_layers\":2,"
		  "\"num_attention_heads\":0,\"max_position_embeddings\":8,\"intermediate_size\":8}",
		  "hidden_size / num_attention_heads * @partial_rotary_factor / 1 is not a finite" },
		{ "{\"model_type\":\"roberta\",\"hidden_size\":64,\"num_hidden_layers\":2,"
		  "\"num_attention_heads\":4,\"max_position_embeddings\":8,\"pad_token_id\":9}",
		  "max_position_embeddings has an invalid value" },
		{ "{\"model_type\":\"olmo2\",\"hidden_size\":64,\"num_hidden_layers\":2000,"
		  "\"num_attention_heads\":4,\"sliding_window\":8}", "layer_types does not have one" },
		{ "{\"model_type\":\"olmo2\",\"hidden_size\":64,\"num_hidden_layers\":2,"
		  "\"num_attention_heads\":4,\"sliding_window\":8,\"layer_types\":[\"full_attention\"]}",
		  "layer_types does not have one" },
		{ "{\"model_type\":\"bert\",\"hidden_size\":64,\"num_hidden_layers\":1,"
		  "\"num_attention_heads\":4,\"id2label\":{\"0\":1}}", "id2label is not a text" },
		{ "{\"model_type\":\"stablelm\",\"max_position_embeddings\":64,\"hidden_size\":64,"
		  "\"num_hidden_layers\":1,\"intermediate_size\":8,\"num_attention_heads\":4,"
		  "\"use_parallel_residual\":1}", "use_parallel_residual is neither true nor false" },
	};
	struct buf b = { 0 };
	size_t i;

	for (i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct err e = ERR_INIT;

		keys_text(cases[i].config, false, &b, &e);
		test_ok(e.code == ERR_CORRUPT && strstr(e.fact, cases[i].fact), "refused: %s: %s",
		        cases[i].fact, e.fact);
	}
	buf_free(&b);
}

/* ---- absurd values ---- */

static json_t *
absurd(size_t i)
{
	static const char *const values[] = { "null", "true", "false", "\"\"", "\"text\"", "-1",
		"0", "1", "0.5", "2147483648", "9007199254740993", "-9223372036854775808", "1e308",
		"-1e-320", "[]", "[[]]", "[1,2]", "[\"sliding_attention\",\"full_attention\"]", "{}",
		"{\"rope_type\":\"yarn\"}", "{\"full_attention\":{}}", "{\"0\":\"a\"}" };
	struct err e = ERR_INIT;

	return i < sizeof values / sizeof *values
		? json_parse_any(values[i], strlen(values[i]), ERR_CORRUPT, "test", &e) : NULL;
}

/* Whether a config with one member replaced gives keys or one message. */
static bool
survives(const struct subject *s)
{
	struct model made;
	struct err e = ERR_INIT;
	bool good = model_init(&made, &e) == 0;
	int r = keys_put_first(s, &made, &e);

	good &= r == 0 || ((e.code == ERR_CORRUPT || e.code == ERR_FORMAT) && e.fact[0]);
	e = (struct err)ERR_INIT;
	r = keys_put(s, 1, &made, &e);
	good &= r == 0 || ((e.code == ERR_CORRUPT || e.code == ERR_FORMAT) && e.fact[0]);
	model_free(&made);
	return good;
}

static bool
each_member(const struct subject *s, json_t *o)
{
	const char *name;
	json_t *copy = json_copy(o), *old, *v;
	bool good = true;
	size_t i;

	json_object_foreach(copy, name, old) {
		for (i = 0; (v = absurd(i)); i++) {
			json_object_set_new(o, name, v);
			good &= survives(s);
		}
		json_object_del(o, name);
		good &= survives(s);
		json_object_set(o, name, old);
		if (json_is_object(old))
			good &= each_member(s, old);
	}
	json_decref(copy);
	return good;
}

static void
each_absurd(struct convert *c)
{
	test_ok(each_member(&c->subject, c->subject.config), "%s: absurd members", c->name);
}

/* The same for keys: each with a value of another type, or its bytes changed. */
static void
each_absurd_key(struct convert *c)
{
	struct subject s = { .plan = &c->expected.plan, .w = c->expected.weights,
		.form = ARCH_GGUF };
	static const struct { struct value_type type; uint8_t bytes[24]; size_t n; } values[] = {
		{ { 0, VALUE_U32 }, "\xff\xff\xff\xff", 4 }, { { 0, VALUE_I32 }, "\xff\xff\xff\xff", 4 },
		{ { 0, VALUE_F32 }, "\0\0\xc0\x7f", 4 }, { { 0, VALUE_BOOL }, "\1", 1 },
		{ { 0, VALUE_STRING }, "\2\0\0\0\0\0\0\0\xff\xfe", 10 },
		{ { 0, VALUE_U64 }, "\xff\xff\xff\xff\xff\xff\xff\xff", 8 },
		{ { 1, VALUE_U32 }, "\4\0\0\0\0\0\0\0\0\0\0\0", 12 },
		{ { 1, VALUE_U32 }, "\4\0\0\0\2\0\0\0\0\0\0\0\1\0\0\0\2\0\0\0", 20 },
		{ { 0, VALUE_U32 }, "\0\0\0\0", 4 },
	};
	bool good = true;
	size_t i, k;

	s.arch = arch_by_name(model_text(&c->expected.plan, "general.architecture"));
	for (i = 0; i < c->expected.plan.meta_count; i++) {
		struct meta *m = &c->expected.plan.meta[i], old = *m;

		for (k = 0; m->wire && k < sizeof values / sizeof *values; k++) {
			struct err e = ERR_INIT;
			json_t *o;

			m->type = values[k].type;
			m->wire = (uint8_t *)(uintptr_t)values[k].bytes;
			m->wire_bytes = values[k].n;
			o = keys_config(&s, "float16", 9, true, &e);
			good &= (o != NULL) == (e.code == ERR_NONE);
			json_decref(o);
			*m = old;
		}
	}
	test_ok(good, "%s: absurd keys", c->name);
}

int
main(void)
{
	const char *data = test_data();

	variants();
	factors();
	losses();
	errors();
	if (data) {
		convert_each(data, each_put);
		convert_each(data, each_first);
		configs(data);
		convert_each(data, each_absurd);
		convert_each(data, each_absurd_key);
	} else {
		test_skip("model folders", "no reference data in APR_TEST_DATA");
	}
	return test_done();
}
