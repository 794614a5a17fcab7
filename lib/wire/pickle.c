/* The machine: it reads opcodes and their arguments, and runs them. */
#include "wire/pickle.h"

#include <stdlib.h>
#include <string.h>

#include "core/le.h"
#include "wire/pickle_machine.h"

int
pickle_bad(struct pickle *k, size_t at, const char *what)
{
	struct buf b = { 0 };

	if (k->err->code == ERR_NONE && k->call_count > 0) {
		pickle_show(k, k->calls[0], &b);
		err_set(k->err, ERR_CORRUPT, k->where, "is a damaged pickle: %s at byte %zu; "
		        "before that it calls %.300s", what, at, buf_string(&b) ? (char *)b.p : "");
		buf_free(&b);
		return -1;
	}
	return err_set(k->err, ERR_CORRUPT, k->where, "is a damaged pickle: %s at byte %zu", what,
	               at);
}

/* ---- arguments ---- */

static int
read_line(struct pickle *k, const uint8_t **p, size_t *n)
{
	const uint8_t *end;

	*p = k->p + k->at;
	end = memchr(*p, '\n', k->n - k->at);
	if (!end)
		return pickle_bad(k, k->at, "a line that does not end");
	*n = (size_t)(end - *p);
	k->at += *n + 1;
	return 0;
}

/* A number of 1, 2, 4 or 8 bytes. */
static int
read_number(struct pickle *k, unsigned bytes, uint64_t *v)
{
	uint8_t b[8] = { 0 };

	if (k->n - k->at < bytes)
		return pickle_bad(k, k->at, "the end of the pickle inside an opcode");
	memcpy(b, k->p + k->at, bytes);
	k->at += bytes;
	*v = le64(b);
	return 0;
}

static int
read_arg(struct pickle *k, enum pickle_form form, struct pickle_arg *a)
{
	static const uint8_t width[] = { [ONE] = 1, [TWO] = 2, [FOUR] = 4, [EIGHT] = 8,
		[BYTES1] = 1, [BYTES4] = 4, [BYTES8] = 8, [LINE] = 0, [LINES] = 0 };

	*a = (struct pickle_arg){ 0 };
	if (form == LINE || form == LINES) {
		if (read_line(k, &a->p, &a->n) < 0)
			return -1;
		return form == LINES ? read_line(k, &a->q, &a->m) : 0;
	}
	if (width[form] && read_number(k, width[form], &a->v) < 0)
		return -1;
	if (form < BYTES1)
		return 0;
	if (a->v > k->n - k->at)
		return pickle_bad(k, k->at, "bytes that reach past the end of the pickle");
	a->p = k->p + k->at;
	a->n = (size_t)a->v;
	k->at += a->n;
	return 0;
}

/* ---- what follows an object ---- */

static int
take_bytes(struct pickle *k, pickle_ref object, uint64_t n, bool padded)
{
	uint64_t gap = 0;
	pickle_ref bytes;

	if (padded && read_number(k, 1, &gap) < 0)
		return -1;
	if (gap > k->n - k->at || n > k->n - k->at - gap)
		return pickle_bad(k, k->at, "an array that reaches past the end of the pickle");
	k->at += (size_t)gap;
	bytes = pickle_new_bytes(k, PICKLE_BYTES, k->p + k->at, (size_t)n);
	k->at += (size_t)n;
	return bytes == PICKLE_NOTHING ? -1 : pickle_append(k, object, bytes);
}

int
pickle_take_behind(struct pickle *k, pickle_ref object)
{
	uint64_t n = 0;
	enum pickle_behind what = k->behind ? k->behind(k, object, &n) : PICKLE_BEHIND_NOTHING;

	if (what == PICKLE_BEHIND_NOTHING || what == PICKLE_BEHIND_WRONG)
		return what == PICKLE_BEHIND_NOTHING ? 0 : -1;
	if (what != PICKLE_BEHIND_PICKLE)
		return take_bytes(k, object, n, what == PICKLE_BEHIND_PADDED);
	if (k->outer.inside)
		return pickle_bad(k, k->at, "a pickle inside a pickle inside a pickle");
	k->outer = (struct pickle_outer){ true, object, k->memo, k->memo_cap, k->memo_count, k->depth, k->mark_count };
	k->memo = NULL;
	k->memo_cap = k->memo_count = 0;
	return 0;
}

/* The end of a pickle behind an object. */
static int
leave_inside(struct pickle *k)
{
	struct pickle_outer *o = &k->outer;

	if (k->mark_count != o->mark_count || k->depth != o->depth + 1)
		return pickle_bad(k, k->at, "a pickle inside that does not leave one value");
	free(k->memo);
	k->memo = o->memo;
	k->memo_cap = o->memo_cap;
	k->memo_count = o->memo_count;
	k->depth = o->depth;
	o->memo = NULL;
	o->inside = false;
	return pickle_append(k, o->object, k->stack[k->depth]);
}

/* ---- reading ---- */

/* Names that execute and are not called: something outside the pickle might call them. */
static int
record_names(struct pickle *k)
{
	size_t i;

	for (i = 0; i < k->node_count; i++)
		if (k->nodes[i].kind == PICKLE_GLOBAL && k->nodes[i].what == PICKLE_EXECUTES &&
		    !k->nodes[i].called && pickle_record(k, (pickle_ref)i) < 0)
			return -1;
	return 0;
}

static int
finish(struct pickle *k)
{
	if (k->mark_count)
		return pickle_bad(k, k->at, "an end above a mark");
	if (k->depth == 0)
		return pickle_bad(k, k->at, "an opcode that finds too little on the stack");
	k->root = k->stack[k->depth - 1];
	k->end = k->at;
	return record_names(k);
}

int
pickle_read(struct pickle *k, const uint8_t *p, size_t n, struct err *e)
{
	const struct pickle_op *op;
	struct pickle_arg a;

	k->p = p;
	k->n = n;
	k->err = e;
	k->root = PICKLE_NOTHING;
	if (pickle_grow(k, &k->stack, &k->stack_cap, 1, sizeof *k->stack) < 0)
		return -1;
	while (k->at < n) {
		uint8_t c = p[k->at++];

		if (c == '.' && !k->outer.inside)
			return finish(k);
		if (c == '.') {
			if (leave_inside(k) < 0)
				return -1;
			continue;
		}
		op = &pickle_ops[c];
		if (op->form == NOT_AN_OPCODE)
			return pickle_bad(k, k->at - 1, "an opcode that does not exist");
		if (read_arg(k, op->form, &a) < 0 || op->run(k, &a, op->with) < 0)
			return -1;
	}
	return pickle_bad(k, n, "no end");
}

void
pickle_free(struct pickle *k)
{
	free(k->nodes);
	free(k->cells);
	free(k->stack);
	free(k->memo);
	free(k->outer.memo);
	free(k->marks);
	buf_free(&k->text);
	k->nodes = NULL;
	k->cells = NULL;
	k->stack = k->memo = k->outer.memo = k->marks = NULL;
	k->node_count = k->cell_count = 0;
}
