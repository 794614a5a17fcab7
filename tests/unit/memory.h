/* memory: a model in memory as a source, whose tensors come in pieces. */
#ifndef MEMORY_H
#define MEMORY_H

#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "core/num.h"
#include "model/flow.h"

#define MEMORY_PIECE 1000 /* bytes */

struct memory {
	struct source source;
	struct model plan;
	uint8_t **data;     /* of each tensor; owned */
	size_t cap;
	size_t next, at;
};

static int
memory_next(struct source *s, struct item *item, struct err *e)
{
	struct memory *m = (struct memory *)s;

	(void)e;
	m->at = 0;
	if (m->next == m->plan.tensor_count)
		return 0;
	*item = (struct item){ .kind = ITEM_TENSOR, .index = m->next,
		.bytes = tensor_bytes(m->plan.tensors[m->next]) };
	m->next++;
	return 1;
}

static int
memory_read(struct source *s, const uint8_t **p, size_t *n, struct err *e)
{
	struct memory *m = (struct memory *)s;
	size_t i = m->next - 1, all = (size_t)tensor_bytes(m->plan.tensors[i]);

	(void)e;
	*n = (size_t)num_min(all - m->at, MEMORY_PIECE);
	*p = m->data[i] + m->at;
	m->at += *n;
	return 0;
}

static void
memory_end(struct source *s)
{
	(void)s;
}

static void
memory_open(struct memory *m)
{
	static const struct source_ops ops = { .next = memory_next, .read = memory_read,
		.close = memory_end };
	struct err e = ERR_INIT;

	*m = (struct memory){ 0 };
	if (model_init(&m->plan, &e) < 0)
		exit(1);
	m->source = (struct source){ .plan = &m->plan, .ops = &ops, .name = "memory" };
}

/* Add a tensor; takes it. Returns its bytes, all zero, to be filled. */
static uint8_t *
memory_add(struct memory *m, struct tensor *t)
{
	size_t i = m->plan.tensor_count;
	struct err e = ERR_INIT;

	if (mem_grow(&m->data, &m->cap, i + 1, sizeof *m->data) < 0 ||
	    !(m->data[i] = mem_array((size_t)tensor_bytes(t) + 1, 1)) ||
	    model_add_tensor(&m->plan, t, &e) < 0)
		exit(1);
	return m->data[i];
}

static void
memory_close(struct memory *m)
{
	size_t i;

	for (i = 0; i < m->plan.tensor_count; i++)
		free(m->data[i]);
	free(m->data);
	model_free(&m->plan);
}

#endif
