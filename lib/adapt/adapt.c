#include "adapt/adapt.h"

#include <stdlib.h>
#include <string.h>

#include "adapt/adapt_parts.h"
#include "core/mem.h"
#include "core/num.h"
#include "core/reader.h"

/* ---- the plan ---- */

int
adapt_add_blob(struct adapt *a, const char *name, const char *type, const uint8_t *p,
               size_t n, uint8_t *own, struct err *e)
{
	if (mem_grow(&a->blobs, &a->blob_cap, a->blob_count + 1, sizeof *a->blobs) < 0) {
		free(own);
		return err_memory(e);
	}
	a->blobs[a->blob_count++] = (struct adapt_blob){ p, n, own };
	return model_add_blob(&a->plan, name, type, n, e);
}

int
adapt_long_values(struct adapt *a, struct err *e)
{
	struct buf name = { 0 };
	size_t i;

	for (i = 0; i < a->plan.meta_count && e->code == ERR_NONE; i++) {
		struct meta *k = &a->plan.meta[i];
		uint8_t *wire = k->wire;

		if (!wire || value_is_inline(k->type, wire, k->wire_bytes))
			continue;
		k->wire = NULL;
		k->blob = a->plan.blob_count;
		buf_clear(&name);
		buf_printf(&name, MODEL_VALUE_NAME "%s", k->key);
		if (!buf_string(&name)) {
			free(wire);
			err_memory(e);
		} else {
			adapt_add_blob(a, buf_string(&name), MODEL_VALUE, wire, k->wire_bytes, wire, e);
		}
	}
	buf_free(&name);
	return e->code == ERR_NONE ? 0 : -1;
}

int
adapt_add_tensors(struct adapt *a, struct err *e)
{
	size_t i;

	for (i = 0; i < a->t.count; i++) {
		struct tensor *t = tensor_copy(a->t.rows[i].t);

		if (!t)
			return err_memory(e);
		if (model_add_tensor(&a->plan, t, e) < 0)
			return -1;
	}
	return 0;
}

/* Files that the keys of GGUF replace, and that a folder gets anew. */
static bool
is_made(const char *name)
{
	static const char *const names[] = { "config.json", "generation_config.json",
		"README.md", "tokenizer.json", "tokenizer.model", "tokenizer_config.json",
		"special_tokens_map.json", "added_tokens.json", "vocab.json", "vocab.txt",
		"merges.txt", "spiece.model", "sentencepiece.bpe.model", "chat_template.jinja",
		"chat_template.json", "modules.json", "1_Pooling/config.json",
		"model.safetensors.index.json" };
	size_t i;

	for (i = 0; i < sizeof names / sizeof *names; i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

int
adapt_keep_files(struct adapt *a, struct err *e)
{
	const struct model *m = a->s.plan;
	size_t i, k, made = a->plan.blob_count; /* those of the subject differ from each other */

	for (i = 0; i < m->blob_count; i++) {
		const struct blob *b = &m->blobs[i];
		bool there = is_made(b->name) && a->o.form == ARCH_GGUF;

		for (k = 0; k < made; k++)
			there = there || strcmp(a->plan.blobs[k].name, b->name) == 0;
		if (there || strcmp(b->type, MODEL_VALUE) == 0)
			continue;
		if (adapt_add_blob(a, b->name, b->type, a->s.w.blobs[i].p, a->s.w.blobs[i].n, NULL,
		                   e) < 0)
			return -1;
	}
	return 0;
}

/* The same model: its plan, and its side files from memory. */
static int
pass(struct adapt *a, struct err *e)
{
	size_t i;

	if (model_copy(&a->plan, a->inner->plan, e) < 0)
		return -1;
	a->blobs = mem_array(a->plan.blob_count, sizeof *a->blobs);
	if (!a->blobs)
		return err_memory(e);
	a->blob_count = a->plan.blob_count;
	for (i = 0; i < a->blob_count; i++)
		a->blobs[i] = (struct adapt_blob){ a->s.w.blobs[i].p, a->s.w.blobs[i].n, NULL };
	return 0;
}

/* ---- reading the source ---- */

static int
read_licence(struct adapt *a, struct err *e)
{
	const uint8_t *p;
	size_t n;

	a->has_licence = true;
	do {
		if (source_read(a->inner, &p, &n, e) < 0)
			return -1;
		if (a->licence.n + n > SUBJECT_BYTES)
			return err_set(e, ERR_MEMORY, a->inner->name, "its licence is too long");
		buf_put(&a->licence, p, n);
	} while (n > 0);
	return buf_ok(&a->licence) ? 0 : err_memory(e);
}

static int
drop_body(struct adapt *a, struct err *e)
{
	const uint8_t *p;
	size_t n;

	do {
		if (source_read(a->inner, &p, &n, e) < 0)
			return -1;
	} while (n > 0);
	return 0;
}

/* From a pipe, the configuration alone says that the head equals the embeddings: compare the
 * checksums of both once they have passed. */
static int
check_tied(struct adapt *a, struct err *e)
{
	size_t i = a->next.index;

	if (!a->t.tied_claim || a->next.kind != ITEM_TENSOR || !a->inner->crc ||
	    (i != a->t.tied && i != a->t.embed))
		return 0;
	a->tied_seen++;
	a->tied_crc ^= *a->inner->crc;
	if (a->tied_seen < 2 || a->tied_crc == 0)
		return 0;
	err_set(e, ERR_INVALID, tensor_name(a->s.plan->tensors[a->t.tied]),
	        "differs from the embeddings, though config.json says tie_word_embeddings");
	return err_hint(e, "a FILE operand is compared before it is left out");
}

static int
advance(struct adapt *a, struct err *e)
{
	int r = check_tied(a, e);

	if (r == 0)
		r = source_next(a->inner, &a->next, e);

	a->more = r == 1;
	return r < 0 ? -1 : 0;
}

/* Take items of inner up to the first that comes after its tensors, or until `tensors` of
 * them have come. */
int
adapt_take(struct adapt *a, uint64_t tensors, struct err *e)
{
	while (a->more && a->next.kind != ITEM_PROV && a->next.kind != ITEM_SIGN &&
	       (a->next.kind != ITEM_TENSOR || a->seen < tensors)) {
		int r;

		if (a->next.kind == ITEM_TENSOR) {
			a->seen++;
			r = store_take(&a->store, &a->next, e);
		} else {
			r = a->next.kind == ITEM_LICENCE ? read_licence(a, e) : drop_body(a, e);
		}
		if (r < 0 || advance(a, e) < 0)
			return -1;
	}
	return 0;
}

/* ---- sending ---- */

/* Whether the tensor that inner has now is read by this row alone, window by window. */
static bool
streams(const struct adapt *a, const struct tensors_row *row)
{
	uint64_t block;

	if (row->made || row->move.n != 1 || row->move.pieces[0].source != a->next.index ||
	    a->store.at[a->next.index].users != 1)
		return false;
	block = move_block(&row->move);
	return move_is_plain(&row->move) ||
	       (block > 0 && block <= MOVE_VALUES && block % tensor_type(row->t)->items == 0);
}

/* Begin a row whose sources are stored; *gaps: whether adapt_zeros finds zeros of it. */
static int
begin_stored(struct adapt *a, const struct tensors_row *row, bool *gaps, struct err *e)
{
	const struct store_at *at;

	a->mode = SEND_STORED;
	if (!row->made && move_is_plain(&row->move) && values_same(row) &&
	    row->move.pieces[0].source < a->t.sources) {
		at = &a->store.at[row->move.pieces[0].source];
		if (at->where == STORE_FILE) {
			a->place = at->range;
			a->mode = SEND_SHARED;
			*gaps = at->gaps;
			return 0;
		}
	}
	if (values_begin(&a->v, row, e) < 0)
		return -1;
	*gaps = a->v.keeps_zeros && store_has_gaps(&a->store, row);
	if (*gaps)
		values_expect_gaps(&a->v);
	return 0;
}

/* Begin a row whose only source is what inner has now. */
static int
begin_passing(struct adapt *a, const struct tensors_row *row, bool *gaps, struct err *e)
{
	struct store_at *at = &a->store.at[a->next.index];

	a->seen++;
	if (a->next.place) {
		at->where = STORE_FILE;
		at->range = *a->next.place;
		at->gaps = a->next.gaps;
		return advance(a, e) < 0 ? -1 : begin_stored(a, row, gaps, e);
	}
	*gaps = a->next.gaps;
	if (move_is_plain(&row->move) && values_same(row)) {
		a->mode = SEND_INNER;
		a->source.crc = a->inner->crc;
		return 0;
	}
	at->where = STORE_WINDOW;
	at->at = 0;
	a->window_fill = 0;
	a->zeros = 0;
	a->mode = SEND_WINDOWS;
	if (values_begin(&a->v, row, e) < 0)
		return -1;
	*gaps = *gaps && a->v.keeps_zeros;
	if (*gaps)
		values_expect_gaps(&a->v);
	return 0;
}

static int
next_row(struct adapt *a, struct item *item, struct err *e)
{
	const struct tensors_row *row = &a->t.rows[a->row];
	int r = 0;

	*item = (struct item){ .kind = ITEM_TENSOR, .index = a->row,
		.bytes = tensor_bytes(row->t) };
	while (r == 0 && !row->made && a->more && a->next.kind == ITEM_TENSOR &&
	       row->last >= a->seen && !a->o.places) {
		if (row->last == a->seen && streams(a, row))
			return begin_passing(a, row, &item->gaps, e);
		r = adapt_take(a, a->seen + 1, e);
	}
	if (r < 0 || begin_stored(a, row, &item->gaps, e) < 0)
		return -1;
	item->place = a->mode == SEND_SHARED ? &a->place : NULL;
	return 0;
}

static int
next_inner(struct adapt *a, struct item *item, struct err *e)
{
	if (!a->more) {
		a->mode = SEND_NOTHING;
		return 0;
	}
	*item = a->next;
	a->mode = SEND_INNER;
	a->source.crc = a->inner->crc;
	(void)e;
	return 1;
}

/* The previous item of the source was the one of inner. */
static int
leave_inner(struct adapt *a, struct err *e)
{
	bool was_inner = a->mode == SEND_INNER || a->mode == SEND_WINDOWS;

	a->mode = SEND_NOTHING;
	a->source.crc = NULL;
	a->sent = 0;
	return was_inner ? advance(a, e) : 0;
}

static int
adapt_next(struct source *s, struct item *item, struct err *e)
{
	struct adapt *a = (struct adapt *)s;

	if (leave_inner(a, e) < 0)
		return -1;
	if (a->blob < a->blob_count) {
		*item = (struct item){ .kind = ITEM_BLOB, .index = a->blob,
			.bytes = a->blobs[a->blob].n };
		a->blob++;
		a->mode = SEND_BLOB;
		return 1;
	}
	if (!a->changes)
		return next_inner(a, item, e);
	if (!a->o.places && a->row == 0 && adapt_take(a, a->seen, e) < 0)
		return -1;
	if (a->has_licence && a->row == 0) {
		*item = (struct item){ .kind = ITEM_LICENCE, .bytes = a->licence.n };
		a->has_licence = false;
		a->mode = SEND_LICENCE;
		return 1;
	}
	if (a->row < a->t.count) {
		if (next_row(a, item, e) < 0)
			return -1;
		a->row++;
		return 1;
	}
	if (adapt_take(a, UINT64_MAX, e) < 0)
		return -1;
	return next_inner(a, item, e);
}

static int
read_shared(struct adapt *a, struct out *o, const uint8_t **p, size_t *n, struct err *e)
{
	uint64_t left = tensor_bytes(a->plan.tensors[a->row - 1]) - a->sent;
	ssize_t sent = 0;

	*n = (size_t)num_min(left, READER_BODY);
	if (*n == 0)
		return 0;
	if (o && (sent = out_send(o, a->place.fd, a->place.at + a->sent, *n)) < 0)
		return -1;
	if (sent > 0)
		*n = (size_t)sent;
	if (mem_grow(&a->window, &a->window_cap, READER_BODY, 1) < 0)
		return err_memory(e);
	if (range_read(&a->place, a->sent, a->window, *n) < 0)
		return range_fail(a->inner->name, e);
	*p = a->window;
	a->sent += *n;
	return o && sent == 0 ? out_put(o, *p, *n) : 0;
}

static int
read_bytes(struct adapt *a, const uint8_t *bytes, size_t all, const uint8_t **p, size_t *n)
{
	*n = (size_t)num_min(all - a->sent, READER_BODY);
	*p = bytes + a->sent;
	a->sent += *n;
	return 0;
}

static int
read_row(struct adapt *a, const uint8_t **p, size_t *n, struct err *e)
{
	int r = a->mode == SEND_WINDOWS ? adapt_window(a, p, n, e) : values_next(&a->v, p, n, e);

	if (r == 0 && *n == 0)
		store_done(&a->store, a->v.row);
	return r;
}

static int
adapt_read(struct source *s, const uint8_t **p, size_t *n, struct err *e)
{
	struct adapt *a = (struct adapt *)s;

	*n = 0;
	switch (a->mode) {
	case SEND_NOTHING:
		break;
	case SEND_INNER:
		return source_read(a->inner, p, n, e);
	case SEND_BLOB:
		return read_bytes(a, a->blobs[a->blob - 1].p, a->blobs[a->blob - 1].n, p, n);
	case SEND_LICENCE:
		return read_bytes(a, a->licence.p, a->licence.n, p, n);
	case SEND_SHARED:
		return read_shared(a, NULL, p, n, e);
	case SEND_STORED:
	case SEND_WINDOWS:
		return read_row(a, p, n, e);
	}
	return 0;
}

static int
adapt_zeros(struct source *s, uint64_t *n, struct err *e)
{
	struct adapt *a = (struct adapt *)s;

	switch (a->mode) {
	case SEND_INNER:
		return source_zeros(a->inner, n, e);
	case SEND_SHARED:
		*n = range_gap(&a->place, a->sent, tensor_bytes(a->plan.tensors[a->row - 1]) - a->sent);
		a->sent += *n;
		break;
	case SEND_STORED:
		*n = values_zeros(&a->v);
		break;
	case SEND_WINDOWS:
		return adapt_window_zeros(a, n, e);
	case SEND_NOTHING:
	case SEND_BLOB:
	case SEND_LICENCE:
		break;
	}
	return 0;
}

static int
adapt_share(struct source *s, struct out *o, const uint8_t **p, size_t *n, struct err *e)
{
	struct adapt *a = (struct adapt *)s;

	if (a->mode == SEND_INNER)
		return source_share(a->inner, o, p, n, e);
	if (a->mode == SEND_SHARED)
		return read_shared(a, o, p, n, e);
	if (adapt_read(s, p, n, e) < 0)
		return -1;
	return *n > 0 ? out_put(o, *p, *n) : 0;
}

static void
adapt_close(struct source *s)
{
	struct adapt *a = (struct adapt *)s;
	size_t i;

	for (i = 0; i < a->blob_count; i++)
		free(a->blobs[i].own);
	free(a->blobs);
	free(a->window);
	json_decref(a->tokenizer);
	buf_free(&a->licence);
	values_free(&a->v);
	store_free(&a->store);
	tensors_free(&a->t);
	model_free(&a->plan);
	subject_close(&a->s);
	free(a);
}

/* ---- opening ---- */

bool
adapt_changes(const struct source *s)
{
	return ((const struct adapt *)(const void *)s)->changes;
}

static int
no_arch(const struct adapt *a, struct err *e)
{
	err_set(e, ERR_FORMAT, a->inner->name, "does not say which architecture it has");
	return err_hint(e, "--arch NAME names it");
}

static int
make_plan(struct adapt *a, struct err *e)
{
	if (a->o.form == ARCH_GGUF)
		return adapt_to_gguf(a, e);
	if (a->s.apr)
		return adapt_apr_to_folder(a, e);
	if (a->s.form == ARCH_FOLDER)
		return adapt_folder_to_apr(a, e);
	return adapt_to_folder(a, e);
}

static int
open_adapt(struct adapt *a, struct err *e)
{
	size_t i;

	if (subject_read(&a->s, a->inner, a->o.arch, &a->next, &a->more, e) < 0)
		return -1;
	a->changes = (a->s.apr ? ARCH_APR : a->s.form) != a->o.form;
	if (!a->changes)
		return pass(a, e);
	if (!a->s.arch)
		return no_arch(a, e);
	if (model_init(&a->plan, e) < 0 || store_open(&a->store, a->inner, a->o.jobs, e) < 0)
		return -1;
	if (a->o.places && adapt_take(a, UINT64_MAX, e) < 0)
		return -1;
	a->plan.licence = a->inner->plan->licence;
	a->plan.signatures = a->inner->plan->signatures;
	a->plan.holes = a->inner->plan->holes;
	for (i = 0; i < a->inner->plan->prov_count; i++)
		if (model_add_prov(&a->plan, a->inner->plan->provs[i], e) < 0)
			return -1;
	a->v.in = (struct move_reader){ .read = store_read, .zeros = store_zeros,
		.ctx = &a->store };
	a->v.jobs = a->o.jobs;
	if (make_plan(a, e) < 0)
		return -1;
	return model_check(&a->plan, a->inner->name, e);
}

struct source *
adapt_source(struct source *inner, const struct adapt_options *o, struct err *e)
{
	static const struct source_ops ops = { .next = adapt_next, .read = adapt_read,
		.close = adapt_close, .share = adapt_share, .zeros = adapt_zeros };
	struct adapt *a = mem_array(1, sizeof *a);

	if (!a) {
		err_memory(e);
		return NULL;
	}
	a->inner = inner;
	a->o = *o;
	a->plan.licence = MODEL_NONE;
	a->source = (struct source){ .plan = &a->plan, .ops = &ops, .name = inner->name,
		.verified = inner->verified, .note = inner->note };
	if (open_adapt(a, e) < 0) {
		adapt_close(&a->source);
		return NULL;
	}
	return &a->source;
}
