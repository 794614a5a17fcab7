#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/dir.h"
#include "core/mem.h"
#include "formats/pieces.h"

#define OLD ".old" /* what a file replaces, until all are replaced */

/* ---- what is there already ---- */

/* A folder that holds nothing may be given to us; nothing else is replaced. */
static int
refuse_folder(const struct pieces *s, struct err *e)
{
	DIR *d = opendir(s->path);
	struct dirent *x;
	bool empty = true;

	if (!d && errno == ENOENT)
		return 0;
	if (!d && errno != ENOTDIR)
		return err_errno(e, s->path, "cannot be made");
	while (d && (x = readdir(d)))
		if (strcmp(x->d_name, ".") != 0 && strcmp(x->d_name, "..") != 0)
			empty = false;
	if (d)
		closedir(d);
	if (d && empty)
		return 0;
	err_set(e, ERR_USAGE, s->path, "exists already");
	return err_hint(e, "a folder is never replaced, also not with -f");
}

static int
refuse_file(const struct pieces *s, const char *name, struct err *e)
{
	struct out_options where = s->where;
	char *path = dir_label(s->folder, name);
	struct stat st;
	int r;

	if (!path)
		return err_memory(e);
	where.path = path;
	r = out_refuse(&where, e);
	if (r == 0 && stat(path, &st) == 0 && !S_ISREG(st.st_mode))
		r = err_set(e, ERR_USAGE, path, "is no regular file");
	free(path);
	return r;
}

int
pieces_refuse(const struct pieces *s, struct err *e)
{
	size_t i;

	if (s->makes_folder)
		return refuse_folder(s, e);
	for (i = 0; i < s->piece_count; i++)
		if (refuse_file(s, s->pieces[i].name, e) < 0)
			return -1;
	return s->index_name ? refuse_file(s, s->index_name, e) : 0;
}

/* ---- names in the temporary folder ---- */

static size_t
file_count(const struct pieces *s)
{
	return s->piece_count + s->beside_count;
}

static const char *
file_name(const struct pieces *s, size_t i)
{
	return i < s->piece_count ? s->pieces[i].name : s->besides[i - s->piece_count].name;
}

static int
name_piece(struct pieces *s, struct piece *p, struct err *e)
{
	char *path = dir_label(s->temporary, p->name);
	int r = -1;

	if (!path)
		return err_memory(e);
	s->ops->rename(p->sink, path);
	r = sink_end(p->sink, e);
	s->ops->rename(p->sink, s->temporary);
	free(path);
	return r;
}

static int
name_beside(struct pieces *s, struct beside *b, struct err *e)
{
	char *path = dir_label(s->temporary, b->name);
	int r;

	if (!path)
		return err_memory(e);
	b->out.path = path;
	r = out_finish(&b->out);
	b->out.path = s->temporary;
	free(path);
	return r;
}

static int
name_all(struct pieces *s, struct err *e)
{
	size_t i;

	for (i = 0; i < s->piece_count; i++)
		if (name_piece(s, &s->pieces[i], e) < 0)
			return -1;
	for (i = 0; i < s->beside_count; i++)
		if (name_beside(s, &s->besides[i], e) < 0)
			return -1;
	return 0;
}

/* ---- from there into a folder that holds other files ---- */

/* Two folders, between which files move. */
struct move {
	int from, to;
	bool *old;   /* of each file: what it replaces lies in from */
	size_t done; /* files that have their names */
};

/* Never replaces anything, also not what has appeared meanwhile. */
static int
move_file(int from, const char *name, int to, const char *as)
{
	if (renameat2(from, name, to, as, RENAME_NOREPLACE) == 0)
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return -1;
	if (linkat(from, name, to, as, 0) < 0)
		return -1;
	unlinkat(from, name, 0);
	return 0;
}

/* What a file replaces lies under this name until all are replaced. */
static void
old_name(char text[300], const char *name)
{
	snprintf(text, 300, "%.255s" OLD, name);
}

static int
move_one(struct pieces *s, struct move *m, const char *name)
{
	char old[300];

	old_name(old, name);
	if (s->where.force) {
		m->old[m->done] = renameat(m->to, name, m->from, old) == 0;
		if (!m->old[m->done] && errno != ENOENT)
			return -1;
	}
	if (move_file(m->from, name, m->to, name) == 0) {
		m->done++;
		return 0;
	}
	if (m->old[m->done]) {
		int saved = errno;

		renameat(m->from, old, m->to, name);
		errno = saved;
	}
	return -1;
}

/* All that has its name loses it, and what was replaced gets it back. */
static void
move_back(struct pieces *s, struct move *m)
{
	char old[300];

	while (m->done > 0) {
		const char *name = file_name(s, --m->done);

		renameat(m->to, name, m->from, name);
		old_name(old, name);
		if (m->old[m->done])
			renameat(m->from, old, m->to, name);
	}
}

static int
move_all(struct pieces *s, struct err *e)
{
	struct move m = { -1, -1, mem_array(file_count(s), sizeof *m.old), 0 };
	int r = m.old ? 0 : err_memory(e);
	char old[300];
	size_t i;

	if (r == 0) {
		m.from = open(s->temporary, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		m.to = open(*s->parent ? s->parent : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (m.from < 0 || m.to < 0)
			r = err_errno(e, s->path, "its folder cannot be opened");
	}
	for (i = 0; r == 0 && i < file_count(s); i++)
		if (move_one(s, &m, file_name(s, i)) < 0) {
			r = err_errno(e, i < s->piece_count ? s->pieces[i].label
			              : s->besides[i - s->piece_count].label,
			              "cannot be given its name");
			move_back(s, &m);
		}
	for (i = 0; r == 0 && i < file_count(s); i++) {
		old_name(old, file_name(s, i));
		if (m.old[i])
			unlinkat(m.from, old, 0);
	}
	if (m.from >= 0)
		close(m.from);
	if (m.to >= 0)
		close(m.to);
	free(m.old);
	return r;
}

/* ---- all of it ---- */

/* The temporary folder with all that is still in it. */
static void
remove_temporary(struct pieces *s)
{
	char *path;
	size_t i;

	for (i = 0; i < file_count(s); i++) {
		path = dir_label(s->temporary, file_name(s, i));
		if (path)
			unlink(path);
		free(path);
	}
	rmdir(s->temporary);
}

/* A crash must not lose the names. */
static void
sync_parent(const struct pieces *s)
{
	int fd = open(*s->parent ? s->parent : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd >= 0) {
		fsync(fd);
		close(fd);
	}
}

int
pieces_name(struct pieces *s, struct err *e)
{
	int r;

	if (mkdir(s->temporary, 0777) < 0)
		return err_errno(e, s->path, "cannot be made");
	r = name_all(s, e);
	if (r == 0 && !s->makes_folder)
		r = move_all(s, e);
	else if (r == 0 && rename(s->temporary, s->path) < 0)
		r = err_errno(e, s->path, "cannot be given its name");
	if (r < 0 || !s->makes_folder)
		remove_temporary(s);
	if (r == 0 && !s->where.no_sync)
		sync_parent(s);
	return r;
}
