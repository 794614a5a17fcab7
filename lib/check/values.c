#include "check/values.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "arch/normal/normal.h"
#include "check/points.h"
#include "check/values_parts.h"
#include "core/mem.h"

#define OUTLIER 64      /* a row is reported above this many medians */
#define SPARSE 0.5      /* share of zeros from which a matrix is sparse */
#define OFF_CENTER 1.0  /* a mean above this many standard deviations */
#define SMALL 64        /* tensors of fewer values are not compared */

const struct rule values_rules[VALUES_RULES + 1] = {
	[VALUES_DEAD] = { "VALUES-DEAD", FINDING_WARN,
	                  "each row and each column of a matrix has values other than 0",
	                  "a dead row is a neuron without effect; a pruned model has many, a broken "
	                  "conversion some" },
	[VALUES_OUTLIER] = { "VALUES-OUTLIER", FINDING_WARN,
	                     "no row of a matrix is far above the others",
	                     "a part of the tensor has another scale, as after a damaged copy" },
	[VALUES_DUPLICATE] = { "VALUES-DUPLICATE", FINDING_WARN,
	                       "no two tensors have the same bytes",
	                       "one was written twice, and another is missing; compare with the source" },
	[VALUES_SCALE] = { "VALUES-SCALE", FINDING_WARN,
	                   "scales of blocks are such as encoders write",
	                   "a program other than an encoder wrote these blocks, or bytes are shifted" },
	[VALUES_CODES] = { "VALUES-CODES", FINDING_WARN,
	                   "all code words are such as encoders write",
	                   "a program other than an encoder wrote these blocks, or bytes are shifted" },
	[VALUES_CONSTANT] = { "VALUES-CONSTANT", FINDING_WARN,
	                      "the values of a matrix differ",
	                      "a matrix of one value was never filled or trained" },
	[VALUES_SPREAD] = { "VALUES-SPREAD", FINDING_WARN,
	                    "values of matrices have a usual scale",
	                    "the tensor was scaled, or its bytes are shifted or of another type" },
	[VALUES_SPARSE] = { "VALUES-SPARSE", FINDING_INFO,
	                    "zeros are not stored",
	                    "a sparse form would be smaller" },
	[VALUES_SIBLING] = { "VALUES-SIBLING", FINDING_WARN,
	                     "tensors of one role have similar scales in all blocks",
	                     "the tensor was scaled, or its bytes are shifted; compare it with the source" },
	[VALUES_BOND] = { "VALUES-BOND", FINDING_WARN,
	                  "partners in a block have similar rows or columns",
	                  "one of both is transposed, permuted, shifted or of another block" },
	[VALUES_ORDER] = { "VALUES-ORDER", FINDING_WARN,
	                   "rows of queries and keys stand in the rotary order of the container",
	                   "the conversion between the order of halves and the order of pairs is "
	                   "missing, or was done twice; apr-adapt does it" },
	[VALUES_TOKENS] = { "VALUES-TOKENS", FINDING_WARN,
	                    "rows of embeddings and of the head belong to tokens",
	                    "the matrix is transposed, or its rows are in another order" },
	[VALUES_REFERENCE] = { "VALUES-REFERENCE", FINDING_ERROR,
	                       "statistics are those of the reference",
	                       "the tensor is not that of the reference; apr-stats prints both" },
};

double
values_rms(const struct stats *s)
{
	return stats_finite(s) ? sqrt(s->squares / (double)stats_finite(s)) : 0;
}

/* ---- what holds for any tensor ---- */

static const char *
name_of(const struct survey_tensor *t)
{
	return tensor_name(t->t);
}

/* A number that no architecture knows, such as the -inf with which a graph masks, is not a
 * weight. */
static bool
is_number(const struct survey_tensor *t)
{
	return !t->known && t->stats.count == 1;
}

static void
judge_finite(const struct survey_tensor *t, struct findings *f)
{
	const struct stats *s = &t->stats;

	if (s->nan)
		findings_add(f, point_rule(26), name_of(t), "%" PRIu64 " of %" PRIu64
		             " values are NaN%s", s->nan, s->count,
		             s->first_is_nan ? "" : ", behind infinite ones");
	if (s->inf && is_number(t))
		findings_add_at(f, point_rule(27), FINDING_INFO, name_of(t),
		                "a single number is infinite, which is common for constants");
	else if (s->inf)
		findings_add(f, point_rule(27), name_of(t), "%" PRIu64 " of %" PRIu64
		             " values are infinite", s->inf, s->count);
	if (s->nan || (s->inf && !is_number(t)))
		findings_fix(f, "apr-stats --fail-nonfinite");
}

static void
judge_halves(const struct survey_tensor *t, struct findings *f)
{
	uint64_t most = t->look->saturated + t->look->blocks.saturated;

	if (most)
		findings_add(f, point_rule(41), name_of(t), "%" PRIu64
		             " %s the largest half, 65504: a conversion may have cut them", most,
		             t->look->saturated ? "values have" : "scales have");
	else if (t->stats.inf && strcmp(tensor_type(t->t)->name, "F16") == 0)
		findings_add(f, point_rule(41), name_of(t), "%" PRIu64
		             " values exceeded 65504 and became infinite", t->stats.inf);
}

static void
judge_codes(const struct survey_tensor *t, struct findings *f)
{
	const struct blocks *b = &t->look->blocks;

	if (t->stats.below)
		findings_add(f, point_rule(34), name_of(t), "%" PRIu64
		             " codes are -128, the first at value %" PRIu64
		             "; encoders write -127 to 127", t->stats.below, t->stats.first_below);
	if (b->negative)
		findings_add(f, &values_rules[VALUES_SCALE], name_of(t), "%" PRIu64 " of %" PRIu64
		             " blocks have a negative scale or minimum, the first in block %" PRIu64
		             "; encoders of %s write none", b->negative, b->count, b->first,
		             tensor_type(t->t)->name);
	if (b->not_finite)
		findings_add_at(f, &values_rules[VALUES_SCALE], FINDING_ERROR, name_of(t),
		                "%" PRIu64 " of %" PRIu64 " blocks have a scale or minimum that is "
		                "infinite or NaN, the first is block %" PRIu64, b->not_finite,
		                b->count, b->first);
	if (b->zero)
		findings_add_at(f, &values_rules[VALUES_SCALE], FINDING_INFO, name_of(t),
		                "%" PRIu64 " of %" PRIu64 " blocks have codes, but the scale 0: values "
		                "too small for a half are lost", b->zero, b->count);
	if (b->words)
		findings_add(f, &values_rules[VALUES_CODES], name_of(t), "%" PRIu64
		             " code words that encoders of %s do not write, the first in block %" PRIu64,
		             b->words, tensor_type(t->t)->name, b->first);
}

/* Up to two lines: graphs keep initial states and biases of recurrent layers so, one line for
 * each direction. */
static bool
is_narrow(const struct tensor *t)
{
	uint64_t longest = 1;
	unsigned i;

	for (i = 0; i < tensor_ndim(t); i++)
		longest = longest < tensor_dims(t)[i] ? tensor_dims(t)[i] : longest;
	return tensor_items(t) / longest <= 2;
}

/* Biases, initial states, types of tokens and counters may be zero in good models. */
static bool
may_be_zero(const struct survey_tensor *t)
{
	const char *name = name_of(t), *dot = strrchr(name, '.');

	return tensor_ndim(t->t) < 2 || (!t->known && is_narrow(t->t)) || (t->known && t->match.bias) ||
	       (t->known && t->match.rule->role == ROLE_TOKEN_TYPES) || strstr(name, "token_type") ||
	       (dot && (strstr(dot, "bias") || strcmp(dot, ".b") == 0));
}

static bool
is_norm(const struct survey_tensor *t)
{
	return t->known && !t->match.bias && normal_is_norm(t->match.rule);
}

/* Returns true if the tensor has nothing else to judge. */
static bool
judge_constant(const struct survey_tensor *t, struct findings *f)
{
	const struct stats *s = &t->stats;

	if (stats_finite(s) < s->count || s->count < 2 || s->min != s->max)
		return false;
	if (s->max == 0 && (!may_be_zero(t) || is_norm(t)))
		findings_add(f, point_rule(31), name_of(t), "all %" PRIu64 " values are 0", s->count);
	else if (s->max == 0)
		findings_add_at(f, point_rule(31), FINDING_INFO, name_of(t), "all %" PRIu64
		                " values are 0, which is common for such tensors", s->count);
	else if (tensor_ndim(t->t) > 1)
		findings_add(f, &values_rules[VALUES_CONSTANT], name_of(t), "all %" PRIu64
		             " values are %g", s->count, s->max);
	return true;
}

/* Matrices that a forward pass multiplies with, not tables of rows. */
static bool
is_matrix(const struct survey_tensor *t)
{
	enum role role = t->known ? t->match.rule->role : ROLES;

	return t->known && !t->match.bias && tensor_ndim(t->t) > 1 && role != ROLE_EMBED &&
	       role != ROLE_POSITIONS && role != ROLE_TOKEN_TYPES && role != ROLE_OUT &&
	       role != ROLE_SSM_A && role != ROLE_ROPE_FREQS && !is_norm(t) &&
	       !strstr(name_of(t), "embed");
}

static void
judge_lines(const struct survey_tensor *t, struct findings *f)
{
	const struct look_lines *r = &t->look->rows, *c = &t->look->columns;
	enum finding_level level = is_matrix(t) ? FINDING_WARN : FINDING_INFO;

	if (tensor_ndim(t->t) < 2 || r->count < 2)
		return;
	if (r->dead)
		findings_add_at(f, &values_rules[VALUES_DEAD], level, name_of(t), "%" PRIu64
		                " of %" PRIu64 " rows are 0, the first is row %" PRIu64, r->dead,
		                r->count, r->first_dead);
	if (c->dead)
		findings_add_at(f, &values_rules[VALUES_DEAD], level, name_of(t), "%" PRIu64
		                " of %" PRIu64 " columns are 0, the first is column %" PRIu64, c->dead,
		                c->count, c->first_dead);
	if (r->max > OUTLIER * r->median)
		findings_add_at(f, &values_rules[VALUES_OUTLIER], level, name_of(t), "row %" PRIu64
		                " has a mean magnitude of %.4g, the median of rows is %.4g", r->at_max,
		                r->max, r->median);
	else if (r->high)
		findings_add_at(f, &values_rules[VALUES_OUTLIER], FINDING_INFO, name_of(t), "%" PRIu64
		                " rows are more than %d times above the median, up to %.4g at row %" PRIu64,
		                r->high, LOOK_FAR, r->max, r->at_max);
}

static void
judge_sparse(const struct survey_tensor *t, struct findings *f)
{
	double zeros = (double)t->stats.zeros / (double)t->stats.count;

	if (is_matrix(t) && !tensor_type(t->t)->quantized && zeros > SPARSE)
		findings_add(f, &values_rules[VALUES_SPARSE], name_of(t), "%.0f %% of its values are 0",
		             100 * zeros);
}

/* ---- ranges ---- */

static const char *const of_text[NORMALS] = {
	[NORMAL_MEAN] = "mean", [NORMAL_STD] = "standard deviation",
	[NORMAL_LENGTH] = "length of rows", [NORMAL_MIN] = "smallest value",
	[NORMAL_MAX] = "largest value",
};

static double
figure(const struct survey_tensor *t, enum normal_of of)
{
	const struct stats *s = &t->stats;

	switch (of) {
	case NORMAL_MEAN:
		return stats_mean(s);
	case NORMAL_STD:
		return stats_std(s);
	case NORMAL_LENGTH:
		return values_rms(s) * sqrt((double)look_row(t->t));
	case NORMAL_MIN:
		return s->min;
	default:
		return s->max;
	}
}

static const struct rule *
rule_of(const struct survey_tensor *t, enum normal_of of)
{
	const struct arch_rule *r = t->match.rule;
	const char *name = rule_name(r);

	if (of == NORMAL_MEAN && normal_is_norm(r))
		return point_rule(t->match.bias ? 29 : 28);
	if (r->role == ROLE_EMBED || (r->role == ROLES && name && strstr(name, "embed_tokens")))
		return point_rule(30);
	return &values_rules[VALUES_SPREAD];
}

static void
judge_range(const struct survey *s, const struct survey_tensor *t, enum normal_of of,
            struct findings *f)
{
	const struct normal *n = normal_find(s->subject.arch, s->subject.form, &t->match, of);
	double v;
	bool wrong;

	/* Weights of 8 bits are multiplied by scales that stand in another tensor. */
	if (!n || strncmp(tensor_type(t->t)->name, "F8_", 3) == 0)
		return;
	v = figure(t, of);
	if (v >= n->low && v <= n->high)
		return;
	wrong = n->least < n->most && (v < n->least || v > n->most);
	findings_add_at(f, rule_of(t, of), wrong ? FINDING_ERROR : FINDING_WARN, name_of(t),
	                "%s %.4g; usual is %g to %g (%s)", of_text[of], v, n->low, n->high,
	                n->source);
}

static void
judge_center(const struct survey_tensor *t, struct findings *f)
{
	double mean = stats_mean(&t->stats), std = stats_std(&t->stats);

	if (is_matrix(t) && t->stats.count >= SMALL && fabs(mean) > OFF_CENTER * std)
		findings_add(f, point_rule(35), name_of(t),
		             "mean %.4g, standard deviation %.4g; usual is a mean near 0", mean, std);
}

static void
judge_mels(const struct survey_tensor *t, struct findings *f)
{
	if (strstr(name_of(t), "mel_filters") && t->stats.min < 0)
		findings_add(f, point_rule(37), name_of(t), "the smallest value is %g", t->stats.min);
}

static void
judge_tensor(const struct survey *s, const struct survey_tensor *t, struct findings *f)
{
	enum normal_of of;
	bool constant;

	judge_finite(t, f);
	if (t->look) {
		judge_halves(t, f);
		judge_codes(t, f);
	}
	judge_mels(t, f);
	if (t->stats.count == 0 || stats_finite(&t->stats) == 0)
		return;
	constant = judge_constant(t, f);
	if (constant && t->stats.max == 0)
		return;
	for (of = 0; t->known && of < NORMALS; of++)
		judge_range(s, t, of, f);
	judge_center(t, f);
	if (t->look && !constant) {
		judge_lines(t, f);
		judge_sparse(t, f);
	}
}

/* ---- duplicates ---- */

/* A tensor that may be a duplicate, with what is compared. */
static bool
has_digest(const struct survey_tensor *t)
{
	return t->read && t->look && t->stats.count >= SMALL && t->stats.min != t->stats.max;
}

static int
by_digest(const void *a, const void *b)
{
	const struct survey_tensor *s = *(const struct survey_tensor *const *)a;
	const struct survey_tensor *t = *(const struct survey_tensor *const *)b;
	int i, order;

	for (i = 0; i < 2; i++)
		if (s->look->digest[i] != t->look->digest[i])
			return s->look->digest[i] < t->look->digest[i] ? -1 : 1;
	order = (tensor_bytes(s->t) > tensor_bytes(t->t)) - (tensor_bytes(s->t) < tensor_bytes(t->t));
	return order ? order : (s > t) - (s < t);
}

static bool
is_end(const struct survey_tensor *t)
{
	return t->known && (t->match.rule->role == ROLE_EMBED || t->match.rule->role == ROLE_OUT);
}

static void
judge_same(const struct survey_tensor *a, const struct survey_tensor *b, struct findings *f)
{
	bool tied = is_end(a) && is_end(b);
	bool known = a->known && b->known;

	findings_add_at(f, &values_rules[VALUES_DUPLICATE],
	                known && !tied ? FINDING_WARN : FINDING_INFO, name_of(b),
	                tied ? "has the bytes of %s: the head is tied and need not be stored"
	                     : "has the bytes of %s", name_of(a));
}

static int
judge_duplicates(const struct survey *s, struct findings *f, struct err *e)
{
	const struct survey_tensor **t = mem_array(s->count, sizeof *t);
	size_t i, n = 0;

	if (!t)
		return err_memory(e);
	for (i = 0; i < s->count; i++)
		if (has_digest(&s->tensors[i]))
			t[n++] = &s->tensors[i];
	qsort(t, n, sizeof *t, by_digest);
	for (i = 1; i < n; i++)
		if (memcmp(t[i]->look->digest, t[i - 1]->look->digest, sizeof t[i]->look->digest) == 0 &&
		    tensor_type(t[i]->t) == tensor_type(t[i - 1]->t) &&
		    tensor_bytes(t[i]->t) == tensor_bytes(t[i - 1]->t))
			judge_same(t[i - 1], t[i], f);
	free(t);
	return 0;
}

int
values_judge(const struct survey *s, struct findings *f, struct err *e)
{
	size_t i;

	for (i = 0; i < s->count; i++)
		if (s->tensors[i].read)
			judge_tensor(s, &s->tensors[i], f);
	return judge_duplicates(s, f, e) < 0 || values_siblings(s, f, e) < 0 ||
	               values_bonds(s, f, e) < 0 ? -1 : 0;
}
