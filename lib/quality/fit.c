#include "quality/fit.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "core/num.h"
#include "generate/computes.h"
#include "kernels/kernel.h"
#include "quant/recode.h"

#define KEPT (4ull << 30) /* bytes of the base's logits, at most */

/* ---- encoding ---- */

/* A sink that keeps the bytes of one tensor. */
struct kept {
	struct sink sink;
	uint8_t *to;
	uint64_t n, room;
};

static int
keep(struct sink *sink, const uint8_t *p, size_t n, struct err *e)
{
	struct kept *k = (struct kept *)sink;

	(void)e;
	memcpy(k->to + k->n, p, num_min(n, k->room - k->n));
	k->n += num_min(n, k->room - k->n);
	return 0;
}

/* Encodes a tensor. Returns its bytes, which the caller frees, or NULL. *error: relative. */
static uint8_t *
encode(const struct fit *f, const struct fit_tensor *t, const struct dtype *type, double *error,
       struct err *e)
{
	static const struct sink_ops ops = { .write = keep };
	const struct tensor *from = f->weights->plan->tensors[t->index];
	const struct recode_options how = { f->o->jobs, true, t->importance, false };
	struct tensor *made = tensor_retype(from, type, e);
	struct kept k = { .sink = { .ops = &ops } };
	struct recode r = { .x = NULL };
	int done = -1;

	k.room = made ? tensor_bytes(made) : 0;
	k.to = made ? mem_array((size_t)k.room, 1) : NULL;
	if (made && !k.to)
		err_memory(e);
	else if (made && recode_begin(&r, from, type, &how, e) == 0 &&
	         recode_add(&r, f->weights->tensors[t->index], (size_t)tensor_bytes(from), &k.sink,
	                    e) == 0)
		done = recode_end(&r, &k.sink, e);
	*error = convert_relative(&r.stats);
	recode_free(&r);
	tensor_free(made);
	if (done == 0)
		return k.to;
	free(k.to);
	return NULL;
}

/* ---- evaluating ---- */

/* The model with other tensors: a plan and pointers of its own, over the same bytes. */
struct variant {
	struct weights weights;
	struct model plan;
	uint8_t **made;          /* by index; NULL: the tensor is unchanged */
};

static int
variant_open(struct variant *v, const struct weights *w, struct err *e)
{
	const size_t n = w->plan->tensor_count;

	*v = (struct variant){ .weights = *w };
	v->weights.release = NULL;
	v->weights.plan = &v->plan;
	v->weights.tensors = mem_array(n, sizeof *v->weights.tensors);
	v->made = mem_array(n, sizeof *v->made);
	if (model_copy(&v->plan, w->plan, e) < 0)
		return -1;
	if (!v->weights.tensors || !v->made)
		return err_memory(e);
	memcpy(v->weights.tensors, w->tensors, n * sizeof *w->tensors);
	return 0;
}

static void
variant_close(struct variant *v)
{
	size_t i;

	for (i = 0; v->made && i < v->plan.tensor_count; i++)
		free(v->made[i]);
	free(v->made);
	free(v->weights.tensors);
	model_free(&v->plan);
}

/* Gives a tensor a type; its bytes become the variant's. */
static int
variant_set(struct variant *v, size_t index, const struct dtype *type, uint8_t *bytes,
            struct err *e)
{
	struct tensor *t = tensor_retype(v->plan.tensors[index], type, e);

	free(v->made[index]);
	v->made[index] = bytes;
	if (!t)
		return -1;
	v->weights.tensors[index] = bytes;
	tensor_free(v->plan.tensors[index]);
	v->plan.tensors[index] = t;
	return 0;
}

static int
variant_reset(struct variant *v, const struct weights *w, size_t index, struct err *e)
{
	struct tensor *t = tensor_copy(w->plan->tensors[index]);

	if (!t)
		return err_memory(e);
	free(v->made[index]);
	v->made[index] = NULL;
	v->weights.tensors[index] = w->tensors[index];
	tensor_free(v->plan.tensors[index]);
	v->plan.tensors[index] = t;
	return 0;
}

/* The base is evaluated once if its logits can be kept. */
static int
evaluate(struct fit *f, const struct weights *w, struct divergence_figures *to, struct err *e)
{
	const struct infer_options how = { .context = f->o->context, .most = 512,
		.threads = f->o->jobs };
	struct computes base = { .infer = NULL }, model = { .infer = NULL };
	struct divergence d = { 0 };
	int r = -1;

	if ((f->base.whole || computes_open(&base, f->weights, &how, NULL, e) == 0) &&
	    computes_open(&model, w, &how, NULL, e) == 0)
		r = divergence_again(&d, &f->base, base.sequence, model.sequence, f->tokenizer, f->text,
		                     e);
	if (r == 0)
		divergence_figures(&d, to);
	divergence_free(&d);
	computes_close(&base);
	computes_close(&model);
	return r;
}

/* ---- measuring ---- */

static int
by_bytes(const void *a, const void *b)
{
	const struct fit_choice *x = a, *y = b;

	if (x->bytes != y->bytes)
		return x->bytes < y->bytes ? -1 : 1;
	return (x->harm > y->harm) - (x->harm < y->harm);
}

/* Sorts the choices, and drops those that a smaller or equal one is not worse than. */
static void
sort_choices(struct fit_tensor *t)
{
	size_t i, n = 0;

	qsort(t->choices, t->count, sizeof *t->choices, by_bytes);
	for (i = 0; i < t->count; i++)
		if (n == 0 || t->choices[i].harm < t->choices[n - 1].harm)
			t->choices[n++] = t->choices[i];
	t->count = n;
}

/* Encodes the tensor in one type, and measures the harm if asked. */
static int
try_type(struct fit *f, struct fit_tensor *t, struct variant *v, struct fit_choice *c,
         bool measured, struct err *e)
{
	struct divergence_figures figures;
	uint8_t *bytes = encode(f, t, c->type, &c->error, e);
	int r;

	if (!bytes)
		return -1;
	c->harm = -1;
	if (!measured) {
		free(bytes);
		return 0;
	}
	r = variant_set(v, t->index, c->type, bytes, e);
	if (r == 0)
		r = evaluate(f, &v->weights, &figures, e);
	if (r == 0)
		r = variant_reset(v, f->weights, t->index, e);
	if (r < 0)
		return -1;
	c->harm = figures.kl.value > 0 ? figures.kl.value : 0;
	f->done++;
	if (f->step)
		f->step(f->step_ctx, f);
	return 0;
}

/* Harms that were not measured follow from the errors. */
static void
estimate(struct fit_tensor *t, const struct fit_choice *probe)
{
	size_t i;

	for (i = 0; i < t->count; i++) {
		struct fit_choice *c = &t->choices[i];
		const double ratio = probe->error > 0 ? c->error / probe->error : 0;

		if (c->harm < 0)
			c->harm = probe->harm * ratio * ratio;
	}
}

/* Some types are only encoded by importance. */
static bool
is_encodable(const struct fit_tensor *t, const struct dtype *type)
{
	const struct kernel *k = kernel_for(type);

	return kernel_encodes(type) && (!k || k->encode || t->importance);
}

/* The types that rows of the tensor can have; and its own, which does no harm. */
static void
list_types(const struct fit *f, struct fit_tensor *t)
{
	const struct tensor *from = f->weights->plan->tensors[t->index];
	size_t i;

	for (i = 0; i < f->o->type_count; i++) {
		const struct dtype *type = f->o->types[i];
		struct err ignored = ERR_INIT;
		struct tensor *made = type == tensor_type(from) || !is_encodable(t, type)
		                      ? NULL : tensor_retype(from, type, &ignored);

		if (made && tensor_bytes(made) < tensor_bytes(from))
			t->choices[t->count++] = (struct fit_choice){ type, tensor_bytes(made), 0, 0 };
		tensor_free(made);
	}
}

static int
measure(struct fit *f, struct fit_tensor *t, struct variant *v, struct err *e)
{
	const struct tensor *from = f->weights->plan->tensors[t->index];
	const size_t probe = t->count / 2;
	size_t i;

	for (i = 0; i < t->count; i++)
		if (try_type(f, t, v, &t->choices[i], f->o->thorough || i == probe, e) < 0)
			return -1;
	if (t->count > 0)
		estimate(t, &t->choices[probe]);
	t->choices[t->count++] = (struct fit_choice){ tensor_type(from), tensor_bytes(from), 0, 0 };
	sort_choices(t);
	return 0;
}

/* A weight for each column of each matrix of the tensor. */
static bool
is_fitting(const struct imatrix_entry *x, const struct tensor *t)
{
	const unsigned n = tensor_ndim(t);

	return n >= 2 && tensor_dims(t)[n - 2] > 0 &&
	       x->n == tensor_items(t) / tensor_dims(t)[n - 2];
}

static int
list_tensors(struct fit *f, const bool *kept, struct err *e)
{
	const struct model *m = f->weights->plan;
	const struct imatrix_entry *x;
	size_t i;

	f->tensors = mem_array(m->tensor_count, sizeof *f->tensors);
	if (!f->tensors)
		return err_memory(e);
	for (i = 0; i < m->tensor_count; i++) {
		struct fit_tensor *t = &f->tensors[f->count];

		t->index = i;
		x = f->o->importance ? imatrix_find(f->o->importance, tensor_name(m->tensors[i])) : NULL;
		t->importance = x && is_fitting(x, m->tensors[i]) ? x->values : NULL;
		if (!kept[i])
			list_types(f, t);
		if (t->count == 0) {
			f->kept += tensor_bytes(m->tensors[i]);
			continue;
		}
		f->steps += f->o->thorough ? t->count : 1;
		f->count++;
	}
	if (f->count > 0)
		return 0;
	err_set(e, ERR_INVALID, f->weights->name, "none of its tensors can have one of the types and "
	        "become smaller");
	return err_hint(e, "some types need --imatrix; others, rows of a multiple of their block");
}

int
fit_open(struct fit *f, const struct weights *w, const struct tokenizer *tokenizer,
         const struct tokens *text, const struct fit_options *o, const bool *kept,
         void (*step)(void *ctx, const struct fit *f), void *ctx, struct err *e)
{
	struct variant v;
	size_t i;
	int r;

	*f = (struct fit){ .weights = w, .o = o, .tokenizer = tokenizer, .text = text,
		.base = { .most = KEPT }, .step = step, .step_ctx = ctx };
	r = variant_open(&v, w, e);
	if (r == 0)
		r = list_tensors(f, kept, e);
	for (i = 0; r == 0 && i < f->count; i++)
		r = measure(f, &f->tensors[i], &v, e);
	variant_close(&v);
	return r;
}

void
fit_close(struct fit *f)
{
	free(f->tensors);
	divergence_kept_free(&f->base);
	*f = (struct fit){ .weights = NULL };
}

/* ---- choosing ---- */

uint64_t
fit_bytes(const struct fit *f)
{
	uint64_t bytes = f->kept;
	size_t i;

	for (i = 0; i < f->count; i++)
		bytes += f->tensors[i].choices[f->tensors[i].chosen].bytes;
	return bytes;
}

double
fit_sum(const struct fit *f)
{
	double sum = 0;
	size_t i;

	for (i = 0; i < f->count; i++)
		sum += f->tensors[i].choices[f->tensors[i].chosen].harm;
	return sum;
}

/* The next choice of a tensor on the lower convex hull: the one with the greatest gain for its
 * bytes; 0 if there is none. */
static size_t
next_of(const struct fit_tensor *t, double *gain)
{
	const struct fit_choice *now = &t->choices[t->chosen];
	size_t i, best = 0;

	*gain = 0;
	for (i = t->chosen + 1; i < t->count; i++) {
		const double g = (now->harm - t->choices[i].harm) /
		                 (double)(t->choices[i].bytes - now->bytes);

		if (g > *gain) {
			*gain = g;
			best = i;
		}
	}
	return best;
}

/* Takes the best step that leaves the model at most `most` bytes. False if none does. */
static bool
take_step(struct fit *f, uint64_t most)
{
	const uint64_t bytes = fit_bytes(f);
	size_t i, best = SIZE_MAX, to = 0;
	double gain, most_gain = 0;

	for (i = 0; i < f->count; i++) {
		const struct fit_tensor *t = &f->tensors[i];
		const size_t next = next_of(t, &gain);

		if (next && gain > most_gain &&
		    t->choices[next].bytes - t->choices[t->chosen].bytes <= most - bytes) {
			most_gain = gain;
			best = i;
			to = next;
		}
	}
	if (best == SIZE_MAX)
		return false;
	f->tensors[best].chosen = to;
	return true;
}

static void
choose_smallest(struct fit *f)
{
	size_t i;

	for (i = 0; i < f->count; i++)
		f->tensors[i].chosen = 0;
}

int
fit_size(struct fit *f, uint64_t bytes, struct err *e)
{
	choose_smallest(f);
	if (fit_bytes(f) > bytes)
		return err_set(e, ERR_INVALID, f->weights->name, "its tensors take at least %" PRIu64
		               " bytes with these types, more than %" PRIu64, fit_bytes(f), bytes);
	while (take_step(f, bytes))
		;
	return 0;
}

void
fit_harm(struct fit *f, double harm)
{
	choose_smallest(f);
	while (fit_sum(f) > harm && take_step(f, UINT64_MAX))
		;
}

int
fit_check(struct fit *f, struct divergence_figures *to, struct err *e)
{
	struct variant v;
	double error;
	size_t i;
	int r = variant_open(&v, f->weights, e);

	for (i = 0; r == 0 && i < f->count; i++) {
		const struct fit_tensor *t = &f->tensors[i];
		const struct dtype *type = t->choices[t->chosen].type;
		uint8_t *bytes;

		if (type == tensor_type(f->weights->plan->tensors[t->index]))
			continue;
		bytes = encode(f, t, type, &error, e);
		r = bytes ? variant_set(&v, t->index, type, bytes, e) : -1;
	}
	if (r == 0)
		r = evaluate(f, &v.weights, to, e);
	variant_close(&v);
	return r;
}
