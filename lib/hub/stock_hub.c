/* stock_hub: the hub's layout. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/buf.h"
#include "core/dir.h"
#include "core/mem.h"
#include "hub/stock.h"

#define DEPTH 32         /* folders in folders of a snapshot */
#define PATH_BYTES 4096

static const struct {
	const char *folder;  /* how the name of a folder begins */
	const char *name;    /* what stands before ORG/NAME */
} kinds[] = {
	{ "models--", "" }, { "datasets--", "datasets/" }, { "spaces--", "spaces/" },
	{ "kernels--", "kernels/" },
};

/* "models--org--name" is "org/name"; NULL if it is not a repository, or memory ran out. */
static char *
name_of(const char *folder, struct err *e)
{
	struct buf b = { 0 };
	const char *at = NULL, *mark;
	char *made;
	size_t i;

	for (i = 0; i < sizeof kinds / sizeof *kinds && !at; i++)
		if (strncmp(folder, kinds[i].folder, strlen(kinds[i].folder)) == 0) {
			at = folder + strlen(kinds[i].folder);
			buf_text(&b, kinds[i].name);
		}
	if (!at || !*at) {
		buf_free(&b);
		return NULL;
	}
	while ((mark = strstr(at, "--")) != NULL) {
		buf_put(&b, at, (size_t)(mark - at));
		buf_text(&b, "/");
		at = mark + 2;
	}
	buf_text(&b, at);
	made = buf_string(&b) ? mem_text((const char *)b.p, b.n) : NULL;
	buf_free(&b);
	if (!made)
		err_memory(e);
	return made;
}

/* ---- snapshots ---- */

struct walk {
	struct stock *s;
	struct stock_repo *r;
	struct stock_revision *v;
	const char *label;
};

/* Returns the blob that the text of a link names: "../" once more than there are folders on
 * the way, and "blobs/NAME". NULL if it leads elsewhere. */
static const char *
blob_of(const char *text, int depth)
{
	int i;

	for (i = 0; i < depth + 2; i++, text += 3)
		if (strncmp(text, "../", 3) != 0)
			return NULL;
	if (strncmp(text, "blobs/", 6) != 0 || !text[6] || strchr(text + 6, '/') ||
	    strcmp(text + 6, "..") == 0)
		return NULL;
	return text + 6;
}

static int
add_link(struct walk *w, int fd, const char *name, const char *path, int depth, struct err *e)
{
	struct stock_file *f = stock_add_file(w->v, path, e);
	char text[PATH_BYTES];
	ssize_t n = readlinkat(fd, name, text, sizeof text - 1);
	const char *blob;

	if (!f)
		return -1;
	text[n > 0 ? n : 0] = '\0';
	blob = blob_of(text, depth);
	f->blob = blob ? stock_find_blob(w->r, blob) : STOCK_NONE;
	f->state = !blob ? STOCK_OUTSIDE : f->blob == STOCK_NONE ? STOCK_MISSING : STOCK_WHOLE;
	return 0;
}

static int
add_own(struct walk *w, const char *path, const struct stat *st, struct err *e)
{
	struct stock_file *f = stock_add_file(w->v, path, e);

	if (!f)
		return -1;
	f->state = STOCK_OWN;
	f->size = (uint64_t)st->st_size;
	if (stock_used(st) > w->v->used)
		w->v->used = stock_used(st);
	return 0;
}

static int walk_folder(struct walk *w, int fd, const char *below, int depth, struct err *e);

static int
walk_entry(struct walk *w, int fd, const char *name, const char *path, int depth, struct err *e)
{
	struct stat st;
	int folder, done;

	if (stock_count(w->s, w->label, e) < 0)
		return -1;
	if (fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	if (S_ISLNK(st.st_mode)) {
		/* The client makes the link when it first needs the file. */
		w->v->used = st.st_mtim.tv_sec > w->v->used ? st.st_mtim.tv_sec : w->v->used;
		return add_link(w, fd, name, path, depth, e);
	}
	if (S_ISREG(st.st_mode))
		return add_own(w, path, &st, e);
	if (!S_ISDIR(st.st_mode))
		return 0;
	if (depth == DEPTH)
		return err_set(e, ERR_CORRUPT, w->label, "%s: more than %d folders deep", path, DEPTH);
	folder = stock_folder(fd, name);
	if (folder < 0)
		return err_errno(e, w->label, "%s cannot be opened", path);
	done = walk_folder(w, folder, path, depth + 1, e);
	close(folder);
	return done;
}

static int
walk_folder(struct walk *w, int fd, const char *below, int depth, struct err *e)
{
	struct dir_names names = { 0 };
	int done = dir_list(fd, w->label, &names, e);
	struct buf path = { 0 };
	size_t i;

	for (i = 0; i < names.n && done == 0; i++) {
		buf_clear(&path);
		buf_printf(&path, "%s%s%s", below, *below ? "/" : "", names.p[i]);
		if (!buf_string(&path))
			done = err_memory(e);
		else if (path.n >= PATH_BYTES)
			done = err_set(e, ERR_CORRUPT, w->label, "a path is longer than %d bytes",
			               PATH_BYTES);
		else
			done = walk_entry(w, fd, names.p[i], (const char *)path.p, depth, e);
	}
	buf_free(&path);
	dir_names_free(&names);
	return done;
}

/* The names of branches and tags whose commit this is, with spaces between. */
static int
name_refs(const struct stock_repo *r, struct stock_revision *v, struct err *e)
{
	struct buf b = { 0 };
	size_t i;

	for (i = 0; i < r->ref_count; i++)
		if (strcmp(r->refs[i].commit, v->commit) == 0)
			buf_printf(&b, "%s%s", b.n ? " " : "", r->refs[i].name);
	if (b.n && (!buf_string(&b) || !(v->refs = mem_text((const char *)b.p, b.n))))
		err_memory(e);
	buf_free(&b);
	return b.failed || e->code != ERR_NONE ? -1 : 0;
}

static int
read_snapshot(struct stock *s, struct stock_repo *r, int fd, const char *commit, struct err *e)
{
	struct walk w = { .s = s, .r = r, .label = r->folder };
	int folder = stock_folder(fd, commit), done = -1;

	if (folder < 0)
		return 0;
	w.v = stock_add_revision(r, commit, e);
	if (w.v) {
		w.v->name = mem_text(r->name, strlen(r->name));
		w.v->commit = mem_text(commit, strlen(commit));
		done = w.v->name && w.v->commit ? name_refs(r, w.v, e) : err_memory(e);
	}
	if (done == 0)
		done = walk_folder(&w, folder, "", 0, e);
	close(folder);
	return done;
}

static int
read_snapshots(struct stock *s, int repo, struct stock_repo *r, struct err *e)
{
	int fd = stock_folder(repo, "snapshots"), done;
	struct dir_names names = { 0 };
	size_t i;

	if (fd < 0)
		return 0;
	done = dir_list(fd, r->folder, &names, e);
	for (i = 0; i < names.n && done == 0; i++)
		if ((done = stock_count(s, r->folder, e)) == 0)
			done = read_snapshot(s, r, fd, names.p[i], e);
	dir_names_free(&names);
	close(fd);
	return done;
}

/* ---- refs ---- */

/* Commits with and without a newline at the end count. */
static int
add_ref(struct stock_repo *r, int fd, const char *name, const char *path, struct err *e)
{
	struct buf text = { 0 };
	struct stock_ref *ref;
	int done = 0;

	if (stock_small(fd, name, 256, &text) == 0) {
		text.p[strcspn((const char *)text.p, "\r\n")] = '\0';
		done = mem_grow(&r->refs, &r->ref_cap, r->ref_count + 1, sizeof *ref) < 0
			? err_memory(e) : 0;
		if (done == 0) {
			ref = &r->refs[r->ref_count++];
			ref->name = mem_text(path, strlen(path));
			ref->commit = mem_text((const char *)text.p, strlen((const char *)text.p));
			done = ref->name && ref->commit ? 0 : err_memory(e);
		}
	}
	buf_free(&text);
	return done;
}

static int
read_refs(struct stock *s, int fd, struct stock_repo *r, const char *below, int depth,
          struct err *e)
{
	struct dir_names names = { 0 };
	int done = dir_list(fd, r->folder, &names, e), folder;
	struct buf path = { 0 };
	size_t i;

	for (i = 0; i < names.n && done == 0; i++) {
		buf_clear(&path);
		buf_printf(&path, "%s%s%s", below, *below ? "/" : "", names.p[i]);
		if (!buf_string(&path) || stock_count(s, r->folder, e) < 0) {
			done = err_memory(e);
			break;
		}
		folder = depth < DEPTH ? stock_folder(fd, names.p[i]) : -1;
		if (folder >= 0) {
			done = read_refs(s, folder, r, (const char *)path.p, depth + 1, e);
			close(folder);
		} else {
			done = add_ref(r, fd, names.p[i], (const char *)path.p, e);
		}
	}
	buf_free(&path);
	dir_names_free(&names);
	return done;
}

/* ---- repositories ---- */

static int
read_repo(struct stock *s, int repo, struct stock_repo *r, struct err *e)
{
	int refs = stock_folder(repo, "refs"), done = 0;

	if (refs >= 0) {
		done = read_refs(s, refs, r, "", 0, e);
		close(refs);
	}
	return done < 0 || stock_read_blobs(s, repo, "blobs", r->folder, r, e) < 0
		? -1 : read_snapshots(s, repo, r, e);
}

static int
add_repo(struct stock *s, struct stock_cache *c, const char *folder, struct err *e)
{
	char *name = name_of(folder, e);
	struct stock_repo *r;
	int fd, done;

	if (!name)
		return e->code == ERR_NONE ? 0 : -1;
	fd = stock_folder(c->fd, folder);
	if (fd < 0) {
		c->links_as_repos += errno == ELOOP || errno == ENOTDIR;
		free(name);
		return 0;
	}
	if (mem_grow(&c->repos, &c->cap, c->n + 1, sizeof *r) < 0) {
		free(name);
		close(fd);
		return err_memory(e);
	}
	r = &c->repos[c->n++];
	r->name = name;
	r->folder = mem_text(folder, strlen(folder));
	done = r->folder ? read_repo(s, fd, r, e) : err_memory(e);
	close(fd);
	return done;
}

int
stock_read_hub(struct stock *s, struct stock_cache *c, struct err *e)
{
	struct dir_names names = { 0 };
	int done = dir_list(c->fd, c->path, &names, e);
	size_t i;

	for (i = 0; i < names.n && done == 0; i++)
		if ((done = stock_count(s, c->path, e)) == 0)
			done = add_repo(s, c, names.p[i], e);
	dir_names_free(&names);
	return done;
}
