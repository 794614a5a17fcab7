#include "hub/download.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "core/text.h"
#include "hub/fetch.h"

static void
part_name(char name[DOWNLOAD_NAME], const struct download *d)
{
	snprintf(name, DOWNLOAD_NAME, "%.200s" DOWNLOAD_ENDING, d->part ? d->part : d->name);
}

/* Fails early if the bytes that are missing do not fit on the disk. */
static int
check_space(const struct download *d, uint64_t missing, struct err *e)
{
	struct statvfs v;
	char needs[32], has[32];
	uint64_t left;

	if (fstatvfs(d->folder, &v) < 0 || v.f_frsize == 0 || v.f_blocks == 0)
		return 0;
	left = (uint64_t)v.f_bavail > UINT64_MAX / v.f_frsize ? UINT64_MAX
	                                                    : (uint64_t)v.f_bavail * v.f_frsize;
	if (missing <= left)
		return 0;
	return err_set(e, ERR_IO, d->label, "needs %s more, but only %s are left on the disk",
	               text_size(needs, sizeof needs, missing), text_size(has, sizeof has, left));
}

static int
check_too(const struct download *d, struct err *e)
{
	if (!d->sha256_too || strcmp(d->sha256, d->sha256_too) == 0)
		return 0;
	return err_set(e, ERR_CHECKSUM, d->label, "has the SHA-256 %s, not %s", d->sha256,
	               d->sha256_too);
}

/* Compares the digest of what has arrived. */
static int
check_digest(struct download *d, struct content_hash *h, struct err *e)
{
	char git[65];
	bool is_git = d->kind == DOWNLOAD_GIT;

	if (content_hash_finish(h, d->sha256, git, e) < 0)
		return -1;
	if (d->kind == DOWNLOAD_UNKNOWN || strcmp(is_git ? git : d->sha256, d->digest) == 0)
		return check_too(d, e);
	d->failure = HTTP_CHANGED;
	return err_set(e, ERR_CHECKSUM, d->label, "arrived with the %s %s, not %s",
	               is_git ? "git SHA-1" : "SHA-256", is_git ? git : d->sha256, d->digest);
}

/* Gives the incomplete file its name. */
static int
name_it(struct download *d, const char *part, struct err *e)
{
	const char *name = d->name ? d->name : d->sha256;
	int r = d->replace || !d->name
	            ? renameat(d->folder, part, d->folder, name)
	            : renameat2(d->folder, part, d->folder, name, RENAME_NOREPLACE);

	if (r < 0 && errno == EINVAL) /* a file system without RENAME_NOREPLACE */
		r = renameat(d->folder, part, d->folder, name);
	if (r < 0)
		return err_errno(e, d->label, "the complete file cannot be named %s", name);
	return 0;
}

/* ---- a file whose length is known ---- */

/* One attempt. Returns 1 if what has come is void, and it is worth another one from the
 * beginning, unless a reader has seen it. */
static int
attempt(struct download *d, struct partial *p, struct web *web, struct err *e)
{
	struct content_hash h;
	uint64_t before = partial_bytes(p);
	bool resumed = p->resumes;
	int r;

	content_hash_start(&h, d->kind, p->size);
	r = fetch_pieces(d, p, web, &h, e);
	d->fetched += partial_bytes(p) - (before < partial_bytes(p) ? before : 0);
	if (r == 0)
		r = check_digest(d, &h, e);
	content_hash_abandon(&h);
	if (r == 0)
		return 0;
	if (d->failure != HTTP_CHANGED && !(resumed && e->code == ERR_CHECKSUM))
		return -1;
	if (watch_is_read(d->watch))
		return 1;
	if (d->progress)
		atomic_fetch_sub(d->progress, partial_bytes(p));
	watch_void(d->watch);
	return partial_clear(p) < 0 ? -1 : 1;
}

/* Attempts until the digest holds. Returns 1 if it never does. */
static int
fetch_sized(struct download *d, struct partial *p, struct web *web, struct err *e)
{
	unsigned tries = d->tries ? d->tries : 2, i;
	char text[1100];
	int r = 1;

	if (check_space(d, d->size - partial_bytes(p), e) < 0)
		return -1;
	for (i = 0; r == 1 && i < tries; i++) {
		struct err why = ERR_INIT;

		r = attempt(d, p, web, &why);
		if (r == 1 && watch_is_read(d->watch))
			tries = 1;
		if (r == 1 && i + 1 < tries && d->kind != DOWNLOAD_UNKNOWN) {
			snprintf(text, sizeof text, "%s: %s; fetching it anew", why.object, why.fact);
			if (d->note)
				d->note(text);
		} else if (r != 0) {
			*e = why;
			break;
		}
	}
	return r;
}

static int
run_sized(struct download *d, const char *part, struct web *web, struct err *e)
{
	const char *digest = d->kind == DOWNLOAD_UNKNOWN ? "" : d->digest;
	struct partial p;
	int r;

	if (partial_open(&p, d->folder, part, d->size, digest, d->etag, e) < 0)
		return -1;
	watch_attach(d->watch, &p);
	r = d->head ? fetch_head(d, &p, web, e) : fetch_sized(d, &p, web, e);
	if (r == 0 && !d->head)
		r = partial_finish(&p, true) < 0 ? err_errno(e, d->label, "cannot be written")
		                                 : name_it(d, part, e);
	else if (r == 1)
		unlinkat(d->folder, part, 0);
	d->bytes = d->size;
	watch_detach(d->watch);
	partial_close(&p);
	return r == 0 ? 0 : -1;
}

/* ---- a file of unknown length ---- */

static int
run_stream(struct download *d, const char *part, struct web *web, struct err *e)
{
	struct content_hash h;
	int fd = openat(d->folder, part, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0666);
	int r;

	if (fd < 0)
		return err_errno(e, d->label, "the incomplete file cannot be created");
	content_hash_start(&h, DOWNLOAD_UNKNOWN, 0);
	r = fetch_stream(d, fd, web, &h, e);
	d->fetched += d->bytes;
	if (r == 0)
		r = check_digest(d, &h, e);
	content_hash_abandon(&h);
	if (r == 0 && fdatasync(fd) < 0)
		r = err_errno(e, d->label, "cannot be written");
	if (r == 0)
		r = name_it(d, part, e);
	if (r < 0)
		unlinkat(d->folder, part, 0);
	close(fd);
	return r;
}

int
download_run(struct download *d, struct web *web, struct err *e)
{
	char part[DOWNLOAD_NAME];

	part_name(part, d);
	d->failure = HTTP_FINE;
	d->fetched = 0;
	if (!d->jobs)
		d->jobs = 4;
	if (d->size == HTTP_UNKNOWN && d->kind == DOWNLOAD_GIT)
		return err_set(e, ERR_CORRUPT, d->label, "has a git digest but no size");
	return d->size == HTTP_UNKNOWN ? run_stream(d, part, web, e)
	                               : run_sized(d, part, web, e);
}
