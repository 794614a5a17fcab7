/* values: a small model whose partners fit, in which one fault at a time must be found by its
 * rule and name; and real models, in which nothing may be found. */
#include <glob.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check/survey.h"
#include "check/values.h"
#include "core/half.h"
#include "core/le.h"
#include "core/mem.h"
#include "formats/format.h"
#include "stats/look.h"
#include "test.h"

/* ---- a model: 4 blocks of width 128, 4 heads of 32, 2 key heads ---- */

enum { BLOCKS = 4, WIDTH = 128, HEADS = 4, KV = 2, HEAD = 32, FF = 192, TOKENS = 512 };
enum { ROOM = 64, LARGEST = TOKENS * WIDTH };

static struct survey model;
static struct tensor *tensors[ROOM];
static float *values[ROOM];
static uint64_t state;

/* From -1 to 1. */
static double
chance(void)
{
	state = state * 6364136223846793005 + 1442695040888963407;
	return (double)(state >> 11) * 0x1p-52 - 1;
}

/* A strength of row or column i that depends on a seed: 0.4 to 2.5. */
static double
strength(unsigned seed, size_t i)
{
	uint64_t x = ((uint64_t)seed << 32 | i) * 0x9e3779b97f4a7c15;

	x = (x ^ x >> 29) * 0xbf58476d1ce4e5b9;
	return exp2(((double)(x >> 40) / (1 << 24) - 0.5) * 2.6);
}

/* Seeds of strengths that partners of a block share. */
enum { PAIRS = 100, VALUES = 200, NEURONS = 300, INPUTS = 400, FREQUENT = 500 };

static struct survey_tensor *
add(const char *name, uint64_t rows, uint64_t columns, double mean, double scale,
    double (*row)(unsigned, size_t), unsigned row_seed, double (*column)(unsigned, size_t),
    unsigned column_seed)
{
	struct err e = ERR_INIT;
	uint64_t dims[2] = { rows, columns };
	size_t i = model.count++, r, c;
	struct survey_tensor *t = &model.tensors[i];

	tensors[i] = tensor_new(name, strlen(name), dtype_by_name("F32"), rows ? 2 : 1,
	                        rows ? dims : dims + 1, TENSOR_OWN_SIZE, "test", &e);
	values[i] = malloc(LARGEST * sizeof **values);
	if (!tensors[i] || !values[i])
		abort();
	*t = (struct survey_tensor){ .t = tensors[i], .name = tensor_name(tensors[i]),
		.read = true };
	t->known = match_find(model.subject.arch, ARCH_GGUF, name, 0, &t->match);
	for (r = 0; r < (rows ? rows : 1); r++)
		for (c = 0; c < columns; c++)
			values[i][r * columns + c] = (float)((mean + scale * chance()) *
				(row ? row(row_seed, r) : 1) * (column ? column(column_seed, c) : 1));
	return t;
}

/* Rows of a rotary pair (2i and 2i + 1) share a strength, divided between them by an angle. */
static double
part(unsigned seed, size_t row)
{
	double angle = strength(seed, row / 2);

	return row % 2 ? sin(angle) : cos(angle);
}

/* Heads that share a key head. */
static double
query(unsigned seed, size_t row)
{
	return strength(seed, row / HEAD / (HEADS / KV) * HEAD + row % HEAD / 2) *
	       part(seed + 50, row);
}

static double
key(unsigned seed, size_t row)
{
	return strength(seed, row / HEAD * HEAD + row % HEAD / 2) * part(seed + 70, row);
}

static double
output(unsigned seed, size_t column)
{
	return strength(seed, column / HEAD / (HEADS / KV) * HEAD + column % HEAD);
}

static void
make_model(void)
{
	char name[64];
	unsigned b;

	model.subject.arch = arch_by_name("llama");
	model.subject.form = ARCH_GGUF;
	model.has_subject = true;
	model.sizes.of['H' - 'A'] = HEADS;
	model.sizes.of['G' - 'A'] = KV;
	model.tensors = mem_array(ROOM, sizeof *model.tensors);
#define NAME(part) (snprintf(name, sizeof name, "blk.%u.%s.weight", b, part), name)
	add("token_embd.weight", TOKENS, WIDTH, 0, 0.1, strength, FREQUENT, NULL, 0);
	add("output.weight", TOKENS, WIDTH, 0, 0.1, strength, FREQUENT, NULL, 0);
	add("output_norm.weight", 0, WIDTH, 1.5, 0.3, NULL, 0, NULL, 0);
	for (b = 0; b < BLOCKS; b++) {
		add(NAME("attn_norm"), 0, WIDTH, 0.7 + 0.1 * b, 0.2, NULL, 0, NULL, 0);
		add(NAME("attn_q"), HEADS * HEAD, WIDTH, 0, 0.1, query, PAIRS + b, NULL, 0);
		add(NAME("attn_k"), KV * HEAD, WIDTH, 0, 0.1, key, PAIRS + b, NULL, 0);
		add(NAME("attn_v"), KV * HEAD, WIDTH, 0, 0.1, strength, VALUES + b, NULL, 0);
		add(NAME("attn_output"), WIDTH, HEADS * HEAD, 0, 0.1, NULL, 0, output, VALUES + b);
		add(NAME("ffn_norm"), 0, WIDTH, 0.8, 0, NULL, 0, strength, INPUTS + b);
		add(NAME("ffn_gate"), FF, WIDTH, 0, 0.1, strength, NEURONS + b, strength, INPUTS + b);
		add(NAME("ffn_up"), FF, WIDTH, 0, 0.1, strength, NEURONS + b, strength, INPUTS + b);
		add(NAME("ffn_down"), WIDTH, FF, 0, 0.1, NULL, 0, strength, NEURONS + b);
	}
}

/* Statistics of a tensor anew. */
static void
measure(struct survey_tensor *t, const float *v)
{
	static uint8_t bytes[4 * LARGEST];
	struct err e = ERR_INIT;
	struct look look;
	struct tally y;
	size_t i, n = (size_t)tensor_items(t->t);
	uint32_t u;

	for (i = 0; i < n; i++) {
		memcpy(&u, v + i, sizeof u);
		le32_put(bytes + 4 * i, u);
	}
	free(t->look);
	if (look_open(&look, &e) < 0 || tally_open(&y, 1, false, &e) < 0)
		abort();
	y.look = &look;
	if (tally_begin_rows(&y, tensor_type(t->t), n, look_row(t->t), &e) < 0)
		abort();
	tally_add(&y, bytes, 4 * n);
	tally_end(&y);
	t->stats = y.stats;
	t->look = look_copy(&look, LOOK_ENTRIES, &e);
	tally_free(&y);
	look_close(&look);
}

static size_t
find(const char *name)
{
	size_t i;

	for (i = 0; i < model.count; i++)
		if (strcmp(model.tensors[i].name, name) == 0)
			return i;
	abort();
}

/* ---- faults ---- */

static void
scale(float *v, size_t n, const struct tensor *t)
{
	(void)t;
	while (n > 0)
		v[--n] *= 11;
}

static void
zero(float *v, size_t n, const struct tensor *t)
{
	(void)t;
	memset(v, 0, n * sizeof *v);
}

static void
turn(float *v, size_t n, const struct tensor *t)
{
	size_t rows = (size_t)tensor_dims(t)[0], columns = (size_t)tensor_row(t), i;
	float *to = malloc(n * sizeof *to);

	for (i = 0; i < n; i++)
		to[i % columns * rows + i / columns] = v[i];
	memcpy(v, to, n * sizeof *v);
	free(to);
}

/* From pairs (2i, 2i + 1) to halves (i, i + 16). */
static void
halves(float *v, size_t n, const struct tensor *t)
{
	size_t columns = (size_t)tensor_row(t), i, row;
	float *to = malloc(n * sizeof *to);

	for (i = 0; i < n; i++) {
		row = i / columns % HEAD;
		row = i / columns / HEAD * HEAD + row % 2 * (HEAD / 2) + row / 2;
		to[row * columns + i % columns] = v[i];
	}
	memcpy(v, to, n * sizeof *v);
	free(to);
}

static void
other(float *v, size_t n, const struct tensor *t)
{
	char name[64];

	snprintf(name, sizeof name, "%s", tensor_name(t));
	name[4] = name[4] == '0' ? '2' : '0';
	memcpy(v, values[find(name)], n * sizeof *v);
}

static void
nan_(float *v, size_t n, const struct tensor *t)
{
	(void)t;
	v[n / 2] = NAN;
}

static void
infinite(float *v, size_t n, const struct tensor *t)
{
	(void)t;
	v[n / 2] = -INFINITY;
}

static void
dead_row(float *v, size_t n, const struct tensor *t)
{
	(void)n;
	memset(v + 3 * tensor_row(t), 0, tensor_row(t) * sizeof *v);
}

static void
dead_column(float *v, size_t n, const struct tensor *t)
{
	size_t i;

	for (i = 7; i < n; i += tensor_row(t))
		v[i] = 0;
}

static void
loud_row(float *v, size_t n, const struct tensor *t)
{
	size_t i;

	(void)n;
	for (i = 0; i < tensor_row(t); i++)
		v[5 * tensor_row(t) + i] *= 1000;
}

static void
shifted(float *v, size_t n, const struct tensor *t)
{
	(void)t;
	while (n > 0)
		v[--n] += 1;
}

static void
same(float *v, size_t n, const struct tensor *t)
{
	(void)t;
	while (n > 0)
		v[--n] = 0.25f;
}

static const struct {
	const char *name;
	void (*make)(float *, size_t, const struct tensor *);
	const char *rule;   /* the worst finding is of this, */
	const char *object; /* about this tensor; NULL: the same */
} faults[] = {
	{ "blk.1.attn_norm.weight", scale, "VALUES-SIBLING", NULL },
	{ "blk.3.attn_norm.weight", scale, "CHECK-028", NULL },
	{ "blk.2.ffn_up.weight", scale, "VALUES-SIBLING", NULL },
	{ "token_embd.weight", scale, "CHECK-030", NULL },
	{ "output_norm.weight", scale, "CHECK-028", NULL },
	{ "blk.1.attn_q.weight", zero, "CHECK-031", NULL },
	{ "blk.1.ffn_norm.weight", zero, "CHECK-031", NULL },
	{ "blk.1.attn_q.weight", turn, "VALUES-BOND", NULL },
	{ "blk.1.attn_output.weight", turn, "VALUES-BOND", "blk.1.attn_v.weight" },
	{ "blk.0.ffn_up.weight", turn, "VALUES-BOND", NULL },
	{ "blk.1.ffn_gate.weight", turn, "VALUES-BOND", NULL },
	{ "blk.1.ffn_down.weight", turn, "VALUES-BOND", NULL },
	{ "token_embd.weight", turn, "VALUES-TOKENS", NULL },
	{ "blk.3.attn_q.weight", halves, "VALUES-BOND", NULL },
	{ "blk.3.attn_k.weight", halves, "VALUES-BOND", "blk.3.attn_q.weight" },
	{ "blk.1.ffn_down.weight", other, "VALUES-BOND", NULL },
	{ "blk.2.ffn_gate.weight", nan_, "CHECK-026", NULL },
	{ "blk.2.ffn_gate.weight", infinite, "CHECK-027", NULL },
	{ "blk.2.ffn_gate.weight", dead_row, "VALUES-DEAD", NULL },
	{ "blk.2.ffn_gate.weight", dead_column, "VALUES-DEAD", NULL },
	{ "blk.2.ffn_down.weight", loud_row, "VALUES-SIBLING", NULL },
	{ "blk.2.ffn_down.weight", shifted, "VALUES-SIBLING", NULL },
	{ "blk.2.ffn_down.weight", same, "VALUES-CONSTANT", NULL },
};

static int
has(const struct findings *f, const char *rule, const char *object)
{
	size_t i;

	for (i = 0; i < f->count; i++)
		if (f->of[i].level > FINDING_INFO && strcmp(f->of[i].rule->id, rule) == 0 &&
		    (f->of[i].object ? object && strcmp(f->of[i].object, object) == 0 : !object))
			return 1;
	return 0;
}

static size_t
alarms(const struct findings *f)
{
	return f->levels[FINDING_WARN] + f->levels[FINDING_ERROR];
}

static void
print(const struct findings *f)
{
	size_t i;

	for (i = 0; i < f->count; i++)
		if (f->of[i].level > FINDING_INFO)
			printf("# %s %s: %s\n", f->of[i].rule->id,
			       f->of[i].object ? f->of[i].object : "model", f->of[i].fact);
}

static void
test_faults(void)
{
	static float v[LARGEST];
	struct err e = ERR_INIT;
	size_t i, at, n;

	for (i = 0; i < sizeof faults / sizeof *faults; i++) {
		const char *object = faults[i].object ? faults[i].object : faults[i].name;
		struct findings f = { 0 };

		at = find(faults[i].name);
		n = (size_t)tensor_items(tensors[at]);
		memcpy(v, values[at], n * sizeof *v);
		faults[i].make(v, n, tensors[at]);
		measure(&model.tensors[at], v);
		values_judge(&model, &f, &e);
		if (!test_ok(has(&f, faults[i].rule, object), "fault %zu of %s is found by %s", i,
		             faults[i].name, faults[i].rule))
			print(&f);
		measure(&model.tensors[at], values[at]);
		findings_free(&f);
	}
}

/* The same tensors under the roles of an encoder, a decoder, or experts. */
static void
test_roles(void)
{
	enum { ALL = 7 };
	static const enum role plain[ALL] = { ROLE_Q, ROLE_K, ROLE_V, ROLE_O, ROLE_GATE, ROLE_UP,
		ROLE_DOWN };
	static const struct {
		enum role roles[ALL]; /* ROLES: the tensor has none */
		const char *turned, *named; /* which of both partners is named */
	} sets[] = {
		{ { ROLE_ENC_Q, ROLE_ENC_K, ROLE_ENC_V, ROLE_ENC_O, ROLES, ROLES, ROLES },
		  "attn_output", "attn_v" },
		{ { ROLE_DEC_Q, ROLE_DEC_K, ROLE_DEC_V, ROLE_DEC_O, ROLES, ROLES, ROLES },
		  "attn_output", "attn_v" },
		{ { ROLE_CROSS_Q, ROLE_CROSS_K, ROLE_CROSS_V, ROLE_CROSS_O, ROLES, ROLES, ROLES },
		  "attn_output", "attn_v" },
		{ { ROLES, ROLES, ROLES, ROLES, ROLE_ENC_GATE, ROLE_ENC_UP, ROLE_ENC_DOWN },
		  "ffn_down", "ffn_down" },
		{ { ROLES, ROLES, ROLES, ROLES, ROLE_DEC_GATE, ROLE_DEC_UP, ROLE_DEC_DOWN },
		  "ffn_gate", "ffn_gate" },
		{ { ROLES, ROLES, ROLES, ROLES, ROLE_SHARED_GATE, ROLE_SHARED_UP, ROLE_SHARED_DOWN },
		  "ffn_up", "ffn_up" },
		{ { ROLES, ROLES, ROLES, ROLES, ROLE_GATE_EXPS, ROLE_UP_EXPS, ROLE_DOWN_EXPS },
		  "ffn_gate", "ffn_gate" },
	};
	static struct arch_rule rules[BLOCKS * ALL + 64];
	static float v[LARGEST];
	struct err e = ERR_INIT;
	const struct arch_rule **kept = calloc(model.count, sizeof *kept);
	size_t set, i, j, at, good;
	char name[64];

	if (!kept || model.count > sizeof rules / sizeof *rules)
		abort();
	for (i = 0; i < model.count; i++)
		kept[i] = model.tensors[i].match.rule;
	for (set = 0; set < sizeof sets / sizeof *sets; set++) {
		struct findings f = { 0 };

		for (i = 0; i < model.count; i++) {
			rules[i] = *kept[i];
			for (j = 0; j < ALL; j++)
				if (kept[i]->role == plain[j])
					rules[i].role = sets[set].roles[j];
			/* A rule without a role has a name. */
			rules[i].name = rules[i].role == ROLES ? "other" : rules[i].name;
			model.tensors[i].match.rule = &rules[i];
		}
		values_judge(&model, &f, &e);
		good = alarms(&f);
		findings_free(&f);
		f = (struct findings){ 0 };
		snprintf(name, sizeof name, "blk.1.%s.weight", sets[set].turned);
		at = find(name);
		memcpy(v, values[at], (size_t)tensor_items(tensors[at]) * sizeof *v);
		turn(v, (size_t)tensor_items(tensors[at]), tensors[at]);
		measure(&model.tensors[at], v);
		values_judge(&model, &f, &e);
		snprintf(name, sizeof name, "blk.1.%s.weight", sets[set].named);
		if (!test_ok(good == 0 && has(&f, "VALUES-BOND", name), "other roles, set %zu: %s turned",
		             set, sets[set].turned))
			print(&f);
		measure(&model.tensors[at], values[at]);
		findings_free(&f);
	}
	for (i = 0; i < model.count; i++)
		model.tensors[i].match.rule = kept[i];
	free(kept);
}

/* Two tensors change places; or all queries have the other rotary order. */
static void
test_pairs(void)
{
	size_t a = find("blk.1.attn_k.weight"), b = find("blk.2.attn_k.weight"), i;
	struct err e = ERR_INIT;
	struct findings f = { 0 };
	static float v[LARGEST];
	char name[64];

	measure(&model.tensors[a], values[b]);
	measure(&model.tensors[b], values[a]);
	values_judge(&model, &f, &e);
	test_ok(alarms(&f) == 2 && f.count >= 2 && strstr(f.of[0].fact, "that of block 2") &&
	        strstr(f.of[1].fact, "that of block 1"), "exchanged tensors are named: %s",
	        f.count ? f.of[0].fact : "");
	findings_free(&f);
	f = (struct findings){ 0 };
	measure(&model.tensors[b], values[b]);
	values_judge(&model, &f, &e);
	test_ok(has(&f, "VALUES-DUPLICATE", "blk.2.attn_k.weight"), "a tensor that is there twice");
	findings_free(&f);
	f = (struct findings){ 0 };
	measure(&model.tensors[a], values[a]);
	for (i = 0; i < 2 * BLOCKS; i++) {
		snprintf(name, sizeof name, "blk.%zu.attn_%c.weight", i / 2, i % 2 ? 'q' : 'k');
		a = find(name);
		memcpy(v, values[a], (size_t)tensor_bytes(tensors[a]));
		halves(v, (size_t)tensor_items(tensors[a]), tensors[a]);
		measure(&model.tensors[a], v);
	}
	values_judge(&model, &f, &e);
	test_ok(has(&f, "VALUES-ORDER", NULL) && alarms(&f) == 1,
	        "queries and keys of all blocks in the other rotary order");
	findings_free(&f);
	for (i = 0; i < model.count; i++)
		measure(&model.tensors[i], values[i]);
}

static void
test_model(void)
{
	struct err e = ERR_INIT;
	struct findings f = { 0 };
	size_t i;

	make_model();
	for (i = 0; i < model.count; i++)
		measure(&model.tensors[i], values[i]);
	values_judge(&model, &f, &e);
	if (!test_ok(alarms(&f) == 0, "the good model has no findings above info"))
		print(&f);
	findings_free(&f);
	test_faults();
	test_roles();
	test_pairs();
}

/* ---- a reference ---- */

static void
test_reference(void)
{
	struct survey copy = model;
	struct err e = ERR_INIT;
	struct findings f = { 0 };
	size_t at = find("blk.2.ffn_up.weight");
	static float v[LARGEST];

	copy.tensors = mem_array(ROOM, sizeof *copy.tensors);
	memcpy(copy.tensors, model.tensors, ROOM * sizeof *copy.tensors);
	values_compare(&model, &copy, &f, &e);
	test_ok(f.count == 0, "a model is like itself");
	memcpy(v, values[at], tensor_bytes(tensors[at]));
	v[0] += 0.0001f;
	model.tensors[at].look = NULL;
	measure(&model.tensors[at], v);
	values_compare(&model, &copy, &f, &e);
	test_ok(f.count == 0, "small differences do not matter");
	scale(v, (size_t)tensor_items(tensors[at]), tensors[at]);
	measure(&model.tensors[at], v);
	values_compare(&model, &copy, &f, &e);
	test_ok(alarms(&f) == 1 && has(&f, "VALUES-REFERENCE", "blk.2.ffn_up.weight"),
	        "a tensor that is not that of the reference");
	free(copy.tensors[at].look);
	free(copy.tensors);
	findings_free(&f);
}

/* ---- real models ---- */

/* Patterns of all models of the reference data that a format or an importer reads. */
static const char *const real[] = {
	"models/*", "models/*/*.gguf", "models/*/*.safetensors", "convert/*", "convert/*/*.gguf",
	"upstream-apr/*.apr", "vocab/*.gguf", "import/pytorch/*", "import/*/*.onnx",
	"import/*/*.tflite",
};

/* Findings above INFO that are true. */
static const struct {
	const char *file, *rule, *reason;
} known[] = {
	{ "convert/llama2-hf/expected.gguf", "CHECK-027", "random values beyond halves overflow" },
	{ "convert/llama2-hf/expected.gguf", "CHECK-041", "and some are cut at 65504" },
	{ "convert/llama2-hf/expected.gguf", "VALUES-SPREAD", "they are far too large" },
	{ "convert/llama2-hf/expected.gguf", "VALUES-DEAD", "others are below all halves" },
	{ "convert/llama2-hf/expected.gguf", "VALUES-SIBLING", "only one of two blocks has them" },
};

static int
is_known(const char *file, const struct finding *f)
{
	size_t i;

	for (i = 0; i < sizeof known / sizeof *known; i++)
		if (strstr(file, known[i].file) && strcmp(f->rule->id, known[i].rule) == 0)
			return printf("# %s: %s, %s\n", file, f->rule->id, known[i].reason) > 0;
	return 0;
}

/* Returns 0 if the file is not a model. */
static int
test_file(const char *path, const char *name)
{
	struct format_options o = { 0 };
	struct err e = ERR_INIT;
	struct survey s = { .jobs = 1 };
	struct findings f = { 0 };
	const struct format *format;
	size_t i, wrong = 0, read = 0;
	int held = -1;
	struct source *source = format_open_path(path, &o, NULL, &format, &held, &e);

	if (source && survey_run(&s, source, &e) == 0 && values_judge(&s, &f, &e) == 0)
		for (i = 0; i < s.count; i++)
			read += s.tensors[i].read;
	for (i = 0; i < f.count; i++)
		wrong += f.of[i].level > FINDING_INFO && !is_known(name, &f.of[i]);
	if (source && !test_ok(wrong == 0, "%s: no finding in %zu tensors", name, read))
		print(&f);
	findings_free(&f);
	survey_free(&s);
	if (source)
		source_close(source);
	if (held >= 0)
		close(held);
	return source != NULL;
}

static void
test_real(const char *data)
{
	char path[4096];
	size_t i, j, models = 0;
	glob_t g;

	for (i = 0; i < sizeof real / sizeof *real; i++) {
		snprintf(path, sizeof path, "%s/%s", data, real[i]);
		if (glob(path, 0, NULL, &g) != 0)
			continue;
		for (j = 0; j < g.gl_pathc; j++)
			models += (size_t)test_file(g.gl_pathv[j], g.gl_pathv[j] + strlen(data) + 1);
		globfree(&g);
	}
	test_ok(models > 60, "%zu real models", models);
}

int
main(void)
{
	size_t i;

	test_model();
	test_reference();
	if (test_data())
		test_real(test_data());
	else
		test_skip("no finding in real models", "no reference data");
	for (i = 0; i < model.count; i++) {
		free(model.tensors[i].look);
		free(values[i]);
		tensor_free(tensors[i]);
	}
	free(model.tensors);
	return test_done();
}
