/* Models in memory, ready to compute. A source gets the error that it was opened with, that of its
 * model.
 */
#include "api/compute.h"

#include <inttypes.h>
#include <stdlib.h>

#include "core/mem.h"
#include "core/num.h"
#include "lora/low.h"

/* Refuses a model if more than `memory` bytes of it would be copied. */
static int
prove_memory(const struct aprml *m, const struct load_from *from, uint64_t memory, struct err *e)
{
	const struct model *plan = m->source->plan;
	uint64_t bytes = 0;
	size_t i;

	for (i = 0; i < plan->tensor_count; i++)
		if ((from->copies || !format_holds(m->format, m->source, i)) &&
		    num_add(bytes, tensor_bytes(plan->tensors[i]), &bytes) < 0)
			return err_memory(e);
	if (memory == 0 || bytes <= memory)
		return 0;
	return err_set(e, ERR_MEMORY, api_name(m), "needs %" PRIu64 " bytes of memory for tensors, "
	               "and the limit is %" PRIu64, bytes, memory);
}

/* The tensors of m, in place unless they are to be copied or cannot be mapped. */
static struct load_from
tensors_of(const struct aprml *m, bool copies)
{
	return (struct load_from){
		.source = m->source, .format = m->format, .held = m->held,
		.memory = m->from.memory, .memory_bytes = m->from.memory_bytes,
		.copies = copies || m->from.ranges.read || m->inside, .plain = true
	};
}

static int
load(struct aprml_weights *w, struct aprml *m, const struct aprml_weights_options *o,
     struct err *e)
{
	const struct tokenizer_options options = { .note = api_note };
	const struct load_from from = tensors_of(m, o->copy);
	struct tokenizer *t;

	if (prove_memory(m, &from, o->memory, e) < 0 || load_from(&w->load, &from, e) < 0)
		return -1;
	t = tokenizer_of(&w->load.weights, &options, &w->none);
	if (!t && w->none.code == ERR_MEMORY) {
		*e = w->none;
		return -1;
	}
	w->tokenizer = api_tokenizer(t, e);
	return t && !w->tokenizer ? -1 : 0;
}

struct aprml_weights *
aprml_weights_open(struct aprml *m, const struct aprml_weights_options *options,
                   struct aprml_error *e)
{
	struct aprml_weights_options o = { .bytes = sizeof o };
	struct aprml_weights *w = NULL;
	struct aprml *again = NULL, *from = NULL;
	const struct api_log *before;
	struct err err = ERR_INIT;

	if (api_need(m, "model", e) < 0)
		return NULL;
	api_level();
	if (api_options(&o, sizeof o, options, sizeof o, "aprml_weights_options", &err) == 0) {
		w = mem_array(1, sizeof *w);
		from = w ? api_fresh(m, &again, &err) : NULL;
	}
	if (!w)
		err_memory(&err);
	before = api_log_to(&(struct api_log){ o.log, o.ctx });
	if (!from || load(w, from, &o, &from->err) < 0) {
		aprml_weights_close(w);
		w = NULL;
		api_fail(from ? &from->err : &err, e);
	}
	api_log_to(before);
	api_fresh_end(from, again);
	return w;
}

/* ---- adapters ---- */

static void
drop_adapters(struct aprml_weights *w)
{
	low_free(w->low, w->low_count);
	w->low = NULL;
	w->low_count = 0;
	adapters_close(&w->adapters);
}

/* Load adapter i. */
static int
load_adapter(struct adapters *a, size_t i, struct aprml *m, double scale, struct err *e)
{
	struct aprml *again, *from = api_fresh(m, &again, e);
	struct load_from tensors;
	int r = -1;

	if (!from)
		return -1;
	tensors = tensors_of(from, false);
	if (load_from(&a->loads[i], &tensors, &from->err) < 0)
		*e = from->err;
	else
		r = lora_read(&a->loras[i], &a->loads[i].weights, (float)scale, e);
	api_fresh_end(from, again);
	return r;
}

static int
load_adapters(struct aprml_weights *w, struct aprml *const *adapter, const double *scale, size_t n,
              struct err *e)
{
	struct adapters *a = &w->adapters;
	size_t i;

	a->loads = mem_array(n, sizeof *a->loads);
	a->loras = mem_array(n, sizeof *a->loras);
	if (!a->loads || !a->loras)
		return err_memory(e);
	for (a->n = 0, i = 0; i < n; i++) {
		a->n = i + 1;
		if (load_adapter(a, i, adapter[i], scale ? scale[i] : 1, e) < 0)
			return -1;
	}
	return adapters_low(a, &w->load.weights, &w->low, &w->low_count, e);
}

int
aprml_weights_adapt(struct aprml_weights *w, struct aprml *const *adapter, const double *scale,
                    size_t n, struct aprml_error *e)
{
	struct err err = ERR_INIT;
	size_t i;

	if (api_need(w, "weights", e) < 0)
		return -1;
	for (i = 0; i < n; i++)
		if (api_need(adapter[i], "adapter", e) < 0)
			return -1;
	if (w->adapters.loads)
		err_set(&err, ERR_NO, w->load.weights.name, "has adapters already");
	else if (load_adapters(w, adapter, scale, n, &err) == 0)
		return 0;
	else
		drop_adapters(w);
	return api_fail(&err, e);
}

/* ---- close ---- */

void
aprml_weights_close(struct aprml_weights *w)
{
	if (!w)
		return;
	drop_adapters(w);
	aprml_tokenizer_close(w->tokenizer);
	load_close(&w->load);
	free(w);
}

struct aprml_tokenizer *
aprml_weights_tokenizer(struct aprml_weights *w, struct aprml_error *e)
{
	if (api_need(w, "weights", e) < 0)
		return NULL;
	if (!w->tokenizer)
		api_fail(&w->none, e);
	return w->tokenizer;
}
