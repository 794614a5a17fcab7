/* Several files of one place: they get names in a folder with a temporary name, the
 * stage, and from there their final names together.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/broker.h"
#include "core/dir_name.h"
#include "core/mem.h"
#include "core/place.h"
#include "core/place_parts.h"

#define OLD ".old" /* suffix of a file that is being replaced, in the stage */

int
place_vacant(struct place *p)
{
	uint64_t none = 0;
	struct dirent *x;
	bool empty = true;
	DIR *d;
	int fd;

	if (place_is_far(p))
		return place_ask(p, BROKER_VACANT, &none, 0, NULL);
	fd = place_folder(p) < 0 ? -1 : openat(p->dir, p->base, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? 0 : -1;
	d = fdopendir(fd);
	if (!d) {
		close(fd);
		return -1;
	}
	while ((x = readdir(d)))
		if (strcmp(x->d_name, ".") != 0 && strcmp(x->d_name, "..") != 0)
			empty = false;
	closedir(d);
	if (!empty)
		errno = ENOTEMPTY;
	return empty ? 0 : -1;
}

int
place_stage(struct place *p)
{
	uint64_t none = 0;

	if (place_is_far(p))
		return place_ask(p, BROKER_STAGE, &none, 0, NULL);
	if (p->stage >= 0 || place_folder(p) < 0)
		return p->stage >= 0 ? 0 : -1;
	snprintf(p->stage_name, NAME, ".%.200s.%ld.tmp", p->base, (long)getpid());
	if (mkdirat(p->dir, p->stage_name, 0777) < 0)
		return -1;
	p->stage = openat(p->dir, p->stage_name,
	                  O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return p->stage < 0 ? -1 : 0;
}

/* Creates FOLDER in the stage for FOLDER/FILE. */
static int
make_below(struct place *p, const char *name)
{
	char folder[256];

	snprintf(folder, sizeof folder, "%.*s", (int)strcspn(name, "/"), name);
	return mkdirat(p->stage, folder, 0777) < 0 && errno != EEXIST ? -1 : 0;
}

static bool
is_name(const char *name)
{
	return dir_name_is_below(name) || (*name && !strchr(name, '/') && strcmp(name, ".") != 0 &&
	       strcmp(name, "..") != 0);
}

int
place_name_staged(struct place *p, size_t file, const char *name)
{
	uint64_t number = file;
	struct made *m;

	if (place_is_far(p))
		return place_ask(p, BROKER_NAME_STAGED, &number, 0, name);
	m = place_made(p, file);
	if (!m || p->stage < 0 || m->staged || !is_name(name)) {
		errno = EINVAL;
		return -1;
	}
	m->staged = mem_text(name, strlen(name));
	if (!m->staged) {
		errno = ENOMEM;
		return -1;
	}
	if ((!strchr(name, '/') || make_below(p, name) == 0) &&
	    place_link(p, m, p->stage, name) == 0) {
		place_lose_temporary(p, m);
		return 0;
	}
	free(m->staged);
	m->staged = NULL;
	return -1;
}

/* Removes the empty folders in the stage. */
static void
remove_below(struct place *p)
{
	int fd = openat(p->stage, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *x;

	while (d && (x = readdir(d)))
		if (x->d_name[0] != '.')
			unlinkat(p->stage, x->d_name, AT_REMOVEDIR);
	if (d)
		closedir(d);
	else if (fd >= 0)
		close(fd);
}

/* Removes the stage with all files in it. */
void
place_remove_stage(struct place *p)
{
	int saved = errno;
	size_t i;

	for (i = 0; i < p->n; i++) {
		if (p->made[i].staged)
			unlinkat(p->stage, p->made[i].staged, 0);
		place_forget(&p->made[i]);
	}
	remove_below(p);
	close(p->stage);
	p->stage = -1;
	unlinkat(p->dir, p->stage_name, AT_REMOVEDIR);
	errno = saved;
}

int
place_become(struct place *p, bool sync)
{
	uint64_t none = 0;
	size_t i;
	int r;

	if (place_is_far(p))
		return place_ask(p, BROKER_BECOME, &none, sync, NULL);
	if (p->stage < 0) {
		errno = EINVAL;
		return -1;
	}
	for (i = 0, r = 0; r == 0 && i < p->n; i++)
		if (p->made[i].staged && !dir_name_is_plain(p->made[i].staged) &&
		    !dir_name_is_below(p->made[i].staged)) {
			errno = EINVAL;
			r = -1;
		}
	if (r == 0)
		r = renameat(p->dir, p->stage_name, p->dir, p->base);
	if (r < 0) {
		place_remove_stage(p);
		return -1;
	}
	for (i = 0; i < p->n; i++)
		place_forget(&p->made[i]);
	close(p->stage);
	p->stage = -1;
	return sync ? place_sync_folder(p) : 0;
}

/* ---- from the stage into a folder that holds other files ---- */

/* Whether the name is that of a shard or an index and begins with these n bytes. */
static bool
extends(const char *name, const char *begin, size_t n)
{
	const char *rest = name + n, *ending = strrchr(name, '.');
	struct dir_number number;

	if (strncmp(name, begin, n) != 0)
		return false;
	return strcmp(rest, ".safetensors.index.json") == 0 || strcmp(rest, ".apr.json") == 0 ||
	       (ending && dir_is_several(name) && dir_numbered(name, ending, &number) &&
	        number.prefix == n);
}

/* Whether the name is BASE, or a shard or an index of BASE with or without its ending. */
static bool
is_own(const struct place *p, const char *name)
{
	const char *ending = strrchr(p->base, '.');

	return strcmp(name, p->base) == 0 || extends(name, p->base, strlen(p->base)) ||
	       (ending && ending > p->base && extends(name, p->base, (size_t)(ending - p->base)));
}

/* Never replaces a file, not even one that appeared since the check. */
static int
move_file(int from, const char *name, int to)
{
	if (renameat2(from, name, to, name, RENAME_NOREPLACE) == 0)
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return -1;
	if (linkat(from, name, to, name, 0) < 0)
		return -1;
	unlinkat(from, name, 0);
	return 0;
}

/* The name in the stage of a file that is being replaced. */
static void
old_name(char text[NAME], const char *name)
{
	snprintf(text, NAME, "%.255s" OLD, name);
}

static int
move_one(struct place *p, struct made *m)
{
	char old[NAME];
	int saved;

	if (!is_own(p, m->staged)) {
		errno = EPERM;
		return -1;
	}
	old_name(old, m->staged);
	if (p->force) {
		m->old = renameat(p->dir, m->staged, p->stage, old) == 0;
		if (!m->old && errno != ENOENT)
			return -1;
	}
	if (move_file(p->stage, m->staged, p->dir) == 0)
		return 0;
	saved = errno;
	if (m->old)
		renameat(p->stage, old, p->dir, m->staged);
	m->old = false;
	errno = saved;
	return -1;
}

/* Takes back the names of the first `done` files and restores what they replaced. */
static void
move_back(struct place *p, size_t done)
{
	int saved = errno;
	char old[NAME];

	while (done-- > 0) {
		struct made *m = &p->made[done];

		if (!m->staged)
			continue;
		renameat(p->dir, m->staged, p->stage, m->staged);
		old_name(old, m->staged);
		if (m->old)
			renameat(p->stage, old, p->dir, m->staged);
	}
	errno = saved;
}

int
place_move(struct place *p, bool sync, size_t *file)
{
	uint64_t number = 0;
	char old[NAME];
	size_t i;
	int r = 0;

	if (place_is_far(p)) {
		r = place_ask(p, BROKER_MOVE, &number, sync, NULL);
		*file = (size_t)number;
		return r;
	}
	if (p->stage < 0) {
		errno = EINVAL;
		return -1;
	}
	for (i = 0; r == 0 && i < p->n; i++) {
		*file = i;
		if (p->made[i].staged && move_one(p, &p->made[i]) < 0) {
			r = -1;
			move_back(p, i);
		}
	}
	for (i = 0; r == 0 && i < p->n; i++)
		if (p->made[i].old) {
			old_name(old, p->made[i].staged);
			unlinkat(p->stage, old, 0);
		}
	place_remove_stage(p);
	return r == 0 && sync ? place_sync_folder(p) : r;
}
