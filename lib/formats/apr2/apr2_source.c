#include "formats/apr2/apr2_reader.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/crc32.h"
#include "core/le.h"
#include "core/mem.h"
#include "core/num.h"
#include "stream/plan.h"
#include "wire/sparse.h"

#define TEXT_PIECE 65536 /* bytes of a long value sent at once */

static bool
is_frame(const uint8_t *p)
{
	int i;

	for (i = 0; i < 4; i++)
		if (!((p[i] | 0x20) >= 'a' && (p[i] | 0x20) <= 'z'))
			return false;
	return true;
}

static int
begin_frame(struct apr2_source *s, struct item *item)
{
	s->body = BODY_FRAME;
	if (frame_begin(&s->reader, &s->frame) < 0)
		return -1;
	item->bytes = s->frame.body_bytes;
	return 0;
}

/* Send a long value of type json, whose text is in the metadata. */
static int
text_item(struct apr2_source *s, struct item *item)
{
	item->kind = ITEM_BLOB;
	item->index = s->blob++;
	item->bytes = s->left = s->meta.spans[s->span].n;
	s->body = BODY_TEXT;
	return 1;
}

/* Send the frames after the index. Padding follows up to the data: fewer than 64 bytes, and
 * the first is not a letter. */
static int
frames_item(struct apr2_source *s, struct item *item)
{
	struct reader *r = &s->reader;
	uint64_t room = s->header.data_at - reader_tell(r);
	const uint8_t *p;
	size_t n;

	if ((!s->plan.sealed || s->skey) &&
	    s->span < s->meta.span_count && s->meta.spans[s->span].blob == s->blob)
		return text_item(s, item);
	p = reader_peek(r, 4, &n);
	if (!p)
		return -1;
	if (room >= FRAME_OVERHEAD && n == 4 && is_frame(p)) {
		if (begin_frame(s, item) < 0)
			return -1;
		if (reader_tell(r) > s->header.data_at ||
		    s->header.data_at - reader_tell(r) < 4 ||
		    item->bytes > s->header.data_at - reader_tell(r) - 4)
			return reader_fail(r, ERR_CORRUPT, "%s: it reaches into the tensor data",
			                   s->frame.kind);
		if (s->plan.sealed && !s->skey)
			return apr2_skey_item(s, item);
		if (strcmp(s->frame.kind, "blob") == 0 || strcmp(s->frame.kind, "SEAL") == 0)
			return apr2_blob_item(s, item);
		if (strcmp(s->frame.kind, "lice") == 0)
			return apr2_licence_item(s, item);
		return apr2_other_item(s, item);
	}
	if (room >= APR2_BOUNDARY)
		return reader_fail(r, ERR_CORRUPT, "a hole of %" PRIu64
		                   " bytes lies before the data", room);
	if (s->blob != s->plan.blob_count || s->skey != (s->plan.sealed != 0) ||
	    s->licence != (s->plan.licence != MODEL_NONE))
		return reader_fail(r, ERR_CORRUPT, "a blob, licence or key that the metadata "
		                   "announces is not there");
	s->part = PART_DATA;
	return head_skip_padding(r, room, &s->odd, "tensor data");
}

/* The head of a sparse tensor must be that of the tensor. */
static int
check_form(const struct apr2_source *s, const uint8_t *head, size_t n, struct err *e)
{
	const struct tensor *t = s->plan.tensors[s->tensor];
	const struct sparse_layout expected = sparse_layout_of(t);
	struct sparse_layout l;

	if (n >= SPARSE_HEAD && sparse_head_get(head, &l) && sparse_layout_same(&l, &expected))
		return 0;
	return err_set(e, ERR_CORRUPT, tensor_name(t),
	               "its sparse form is that of another tensor or another form");
}

/* Prepare the decoder for the next tensor, at the first byte of its frame. */
static int
begin_packed(struct apr2_source *s, const struct apr2_entry *t, uint64_t bytes)
{
	struct reader *r = &s->reader;
	size_t n, want = (size_t)num_min(t->stored, CODEC_HEAD);
	const uint8_t *head = reader_peek(r, want, &n);

	if (!head)
		return -1;
	if (n < want)
		return reader_fail(r, ERR_CORRUPT, "ends here: %" PRIu64
		                   " more bytes were expected", t->stored - n);
	if (t->form.kind && check_form(s, head, n, r->err) < 0)
		return -1;
	if (s->decodes != t->codec) {
		decoder_free(s->decoder);
		s->decodes = t->codec;
		s->decoder = decoder_new(t->codec, s->options.memory, r->err);
	}
	s->body = BODY_PACKED;
	s->packed_bytes = 0;
	if (!s->decoder)
		return -1;
	return decoder_begin(s->decoder, t->stored, bytes, head, n,
	                     tensor_name(s->plan.tensors[s->tensor]), r->err);
}

static int
data_item(struct apr2_source *s, struct item *item)
{
	struct reader *r = &s->reader;
	const struct apr2_entry *t;
	uint64_t none;

	if (s->tensor == s->plan.tensor_count) {
		s->part = PART_TAIL;
		return 0;
	}
	t = apr2_entry_of(s, s->tensor);
	item->kind = ITEM_TENSOR;
	item->index = s->tensor;
	item_sizes(&s->plan, ITEM_TENSOR, s->tensor, &none, &item->bytes);
	s->left = t->stored;
	s->body = BODY_TENSOR;
	if (head_skip_padding(r, s->header.data_at + t->offset - reader_tell(r), &s->odd,
	                      tensor_name(s->plan.tensors[item->index])) < 0 ||
	    (t->codec && begin_packed(s, t, item->bytes) < 0))
		return -1;
	s->tensor++;
	return 1;
}

/* Find the frames or the footer after the data. The apr tools put them at the next multiple of
 * 64; the specification allows the footer directly after the data, or after the padding of the
 * last tensor. */
static int
find_tail(struct apr2_source *s)
{
	struct reader *r = &s->reader;
	uint64_t here = reader_tell(r), up[3] = { here };
	const uint8_t *p;
	size_t n, i;

	if (num_align(here, s->alignment, &up[1]) < 0 ||
	    num_align(here, APR2_BOUNDARY, &up[2]) < 0)
		return reader_fail(r, ERR_CORRUPT, "the end of the data overflows");
	p = reader_peek(r, APR2_BOUNDARY + APR2_FOOTER, &n);
	if (!p)
		return -1;
	for (i = 0; i < 2; i++) {
		size_t at = (size_t)(up[i] - here);

		if (at + APR2_FOOTER <= n && apr2_is_footer(p + at))
			return head_skip_padding(r, at, &s->odd, "footer");
	}
	if (up[2] - here + APR2_FOOTER > n)
		return reader_fail(r, ERR_CORRUPT,
		                   "the file ends before its footer: it was cut short");
	return head_skip_padding(r, up[2] - here, &s->odd, "footer");
}

/* Warn about bytes after the footer. */
static int
check_rest(struct apr2_source *s)
{
	struct reader *r = &s->reader;
	uint64_t rest = 0;
	size_t n;

	while (!reader_at_end(r)) {
		if (!reader_some(r, READER_WINDOW, &n))
			return -1;
		rest += n;
	}
	if (r->failed)
		return -1;
	if (rest)
		oddities_add(&s->odd, ODD_TRAILING, "end", reader_tell(r) - rest, rest);
	return rest ? apr2_warn(s, "%" PRIu64 " bytes after its footer are ignored", rest) : 0;
}

static int
footer(struct apr2_source *s)
{
	struct reader *r = &s->reader;
	uint32_t crc = r->crc;
	const uint8_t *p = reader_take(r, APR2_FOOTER);

	if (!p)
		return -1;
	if (!crc32_same(crc, le32(p)))
		return err_set(r->err, ERR_CHECKSUM, r->name, "is damaged: its CRC is 0x%08" PRIx32
		               ", stored is 0x%08" PRIx32, crc, le32(p));
	if (le64(p + 8) != reader_tell(r))
		return reader_fail(r, ERR_CORRUPT, "the footer says %" PRIu64
		                   " bytes, but it ends here", le64(p + 8));
	if (s->prov != s->plan.prov_count || s->sign != s->plan.signatures)
		return reader_fail(r, ERR_CORRUPT, "a prov or sign frame that the metadata "
		                   "announces is not there");
	r->crc_on = false;
	if (s->header.flags & APR2_SIGNED && s->plan.signatures == 0 &&
	    apr2_warn(s, "is marked as signed, but no signature is in it") < 0)
		return -1;
	return check_rest(s);
}

/* Send an item after the data. 1, 0 at the end of the file, or -1. */
static int
tail_item(struct apr2_source *s, struct item *item)
{
	enum item_kind held = ITEM_OTHER;
	const uint8_t *p;
	size_t n;

	for (;;) {
		p = reader_peek(&s->reader, APR2_FOOTER, &n);
		if (!p)
			return -1;
		if (n < APR2_FOOTER)
			return reader_fail(&s->reader, ERR_CORRUPT,
			                   "the file ends before its footer: it was cut short");
		if (apr2_is_footer(p))
			return footer(s);
		if (!is_frame(p))
			return reader_fail(&s->reader, ERR_CORRUPT,
			                   "neither a frame nor the footer begins here");
		if (begin_frame(s, item) < 0)
			return -1;
		if (strcmp(s->frame.kind, APR2_SUMS) != 0)
			break;
		if (apr2_check_sums(s) < 0)
			return -1;
	}
	if (strcmp(s->frame.kind, "SEAL") == 0 &&
	    plan_seal_kind(s->frame.head.p, s->frame.head.n, &held, s->reader.name,
	                   s->reader.err) < 0)
		return -1;
	if (strcmp(s->frame.kind, "prov") == 0 || held == ITEM_PROV)
		return apr2_headed_item(s, item, ITEM_PROV, &s->prov, s->plan.prov_count, 1);
	if (strcmp(s->frame.kind, "sign") == 0 || held == ITEM_SIGN)
		return apr2_headed_item(s, item, ITEM_SIGN, &s->sign, s->plan.signatures, 2);
	return apr2_other_item(s, item);
}

static int
next(struct source *source, struct item *item, struct err *e)
{
	struct apr2_source *s = (struct apr2_source *)source;
	int r;

	(void)e; /* the reader holds it */
	if (s->part == PART_FRAMES && (r = frames_item(s, item)) != 0)
		return r;
	if (s->part == PART_DATA) {
		if ((r = data_item(s, item)) != 0)
			return r;
		if (find_tail(s) < 0)
			return -1;
	}
	return tail_item(s, item);
}

static int
read_tensor(struct apr2_source *s, const uint8_t **p, size_t *n)
{
	uint32_t *crc = &apr2_entry_of(s, s->tensor - 1)->crc;

	if (s->left == 0)
		return 0;
	*p = reader_some(&s->reader, s->left, n);
	if (!*p)
		return -1;
	s->left -= *n;
	*crc = crc32_add(*crc, *p, *n);
	return 0;
}

static int
read_packed(struct apr2_source *s, const uint8_t **p, size_t *n)
{
	struct apr2_entry *t = apr2_entry_of(s, s->tensor - 1);
	struct reader *r = &s->reader;
	int ended = 0;

	while (!ended && *n == 0) {
		if (s->packed_bytes == 0 && s->left > 0) {
			s->packed = reader_some(r, s->left, &s->packed_bytes);
			if (!s->packed)
				return -1;
			s->left -= s->packed_bytes;
		}
		ended = decoder_step(s->decoder, &s->packed, &s->packed_bytes, p, n, r->err);
	}
	t->crc = crc32_add(t->crc, *p, *n);
	return ended < 0 ? -1 : 0;
}

static int
read_text(struct apr2_source *s, const uint8_t **p, size_t *n)
{
	const struct apr2_span *span = &s->meta.spans[s->span];
	size_t some = (size_t)num_min(s->left, TEXT_PIECE);
	uint8_t *to;

	if (s->left == 0) {
		if (++s->span == s->meta.span_count)
			spool_free(&s->meta.kept);
		return 0;
	}
	buf_clear(&s->piece);
	to = buf_room(&s->piece, some);
	if (!to)
		return err_memory(s->reader.err);
	if (spool_get(&s->meta.kept, span->at + span->n - s->left, to, some, s->reader.err) < 0)
		return -1;
	s->left -= some;
	*p = to;
	*n = some;
	return 0;
}

static int
read_body(struct source *source, const uint8_t **p, size_t *n, struct err *e)
{
	struct apr2_source *s = (struct apr2_source *)source;

	(void)e;
	*n = 0;
	switch (s->body) {
	case BODY_TENSOR:
		return read_tensor(s, p, n);
	case BODY_PACKED:
		return read_packed(s, p, n);
	case BODY_TEXT:
		return read_text(s, p, n);
	case BODY_FRAME:
		break;
	}
	return frame_read(&s->reader, &s->frame, p, n);
}

static void
close_source(struct source *source)
{
	struct apr2_source *s = (struct apr2_source *)source;
	size_t i;

	for (i = 0; i < s->entry_count; i++)
		tensor_free(s->entries[i].tensor);
	free(s->entries);
	free(s->entry_of);
	decoder_free(s->decoder);
	apr2_meta_free(&s->meta);
	frame_free(&s->frame);
	buf_free(&s->name);
	buf_free(&s->head);
	buf_free(&s->piece);
	model_free(&s->plan);
	oddities_free(&s->odd);
	reader_close(&s->reader);
	free(s);
}

static const struct source_ops ops = { .next = next, .read = read_body,
	.close = close_source };

static struct source *
open_file(struct reader *r, const struct format_options *options,
          void (*note)(const char *), bool is_shard, struct err *e)
{
	struct apr2_source *s = mem_array(1, sizeof *s);

	if (!s) {
		reader_close(r);
		err_memory(e);
		return NULL;
	}
	s->source = (struct source){ .plan = &s->plan, .ops = &ops, .name = r->name,
		.note = note, .oddities = &s->odd };
	s->reader = *r;
	s->options = *options;
	s->whole = &s->plan;
	s->is_shard = is_shard;
	if (apr2_read_head(s) < 0 || apr2_read_index(s) < 0 || apr2_fill_source(s) < 0 ||
	    (!(s->header.flags & APR2_SHARDED) &&
	     apr2_meta_check(&s->meta, &s->plan, r->name, e) < 0)) {
		close_source(&s->source);
		return NULL;
	}
	return &s->source;
}

struct source *
apr2_open(struct reader *r, const struct format_options *options,
          void (*note)(const char *), struct err *e)
{
	return open_file(r, options, note, false, e);
}

struct source *
apr2_open_shard(struct reader *r, const struct format_options *options,
                void (*note)(const char *), struct err *e)
{
	return open_file(r, options, note, true, e);
}

int
apr2_set_whole(struct source *source, const struct model *whole, struct err *e)
{
	struct apr2_source *s = (struct apr2_source *)source;

	s->whole = whole;
	return apr2_meta_check(&s->meta, whole, s->reader.name, e);
}

bool
apr2_is_sharded(const struct source *s)
{
	return ((const struct apr2_source *)s)->header.flags & APR2_SHARDED;
}

uint64_t
apr2_tensor_offset(const struct source *source, size_t i)
{
	const struct apr2_source *s = (const struct apr2_source *)source;

	return s->header.data_at + apr2_entry_of(s, i)->offset;
}

const struct codec *
apr2_tensor_stored(const struct source *source, size_t i, uint64_t *bytes)
{
	const struct apr2_source *s = (const struct apr2_source *)source;
	const struct apr2_entry *t = apr2_entry_of(s, i);

	*bytes = t->stored;
	return t->codec;
}
