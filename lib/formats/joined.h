/* joined: a model in several files of one container, as one source.
 *
 * Each file is complete by itself. The plan joins them into one model: the tensors of all
 * files in turn, and everything else from the first file. The first file stays open,
 * because it holds the items before and after all tensors. The others are opened again in
 * turn, so that only one of them needs memory at a time.
 */
#ifndef FORMATS_JOINED_H
#define FORMATS_JOINED_H

#include "formats/format.h"

struct part {
	char *name;          /* in its folder */
	char *label;         /* its path, for messages */
	size_t first, count; /* of its tensors, in the plan */
};

/* The place of a tensor in its file. */
struct part_place {
	uint64_t offset, stored;
	const struct codec *codec;
};

struct joined;

struct joined_ops {
	const struct format *format; /* of the files */
	const char *others; /* name of the parts that the other files may only repeat, for
	                     * messages */

	/* Open file i, without the proofs that need the whole model. */
	struct source *(*open)(struct joined *j, size_t i);

	/* Called after the plan of file i has been read, before its tensors go into the
	 * whole plan: check that the file belongs here, and keep what is needed of it.
	 * 0 or -1. */
	int (*judge)(struct joined *j, size_t i, struct source *part);

	/* Side files beside the model's files; they follow the blobs of the first file.
	 * beside moves to the next one: 1, 0 at the end, or -1. beside_read returns some
	 * bytes of it. NULL: none. */
	int (*beside)(struct joined *j, struct item *item);
	int (*beside_read)(struct joined *j, const uint8_t **p, size_t *n);

	void (*close)(struct joined *j); /* free what joined_free does not, and call it */
};

struct joined {
	struct source source;
	struct model plan;
	char *path;          /* as the user gave it: the model's name in messages */
	const struct joined_ops *ops;
	struct err *err;

	struct part *parts;
	size_t part_count, part_cap;
	struct part_place *places; /* of the plan's tensors */
	size_t place_count, place_cap;
	struct source *head, *now;

	/* What is being sent. */
	enum { HEAD_BLOBS, BESIDE, HEAD_DATA, OTHERS, LATE } phase;
	struct item waiting; /* next item of the head, if waits */
	bool waits, ended;   /* ended: the head has sent everything */
	size_t blobs;          /* of the head */
	size_t part;
	struct source *from; /* the source of the body; NULL: a file beside */
};

/* Allocate a structure of this many bytes whose first member is a struct joined, for
 * open_path of struct format_reads. Everything after that member is zero. NULL with e
 * filled. */
void *joined_new(size_t bytes, const struct joined_ops *ops, const char *path,
                 void (*note)(const char *), struct err *e);

/* The result of open_path. If the files were found and read, returns the source and sets
 * *which to is; if not, closes j and returns NULL. */
struct source *joined_opened(struct joined *j, bool read, const struct format *is,
                             const struct format **which);

/* Add a file, called PATH/NAME in messages. 0 or -1. */
int joined_add(struct joined *j, const char *path, const char *name);

/* Read the plans of all files into one. In addition to tensors, the other files may only
 * repeat keys of the first one. The caller runs model_check. 0 or -1. */
int joined_read(struct joined *j);

/* map maps the name of each tensor to the name or number of its file. what and label are its
 * names in messages. joined_prove_part proves that it names file i for these n tensors.
 * joined_prove_list, called after all files are read, proves that it names no other tensors.
 * 0 or -1. */
int joined_prove_part(const struct joined *j, size_t i, struct tensor *const *tensors,
                      size_t n, json_t *map, const char *what);
int joined_prove_list(const struct joined *j, json_t *map, const char *label);

void joined_free(struct joined *j);

/* As in struct format_reads: the place of a tensor in its file. */
uint64_t joined_tensor_offset(const struct source *s, size_t i);
const struct codec *joined_tensor_stored(const struct source *s, size_t i,
                                         uint64_t *bytes);
const char *joined_tensor_file(const struct source *s, size_t i);

/* The list of all files, for describe: [[NAME,TENSORS],…]. New reference, or NULL. */
json_t *joined_list(const struct joined *j);

#endif
