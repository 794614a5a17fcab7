/* rewrite: a file that a change left half old and half new, and disks that cannot be read. Whole
 * changes, and those that are killed, are in tests/tools/meta-in-place.bats.
 */
#include "core/rewrite.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/buf.h"
#include "core/crc32.h"
#include "test.h"

#define BYTES 4096
#define AT 100 /* the range that changes */
#define N 3000

static int fails_at = -1; /* the call of pread in the range that fails, counted from 0 */

/* In place of the C library's. */
ssize_t pread(int fd, void *p, size_t n, off_t at);
ssize_t
pread(int fd, void *p, size_t n, off_t at)
{
	if (at >= AT && at < AT + N && fails_at >= 0 && fails_at-- == 0) {
		errno = EIO;
		return -1;
	}
	return syscall(SYS_pread64, fd, p, n, at);
}

static void
write_file(const char *name, const void *p, size_t n)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	if (fd < 0 || write(fd, p, n) != (ssize_t)n)
		abort();
	close(fd);
}

static bool
has(const char *name, const uint8_t *p)
{
	uint8_t now[BYTES];
	int fd = open(name, O_RDONLY);
	bool same = fd >= 0 && read(fd, now, BYTES) == BYTES && memcmp(now, p, BYTES) == 0;

	close(fd);
	return same;
}

/* A file "f" of old bytes, but new ones from the third sector on, and its journal. */
static void
tear(uint8_t *old, uint8_t *new, uint8_t *torn)
{
	struct buf b = { 0 };
	size_t i;

	for (i = 0; i < BYTES; i++) {
		old[i] = (uint8_t)(i * 7);
		new[i] = i >= AT && i < AT + N ? (uint8_t)(i * 7 + 1) : old[i];
		torn[i] = i >= 1024 ? new[i] : old[i];
	}
	buf_text(&b, "APRMETA1");
	buf_u64(&b, AT);
	buf_u64(&b, N);
	buf_u64(&b, BYTES);
	buf_put(&b, old + AT, N);
	buf_put(&b, new + AT, N);
	buf_u32(&b, crc32_add(0, b.p, b.n));
	write_file("f", torn, BYTES);
	write_file(".f.apr-meta", b.p, b.n);
	buf_free(&b);
}

static int
reopen(struct err *e)
{
	struct rewrite w;
	int r = rewrite_open(&w, "f", e);

	r = r < 0 ? -1 : w.completed;
	rewrite_close(&w);
	return r;
}

/* Each sector of the range is one call. */
static void
unreadable(void)
{
	uint8_t old[BYTES], new[BYTES], torn[BYTES];
	struct stat st;
	int i;

	tear(old, new, torn);
	for (i = 0; i < 7; i++) {
		struct err e = ERR_INIT;

		fails_at = i;
		test_ok(reopen(&e) < 0 && e.code == ERR_IO && strstr(e.hint, ".f.apr-meta") &&
		        has("f", torn) && stat(".f.apr-meta", &st) == 0,
		        "sector %d cannot be read: file and journal stay: %s", i, e.fact);
	}
	fails_at = -1;
}

static void
completed(void)
{
	uint8_t old[BYTES], new[BYTES], torn[BYTES];
	struct err e = ERR_INIT;
	struct stat st;

	tear(old, new, torn);
	test_ok(reopen(&e) == 1 && has("f", new) && stat(".f.apr-meta", &st) < 0,
	        "the change is completed, and its journal removed %s", e.fact);
	tear(old, new, torn);
	write_file("f", old, BYTES);
	test_ok(reopen(&e) == 0 && has("f", old) && stat(".f.apr-meta", &st) < 0,
	        "a file that has not changed stays");
	tear(old, new, torn);
	torn[AT + 5] ^= 64;
	write_file("f", torn, BYTES);
	test_ok(reopen(&e) == 0 && has("f", torn) && stat(".f.apr-meta", &st) < 0,
	        "another file stays");
}

int
main(void)
{
	char folder[] = "/tmp/t_rewrite.XXXXXX";

	if (!mkdtemp(folder) || chdir(folder) < 0)
		abort();
	unreadable();
	completed();
	unlink("f");
	rmdir(folder);
	return test_done();
}
