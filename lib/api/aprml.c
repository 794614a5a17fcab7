#include "api/private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/job.h"
#include "core/mem.h"
#include "core/remote.h"
#include "core/version.h"
#include "crypto/seal/seal.h"
#include "stats/values.h"

_Static_assert(APRML_DIMS == TENSOR_DIMS, "dimensions");

/* Replaces stdin inside jansson: install.mk. */
FILE *jansson_stdin;

const char *
aprml_version(void)
{
	return APR_VERSION;
}

const char *
api_name(const struct aprml *m)
{
	return m->from.path ? m->from.path : m->from.ranges.read ? "<ranges>" : "<memory>";
}

/* The file that the program reads has a handle, which formats read like a file. */
static struct source *
open_ranges(struct aprml *m, const struct format_options *options)
{
	const struct aprml_ranges *o = &m->from.ranges;
	const struct remote_lender lender = { o->read, o->ctx };
	struct reader r;
	int fd = remote_lend(&lender, o->size);

	if (fd < 0) {
		err_errno(&m->err, api_name(m), "cannot be opened");
		return NULL;
	}
	m->held = fd;
	if (reader_fd(&r, fd, api_name(m), &m->err) < 0)
		return NULL;
	return format_open(&r, options, api_note, &m->format, &m->err);
}

static struct source *
open_source(struct aprml *m, struct ring *ring)
{
	const struct format_options options = { .from = m->from.format, .use = m->from.use,
		.vault = &ring->vault };
	struct reader r;

	if (m->from.path)
		return format_open_path(m->from.path, &options, api_note, &m->format, &m->held,
		                        &m->err);
	if (m->from.ranges.read)
		return open_ranges(m, &options);
	reader_memory(&r, m->from.memory, m->from.memory_bytes, api_name(m), &m->err);
	return format_open(&r, &options, api_note, &m->format, &m->err);
}

/* Of a model whose seal is open: its tensors come from the source alone. */
static const struct format_reads opened_reads = { .open = NULL };
static const struct format opened_format = { .name = "sealed", .title = "sealed model",
	.reads = &opened_reads };

/* Open the seal of a model by the keys of the ring. */
static int
open_seal(struct aprml *m, const struct ring *ring)
{
	const struct openers with = { ring->identities, ring->password };

	if (!m->source->plan->sealed || !m->from.ring || m->from.sealed)
		return 0;
	m->inside = m->source;
	m->inside->sealed_too = true;
	m->source = seal_source(m->inside, &with, api_note, &m->err);
	m->format = &opened_format;
	return m->source ? 0 : -1;
}

static int
read_head(struct aprml *m)
{
	struct ring ring = { .key = NULL };

	if (m->from.ring)
		ring = m->from.ring->ring;
	ring.note = api_note;
	ring_reads(&ring);
	m->source = open_source(m, &ring);
	if (!m->source || open_seal(m, &ring) < 0)
		return -1;
	m->source->note = api_note;
	m->source->sealed_too = m->from.sealed;
	return m->from.sealed ? 0 : source_check_open(m->source, &m->err);
}

static struct aprml *
open_model(const struct api_origin *o, struct err *e)
{
	struct aprml *m = mem_array(1, sizeof *m);

	if (m) {
		pthread_mutex_init(&m->lock, NULL);
		m->from = *o;
		m->held = -1;
		m->from.path = o->path ? mem_text(o->path, strlen(o->path)) : NULL;
	}
	if (!m || !m->from.path != !o->path) {
		err_memory(e);
		if (m)
			pthread_mutex_destroy(&m->lock);
		free(m);
		return NULL;
	}
	if (read_head(m) == 0)
		return m;
	*e = m->err;
	aprml_close(m);
	return NULL;
}

struct aprml *
api_open(const struct api_origin *o, struct aprml_error *e)
{
	struct err err = ERR_INIT;
	struct aprml *m = open_model(o, &err);

	if (!m)
		api_fail(&err, e);
	return m;
}

struct aprml *
aprml_open(const char *path, struct aprml_error *e)
{
	struct api_origin from = { 0 };

	if (api_need(path, "path", e) < 0)
		return NULL;
	memcpy(&from.path, &path, sizeof path); /* it is copied */
	return api_open(&from, e);
}

struct aprml *
aprml_open_memory(const void *p, size_t n, struct aprml_error *e)
{
	if (n > 0 && api_need(p, "p", e) < 0)
		return NULL;
	return api_open(&(struct api_origin){ .memory = p ? p : "", .memory_bytes = n }, e);
}

static int
take_ranges(struct aprml_ranges *to, const struct aprml_ranges *from, struct err *e)
{
	*to = (struct aprml_ranges){ .bytes = sizeof *to };
	if (api_options(to, sizeof *to, from, sizeof *to, "aprml_ranges", e) < 0)
		return -1;
	return to->read ? 0 : err_set(e, ERR_NO, "aprml_ranges", "has no read");
}

struct aprml *
aprml_open_ranges(const struct aprml_ranges *ranges, struct aprml_error *e)
{
	struct api_origin from = { 0 };
	struct err err = ERR_INIT;

	if (take_ranges(&from.ranges, ranges, &err) == 0)
		return api_open(&from, e);
	api_fail(&err, e);
	return NULL;
}

/* Open within the limits. NULL with e filled. */
static struct aprml *
open_within(const struct api_origin *from, const struct aprml_work *work, struct err *e)
{
	struct api_job j;
	struct aprml *m;

	api_job_begin(&j, work, NULL);
	m = open_model(from, e);
	api_job_end(&j, e);
	return m;
}

struct aprml *
aprml_open_origin(const struct aprml_origin *origin, struct aprml_error *e)
{
	struct aprml_origin o = { .bytes = sizeof o };
	struct api_origin from = { 0 };
	struct aprml *m = NULL;
	struct aprml_work work;
	struct err err = ERR_INIT;

	if (api_options(&o, sizeof o, origin, sizeof o, "aprml_origin", &err) == 0 &&
	    !o.path + !o.p + !o.ranges != 2)
		err_set(&err, ERR_NO, "aprml_origin", "needs one of path, p and ranges");
	if (err.code == ERR_NONE && (!o.ranges || take_ranges(&from.ranges, o.ranges, &err) == 0) &&
	    format_choose(o.from, &from.format, &err) == 0) {
		memcpy(&from.path, &o.path, sizeof o.path); /* it is copied */
		from.memory = o.p;
		from.memory_bytes = o.n;
		from.ring = o.ring;
		from.sealed = o.sealed != 0;
		if (api_work(&work, o.work, &err) == 0)
			m = open_within(&from, &work, &err);
	}
	if (!m)
		api_fail(&err, e);
	return m;
}

void
aprml_close(struct aprml *m)
{
	if (!m)
		return;
	api_drop_views(m);
	api_drop_blobs(m);
	source_close(m->source);
	source_close(m->inside);
	if (m->from.ranges.read && m->held >= 0)
		remote_return(m->held);
	if (m->held >= 0)
		close(m->held);
	pthread_mutex_destroy(&m->lock);
	free(m->from.path);
	free(m);
}

size_t
aprml_tensor_count(const struct aprml *m)
{
	return m->source->plan->tensor_count;
}

int
aprml_tensor(const struct aprml *m, size_t i, struct aprml_tensor *t)
{
	const struct tensor *from;

	if (i >= aprml_tensor_count(m))
		return -1;
	from = m->source->plan->tensors[i];
	*t = (struct aprml_tensor){
		.name = tensor_name(from), .type = tensor_type(from)->name,
		.ndim = tensor_ndim(from), .values = tensor_items(from),
		.bytes = tensor_bytes(from),
	};
	memcpy(t->dims, tensor_dims(from), t->ndim * sizeof *t->dims);
	return 0;
}

size_t
aprml_key_count(const struct aprml *m)
{
	return m->source->plan->meta_count;
}

const char *
aprml_key(const struct aprml *m, size_t i)
{
	return i < aprml_key_count(m) ? m->source->plan->meta[i].key : NULL;
}

const char *
aprml_text(struct aprml *m, const char *key)
{
	return model_text(m->source->plan, key);
}

int
aprml_integer(const struct aprml *m, const char *key, uint64_t *value)
{
	return model_u64(m->source->plan, key, value);
}

int
aprml_next(struct aprml *m, size_t *i, struct aprml_error *e)
{
	struct item item;
	int more;

	if (api_need(m, "model", e) < 0)
		return -1;
	if (m->source->plan->sealed && source_check_open(m->source, &m->err) < 0)
		return api_fail(&m->err, e);
	while ((more = api_item(m, &item)) > 0) {
		m->in_tensors = true;
		if (item.kind == ITEM_TENSOR) {
			*i = item.index;
			return 1;
		}
	}
	return m->err.code == ERR_NONE ? 0 : api_fail(&m->err, e);
}

int
aprml_read(struct aprml *m, void *p, size_t size, size_t *n, struct aprml_error *e)
{
	*n = 0;
	if (api_need(m, "model", e) < 0)
		return -1;
	if (m->err.code != ERR_NONE || api_refill(m) < 0)
		return api_fail(&m->err, e);
	*n = m->n < size ? m->n : size;
	if (*n > 0)
		memcpy(p, m->p, *n);
	m->p += *n;
	m->n -= *n;
	return 0;
}

int64_t
aprml_decode(const char *type, const void *x, size_t bytes, float *y, size_t room)
{
	const struct dtype *t = dtype_by_name(type);
	const uint8_t *head = x;
	size_t n;

	if (!t || !values_known(t))
		return -1;
	api_level();
	if (bytes == 0)
		return 0;
	if (bytes < t->head || (bytes - t->head) % t->bytes)
		return -1;
	bytes -= t->head;
	n = bytes / t->bytes;
	if (n > room / t->items)
		return -1;
	n *= t->items;
	values_float(t, head, head + t->head, y, n);
	return (int64_t)n;
}
