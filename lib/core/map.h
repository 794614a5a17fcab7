/* map: memory by the page: files that are read where they lie, and room that costs
 * nothing until it is written.
 *
 * A file may be cut by others while it is mapped. What is read of it then are zeros,
 * instead of the end of the process, and map_whole tells.
 */
#ifndef CORE_MAP_H
#define CORE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/err.h"

#define MAP_FILES 4096 /* that can be mapped in a process at a time */

struct map {
	uint8_t *p;
	size_t n;
	int fd; /* of a file, the map's own; else below 3 */
};

/* All bytes of the regular file fd, to be read. name: for faults. 0 or -1. Before
 * threads read it. */
int map_file(struct map *m, int fd, const char *name, struct err *e);

/* n bytes of zeros, private to the process; a page takes memory when it is written.
 * ERR_MEMORY where that much cannot be had. */
int map_zeros(struct map *m, uint64_t n, struct err *e);

/* n bytes of it from p on will not be read again: whole pages among them go back to the
 * system. Of room, what was in them is lost. */
void map_release(const struct map *m, const uint8_t *p, size_t n);

/* Has all that was read of the file been in it until now? */
bool map_whole(const struct map *m);

/* It may be closed twice, or all zero. */
void map_close(struct map *m);

#endif
