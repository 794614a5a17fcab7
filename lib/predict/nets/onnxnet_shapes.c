/* Shapes of networks of ONNX, and operators that change them. */
#include <stdlib.h>
#include <string.h>

#include "predict/nets/onnxnet.h"

int
onnxnet_sizes(struct onnxnet *x, const char *name, size_t n, size_t low, size_t *to)
{
	struct buf b = { 0 };
	const double *v;
	size_t i;
	int r = onnxml_numbers(&x->x, name, false, &b);

	v = (const double *)(const void *)b.p;
	if (r == 0 && onnxml_has(&x->x, name) && b.n != n * sizeof *v)
		r = keras_wrong(&x->k, "%s does not have %zu numbers", name, n);
	for (i = 0; r == 0 && i < b.n / sizeof *v; i++)
		if (v[i] >= (double)low && v[i] <= FOREST_FEATURES)
			to[i] = (size_t)v[i];
		else
			r = keras_wrong(&x->k, "%s is not a size", name);
	buf_free(&b);
	return r;
}

/* Integers of an attribute, or of input i: files of later versions have them there. 0 or -1. */
static int
integers(struct onnxnet *x, const char *name, size_t i, size_t most, size_t *n, double *to)
{
	const struct onnxnet_constant *c = onnxnet_constant(x, i);
	struct buf b = { 0 };
	double *v = NULL;
	int r = 0;

	if (onnxml_has(&x->x, name)) {
		r = onnxml_numbers(&x->x, name, false, &b);
	} else if (c && c->items <= most) {
		v = onnxnet_values(x, c, c->items);
		if (v)
			buf_put(&b, v, (size_t)c->items * sizeof *v);
		r = v ? buf_ok(&b) ? 0 : err_memory(x->k.e) : -1;
		free(v);
	}
	*n = b.n / sizeof *to;
	if (r == 0 && (*n == 0 || *n > most))
		r = keras_wrong(&x->k, "%s is not a list of 1 to %zu numbers", name, most);
	if (r == 0)
		memcpy(to, b.p, b.n);
	buf_free(&b);
	return r;
}

size_t
onnxnet_shape(const struct onnxnet *x, size_t dims[ONNXNET_SHAPE])
{
	size_t i, at = 0, n = x->k.ndim;

	for (i = 0; i < n; i++) {
		if (i == x->batch)
			dims[at++] = 1;
		dims[at++] = !x->turned ? x->k.dims[i] : i ? x->k.dims[i - 1] : x->k.dims[n - 1];
	}
	if (x->batch == n)
		dims[at++] = 1;
	return at;
}

/* Takes a shape with the rows at another dimension. */
static void
set_shape(struct onnxnet *x, size_t n, const size_t *dims, size_t batch)
{
	size_t i;

	x->k.ndim = n - 1;
	x->batch = batch;
	for (i = 0; i + 1 < n; i++)
		x->k.dims[i] = dims[i < batch ? i : i + 1];
}

/* ---- channels ---- */

/* Exchanges channels, `first` values or places, and the rest. */
static int
turn(struct onnxnet *x, const size_t *order, bool turned)
{
	size_t i, n = x->k.ndim, rest = 1, channels = x->k.dims[x->turned ? n - 1 : 0], dims[KERAS_SHAPE];

	for (i = 0; i < n; i++) {
		dims[i] = x->k.dims[order[i]];
		rest *= dims[i];
	}
	x->turned = turned;
	if (channels != 1 && rest != channels)
		return keras_turn(&x->k, order);
	memcpy(x->k.dims, dims, n * sizeof *dims); /* the values have the same order */
	return 0;
}

int
onnxnet_channels_last(struct onnxnet *x)
{
	size_t i, n = x->k.ndim, order[KERAS_SHAPE];

	if (x->turned || n < 2)
		return 0;
	for (i = 0; i < n; i++)
		order[i] = (i + 1) % n;
	return turn(x, order, true);
}

int
onnxnet_as_stored(struct onnxnet *x)
{
	size_t i, n = x->k.ndim, order[KERAS_SHAPE];

	if (!x->turned)
		return 0;
	for (i = 0; i < n; i++)
		order[i] = (i + n - 1) % n;
	return turn(x, order, false);
}

/* ---- operators ---- */

/* The values stay in their order; the dimension of rows stays where it is. */
int
onnxnet_reshape(struct onnxnet *x)
{
	size_t full[ONNXNET_SHAPE], dims[ONNXNET_SHAPE], n, i, free_one, have, all = 1, rest = 1;
	double v[ONNXNET_SHAPE];

	if (onnxnet_as_stored(x) < 0 || integers(x, "shape", 1, ONNXNET_SHAPE, &n, v) < 0)
		return -1;
	have = onnxnet_shape(x, full);
	for (i = 0; i < have; i++)
		all *= full[i];
	for (i = 0, free_one = n; i < n; i++) {
		double d = v[i] == 0 && i < have ? (double)full[i] : v[i];

		if (d == -1 && free_one == n)
			free_one = i;
		else if (!(d >= 1 && d <= FOREST_FEATURES) || rest > FOREST_FEATURES / (size_t)d)
			return keras_wrong(&x->k, "the shape is wrong");
		else
			rest *= dims[i] = (size_t)d;
	}
	if (all % rest || (free_one == n && all != rest))
		return keras_wrong(&x->k, "%zu values do not have the shape", all);
	if (free_one < n)
		dims[free_one] = all / rest;
	for (i = 0; i < x->batch && i < n && dims[i] == full[i]; i++)
		;
	if (i < x->batch || i >= n || n < 2 || dims[i] != 1)
		return keras_wrong(&x->k, "mixes values of several rows");
	set_shape(x, n, dims, x->batch);
	return 0;
}

int
onnxnet_flatten(struct onnxnet *x)
{
	size_t i, dims[2] = { 1, 1 };

	if (x->batch || onnxml_float(&x->x, "axis", 1) != 1)
		return keras_wrong(&x->k, "does not leave rows alone");
	if (onnxnet_as_stored(x) < 0)
		return -1;
	for (i = 0; i < x->k.ndim; i++)
		dims[1] *= x->k.dims[i];
	set_shape(x, 2, dims, 0);
	return 0;
}

/* The axes of Squeeze and Unsqueeze as flags. all: dimensions that they count. 0 or -1. */
static int
axes(struct onnxnet *x, size_t all, size_t more, bool *at)
{
	double v[ONNXNET_SHAPE];
	size_t n, i;

	if (onnxnet_as_stored(x) < 0 || integers(x, "axes", 1, ONNXNET_SHAPE, &n, v) < 0)
		return -1;
	all += more ? n : 0;
	if (all > ONNXNET_SHAPE)
		return keras_wrong(&x->k, "a row has too many dimensions");
	for (i = 0; i < n; i++) {
		double d = v[i] < 0 ? v[i] + (double)all : v[i];

		if (!(d >= 0 && d < (double)all) || at[(size_t)d])
			return keras_wrong(&x->k, "an axis does not exist");
		at[(size_t)d] = true;
	}
	return 0;
}

int
onnxnet_squeeze(struct onnxnet *x)
{
	size_t full[ONNXNET_SHAPE], dims[ONNXNET_SHAPE], i, n = 0, batch = 0, all = x->k.ndim + 1;
	bool at[ONNXNET_SHAPE] = { false };

	if (axes(x, all, 0, at) < 0)
		return -1;
	onnxnet_shape(x, full);
	for (i = 0; i < all; i++) {
		if (at[i] && (full[i] != 1 || i == x->batch))
			return keras_wrong(&x->k, "a dimension that goes is that of rows, or not 1");
		if (i == x->batch)
			batch = n;
		if (!at[i])
			dims[n++] = full[i];
	}
	if (n < 2)
		return keras_wrong(&x->k, "leaves no dimension");
	set_shape(x, n, dims, batch);
	return 0;
}

int
onnxnet_unsqueeze(struct onnxnet *x)
{
	size_t full[ONNXNET_SHAPE], dims[ONNXNET_SHAPE], i, n = 0, batch = 0, all = x->k.ndim + 1;
	bool at[ONNXNET_SHAPE] = { false };

	if (axes(x, all, 1, at) < 0)
		return -1;
	onnxnet_shape(x, full);
	for (i = 0; i < all || (n < ONNXNET_SHAPE && at[n]);)
		if (at[n]) {
			dims[n++] = 1;
		} else {
			batch = i == x->batch ? n : batch;
			dims[n++] = full[i++];
		}
	set_shape(x, n, dims, batch);
	return 0;
}

/* Moves dimensions of a row; that of rows may go anywhere, since it is 1. */
int
onnxnet_transpose(struct onnxnet *x)
{
	size_t n = x->k.ndim + 1, perm[ONNXNET_SHAPE], order[KERAS_SHAPE], i, m = 0, batch = 0;
	bool seen[ONNXNET_SHAPE] = { false }, moves = false;

	for (i = 0; i < n; i++)
		perm[i] = n - 1 - i;
	if (onnxnet_as_stored(x) < 0 || onnxnet_sizes(x, "perm", n, 0, perm) < 0)
		return -1;
	for (i = 0; i < n; i++) {
		if (perm[i] >= n || seen[perm[i]])
			return keras_wrong(&x->k, "the order of dimensions is wrong");
		seen[perm[i]] = true;
		if (perm[i] == x->batch) {
			batch = i;
			continue;
		}
		order[m] = perm[i] < x->batch ? perm[i] : perm[i] - 1;
		moves |= order[m] != m;
		m++;
	}
	x->batch = batch;
	return moves ? keras_turn(&x->k, order) : 0;
}
