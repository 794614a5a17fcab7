/* Models in memory, ready to compute. A source gets the error that it was opened with, that of its
 * model.
 */
#include "api/compute.h"

#include <inttypes.h>
#include <stdlib.h>

#include "core/mem.h"
#include "core/num.h"

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

static int
load(struct aprml_weights *w, struct aprml *m, const struct aprml_weights_options *o,
     struct err *e)
{
	const struct tokenizer_options options = { .note = api_note };
	const struct load_from from = {
		.source = m->source, .format = m->format, .held = m->held,
		.memory = m->from.memory, .memory_bytes = m->from.memory_bytes,
		.copies = o->copy || m->from.ranges.read || m->inside, .plain = true
	};
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
	struct err err = ERR_INIT;

	api_level();
	if (api_options(&o, sizeof o, options, sizeof o, "aprml_weights_options", &err) == 0) {
		w = mem_array(1, sizeof *w);
		from = w ? api_fresh(m, &again, &err) : NULL;
	}
	if (!w)
		err_memory(&err);
	api_log_to(&(struct api_log){ o.log, o.ctx });
	if (!from || load(w, from, &o, &from->err) < 0) {
		aprml_weights_close(w);
		w = NULL;
		api_fail(from ? &from->err : &err, e);
	}
	api_log_to(NULL);
	api_fresh_end(from, again);
	return w;
}

void
aprml_weights_close(struct aprml_weights *w)
{
	if (!w)
		return;
	aprml_tokenizer_close(w->tokenizer);
	load_close(&w->load);
	free(w);
}

struct aprml_tokenizer *
aprml_weights_tokenizer(struct aprml_weights *w, struct aprml_error *e)
{
	if (!w->tokenizer)
		api_fail(&w->none, e);
	return w->tokenizer;
}
