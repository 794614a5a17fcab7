/* predictor: what every model must hold that a reader of classical models has made.
 *
 *     1. A file is read, or refused with a message that a terminal can show.
 *     2. A model that was read predicts for any row: missing values, infinities, large categories.
 *     3. A row alone and the same row in a block have the same leaves and, bit for bit, the same
 *        scores; the label is one of the classes.
 *     4. Probabilities are not negative.
 *     5. The form of a forest for many rows gives the same leaves and scores.
 *     6. Contributions are refused with a message, or computed for any row.
 *     7. Reading it without covers makes the same forest.
 */
#ifndef FUZZ_PREDICTOR_H
#define FUZZ_PREDICTOR_H

#include "mutate.h"

#include <math.h>

#include "dice.h"
#include "predict/contrib.h"
#include "predict/predict.h"

#define ROWS 40 /* more than a forest walks one by one */
#define ROOM 4096 /* features, outputs and trees of a model that is tried */

static void
fill(double *rows, size_t n, struct dice *d)
{
	static const double values[] = { 0, 1, -1, 0.5, 1e-36, 2e-35, 1e300, -1e300, 33, 4294967296.0 };
	size_t i;

	for (i = 0; i < n; i++)
		rows[i] = roll(d, 4) == 0 ? (double)NAN : roll(d, 5) == 0 ? HUGE_VAL : ONE_OF(d, values);
}

/* Equal, or both NaN. */
static bool
same(double a, double b)
{
	return a == b || (isnan(a) && isnan(b));
}

/* Rows, or texts: the pieces of one between slashes. */
static int
compute(const struct predictor *m, const double *rows, size_t n, double *scores, uint32_t *leaves)
{
	static const char text[] = "The cat/ sat on\tthe\n mat./\xc3\x89t\xc3\xa9/\xce\xa3\xce\x91\xce\xa3/a/"
	                           "a a a/the the cat/1 2.5_x/";
	struct step_rows x = { .n = 0 }, spare = { .n = 0 };
	struct step_text texts[ROWS];
	struct err e = ERR_INIT;
	const char *p = text;
	size_t i;
	int r = step_rows_begin(&x, n, m->texts ? 0 : m->features, &e);

	for (i = 0; i < n && m->texts; i++) {
		texts[i] = (struct step_text){ p, strcspn(p, "/") };
		p += texts[i].n + (p[texts[i].n] == '/');
	}
	if (m->texts)
		x.texts = texts;
	else if (r == 0)
		memcpy(step_row(&x, 0), rows, n * m->features * sizeof *rows);
	if (r == 0)
		r = predict_block(m, &x, &spare, true, scores, leaves, &e);
	must(r == 0 || e.code != ERR_NONE);
	for (i = 0; r == 0 && m->sparse && i < step_from(&x, x.n); i++)
		must(step_column(&x, i) < m->outputs);
	step_rows_free(&x);
	step_rows_free(&spare);
	return r;
}

static void
check_row(const struct predictor *m, const double *row, const double *scores, const uint32_t *leaves,
          double *to, uint32_t *own)
{
	size_t k, trees = predict_trees(m);

	must(compute(m, row, 1, to, trees ? own : NULL) == 0);
	for (k = 0; k < m->outputs; k++)
		must(same(to[k], scores[k]));
	must(!trees || memcmp(own, leaves, trees * sizeof *own) == 0);
}

/* The same rows in the form for many rows. */
static void
check_ranks(struct predictor *m, const double *rows, const double *scores, const uint32_t *leaves)
{
	size_t trees = predict_trees(m), i, all = ROWS * m->outputs;
	double *again = calloc(all + 1, sizeof *again);
	uint32_t *found = calloc(ROWS * trees + 1, sizeof *found);

	must(again && found);
	predict_expect(m, UINT64_MAX);
	must(compute(m, rows, ROWS, again, found) == 0);
	for (i = 0; i < all; i++)
		must(same(again[i], scores[i]));
	must(memcmp(found, leaves, ROWS * trees * sizeof *found) == 0);
	must(compute(m, rows, 1, again, found) == 0);
	must(memcmp(found, leaves, trees * sizeof *found) == 0);
	free(again);
	free(found);
}

static void
check_contributions(struct predictor *m, const double *row)
{
	struct step_rows x = { .n = 0 }, spare = { .n = 0 };
	struct err e = ERR_INIT;
	double *to;

	if (contrib_begin(m, &e) < 0) {
		must(e.code != ERR_NONE);
	} else if (contrib_columns(m) < 16 * ROOM) {
		to = calloc(contrib_columns(m) + 1, sizeof *to);
		must(to && step_rows_begin(&x, 1, m->features, &e) == 0);
		memcpy(step_row(&x, 0), row, m->features * sizeof *row);
		must(contrib_block(m, &x, &spare, to, &e) == 0);
		free(to);
	}
	step_rows_free(&x);
	step_rows_free(&spare);
}

static void
check_rows(struct predictor *m, struct dice *d)
{
	size_t all = ROWS * m->features, outputs = m->outputs, trees = predict_trees(m), i, k;
	double *rows = calloc(all + 1, sizeof *rows);
	double *scores = calloc((ROWS + 3) * (outputs + 2) + predict_room(m), sizeof *scores), *to = scores + ROWS * outputs;
	uint32_t *leaves = calloc((ROWS + 1) * (trees + 1), sizeof *leaves);
	size_t count = m->form == PREDICT_STEPS ? ROWS / 8 : ROWS;
	bool computed; /* an encoder refuses categories that it does not know */

	must(rows && scores && leaves);
	fill(rows, all, d);
	computed = compute(m, rows, count, scores, trees ? leaves : NULL) == 0;
	if (computed && !m->sparse)
		for (i = 0; i < count; i++) {
			if (!m->texts)
				check_row(m, rows + i * m->features, scores + i * outputs, leaves + i * trees, to,
				          leaves + ROWS * trees);
			if (m->task != PREDICT_VALUE)
				must(predict_label(m, scores + i * outputs) < m->classes);
			predict_link(m, scores + i * outputs, to);
			for (k = 0; m->link == LINK_SOFTMAX && k < predict_columns(m); k++)
				must(!(to[k] < 0));
		}
	if (trees && computed)
		check_ranks(m, rows, scores, leaves);
	if (!m->texts)
		check_contributions(m, rows);
	free(rows);
	free(scores);
	free(leaves);
}

/* Trees that need no covers may be read by other code, into the same forest. */
static void
check_coverless(const struct predictor *m, const struct predict_reader *reader, const uint8_t *data, size_t size)
{
	const struct forest *a = &m->forest, *b;
	struct predictor other = { 0 };
	struct err e = ERR_INIT;
	size_t i;

	must_say(predict_read(&other, reader, data, size, "in", &e) == 0, &e);
	b = &other.forest;
	must(a->tree_count == b->tree_count && a->node_count == b->node_count && a->leaf_count == b->leaf_count &&
	     a->value_count == b->value_count);
	for (i = 0; i < a->tree_count; i++)
		must(a->trees[i].root == b->trees[i].root && a->trees[i].depth == b->trees[i].depth &&
		     a->trees[i].group == b->trees[i].group && a->trees[i].plain == b->trees[i].plain);
	if (a->tree_count)
		must(memcmp(a->nodes, b->nodes, a->node_count * sizeof *a->nodes) == 0 &&
		     memcmp(a->ids, b->ids, a->leaf_count * sizeof *a->ids) == 0 &&
		     memcmp(a->values, b->values, a->value_count * sizeof *a->values) == 0);
	predictor_free(&other);
}

/* Reads a model, and asks all of the above of it. */
__attribute__((unused)) static void
check_model(const struct predict_reader *reader, const uint8_t *data, size_t size)
{
	struct predictor m = { .covers = true };
	struct err e = ERR_INIT;
	struct dice d = { .state = 1 };

	if (predict_read(&m, reader, data, size, "in", &e) < 0) {
		must(e.code != ERR_NONE);
		fuzz_refused(&e, false);
	} else {
		check_coverless(&m, reader, data, size);
		if (m.features < ROOM && m.outputs < ROOM && m.inner < ROOM && predict_trees(&m) < ROOM)
			check_rows(&m, &d);
	}
	predictor_free(&m);
}

#endif
