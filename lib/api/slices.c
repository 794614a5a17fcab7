/* Find tensors by name, and read their values and bytes in any order. */
#include "api/private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/compute.h"
#include "core/dir.h"
#include "core/mem.h"
#include "core/num.h"
#include "core/range.h"
#include "stats/values.h"

#define PIECE 16384 /* bytes decoded at once: many blocks of the longest type */
#define BLOCK 256   /* values of the longest block of a type that can be decoded */

int
aprml_find(const struct aprml *m, const char *name, size_t *i)
{
	size_t k;

	for (k = 0; k < aprml_tensor_count(m); k++)
		if (strcmp(tensor_name(m->source->plan->tensors[k]), name) == 0) {
			*i = k;
			return 0;
		}
	return -1;
}

/* Reads the bytes of one tensor, from a given byte on. */
struct pull {
	struct reader file;  /* the file that holds the tensor, if the model has several */
	int fd;              /* the file that holds the tensor; -1: another member has it */
	const uint8_t *memory; /* or the file in memory */
	uint64_t at;         /* offset of the next byte there */
	struct aprml *again; /* the model, opened again and read up to the tensor; */
	bool *wanted;        /* it wants only this tensor */
	const char *name;
	struct aprml_error *e;
};

static int
pull_fail(const struct pull *p, enum err_code code, const char *fact)
{
	struct err err = ERR_INIT;

	err_set(&err, code, p->name, "%s", fact);
	return api_fail(&err, p->e);
}

static int
pull_read(struct pull *p, uint8_t *to, size_t n)
{
	const struct range range = { p->fd, p->at };
	size_t part;

	if (!p->again) {
		if (p->memory)
			memcpy(to, p->memory + p->at, n);
		else if (range_read(&range, 0, to, n) < 0)
			return errno ? pull_fail(p, ERR_IO, "cannot be read")
			             : pull_fail(p, ERR_CORRUPT, "the file was cut while it was in use");
		p->at += n;
		return 0;
	}
	for (; n > 0; n -= part, to += part) {
		if (aprml_read(p->again, to, n, &part, p->e) < 0)
			return -1;
		if (part == 0)
			return pull_fail(p, ERR_CORRUPT, "the file was cut while it was in use");
	}
	return 0;
}

static int
pull_skip(struct pull *p, uint64_t n)
{
	uint8_t bytes[PIECE];

	if (!p->again) {
		p->at += n; /* pull_lying has proved that the tensor's end does not overflow */
		return 0;
	}
	for (; n > sizeof bytes; n -= sizeof bytes)
		if (pull_read(p, bytes, sizeof bytes) < 0)
			return -1;
	return pull_read(p, bytes, (size_t)n);
}

/* Prepare to read the tensor in place. 1 if a file holds its bytes unchanged, 0 if not, -1 on
 * an error. */
static int
pull_lying(struct pull *p, const struct aprml *m, size_t i)
{
	const struct format_reads *f = m->format->reads;
	struct err err = ERR_INIT;
	const char *file;
	uint64_t n;

	if (!format_holds(m->format, m->source, i))
		return 0;
	p->fd = m->held;
	p->memory = m->from.memory;
	file = f->tensor_file ? f->tensor_file(m->source, i) : NULL;
	if (file && dir_open(m->held, file, file, &p->file, &err) < 0)
		return api_fail(&err, p->e);
	if (file)
		p->fd = p->file.fd;
	p->at = f->tensor_offset(m->source, i);
	if (num_add(p->at, tensor_bytes(m->source->plan->tensors[i]), &n) < 0 || n > INT64_MAX ||
	    (p->memory && n > m->from.memory_bytes))
		return pull_fail(p, ERR_CORRUPT, "lies outside its file");
	return 1;
}

/* Open the model again and move to the tensor. */
static int
pull_again(struct pull *p, const struct aprml *m, size_t i)
{
	struct aprml_tensor now, then;
	size_t k;
	int more;

	p->again = api_open(&m->from, p->e);
	if (!p->again)
		return -1;
	aprml_tensor(m, i, &then);
	if (aprml_tensor(p->again, i, &now) < 0 || strcmp(now.name, then.name) ||
	    strcmp(now.type, then.type) || now.bytes != then.bytes)
		return pull_fail(p, ERR_CORRUPT, "the file was replaced while it was in use");
	p->wanted = mem_array(aprml_tensor_count(p->again), sizeof *p->wanted);
	if (!p->wanted)
		return pull_fail(p, ERR_MEMORY, "out of memory");
	p->wanted[i] = true;
	p->again->source->wanted = p->wanted;
	while ((more = aprml_next(p->again, &k, p->e)) > 0)
		if (k == i)
			return 0;
	return more < 0 ? -1 : pull_fail(p, ERR_CORRUPT, "the file does not hold it");
}

static int
pull_begin(struct pull *p, const struct aprml *m, size_t i)
{
	struct stat st;
	int lies;

	if (!m->from.memory && (m->held < 0 || fstat(m->held, &st) < 0 ||
	                        (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))))
		return pull_fail(p, ERR_NO, "comes through a pipe: its values cannot be chosen");
	lies = pull_lying(p, m, i);
	if (lies == 0 && m->from.path && strcmp(m->from.path, "-") == 0)
		return pull_fail(p, ERR_NO,
		                 "cannot be chosen from standard input: give the file's name");
	return lies == 0 ? pull_again(p, m, i) : lies < 0 ? -1 : 0;
}

static void
pull_end(struct pull *p)
{
	aprml_close(p->again);
	free(p->wanted);
	reader_close(&p->file);
}

/* Decode up to *n values into y: whole blocks, or a part of one. skip: values of the first
 * block to leave out. all: values left in the tensor. *n becomes the number decoded. */
static int
decode_piece(struct pull *p, const struct dtype *t, const uint8_t *head, unsigned skip,
             uint64_t all, float *y, size_t *n)
{
	uint8_t bytes[PIECE];
	float block[BLOCK];
	size_t blocks = sizeof bytes / t->bytes;

	if (blocks > *n / t->items)
		blocks = *n / t->items;
	if (skip == 0 && blocks > 0) {
		*n = blocks * t->items;
		if (pull_read(p, bytes, blocks * t->bytes) < 0)
			return -1;
		values_float(t, head, bytes, y, *n);
		return 0;
	}
	if (pull_read(p, bytes, t->bytes) < 0)
		return -1;
	values_float(t, head, bytes, block, (size_t)num_min(all + skip, t->items));
	*n = (size_t)num_min(*n, t->items - skip);
	memcpy(y, block + skip, *n * sizeof *y);
	return 0;
}

static int
decode(struct pull *p, const struct tensor *tensor, uint64_t from, size_t n, float *y)
{
	const struct dtype *t = tensor_type(tensor);
	unsigned skip = (unsigned)(from % t->items);
	uint8_t head[DTYPE_HEAD];
	size_t part;

	if (pull_read(p, head, t->head) < 0 ||
	    pull_skip(p, from / t->items * t->bytes) < 0)
		return -1;
	for (; n > 0; n -= part, y += part, from += part, skip = 0) {
		part = n;
		if (decode_piece(p, t, head, skip, tensor_items(tensor) - from, y, &part) < 0)
			return -1;
	}
	return 0;
}

static const struct tensor *
pull_tensor(struct pull *p, const struct aprml *m, size_t i)
{
	const struct tensor *tensor;

	if (api_need(m, "model", p->e) < 0)
		return NULL;
	p->name = api_name(m);
	if (i >= aprml_tensor_count(m)) {
		pull_fail(p, ERR_NO, "no tensor has this number");
		return NULL;
	}
	tensor = m->source->plan->tensors[i];
	p->name = tensor_name(tensor);
	if (m->source->plan->sealed) {
		pull_fail(p, ERR_DECRYPT, "is sealed");
		return NULL;
	}
	return tensor;
}

int
aprml_bytes(struct aprml *m, size_t i, uint64_t from, size_t n, void *p, struct aprml_error *e)
{
	struct pull pull = { .fd = -1, .file.fd = -1, .e = e };
	const struct tensor *tensor = pull_tensor(&pull, m, i);
	int r = -1;

	if (!tensor)
		return -1;
	if (from > tensor_bytes(tensor) || n > tensor_bytes(tensor) - from)
		return pull_fail(&pull, ERR_NO, "has fewer bytes");
	if (n == 0)
		return 0;
	if (pull_begin(&pull, m, i) == 0 && pull_skip(&pull, from) == 0)
		r = pull_read(&pull, p, n);
	pull_end(&pull);
	return r;
}

int
aprml_floats(struct aprml *m, size_t i, uint64_t from, size_t n, float *y,
             struct aprml_error *e)
{
	struct pull p = { .fd = -1, .file.fd = -1, .e = e };
	const struct tensor *tensor = pull_tensor(&p, m, i);
	int r = -1;

	if (!tensor)
		return -1;
	if (!values_known(tensor_type(tensor)) || tensor_type(tensor)->items > BLOCK ||
	    tensor_type(tensor)->bytes > PIECE)
		return pull_fail(&p, ERR_NO, "values of its type cannot be decoded");
	if (from > tensor_items(tensor) || n > tensor_items(tensor) - from)
		return pull_fail(&p, ERR_NO, "has fewer values");
	if (n == 0)
		return 0;
	api_level();
	if (pull_begin(&p, m, i) == 0)
		r = decode(&p, tensor, from, n, y);
	pull_end(&p);
	return r;
}

/* ---- without a copy ---- */

/* The bytes of a tensor in a mapping of the pages around them, or NULL. */
static const uint8_t *
map_tensor(struct pull *p, const struct aprml *m, size_t i, struct api_view *v)
{
	const uint64_t bytes = tensor_bytes(m->source->plan->tensors[i]);
	const uint64_t off = p->at % (uint64_t)sysconf(_SC_PAGESIZE), all = off + bytes;
	struct stat st;
	void *map;

	if (fstat(p->fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		pull_fail(p, ERR_NO, "is not in a file that can be mapped");
		return NULL;
	}
	if (all > SIZE_MAX || (uint64_t)st.st_size < p->at + bytes) {
		pull_fail(p, ERR_CORRUPT, "the file was cut while it was in use");
		return NULL;
	}
	map = mmap(NULL, (size_t)all, PROT_READ, MAP_PRIVATE, p->fd, (off_t)(p->at - off));
	if (map == MAP_FAILED) {
		pull_fail(p, ERR_IO, "cannot be mapped");
		return NULL;
	}
	*v = (struct api_view){ map, (size_t)all };
	return (const uint8_t *)map + off;
}

static const void *
view(struct pull *p, struct aprml *m, size_t i)
{
	const uint8_t *at = NULL;
	struct api_view *v;

	if (p->memory)
		return p->memory + p->at;
	pthread_mutex_lock(&m->lock);
	if (!m->views)
		m->views = mem_array(aprml_tensor_count(m), sizeof *m->views);
	v = m->views ? &m->views[i] : NULL;
	if (!v)
		pull_fail(p, ERR_MEMORY, "out of memory");
	else if (v->map)
		at = (const uint8_t *)v->map + p->at % (uint64_t)sysconf(_SC_PAGESIZE);
	else
		at = map_tensor(p, m, i, v);
	pthread_mutex_unlock(&m->lock);
	return at;
}

const void *
aprml_view(struct aprml *m, size_t i, struct aprml_error *e)
{
	static const uint8_t nothing;
	struct pull p = { .fd = -1, .file.fd = -1, .e = e };
	const void *at = NULL;
	int lies;

	if (!pull_tensor(&p, m, i))
		return NULL;
	if (tensor_bytes(m->source->plan->tensors[i]) == 0)
		return &nothing;
	if (m->from.ranges.read) {
		pull_fail(&p, ERR_NO, "is read by the program, and is not in memory");
		return NULL;
	}
	lies = pull_lying(&p, m, i);
	if (lies > 0)
		at = view(&p, m, i);
	else if (lies == 0)
		pull_fail(&p, ERR_NO, "is stored in another form, which must be read");
	pull_end(&p);
	return at;
}

void
aprml_prefetch(struct aprml *m, const size_t *i, size_t n)
{
	uint64_t bytes;

	for (; n > 0; n--, i++) {
		struct pull p = { .fd = -1, .file.fd = -1 };

		if (!pull_tensor(&p, m, *i) || pull_lying(&p, m, *i) <= 0) {
			pull_end(&p);
			continue;
		}
		bytes = tensor_bytes(m->source->plan->tensors[*i]);
		if (m->from.ranges.read && m->from.ranges.prefetch)
			m->from.ranges.prefetch(m->from.ranges.ctx, p.at, bytes);
		else if (!p.memory)
			posix_fadvise(p.fd, (off_t)p.at, (off_t)bytes, POSIX_FADV_WILLNEED);
		pull_end(&p);
	}
}

void
api_drop_views(struct aprml *m)
{
	size_t i;

	for (i = 0; m->views && i < aprml_tensor_count(m); i++)
		if (m->views[i].map)
			munmap(m->views[i].map, m->views[i].n);
	free(m->views);
	m->views = NULL;
}
