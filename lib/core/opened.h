/* opened: inputs that are opened while that is allowed, and read later.
 *
 * A process in the sandbox (core/sandbox.h) opens no file. What it will read was opened
 * before, and is found here again by its path; of several files that make one model,
 * their folder.
 */
#ifndef CORE_OPENED_H
#define CORE_OPENED_H

#include <stdbool.h>

/* Open it now. That it cannot be opened is told when it is wanted. folder: its folder,
 * or itself if it is one, is opened too, to be asked for what lies beside it
 * (core/broker.h). */
void opened_add(const char *path, bool folder);

/* A descriptor of a file that was opened before, at its beginning, or else of one that
 * is opened now with these flags: -1 with errno. The caller's. */
int opened_file(const char *path, int flags);

/* The same of a folder: path itself, or what path lies in. */
int opened_folder(const char *path);

#endif
