#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "stream/frame.h"
#include "stream/plan.h"
#include "stream/stream.h"

/* The kinds in their order. A frame may not come before one of a lower rank. */
static const struct {
	const char *kind;
	enum item_kind item;
} ranks[] = {
	{ "blob", ITEM_BLOB }, { "lice", ITEM_LICENCE }, { "TENS", ITEM_TENSOR },
	{ "prov", ITEM_PROV }, { "sign", ITEM_SIGN },
};
#define RANKS (sizeof ranks / sizeof *ranks)

struct stream_source {
	struct source source;
	struct reader reader;
	struct model plan;
	struct frame frame;
	struct buf head;     /* the head that the plan asks for */
	size_t rank;         /* of the last frame */
	uint64_t seen[RANKS];
};

static int
next_index(struct stream_source *s, size_t rank, uint64_t announced, size_t *index)
{
	if (s->seen[rank] >= announced)
		return reader_fail(&s->reader, ERR_CORRUPT,
		                   "%s: one more than the plan announces", s->frame.kind);
	*index = (size_t)s->seen[rank]++;
	return 0;
}

/* The frame must carry what the plan says at this place, to the letter that our
 * own writer uses or in any other JSON spelling of it. */
static int
same_head(struct stream_source *s, const char *name)
{
	json_t *a, *b;
	int same;

	if (s->frame.head.n == s->head.n &&
	    memcmp(s->frame.head.p, s->head.p, s->head.n) == 0)
		return 0;
	a = json_parse(s->frame.head.p, s->frame.head.n, ERR_CORRUPT, s->reader.name,
	               s->reader.err);
	if (!a)
		return -1;
	b = json_parse(s->head.p, s->head.n, ERR_CORRUPT, s->reader.name, s->reader.err);
	same = b && json_equal(a, b);
	json_decref(a);
	json_decref(b);
	if (!same)
		return reader_fail(&s->reader, ERR_CORRUPT,
		                   "%s: the frame contradicts the plan, which has %s here",
		                   s->frame.kind, name);
	return 0;
}

static int
wrong_size(struct stream_source *s, uint64_t announced)
{
	return reader_fail(&s->reader, ERR_CORRUPT, "%s: a body of %" PRIu64
	                   " bytes, but the plan announces %" PRIu64,
	                   s->frame.kind, s->frame.body_bytes, announced);
}

static int
tensor_item(struct stream_source *s, struct item *item)
{
	struct tensor *t = s->plan.tensors[item->index];

	buf_clear(&s->head);
	if (plan_tensor_head(t, &s->head) < 0)
		return err_memory(s->reader.err);
	if (same_head(s, tensor_name(t)) < 0)
		return -1;
	return item->bytes == tensor_bytes(t) ? 0 : wrong_size(s, tensor_bytes(t));
}

static int
blob_item(struct stream_source *s, struct item *item)
{
	struct blob *b = &s->plan.blobs[item->index];

	buf_clear(&s->head);
	if (plan_blob_head(b, &s->head) < 0)
		return err_memory(s->reader.err);
	if (same_head(s, b->name) < 0)
		return -1;
	return item->bytes == b->bytes ? 0 : wrong_size(s, b->bytes);
}

/* A head that the plan does not spell out is JSON all the same. */
static int
json_head(struct stream_source *s)
{
	json_t *head = json_parse(s->frame.head.p, s->frame.head.n, ERR_CORRUPT,
	                          s->reader.name, s->reader.err);

	json_decref(head);
	return head ? 0 : -1;
}

static int
sized_item(struct stream_source *s, struct item *item, uint64_t head, uint64_t body)
{
	item->head = (const char *)s->frame.head.p;
	item->head_bytes = s->frame.head.n;
	if (item->head_bytes != head)
		return reader_fail(&s->reader, ERR_CORRUPT, "%s: a head of %zu bytes, but the "
		                   "plan announces %" PRIu64, s->frame.kind,
		                   item->head_bytes, head);
	if (json_head(s) < 0)
		return -1;
	return item->bytes == body ? 0 : wrong_size(s, body);
}

static int
known_item(struct stream_source *s, size_t rank, struct item *item)
{
	const struct model *m = &s->plan;

	if (rank < s->rank)
		return reader_fail(&s->reader, ERR_CORRUPT, "%s: out of order", s->frame.kind);
	s->rank = rank;
	item->kind = ranks[rank].item;
	switch (item->kind) {
	case ITEM_BLOB:
		if (next_index(s, rank, m->blob_count, &item->index) < 0)
			return -1;
		return blob_item(s, item);
	case ITEM_LICENCE:
		if (next_index(s, rank, m->licence != MODEL_NONE, &item->index) < 0 ||
		    json_head(s) < 0)
			return -1;
		return item->bytes == m->licence ? 0 : wrong_size(s, m->licence);
	case ITEM_TENSOR:
		if (next_index(s, rank, m->tensor_count, &item->index) < 0)
			return -1;
		return tensor_item(s, item);
	case ITEM_PROV:
		if (next_index(s, rank, m->prov_count, &item->index) < 0)
			return -1;
		return sized_item(s, item, m->provs[item->index], 0);
	case ITEM_SIGN:
		if (next_index(s, rank, m->signatures, &item->index) < 0)
			return -1;
		return sized_item(s, item, MODEL_SIGN_HEAD, model_sign_body(m));
	case ITEM_OTHER:
		break;
	}
	return 0;
}

/* Everything announced has come, and nothing comes after. */
static int
finish(struct stream_source *s)
{
	const uint64_t announced[RANKS] = { s->plan.blob_count,
		s->plan.licence != MODEL_NONE, s->plan.tensor_count, s->plan.prov_count,
		s->plan.signatures };
	json_t *head;
	uint64_t tensors;
	size_t i;
	int ok;

	for (i = 0; i < RANKS; i++)
		if (s->seen[i] != announced[i])
			return reader_fail(&s->reader, ERR_CORRUPT, "DONE: the plan announces %"
			                   PRIu64 " %s frames, %" PRIu64 " came",
			                   announced[i], ranks[i].kind, s->seen[i]);
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

static int
next(struct source *source, struct item *item, struct err *e)
{
	struct stream_source *s = (struct stream_source *)source;
	struct frame *f = &s->frame;
	size_t i;

	(void)e; /* the reader holds it */
	if (reader_at_end(&s->reader))
		return s->reader.failed ? -1
		     : reader_fail(&s->reader, ERR_CORRUPT,
		                   "the stream ends before DONE: it was cut short");
	if (frame_begin(&s->reader, f) < 0)
		return -1;
	if (strcmp(f->kind, "DONE") == 0)
		return finish(s);
	item->bytes = f->body_bytes;
	for (i = 0; i < RANKS; i++)
		if (strcmp(f->kind, ranks[i].kind) == 0)
			return known_item(s, i, item) < 0 ? -1 : 1;
	if (f->kind[0] >= 'A' && f->kind[0] <= 'Z')
		return reader_fail(&s->reader, ERR_FORMAT,
		                   "%s: a frame that this tool does not know and must not pass",
		                   f->kind);
	item->kind = ITEM_OTHER;
	memcpy(item->frame, f->kind, sizeof item->frame);
	item->head = (const char *)f->head.p;
	item->head_bytes = f->head.n;
	return json_head(s) < 0 ? -1 : 1;
}

static int
read_body(struct source *source, const uint8_t **p, size_t *n, struct err *e)
{
	struct stream_source *s = (struct stream_source *)source;

	(void)e;
	return frame_read(&s->reader, &s->frame, p, n);
}

static void
close_source(struct source *source)
{
	struct stream_source *s = (struct stream_source *)source;

	reader_close(&s->reader);
	model_free(&s->plan);
	frame_free(&s->frame);
	buf_free(&s->head);
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
	/* A plan can be large: its text is not kept beside what it says. */
	buf_free(&s->frame.head);
	r = plan_from_json(&s->plan, plan, true, s->reader.name, e);
	json_decref(plan);
	return r;
}

struct source *
stream_source(struct reader *r, struct err *e)
{
	static const struct source_ops ops = { next, read_body, close_source };
	struct stream_source *s = mem_array(1, sizeof *s);

	if (!s) {
		reader_close(r);
		err_memory(e);
		return NULL;
	}
	s->source.ops = &ops;
	s->source.plan = &s->plan;
	s->source.name = r->name;
	s->reader = *r;
	if (read_plan(s, e) < 0) {
		close_source(&s->source);
		return NULL;
	}
	return &s->source;
}
