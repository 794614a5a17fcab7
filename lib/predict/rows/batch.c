#include "predict/rows/batch.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "core/buf.h"
#include "core/mem.h"
#include "core/tasks.h"
#include "predict/rows/batch_put.h"
#include "predict/contrib.h"
#include "predict/rows/rows_numbers.h"

#define CHUNK (1u << 20) /* bytes of rows that are read before they are computed */
#define CHUNKS 3         /* under way: one is read and written while others are computed */
#define HELPERS 255u     /* threads besides the caller, at most */
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

/* Rows that are read together. */
struct chunk {
	struct buf text;
	size_t used;          /* bytes of the lines; the rest belongs to the next chunk */
	size_t searched;      /* bytes behind the lines, in which no line ends */
	struct line *lines;
	size_t line_count, line_cap;
	struct block *blocks;
	size_t block_count, block_cap;
	atomic_size_t next;   /* the first block that no thread has begun */
	size_t helped;        /* tasks that were started for it */
};

/* Chunks are a ring. One thread reads them, cuts them into lines, and puts their predictions in order;
 * it computes as well when it has to wait, and everything if it is alone. */
struct work {
	struct batch *b;
	struct chunk chunks[CHUNKS];
	size_t ring;           /* chunks that are used */
	size_t first, pending; /* chunks that are computed: the first one, their number */
	struct chunk *now;     /* the one behind them, which is read */
	struct tasks *tasks;   /* NULL: no other threads */
	size_t helpers;
	struct err *e;         /* of the caller */
	bool failed;           /* predictions end here */
	uint64_t number;       /* lines so far */
	bool begun;
	bool known;            /* lines or an array: it is clear which */
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
compute(const struct batch *b, struct block *x)
{
	const struct predictor *m = b->m;
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

/* ---- chunks ---- */

static void
compute_chunk(const struct batch *b, struct chunk *c)
{
	size_t i;

	while ((i = atomic_fetch_add(&c->next, 1)) < c->block_count)
		compute(b, &c->blocks[i]);
}

static void
run_task(void *ctx, size_t index)
{
	struct work *w = ctx;

	compute_chunk(w->b, &w->chunks[index / w->helpers]);
}

/* Puts the predictions of the first pending chunk once they are there. */
static int
put_first(struct work *w)
{
	struct chunk *c = &w->chunks[w->first];
	size_t i;

	compute_chunk(w->b, c);
	for (i = 0; i < c->helped; i++)
		tasks_await(w->tasks, w->first * w->helpers + i);
	w->first = (w->first + 1) % w->ring;
	w->pending--;
	for (i = 0; i < c->block_count && !w->failed; i++) {
		struct block *x = &c->blocks[i];

		if (x->out.n > 0 && w->b->put(w->b->ctx, x->out.p, x->out.n, w->e) < 0)
			w->failed = true;
		else if (x->e.code != ERR_NONE) {
			*w->e = x->e;
			w->failed = true;
		}
	}
	return w->failed ? -1 : 0;
}

static int
put_all(struct work *w)
{
	while (w->pending > 0 && !w->failed)
		put_first(w);
	return w->failed ? -1 : 0;
}

/* Divides the lines of this chunk into blocks, which are pending from now on. */
static int
divide(struct work *w, struct err *e)
{
	struct chunk *c = w->now;
	size_t i, each = batch_rows(w->b->m, w->b->what, c->line_count, w->b->jobs);

	if (predict_changes(w->b->m, w->number + c->line_count)) {
		if (put_all(w) < 0)
			return -1;
		predict_expect(w->b->m, w->number + c->line_count);
	}
	c->block_count = 0;
	if (mem_grow(&c->blocks, &c->block_cap, c->line_count / each + 1, sizeof *c->blocks) < 0)
		return err_memory(e);
	for (i = 0; i < c->line_count; i += each) {
		struct block *x = &c->blocks[c->block_count++];

		buf_clear(&x->out);
		x->e = (struct err)ERR_INIT;
		x->lines = c->lines + i;
		x->n = c->line_count - i < each ? c->line_count - i : each;
		x->number = w->number + i + 1;
	}
	w->number += c->line_count;
	w->pending += c->line_count > 0;
	return 0;
}

/* Lets other threads begin with a chunk. alone: this thread takes part at once. */
static void
start(struct work *w, struct chunk *c, bool alone)
{
	size_t i, most = c->block_count - (alone && c->block_count > 0);

	c->next = 0;
	c->helped = most < w->helpers ? most : w->helpers;
	for (i = 0; i < c->helped; i++)
		tasks_start(w->tasks, (size_t)(c - w->chunks) * w->helpers + i);
}

/* Goes on to a chunk that begins with what this one has left. -1 after an error. */
static int
advance(struct work *w)
{
	struct chunk *c = w->now, *to;
	size_t rest = c->text.n - c->used;

	if (c->used == 0)
		return 0;
	if (w->pending == w->ring && put_first(w) < 0)
		return -1;
	to = w->now = &w->chunks[(w->first + w->pending) % w->ring];
	if (to == c) {
		memmove(c->text.p, c->text.p + c->used, rest);
		c->text.n = rest;
	} else {
		buf_clear(&to->text);
		buf_put(&to->text, c->text.p + c->used, rest);
	}
	to->searched = rest;
	to->used = to->line_count = to->block_count = 0;
	return 0;
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
	struct chunk *c = w->now;

	if (!w->begun) {
		line = without_mark(line);
		if (begin(w, line, e) < 0)
			return -1;
		if (w->b->rows.header)
			return 0;
	}
	if (mem_grow(&c->lines, &c->line_cap, c->line_count + 1, sizeof *c->lines) < 0)
		return err_memory(e);
	c->lines[c->line_count++] = line;
	return 0;
}

/* Takes all whole lines of the text. last: the text ends here. */
static int
take_text(struct work *w, bool last, struct err *e)
{
	struct chunk *c = w->now;
	const char *p = (const char *)c->text.p, *end = c->text.n ? p + c->text.n : p, *stop;

	while (p < end) {
		stop = memchr(p + c->searched, '\n', (size_t)(end - p) - c->searched);
		if (!stop && !last)
			break;
		stop = stop ? stop : end;
		if (take_line(w, (struct line){ p, (size_t)(stop - p) }, e) < 0)
			return -1;
		p = stop < end ? stop + 1 : end;
		c->searched = 0;
	}
	c->searched = (size_t)(end - p);
	c->used = c->text.n - c->searched;
	if (divide(w, e) < 0)
		return -1;
	if (c->searched > BATCH_LINE)
		return err_set(e, ERR_CORRUPT, w->b->rows.where, "row %" PRIu64 " has more than %u bytes",
		               w->number + 1, BATCH_LINE);
	return 0;
}

/* ---- arrays ---- */

/* The header: 1 behind it, 0 if more of it must come, or -1. */
static int
begin_array(struct work *w, bool last, struct err *e)
{
	struct batch *b = w->b;
	struct buf o = { 0 }, *text = &w->now->text;
	size_t need = rows_npy_bytes(text->p, text->n);
	int r;

	if (text->n < need && !last)
		return 0;
	if (b->header == 1)
		return err_set(e, ERR_USAGE, NULL, "rows of the form npy have no header");
	if (b->rows.one_based)
		return err_set(e, ERR_USAGE, NULL, "--one-based: the rows are npy, not libsvm");
	if (rows_npy_begin(&b->rows, text->p, text->n, e) < 0)
		return -1;
	w->begun = true;
	text->n -= b->rows.npy.at;
	memmove(text->p, text->p + b->rows.npy.at, text->n);
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
	const struct buf *text = &w->now->text;
	bool array = text->n > 0 && rows_npy_probe(text->p, text->n);
	int r;

	if (w->known || (form != ROWS_NPY && form != ROWS_UNKNOWN))
		return 1;
	if (!last && text->n < 6 && (form == ROWS_NPY || (text->n > 0 && text->p[0] == 0x93)))
		return 0;
	if (!array && form == ROWS_NPY)
		return err_set(e, ERR_CORRUPT, w->b->rows.where, "is not an array of NumPy");
	r = array ? begin_array(w, last, e) : 1;
	w->known = r == 1;
	return r;
}

/* Takes all whole rows of the array. In Fortran's order, they are whole when the last one is. */
static int
take_array(struct work *w, bool last, struct err *e)
{
	const struct rows *rows = &w->b->rows;
	struct chunk *c = w->now;
	uint64_t i, left = rows->count - w->number, n = c->text.n / rows->bytes;
	size_t step = rows->npy.fortran ? rows->npy.element : (size_t)rows->bytes;

	if (rows->npy.fortran && !last)
		return 0;
	n = n > left ? left : rows->npy.fortran && n < left ? 0 : n;
	for (i = 0; i < n; i++)
		if (take_line(w, (struct line){ (const char *)c->text.p + i * step, step }, e) < 0)
			return -1;
	c->used = (size_t)(n * rows->bytes);
	if (divide(w, e) < 0)
		return -1;
	if (last && n < left)
		return err_set(e, ERR_CORRUPT, rows->where, "the array ends behind row %" PRIu64 " of %" PRIu64,
		               w->number, rows->count);
	if (n == left && c->used < c->text.n)
		return err_set(e, ERR_CORRUPT, rows->where, "something follows the array");
	return 0;
}

/* Takes the whole rows among what has been read. */
static int
take(struct work *w, bool last, struct err *e)
{
	int r = find_form(w, last, e);

	if (r < 1)
		return r;
	return w->b->rows.form == ROWS_NPY ? take_array(w, last, e) : take_text(w, last, e);
}

/* Reads until there is enough for all threads, or nothing more has arrived. False at the end. */
static bool
fill(struct buf *text, struct reader *r)
{
	size_t from = text->n, n = 0;
	const uint8_t *p;

	do {
		if (reader_at_end(r))
			break;
		p = reader_some(r, READER_STEP, &n);
		if (!p)
			break;
		buf_put(text, p, n);
	} while (n == READER_STEP && text->n - from < CHUNK);
	buf_room(text, ROWS_NUMBERS_SLACK);
	return !r->failed && !(r->eof && r->at == r->fill);
}

/* Reads, and has the chunks computed. Waits for more rows only when all predictions so far are put. */
static int
run(struct work *w, struct reader *r, struct err *e)
{
	bool more = true, ahead;
	int status = 0;

	while (more && status == 0) {
		more = fill(&w->now->text, r);
		status = r->failed ? -1 : buf_ok(&w->now->text) ? take(w, !more, e) : err_memory(e);
		ahead = w->tasks && more && status == 0 && reader_ready(r);
		start(w, w->now, !ahead);
		if ((!ahead && put_all(w) < 0) || (status == 0 && advance(w) < 0))
			status = -1;
	}
	return put_all(w) < 0 ? -1 : status;
}

static void
work_free(struct work *w)
{
	struct chunk *c;
	size_t i;

	tasks_free(w->tasks);
	for (c = w->chunks; c < w->chunks + CHUNKS; c++) {
		for (i = 0; i < c->block_cap; i++)
			buf_free(&c->blocks[i].out);
		free(c->blocks);
		free(c->lines);
		buf_free(&c->text);
	}
}

int
batch_run(struct batch *b, struct reader *r, struct err *e)
{
	struct err late = ERR_INIT, *before = r->err;
	struct work w = { .b = b, .e = e, .ring = 1, .now = w.chunks };
	int status;

	b->rows.slack = true;
	w.helpers = b->jobs > 1 ? b->jobs - 1 < HELPERS ? b->jobs - 1 : HELPERS : 0;
	if (w.helpers && !(w.tasks = tasks_new((unsigned)w.helpers, CHUNKS * w.helpers, run_task, &w)))
		return err_memory(e);
	w.ring = w.tasks ? CHUNKS : 1;
	r->err = &late; /* comes behind the predictions of what was read before */
	status = run(&w, r, &late);
	r->err = before;
	if (status < 0 && !w.failed && late.code != ERR_NONE)
		*e = late;
	work_free(&w);
	return status;
}
