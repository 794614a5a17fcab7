#include "quant/imatrix.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/le.h"
#include "core/mem.h"
#include "core/num.h"
#include "core/text.h"
#include "model/value.h"

#define NAME_BYTES 1024
#define ENTRIES 1000000
#define SUMS ".in_sum2"
#define COUNTS ".counts"
#define COUNT_MOST 0x1p50f /* of tokens: far more than a text has, and an integer */
#define ARRAY_HEAD 12 /* bytes before the items of an array (model/value.h) */

bool
imatrix_is_dat(const uint8_t *head, size_t n)
{
	/* Formats with a magic have letters here: no file has that many entries. */
	return n >= 8 && le32(head) <= ENTRIES && le32(head + 4) <= NAME_BYTES;
}

static void
drop(struct imatrix *m, size_t i)
{
	free(m->entries[i].name);
	free(m->entries[i].values);
	free(m->entries[i].counts);
	m->n--;
	memmove(&m->entries[i], &m->entries[i + 1], (m->n - i) * sizeof *m->entries);
}

static struct imatrix_entry *
new_entry(struct imatrix *m, const char *name, size_t n, struct err *e)
{
	struct imatrix_entry *x;

	if (mem_grow(&m->entries, &m->cap, m->n + 1, sizeof *m->entries) < 0) {
		err_memory(e);
		return NULL;
	}
	x = &m->entries[m->n];
	*x = (struct imatrix_entry){ .name = mem_text(name, n) };
	if (!x->name) {
		err_memory(e);
		return NULL;
	}
	m->n++;
	return x;
}

static int
by_name(const void *a, const void *b)
{
	const struct imatrix_entry *x = a, *y = b;

	return strcmp(x->name, y->name);
}

void
imatrix_sort(struct imatrix *m)
{
	if (m->n)
		qsort(m->entries, m->n, sizeof *m->entries, by_name);
}

int
imatrix_add_dataset(struct imatrix *m, const char *name, size_t n, struct err *e)
{
	if (mem_grow(&m->datasets, &m->dataset_cap, m->dataset_count + 1, sizeof *m->datasets) < 0 ||
	    !(m->datasets[m->dataset_count] = mem_text(name, n)))
		return err_memory(e);
	m->dataset_count++;
	return 0;
}

/* Encoders need numbers that are finite and not negative. */
static int
finish(struct imatrix *m, const char *where, struct err *e)
{
	size_t i, k;

	if (m->n == 0)
		return err_set(e, ERR_CORRUPT, where, "holds no importance at all");
	imatrix_sort(m);
	for (i = 0; i < m->n; i++) {
		struct imatrix_entry *x = &m->entries[i];

		if (i > 0 && strcmp(x[-1].name, x->name) == 0)
			return err_set(e, ERR_CORRUPT, where, "the entry %.100s occurs twice", x->name);
		for (k = 0; k < x->n; k++)
			if (!isfinite(x->values[k]) || x->values[k] < 0)
				return err_set(e, ERR_CORRUPT, x->name,
				               "its importance of column %zu is not a weight", k);
	}
	return 0;
}

/* ---- the older format ---- */

static int
read_entry(struct imatrix *m, struct reader *r, struct buf *b, struct err *e)
{
	struct imatrix_entry *x;
	uint32_t length = reader_u32(r), calls, n;
	size_t i;

	if (r->failed)
		return -1;
	if (length == 0 || length > NAME_BYTES)
		return reader_fail(r, ERR_CORRUPT, "a name of %" PRIu32 " bytes", length);
	buf_clear(b);
	if (reader_append(r, b, length) < 0)
		return -1;
	if (!text_utf8(b->p, b->n, false))
		return reader_fail(r, ERR_CORRUPT, "a name that is not UTF-8 text");
	x = new_entry(m, (char *)b->p, b->n, e);
	calls = reader_u32(r);
	n = reader_u32(r);
	if (!x || r->failed)
		return -1;
	if (n == 0 || n > INT32_MAX || calls > INT32_MAX)
		return reader_fail(r, ERR_CORRUPT, "an entry of %" PRIu32 " values", n);
	buf_clear(b);
	if (reader_append(r, b, 4 * (uint64_t)n) < 0)
		return -1;
	x->values = mem_array(n, sizeof *x->values);
	x->counts = mem_array(1, sizeof *x->counts);
	if (!x->values || !x->counts)
		return err_memory(e);
	x->n = n;
	x->count_n = 1;
	*x->counts = (float)calls;
	for (i = 0; i < n; i++) {
		uint32_t w = le32(b->p + 4 * i);

		memcpy(&x->values[i], &w, sizeof w);
	}
	return 0;
}

static int
read_dataset(struct imatrix *m, struct reader *r, struct buf *b, struct err *e)
{
	uint32_t length;

	if (reader_at_end(r))
		return r->failed ? -1 : 0;
	m->chunks = reader_u32(r);
	length = reader_u32(r);
	if (r->failed)
		return -1;
	if (length > 65536)
		return reader_fail(r, ERR_CORRUPT, "a data set's name of %" PRIu32 " bytes", length);
	buf_clear(b);
	if (reader_append(r, b, length) < 0)
		return -1;
	if (!reader_at_end(r))
		return reader_fail(r, ERR_CORRUPT, "bytes after the end of the matrix");
	if (b->n == 0 || !text_utf8(b->p, b->n, false))
		return 0; /* nothing depends on it */
	return imatrix_add_dataset(m, (char *)b->p, b->n, e);
}

int
imatrix_read_dat(struct imatrix *m, struct reader *r, struct err *e)
{
	uint32_t i, entries = reader_u32(r);
	struct buf b = { 0 };
	int status = r->failed ? -1 : 0;

	m->by_chunk = true;
	if (status == 0 && (entries == 0 || entries > ENTRIES))
		status = reader_fail(r, ERR_CORRUPT, "%" PRIu32 " entries", entries);
	for (i = 0; status == 0 && i < entries; i++)
		status = read_entry(m, r, &b, e);
	if (status == 0)
		status = read_dataset(m, r, &b, e);
	buf_free(&b);
	return status < 0 ? -1 : finish(m, r->name, e);
}

/* ---- the newer format ---- */

struct reading {
	struct imatrix *m;
	const struct model *plan;
	struct imatrix_entry *entry; /* of the current tensor, or NULL */
	float *to;
	size_t at, n;                /* of its bytes so far */
};

/* The name of the tensor that an entry belongs to: the first *n bytes of its own name. False
 * if the name is not an entry's. *counts: whether it is the half with the counts. */
static bool
stem_of(const char *name, size_t *n, bool *counts)
{
	size_t length = strlen(name);

	*counts = length > strlen(COUNTS) &&
	          strcmp(name + length - strlen(COUNTS), COUNTS) == 0;
	*n = length - (*counts ? strlen(COUNTS) : strlen(SUMS));
	return *counts || (length > strlen(SUMS) && strcmp(name + *n, SUMS) == 0);
}

static int
begin_tensor(void *ctx, const struct item *in, struct item *out, struct err *e)
{
	struct reading *r = ctx;
	const struct tensor *t;
	bool counts;
	size_t n;

	(void)out;
	r->entry = NULL;
	if (in->kind != ITEM_TENSOR)
		return 0;
	t = r->plan->tensors[in->index];
	if (!stem_of(tensor_name(t), &n, &counts))
		return 0;
	if (strcmp(tensor_type(t)->name, "F32") != 0 || tensor_items(t) == 0 ||
	    tensor_items(t) > INT32_MAX)
		return err_set(e, ERR_CORRUPT, tensor_name(t), "is not an F32 list of weights");
	r->entry = new_entry(r->m, tensor_name(t), n, e);
	r->to = mem_array((size_t)tensor_items(t), sizeof *r->to);
	if (!r->entry || !r->to) {
		free(r->to);
		return err_memory(e);
	}
	*(counts ? &r->entry->counts : &r->entry->values) = r->to;
	*(counts ? &r->entry->count_n : &r->entry->n) = (size_t)tensor_items(t);
	r->at = 0;
	return 0;
}

/* Append values from little-endian bytes that may be cut anywhere. */
static int
add_bytes(void *ctx, const struct item *in, const uint8_t *p, size_t n,
          struct sink *sink, struct err *e)
{
	struct reading *r = ctx;

	(void)in;
	(void)sink;
	(void)e;
	if (!r->entry)
		return 0;
	memcpy((uint8_t *)r->to + r->at, p, n);
	r->at += n;
	return 0;
}

static int
end_tensor(void *ctx, const struct item *in, struct sink *sink, struct err *e)
{
	struct reading *r = ctx;
	size_t i;

	(void)in;
	(void)sink;
	(void)e;
	for (i = 0; r->entry && i < r->at / 4; i++) {
		uint32_t w = le32((uint8_t *)r->to + 4 * i);

		memcpy(&r->to[i], &w, sizeof w);
	}
	return 0;
}

/* Join sums and counts of one name, which came as two entries. */
static int
join_halves(struct imatrix *m, struct err *e)
{
	size_t i, k, n = 0;

	imatrix_sort(m);
	for (i = 0; i < m->n; i++) {
		struct imatrix_entry *x = &m->entries[i], *to = n ? &m->entries[n - 1] : NULL;

		if (!to || strcmp(to->name, x->name) != 0) {
			struct imatrix_entry moved = *x;

			*x = (struct imatrix_entry){ 0 };
			m->entries[n++] = moved;
			continue;
		}
		if ((to->values && x->values) || (to->counts && x->counts))
			return err_set(e, ERR_CORRUPT, x->name, "occurs twice");
		if (x->values) {
			to->values = x->values;
			to->n = x->n;
		} else {
			to->counts = x->counts;
			to->count_n = x->count_n;
		}
		free(x->name);
		*x = (struct imatrix_entry){ 0 };
	}
	m->n = n; /* the rest is empty */
	for (i = 0; i < n; i++) {
		const struct imatrix_entry *x = &m->entries[i];

		if (!x->values || !x->counts || x->n % x->count_n != 0)
			return err_set(e, ERR_CORRUPT, x->name, "its sums and counts do not fit together");
		for (k = 0; k < x->count_n; k++)
			if (!(x->counts[k] >= 0 && x->counts[k] <= COUNT_MOST))
				return err_set(e, ERR_CORRUPT, x->name, "its count %zu is not a number of tokens",
				               k);
	}
	return 0;
}

static int
take_keys(struct imatrix *m, struct model *plan, const char *where, struct err *e)
{
	const struct meta *k = model_find(plan, "imatrix.datasets");
	const char *type = model_text(plan, "general.type");
	size_t at, n;

	if (!type || strcmp(type, "imatrix") != 0)
		return err_set(e, ERR_FORMAT, where, "is a model, but no importance matrix");
	if (model_u64(plan, "imatrix.chunk_count", &m->chunks) < 0)
		m->chunks = 0;
	if (model_u64(plan, "imatrix.chunk_size", &m->chunk_tokens) < 0 ||
	    m->chunk_tokens > UINT32_MAX)
		m->chunk_tokens = 0;
	if (!k || !k->wire || k->type.depth != 1 || k->type.leaf != VALUE_STRING)
		return 0;
	for (at = ARRAY_HEAD; at < k->wire_bytes; at += 8 + n) {
		n = (size_t)le64(k->wire + at);
		if (imatrix_add_dataset(m, (char *)k->wire + at + 8, n, e) < 0)
			return -1;
	}
	return 0;
}

int
imatrix_read_model(struct imatrix *m, struct source *s, struct err *e)
{
	struct reading r = { .m = m, .plan = s->plan };
	struct flow f = { .item = begin_tensor, .data = add_bytes, .item_end = end_tensor,
		.ctx = &r };

	if (take_keys(m, s->plan, s->name, e) < 0 || flow_run(s, NULL, &f, e) < 0 ||
	    join_halves(m, e) < 0)
		return -1;
	return finish(m, s->name, e);
}

/* ---- sums ---- */

struct imatrix_entry *
imatrix_add(struct imatrix *m, const char *name, size_t columns, size_t matrices, struct err *e)
{
	struct imatrix_entry *x = new_entry(m, name, strlen(name), e);
	uint64_t n;

	if (!x)
		return NULL;
	if (num_mul(columns, matrices, &n) < 0 || n > SIZE_MAX ||
	    !(x->values = mem_array((size_t)n, sizeof *x->values)) ||
	    !(x->counts = mem_array(matrices, sizeof *x->counts))) {
		err_memory(e);
		return NULL;
	}
	x->n = (size_t)n;
	x->count_n = matrices;
	return x;
}

int
imatrix_means(struct imatrix *m, struct err *e)
{
	size_t i, k;

	for (i = 0; i < m->n; i++) {
		struct imatrix_entry *x = &m->entries[i];
		const size_t columns = x->n / x->count_n;

		for (k = 0; k < x->n; k++) {
			const float count = x->counts[k / columns];

			x->values[k] = count > 0 ? x->values[k] / count : m->by_chunk ? x->values[k] : 1;
			if (!isfinite(x->values[k]))
				return err_set(e, ERR_CORRUPT, x->name,
				               "its importance of column %zu is not a weight", k);
		}
	}
	return 0;
}

/* One count for all matrices becomes one for each. */
static int
spread(struct imatrix_entry *x, size_t matrices, struct err *e)
{
	float *counts = mem_array(matrices, sizeof *counts);
	size_t k;

	if (!counts)
		return err_memory(e);
	for (k = 0; k < matrices; k++)
		counts[k] = x->counts[0];
	free(x->counts);
	x->counts = counts;
	x->count_n = matrices;
	return 0;
}

/* times: tokens of what a count counts. */
static int
add_entry(struct imatrix_entry *x, const struct imatrix_entry *from, uint64_t times,
          const char *name, struct err *e)
{
	size_t k;

	if (x->n != from->n || (x->count_n != from->count_n && x->count_n != 1 && from->count_n != 1))
		return err_set(e, ERR_INVALID, name, "its entry %.100s has another size than that of the "
		               "files before", x->name);
	if (x->count_n < from->count_n && spread(x, from->count_n, e) < 0)
		return -1;
	for (k = 0; k < x->n; k++)
		if (!isfinite(x->values[k] += from->values[k] * (float)times))
			return err_set(e, ERR_INVALID, name, "the sums of %.100s are too large", x->name);
	for (k = 0; k < x->count_n; k++)
		if ((x->counts[k] += from->counts[from->count_n == 1 ? 0 : k] * (float)times) > COUNT_MOST)
			return err_set(e, ERR_INVALID, name, "the counts of %.100s are too large", x->name);
	return 0;
}

int
imatrix_merge(struct imatrix *m, const struct imatrix *from, uint64_t chunk_tokens,
              const char *name, struct err *e)
{
	const uint64_t times = from->by_chunk ? chunk_tokens : 1;
	const size_t before = m->n;
	size_t i;

	for (i = 0; i < from->n; i++) {
		const struct imatrix_entry *y = &from->entries[i];
		const struct imatrix known = { .entries = m->entries, .n = before };
		struct imatrix_entry *x = imatrix_find(&known, y->name);

		if (!x)
			x = imatrix_add(m, y->name, y->n / y->count_n, y->count_n, e);
		if (!x || add_entry(x, y, times, name, e) < 0)
			return -1;
	}
	imatrix_sort(m);
	for (i = 0; i < from->dataset_count; i++)
		if (imatrix_add_dataset(m, from->datasets[i], strlen(from->datasets[i]), e) < 0)
			return -1;
	return 0;
}

/* ---- use ---- */

size_t
imatrix_exclude(struct imatrix *m, const char *text)
{
	size_t i, n = 0;

	for (i = m->n; i > 0; i--)
		if (strstr(m->entries[i - 1].name, text)) {
			drop(m, i - 1);
			n++;
		}
	return n;
}

size_t
imatrix_include(struct imatrix *m, const char *const *texts, size_t n)
{
	size_t i, k, gone = 0;

	for (i = m->n; i > 0; i--) {
		for (k = 0; k < n; k++)
			if (strstr(m->entries[i - 1].name, texts[k]))
				break;
		if (k == n) {
			drop(m, i - 1);
			gone++;
		}
	}
	return gone;
}

struct imatrix_entry *
imatrix_find(const struct imatrix *m, const char *name)
{
	struct imatrix_entry key;

	memcpy(&key.name, &name, sizeof name);
	return m->n ? bsearch(&key, m->entries, m->n, sizeof key, by_name) : NULL;
}

void
imatrix_free(struct imatrix *m)
{
	while (m->n > 0)
		drop(m, m->n - 1);
	free(m->entries);
	while (m->dataset_count > 0)
		free(m->datasets[--m->dataset_count]);
	free(m->datasets);
	*m = (struct imatrix){ 0 };
}
