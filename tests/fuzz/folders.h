/* folders: model folders as one text, and random ones.
 *
 *     {"model_type":"llama", ...}        config.json, to the first line "--"
 *     --
 *     lm_head.weight BF16 100 64         tensors: name, type, dimensions
 *     ...
 *     --file generation_config.json      other files, to the next such line
 *     {...}
 */
#ifndef FOLDERS_H
#define FOLDERS_H

#include "core/buf.h"
#include "core/json.h"
#include "dice.h"
#include "model/model.h"

/* ---- reading ---- */

#define INPUT_FILES 12

struct input_file {
	char name[64];
	const uint8_t *p;
	size_t n;
};

struct input {
	char *text;
	struct input_file files[INPUT_FILES]; /* config.json first */
	size_t count;
};

static void
input_free(struct input *in)
{
	free(in->text);
}

/* A line of the list; lines that are not a tensor are passed over. */
static int
input_tensor(struct model *plan, char *line, struct err *e)
{
	char *save = NULL, *name = strtok_r(line, " ", &save), *type = strtok_r(NULL, " ", &save);
	const struct dtype *dtype = type ? dtype_by_name(type) : NULL;
	uint64_t dims[TENSOR_DIMS];
	unsigned ndim = 0;
	struct tensor *t;
	const char *p;

	if (!dtype || !dtype_sized(dtype))
		return 0;
	while ((p = strtok_r(NULL, " ", &save)))
		if (ndim == TENSOR_DIMS || text_u64(p, 0, UINT64_MAX, &dims[ndim++]) < 0)
			return 0;
	t = tensor_new(name, strlen(name), dtype, ndim, dims, TENSOR_OWN_SIZE, "in", e);
	return t ? model_add_tensor(plan, t, e) : -1;
}

/* Cuts the text into the files and the tensors of the plan. 0 or -1. */
static int
input_read(struct input *in, const uint8_t *data, size_t size, struct model *plan,
           struct err *e)
{
	char *p, *end, *list, *line, *save = NULL;

	in->text = malloc(size + 2);
	must(in->text);
	memcpy(in->text, data, size);
	memcpy(in->text + size, "\n", 2);
	p = in->text;
	in->files[in->count++] = (struct input_file){ "config.json", (uint8_t *)p, strlen(p) };
	end = strstr(p, "\n--\n");
	if (!end)
		return 0;
	in->files[0].n = (size_t)(end - p);
	list = end + 4;
	for (p = strstr(end + 3, "\n--file "); p && in->count < INPUT_FILES; p = end) {
		struct input_file *f = &in->files[in->count++];

		*p = '\0';
		p += 8;
		f->p = (uint8_t *)p + strcspn(p, "\n");
		snprintf(f->name, sizeof f->name, "%.*s", (int)((const char *)f->p - p), p);
		end = strstr(p, "\n--file ");
		f->n = end ? (size_t)((uint8_t *)end - f->p) : strlen((const char *)f->p);
	}
	for (line = strtok_r(list, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		if (input_tensor(plan, line, e) < 0)
			return -1;
	return 0;
}

/* ---- whole folders ---- */

static const char *const odd_values[] = { "null", "true", "false", "-1", "0", "1", "2", "3",
	"7", "1e308", "-0.5", "4294967296", "9007199254740993", "\"\"", "\"x\"", "\"128\"", "[]",
	"[1]", "[0,0]", "[128,128]", "{}", "{\"a\":{}}", "[[[[[[1]]]]]]", "\"18446744073709551615\"",
	"\"\\u001b[2J\"" };
static const char *const odd_dims[] = { "0", "1", "2", "3", "31", "33", "65536",
	"4294967296", "1152921504606846976", "18446744073709551615", "16 16", "" };
static const char *const types[] = { "F32", "F16", "BF16", "F8_E4M3", "F8_E5M2", "F8_E8M0",
	"I8", "U8", "I32", "I64", "BOOL", "Q4_0" };

/* A method of packing: its configuration, and the tensors of one weight. */
static const struct {
	const char *config;
	const char *tensors[6];
} methods[] = {
	{ "\"quant_method\":\"fp8\",\"weight_block_size\":[16,16]",
	  { "weight F8_E4M3 32 64", "weight_scale_inv BF16 2 4", "input_scale F32" } },
	{ "\"quant_method\":\"fp8\"",
	  { "weight F8_E5M2 32 64", "weight_scale F32", "activation_scale F32 1" } },
	{ "\"quant_method\":\"fbgemm_fp8\"", { "weight F8_E4M3 32 64", "weight_scale F32 32 1" } },
	{ "\"quant_method\":\"modelopt\",\"quant_algo\":\"FP8\"",
	  { "weight F8_E4M3 2 16 32", "weight_scale F32 2", "k_scale F32" } },
	{ "\"quant_method\":\"gptq\",\"bits\":4,\"group_size\":16",
	  { "qweight I32 8 32", "qzeros I32 4 4", "scales F16 4 32", "g_idx I32 64" } },
	{ "\"quant_method\":\"gptq\",\"bits\":3,\"group_size\":-1,\"checkpoint_format\":\"gptq_v2\"",
	  { "qweight I32 6 32", "qzeros I32 1 3", "scales F16 1 32" } },
	{ "\"quant_method\":\"awq\",\"bits\":4,\"group_size\":32,\"version\":\"gemm\"",
	  { "qweight I32 64 4", "qzeros I32 2 4", "scales F16 2 32" } },
	{ "\"quant_method\":\"compressed-tensors\",\"format\":\"pack-quantized\",\"config_groups\":"
	  "{\"group_0\":{\"weights\":{\"num_bits\":4,\"type\":\"int\",\"strategy\":\"group\","
	  "\"group_size\":32,\"symmetric\":false}}}",
	  { "weight_packed I32 12 8", "weight_scale BF16 12 2", "weight_shape I64 2",
	    "weight_zero_point I32 2 2", "weight_g_idx I32 64" } },
	{ "\"quant_method\":\"compressed-tensors\",\"format\":\"pack-quantized\",\"config_groups\":"
	  "{\"group_0\":{\"weights\":{\"num_bits\":8,\"strategy\":\"channel\"}}}",
	  { "weight_packed I32 5 6", "weight_scale F32 5 1", "weight_shape I64 2" } },
	{ "\"quant_method\":\"compressed-tensors\",\"format\":\"int-quantized\",\"config_groups\":"
	  "{\"group_0\":{\"weights\":{\"num_bits\":8,\"type\":\"int\",\"strategy\":\"group\","
	  "\"group_size\":8,\"symmetric\":false}},\"group_1\":{\"weights\":null}}",
	  { "weight I8 6 24", "weight_scale F16 6 3", "weight_zero_point I8 6 3" } },
	{ "\"quant_method\":\"compressed-tensors\",\"format\":\"naive-quantized\",\"config_groups\":"
	  "{\"group_0\":{\"weights\":{\"num_bits\":8,\"type\":\"float\",\"strategy\":\"block\","
	  "\"block_structure\":\"8x8\"}}}",
	  { "weight F8_E4M3 12 24", "weight_scale BF16 2 3" } },
	{ "\"quant_method\":\"bitnet\"", { "weight U8 8 20", "weight_scale BF16 1" } },
	{ "\"quant_method\":\"mxfp4\"",
	  { "experts.gate_up_proj_blocks U8 2 6 3 16", "experts.gate_up_proj_scales U8 2 6 3",
	    "experts.down_proj_blocks U8 2 4 1 16", "experts.down_proj_scales U8 2 4 1" } },
	{ "\"quant_method\":\"bitsandbytes\",\"load_in_4bit\":true", { "weight U8 16 1" } },
};

static const char *const model_types[] = { "llama", "qwen3", "mixtral", "gpt_oss", "gpt2", "phi3",
	"gemma2", "gemma3_text", "deepseek_v3", "bert", "mamba", "t5", "cohere", "x" };

/* config.json with the fields that most architectures have, some of them odd or missing. */
static void
put_config(struct dice *d, const char *packing, struct buf *b)
{
	static const char *const numbers[][2] = { { "hidden_size", "64" },
		{ "num_attention_heads", "4" }, { "num_key_value_heads", "2" },
		{ "num_hidden_layers", "2" }, { "intermediate_size", "128" }, { "vocab_size", "100" },
		{ "max_position_embeddings", "512" }, { "rms_norm_eps", "1e-5" },
		{ "rope_theta", "10000.0" }, { "head_dim", "16" }, { "torch_dtype", "\"bfloat16\"" },
		{ "tie_word_embeddings", "false" }, { "_name_or_path", "\"org/Model-1B-Chat\"" },
		{ "num_local_experts", "4" }, { "num_experts_per_tok", "2" },
		{ "sliding_window", "128" }, { "bos_token_id", "1" }, { "eos_token_id", "[2,3]" },
		{ "rope_scaling", "{\"rope_type\":\"yarn\",\"factor\":4.0,"
		  "\"original_max_position_embeddings\":128}" } };
	size_t i;

	buf_printf(b, "{\"model_type\":\"%s\"", ONE_OF(d, model_types));
	for (i = 0; i < sizeof numbers / sizeof *numbers; i++)
		if (roll(d, 12))
			buf_printf(b, ",\"%s\":%s", numbers[i][0],
			           roll(d, 40) ? numbers[i][1] : ONE_OF(d, odd_values));
	if (packing)
		buf_printf(b, ",\"quantization_config\":{%s}", packing);
	buf_text(b, "}\n--\n");
}

static void
put_files(struct dice *d, struct buf *b)
{
	if (roll(d, 4) == 0)
		buf_printf(b, "--file generation_config.json\n{\"temperature\":%s,\"top_k\":%s}\n",
		           roll(d, 2) ? "0.5" : ONE_OF(d, odd_values), ONE_OF(d, odd_values));
	if (roll(d, 4) == 0)
		buf_printf(b, "--file README.md\n---\nlicense: mit\nlanguage:\n- en\nbase_model: %s\n"
		           "tags: [a, b]\ndatasets: %s\n---\n# x\n", ONE_OF(d, odd_values),
		           ONE_OF(d, odd_values));
	if (roll(d, 8) == 0)
		buf_printf(b, "--file hf_quant_config.json\n{\"quantization\":{\"quant_algo\":%s}}\n",
		           roll(d, 2) ? "\"FP8\"" : ONE_OF(d, odd_values));
}

static void
put_folder(struct dice *d, struct buf *b)
{
	static const char *const plain[] = { "model.embed_tokens.weight BF16 100 64",
		"lm_head.weight BF16 100 64", "model.norm.weight BF16 64",
		"model.layers.0.input_layernorm.weight BF16 64",
		"model.layers.0.self_attn.k_proj.weight BF16 32 64" };
	static const char *const modules[] = { "model.layers.0.self_attn.q_proj",
		"model.layers.1.mlp.down_proj", "model.layers.0.mlp" };
	size_t m = roll(d, sizeof methods / sizeof *methods + 1), i, k, n = 1 + roll(d, 3);
	bool packed = m < sizeof methods / sizeof *methods;

	put_config(d, packed ? methods[m].config : NULL, b);
	for (i = 0; i < sizeof plain / sizeof *plain; i++)
		if (roll(d, 3))
			buf_printf(b, "%s\n", plain[i]);
	for (i = 0; packed && i < n; i++)
		for (k = 0; methods[m].tensors[k]; k++)
			if (roll(d, 30))
				buf_printf(b, "%s.%s\n", modules[i], methods[m].tensors[k]);
	put_files(d, b);
}

/* ---- one change ---- */

/* A member of v, at any depth, becomes another value, goes, or gets company. */
static void
change_member(struct dice *d, json_t *v)
{
	unsigned n = (unsigned)json_object_size(v), at = n ? roll(d, n) : 0;
	const char *odd = ONE_OF(d, odd_values), *key;
	json_t *inner = NULL, *was;
	void *i = json_object_iter(v);

	if (n == 0)
		return;
	for (; at > 0; at--)
		i = json_object_iter_next(v, i);
	key = json_object_iter_key(i);
	was = json_object_iter_value(i);
	if (json_is_object(was) && json_object_size(was) > 0 && roll(d, 4)) {
		change_member(d, was);
		return;
	}
	if (json_is_array(was) && roll(d, 2)) {
		json_array_append_new(was, json_loads(odd, JSON_DECODE_ANY, NULL));
		return;
	}
	switch (roll(d, 4)) {
	case 0:
		json_object_del(v, key);
		return;
	case 1:
		inner = json_integer((json_int_t)roll(d, 200));
		break;
	default:
		inner = json_loads(odd, JSON_DECODE_ANY, NULL);
	}
	json_object_set_new(v, key, inner);
}

static void
change_line(struct dice *d, const char *line, size_t n, struct buf *b)
{
	const char *last = memrchr(line, ' ', n), *dot = memrchr(line, '.', n);
	unsigned way = roll(d, 6);

	if (way == 0) /* without this tensor */
		return;
	if (way == 1)
		buf_put(b, line, n), buf_text(b, "\n"); /* twice */
	if (way == 2 && last) {
		buf_put(b, line, (size_t)(last - line));
		buf_printf(b, " %s\n", ONE_OF(d, odd_dims));
	} else if (way == 3 && last) {
		buf_put(b, line, (size_t)(last - line));
		buf_printf(b, " %u\n", roll(d, 70));
	} else if (way == 4 && memchr(line, ' ', n)) {
		const char *type = memchr(line, ' ', n);
		size_t k = strcspn(type + 1, " \n");

		buf_put(b, line, (size_t)(type - line));
		buf_printf(b, " %s", ONE_OF(d, types));
		buf_put(b, type + 1 + k, n - (size_t)(type + 1 + k - line));
		buf_text(b, "\n");
	} else if (way == 5 && dot) {
		static const char *const ends[] = { ".weight", ".weight_scale", ".weight_scale_inv",
			".qweight", ".qzeros", ".scales", ".g_idx", ".weight_packed", ".weight_shape" };

		buf_put(b, line, (size_t)(dot - line));
		buf_printf(b, "%s F32 4\n", ONE_OF(d, ends));
	} else {
		buf_put(b, line, n);
		buf_text(b, "\n");
	}
}

/* The folder with one change of its config.json or of a tensor. 0, or -1 if data is not a
 * folder. */
static int
input_change(struct dice *d, const uint8_t *data, size_t size, struct buf *b)
{
	struct err e = ERR_INIT;
	const char *end = memmem(data, size, "\n--\n", 4), *p, *next;
	size_t n = end ? (size_t)(end - (const char *)data) : 0, lines = 0, at;
	json_t *root = end ? json_parse(data, n, ERR_CORRUPT, "in", &e) : NULL;
	const char *stop = (const char *)data + size;

	if (!root)
		return -1;
	if (roll(d, 2))
		change_member(d, root);
	must(json_write(root, b) == 0);
	json_decref(root);
	buf_text(b, "\n--\n");
	for (p = end + 4; p < stop; p++)
		lines += *p == '\n';
	at = roll(d, (unsigned)lines * 2 + 1);
	for (p = end + 4; p < stop; p = next < stop ? next + 1 : stop) {
		next = memchr(p, '\n', (size_t)(stop - p));
		if (!next)
			next = stop;
		if (at-- == 0 && strncmp(p, "--", next - p < 2 ? (size_t)(next - p) : 2) != 0) {
			change_line(d, p, (size_t)(next - p), b);
			continue;
		}
		buf_put(b, p, (size_t)(next - p));
		buf_text(b, "\n");
	}
	return 0;
}

#endif
