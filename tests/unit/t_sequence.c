/* sequence: many sequences on one model are as if each were alone; and a model computes the same
 * with a table of operations whose memory the host cannot read. */
#include <stdint.h>
#include <string.h>

#include "infer/ops.h"
#include "infer/sequence.h"
#include "load/load.h"
#include "test.h"

/* ---- a far table: the CPU's operations, on memory that is behind handles ---- */

/* Handle k is the address k, which no process can read. */
enum { HANDLES = 4, FIRST = 16 };
static struct values hidden[HANDLES];
static size_t handles, released, copies_in, copies_out;

static struct values
here(struct values v)
{
	size_t k = (size_t)(uintptr_t)v.memory;

	return k ? (struct values){ hidden[k - FIRST].memory, v.first } : v;
}

static struct values
far_alloc(struct device *d, uint64_t n, struct err *e)
{
	if (handles == HANDLES) {
		err_memory(e);
		return (struct values){ NULL, 0 };
	}
	hidden[handles] = ops_cpu.alloc(d, n, e);
	return (struct values){ (void *)(uintptr_t)(FIRST + handles++), 0 };
}

static void
far_release(struct device *d, struct values v)
{
	ops_cpu.release(d, here(v));
	released += v.memory != NULL;
}

static void
far_copy_in(struct device *d, struct values to, const float *from, size_t n)
{
	ops_cpu.copy_in(d, here(to), from, n);
	copies_in++;
}

static void
far_copy_out(struct device *d, float *to, struct values from, size_t n)
{
	ops_cpu.copy_out(d, to, here(from), n);
	copies_out++;
}

static void
far_embed(struct device *d, const struct matrix *table, const uint32_t *id, size_t n,
          float scale, struct values y)
{
	ops_cpu.embed(d, table, id, n, scale, here(y));
}

static void
far_norm(struct device *d, const struct norm *w, struct values x, size_t n, size_t width,
         struct values y)
{
	ops_cpu.norm(d, w, here(x), n, width, here(y));
}

static void
far_linear(struct device *d, const struct input *in, const struct product *p, size_t count)
{
	struct input i = *in;
	size_t k;

	i.x = here(i.x);
	for (k = 0; k < count; k++)
		ops_cpu.linear(d, &i, &(struct product){ p[k].layer, here(p[k].y) }, 1);
}

static void
far_act(struct device *d, enum act act, struct values gate, struct values up, size_t n)
{
	ops_cpu.act(d, act, here(gate), here(up), n);
}

static void
far_rope(struct device *d, const struct rotation *r, struct values x, size_t n, size_t heads,
         size_t width)
{
	struct rotation near = *r;

	near.cosines = here(r->cosines);
	near.sines = here(r->sines);
	ops_cpu.rope(d, &near, here(x), n, heads, width);
}

static void
far_keep(struct device *d, struct cache *c, size_t layer, size_t position, struct values k,
         struct values v, size_t n)
{
	ops_cpu.keep(d, c, layer, position, here(k), here(v), n);
}

static void
far_attend(struct device *d, const struct attention *a)
{
	struct attention near = *a;

	near.q = here(a->q);
	near.out = here(a->out);
	ops_cpu.attend(d, &near);
}

static void
far_add(struct device *d, struct values x, struct values y, size_t n)
{
	ops_cpu.add(d, here(x), here(y), n);
}

static void
far_clear(struct device *d, struct values x, size_t n)
{
	ops_cpu.clear(d, here(x), n);
}

static void
far_gather(struct device *d, struct values x, const uint32_t *row, size_t n, size_t width,
           struct values y)
{
	ops_cpu.gather(d, here(x), row, n, width, here(y));
}

static void
far_scatter(struct device *d, struct values x, const uint32_t *row, const float *weight,
            size_t n, size_t width, struct values y)
{
	ops_cpu.scatter(d, here(x), row, weight, n, width, here(y));
}

static void
far_dots(struct device *d, struct values x, const float *w, size_t n, size_t width,
         struct values y)
{
	ops_cpu.dots(d, here(x), w, n, width, here(y));
}

static struct ops
far_table(void)
{
	struct ops ops = ops_cpu;

	ops.alloc = far_alloc;
	ops.release = far_release;
	ops.copy_in = far_copy_in;
	ops.copy_out = far_copy_out;
	ops.embed = far_embed;
	ops.norm = far_norm;
	ops.linear = far_linear;
	ops.act = far_act;
	ops.rope = far_rope;
	ops.keep = far_keep;
	ops.attend = far_attend;
	ops.add = far_add;
	ops.clear = far_clear;
	ops.gather = far_gather;
	ops.scatter = far_scatter;
	ops.dots = far_dots;
	return ops;
}

/* ---- texts ---- */

enum { CONTEXT = 48, PROMPT = 20, STEPS = 12, TEXTS = 3, VOCABULARY = 1024 };

/* A text: its tokens, and all logits after the prompt and after each step. */
struct text {
	struct sequence *sequence;
	size_t n;
	float logits[STEPS + 1][VOCABULARY];
	size_t rows, vocabulary;
};

static uint32_t
token(size_t text, size_t i)
{
	return (uint32_t)((i * 37 + text * 101 + i * i * text) % 1000);
}

static int
keep(void *ctx, size_t position, const float *logits, struct err *e)
{
	struct text *t = ctx;

	(void)position;
	(void)e;
	memcpy(t->logits[t->rows++], logits, t->vocabulary * sizeof *logits);
	return 0;
}

/* The prompt, which has another length in each text, or the next token. */
static int
step(struct text *t, size_t text, struct err *e)
{
	size_t n = t->n ? 1 : PROMPT - 5 * text, i;
	uint32_t list[PROMPT];

	for (i = 0; i < n; i++)
		list[i] = token(text, t->n + i);
	if (sequence_eval(t->sequence, t->n, list, n, SEQUENCE_LAST, keep, t, e) < 0)
		return -1;
	t->n += n;
	return 0;
}

/* All texts, in turn or one after another. */
static int
run(const struct weights *w, const struct ops *ops, bool in_turn, struct text *text)
{
	const struct infer_options o = { .context = CONTEXT, .threads = 2, .ops = ops };
	struct err e = ERR_INIT;
	struct infer *m = infer_open(w, &o, NULL, &e);
	size_t i, k;
	int done = m ? 0 : -1;

	memset(text, 0, TEXTS * sizeof *text);
	for (i = 0; done == 0 && i < TEXTS; i++) {
		text[i].vocabulary = infer_vocabulary(m);
		text[i].sequence = sequence_open(m, &e);
		done = text[i].sequence && text[i].vocabulary <= VOCABULARY ? 0 : -1;
	}
	for (k = 0; done == 0 && k < TEXTS * (STEPS + 1); k++) {
		i = in_turn ? k % TEXTS : k / (STEPS + 1);
		done = step(&text[i], i, &e);
	}
	for (i = 0; i < TEXTS; i++)
		sequence_close(text[i].sequence);
	infer_close(m);
	if (done < 0)
		test_ok(0, "%s", e.fact);
	return done;
}

static bool
same(const struct text *a, const struct text *b)
{
	size_t i;

	for (i = 0; i < TEXTS; i++)
		if (a[i].rows != STEPS + 1 || b[i].rows != STEPS + 1 ||
		    memcmp(a[i].logits, b[i].logits, sizeof a[i].logits))
			return false;
	return true;
}

static void
model(const char *name)
{
	static struct text alone[TEXTS], other[TEXTS];
	const struct ops far = far_table();
	struct load load = { 0 };
	struct err e = ERR_INIT;
	char path[64];

	snprintf(path, sizeof path, "tests/data/%s.gguf", name);
	if (!test_ok(load_open(&load, path, NULL, &e) == 0, "%s: %s", name, e.fact) ||
	    run(&load.weights, NULL, false, alone) < 0)
		return;
	test_ok(memcmp(alone[0].logits, alone[1].logits, sizeof alone[0].logits) != 0,
	        "%s: texts differ", name);
	test_ok(run(&load.weights, NULL, true, other) == 0 && same(alone, other),
	        "%s: sequences in turn give the logits of each alone", name);
	handles = released = copies_in = copies_out = 0;
	test_ok(run(&load.weights, &far, true, other) == 0 && same(alone, other),
	        "%s: a table with memory of its own gives the same", name);
	test_ok(handles > 0 && released == handles && copies_out > 0,
	        "%s: %zu pieces of memory are released; %zu copies in, %zu out", name, handles,
	        copies_in, copies_out);
	load_close(&load);
}

/* Positions are those of the sequence, and it can go back. */
static void
positions(void)
{
	static struct text a, b;
	const struct infer_options o = { .context = CONTEXT };
	struct load load = { 0 };
	struct err e = ERR_INIT;
	struct infer *m = load_open(&load, "tests/data/arch/gptneox.gguf", NULL, &e) == 0
		? infer_open(&load.weights, &o, NULL, &e) : NULL;
	uint32_t list[2] = { 5, 6 };

	if (!test_ok(m != NULL, "a model opens"))
		return;
	a.vocabulary = b.vocabulary = infer_vocabulary(m);
	a.sequence = sequence_open(m, &e);
	b.sequence = sequence_open(m, &e);
	test_ok(sequence_model(a.sequence) == m && sequence_bytes(a.sequence) > 0,
	        "a sequence knows its model");
	test_ok(step(&a, 0, &e) == 0, "a prompt");
	test_ok(sequence_eval(b.sequence, 1, list, 1, SEQUENCE_LAST, keep, &b, &e) < 0 &&
	        e.code == ERR_INVALID, "another sequence has no positions yet: %s", e.fact);
	e = (struct err)ERR_INIT;
	/* Over what was there, in the same way as in an empty sequence. */
	a.rows = 0;
	test_ok(sequence_eval(a.sequence, 0, list, 2, SEQUENCE_ALL, keep, &a, &e) == 0 &&
	        sequence_eval(b.sequence, 0, list, 2, SEQUENCE_ALL, keep, &b, &e) == 0 &&
	        a.rows == 2 && b.rows == 2 && !memcmp(a.logits, b.logits, sizeof a.logits[0] * 2),
	        "a sequence that goes back has forgotten what followed");
	test_ok(sequence_eval(a.sequence, 3, list, 1, SEQUENCE_NONE, keep, &a, &e) < 0 &&
	        e.code == ERR_INVALID, "and has these positions no longer");
	sequence_close(a.sequence);
	sequence_close(b.sequence);
	infer_close(m);
	load_close(&load);
}

int
main(void)
{
	static const char *const names[] = { "shakespeare-BF16", "arch/gemma2", "arch/gptneox",
		"arch/qwen2moe" };
	size_t i;

	for (i = 0; i < sizeof names / sizeof *names; i++)
		model(names[i]);
	positions();
	return test_done();
}
