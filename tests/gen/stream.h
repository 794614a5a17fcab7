/* stream: frames by hand, for the generators. Their checksums are computed here,
 * as specified (CRC-32, polynomial 0xEDB88320), when the file is written, so that
 * a change of a head or a body does not cause a second fault.
 */
#ifndef GEN_STREAM_H
#define GEN_STREAM_H

#include "gen.h"

#define FRAMES 64

struct frame {
	const char *id;          /* what rows of tables call it */
	char kind[5];
	char *head;
	size_t head_n;
	struct gen body;
	/* What its fields say, where that is not the truth. */
	int lies_head, lies_body, bad_head_crc, bad_body_crc;
	uint64_t head_says, body_says;
};

struct frames {
	struct frame list[FRAMES];
	size_t n;
};

static inline uint32_t
crc32_of(const uint8_t *p, size_t n)
{
	uint32_t c = 0xffffffff;
	int bit;

	for (; n > 0; n--) {
		c ^= *p++;
		for (bit = 0; bit < 8; bit++)
			c = c >> 1 ^ (c & 1 ? 0xedb88320 : 0);
	}
	return ~c;
}

/* Append a frame; its body is put into the result's body. */
static inline struct gen *
put_frame(struct frames *s, const char *id, const char *kind, const char *head)
{
	struct frame *f = &s->list[s->n++];

	if (s->n == FRAMES)
		gen_die("too many frames", id);
	*f = (struct frame){ .id = id, .head_n = strlen(head) };
	memcpy(f->kind, kind, 4);
	f->head = malloc(f->head_n + 1);
	memcpy(f->head, head, f->head_n + 1);
	return &f->body;
}

static inline struct frame *
frame_by(struct frames *s, const char *id)
{
	size_t i;

	for (i = 0; i < s->n; i++)
		if (strcmp(s->list[i].id, id) == 0)
			return &s->list[i];
	gen_die("no such frame", id);
}

static inline void
write_frame(struct gen *g, const struct frame *f)
{
	size_t at = g->n;

	put(g, f->kind, 4);
	put_u32(g, (uint32_t)(f->lies_head ? f->head_says : f->head_n));
	put_u64(g, f->lies_body ? f->body_says : f->body.n);
	put(g, f->head, f->head_n);
	put_u32(g, crc32_of(g->p + at, g->n - at) ^ (f->bad_head_crc ? 1 : 0));
	put(g, f->body.p, f->body.n);
	put_u32(g, crc32_of(f->body.p, f->body.n) ^ (f->bad_body_crc ? 1 : 0));
}

static inline void
write_frames(struct gen *g, const struct frames *s)
{
	size_t i;

	for (i = 0; i < s->n; i++)
		write_frame(g, &s->list[i]);
}

static inline void
frame_free(struct frame *f)
{
	free(f->head);
	gen_free(&f->body);
}

/* All frames from the i-th. */
static inline void
frames_cut(struct frames *s, size_t i)
{
	while (s->n > i)
		frame_free(&s->list[--s->n]);
}

static inline void
frames_free(struct frames *s)
{
	frames_cut(s, 0);
}

/* ---- a stream that is read ---- */

static inline uint64_t
frame_number(const uint8_t *p, unsigned width)
{
	return width ? frame_number(p + 1, width - 1) << 8 | *p : 0;
}

static inline void
frame_take(FILE *from, struct gen *g, size_t n)
{
	if (n > 0 && fread(gen_open(g, g->n, n), 1, n, from) != n)
		gen_die("is cut short", "the stream");
}

/* Append all frames of a stream, whatever their checksums. */
static inline void
frames_read(FILE *from, struct frames *s)
{
	char kind[5] = "", *head;
	size_t n;

	do {
		struct gen g = { 0 };

		frame_take(from, &g, 16);
		memcpy(kind, g.p, 4);
		n = (size_t)frame_number(g.p + 4, 4);
		frame_take(from, &g, n + 4);
		head = calloc(1, n + 1);
		memcpy(head, g.p + 16, n);
		frame_take(from, put_frame(s, "", kind, head), (size_t)frame_number(g.p + 8, 8));
		frame_take(from, &g, 4);
		free(head);
		gen_free(&g);
	} while (strcmp(kind, "DONE") != 0);
}

/* ---- one change of a stream ---- */

struct change {
	enum {
		CHANGE_NONE, CHANGE_HEAD, CHANGE_KIND, CHANGE_BODY, CHANGE_BODY_SAYS,
		CHANGE_HEAD_SAYS, CHANGE_HEAD_CRC, CHANGE_BODY_CRC, CHANGE_DROP,
		CHANGE_TWICE, CHANGE_SWAP, CHANGE_CUT, CHANGE_BEFORE, CHANGE_TAIL
	} op;
	const char *id;
	const char *from, *to; /* HEAD: text replaced; KIND: to; BEFORE: kind, head */
	size_t n;              /* of to, where it is bytes */
	uint64_t value;
};

#define HEAD(ID, FROM, TO) { CHANGE_HEAD, ID, FROM, TO, sizeof(TO) - 1, 0 }
#define KIND(ID, TO) { CHANGE_KIND, ID, NULL, TO, 4, 0 }
#define BODY(ID, BYTES) { CHANGE_BODY, ID, NULL, BYTES, sizeof(BYTES) - 1, 0 }
#define BODY_SAYS(ID, V) { CHANGE_BODY_SAYS, ID, NULL, NULL, 0, V }
#define HEAD_SAYS(ID, V) { CHANGE_HEAD_SAYS, ID, NULL, NULL, 0, V }
#define HEAD_CRC(ID) { CHANGE_HEAD_CRC, ID, NULL, NULL, 0, 0 }
#define BODY_CRC(ID) { CHANGE_BODY_CRC, ID, NULL, NULL, 0, 0 }
#define DROP(ID) { CHANGE_DROP, ID, NULL, NULL, 0, 0 }
#define TWICE(ID) { CHANGE_TWICE, ID, NULL, NULL, 0, 0 }
#define SWAP(ID) { CHANGE_SWAP, ID, NULL, NULL, 0, 0 }   /* with the next one */
#define CUT_AT(ID) { CHANGE_CUT, ID, NULL, NULL, 0, 0 }  /* ends before it */
#define BEFORE(ID, KIND, HEAD) { CHANGE_BEFORE, ID, KIND, HEAD, 0, 0 }
#define TAIL_OF(BYTES) { CHANGE_TAIL, NULL, NULL, BYTES, sizeof(BYTES) - 1, 0 }

static inline void
replace_in_head(struct frame *f, const char *from, const char *to, size_t n)
{
	char *at = strstr(f->head, from), *head;
	size_t before, after;

	if (!at || strstr(at + 1, from))
		gen_die("this text does not stand in its head once", from);
	before = (size_t)(at - f->head);
	after = f->head_n - before - strlen(from);
	head = malloc(before + n + after + 1);
	memcpy(head, f->head, before);
	memcpy(head + before, to, n);
	memcpy(head + before + n, at + strlen(from), after + 1);
	free(f->head);
	f->head = head;
	f->head_n = before + n + after;
}

/* Make room for a frame at list[i]. */
static inline void
open_frame(struct frames *s, size_t i)
{
	if (s->n + 1 >= FRAMES)
		gen_die("too many frames", s->list[i].id);
	memmove(&s->list[i + 1], &s->list[i], (s->n - i) * sizeof *s->list);
	s->n++;
}

static inline void
change_frames(struct frames *s, const struct change *c)
{
	struct frame *f = c->id ? frame_by(s, c->id) : NULL, copy;
	size_t i = f ? (size_t)(f - s->list) : 0;

	switch (c->op) {
	case CHANGE_NONE:
	case CHANGE_TAIL:
		break;
	case CHANGE_HEAD:
		replace_in_head(f, c->from, c->to, c->n);
		break;
	case CHANGE_KIND:
		memcpy(f->kind, c->to, 4);
		break;
	case CHANGE_BODY:
		gen_free(&f->body);
		put(&f->body, c->to, c->n);
		break;
	case CHANGE_BODY_SAYS:
		f->lies_body = 1;
		f->body_says = c->value;
		break;
	case CHANGE_HEAD_SAYS:
		f->lies_head = 1;
		f->head_says = c->value;
		break;
	case CHANGE_HEAD_CRC:
		f->bad_head_crc = 1;
		break;
	case CHANGE_BODY_CRC:
		f->bad_body_crc = 1;
		break;
	case CHANGE_DROP:
		frame_free(f);
		memmove(f, f + 1, (s->n - i - 1) * sizeof *f);
		s->n--;
		break;
	case CHANGE_TWICE:
		copy = *f;
		copy.head = malloc(f->head_n + 1);
		memcpy(copy.head, f->head, f->head_n + 1);
		copy.body = (struct gen){ 0 };
		put(&copy.body, f->body.p, f->body.n);
		open_frame(s, i);
		s->list[i] = copy;
		break;
	case CHANGE_SWAP:
		copy = f[0];
		f[0] = f[1];
		f[1] = copy;
		break;
	case CHANGE_CUT:
		frames_cut(s, i);
		break;
	case CHANGE_BEFORE:
		open_frame(s, i);
		copy = (struct frame){ .id = "new", .head_n = strlen(c->to) };
		memcpy(copy.kind, c->from, 4);
		copy.head = malloc(copy.head_n + 1);
		memcpy(copy.head, c->to, copy.head_n + 1);
		s->list[i] = copy;
		break;
	}
}

/* All changes of a row, and the file. */
static inline void
write_changed(struct gen *g, struct frames *s, const struct change *changes, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		change_frames(s, &changes[i]);
	write_frames(g, s);
	for (i = 0; i < n; i++)
		if (changes[i].op == CHANGE_TAIL)
			put(g, changes[i].to, changes[i].n);
}

/* ---- the mother of all streams ---- */

#define LONG_ITEMS 1030 /* more than a plan may hold inline */

/* Every kind of frame that travels: a long value, a side file, a licence, three
 * tensors (one of a type that only has a number), provenance, a signature. */
static inline void
mother(struct frames *s)
{
	static const char digits[] = "0123456789abcdef0123456789abcdef"
	                             "0123456789abcdef0123456789abcdef";
	char sign[2049];
	struct gen *body;

	put_frame(s, "APRS", "APRS",
	          "{\"version\":1,\"source\":{\"format\":\"gguf\",\"version\":3,"
	          "\"alignment\":32,\"end_padded\":true},"
	          "\"metadata\":[[\"general.architecture\",\"string\",\"llama\"],"
	          "[\"count\",\"u32\",7],"
	          "[\"ids\",\"array:u8\",{\"blob\":\"value:ids\"}],"
	          "[\"eps\",\"f32\",\"0.100000001\"]],"
	          "\"blobs\":[[\"value:ids\",\"value\",1042],"
	          "[\"README\",\"text/plain\",5]],"
	          "\"licence\":4,"
	          "\"tensors\":[[\"a\",\"F32\",[2,3]],[\"b\",\"Q8_0\",[1,32]],"
	          "[\"u\",\"GGML_60\",[7],{\"bytes\":32}]],"
	          "\"provenance\":[13],\"signatures\":1}");

	body = put_frame(s, "ids", "blob", "{\"name\":\"value:ids\",\"type\":\"value\"}");
	put_u32(body, 0);
	put_u64(body, LONG_ITEMS);
	put_ramp(body, LONG_ITEMS);
	body = put_frame(s, "README", "blob",
	                 "{\"name\":\"README\",\"type\":\"text/plain\"}");
	put_text(body, "hello");
	body = put_frame(s, "lice", "lice", "{}");
	put_text(body, "free");

	body = put_frame(s, "a", "TENS", "{\"name\":\"a\",\"dtype\":\"F32\",\"shape\":[2,3]}");
	put_ramp(body, 24);
	body = put_frame(s, "b", "TENS", "{\"name\":\"b\",\"dtype\":\"Q8_0\",\"shape\":[1,32]}");
	put_ramp(body, 34);
	body = put_frame(s, "u", "TENS", "{\"name\":\"u\",\"dtype\":\"GGML_60\",\"shape\":[7]}");
	put_ramp(body, 32);

	put_frame(s, "prov", "prov", "{\"what\":\"it\"}");
	snprintf(sign, sizeof sign, "{\"version\":2,\"key\":\"%.16s\",\"root\":\"%s\","
	         "\"metadata\":\"%s\",\"blobs\":\"%s\",\"licence\":\"%s\",\"tensors\":\"%s\","
	         "\"signature\":\"%s%s\",\"statement\":{\"name\":\"\",\"version\":\"\","
	         "\"date\":\"\",\"comment\":\"\"}%*s}", digits, digits, digits, digits, digits,
	         digits, digits, digits, 2048 - 574 - 47 - 1, "");
	body = put_frame(s, "sign", "sign", sign);
	put_ramp(body, 32 * 5); /* a side file, a prov, three tensors */
	put_frame(s, "DONE", "DONE", "{\"tensors\":3}");
}

#endif
