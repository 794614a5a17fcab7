#include "cli/select.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/mem.h"

static int
compile(const struct opt_list *list, struct pattern **out, size_t *n, struct err *e)
{
	*out = mem_array(list->n, sizeof **out);
	if (!*out)
		return err_memory(e);
	for (; *n < list->n; (*n)++)
		if (pattern_open(&(*out)[*n], list->items[*n], e) < 0)
			return -1;
	return 0;
}

/* Whether any pattern matches. All are tried, to notice those that match no tensor. */
static int
any(struct pattern *p, size_t n, const char *name, struct err *e)
{
	int hit = 0;

	for (; n > 0; n--, p++) {
		int r = pattern_match(p, name, e);

		if (r < 0)
			return -1;
		hit |= r;
	}
	return hit;
}

static int
all_used(const struct pattern *p, size_t n, struct err *e)
{
	for (; n > 0; n--, p++)
		if (p->matches == 0)
			return err_set(e, ERR_USAGE, p->text, "matches no tensor");
	return 0;
}

static int
choose(void *ctx, struct model *m, struct err *e)
{
	struct selection *s = ctx;
	size_t i;

	s->keep = mem_array(m->tensor_count, sizeof *s->keep);
	if (!s->keep)
		return err_memory(e);
	for (i = 0; i < m->tensor_count; i++) {
		const char *name = tensor_name(m->tensors[i]);
		int in = s->only_n ? any(s->only, s->only_n, name, e) : 1;
		int out = any(s->except, s->except_n, name, e);

		if (in < 0 || out < 0)
			return -1;
		s->keep[i] = in && !out;
	}
	if (all_used(s->only, s->only_n, e) < 0 || all_used(s->except, s->except_n, e) < 0)
		return -1;
	return model_keep(m, s->keep, e);
}

/* Dropped tensors need not even be read. */
static const bool *
wanted(void *ctx)
{
	return ((const struct selection *)ctx)->keep;
}

static int
pass(void *ctx, const struct item *in, struct item *out, struct err *e)
{
	const struct selection *s = ctx;

	(void)out;
	(void)e;
	return in->kind == ITEM_TENSOR && !s->keep[in->index];
}

/* Sets the operation, such as "apr-unpack --only X", which is recorded if a signature
 * ends here. */
static void
describe(struct selection *s, const struct select_options *o, const char *tool)
{
	size_t i, n = (size_t)snprintf(s->operation, sizeof s->operation, "%s", tool);

	for (i = 0; i < o->only.n + o->except.n && n < sizeof s->operation; i++)
		n += (size_t)snprintf(s->operation + n, sizeof s->operation - n, " --%s %s",
		                      i < o->only.n ? "only" : "except",
		                      i < o->only.n ? o->only.items[i]
		                                    : o->except.items[i - o->only.n]);
}

int
select_open(struct selection *s, const struct select_options *o, const char *tool,
            struct flow *f, struct err *e)
{
	*s = (struct selection){ 0 };
	if (compile(&o->only, &s->only, &s->only_n, e) < 0 ||
	    compile(&o->except, &s->except, &s->except_n, e) < 0)
		return -1;
	if (s->only_n + s->except_n == 0)
		return 0;
	describe(s, o, tool);
	f->plan = choose;
	f->item = pass;
	f->wanted = wanted;
	f->ctx = s;
	f->operation = s->operation;
	return 0;
}

void
select_close(struct selection *s)
{
	while (s->only_n > 0)
		pattern_close(&s->only[--s->only_n]);
	while (s->except_n > 0)
		pattern_close(&s->except[--s->except_n]);
	free(s->only);
	free(s->except);
	free(s->keep);
	*s = (struct selection){ 0 };
}
