#include "core/payload.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/crc32.h"
#include "core/le.h"
#include "core/mem.h"
#include "core/num.h"
#include "core/part.h"
#include "core/reader.h"
#include "core/text.h"

#define MAGIC "APREMBED"
#define MAGIC_AT 24
#define VERSION 1

bool
payload_name_ok(const char *name, size_t n)
{
	size_t i, size;
	uint32_t cp;

	for (i = 0; i < n; i += size) {
		size = text_character(name + i, n - i, &cp);
		if (size == 0 || cp == '/' || text_dangerous(cp))
			return false;
	}
	return n > 0 && n <= PAYLOAD_NAME && !(name[0] == '.' && (n == 1 || (n == 2 && name[1] == '.')));
}

int
payload_next(uint64_t end, uint64_t *at)
{
	return num_align(end, PAYLOAD_ALIGN, at) < 0 || *at > INT64_MAX ? -1 : 0;
}

/* ---- reading ---- */

/* Copies n bytes of the table to the text, with a NUL behind them. */
static const char *
take_text(struct payload *p, struct reader *r, size_t n, size_t *used)
{
	const uint8_t *bytes = n > reader_left(r) ? NULL : reader_take(r, n);
	char *to = p->text + *used;

	if (!bytes || memchr(bytes, 0, n)) {
		reader_fail(r, ERR_CORRUPT, "a name or argument in the table is damaged");
		return NULL;
	}
	memcpy(to, bytes, n);
	*used += n + 1;
	return to;
}

static int
take_file(struct payload *p, struct reader *r, uint64_t *end, size_t *used)
{
	struct payload_file *f = &p->files[p->count];
	const uint8_t *digest;
	uint64_t at;
	size_t n;

	f->at = reader_u64(r);
	f->bytes = reader_u64(r);
	digest = reader_take(r, sizeof f->digest);
	n = reader_u16(r);
	if (!digest || !(f->name = take_text(p, r, n, used)))
		return -1;
	memcpy(f->digest, digest, sizeof f->digest);
	if (!payload_name_ok(f->name, n) || payload_find(p, f->name))
		return reader_fail(r, ERR_CORRUPT, "a name in the table is not allowed, or there twice");
	if (payload_next(*end, &at) < 0 || f->at != at || num_add(at, f->bytes, end) < 0 ||
	    *end > INT64_MAX)
		return reader_fail(r, ERR_CORRUPT, "file %zu of the table is not where it should be",
		                   p->count + 1);
	p->count++;
	return 0;
}

static int
take_table(struct payload *p, struct reader *r, uint64_t table_at)
{
	uint32_t count = reader_u32(r), words = reader_u32(r);
	uint64_t end = p->program = reader_u64(r);
	size_t i, used = 0;

	if (r->failed)
		return -1;
	if (count == 0 || count > PAYLOAD_FILES || words > PAYLOAD_WORDS || end == 0)
		return reader_fail(r, ERR_CORRUPT, "the table has %" PRIu32 " files and %" PRIu32
		                   " arguments", count, words);
	p->text = mem_array((size_t)r->end, 1); /* a NUL takes less room than a length */
	p->words = mem_array((size_t)words + 1, sizeof *p->words);
	if (!p->text || !p->words)
		return err_memory(r->err);
	for (i = 0; i < count; i++)
		if (take_file(p, r, &end, &used) < 0)
			return -1;
	for (; p->word_count < words; p->word_count++)
		if (!(p->words[p->word_count] = take_text(p, r, reader_u32(r), &used)))
			return -1;
	if (end != table_at || reader_left(r) > 0)
		return reader_fail(r, ERR_CORRUPT, "the table is not directly behind the last file");
	return 0;
}

int
payload_parse(struct payload *p, const uint8_t *bytes, size_t n, uint64_t size, const char *name,
              struct err *e)
{
	const uint8_t *trailer = n < PAYLOAD_TRAILER ? bytes : bytes + n - PAYLOAD_TRAILER;
	struct reader r;
	uint64_t at, table;
	int status;

	*p = (struct payload){ .count = 0 };
	if (n < PAYLOAD_TRAILER || memcmp(trailer + MAGIC_AT, MAGIC, 8) != 0)
		return err_set(e, ERR_CORRUPT, name, "does not end in a table of embedded files");
	if (le32(trailer + 16) != VERSION || le32(trailer + 20) != 0)
		return err_set(e, ERR_VERSION, name, "its table of embedded files has version %" PRIu32
		               ", not %d", le32(trailer + 16), VERSION);
	at = le64(trailer);
	table = le32(trailer + 8);
	if (table != n - PAYLOAD_TRAILER || size < n || at != size - n ||
	    !crc32_same(crc32_add(0, bytes, (size_t)table), le32(trailer + 12)))
		return err_set(e, ERR_CORRUPT, name, "the table of its embedded files is damaged");
	reader_memory(&r, bytes, (size_t)table, name, e);
	status = take_table(p, &r, at);
	reader_close(&r);
	if (status < 0)
		payload_free(p);
	return status;
}

/* Reads all n bytes at an offset. */
static int
read_all(int fd, void *to, size_t n, uint64_t at)
{
	uint8_t *p = to;

	while (n > 0) {
		ssize_t got = part_pread(fd, p, n, at);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return -1;
		p += got;
		n -= (size_t)got;
		at += (uint64_t)got;
	}
	return 0;
}

/* Whether an ELF file without a trailer has lost it: behind the program, which ends with its table of
 * sections, are the zeros that come before the first file. */
static bool
is_cut(int fd, uint64_t size)
{
	uint8_t head[64], zeros[1024];
	uint64_t at, next;
	size_t n, i;

	if (read_all(fd, head, sizeof head, 0) < 0 || head[4] != 2 || le64(head + 40) == 0 ||
	    num_add(le64(head + 40), (uint64_t)le16(head + 58) * le16(head + 60), &at) < 0 ||
	    at >= size || payload_next(at, &next) < 0 || at == next)
		return false;
	for (next = num_min(next, size); at < next; at += n) {
		n = (size_t)num_min(sizeof zeros, next - at);
		if (read_all(fd, zeros, n, at) < 0)
			return false;
		for (i = 0; i < n; i++)
			if (zeros[i])
				return false;
	}
	return true;
}

int
payload_read(struct payload *p, int fd, const char *name, struct err *e)
{
	uint8_t magic[4], trailer[PAYLOAD_TRAILER];
	uint64_t size, n;
	struct buf b = { 0 };
	struct stat st;
	int r;

	*p = (struct payload){ .count = 0 };
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size <= PAYLOAD_TRAILER ||
	    read_all(fd, magic, sizeof magic, 0) < 0 || memcmp(magic, "\177ELF", 4) != 0)
		return 0;
	size = (uint64_t)st.st_size;
	if (read_all(fd, trailer, sizeof trailer, size - sizeof trailer) < 0 ||
	    memcmp(trailer + MAGIC_AT, MAGIC, 8) != 0)
		return is_cut(fd, size) ? err_set(e, ERR_CORRUPT, name, "is incomplete, or longer than it was: "
		                                  "the table of its embedded files is not at its end") : 0;
	n = sizeof trailer + (uint64_t)le32(trailer + 8);
	if (n > size || n > PAYLOAD_TABLE)
		return err_set(e, ERR_CORRUPT, name, "the table of its embedded files is damaged");
	if (!buf_room(&b, (size_t)n))
		return err_memory(e);
	b.n = (size_t)n;
	r = read_all(fd, b.p, b.n, size - n) < 0
	    ? err_set(e, ERR_CORRUPT, name, "the table of its embedded files cannot be read")
	    : payload_parse(p, b.p, b.n, size, name, e);
	buf_free(&b);
	return r;
}

const struct payload_file *
payload_find(const struct payload *p, const char *name)
{
	size_t i;

	for (i = 0; i < p->count; i++)
		if (strcmp(p->files[i].name, name) == 0)
			return &p->files[i];
	return NULL;
}

void
payload_free(struct payload *p)
{
	free(p->words);
	free(p->text);
	*p = (struct payload){ .count = 0 };
}

/* ---- writing ---- */

int
payload_put(struct buf *b, const struct payload *p, struct err *e)
{
	const struct payload_file *last = &p->files[p->count - 1];
	size_t i, from = b->n, n;
	uint32_t crc;

	buf_u32(b, (uint32_t)p->count);
	buf_u32(b, (uint32_t)p->word_count);
	buf_u64(b, p->program);
	for (i = 0; i < p->count; i++) {
		buf_u64(b, p->files[i].at);
		buf_u64(b, p->files[i].bytes);
		buf_put(b, p->files[i].digest, sizeof p->files[i].digest);
		buf_u16(b, (uint16_t)strlen(p->files[i].name));
		buf_text(b, p->files[i].name);
	}
	for (i = 0; i < p->word_count && b->n - from < PAYLOAD_TABLE; i++) {
		buf_u32(b, (uint32_t)strlen(p->words[i]));
		buf_text(b, p->words[i]);
	}
	if (!buf_ok(b))
		return err_memory(e);
	n = b->n - from;
	if (n > PAYLOAD_TABLE - PAYLOAD_TRAILER)
		return err_set(e, ERR_USAGE, NULL, "the arguments are too long: names and arguments "
		               "have at most %u bytes", PAYLOAD_TABLE);
	crc = crc32_add(0, b->p + from, n);
	buf_u64(b, last->at + last->bytes);
	buf_u32(b, (uint32_t)n);
	buf_u32(b, crc);
	buf_u32(b, VERSION);
	buf_u32(b, 0);
	buf_text(b, MAGIC);
	return buf_ok(b) ? 0 : err_memory(e);
}
