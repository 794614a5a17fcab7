/* Files by their names, and those beside them: the host's, which may call any set of files a
 * folder (core/opened.h, core/dir.h). Outputs have no names here: they go to a taker (core/out.h). */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/dir.h"
#include "core/mem.h"
#include "core/opened.h"
#include "core/place.h"
#include "core/wasm/files.h"
#include "core/wasm/host.h"

#define PATH 1024

/* Writes "FOLDER/NAME", or NAME if the folder has no name. 0 or -1. */
static int
join(char path[PATH], const char *folder, const char *name)
{
	size_t n = strlen(folder), m = strlen(name);

	if (n + m + 2 > PATH) {
		errno = ENAMETOOLONG;
		return -1;
	}
	memcpy(path, folder, n);
	if (n > 0 && folder[n - 1] != '/')
		path[n++] = '/';
	memcpy(path + n, name, m + 1);
	return 0;
}

void
opened_add(const char *path, bool folder)
{
	(void)path, (void)folder;
}

int
opened_file(const char *path, int flags)
{
	return open(path, flags);
}

int
opened_folder(const char *path)
{
	const char *slash = strrchr(path, '/');
	char inside[PATH], name[4];

	if (join(inside, path, "") == 0 && host_list(inside, strlen(inside), 0, name, sizeof name) >= 0)
		return file_folder(path, strlen(path));
	return file_folder(path, slash ? (size_t)(slash - path) : 0);
}

int
opened_stat(const char *path, struct stat *st)
{
	return stat(path, st);
}

int
dir_of(const char *path, char **folder, const char **name, struct err *e)
{
	const char *slash = strrchr(path, '/');
	int fd;

	*name = slash ? slash + 1 : path;
	*folder = mem_text(path, (size_t)(*name - path));
	if (!*folder)
		return err_memory(e);
	fd = opened_folder(path);
	if (fd < 0)
		err_errno(e, path, "lies in a folder that cannot be opened");
	return fd;
}

int
dir_look(int fd, const char *name, struct stat *st)
{
	const char *folder = file_folder_name(fd);
	char path[PATH];

	if (!folder)
		errno = ENOTDIR;
	return !folder || join(path, folder, name) < 0 ? -1 : stat(path, st);
}

int
dir_open_fd(int fd, const char *name)
{
	const char *folder = file_folder_name(fd);
	char path[PATH];

	if (!folder || !dir_name_is_inside(name)) {
		errno = folder ? EINVAL : ENOTDIR;
		return -1;
	}
	return join(path, folder, name) < 0 ? -1 : open(path, O_RDONLY);
}

int
dir_open(int fd, const char *name, const char *label, struct reader *r, struct err *e)
{
	int file = dir_open_fd(fd, name);

	*r = (struct reader){ .fd = -1, .err = e, .failed = true };
	if (file < 0)
		return err_errno(e, label, "cannot be opened");
	if (reader_fd(r, file, label, e) < 0) {
		close(file);
		r->fd = -1;
		return -1;
	}
	r->owns_fd = true;
	return 0;
}

/* Adds a name, unless it is the last one again: a folder has a name for each file in it. */
static int
add_name(struct dir_names *list, const char *name)
{
	if (list->n > 0 && strcmp(list->p[list->n - 1], name) == 0)
		return 0;
	if (mem_grow(&list->p, &list->cap, list->n + 1, sizeof *list->p) < 0)
		return -1;
	list->p[list->n] = mem_text(name, strlen(name));
	return list->p[list->n++] ? 0 : -1;
}

static int
compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

int
dir_list(int fd, const char *path, struct dir_names *list, struct err *e)
{
	const char *folder = file_folder_name(fd);
	char inside[PATH], name[PATH];
	size_t i, start;
	int n;

	if (!folder || join(inside, folder, "") < 0)
		return err_set(e, ERR_IO, path, "cannot be listed");
	start = strlen(inside);
	for (i = 0; (n = host_list(inside, start, i, name, sizeof name - 1)) >= 0; i++) {
		if ((size_t)n <= start || (size_t)n > sizeof name - 1)
			continue;
		name[n] = '\0';
		name[start + strcspn(name + start, "/")] = '\0';
		if (add_name(list, name + start) < 0)
			return err_memory(e);
	}
	qsort(list->p, list->n, sizeof *list->p, compare);
	return 0;
}

void
dir_names_free(struct dir_names *list)
{
	size_t i;

	for (i = 0; i < list->n; i++)
		free(list->p[i]);
	free(list->p);
	*list = (struct dir_names){ 0 };
}

/* ---- places of outputs ---- */

static int
nowhere(void)
{
	errno = ENOSYS;
	return -1;
}

struct place *
place_open(const char *path, bool force)
{
	(void)path, (void)force;
	return NULL;
}

void
place_close(struct place *p)
{
	(void)p;
}

bool
place_is_special(const struct place *p)
{
	(void)p;
	return false;
}

int
place_special(struct place *p)
{
	(void)p;
	return nowhere();
}

int
place_create(struct place *p, mode_t mode, size_t *file)
{
	(void)p, (void)mode, (void)file;
	return nowhere();
}

int
place_name(struct place *p, size_t file, bool sync)
{
	(void)p, (void)file, (void)sync;
	return nowhere();
}

int
place_vacant(struct place *p)
{
	(void)p;
	return nowhere();
}

int
place_stage(struct place *p)
{
	(void)p;
	return nowhere();
}

int
place_name_staged(struct place *p, size_t file, const char *name)
{
	(void)p, (void)file, (void)name;
	return nowhere();
}

int
place_become(struct place *p, bool sync)
{
	(void)p, (void)sync;
	return nowhere();
}

int
place_move(struct place *p, bool sync, size_t *file)
{
	(void)p, (void)sync, (void)file;
	return nowhere();
}

void
place_drop(struct place *p, size_t file)
{
	(void)p, (void)file;
}
