/* format: the containers, each with the same verbs. Formats never include each
 * other: they meet in model/flow.h.
 */
#ifndef FORMATS_FORMAT_H
#define FORMATS_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "codecs/codec.h"
#include "core/json.h"
#include "core/out.h"
#include "core/reader.h"
#include "model/flow.h"
#include "model/vault.h"

#define FORMAT_RESERVE (16u << 20)
#define FORMAT_PROBE 64 /* bytes at the beginning that tell a format */

struct format_options {
	unsigned align;  /* of tensor data: a power of two, which a format may refuse
	                  * (ERR_USAGE); 0: what the source had, or the format's own */
	bool plain;      /* drop what only our own keys could carry */
	bool strict;     /* reading: what is only warned about is a fault */
	bool reserves;   /* leave so much room for longer metadata in the header, instead
	                  * of what the source had; no part of the content */
	uint64_t reserve; /* bytes, at most FORMAT_RESERVE */
	uint64_t shard_size; /* of tensor data in one of several files; 0: one file, or
	                      * those of the source */

	const struct codec *codec; /* compress tensors, where it pays; NULL: do not */
	int level;       /* of the codec's */
	uint64_t memory; /* reading: the window that compressed data may ask for; 0:
	                  * CODEC_MEMORY */

	/* Of APR version 1 alone. */
	struct vault *vault; /* keys, for what covers the container's bytes; or NULL */
	bool closed;     /* reading: what is sealed stays so, and has no tensors */
	bool raw;        /* writing: without compression, whatever the source had */
	bool aligned;    /* writing: tensors from multiples of 64, with an index */
	bool chunked;    /* writing: an index of chunks */
	unsigned hint;   /* writing, aligned: 1 + number of a backend; 0: as it was */
	const char *model_type; /* of the file: written, or (reading) demanded; or NULL */
	const char *payload; /* reading: the layout to be taken; NULL: what fits */
};

struct format {
	const char *name;  /* as after -t, and in source.format */
	const char *title; /* for people */

	/* Does a file that begins with these n bytes look like this format? */
	bool (*probe)(const uint8_t *head, size_t n);

	/* Take over a reader at the file's first byte; the plan is read and proved.
	 * The struct err given here is the one that later calls must be given too.
	 * note: where to send warnings, or NULL. NULL with e filled. */
	struct source *(*open)(struct reader *r, const struct format_options *options,
	                       void (*note)(const char *), struct err *e);

	/* Open a model of several files: a folder, or an index of its shards. NULL
	 * where e stays empty: the path is neither of this format. The member itself
	 * is NULL where the format has no such thing. note as above, and told what
	 * is left behind. *which: the format of the source, whose other verbs fit. */
	struct source *(*open_path)(const char *path, const struct format_options *options,
	                            void (*note)(const char *),
	                            const struct format **which, struct err *e);

	/* The folder whose weights, or some of them, the file at path is, by the names in it
	 * alone, where a config.json or tokenizer.json lies there: in a new string, or NULL. The member
	 * itself is NULL where the format has no such thing. */
	char *(*folder_of)(const char *path);

	/* Take over an output. NULL where the format is only read. */
	struct sink *(*create)(struct out *o, const struct format_options *options,
	                       struct err *e);

	/* A folder to be made at where->path, which gets its name at the end. NULL
	 * where the format has no such thing. */
	struct sink *(*create_folder)(const struct out_options *where,
	                              const struct format_options *options,
	                              struct err *e);

	/* Files of options->shard_size beside each other, which get their names at
	 * the end: where->path with numbers in it. NULL where the format has no such
	 * thing. */
	struct sink *(*create_shards)(const struct out_options *where,
	                              const struct format_options *options,
	                              struct err *e);

	/* What the container itself says (apr-header): an ordered JSON object with
	 * "format", "version" and what else there is: "flags" by name, sizes,
	 * "checksum". Reads no tensor data. New reference, or NULL with e filled. */
	json_t *(*describe)(struct source *s, struct err *e);

	/* Byte offset of tensor i in the file. */
	uint64_t (*tensor_offset)(const struct source *s, size_t i);

	/* Bytes that tensor i takes there, and the codec that made them so few; NULL
	 * if it lies there as it is. A NULL function: all of them do. */
	const struct codec *(*tensor_stored)(const struct source *s, size_t i,
	                                     uint64_t *bytes);

	/* The file of several that tensor i lies in. NULL where there is one file. */
	const char *(*tensor_file)(const struct source *s, size_t i);

	bool compresses; /* create knows options->codec */
	bool reserves;   /* create knows options->reserve */
};

extern const struct format format_gguf, format_apr1, format_apr2, format_apr64,
	format_safetensors, format_stream;

/* Number of a backend hint of APR version 1, by name; -1 where there is none. */
int format_backend(const char *name);

/* By name (for -t); NULL if there is none. By index, NULL at the end. */
const struct format *format_by_name(const char *name);
const struct format *format_row(unsigned index);

/* May reading this path need a spool (core/spool.h)? Only its first bytes are looked at,
 * and only where it is a regular file. NULL: no. */
bool format_may_spool(const char *path);

/* Open what lies at a path: a file ("-": standard input), or a model of several
 * files. *held: where not NULL, a descriptor of what was opened (the folder, for
 * several files), which is the caller's; -1 where nothing was. */
struct source *format_open_path(const char *path, const struct format_options *options,
                                void (*note)(const char *), const struct format **which,
                                int *held, struct err *e);

/* The model folder that the file at path belongs to, in a new string, or NULL: for who needs
 * the files beside the weights. No file is read. */
char *format_folder_of(const char *path);

/* Find the format from the content and open it. A known format that is not
 * read here is named in the fault (E001). */
struct source *format_open(struct reader *r, const struct format_options *options,
                           void (*note)(const char *), const struct format **which,
                           struct err *e);

#endif
