#include "formats/apr2/apr2_reader.h"

#include <inttypes.h>
#include <string.h>

#include "core/crc32.h"
#include "core/le.h"
#include "stream/plan.h"

static int
wrong_size(struct apr2_source *s, uint64_t announced)
{
	return reader_fail(&s->reader, ERR_CORRUPT, "%s: a body of %" PRIu64
	                   " bytes, but its metadata announces %" PRIu64,
	                   s->frame.kind, s->frame.body_bytes, announced);
}

static int
out_of_order(struct apr2_source *s)
{
	return reader_fail(&s->reader, ERR_CORRUPT, "%s: out of order", s->frame.kind);
}

static int
not_announced(struct apr2_source *s)
{
	return reader_fail(&s->reader, ERR_CORRUPT,
	                   "%s: one more than its metadata announces", s->frame.kind);
}

/* Check that the frame's head, in any JSON spelling, is the one that follows from the plan,
 * and that the frame is a SEAL frame if the item is sealed. */
static int
same_head(struct apr2_source *s, const struct item *item, const char *name)
{
	bool sealed = item_is_sealed(&s->plan, item->kind, item->index);
	int r;

	if (sealed != (strcmp(s->frame.kind, "SEAL") == 0))
		return reader_fail(&s->reader, ERR_CORRUPT, sealed
		                   ? "%s: the metadata says that this is sealed"
		                   : "%s: the metadata says that this is not sealed",
		                   s->frame.kind);
	buf_clear(&s->head);
	if (sealed)
		r = plan_seal_head(&s->plan, item->kind, item->index, &s->head);
	else
		r = plan_blob_head(&s->plan.blobs[item->index], &s->head);
	if (r < 0)
		return err_memory(s->reader.err);
	r = frame_head_is(&s->reader, &s->frame, &s->head);
	if (r == 0)
		return reader_fail(&s->reader, ERR_CORRUPT, "%s: it contradicts its metadata, "
		                   "which has %s here", s->frame.kind, name);
	return r < 0 ? -1 : 0;
}

int
apr2_blob_item(struct apr2_source *s, struct item *item)
{
	uint64_t head, body;

	if (s->licence)
		return out_of_order(s);
	if (s->blob >= s->plan.blob_count)
		return not_announced(s);
	item->kind = ITEM_BLOB;
	item->index = s->blob++;
	if (same_head(s, item, s->plan.blobs[item->index].name) < 0)
		return -1;
	item_sizes(&s->plan, ITEM_BLOB, item->index, &head, &body);
	return item->bytes == body ? 1 : wrong_size(s, body);
}

int
apr2_licence_item(struct apr2_source *s, struct item *item)
{
	if (s->plan.licence == MODEL_NONE || s->licence)
		return not_announced(s);
	if (frame_head_json(&s->reader, &s->frame) < 0)
		return -1;
	s->licence = true;
	item->kind = ITEM_LICENCE;
	return item->bytes == s->plan.licence ? 1 : wrong_size(s, s->plan.licence);
}

/* SKEY is the first frame of a sealed model, even if long values lie in the metadata. */
int
apr2_skey_item(struct apr2_source *s, struct item *item)
{
	s->skey = true;
	item->kind = ITEM_SKEY;
	item->head = (const char *)s->frame.head.p;
	item->head_bytes = s->frame.head.n;
	if (strcmp(s->frame.kind, "SKEY") != 0)
		return reader_fail(&s->reader, ERR_CORRUPT, "%s: the metadata announces SKEY here",
		                   s->frame.kind);
	if (item->head_bytes != s->plan.sealed)
		return reader_fail(&s->reader, ERR_CORRUPT, "%s: a head of %zu bytes instead of %"
		                   PRIu64, s->frame.kind, item->head_bytes, s->plan.sealed);
	if (frame_head_json(&s->reader, &s->frame) < 0)
		return -1;
	return item->bytes == 0 ? 1 : wrong_size(s, 0);
}

/* Take a frame of unknown kind. */
int
apr2_other_item(struct apr2_source *s, struct item *item)
{
	static const char *const placed[] = { "blob", "lice", APR2_SUMS, "prov", "sign",
		"SKEY", "SEAL" };
	const struct frame *f = &s->frame;
	size_t i;

	for (i = 0; i < sizeof placed / sizeof *placed; i++)
		if (strcmp(f->kind, placed[i]) == 0)
			return out_of_order(s);
	if (f->kind[0] >= 'A' && f->kind[0] <= 'Z')
		return reader_fail(&s->reader, ERR_FORMAT,
		                   "%s: a frame that this tool does not know and must not pass",
		                   f->kind);
	item->kind = ITEM_OTHER;
	memcpy(item->frame, f->kind, sizeof item->frame);
	item->head = (const char *)f->head.p;
	item->head_bytes = f->head.n;
	return frame_head_json(&s->reader, &s->frame) < 0 ? -1 : 1;
}

/* Sums can name the damaged tensor; the file's CRC only shows that there is damage. */
int
apr2_check_sums(struct apr2_source *s)
{
	struct buf sums = { 0 };
	size_t i;
	int r;

	if (s->sums || s->rank > 0)
		return out_of_order(s);
	s->sums = true;
	if (s->frame.body_bytes != 4 * (uint64_t)s->plan.tensor_count)
		return reader_fail(&s->reader, ERR_CORRUPT, "%s: a body of %" PRIu64
		                   " bytes for %zu tensors", s->frame.kind,
		                   s->frame.body_bytes, s->plan.tensor_count);
	r = frame_body(&s->reader, &s->frame, &sums);
	for (i = 0; r == 0 && i < s->plan.tensor_count; i++) {
		uint32_t crc = apr2_entry_of(s, i)->crc;
		uint32_t stored = le32(sums.p + 4 * s->entry_of[i]);

		if (!crc32_same(stored, crc))
			r = err_set(s->reader.err, ERR_CHECKSUM, tensor_name(s->plan.tensors[i]),
			            "its data is damaged: CRC 0x%08" PRIx32 ", stored is 0x%08" PRIx32,
			            crc, stored);
	}
	buf_free(&sums);
	return r;
}

int
apr2_headed_item(struct apr2_source *s, struct item *item, enum item_kind kind, size_t *seen,
                 uint64_t announced, unsigned rank)
{
	uint64_t head, body;

	if (s->rank > rank)
		return out_of_order(s);
	s->rank = rank;
	if (*seen >= announced)
		return not_announced(s);
	item->kind = kind;
	item->index = (*seen)++;
	item->head = (const char *)s->frame.head.p;
	item->head_bytes = s->frame.head.n;
	item_sizes(&s->plan, kind, item->index, &head, &body);
	if (s->plan.sealed) {
		if (same_head(s, item, kind == ITEM_PROV ? "a prov" : "a sign") < 0)
			return -1;
		item->head = NULL;
		item->head_bytes = 0;
		return item->bytes == body ? 1 : wrong_size(s, body);
	}
	if (kind == ITEM_SIGN)
		body = model_sign_body(s->whole);
	if (item->head_bytes != head)
		return reader_fail(&s->reader, ERR_CORRUPT, "%s: a head of %zu bytes instead of %"
		                   PRIu64, s->frame.kind, item->head_bytes, head);
	if (frame_head_json(&s->reader, &s->frame) < 0)
		return -1;
	return item->bytes == body ? 1 : wrong_size(s, body);
}
