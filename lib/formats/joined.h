/* joined: a model in several files of one container, as one source.
 *
 * Each file is complete by itself. In the plan they are one model: the tensors of
 * the files one after another, all else from the first. That one stays open: what is
 * no tensor lies there, before the tensors of all and behind them. The others are
 * opened again when it is their turn, so that one at a time needs memory.
 */
#ifndef FORMATS_JOINED_H
#define FORMATS_JOINED_H

#include "formats/format.h"

struct part {
	char *name;          /* in its folder */
	char *label;         /* its path, for messages */
	size_t first, count; /* of its tensors, in the plan */
};

/* Where a tensor lies in its file. */
struct part_place {
	uint64_t offset, stored;
	const struct codec *codec;
};

struct joined;

struct joined_ops {
	const struct format *format; /* of the files */
	const char *others; /* what the other files may only repeat, for faults */

	/* Open file i, without proof of what only the whole model can prove. */
	struct source *(*open)(struct joined *j, size_t i);

	/* File i was read for its plan: see whether it belongs here, and note what
	 * is to be known of it; before its tensors are in the plan. 0 or -1. */
	int (*judge)(struct joined *j, size_t i, struct source *part);

	/* Blobs of the model that lie beside its files, after those of the first
	 * file: the next one, 1, 0 or -1; some bytes of it. NULL: there are none. */
	int (*beside)(struct joined *j, struct item *item);
	int (*beside_read)(struct joined *j, const uint8_t **p, size_t *n);

	void (*close)(struct joined *j); /* free all that joined_free does not */
};

struct joined {
	struct source source;
	struct model plan;
	const struct joined_ops *ops;
	struct err *err;

	struct part *parts;
	size_t part_count, part_cap;
	struct part_place *places; /* of the plan's tensors */
	size_t place_count, place_cap;
	struct source *head, *now;

	/* What is being sent. */
	enum { HEAD_BLOBS, BESIDE, HEAD_DATA, OTHERS, LATE } phase;
	struct item waiting; /* of the head, */
	bool waits, ended;   /* if there is one; it has sent all */
	size_t blobs, tensors; /* of the head */
	size_t part;
	struct source *from; /* the body comes from there, or lies beside */
};

/* j is zeroed. name: of the model, for messages; it must outlive the source. */
void joined_init(struct joined *j, const struct joined_ops *ops, const char *name,
                 void (*note)(const char *), struct err *e);

/* One file more: PATH/NAME in messages. */
int joined_add(struct joined *j, const char *path, const char *name);

/* Read the plans of all files into one. Of its own each has, beside tensors, only
 * what the first one has said already. model_check is the caller's. */
int joined_read(struct joined *j);

/* A list of the files, called what in faults, says where each tensor lies: in map, by
 * name, the name or the number of a file. These n tensors lie in file i by it; and (all
 * files are read, label: of the list) it names no others. 0 or -1. */
int joined_prove_part(const struct joined *j, size_t i, struct tensor *const *tensors,
                      size_t n, json_t *map, const char *what);
int joined_prove_list(const struct joined *j, json_t *map, const char *label);

void joined_free(struct joined *j);

/* As in struct format: where tensors lie, each in its file. */
uint64_t joined_tensor_offset(const struct source *s, size_t i);
const struct codec *joined_tensor_stored(const struct source *s, size_t i,
                                         uint64_t *bytes);
const char *joined_tensor_file(const struct source *s, size_t i);

/* The list of all files, for describe: [[NAME,TENSORS],…]. New, or NULL. */
json_t *joined_list(const struct joined *j);

#endif
