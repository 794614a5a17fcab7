#include "predict/batch.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/buf.h"
#include "core/json.h"
#include "core/mem.h"
#include "core/thread.h"
#include "predict/contrib.h"
#include "predict/decimal.h"

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

/* ---- predictions as text ---- */

static void
put_quoted(struct buf *o, const char *text)
{
	buf_text(o, "\"");
	for (; *text; text++)
		buf_printf(o, "%s%c", *text == '"' ? "\"" : "", *text);
	buf_text(o, "\"");
}

/* A name as a field of a table or in JSON. */
static void
put_text(const struct batch *b, struct buf *o, const char *text)
{
	if (b->rows.form == ROWS_JSON)
		json_quote(o, text, strlen(text));
	else if (!strpbrk(text, ",\t \"\n\r"))
		buf_text(o, text);
	else
		put_quoted(o, text);
}

static const char *
digits(const char *p)
{
	return p + strspn(p, "0123456789");
}

/* Whether a text is a number as JSON writes numbers: 007, .5 and 1. are not. */
static bool
is_json_number(const char *p)
{
	const char *from = p += *p == '-';

	p = *p == '0' ? p + 1 : digits(p);
	if (p == from)
		return false;
	if (*p == '.') {
		from = p + 1;
		p = digits(from);
		if (p == from)
			return false;
	}
	if (*p == 'e' || *p == 'E') {
		from = p + 1 + (p[1] == '-' || p[1] == '+');
		p = digits(from);
		if (p == from)
			return false;
	}
	return !*p;
}

static void
put_label(const struct batch *b, struct buf *o, size_t k)
{
	const char *text = b->m->labels ? b->m->labels[k] : NULL;

	if (!text)
		buf_printf(o, "%zu", k);
	else if (b->rows.form == ROWS_JSON && is_json_number(text))
		buf_text(o, text);
	else
		put_text(b, o, text);
}

static const char *
between(const struct batch *b)
{
	return b->rows.form == ROWS_TSV ? "\t" : b->rows.form == ROWS_SPACE || b->rows.form == ROWS_LIBSVM
	       ? " " : ",";
}

static void
put_number(const struct batch *b, struct buf *o, double v)
{
	if (b->rows.form == ROWS_JSON && !isfinite(v))
		buf_text(o, "null");
	else
		decimal_write(o, v, b->m->single);
}

/* The number of columns of an answer. */
static size_t
columns(const struct batch *b)
{
	switch (b->what) {
	case BATCH_RAW:
		return b->m->outputs;
	case BATCH_PROBA:
		return predict_columns(b->m);
	case BATCH_LEAF:
		return predict_trees(b->m);
	case BATCH_CONTRIB:
		return contrib_columns(b->m);
	default:
		return b->m->task == PREDICT_VALUE ? b->m->outputs : 1;
	}
}

static const char *const words[] = { "prediction", "proba", "raw", "contrib", "leaf" };

/* The k-th column: contrib_FEATURE or contrib_CLASS_FEATURE, by name or number. */
static void
name_contribution(const struct predictor *m, size_t k, struct buf *name)
{
	size_t output = k / (m->inner + 1), feature = k % (m->inner + 1);
	bool same = m->names && m->name_count == m->inner;

	buf_text(name, "contrib");
	if (m->outputs > 1 && m->labels)
		buf_printf(name, "_%s", m->labels[output]);
	else if (m->outputs > 1)
		buf_printf(name, "_%zu", output);
	if (feature == m->inner)
		buf_text(name, "_bias");
	else if (same)
		buf_printf(name, "_%s", m->names[feature]);
	else
		buf_printf(name, "_%zu", feature);
}

static void
put_header(const struct batch *b, struct buf *o)
{
	size_t k, n = columns(b);
	struct buf name = { 0 };

	for (k = 0; k < n; k++) {
		buf_clear(&name);
		if (b->what == BATCH_CONTRIB)
			name_contribution(b->m, k, &name);
		else
			buf_text(&name, words[b->what]);
		if (b->what == BATCH_PROBA && b->m->labels)
			buf_printf(&name, "_%s", b->m->labels[k]);
		else if (n > 1 && b->what != BATCH_CONTRIB)
			buf_printf(&name, "_%zu", k);
		buf_text(o, k ? between(b) : "");
		put_text(b, o, buf_string(&name));
	}
	buf_text(o, "\n");
	buf_free(&name);
}

static void
put_values(const struct batch *b, struct buf *o, const double *scores, const uint32_t *leaves,
           double *linked)
{
	size_t k, n = columns(b);
	const double *v = b->what == BATCH_RAW || b->what == BATCH_CONTRIB ? scores : linked;

	if (b->what == BATCH_PROBA || b->what == BATCH_PREDICTION)
		predict_link(b->m, scores, linked);
	for (k = 0; k < n; k++) {
		buf_text(o, k ? between(b) : "");
		if (b->what == BATCH_LEAF)
			buf_printf(o, "%" PRIu32, leaves[k]);
		else
			put_number(b, o, v[k]);
	}
}

/* The numbers that are computed for a row, before links. */
static size_t
numbers(const struct batch *b)
{
	return b->what == BATCH_CONTRIB ? contrib_columns(b->m) : b->m->outputs;
}

/* The answer for one row. linked: room for predict_room values. */
static void
put_row(const struct batch *b, struct buf *o, const double *scores, const uint32_t *leaves,
        double *linked)
{
	bool json = b->rows.form == ROWS_JSON, list = columns(b) > 1;

	if (json)
		buf_printf(o, "{\"%s\":%s", words[b->what], list ? "[" : "");
	if (b->what == BATCH_PREDICTION && b->m->task != PREDICT_VALUE)
		put_label(b, o, predict_label(b->m, scores));
	else
		put_values(b, o, scores, leaves, linked);
	buf_text(o, json ? list ? "]}\n" : "}\n" : "\n");
}

/* A row whose values are mostly zero: as libsvm writes it, without a label. */
static void
put_sparse(const struct batch *b, struct buf *o, const struct step_rows *x, size_t i)
{
	bool json = b->rows.form == ROWS_JSON;
	size_t k, from = step_from(x, i);

	if (json)
		buf_printf(o, "{\"%s\":{", words[b->what]);
	for (k = from; k < step_from(x, i + 1); k++) {
		buf_printf(o, json ? "%s\"%" PRIu32 "\":" : "%s%" PRIu32 ":",
		           k == from ? "" : json ? "," : " ", step_column(x, k));
		put_number(b, o, *step_value(x, k));
	}
	buf_text(o, json ? "}}\n" : "\n");
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
		most = s->in > most ? s->in : most;
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
		              step_row(&r->rows, n), &r->missing, &x->e) < 0)
			break;
	return n;
}

static int
room_begin(const struct batch *b, const struct block *x, struct room *r, struct err *e)
{
	const struct predictor *m = b->m;

	if (step_rows_begin(&r->rows, x->n, m->texts ? 0 : m->features, e) < 0)
		return -1;
	r->scores = mem_array(m->sparse ? 1 : x->n * numbers(b) + predict_room(m), sizeof *r->scores);
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
			put_sparse(b, &x->out, &r->rows, i);
		else
			put_row(b, &x->out, r->scores + i * numbers(b),
			        r->leaves ? r->leaves + i * predict_trees(m) : NULL,
			        r->scores + x->n * numbers(b));
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
	put_header(b, &o);
	r = buf_ok(&o) ? b->put(b->ctx, o.p, o.n, e) : err_memory(e);
	buf_free(&o);
	return r;
}

static int
take_line(struct work *w, struct line line, struct err *e)
{
	if (!w->begun) {
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
	return !r->failed && !reader_at_end(r);
}

int
batch_run(struct batch *b, struct reader *r, struct err *e)
{
	struct work w = { .b = b };
	size_t i;
	int more = 1, status = 0;

	while (more && status == 0) {
		more = fill(&w, r);
		if (r->failed)
			status = -1;
		else if (!buf_ok(&w.text))
			status = err_memory(e);
		else
			status = take_text(&w, !more, e);
	}
	for (i = 0; i < w.block_cap; i++)
		buf_free(&w.blocks[i].out);
	free(w.blocks);
	free(w.lines);
	buf_free(&w.text);
	return status;
}
