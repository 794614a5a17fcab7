#include "api/job.h"

#include <inttypes.h>
#include <time.h>

#include "crypto/derivation.h"
#include "crypto/kdf.h"

_Thread_local struct api_meter *api_meter;
struct aprml_host api_host;

int
aprml_set_host(const struct aprml_host *host, struct aprml_error *e)
{
	struct aprml_host to = { .bytes = sizeof to };
	struct random_source source;
	struct err err = ERR_INIT;

	if (api_options(&to, sizeof to, host, sizeof to, "aprml_host", &err) < 0)
		return api_fail(&err, e);
	api_host = to;
	source = (struct random_source){ to.random, to.ctx };
	random_from(&source);
	return 0;
}

static double
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

int
api_work(struct aprml_work *to, const struct aprml_work *from, struct err *e)
{
	*to = (struct aprml_work){ .bytes = sizeof *to };
	return api_options(to, sizeof *to, from, sizeof *to, "aprml_work", e);
}

void
api_job_begin(struct api_job *j, const struct aprml_work *work, const atomic_bool *cancelled)
{
	const bool limits = work->memory || work->seconds > 0 || cancelled;

	*j = (struct api_job){ .work = *work, .log = { work->log, work->ctx },
		.meter = { .most = work->memory, .cancelled = cancelled },
		.meter_before = api_meter };
	if (work->seconds > 0)
		j->meter.deadline = now() + work->seconds;
	j->log_before = api_log_to(&j->log);
	api_meter = limits ? &j->meter : NULL;
	derivation_limit(work->memory);
}

enum api_stop
api_stops(struct api_meter *m)
{
	if (m->stop != API_GOES_ON)
		return m->stop;
	if (m->cancelled && atomic_load_explicit(m->cancelled, memory_order_relaxed))
		m->stop = API_CANCELLED;
	else if (m->deadline > 0 && now() > m->deadline)
		m->stop = API_LATE;
	return m->stop;
}

/* Say why the call ends. */
static int
explain(const struct api_job *j, struct err *e)
{
	switch (j->meter.stop) {
	case API_CANCELLED:
		return err_set(e, ERR_NO, NULL, "the call was cancelled");
	case API_LATE:
		return err_set(e, ERR_MEMORY, NULL, "takes more than %g seconds", j->work.seconds);
	case API_FULL:
		return err_set(e, ERR_MEMORY, NULL, "needs more than %" PRIu64 " bytes of memory",
		               j->meter.most);
	default:
		return 0;
	}
}

void
api_job_end(struct api_job *j, struct err *e)
{
	api_log_to(j->log_before);
	api_meter = j->meter_before;
	derivation_limit(api_meter ? api_meter->most : 0);
	if (e->code != ERR_MEMORY || j->meter.stop == API_GOES_ON)
		return;
	*e = (struct err)ERR_INIT;
	explain(j, e);
}

unsigned
api_job_threads(const struct api_job *j)
{
	return j->work.threads ? j->work.threads : 1;
}

int
api_job_watch(struct api_job *j, uint64_t done, struct err *e)
{
	const struct aprml_work *w = &j->work;

	j->stopped = true;
	if (w->progress && w->progress(w->ctx, done < j->all ? done : j->all, j->all) != 0)
		return err_set(e, ERR_NO, NULL, "the program has ended the call");
	if (api_stops(&j->meter) != API_GOES_ON)
		return explain(j, e);
	j->stopped = false;
	return 0;
}

static int
watch(void *ctx, uint64_t done, struct err *e)
{
	return api_job_watch(ctx, done, e);
}

void
api_job_hooks(struct api_job *j, struct flow *f, const struct model *plan)
{
	f->watch = watch;
	f->progress_ctx = j;
	j->all = model_tensor_bytes(plan);
}
