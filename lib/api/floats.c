/* Find tensors by name, and read their values in any order. */
#include "api/private.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/dir.h"
#include "core/mem.h"
#include "core/num.h"
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
	int fd;              /* the file that holds the tensor; -1: read from again */
	uint64_t at;         /* offset of the next byte in fd */
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
	size_t part;
	ssize_t got;

	for (; n > 0; n -= part, to += part, p->at += part) {
		if (p->again) {
			if (aprml_read(p->again, to, n, &part, p->e) < 0)
				return -1;
		} else {
			got = pread(p->fd, to, n, (off_t)p->at);
			if (got < 0)
				return pull_fail(p, ERR_IO, "cannot be read");
			part = (size_t)got;
		}
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
	file = f->tensor_file ? f->tensor_file(m->source, i) : NULL;
	if (file && dir_open(m->held, file, file, &p->file, &err) < 0)
		return api_fail(&err, p->e);
	if (file)
		p->fd = p->file.fd;
	p->at = f->tensor_offset(m->source, i);
	if (num_add(p->at, tensor_bytes(m->source->plan->tensors[i]), &n) < 0 || n > INT64_MAX)
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

	p->again = aprml_open(m->path, p->e);
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

	if (m->held < 0 || fstat(m->held, &st) < 0 ||
	    (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)))
		return pull_fail(p, ERR_NO, "comes through a pipe: its values cannot be chosen");
	lies = pull_lying(p, m, i);
	if (lies == 0 && strcmp(m->path, "-") == 0)
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

int
aprml_floats(struct aprml *m, size_t i, uint64_t from, size_t n, float *y,
             struct aprml_error *e)
{
	struct pull p = { .fd = -1, .file.fd = -1, .e = e, .name = m->path };
	const struct tensor *tensor;
	int r = -1;

	if (i >= aprml_tensor_count(m))
		return pull_fail(&p, ERR_NO, "no tensor has this number");
	tensor = m->source->plan->tensors[i];
	p.name = tensor_name(tensor);
	if (!values_known(tensor_type(tensor)) || tensor_type(tensor)->items > BLOCK ||
	    tensor_type(tensor)->bytes > PIECE)
		return pull_fail(&p, ERR_NO, "values of its type cannot be decoded");
	if (from > tensor_items(tensor) || n > tensor_items(tensor) - from)
		return pull_fail(&p, ERR_NO, "has fewer values");
	if (n == 0)
		return 0;
	if (pull_begin(&p, m, i) == 0)
		r = decode(&p, tensor, from, n, y);
	pull_end(&p);
	return r;
}
