#include <string.h>

#include "cli/embed/embed.h"
#include "core/num.h"
#include "core/reader.h"
#include "crypto/digest.h"

#define PIECE (1u << 16)

static const uint8_t zeros[PIECE];

static void
hash_zeros(struct sha256 *h, uint64_t n)
{
	for (; n > 0; n -= num_min(n, PIECE))
		sha256_add(h, zeros, (size_t)num_min(n, PIECE));
}

/* Copies n bytes; holes stay holes. h may be NULL. */
static int
copy_bytes(struct reader *r, struct out *o, uint64_t n, struct sha256 *h)
{
	const uint8_t *p;
	uint64_t gap;
	size_t got;

	while (n > 0) {
		gap = reader_gap(r, n);
		n -= gap;
		if (gap > 0 && h)
			hash_zeros(h, gap);
		if (gap > 0 && out_hole(o, gap) < 0)
			return -1;
		if (n == 0 || gap > 0)
			continue;
		if (!(p = reader_some(r, n, &got)) || out_put(o, p, got) < 0)
			return -1;
		if (h)
			sha256_add(h, p, got);
		n -= got;
	}
	return 0;
}

/* The same for all that is left, with the digest. */
static int
copy_file(struct reader *r, struct out *o, uint64_t n, uint8_t to[32], struct err *e)
{
	struct digest d;
	struct sha256 h;
	int status;

	sha256_start(&h);
	if (copy_bytes(r, o, n, &h) < 0) {
		sha256_abandon(&h);
		return -1;
	}
	status = sha256_finish(&h, &d, e);
	if (status == 0)
		memcpy(to, d.b, sizeof d.b);
	return status;
}

static int
put_program(const struct embed_program *p, struct out *o, struct err *e)
{
	struct reader r;
	int status;

	if (reader_fd(&r, p->fd, p->path, e) < 0)
		return -1;
	status = copy_bytes(&r, o, p->bytes, NULL);
	reader_close(&r);
	return status;
}

/* Puts a file at its place and fills its row. */
static int
put_file(struct payload_file *f, const char *path, struct out *o, struct err *e)
{
	struct reader r;
	int status = -1;

	if (reader_open(&r, path, e) < 0)
		return -1;
	f->bytes = reader_left(&r);
	if (f->bytes == READER_UNKNOWN)
		err_set(e, ERR_USAGE, path, "has no known size: it is not a file");
	else if (payload_next(out_tell(o), &f->at) < 0)
		err_set(e, ERR_INVALID, path, "makes the program too large");
	else if (out_hole(o, f->at - out_tell(o)) == 0)
		status = copy_file(&r, o, f->bytes, f->digest, e);
	reader_close(&r);
	return status;
}

/* The names of all files, with a NUL behind each. */
static int
take_names(struct payload *p, const struct embed_file *files, size_t count, struct buf *names,
           struct err *e)
{
	size_t i, at = 0;

	for (i = 0; i < count; i++) {
		buf_put(names, files[i].name, files[i].name_bytes);
		buf_u8(names, 0);
	}
	if (!buf_ok(names))
		return err_memory(e);
	for (i = 0; i < count; i++, at += files[i - 1].name_bytes + 1) {
		const char *name = (const char *)names->p + at;

		if (payload_find(p, name))
			return err_set(e, ERR_USAGE, name, "is the name of two files: NAME=FILE gives "
			               "another");
		p->files[p->count++].name = name;
	}
	return 0;
}

int
embed_write(const struct embed_program *program, const struct embed_file *files, size_t count,
            const char **words, size_t word_count, struct out *o, struct err *e)
{
	struct payload p = { .program = program->bytes, .words = words,
		.word_count = word_count };
	struct buf names = { 0 }, table = { 0 };
	int status;
	size_t i;

	status = take_names(&p, files, count, &names, e);
	if (status == 0)
		status = put_program(program, o, e);
	for (i = 0; i < count && status == 0; i++)
		status = put_file(&p.files[i], files[i].path, o, e);
	if (status == 0)
		status = payload_put(&table, &p, e) < 0 ? -1 : out_put(o, table.p, table.n);
	buf_free(&table);
	buf_free(&names);
	return status;
}

int
embed_extract(const struct payload *p, const char *wanted, int fd, const char *path,
              struct out *o, struct err *e)
{
	const struct payload_file *f = payload_find(p, wanted);
	struct reader r;
	uint8_t digest[32];
	int status;

	if (!f) {
		err_set(e, ERR_NO, path, "has no embedded file %.80s", wanted);
		return err_hint(e, "apr-embed --list %.150s", path);
	}
	if (reader_fd(&r, fd, path, e) < 0)
		return -1;
	status = reader_seek(&r, f->at) < 0 ? -1 : copy_file(&r, o, f->bytes, digest, e);
	reader_close(&r);
	if (status == 0 && memcmp(digest, f->digest, sizeof digest) != 0)
		return err_set(e, ERR_CHECKSUM, path, "the SHA-256 of its file %.80s differs", wanted);
	return status;
}

int
embed_file_name(struct embed_file *f, const char *operand, bool equals, struct err *e)
{
	const char *at = equals ? strchr(operand, '=') : strrchr(operand, '/');

	if (equals && (!at || !at[1]))
		return err_set(e, ERR_USAGE, NULL, "%.80s is not NAME=FILE", operand);
	f->path = equals ? at + 1 : operand;
	f->name = equals ? operand : at ? at + 1 : operand;
	f->name_bytes = equals ? (size_t)(at - operand) : strlen(f->name);
	if (payload_name_ok(f->name, f->name_bytes))
		return 0;
	return err_set(e, ERR_USAGE, NULL, "%.80s: the name of an embedded file has 1 to %d bytes, "
	               "without / and control characters", operand, PAYLOAD_NAME);
}
