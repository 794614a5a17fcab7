/* fuzz_kernels: any bytes of any type, into any other. The first byte chooses the type
 * that they are of, the second what they become, the third how they are cut.
 *
 *     1. Any whole blocks decode, and read nothing else; one after another to the
 *        same values as all at once.
 *     2. Any values encode, plainly and by importance, and write nothing else; the
 *        same bytes each time and at every level (kernels/level.h).
 *     3. A tensor goes from one type to the other, on any number of threads and in
 *        any pieces, and each value is counted.
 */
#include "fuzz.h"

#include <math.h>

#include "kernels/kernel.h"
#include "kernels/level.h"
#include "kernels/whole.h"
#include "quant/recode.h"

#define VALUES 4096 /* at most: what is found in more is found in fewer */

/* The n-th of the types that can, counted around. */
static const struct dtype *
choose(uint8_t n, bool (*can)(const struct dtype *))
{
	unsigned i = 0;

	for (;; i++) {
		if (!dtype_row(i))
			i = 0;
		if (can(dtype_row(i)) && n-- == 0)
			return dtype_row(i);
	}
}

/* A copy, so that a sanitizer sees its end. */
static void *
exact(const void *p, size_t n)
{
	uint8_t *copy = malloc(n ? n : 1);

	must(copy != NULL);
	if (n)
		memcpy(copy, p, n);
	return copy;
}

/* The numbers in bytes bytes after the head; n of them. */
static float *
decoded(const struct dtype *t, const uint8_t *head, const uint8_t *p, size_t n)
{
	float *all = exact("", 0), one[256];
	size_t i, k;

	all = realloc(all, (n ? n : 1) * sizeof *all);
	must(all != NULL);
	kernel_decode(t, head, p, all, n);
	for (i = 0; i < n; i += t->items) {
		k = n - i < t->items ? n - i : t->items;
		kernel_decode(t, head, p + dtype_span(t, i), one, k);
		must(memcmp(one, all + i, k * sizeof *one) == 0);
	}
	return all;
}

/* ---- encoding ---- */

static void
encode(const struct dtype *t, const float *weights, const float *x, uint8_t *y, size_t n)
{
	const struct kernel *k = kernel_for(t);
	uint8_t head[DTYPE_HEAD];
	float most = 0;
	size_t i;

	if (t->head) {
		for (i = 0; i < n; i++)
			if (isfinite(x[i]) && fabsf(x[i]) > most)
				most = fabsf(x[i]);
		whole_for(t)->begin(most, head);
		whole_for(t)->encode(head, x, y, n);
	} else if (weights && k->encode_weighted) {
		k->encode_weighted(x, weights, y, n);
	} else {
		k->encode(x, y, n);
	}
}

/* Weights as an importance matrix has them: their products with x² are finite. */
static float *
weights_of(const float *x, size_t n)
{
	float *w = exact("", 0);
	size_t i;

	w = realloc(w, (n ? n : 1) * sizeof *w);
	must(w != NULL);
	for (i = 0; i < n; i++)
		w[i] = isfinite(x[i]) && fabsf(x[i]) < 0x1p30f ? fabsf(x[n - 1 - i]) : 0;
	for (i = 0; i < n; i++)
		w[i] = w[i] < 0x1p30f ? w[i] : 1; /* NaN and infinities too */
	return w;
}

/* Some types are encoded only by importance. */
static bool
needs_weights(const struct dtype *t)
{
	return !t->head && !kernel_for(t)->encode;
}

static void
encodings(const struct dtype *t, const float *x, size_t n, uint8_t how)
{
	bool weighted = how & 1 || needs_weights(t);
	size_t levels = 1; /* to take another one takes its time */
	size_t bytes, i;
	float *values, *weights;
	uint8_t *first, *again;
	struct err e = ERR_INIT;

	while (how % 64 == 7 && level_row((unsigned)levels))
		levels++;
	if (!t->whole)
		n -= n % t->items;
	bytes = dtype_span(t, n);
	values = exact(x, n * sizeof *x);
	weights = weighted ? weights_of(values, n) : NULL;
	first = exact("", 0);
	again = malloc(bytes ? bytes : 1);
	first = realloc(first, bytes ? bytes : 1);
	must(first && again);
	memset(first, 0x55, bytes);
	for (i = 0; i < levels; i++) {
		if (levels > 1)
			must(level_begin(level_row((unsigned)i)->name, fuzz_note, &e) == 0);
		memset(again, 0xaa, bytes);
		encode(t, weights, values, i ? again : first, n);
		must(i == 0 || memcmp(first, again, bytes) == 0);
	}
	encode(t, weights, values, again, n);
	must(memcmp(first, again, bytes) == 0);
	free(values);
	free(weights);
	free(first);
	free(again);
}

/* ---- a tensor ---- */

static struct convert_stats
converted(const struct tensor *t, const struct dtype *to, const uint8_t *p, size_t piece,
          unsigned jobs)
{
	static struct recode r; /* its buffers are used again */
	struct recode_options how = { .jobs = jobs, .check = true };
	size_t n = tensor_bytes(t), at, part;
	struct err e = ERR_INIT;

	must_say(recode_begin(&r, t, to, &how, &e) == 0, &e);
	for (at = 0; at < n; at += part) {
		part = n - at < piece ? n - at : piece;
		must_say(recode_add(&r, p + at, part, NULL, &e) == 0, &e);
	}
	must_say(recode_end(&r, NULL, &e) == 0, &e);
	return r.stats;
}

/* Of one row that both types can have. */
static void
tensor(const struct dtype *from, const struct dtype *to, const uint8_t *p, size_t n,
       size_t piece)
{
	struct convert_stats a, b;
	struct err e = ERR_INIT;
	uint64_t dim = n;
	struct tensor *t;

	if (!to->whole)
		dim -= dim % to->items;
	if (!from->whole)
		dim -= dim % from->items;
	if (!to->whole)
		dim -= dim % to->items;
	t = tensor_new("t", 1, from, 1, &dim, TENSOR_OWN_SIZE, "in", &e);
	must_say(t != NULL, &e);
	a = converted(t, to, p, tensor_bytes(t) + 1, 1);
	b = converted(t, to, p, piece, 3);
	must(memcmp(&a, &b, sizeof a) == 0);
	must(from == to || a.values == tensor_items(t));
	must(a.nonfinite + a.overflow <= a.values);
	must(a.nonfinite + a.overflow == 0 || a.first < a.values);
	tensor_free(t);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct dtype *from, *to;
	uint8_t *copy;
	size_t n, piece;
	float *x;

	if (size < 3)
		return 0;
	from = choose(data[0], kernel_decodes);
	to = choose(data[1], kernel_encodes);
	piece = (size_t)data[2] * 5 + 1;
	size -= 3;
	if (size < from->head)
		return 0;
	n = (size - from->head) / from->bytes * from->items;
	n = n < VALUES ? n : VALUES;
	/* The last block of a whole tensor may be begun. */
	if (from->whole && n > 0)
		n -= piece % from->items;
	copy = exact(data + 3, from->head + dtype_span(from, n));
	x = decoded(from, copy, copy + from->head, n);
	encodings(to, x, n, data[2]);
	if (from == to || !needs_weights(to))
		tensor(from, to, copy, n, piece);
	free(x);
	free(copy);
	return 0;
}
