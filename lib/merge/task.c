/* The parameters of a row, and the record of all. */
#include <string.h>

#include "merge/plan.h"

static int
no_value(const struct merge_plan *p, const struct merge_row *row, enum merge_param param,
         struct err *e)
{
	const char *name = merge_param_row(param)->name;

	err_set(e, ERR_USAGE, tensor_name(row->t), "%s needs a value of %s for this tensor",
	        p->recipe->method->name, name);
	return err_hint(e, "--%s, or parameters of a recipe", name);
}

/* The value of a parameter of the whole, or of one model. */
static int
value_of(const struct merge_plan *p, const struct merge_row *row, const struct merge_part *part,
         enum merge_param param, double *to, struct err *e)
{
	const struct merge_vector *v = &row->vectors[0];
	char folder[MERGE_NAME];
	const char *name = merge_input_folder_name(&p->inputs[v->input], v->tensor, folder);

	if (merge_recipe_value(p->recipe, row->slice, part, param, tensor_name(row->t), name,
	                       row->position, to))
		return 0;
	return no_value(p, row, param, e);
}

static int
check_density(const struct blend_task *t, const char *name, struct err *e)
{
	size_t i;

	for (i = 0; t->method->keep == KEEP_RANKED && i < t->n; i++) {
		double density = t->model[PARAM_DENSITY][i], epsilon = t->model[PARAM_EPSILON][i];

		if (density > 0 && density < 1 && (density - epsilon <= 0 || density + epsilon >= 1))
			return err_set(e, ERR_USAGE, name, "density %g and epsilon %g: their sum and "
			               "difference must be between 0 and 1", density, epsilon);
	}
	return 0;
}

int
merge_row_task(const struct merge_plan *p, const struct merge_row *row, double *values,
               struct blend_task *t, struct err *e)
{
	const struct merge_slice *s = row->slice;
	const struct merge_method *m = p->recipe->method;
	unsigned ndim = tensor_ndim(row->t), i;
	double ignored;
	size_t k;

	*t = (struct blend_task){ .method = m, .name = tensor_name(row->t), .to = tensor_type(row->t),
		.n = s->n, .base = m->deltas && s->has_base, .values = tensor_items(row->t),
		.row = tensor_row(row->t), .rows = ndim > 1 ? tensor_dims(row->t)[0] : 1,
		.seed = p->o.seed, .compat = p->o.compat,
		.work = p->recipe->work ? p->recipe->work : dtype_by_name("F32") };
	for (i = 0; i < MERGE_PARAMS; i++) {
		if (!merge_method_default(m, i, &ignored))
			continue;
		if (!merge_param_row(i)->model) {
			if (value_of(p, row, NULL, i, &t->value[i], e) < 0)
				return -1;
			continue;
		}
		for (k = 0; k < s->n; k++)
			if (value_of(p, row, &s->parts[k], i, &values[i * MERGE_MODELS + k], e) < 0)
				return -1;
		t->model[i] = values + i * MERGE_MODELS;
	}
	return check_density(t, t->name, e);
}
