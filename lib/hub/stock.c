#include "hub/stock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/buf.h"
#include "core/dir.h"
#include "core/mem.h"

int
stock_count(struct stock *s, const char *path, struct err *e)
{
	if (++s->entries <= STOCK_ENTRIES)
		return 0;
	return err_set(e, ERR_MEMORY, path, "the caches hold more than %d files", STOCK_ENTRIES);
}

int
stock_folder(int fd, const char *path)
{
	return openat(fd, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

int
stock_small(int fd, const char *path, size_t limit, struct buf *to)
{
	int file = openat(fd, path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;
	uint8_t *room;
	ssize_t n = -1;

	if (file < 0)
		return -1;
	if (fstat(file, &st) == 0 && S_ISREG(st.st_mode) && (uint64_t)st.st_size <= limit &&
	    (room = buf_room(to, (size_t)st.st_size)) != NULL) {
		n = read(file, room, (size_t)st.st_size);
		to->n += n > 0 ? (size_t)n : 0;
	}
	close(file);
	return n < 0 || !buf_string(to) ? -1 : 0;
}

int64_t
stock_used(const struct stat *st)
{
	return st->st_atim.tv_sec > st->st_mtim.tv_sec ? st->st_atim.tv_sec : st->st_mtim.tv_sec;
}

/* ---- parts of a repository ---- */

/* Blobs must be added in the order of names. */
static struct stock_blob *
add_blob(struct stock_repo *r, const char *name, struct err *e)
{
	struct stock_blob *b;

	if (mem_grow(&r->blobs, &r->blob_cap, r->blob_count + 1, sizeof *b) < 0)
		return err_memory(e), NULL;
	b = &r->blobs[r->blob_count];
	b->mark = STOCK_NONE;
	b->name = mem_text(name, strlen(name));
	if (!b->name)
		return err_memory(e), NULL;
	r->blob_count++;
	return b;
}

struct stock_revision *
stock_add_revision(struct stock_repo *r, const char *entry, struct err *e)
{
	struct stock_revision *v;

	if (mem_grow(&r->revisions, &r->revision_cap, r->revision_count + 1, sizeof *v) < 0)
		return err_memory(e), NULL;
	v = &r->revisions[r->revision_count++];
	v->entry = mem_text(entry, strlen(entry));
	return v->entry ? v : (err_memory(e), NULL);
}

struct stock_file *
stock_add_file(struct stock_revision *v, const char *path, struct err *e)
{
	struct stock_file *f;

	if (mem_grow(&v->files, &v->cap, v->n + 1, sizeof *f) < 0)
		return err_memory(e), NULL;
	f = &v->files[v->n++];
	f->blob = STOCK_NONE;
	f->path = mem_text(path, strlen(path));
	return f->path ? f : (err_memory(e), NULL);
}

static int
compare_blob(const void *name, const void *blob)
{
	return strcmp(name, ((const struct stock_blob *)blob)->name);
}

size_t
stock_find_blob(const struct stock_repo *r, const char *name)
{
	const struct stock_blob *b = r->blob_count == 0 ? NULL
		: bsearch(name, r->blobs, r->blob_count, sizeof *b, compare_blob);

	return b ? (size_t)(b - r->blobs) : STOCK_NONE;
}

static bool
is_partial(const char *name)
{
	static const char end[] = ".incomplete";
	size_t n = strlen(name);

	return n > sizeof end - 1 && strcmp(name + n - (sizeof end - 1), end) == 0;
}

/* An unfinished download may be a file with holes: only what it occupies counts. */
static uint64_t
size_of(const struct stat *st, bool partial)
{
	uint64_t all = (uint64_t)st->st_size, held = (uint64_t)st->st_blocks * 512;

	return partial && held < all ? held : all;
}

int
stock_read_blobs(struct stock *s, int repo, const char *folder, const char *label,
                 struct stock_repo *r, struct err *e)
{
	struct dir_names names = { 0 };
	int fd = stock_folder(repo, folder), done = 0;
	struct stat st;
	size_t i;

	if (fd < 0)
		return errno == ENOENT || errno == ELOOP || errno == ENOTDIR ? 0
			: err_errno(e, label, "%s cannot be opened", folder);
	done = dir_list(fd, label, &names, e);
	for (i = 0; i < names.n && done == 0; i++) {
		struct stock_blob *b;

		if ((done = stock_count(s, label, e)) < 0)
			break;
		if (fstatat(fd, names.p[i], &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode))
			continue;
		b = add_blob(r, names.p[i], e);
		if (!b) {
			done = -1;
			break;
		}
		b->partial = is_partial(names.p[i]);
		b->size = size_of(&st, b->partial);
		b->used = stock_used(&st);
	}
	dir_names_free(&names);
	close(fd);
	return done;
}

const char *
stock_blobs_of(const struct stock_cache *c)
{
	return c->apr ? "blobs/sha256" : "blobs";
}

int
stock_repo_open(const struct stock_cache *c, const struct stock_repo *r, struct err *e)
{
	int fd = stock_folder(c->fd, *r->folder ? r->folder : ".");

	return fd < 0 ? err_errno(e, r->folder, "cannot be opened") : fd;
}

/* ---- both caches ---- */

/* Opens the root; that may be a link. */
static int
open_root(struct stock_cache *c, const char *path, bool apr, struct err *e)
{
	c->path = path;
	c->apr = apr;
	c->fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return c->fd < 0 && errno != ENOENT ? err_errno(e, path, "cannot be opened") : 0;
}

/* Sums of a revision; each blob counts once. */
static void
sum_revision(struct stock_repo *r, size_t number)
{
	struct stock_revision *v = &r->revisions[number];
	size_t i;

	for (i = 0; i < v->n; i++) {
		struct stock_file *f = &v->files[i];
		struct stock_blob *b = f->blob == STOCK_NONE ? NULL : &r->blobs[f->blob];

		v->broken += f->state == STOCK_MISSING || f->state == STOCK_OUTSIDE;
		if (!b) {
			v->size += f->size;
			continue;
		}
		f->size = b->size;
		b->links++;
		if (b->mark != number)
			v->size += b->size;
		b->mark = number;
		v->used = b->used > v->used ? b->used : v->used;
	}
}

static void
sum_cache(struct stock_cache *c)
{
	size_t i, j;

	for (i = 0; i < c->n; i++)
		for (j = 0; j < c->repos[i].revision_count; j++)
			sum_revision(&c->repos[i], j);
}

int
stock_open(struct stock *s, const char *hub, const char *apr, struct err *e)
{
	s->hub.fd = s->apr.fd = -1;
	if (open_root(&s->hub, hub, false, e) < 0 || open_root(&s->apr, apr, true, e) < 0)
		return -1;
	if (s->hub.fd >= 0 && stock_read_hub(s, &s->hub, e) < 0)
		return -1;
	if (s->apr.fd >= 0 && stock_read_apr(s, &s->apr, e) < 0)
		return -1;
	sum_cache(&s->hub);
	sum_cache(&s->apr);
	return 0;
}

static void
free_revision(struct stock_revision *v)
{
	size_t i;

	for (i = 0; i < v->n; i++)
		free(v->files[i].path);
	free(v->files);
	free(v->name);
	free(v->commit);
	free(v->refs);
	free(v->entry);
	free(v->folder);
}

static void
free_repo(struct stock_repo *r)
{
	size_t i;

	for (i = 0; i < r->blob_count; i++)
		free(r->blobs[i].name);
	for (i = 0; i < r->revision_count; i++)
		free_revision(&r->revisions[i]);
	for (i = 0; i < r->ref_count; i++) {
		free(r->refs[i].name);
		free(r->refs[i].commit);
	}
	free(r->blobs);
	free(r->revisions);
	free(r->refs);
	free(r->folder);
	free(r->name);
}

void
stock_free(struct stock *s)
{
	struct stock_cache *caches[] = { &s->hub, &s->apr };
	size_t i, j;

	for (i = 0; i < 2; i++) {
		for (j = 0; j < caches[i]->n; j++)
			free_repo(&caches[i]->repos[j]);
		free(caches[i]->repos);
		if (caches[i]->path && caches[i]->fd >= 0)
			close(caches[i]->fd);
	}
	*s = (struct stock){ 0 };
}
