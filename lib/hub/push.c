#include "hub/push.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/dir.h"
#include "core/mem.h"
#include "core/num.h"
#include "crypto/digest.h"

#define PIECE (256u << 10)
#define DEPTH 16

/* ---- files ---- */

/* The name of a file there: below the path of the destination, or that path itself for a single
 * file. */
static char *
name_there(const struct push *p, const char *name)
{
	struct buf b = { 0 };
	char *made;

	if (*p->to->path)
		buf_printf(&b, "%s/", p->to->path);
	buf_text(&b, name);
	made = buf_string(&b) ? mem_text((const char *)b.p, b.n) : NULL;
	buf_free(&b);
	return made;
}

static int
add_file(struct push *p, int fd, const char *at, const char *name, const struct stat *st,
         struct err *e)
{
	struct push_file *f;
	size_t i;

	if (p->n == PUSH_FILES)
		return close(fd), err_set(e, ERR_MEMORY, at, "is one of more than %d files", PUSH_FILES);
	if (mem_grow(&p->files, &p->cap, p->n + 1, sizeof *f) < 0)
		return close(fd), err_memory(e);
	f = &p->files[p->n++];
	*f = (struct push_file){ .fd = fd, .size = (uint64_t)st->st_size };
	f->at = mem_text(at, strlen(at));
	f->name = name_there(p, name);
	if (!f->at || !f->name || num_add(p->bytes, f->size, &p->bytes) < 0)
		return err_memory(e);
	if (!hub_path_is_safe(f->name))
		return err_set(e, ERR_USAGE, at, "has a name that a repository cannot hold");
	for (i = 0; i + 1 < p->n; i++)
		if (strcmp(p->files[i].name, f->name) == 0)
			return err_set(e, ERR_USAGE, at, "would be %s, as %s", f->name, p->files[i].at);
	return 0;
}

static int add_folder(struct push *p, int fd, const char *at, const char *below, int depth,
                      struct err *e);

/* Opens NAME in a folder; at and below are paths here and there. */
static int
add_entry(struct push *p, int folder, const char *name, const char *at, const char *below, int depth,
          struct err *e)
{
	const int links = depth ? O_NOFOLLOW : 0;
	int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | links), done;
	struct stat st;

	if (fd < 0)
		return err_errno(e, at, "cannot be opened");
	if (fstat(fd, &st) < 0) {
		err_errno(e, at, "cannot be opened");
	} else if (S_ISREG(st.st_mode)) {
		return add_file(p, fd, at, below, &st, e);
	} else if (S_ISDIR(st.st_mode) && depth < DEPTH) {
		done = add_folder(p, fd, at, depth ? below : "", depth + 1, e);
		close(fd);
		return done;
	} else {
		err_set(e, ERR_USAGE, at, "is not a file");
	}
	close(fd);
	return -1;
}

static int
add_folder(struct push *p, int fd, const char *at, const char *below, int depth, struct err *e)
{
	struct dir_names names = { 0 };
	struct buf here = { 0 }, there = { 0 };
	int done = dir_list(fd, at, &names, e);
	size_t i;

	for (i = 0; i < names.n && done == 0; i++) {
		if (names.p[i][0] == '.')
			continue;
		buf_clear(&here);
		buf_clear(&there);
		buf_printf(&here, "%s/%s", at, names.p[i]);
		buf_printf(&there, "%s%s%s", below, *below ? "/" : "", names.p[i]);
		done = !buf_string(&here) || !buf_string(&there) ? err_memory(e)
			: add_entry(p, fd, names.p[i], (const char *)here.p, (const char *)there.p, depth, e);
	}
	buf_free(&here);
	buf_free(&there);
	dir_names_free(&names);
	return done;
}

int
push_add(struct push *p, const char *path, struct err *e)
{
	const char *slash = strrchr(path, '/');

	return add_entry(p, AT_FDCWD, path, path, slash ? slash + 1 : path, 0, e);
}

/* ---- digests ---- */

int
push_digest(const void *bytes, size_t n, char digest[72], struct err *e)
{
	char hex[DIGEST_TEXT];
	struct digest d;

	if (sha256_of(bytes, n, &d) < 0)
		return err_memory(e);
	snprintf(digest, 72, "sha256:%s", digest_text(hex, &d));
	return 0;
}

static int
hash_file(struct push_file *f, struct err *e)
{
	static uint8_t piece[PIECE];
	struct sha256 h = { 0 };
	struct digest d;
	uint64_t at = 0;
	ssize_t n;

	sha256_start(&h);
	while ((n = pread(f->fd, piece, sizeof piece, (off_t)at)) > 0) {
		sha256_add(&h, piece, (size_t)n);
		at += (uint64_t)n;
	}
	if (n < 0 || at != f->size) {
		sha256_abandon(&h);
		return n < 0 ? err_errno(e, f->at, "cannot be read")
			: err_set(e, ERR_IO, f->at, "changed while it was read");
	}
	if (sha256_finish(&h, &d, e) < 0)
		return -1;
	digest_text(f->sha256, &d);
	return 0;
}

int
push_hash(struct push *p, struct err *e)
{
	size_t i;

	for (i = 0; i < p->n; i++)
		if (hash_file(&p->files[i], e) < 0)
			return -1;
	return 0;
}

/* ---- all ---- */

int
push_run(struct push *p, struct web *web, struct err *e)
{
	if (p->to->kind == HUB_HF)
		return push_hf(p, web, e);
	if (p->to->kind == HUB_OCI || p->to->kind == HUB_OLLAMA)
		return push_oci(p, web, e);
	return err_set(e, ERR_USAGE, p->to->label, "is not hf://ORG/REPO or oci://REGISTRY/NAME:TAG");
}

void
push_free(struct push *p)
{
	size_t i;

	for (i = 0; i < p->n; i++) {
		free(p->files[i].at);
		free(p->files[i].name);
		if (p->files[i].fd >= 0)
			close(p->files[i].fd);
	}
	free(p->files);
	p->files = NULL;
	p->n = p->cap = 0;
}
