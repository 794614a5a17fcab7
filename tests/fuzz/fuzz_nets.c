/* fuzz_nets: what is asked of networks of Keras (predict/nets/keras.h).
 *
 *     1. Any configuration is read, or refused with a message that a terminal can show.
 *     2. A network that was read computes any row, or refuses it.
 *     3. A row alone and the same row in a block have the same scores, bit for bit.
 *
 * The input is a configuration with one more member: "tensors" has the number of values of each, which
 * are small numbers. The mutator leaves out, doubles and exchanges values of JSON, and changes numbers.
 */
#include "mutate.h"

#include <ctype.h>
#include <math.h>

#include "dice.h"
#include "mutate_text.h"
#include "predict/nets/keras.h"

#define ROWS 5
#define ROOM 4096          /* values of a row at every step of a model that is tried */
#define VALUES (1u << 16)  /* of all tensors */

/* The tensors of the input. */
static bool
fill(struct model *plan, const uint8_t **tensors, size_t room, const float *values, const json_t *counts)
{
	const char *name;
	const json_t *n;
	uint64_t all = 0;
	struct err e = ERR_INIT;

	json_object_foreach((json_t *)(uintptr_t)counts, name, n) {
		uint64_t items = (uint64_t)json_integer_value(n);
		struct tensor *t;

		if (items > VALUES || (all += items) > VALUES || plan->tensor_count == room)
			return false;
		t = tensor_new(name, strlen(name), dtype_by_name("F32"), 1, &items, TENSOR_OWN_SIZE, "in", &e);
		if (!t)
			return false;
		must(model_add_tensor(plan, t, &e) == 0);
		tensors[plan->tensor_count - 1] = (const uint8_t *)values;
	}
	return true;
}

static int
compute(const struct predictor *m, const double *rows, size_t n, double *scores)
{
	struct step_rows x = { .n = 0 }, spare = { .n = 0 };
	struct err e = ERR_INIT;
	int r = step_rows_begin(&x, n, m->features, &e);

	must(r == 0);
	memcpy(step_row(&x, 0), rows, n * m->features * sizeof *rows);
	r = predict_block(m, &x, &spare, false, scores, NULL, &e);
	must(r == 0 || e.code != ERR_NONE);
	step_rows_free(&x);
	step_rows_free(&spare);
	return r;
}

static void
check_rows(const struct predictor *m, struct dice *d)
{
	static const double numbers[] = { 0, 1, 2, 3, 0.5, -1, 1e300, -1e300 };
	size_t i, k, all = ROWS * m->features;
	double *rows = calloc(all, sizeof *rows), *scores = calloc((ROWS + 1) * m->outputs, sizeof *scores);
	double *own = scores + ROWS * m->outputs;

	must(rows && scores);
	for (i = 0; i < all; i++)
		rows[i] = ONE_OF(d, numbers);
	if (compute(m, rows, ROWS, scores) == 0)
		for (i = 0; i < ROWS; i++) {
			must(compute(m, rows + i * m->features, 1, own) == 0);
			for (k = 0; k < m->outputs; k++)
				must(own[k] == scores[i * m->outputs + k] ||
				     (isnan(own[k]) && isnan(scores[i * m->outputs + k])));
		}
	free(rows);
	free(scores);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static float values[VALUES];
	const uint8_t *tensors[64];
	struct model plan;
	struct weights w = { .name = "in", .plan = &plan, .tensors = tensors };
	struct predictor m = { 0 };
	struct err e = ERR_INIT;
	struct dice d = { .state = 1 };
	json_t *v = json_parse(data, size, ERR_CORRUPT, "in", &e);
	struct buf text = { 0 };
	size_t i;
	bool small = true;

	if (!v) {
		fuzz_refused(&e, false);
		return 0;
	}
	for (i = 0; i < VALUES && values[7] == 0; i++)
		values[i] = (float)(i * 37 % 19) / 8 - 1;
	must(model_init(&plan, &e) == 0);
	buf_put(&text, data, size);
	if (fill(&plan, tensors, 64, values, json_object_get(v, "tensors"))) {
		if (keras_read(&m, &w, buf_string(&text), &e) < 0) {
			must(e.code != ERR_NONE);
			fuzz_refused(&e, false);
		}
		for (i = 0; i < m.step_count; i++)
			small &= m.steps[i].in < ROOM && m.steps[i].out < ROOM;
		if (e.code == ERR_NONE && small)
			check_rows(&m, &d);
		predictor_free(&m);
	}
	json_decref(v);
	buf_free(&text);
	model_free(&plan);
	return 0;
}

/* Writes another number over one in the text. */
static void
change_number(struct buf *b, struct dice *d)
{
	static const char *const numbers[] = { "0", "1", "-1", "2", "3", "5", "7", "24", "1e9", "0.5", "16777216",
		"true", "null", "[]", "[1,2]", "\"same\"" };
	size_t from = b->n ? roll(d, (unsigned)b->n) : 0, to;
	const char *text = ONE_OF(d, numbers);

	while (from < b->n && !isdigit(b->p[from]))
		from++;
	for (to = from; to < b->n && (isdigit(b->p[to]) || b->p[to] == '.'); to++)
		;
	text_replace(b, (struct text_span){ from, to }, text, strlen(text));
}

size_t
LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
	struct dice d = { .state = seed };
	struct buf b = { 0 };
	unsigned i, n = 1 + roll(&d, 3);

	if (roll(&d, 8) == 0)
		return LLVMFuzzerMutate(data, size, max);
	buf_put(&b, data, size);
	for (i = 0; i < n; i++)
		if (roll(&d, 2))
			change_number(&b, &d);
		else
			text_mutate(&b, &d, ",", json_pick);
	return mutate_done(&b, data, size, max);
}
