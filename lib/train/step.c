/* step: AdamW, and how its rate changes. */
#include <math.h>
#include <stdlib.h>

#include "core/mem.h"
#include "train/train_parts.h"

enum { VALUES = 16384 }; /* of a task */

static size_t
pieces(size_t n)
{
	return (n + VALUES - 1) / VALUES;
}

static size_t
piece(size_t n, size_t i)
{
	return n - i * VALUES < VALUES ? n - i * VALUES : VALUES;
}

/* x^n by squaring: pow differs between C libraries. */
static double
power(double x, uint64_t n)
{
	double y = 1;

	for (; n; n >>= 1, x *= x)
		if (n & 1)
			y *= x;
	return y;
}

/* cos(π x) for x from 0 to 1, by its series, for the same reason. */
static double
cosine(double x)
{
	double a, term = 1, sum = 1;
	int k;

	if (x > 0.5)
		return -cosine(1 - x);
	a = x * 0x1.921fb54442d18p1;
	for (k = 1; k <= 12; k++) {
		term *= -a * a / (double)(2 * k * (2 * k - 1));
		sum += term;
	}
	return sum;
}

double
train_rate(double rate, double lowest, uint64_t warm, uint64_t steps, uint64_t t)
{
	if (t <= warm)
		return rate * (double)t / (double)warm;
	if (t >= steps)
		return steps > warm ? lowest : rate;
	return lowest + (rate - lowest) * 0.5 *
	       (1 + cosine((double)(t - warm) / (double)(steps - warm)));
}

/* ---- the length of the gradient ---- */

struct norm_job {
	const struct train_model *m;
	const struct training *t;
	double *sum;
};

static void
square_piece(void *ctx, size_t i)
{
	const struct norm_job *job = ctx;

	job->sum[i] = job->t->squares(job->m->gradient + i * VALUES, piece(job->m->total, i));
}

static int
gradient_norm(const struct train_model *m, const struct training *t, unsigned jobs, double *norm,
              struct err *e)
{
	struct norm_job job = { m, t, mem_array(pieces(m->total), sizeof(double)) };
	double sum = 0;
	size_t i;

	if (!job.sum)
		return err_memory(e);
	thread_for(jobs, pieces(m->total), square_piece, &job);
	for (i = 0; i < pieces(m->total); i++)
		sum += job.sum[i];
	free(job.sum);
	*norm = sqrt(sum);
	if (!isfinite(sum))
		return err_set(e, ERR_INVALID, NULL, "the gradient is not finite: the rate is too high, "
		               "or values are");
	return 0;
}

/* ---- a step ---- */

struct step_job {
	const struct train_model *m;
	const struct training *t;
	struct training_step step;
	size_t at, n;
};

static void
step_piece(void *ctx, size_t i)
{
	const struct step_job *job = ctx;
	const struct train_model *m = job->m;
	size_t at = job->at + i * VALUES;

	job->t->adam(&job->step, m->value + at, m->gradient + at, m->first + at, m->second + at,
	             piece(job->n, i));
}

int
train_update(struct train_model *m, const struct train_adam *a, uint64_t t, unsigned jobs,
             double *norm, struct err *e)
{
	struct step_job job = { .m = m, .t = training_now(NULL) };
	double length = 0, clip = 1;
	size_t i;

	if (!m->gradient || t == 0)
		return err_set(e, ERR_INVALID, NULL, "a frozen model cannot learn");
	if (gradient_norm(m, job.t, jobs, &length, e) < 0)
		return -1;
	if (norm)
		*norm = length;
	if (a->clip > 0 && length > a->clip)
		clip = a->clip / length;
	job.step = (struct training_step){ (float)clip, (float)a->beta1, (float)(1 - a->beta1),
		(float)a->beta2, (float)(1 - a->beta2), (float)(a->rate / (1 - power(a->beta1, t))),
		(float)sqrt(1 / (1 - power(a->beta2, t))), (float)a->eps, 0 };
	for (i = 0; i < m->param_count; i++) {
		job.at = m->params[i].at;
		job.n = m->params[i].count;
		job.step.decay = m->params[i].decays ? (float)(a->rate * a->decay) : 0;
		thread_for(jobs, pieces(job.n), step_piece, &job);
	}
	return 0;
}
