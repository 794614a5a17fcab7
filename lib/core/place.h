/* place: where an output will lie, and how its files get their names there.
 *
 * A file is written without a name (O_TMPFILE; where the file system lacks that, under
 * a temporary one) and named when it is complete. Several files are named in a folder
 * with a temporary name first, the stage, and get their names together from there: the
 * stage becomes the folder that was asked for, or its files move beside what is there.
 *
 * A process that may open no files (core/sandbox.h) has this done by its helper
 * (core/broker.h), which does it for the paths that were declared, and for no other name
 * than theirs: a compromised tool cannot ask for more than a wrong output.
 *
 * What can fail returns 0 or a descriptor, or -1 with errno.
 */
#ifndef CORE_PLACE_H
#define CORE_PLACE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct place;

/* Before the sandbox: path will be an output, which replaces a file only where force
 * says so. A device or a named pipe is opened now if nobody has to be waited for.
 * NULL, "" and "-" are no places. */
void place_declare(const char *path, bool force);

/* The place of a path: the declared one, or a new one. NULL: no memory. */
struct place *place_open(const char *path, bool force);

/* Files without their names are removed. NULL is harmless. */
void place_close(struct place *p);

/* A device or a named pipe, opened to be written. is: it was when it was declared, and is
 * open. */
bool place_is_special(const struct place *p);
int place_special(struct place *p);

/* A new file, to read and to write, with these permissions less the umask. *file:
 * its number. The caller closes the descriptor, after it has its name. */
int place_create(struct place *p, mode_t mode, size_t *file);

/* The file gets the name of the place. sync: the folder is synced too. */
int place_name(struct place *p, size_t file, bool sync);

/* What has been asked for is not there, or is an empty folder: 0; -1 with ENOTEMPTY or
 * another errno. */
int place_vacant(struct place *p);

/* Make the stage; name a file in it. */
int place_stage(struct place *p);
int place_name_staged(struct place *p, size_t file, const char *name);

/* The stage becomes the folder path. Or: what lies in it moves into the folder of path,
 * all files or none; *file is the one that could not. Files may have the name of path,
 * or one of a shard or an index that begins like it. */
int place_become(struct place *p, bool sync);
int place_move(struct place *p, bool sync, size_t *file);

/* The file will not be named. */
void place_drop(struct place *p, size_t file);

/* ---- for the helper alone ---- */

/* The declared places, by number; NULL behind the last. Do they need it? */
struct place *place_declared(size_t i);
bool place_needs_help(void);

#endif
