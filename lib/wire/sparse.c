#include "wire/sparse.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/le.h"
#include "core/mem.h"
#include "core/num.h"

#define MASK_MAX (2 * SPARSE_GROUP) /* bytes: the indices of a full group of csr */
#define VALUES_MAX (8 * SPARSE_GROUP)

/* ---- the head ---- */

void
sparse_head_put(const struct sparse_layout *l, uint8_t to[SPARSE_HEAD])
{
	to[0] = l->form.kind;
	to[1] = l->element;
	le16_put(to + 2, l->form.block);
	le32_put(to + 4, 0);
	le64_put(to + 8, l->row);
	le64_put(to + 16, l->bytes);
}

bool
sparse_head_get(const uint8_t p[SPARSE_HEAD], struct sparse_layout *l)
{
	uint64_t row_bytes;

	l->form = (struct sparse_form){ p[0], le16(p + 2) };
	l->element = p[1];
	l->row = le64(p + 8);
	l->bytes = le64(p + 16);
	return l->form.kind != SPARSE_NONE && sparse_form_valid(l->form) && le32(p + 4) == 0 &&
	       l->element <= 8 && num_power_of_two(l->element) && l->row > 0 && l->bytes > 0 &&
	       l->bytes <= SPARSE_MOST &&
	       num_mul(l->row, l->element, &row_bytes) == 0 && l->bytes % row_bytes == 0;
}

struct sparse_layout
sparse_layout_of(const struct tensor *t)
{
	return (struct sparse_layout){ tensor_form(t), (uint8_t)tensor_type(t)->bytes,
		tensor_row(t), tensor_bytes(t) };
}

bool
sparse_layout_same(const struct sparse_layout *a, const struct sparse_layout *b)
{
	return sparse_form_same(a->form, b->form) && a->element == b->element &&
	       a->row == b->row && a->bytes == b->bytes;
}

uint64_t
sparse_groups(struct sparse_form f, uint64_t values, uint64_t row)
{
	uint64_t run = f.kind == SPARSE_CSR ? row : values;

	return values == 0 ? 0 : values / run * (run / SPARSE_GROUP + (run % SPARSE_GROUP != 0));
}

/* Values of the group that begins at value `at`. */
static size_t
group_values(const struct sparse_layout *l, uint64_t at)
{
	uint64_t left = l->form.kind == SPARSE_CSR ? l->row - at % l->row
	                                            : l->bytes / l->element - at;

	return (size_t)num_min(left, SPARSE_GROUP);
}

/* Values that one bit or index stands for. */
static size_t
unit_values(const struct sparse_layout *l)
{
	return l->form.kind == SPARSE_BLOCK ? l->form.block : 1;
}

/* ---- encoding ---- */

struct sparse_encoder {
	struct sparse_layout l;
	uint64_t at;    /* values before the group */
	size_t group;   /* bytes of the group, */
	size_t fill;    /* and those that have come */
	uint8_t piece[VALUES_MAX];
	uint8_t mask[MASK_MAX];
	uint8_t kept[VALUES_MAX];
};

struct sparse_encoder *
sparse_encoder_new(struct err *e)
{
	struct sparse_encoder *x = mem_array(1, sizeof *x);

	if (!x)
		err_memory(e);
	return x;
}

void
sparse_encoder_free(struct sparse_encoder *x)
{
	free(x);
}

static void
next_group(struct sparse_encoder *x)
{
	uint64_t all = x->l.bytes / x->l.element;

	x->fill = 0;
	x->group = x->at < all ? group_values(&x->l, x->at) * x->l.element : 0;
}

void
sparse_encoder_begin(struct sparse_encoder *x, const struct sparse_layout *l, struct buf *out)
{
	uint8_t head[SPARSE_HEAD];

	x->l = *l;
	x->at = 0;
	next_group(x);
	sparse_head_put(l, head);
	buf_put(out, head, sizeof head);
}

static bool
is_zero(const uint8_t *p, size_t n)
{
	return p[0] == 0 && (n == 1 || memcmp(p, p + 1, n - 1) == 0);
}

/* Copies the units that are not zero to x->kept and marks them in x->mask: by bits, or by
 * indices. Returns their number; *bytes: of x->kept. */
static uint32_t
keep(struct sparse_encoder *x, const uint8_t *p, size_t unit, size_t *bytes)
{
	bool csr = x->l.form.kind == SPARSE_CSR;
	uint32_t count = 0;
	uint8_t *to = x->kept;
	size_t i, at, n;

	for (i = 0, at = 0; at < x->group; i++, at += unit) {
		n = num_min(unit, x->group - at);
		if (is_zero(p + at, n))
			continue;
		if (csr)
			le16_put(x->mask + 2 * (size_t)count, (uint16_t)i);
		else
			x->mask[i / 8] |= (uint8_t)(1u << i % 8);
		memcpy(to, p + at, n);
		to += n;
		count++;
	}
	*bytes = (size_t)(to - x->kept);
	return count;
}

static int
put_group(struct sparse_encoder *x, const uint8_t *p, struct buf *out, struct err *e)
{
	size_t unit = unit_values(&x->l) * x->l.element;
	size_t mask = ((x->group + unit - 1) / unit + 7) / 8, kept;
	uint32_t count;

	memset(x->mask, 0, mask);
	count = keep(x, p, unit, &kept);
	if (x->l.form.kind == SPARSE_CSR)
		mask = 2 * (size_t)count;
	if (mask + kept >= x->group) {
		buf_u32(out, SPARSE_RAW);
		buf_put(out, p, x->group);
	} else {
		buf_u32(out, count);
		buf_put(out, x->mask, mask);
		buf_put(out, x->kept, kept);
	}
	x->at += x->group / x->l.element;
	next_group(x);
	return buf_ok(out) ? 0 : err_memory(e);
}

int
sparse_encoder_put(struct sparse_encoder *x, const uint8_t *p, size_t n, struct buf *out,
                   struct err *e)
{
	size_t part;

	while (n > 0) {
		if (x->group == 0)
			return err_set(e, ERR_CORRUPT, NULL, "more bytes come than a tensor has");
		part = (size_t)num_min(n, x->group - x->fill);
		if (part == x->group) {
			if (put_group(x, p, out, e) < 0)
				return -1;
		} else {
			memcpy(x->piece + x->fill, p, part);
			x->fill += part;
			if (x->fill == x->group && put_group(x, x->piece, out, e) < 0)
				return -1;
		}
		p += part;
		n -= part;
	}
	return buf_ok(out) ? 0 : err_memory(e);
}

/* ---- decoding ---- */

enum part { PART_HEAD, PART_COUNT, PART_MASK, PART_VALUES, PART_ENDED };

struct sparse_decoder {
	struct sparse_layout l, expected;
	bool expects;
	const char *name;
	enum part part;
	uint64_t at;    /* values before the group */
	size_t group;   /* values of the group */
	uint32_t count;
	size_t want, fill; /* bytes of this part, and those that have come */
	uint8_t small[SPARSE_HEAD];
	uint8_t mask[MASK_MAX];
	uint8_t values[VALUES_MAX];
	uint8_t dense[VALUES_MAX];
};

struct sparse_decoder *
sparse_decoder_new(struct err *e)
{
	struct sparse_decoder *x = mem_array(1, sizeof *x);

	if (!x)
		err_memory(e);
	return x;
}

void
sparse_decoder_free(struct sparse_decoder *x)
{
	free(x);
}

static void
expect(struct sparse_decoder *x, enum part part, size_t bytes)
{
	x->part = part;
	x->want = bytes;
	x->fill = 0;
}

void
sparse_decoder_begin(struct sparse_decoder *x, const struct sparse_layout *expected)
{
	x->expects = expected;
	if (expected)
		x->expected = *expected;
	x->at = 0;
	expect(x, PART_HEAD, SPARSE_HEAD);
}

static int
wrong(const struct sparse_decoder *x, struct err *e, const char *what)
{
	return err_set(e, ERR_CORRUPT, x->name, "its sparse form is damaged: %s, in the group of "
	               "value %" PRIu64, what, x->at);
}

static void
begin_group(struct sparse_decoder *x)
{
	if (x->at == x->l.bytes / x->l.element) {
		expect(x, PART_ENDED, 0);
		return;
	}
	x->group = group_values(&x->l, x->at);
	expect(x, PART_COUNT, 4);
}

static int
take_head(struct sparse_decoder *x, struct err *e)
{
	if (!sparse_head_get(x->small, &x->l))
		return err_set(e, ERR_CORRUPT, x->name, "its sparse form does not begin with a head");
	if (x->expects && !sparse_layout_same(&x->l, &x->expected))
		return err_set(e, ERR_CORRUPT, x->name,
		               "its sparse form is that of another tensor or another form");
	begin_group(x);
	return 0;
}

static int
take_count(struct sparse_decoder *x, struct err *e)
{
	size_t unit = unit_values(&x->l), units = (x->group + unit - 1) / unit;

	x->count = le32(x->small);
	if (x->count == SPARSE_RAW)
		expect(x, PART_VALUES, x->group * x->l.element);
	else if (x->count > units)
		return wrong(x, e, "more values are stored than it has");
	else
		expect(x, PART_MASK, x->l.form.kind == SPARSE_CSR ? 2 * (size_t)x->count
		                                                   : (units + 7) / 8);
	return 0;
}

/* Checks the indices of csr. */
static int
take_indices(struct sparse_decoder *x, struct err *e)
{
	uint32_t i;

	for (i = 0; i < x->count; i++) {
		if (le16(x->mask + 2 * (size_t)i) >= x->group)
			return wrong(x, e, "an index is too large");
		if (i > 0 && le16(x->mask + 2 * (size_t)i) <= le16(x->mask + 2 * (size_t)i - 2))
			return wrong(x, e, "indices do not ascend");
	}
	expect(x, PART_VALUES, (size_t)x->count * x->l.element);
	return 0;
}

/* Checks the bits against the count and the end of the group. */
static int
take_bits(struct sparse_decoder *x, struct err *e)
{
	size_t unit = unit_values(&x->l), units = (x->group + unit - 1) / unit, i;
	size_t values = x->count * unit, last = x->group - (units - 1) * unit;
	uint32_t set = 0;

	for (i = 0; i < (units + 7) / 8; i++)
		set += (uint32_t)__builtin_popcount(x->mask[i]);
	if (set != x->count)
		return wrong(x, e, "the bits that are set are not as many as its count");
	if (units % 8 && x->mask[units / 8] >> units % 8)
		return wrong(x, e, "a bit is set behind its end");
	if (x->mask[(units - 1) / 8] >> (units - 1) % 8 & 1)
		values -= unit - last;
	expect(x, PART_VALUES, values * x->l.element);
	return 0;
}

/* Puts the stored values at their places among zeros. */
static void
spread(struct sparse_decoder *x)
{
	size_t unit = unit_values(&x->l) * x->l.element, bytes = x->group * x->l.element;
	const uint8_t *from = x->values;
	size_t i, n;

	memset(x->dense, 0, bytes);
	if (x->l.form.kind == SPARSE_CSR) {
		for (i = 0; i < x->count; i++, from += unit)
			memcpy(x->dense + le16(x->mask + 2 * i) * unit, from, unit);
		return;
	}
	for (i = 0; i * unit < bytes; i++) {
		if (i % 8 == 0 && x->mask[i / 8] == 0) {
			i += 7;
			continue;
		}
		if (!(x->mask[i / 8] >> i % 8 & 1))
			continue;
		n = num_min(unit, bytes - i * unit);
		memcpy(x->dense + i * unit, from, n);
		from += n;
	}
}

/* Ends the part whose bytes have all come. Sets *out if a group is complete. */
static int
end_part(struct sparse_decoder *x, const uint8_t **out, size_t *out_n, struct err *e)
{
	switch (x->part) {
	case PART_HEAD:
		return take_head(x, e);
	case PART_COUNT:
		return take_count(x, e);
	case PART_MASK:
		return x->l.form.kind == SPARSE_CSR ? take_indices(x, e) : take_bits(x, e);
	case PART_VALUES:
		*out = x->values;
		*out_n = x->group * x->l.element;
		if (x->count != SPARSE_RAW) {
			spread(x);
			*out = x->dense;
		}
		x->at += x->group;
		begin_group(x);
		return 0;
	case PART_ENDED:
		break;
	}
	return 1;
}

static uint8_t *
room(struct sparse_decoder *x)
{
	return x->part == PART_MASK ? x->mask : x->part == PART_VALUES ? x->values : x->small;
}

int
sparse_decoder_step(struct sparse_decoder *x, const uint8_t **in, size_t *in_n,
                    const uint8_t **out, size_t *out_n, const char *name, struct err *e)
{
	size_t part;
	int r = 0;

	x->name = name;
	*out = x->dense;
	*out_n = 0;
	while (r == 0 && *out_n == 0) {
		part = (size_t)num_min(x->want - x->fill, *in_n);
		if (part > 0)
			memcpy(room(x) + x->fill, *in, part);
		x->fill += part;
		*in += part;
		*in_n -= part;
		if (x->fill < x->want)
			return 0;
		r = end_part(x, out, out_n, e);
	}
	return r;
}
