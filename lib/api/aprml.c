#include "api/private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/mem.h"
#include "core/version.h"
#include "stats/values.h"

_Static_assert(APRML_DIMS == TENSOR_DIMS, "dimensions");

/* Replaces stdin inside jansson: install.mk. */
FILE *jansson_stdin;

const char *
aprml_version(void)
{
	return APR_VERSION;
}

struct aprml *
aprml_open(const char *path, struct aprml_error *e)
{
	const struct format_options options = { 0 };
	struct aprml *m = mem_array(1, sizeof *m);
	struct err err = ERR_INIT;

	if (!m || !(m->path = mem_text(path, strlen(path)))) {
		err_memory(&err);
		api_fail(&err, e);
		aprml_close(m);
		return NULL;
	}
	m->held = -1;
	m->source = format_open_path(m->path, &options, NULL, &m->format, &m->held, &m->err);
	if (m->source && source_check_open(m->source, &m->err) == 0)
		return m;
	api_fail(&m->err, e);
	aprml_close(m);
	return NULL;
}

void
aprml_close(struct aprml *m)
{
	if (!m)
		return;
	api_drop_blobs(m);
	source_close(m->source);
	if (m->path && m->held >= 0)
		close(m->held);
	free(m->path);
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
