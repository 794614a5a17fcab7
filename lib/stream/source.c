#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/crc32.h"
#include "core/le.h"
#include "core/mem.h"
#include "stream/plan.h"
#include "stream/source_parts.h"
#include "stream/stream.h"

/* The kinds in order. A frame must not follow one of a higher rank. */
static const struct {
	const char *kind;
	enum item_kind item;
} ranks[] = {
	{ "SKEY", ITEM_SKEY }, { "blob", ITEM_BLOB }, { "lice", ITEM_LICENCE },
	{ "TENS", ITEM_TENSOR },
	{ "prov", ITEM_PROV }, { "sign", ITEM_SIGN },
};
#define RANKS (sizeof ranks / sizeof *ranks)
_Static_assert(RANKS == STREAM_RANKS, "a rank for each kind");

static int
next_index(struct stream_source *s, size_t rank, uint64_t announced, size_t *index)
{
	if (s->seen[rank] >= announced)
		return reader_fail(&s->reader, ERR_CORRUPT,
		                   "%s: one more than the plan announces", s->frame.kind);
	*index = (size_t)s->seen[rank]++;
	return 0;
}

int
stream_same_head(struct stream_source *s, const char *name)
{
	int same = frame_head_is(&s->reader, &s->frame, &s->head);

	if (same == 0)
		return reader_fail(&s->reader, ERR_CORRUPT,
		                   "%s: the frame contradicts the plan, which has %s here",
		                   s->frame.kind, name);
	return same < 0 ? -1 : 0;
}

static int
wrong_size(struct stream_source *s, uint64_t announced)
{
	return reader_fail(&s->reader, ERR_CORRUPT, "%s: a body of %" PRIu64
	                   " bytes, but the plan announces %" PRIu64,
	                   s->frame.kind, s->frame.body_bytes, announced);
}

/* Checks an item whose head and size the plan determines. told: whether s->head holds the
 * expected head, or -1 (no memory). */
static int
planned_item(struct stream_source *s, struct item *item, int told, const char *name)
{
	uint64_t head, body;

	if (told < 0)
		return err_memory(s->reader.err);
	if (stream_same_head(s, name) < 0)
		return -1;
	item_sizes(&s->plan, item->kind, item->index, &head, &body);
	return item->bytes == body ? 0 : wrong_size(s, body);
}

/* Reads a PLAC frame, which holds the offset of the tensor instead of its bytes. */
static int
placed_item(struct stream_source *s, struct item *item, int told, const struct tensor *t)
{
	uint64_t end;
	uint32_t file = 0;

	if (told < 0)
		return err_memory(s->reader.err);
	if (stream_same_head(s, tensor_name(t)) < 0)
		return -1;
	if (item->bytes != 8 && item->bytes != STREAM_PLACE_BYTES)
		return wrong_size(s, 8);
	buf_clear(&s->head);
	if (frame_body(&s->reader, &s->frame, &s->head) < 0)
		return -1;
	if (s->head.n > 8)
		file = le32(s->head.p + 8);
	if (file >= s->lent_count)
		return reader_fail(&s->reader, ERR_CORRUPT, "%s: no such file is open",
		                   s->frame.kind);
	s->place = (struct range){ s->lent[file], le64(s->head.p) };
	if (num_add(s->place.at, tensor_bytes(t), &end) < 0)
		return reader_fail(&s->reader, ERR_CORRUPT, "%s: no file is so long",
		                   s->frame.kind);
	s->is_placed = true;
	s->source.crc = NULL;
	s->left = item->bytes = tensor_bytes(t);
	item->place = &s->place;
	item->gaps = range_has_gap(&s->place, 0, s->left);
	return 0;
}

static int
tensor_item(struct stream_source *s, struct item *item)
{
	const struct tensor *t = s->plan.tensors[item->index];

	buf_clear(&s->head);
	if (strcmp(s->frame.kind, STREAM_PLACE) == 0)
		return placed_item(s, item, plan_tensor_head(t, &s->head), t);
	if (strcmp(s->frame.kind, STREAM_GAPS) == 0)
		return stream_gaps_item(s, item, plan_tensor_head(t, &s->head), t);
	if (strcmp(s->frame.kind, STREAM_SPARSE) == 0)
		return stream_sparse_item(s, item, plan_tensor_head(t, &s->head), t);
	return planned_item(s, item, plan_tensor_head(t, &s->head), tensor_name(t));
}

static int
blob_item(struct stream_source *s, struct item *item)
{
	const struct blob *b = &s->plan.blobs[item->index];

	buf_clear(&s->head);
	return planned_item(s, item, plan_blob_head(b, &s->head), b->name);
}

/* Checks an item of a SEAL frame. Only sealed items come in SEAL frames. */
static int
sealed_item(struct stream_source *s, struct item *item)
{
	const char *name = "another item";

	if (item->kind == ITEM_TENSOR)
		name = tensor_name(s->plan.tensors[item->index]);
	if (item->kind == ITEM_BLOB)
		name = s->plan.blobs[item->index].name;
	buf_clear(&s->head);
	return planned_item(s, item, plan_seal_head(&s->plan, item->kind, item->index,
	                                            &s->head), name);
}

static int
sized_item(struct stream_source *s, struct item *item)
{
	uint64_t head, body;

	item_sizes(&s->plan, item->kind, item->index, &head, &body);
	item->head = (const char *)s->frame.head.p;
	item->head_bytes = s->frame.head.n;
	if (item->head_bytes != head)
		return reader_fail(&s->reader, ERR_CORRUPT, "%s: a head of %zu bytes, but the "
		                   "plan announces %" PRIu64, s->frame.kind,
		                   item->head_bytes, head);
	if (frame_head_json(&s->reader, &s->frame) < 0)
		return -1;
	return item->bytes == body ? 0 : wrong_size(s, body);
}

static uint64_t
announced(const struct model *m, enum item_kind kind)
{
	switch (kind) {
	case ITEM_SKEY:
		return m->sealed != 0;
	case ITEM_BLOB:
		return m->blob_count;
	case ITEM_LICENCE:
		return m->licence != MODEL_NONE;
	case ITEM_TENSOR:
		return m->tensor_count;
	case ITEM_PROV:
		return m->prov_count;
	case ITEM_SIGN:
		return m->signatures;
	case ITEM_OTHER:
		break;
	}
	return 0;
}

/* All announced items of the kinds below this rank must have come. */
static int
all_came(struct stream_source *s, size_t rank)
{
	size_t i;

	for (i = 0; i < rank; i++) {
		uint64_t want = announced(&s->plan, ranks[i].item);

		if (s->seen[i] != want)
			return reader_fail(&s->reader, ERR_CORRUPT, "%s: the plan announces %"
			                   PRIu64 " %s frames, %" PRIu64 " came",
			                   s->frame.kind, want, ranks[i].kind, s->seen[i]);
	}
	return 0;
}

static int
known_item(struct stream_source *s, size_t rank, bool sealed, struct item *item)
{
	const struct model *m = &s->plan;

	if (rank < s->rank)
		return reader_fail(&s->reader, ERR_CORRUPT, "%s: out of order", s->frame.kind);
	s->rank = rank;
	item->kind = ranks[rank].item;
	if (m->sealed && item->kind != ITEM_SKEY && s->seen[0] == 0)
		return reader_fail(&s->reader, ERR_CORRUPT, "%s: it comes before SKEY",
		                   s->frame.kind);
	if (all_came(s, rank) < 0 ||
	    next_index(s, rank, announced(m, item->kind), &item->index) < 0)
		return -1;
	if (item_is_sealed(m, item->kind, item->index) != sealed)
		return reader_fail(&s->reader, ERR_CORRUPT, sealed
		                   ? "%s: the plan says that this is not sealed"
		                   : "%s: the plan says that this is sealed", s->frame.kind);
	if (sealed)
		return sealed_item(s, item);
	switch (item->kind) {
	case ITEM_BLOB:
		return blob_item(s, item);
	case ITEM_LICENCE:
		if (frame_head_json(&s->reader, &s->frame) < 0)
			return -1;
		return item->bytes == m->licence ? 0 : wrong_size(s, m->licence);
	case ITEM_TENSOR:
		return tensor_item(s, item);
	case ITEM_SKEY:
	case ITEM_PROV:
	case ITEM_SIGN:
		return sized_item(s, item);
	case ITEM_OTHER:
		break;
	}
	return 0;
}

/* Checks the DONE frame: all announced items have come, and the input ends here. */
static int
finish(struct stream_source *s)
{
	json_t *head;
	uint64_t tensors;
	int ok;

	if (all_came(s, RANKS) < 0)
		return -1;
	head = json_parse(s->frame.head.p, s->frame.head.n, ERR_CORRUPT, s->reader.name,
	                  s->reader.err);
	if (!head)
		return -1;
	ok = json_member_u64(head, "tensors", &tensors) == 0 &&
	     tensors == s->plan.tensor_count && s->frame.body_bytes == 0;
	json_decref(head);
	if (!ok)
		return reader_fail(&s->reader, ERR_CORRUPT, "DONE: it contradicts the plan");
	if (frame_skip(&s->reader, &s->frame) < 0)
		return -1;
	if (!reader_at_end(&s->reader))
		return reader_fail(&s->reader, ERR_CORRUPT, "bytes after the end of the stream");
	return s->reader.failed ? -1 : 0;
}

/* Whether the frame has the kind of this rank. */
static bool
is_kind(const struct stream_source *s, size_t rank)
{
	return strcmp(s->frame.kind, ranks[rank].kind) == 0 ||
	       (ranks[rank].item == ITEM_TENSOR && s->lent_count > 0 &&
	        strcmp(s->frame.kind, STREAM_PLACE) == 0) ||
	       (ranks[rank].item == ITEM_TENSOR && (strcmp(s->frame.kind, STREAM_GAPS) == 0 ||
	                                            strcmp(s->frame.kind, STREAM_SPARSE) == 0));
}

static int
next(struct source *source, struct item *item, struct err *e)
{
	struct stream_source *s = (struct stream_source *)source;
	struct frame *f = &s->frame;
	enum item_kind held;
	bool sealed;
	size_t i;

	(void)e; /* the reader fills its own err */
	if (reader_at_end(&s->reader))
		return s->reader.failed ? -1
		     : reader_fail(&s->reader, ERR_CORRUPT,
		                   "the stream ends before DONE: it was cut short");
	if (frame_begin(&s->reader, f) < 0)
		return -1;
	if (strcmp(f->kind, "DONE") == 0)
		return finish(s);
	item->bytes = f->body_bytes;
	s->is_placed = s->has_gaps = s->is_sparse = false;
	s->source.crc = &f->crc;
	sealed = strcmp(f->kind, "SEAL") == 0;
	if (sealed && !s->plan.sealed)
		return reader_fail(&s->reader, ERR_CORRUPT,
		                   "SEAL: the plan says that nothing is sealed");
	if (sealed && plan_seal_kind(f->head.p, f->head.n, &held, s->reader.name,
	                             s->reader.err) < 0)
		return -1;
	for (i = 0; i < RANKS; i++)
		if (sealed ? ranks[i].item == held : is_kind(s, i))
			return known_item(s, i, sealed, item) < 0 ? -1 : 1;
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

/* Reads a placed body; also puts the bytes to o unless o is NULL. */
static int
read_piece(struct stream_source *s, struct out *o, const uint8_t **p, size_t *n)
{
	uint64_t done = tensor_bytes(s->plan.tensors[s->seen[s->rank] - 1]) - s->left;
	ssize_t sent = 0;

	*n = (size_t)num_min(s->left, READER_BODY);
	if (o && *n > 0 && (sent = out_send(o, s->place.fd, s->place.at + done, *n)) < 0)
		return -1;
	if (sent > 0)
		*n = (size_t)sent;
	buf_clear(&s->piece);
	if (!buf_room(&s->piece, *n))
		return err_memory(s->reader.err);
	*p = s->piece.p;
	if (range_read(&s->place, done, s->piece.p, *n) < 0)
		return range_fail(s->reader.name, s->reader.err);
	s->left -= *n;
	return o && *n > 0 && sent == 0 ? out_put(o, *p, *n) : 0;
}

/* The zeros that come next in a GAPS frame, or in a hole of a file. */
static int
skip_zeros(struct source *source, uint64_t *n, struct err *e)
{
	struct stream_source *s = (struct stream_source *)source;

	(void)e;
	if (s->has_gaps) {
		if (stream_skip_gap(s, n) < 0)
			return -1;
	} else if (s->is_placed) {
		*n = range_gap(&s->place, tensor_bytes(s->plan.tensors[s->seen[s->rank] - 1]) - s->left,
		               s->left);
	}
	s->left -= *n;
	return 0;
}

static int
read_body(struct source *source, const uint8_t **p, size_t *n, struct err *e)
{
	struct stream_source *s = (struct stream_source *)source;

	(void)e;
	*n = 0;
	if (s->is_sparse)
		return stream_read_sparse(s, p, n);
	if (s->has_gaps)
		return stream_read_gaps(s, p, n);
	return s->is_placed ? read_piece(s, NULL, p, n)
	                    : frame_read(&s->reader, &s->frame, p, n);
}

static int
share_body(struct source *source, struct out *o, const uint8_t **p, size_t *n,
           struct err *e)
{
	struct stream_source *s = (struct stream_source *)source;

	(void)e;
	*n = 0;
	if (s->has_gaps)
		return stream_read_gaps(s, p, n) < 0 || (*n > 0 && out_put(o, *p, *n) < 0) ? -1 : 0;
	if (s->is_sparse)
		return stream_read_sparse(s, p, n) < 0 || (*n > 0 && out_put(o, *p, *n) < 0) ? -1 : 0;
	return s->is_placed ? read_piece(s, o, p, n)
	                    : frame_share(&s->reader, &s->frame, o, p, n);
}

static void
close_source(struct source *source)
{
	struct stream_source *s = (struct stream_source *)source;

	reader_close(&s->reader);
	model_free(&s->plan);
	frame_free(&s->frame);
	sparse_decoder_free(s->decoder);
	buf_free(&s->head);
	buf_free(&s->piece);
	free(s);
}

static int
read_plan(struct stream_source *s, struct err *e)
{
	const uint8_t *magic;
	json_t *plan;
	size_t n;
	int r;

	magic = reader_peek(&s->reader, 4, &n);
	if (s->reader.failed)
		return -1;
	if (n == 0)
		return err_set(e, ERR_CORRUPT, s->reader.name, "is empty");
	if (memcmp(magic, "APRS", n) != 0) {
		err_set(e, ERR_FORMAT, s->reader.name, "is not a stream");
		return err_hint(e, "apr-unpack turns a model file into one");
	}
	if (frame_begin(&s->reader, &s->frame) < 0)
		return -1;
	if (s->frame.body_bytes != 0)
		return reader_fail(&s->reader, ERR_CORRUPT, "APRS: it has a body");
	if (frame_skip(&s->reader, &s->frame) < 0)
		return -1;
	plan = json_parse(s->frame.head.p, s->frame.head.n, ERR_CORRUPT, s->reader.name, e);
	if (!plan)
		return -1;
	/* A plan can be large: free its text once it is parsed. */
	buf_free(&s->frame.head);
	r = plan_from_json(&s->plan, plan, true, s->reader.name, e);
	json_decref(plan);
	return r;
}

struct source *
stream_source(struct reader *r, struct err *e)
{
	static const struct source_ops ops = { .next = next, .read = read_body,
		.close = close_source, .share = share_body, .zeros = skip_zeros };
	struct stream_source *s = mem_array(1, sizeof *s);

	if (!s) {
		reader_close(r);
		err_memory(e);
		return NULL;
	}
	s->source.ops = &ops;
	s->source.plan = &s->plan;
	s->source.name = r->name;
	s->source.crc = &s->frame.crc;
	s->reader = *r;
	if (read_plan(s, e) < 0) {
		close_source(&s->source);
		return NULL;
	}
	return &s->source;
}

void
stream_lend(struct source *s, const int *fds, size_t n)
{
	((struct stream_source *)s)->lent = fds;
	((struct stream_source *)s)->lent_count = n;
}
