#include "api/job.h"

#include <time.h>

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
api_job_begin(struct api_job *j, const struct aprml_work *work)
{
	*j = (struct api_job){ .work = *work, .log = { work->log, work->ctx },
		.meter = { 0, work->memory } };
	if (work->seconds > 0)
		j->deadline = now() + work->seconds;
	api_log_to(&j->log);
	api_meter = work->memory ? &j->meter : NULL;
}

void
api_job_end(void)
{
	api_log_to(NULL);
	api_meter = NULL;
}

unsigned
api_job_threads(const struct api_job *j)
{
	return j->work.threads ? j->work.threads : 1;
}

static int
watch(void *ctx, uint64_t done, struct err *e)
{
	struct api_job *j = ctx;
	const struct aprml_work *w = &j->work;

	j->stopped = true;
	if (w->progress && w->progress(w->ctx, done < j->all ? done : j->all, j->all) != 0)
		return err_set(e, ERR_NO, NULL, "the program has ended the call");
	if (j->deadline > 0 && now() > j->deadline)
		return err_set(e, ERR_MEMORY, NULL, "takes more than %g seconds", w->seconds);
	j->stopped = false;
	return 0;
}

void
api_job_hooks(struct api_job *j, struct flow *f, const struct model *plan)
{
	f->watch = watch;
	f->progress_ctx = j;
	j->all = model_tensor_bytes(plan);
}
