#include "stage/conversion.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/mem.h"
#include "quant/record.h"
#include "report/lines.h"
#include "report/recipe_text.h"
#include "stage/roles.h"

/* Prints an error line (recipe_put_error): of one tensor, or of all. */
static void
print_error(struct conversion *c, const char *name, const char *from, const char *to,
            const struct convert_stats *s)
{
	recipe_put_error(&c->text, name, from, to, s, c->json ? NULL : &c->table);
	c->print(&c->text);
}

/* Whether this reading of the model measures errors in order to print them. */
static bool
checks(const struct conversion *c)
{
	return c->check && !c->measured;
}

/* The recipe's row for an item; NULL if the item is not a tensor, or is left out. */
static const struct recipe_row *
row_of(const struct conversion *c, const struct item *in)
{
	if (in->kind != ITEM_TENSOR || c->row[in->index] == CONVERSION_GONE)
		return NULL;
	return &c->recipe.rows[c->row[in->index]];
}

static const struct tensor *
tensor_of(const struct conversion *c, const struct recipe_row *row)
{
	return c->plan.tensors[row - c->recipe.rows];
}

/* ---- hooks ---- */

static int
plan(void *ctx, struct model *out, struct err *e)
{
	struct conversion *c = ctx;

	if (recipe_apply(&c->recipe, c->how, out, e) < 0)
		return -1;
	return c->warning[0] ? record_warning(out, c->warning, e) : 0;
}

static int
item(void *ctx, const struct item *in, struct item *out, struct err *e)
{
	struct conversion *c = ctx;
	const struct recipe_row *row = row_of(c, in);
	struct recode_options how = { .jobs = c->jobs };

	out->same = !row || row->from == row->to;
	if (!row)
		return in->kind == ITEM_TENSOR;
	out->bytes = row->bytes;
	how.check = checks(c) || isfinite(c->max_rmse);
	how.importance = row->importance;
	how.clips = c->how->calibration != NULL;
	return recode_begin(&c->recode, tensor_of(c, row), row->to, &how, e);
}

static int
data(void *ctx, const struct item *in, const uint8_t *p, size_t n, struct sink *sink,
     struct err *e)
{
	struct conversion *c = ctx;

	return row_of(c, in) ? recode_add(&c->recode, p, n, sink, e) : 0;
}

static int
placed(void *ctx, const struct item *in, struct sink *sink, struct err *e)
{
	struct conversion *c = ctx;

	if (!row_of(c, in))
		return 1; /* it is left out */
	return recode_range(&c->recode, in->place, c->name, sink, e) < 0 ? -1 : 1;
}

static int
judge(struct conversion *c, const struct tensor *t, const struct recipe_row *row,
      struct err *e)
{
	int r;

	/* The first of two readings judged the same values and printed the notes. */
	if (c->measured && c->allow_nonfinite)
		return 0;
	r = recipe_judge(tensor_name(t), row->to, &c->recode.stats, c->allow_nonfinite,
	                 c->max_rmse, &c->text, e);
	if (r == 0)
		c->note(&c->text);
	return r;
}

static int
item_end(void *ctx, const struct item *in, struct sink *sink, struct err *e)
{
	struct conversion *c = ctx;
	const struct convert_stats *s = &c->recode.stats;
	const struct recipe_row *row = row_of(c, in);
	const struct tensor *t;

	if (!row)
		return 0;
	t = tensor_of(c, row);
	if (recode_end(&c->recode, sink, e) < 0 || judge(c, t, row, e) < 0)
		return -1;
	if (checks(c) && row->from != row->to) {
		print_error(c, tensor_name(t), row->from->name, row->to->name, s);
		convert_stats_add(&c->all, s);
		loss_add(&c->loss, t, row->to, s);
	}
	return 0;
}

static int
finish(void *ctx, struct sink *sink, struct err *e)
{
	struct conversion *c = ctx;

	(void)sink;
	(void)e;
	if (checks(c) && c->all.values)
		print_error(c, "all", "", "", &c->all);
	return 0;
}

/* ---- a conversion ---- */

/* The recipe, by the roles of tensors whose names are not those of GGUF. */
static int
make_recipe(struct conversion *c, struct err *e)
{
	struct recipe_options how = *c->how;
	struct roles roles;
	bool found;
	int r = roles_find(&roles, &c->plan, &found, e);

	if (found)
		how.model = &roles.model;
	if (r == 0)
		r = recipe_make(&c->recipe, &c->plan, &how, e);
	roles_free(&roles);
	return r;
}

/* The source's plan with the keys that a user sets and without pruned blocks. */
static int
shape(struct conversion *c, const struct model *source, struct err *e)
{
	const struct prune *prune = c->how->prune;
	const char *list = prune ? prune_list(prune, source) : NULL;
	size_t i, n = 0;

	c->row = mem_array(source->tensor_count, sizeof *c->row);
	if (!c->row)
		return err_memory(e);
	for (i = 0; i < source->tensor_count; i++)
		c->row[i] = !prune || prune_keeps(prune, tensor_name(source->tensors[i]))
		                ? n++ : CONVERSION_GONE;
	/* The number of blocks stays that of the whole model, because llama-quantize
	 * chooses types by it. */
	if (model_copy(&c->plan, source, e) < 0 ||
	    (c->how->keys && key_values_apply(c->how->keys, &c->plan, e) < 0) ||
	    (prune && prune_apply(prune, &c->plan, e) < 0))
		return -1;
	if (prune && prune->n)
		lines_note(&c->text, "%zu of %zu tensors are dropped", source->tensor_count - n,
		           source->tensor_count);
	if (list)
		lines_note(&c->text, "%.80s may list something for each block, and stays as it was",
		           list);
	c->note(&c->text);
	return 0;
}

int
conversion_begin(struct conversion *c, const struct model *source, const char *name,
                 struct err *e)
{
	c->name = name;
	if (shape(c, source, e) < 0 || make_recipe(c, e) < 0)
		return -1;
	c->table = recipe_table(&c->recipe, &c->plan);
	return 0;
}

void
conversion_measures(struct conversion *c, struct flow *f)
{
	*f = (struct flow){ .item = item, .data = data, .placed = placed,
		.item_end = item_end, .finish = finish, .ctx = c };
}

void
conversion_measured(struct conversion *c)
{
	c->measured = true;
	loss_text(&c->loss, c->warning);
}

void
conversion_hooks(struct conversion *c, struct flow *f)
{
	snprintf(c->operation, sizeof c->operation, "apr-quant %s%s", c->how->mixture->name,
	         c->how->how.pure ? " --pure" : "");
	conversion_measures(c, f);
	f->plan = plan;
	f->operation = c->operation;
}

/* Decide by the plan that arrives. */
static int
plan_first(void *ctx, struct model *out, struct err *e)
{
	struct conversion *c = ctx;

	if (conversion_begin(c, out, c->name, e) < 0 || recipe_allowed(&c->recipe, false, e) < 0)
		return -1;
	recipe_notes(&c->text, &c->recipe, &c->plan, c->how);
	c->note(&c->text);
	return plan(c, out, e);
}

void
conversion_stage(struct conversion *c, const char *name, struct flow *f)
{
	conversion_hooks(c, f);
	f->plan = plan_first;
	c->name = name;
}

void
conversion_free(struct conversion *c)
{
	recipe_free(&c->recipe);
	recode_free(&c->recode);
	buf_free(&c->text);
	model_free(&c->plan);
	free(c->row);
	c->row = NULL;
}
