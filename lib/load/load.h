/* load: loads a model into memory, from anything that format_open_path reads.
 *
 * Tensors that a file holds unchanged are mapped, not copied or read; only the structure
 * of the file is checked. Compressed tensors, and models from a pipe, are read into memory
 * of the process, and their checksums are checked.
 */
#ifndef LOAD_LOAD_H
#define LOAD_LOAD_H

#include <stdbool.h>

#include "core/map.h"
#include "formats/format.h"
#include "model/flow.h"
#include "model/weights.h"

/* Side files and values of more bytes are left out. */
#define LOAD_BLOB (128u << 20)

struct load {
	struct weights weights;
	struct model plan;
	uint64_t mapped, copied; /* bytes of tensors */

	/* Private. */
	char *name;
	struct map *maps;        /* of files; */
	char **map_names;        /* their names, for messages */
	size_t map_count, map_cap;
	struct map copies;
};

/* Open a path ("-": standard input) and load the model. note: receives notes for the user;
 * may be NULL. 0, or -1 with e filled; call load_close in either case. */
int load_open(struct load *l, const char *path, void (*note)(const char *), struct err *e);

/* Load a model from a source, which stays the caller's and is read to its end. */
int load_source(struct load *l, struct source *s, struct err *e);

/* A source that has just been opened, and the file that it reads. */
struct load_from {
	struct source *source;   /* at its first item; used no more after loading */
	const struct format *format;
	int held;                /* of format_open_path; -1: none */
	const uint8_t *memory;   /* or the bytes of the file, which outlive the load; NULL: none */
	size_t memory_bytes;
	bool copies;             /* read everything into memory */
	bool plain;              /* map without handling signals (core/map.h, map_plain) */
};

/* Load a model from it: like load_open, which does so. */
int load_from(struct load *l, const struct load_from *from, struct err *e);

/* Check that no mapped file has become shorter. 0, or -1 with ERR_CORRUPT. */
int load_check(const struct load *l, struct err *e);

/* Free the blobs (long values and side files) when they are no longer needed. */
void load_drop_blobs(struct load *l);

void load_close(struct load *l);

#endif
