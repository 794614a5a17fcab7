#include "lora/delta.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "kernels/kernel.h"

uint64_t
lora_hit_row(const struct lora_hit *h, uint64_t row)
{
	uint64_t head, half, r;

	if (h->heads == 0)
		return row;
	half = h->part->outputs / h->heads / 2;
	head = row / (2 * half);
	r = row % (2 * half);
	return head * 2 * half + (h->to_pairs ? r % 2 * half + r / 2 : r % half * 2 + r / half);
}

/* All values of tensor i of the adapter, or NULL with e filled. */
static float *
decoded(const struct lora *l, size_t i, struct err *e)
{
	const struct tensor *t = l->w->plan->tensors[i];
	float *to = mem_array((size_t)tensor_items(t), sizeof *to);

	if (!to)
		err_memory(e);
	else
		kernel_decode(tensor_type(t), l->w->tensors[i], l->w->tensors[i] +
		              tensor_type(t)->head, to, (size_t)tensor_items(t));
	return to;
}

int
lora_delta_turn(float **m, size_t rows, size_t columns, struct err *e)
{
	float *to = mem_array(rows * columns, sizeof *to);
	size_t r, c;

	if (!to)
		return err_memory(e);
	for (r = 0; r < rows; r++)
		for (c = 0; c < columns; c++)
			to[c * rows + r] = (*m)[r * columns + c];
	free(*m);
	*m = to;
	return 0;
}

/* Rows of the tensor take those of the adapter, width values each. */
static int
reorder(const struct lora_hit *h, float **m, size_t rows, size_t width, struct err *e)
{
	float *to;
	size_t r;

	if (h->heads == 0 || !*m)
		return 0;
	to = mem_array(rows * width, sizeof *to);
	if (!to)
		return err_memory(e);
	for (r = 0; r < rows; r++)
		memcpy(to + r * width, *m + lora_hit_row(h, r) * width, width * sizeof *to);
	free(*m);
	*m = to;
	return 0;
}

int
lora_delta_make(struct lora_delta *d, const struct lora_hit *h, struct err *e)
{
	const struct lora_part *p = h->part;
	size_t rank = (size_t)p->rank, inputs = (size_t)p->inputs, outputs = (size_t)p->outputs;
	float *a, *b;

	*d = (struct lora_delta){ .rank = rank, .scale = p->scale,
		.rows = h->turned ? inputs : outputs, .columns = h->turned ? outputs : inputs };
	a = decoded(h->lora, p->a, e);
	b = a ? decoded(h->lora, p->b, e) : NULL;
	d->left = h->turned ? a : b;
	d->right = h->turned ? b : a;
	if (!b)
		return -1;
	if (p->magnitude != SIZE_MAX && !(d->magnitude = decoded(h->lora, p->magnitude, e)))
		return -1;
	if (p->magnitude != SIZE_MAX && h->turned)
		return err_set(e, ERR_FORMAT, p->name, "magnitudes of a transposed weight are not "
		               "supported");
	if (h->turned)
		return (p->a_turned ? 0 : lora_delta_turn(&d->left, rank, inputs, e)) < 0 ? -1
		       : lora_delta_turn(&d->right, outputs, rank, e);
	if (p->a_turned && lora_delta_turn(&d->right, inputs, rank, e) < 0)
		return -1;
	return reorder(h, &d->left, outputs, rank, e) < 0 ? -1
	       : reorder(h, &d->magnitude, outputs, 1, e);
}

void
lora_delta_free(struct lora_delta *d)
{
	free(d->left);
	free(d->right);
	free(d->magnitude);
	*d = (struct lora_delta){ 0 };
}

/* Give the row the length m. */
static void
stretch(float *row, size_t n, float m)
{
	double sum = 0;
	float factor;
	size_t j;

	for (j = 0; j < n; j++)
		sum += (double)row[j] * row[j];
	factor = sum > 0 ? m / (float)sqrt(sum) : 0;
	for (j = 0; j < n; j++)
		row[j] *= factor;
}

void
lora_delta_row(const struct lora_delta *d, size_t i, float *restrict row, float *restrict room)
{
	size_t k, j;

	memset(room, 0, d->columns * sizeof *room);
	for (k = 0; k < d->rank; k++) {
		const float *restrict right = d->right + k * d->columns;
		float left = d->left[i * d->rank + k];

		for (j = 0; j < d->columns; j++)
			room[j] += left * right[j];
	}
	for (j = 0; j < d->columns; j++)
		row[j] += d->scale * room[j];
	if (d->magnitude)
		stretch(row, d->columns, d->magnitude[i]);
}
