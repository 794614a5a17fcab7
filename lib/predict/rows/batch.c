#include "predict/rows/batch.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/buf.h"
#include "core/mem.h"
#include "core/thread.h"
#include "predict/rows/batch_put.h"
#include "predict/contrib.h"
#include "predict/rows/rows_numbers.h"

#define CHUNK (1u << 20) /* bytes of rows that are read before they are computed */
#define VALUES (1u << 22) /* features of all rows of a block, about */

struct line {
	const char *p;
	size_t n;
};

/* Some rows that one thread computes. */
struct block {
	const struct line *lines;
	size_t n;
	uint64_t number; /* of the first line, from 1 */
	struct buf out;
	struct err e;
};

struct work {
	struct batch *b;
	struct buf text;      /* bytes that were read and not used */
	size_t searched;      /* of them, those without an end of a line */
	struct line *lines;
	size_t line_count, line_cap;
	struct block *blocks;
	size_t block_count, block_cap;
	uint64_t number;      /* lines so far */
	bool begun;
	bool known;           /* lines or an array: it is clear which */
};

int
batch_allows(const struct predictor *m, enum batch_what what, struct err *e)
{
	if (what == BATCH_LEAF && predict_trees(m) == 0)
		return err_set(e, ERR_USAGE, NULL, "--leaf: the model has no trees");
	if (what == BATCH_PROBA && (m->classes == 0 || m->task == PREDICT_CLUSTER))
		return err_set(e, ERR_USAGE, NULL, "--proba: the model is not a classifier");
	if (what == BATCH_PROBA && m->link == LINK_NONE)
		return err_set(e, ERR_USAGE, NULL, "--proba: the model gives no probabilities");
	return 0;
}

/* ---- blocks ---- */

/* The values of the widest rows between the steps, as far as their zeros are written out. */
static size_t
widest(const struct predictor *m)
{
	size_t i, most = 0;

	for (i = 0; i < m->step_count; i++) {
		const struct step *s = &m->steps[i];

		if (step_keeps_sparse(s))
			continue;
		most = s->in > most && !step_takes_sparse(s) ? s->in : most;
		most = s->out > most ? s->out : most;
	}
	return most;
}

size_t
batch_rows(const struct predictor *m, enum batch_what what, size_t n, unsigned jobs)
{
	size_t values = m->features + predict_trees(m) / 2 + 1, most;

	values += what == BATCH_CONTRIB ? contrib_columns(m) : 0;
	values += m->sparse ? 0 : m->outputs + (m->texts && m->form == PREDICT_LINEAR ? 0 : m->inner);
	values += widest(m);
	most = VALUES / values;
	n = n / (jobs ? jobs : 1) + 1;
	n = n < most ? n : most;
	return n < 1 ? 1 : n > FOREST_BLOCK ? FOREST_BLOCK : n;
}

/* What a block is computed in. */
struct room {
	struct step_rows rows, spare;
	struct buf text;
	struct step_text texts[FOREST_BLOCK];
	double *scores;
	uint32_t *leaves;
	bool missing;
};

/* Reads texts until one is wrong. */
static size_t
read_texts(const struct batch *b, struct block *x, struct room *r)
{
	size_t i, n, from, at = 0;

	for (n = 0; n < x->n; n++) {
		from = r->text.n;
		if (rows_read_text(&b->rows, x->lines[n].p, x->lines[n].n, x->number + n, &r->text, &x->e) < 0)
			break;
		r->texts[n].n = r->text.n - from;
	}
	for (i = 0; i < n; at += r->texts[i++].n)
		r->texts[i].p = (const char *)r->text.p + at;
	r->rows.texts = r->texts;
	return n;
}

/* Reads rows until one is wrong. */
static size_t
read_rows(const struct batch *b, struct block *x, struct room *r)
{
	size_t n;

	for (n = 0; n < x->n; n++)
		if (rows_read(&b->rows, x->lines[n].p, x->lines[n].n, x->number + n,
		              step_row(&r->rows, n), &r->missing, &r->text, &x->e) < 0)
			break;
	if (!buf_ok(&r->text)) {
		err_memory(&x->e);
		return 0;
	}
	r->rows.pool = &r->text;
	return n;
}

static int
room_begin(const struct batch *b, const struct block *x, struct room *r, struct err *e)
{
	const struct predictor *m = b->m;

	if (step_rows_begin(&r->rows, x->n, m->texts ? 0 : m->features, e) < 0)
		return -1;
	r->scores = mem_array(m->sparse ? 1 : x->n * batch_numbers(b) + predict_room(m), sizeof *r->scores);
	if (b->what == BATCH_LEAF)
		r->leaves = mem_array(x->n * predict_trees(m), sizeof *r->leaves);
	return !r->scores || (b->what == BATCH_LEAF && !r->leaves) ? err_memory(e) : 0;
}

static int
predict_part(const struct batch *b, struct room *r, struct err *e)
{
	if (b->what == BATCH_CONTRIB)
		return contrib_block(b->m, &r->rows, &r->spare, r->scores, e);
	return predict_block(b->m, &r->rows, &r->spare, r->missing, r->leaves ? NULL : r->scores, r->leaves, e);
}

static void
compute(void *ctx, size_t index)
{
	struct work *w = ctx;
	const struct batch *b = w->b;
	const struct predictor *m = b->m;
	struct block *x = &w->blocks[index];
	struct room *r = mem_array(1, sizeof *r);
	struct err e = ERR_INIT;
	size_t i, n = 0;

	if (!r || room_begin(b, x, r, &e) < 0) {
		x->e = e;
		goto end;
	}
	n = r->rows.n = (m->texts ? read_texts : read_rows)(b, x, r);
	if (n && predict_part(b, r, &e) < 0) {
		x->e = e;
		goto end;
	}
	for (i = 0; i < n; i++)
		if (m->sparse)
			batch_put_sparse(b, &x->out, &r->rows, i);
		else
			(b->rows.form == ROWS_NPY ? batch_npy_row : batch_put_row)(
			        b, &x->out, r->scores + i * batch_numbers(b),
			        r->leaves ? r->leaves + i * predict_trees(m) : NULL,
			        r->scores + x->n * batch_numbers(b));
	if (!buf_ok(&x->out))
		err_memory(&x->e);
end:
	if (r) {
		step_rows_free(&r->rows);
		step_rows_free(&r->spare);
		buf_free(&r->text);
		free(r->scores);
		free(r->leaves);
		free(r);
	}
}

static int
put_blocks(struct work *w, struct err *e)
{
	size_t i;

	for (i = 0; i < w->block_count; i++) {
		struct block *x = &w->blocks[i];

		if (x->out.n > 0 && w->b->put(w->b->ctx, x->out.p, x->out.n, e) < 0)
			return -1;
		if (x->e.code != ERR_NONE) {
			*e = x->e;
			return -1;
		}
	}
	return 0;
}

/* Computes the lines so far. */
static int
flush(struct work *w, struct err *e)
{
	size_t i, each = batch_rows(w->b->m, w->b->what, w->line_count, w->b->jobs);

	w->block_count = 0;
	predict_expect(w->b->m, w->number + w->line_count);
	if (mem_grow(&w->blocks, &w->block_cap, w->line_count / each + 1, sizeof *w->blocks) < 0)
		return err_memory(e);
	for (i = 0; i < w->line_count; i += each) {
		struct block *x = &w->blocks[w->block_count++];

		buf_clear(&x->out);
		x->e = (struct err)ERR_INIT;
		x->lines = w->lines + i;
		x->n = w->line_count - i < each ? w->line_count - i : each;
		x->number = w->number + i + 1;
	}
	thread_for(w->b->jobs, w->block_count, compute, w);
	w->number += w->line_count;
	w->line_count = 0;
	return put_blocks(w, e);
}

/* ---- lines ---- */

static int
begin(struct work *w, struct line first, struct err *e)
{
	struct batch *b = w->b;
	struct buf o = { 0 };
	int r;

	w->begun = true;
	if (rows_begin(&b->rows, first.p, first.n, b->header, e) < 0)
		return -1;
	if (!b->rows.header)
		return 0;
	w->number++;
	if (b->m->sparse)
		return 0;
	batch_put_header(b, &o);
	r = buf_ok(&o) ? b->put(b->ctx, o.p, o.n, e) : err_memory(e);
	buf_free(&o);
	return r;
}

/* The first line, without the mark that some programs put before UTF-8. */
static struct line
without_mark(struct line x)
{
	size_t n = x.n >= 3 && memcmp(x.p, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;

	return (struct line){ x.p + n, x.n - n };
}

static int
take_line(struct work *w, struct line line, struct err *e)
{
	if (!w->begun) {
		line = without_mark(line);
		if (begin(w, line, e) < 0)
			return -1;
		if (w->b->rows.header)
			return 0;
	}
	if (mem_grow(&w->lines, &w->line_cap, w->line_count + 1, sizeof *w->lines) < 0)
		return err_memory(e);
	w->lines[w->line_count++] = line;
	return 0;
}

/* Computes all whole lines of the text, and keeps the rest. last: the text ends here. */
static int
take_text(struct work *w, bool last, struct err *e)
{
	const char *p = (const char *)w->text.p, *end = w->text.n ? p + w->text.n : p, *stop;
	size_t rest;

	while (p < end) {
		stop = memchr(p + w->searched, '\n', (size_t)(end - p) - w->searched);
		if (!stop && !last)
			break;
		stop = stop ? stop : end;
		if (take_line(w, (struct line){ p, (size_t)(stop - p) }, e) < 0)
			return -1;
		p = stop < end ? stop + 1 : end;
		w->searched = 0;
	}
	if (flush(w, e) < 0)
		return -1;
	rest = (size_t)(end - p);
	if (rest > BATCH_LINE)
		return err_set(e, ERR_CORRUPT, w->b->rows.where, "row %" PRIu64 " has more than %u bytes",
		               w->number + 1, BATCH_LINE);
	if (rest < w->text.n)
		memmove(w->text.p, p, rest);
	w->text.n = w->searched = rest;
	return 0;
}

/* ---- arrays ---- */

/* The header: 1 behind it, 0 if more of it must come, or -1. */
static int
begin_array(struct work *w, bool last, struct err *e)
{
	struct batch *b = w->b;
	struct buf o = { 0 };
	size_t need = rows_npy_bytes(w->text.p, w->text.n);
	int r;

	if (w->text.n < need && !last)
		return 0;
	if (b->header == 1)
		return err_set(e, ERR_USAGE, NULL, "rows of the form npy have no header");
	if (b->rows.one_based)
		return err_set(e, ERR_USAGE, NULL, "--one-based: the rows are npy, not libsvm");
	if (rows_npy_begin(&b->rows, w->text.p, w->text.n, e) < 0)
		return -1;
	w->begun = true;
	w->text.n -= b->rows.npy.at;
	memmove(w->text.p, w->text.p + b->rows.npy.at, w->text.n);
	batch_npy_header(b, &o);
	r = buf_ok(&o) ? b->put(b->ctx, o.p, o.n, e) : err_memory(e);
	buf_free(&o);
	return r < 0 ? -1 : 1;
}

/* Whether the rows are an array: 1, or 0 if more of the text must come, or -1. */
static int
find_form(struct work *w, bool last, struct err *e)
{
	enum rows_form form = w->b->rows.form;
	bool array = w->text.n > 0 && rows_npy_probe(w->text.p, w->text.n);
	int r;

	if (w->known || (form != ROWS_NPY && form != ROWS_UNKNOWN))
		return 1;
	if (!last && w->text.n < 6 && (form == ROWS_NPY || (w->text.n > 0 && w->text.p[0] == 0x93)))
		return 0;
	if (!array && form == ROWS_NPY)
		return err_set(e, ERR_CORRUPT, w->b->rows.where, "is not an array of NumPy");
	r = array ? begin_array(w, last, e) : 1;
	w->known = r == 1;
	return r;
}

/* Computes all whole rows of the array, and keeps the rest. In Fortran's order, they are whole when the
 * last one is. */
static int
take_array(struct work *w, bool last, struct err *e)
{
	const struct rows *rows = &w->b->rows;
	uint64_t i, left = rows->count - w->number, n = w->text.n / rows->bytes;
	size_t step = rows->npy.fortran ? rows->npy.element : (size_t)rows->bytes, used;

	if (rows->npy.fortran && !last)
		return 0;
	n = n > left ? left : rows->npy.fortran && n < left ? 0 : n;
	for (i = 0; i < n; i++)
		if (take_line(w, (struct line){ (const char *)w->text.p + i * step, step }, e) < 0)
			return -1;
	if (flush(w, e) < 0)
		return -1;
	if (last && n < left)
		return err_set(e, ERR_CORRUPT, rows->where, "the array ends behind row %" PRIu64 " of %" PRIu64,
		               w->number, rows->count);
	used = (size_t)(n * rows->bytes);
	if (n == left && used < w->text.n)
		return err_set(e, ERR_CORRUPT, rows->where, "something follows the array");
	if (used > 0)
		memmove(w->text.p, w->text.p + used, w->text.n - used);
	w->text.n -= used;
	return 0;
}

/* Computes the whole rows among what has been read. */
static int
take(struct work *w, bool last, struct err *e)
{
	int r = find_form(w, last, e);

	if (r < 1)
		return r;
	return w->b->rows.form == ROWS_NPY ? take_array(w, last, e) : take_text(w, last, e);
}

/* Reads until there is enough for all threads, or nothing more has arrived. 1, 0 at the end. */
static int
fill(struct work *w, struct reader *r)
{
	size_t from = w->text.n, n = 0;
	const uint8_t *p;

	do {
		if (reader_at_end(r))
			break;
		p = reader_some(r, READER_STEP, &n);
		if (!p)
			break;
		buf_put(&w->text, p, n);
	} while (n == READER_STEP && w->text.n - from < CHUNK);
	buf_room(&w->text, ROWS_NUMBERS_SLACK);
	return !r->failed && !reader_at_end(r);
}

int
batch_run(struct batch *b, struct reader *r, struct err *e)
{
	struct work w = { .b = b };
	size_t i;
	int more = 1, status = 0;

	b->rows.slack = true;
	while (more && status == 0) {
		more = fill(&w, r);
		if (r->failed)
			status = -1;
		else if (!buf_ok(&w.text))
			status = err_memory(e);
		else
			status = take(&w, !more, e);
	}
	for (i = 0; i < w.block_cap; i++)
		buf_free(&w.blocks[i].out);
	free(w.blocks);
	free(w.lines);
	buf_free(&w.text);
	return status;
}
