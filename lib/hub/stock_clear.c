/* stock_clear: removes parts of a cache. Names come from the layout that was read; every folder is
 * opened without following links, so nothing outside the cache is removed. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "core/dir.h"
#include "core/err.h"
#include "hub/stock.h"

#define DEPTH 40

/* ---- locks ---- */

/* Takes the lock of a blob, which is also that of its unfinished downloads. Returns a descriptor
 * that holds it, STOCK_BUSY, or STOCK_UNLOCKED: without a file, nobody holds it. */
static int
lock_blob(const struct stock_cache *c, const struct stock_repo *r, const struct stock_blob *b)
{
	char path[1024];
	int fd, n;

	n = snprintf(path, sizeof path, ".locks/%s%s%.*s.lock", r->folder, *r->folder ? "/" : "",
	             (int)strcspn(b->name, "."), b->name);
	if (n < 0 || (size_t)n >= sizeof path)
		return STOCK_UNLOCKED;
	fd = openat(c->fd, path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return STOCK_UNLOCKED;
	if (flock(fd, LOCK_EX | LOCK_NB) == 0)
		return fd;
	close(fd);
	return STOCK_BUSY;
}

static void
unlock_blob(int fd)
{
	if (fd >= 0)
		close(fd);
}

static bool
is_busy(const struct stock_cache *c, const struct stock_repo *r, const struct stock_blob *b)
{
	int lock = lock_blob(c, r, b);

	unlock_blob(lock);
	return lock == STOCK_BUSY;
}

/* ---- the choice ---- */

static bool
revision_is_busy(const struct stock_cache *c, const struct stock_repo *r,
                 const struct stock_revision *v)
{
	int lock = v->upload ? stock_lock_upload(c->fd, v) : STOCK_UNLOCKED;
	size_t i;

	unlock_blob(lock);
	if (lock == STOCK_BUSY)
		return true;
	for (i = 0; i < v->n; i++)
		if (v->files[i].blob != STOCK_NONE && is_busy(c, r, &r->blobs[v->files[i].blob]))
			return true;
	return false;
}

/* Marks the blobs that nothing needs afterwards; what no revision needs goes with the
 * repository. */
static void
doom(struct stock_repo *r)
{
	size_t i, j;

	for (i = 0; i < r->blob_count; i++)
		r->blobs[i].doomed = r->blobs[i].links > 0 || r->chosen;
	for (i = 0; i < r->revision_count; i++)
		for (j = 0; j < r->revisions[i].n && !r->revisions[i].chosen; j++)
			if (r->revisions[i].files[j].blob != STOCK_NONE)
				r->blobs[r->revisions[i].files[j].blob].doomed = false;
}

/* ---- removal ---- */

static int
remove_tree(int fd, const char *name, const char *label, int depth, struct err *e)
{
	int folder = depth < DEPTH ? stock_folder(fd, name) : -1, done;
	struct dir_names names = { 0 };
	size_t i;

	if (folder < 0 && errno == ENOENT)
		return 0;
	if (folder < 0)
		return unlinkat(fd, name, 0) < 0 && errno != ENOENT
			? err_errno(e, label, "%s cannot be removed", name) : 0;
	done = dir_list(folder, label, &names, e);
	for (i = 0; i < names.n && done == 0; i++)
		done = remove_tree(folder, names.p[i], label, depth + 1, e);
	dir_names_free(&names);
	close(folder);
	if (done == 0 && unlinkat(fd, name, AT_REMOVEDIR) < 0 && errno != ENOENT)
		done = err_errno(e, label, "%s cannot be removed", name);
	return done;
}

/* Removes NAME in a folder of the repository. */
static int
remove_in(int repo, const char *folder, const char *name, const char *label, struct err *e)
{
	int fd = stock_folder(repo, folder), done;

	if (fd < 0)
		return 0;
	done = remove_tree(fd, name, label, 0, e);
	close(fd);
	return done;
}

/* Removes the entry of an artifact or address, and the folder that no other entry has. */
static int
remove_entry(int root, const struct stock_repo *r, const struct stock_revision *v, const char *label,
             struct err *e)
{
	size_t i;

	if (unlinkat(root, v->entry, 0) < 0 && errno != ENOENT)
		return err_errno(e, label, "%s cannot be removed", v->entry);
	for (i = 0; v->folder && i < r->revision_count; i++)
		if (!r->revisions[i].chosen && r->revisions[i].folder &&
		    strcmp(r->revisions[i].folder, v->folder) == 0)
			return 0;
	return v->folder ? remove_in(root, "snapshots", v->folder, label, e) : 0;
}

static int
remove_revision(const struct stock_cache *c, int repo, const struct stock_repo *r,
                const struct stock_revision *v, struct err *e)
{
	const char *label = *r->folder ? r->folder : c->path;
	char tree[300];
	size_t i;

	if (c->apr)
		return remove_entry(repo, r, v, label, e);
	/* A ref first: without it, the revision is not found any more. */
	for (i = 0; i < r->ref_count; i++)
		if (strcmp(r->refs[i].commit, v->commit) == 0 &&
		    remove_in(repo, "refs", r->refs[i].name, label, e) < 0)
			return -1;
	snprintf(tree, sizeof tree, "%.255s.json", v->entry);
	return remove_in(repo, "snapshots", v->entry, label, e) < 0 ||
	       remove_in(repo, ".no_exist", v->entry, label, e) < 0
	           ? -1 : remove_in(repo, "trees", tree, label, e);
}

/* Removes a blob under its lock. 1: a download holds it. */
static int
remove_blob(const struct stock_cache *c, const struct stock_repo *r, int blobs,
            const struct stock_blob *b, struct err *e)
{
	int lock = lock_blob(c, r, b), done = 0;

	if (lock == STOCK_BUSY)
		return 1;
	if (unlinkat(blobs, b->name, 0) < 0 && errno != ENOENT)
		done = err_errno(e, r->folder, "%s cannot be removed", b->name);
	unlock_blob(lock);
	return done;
}

static int
remove_blobs(const struct stock_cache *c, struct stock_repo *r, int repo, bool dry,
             struct stock_cleared *to, struct err *e)
{
	int fd = stock_folder(repo, stock_blobs_of(c)), done = 0;
	size_t i;

	for (i = 0; i < r->blob_count && fd >= 0 && done == 0; i++) {
		struct stock_blob *b = &r->blobs[i];

		if (!b->doomed)
			continue;
		done = dry ? is_busy(c, r, b) : remove_blob(c, r, fd, b, e);
		if (done == 0)
			to->bytes += b->size;
		to->busy += done > 0;
		done = done > 0 ? 0 : done;
	}
	if (fd >= 0)
		close(fd);
	return done;
}

/* Removes what is left of a repository without revisions; a folder with files that are not part
 * of the layout stays. */
static int
remove_repo(const struct stock_cache *c, const struct stock_repo *r, int repo, struct err *e)
{
	static const char *const folders[] = { "refs", "snapshots", ".no_exist", "trees" };
	size_t i;

	for (i = 0; i < sizeof folders / sizeof *folders; i++)
		if (remove_tree(repo, folders[i], r->folder, 0, e) < 0)
			return -1;
	unlinkat(repo, "blobs", AT_REMOVEDIR);
	unlinkat(c->fd, r->folder, AT_REMOVEDIR);
	return 0;
}

static uint64_t
own_bytes(const struct stock_revision *v)
{
	uint64_t sum = 0;
	size_t i;

	for (i = 0; i < v->n; i++)
		sum += v->files[i].blob == STOCK_NONE ? v->files[i].size : 0;
	return sum;
}

int
stock_clear(const struct stock_cache *c, struct stock_repo *r, bool dry,
            void (*busy)(const struct stock_repo *, const struct stock_revision *),
            struct stock_cleared *to, struct err *e)
{
	int repo = stock_repo_open(c, r, e), done = 0;
	size_t i, held = to->busy;
	bool all = r->chosen;

	if (repo < 0)
		return -1;
	for (i = 0; i < r->revision_count; i++) {
		struct stock_revision *v = &r->revisions[i];

		if (v->chosen && revision_is_busy(c, r, v)) {
			v->chosen = false;
			to->busy++;
			busy(r, v);
		}
		all = all && v->chosen;
	}
	doom(r);
	for (i = 0; i < r->revision_count && done == 0; i++) {
		struct stock_revision *v = &r->revisions[i];

		if (!v->chosen)
			continue;
		to->revisions++;
		to->bytes += own_bytes(v);
		done = dry ? 0 : remove_revision(c, repo, r, v, e);
	}
	if (done == 0)
		done = remove_blobs(c, r, repo, dry, to, e);
	if (done == 0 && all && !dry && !c->apr && to->busy == held)
		done = remove_repo(c, r, repo, e);
	close(repo);
	return done;
}
