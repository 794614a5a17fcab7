#include "merge/agree.h"

#include <string.h>

#include "arch/guess.h"

int
merge_check_architecture(const struct merge_input *a, const struct merge_input *b, struct err *e)
{
	const struct arch *x = a->subject.arch, *y = b->subject.arch;
	char p[ARCH_NAME], q[ARCH_NAME];

	if (x && y && strcmp(x->name, y->name) == 0)
		return 0;
	if (!arch_said_text(merge_input_plan(a), p) || !arch_said_text(merge_input_plan(b), q) ||
	    strcmp(p, q) == 0)
		return 0;
	return err_set(e, ERR_INVALID, b->name, "its architecture is %s, and that of %s is %s", q,
	               a->name, p);
}

int
merge_missing(const struct merge_input *in, const char *name, const struct merge_input *other,
              struct err *e)
{
	return err_set(e, ERR_INVALID, in->name, "lacks the tensor %s of %s", name, other->name);
}

/* Compare the dimensions from number `first` on. */
static int
check_dims(const struct merge_input *a, const struct tensor *x, const struct merge_input *b,
           const struct tensor *y, unsigned first, struct err *e)
{
	char p[TENSOR_SHAPE_TEXT], q[TENSOR_SHAPE_TEXT];
	unsigned n = tensor_ndim(x);

	if (tensor_ndim(y) == n && n >= first &&
	    memcmp(tensor_dims(x) + first, tensor_dims(y) + first, (n - first) * sizeof(uint64_t)) == 0)
		return 0;
	return err_set(e, ERR_INVALID, b->name, "its tensor %s is %s, and that of %s is %s",
	               tensor_name(y), tensor_shape_text(y, q), a->name, tensor_shape_text(x, p));
}

int
merge_check_shape(const struct merge_input *a, const struct tensor *x,
                  const struct merge_input *b, const struct tensor *y, struct err *e)
{
	return check_dims(a, x, b, y, 0, e);
}

int
merge_check_rows(const struct merge_input *a, const struct tensor *x,
                 const struct merge_input *b, const struct tensor *y, struct err *e)
{
	return check_dims(a, x, b, y, 1, e);
}

int
merge_check_others(const struct merge_input *a, const struct merge_input *b, struct err *e)
{
	const struct model *m = merge_input_plan(b);
	size_t i;

	for (i = 0; i < m->tensor_count; i++)
		if (merge_input_find(a, tensor_name(m->tensors[i])) == SIZE_MAX)
			return merge_missing(a, tensor_name(m->tensors[i]), b, e);
	return 0;
}
