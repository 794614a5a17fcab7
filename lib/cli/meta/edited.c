#include "cli/meta/edited.h"

#include <stdlib.h>
#include <string.h>

#include "cli/meta/apply.h"
#include "cli/tool.h"
#include "core/mem.h"
#include "core/num.h"

#define PIECE (1u << 16)

/* ---- rows ---- */

static int
by_key(const void *a, const void *b, void *rows)
{
	const struct row *r = rows;

	return strcmp(r[*(const size_t *)a].key, r[*(const size_t *)b].key);
}

static int
make_rows(struct edited *d, struct err *e)
{
	const struct model *m = d->from->plan;
	size_t i;

	d->rows = mem_array(m->meta_count + 1, sizeof *d->rows);
	d->sorted = mem_array(m->meta_count, sizeof *d->sorted);
	if (!d->rows || !d->sorted)
		return err_memory(e);
	d->cap = m->meta_count + 1;
	for (i = 0; i < m->meta_count; i++) {
		const struct meta *k = &m->meta[i];
		struct row *r = &d->rows[d->n++];

		d->sorted[i] = i;
		*r = (struct row){ .type = k->type, .where = k->wire ? ROW_HERE : ROW_OLD,
			.blob = k->blob, .n = k->wire ? k->wire_bytes : m->blobs[k->blob].bytes };
		r->key = mem_text(k->key, strlen(k->key));
		if (k->wire)
			r->wire = (uint8_t *)mem_text((char *)k->wire, k->wire_bytes);
		if (!r->key || (k->wire && !r->wire))
			return err_memory(e);
	}
	d->old = d->n;
	qsort_r(d->sorted, d->n, sizeof *d->sorted, by_key, d->rows);
	return 0;
}

/* Rows of the source are found by the keys that the source has; a renamed one is gone from
 * there, and appended rows and new names are few. */
struct row *
edited_row(const struct edited *d, const char *key)
{
	const struct model *m = d->from->plan;
	size_t low = 0, high = d->old, i;

	while (low < high) {
		size_t middle = low + (high - low) / 2, at = d->sorted[middle];
		int order = strcmp(m->meta[at].key, key);

		if (order == 0) {
			if (!d->rows[at].gone && strcmp(d->rows[at].key, key) == 0)
				return &d->rows[at];
			break;
		}
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	for (i = d->old; i < d->n; i++)
		if (!d->rows[i].gone && strcmp(d->rows[i].key, key) == 0)
			return &d->rows[i];
	for (i = 0; i < d->renamed; i++)
		if (!d->rows[d->renames[i]].gone && strcmp(d->rows[d->renames[i]].key, key) == 0)
			return &d->rows[d->renames[i]];
	return NULL;
}

struct row *
edited_new(struct edited *d, const char *key, struct err *e)
{
	struct row *r;

	if (mem_grow(&d->rows, &d->cap, d->n + 1, sizeof *d->rows) < 0) {
		err_memory(e);
		return NULL;
	}
	r = &d->rows[d->n];
	*r = (struct row){ .where = ROW_HERE };
	if (!(r->key = mem_text(key, strlen(key)))) {
		err_memory(e);
		return NULL;
	}
	d->n++;
	return r;
}

int
edited_rename(struct edited *d, struct row *r, const char *key, struct err *e)
{
	char *copy = mem_text(key, strlen(key));

	if (!copy ||
	    mem_grow(&d->renames, &d->renames_cap, d->renamed + 1, sizeof *d->renames) < 0) {
		free(copy);
		return err_memory(e);
	}
	if ((size_t)(r - d->rows) < d->old)
		d->renames[d->renamed++] = (size_t)(r - d->rows);
	free(r->key);
	r->key = copy;
	d->changed = true;
	return 0;
}

static int
put_pieces(struct spool *to, const uint8_t *p, size_t n, struct err *e)
{
	size_t part;

	for (; n > 0; p += part, n -= part) {
		part = n < PIECE ? n : PIECE;
		if (spool_put(to, p, part, e) < 0)
			return -1;
	}
	return 0;
}

int
edited_put(struct edited *d, struct row *r, struct value_type type, const uint8_t *wire,
           uint64_t n, struct err *e)
{
	bool here = n <= VALUE_INLINE_BYTES && value_is_inline(type, wire, (size_t)n);
	uint8_t *copy = here ? (uint8_t *)mem_text((const char *)wire, (size_t)n) : NULL;

	if (here && !copy)
		return err_memory(e);
	if (r->where == ROW_HERE && here && r->wire && r->n == n && r->type.depth == type.depth &&
	    r->type.leaf == type.leaf && memcmp(r->wire, copy, (size_t)n) == 0) {
		free(copy);
		return 0;
	}
	d->changed = true;
	free(r->wire);
	r->wire = copy;
	r->where = here ? ROW_HERE : ROW_OWN;
	r->at = d->own.bytes;
	r->n = n;
	r->type = type;
	return here ? 0 : put_pieces(&d->own, wire, (size_t)n, e);
}

int
edited_splice(struct edited *d, struct row *r, const uint8_t *p, size_t at, size_t span,
              const struct buf *b, struct err *e)
{
	size_t n = (size_t)r->n - span + b->n;
	struct buf all = { 0 };
	int status;

	if (n > VALUE_INLINE_BYTES) {
		uint64_t from = d->own.bytes;

		if (put_pieces(&d->own, p, at, e) < 0 || put_pieces(&d->own, b->p, b->n, e) < 0 ||
		    put_pieces(&d->own, p + at + span, (size_t)r->n - at - span, e) < 0)
			return -1;
		free(r->wire);
		*r = (struct row){ .key = r->key, .type = r->type, .where = ROW_OWN, .at = from,
			.n = n };
		d->changed = true;
		return 0;
	}
	buf_put(&all, p, at);
	buf_put(&all, b->p, b->n);
	buf_put(&all, p + at + span, (size_t)r->n - at - span);
	status = buf_ok(&all) ? edited_put(d, r, r->type, all.p, all.n, e) : err_memory(e);
	buf_free(&all);
	return status;
}

/* ---- values read beforehand ---- */

/* Reads a body of `from` to its end, into the spool `kept` if it is a value. */
static int
keep_body(struct edited *d, const struct item *item, struct err *e)
{
	const struct model *m = d->from->plan;
	bool value = item->kind == ITEM_BLOB;
	struct value_check check;
	const uint8_t *p;
	size_t n, k = 0;

	while (value && k < m->meta_count && m->meta[k].blob != item->index)
		k++;
	value = value && k < m->meta_count;
	if (value)
		value_check_begin(&check, m->meta[k].type);
	do {
		if (source_read(d->from, &p, &n, e) < 0)
			return -1;
		if (n == 0 || !value)
			continue;
		value_check_add(&check, p, n);
		if (spool_put(&d->kept_bytes, p, n, e) < 0)
			return -1;
	} while (n > 0);
	if (value && !value_check_end(&check))
		return err_set(e, ERR_CORRUPT, m->blobs[item->index].name,
		               "is not the value that its key announces");
	return 0;
}

/* Reads the values up to this blob. */
static int
read_ahead(struct edited *d, size_t blob, struct err *e)
{
	struct item item;
	int more;

	while (d->read <= blob) {
		if (mem_grow(&d->kept, &d->kept_cap, d->read + 1, sizeof *d->kept) < 0)
			return err_memory(e);
		if ((more = source_next(d->from, &item, e)) <= 0)
			return more < 0 ? -1 : err_set(e, ERR_CORRUPT, d->from->name,
			                               "lacks a value that its plan announces");
		d->kept[d->read].at = d->kept_bytes.bytes;
		if (keep_body(d, &item, e) < 0)
			return -1;
		if (item.kind == ITEM_BLOB && item.index == d->read) {
			d->kept[d->read].n = d->kept_bytes.bytes - d->kept[d->read].at;
			d->read++;
		} else if (!d->dropped) {
			d->dropped = true;
			tool_note("a frame of unknown kind among the values is left out");
		}
	}
	return 0;
}

int
edited_finish(struct edited *d, struct err *e)
{
	const struct model *m = d->from->plan;
	size_t i;

	for (i = m->blob_count; i > 0; i--)
		if (strcmp(m->blobs[i - 1].type, MODEL_VALUE) == 0)
			break;
	return i > 0 && read_ahead(d, i - 1, e) < 0 ? -1 : source_finish(d->from, e);
}

int
edited_wire(struct edited *d, const struct row *r, struct spool *space, const uint8_t **p,
            struct err *e)
{
	struct spool *from = &d->own;
	uint64_t at = r->at, done;
	uint8_t *to;
	size_t n;

	if (r->where == ROW_HERE) {
		*p = r->wire;
		return 0;
	}
	if (r->where == ROW_OLD) {
		if (read_ahead(d, r->blob, e) < 0)
			return -1;
		from = &d->kept_bytes;
		at = d->kept[r->blob].at;
	}
	if (!(to = spool_room(space, r->n, e)))
		return -1;
	for (done = 0; done < r->n; done += n) {
		n = (size_t)num_min(r->n - done, PIECE);
		if (spool_get(from, at + done, to + done, n, e) < 0)
			return -1;
	}
	*p = to;
	return 0;
}

/* ---- the plan ---- */

/* Appends the rows, and the side files after the values. */
static int
fill_plan(struct edited *d, struct err *e)
{
	const struct model *m = d->from->plan;
	size_t i;

	for (i = 0; i < d->n; i++) {
		const struct row *r = &d->rows[i];
		size_t n = strlen(r->key);

		if (r->gone)
			continue;
		if (r->where == ROW_HERE) {
			if (model_add_meta(&d->plan, r->key, n, r->type, r->wire, (size_t)r->n, e) < 0)
				return -1;
			continue;
		}
		if (model_add_meta_blob(&d->plan, r->key, n, r->type, r->n, e) < 0)
			return -1;
		d->blobs[d->values++] = i;
	}
	for (i = 0; i < m->blob_count; i++)
		if (strcmp(m->blobs[i].type, MODEL_VALUE) != 0 &&
		    model_add_blob(&d->plan, m->blobs[i].name, m->blobs[i].type, m->blobs[i].bytes,
		                   e) < 0)
			return -1;
	return model_check(&d->plan, d->from->name, e);
}

/* ---- sending ---- */

static int
drain(struct source *from, struct err *e)
{
	const uint8_t *p;
	size_t n;

	do {
		if (source_read(from, &p, &n, e) < 0)
			return -1;
	} while (n > 0);
	return 0;
}

/* Whether an item is a value of the source. */
static bool
is_value(const struct edited *d, const struct item *item)
{
	return item->kind == ITEM_BLOB &&
	       strcmp(d->from->plan->blobs[item->index].type, MODEL_VALUE) == 0;
}

/* Begins the next item of `from`, without values that are not wanted. wanted: a blob, or
 * SIZE_MAX for the first item that is not a value. */
static int
next_from(struct edited *d, size_t wanted, struct item *item, struct err *e)
{
	int more;

	for (;;) {
		d->from->wanted = d->source.wanted;
		more = source_next(d->from, item, e);
		d->source.crc = d->from->crc;
		d->body = NULL;
		if (more <= 0 || !is_value(d, item))
			return more;
		if (item->index == wanted)
			return 1;
		if (drain(d->from, e) < 0)
			return -1;
	}
}

static int
next_value(struct edited *d, struct item *item, struct err *e)
{
	const struct row *r = &d->rows[d->blobs[d->sent]];
	int more;

	if (r->where == ROW_OLD && r->blob >= d->read) {
		/* A frame of unknown kind may come first; it passes. */
		if ((more = next_from(d, r->blob, item, e)) <= 0)
			return more < 0 ? -1 : err_set(e, ERR_CORRUPT, d->from->name,
			                               "lacks a value that its plan announces");
		if (!is_value(d, item))
			return 1;
	} else {
		*item = (struct item){ .kind = ITEM_BLOB, .bytes = r->n };
		d->body = r->where == ROW_OWN ? &d->own : &d->kept_bytes;
		d->body_at = r->where == ROW_OWN ? r->at : d->kept[r->blob].at;
		d->body_left = r->n;
		d->source.crc = NULL;
	}
	item->index = d->sent++;
	return 1;
}

static int
next(struct source *source, struct item *item, struct err *e)
{
	struct edited *d = (struct edited *)source;
	int more;

	if (d->sent < d->values)
		return next_value(d, item, e);
	more = next_from(d, SIZE_MAX, item, e);
	if (more > 0 && item->kind == ITEM_BLOB)
		item->index = d->sent++;
	return more;
}

static int
read_body(struct source *source, const uint8_t **p, size_t *n, struct err *e)
{
	struct edited *d = (struct edited *)source;

	if (!d->body)
		return source_read(d->from, p, n, e);
	*n = (size_t)num_min(d->body_left, PIECE);
	buf_clear(&d->piece);
	if (!(*p = buf_room(&d->piece, PIECE)))
		return err_memory(e);
	if (spool_get(d->body, d->body_at, d->piece.p, *n, e) < 0)
		return -1;
	d->body_at += *n;
	d->body_left -= *n;
	return 0;
}

static int
share(struct source *source, struct out *o, const uint8_t **p, size_t *n, struct err *e)
{
	struct edited *d = (struct edited *)source;

	if (!d->body && d->from->ops->share)
		return d->from->ops->share(d->from, o, p, n, e);
	return read_body(source, p, n, e) < 0 || (*n > 0 && out_put(o, *p, *n) < 0) ? -1 : 0;
}

static int
zeros(struct source *source, uint64_t *n, struct err *e)
{
	struct edited *d = (struct edited *)source;

	return d->body ? 0 : source_zeros(d->from, n, e);
}

static bool
lies(struct source *source, uint64_t *offset)
{
	struct edited *d = (struct edited *)source;

	return d->from->ops->lies && d->from->ops->lies(d->from, offset);
}

static void
close_source(struct source *source)
{
	(void)source; /* edited_close */
}

int
edited_open(struct edited *d, struct source *from, const struct edits *edits, struct err *e)
{
	static const struct source_ops ops = { .next = next, .read = read_body,
		.close = close_source, .lies = lies, .share = share, .zeros = zeros };
	size_t i;

	*d = (struct edited){ .from = from };
	d->source = (struct source){ .plan = &d->plan, .ops = &ops, .name = from->name,
		.sealed_too = false, .verified = from->verified };
	from->note = tool_note;
	if ((edits->n && source_check_open(from, e) < 0) || make_rows(d, e) < 0)
		return -1;
	for (i = 0; i < edits->n; i++)
		if (apply_edit(d, edits, i, e) < 0)
			return -1;
	if (apply_check(d, e) < 0)
		return -1;
	d->blobs = mem_array(d->n, sizeof *d->blobs);
	if (!d->blobs)
		return err_memory(e);
	if (model_copy(&d->plan, from->plan, e) < 0)
		return -1;
	model_clear_meta(&d->plan);
	return fill_plan(d, e);
}

void
edited_close(struct edited *d)
{
	size_t i;

	for (i = 0; i < d->n; i++) {
		free(d->rows[i].key);
		free(d->rows[i].wire);
	}
	free(d->rows);
	free(d->sorted);
	free(d->renames);
	free(d->kept);
	free(d->blobs);
	spool_free(&d->own);
	spool_free(&d->kept_bytes);
	buf_free(&d->piece);
	model_free(&d->plan);
	*d = (struct edited){ .from = NULL };
}
