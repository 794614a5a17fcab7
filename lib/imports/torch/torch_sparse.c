/* Sparse tensors, which --dense makes dense: what their tensors say, and the list of their values
 * for imports/dense.h.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/le.h"
#include "core/map.h"
#include "core/mem.h"
#include "core/num.h"
#include "imports/torch/torch.h"

#define COPY (UINT64_C(64) << 20) /* bytes of indices or values that are copied: this, */
#define COPIES 16              /* and this many sizes of the file */

/* The tensors of a sparse one: COO has no compressed indices. */
enum { COMPRESSED, PLAIN, VALUES, PARTS };

static const struct layout {
	const char *name;
	bool compressed, blocks, columns; /* the groups are columns */
} layouts[] = {
	{ "torch.sparse_coo", false, false, false },
	{ "torch.sparse_csr", true, false, false },
	{ "torch.sparse_csc", true, false, true },
	{ "torch.sparse_bsr", true, true, false },
	{ "torch.sparse_bsc", true, true, true },
};

struct torch_sparse {
	struct torch_sparse *next;
	struct torch *in;
	const struct layout *layout;
	char *name;
	struct tensor *part[PARTS];
	struct torch_view view[PARTS];
	bool coalesced;          /* COO: each index comes once, in order */

	uint64_t dims[TENSOR_DIMS]; /* of the dense tensor */
	size_t n;                /* of them */
	size_t sparse;           /* COO: dimensions with indices */
	uint64_t count;          /* values, or blocks of them, in a batch */
	uint64_t batches, rows, columns, height, width; /* columns of blocks, of `width` */
	uint64_t groups;         /* of compressed indices */

	/* The values of each part in one piece: in the file, or in a copy. */
	const uint8_t *p[PARTS];
	struct spool copy[PARTS];
	uint8_t *out;
	struct dense dense;

	/* The next one of the list. */
	uint64_t batch, at, group, end, row; /* row: of a block */
	uint64_t last;           /* index or slot before, plus 1; 0: none */
};

static int
wrong(const struct torch_sparse *s, const char *what)
{
	return err_set(s->in->err, ERR_CORRUPT, s->name, "is a sparse tensor %s", what);
}

/* ---- the list ---- */

/* Index i of a part. A negative one is larger than all sizes. */
static uint64_t
index_at(const struct torch_sparse *s, unsigned part, uint64_t i)
{
	return tensor_type(s->part[part])->bytes == 4
	           ? (uint64_t)(int64_t)(int32_t)le32(s->p[part] + 4 * i) : le64(s->p[part] + 8 * i);
}

static void
rewind_list(void *owner)
{
	struct torch_sparse *s = owner;

	s->batch = s->at = s->group = s->end = s->row = s->last = 0;
}

static int
next_listed(struct torch_sparse *s, uint64_t *slot)
{
	uint64_t i;
	size_t k;

	*slot = 0;
	for (k = 0; k < s->sparse; k++) {
		i = index_at(s, PLAIN, k * s->count + s->at);
		if (i >= s->dims[k])
			return wrong(s, "with an index that is out of range");
		*slot = *slot * s->dims[k] + i;
	}
	if (s->coalesced && *slot < s->last)
		return wrong(s, "whose indices are not in order, or not different");
	s->last = *slot + 1;
	s->at++;
	return 0;
}

/* Move to the group that has the next value, or behind the last group after the last value. */
static int
find_group(struct torch_sparse *s)
{
	const uint64_t first = s->batch * (s->groups + 1);
	uint64_t end;

	if (s->at == 0 && s->row == 0 && s->end == 0 &&
	    (index_at(s, COMPRESSED, first) != 0 ||
	     index_at(s, COMPRESSED, first + s->groups) != s->count))
		return wrong(s, "whose compressed indices do not begin and end as they must");
	while (s->at == s->end && s->group < s->groups) {
		end = index_at(s, COMPRESSED, first + s->group + 1);
		if (end < s->end || end > s->count)
			return wrong(s, "whose compressed indices are not in order");
		s->end = end;
		s->group++;
		s->last = 0;
	}
	return s->at < s->end || s->at == s->count
	           ? 0 : wrong(s, "whose compressed indices are not in order");
}

static int
next_compressed(struct torch_sparse *s, uint64_t *slot)
{
	const bool columns = s->layout->columns;
	const uint64_t limit = columns ? s->rows / s->height : s->columns;
	uint64_t i, group;

	if (s->row == 0 && find_group(s) < 0)
		return -1;
	i = index_at(s, PLAIN, s->batch * s->count + s->at);
	if (i >= limit)
		return wrong(s, "with an index that is out of range");
	if (s->row == 0 && i < s->last)
		return wrong(s, "whose indices are not in order, or not different");
	group = s->group - 1;
	*slot = s->batch * s->rows + (columns ? i : group) * s->height + s->row;
	*slot = *slot * s->columns + (columns ? group : i);
	if (++s->row < s->height)
		return 0;
	s->row = 0;
	s->last = i + 1;
	if (++s->at < s->count)
		return 0;
	if (find_group(s) < 0)
		return -1;
	s->batch++;
	s->at = s->group = s->end = s->last = 0;
	return 0;
}

static int
next_run(void *owner, uint64_t *slot, struct err *e)
{
	struct torch_sparse *s = owner;

	(void)e; /* the source holds it, and nothing reads the list without it */
	return s->layout->compressed ? next_compressed(s, slot) : next_listed(s, slot);
}

static void
copy_values(void *owner, uint64_t first, uint64_t count, uint8_t *to)
{
	const struct torch_sparse *s = owner;

	memcpy(to, s->p[VALUES] + first * s->dense.element, (size_t)(count * s->dense.element));
}

static void
release_parts(void *owner)
{
	const struct torch_sparse *s = owner;
	unsigned i;

	for (i = 0; i < PARTS; i++) {
		const struct map m = { .p = s->copy[i].view, .n = (size_t)s->copy[i].viewed, .fd = -1 };

		if (m.p)
			map_release(&m, m.p, m.n);
		else if (s->part[i] && s->copy[i].bytes == 0)
			whole_release(s->in->file, s->p[i], tensor_bytes(s->part[i]));
	}
}

/* ---- what the tensors say ---- */

static int
check_coo(struct torch_sparse *s)
{
	const uint64_t *indices = tensor_dims(s->part[PLAIN]), *values = tensor_dims(s->part[VALUES]);
	const size_t dense = tensor_ndim(s->part[VALUES]) - 1u;
	size_t i;

	if (tensor_ndim(s->part[PLAIN]) != 2 || tensor_ndim(s->part[VALUES]) < 1 ||
	    indices[0] + dense != s->n || values[0] != indices[1])
		return wrong(s, "whose tensors do not fit");
	s->sparse = (size_t)indices[0];
	s->count = indices[1];
	for (i = 0; i < dense; i++)
		if (values[1 + i] != s->dims[s->sparse + i])
			return wrong(s, "whose tensors do not fit");
	s->dense.runs = s->count;
	return 0;
}

static int
check_compressed(struct torch_sparse *s)
{
	const struct tensor *const *part = (const struct tensor *const *)s->part;
	const uint64_t *groups = tensor_dims(part[COMPRESSED]), *plain = tensor_dims(part[PLAIN]);
	const uint64_t *values = tensor_dims(part[VALUES]);
	const size_t batch = tensor_ndim(part[PLAIN]) - 1u, block = s->layout->blocks ? 2 : 0;
	size_t i;

	if (tensor_ndim(part[PLAIN]) < 1 || tensor_ndim(part[COMPRESSED]) != batch + 1 ||
	    tensor_ndim(part[VALUES]) < batch + 1 + block || s->n < batch + 2 ||
	    tensor_ndim(part[VALUES]) - 1u - block != s->n - 2 || plain[batch] != values[batch])
		return wrong(s, "whose tensors do not fit");
	s->batches = 1;
	for (i = 0; i < batch; i++) {
		if (groups[i] != s->dims[i] || plain[i] != s->dims[i] || values[i] != s->dims[i] ||
		    num_mul(s->batches, s->dims[i], &s->batches) < 0)
			return wrong(s, "whose tensors do not fit");
	}
	for (i = batch + 2; i < s->n; i++)
		if (values[i - 1 + block] != s->dims[i])
			return wrong(s, "whose tensors do not fit");
	s->height = block ? values[batch + 1] : 1;
	s->width = block ? values[batch + 2] : 1;
	s->rows = s->dims[batch];
	if (s->height == 0 || s->width == 0 || s->rows % s->height || s->dims[batch + 1] % s->width)
		return wrong(s, "whose blocks do not divide it");
	s->columns = s->dims[batch + 1] / s->width;
	s->groups = s->layout->columns ? s->columns : s->rows / s->height;
	s->count = plain[batch];
	if (groups[batch] == 0 || groups[batch] - 1 != s->groups)
		return wrong(s, "whose tensors do not fit");
	/* The values are in the plan's limits, so their number cannot overflow. */
	s->dense.runs = s->batches * s->count * s->height;
	return 0;
}

static bool
is_index(const struct tensor *x)
{
	return !x || strcmp(tensor_type(x)->name, "I64") == 0 || strcmp(tensor_type(x)->name, "I32") == 0;
}

/* Check the shapes against each other, and set what dense.h needs. */
static int
check_parts(struct torch_sparse *s)
{
	struct dense *d = &s->dense;
	const char *type = tensor_type(s->part[VALUES])->name;
	uint64_t values = 1;
	size_t i, from;

	if (!is_index(s->part[COMPRESSED]) || !is_index(s->part[PLAIN]))
		return wrong(s, "whose indices are not integers of 4 or 8 bytes");
	if (s->view[VALUES].relation_bytes || tensor_type(s->part[VALUES])->head)
		return err_set(s->in->err, ERR_FORMAT, s->name, "is a sparse tensor of a type that is not "
		               "made dense");
	if ((s->layout->compressed ? check_compressed(s) : check_coo(s)) < 0)
		return -1;
	for (i = 0; i < s->n; i++)
		if (s->dims[i] > INT64_MAX || num_mul(values, s->dims[i], &values) < 0)
			return wrong(s, "of an impossible size");
	d->run = s->layout->compressed ? s->width : 1;
	from = s->layout->compressed ? tensor_ndim(s->part[PLAIN]) + 1u : s->sparse;
	for (i = from; i < s->n && values; i++)
		d->run *= s->dims[i];
	d->slots = values ? values / d->run : 0;
	d->element = tensor_type(s->part[VALUES])->bytes;
	if (!s->layout->compressed && !s->coalesced && !(d->add = dense_add(type)))
		return err_set(s->in->err, ERR_FORMAT, s->name, "is a sparse tensor of type %s whose "
		               "values may have to be added, which is not done", type);
	d->name = s->name;
	d->owner = s;
	d->rewind = rewind_list;
	d->next = next_run;
	d->values = copy_values;
	d->release = release_parts;
	return 0;
}

static const struct layout *
layout_of(const struct torch *t, pickle_ref r)
{
	const struct pickle *k = &t->pickle;
	pickle_ref text;
	size_t i;

	if (r == PICKLE_NOTHING || pickle_node(k, r)->kind != PICKLE_CALL ||
	    pickle_what(k, r) != TORCH_LAYOUT ||
	    pickle_items(k, pickle_node(k, r)->args, &text, 1) != 1)
		return NULL;
	for (i = 0; i < sizeof layouts / sizeof *layouts; i++)
		if (pickle_is(k, text, layouts[i].name))
			return &layouts[i];
	return NULL;
}

/* Read the tuple: indices, values, size, and for COO whether it is coalesced. */
static int
read_parts(struct torch *t, struct torch_sparse *s, pickle_ref data)
{
	const struct pickle *k = &t->pickle;
	const unsigned first = s->layout->compressed ? COMPRESSED : PLAIN, size = PARTS - first;
	pickle_ref item[4];
	const size_t count = pickle_items(k, data, item, 4);
	unsigned i;

	if (count != 4 && (s->layout->compressed || count != 3))
		return wrong(s, "of too few or too many tensors");
	for (i = first; i < PARTS; i++) {
		if (!torch_is_tensor(t, item[i - first]))
			return wrong(s, "of something that is not a tensor");
		t->scaling = true;
		s->part[i] = torch_tensor(t, item[i - first], s->name, strlen(s->name), &s->view[i]);
		t->scaling = false;
		if (!s->part[i])
			return -1;
	}
	s->coalesced = !s->layout->compressed && count == 4 &&
	               pickle_node(k, item[3])->kind == PICKLE_BOOL && pickle_node(k, item[3])->u.i;
	return torch_read_numbers(t, item[size], s->name, s->dims, &s->n) < 0 ? -1 : check_parts(s);
}

struct tensor *
torch_sparse(struct torch *t, pickle_ref layout, pickle_ref data, const char *name,
             size_t name_bytes, struct torch_view *v)
{
	struct torch_sparse *s;

	if (t->scaling || !torch_chosen(t, TORCH_DENSE)) {
		err_set(t->err, ERR_FORMAT, name, "is a sparse tensor, which is read only as a dense one");
		err_hint(t->err, DENSE_HINT);
		return NULL;
	}
	s = mem_array(1, sizeof *s);
	if (!s) {
		err_memory(t->err);
		return NULL;
	}
	s->next = t->sparse;
	t->sparse = s;
	s->in = t;
	s->layout = layout_of(t, layout);
	s->name = mem_text(name, strlen(name));
	if (!s->layout || !s->name) {
		s->name ? err_set(t->err, ERR_FORMAT, name, "is a sparse tensor of a layout that is not "
		                  "known") : err_memory(t->err);
		return NULL;
	}
	if (read_parts(t, s, data) < 0)
		return NULL;
	*v = (struct torch_view){ .sparse = s, .element = (uint8_t)s->dense.element,
		.number = (uint8_t)s->dense.element };
	return tensor_new(name, name_bytes, tensor_type(s->part[VALUES]), (unsigned)s->n, s->dims,
	                  TENSOR_OWN_SIZE, t->source.name, t->err);
}

/* ---- values ---- */

/* Find the values of a part in one piece, or copy them. */
static int
flatten(struct torch_sparse *s, unsigned i)
{
	struct torch *t = s->in;
	const struct torch_view *v = &s->view[i];
	const uint64_t bytes = tensor_bytes(s->part[i]);
	const uint8_t *p;
	size_t n = 1;

	if (torch_values_begin(t, s->part[i], v) < 0)
		return -1;
	if (v->plain && !v->deflated && !t->swap) {
		s->p[i] = t->p + v->at;
		return 0;
	}
	if (bytes > COPY && (bytes - COPY) / COPIES > t->n)
		return wrong(s, "of views that show more than the file holds");
	while (n > 0)
		if (torch_values_read(t, &p, &n) < 0 || spool_put(&s->copy[i], p, n, t->err) < 0)
			return -1;
	return spool_view(&s->copy[i], &s->p[i], t->err);
}

static void
end(struct torch_sparse *s)
{
	unsigned i;

	dense_end(&s->dense);
	for (i = 0; i < PARTS; i++)
		spool_free(&s->copy[i]);
	free(s->out);
	s->out = NULL;
}

int
torch_sparse_begin(struct torch_sparse *s)
{
	struct torch *t = s->in;
	const struct torch_view *view = t->view;
	const uint64_t left = t->left;
	unsigned i;

	if (t->sparse_now)
		end(t->sparse_now);
	t->sparse_now = s;
	for (i = 0; i < PARTS; i++)
		if (s->part[i] && flatten(s, i) < 0)
			return -1;
	t->view = view;
	t->left = left;
	s->out = malloc(TORCH_PIECE);
	return s->out ? dense_begin(&s->dense, t->err) : err_memory(t->err);
}

void
torch_sparse_read(struct torch_sparse *s, uint64_t count, const uint8_t **p)
{
	dense_read(&s->dense, count, s->out);
	*p = s->out;
}

void
torch_sparse_free(struct torch *t)
{
	struct torch_sparse *s;
	unsigned i;

	for (; (s = t->sparse); free(s)) {
		t->sparse = s->next;
		end(s);
		for (i = 0; i < PARTS; i++)
			tensor_free(s->part[i]);
		free(s->name);
	}
}
