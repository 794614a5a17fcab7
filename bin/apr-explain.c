/* apr-explain: what a model, a tensor, a code or a known failure is, in words */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/input.h"
#include "cli/near.h"
#include "cli/tool.h"
#include "core/near.h"
#include "core/thread.h"
#include "kernels/level.h"
#include "report/explain.h"
#include "report/lines.h"
#include "stats/tally.h"
#include "stats/values.h"

struct options {
	const char *tensor, *trusted;
	bool json, list;
	uint64_t jobs;
};

static int
print(json_t *o, const struct options *opt, struct err *e)
{
	struct buf b = { 0 };
	int r;

	if (opt->json) {
		lines_json(&b, o);
	} else {
		explain_put(&b, o);
		json_decref(o);
	}
	r = tool_print(&b, e);
	buf_free(&b);
	return r;
}

/* ---- words ---- */

static const char *
entry_word(unsigned i)
{
	static struct explain_entry entry;

	return explain_entry(i, &entry) ? entry.word : NULL;
}

static int
list(const struct options *o, struct err *e)
{
	struct explain_entry x;
	struct buf b = { 0 };
	size_t i;
	int r;

	for (i = 0; explain_entry(i, &x); i++)
		if (o->json)
			lines_json(&b, json_pack("{s:s,s:s,s:s}", "word", x.word, "kind", x.kind,
			                         "title", x.title));
		else
			buf_printf(&b, "%-20s %-24s %s\n", x.word, x.kind, x.title);
	r = tool_print(&b, e);
	buf_free(&b);
	return r;
}

/* An operand that is not a FILE. */
static int
explain(const char *word, const struct options *o, struct err *e)
{
	json_t *x = explain_word(word, e);

	if (x)
		return print(x, o, e);
	if (e->code != ERR_NONE)
		return -1;
	if (explain_is_code(word)) {
		err_set(e, ERR_NO, word, "unknown code");
	} else {
		errno = ENOENT;
		err_errno(e, word, "cannot be opened");
	}
	err_hint(e, "apr-explain --list has all words");
	near_words(e, word, entry_word);
	return -1;
}

/* ---- models ---- */

/* Read the values of one tensor (SIZE_MAX: of none) and what follows. item: the next of the
 * source, if more. Returns as explain_one. */
static int
measure(struct input *in, struct item *item, bool more, size_t index, struct tally *y,
        struct err *e)
{
	struct tensor *const *t = in->source->plan->tensors;
	const uint8_t *p;
	size_t n;
	int r = more;

	for (; r > 0; r = source_next(in->source, item, e)) {
		bool it = item->kind == ITEM_TENSOR && item->index == index;

		if (it && tally_begin(y, tensor_type(t[index]), tensor_items(t[index]), e) < 0)
			return -1;
		if (it && item->place)
			r = tally_range(y, item->place, in->source->name, e);
		while (!item->place && (r = source_read(in->source, &p, &n, e)) == 0 && n > 0)
			if (it)
				tally_add(y, p, n);
		if (r < 0)
			return -1;
		if (it)
			tally_end(y);
		if (it && input_may_stop(in, index))
			return 1;
	}
	return r;
}

/* Explains a tensor. Returns 1 if the rest of the input need not be read, 0 if all was read,
 * or -1. explain_all is alike. */
static int
explain_one(struct input *in, struct subject *s, struct item *item, bool more,
            const struct options *o, struct err *e)
{
	struct tally y = { .jobs = 0 };
	size_t index;
	json_t *x = NULL;
	bool known;
	int r;

	if (near_find(in->source->plan, o->tensor, in->source->name, &index, e) < 0)
		return -1;
	known = values_known(tensor_type(in->source->plan->tensors[index]));
	r = tally_open(&y, (unsigned)o->jobs, false, e);
	if (r == 0)
		r = measure(in, item, more, known ? index : SIZE_MAX, &y, e);
	if (r >= 0)
		x = explain_tensor(s, index, known ? &y.stats : NULL, e);
	tally_free(&y);
	return x && print(x, o, e) == 0 ? r : -1;
}

static int
explain_all(struct input *in, struct subject *s, struct item *item, bool more,
            const struct options *o, struct err *e)
{
	json_t *x = explain_model(s, e);

	if (!x || print(x, o, e) < 0)
		return -1;
	if (input_may_stop(in, SIZE_MAX)) /* before the first tensor */
		return 1;
	return measure(in, item, more, SIZE_MAX, NULL, e);
}

/* A name of an architecture without a row is not an error here. */
static int
open_subject(struct subject *s, struct source *source, struct item *item, bool *more,
             struct err *e)
{
	if (subject_read(s, source, NULL, item, more, e) == 0)
		return 0;
	if (e->code != ERR_NO || s->arch)
		return -1;
	*e = (struct err)ERR_INIT;
	return 0;
}

static int
explain_file(const char *path, const struct options *o, struct err *e)
{
	struct subject s = { .plan = NULL };
	struct input in;
	struct item item;
	bool more = false;
	int r = -1;

	input_trust(path, o->trusted);
	if (input_open(&in, path, e) == 0 &&
	    open_subject(&s, in.source, &item, &more, e) == 0) {
		r = o->tensor ? explain_one(&in, &s, &item, more, o, e)
		              : explain_all(&in, &s, &item, more, o, e);
	}
	subject_close(&s);
	return r > 0 ? input_abandon(&in, e) : input_close(&in, e);
}

int
main(int argc, char **argv)
{
	static struct options o;
	static const struct opt opts[] = {
		TEXT(0, "tensor", "NAME", &o.tensor, "explain one tensor of FILE"),
		FLAG(0, "list", &o.list, "list the words that can be explained"),
		FLAG(0, "json", &o.json, "print one object; with --list, one per line"),
		OPT_JOBS(&o.jobs),
		OPT_TRUSTED(&o.trusted),
		OPT_END
	};
	static const struct tool tool = {
		"apr-explain", "[--tensor NAME] [--json] [--list] [--trusted-key KEY] [-j N]\n"
		"[FILE | WORD]",
		"Explain a model, a tensor, an error code or a known failure.", opts, 1
	};
	struct err e = ERR_INIT;
	char **operands = tool_begin(&tool, argc, argv);
	const char *path = operands[0];

	if (!o.jobs)
		o.jobs = thread_count();
	if (o.list && (path || o.tensor))
		tool_misused(&e, "--list takes neither an operand nor --tensor");
	else if (o.list)
		list(&o, &e);
	else if (path && !o.tensor && strcmp(path, "-") != 0 && access(path, F_OK) < 0 &&
	         !strchr(path, '/'))
		explain(path, &o, &e);
	else if (tool_input(path, &e) && level_begin(getenv("APR_CPU"), tool_note, &e) == 0)
		explain_file(path, &o, &e);
	return tool_end(&e);
}
