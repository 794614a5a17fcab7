/* t_distill: what a student learns in which order, which layers it has, and checkpoints of others. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "distill/checkpoint.h"
#include "distill/course.h"
#include "distill/student.h"
#include "formats/create.h"
#include "test.h"

/* ---- the order of parts ---- */

enum { ROW = 1000, LENGTH = 7 };

/* Whether the parts of an epoch are all different, and in one grid. */
static int
is_epoch(struct order *o, uint64_t epoch)
{
	uint32_t tokens[LENGTH], targets[LENGTH];
	uint8_t seen[ROW] = { 0 };
	uint64_t i;

	for (i = 0; i < o->parts; i++) {
		order_batch(o, epoch * o->parts + i, 1, tokens, targets);
		if (seen[tokens[0]]++ || targets[LENGTH - 1] != tokens[0] + LENGTH ||
		    tokens[0] % LENGTH != o->shift % LENGTH)
			return 0;
	}
	return 1;
}

static void
test_order(void)
{
	uint32_t row[ROW], a[3 * LENGTH], b[LENGTH], t[3 * LENGTH];
	struct err e = ERR_INIT;
	struct order o, p;
	size_t i, shifts = 0;
	int same = 1, epochs = 1;

	for (i = 0; i < ROW; i++)
		row[i] = (uint32_t)i;
	order_begin(&o, row, ROW, LENGTH, TOKEN_NONE, 5, "row", &e);
	order_begin(&p, row, ROW, LENGTH, TOKEN_NONE, 5, "row", &e);
	test_ok(o.parts == 141, "an epoch has the parts that fit, less one to move");
	for (i = 0; i < 9; i++) {
		epochs &= is_epoch(&o, i);
		shifts |= (size_t)1 << o.shift;
	}
	test_ok(epochs, "each epoch has each part once");
	test_ok(shifts & (shifts - 1), "and begins elsewhere");
	for (i = 0; i < 400; i++) {
		order_batch(&o, i, 3, a, t);
		order_batch(&p, (i + 2) * 1, 1, b, t);
		same &= memcmp(a + 2 * LENGTH, b, sizeof b) == 0;
	}
	test_ok(same, "a part does not depend on those before it, or on batches");
	order_end(&p);
	order_begin(&p, row, ROW, LENGTH, TOKEN_NONE, 6, "row", &e);
	order_batch(&o, 0, 3, a, t);
	order_batch(&p, 0, 1, b, t);
	test_ok(memcmp(a, b, sizeof b) != 0, "another seed is another order");
	order_end(&p);
	order_begin(&p, row, ROW, LENGTH, 21, 5, "row", &e);
	order_plain(&p, 2, 1, b, t);
	test_ok(b[0] == 21 && b[1] == 15 && t[5] == 20 && t[6] == TRAIN_IGNORE,
	        "BOS is in front of a part, and no target");
	order_end(&p);
	test_ok(order_begin(&p, row, LENGTH, LENGTH, TOKEN_NONE, 0, "row", &e) < 0 &&
	        e.code == ERR_INVALID, "a row of one part has no last target");
	order_end(&p);
	order_end(&o);
}

/* ---- layers ---- */

static int
spread_is(size_t count, uint64_t n, const uint64_t *want)
{
	uint64_t kept[8];

	student_spread(kept, count, n);
	return memcmp(kept, want, count * sizeof *kept) == 0;
}

static void
test_layers(void)
{
	test_ok(spread_is(1, 3, (uint64_t[]){ 0 }) && spread_is(2, 3, (uint64_t[]){ 0, 2 }) &&
	        spread_is(3, 3, (uint64_t[]){ 0, 1, 2 }) && spread_is(3, 12, (uint64_t[]){ 0, 6, 11 }) &&
	        spread_is(4, 10, (uint64_t[]){ 0, 3, 6, 9 }), "layers are spread with both ends");
}

static void
test_config(void)
{
	struct train_config c = { .width = 256, .heads = 8, .kv_heads = 4, .head = 32, .ff = 512,
		.layers = 3 }, d = c;
	struct err e = ERR_INIT;

	test_ok(student_config(&c, "layers=2", &e) == 0 && c.layers == 2 && c.kv_heads == 4 &&
	        c.head == 32, "sizes that are not named stay");
	test_ok(student_config(&d, "hidden=64,heads=4,tied", &e) == 0 && d.width == 64 && d.head == 0 &&
	        d.kv_heads == 0 && d.ff == 0 && d.tied, "but not those that follow from others");
	test_ok(student_config(&d, "hidden", &e) < 0 && e.code == ERR_USAGE, "a size needs a number");
	e = (struct err)ERR_INIT;
	test_ok(student_config(&d, "hidden=0", &e) < 0 && student_config(&d, "width=3", &e) < 0 &&
	        student_config(&d, ",", &e) < 0, "and is one of the known ones");
}

/* ---- checkpoints ---- */

/* A checkpoint whose array has a value at the end is read again. e has the error. */
static int
again(struct train_model *m, float *array, float value, struct err *e)
{
	const char *dir = getenv("TMPDIR");
	const struct format_options how = { .plain = false };
	const struct format *format;
	char path[4096];
	uint64_t step = 0;
	int held = -1, r = -1;
	struct source *source = NULL;
	struct sink *sink;

	snprintf(path, sizeof path, "%s/t_distill.%ld", dir ? dir : "/tmp", (long)getpid());
	*e = (struct err)ERR_INIT;
	array[m->total - 1] = value;
	sink = create_sink(format_by_name("apr2"), &(struct out_options){ .path = path, .force = true,
		.input = -1 }, &how, e);
	if (sink && checkpoint_write(m, "{}", 7, sink, e) == 0)
		r = 0;
	sink_close(sink);
	array[m->total - 1] = 0;
	if (r == 0 && (source = format_open_path(path, &how, NULL, &format, &held, e)))
		r = checkpoint_read(m, "{}", &step, source, e) == 0 && step == 7 &&
			array[m->total - 1] == value ? 0 : -1;
	array[m->total - 1] = 0;
	source_close(source);
	if (held >= 0)
		close(held);
	unlink(path);
	return r;
}

static void
test_checkpoint(void)
{
	const struct train_config c = { .family = "llama", .layers = 1, .width = 8, .heads = 2,
		.context = 16, .vocabulary = 11 };
	struct err e = ERR_INIT;
	struct train_model m;

	if (!test_ok(train_new(&m, &c, &e) == 0, "a model: %s", e.fact))
		return;
	test_ok(again(&m, m.value, -2, &e) == 0 && again(&m, m.first, -2, &e) == 0 &&
	        again(&m, m.second, 2, &e) == 0, "a checkpoint has the values of the model: %s", e.fact);
	test_ok(again(&m, m.value, NAN, &e) < 0 && e.code == ERR_CORRUPT &&
	        strcmp(e.object, "value") == 0, "NaN is refused: %s", e.fact);
	test_ok(again(&m, m.first, -INFINITY, &e) < 0 && strcmp(e.object, "first") == 0,
	        "infinity is refused: %s", e.fact);
	test_ok(again(&m, m.second, -1e-9f, &e) < 0 && strcmp(e.object, "second") == 0,
	        "a negative square is refused: %s", e.fact);
	train_close(&m);
}

int
main(void)
{
	test_order();
	test_layers();
	test_config();
	test_checkpoint();
	return test_done();
}
