/* flow_sink: a flow in front of a sink is what flow_run makes of it in a process of its own: the same
 * stream, byte for byte, alone and in a chain; errors pass; values are held against their keys.
 */
#include "model/flow_sink.h"

#include "core/buf.h"
#include "core/le.h"
#include "memory.h"
#include "stream/stream.h"
#include "test.h"

/* ---- outputs in memory ---- */

struct store {
	struct buf b;
	size_t room;  /* bytes that it takes */
	bool ended;
	struct out_taker taker;
};

static int
take(void *ctx, uint64_t at, const void *p, size_t n)
{
	struct store *s = ctx;

	if (at != s->b.n || n > s->room - s->b.n)
		return -1;
	buf_put(&s->b, p, n);
	return buf_ok(&s->b) ? 0 : -1;
}

static int
complete(void *ctx, uint64_t n)
{
	struct store *s = ctx;

	s->ended = n == s->b.n;
	return 0;
}

/* A sink that writes a stream to the store. */
static struct sink *
stream_of(struct store *s, struct err *e)
{
	struct out_options where = { .to = &s->taker, .input = -1 };
	struct out out;

	*s = (struct store){ .room = s->room ? s->room : SIZE_MAX };
	s->taker = (struct out_taker){ take, complete, s, true };
	return out_open(&out, &where, e) == 0 ? stream_sink(&out, e) : NULL;
}

/* ---- the model ---- */

static void
add(struct memory *m, const char *name, uint64_t n)
{
	struct err e = ERR_INIT;
	struct tensor *t = tensor_new(name, strlen(name), dtype_by_name("F32"), 1, &n, TENSOR_OWN_SIZE,
	                              "made", &e);
	uint8_t *p = t ? memory_add(m, t) : NULL;
	uint64_t i;

	if (!p)
		exit(1);
	for (i = 0; i < n; i++)
		le_f32_put(p + 4 * i, (float)i);
}

/* Tensors shorter and longer than a piece, and one without bytes. */
static void
model(struct memory *m)
{
	memory_open(m);
	add(m, "short", 5);
	add(m, "none", 0);
	add(m, "long", 3000);
	add(m, "last", 251);
}

/* ---- flows ---- */

enum way { SAME, NEGATE, DROP, LOOK, ADD, WAYS };

struct state {
	enum way way;
	int fails;        /* the hook that fails, counted from 1; 0: none */
	uint64_t seen;    /* bytes */
	bool finished;
};

static int
failing(const struct state *s, int hook, struct err *e)
{
	return s->fails == hook ? err_set(e, ERR_INVALID, "hook", "%d fails", hook) : 0;
}

static int
plan(void *ctx, struct model *out, struct err *e)
{
	const struct state *s = ctx;
	const bool keep[4] = { true, true, false, true };
	uint8_t wire[12];

	if (s->way == DROP && model_keep(out, keep, e) < 0)
		return -1;
	if (s->way == ADD) {
		le64_put(wire, 4);
		memcpy(wire + 8, "more", 4);
		if (model_set_meta(out, "added", (struct value_type){ 0, VALUE_STRING }, wire, 12, e) < 0)
			return -1;
	}
	return failing(s, 1, e);
}

static int
item(void *ctx, const struct item *in, struct item *out, struct err *e)
{
	const struct state *s = ctx;

	if (s->way == DROP && in->index > 2)
		out->index--;
	if (failing(s, 2, e) < 0)
		return -1;
	return s->way == DROP && in->kind == ITEM_TENSOR && in->index == 2;
}

static int
data(void *ctx, const struct item *in, const uint8_t *p, size_t n, struct sink *sink, struct err *e)
{
	struct state *s = ctx;
	uint8_t byte;
	size_t i;

	(void)in;
	if (failing(s, 3, e) < 0)
		return -1;
	for (i = 0; i < n; i++, s->seen++) {
		byte = s->way == NEGATE && s->seen % 4 == 3 ? p[i] ^ 0x80 : p[i];
		if (sink && sink_write(sink, &byte, 1, e) < 0)
			return -1;
	}
	return 0;
}

static int
item_end(void *ctx, const struct item *in, struct sink *sink, struct err *e)
{
	(void)in;
	(void)sink;
	return failing(ctx, 4, e);
}

static int
finish(void *ctx, struct sink *sink, struct err *e)
{
	struct state *s = ctx;

	(void)sink;
	s->finished = true;
	return failing(s, 5, e);
}

static int
watch(void *ctx, uint64_t bytes, struct err *e)
{
	struct state *s = ctx;

	(void)bytes;
	return failing(s, 6, e);
}

static struct flow
flow_of(struct state *s)
{
	return (struct flow){ .plan = plan, .item = item, .data = s->way == SAME ? NULL : data,
		.looks = s->way == LOOK, .item_end = item_end, .finish = finish, .watch = watch,
		.progress_ctx = s, .ctx = s };
}

/* ---- by flow_run, and by sinks ---- */

/* Each flow in turn, with a stream between them. */
static int
run_apart(struct state *s, size_t n, struct store *to, struct err *e)
{
	struct store in = { .room = SIZE_MAX }, out = { .room = SIZE_MAX };
	struct memory m;
	size_t i;
	int r = 0;

	model(&m);
	for (i = 0; i < n && r == 0; i++) {
		const struct flow f = flow_of(&s[i]);
		struct sink *sink = stream_of(&out, e);
		struct source *source = &m.source;
		struct reader reader;

		if (i > 0) {
			reader_memory(&reader, in.b.p, in.b.n, "between", e);
			source = stream_source(&reader, e);
		}
		r = source && sink ? flow_run(source, sink, &f, e) : -1;
		sink_close(sink);
		if (i > 0)
			source_close(source);
		buf_free(&in.b);
		in = out;
	}
	*to = in;
	memory_close(&m);
	return r;
}

/* All of them at once: the first by flow_run, or as a sink. */
static int
run_together(struct state *s, size_t n, bool first_too, struct store *to, struct err *e)
{
	struct sink *sinks[4] = { stream_of(to, e) };
	struct flow f = { .ctx = NULL };
	struct memory m;
	size_t i, count = 1;
	int r;

	model(&m);
	for (i = n; i-- > (first_too ? 0u : 1u); count++) {
		f = flow_of(&s[i]);
		sinks[count] = flow_sink(&f, sinks[count - 1], "together", e);
	}
	f = first_too ? (struct flow){ .ctx = NULL } : flow_of(&s[0]);
	r = flow_run(&m.source, sinks[count - 1], &f, e);
	while (count-- > 0)
		sink_close(sinks[count]);
	memory_close(&m);
	return r;
}

static void
test_bytes(void)
{
	struct store apart = { .room = SIZE_MAX }, one = apart, all = apart;
	struct err e = ERR_INIT;
	unsigned a, b;
	int bad = 0;

	for (a = 0; a < WAYS; a++)
		for (b = 0; b < WAYS; b++) {
			struct state s[3] = { { .way = (enum way)a }, { .way = (enum way)b }, { .way = NEGATE } };

			bad += run_apart(s, 3, &apart, &e) < 0 || !apart.ended;
			bad += run_together(s, 3, false, &one, &e) < 0 || !one.ended;
			bad += run_together(s, 3, true, &all, &e) < 0 || !all.ended;
			bad += !s[0].finished || !s[2].finished;
			bad += apart.b.n < (a == DROP || b == DROP ? 100u : 12000u);
			bad += one.b.n != apart.b.n || memcmp(one.b.p, apart.b.p, one.b.n) != 0;
			bad += all.b.n != apart.b.n || memcmp(all.b.p, apart.b.p, all.b.n) != 0;
			buf_free(&apart.b);
			buf_free(&one.b);
			buf_free(&all.b);
		}
	test_ok(bad == 0, "chains of three flows as sinks write what flows between pipes write");
}

static void
test_looks(void)
{
	struct state s = { .way = LOOK };
	struct store to = { .room = SIZE_MAX };
	struct err e = ERR_INIT;

	run_together(&s, 1, true, &to, &e);
	test_ok(e.code == ERR_NONE && s.seen == 4 * (5 + 3000 + 251), "a hook that looks sees each byte");
	buf_free(&to.b);
}

/* Whether the output is incomplete and e is what the hook said. */
static bool
failed_by(int hook, const struct store *to, const struct err *e)
{
	char said[32];

	snprintf(said, sizeof said, "%d fails", hook);
	return !to->ended && e->code == ERR_INVALID && strcmp(e->fact, said) == 0;
}

static void
test_errors(void)
{
	struct store to = { .room = SIZE_MAX };
	int hook, bad = 0;

	for (hook = 1; hook <= 6; hook++) {
		struct state s[2] = { { .way = ADD }, { .way = NEGATE, .fails = hook } };
		struct err e = ERR_INIT;

		bad += run_together(s, 2, true, &to, &e) == 0 || !failed_by(hook, &to, &e);
		buf_free(&to.b);
	}
	test_ok(bad == 0, "an error of each hook ends the chain, and the output stays incomplete");
	for (bad = 0, hook = 0; hook < 12000; hook += 97) {
		struct state s[2] = { { .way = SAME }, { .way = NEGATE } };
		struct err e = ERR_INIT;

		to.room = 1 + (size_t)hook;
		bad += run_together(s, 2, true, &to, &e) == 0 || e.code != ERR_IO || to.ended;
		buf_free(&to.b);
	}
	test_ok(bad == 0, "an output that ends somewhere ends the chain with its error");
}

/* ---- values ---- */

/* Push a model whose long value has these bytes. */
static int
push_value(const void *p, size_t n, struct err *e)
{
	const struct item blob = { .kind = ITEM_BLOB, .index = 0, .bytes = n };
	struct state s = { .way = SAME };
	const struct flow f = flow_of(&s);
	struct store to = { .room = SIZE_MAX };
	struct sink *last = stream_of(&to, e), *first = last ? flow_sink(&f, last, "values", e) : NULL;
	struct model m;
	int r = -1;

	if (first && model_init(&m, e) == 0) {
		if (model_add_meta_blob(&m, "list", 4, (struct value_type){ 1, VALUE_U8 }, n, e) == 0 &&
		    sink_begin(first, &m, e) == 0 && sink_put(first, &blob, e) == 0 &&
		    sink_write(first, p, 5, e) == 0 &&
		    sink_write(first, (const uint8_t *)p + 5, n - 5, e) == 0 &&
		    sink_put_end(first, e) == 0)
			r = sink_end(first, e);
		sink_close(first);
		sink_close(last);
		model_free(&m);
	}
	buf_free(&to.b);
	return r;
}

static void
test_values(void)
{
	static uint8_t wire[12 + 2000];
	struct err e = ERR_INIT;

	le32_put(wire, VALUE_U8);
	le64_put(wire + 4, 2000);
	test_ok(push_value(wire, sizeof wire, &e) == 0, "a long value of its key's type passes");
	le32_put(wire, VALUE_F32);
	test_ok(push_value(wire, sizeof wire, &e) < 0 && e.code == ERR_CORRUPT,
	        "one of another type is refused");
}

int
main(void)
{
	test_bytes();
	test_looks();
	test_errors();
	test_values();
	return test_done();
}
