#include "adapt/tensors/store.h"

#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "core/num.h"
#include "core/thread.h"

int
store_open(struct store *s, struct source *from, unsigned jobs, struct err *e)
{
	*s = (struct store){ .from = from, .jobs = jobs };
	s->at = mem_array(from->plan->tensor_count, sizeof *s->at);
	return s->at ? 0 : err_memory(e);
}

void
store_free(struct store *s)
{
	free(s->at);
	free(s->decoded);
	spool_free(&s->spool);
	*s = (struct store){ 0 };
}

/* ---- users ---- */

/* Call fn for each tensor of the plan that a row reads, once per piece. */
static void
each_source(struct store *s, const struct tensors_row *row,
            void (*fn)(struct store *s, size_t source))
{
	size_t i, k;

	for (i = 0; i < row->move.n; i++) {
		size_t source = row->move.pieces[i].source;

		if (source < s->t->sources) {
			fn(s, source);
			continue;
		}
		if (source >= s->t->sources + s->t->packed.count)
			continue;
		for (k = 0; k < PACKED_PARTS; k++) {
			size_t part = s->t->packed.p[source - s->t->sources].part[k];

			if (part != SIZE_MAX)
				fn(s, part);
		}
	}
}

static void
add_user(struct store *s, size_t source)
{
	s->at[source].users++;
}

static void
drop_user(struct store *s, size_t source)
{
	struct store_at *at = &s->at[source];

	if (at->users == 0 || --at->users > 0)
		return;
	if (at->where == STORE_SPOOL && --s->held == 0)
		spool_free(&s->spool);
	at->where = STORE_NOWHERE;
}

void
store_uses(struct store *s, const struct tensors *t)
{
	size_t i;

	s->t = t;
	s->counted = true;
	for (i = 0; i < t->count; i++)
		each_source(s, &t->rows[i], add_user);
}

void
store_done(struct store *s, const struct tensors_row *row)
{
	each_source(s, row, drop_user);
}

/* ---- taking ---- */

int
store_take(struct store *s, const struct item *item, struct err *e)
{
	struct store_at *at = &s->at[item->index];
	bool keeps = !s->counted || at->users > 0;
	const uint8_t *p;
	uint64_t zeros = 0;
	size_t n;

	at->gaps = item->gaps;
	if (item->place) {
		at->where = STORE_FILE;
		at->range = *item->place;
		return 0;
	}
	if (keeps) {
		at->where = STORE_SPOOL;
		at->at = s->spool.bytes;
		s->held++;
	}
	do {
		if (item->gaps && source_zeros(s->from, &zeros, e) < 0)
			return -1;
		if (keeps && zeros > 0 && spool_skip(&s->spool, zeros, e) < 0)
			return -1;
		if (source_read(s->from, &p, &n, e) < 0 ||
		    (keeps && n > 0 && spool_put(&s->spool, p, n, e) < 0))
			return -1;
	} while (n > 0);
	return 0;
}

/* ---- reading ---- */

static int
read_tensor(void *ctx, size_t source, uint64_t from, uint8_t *dst, size_t n, struct err *e)
{
	struct store *s = ctx;
	const struct store_at *at = &s->at[source];

	switch (at->where) {
	case STORE_FILE:
		if (range_read_wide(&at->range, from, dst, n, n > RANGE_PIECE * 8 ? s->jobs : 1) < 0)
			return range_fail(s->from->name, e);
		return 0;
	case STORE_SPOOL:
		return spool_get(&s->spool, at->at + from, dst, n, e);
	case STORE_WINDOW:
		if (from < at->at || from - at->at > s->window_bytes ||
		    n > s->window_bytes - (from - at->at))
			break;
		memcpy(dst, s->window + (from - at->at), n);
		return 0;
	case STORE_NOWHERE:
		break;
	}
	return err_set(e, ERR_CORRUPT, tensor_name(s->from->plan->tensors[source]),
	               "the source does not contain it");
}

uint64_t
store_zeros(void *ctx, size_t source, uint64_t from, uint64_t n)
{
	const struct store *s = ctx;
	const struct store_at *at;
	struct range file;

	if (source >= s->t->sources || !s->at[source].gaps)
		return 0;
	at = &s->at[source];
	if (at->where == STORE_FILE)
		return range_gap(&at->range, from, n);
	if (at->where != STORE_SPOOL || !s->spool.has_file || at->at + from >= s->spool.spilled)
		return 0;
	file = (struct range){ s->spool.fd, at->at };
	return range_gap(&file, from, num_min(n, s->spool.spilled - at->at - from));
}

bool
store_has_gaps(const struct store *s, const struct tensors_row *row)
{
	size_t i;

	for (i = 0; i < row->move.n; i++)
		if (row->move.pieces[i].source < s->t->sources && s->at[row->move.pieces[i].source].gaps)
			return true;
	return false;
}

static int
read_memory(const struct store *s, size_t i, uint64_t from, uint8_t *dst, size_t n,
            struct err *e)
{
	const struct tensors_bytes *m = &s->t->memory[i];

	if (from > m->n || n > m->n - from)
		return err_set(e, ERR_CORRUPT, s->from->name, "its key apr.origin has too few bytes");
	if (m->p)
		memcpy(dst, m->p + from, n);
	else
		memset(dst, 0, n);
	return 0;
}

/* Rows of a packed weight, divided among threads. */
struct rows {
	const struct packed *w;
	struct packed_reader in;
	uint64_t first, rows, part, bytes;
	uint8_t *dst;
	struct err *errs;
};

static void
decode(void *ctx, size_t i)
{
	const struct rows *r = ctx;
	uint64_t from = r->part * i, n = num_min(r->part, r->rows - from);
	uint8_t *dst = r->dst + from * r->bytes;

	if (tensor_type(r->w->tensor)->items > 1)
		packed_blocks(r->w, &r->in, r->first + from, n, dst, &r->errs[i]);
	else
		packed_rows(r->w, &r->in, r->first + from, n, (float *)(void *)dst, &r->errs[i]);
}

/* Whether threads may read all parts of a weight at the same time. */
static bool
in_files(const struct store *s, const struct packed *w)
{
	size_t k;

	for (k = 0; k < PACKED_PARTS; k++)
		if (w->part[k] != SIZE_MAX && s->at[w->part[k]].where != STORE_FILE)
			return false;
	return true;
}

static int
decode_rows(struct store *s, const struct packed *w, uint64_t first, uint64_t rows,
            uint64_t bytes, struct err *e)
{
	struct err errs[64] = { ERR_INIT };
	struct rows r = { .w = w, .in = { read_tensor, s }, .first = first, .rows = rows,
		.bytes = bytes, .dst = s->decoded, .errs = errs };
	uint64_t parts = in_files(s, w) ? num_min(num_min(s->jobs, rows), 64) : 1;
	size_t i;

	r.part = (rows + parts - 1) / parts;
	parts = (rows + r.part - 1) / r.part;
	thread_for((unsigned)parts, (size_t)parts, decode, &r);
	for (i = 0; i < parts; i++)
		if (errs[i].code != ERR_NONE) {
			*e = errs[i];
			return -1;
		}
	return 0;
}

int
store_read(void *ctx, size_t source, uint64_t from, uint8_t *dst, size_t n, struct err *e)
{
	struct store *s = ctx;
	const struct packed *w;
	uint64_t row, first, rows;
	size_t part;

	if (source < s->t->sources)
		return read_tensor(s, source, from, dst, n, e);
	if (source >= s->t->sources + s->t->packed.count)
		return read_memory(s, source - s->t->sources - s->t->packed.count, from, dst, n, e);
	w = &s->t->packed.p[source - s->t->sources];
	row = dtype_span(tensor_type(w->tensor), (size_t)tensor_row(w->tensor));
	for (; n > 0; n -= part, from += part, dst += part) {
		first = from / row;
		rows = num_min((from + n - 1) / row - first + 1, 1 + ((4u << 20) - 1) / row);
		part = (size_t)num_min(n, (first + rows) * row - from);
		if (mem_grow(&s->decoded, &s->decoded_cap, (size_t)(rows * row), 1) < 0)
			return err_memory(e);
		if (decode_rows(s, w, first, rows, row, e) < 0)
			return -1;
		memcpy(dst, s->decoded + (from - first * row), part);
	}
	return 0;
}

int
store_equal(void *ctx, size_t a, size_t b, struct err *e)
{
	struct store *s = ctx;
	uint64_t all = tensor_bytes(s->from->plan->tensors[a]), at;
	size_t piece = 1u << 20, n;
	uint8_t *x = mem_array(2, piece);
	int same = x ? 1 : err_memory(e);

	for (at = 0; same == 1 && at < all; at += n) {
		n = (size_t)num_min(piece, all - at);
		if (read_tensor(s, a, at, x, n, e) < 0 || read_tensor(s, b, at, x + piece, n, e) < 0)
			same = -1;
		else
			same = memcmp(x, x + piece, n) == 0;
	}
	free(x);
	return same;
}
