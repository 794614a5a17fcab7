/* folders: models of several files, a folder each, for the generators. MANIFEST lists those with
 * a fault, SOUND the others.
 */
#ifndef GEN_FOLDERS_H
#define GEN_FOLDERS_H

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gen.h"

static struct folder all;
static FILE *sound;

static inline void
make_path(char path[4096], const char *folder, const char *name)
{
	if (snprintf(path, 4096, "%s/%s/%s", all.path, folder, name) >= 4096)
		gen_die("too long", name);
}

static inline void
folders_open(int argc, char **argv)
{
	char name[4096];

	folder_open(&all, argc, argv);
	make_path(name, ".", "SOUND");
	sound = fopen(name, "w");
	if (!sound)
		gen_die("cannot be written", name);
}

static inline int
folders_close(void)
{
	if (ferror(sound) || fclose(sound) != 0)
		gen_die("cannot be written", "SOUND");
	return folder_close(&all);
}

static inline void
make_folder(const char *folder, const char *name)
{
	char path[4096];

	make_path(path, folder, name);
	if (mkdir(path, 0777) < 0 && errno != EEXIST)
		gen_die("cannot be made", path);
}

static inline void
make_link(const char *folder, const char *name, const char *target)
{
	char path[4096];

	make_path(path, folder, name);
	if (symlink(target, path) < 0 && errno != EEXIST)
		gen_die("no link can be made", path);
}

static inline void
make_pipe(const char *folder, const char *name)
{
	char path[4096];

	make_path(path, folder, name);
	if (mkfifo(path, 0666) < 0 && errno != EEXIST)
		gen_die("cannot be made", path);
}

/* Write a file of a folder, and free g. */
static inline void
make_file(const char *folder, const char *name, struct gen *g)
{
	char path[4096];
	FILE *f;

	make_path(path, folder, name);
	f = fopen(path, "wb");
	if (!f || fwrite(g->p ? g->p : (uint8_t *)"", 1, g->n, f) != g->n || fclose(f) != 0)
		gen_die("cannot be written", path);
	gen_free(g);
}

/* The line of a fault: what is read, a folder or a file in it, the status, the message. */
static inline void
folders_fault(const char *name, const char *file, int status, const char *says)
{
	fprintf(all.manifest, "%s%s%s\t%d\t%s\n", name, file ? "/" : "", file ? file : "", status,
	        says);
}

#endif
