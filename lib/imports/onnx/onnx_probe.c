/* ONNX has no magic number: its first bytes are the fields of a ModelProto, in the order of
 * their numbers. Models of Core ML and SavedModels of TensorFlow begin alike, with a number and
 * then a message where ONNX has text: a message shows by the control characters in it. */
#include "imports/onnx/onnx.h"

#define VERSIONS 99 /* maximum ir_version; 13 is the latest */

/* The bytes at hand, which may end anywhere. */
struct head {
	const uint8_t *p, *end;
	bool cut; /* they ended inside a field */
};

static uint64_t
varint(struct head *h)
{
	uint64_t v = 0;
	unsigned i;

	for (i = 0; i < 10; i++) {
		if (h->p == h->end) {
			h->cut = true;
			return 0;
		}
		v |= (uint64_t)(*h->p & 0x7f) << 7 * i;
		if (*h->p++ < 0x80)
			return v;
	}
	return UINT64_MAX;
}

/* The next n bytes, those that are at hand. */
static struct head
take(struct head *h, uint64_t n)
{
	struct head in = *h;

	if (n > (uint64_t)(h->end - h->p)) {
		h->cut = true;
		n = (uint64_t)(h->end - h->p);
	}
	in.end = h->p += n;
	return in;
}

static bool
is_text(struct head h)
{
	for (; h.p < h.end; h.p++)
		if ((*h.p < 0x20 && *h.p != '\n' && *h.p != '\r' && *h.p != '\t') || *h.p == 0x7f)
			return false;
	return true;
}

/* Names do not contain line breaks, which are keys in messages of other programs. */
static bool
is_name(struct head h)
{
	const uint8_t *p;

	for (p = h.p; p < h.end; p++)
		if (*p < 0x20)
			return false;
	return is_text(h);
}

/* A message whose first field has one of these numbers, and bytes that fit into n. */
static bool
begins_with(struct head *h, uint64_t n, uint32_t numbers)
{
	const uint64_t key = varint(h), bytes = varint(h);

	if (h->cut)
		return true;
	return (key & 7) == PROTOBUF_BYTES && key >> 3 < 32 && numbers >> (key >> 3) & 1 && bytes < n;
}

static bool
is_graph(struct head h, uint64_t n)
{
	const uint32_t graph = 1u << 1 | 1u << 2 | 1u << 5 | 0x1fu << 10 | 1u << 15 | 1u << 16;
	const bool node = h.p < h.end && *h.p == (1 << 3 | PROTOBUF_BYTES);

	if (n == 0 || !begins_with(&h, n, graph))
		return false;
	return !node || h.cut || begins_with(&h, n, 0x3fe);
}

/* domain and version */
static bool
is_opset(struct head h)
{
	uint64_t key;

	while (h.p < h.end) {
		key = varint(&h);
		if (key == (1 << 3 | PROTOBUF_BYTES)) {
			if (!is_name(take(&h, varint(&h))))
				return false;
		} else if (key == (2 << 3 | PROTOBUF_VARINT)) {
			varint(&h);
		} else {
			return false;
		}
	}
	return true;
}

/* One field of a ModelProto. *sure: no other message has it. */
static bool
is_field(struct head *h, uint64_t key, bool *sure)
{
	const uint64_t n = varint(h);
	struct head in;

	if (key == (MODEL_VERSION << 3 | PROTOBUF_VARINT))
		return true;
	if ((key & 7) != PROTOBUF_BYTES)
		return false;
	in = take(h, n);
	switch (key >> 3) {
	case MODEL_PRODUCER:
	case MODEL_PRODUCER_VERSION:
	case MODEL_DOMAIN:
		return is_name(in);
	case MODEL_DOC:
		return is_text(in);
	case MODEL_GRAPH:
		*sure = true;
		return is_graph(in, n);
	case MODEL_OPSET:
		*sure = !h->cut;
		return is_opset(in);
	case MODEL_METADATA:
	case MODEL_FUNCTIONS:
		return true;
	default:
		return false;
	}
}

bool
onnx_probe(const uint8_t *head, size_t n)
{
	struct head h;
	bool sure = false;
	uint64_t key, version;

	if (n == 0 || *head != (MODEL_IR_VERSION << 3 | PROTOBUF_VARINT))
		return false;
	h = (struct head){ head, head + n, false };
	varint(&h);
	version = varint(&h);
	if (version == 0 || version > VERSIONS)
		return false;
	while (h.p < h.end && !h.cut) {
		key = varint(&h);
		if (!h.cut && !is_field(&h, key, &sure))
			return false;
	}
	/* A long text may hide the rest. */
	return sure || (h.cut && n == FORMAT_PROBE);
}
