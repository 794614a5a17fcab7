/* load: a model into memory, from any form that format_open_path reads.
 *
 * What lies in a file as it is, is mapped and not copied, and none of it is read here:
 * of the file only its structure is proved. What is compressed, or comes through a
 * pipe, is read to its proved end into memory of the process.
 */
#ifndef LOAD_LOAD_H
#define LOAD_LOAD_H

#include "core/map.h"
#include "model/flow.h"
#include "model/weights.h"

/* Side files and values larger than this are left out. */
#define LOAD_BLOB (128u << 20)

struct load {
	struct weights weights;
	struct model plan;
	uint64_t mapped, copied; /* bytes of tensors */

	/* Private. */
	char *name;
	struct map *maps;        /* of files; */
	char **map_names;        /* their names, for faults */
	size_t map_count, map_cap;
	struct map copies;
};

/* Open what lies at a path ("-": standard input), and load it. note: told what a person
 * should hear, or NULL. 0, or -1 with e filled; load_close is due in any case. */
int load_open(struct load *l, const char *path, void (*note)(const char *), struct err *e);

/* The same from a source, which stays the caller's: all of it is read. */
int load_source(struct load *l, struct source *s, struct err *e);

/* Were the files whole until now? ERR_CORRUPT if not. */
int load_check(const struct load *l, struct err *e);

/* Free the blobs: values and files beside the tensors are no longer wanted. */
void load_drop_blobs(struct load *l);

void load_close(struct load *l);

#endif
