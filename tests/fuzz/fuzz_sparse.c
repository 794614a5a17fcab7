/* fuzz_sparse: tensors without their zeros (wire/sparse.h).
 *
 *     1. The bytes are refused, need more, or are a tensor: the same answer whatever the pieces,
 *        and never more bytes than the head says.
 *     2. A tensor that was read comes back from the bytes that the writer makes of it, in each
 *        form, and these do not depend on pieces.
 *
 * The mutator writes whole heads and groups: counts, indices and bits that agree, and then perhaps
 * one that does not.
 */
#include "dice.h"
#include "mutate.h"

#include "wire/sparse.h"

/* What comes out of the bytes. The result of the last step; left: bytes after the tensor. */
static int
decode(const uint8_t *p, size_t n, size_t piece, struct buf *to, size_t *left, struct err *e)
{
	struct sparse_decoder *x = sparse_decoder_new(e);
	const uint8_t *out;
	size_t part = 0, out_n;
	int r = 0;

	must(x);
	sparse_decoder_begin(x, NULL);
	do {
		if (part == 0)
			part = n < piece ? n : piece;
		n -= part;
		r = sparse_decoder_step(x, &p, &part, &out, &out_n, "t", e);
		n += part;
		buf_put(to, out, r < 0 ? 0 : out_n);
	} while (r == 0 && (n > 0 || out_n > 0));
	must((r < 0) == (e->code != ERR_NONE));
	*left = n;
	sparse_decoder_free(x);
	return r;
}

static void
encode(const struct sparse_layout *l, const struct buf *b, size_t piece, struct buf *to)
{
	struct err e = ERR_INIT;
	struct sparse_encoder *x = sparse_encoder_new(&e);
	size_t at, n;

	must(x);
	sparse_encoder_begin(x, l, to);
	for (at = 0; at < b->n; at += n) {
		n = b->n - at < piece ? b->n - at : piece;
		must(sparse_encoder_put(x, b->p + at, n, to, &e) == 0);
	}
	sparse_encoder_free(x);
}

/* The tensor in another form and back. */
static void
again(struct sparse_layout l, struct sparse_form form, const struct buf *dense, size_t piece)
{
	struct buf whole = { 0 }, pieces = { 0 }, back = { 0 };
	struct err e = ERR_INIT;
	size_t left;

	l.form = form;
	encode(&l, dense, SIZE_MAX, &whole);
	encode(&l, dense, piece, &pieces);
	must(whole.n == pieces.n && memcmp(whole.p, pieces.p, whole.n) == 0);
	must(decode(whole.p, whole.n, piece, &back, &left, &e) == 1 && left == 0);
	must(back.n == dense->n && memcmp(back.p, dense->p, back.n) == 0);
	buf_free(&whole);
	buf_free(&pieces);
	buf_free(&back);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct sparse_form forms[] = { { SPARSE_CSR, 0 }, { SPARSE_BITMAP, 0 },
		{ SPARSE_BLOCK, 4 }, { SPARSE_BLOCK, 1024 } };
	struct buf dense = { 0 }, same = { 0 };
	struct err e = ERR_INIT, other = ERR_INIT;
	size_t piece = size > SPARSE_HEAD ? data[SPARSE_HEAD] + 1u : 1, left, rest, i;
	struct sparse_layout l;
	int r;

	r = decode(data, size, SIZE_MAX, &dense, &left, &e);
	must(decode(data, size, piece, &same, &rest, &other) == r && rest == left);
	must(r < 0 || (dense.n == same.n && memcmp(dense.p, same.p, same.n) == 0));
	if (r < 0)
		fuzz_refused(&e, false);
	if (size >= SPARSE_HEAD && sparse_head_get(data, &l))
		must(dense.n <= l.bytes && (r != 1 || dense.n == l.bytes));
	for (i = 0; r == 1 && i < sizeof forms / sizeof *forms; i++)
		again(l, forms[i], &dense, piece * 3);
	buf_free(&dense);
	buf_free(&same);
	return 0;
}

/* ---- the mutator ---- */

static void
put_values(struct buf *b, struct dice *d, size_t n)
{
	for (; n > 0; n--)
		buf_u8(b, (uint8_t)roll(d, 4));
}

/* A group of n values; odd: perhaps with a count, index or bit that is wrong. */
static void
put_group(struct buf *b, struct dice *d, const struct sparse_layout *l, size_t n)
{
	size_t unit = l->form.kind == SPARSE_BLOCK ? l->form.block : 1, units = (n + unit - 1) / unit;
	bool csr = l->form.kind == SPARSE_CSR;
	uint8_t *set = calloc(units + 8, 1);
	size_t i, count = 0, values = 0;

	must(set);
	for (i = 0; i < units; i++)
		set[i] = roll(d, 3) == 0;
	for (i = 0; i < units; i++) {
		count += set[i];
		values += !set[i] ? 0 : i + 1 < units ? unit : n - i * unit;
	}
	if (roll(d, 8) == 0) {
		buf_u32(b, SPARSE_RAW);
		put_values(b, d, n * l->element);
		free(set);
		return;
	}
	buf_u32(b, (uint32_t)(count + (d->odd && roll(d, 8) == 0)));
	if (d->odd && roll(d, 8) == 0)
		set[units + roll(d, 8)] = 1; /* behind the end */
	for (i = 0; csr && i < units; i++)
		if (set[i])
			buf_u16(b, (uint16_t)(d->odd && roll(d, 16) == 0 ? roll(d, 65536) : i));
	for (i = 0; !csr && i < units; i += 8)
		buf_u8(b, (uint8_t)(set[i] | set[i + 1] << 1 | set[i + 2] << 2 | set[i + 3] << 3 |
		                    set[i + 4] << 4 | set[i + 5] << 5 | set[i + 6] << 6 |
		                    set[i + 7] << 7));
	put_values(b, d, values * l->element);
	free(set);
}

size_t
LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
	static const struct sparse_form forms[] = { { SPARSE_CSR, 0 }, { SPARSE_BITMAP, 0 },
		{ SPARSE_BLOCK, 2 }, { SPARSE_BLOCK, 16 }, { SPARSE_BLOCK, 1024 } };
	struct dice d = { .state = seed, .odd = seed & 1 };
	struct sparse_layout l = { .form = ONE_OF(&d, forms) };
	uint8_t head[SPARSE_HEAD];
	struct buf b = { 0 };
	uint64_t at, rows, n;

	if (roll(&d, 4) == 0)
		return LLVMFuzzerMutate(data, size, max);
	l.element = (uint8_t)(1u << roll(&d, 4));
	l.row = roll(&d, 8) ? 1 + roll(&d, 40) : 65530 + roll(&d, 20);
	rows = l.row > 1000 ? 1 : 1 + roll(&d, 6);
	l.bytes = rows * l.row * l.element;
	sparse_head_put(&l, head);
	buf_put(&b, head, sizeof head);
	for (at = 0; at < rows * l.row; at += n) {
		n = num_min(l.form.kind == SPARSE_CSR ? l.row - at % l.row : rows * l.row - at,
		            SPARSE_GROUP);
		put_group(&b, &d, &l, (size_t)n);
	}
	if (d.odd && roll(&d, 4) == 0)
		b.n = roll(&d, (unsigned)b.n);
	return mutate_done(&b, data, size, max);
}
