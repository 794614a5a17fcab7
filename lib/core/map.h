/* map: memory by the page: mapped files, and zeroed memory that costs nothing until it is
 * written.
 *
 * Another process can truncate a file while it is mapped. In a tool (core/signals.h), the missing
 * part then reads as zeros instead of killing the process, and map_whole returns false. In another
 * program, map_file reads the file into memory.
 */
#ifndef CORE_MAP_H
#define CORE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/err.h"

#define MAP_FILES 4096 /* maximum number of mapped files in a process */

struct map {
	uint8_t *p;
	size_t n;
	int fd; /* of a mapped file, owned; below 3: none */
	bool copied; /* read into memory */
	uint64_t at; /* offset of p in that file */
	size_t from, to; /* what map_look has seen since it returned pages */
};

/* Maps all bytes of the regular file fd for reading. name is for messages. Returns 0 or
 * -1. Call it before other threads read the map. */
int map_file(struct map *m, int fd, const char *name, struct err *e);

/* The same without watching for missing pages: no signal is handled, and a process that reads one
 * is killed. map_whole still looks at the size. */
int map_plain(struct map *m, int fd, const char *name, struct err *e);

/* Maps n bytes of zeros, private to the process; a page takes memory once it is written.
 * ERR_MEMORY if that fails. */
int map_zeros(struct map *m, uint64_t n, struct err *e);

/* Returns the whole pages within the n bytes from p to the system, as they will not be read
 * again. In a map of zeros their contents are lost. Does nothing to a file in memory. */
void map_release(const struct map *m, const uint8_t *p, size_t n);

/* Tells that p is about to be read, one place of a walk through the whole map. The kernel maps what
 * is cached around it as well, so a walk in small steps would make all of a file resident.
 * Therefore the pages around the places before are returned when the walk jumps, or has come
 * MAP_WALKED bytes far. */
#define MAP_WALKED ((size_t)16 << 20)
void map_look(struct map *m, const uint8_t *p);

/* Whether the file still had all of its bytes at every read so far. */
bool map_whole(const struct map *m);

/* m may be closed already or all zero. */
void map_close(struct map *m);

#endif
