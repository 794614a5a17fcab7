/* source: a model that learnt, for a sink. */
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "core/num.h"
#include "train/train_parts.h"

#define PIECE ((uint64_t)256 << 10) /* bytes at a time */

struct trained {
	struct source source;   /* first */
	struct train_model *m;
	size_t blob, tensor;    /* to be sent next */
	const uint8_t *bytes;   /* of the item */
	uint64_t left;
	float *turned;          /* a transposed tensor, or NULL */
	size_t *parameter;      /* that a tensor is, plus 1; 0: none */
};

static int
send(struct trained *s, struct item *item, const void *bytes)
{
	s->bytes = bytes;
	s->left = item->bytes;
	return 1;
}

static int
next_blob(struct trained *s, struct item *item, struct err *e)
{
	const struct blob *b = &s->m->plan.blobs[s->blob];
	const struct weights_blob *from = &s->m->blobs[s->blob];

	*item = (struct item){ .kind = ITEM_BLOB, .index = s->blob++, .bytes = b->bytes };
	if (b->bytes > 0 && (!from->p || from->n != b->bytes))
		return err_set(e, ERR_MEMORY, b->name, "is too large to be kept");
	return send(s, item, from->p);
}

static int
next_tensor(struct trained *s, struct item *item, struct err *e)
{
	const size_t number = s->parameter[s->tensor];
	const struct train_param *p = number ? &s->m->params[number - 1] : NULL;
	const float *x;
	size_t r, c;

	*item = (struct item){ .kind = ITEM_TENSOR, .index = s->tensor,
		.bytes = tensor_bytes(s->m->plan.tensors[s->tensor]) };
	if (!p)
		return send(s, item, s->m->tensors[s->tensor++]);
	s->tensor++;
	x = s->m->value + p->at;
	if (!p->turned)
		return send(s, item, x);
	free(s->turned);
	s->turned = mem_array(p->count, sizeof *s->turned);
	if (!s->turned)
		return err_memory(e);
	for (r = 0; r < p->rows; r++)
		for (c = 0; c < p->columns; c++)
			s->turned[c * p->rows + r] = x[r * p->columns + c];
	return send(s, item, s->turned);
}

static int
trained_next(struct source *source, struct item *item, struct err *e)
{
	struct trained *s = (struct trained *)source;

	if (s->blob < s->m->plan.blob_count)
		return next_blob(s, item, e);
	if (s->tensor < s->m->plan.tensor_count)
		return next_tensor(s, item, e);
	return 0;
}

static int
trained_read(struct source *source, const uint8_t **p, size_t *n, struct err *e)
{
	struct trained *s = (struct trained *)source;

	(void)e;
	*n = (size_t)num_min(s->left, PIECE);
	*p = s->bytes;
	if (*n > 0)
		s->bytes += *n;
	s->left -= *n;
	return 0;
}

static void
trained_close(struct source *source)
{
	struct trained *s = (struct trained *)source;

	free(s->turned);
	free(s->parameter);
	free(s);
}

struct source *
train_source(struct train_model *m, struct err *e)
{
	static const struct source_ops ops = { .next = trained_next, .read = trained_read,
		.close = trained_close };
	struct trained *s = mem_array(1, sizeof *s);
	size_t i;

	if (!s || !(s->parameter = mem_array(m->plan.tensor_count, sizeof *s->parameter))) {
		free(s);
		err_memory(e);
		return NULL;
	}
	for (i = 0; i < m->param_count; i++)
		s->parameter[m->params[i].tensor] = i + 1;
	s->m = m;
	s->source = (struct source){ .plan = &m->plan, .ops = &ops, .name = "model" };
	return &s->source;
}
