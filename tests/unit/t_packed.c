/* Weights of folders that are quantized in their own way: those of the reference data have the
 * bytes of the reference's F32 or MXFP4 tensors; those made here have the values of the
 * formulas, which are written out once more and slowly. */
#include "convert.h"
#include "core/half.h"
#include "core/le.h"
#include "crypto/digest.h"
#include "hand.h"

/* ---- the reference data ---- */

static int
load_read(void *ctx, size_t tensor, uint64_t offset, uint8_t *dst, size_t n, struct err *e)
{
	const struct load *l = ctx;

	(void)e;
	memcpy(dst, l->weights.tensors[tensor] + offset, n);
	return 0;
}

/* The name in GGUF. */
static void
gguf_name(const char *name, char to[256])
{
	static const char *const names[][2] = {
		{ "mlp.down_proj", "ffn_down" }, { "mlp.gate_proj", "ffn_gate" },
		{ "mlp.up_proj", "ffn_up" }, { "self_attn.k_proj", "attn_k" },
		{ "self_attn.q_proj", "attn_q" }, { "self_attn.v_proj", "attn_v" },
		{ "self_attn.o_proj", "attn_output" }, { "mlp.experts.down_proj", "ffn_down_exps" },
		{ "mlp.experts.gate_proj", "ffn_gate_exps" }, { "mlp.experts.up_proj", "ffn_up_exps" },
	};
	char middle[200];
	unsigned block;
	size_t i, n;

	if (sscanf(name, "model.layers.%u.%199s", &block, middle) != 2)
		return;
	n = strlen(middle) - strlen(".weight");
	for (i = 0; i < sizeof names / sizeof *names; i++)
		if (strlen(names[i][0]) == n && strncmp(names[i][0], middle, n) == 0)
			snprintf(to, 256, "blk.%u.%s.weight", block, names[i][1]);
}

/* The expected digest of a tensor as --outtype f32 writes it. */
static const char *
expected_digest(const json_t *expected, const char *name, const char **type)
{
	const json_t *list = json_object_get(expected, "tensors"), *f32;
	size_t i;

	for (i = 0; i < json_array_size(list); i++) {
		const json_t *t = json_array_get(list, i);
		const char *is = "";

		json_member_text(t, "name", &is);
		if (strcmp(is, name) != 0)
			continue;
		f32 = json_object_get(t, "f32");
		*type = json_string_value(json_array_get(f32, 0));
		return json_string_value(json_array_get(f32, 1));
	}
	return NULL;
}

/* LLaMA's queries and keys: in each head, rows of the first half and of the second take
 * turns. */
static void
interleave(float *v, size_t rows, size_t n, size_t heads)
{
	size_t head = rows / heads, h, i;
	float *old = malloc(rows * n * sizeof *v);

	memcpy(old, v, rows * n * sizeof *v);
	for (h = 0; h < heads; h++)
		for (i = 0; i < head; i++)
			memcpy(v + (h * head + i) * n, old + (h * head + i % 2 * (head / 2) + i / 2) * n,
			       n * sizeof *v);
	free(old);
}

static void
same_digest(struct convert *c, const struct packed *p, const struct packed_reader *in,
            const json_t *expected)
{
	size_t n = (size_t)tensor_row(p->tensor), rows = (size_t)tensor_items(p->tensor) / n, i;
	bool blocks = strcmp(tensor_type(p->tensor)->name, "MXFP4") == 0;
	uint8_t *v = calloc(rows * n, sizeof(float));
	const char *text, *type = "";
	char name[256] = "", hex[DIGEST_TEXT];
	struct digest d;

	gguf_name(tensor_name(p->tensor), name);
	text = expected_digest(expected, name, &type);
	if (!text || (blocks ? packed_blocks(p, in, 0, rows, v, &c->e) :
	              packed_rows(p, in, 0, rows, (float *)(void *)v, &c->e)) < 0) {
		test_ok(0, "%s: %s: %s", c->name, tensor_name(p->tensor), c->e.fact);
		free(v);
		return;
	}
	if (strcmp(c->name, "llama-w4a16") == 0 && strstr(name, "attn_q.weight"))
		interleave((float *)(void *)v, rows, n, 4);
	if (strcmp(c->name, "llama-w4a16") == 0 && strstr(name, "attn_k.weight"))
		interleave((float *)(void *)v, rows, n, 2);
	sha256_of(v, (size_t)(blocks ? tensor_bytes(p->tensor) : rows * n * sizeof(float)), &d);
	for (i = 0; i < DIGEST_BYTES; i++)
		snprintf(hex + 2 * i, 3, "%02x", d.b[i]);
	test_ok(strcmp(hex, text) == 0 && strcmp(type, tensor_type(p->tensor)->name) == 0,
	        "%s: %s has the bytes of the reference", c->name, tensor_name(p->tensor));
	free(v);
}

static json_t *
read_expected(const char *data, const char *name)
{
	struct err e = ERR_INIT;
	json_t *v = NULL;
	char path[4096];
	char *text = malloc(1 << 22);
	FILE *f;

	snprintf(path, sizeof path, "%s/convert/%s/expected.json", data, name);
	f = fopen(path, "r");
	if (f) {
		v = json_parse(text, fread(text, 1, 1 << 22, f), ERR_CORRUPT, path, &e);
		fclose(f);
	}
	free(text);
	return v;
}

static void
each(struct convert *c)
{
	static const struct {
		const char *name;
		size_t weights, parts;
		enum packed_place place;
	} cases[] = {
		{ "qwen3-fp8", 14, 2, PACKED_HERE },
		{ "llama-w4a16", 14, 3, PACKED_LAST },
		{ "gptoss", 6, 2, PACKED_FIRST },
	};
	struct packed_list list;
	struct load hf = { 0 };
	const struct packed_reader in = { load_read, &hf };
	size_t i, k, used = 0, weights = 0;
	char path[4096];
	json_t *expected;

	test_ok(packed_find(&c->subject, &list, &c->e) == 0, "%s: its weights are found", c->name);
	for (k = 0; k < sizeof cases / sizeof *cases; k++)
		if (strcmp(c->name, cases[k].name) == 0)
			break;
	if (k < sizeof cases / sizeof *cases)
		weights = cases[k].weights;
	test_ok(list.count == weights, "%s has %zu packed weights", c->name, weights);
	if (list.count == 0)
		goto end;
	snprintf(path, sizeof path, "%s/convert/%s/hf", test_data(), c->name);
	expected = read_expected(test_data(), c->name);
	test_ok(expected && load_open(&hf, path, NULL, &c->e) == 0, "%s is read", c->name);
	for (i = 0; i < list.count; i++) {
		same_digest(c, &list.p[i], &in, expected);
		test_ok(list.p[i].place == cases[k].place, "%s: place of weight %zu", c->name, i);
	}
	for (i = 0; i < c->subject.plan->tensor_count; i++)
		used += list.consumed[i];
	test_ok(used == (strcmp(c->name, "gptoss") ? weights * cases[k].parts : 8),
	        "%s: no other tensors are used", c->name);
	json_decref(expected);
	load_close(&hf);
end:
	packed_free(&list);
}

/* ---- made here ---- */

static uint64_t dice;

static uint32_t
roll(uint32_t n)
{
	dice = dice * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(dice >> 33) % n;
}

/* A scale that F16 holds. */
static float
roll_scale(void)
{
	return (float)(1 + roll(1000)) / 1024.0f;
}

/* Put a number of `bits` bits at bit `at` of little-endian words. */
static void
put_bits(uint8_t *p, size_t at, unsigned bits, uint32_t v)
{
	unsigned i;

	for (i = 0; i < bits; i++)
		if (v >> i & 1)
			p[(at + i) / 8] |= (uint8_t)(1 << (at + i) % 8);
}

/* A weight of rows × columns, and the parts that it comes from. */
struct made {
	unsigned bits;
	size_t rows, columns, groups, size; /* groups in a row, columns in a group */
	int32_t *code, *zero; /* rows × columns, rows × groups */
	float *scale;         /* rows × groups */
	size_t *group;        /* of each column */
};

static void
make(struct made *m, bool mixed)
{
	size_t i;

	m->groups = (m->columns + m->size - 1) / m->size;
	m->code = calloc(m->rows * m->columns, sizeof *m->code);
	m->zero = calloc(m->rows * m->groups, sizeof *m->zero);
	m->scale = calloc(m->rows * m->groups, sizeof *m->scale);
	m->group = calloc(m->columns, sizeof *m->group);
	for (i = 0; i < m->rows * m->columns; i++)
		m->code[i] = (int32_t)roll(1u << m->bits);
	for (i = 0; i < m->rows * m->groups; i++) {
		m->zero[i] = (int32_t)roll(1u << m->bits);
		m->scale[i] = roll_scale();
	}
	for (i = 0; i < m->columns; i++)
		m->group[i] = mixed ? roll((uint32_t)m->groups) : i / m->size;
}

static void
made_free(struct made *m)
{
	free(m->code);
	free(m->zero);
	free(m->scale);
	free(m->group);
}

static float
made_value(const struct made *m, size_t row, size_t column, int more)
{
	size_t g = row * m->groups + m->group[column];

	return (float)(m->code[row * m->columns + column] - m->zero[g] - more) * m->scale[g];
}

/* The first weight of the list has the values of m, as a whole and in any part. */
static void
check_made(struct hand *h, const struct made *m, int more, const char *what)
{
	const struct packed_reader in = { hand_read, h };
	size_t i, wrong = 0, from, n;
	float *v, *part;

	if (hand_find(h) < 0 || h->list.count != 1 || !(v = hand_values(h, 0))) {
		test_ok(0, "%s: %s: %s", what, h->e.object, h->e.fact);
		return;
	}
	for (i = 0; i < m->rows * m->columns; i++)
		wrong += v[i] != made_value(m, i / m->columns, i % m->columns, more);
	test_ok(wrong == 0 && tensor_dims(h->list.p[0].tensor)[0] == m->rows &&
	        tensor_row(h->list.p[0].tensor) == m->columns, "%s: values (%zu differ)", what, wrong);
	part = calloc(m->rows * m->columns, sizeof *part);
	for (i = 0, wrong = 0; i < 20; i++) {
		from = roll((uint32_t)m->rows);
		n = 1 + roll((uint32_t)(m->rows - from));
		wrong += packed_rows(&h->list.p[0], &in, from, n, part, &h->e) < 0 ||
		         memcmp(part, v + from * m->columns, n * m->columns * sizeof *v) != 0;
	}
	test_ok(wrong == 0, "%s: any rows have the same values", what);
	free(part);
	free(v);
}

static void
put_scales(const struct made *m, bool turned, uint8_t *p)
{
	size_t r, g;

	for (r = 0; r < m->rows; r++)
		for (g = 0; g < m->groups; g++)
			le16_put(p + 2 * (turned ? g * m->rows + r : r * m->groups + g),
			         half_f32_f16(m->scale[r * m->groups + g]));
}

static void
put_index(const struct made *m, uint8_t *p)
{
	size_t i;

	for (i = 0; i < m->columns; i++)
		le32_put(p + 4 * i, (uint32_t)m->group[i]);
}

/* A list of groups that is all zero stands for no list. */
static void
zero_index(void)
{
	float *v;
	struct hand h;
	uint8_t *s;
	size_t i, wrong = 0;

	hand_open(&h, "{\"quantization_config\":{\"quant_method\":\"gptq\",\"bits\":4,"
	          "\"group_size\":8}}");
	hand_tensor(&h, "q.qweight", "I32", DIMS(3, 8));
	hand_tensor(&h, "q.qzeros", "I32", DIMS(3, 1));
	s = hand_tensor(&h, "q.scales", "F16", DIMS(3, 8));
	hand_tensor(&h, "q.g_idx", "I32", DIMS(24));
	for (i = 0; i < 24; i++)
		le16_put(s + 2 * i, half_f32_f16((float)(i / 8 + 1)));
	v = hand_find(&h) == 0 && h.list.count == 1 ? hand_values(&h, 0) : NULL;
	for (i = 0; v && i < 8 * 24; i++)
		wrong += v[i] != -(float)(i % 24 / 8 + 1);
	test_ok(v && wrong == 0, "gptq, g_idx of zeros: values (%zu differ)", wrong);
	free(v);
	hand_close(&h);
}

/* A folder of AutoGPTQ: codes of a column of the weight follow each other in words that lie
 * `rows` apart; zero points follow each other along the rows. */
static void
gptq(unsigned bits, size_t size, bool index, bool mixed, bool second)
{
	struct made m = { .bits = bits, .rows = 96, .columns = 128, .size = size ? size : 128 };
	char config[400], what[200];
	size_t r, c, word;
	struct hand h;
	uint8_t *w, *z;

	make(&m, mixed);
	snprintf(what, sizeof what, "gptq of %u bits, groups of %zu%s%s%s", bits, size,
	         index ? ", g_idx" : "", mixed ? " mixed" : "", second ? ", version 2" : "");
	snprintf(config, sizeof config, "{\"quantization_config\":{\"quant_method\":\"gptq\","
	         "\"bits\":%u,\"group_size\":%d,\"desc_act\":%s%s}}", bits, size ? (int)size : -1,
	         mixed ? "true" : "false", second ? ",\"checkpoint_format\":\"gptq_v2\"" : "");
	hand_open(&h, config);
	w = hand_tensor(&h, "m.q.qweight", "I32", DIMS(m.columns * bits / 32, m.rows));
	for (r = 0; r < m.rows; r++)
		for (c = 0; c < m.columns; c++) {
			unsigned i;

			for (i = 0; i < bits; i++) {
				word = (c * bits + i) / 32 * m.rows + r;
				put_bits(w, word * 32 + (c * bits + i) % 32, 1,
				         (uint32_t)m.code[r * m.columns + c] >> i & 1);
			}
		}
	z = hand_tensor(&h, "m.q.qzeros", "I32", DIMS(m.groups, m.rows * bits / 32));
	for (r = 0; r < m.rows; r++)
		for (c = 0; c < m.groups; c++)
			put_bits(z + c * m.rows * bits / 8, r * bits, bits,
			         (uint32_t)m.zero[r * m.groups + c]);
	put_scales(&m, true, hand_tensor(&h, "m.q.scales", "F16", DIMS(m.groups, m.rows)));
	if (index)
		put_index(&m, hand_tensor(&h, "m.q.g_idx", "I32", DIMS(m.columns)));
	hand_tensor(&h, "m.norm.weight", "F32", DIMS(4));
	check_made(&h, &m, !second, what);
	test_ok(h.list.count == 1 && strcmp(tensor_name(h.list.p[0].tensor), "m.q.weight") == 0 &&
	        h.list.p[0].place == PACKED_LAST && !h.list.consumed[h.plan.tensor_count - 1],
	        "%s: one weight, m.q.weight", what);
	hand_close(&h);
	made_free(&m);
}

/* A folder of AutoAWQ: of eight rows of the weight, 0 2 4 6 1 3 5 7 are in a word in this
 * order. */
static void
awq(size_t size)
{
	static const unsigned order[8] = { 0, 2, 4, 6, 1, 3, 5, 7 };
	struct made m = { .bits = 4, .rows = 72, .columns = 96, .size = size };
	char config[400];
	size_t r, c, k;
	struct hand h;
	uint8_t *w, *z;

	make(&m, false);
	snprintf(config, sizeof config, "{\"quantization_config\":{\"quant_method\":\"awq\","
	         "\"bits\":4,\"group_size\":%zu,\"zero_point\":true,\"version\":\"gemm\"}}", size);
	hand_open(&h, config);
	w = hand_tensor(&h, "m.q.qweight", "I32", DIMS(m.columns, m.rows / 8));
	z = hand_tensor(&h, "m.q.qzeros", "I32", DIMS(m.groups, m.rows / 8));
	for (r = 0; r < m.rows / 8; r++)
		for (k = 0; k < 8; k++) {
			for (c = 0; c < m.columns; c++)
				put_bits(w, (c * m.rows / 8 + r) * 32 + k * 4, 4,
				         (uint32_t)m.code[(r * 8 + order[k]) * m.columns + c]);
			for (c = 0; c < m.groups; c++)
				put_bits(z, (c * m.rows / 8 + r) * 32 + k * 4, 4,
				         (uint32_t)m.zero[(r * 8 + order[k]) * m.groups + c]);
		}
	put_scales(&m, true, hand_tensor(&h, "m.q.scales", "F16", DIMS(m.groups, m.rows)));
	check_made(&h, &m, 0, "awq");
	hand_close(&h);
	made_free(&m);
}

/* compressed-tensors: codes along the columns, zero points along the rows. */
static void
words(unsigned bits, size_t size, bool zeros, bool mixed)
{
	struct made m = { .bits = bits, .rows = 37, .columns = 96, .size = size ? size : 96 };
	size_t in_word = 32 / bits, across = (m.columns + in_word - 1) / in_word, r, c;
	char config[500], what[200], group[24] = "null";
	struct hand h;
	uint8_t *w;

	make(&m, mixed);
	if (size)
		snprintf(group, sizeof group, "%zu", size);
	for (r = 0; !zeros && r < m.rows * m.groups; r++)
		m.zero[r] = 1 << (bits - 1);
	snprintf(what, sizeof what, "compressed-tensors of %u bits, groups of %zu%s%s", bits, size,
	         zeros ? ", zero points" : "", mixed ? ", g_idx" : "");
	snprintf(config, sizeof config, "{\"quantization_config\":{\"quant_method\":"
	         "\"compressed-tensors\",\"format\":\"pack-quantized\",\"config_groups\":{\"group_0\":"
	         "{\"weights\":{\"num_bits\":%u,\"type\":\"int\",\"symmetric\":%s,\"strategy\":\"%s\","
	         "\"group_size\":%s}}}}}", bits, zeros ? "false" : "true",
	         size ? "group" : "channel", group);
	hand_open(&h, config);
	w = hand_tensor(&h, "m.q.weight_packed", "I32", DIMS(m.rows, across));
	for (r = 0; r < m.rows; r++)
		for (c = 0; c < m.columns; c++)
			put_bits(w, (r * across + c / in_word) * 32 + c % in_word * bits, bits,
			         (uint32_t)m.code[r * m.columns + c]);
	put_scales(&m, false, hand_tensor(&h, "m.q.weight_scale", "F16", DIMS(m.rows, m.groups)));
	w = hand_tensor(&h, "m.q.weight_shape", "I64", DIMS(2));
	le64_put(w, m.rows);
	le64_put(w + 8, m.columns);
	if (zeros) {
		w = hand_tensor(&h, "m.q.weight_zero_point", "I32",
		                DIMS((m.rows + in_word - 1) / in_word, m.groups));
		for (r = 0; r < m.rows; r++)
			for (c = 0; c < m.groups; c++)
				put_bits(w, (r / in_word * m.groups + c) * 32 + r % in_word * bits, bits,
				         (uint32_t)m.zero[r * m.groups + c]);
	}
	if (mixed)
		put_index(&m, hand_tensor(&h, "m.q.weight_g_idx", "I32", DIMS(m.columns)));
	check_made(&h, &m, 0, what);
	hand_close(&h);
	made_free(&m);
}

/* ---- scales beside ---- */

static float
e4m3(uint8_t c)
{
	float f = (c >> 3 & 15) ? (float)(8 + (c & 7)) / 8.0f : (float)(c & 7) / 8.0f * 2.0f;
	int e = (c >> 3 & 15) - 7;

	for (; e > 0; e--)
		f *= 2.0f;
	for (; e < 0; e++)
		f /= 2.0f;
	return c & 0x80 ? -f : f;
}

static float
bf16(uint16_t h)
{
	return half_bf16_f32(h);
}

#define COMPRESSED(FORMAT, WEIGHTS) "{\"quantization_config\":{\"quant_method\":" \
	"\"compressed-tensors\",\"format\":\"" FORMAT "\",\"config_groups\":{\"group_0\":" \
	"{\"weights\":{" WEIGHTS "}}}}}"

/* A weight of two experts of 20 × 30 (or one of 40 × 30), type F8_E4M3 or I8, whose scales
 * have these dimensions; each covers across × down values of an expert. */
static void
scaled(const char *config, const char *end, const char *type, const uint64_t *dims,
       const uint64_t *scale_dims, uint64_t experts, uint64_t down, uint64_t across, bool zeros)
{
	uint64_t tall = 40 / experts, rows = (tall + down - 1) / down, i, wrong = 0;
	uint64_t columns = (30 + across - 1) / across, scales = 1, at;
	const uint64_t *d;
	uint8_t *w, *s, *z = NULL;
	char name[64];
	struct hand h;
	float *v;

	for (d = scale_dims; *d != UINT64_MAX; d++)
		scales *= *d;
	hand_open(&h, config);
	w = hand_tensor(&h, "m.q.weight", type, dims);
	for (i = 0; i < 1200; i++)
		do
			w[i] = (uint8_t)roll(256);
		while ((w[i] & 0x7f) == 0x7f); /* NaN */
	snprintf(name, sizeof name, "m.q%s", end);
	s = hand_tensor(&h, name, "BF16", scale_dims);
	for (i = 0; i < scales; i++)
		le16_put(s + 2 * i, half_f32_bf16(roll_scale()));
	if (zeros)
		z = hand_tensor(&h, "m.q.weight_zero_point", "I8", scale_dims);
	for (i = 0; zeros && i < scales; i++)
		z[i] = (uint8_t)roll(256);
	hand_tensor(&h, "m.q.input_scale", "F32", DIMS(1));
	if (hand_find(&h) < 0 || h.list.count != 1 || !(v = hand_values(&h, 0))) {
		test_ok(0, "%s %s: %s: %s", type, end, h.e.object, h.e.fact);
		hand_close(&h);
		return;
	}
	for (i = 0; i < 1200; i++) {
		float value = *type == 'F' ? e4m3(w[i]) : (float)(int8_t)w[i];

		at = scales == 1 ? 0 : (i / 30 / tall * rows + i / 30 % tall / down) * columns +
		                       i % 30 / across;
		value -= zeros ? (float)(int8_t)z[at] : 0;
		wrong += v[i] != value * bf16(le16(s + 2 * at));
	}
	test_ok(wrong == 0 && h.list.p[0].place == PACKED_HERE && h.list.p[0].at == 0 &&
	        h.list.consumed[h.plan.tensor_count - 1], "%s with %zu scales %s: values (%zu differ)",
	        type, (size_t)scales, end, (size_t)wrong);
	free(v);
	hand_close(&h);
}

static void
all_scaled(void)
{
	static const char blocks[] = "{\"quantization_config\":{\"quant_method\":\"fp8\","
		"\"weight_block_size\":[8,16]}}";
	static const char plain[] = "{\"quantization_config\":{\"quant_method\":\"fp8\"}}";
	static const char channel[] = COMPRESSED("int-quantized",
		"\"num_bits\":8,\"type\":\"int\",\"symmetric\":true,\"strategy\":\"channel\"");
	static const char group[] = COMPRESSED("int-quantized", "\"num_bits\":8,\"type\":\"int\","
		"\"symmetric\":false,\"strategy\":\"group\",\"group_size\":10");
	static const char block[] = COMPRESSED("float-quantized", "\"num_bits\":8,\"type\":"
		"\"float\",\"strategy\":\"block\",\"block_structure\":\"8x16\"");
	const uint64_t *flat = DIMS(40, 30), *deep = DIMS(2, 20, 30);

	scaled(blocks, ".weight_scale_inv", "F8_E4M3", flat, DIMS(5, 2), 1, 8, 16, false);
	scaled(blocks, ".weight_scale_inv", "F8_E4M3", deep, DIMS(2, 3, 2), 2, 8, 16, false);
	scaled(block, ".weight_scale", "F8_E4M3", flat, DIMS(5, 2), 1, 8, 16, false);
	scaled(plain, ".weight_scale", "F8_E4M3", flat, DIMS(1), 1, 40, 30, false);
	scaled(plain, ".weight_scale", "F8_E4M3", flat, (const uint64_t[]){ UINT64_MAX }, 1, 40, 30,
	       false);
	scaled(plain, ".qscale_weight", "F8_E4M3", flat, DIMS(1, 1), 1, 40, 30, false);
	scaled(plain, ".weight_scale", "F8_E4M3", flat, DIMS(40), 1, 1, 30, false);
	scaled(plain, ".weight_scale", "F8_E4M3", flat, DIMS(40, 1), 1, 1, 30, false);
	scaled(plain, ".weight_scale", "F8_E4M3", deep, DIMS(2), 2, 20, 30, false);
	scaled(plain, ".weight_scale", "F8_E4M3", deep, DIMS(2, 20, 1), 2, 1, 30, false);
	scaled(channel, ".weight_scale", "I8", flat, DIMS(40, 1), 1, 1, 30, false);
	scaled(group, ".weight_scale", "I8", flat, DIMS(40, 3), 1, 1, 10, true);
}

/* Other types of codes and scales. */
static void
other_types(void)
{
	struct hand h;
	uint8_t *w, *s;
	float *v;

	hand_open(&h, "{\"quantization_config\":{\"quant_method\":\"fp8\"}}");
	w = hand_tensor(&h, "a.weight", "F8_E5M2", DIMS(1, 4));
	s = hand_tensor(&h, "a.weight_scale", "F8_E8M0", DIMS(1));
	memcpy(w, "\x3c\xc0\x01\x7b", 4); /* 1, -2, 2^-16, 57344 */
	*s = 124;
	v = hand_find(&h) == 0 && h.list.count == 1 ? hand_values(&h, 0) : NULL;
	test_ok(v && v[0] == 0.125f && v[1] == -0.25f && v[2] == 0x1p-19f && v[3] == 7168.0f,
	        "F8_E5M2 with a scale in F8_E8M0: values");
	free(v);
	hand_close(&h);
}

/* BitNet: byte i of row r has rows r, r + R, r + 2 R, r + 3 R; the scale divides. */
static void
ternary(void)
{
	size_t i, wrong = 0;
	struct hand h;
	uint8_t *w;
	float *v;

	hand_open(&h, "{\"quantization_config\":{\"quant_method\":\"bitnet\"}}");
	w = hand_tensor(&h, "m.q.weight", "U8", DIMS(3, 5));
	for (i = 0; i < 15; i++)
		w[i] = (uint8_t)(roll(3) | roll(3) << 2 | roll(3) << 4 | roll(3) << 6);
	le16_put(hand_tensor(&h, "m.q.weight_scale", "BF16", DIMS(1)), half_f32_bf16(3.0f));
	v = hand_find(&h) == 0 && h.list.count == 1 ? hand_values(&h, 0) : NULL;
	for (i = 0; v && i < 60; i++)
		wrong += v[i] != ((float)(w[i % 15] >> i / 15 * 2 & 3) - 1) / 3.0f;
	test_ok(v && wrong == 0 && tensor_dims(h.list.p[0].tensor)[0] == 12,
	        "bitnet: values (%zu differ)", wrong);
	free(v);
	w[3] |= 3 << 4;
	test_ok(!hand_values(&h, 0) && strstr(h.e.fact, "row 6 has a value that is not -1, 0 or 1"),
	        "bitnet: a code without a value");
	hand_close(&h);
}

/* MXFP4: the F32 values of what packed_blocks repacks. */
static void
mxfp4(void)
{
	static const float level[8] = { 0, 0.5f, 1, 1.5f, 2, 3, 4, 6 };
	size_t i, e, r, c, wrong = 0;
	uint8_t *w, *s;
	struct hand h;
	float *v[2];

	hand_open(&h, "{\"quantization_config\":{\"quant_method\":\"mxfp4\"}}");
	w = hand_tensor(&h, "m.experts.gate_up_proj_blocks", "U8", DIMS(3, 4, 2, 16));
	s = hand_tensor(&h, "m.experts.gate_up_proj_scales", "U8", DIMS(3, 4, 2));
	for (i = 0; i < 384; i++)
		w[i] = (uint8_t)roll(256);
	for (i = 0; i < 24; i++)
		s[i] = (uint8_t)(120 + roll(16));
	if (hand_find(&h) < 0 || h.list.count != 2) {
		test_ok(0, "mxfp4: %s: %s", h.e.object, h.e.fact);
		hand_close(&h);
		return;
	}
	for (i = 0; i < 2; i++)
		v[i] = hand_values(&h, i);
	for (e = 0; e < 3; e++)
		for (r = 0; r < 4; r++)
			for (c = 0; c < 64; c++) {
				size_t block = (e * 4 + r) * 2 + c / 32;
				unsigned code = w[block * 16 + c % 32 / 2] >> c % 2 * 4 & 15;
				float value = level[code & 7];
				int k;

				for (k = s[block]; k < 127; k++)
					value /= 2;
				for (; k > 127; k--)
					value *= 2;
				wrong += v[r % 2][(e * 2 + r / 2) * 64 + c] != (code & 8 ? -value : value);
			}
	test_ok(wrong == 0 && strcmp(tensor_name(h.list.p[0].tensor), "m.experts.gate_proj.weight") == 0 &&
	        strcmp(tensor_name(h.list.p[1].tensor), "m.experts.up_proj.weight") == 0,
	        "mxfp4: even rows are the gate's, odd ones up's (%zu differ)", wrong);
	free(v[0]);
	free(v[1]);
	hand_close(&h);
}

/* Where the configuration is found, and what it may say twice. */
static void
configs(void)
{
	static const struct {
		const char *config;
		size_t weights;
		const char *what;
	} list[] = {
		{ "{\"quantization_config\":{\"quant_method\":\"fp8\"}}", 1, "fp8" },
		{ "{\"text_config\":{\"quantization_config\":{\"quant_method\":\"fp8\"}}}", 1,
		  "of the text model" },
		{ "{\"compression_config\":{\"quant_method\":\"fbgemm_fp8\"}}", 1,
		  "under its old name" },
		{ "{\"quantization_config\":{\"quant_method\":\"modelopt\",\"quant_algo\":\"FP8\"}}", 1,
		  "modelopt" },
		{ "{\"quantization_config\":{\"quant_method\":\"compressed-tensors\",\"format\":"
		  "\"float-quantized\",\"config_groups\":{"
		  "\"a\":{\"weights\":{\"num_bits\":8,\"type\":\"float\",\"strategy\":\"tensor\"}},"
		  "\"b\":{\"weights\":{\"num_bits\":8,\"type\":\"float\",\"strategy\":null}},"
		  "\"c\":{\"weights\":null}}}}", 1, "two groups of one kind, one of activations" },
		{ "{\"quantization_config\":{\"quant_method\":\"gptq\",\"bits\":4,\"group_size\":128}}", 0,
		  "gptq, though no tensor is packed so" },
		{ "{\"quantization_config\":null}", 0, "null" },
		{ "{\"quantization_config\":{}}", 0, "empty" },
		{ "{}", 0, "none" },
	};
	struct hand h;
	size_t i;

	for (i = 0; i < sizeof list / sizeof *list; i++) {
		hand_open(&h, list[i].config);
		hand_tensor(&h, "a.weight", "F8_E4M3", DIMS(2, 4));
		hand_tensor(&h, "a.weight_scale", "F32", DIMS(1));
		test_ok(hand_find(&h) == 0 && h.list.count == list[i].weights,
		        "configuration: %s: %zu weights%s", list[i].what, list[i].weights, h.e.fact);
		hand_close(&h);
	}
}

/* modelopt writes a file of its own. */
static void
file_beside(void)
{
	static const char text[] = "{\"producer\":{\"name\":\"modelopt\"},"
		"\"quantization\":{\"quant_algo\":\"FP8\",\"kv_cache_quant_algo\":\"FP8\"}}";
	struct weights_blob blob = { (const uint8_t *)text, sizeof text - 1 };
	struct hand h;

	hand_open(&h, "{}");
	hand_tensor(&h, "a.weight", "F8_E4M3", DIMS(2, 4));
	hand_tensor(&h, "a.weight_scale", "F32", DIMS(1));
	hand_tensor(&h, "a.k_scale", "F32", DIMS(1));
	h.s.w.blobs = &blob;
	test_ok(model_add_blob(&h.plan, "hf_quant_config.json", "file", blob.n, &h.e) == 0 &&
	        hand_find(&h) == 0 && h.list.count == 1 && h.list.consumed[2],
	        "configuration: hf_quant_config.json: 1 weight");
	hand_close(&h);
}

int
main(void)
{
	static const unsigned sizes[] = { 2, 3, 4, 8 };
	const char *data = test_data();
	size_t i;

	if (data)
		convert_each(data, each);
	else
		test_skip("model folders", "no reference data in APR_TEST_DATA");
	for (i = 0; i < 4; i++) {
		gptq(sizes[i], 32, true, false, false);
		gptq(sizes[i], 32, true, true, true);
		gptq(sizes[i], 0, false, false, false);
		words(sizes[i], 32, i % 2, false);
		words(sizes[i], 48, true, true);
	}
	gptq(4, 48, false, false, true);
	zero_index();
	words(4, 0, true, false);
	words(8, 0, false, false);
	awq(32);
	awq(96);
	all_scaled();
	other_types();
	ternary();
	mxfp4();
	configs();
	file_beside();
	return test_done();
}
