/* examine: a file of any kind, sound or broken: its bytes, its parts, and what the reader of its
 * format says.
 */
#ifndef LOAD_EXAMINE_H
#define LOAD_EXAMINE_H

#include <stddef.h>
#include <stdint.h>

#include "core/reader.h"
#include "core/spool.h"
#include "formats/format.h"
#include "model/outline.h"

#define EXAMINE_BYTES READER_WINDOW /* that examine_bytes returns at most */

struct examine {
	const char *path, *name;  /* as given; for messages */
	uint64_t bytes;           /* of the file */
	const struct format *format; /* the one that knows its first bytes; NULL: none */
	uint8_t head[FORMAT_PROBE];
	size_t head_bytes;

	/* After examine_look. */
	struct outline outline;
	struct source *source;    /* if the model can be opened, */
	const struct format *as;  /* in this format; */
	struct err verdict;       /* else the reason */
	bool several;             /* a folder of a model, which has no bytes of its own */

	/* Private. */
	struct reader r;
	struct err read;
	struct spool spool;       /* of a pipe, so that all places can be read */
	uint8_t *room;
	int held;
};

/* Opens a file ("-": standard input), or a folder that holds a model. 0, or -1 with e filled.
 * examine_close is due in any case. */
int examine_open(struct examine *x, const char *path, struct err *e);
void examine_close(struct examine *x);

/* Follows the structure, then opens the model as every tool does. */
void examine_look(struct examine *x);

/* Adds the tensors of an opened model to the outline, if its structure did not name them; and those
 * tensors as its parts, if it has no parts. */
void examine_tensors(struct examine *x);
void examine_parts(struct examine *x);

/* The files of an opened model in several files, in the order of their names, to be freed by
 * free(). NULL: it is one file, or memory ran out. */
struct outline_file *examine_files(const struct examine *x, size_t *count);

/* The name of the file that holds a tensor of such a model; NULL: it has no such tensor. */
const char *examine_holder(const struct examine *x, const char *tensor);

/* 0, or -1 with ERR_USAGE if bytes of a file are wanted, and this is a folder. */
int examine_needs(const struct examine *x, bool bytes, struct err *e);

/* What the first bytes of a file are, as a title; NULL: not known. */
const char *examine_kind(const struct examine *x);

/* At most *n bytes from an offset; *n becomes their number. NULL if there are none, or they
 * cannot be read. Valid until the next call. */
const uint8_t *examine_bytes(struct examine *x, uint64_t at, size_t *n);

/* The place at which the structure breaks; UINT64_MAX: it does not, or the place is not
 * known. */
uint64_t examine_broken(const struct examine *x);

#endif
