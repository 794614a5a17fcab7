/* embedded: parts of a file read as files, and the table of the files behind a program. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/crc32.h"
#include "core/embedded.h"
#include "core/le.h"
#include "core/map.h"
#include "core/part.h"
#include "core/payload.h"
#include "core/range.h"
#include "core/reader.h"
#include "test.h"

#define FAR ((uint64_t)5 << 30) /* where the part begins, above 4 GiB */
#define BYTES (3u << 20)        /* of the part; the second MiB of it is a hole */
#define HOLE_AT (1u << 20)
#define HOLE_BYTES (1u << 20)

static uint8_t pattern[1 << 20];

/* A sparse file with a part in it, and other bytes on both sides. */
static int
sparse_file(void)
{
	int fd = memfd_create("t_embedded", MFD_CLOEXEC);
	size_t i;

	for (i = 0; i < sizeof pattern; i++)
		pattern[i] = (uint8_t)(i * 7 + i / 251 + 1);
	if (fd < 0 || pwrite(fd, "before", 6, (off_t)FAR - 6) != 6 ||
	    pwrite(fd, pattern, sizeof pattern, (off_t)FAR) != sizeof pattern ||
	    pwrite(fd, pattern, sizeof pattern, (off_t)FAR + (2 << 20)) != sizeof pattern ||
	    pwrite(fd, "behind", 6, (off_t)FAR + BYTES) != 6)
		return -1;
	return fd;
}

static void
read_part(int part)
{
	struct err e = ERR_INIT;
	struct reader r;
	const uint8_t *p;
	uint64_t gap;
	size_t n, at;
	int same;

	test_ok(reader_fd(&r, part, "part", &e) == 0 && reader_left(&r) == BYTES, "a reader knows its size");
	for (at = 0, same = 1; at < sizeof pattern && (p = reader_some(&r, sizeof pattern - at, &n)); at += n)
		same = same && memcmp(p, pattern + at, n) == 0;
	test_ok(same && reader_tell(&r) == sizeof pattern, "and reads its bytes");
	test_ok(reader_has_gap(&r, BYTES - sizeof pattern), "it knows of the hole");
	gap = reader_gap(&r, BYTES - sizeof pattern);
	test_ok(gap == HOLE_BYTES && reader_tell(&r) == HOLE_AT + HOLE_BYTES, "and skips it: %llu zeros",
	        (unsigned long long)gap);
	p = reader_take(&r, 1000);
	test_ok(p && memcmp(p, pattern, 1000) == 0, "behind it are bytes again");
	test_ok(reader_seek(&r, BYTES - 4) == 0 && reader_take(&r, 4) && reader_at_end(&r),
	        "its end is that of the part");
	test_ok(!reader_take(&r, 1) && e.code == ERR_CORRUPT, "and nothing follows");
	test_ok(reader_holes(&r) == 0, "holes of the whole file are not counted");
	reader_close(&r);
}

static void
range_part(int part)
{
	struct range r = { part, 100 };
	uint8_t bytes[64], direct;

	test_ok(range_read(&r, 23, bytes, 64) == 0 && memcmp(bytes, pattern + 123, 64) == 0,
	        "a range reads it");
	test_ok(range_read(&r, BYTES - 100 - 64, bytes, 64) == 0, "up to its last byte");
	test_ok(range_read(&r, BYTES - 100 - 63, bytes, 64) < 0, "but not one more");
	test_ok(range_read(&r, UINT64_MAX - 50, bytes, 64) < 0 && range_read(&r, INT64_MAX, bytes, 1) < 0,
	        "nor at an offset that overflows");
	test_ok(range_gap(&r, HOLE_AT - 100, UINT64_MAX) == HOLE_BYTES, "it finds the hole");
	test_ok(range_gap(&r, HOLE_AT + HOLE_BYTES, 100) == 0, "and none in the bytes");
	test_ok(part_pread(part, bytes, 64, BYTES - 10) == 10 && part_pread(part, bytes, 64, BYTES) == 0 &&
	        part_pread(part, bytes, 64, UINT64_MAX) == 0, "a read at an offset ends with it too");
	test_ok(pread(part, &direct, 1, 0) < 0 || access("/proc/self/fd", X_OK) < 0,
	        "who does not know of parts cannot read it");
}

static void
map_part(int part)
{
	struct err e = ERR_INIT;
	struct map m = { .fd = -1 };

	test_ok(map_plain(&m, part, "part", &e) == 0 && m.n == BYTES && m.fd >= 0, "it is mapped: %s", e.fact);
	test_ok(m.p && memcmp(m.p, pattern, sizeof pattern) == 0 && m.p[HOLE_AT] == 0 &&
	        memcmp(m.p + (2 << 20), pattern, sizeof pattern) == 0, "with its bytes");
	test_ok(map_whole(&m), "and is whole");
	map_close(&m);
	test_ok(map_file(&m, part, "part", &e) == 0 && m.n == BYTES &&
	        memcmp(m.p, pattern, sizeof pattern) == 0, "it is read into memory where no signal is caught");
	map_close(&m);
}

static void
cut_part(int file, int part)
{
	struct err e = ERR_INIT;
	struct map m = { .fd = -1 };

	if (map_plain(&m, part, "part", &e) == 0)
		test_ok(ftruncate(file, (off_t)FAR + BYTES - 1) == 0 && !map_whole(&m),
		        "a file that lost the last byte of the part is not whole");
	map_close(&m);
}

/* A piece that is opened again and again; and more pieces than there is room for. */
static void
again(int file, int part)
{
	struct part p = { 0 }, first = { 0 };
	uint64_t at;
	int i, fd, equal = 0;

	part_of(part, &first);
	for (i = 0; i < 3 * PARTS && (fd = part_open(file, FAR, BYTES)) >= 0; i++) {
		equal += part_of(fd, &p) && p.fd == first.fd && p.bytes == BYTES;
		close(fd);
	}
	test_ok(equal == 3 * PARTS, "a piece that is opened %d times takes one place", equal);
	for (at = 1; (fd = part_open(file, FAR + at, 10)) >= 0; at++)
		close(fd);
	test_ok(at == PARTS && errno == EMFILE && (fd = part_open(file, FAR, BYTES)) >= 0,
	        "%d different pieces can be opened, and then those again", PARTS);
	close(fd);
}

static void
parts(void)
{
	int file = sparse_file(), part, copy;
	struct part p;

	if (!test_ok(file >= 0, "a sparse file"))
		return;
	part = part_open(file, FAR, BYTES);
	copy = fcntl(part, F_DUPFD_CLOEXEC, 3);
	test_ok(part >= 0 && part_of(copy, &p) && p.at == FAR && p.bytes == BYTES,
	        "a part above 4 GiB, known by a duplicate");
	test_ok(!part_of(file, &p), "the file itself is not one");
	test_ok(part_open(file, INT64_MAX, 1) < 0 && part_open(file, UINT64_MAX, 2) < 0,
	        "a part that ends beyond what files can have is refused");
	again(file, part);
	read_part(part);
	range_part(copy);
	map_part(part);
	cut_part(file, part);
	close(copy);
	close(part);
	close(file);
}

/* ---- the table ---- */

static struct payload
sound(void)
{
	static const char *words[] = { "-n", "20", "" };
	struct payload p = { .program = 70001, .count = 2, .word_count = 3, .words = words };

	p.files[0] = (struct payload_file){ .name = "m.gguf", .at = 131072, .bytes = (uint64_t)5 << 30 };
	p.files[1] = (struct payload_file){ .name = "side \xc3\xa9", .bytes = 0 };
	payload_next(p.files[0].at + p.files[0].bytes, &p.files[1].at);
	memset(p.files[0].digest, 0xab, 32);
	return p;
}

static int
parse(struct payload *p, const struct buf *b, uint64_t size)
{
	struct err e = ERR_INIT;
	int r = payload_parse(p, b->p, b->n, size, "exe", &e);

	return r == 0 ? 0 : (int)e.code;
}

/* Sets the CRC again after a change. */
static void
seal(struct buf *b)
{
	le32_put(b->p + b->n - 20, crc32_add(0, b->p, b->n - PAYLOAD_TRAILER));
}

static void
faults(const struct buf *good, uint64_t size)
{
	static const struct {
		const char *what;
		size_t at; /* from the begin of the table */
		uint8_t value;
	} bad[] = {
		{ "no files", 0, 0 }, { "too many files", 3, 1 }, { "too many arguments", 7, 1 },
		{ "another size of the program", 10, 9 }, { "a file in another place", 16, 1 },
		{ "a length that overflows", 31, 0xff }, { "a name too long", 65, 1 },
		{ "a name with a slash", 67, '/' }, { "a name with a NUL", 67, 0 },
		{ "a name with a line break", 67, '\n' }, { "an argument too long", 132, 1 },
	};
	struct payload p;
	size_t i;

	for (i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct buf b = { 0 };

		buf_put(&b, good->p, good->n);
		b.p[bad[i].at] = bad[i].value;
		test_ok(parse(&p, &b, size) == ERR_CORRUPT, "%s: the CRC differs", bad[i].what);
		seal(&b);
		test_ok(parse(&p, &b, size) == ERR_CORRUPT && p.count == 0 && !p.text, "%s: refused", bad[i].what);
		buf_free(&b);
	}
}

static void
table(void)
{
	struct payload p = sound(), back;
	struct err e = ERR_INIT;
	struct buf b = { 0 };
	uint64_t size;
	size_t i, refused = 0;

	test_ok(payload_put(&b, &p, &e) == 0, "a table");
	size = p.files[1].at + b.n;
	test_ok(parse(&back, &b, size) == 0 && back.count == 2 && back.word_count == 3 &&
	        back.program == 70001 && back.files[0].bytes == p.files[0].bytes &&
	        back.files[1].at == p.files[1].at && memcmp(back.files[0].digest, p.files[0].digest, 32) == 0,
	        "it is read again, with offsets above 4 GiB");
	test_ok(strcmp(back.words[1], "20") == 0 && !*back.words[2] && payload_find(&back, "side \xc3\xa9") &&
	        !payload_find(&back, "side"), "names and arguments too, an empty one among them");
	payload_free(&back);
	payload_free(&back);
	test_ok(parse(&back, &b, size + 1) == ERR_CORRUPT && parse(&back, &b, size - 1) == ERR_CORRUPT &&
	        parse(&back, &b, 10) == ERR_CORRUPT, "in a file of another size it is refused");
	faults(&b, size);
	for (i = 0; i < b.n; i++) {
		struct buf cut = { .p = b.p + i, .n = b.n - i };

		refused += i > 0 && parse(&back, &cut, size) != 0;
	}
	test_ok(refused == b.n - 1, "a table whose begin is missing is refused, wherever it is cut");
	b.p[b.n - 16] = 2;
	test_ok(parse(&back, &b, size) == ERR_VERSION, "version 2 is another one");
	buf_free(&b);
	p.files[1].name = p.files[0].name;
	payload_put(&b, &p, &e);
	test_ok(parse(&back, &b, p.files[1].at + b.n) == ERR_CORRUPT, "two files of one name are refused");
	buf_free(&b);
}

static void
names(void)
{
	char name[PAYLOAD_NAME + 1];

	memset(name, 'n', sizeof name);
	test_ok(payload_name_ok(name, PAYLOAD_NAME) && !payload_name_ok(name, PAYLOAD_NAME + 1) &&
	        !payload_name_ok("", 0), "a name has 1 to %d bytes", PAYLOAD_NAME);
	test_ok(!payload_name_ok(".", 1) && !payload_name_ok("..", 2) && payload_name_ok("...", 3) &&
	        payload_name_ok(".a", 2), "nor are the names of folders");
	test_ok(!payload_name_ok("a/b", 3) && !payload_name_ok("a\x1b", 2) && !payload_name_ok("\xff", 1) &&
	        payload_name_ok("a=b c", 5), "not every character is allowed in it");
}

/* A program of this kind has no files behind it, and a file that is not a program neither. */
static void
none(void)
{
	struct err e = ERR_INIT;
	char t[] = "t", *words[] = { t, t, NULL };
	int argc = 2, user = 1;

	test_ok(embedded_begin(&e) == 0 && !embedded_model() && !embedded_is(EMBEDDED "m") &&
	        embedded_command(&argc, words, &user) == words && argc == 2 && user == 1, "this program has no model: %s", e.fact);
	test_ok(embedded_in(-1) == -1 && !embedded_lies_in(STDIN_FILENO), "nor has what is not a program");
}

int
main(void)
{
	parts();
	table();
	names();
	none();
	return test_done();
}
