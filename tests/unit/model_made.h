/* model_made: a model in memory (memory.h) as an input of apr-merge, apr-prune and apr-lowrank. */
#ifndef MODEL_MADE_H
#define MODEL_MADE_H

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/le.h"
#include "memory.h"
#include "merge/input.h"

struct made {
	struct memory memory;
	struct merge_input input;
	struct err e;             /* of the last made_read */
};

static void
made_open(struct made *m)
{
	memory_open(&m->memory);
	m->input = (struct merge_input){ .operation = "test" };
}

static void
made_close(struct made *m)
{
	merge_input_close(&m->input);
	memory_close(&m->memory);
}

static void
made_wire(struct made *m, const char *key, struct value_type type, const void *wire, size_t n)
{
	struct err e = ERR_INIT;

	if (model_set_meta(&m->memory.plan, key, type, wire, n, &e) < 0)
		exit(1);
}

__attribute__((unused)) static void
made_number(struct made *m, const char *key, uint32_t n)
{
	uint8_t wire[4];

	le32_put(wire, n);
	made_wire(m, key, (struct value_type){ 0, VALUE_U32 }, wire, sizeof wire);
}

__attribute__((unused)) static void
made_text(struct made *m, const char *key, const char *text)
{
	uint8_t wire[256];

	le64_put(wire, strlen(text));
	memcpy(wire + 8, text, strlen(text));
	made_wire(m, key, (struct value_type){ 0, VALUE_STRING }, wire, 8 + strlen(text));
}

/* Add a tensor of rows × columns, or of columns if rows is 0. Returns its bytes, which are zero. */
static uint8_t *
made_tensor(struct made *m, const char *name, const char *type, uint64_t rows, uint64_t columns)
{
	const uint64_t dims[] = { rows, columns };
	struct err e = ERR_INIT;
	struct tensor *t = tensor_new(name, strlen(name), dtype_by_name(type), rows ? 2 : 1,
	                              rows ? dims : dims + 1, TENSOR_OWN_SIZE, "made", &e);

	if (!t) {
		printf("# %s: %s\n", name, e.fact);
		exit(1);
	}
	return memory_add(&m->memory, t);
}

/* The same of F32, with values 1, 2, … from `first` on. */
__attribute__((unused)) static void
made_floats(struct made *m, const char *name, uint64_t rows, uint64_t columns, float first)
{
	uint8_t *p = made_tensor(m, name, "F32", rows, columns);
	uint64_t i, n = rows ? rows * columns : columns;

	for (i = 0; i < n; i++, first++)
		le_f32_put(p + 4 * i, first);
}

static int
made_read(struct made *m)
{
	m->e = (struct err)ERR_INIT;
	return merge_input_read(&m->input, &m->memory.source, NULL, NULL, false, 1, &m->e);
}

/* Read a source to its end: the bytes of its tensors, one after another. Returns their number, or -1
 * with e filled. */
__attribute__((unused)) static long
made_drain(struct source *s, uint8_t *to, size_t most, struct err *e)
{
	struct item item;
	const uint8_t *p;
	size_t all = 0, n;
	int r;

	while ((r = source_next(s, &item, e)) > 0) {
		do {
			if (source_read(s, &p, &n, e) < 0)
				return -1;
			if (item.kind != ITEM_TENSOR)
				continue;
			if (n > most - all)
				exit(1);
			memcpy(to + all, p, n);
			all += n;
		} while (n > 0);
	}
	return r < 0 ? -1 : (long)all;
}

#endif
