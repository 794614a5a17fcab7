/* The values of a tensor, whatever its strides, in bounded memory.
 *
 * A tensor that does not lie in one piece is gathered box by box. A box is as many rows of the
 * innermost dimensions as fit into BOX bytes. Inside a box the storage is read along its own
 * smallest stride, so that a transposed matrix costs one read for each run of a storage's row and
 * not one for each value. Short runs that lie close together are read together.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/crc32.h"
#include "core/mem.h"
#include "core/num.h"
#include "core/range.h"
#include "imports/torch/torch.h"

#ifndef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
#define BOX (4u << 20)   /* bytes of the values gathered at once */
#else
#define BOX 64u
#endif
#define RUN (1u << 16)   /* bytes of the storage read at once */
#define CLOSE 4096       /* runs at most this many bytes apart are read together: a page is read anyway */
#define PROVED (4u << 20) /* bytes of a member whose CRC-32 is added at once */

struct torch_box {
	uint64_t done;           /* values */
	unsigned ndim;
	uint64_t dims[TENSOR_DIMS];
	bool close;              /* runs are read together: */
	uint64_t window_at;      /* the bytes of the storage that are in window */
	size_t window_bytes;
	uint8_t window[RUN];
	uint8_t run[RUN];
	uint8_t values[BOX];
};

/* One dimension of a box. */
struct axis {
	uint64_t n, stride, step; /* strides in the storage and in the box, in values */
};

/* ---- storages ---- */

/* Inflate the member that holds the storage, unless it is the last one that was. Tensors that
 * alternate between members would make this endless, so there is a limit. */
static int
inflate(struct torch *t, const struct zip_entry *x)
{
	struct zip_inflate *f;
	const uint8_t *p;
	size_t n = 1;
	int r = 0;

	if (t->inflated == x)
		return 0;
	spool_free(&t->bytes);
	t->bytes = (struct spool){ 0 };
	t->inflated = NULL;
	if (num_add(t->inflated_bytes, x->bytes, &t->inflated_bytes) < 0 ||
	    t->inflated_bytes / ZIP_RATIO > t->n)
		return err_set(t->err, ERR_CORRUPT, t->source.name,
		               "has compressed storages that too many tensors share");
	f = zip_inflate_open(&t->zip, x, t->err);
	if (!f)
		return -1;
	while (r == 0 && n > 0) {
		r = zip_inflate(f, &p, &n, t->err);
		if (r == 0 && n > 0)
			r = spool_put(&t->bytes, p, n, t->err);
	}
	zip_inflate_close(f);
	if (r < 0 || spool_view(&t->bytes, &t->bytes_view, t->err) < 0)
		return -1;
	t->inflated = x;
	return 0;
}

/* Make the bytes of an array whose pickle has letters in their place. */
static int
decode(struct torch *t, const struct torch_view *v)
{
	uint8_t piece[4096];
	size_t at = 0, n;

	spool_free(&t->bytes);
	t->bytes = (struct spool){ 0 };
	t->inflated = NULL;
	while ((n = npy_letters(v->bytes, v->letters, &at, piece, sizeof piece)) > 0)
		if (spool_put(&t->bytes, piece, n, t->err) < 0)
			return -1;
	return spool_view(&t->bytes, &t->bytes_view, t->err);
}

/* Check the CRC-32 of a stored member, once. */
static int
prove(struct torch *t, const struct zip_entry *x)
{
	size_t member = (size_t)(x - t->zip.entries), n;
	const uint8_t *p = t->p + x->offset;
	uint32_t crc = 0;
	uint64_t at;

	if (!t->proved && !(t->proved = mem_array(t->zip.count, sizeof *t->proved)))
		return err_memory(t->err);
	if (t->proved[member])
		return 0;
	for (at = 0; at < x->bytes; at += n) {
		n = (size_t)num_min(PROVED, x->bytes - at);
		crc = crc32_add(crc, p + at, n);
		whole_release(t->file, p + at, n);
	}
	t->proved[member] = true;
	return zip_prove(&t->zip, x, crc, t->err);
}

static int
read_file(const struct torch *t, uint64_t at, uint8_t *p, size_t n)
{
	const struct range range = { .fd = whole_fd(t->file), .at = t->base };

	errno = 0;
	return range_read(&range, at, p, n) < 0 ? range_fail(t->source.name, t->err) : 0;
}

/* Read n bytes of the storage from offset at, at most RUN. */
static int
fetch(struct torch *t, uint64_t at, uint8_t *p, size_t n)
{
	struct torch_box *b = t->box;

	if (t->view->deflated || t->view->bytes || whole_fd(t->file) < 0) {
		memcpy(p, t->from + at, n);
		return 0;
	}
	if (!b->close)
		return read_file(t, at, p, n);
	if (at < b->window_at || at + n > b->window_at + b->window_bytes) {
		b->window_at = at;
		b->window_bytes = (size_t)num_min(RUN, t->n - at);
		if (read_file(t, at, b->window, b->window_bytes) < 0)
			return -1;
	}
	memcpy(p, b->window + (at - b->window_at), n);
	return 0;
}

/* ---- boxes ---- */

/* The axes of the next box, except those of one value: at most `most` values, in whole rows of the
 * inner dimensions.
 * *offset is its first value in the storage. Returns the number of values. */
static uint64_t
next_box(const struct torch *t, uint64_t most, struct axis *axes, unsigned *count,
         uint64_t *offset)
{
	const struct torch_box *b = t->box;
	uint64_t inner = 1, outer, index;
	unsigned k = b->ndim, i;

	while (k > 0 && inner * b->dims[k - 1] <= most)
		inner *= b->dims[--k];
	*count = 0;
	*offset = 0;
	for (i = k, outer = inner; i < b->ndim; i++) {
		outer /= b->dims[i];
		if (b->dims[i] > 1)
			axes[(*count)++] = (struct axis){ b->dims[i], (uint64_t)t->view->strides[i],
				outer };
	}
	outer = b->done / inner;
	for (i = k; i-- > 0; outer /= b->dims[i]) {
		index = outer % b->dims[i];
		*offset += index * (uint64_t)t->view->strides[i];
		if (i + 1 == k) {
			most = num_min(most / inner, b->dims[i] - index);
			if (most > 1)
				axes[(*count)++] = (struct axis){ most, (uint64_t)t->view->strides[i],
					inner };
		}
	}
	return k > 0 ? inner * most : inner;
}

/* The longest stride first; a stride of 0 repeats values and stands outside. */
static int
by_stride(const void *a, const void *b)
{
	const struct axis *x = a, *y = b;
	uint64_t s = x->stride - 1, r = y->stride - 1;

	return s > r ? -1 : s < r;
}

/* Copy one value; swap the order of its bytes if asked to. */
static void
put_value(uint8_t *to, const uint8_t *from, unsigned element, unsigned swapped)
{
	unsigned i;

	/* With a constant size, memcpy is one instruction. */
	if (!swapped && element == 4)
		memcpy(to, from, 4);
	else if (!swapped && element == 2)
		memcpy(to, from, 2);
	else if (!swapped)
		memcpy(to, from, element);
	if (!swapped)
		return;
	for (i = 0; i < element; i++)
		to[i] = from[i / swapped * swapped + swapped - 1 - i % swapped];
}

/* Read the values along one axis, from offset at of the storage, to value `to` of the box. */
static int
read_run(struct torch *t, const struct axis *x, uint64_t at, uint64_t to)
{
	const uint64_t element = t->view->element, skip = x->stride * element;
	const uint64_t fit = x->stride ? (RUN / element - 1) / x->stride + 1 : x->n;
	struct torch_box *b = t->box;
	uint64_t i, j, n;

	for (i = 0; i < x->n; i += n) {
		n = num_min(fit, x->n - i);
		if (fetch(t, at + i * skip, b->run, (size_t)((n - 1) * skip + element)) < 0)
			return -1;
		for (j = 0; j < n; j++)
			put_value(b->values + (to + (i + j) * x->step) * element, b->run + j * skip,
			          (unsigned)element, t->swap);
	}
	return 0;
}

/* Change the signs of n values that are marked as conjugated or negated. */
static void
negate(const struct torch *t, uint64_t n)
{
	const struct torch_view *v = t->view;
	const unsigned each = v->element / v->number;
	const uint64_t first = t->box->done * each;
	uint64_t i;

	if (!v->negated[0] && !v->negated[1])
		return;
	for (i = 0; i < n * each; i++)
		if (v->negated[v->complex ? (first + i) % 2 : 0])
			t->box->values[(i + 1) * v->number - 1] ^= 0x80;
}

/* Gather the next box. Returns its values, or 0 with the error filled. */
static uint64_t
gather(struct torch *t)
{
	struct axis axes[TENSOR_DIMS + 1];
	uint64_t at, to = 0, n, index[TENSOR_DIMS + 1] = { 0 };
	struct torch_box *b = t->box;
	unsigned count, i;

	n = next_box(t, BOX / t->view->element, axes, &count, &at);
	if (count == 0)
		axes[count++] = (struct axis){ 1, 0, 1 };
	qsort(axes, count, sizeof *axes, by_stride);
	b->close = count > 1 && axes[count - 2].stride <= CLOSE / t->view->element;
	at = t->view->at + at * t->view->element;
	for (;;) {
		if (read_run(t, &axes[count - 1], at, to) < 0)
			return 0;
		for (i = count - 1; i-- > 0;) {
			at += axes[i].stride * t->view->element;
			to += axes[i].step;
			if (++index[i] < axes[i].n)
				break;
			at -= axes[i].n * axes[i].stride * t->view->element;
			to -= axes[i].n * axes[i].step;
			index[i] = 0;
		}
		if (i == UINT32_MAX)
			return n;
	}
}

/* ---- values ---- */

int
torch_values_begin(struct torch *t, const struct tensor *of, const struct torch_view *v)
{
	unsigned i;

	t->view = v;
	t->left = tensor_items(of);
	if (v->sparse) {
		t->head_waits = false;
		return t->left ? torch_sparse_begin(v->sparse) : 0;
	}
	t->head_waits = tensor_type(of)->head > 0;
	t->swap = v->bytes ? v->swap : !t->big_endian || v->number == 1 ? 0 : v->number;
	if (t->left == 0)
		return 0;
	if ((v->letters && decode(t, v) < 0) || (v->deflated && inflate(t, v->deflated) < 0) ||
	    (v->stored && t->options.strict && prove(t, v->stored) < 0))
		return -1;
	t->from = v->deflated || v->letters ? t->bytes_view : v->bytes ? v->bytes : t->p;
	t->plain_at = v->at;
	if (v->plain && !t->swap)
		return 0;
	if (!t->box && !(t->box = mem_array(1, sizeof *t->box)))
		return err_memory(t->err);
	t->box->done = 0;
	t->box->window_bytes = 0;
	t->box->ndim = tensor_ndim(of);
	for (i = 0; i < t->box->ndim; i++)
		t->box->dims[i] = tensor_dims(of)[i];
	return 0;
}

int
torch_values_read(struct torch *t, const uint8_t **p, size_t *n)
{
	const struct torch_view *v = t->view;
	uint64_t values;

	*n = 0;
	if (t->head_waits) {
		t->head_waits = false;
		*p = v->head;
		*n = sizeof v->head;
		return 0;
	}
	if (t->left == 0)
		return 0;
	if (v->sparse) {
		values = num_min(t->left, TORCH_PIECE / v->element);
		torch_sparse_read(v->sparse, values, p);
	} else if (v->plain && !t->swap) {
		values = num_min(t->left, TORCH_PIECE / v->element);
		*p = t->from + t->plain_at;
		t->plain_at += values * v->element;
	} else {
		values = gather(t);
		if (values == 0)
			return -1;
		negate(t, values);
		*p = t->box->values;
		t->box->done += values;
	}
	t->left -= values;
	*n = (size_t)(values * v->element);
	return 0;
}

void
torch_values_free(struct torch *t)
{
	free(t->box);
	free(t->proved);
	spool_free(&t->bytes);
}
