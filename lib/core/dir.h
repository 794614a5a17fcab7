/* dir: files that lie beside each other, and how to reach one from another without
 * following what leads elsewhere.
 *
 * What a file names is a regular file of the same folder; no link is followed. The
 * one exception is how the cache of Hugging Face is built: a folder in "snapshots"
 * whose links lead to files in "../../blobs".
 */
#ifndef CORE_DIR_H
#define CORE_DIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "core/err.h"
#include "core/reader.h"

/* A name that stands for a file in a folder and nothing else: 1 to 255 bytes of
 * UTF-8 without "/" and control characters, not beginning with a dot. */
bool dir_name_is_plain(const char *name);

bool dir_name_ends(const char *name, const char *with);

/* PATH/NAME in a new string, or NULL. */
char *dir_label(const char *path, const char *name);

/* The folder in which path lies: its descriptor, *folder its path in a new string
 * ("" where path has none), *name what is left of path. -1 with e filled. */
int dir_of(const char *path, char **folder, const char **name, struct err *e);

/* What name in the folder fd is, a cache's link followed. 0, or -1 with errno. */
int dir_look(int fd, const char *name, struct stat *st);

/* Open a file of it. label: the reader's name, which must outlive it. */
int dir_open(int fd, const char *name, const char *label, struct reader *r,
             struct err *e);

/* The same, as a descriptor: -1 with errno, ENODEV where it is not a regular file. */
int dir_open_fd(int fd, const char *name);

/* All names in a folder but "." and "..", sorted. path: of the folder, for faults.
 * All zero is an empty list. */
struct dir_names {
	char **p;
	size_t n, cap;
};
int dir_list(int fd, const char *path, struct dir_names *list, struct err *e);
void dir_names_free(struct dir_names *list);

/* PREFIX-00002-of-00003ENDING: one file of several. */
struct dir_number {
	uint64_t number, of; /* from 1 */
	size_t prefix;       /* bytes of PREFIX */
};
bool dir_numbered(const char *name, const char *ending, struct dir_number *n);

/* Does the name stand for several files: an index, or one of them? */
bool dir_is_several(const char *name);

/* The name of such a file, in a new string, or NULL. */
char *dir_number_name(const char *prefix, size_t prefix_bytes, uint64_t number,
                      uint64_t of, const char *ending);

#endif
