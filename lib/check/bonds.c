/* bonds: partners in a block, and whether their profiles fit.
 *
 * Training moves partners together: a row of values and the column of the attention output that
 * reads it are scaled by each other's gradient, and weight decay makes them equal in the end.
 * The same holds for queries and keys (both rows of a rotary pair together, which it mixes), for
 * up and down, gate and up, and for a norm and the columns that read it. So the profiles of
 * partners correlate, at 0.4 to 0.97 in the trained models at hand, and not at all in random
 * ones.
 *
 * What is normal for a bond is measured on the other blocks of the same model: all of them must
 * have it. So a model without bonds (random, or of few blocks) has no findings, nor has one
 * in which two blocks lack a bond, except if two of them fit each other.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check/values_parts.h"
#include "core/half.h"
#include "core/mem.h"

#define BLOCKS_FEW 4     /* in models of more, first and last blocks may lack bonds that are */
#define BLOCKS_MANY 8    /* not firm; in models of more than this, any bond */
#define BLOCKS_MAX 256   /* more blocks are not compared */
#define CLEAR 0.3        /* correlation of a bond that exists */
#define SURE 4.0         /* standard errors */
#define LOST 0.4         /* a bond is lost below this part of the weakest of the others, */
#define WEAKER 0.7       /* or this part if it is firm, and strong in the others */
#define STRONG 0.6

enum side { ROWS, COLUMNS };
/* What happens to a profile before it is compared. HEADS: lines of query heads that share a
 * key head are added. PAIRS: both lines of a rotary pair are added, too. */
enum fold { PLAIN, HEADS, PAIRS_Q, PAIRS_K };

#define ATTENTION(q, k, v, o) \
	{ "rows of queries and keys", true, q, ROWS, HEADS, k, ROWS, PLAIN }, \
	{ "rows of values and columns of the attention output", true, o, COLUMNS, HEADS, v, ROWS, \
	  PLAIN },
#define GATED(gate, up, down) \
	{ "rows of up and columns of down", true, up, ROWS, PLAIN, down, COLUMNS, PLAIN }, \
	{ "rows of gate and of up", false, gate, ROWS, PLAIN, up, ROWS, PLAIN }, \
	{ "rows of gate and columns of down", false, gate, ROWS, PLAIN, down, COLUMNS, PLAIN },

static const struct bond {
	const char *what;
	bool firm;        /* of a product of both: what one gains, the other can lose */
	enum role a;
	enum side a_side;
	enum fold a_fold;
	enum role b;
	enum side b_side;
	enum fold b_fold;
} bonds[] = {
	{ "rotary pairs of queries and keys", true, ROLE_Q, ROWS, PAIRS_Q, ROLE_K, ROWS, PAIRS_K },
	{ "rows of values and columns of the attention output", true, ROLE_O, COLUMNS, HEADS,
	  ROLE_V, ROWS, PLAIN },
	GATED(ROLE_GATE, ROLE_UP, ROLE_DOWN)
	{ "columns of gate and the norm", false, ROLE_GATE, COLUMNS, PLAIN, ROLE_FFN_NORM, COLUMNS,
	  PLAIN },
	{ "columns of up and the norm", false, ROLE_UP, COLUMNS, PLAIN, ROLE_FFN_NORM, COLUMNS,
	  PLAIN },
	{ "columns of queries and the norm", false, ROLE_Q, COLUMNS, PLAIN, ROLE_ATTN_NORM, COLUMNS,
	  PLAIN },
	{ "columns of keys and the norm", false, ROLE_K, COLUMNS, PLAIN, ROLE_ATTN_NORM, COLUMNS,
	  PLAIN },
	{ "columns of values and the norm", false, ROLE_V, COLUMNS, PLAIN, ROLE_ATTN_NORM, COLUMNS,
	  PLAIN },
	{ "rows of the attention output and of down", false, ROLE_O, ROWS, PLAIN, ROLE_DOWN, ROWS,
	  PLAIN },
	/* An encoder beside a decoder, which has no rotary pairs. */
	ATTENTION(ROLE_ENC_Q, ROLE_ENC_K, ROLE_ENC_V, ROLE_ENC_O)
	ATTENTION(ROLE_DEC_Q, ROLE_DEC_K, ROLE_DEC_V, ROLE_DEC_O)
	ATTENTION(ROLE_CROSS_Q, ROLE_CROSS_K, ROLE_CROSS_V, ROLE_CROSS_O)
	GATED(ROLE_ENC_GATE, ROLE_ENC_UP, ROLE_ENC_DOWN)
	GATED(ROLE_DEC_GATE, ROLE_DEC_UP, ROLE_DEC_DOWN)
	/* The shared expert; and the first one of the others. Columns of down are those of all
	 * experts, if they are one tensor. */
	GATED(ROLE_SHARED_GATE, ROLE_SHARED_UP, ROLE_SHARED_DOWN)
	GATED(ROLE_GATE_EXPS, ROLE_UP_EXPS, ROLE_DOWN_EXPS)
};

#define BONDS (sizeof bonds / sizeof *bonds)

/* A bond that a block lacks. */
struct lost {
	size_t bond, block;
	double own, usual;
	size_t fits;      /* the block that the first partner fits instead; SIZE_MAX: none */
};

struct bonding {
	const struct survey *s;
	size_t blocks, n;           /* blocks; entries of the vectors */
	const struct survey_tensor **of; /* blocks × ROLES; NULL: none */
	float *a, *b;               /* blocks × LOOK_ENTRIES: vectors of the partners */
	struct sums {
		bool finite;        /* all entries are; else the others mean nothing */
		double sum, squares;
	} *sums;                    /* blocks × 2: of the vectors */
	double own[BLOCKS_MAX];
	bool has[BLOCKS_MAX];
	struct lost *lost;
	size_t lost_count, lost_cap;
	bool halves;                /* a rotary pair is i and i + K/2, else 2i and 2i + 1 */
};

/* ---- vectors ---- */

/* Adds the squares of the lines of a head: those of its pairs, or each. */
static void
fold_head(const float *x, size_t head, bool pairs, bool halves, double *to)
{
	size_t i, n = pairs ? head / 2 : head;

	for (i = 0; i < n; i++) {
		size_t one = !pairs || halves ? i : 2 * i, other = halves ? i + n : 2 * i + 1;

		to[i] += (double)x[one] * (double)x[one];
		if (pairs)
			to[i] += (double)x[other] * (double)x[other];
	}
}

/* Adds lines of heads that share a key head. lines: of the whole tensor. Returns the number
 * of entries; 0: heads do not divide the lines. */
static size_t
fold_heads(const struct bonding *g, enum fold fold, bool halves, const float *x, size_t n,
           uint64_t lines, float *to)
{
	uint64_t q = sizes_get(&g->s->sizes, 'H'), kv = sizes_get(&g->s->sizes, 'G');
	bool pairs = fold != HEADS;
	size_t share, head, width, i, k, at = 0;
	double sum[LOOK_ENTRIES];

	kv = kv ? kv : q;
	if (q == 0 || q % kv || lines % q || lines % kv)
		return 0;
	share = fold == PAIRS_K ? 1 : (size_t)(q / kv);
	head = (size_t)(lines / (fold == PAIRS_K ? kv : q));
	width = pairs ? head / 2 : head;
	if (head > n || share > n || width == 0 || (pairs && head % 2))
		return 0;
	for (k = 0; (k + 1) * share * head <= n; k++, at += width) {
		memset(sum, 0, width * sizeof *sum);
		for (i = 0; i < share; i++)
			fold_head(x + (k * share + i) * head, head, pairs, halves, sum);
		for (i = 0; i < width; i++)
			to[at + i] = (float)(log2(sum[i]) / 2);
	}
	return at;
}

/* The profile, folded, as logarithms. Returns the number of entries; 0: it does not suit. */
static size_t
vector_of(const struct bonding *g, const struct survey_tensor *t, enum side side, enum fold fold,
          bool halves, float *to)
{
	const struct look_lines *l = side == ROWS ? &t->look->rows : &t->look->columns;
	float x[LOOK_ENTRIES];
	size_t i;

	for (i = 0; i < l->entries; i++)
		x[i] = half_bf16_f32(l->profile[i]);
	if (fold != PLAIN)
		return fold_heads(g, fold, halves, x, l->entries, l->count, to);
	for (i = 0; i < l->entries; i++)
		to[i] = (float)log2((double)x[i]);
	return l->entries;
}

static float *
vector_at(float *all, size_t block)
{
	return all + block * LOOK_ENTRIES;
}

/* Computes the sums once for each vector: in find_swap, each vector meets all others. */
static void
add_up(struct bonding *g)
{
	size_t i, j;

	for (i = 0; i < 2 * g->blocks; i++) {
		const float *x = vector_at(i % 2 ? g->b : g->a, i / 2);
		struct sums *s = &g->sums[i];

		*s = (struct sums){ .finite = g->has[i / 2] };
		for (j = 0; s->finite && j < g->n; j++) {
			s->finite = isfinite(x[j]);
			s->sum += (double)x[j];
			s->squares += (double)x[j] * (double)x[j];
		}
	}
}

/* How the first partner of block i fits the second of block j. */
static double
fit(const struct bonding *g, size_t i, size_t j)
{
	const struct sums *s = &g->sums[2 * i], *t = &g->sums[2 * j + 1];
	const float *a = vector_at(g->a, i), *b = vector_at(g->b, j);
	double n = (double)g->n, x, y;
	size_t used;

	if (!s->finite || !t->finite)
		return values_correlation(a, b, g->n, &used);
	x = s->squares - s->sum * s->sum / n;
	y = t->squares - t->sum * t->sum / n;
	return x > 1e-9 && y > 1e-9
	           ? (values_product(a, b, g->n) - s->sum * t->sum / n) / sqrt(x * y) : 0;
}

static const struct survey_tensor *
tensor_at(const struct bonding *g, size_t block, enum role role)
{
	return g->of[block * ROLES + role];
}

/* Fills the vectors of a bond. Returns the number of blocks that have both partners. */
static size_t
fill(struct bonding *g, const struct bond *d, bool halves)
{
	size_t i, count = 0, n, m;

	g->n = 0;
	for (i = 0; i < g->blocks; i++) {
		const struct survey_tensor *a = tensor_at(g, i, d->a), *b = tensor_at(g, i, d->b);

		g->has[i] = false;
		if (!a || !b)
			continue;
		n = vector_of(g, a, d->a_side, d->a_fold, halves, vector_at(g->a, i));
		m = vector_of(g, b, d->b_side, d->b_fold, halves, vector_at(g->b, i));
		n = n < m ? n : m;
		if (n < 8 || (g->n && n != g->n))
			continue;
		g->n = n;
		g->has[i] = true;
		count++;
	}
	return count;
}

/* Takes what all blocks have in common from the vectors, so that the rest belongs to a block. */
static void
center(struct bonding *g, float *all, size_t count)
{
	double sum[LOOK_ENTRIES] = { 0 };
	size_t i, j;

	for (i = 0; i < g->blocks; i++)
		for (j = 0; g->has[i] && j < g->n; j++)
			sum[j] += (double)vector_at(all, i)[j];
	for (i = 0; i < g->blocks; i++)
		for (j = 0; j < g->n; j++)
			if (isfinite(sum[j]))
				vector_at(all, i)[j] -= (float)(sum[j] / (double)count);
}

/* ---- what is lost ---- */

static int
by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* First and last blocks of good models lack some bonds. */
static bool
may_lack(const struct bonding *g, size_t bond, size_t block)
{
	return (block == 0 || block == g->blocks - 1) &&
	       g->blocks > (bonds[bond].firm ? BLOCKS_MANY : BLOCKS_FEW);
}

/* The correlation of the weakest of the other blocks. It is positive after *sign; 0: the bond
 * does not exist. */
static double
others(const struct bonding *g, size_t bond, size_t block, int *sign)
{
	double r[BLOCKS_MAX], weak;
	size_t i, n = 0;

	for (i = 0; i < g->blocks; i++)
		if (i != block && g->has[i] && !may_lack(g, bond, i))
			r[n++] = g->own[i];
	if (n < 2)
		return 0;
	qsort(r, n, sizeof *r, by_value);
	*sign = r[n / 2] < 0 ? -1 : 1;
	weak = *sign > 0 ? r[0] : -r[n - 1];
	return weak >= CLEAR && values_sureness(weak, g->n) >= SURE ? weak : 0;
}

/* The block whose partner the first tensor of a block fits clearly better, and the other way
 * round; or SIZE_MAX. */
static size_t
find_swap(const struct bonding *g, size_t block)
{
	size_t i, best = SIZE_MAX;
	double most = 0, there, back;
	int sign;

	for (i = 0; i < g->blocks; i++) {
		if (i == block || !g->has[i])
			continue;
		there = fit(g, block, i);
		if (fabs(there) < CLEAR)
			continue;
		sign = there < 0 ? -1 : 1;
		there *= sign;
		back = sign * fit(g, i, block);
		if (back < CLEAR || there + back <= most ||
		    values_sureness(there, g->n) - values_sureness(sign * g->own[block], g->n) < SURE ||
		    values_sureness(back, g->n) - values_sureness(sign * g->own[i], g->n) < SURE)
			continue;
		most = there + back;
		best = i;
	}
	return best;
}

static int
lose(struct bonding *g, size_t bond, size_t block, double usual, size_t fits, struct err *e)
{
	size_t i;

	for (i = 0; i < g->lost_count; i++)
		if (g->lost[i].bond == bond && g->lost[i].block == block)
			return 0;
	if (mem_grow(&g->lost, &g->lost_cap, g->lost_count + 1, sizeof *g->lost) < 0)
		return err_memory(e);
	g->lost[g->lost_count++] = (struct lost){ bond, block, g->own[block], usual, fits };
	return 0;
}

/* True if a correlation is far below that of the weakest of the others. */
static bool
is_lost(const struct bonding *g, size_t bond, double own, double weak)
{
	double apart = values_sureness(weak, g->n) - values_sureness(own, g->n);

	return (own < LOST * weak && apart >= SURE) ||
	       (bonds[bond].firm && weak >= STRONG && own < WEAKER * weak && apart >= 2 * SURE);
}

static int
judge_block(struct bonding *g, size_t bond, size_t block, struct err *e)
{
	int sign = 1;
	double weak = others(g, bond, block, &sign);
	size_t fits;

	if (weak > 0 && !may_lack(g, bond, block) && is_lost(g, bond, sign * g->own[block], weak))
		return lose(g, bond, block, sign * weak, SIZE_MAX, e);
	if (fabs(g->own[block]) >= CLEAR)
		return 0;
	fits = find_swap(g, block);
	return fits == SIZE_MAX ? 0 : lose(g, bond, block, fit(g, block, fits), fits, e);
}

static int
judge_blocks(struct bonding *g, size_t bond, struct err *e)
{
	size_t i;

	add_up(g);
	for (i = 0; i < g->blocks; i++)
		g->own[i] = g->has[i] ? fit(g, i, i) : 0;
	for (i = 0; i < g->blocks; i++)
		if (g->has[i] && judge_block(g, bond, i, e) < 0)
			return -1;
	return 0;
}

static int
judge_bond(struct bonding *g, size_t bond, struct err *e)
{
	size_t count = fill(g, &bonds[bond], g->halves);

	if (count < 2)
		return 0;
	if (judge_blocks(g, bond, e) < 0)
		return -1;
	if (count < 4)
		return 0;
	center(g, g->a, count);
	center(g, g->b, count);
	return judge_blocks(g, bond, e);
}

/* ---- findings ---- */

/* The role that lost most bonds in a block, of those that are not explained. */
static enum role
culprit(const struct bonding *g, size_t block, const bool *done)
{
	size_t count[ROLES] = { 0 }, i;
	enum role r, worst = ROLES;

	for (i = 0; i < g->lost_count; i++)
		if (g->lost[i].block == block && !done[i]) {
			count[bonds[g->lost[i].bond].a]++;
			count[bonds[g->lost[i].bond].b]++;
		}
	for (r = 0; r < ROLES; r++)
		if (count[r] && (worst == ROLES || count[r] > count[worst]))
			worst = r;
	return worst;
}

static void
report(const struct bonding *g, const struct lost *l, enum role role, struct findings *f)
{
	const struct bond *d = &bonds[l->bond];
	const char *name = tensor_name(tensor_at(g, l->block, role)->t);
	const char *partner = tensor_name(tensor_at(g, l->block, role == d->a ? d->b : d->a)->t);

	if (l->fits != SIZE_MAX)
		findings_add(f, &values_rules[VALUES_BOND], name,
		             "does not fit %s, but that of block %zu (%s: correlation %.2f, there "
		             "%.2f)", partner, l->fits, d->what, l->own, l->usual);
	else
		findings_add(f, &values_rules[VALUES_BOND], name,
		             "does not fit %s (%s: correlation %.2f, in other blocks at least %.2f)",
		             partner, d->what, l->own, l->usual);
}

/* Marks the bonds that a role explains. Returns the first. */
static const struct lost *
explain(const struct bonding *g, size_t block, enum role role, bool *done)
{
	const struct lost *first = NULL;
	size_t i;

	for (i = 0; i < g->lost_count; i++) {
		const struct lost *l = &g->lost[i];

		if (l->block != block || done[i] ||
		    (bonds[l->bond].a != role && bonds[l->bond].b != role))
			continue;
		first = first ? first : l;
		done[i] = true;
	}
	return first;
}

/* One finding for each tensor that explains lost bonds. */
static int
report_all(const struct bonding *g, struct findings *f, struct err *e)
{
	bool *done = mem_array(g->lost_count, sizeof *done);
	size_t block;
	enum role role;

	if (!done)
		return err_memory(e);
	for (block = 0; block < g->blocks; block++)
		while ((role = culprit(g, block, done)) != ROLES)
			report(g, explain(g, block, role, done), role, f);
	free(done);
	return 0;
}

/* ---- the order of rotary pairs, in all blocks ---- */

static double
middle(struct bonding *g)
{
	double r[BLOCKS_MAX];
	size_t i, n = 0;

	add_up(g);
	for (i = 0; i < g->blocks; i++)
		if (g->has[i])
			r[n++] = fit(g, i, i);
	qsort(r, n, sizeof *r, by_value);
	return n ? r[n / 2] : 0;
}

/* Queries and keys fit as pairs of the other order, in the middle of the blocks. */
static void
judge_order(struct bonding *g, struct findings *f)
{
	double own, other;

	if (fill(g, &bonds[0], g->halves) < 2)
		return;
	own = middle(g);
	fill(g, &bonds[0], !g->halves);
	other = middle(g);
	if (other < 2 * CLEAR || values_sureness(other, g->n) - values_sureness(own, g->n) < SURE)
		return;
	findings_add(f, &values_rules[VALUES_ORDER], NULL,
	             "rotary pairs of queries and keys correlate at %.2f in the order of %s, but at "
	             "%.2f in that of %s, which this form has", other,
	             g->halves ? "pairs" : "halves", own, g->halves ? "halves" : "pairs");
}

/* ---- all ---- */

static bool
has_profile(const struct survey_tensor *t)
{
	return t->known && t->read && t->look && !t->match.bias && t->match.rule->role < ROLES &&
	       t->match.expert == 0 && t->stats.nan + t->stats.inf == 0 &&
	       t->look->rows.entries > 0;
}

static size_t
count_blocks(const struct survey *s)
{
	size_t i, n = 0;

	for (i = 0; i < s->count; i++)
		if (has_profile(&s->tensors[i]) && s->tensors[i].match.block >= n &&
		    s->tensors[i].match.block < SIZE_MAX)
			n = (size_t)s->tensors[i].match.block + 1;
	return n;
}

static bool
has_halves(const struct survey *s)
{
	unsigned flags = s->subject.arch->flags;

	return s->subject.form == ARCH_GGUF ? (flags & ARCH_HALVES) != 0 : !(flags & ARCH_PAIRS);
}

static int
open_bonds(struct bonding *g, const struct survey *s, size_t blocks, struct err *e)
{
	size_t i;

	*g = (struct bonding){ .s = s, .blocks = blocks, .halves = has_halves(s) };
	g->of = mem_array(blocks * ROLES, sizeof *g->of);
	g->a = mem_array(blocks, LOOK_ENTRIES * sizeof *g->a);
	g->b = mem_array(blocks, LOOK_ENTRIES * sizeof *g->b);
	g->sums = mem_array(blocks, 2 * sizeof *g->sums);
	if (!g->of || !g->a || !g->b || !g->sums)
		return err_memory(e);
	for (i = 0; i < s->count; i++) {
		const struct survey_tensor *t = &s->tensors[i];

		if (has_profile(t))
			g->of[(size_t)t->match.block * ROLES + t->match.rule->role] = t;
	}
	return 0;
}

int
values_bonds(const struct survey *s, struct findings *f, struct err *e)
{
	struct bonding g;
	size_t i, blocks;
	int status;

	if (!s->has_subject || !s->subject.arch)
		return 0;
	values_tokens(s, f);
	blocks = count_blocks(s);
	if (blocks < 2 || blocks > BLOCKS_MAX)
		return 0;
	status = open_bonds(&g, s, blocks, e);
	for (i = 0; status == 0 && i < BONDS; i++)
		status = judge_bond(&g, i, e);
	if (status == 0)
		judge_order(&g, f);
	if (status == 0)
		status = report_all(&g, f, e);
	free(g.of);
	free(g.a);
	free(g.b);
	free(g.sums);
	free(g.lost);
	return status;
}
