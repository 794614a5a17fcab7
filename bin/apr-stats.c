/* apr-stats: statistics of the values of tensors */
#include <inttypes.h>
#include <stdlib.h>

#include "cli/each.h"
#include "cli/filter.h"
#include "cli/input.h"
#include "cli/near.h"
#include "cli/tool.h"
#include "core/mem.h"
#include "core/thread.h"
#include "kernels/level.h"
#include "report/stats_text.h"
#include "stats/tally.h"
#include "stats/values.h"

struct options {
	const char *trusted;
	const char *hist;
	bool json, fail_nonfinite;
	uint64_t jobs;
	bool progress;
};

/* State of the hooks. */
struct run {
	const struct options *o;
	struct input in;
	const struct model *plan; /* the source's */
	size_t only;              /* --hist: the tensor; else SIZE_MAX */
	struct tally tally;
	struct stats *all;        /* one for each tensor */
	bool enough;              /* all requested tensors were read */
};

static const struct dtype *
type_of(const struct run *r, size_t i)
{
	return tensor_type(r->plan->tensors[i]);
}

static bool
is_wanted(const struct run *r, const struct item *in)
{
	return in->kind == ITEM_TENSOR && values_known(type_of(r, in->index)) &&
	       (r->only == SIZE_MAX || r->only == in->index);
}

static int
plan(void *ctx, struct model *out, struct err *e)
{
	struct run *r = ctx;

	r->only = SIZE_MAX;
	if (r->o->hist && near_find(out, r->o->hist, r->in.source->name, &r->only, e) < 0)
		return -1;
	if (r->o->hist && !values_known(type_of(r, r->only)))
		return err_set(e, ERR_FORMAT, r->o->hist, "%s has no decoder",
		               type_of(r, r->only)->name);
	r->all = mem_array(out->tensor_count, sizeof *r->all);
	return r->all ? tally_open(&r->tally, (unsigned)r->o->jobs, r->o->hist, e)
	              : err_memory(e);
}

static int
item(void *ctx, const struct item *in, struct item *out, struct err *e)
{
	struct run *r = ctx;

	(void)out;
	if (!is_wanted(r, in))
		return 0;
	return tally_begin(&r->tally, type_of(r, in->index),
	                   tensor_items(r->plan->tensors[in->index]), e);
}

static int
data(void *ctx, const struct item *in, const uint8_t *p, size_t n, struct sink *sink,
     struct err *e)
{
	struct run *r = ctx;

	(void)sink;
	(void)e;
	if (is_wanted(r, in))
		tally_add(&r->tally, p, n);
	return 0;
}

static int
placed(void *ctx, const struct item *in, struct sink *sink, struct err *e)
{
	struct run *r = ctx;

	(void)sink;
	if (is_wanted(r, in) &&
	    tally_range(&r->tally, in->place, r->in.source->name, e) < 0)
		return -1;
	return 1;
}

static int
item_end(void *ctx, const struct item *in, struct sink *sink, struct err *e)
{
	struct run *r = ctx;

	(void)sink;
	(void)e;
	if (!is_wanted(r, in))
		return 0;
	tally_end(&r->tally);
	r->all[in->index] = r->tally.stats;
	r->enough = r->only == in->index && input_may_stop(&r->in, in->index);
	return r->enough ? -1 : 0;
}

/* Prints the statistics, one tensor per line, or the distribution of one tensor. */
static int
print(const struct run *r, struct err *e)
{
	const struct tensor *const *t = (const struct tensor *const *)r->plan->tensors;
	const struct table table = table_of(r->plan);
	struct buf b = { 0 };
	size_t i;
	int status = 0;

	if (r->o->hist && r->o->json)
		stats_put_json(&b, t[r->only], &r->tally.stats, &r->tally.histogram,
		               each_name());
	else if (r->o->hist)
		stats_put_histogram(&b, t[r->only], &r->tally.stats, &r->tally.histogram);
	else if (!r->o->json)
		stats_put_head(&b, &table);
	for (i = 0; status == 0 && !r->o->hist && i < r->plan->tensor_count; i++) {
		const struct stats *s = values_known(type_of(r, i)) ? &r->all[i] : NULL;

		if (r->o->json)
			stats_put_json(&b, t[i], s, NULL, each_name());
		else
			stats_put(&b, t[i], s, &table);
		status = tool_print(&b, e);
	}
	if (status == 0)
		status = tool_print(&b, e);
	buf_free(&b);
	return status;
}

/* --fail-nonfinite: reports the first tensor with such a value, and the number of
 * others. */
static int
judge(const struct run *r, struct err *e)
{
	char place[STATS_PLACE_TEXT];
	size_t i, unknown = 0, more = 0, bad = SIZE_MAX;
	const struct stats *s;

	for (i = 0; i < r->plan->tensor_count; i++) {
		unknown += r->only == SIZE_MAX && !values_known(type_of(r, i));
		if (r->all[i].nan + r->all[i].inf == 0)
			continue;
		if (bad == SIZE_MAX)
			bad = i;
		else
			more++;
	}
	if (unknown)
		tool_notef("%zu tensor%s cannot be decoded and %s not checked", unknown,
		           unknown == 1 ? "" : "s", unknown == 1 ? "was" : "were");
	if (bad == SIZE_MAX)
		return 0;
	s = &r->all[bad];
	err_set(e, ERR_INVALID, tensor_name(r->plan->tensors[bad]),
	        "value %" PRIu64 ", at %s, is %s; %" PRIu64 " of %" PRIu64 " are not finite",
	        s->first, stats_place_text(r->plan->tensors[bad], s->first, place),
	        s->first_is_nan ? "NaN" : "infinite", s->nan + s->inf, s->count);
	if (more)
		err_hint(e, "%zu more tensor%s such values", more, more == 1 ? " has" : "s have");
	return -1;
}

/* Notes codes that no encoder writes. Their values are valid, but something else than an
 * encoder made them. */
static int
note_codes(const struct run *r, struct err *e)
{
	struct buf b = { 0 };
	size_t i;

	for (i = 0; i < r->plan->tensor_count; i++) {
		if (stats_below_text(r->plan->tensors[i], &r->all[i], &b, e) < 0)
			break;
		if (b.n > 0)
			tool_note((char *)b.p);
	}
	buf_free(&b);
	return e->code == ERR_NONE ? 0 : -1;
}

static int
stats(struct run *r, const char *path, struct err *e)
{
	struct flow f = { .plan = plan, .item = item, .data = data, .placed = placed,
		.item_end = item_end, .ctx = r };

	input_trust(path, r->o->trusted);
	if (input_open(&r->in, path, e) == 0) {
		r->plan = r->in.source->plan;
		filter_flow(r->in.source, NULL, r->o->progress, &f, e);
		if (e->code == ERR_NONE && print(r, e) == 0 && note_codes(r, e) == 0 &&
		    r->o->fail_nonfinite)
			judge(r, e);
	}
	return r->enough ? input_abandon(&r->in, e) : input_close(&r->in, e);
}

int
main(int argc, char **argv)
{
	static struct options o;
	static const struct opt opts[] = {
		TEXT(0, "hist", "NAME", &o.hist,
		     "print the distribution of the values of tensor NAME"),
		FLAG(0, "json", &o.json, "print one object per line"),
		FLAG(0, "fail-nonfinite", &o.fail_nonfinite,
		     "exit with status 5 if a value is NaN or infinite"),
		OPT_JOBS(&o.jobs),
		OPT_PROGRESS(&o.progress),
		OPT_TRUSTED(&o.trusted),
		OPT_END
	};
	static const struct tool tool = {
		"apr-stats", "[--hist NAME] [--json] [--fail-nonfinite] [--trusted-key KEY]\n"
		"[-j N] [FILE ...]",
		"Print statistics of the values of each tensor.", opts, TOOL_FILES
	};
	struct run r = { .o = &o };
	struct err e = ERR_INIT;
	char **files = tool_begin(&tool, argc, argv);
	const char *file = each_file(files, !o.json);

	if (!o.jobs)
		o.jobs = thread_count();
	if (level_begin(getenv("APR_CPU"), tool_note, &e) == 0)
		stats(&r, file, &e);
	tally_free(&r.tally);
	free(r.all);
	return tool_end(&e);
}
