/* dir: files in the same folder, and safe ways from one to another.
 *
 * A file can only refer to a regular file in its own folder, or in folders below whose names
 * dir_name.h allows, and links are not followed.
 * The one exception is the cache of Hugging Face: "snapshots" has folders whose links lead to
 * files in "blobs" beside it ("../../blobs/HASH", with one more "../" for each folder below).
 */
#ifndef CORE_DIR_H
#define CORE_DIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "core/dir_name.h"
#include "core/err.h"
#include "core/reader.h"

/* Opens the folder that contains path and returns its descriptor, or -1 with e filled.
 * *folder is the folder's path in a new string ("" if path has none); *name points to the
 * rest of path. */
int dir_of(const char *path, char **folder, const char **name, struct err *e);

/* Stats name in the folder fd; follows the links of a cache. 0, or -1 with errno. */
int dir_look(int fd, const char *name, struct stat *st);

/* Opens a file in the folder fd. label names it in messages and must outlive r. */
int dir_open(int fd, const char *name, const char *label, struct reader *r,
             struct err *e);

/* The same as a descriptor: -1 with errno, which is ENODEV if it is not a regular file. */
int dir_open_fd(int fd, const char *name);

/* All names in a folder except "." and "..", sorted. path names the folder in messages.
 * An all-zero list is empty. */
struct dir_names {
	char **p;
	size_t n, cap;
};
int dir_list(int fd, const char *path, struct dir_names *list, struct err *e);
void dir_names_free(struct dir_names *list);

#endif
