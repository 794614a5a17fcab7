/* t_ranks: forests in the form for speed (predict/ranks.h) lead each row to the same leaves, and give the
 * same sums bit for bit, as plain C does: on random forests of many kinds, at each level of the CPU, for
 * rows alone and in blocks. */
#include <math.h>
#include <string.h>

#include "core/mem.h"
#include "predict/ranks.h"
#include "test.h"

#define ROWS 700u
#define FEATURES 150u /* at most */
#define FEW 9u        /* usually */

static uint64_t state;

static unsigned
roll(unsigned n)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)((state >> 33) % n);
}

struct kind {
	const char *name;
	unsigned trees, depth;
	unsigned stop;      /* a node is a leaf in this percentage of cases */
	unsigned values;    /* different thresholds of a feature; 0: any */
	unsigned groups;
	unsigned features;  /* 0: FEW */
	bool wide, single, rounded, zeros, categories, chain, refuses;
	bool together;      /* single rows go through several trees by struct cuts_trees */
	enum rank_form form; /* that occurs in it */
};

static const struct kind kinds[] = {
	{ "full trees, few thresholds", 40, 6, 0, 200, 1, .single = true, .rounded = true, .together = true,
	  .form = RANK_CUTS },
	{ "full trees, many thresholds", 40, 6, 0, 0, 1, .form = RANK_CUTS },
	{ "deep trees", 24, 9, 0, 0, 1, .single = true, .rounded = true, .form = RANK_HEAPS },
	{ "deep trees, few thresholds", 17, 9, 2, 30, 1, .form = RANK_HEAPS },
	{ "ragged trees", 33, 8, 10, 0, 3, .single = true, .rounded = true, .form = RANK_CUTS },
	{ "ragged deep trees", 33, 11, 5, 100, 2, .form = RANK_HEAPS },
	{ "leaves with several values", 20, 5, 10, 0, 4, .wide = true, .form = RANK_CUTS },
	{ "zeros that are missing", 20, 6, 10, 20, 1, .zeros = true, .rounded = true, .form = RANK_CUTS },
	{ "categories", 20, 5, 20, 50, 1, .categories = true, .form = RANK_WALKS },
	{ "long thin trees", 16, 300, 0, 0, 1, .chain = true, .form = RANK_NODES },
	{ "long thin trees, few thresholds", 16, 200, 0, 40, 1, .chain = true, .single = true, .rounded = true,
	  .form = RANK_NODES },
	{ "short thin trees", 16, 40, 0, 40, 1, .chain = true, .form = RANK_CUTS },
	{ "many features", 40, 6, 0, 0, 1, .features = FEATURES, .single = true, .rounded = true,
	  .form = RANK_CUTS },
	{ "columns of all quarters", 24, 6, 0, 0, 1, .features = 120, .single = true, .rounded = true,
	  .together = true, .form = RANK_CUTS },
	{ "leaves above the last level", 26, 6, 4, 0, 3, .features = 40, .rounded = true, .together = true,
	  .form = RANK_CUTS },
	{ "single leaves", 9, 0, 0, 0, 1, .form = RANK_CUTS },
	{ "no missing values", 20, 6, 10, 0, 1, .refuses = true, .form = RANK_CUTS },
};

/* A threshold or a value of a row, which can be rounded. */
static double
value(const struct kind *k, bool row)
{
	static const double special[] = { 0, -0.0, 1e-36, -1e-36, HUGE_VAL, -HUGE_VAL, 2, 5, 1e300, -1e300,
		0.1, 1e-46, -1e-46, 0.1f, 3.4e38 };
	double x = special[roll(sizeof special / sizeof *special)];

	if (roll(12) == 0)
		return row && k->rounded ? (double)(float)x : x;
	return k->values ? (double)roll(k->values) : (double)(float)roll(1u << 24) / 65536;
}

static uint32_t
grow(const struct kind *k, struct tree *t, unsigned depth, size_t width)
{
	uint32_t at = (uint32_t)t->count, left, right;
	struct tree_node *x = tree_add(t);
	size_t i;

	if (depth == 0 || roll(100) < k->stop) {
		tree_leaf(t, x, (double)(float)roll(1000) / 7, at);
		for (i = 1; i < width; i++) {
			double v = roll(1000) / 7.0;

			buf_put(&t->values, &v, sizeof v);
		}
		return at;
	}
	left = grow(k, t, k->chain && roll(2) ? 0 : depth - 1, width);
	right = grow(k, t, k->chain && t->nodes[left].left ? 0 : depth - 1, width);
	x = &t->nodes[at];
	*x = (struct tree_node){ .feature = roll(k->features ? k->features : FEW), .threshold = value(k, false), .left = left,
		.right = right, .default_left = roll(2), .missing = k->refuses ? FOREST_REFUSE
		: k->zeros && roll(2) ? FOREST_ZEROS : roll(2) ? FOREST_NAN : FOREST_NONE };
	if (k->categories && roll(4) == 0) {
		x->category = true;
		x->set = t->sets.n / 4;
		x->set_words = 2;
		buf_u32(&t->sets, roll(1u << 31));
		buf_u32(&t->sets, roll(1u << 31));
	}
	return at;
}

static int
plant(const struct kind *k, struct forest *f, struct err *e)
{
	size_t i, width = k->wide ? k->groups : 1;
	struct tree t = { 0 };
	int r = forest_begin(f, k->features ? k->features : FEW, k->groups, width, e);

	f->single = k->single;
	f->rounded = k->rounded;
	for (i = 0; i < k->groups && r == 0; i++)
		f->base[i] = 0.25 * (double)i;
	for (i = 0; i < k->trees && r == 0; i++) {
		tree_clear(&t);
		grow(k, &t, k->depth, width);
		t.group = k->wide ? 0 : roll(k->groups);
		r = forest_add(f, &t, k->name, e);
	}
	tree_free(&t);
	return r;
}

/* ---- comparisons ---- */

struct sample {
	double rows[ROWS * FEATURES];
	double *sums, *again;
	uint32_t *leaves, *found;
};

static void
define(struct forest *f, struct sample *s)
{
	struct forest_ranks *ranks = f->ranks;
	size_t i;

	f->ranks = NULL;
	for (i = 0; i < ROWS; i++)
		forest_rows(f, s->rows + i * f->features, 1, true, s->sums + i * f->groups,
		            s->leaves + i * f->tree_count);
	f->ranks = ranks;
}

/* Rows in blocks of this size. */
static bool
agrees(const struct forest *f, struct sample *s, size_t block, bool missing)
{
	size_t i, n;

	memset(s->again, 0xff, ROWS * f->groups * sizeof *s->again);
	memset(s->found, 0xff, ROWS * f->tree_count * sizeof *s->found);
	for (i = 0; i < ROWS; i += n) {
		n = ROWS - i < block ? ROWS - i : block;
		forest_rows(f, s->rows + i * f->features, n, missing, s->again + i * f->groups,
		            s->found + i * f->tree_count);
	}
	return memcmp(s->sums, s->again, ROWS * f->groups * sizeof *s->sums) == 0 &&
	       memcmp(s->leaves, s->found, ROWS * f->tree_count * sizeof *s->leaves) == 0;
}

static bool
levels_agree(struct forest *f, struct sample *s, bool missing)
{
	static const size_t blocks[] = { 1, 7, 40, 128, 300, FOREST_BLOCK };
	const struct cuts_level *level;
	unsigned i;
	size_t k;
	bool same = true;

	for (k = 0; k < sizeof blocks / sizeof *blocks; k++)
		for (i = 0; (level = cuts_level(i)) != NULL; i++) {
			f->ranks->level = level;
			if (agrees(f, s, blocks[k], missing))
				continue;
			printf("# level %s, blocks of %zu\n", level->name, blocks[k]);
			same = false;
		}
	return same;
}

static bool
has_form(const struct forest *f, enum rank_form form)
{
	size_t i;

	for (i = 0; i < f->tree_count; i++)
		if (f->ranks->trees[i].form == form)
			return true;
	return false;
}

static bool
heaps_together(const struct forest *f)
{
	size_t i, n = 0;

	for (i = 0; i < f->tree_count; i++)
		n += f->ranks->trees[i].heaped && f->ranks->trees[i].depth == RANKS_LEVELS;
	return n >= f->tree_count / 2 && !f->ranks->together == !cuts_best()->trees;
}

static void
test_kind(const struct kind *k)
{
	struct forest f = { 0 };
	struct sample *s = calloc(1, sizeof *s);
	struct err e = ERR_INIT;
	bool missing;
	size_t i;
	int r;

	state = (uint64_t)(k - kinds + 1);
	r = s ? plant(k, &f, &e) : -1;
	if (r == 0) {
		s->sums = mem_array(ROWS * f.groups, sizeof *s->sums);
		s->again = mem_array(ROWS * f.groups, sizeof *s->again);
		s->leaves = mem_array(ROWS * f.tree_count, sizeof *s->leaves);
		s->found = mem_array(ROWS * f.tree_count, sizeof *s->found);
		f.ranks = forest_ranks(&f, SIZE_MAX);
		test_ok(f.ranks && has_form(&f, k->form), "%s: has the form", k->name);
		test_ok(!k->together || (f.ranks && heaps_together(&f)),
		        "%s: heaps side by side, if this CPU uses them", k->name);
	}
	for (missing = false; r == 0 && f.ranks; missing = true) {
		for (i = 0; i < ROWS * f.features; i++)
			s->rows[i] = missing && roll(5) == 0 ? (double)NAN : value(k, true);
		define(&f, s);
		test_ok(levels_agree(&f, s, missing), "%s%s", k->name, missing ? ", missing values" : "");
		if (missing || k->refuses)
			break;
	}
	if (s) {
		free(s->sums);
		free(s->again);
		free(s->leaves);
		free(s->found);
	}
	free(s);
	forest_free(&f);
}

/* Forests without this form. */
static void
test_none(void)
{
	struct forest f = { 0 };
	struct err e = ERR_INIT;
	struct tree t = { 0 };
	int r = forest_begin(&f, RANKS_FEATURES + 1, 1, 1, &e);

	test_ok(r == 0 && !forest_ranks(&f, SIZE_MAX), "no trees");
	tree_leaf(&t, tree_add(&t), 1, 0);
	test_ok(r == 0 && forest_add(&f, &t, "m", &e) == 0 && !forest_ranks(&f, SIZE_MAX),
	        "too many features");
	f.features = 1;
	test_ok(!forest_ranks(&f, 10), "more memory than allowed");
	f.ranks = forest_ranks(&f, 100000);
	test_ok(f.ranks && forest_limit(&f, 1, &e) == 0 && !f.ranks,
	        "trees that are left out leave this form as well");
	tree_free(&t);
	forest_free(&f);
}

int
main(void)
{
	size_t i;

	for (i = 0; i < sizeof kinds / sizeof *kinds; i++)
		test_kind(&kinds[i]);
	test_none();
	return test_done();
}
