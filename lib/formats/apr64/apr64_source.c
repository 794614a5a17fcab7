#include "formats/apr64/apr64_reader.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/crc32.h"
#include "core/le.h"
#include "core/mem.h"
#include "core/num.h"

#define PIECE (1u << 16)  /* bytes read from the spool at once */
#define LONG_FOOTER 16    /* that of apr2: u32 CRC, "2RPA", u64 size of the file */

/* ---- texts ---- */

/* Read some bytes of s->now into s->piece, which is empty at its end. */
static int
read_text(struct apr64_source *s)
{
	size_t n = (size_t)num_min(s->now.n, PIECE);
	struct err *e = s->reader.err;
	uint8_t raw[PIECE];

	buf_clear(&s->piece);
	if (spool_get(&s->text, s->now.at, raw, n, e) < 0)
		return -1;
	s->now.at += n;
	s->now.n -= n;
	if (!s->now.base64)
		buf_put(&s->piece, raw, n);
	else if (base64_add(&s->decoder, raw, n, &s->piece) < 0 ||
	         (s->now.n == 0 && base64_end(&s->decoder) < 0))
		return err_set(e, ERR_CORRUPT, s->reader.name, "its metadata has a member of ours "
		               "with a value that is not base64, before byte %" PRIu64,
		               s->header.meta_at + s->now.at);
	return buf_ok(&s->piece) ? 0 : err_memory(e);
}

static int
begin_text(struct apr64_source *s, struct apr64_text text)
{
	s->from = FROM_TEXT;
	s->now = text;
	s->decoder = (struct base64_reader){ 0 };
	return 1;
}

/* Begin a record or signature: its head, which must be JSON, comes with the item. */
static int
begin_frame(struct apr64_source *s, struct item *item, struct apr64_text text, size_t head)
{
	struct err *e = s->reader.err;
	json_t *v;

	begin_text(s, text);
	buf_clear(&s->frame);
	while (s->now.n > 0) {
		if (read_text(s) < 0)
			return -1;
		buf_put(&s->frame, s->piece.p, s->piece.n);
	}
	if (!buf_ok(&s->frame))
		return err_memory(e);
	v = json_parse(s->frame.p, head, ERR_CORRUPT, s->reader.name, e);
	json_decref(v);
	if (!v)
		return -1;
	item->head = (char *)s->frame.p;
	item->head_bytes = head;
	item->bytes = s->frame.n - head;
	s->from = FROM_MEMORY;
	s->frame_at = head;
	return 1;
}

/* ---- the end ---- */

static int
check_crc(struct apr64_source *s, uint32_t crc, uint32_t stored)
{
	if (crc32_same(crc, stored))
		return 0;
	return err_set(s->reader.err, ERR_CHECKSUM, s->reader.name, "is damaged: its CRC is "
	               "0x%08" PRIx32 ", stored is 0x%08" PRIx32, crc, stored);
}

/* Find the footer after the last tensor. Some writers leave out the padding before it;
 * realizar's converters write no footer, other writers set a flag. *skip: bytes before it. */
static int
find_footer(struct apr64_source *s, const uint8_t *p, size_t n, size_t *skip,
            enum apr64_end *end)
{
	struct reader *r = &s->reader;
	size_t i, pad = (size_t)(-s->data_bytes % APR64_ALIGN), at[2] = { pad, 0 };
	bool zeros = true;

	for (i = 0; i < n && i < pad; i++)
		zeros &= p[i] == 0;
	*end = END_LONG;
	for (i = 0; i < 2; i++)
		if (n == (*skip = at[i]) + LONG_FOOTER && memcmp(p + at[i] + 4, "2RPA", 4) == 0)
			return 0;
	*end = END_CRC;
	for (i = 0; i < 2; i++)
		if (n == (*skip = at[i]) + APR64_FOOTER && !(n == pad && zeros))
			return 0;
	*end = END_NONE;
	*skip = n;
	if (n > pad + APR64_FOOTER)
		return reader_fail(r, ERR_CORRUPT, "bytes after the end of the model");
	if (s->header.flags & APR64_ROW_MAJOR || (n != 0 && n != pad))
		return reader_fail(r, ERR_CORRUPT,
		                   "the file ends before its checksum: it was cut short");
	return apr64_warn(s, "has no checksum at its end, as realizar leaves it out, or was "
	                  "cut short");
}

static int
check_end(struct apr64_source *s)
{
	struct reader *r = &s->reader;
	enum apr64_end end;
	const uint8_t *p;
	uint32_t crc;
	size_t n, skip;

	if (head_skip_padding(r, s->header.data_at + s->data_bytes - reader_tell(r), &s->odd,
	                      "end") < 0 ||
	    !(p = reader_peek(r, APR64_ALIGN + LONG_FOOTER + 1, &n)) ||
	    find_footer(s, p, n, &skip, &end) < 0 ||
	    head_skip_padding(r, skip, &s->odd, "footer") < 0)
		return -1;
	crc = r->crc;
	if (end == END_CRC && (p = reader_take(r, APR64_FOOTER)))
		return check_crc(s, crc, le32(p));
	if (end == END_LONG && (p = reader_take(r, LONG_FOOTER))) {
		if (check_crc(s, crc, le32(p)) < 0)
			return -1;
		if (le64(p + 8) != reader_tell(r))
			return reader_fail(r, ERR_CORRUPT, "the footer says %" PRIu64
			                   " bytes, but it ends here", le64(p + 8));
	}
	return r->failed ? -1 : 0;
}

/* ---- the verbs ---- */

static int
begin_tensor(struct apr64_source *s, const struct item *item)
{
	struct reader *r = &s->reader;
	size_t i = item->index;

	s->from = FROM_FILE;
	s->left = item->bytes;
	return head_skip_padding(r, s->header.data_at + s->offsets[i] - reader_tell(r), &s->odd,
	                         tensor_name(s->plan.tensors[i])) < 0 ? -1 : 1;
}

static int
next(struct source *source, struct item *item, struct err *e)
{
	struct apr64_source *s = (struct apr64_source *)source;
	size_t i;

	(void)e; /* the reader holds it */
	if (!container_next(&s->sent, &s->plan, NULL, item))
		return check_end(s);
	i = item->index;
	switch (item->kind) {
	case ITEM_BLOB:
		return begin_text(s, s->blobs[i]);
	case ITEM_LICENCE:
		return begin_text(s, s->licence);
	case ITEM_TENSOR:
		return begin_tensor(s, item);
	case ITEM_PROV:
		return begin_frame(s, item, s->provs[i], (size_t)s->plan.provs[i]);
	default:
		return begin_frame(s, item, s->signs[i], MODEL_SIGN_HEAD);
	}
}

static int
read_body(struct source *source, const uint8_t **p, size_t *n, struct err *e)
{
	struct apr64_source *s = (struct apr64_source *)source;

	(void)e;
	*n = 0;
	switch (s->from) {
	case FROM_TEXT:
		while (s->now.n > 0 && *n == 0) {
			if (read_text(s) < 0)
				return -1;
			*p = s->piece.p;
			*n = s->piece.n;
		}
		return 0;
	case FROM_MEMORY:
		*p = s->frame.p + s->frame_at;
		*n = s->frame.n - s->frame_at;
		s->frame_at = s->frame.n;
		return 0;
	case FROM_FILE:
		break;
	}
	if (s->left == 0)
		return 0;
	*p = reader_some(&s->reader, s->left, n);
	if (!*p)
		return -1;
	s->left -= *n;
	return 0;
}

static void
close_source(struct source *source)
{
	struct apr64_source *s = (struct apr64_source *)source;
	size_t i;

	for (i = 0; i < s->entry_count; i++)
		tensor_free(s->entries[i].tensor);
	free(s->entries);
	free(s->offsets);
	free(s->blobs);
	free(s->provs);
	free(s->signs);
	json_decref(s->empty);
	json_decref(s->types);
	json_decref(s->blocks);
	members_free(&s->members);
	spool_free(&s->text);
	buf_free(&s->name);
	buf_free(&s->frame);
	buf_free(&s->piece);
	model_free(&s->plan);
	oddities_free(&s->odd);
	reader_close(&s->reader);
	free(s);
}

struct source *
apr64_open(struct reader *r, const struct format_options *options,
           void (*note)(const char *), struct err *e)
{
	static const struct source_ops ops = { .next = next, .read = read_body,
		.close = close_source };
	struct apr64_source *s = mem_array(1, sizeof *s);

	if (!s) {
		reader_close(r);
		err_memory(e);
		return NULL;
	}
	s->source = (struct source){ .plan = &s->plan, .ops = &ops, .name = r->name,
		.note = note, .oddities = &s->odd };
	s->reader = *r;
	s->options = *options;
	if (apr64_read_head(s) < 0 || apr64_read_metadata(s) < 0 || apr64_read_index(s) < 0 ||
	    apr64_find_carriers(s) < 0 || apr64_check_derived(s) < 0) {
		close_source(&s->source);
		return NULL;
	}
	return &s->source;
}

uint64_t
apr64_tensor_offset(const struct source *source, size_t i)
{
	const struct apr64_source *s = (const struct apr64_source *)source;

	return s->header.data_at + s->offsets[i];
}
