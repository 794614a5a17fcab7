/* Makers: the stages that tools put between pipes, as sinks of one thread. */
#include "api/make.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "crypto/seal/seal.h"
#include "formats/create.h"
#include "model/flow_sink.h"
#include "stage/sealing.h"
#include "stream/stream.h"

/* ---- a maker ---- */

int
api_maker_fail(struct aprml_maker *k, struct aprml_error *e)
{
	if (k->err.code == ERR_NONE)
		err_set(&k->err, ERR_NO, NULL, "the maker has ended");
	return api_fail(&k->err, e);
}

int
api_maker_begin(struct aprml_maker *k, struct aprml_error *e)
{
	if (api_need(k, "maker", e) < 0)
		return -1;
	if (k->err.code == ERR_NONE && !k->ended && atomic_load(&k->cancelled))
		err_set(&k->err, ERR_NO, NULL, "the call was cancelled");
	if (k->err.code == ERR_NONE && !k->ended)
		return 0;
	return api_maker_fail(k, e);
}

void
aprml_maker_cancel(struct aprml_maker *k)
{
	atomic_store(&k->cancelled, true);
}

const char *
api_maker_text(struct aprml_maker *k, const char *text)
{
	const size_t n = strlen(text) + 1;
	struct api_text *t = mem_array(1, sizeof *t + n);

	if (!t) {
		err_memory(&k->err);
		return NULL;
	}
	memcpy(t->text, text, n);
	t->next = k->texts;
	k->texts = t;
	return t->text;
}

struct aprml_maker *
aprml_maker_open(const struct aprml_output *to, const struct aprml_work *work,
                 struct aprml_error *e)
{
	struct aprml_maker *k = mem_array(1, sizeof *k);
	struct err err = ERR_INIT;

	if (!k) {
		err_memory(&err);
		api_fail(&err, e);
		return NULL;
	}
	k->to = (struct aprml_output){ .bytes = sizeof k->to };
	k->quant.max_rmse = INFINITY;
	if (api_options(&k->to, sizeof k->to, to, sizeof k->to, "aprml_output", &k->err) == 0 &&
	    api_work(&k->work, work, &k->err) == 0 && !k->to.path == !k->to.write)
		err_set(&k->err, ERR_NO, "aprml_output", "needs one of path and write");
	if (k->err.code == ERR_NONE && k->to.path)
		k->to.path = api_maker_text(k, k->to.path);
	if (k->err.code == ERR_NONE)
		return k;
	api_fail(&k->err, e);
	aprml_maker_close(k);
	return NULL;
}

void
api_maker_end(struct aprml_maker *k)
{
	for (; k->sink_count > 0; k->sink_count--)
		sink_close(k->sinks[k->sink_count - 1]);
	conversion_free(&k->conversion);
	signing_free(&k->signing);
	verification_reset(&k->verification);
	secret_free(&k->data);
	free(k->skey);
	k->skey = NULL;
	k->ended = true;
}

void
aprml_maker_close(struct aprml_maker *k)
{
	struct api_text *t;

	if (!k)
		return;
	api_maker_end(k);
	api_build_free(&k->build);
	api_quant_free(&k->quant);
	while ((t = k->texts)) {
		k->texts = t->next;
		free(t);
	}
	free(k);
}

/* ---- stages ---- */

static void
note_lines(struct buf *b)
{
	char *line, *end;

	for (line = (char *)buf_string(b); line && *line; line = end + 1) {
		end = strchr(line, '\n');
		*end = '\0';
		api_note(line);
	}
	buf_clear(b);
}

static int
take(void *ctx, uint64_t at, const void *p, size_t n)
{
	const struct aprml_maker *k = ctx;

	return k->to.write(k->to.ctx, at, p, n);
}

static int
taken(void *ctx, uint64_t bytes)
{
	const struct aprml_maker *k = ctx;

	return k->to.end ? k->to.end(k->to.ctx, bytes) : 0;
}

static struct sink *
stream_to(const struct out_options *where, struct err *e)
{
	struct out out;

	if (out_open(&out, where, e) == 0)
		return stream_sink(&out, e);
	out_abandon(&out);
	return NULL;
}

/* The sink of the container. */
static struct sink *
container(struct aprml_maker *k, int input, const char *from)
{
	const struct out_options where = { .to = k->to.write ? &k->taker : NULL, .path = k->to.path,
		.force = k->to.replace != 0, .no_sync = k->no_sync, .input = input, .from = from };
	struct sink *s;

	k->taker = (struct out_taker){ .write = take, .end = taken, .ctx = k,
		.appends = k->to.appends != 0 };
	if (k->vault)
		k->keys = k->vault->ring;
	ring_writes(&k->keys);
	k->how.own = k->own;
	k->how.own_count = API_OWN;
	k->how.vault = &k->keys.vault;
	s = k->format == &format_stream ? stream_to(&where, &k->err)
	                                : create_sink(k->format, &where, &k->how, &k->err);
	if (s)
		s->note = api_note;
	return s;
}

/* Put a sink before those that there are. NULL: it was not made. */
static int
add(struct aprml_maker *k, struct sink *s)
{
	if (!s)
		return -1;
	s->note = api_note;
	k->sinks[k->sink_count++] = s;
	return 0;
}

static struct sink *
top(const struct aprml_maker *k)
{
	return k->sinks[k->sink_count - 1];
}

static int
add_seal(struct aprml_maker *k)
{
	struct key_secret *signer = k->outer ? k->outer->ring.key : NULL;
	const struct ring *r = &k->seals->ring;

	k->skey = mem_array(1, sizeof *k->skey);
	if (!k->skey)
		return err_memory(&k->err);
	if (sealing_make(k->skey, &k->data, &r->recipients, &r->password, &k->err) < 0)
		return -1;
	return add(k, seal_sink(top(k), k->skey, k->data.p, signer, &k->err));
}

/* A flow is that of the source, if *first is not taken yet, or a sink. */
static int
add_flow(struct aprml_maker *k, const struct flow *f, const char *name, struct flow *first)
{
	if (first && !first->ctx) {
		*first = *f;
		return 0;
	}
	return add(k, flow_sink(f, top(k), name, &k->err));
}

static void
sign_flow(struct aprml_maker *k, struct flow *f)
{
	k->signing = (struct signing){ .key = k->signs->ring.key, .says = &k->says, .note = api_note,
		.jobs = api_job_threads(&k->job) };
	signing_hooks(&k->signing, f);
}

static void
quant_flow(struct aprml_maker *k, const char *name, struct flow *f)
{
	k->conversion = (struct conversion){ .how = &k->quant.recipe,
		.max_rmse = k->quant.max_rmse, .note = note_lines,
		.jobs = api_job_threads(&k->job), .allow_nonfinite = k->quant.allow_nonfinite };
	conversion_stage(&k->conversion, name, f);
}

static void
verify_flow(struct aprml_maker *k, const char *name, struct flow *f)
{
	k->verification = (struct verification){ .keys = &k->verifies->ring.trusted,
		.wants = &k->wants, .note = api_note, .jobs = api_job_threads(&k->job) };
	verification_hooks(&k->verification, name, f);
}

/* The flow of the source is the first stage of verify, type and sign: it may read tensors from their
 * file. What comes after it are sinks, which are made from the last one on. */
struct sink *
api_maker_sinks(struct aprml_maker *k, const char *name, int input, const char *from,
                struct flow *first)
{
	const bool quant_first = first && !k->verifies, sign_first = quant_first && !k->quant.asked;
	struct flow f;

	if (add(k, container(k, input, from)) < 0 || (k->seals && add_seal(k) < 0))
		return NULL;
	if (k->signs) {
		sign_flow(k, &f);
		if (add_flow(k, &f, name, sign_first ? first : NULL) < 0)
			return NULL;
	}
	if (k->quant.asked) {
		quant_flow(k, name, &f);
		if (add_flow(k, &f, name, quant_first ? first : NULL) < 0)
			return NULL;
	}
	if (k->verifies) {
		verify_flow(k, name, &f);
		if (add_flow(k, &f, name, first) < 0)
			return NULL;
	}
	return top(k);
}

/* ---- a model that was opened ---- */

static int
run(struct aprml_maker *k, struct aprml *from)
{
	struct source *source = from->source;
	struct flow f = { 0 };
	struct sink *sink = api_maker_sinks(k, source->name, from->from.path ? from->held : -1,
	                                    from->from.path, &f);

	if (!sink)
		return -1;
	if (source->plan->sealed && !k->format->writes && k->format != &format_stream)
		return source_check_open(source, &k->err);
	if (k->quant.asked && source->plan->signatures && !k->verifies)
		api_note("the content changes: its signature, which was not verified, is dropped, "
		         "and a record of its claims kept");
	api_job_hooks(&k->job, &f, source->plan);
	return flow_run(source, sink, &f, &from->err);
}

int
aprml_maker_model(struct aprml_maker *k, struct aprml *m, struct aprml_error *e)
{
	struct aprml *again = NULL, *from = NULL;

	if (api_maker_begin(k, e) < 0 || api_need(m, "model", e) < 0)
		return -1;
	if (k->quant.asked)
		api_level();
	api_job_begin(&k->job, &k->work, &k->cancelled);
	if (k->build.plan.source || k->build.key_count || k->build.file_count)
		err_set(&k->err, ERR_NO, NULL, "the program builds a model");
	if (api_maker_prove(k) == 0)
		from = api_fresh_for(m, FORMAT_ALL, &again, &k->err);
	if (from && run(k, from) < 0 && k->err.code == ERR_NONE)
		k->err = from->err;
	api_maker_end(k);
	api_fresh_end(from, again);
	api_job_end(&k->job, &k->err);
	return k->err.code == ERR_NONE ? 0 : api_fail(&k->err, e);
}
