/* place_parts: what place.c and place_stage.c share. Only these two include it.
 *
 * As in place.h, functions that can fail return -1 with errno.
 */
#ifndef CORE_PLACE_PARTS_H
#define CORE_PLACE_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/broker.h"

#define NAME 300 /* room for a temporary name */

/* A file that was created and has no final name yet. */
struct made {
	int fd;               /* owned by the caller, in the helper by the place; -1: closed */
	char temporary[NAME]; /* its name, or "" if it has none (O_TMPFILE) */
	char *staged;         /* its name in the stage, or NULL */
	bool old;             /* the file that it replaces lies in the stage */
};

struct place {
	char *path, *base;   /* the path as given; its last part, without slashes */
	bool force, declared;
	int special;         /* a device or pipe that is open already, or -1 */
	int dir;             /* the folder that holds it, or -1 until it is needed */
	int stage;           /* the stage, or -1 */
	char stage_name[NAME];
	struct made *made;
	size_t n, cap;
};

/* Opens the folder of the place, once; returns its descriptor. */
int place_folder(struct place *p);

/* Whether the helper does the work for this place, and a request to it. *file is the
 * number of a file, both ways. */
bool place_is_far(const struct place *p);
int place_ask(const struct place *p, enum broker_request what, uint64_t *file, uint32_t flag,
              const char *name);

/* File number `file`; NULL with EBADF if there is none, or if it is closed. */
struct made *place_made(const struct place *p, size_t file);

/* Links the file to a name in the folder dir. */
int place_link(const struct place *p, const struct made *m, int dir, const char *name);

/* Removes the temporary name; closes the file in the helper; syncs the folder; removes the
 * stage with all files in it. The first and the last keep errno. */
void place_lose_temporary(const struct place *p, struct made *m);
void place_forget(struct made *m);
int place_sync_folder(const struct place *p);
void place_remove_stage(struct place *p);

#endif
