/* stock_verify: blobs against their names. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "crypto/digest.h"
#include "hub/stock.h"

#define PIECE (256u << 10)
#define GIT_TEXT (2 * SHA1_BYTES)

static bool
is_hex(const char *s, size_t n)
{
	return strlen(s) == n && strspn(s, "0123456789abcdef") == n;
}

/* Reads the file once, into both hashes. */
static int
hash_file(int fd, struct sha256 *plain, struct sha1 *git, const char *name, struct err *e)
{
	static uint8_t piece[PIECE];
	ssize_t n;

	while ((n = read(fd, piece, sizeof piece)) > 0) {
		sha256_add(plain, piece, (size_t)n);
		sha1_add(git, piece, (size_t)n);
	}
	return n < 0 ? err_errno(e, name, "cannot be read") : 0;
}

static int
verify_plain(int fd, const char *name, bool *same, struct err *e)
{
	struct sha256 plain = { 0 };
	struct sha1 none = { 0 };
	char text[DIGEST_TEXT];
	struct digest d;

	sha256_start(&plain);
	if (hash_file(fd, &plain, &none, name, e) < 0) {
		sha256_abandon(&plain);
		return -1;
	}
	if (sha256_finish(&plain, &d, e) < 0)
		return -1;
	*same = strcmp(digest_text(text, &d), name) == 0;
	return 0;
}

/* A git blob: "blob SIZE", a NUL, and the content. */
static int
verify_git(int fd, const char *name, uint64_t size, bool *same, struct err *e)
{
	uint8_t d[SHA1_BYTES];
	char text[GIT_TEXT + 1];
	struct sha256 none = { 0 };
	struct sha1 git = { 0 };
	int n = snprintf(text, sizeof text, "blob %llu", (unsigned long long)size), i;

	sha1_start(&git);
	sha1_add(&git, text, (size_t)n + 1);
	if (hash_file(fd, &none, &git, name, e) < 0) {
		sha1_abandon(&git);
		return -1;
	}
	if (sha1_finish(&git, d, e) < 0)
		return -1;
	for (i = 0; i < SHA1_BYTES; i++)
		snprintf(text + 2 * i, 3, "%02x", d[i]);
	*same = strcmp(text, name) == 0;
	return 0;
}

/* Opens a blob in a folder. Reading must not count as use, which only the owner can ask for. */
static int
open_blob(int folder, const char *name)
{
	const int flags = O_RDONLY | O_NOFOLLOW | O_CLOEXEC;
	int fd = openat(folder, name, flags | O_NOATIME);

	return fd < 0 && errno == EPERM ? openat(folder, name, flags) : fd;
}

int
stock_verify(const struct stock_cache *c, int repo, const struct stock_blob *b,
             enum stock_verdict *verdict, struct err *e)
{
	int folder = stock_folder(repo, stock_blobs_of(c)), fd, done = -1;
	bool same = false;
	struct stat st;

	*verdict = STOCK_UNKNOWN;
	fd = folder < 0 ? -1 : open_blob(folder, b->name);
	if (folder >= 0)
		close(folder);
	if (fd < 0 || fstat(fd, &st) < 0) {
		err_errno(e, b->name, "cannot be opened");
	} else if (is_hex(b->name, DIGEST_TEXT - 1)) {
		done = verify_plain(fd, b->name, &same, e);
		*verdict = same ? STOCK_HOLDS : STOCK_DIFFERS;
	} else if (is_hex(b->name, GIT_TEXT)) {
		done = verify_git(fd, b->name, (uint64_t)st.st_size, &same, e);
		*verdict = same ? STOCK_HOLDS : STOCK_DIFFERS;
	} else {
		done = 0;
	}
	if (fd >= 0)
		close(fd);
	return done;
}
