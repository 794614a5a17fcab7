/* opened: inputs that are opened before the sandbox (core/sandbox.h) is entered and read
 * inside it, where no file can be opened.
 *
 * An input is found again by its path. For a model in several files that is the path of
 * their folder. A path can also be the source of a remote model (core/remote.h), or that of a file
 * which lies in the running program (core/embedded.h).
 */
#ifndef CORE_OPENED_H
#define CORE_OPENED_H

#include <stdbool.h>
#include <sys/stat.h>

#define OPENED 64 /* inputs at most; one more is not found inside the sandbox */

/* Opens path now; an error is reported when the file is used. With folder, path's folder
 * (or path itself, if it is one) is opened too, so that the helper (core/broker.h) can open
 * other files in it. */
void opened_add(const char *path, bool folder);

/* Returns a descriptor, owned by the caller, of the file that opened_add opened, at its
 * beginning; or of path, opened now with these flags. -1 with errno. */
int opened_file(const char *path, int flags);

/* The same for a folder: path itself, or the one that contains path. */
int opened_folder(const char *path);

/* stat(2) of path. Of a remote model, only the type and the size of a file are set. */
int opened_stat(const char *path, struct stat *st);

#endif
