#include "diff/side.h"

#include <stdlib.h>
#include <string.h>

#include "core/mem.h"

int
side_open(struct side *s, struct source *source, struct err *e)
{
	*s = (struct side){ .source = source, .plan = source->plan };
	s->tensors = mem_array(s->plan->tensor_count, sizeof *s->tensors);
	s->blobs = mem_array(s->plan->blob_count, sizeof *s->blobs);
	return s->tensors && s->blobs ? 0 : err_memory(e);
}

void
side_close(struct side *s)
{
	sha256_abandon(&s->hash);
	spool_free(&s->spool);
	free(s->tensors);
	free(s->blobs);
	free(s->used);
	*s = (struct side){ 0 };
}

bool
side_keeps_file(const struct side *s, size_t i)
{
	const struct blob *b = &s->plan->blobs[i];

	return strcmp(b->name, SIDE_VOCABULARY) == 0 && b->bytes <= SIDE_VOCABULARY_BYTES;
}

/* ---- hooks ---- */

static bool
is_used(const struct side *s, const struct item *in)
{
	return in->kind == ITEM_TENSOR && (!s->used || s->used[in->index]);
}

static bool
is_value(const struct side *s, const struct item *in)
{
	return in->kind == ITEM_BLOB &&
	       strcmp(s->plan->blobs[in->index].type, MODEL_VALUE) == 0;
}

/* Values, and files whose content is compared. */
static bool
is_kept(const struct side *s, const struct item *in)
{
	return is_value(s, in) || (in->kind == ITEM_BLOB && side_keeps_file(s, in->index));
}

static bool
is_hashed(const struct item *in)
{
	return in->kind == ITEM_BLOB || in->kind == ITEM_LICENCE;
}

static int
item(void *ctx, const struct item *in, struct item *out, struct err *e)
{
	struct side *s = ctx;

	(void)out;
	if (is_hashed(in))
		sha256_start(&s->hash);
	if (is_kept(s, in))
		s->blobs[in->index].at = s->spool.bytes;
	if (!is_used(s, in))
		return 0;
	if (!s->keeps)
		return s->begin(s->ctx, in->index, e);
	s->tensors[in->index] = (struct extent){ .where = EXTENT_SPOOL, .spool = &s->spool,
		.at = s->spool.bytes };
	return 0;
}

static int
data(void *ctx, const struct item *in, const uint8_t *p, size_t n, struct sink *sink,
     struct err *e)
{
	struct side *s = ctx;

	(void)sink;
	if (is_hashed(in))
		sha256_add(&s->hash, p, n);
	if (is_kept(s, in) || (is_used(s, in) && s->keeps))
		return spool_put(&s->spool, p, n, e);
	return is_used(s, in) ? s->bytes(s->ctx, p, n, e) : 0;
}

static int
placed(void *ctx, const struct item *in, struct sink *sink, struct err *e)
{
	struct side *s = ctx;
	const struct extent x = { .where = EXTENT_FILE, .range = *in->place };

	(void)sink;
	if (!is_used(s, in))
		return 1;
	if (!s->keeps)
		return s->placed(s->ctx, &x, e) < 0 ? -1 : 1;
	s->tensors[in->index] = x;
	return 1;
}

static int
item_end(void *ctx, const struct item *in, struct sink *sink, struct err *e)
{
	struct side *s = ctx;

	(void)sink;
	if (in->kind == ITEM_BLOB)
		return sha256_finish(&s->hash, &s->blobs[in->index].digest, e);
	if (in->kind == ITEM_LICENCE)
		return sha256_finish(&s->hash, &s->licence, e);
	return is_used(s, in) && !s->keeps ? s->end(s->ctx, in->index, e) : 0;
}

void
side_hooks(struct side *s, struct flow *f)
{
	f->item = item;
	f->data = data;
	f->looks = true;
	f->placed = placed;
	f->item_end = item_end;
	f->ctx = s;
}
