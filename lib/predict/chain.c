#include "predict/chain.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"

/* ---- steps ---- */

struct step *
predictor_add_step(struct predictor *m)
{
	if (mem_grow(&m->steps, &m->step_cap, m->step_count + 1, sizeof *m->steps) < 0)
		return NULL;
	m->steps[m->step_count] = (struct step){ 0 };
	return &m->steps[m->step_count++];
}

int
predictor_join(struct predictor *m, const char *where, struct err *e)
{
	size_t i, n = m->step_count;

	m->inner = m->features;
	if (n == 0)
		return 0;
	for (i = 0; i < n; i++) {
		if (i > 0 && (m->steps[i].kind->texts || m->steps[i].in != m->steps[i - 1].out))
			return err_set(e, ERR_CORRUPT, where, "step %zu takes %zu values, and the one before it "
			               "gives %zu", i + 1, m->steps[i].in, m->steps[i - 1].out);
		if (m->steps[i].in == 0 || m->steps[i].out == 0 || m->steps[i].in > FOREST_FEATURES ||
		    m->steps[i].out > FOREST_FEATURES)
			return err_set(e, ERR_CORRUPT, where, "step %zu takes %zu values and gives %zu", i + 1,
			               m->steps[i].in, m->steps[i].out);
	}
	m->texts = m->steps[0].kind->texts;
	m->features = m->steps[0].in;
	if (m->form == PREDICT_STEPS)
		m->outputs = m->inner = m->steps[n - 1].out;
	if (m->inner != m->steps[n - 1].out)
		return err_set(e, ERR_CORRUPT, where, "the model takes %zu values, and the last step gives %zu",
		               m->inner, m->steps[n - 1].out);
	m->sparse = m->form == PREDICT_STEPS && m->texts;
	for (i = 0; i < n; i++)
		m->sparse &= step_keeps_sparse(&m->steps[i]);
	return 0;
}

int
predictor_invert(struct predictor *m, struct err *e)
{
	size_t i, n = m->step_count;
	struct step t;

	if (m->form != PREDICT_STEPS || m->task != PREDICT_VALUE)
		return err_set(e, ERR_USAGE, NULL, "--inverse: the model does not only scale and project");
	for (i = 0; i < n; i++)
		if (step_invert(&m->steps[i], e) < 0)
			return -1;
	for (i = 0; i < n / 2; i++) {
		t = m->steps[i];
		m->steps[i] = m->steps[n - 1 - i];
		m->steps[n - 1 - i] = t;
	}
	m->features = m->steps[0].in;
	m->inner = m->outputs = m->steps[n - 1].out;
	for (i = 0; m->names && i < m->name_count; i++)
		free(m->names[i]);
	free(m->names);
	m->names = NULL;
	m->name_count = 0;
	return predictor_join(m, NULL, e);
}

/* Sums of products with values that are not zero. */
static void
linear_sparse(const struct predictor *m, const struct step_rows *x, double *scores)
{
	size_t i, k, at;

	for (i = 0; i < x->n; i++)
		for (k = 0; k < m->outputs; k++) {
			const double *w = m->linear.weights + k * m->inner;
			double sum = m->linear.after ? 0 : m->linear.bias[k];

			for (at = step_from(x, i); at < step_from(x, i + 1); at++)
				sum += *step_value(x, at) * w[step_column(x, at)];
			scores[i * m->outputs + k] = m->linear.after ? sum + m->linear.bias[k] : sum;
		}
}

int
predict_block(const struct predictor *m, struct step_rows *x, struct step_rows *spare, bool missing,
              double *scores, uint32_t *leaves, struct err *e)
{
	if (step_chain(m->steps, m->step_count, x, spare, e) < 0)
		return -1;
	if (m->sparse)
		return 0;
	if (m->form == PREDICT_LINEAR && x->sparse && !m->single && !m->rounds && scores) {
		linear_sparse(m, x, scores);
		return 0;
	}
	if (step_rows_dense(x, spare, e) < 0)
		return -1;
	if (m->form != PREDICT_STEPS) /* steps make NaN of infinities */
		predict_rows(m, step_row(x, 0), x->n, missing || m->step_count > 0, scores, leaves);
	else if (scores)
		memcpy(scores, step_row(x, 0), x->n * m->outputs * sizeof *scores);
	return 0;
}

/* ---- pairs of classes ---- */

/* The decision between the classes of a pair: positive for the first. */
static double
decision(const struct predictor *m, const double *scores, size_t pair)
{
	return m->classes == 2 ? -scores[pair] : scores[pair];
}

size_t
pairs_label(const struct predictor *m, const double *scores)
{
	uint32_t votes[PREDICT_PAIRED] = { 0 };
	size_t best = 0, i, j, pair = 0;

	for (i = 0; i < m->classes; i++)
		for (j = i + 1; j < m->classes; j++, pair++)
			votes[decision(m, scores, pair) > 0 ? i : j]++;
	for (i = 1; i < m->classes; i++)
		if (votes[i] > votes[best])
			best = i;
	return best;
}

static double
platt(double score, double a, double b)
{
	double v = score * a + b, p = v >= 0 ? exp(-v) / (1 + exp(-v)) : 1 / (1 + exp(v));

	return p < 1e-7 ? 1e-7 : p > 1 - 1e-7 ? 1 - 1e-7 : p;
}

/* The probability that it is class i, if it is i or j. */
static double
pair_share(const struct predictor *m, const double *scores, size_t i, size_t j)
{
	size_t low = i < j ? i : j, high = i < j ? j : i;
	size_t pair = low * (2 * m->classes - low - 1) / 2 + high - low - 1;
	double p = platt(decision(m, scores, pair), m->platt[2 * pair], m->platt[2 * pair + 1]);

	return i < j ? p : 1 - p;
}

/* One round over all classes of the second method of Wu, Lin, Weng: Probability estimates for
 * multi-class classification by pairwise coupling (2004). q: the matrix Q, qp: Q p. */
static void
couple(const double *q, double *qp, double *p, double all, size_t n)
{
	size_t t, j;

	for (t = 0; t < n; t++) {
		double diff = (all - qp[t]) / q[t * n + t];

		p[t] += diff;
		all = (all + diff * (diff * q[t * n + t] + 2 * qp[t])) / (1 + diff) / (1 + diff);
		for (j = 0; j < n; j++) {
			qp[j] = (qp[j] + diff * q[t * n + j]) / (1 + diff);
			p[j] /= 1 + diff;
		}
	}
}

static void
fill_pairs(const struct predictor *m, const double *scores, double *q)
{
	size_t t, j, n = m->classes;

	for (t = 0; t < n; t++) {
		double sum = 0;

		for (j = 0; j < n; j++) {
			double r = j == t ? 0 : pair_share(m, scores, j, t);

			sum += r * r;
			q[t * n + j] = j == t ? 0 : -r * (1 - r);
		}
		q[t * n + t] = sum;
	}
}

/* LIBSVM's multiclass_probability: until all differ by less than 0.005 / n. */
static void
couple_all(const double *q, double *qp, double *p, size_t n)
{
	size_t t, j, round, rounds = n > 100 ? n : 100;

	for (round = 0; round < rounds; round++) {
		double all = 0, error = 0;

		for (t = 0; t < n; t++) {
			qp[t] = 0;
			for (j = 0; j < n; j++)
				qp[t] += q[t * n + j] * p[j];
			all += p[t] * qp[t];
		}
		for (t = 0; t < n; t++)
			error = fabs(qp[t] - all) > error ? fabs(qp[t] - all) : error;
		if (error < 0.005 / (double)n)
			break;
		couple(q, qp, p, all, n);
	}
}

size_t
pairs_room(const struct predictor *m)
{
	return m->classes * m->classes + m->classes;
}

void
pairs_link(const struct predictor *m, const double *scores, double *to)
{
	size_t t, n = m->classes;
	double *q = to + n;

	for (t = 0; t < n; t++)
		to[t] = m->link == LINK_PAIRS ? 1 / (double)n : (double)NAN;
	if (m->link == LINK_PAIRS) {
		fill_pairs(m, scores, q);
		couple_all(q, q + n * n, to, n);
	}
}
