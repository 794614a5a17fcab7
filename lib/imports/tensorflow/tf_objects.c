/* The graph of objects: what the variables of a checkpoint are called. */
#include <string.h>

#include "core/le.h"
#include "core/crc32.h"
#include "core/crc32c.h"
#include "core/text.h"
#include "imports/tensorflow/tensorflow.h"

/* Tensors of texts have a varint for the length of each text, a masked CRC-32C of these lengths as
 * numbers of 32 bits, or 64 if one needs them, and the texts. The entry's CRC-32C covers the lengths
 * as numbers, and what follows. */
static int
read_text(struct tensorflow *x, const struct tf_entry *t, struct tf_text *text, uint64_t *offset)
{
	const uint8_t *p = tf_values(x, t);
	uint64_t n = 0, bytes = t->bytes, at = 0;
	uint8_t number[8];
	uint32_t crc;
	bool more = true;

	for (; more && at < bytes && at < 5; at++) {
		n |= (uint64_t)(p[at] & 0x7f) << 7 * at;
		more = p[at] >= 0x80;
	}
	if (more || bytes - at < 4 || n != bytes - at - 4)
		return err_set(x->import.err, ERR_CORRUPT, t->key, "is not one text");
	le64_put(number, n);
	crc = crc32c_add(0, number, n > UINT32_MAX ? 8 : 4);
	if (!crc32_same(crc32c_mask(crc), le32(p + at)) ||
	    !crc32_same(crc32c_mask(crc32c_add(crc, p + at, (size_t)(bytes - at))), t->crc))
		return err_set(x->import.err, ERR_CHECKSUM, t->key, "has a text whose checksum (CRC-32C) "
		               "is wrong");
	*text = (struct tf_text){ (const char *)p + at + 4, (size_t)n };
	*offset = t->offset + at + 4;
	return 0;
}

/* SerializedTensor: the name and the key of a variable. */
static int
read_attribute(struct tensorflow *x, const struct protobuf *outer, const struct protobuf_field *f)
{
	struct tf_text name = { NULL, 0 }, key = { NULL, 0 };
	struct protobuf_field g;
	struct tf_entry *t;
	struct protobuf m;
	int r;

	protobuf_within(&m, outer, f);
	while ((r = protobuf_next(&m, &g)) > 0)
		if (g.form == PROTOBUF_BYTES && g.number == 2)
			name = tf_text_of(&g);
		else if (g.form == PROTOBUF_BYTES && g.number == 3)
			key = tf_text_of(&g);
	t = r == 0 && key.p ? tf_find(x, key.p, key.n) : NULL;
	if (t && !t->name.p && name.n > 0 && name.n <= TF_NAME && text_utf8(name.p, name.n, false))
		t->name = name;
	return r;
}

/* TrackableObject */
static int
read_object(struct tensorflow *x, const struct protobuf *outer, const struct protobuf_field *f)
{
	struct protobuf_field g;
	struct protobuf m;
	int r;

	protobuf_within(&m, outer, f);
	while ((r = protobuf_next(&m, &g)) > 0)
		if (g.number == 2 && g.form == PROTOBUF_BYTES && read_attribute(x, &m, &g) < 0)
			return -1;
	return r;
}

int
tf_objects(struct tensorflow *x, const struct tf_entry *t)
{
	struct protobuf_field f;
	struct tf_text text = { NULL, 0 };
	struct protobuf m;
	uint64_t offset = 0;
	int r;

	if (t->number != TF_STRING || t->ndim != 0 || t->bytes == 0)
		return err_set(x->import.err, ERR_CORRUPT, t->key, "is not one text");
	if (read_text(x, t, &text, &offset) < 0)
		return -1;
	tf_message(x, &m, (const uint8_t *)text.p, text.n, offset);
	while ((r = protobuf_next(&m, &f)) > 0)
		if (f.number == 1 && f.form == PROTOBUF_BYTES && read_object(x, &m, &f) < 0)
			return -1;
	return r;
}
