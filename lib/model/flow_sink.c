#include "model/flow_sink.h"

#include <stdlib.h>

#include "core/mem.h"
#include "model/flow_parts.h"

struct flow_sink {
	struct sink sink;
	struct source from;   /* stands for what is pushed: only its plan and its name */
	struct flow f;
	struct flow_run run;
	struct model plan;    /* for the next sink */

	/* The item that is under way: */
	struct item item;
	bool forward;         /* it has been put to the next sink */
	bool same;            /* the data hook does not get it */
	struct value_check value;
	const struct meta *key; /* whose value it is, or NULL */
};

static struct flow_sink *
own(struct sink *s)
{
	return (struct flow_sink *)s;
}

static int
no_items(struct source *s, struct item *item, struct err *e)
{
	(void)item;
	return err_set(e, ERR_INVALID, s->name, "is written, not read");
}

static const struct source_ops from_ops = { .next = no_items };

static int
begin(struct sink *s, const struct model *plan, struct err *e)
{
	struct flow_sink *k = own(s);

	/* The plan outlives the sink, and the flow only reads it. */
	k->from.plan = (struct model *)(uintptr_t)plan;
	k->run = (struct flow_run){ .source = &k->from, .sink = k->run.sink, .f = &k->f,
		.e = e };
	k->run.sink->note = s->note;
	if (plan->sealed && k->f.operation)
		return source_check_open(&k->from, e);
	if (flow_plan(&k->run, &k->plan) < 0)
		return -1;
	return sink_begin(k->run.sink, &k->plan, e);
}

static int
put(struct sink *s, const struct item *item, struct err *e)
{
	struct flow_sink *k = own(s);
	struct item out;
	int dropped;

	k->run.e = e;
	k->item = *item;
	k->item.gaps = k->item.same = false;
	k->item.place = NULL;
	dropped = flow_ask(&k->run, &k->item, &out);
	if (dropped < 0)
		return -1;
	k->forward = !dropped;
	k->same = out.same;
	k->key = flow_key_of(&k->run, item);
	if (k->key)
		value_check_begin(&k->value, k->key->type);
	if (!k->forward)
		return 0;
	flow_renumber(&k->run, &out);
	return sink_put(k->run.sink, &out, e);
}

static int
write_body(struct sink *s, const uint8_t *p, size_t n, struct err *e)
{
	struct flow_sink *k = own(s);
	const struct flow *f = &k->f;
	const bool shown = f->data && !k->same, passes = k->forward && (!shown || f->looks);

	k->run.e = e;
	if (k->key)
		value_check_add(&k->value, p, n);
	if (passes && sink_write(k->run.sink, p, n, e) < 0)
		return -1;
	if (shown && f->data(f->ctx, &k->item, p, n, k->forward && !passes ? k->run.sink : NULL, e) < 0)
		return -1;
	return flow_count(&k->run, n);
}

static int
put_end(struct sink *s, struct err *e)
{
	struct flow_sink *k = own(s);
	const struct flow *f = &k->f;

	k->run.e = e;
	if (k->key && !value_check_end(&k->value))
		return err_set(e, ERR_CORRUPT, k->from.plan->blobs[k->item.index].name,
		               "is not the value that its key announces");
	if (f->item_end && f->item_end(f->ctx, &k->item, k->forward ? k->run.sink : NULL, e) < 0)
		return -1;
	return k->forward ? sink_put_end(k->run.sink, e) : 0;
}

static int
end(struct sink *s, struct err *e)
{
	struct flow_sink *k = own(s);
	const struct flow *f = &k->f;

	k->run.e = e;
	if (f->operation && k->from.plan->signatures && flow_put_prov(&k->run) < 0)
		return -1;
	if (f->finish && f->finish(f->ctx, k->run.sink, e) < 0)
		return -1;
	return sink_end(k->run.sink, e);
}

static void
close_sink(struct sink *s)
{
	struct flow_sink *k = own(s);

	model_free(&k->plan);
	free(k);
}

static const struct sink_ops ops = {
	.begin = begin, .put = put, .write = write_body, .put_end = put_end, .end = end,
	.close = close_sink,
};

struct sink *
flow_sink(const struct flow *f, struct sink *next, const char *name, struct err *e)
{
	struct flow_sink *k = mem_array(1, sizeof *k);

	if (!k) {
		err_memory(e);
		return NULL;
	}
	k->sink = (struct sink){ .ops = &ops, .sealed_too = next->sealed_too && !f->operation };
	k->from = (struct source){ .ops = &from_ops, .name = name };
	k->f = *f;
	k->run.sink = next;
	return &k->sink;
}
