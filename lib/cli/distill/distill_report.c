#include "cli/distill/distill_report.h"

#include <math.h>
#include <stdio.h>
#include <time.h>

#include "cli/tool.h"

static double
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static uint64_t
tokens_of(const struct course *c)
{
	return (uint64_t)c->how.rows * c->how.batches * c->how.length;
}

static double
speed(const struct distill_report *r, const struct course *c)
{
	double seconds = now() - r->began;

	return seconds > 0 ? (double)((c->step - r->from) * tokens_of(c)) / seconds : 0;
}

static double
mean(double sum, const struct train_loss *l)
{
	return l->counted ? sum / (double)l->counted : 0;
}

void
distill_report_begin(struct distill_report *r, const struct course *c, bool json, bool progress)
{
	*r = (struct distill_report){ .json = json, .began = now(), .from = c->step, .measured = NAN };
	progress_begin(&r->progress, progress && !json, c->how.steps - c->step);
	r->progress.unit = "steps";
}

void
distill_report_step(struct distill_report *r, const struct course *c)
{
	char soft[24] = "", valid[24] = "";

	r->sum.hard += c->loss.hard;
	r->sum.soft += c->loss.soft;
	r->sum.total += c->loss.total;
	r->sum.counted += c->loss.counted;
	if (c->teacher)
		snprintf(soft, sizeof soft, ", soft %.3f", mean(c->loss.soft, &c->loss));
	if (!isnan(r->measured))
		snprintf(valid, sizeof valid, ", valid %.3f", r->measured);
	snprintf(r->progress.said, sizeof r->progress.said, "loss %.3f%s%s, %.0f tokens/s",
	         mean(c->loss.total, &c->loss), soft, valid, speed(r, c));
	progress_at(&r->progress, c->step - r->from);
}

static void
put_json(const struct distill_report *r, const struct course *c)
{
	const double rate = speed(r, c);
	const uint64_t left = (c->how.steps - c->step) * tokens_of(c);

	fprintf(stderr, "{\"step\":%llu,\"steps\":%llu,", (unsigned long long)c->step,
	        (unsigned long long)c->how.steps);
	if (r->sum.counted)
		fprintf(stderr, "\"loss\":%.6f,\"hard\":%.6f,", mean(r->sum.total, &r->sum),
		        mean(r->sum.hard, &r->sum));
	if (r->sum.counted && c->teacher)
		fprintf(stderr, "\"soft\":%.6f,", mean(r->sum.soft, &r->sum));
	if (!isnan(r->measured))
		fprintf(stderr, "\"validation\":%.6f,", r->measured);
	fprintf(stderr, "\"lr\":%.9f,\"gradient\":%.6f,\"tokens_per_second\":%.1f,"
	        "\"seconds_left\":%.0f}\n", c->rate, c->norm, rate, rate > 0 ? (double)left / rate : 0);
}

/* What is reached, and how fast. */
static void
tell(const struct distill_report *r, const struct course *c)
{
	char valid[64] = "", fast[64] = "";

	if (!isnan(r->measured))
		snprintf(valid, sizeof valid, "validation loss %.4f, perplexity %.2f", r->measured,
		         exp(r->measured));
	else if (r->sum.counted)
		snprintf(valid, sizeof valid, "loss %.4f", mean(r->sum.total, &r->sum));
	if (c->step > r->from)
		snprintf(fast, sizeof fast, ", %.0f tokens/s", speed(r, c));
	if (*valid)
		tool_notef("after step %llu: %s%s", (unsigned long long)c->step, valid, fast);
}

/* Notes the teacher's loss before the first step. */
static int
tell_teacher(struct distill_report *r, struct course *c, struct err *e)
{
	const double before = now();
	double loss;

	if (!c->teacher || !c->measured.parts || c->step == c->how.steps)
		return 0;
	if (course_measure(c, true, &loss, e) < 0)
		return -1;
	r->began += now() - before;
	tool_notef("the teacher: validation loss %.4f, perplexity %.2f", loss, exp(loss));
	return 0;
}

int
distill_report_measure(struct distill_report *r, struct course *c, bool tells, struct err *e)
{
	const double before = now();

	if (c->measured.parts && course_measure(c, false, &r->measured, e) < 0)
		return -1;
	r->began += now() - before;
	if (r->json)
		put_json(r, c);
	if (tells)
		tell(r, c);
	r->sum = (struct train_loss){ .counted = 0 };
	return tells ? tell_teacher(r, c, e) : 0;
}

void
distill_report_end(struct distill_report *r)
{
	progress_end(&r->progress);
}
