/* joined: a model in several files of one container, as one source.
 *
 * Each file is complete by itself. The plan makes one model of them: the tensors of the
 * files one after another, everything else from the first file. The first file stays
 * open, because the items before and after all tensors are there. The others are opened
 * again in turn, so that only one of them needs memory at a time.
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

	/* The plan of file i has been read: check that the file belongs here and keep what
	 * is needed of it, before its tensors go into the plan. 0 or -1. */
	int (*judge)(struct joined *j, size_t i, struct source *part);

	/* Blobs that are files beside the model's files; they follow those of the first
	 * file. beside: the next one (1), the end (0) or -1; beside_read: some bytes of it.
	 * NULL: there are none. */
	int (*beside)(struct joined *j, struct item *item);
	int (*beside_read)(struct joined *j, const uint8_t **p, size_t *n);

	void (*close)(struct joined *j); /* free what joined_free does not, and call it */
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

/* j is zero. name: of the model, for messages; must outlive the source. */
void joined_init(struct joined *j, const struct joined_ops *ops, const char *name,
                 void (*note)(const char *), struct err *e);

/* Add a file, called PATH/NAME in messages. 0 or -1. */
int joined_add(struct joined *j, const char *path, const char *name);

/* Read the plans of all files into one. Beside tensors, the other files may only repeat
 * the first one. The caller runs model_check. 0 or -1. */
int joined_read(struct joined *j);

/* map says for each tensor, by name, the name or number of its file; messages call it
 * what, or by its own name label. joined_prove_part: it says file i for these n tensors.
 * joined_prove_list, after all files are read: it names no other tensors. 0 or -1. */
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
