/* fuzz_lora: adapters of low rank. The input is a list of tensors, a line "NAME ROWSxCOLUMNS" each,
 * an empty line, and an adapter_config.json; or, without the latter, an adapter in GGUF.
 *
 *     1. The adapter is read, or refused with a message that a terminal can show.
 *     2. Parts that were read have A and B of one rank, which is theirs.
 *     3. On a small model in either form, each part finds a tensor of its shape or is refused; what
 *        it adds has finite size and the shape of the layer; rows are a permutation of the
 *        adapter's.
 *     4. It becomes the other form, or is refused.
 *
 * The mutator writes whole lines and whole members.
 */
#include "dice.h"
#include "mutate.h"

#include "lora/convert.h"
#include "lora/delta.h"
#include "lora/low.h"

#define TENSORS 32
#define VALUES 4096 /* of a tensor */

static uint8_t zeros[VALUES * 4];

/* ---- an adapter of the input ---- */

static void
add_line(struct model *plan, const char *line, size_t n)
{
	const char *space = memchr(line, ' ', n);
	uint64_t dims[2] = { 0, 0 };
	struct err e = ERR_INIT;
	struct tensor *t;
	unsigned axis = 0;
	const char *p;

	if (!space || plan->tensor_count == TENSORS)
		return;
	for (p = space + 1; p < line + n && axis < 2; p++)
		if (*p >= '0' && *p <= '9' && dims[axis] < VALUES)
			dims[axis] = dims[axis] * 10 + (uint64_t)(*p - '0');
		else
			axis++;
	if (dims[0] > VALUES || dims[1] > VALUES || dims[0] * (dims[1] ? dims[1] : 1) > VALUES)
		return;
	t = tensor_new(line, (size_t)(space - line), dtype_by_name("F32"), dims[1] ? 2 : 1, dims,
	               TENSOR_OWN_SIZE, "in", &e);
	if (t)
		must(model_add_tensor(plan, t, &e) == 0);
}

static void
add_text(struct model *plan, const char *key, const char *text)
{
	const struct value_type string = { 0, VALUE_STRING };
	struct err e = ERR_INIT;
	struct buf b = { 0 };

	buf_u64(&b, strlen(text));
	buf_text(&b, text);
	must(buf_ok(&b) && model_set_meta(plan, key, string, b.p, b.n, &e) == 0);
	buf_free(&b);
}

/* Fills the plan from the lines, and returns where the config begins, or size. */
static size_t
read_lines(struct model *plan, const uint8_t *data, size_t size)
{
	size_t at = 0, end;

	while (at < size && data[at] != '\n') {
		for (end = at; end < size && data[end] != '\n'; end++)
			;
		add_line(plan, (const char *)data + at, end - at);
		at = end < size ? end + 1 : size;
	}
	return at < size ? at + 1 : size;
}

/* ---- a small model ---- */

static const char *const layers[][2] = {
	{ "blk.0.attn_q.weight", "model.layers.0.self_attn.q_proj.weight" },
	{ "blk.0.attn_k.weight", "model.layers.0.self_attn.k_proj.weight" },
	{ "blk.0.ffn_down.weight", "model.layers.0.mlp.down_proj.weight" },
	{ "token_embd.weight", "model.embed_tokens.weight" },
	{ "output.weight", "lm_head.weight" },
	{ "output_norm.weight", "model.norm.weight" },
};
static const uint64_t shapes[][2] = { { 16, 16 }, { 8, 16 }, { 16, 32 }, { 20, 16 }, { 20, 16 },
	{ 16, 0 } };
#define LAYERS (sizeof layers / sizeof *layers)

static void
make_base(struct model *m, bool folder)
{
	struct err e = ERR_INIT;
	size_t i;

	must(model_init(m, &e) == 0);
	for (i = 0; i < LAYERS; i++) {
		const char *name = layers[i][folder];
		struct tensor *t = tensor_new(name, strlen(name), dtype_by_name("F32"),
		                              shapes[i][1] ? 2 : 1, shapes[i], TENSOR_OWN_SIZE,
		                              "base", &e);

		must(t && model_add_tensor(m, t, &e) == 0);
	}
}

static void
refused(const struct err *e)
{
	must_say(e->code == ERR_CORRUPT || e->code == ERR_FORMAT || e->code == ERR_INVALID ||
	         e->code == ERR_MEMORY, e);
	fuzz_printable(e->object);
	fuzz_printable(e->fact);
}

static void
check_hit(const struct lora_hit *h, const struct model *base)
{
	const struct tensor *t = base->tensors[h->tensor];
	struct lora_delta d = { 0 };
	struct err e = ERR_INIT;
	float row[64] = { 0 }, room[64];
	uint8_t seen[64] = { 0 };
	uint64_t i;

	if (!h->part)
		return;
	must(tensor_dims(t)[h->turned] == h->part->outputs &&
	     tensor_dims(t)[!h->turned] == h->part->inputs);
	for (i = 0; i < h->part->outputs && h->heads; i++) {
		uint64_t from = lora_hit_row(h, i);

		must(from < h->part->outputs && !seen[from]++);
	}
	if (lora_delta_make(&d, h, &e) == 0) {
		must(d.rows == tensor_dims(t)[0] && d.columns == tensor_dims(t)[1]);
		lora_delta_row(&d, d.rows - 1, row, room);
	} else {
		refused(&e);
	}
	lora_delta_free(&d);
}

static void
aim(const struct lora *l, const struct sizes *sizes, bool folder)
{
	struct lora_aim to = { .count = 0 };
	struct low_rank *low = NULL;
	struct err e = ERR_INIT;
	struct model m;
	struct lora_base base = { .plan = &m, .arch = arch_by_name("llama"),
		.form = folder ? ARCH_FOLDER : ARCH_GGUF, .sizes = sizes };
	size_t i, n = 0;

	make_base(&m, folder);
	if (lora_aim_add(&to, l, &base, &e) == 0) {
		for (i = 0; i < to.count; i++)
			check_hit(&to.hits[i], &m);
		if (low_make(&low, &n, &to, m.tensor_count, &e) < 0)
			refused(&e);
		low_free(low, n);
	} else {
		refused(&e);
	}
	lora_aim_free(&to);
	model_free(&m);
}

static void
convert(const struct lora *l, const struct sizes *sizes)
{
	struct err e = ERR_INIT;
	struct out_options where = { .input = -1, .path = "/dev/null", .terminal_ok = true,
		.force = true };
	struct out out;
	struct sink *sink;
	size_t scaled;

	must_say(out_open(&out, &where, &e) == 0, &e);
	sink = stream_sink(&out, &e);
	must_say(sink, &e);
	if (lora_convert(l, l->form == ARCH_GGUF ? ARCH_FOLDER : ARCH_GGUF, arch_by_name("llama"),
	                 sizes, sink, &scaled, &e) < 0)
		refused(&e);
	sink_close(sink);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sizes sizes = { .of = { ['H' - 'A'] = 4, ['G' - 'A'] = 2 } };
	const uint8_t *tensors[TENSORS];
	struct weights_blob blob;
	struct err e = ERR_INIT;
	struct model plan;
	struct weights w = { .name = "in", .plan = &plan, .tensors = tensors, .blobs = &blob };
	struct lora l = { .w = NULL };
	size_t at, i;

	must(model_init(&plan, &e) == 0);
	at = read_lines(&plan, data, size);
	for (i = 0; i < TENSORS; i++)
		tensors[i] = zeros;
	if (at < size) {
		must(model_add_blob(&plan, "adapter_config.json", "file", size - at, &e) == 0);
		blob = (struct weights_blob){ data + at, size - at };
	} else {
		add_text(&plan, "adapter.type", "lora");
		add_text(&plan, "general.architecture", "llama");
	}
	if (model_check(&plan, "in", &e) == 0) {
		if (lora_read(&l, &w, 1, &e) == 0) {
			for (i = 0; i < l.part_count; i++)
				must(l.parts[i].rank > 0 && l.parts[i].inputs > 0);
			aim(&l, &sizes, false);
			aim(&l, &sizes, true);
			convert(&l, &sizes);
		} else {
			refused(&e);
		}
		lora_free(&l);
	}
	model_free(&plan);
	return 0;
}

/* ---- mutator ---- */

static const char *const modules[] = { "model.layers.0.self_attn.q_proj",
	"model.layers.0.self_attn.k_proj", "model.layers.0.mlp.down_proj", "lm_head",
	"model.embed_tokens", "model.norm", "blk.0.attn_q", "blk.0.attn_k", "token_embd", "output",
	"output_norm" };
static const char *const endings[] = { ".lora_A.weight 2x16", ".lora_B.weight 16x2",
	".lora_B.weight 8x2", ".lora_A.weight 2x32", ".lora_B.weight 20x2", ".lora_embedding_A 2x20",
	".lora_embedding_B 16x2", ".lora_magnitude_vector 16", ".weight 16", ".bias 16",
	".weight.lora_a 2x16", ".weight.lora_a 20x2", ".weight.lora_b 16x2", ".weight.lora_b 8x2",
	".lora_A.default.weight 2x16", ".lora_B.default.weight 16x2", ".lora_embedding_A.default 2x20",
	".lora_magnitude_vector.default.weight 16", ".lora_magnitude_vector.weight 8",
	".modules_to_save.default.weight 20x16", ".modules_to_save.default 16", ".base_layer.bias 16",
	".base_layers.weight 16x16", ".lora_A.other.weight 2x16", ".lora_B.bias 16", ".lora_E 2x1",
	".lora_C.weight 2x2", ".modules_to_save.weight 20x16", ".base_layer.weight 16x16" };
static const char *const members[] = { "\"r\":2", "\"lora_alpha\":4", "\"lora_alpha\":1e300",
	"\"use_rslora\":true", "\"fan_in_fan_out\":true", "\"alpha_pattern\":{\"q_proj\":8}",
	"\"alpha_pattern\":{\"(.*a){9}\":1,\"[\":2}", "\"layer_replication\":[[0,1]]",
	"\"alpha_pattern\":{\"(a|a)*b\":1}", "\"peft_type\":\"LOHA\"", "\"use_dora\":true",
	"\"use_dora\":false", "\"init_lora_weights\":\"pissa_niter_4\"", "\"init_lora_weights\":true",
	"\"init_lora_weights\":\"gaussian\"", "\"rank_pattern\":{\"q_proj\":4}",
	"\"target_modules\":\".*(q|k)_proj\"", "\"layers_to_transform\":[0]", "\"bias\":\"all\"",
	"\"modules_to_save\":[\"lm_head\"]", "\"trainable_token_indices\":[1]", "\"lora_bias\":true",
	"\"alpha_pattern\":{\"model.norm\":-1,\"^.*k_proj$\":1e-30}", "\"alpha_pattern\":[]" };

static void
write_pair(struct buf *b, struct dice *d)
{
	const char *module = ONE_OF(d, modules), *prefix = roll(d, 4) ? "base_model.model." : "";
	unsigned n;

	if (roll(d, 2)) { /* one that fits */
		const char *named = roll(d, 3) ? "" : ".default";
		unsigned i = roll(d, 3), rank = 1 + roll(d, 3);

		buf_printf(b, "%s%s.lora_A%s.weight %ux%u\n", prefix, modules[i], named, rank,
		           i == 2 ? 32 : 16);
		buf_printf(b, "%s%s.lora_B%s.weight %ux%u\n", prefix, modules[i], named, i == 1 ? 8 : 16,
		           rank);
		if (roll(d, 3) == 0)
			buf_printf(b, "%s%s.lora_magnitude_vector%s %u\n", prefix, modules[i], named,
			           i == 1 ? 8 : 16);
		return;
	}
	for (n = 1 + roll(d, 3); n > 0; n--)
		buf_printf(b, "%s%s%s\n", prefix, module, ONE_OF(d, endings));
}

static void
write_adapter(struct buf *b, struct dice *d)
{
	unsigned n;

	for (n = 1 + roll(d, 3); n > 0; n--)
		write_pair(b, d);
	if (roll(d, 3) == 0)
		return;
	buf_text(b, "\n{\"peft_type\":\"LORA\",\"lora_alpha\":2");
	for (n = roll(d, 3); n > 0; n--)
		buf_printf(b, ",%s", ONE_OF(d, members));
	buf_text(b, "}");
}

size_t
LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
	struct dice d = { seed, false };
	struct buf b = { 0 };

	if (roll(&d, 3) == 0)
		return LLVMFuzzerMutate(data, size, max);
	if (roll(&d, 2)) {
		write_adapter(&b, &d);
		return mutate_done(&b, data, size, max);
	}
	write_pair(&b, &d);
	buf_put(&b, data, size);
	return mutate_done(&b, data, size, max);
}
