/* What a file of TensorFlow begins with. Messages have no magic number: their first fields tell,
 * which other formats begin alike. Core ML and ONNX have a number and then other fields. */
#include <string.h>

#include "imports/tensorflow/tensorflow.h"

/* The bytes at hand of a message. */
struct head {
	const uint8_t *p, *end;
	bool open; /* more follow */
};

/* A varint: false if the bytes at hand end inside it. */
static bool
varint(struct head *h, uint64_t *v)
{
	unsigned i;

	*v = 0;
	for (i = 0; i < 10 && h->p < h->end; i++) {
		*v |= (uint64_t)(*h->p & 0x7f) << 7 * i;
		if (*h->p++ < 0x80)
			return true;
	}
	return false;
}

/* Enters the next field, which must have this number and hold bytes: those at hand. */
static bool
enter(struct head *h, unsigned number, struct head *in)
{
	uint64_t n, left;

	*in = (struct head){ h->end, h->end, true };
	if (h->p < h->end && *h->p++ != (number << 3 | PROTOBUF_BYTES)) {
		h->p--;
		return false;
	}
	if (!varint(h, &n))
		return h->open && h->p == h->end;
	left = (uint64_t)(h->end - h->p);
	in->open = n > left;
	in->p = h->p;
	in->end = h->p += n < left ? n : left;
	return h->open || !in->open;
}

/* A name: letters, digits and the marks that names of nodes and operations have. */
static bool
is_name(struct head h, size_t least)
{
	const uint8_t *p;

	for (p = h.p; p < h.end; p++)
		if (*p <= 0x20 || *p >= 0x7f || *p == '"')
			return false;
	return h.open || (size_t)(h.end - h.p) >= least;
}

/* NodeDef: name, then the operation's name. */
static bool
is_node(struct head h)
{
	struct head in;

	if (!enter(&h, 1, &in) || !is_name(in, 1))
		return false;
	return in.open ? in.end - in.p >= 8 : enter(&h, 2, &in) && is_name(in, 1);
}

/* FunctionDefLibrary: a function, its signature, its name. */
static bool
is_library(struct head h)
{
	struct head function, signature, name;

	return enter(&h, 1, &function) && enter(&function, 1, &signature) &&
	       enter(&signature, 1, &name) && is_name(name, 1);
}

static bool
is_graph(struct head h)
{
	struct head in;

	if (enter(&h, 1, &in))
		return is_node(in);
	return enter(&h, 2, &in) && is_library(in);
}

/* MetaInfoDef: perhaps a text; then operations, any_info, tags, or a version. */
static bool
is_info(struct head h)
{
	struct head in, operation, name;

	if (enter(&h, 1, &in) && (!is_name(in, 0) || in.open))
		return false;
	if (enter(&h, 2, &in))
		return enter(&in, 1, &operation) && enter(&operation, 1, &name) && is_name(name, 1);
	return (enter(&h, 4, &in) || enter(&h, 5, &in)) && is_name(in, 1);
}

/* SavedObjectGraph: a node, and its first child. */
static bool
is_objects(struct head h)
{
	struct head node, child;

	return enter(&h, 1, &node) && enter(&node, 1, &child) && child.p < child.end &&
	       (*child.p == 0x12 || *child.p == 0x08);
}

/* MetaGraphDef */
static bool
is_meta(struct head h)
{
	struct head in;

	if (enter(&h, 1, &in))
		return is_info(in);
	if (enter(&h, 2, &in))
		return is_graph(in);
	return enter(&h, 7, &in) && is_objects(in);
}

static bool
is_saved(struct head h)
{
	struct head in;

	if (h.end - h.p < 8 || h.p[0] != 0x08 || h.p[1] != 1)
		return false;
	h.p += 2;
	return enter(&h, 2, &in) && is_meta(in);
}

/* The first entry of a table: it shares nothing with a key before, its key is empty, and its value
 * is a BundleHeaderProto, whose first field is a number. A compressed block begins with its size,
 * and with such bytes as they are. */
static bool
is_index(const uint8_t *head, size_t n)
{
	size_t at = 0;

	if (n >= 8 && head[0] != 0) {
		while (at < 4 && head[at] >= 0x80)
			at++;
		at++;
		at += (head[at] & 3) != 0 ? n : head[at] >> 2 < 60 ? 1 : 2 + (size_t)((head[at] >> 2) - 60);
	}
	return at + 6 < n && head[at] == 0 && head[at + 1] == 0 && head[at + 2] >= 2 &&
	       head[at + 2] < 64 && head[at + 3] == 0x08 && head[at + 4] > 0;
}

enum tf_form
tf_probe(const uint8_t *head, size_t n)
{
	static const char list[] = "model_checkpoint_path: \"";
	const struct head h = { head, head + n, n >= FORMAT_PROBE };

	if (n >= sizeof list - 1 && memcmp(head, list, sizeof list - 1) == 0)
		return TF_LIST;
	if (n < 8)
		return TF_NONE;
	if (is_saved(h))
		return TF_SAVED;
	if (is_graph(h))
		return TF_FROZEN;
	if (is_meta(h))
		return TF_META;
	return is_index(head, n) ? TF_INDEX : TF_NONE;
}
