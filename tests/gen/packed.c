/* packed: model folders whose weights are quantized in their own way, each with a twin that
 * has the values in F32; and such folders with a single fault each.
 *
 * The model is a LLaMA with two blocks and random weights. SOUND: a line for each folder: its
 * name; the twin is NAME-twin. MANIFEST: a line for each fault, as of other tables.
 */
#include "gen.h"

#include <stdbool.h>
#include <sys/stat.h>

enum { WIDE = 64, FEED = 96, WORDS = 64, GROUP = 32, GROUPS = 3 };

/* ---- numbers ---- */

static uint64_t dice = 1;

static uint32_t
roll(uint32_t n)
{
	dice = dice * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(dice >> 33) % n;
}

/* F16 of n / 1024, for n from 1 to 2047. */
static uint16_t
half_of(uint32_t n)
{
	uint32_t e = 0;

	while (n >> (e + 1))
		e++;
	return (uint16_t)((e + 5) << 10 | ((n << (10 - e)) & 0x3ff));
}

/* E4M3 without its NaN. */
static float
e4m3(uint8_t c)
{
	unsigned e = c >> 3 & 15;
	float f = (float)((c & 7) + (e ? 8 : 0)) / 512.0f; /* in steps of 2^-9 at e of 0 and 1 */

	for (; e > 1; e--)
		f *= 2;
	return c & 0x80 ? -f : f;
}

/* ---- a safetensors file ---- */

struct file {
	struct gen head, data;
};

struct fault {
	const char *name, *method;
	int status;
	const char *says;
	const char *config;    /* instead of the method's */
	const char *end;       /* of the tensor that changes, in the first q_proj */
	const char *shape;     /* instead of its own; "": the tensor is missing */
	size_t bytes;          /* of that shape */
	const char *type;      /* instead of its own */
	uint32_t word;         /* instead of the first one */
	const char *more;      /* a tensor beside it, F32 of 1 */
};

static const struct fault *fault; /* NULL: none */

static void
add_raw(struct file *f, const char *name, const char *type, const char *shape, const void *p,
        size_t n)
{
	char text[400];

	snprintf(text, sizeof text, "%s\"%s\":{\"dtype\":\"%s\",\"shape\":[%s],"
	         "\"data_offsets\":[%zu,%zu]}", f->head.n ? "," : "{", name, type, shape, f->data.n,
	         f->data.n + n);
	put_text(&f->head, text);
	put(&f->data, p, n);
}

static void
add(struct file *f, const char *base, const char *end, const char *type, const char *shape,
    const void *p, size_t n)
{
	const char *faulty = "model.layers.0.self_attn.q_proj";
	uint8_t bytes[1 << 15] = { 0 };
	char name[200];

	snprintf(name, sizeof name, "%s%s", base, end);
	memcpy(bytes, p, n);
	if (fault && fault->end && strcmp(base, faulty) == 0 && strcmp(end, fault->end) == 0) {
		if (fault->more) {
			snprintf(name, sizeof name, "%s%s", base, fault->more);
			add_raw(f, name, "F32", "1", "\0\0\0\0", 4);
			snprintf(name, sizeof name, "%s%s", base, end);
		}
		if (fault->shape && !*fault->shape)
			return;
		if (fault->shape) {
			shape = fault->shape;
			n = fault->bytes;
		}
		type = fault->type ? fault->type : type;
		if (fault->word)
			memcpy(bytes, &fault->word, 4); /* little-endian machines only */
	}
	add_raw(f, name, type, shape, bytes, n);
}

static void
add_floats(struct file *f, const char *base, const char *end, unsigned rows, unsigned columns,
           const float *v)
{
	char shape[40];

	snprintf(shape, sizeof shape, rows ? "%u,%u" : "%.0u%u", rows, columns);
	add(f, base, end, "F32", shape, v, (size_t)(rows ? rows : 1) * columns * 4);
}

/* ---- a weight, in parts ---- */

struct weight {
	unsigned rows, columns, groups;
	uint8_t code[FEED * FEED];
	uint32_t zero[FEED * GROUPS], scale[FEED * GROUPS]; /* scale / 1024 */
	uint32_t group[FEED]; /* of each column */
	float value[FEED * FEED];
};

static void
weight_roll(struct weight *w, unsigned rows, unsigned columns, bool mixed)
{
	unsigned i;

	*w = (struct weight){ .rows = rows, .columns = columns, .groups = columns / GROUP };
	for (i = 0; i < rows * columns; i++)
		w->code[i] = (uint8_t)roll(16);
	for (i = 0; i < rows * w->groups; i++) {
		w->zero[i] = 5 + roll(6);
		w->scale[i] = 4 + roll(20);
	}
	for (i = 0; i < columns; i++)
		w->group[i] = mixed ? roll(w->groups) : i / GROUP;
}

static void
weight_values(struct weight *w)
{
	unsigned i, g;

	for (i = 0; i < w->rows * w->columns; i++) {
		g = i / w->columns * w->groups + w->group[i % w->columns];
		w->value[i] = (float)((int)w->code[i] - (int)w->zero[g]) *
		              ((float)w->scale[g] / 1024.0f);
	}
}

static void
nibble(uint8_t *p, size_t at, uint32_t v)
{
	p[at / 2] |= (uint8_t)(v << at % 2 * 4);
}

/* Scales as F16: groups × rows if turned, else rows × groups. */
static void
add_scales(struct file *f, const char *base, const char *end, const struct weight *w,
           bool turned)
{
	uint8_t b[FEED * GROUPS * 2];
	char shape[40];
	unsigned r, g;

	for (r = 0; r < w->rows; r++)
		for (g = 0; g < w->groups; g++) {
			uint16_t h = half_of(w->scale[r * w->groups + g]);
			size_t at = 2 * (turned ? g * w->rows + r : r * w->groups + g);

			b[at] = (uint8_t)h;
			b[at + 1] = (uint8_t)(h >> 8);
		}
	snprintf(shape, sizeof shape, "%u,%u", turned ? w->groups : w->rows,
	         turned ? w->rows : w->groups);
	add(f, base, end, "F16", shape, b, (size_t)w->rows * w->groups * 2);
}

static void
add_index(struct file *f, const char *base, const char *end, const struct weight *w)
{
	uint8_t b[FEED * 4] = { 0 };
	char shape[20];
	unsigned i;

	for (i = 0; i < w->columns; i++)
		b[4 * i] = (uint8_t)w->group[i];
	snprintf(shape, sizeof shape, "%u", w->columns);
	add(f, base, end, "I32", shape, b, w->columns * 4);
}

/* GPTQ, 4 bits: eight columns of the weight in a word, words of a row of them beside each
 * other; zero points less one, eight rows in a word. */
static void
put_gptq(struct file *f, const char *base, struct weight *w)
{
	uint8_t b[FEED * FEED] = { 0 }, z[FEED * GROUPS] = { 0 };
	unsigned r, c;
	char shape[40];

	weight_values(w);
	for (r = 0; r < w->rows; r++) {
		for (c = 0; c < w->columns; c++)
			nibble(b, ((size_t)c / 8 * w->rows + r) * 8 + c % 8, w->code[r * w->columns + c]);
		for (c = 0; c < w->groups; c++)
			nibble(z, (size_t)c * w->rows + r, w->zero[r * w->groups + c] - 1);
	}
	snprintf(shape, sizeof shape, "%u,%u", w->columns / 8, w->rows);
	add(f, base, ".qweight", "I32", shape, b, (size_t)w->rows * w->columns / 2);
	snprintf(shape, sizeof shape, "%u,%u", w->groups, w->rows / 8);
	add(f, base, ".qzeros", "I32", shape, z, (size_t)w->rows * w->groups / 2);
	add_scales(f, base, ".scales", w, true);
	add_index(f, base, ".g_idx", w);
}

/* AWQ: eight rows of the weight in a word, the even ones first. */
static void
put_awq(struct file *f, const char *base, struct weight *w)
{
	static const unsigned place[8] = { 0, 4, 1, 5, 2, 6, 3, 7 };
	uint8_t b[FEED * FEED] = { 0 }, z[FEED * GROUPS] = { 0 };
	unsigned r, c;
	char shape[40];

	weight_values(w);
	for (r = 0; r < w->rows; r++) {
		size_t at = r / 8 * 8 + place[r % 8];

		for (c = 0; c < w->columns; c++)
			nibble(b, (size_t)c * w->rows + at, w->code[r * w->columns + c]);
		for (c = 0; c < w->groups; c++)
			nibble(z, (size_t)c * w->rows + at, w->zero[r * w->groups + c]);
	}
	snprintf(shape, sizeof shape, "%u,%u", w->columns, w->rows / 8);
	add(f, base, ".qweight", "I32", shape, b, (size_t)w->rows * w->columns / 2);
	snprintf(shape, sizeof shape, "%u,%u", w->groups, w->rows / 8);
	add(f, base, ".qzeros", "I32", shape, z, (size_t)w->rows * w->groups / 2);
	add_scales(f, base, ".scales", w, true);
}

/* compressed-tensors, 4 bits: eight columns in a word; zero points of eight rows in a word. */
static void
put_words(struct file *f, const char *base, struct weight *w)
{
	uint8_t b[FEED * FEED] = { 0 }, z[FEED * GROUPS] = { 0 }, s[16] = { 0 };
	unsigned r, c;
	char shape[40];

	weight_values(w);
	for (r = 0; r < w->rows; r++) {
		for (c = 0; c < w->columns; c++)
			nibble(b, (size_t)r * w->columns + c, w->code[r * w->columns + c]);
		for (c = 0; c < w->groups; c++)
			nibble(z, ((size_t)r / 8 * w->groups + c) * 8 + r % 8,
			       w->zero[r * w->groups + c]);
	}
	snprintf(shape, sizeof shape, "%u,%u", w->rows, w->columns / 8);
	add(f, base, ".weight_packed", "I32", shape, b, (size_t)w->rows * w->columns / 2);
	snprintf(shape, sizeof shape, "%u,%u", w->rows / 8, w->groups);
	add(f, base, ".weight_zero_point", "I32", shape, z, (size_t)w->rows * w->groups / 2);
	add_scales(f, base, ".weight_scale", w, false);
	s[0] = (uint8_t)w->rows;
	s[8] = (uint8_t)w->columns;
	add(f, base, ".weight_shape", "I64", "2", s, 16);
}

/* Integers of 8 bits with a scale for each row. */
static void
put_int8(struct file *f, const char *base, struct weight *w)
{
	uint8_t b[FEED * FEED];
	char shape[40];
	unsigned i;

	w->groups = 1;
	for (i = 0; i < w->rows * w->columns; i++) {
		b[i] = (uint8_t)(roll(32) - 16);
		w->value[i] = (float)(int8_t)b[i] * ((float)(w->scale[i / w->columns] / 4) / 1024.0f);
	}
	for (i = 0; i < w->rows; i++)
		w->scale[i] /= 4;
	snprintf(shape, sizeof shape, "%u,%u", w->rows, w->columns);
	add(f, base, ".weight", "I8", shape, b, (size_t)w->rows * w->columns);
	add_scales(f, base, ".weight_scale", w, false);
}

/* FP8 with one scale, and one of activations. */
static void
put_fp8(struct file *f, const char *base, struct weight *w)
{
	float scale = 0.03125f, one = 1;
	uint8_t b[FEED * FEED];
	char shape[40];
	unsigned i;

	for (i = 0; i < w->rows * w->columns; i++) {
		b[i] = (uint8_t)(roll(2) << 7 | roll(72));
		w->value[i] = e4m3(b[i]) * scale;
	}
	snprintf(shape, sizeof shape, "%u,%u", w->rows, w->columns);
	add(f, base, ".weight", "F8_E4M3", shape, b, (size_t)w->rows * w->columns);
	add(f, base, ".weight_scale", "F32", "1", &scale, 4);
	add(f, base, ".input_scale", "F32", "1", &one, 4);
}

/* BitNet: a byte has one weight of each quarter of the rows; the scale, 24, divides. */
static void
put_bitnet(struct file *f, const char *base, struct weight *w)
{
	uint8_t b[FEED * FEED] = { 0 };
	unsigned quarter = w->rows / 4, i, r, code;
	char shape[40];

	for (i = 0; i < w->rows * w->columns; i++) {
		r = i / w->columns;
		code = roll(3);
		b[r % quarter * w->columns + i % w->columns] |= (uint8_t)(code << 2 * (r / quarter));
		w->value[i] = ((float)code - 1) / 24.0f;
	}
	snprintf(shape, sizeof shape, "%u,%u", quarter, w->columns);
	add(f, base, ".weight", "U8", shape, b, (size_t)quarter * w->columns);
	add(f, base, ".weight_scale", "BF16", "1", "\xc0\x41", 2);
}

/* ---- methods ---- */

#define COMPRESSED(FORMAT, WEIGHTS) "\"quant_method\":\"compressed-tensors\",\"format\":\"" \
	FORMAT "\",\"config_groups\":{\"group_0\":{\"weights\":{" WEIGHTS "}}},\"ignore\":[\"lm_head\"]"

static const struct method {
	const char *name, *config;
	void (*put)(struct file *f, const char *base, struct weight *w);
	bool mixed;
} methods[] = {
	{ "gptq", "\"quant_method\":\"gptq\",\"bits\":4,\"group_size\":32,\"desc_act\":false",
	  put_gptq, false },
	{ "gptq-act", "\"quant_method\":\"gptq\",\"bits\":4,\"group_size\":32,\"desc_act\":true",
	  put_gptq, true },
	{ "awq", "\"quant_method\":\"awq\",\"bits\":4,\"group_size\":32,\"version\":\"gemm\","
	  "\"zero_point\":true", put_awq, false },
	{ "words", COMPRESSED("pack-quantized", "\"num_bits\":4,\"type\":\"int\",\"strategy\":"
	  "\"group\",\"group_size\":32,\"symmetric\":false"), put_words, false },
	{ "int8", COMPRESSED("int-quantized", "\"num_bits\":8,\"type\":\"int\",\"strategy\":"
	  "\"channel\",\"group_size\":null,\"symmetric\":true"), put_int8, false },
	{ "fp8", "\"quant_method\":\"fp8\",\"activation_scheme\":\"static\"", put_fp8, false },
	{ "bitnet", "\"quant_method\":\"bitnet\",\"linear_class\":\"bitlinear\"", put_bitnet,
	  false },
};

static const struct fault faults[] = {
	{ "gptq_bits_5", "gptq", 4, "config.json: quantization_config: bits is not 2, 3, 4 or 8",
	  .config = "\"quant_method\":\"gptq\",\"bits\":5,\"group_size\":32" },
	{ "gptq_bits_missing", "gptq", 4, "quantization_config: bits is missing",
	  .config = "\"quant_method\":\"gptq\",\"group_size\":32" },
	{ "gptq_bits_text", "gptq", 4, "quantization_config: bits is not a number from 2 to 8",
	  .config = "\"quant_method\":\"gptq\",\"bits\":\"4\",\"group_size\":32" },
	{ "gptq_group_0", "gptq", 4, "quantization_config: group_size is not a number from 1",
	  .config = "\"quant_method\":\"gptq\",\"bits\":4,\"group_size\":0" },
	{ "gptq_group_huge", "gptq", 4, "quantization_config: group_size is not a number from 1",
	  .config = "\"quant_method\":\"gptq\",\"bits\":4,\"group_size\":9223372036854775807" },
	{ "gptq_group_64", "gptq", 4, "q_proj.scales: has shape 2x64, which does not fit",
	  .config = "\"quant_method\":\"gptq\",\"bits\":4,\"group_size\":64" },
	{ "gptq_bits_8", "gptq", 4, ", which does not fit model.layers.0.",
	  .config = "\"quant_method\":\"gptq\",\"bits\":8,\"group_size\":32" },
	{ "gptq_marlin", "gptq", 4, "are quantized by marlin, which cannot be decoded",
	  .config = "\"quant_method\":\"gptq\",\"bits\":4,\"group_size\":32,"
	            "\"checkpoint_format\":\"marlin\"" },
	{ "gptq_scales_missing", "gptq", 4, "q_proj.scales is missing beside it", .end = ".scales",
	  .shape = "" },
	{ "gptq_qweight_missing", "gptq", 4, "q_proj.qweight is missing beside it",
	  .end = ".qweight", .shape = "" },
	{ "gptq_scales_type", "gptq", 4, "q_proj.scales: is I16, which is not a type of scales",
	  .end = ".scales", .type = "I16" },
	{ "gptq_qweight_type", "gptq", 4, "q_proj.qweight: is F32, not I32", .end = ".qweight",
	  .type = "F32" },
	{ "gptq_scales_shape", "gptq", 4, "q_proj.scales: has shape 2x63, which does not fit",
	  .end = ".scales", .shape = "2,63", .bytes = 252 },
	{ "gptq_zeros_turned", "gptq", 4, "q_proj.qzeros: has shape 8x2, which does not fit",
	  .end = ".qzeros", .shape = "8,2", .bytes = 64 },
	{ "gptq_g_idx_short", "gptq", 4, "q_proj.g_idx: has shape 63, which does not fit",
	  .end = ".g_idx", .shape = "63", .bytes = 252 },
	{ "gptq_g_idx_far", "gptq", 4, "q_proj.g_idx: column 0 is in group 2, but there are 2",
	  .end = ".g_idx", .word = 2 },
	{ "gptq_g_idx_negative", "gptq", 4, "q_proj.g_idx: column 0 is in group -1",
	  .end = ".g_idx", .word = 0xffffffff },
	{ "gptq_qweight_flat", "gptq", 4, "q_proj.qweight: has 1 dimensions, not 2",
	  .end = ".qweight", .shape = "512", .bytes = 2048 },
	{ "gptq_weight_too", "gptq", 4, "q_proj.weight: is stored in two ways", .end = ".qweight",
	  .more = ".weight" },
	{ "awq_gemv", "awq", 4, "version is not gemm, whose order of values is the only one known",
	  .config = "\"quant_method\":\"awq\",\"bits\":4,\"group_size\":32,\"version\":\"gemv\"" },
	{ "awq_bits_8", "awq", 4, "quantization_config: bits is not 4",
	  .config = "\"quant_method\":\"awq\",\"bits\":8,\"group_size\":32" },
	{ "words_shape_lies", "words", 4, "weight_shape: says 63x64, but the weight is 64x64",
	  .end = ".weight_shape", .word = 63 },
	{ "words_zero_missing", "words", 4, "weight_packed: has no zero points beside it",
	  .end = ".weight_zero_point", .shape = "" },
	{ "words_two_kinds", "words", 4, "config_groups has weights of several kinds",
	  .config = "\"quant_method\":\"compressed-tensors\",\"format\":\"pack-quantized\","
	            "\"config_groups\":{\"a\":{\"weights\":{\"num_bits\":4,\"strategy\":\"group\","
	            "\"group_size\":32}},\"b\":{\"weights\":{\"num_bits\":8,\"strategy\":\"channel\"}}}" },
	{ "words_no_groups", "words", 4, "config_groups is missing",
	  .config = "\"quant_method\":\"compressed-tensors\",\"format\":\"pack-quantized\"" },
	{ "words_sparse", "words", 4, "of 4 bits (int), which cannot be decoded",
	  .config = COMPRESSED("marlin-24", "\"num_bits\":4,\"strategy\":\"channel\"") },
	{ "int8_scale_missing", "int8", 4, "q_proj.weight: is I8 and has no scale beside it",
	  .end = ".weight_scale", .shape = "" },
	{ "int8_scale_shape", "int8", 4, "weight_scale: has shape 32x1, which does not fit",
	  .end = ".weight_scale", .shape = "32,1", .bytes = 64 },
	{ "fp8_weight_missing", "fp8", 4, "q_proj.weight is missing beside it", .end = ".weight",
	  .shape = "" },
	{ "fp8_two_scales", "fp8", 4, "q_proj.weight: is stored in two ways", .end = ".weight",
	  .more = ".weight_scale_inv" },
	{ "fp8_blocks", "fp8", 4, "weight_block_size is not two sizes of a block",
	  .config = "\"quant_method\":\"fp8\",\"weight_block_size\":[128,0]" },
	{ "bitnet_code", "bitnet", 4, "row 0 has a value that is not -1, 0 or 1", .end = ".weight",
	  .word = 3 },
	{ "bitnet_scale", "bitnet", 4, "weight_scale: has shape 64, which does not fit",
	  .end = ".weight_scale", .shape = "64", .bytes = 128 },
	{ "bitsandbytes", "fp8", 4, "are quantized by bitsandbytes, which cannot be decoded",
	  .config = "\"quant_method\":\"bitsandbytes\",\"load_in_4bit\":true" },
	{ "bitsandbytes_old", "fp8", 4, "are quantized by bitsandbytes, which cannot be decoded",
	  .config = "\"load_in_8bit\":true" },
	{ "method_unknown", "fp8", 4, "are quantized by \\x1b[2J, which cannot be decoded",
	  .config = "\"quant_method\":\"\\u001b[2J\"" },
	{ "method_number", "fp8", 4, "quant_method is not a text",
	  .config = "\"quant_method\":4" },
	{ "method_missing", "fp8", 4, "quant_method is missing", .config = "\"bits\":4" },
};

/* ---- models ---- */

static void
add_random(struct file *f, struct file *twin, const char *name, unsigned rows,
           unsigned columns, float base, float spread)
{
	static float v[WORDS * WIDE];
	unsigned i;

	for (i = 0; i < (rows ? rows : 1) * columns; i++)
		v[i] = base + spread * ((float)roll(1024) / 512.0f - 1.0f);
	add_floats(f, name, "", rows, columns, v);
	add_floats(twin, name, "", rows, columns, v);
}

static void
make_model(const struct method *m, struct file *f, struct file *twin)
{
	static const struct { const char *name; unsigned rows, columns; } projections[] = {
		{ "self_attn.q_proj", WIDE, WIDE }, { "self_attn.k_proj", WIDE / 2, WIDE },
		{ "self_attn.v_proj", WIDE / 2, WIDE }, { "self_attn.o_proj", WIDE, WIDE },
		{ "mlp.gate_proj", FEED, WIDE }, { "mlp.up_proj", FEED, WIDE },
		{ "mlp.down_proj", WIDE, FEED },
	};
	static struct weight w;
	unsigned layer, i;
	char base[100];

	dice = 1;
	add_random(f, twin, "model.embed_tokens.weight", WORDS, WIDE, 0, 1);
	add_random(f, twin, "lm_head.weight", WORDS, WIDE, 0, 0.25f);
	add_random(f, twin, "model.norm.weight", 0, WIDE, 1, 0.25f);
	for (layer = 0; layer < 2; layer++) {
		for (i = 0; i < 2; i++) {
			snprintf(base, sizeof base, "model.layers.%u.%s_layernorm.weight", layer,
			         i ? "post_attention" : "input");
			add_random(f, twin, base, 0, WIDE, 1, 0.25f);
		}
		for (i = 0; i < sizeof projections / sizeof *projections; i++) {
			snprintf(base, sizeof base, "model.layers.%u.%s", layer, projections[i].name);
			weight_roll(&w, projections[i].rows, projections[i].columns, m->mixed);
			m->put(f, base, &w);
			strcat(base, ".weight");
			add_floats(twin, base, "", w.rows, w.columns, w.value);
		}
	}
}

static void
write_at(struct folder *all, const char *folder, const char *name, const struct gen *g)
{
	char path[200];

	snprintf(path, sizeof path, "%s/%s", folder, name);
	folder_file(all, path, g);
}

static void
write_model(struct folder *all, const char *name, struct file *f, const char *packing)
{
	struct gen config = { 0 }, file = { 0 };
	char path[4096];

	snprintf(path, sizeof path, "%s/%s", all->path, name);
	if (mkdir(path, 0777) < 0)
		gen_die("cannot be made", path);
	put_text(&config, "{\"architectures\":[\"LlamaForCausalLM\"],\"model_type\":\"llama\","
	         "\"hidden_size\":64,\"intermediate_size\":96,\"num_hidden_layers\":2,"
	         "\"num_attention_heads\":4,\"num_key_value_heads\":2,\"vocab_size\":64,"
	         "\"max_position_embeddings\":128,\"rms_norm_eps\":1e-05,\"rope_theta\":10000.0,"
	         "\"hidden_act\":\"silu\",\"torch_dtype\":\"float32\"");
	if (packing) {
		put_text(&config, ",\"quantization_config\":{");
		put_text(&config, packing);
		put_text(&config, "}");
	}
	put_text(&config, "}\n");
	put_text(&f->head, "}");
	while (f->head.n % 8)
		put_text(&f->head, " ");
	put_u64(&file, f->head.n);
	put(&file, f->head.p, f->head.n);
	put(&file, f->data.p, f->data.n);
	write_at(all, name, "config.json", &config);
	write_at(all, name, "model.safetensors", &file);
	gen_free(&config);
	gen_free(&file);
	gen_free(&f->head);
	gen_free(&f->data);
}

static const struct method *
method_of(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof methods / sizeof *methods; i++)
		if (strcmp(methods[i].name, name) == 0)
			return &methods[i];
	gen_die("no such method", name);
}

static void
write_fault(struct folder *all, const struct fault *x)
{
	const struct method *m = method_of(x->method);
	struct file f = { 0 }, twin = { 0 };

	fault = x;
	make_model(m, &f, &twin);
	write_model(all, x->name, &f, x->config ? x->config : m->config);
	folder_fault(all, x->name, x->status, x->says, NULL);
	gen_free(&twin.head);
	gen_free(&twin.data);
	fault = NULL;
}

int
main(int argc, char **argv)
{
	struct folder all;
	char path[4096];
	size_t i;
	FILE *sound;

	folder_open(&all, argc, argv);
	snprintf(path, sizeof path, "%s/SOUND", all.path);
	sound = fopen(path, "w");
	if (!sound)
		gen_die("cannot be written", path);
	for (i = 0; i < sizeof methods / sizeof *methods; i++) {
		struct file f = { 0 }, twin = { 0 };

		make_model(&methods[i], &f, &twin);
		write_model(&all, methods[i].name, &f, methods[i].config);
		snprintf(path, sizeof path, "%s-twin", methods[i].name);
		write_model(&all, path, &twin, NULL);
		fprintf(sound, "%s\n", methods[i].name);
	}
	for (i = 0; i < sizeof faults / sizeof *faults; i++)
		write_fault(&all, &faults[i]);
	if (fclose(sound) != 0)
		gen_die("cannot be written", "SOUND");
	return folder_close(&all);
}
