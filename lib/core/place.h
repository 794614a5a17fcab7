/* place: where an output will be, and how its files get their names there.
 *
 * A file is written without a name (O_TMPFILE; on file systems without it, under a
 * temporary name) and named once it is complete. Several files are first named in the
 * stage, a folder with a temporary name, and get their final names together: the stage is
 * renamed to the requested folder, or its files are moved into an existing one.
 *
 * In the sandbox (core/sandbox.h) the helper (core/broker.h) does this for the process, and
 * only for the declared paths and names that belong to them. A compromised tool can
 * therefore write nothing but a wrong output.
 *
 * Functions that can fail return 0 or a descriptor, or -1 with errno.
 */
#ifndef CORE_PLACE_H
#define CORE_PLACE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct place;

/* Before the sandbox: declares path as an output, which replaces an existing file only with
 * force. A device or named pipe is opened now if that does not block. NULL, "" and "-" are
 * ignored. */
void place_declare(const char *path, bool force);

/* The declared place of a path, or a new one. NULL: no memory. */
struct place *place_open(const char *path, bool force);

/* Removes files that have no final name. p may be NULL. */
void place_close(struct place *p);

/* place_is_special: the place was a device or named pipe when it was declared, and is open.
 * place_special opens it for writing. */
bool place_is_special(const struct place *p);
int place_special(struct place *p);

/* Creates a file for reading and writing with these permissions, less the umask, and sets
 * *file to its number. The caller closes the descriptor after the file is named. */
int place_create(struct place *p, mode_t mode, size_t *file);

/* Gives the file the name of the place. sync: syncs the folder too. */
int place_name(struct place *p, size_t file, bool sync);

/* Returns 0 if the path does not exist or is an empty folder, else -1 with ENOTEMPTY or
 * another errno. */
int place_vacant(struct place *p);

/* Creates the stage; names a file in it. */
int place_stage(struct place *p);
int place_name_staged(struct place *p, size_t file, const char *name);

/* place_become renames the stage to path. place_move moves its files into the folder that
 * contains path, all or none; if it fails, *file is the one that could not be moved. These
 * files must have the name of path, or that of a shard or an index that begins like it. */
int place_become(struct place *p, bool sync);
int place_move(struct place *p, bool sync, size_t *file);

/* Discards a file. */
void place_drop(struct place *p, size_t file);

/* ---- only for the helper ---- */

/* The declared places by number, NULL after the last; and whether one needs a helper. */
struct place *place_declared(size_t i);
bool place_needs_help(void);

#endif
