/* apr-get: one tensor out of a model */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/filter.h"
#include "cli/input.h"
#include "cli/near.h"
#include "cli/tool.h"
#include "core/buf.h"
#include "core/num.h"
#include "core/sandbox.h"
#include "core/text.h"
#include "kernels/level.h"
#include "report/table.h"
#include "report/values_out.h"
#include "stats/values.h"
#include "wire/npy.h"

struct options {
	const char *trusted;
	bool npy, stored, text, list;
	const char *slice;
	struct output_options output;
};

/* State of the hooks. */
struct get {
	const struct options *o;
	const char *name;
	struct input in;
	struct out out;
	struct values_out values;
	size_t index;   /* the tensor */
	bool enough;    /* all requested values were read */
};

static int
put_buf(struct get *g, struct buf *b, struct err *e)
{
	int r = buf_ok(b) ? out_put(&g->out, b->p, b->n) : err_memory(e);

	buf_free(b);
	return r;
}

/* --list: the same lines as apr-header -l, without offsets. */
static int
list(struct get *g, const struct model *m, struct err *e)
{
	const struct table table = table_of(m);
	char shape[TENSOR_SHAPE_TEXT];
	struct buf b = { 0 }, name = { 0 };
	size_t i;

	for (i = 0; i < m->tensor_count; i++) {
		const struct tensor *t = m->tensors[i];

		buf_printf(&b, "%s %-*s %-*s %12" PRIu64 "\n",
		           table_name(&name, table.name, tensor_name(t)), table.type,
		           tensor_type(t)->name, table.shape, tensor_shape_text(t, shape),
		           tensor_bytes(t));
	}
	buf_free(&name);
	return put_buf(g, &b, e);
}

/* Writes the header of a .npy file, before the values. */
static int
put_head(struct get *g, const struct tensor *t, struct err *e)
{
	const char *type = g->o->stored ? npy_type(tensor_type(t)->name) : "<f4";
	uint64_t size = g->o->stored ? tensor_type(t)->bytes : 4, bytes;
	struct buf b = { 0 };

	if (!type) {
		err_set(e, ERR_INVALID, tensor_name(t), "NumPy has no type for %s",
		        tensor_type(t)->name);
		return err_hint(e, "--npy without --stored decodes it");
	}
	npy_head(&b, type, tensor_ndim(t), tensor_dims(t));
	if (num_mul(tensor_items(t), size, &bytes) || num_add(bytes, b.n, &bytes))
		bytes = UINT64_MAX;
	if (out_reserve(&g->out, bytes) == 0)
		return put_buf(g, &b, e);
	buf_free(&b);
	return -1;
}

static int
plan(void *ctx, struct model *m, struct err *e)
{
	struct get *g = ctx;
	struct values_out *v = &g->values;
	const struct tensor *t;

	if (g->o->list) {
		g->enough = input_may_stop(&g->in, SIZE_MAX);
		return list(g, m, e) < 0 || g->enough ? -1 : 0;
	}
	if (near_find(m, g->name, g->in.source->name, &g->index, e) < 0)
		return -1;
	/* The flow frees its plan at the end; the source's plan stays. */
	t = v->t = g->in.source->plan->tensors[g->index];
	v->out = &g->out;
	if (g->o->text)
		v->form = VALUES_LINES;
	else if (g->o->npy && !g->o->stored)
		v->form = VALUES_SINGLE;
	if (v->form != VALUES_BYTES && !values_known(tensor_type(t))) {
		err_set(e, ERR_FORMAT, tensor_name(t), "%s has no decoder",
		        tensor_type(t)->name);
		return err_hint(e, "without --text and --npy, its bytes are written");
	}
	if (g->o->text && slice_fit(&v->slice, t, e) < 0)
		return -1;
	if (g->o->npy && put_head(g, t, e) < 0)
		return -1;
	if (v->form == VALUES_BYTES && !g->o->npy && out_reserve(&g->out, tensor_bytes(t)) < 0)
		return -1;
	return values_out_begin(v, e);
}

static bool
is_wanted(const struct get *g, const struct item *in)
{
	return in->kind == ITEM_TENSOR && !g->o->list && in->index == g->index;
}

static int
data(void *ctx, const struct item *in, const uint8_t *p, size_t n, struct sink *sink,
     struct err *e)
{
	struct get *g = ctx;

	(void)sink;
	return is_wanted(g, in) ? values_out_add(&g->values, p, n, e) : 0;
}

static int
item_end(void *ctx, const struct item *in, struct sink *sink, struct err *e)
{
	struct get *g = ctx;

	(void)sink;
	if (!is_wanted(g, in))
		return 0;
	if (values_out_end(&g->values, e) < 0)
		return -1;
	g->enough = input_may_stop(&g->in, in->index);
	return g->enough ? -1 : 0;
}

static int
get(struct get *g, const char *path, struct err *e)
{
	struct flow f = { .plan = plan, .data = data, .item_end = item_end, .ctx = g };
	struct out_options where = {
		.path = g->o->output.path, .force = g->o->output.force,
		.terminal_ok = g->o->text || g->o->list,
	};

	sandbox_write(g->o->output.path, g->o->output.force);
	input_trust(path, g->o->trusted);
	if (input_open(&g->in, path, e) == 0) {
		where.input = g->in.held;
		where.from = g->in.path;
		if (out_open(&g->out, &where, e) == 0)
			filter_flow(g->in.source, NULL, g->o->output.progress, &f, e);
		if (e->code != ERR_NONE || out_finish(&g->out) < 0)
			out_abandon(&g->out);
	}
	if (e->code == ERR_NONE && g->values.rounded)
		tool_notef("%s: %" PRIu64 " value%s rounded to single precision; --stored keeps "
		           "%s", g->name, g->values.rounded, g->values.rounded == 1 ? " is" : "s are",
		           g->values.rounded == 1 ? "it" : "them");
	return g->enough ? input_abandon(&g->in, e) : input_close(&g->in, e);
}

static int
check_options(struct options *o, const char *name, const char *path, struct err *e)
{
	if (o->npy + o->text + o->list > 1)
		return tool_misused(e, "--npy, --text and --list cannot be combined");
	if (o->stored && !o->npy)
		return tool_misused(e, "--stored needs --npy");
	if (o->slice && !o->text)
		return tool_misused(e, "--slice needs --text");
	if (o->list && path)
		return tool_misused(e, "--list takes a FILE and no NAME");
	if (!o->list && !name)
		return tool_misused(e, "NAME is missing; --list lists the tensors");
	return 0;
}

int
main(int argc, char **argv)
{
	static struct options o;
	static const struct opt opts[] = {
		FLAG(0, "npy", &o.npy, "write a NumPy file, decoded to single precision"),
		FLAG(0, "stored", &o.stored, "with --npy: keep the tensor's own type"),
		FLAG(0, "text", &o.text, "write the values as text, one row per line"),
		TEXT(0, "slice", "RANGES", &o.slice,
		     "with --text: only these ranges, such as 0:4,:8"),
		FLAG('l', "list", &o.list, "list the tensors"),
		OPT_OUTPUT(&o.output),
		OPT_TRUSTED(&o.trusted),
		OPT_END
	};
	static const struct tool tool = {
		"apr-get", "[--npy [--stored] | --text [--slice RANGES] | -l]\n"
		"[--trusted-key KEY] [-f] [-o FILE] [NAME] [FILE]",
		"Write one tensor of a model: its bytes, a NumPy array, or text.", opts, 2
	};
	struct err e = ERR_INIT;
	char **operands = tool_begin(&tool, argc, argv);
	struct get g = { .o = &o, .name = operands[0] };

	if (check_options(&o, operands[0], operands[1], &e) == 0 &&
	    slice_parse(&g.values.slice, o.slice, &e) == 0 &&
	    level_begin(getenv("APR_CPU"), tool_note, &e) == 0)
		get(&g, operands[!o.list], &e);
	values_out_free(&g.values);
	return tool_end(&e);
}
