/* t_contrib: contributions of features are Shapley values, by their definition (all sets of features of
 * small random trees), and those that XGBoost recorded (tests/data/contrib); they sum to the score. */
#include <math.h>
#include <string.h>

#include "core/mem.h"
#include "predict/contrib.h"
#include "predict/walk.h"
#include "recorded.h"
#include "test.h"

#define FOLDER "tests/data/contrib/"

static uint64_t state;

static unsigned
roll(unsigned n)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)((state >> 33) % n);
}

/* ---- the definition ---- */

#define FEATURES 5u
#define WIDTH 3u

/* What a tree predicts if only the features of a set are known. */
static void
known(const struct forest *f, uint32_t node, const double *row, unsigned set, double part, double *to)
{
	const struct forest_node *x = &f->nodes[node];
	double all = f->covers[node];
	size_t k;

	if (x->left == node) {
		for (k = 0; k < f->width; k++)
			to[k] += part * f->values[f->leaf[node] * f->width + k];
	} else if (set >> (x->word & WALK_FEATURE) & 1) {
		known(f, walk_step(f, x, row), row, set, part, to);
	} else {
		known(f, x->left, row, set, part * (all > 0 ? f->covers[x->left] / all : 0.5), to);
		known(f, x->left + 1, row, set, part * (all > 0 ? f->covers[x->left + 1] / all : 0.5), to);
	}
}

static double
factorial(unsigned n)
{
	return n < 2 ? 1 : n * factorial(n - 1);
}

/* By the sets that a feature joins. to: width x (FEATURES + 1). */
static void
by_definition(const struct forest *f, const double *row, double *to)
{
	double value[1u << FEATURES][WIDTH] = { { 0 } };
	unsigned set, i, k, size;
	size_t t;

	for (set = 0; set < 1u << FEATURES; set++)
		for (t = 0; t < f->tree_count; t++)
			known(f, f->trees[t].root, row, set, 1, value[set]);
	for (k = 0; k < f->width; k++, to += FEATURES + 1) {
		to[FEATURES] = value[0][k];
		for (i = 0; i < FEATURES; i++)
			for (set = 0, to[i] = 0; set < 1u << FEATURES; set++) {
				size = (unsigned)__builtin_popcount(set);
				if (!(set >> i & 1))
					to[i] += factorial(size) * factorial(FEATURES - size - 1) / factorial(FEATURES) *
					         (value[set | 1u << i][k] - value[set][k]);
			}
	}
}

/* ---- random trees ---- */

static uint32_t
grow(struct tree *t, unsigned depth, double cover)
{
	uint32_t at = (uint32_t)t->count, left, right, word;
	struct tree_node *x = tree_add(t);
	double some, v;
	unsigned k;

	x->cover = cover;
	if (depth == 0 || roll(8) == 0) {
		x->values = t->values.n / sizeof v;
		for (k = 0; k < WIDTH; k++) {
			v = roll(1000) / 7.0 - 50;
			buf_put(&t->values, &v, sizeof v);
		}
		return at;
	}
	some = roll(6) == 0 ? roll(2) * cover : floor(cover * roll(100) / 100);
	left = grow(t, depth - 1, some);
	right = grow(t, depth - 1, cover - some);
	x = &t->nodes[at];
	x->left = left;
	x->right = right;
	x->feature = roll(FEATURES);
	x->threshold = roll(10);
	x->missing = FOREST_NAN;
	x->default_left = roll(2);
	x->category = roll(4) == 0;
	if (x->category) {
		word = roll(1024);
		x->set = t->sets.n / 4;
		x->set_words = 1;
		buf_put(&t->sets, &word, sizeof word);
	}
	return at;
}

static void
random_forest(struct predictor *m, unsigned trees, unsigned depth)
{
	struct err e = ERR_INIT;
	struct tree t = { 0 };
	unsigned i;

	m->features = FEATURES;
	m->outputs = WIDTH;
	forest_begin(&m->forest, FEATURES, WIDTH, WIDTH, &e);
	for (i = 0; i < trees; i++) {
		tree_clear(&t);
		t.covered = true;
		grow(&t, depth, 100);
		forest_add(&m->forest, &t, "tree", &e);
	}
	tree_free(&t);
	test_ok(e.code == ERR_NONE && predictor_finish(m, "forest", &e) == 0 && contrib_begin(m, &e) == 0,
	        "a random forest of %u trees", trees);
}

static void
same_as_definition(unsigned trees, unsigned depth, unsigned rows)
{
	struct predictor m = { 0 };
	struct step_rows x = { 0 }, spare = { 0 };
	struct err e = ERR_INIT;
	double to[WIDTH * (FEATURES + 1)], should[WIDTH * (FEATURES + 1)], most = 0, row[FEATURES];
	unsigned i, r;

	random_forest(&m, trees, depth);
	for (r = 0; r < rows; r++) {
		for (i = 0; i < FEATURES; i++)
			row[i] = roll(5) == 0 ? (double)NAN : (double)roll(11);
		step_rows_begin(&x, 1, FEATURES, &e);
		memcpy(step_row(&x, 0), row, sizeof row);
		contrib_block(&m, &x, &spare, to, &e);
		by_definition(&m.forest, row, should);
		for (i = 0; i < WIDTH * (FEATURES + 1); i++)
			most = fabs(to[i] - should[i]) <= most ? most : fabs(to[i] - should[i]);
	}
	test_ok(most < 1e-9, "%u trees of depth %u: Shapley values by their definition, within %g", trees, depth,
	        most);
	step_rows_free(&x);
	step_rows_free(&spare);
	predictor_free(&m);
}

/* ---- what XGBoost recorded ---- */

#define ROWS 24u
#define COLUMNS 7u

static void
read_rows(double *to, size_t features)
{
	size_t n, i, k;
	char *p = recorded_text(FOLDER, "rows", ".csv", &n), *end;

	for (i = 0; i < ROWS; i++, p++)
		for (k = 0; k < COLUMNS; k++) {
			double v = strtod(p, &end);

			if (k < features)
				to[i * features + k] = end == p ? (double)NAN : v;
			p = end + (k + 1 < COLUMNS);
		}
}

/* The greatest difference between the numbers of a text and these; and between their sums and the scores
 * in front of them. */
static double
compare(const char *p, const double *v, size_t outputs, size_t columns)
{
	double score[8], most = 0, sum;
	size_t i, k;
	char *end;

	for (k = 0; k < outputs; k++, p = end + 1)
		score[k] = strtod(p, &end);
	for (k = 0; k < outputs; k++) {
		for (i = 0, sum = 0; i < columns; i++, v++, p = end + 1) {
			double d = fabs(strtod(p, &end) - *v);

			most = d <= most ? most : d;
			sum += *v;
		}
		most = fabs(sum - score[k]) <= most ? most : fabs(sum - score[k]);
	}
	return most;
}

static void
same_as_recorded(const char *name)
{
	struct predictor m = { .covers = true };
	struct step_rows x = { 0 }, spare = { 0 };
	struct err e = ERR_INIT;
	size_t n, i;
	char *p = recorded_text(FOLDER, name, ".json", &n);
	double to[ROWS * 8 * 8], most = 1;
	int r = predict_read(&m, predict_probe((uint8_t *)p, n), (uint8_t *)p, n, name, &e);

	if (r == 0 && contrib_begin(&m, &e) == 0) {
		step_rows_begin(&x, ROWS, m.features, &e);
		read_rows(step_row(&x, 0), m.features);
		contrib_block(&m, &x, &spare, to, &e);
		p = recorded_text(FOLDER, name, ".out", &n);
		for (i = 0, most = 0; i < ROWS; i++, p = strchr(p, '\n') + 1) {
			double d = compare(p, to + i * contrib_columns(&m), m.outputs, m.inner + 1);

			most = d <= most ? most : d;
		}
	}
	test_ok(most < 2e-6, "%s: what XGBoost recorded, within %g%s", name, most, e.fact);
	step_rows_free(&x);
	step_rows_free(&spare);
	predictor_free(&m);
}

/* A model of one tree without covers. */
static void
refused(void)
{
	static const char text[] = "tree\nversion=v3\nnum_class=1\nnum_tree_per_iteration=1\nmax_feature_idx=0\n"
		"objective=regression\nfeature_names=a\n\nTree=0\nnum_leaves=2\nsplit_feature=0\nthreshold=1\n"
		"decision_type=2\nleft_child=-1\nright_child=-2\nleaf_value=1 2\n%s\n\nend of trees\n";
	char whole[600];
	struct predictor m;
	struct err e;
	int i;

	for (i = 0; i < 2; i++) {
		m = (struct predictor){ .covers = true };
		e = (struct err)ERR_INIT;
		snprintf(whole, sizeof whole, text, i ? "internal_count=7\nleaf_count=3 4" : "num_cat=0");
		predict_read(&m, predict_probe((uint8_t *)whole, strlen(whole)), (uint8_t *)whole, strlen(whole),
		             "text", &e);
		test_ok((contrib_begin(&m, &e) == 0) == i, "LightGBM %s covers: %s", i ? "with" : "without",
		        e.fact);
		predictor_free(&m);
	}
}

/* A comb: each split has a leaf on its left, and asks for another feature. */
static int
add_comb(struct tree *t)
{
	uint32_t i;
	int r = 0;

	for (i = 0; r == 0 && i < CONTRIB_DEPTH; i++) {
		struct tree_node *x = tree_add(t);

		if (!x || tree_leaf(t, tree_add(t), i, i) < 0)
			return -1;
		t->nodes[2 * i] = (struct tree_node){ .threshold = 0, .feature = i, .left = 2 * i + 1,
			.right = 2 * i + 2, .cover = 2 * CONTRIB_DEPTH - i };
		t->nodes[2 * i + 1].cover = 1;
	}
	t->covered = true;
	return tree_leaf(t, tree_add(t), i, i);
}

/* A row through n combs is work that is known before it is done. */
static void
work(size_t n, bool allowed)
{
	struct predictor m = { .form = PREDICT_TREES, .features = CONTRIB_DEPTH, .inner = CONTRIB_DEPTH,
		.outputs = 1, .classes = 1, .covers = true };
	struct tree t = { 0 };
	struct err e = ERR_INIT;
	int r = add_comb(&t);

	if (r == 0)
		r = forest_begin(&m.forest, m.features, 1, 1, &e);
	for (; r == 0 && n > 0; n--)
		r = forest_add(&m.forest, &t, "combs", &e);
	test_ok(r == 0 && (contrib_begin(&m, &e) == 0) == allowed && (allowed || strstr(e.fact, "steps of work")),
	        "combs %s: %s", allowed ? "that are few" : "that are many", e.fact);
	tree_free(&t);
	predictor_free(&m);
}

int
main(void)
{
	static const char *const names[] = { "values", "one_hot", "two", "three", "dart", "linear",
		"linear_three" };
	size_t i;

	for (i = 0; i < 6; i++)
		same_as_definition(3, (unsigned)i, 20);
	same_as_definition(1, 9, 20);
	for (i = 0; i < sizeof names / sizeof *names; i++)
		same_as_recorded(names[i]);
	refused();
	work(2, true);
	work(1600, false);
	return test_done();
}
