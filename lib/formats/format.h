/* format: what a container of models is. Each format is a folder that says all about
 * itself in one struct format; format.c lists them. Formats never include each other:
 * they meet in model/flow.h.
 */
#ifndef FORMATS_FORMAT_H
#define FORMATS_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "codecs/codec.h"
#include "core/buf.h"
#include "core/json.h"
#include "core/out.h"
#include "core/reader.h"
#include "model/flow.h"
#include "model/vault.h"

#define FORMAT_RESERVE (16u << 20)
#define FORMAT_PROBE 64 /* bytes at the beginning that identify a format */

/* ---- options ---- */

/* An option that only one format has. apr-pack or apr-unpack offers it as --NAME. */
struct format_option {
	const char *name; /* without "--" */
	const char *arg;  /* what its value is called in the help; NULL: a flag */
	const char *help;
	bool writes;      /* it belongs to apr-pack, else to apr-unpack */
	const char *mismatch; /* reading: how the fault begins if the file is of another
	                       * format, such as "ModelTypeMismatch: "; NULL: with nothing */
};

/* An option that the user gave. */
struct format_choice {
	const struct format_option *option;
	const char *value; /* of a flag "" */
};

/* Options that more than one format has, and the choices of the user among the options of
 * one format. */
struct format_options {
	unsigned align;  /* of tensor data: a power of two, which a format may refuse
	                  * (ERR_USAGE); 0: that of the source, else the format's own */
	bool plain;      /* drop what only our own keys could carry */
	bool strict;     /* reading: a warning is a fault */
	bool reserves;   /* leave reserve bytes for longer metadata in the header, instead
	                  * of what the source left; not part of the content */
	uint64_t reserve; /* bytes, at most FORMAT_RESERVE */
	uint64_t shard_size; /* bytes of tensor data in one of several files; 0: one file,
	                      * or the files of the source */

	const struct codec *codec; /* compress tensors that get smaller; NULL: none */
	int level;       /* of the codec */
	bool raw;        /* writing: no compression, even if the source had one */
	uint64_t memory; /* reading: the largest window that compressed data may ask for;
	                  * 0: CODEC_MEMORY */

	struct vault *vault; /* keys for a signature or encryption of the file's own bytes
	                      * (struct format, keys); NULL: none */
	bool closed;     /* reading: leave encrypted data closed; it has no tensors then */

	/* Not owned; it outlives what is opened or created with these options. */
	const struct format_choice *own;
	size_t own_count;
};

/* The value that the user gave to an option; NULL: the option was not given. */
const char *format_chosen(const struct format_options *o, const struct format_option *row);

/* ---- a format ---- */

struct format;

struct format_reads {
	/* Take over a reader at the file's first byte; the plan is read and proved.
	 * Later calls must be given the same struct err as this one.
	 * note: receives warnings; may be NULL. Returns NULL with e filled. */
	struct source *(*open)(struct reader *r, const struct format_options *options,
	                       void (*note)(const char *), struct err *e);

	/* Open a model of several files: a folder, or an index of shards. Returns NULL and
	 * leaves e empty if path is neither of this format. note also receives what is left
	 * behind. *which: the format whose other functions fit the source. The member is
	 * NULL if the format has no such models. */
	struct source *(*open_path)(const char *path, const struct format_options *options,
	                            void (*note)(const char *),
	                            const struct format **which, struct err *e);

	/* The folder to which the weights in the file at path belong, judged by the names of
	 * files alone, if it has a config.json or tokenizer.json: a new string, or NULL. The
	 * member is NULL if the format has no such folders. */
	char *(*folder_of)(const char *path);

	/* What the container itself says (apr-header): an ordered JSON object with "format",
	 * "version", and for example "flags" by name, sizes and "checksum". Reads no tensor
	 * data. New reference, or NULL with e filled. */
	json_t *(*describe)(struct source *s, struct err *e);

	/* Byte offset of tensor i in its file. */
	uint64_t (*tensor_offset)(const struct source *s, size_t i);

	/* Bytes that tensor i takes there and the codec that compressed it; NULL if it is
	 * not compressed. The member is NULL if no tensor ever is. */
	const struct codec *(*tensor_stored)(const struct source *s, size_t i,
	                                     uint64_t *bytes);

	/* The file that holds tensor i. The member is NULL if there is one file. */
	const char *(*tensor_file)(const struct source *s, size_t i);

	/* Reading a file that begins with these n bytes may need a spool (core/spool.h). The
	 * member is NULL if no file does. */
	bool (*spools)(const uint8_t *head, size_t n);
};

struct format_writes {
	/* Take over an output. Returns NULL with e filled. */
	struct sink *(*create)(struct out *o, const struct format_options *options,
	                       struct err *e);

	/* A folder at where->path, which gets its name at the end. The member is NULL if
	 * the format has no folders. */
	struct sink *(*create_folder)(const struct out_options *where,
	                              const struct format_options *options,
	                              struct err *e);

	/* Files of options->shard_size beside each other, which get their names at the
	 * end: where->path with numbers in it. The member is NULL if a model is always one
	 * file. */
	struct sink *(*create_shards)(const struct out_options *where,
	                              const struct format_options *options,
	                              struct err *e);

	/* Refuse wrong choices (ERR_USAGE), before any file is opened. The member is NULL
	 * if none is wrong. 0 or -1. */
	int (*check)(const struct format_options *options, struct err *e);

	bool compresses; /* create takes options->codec */
	bool reserves;   /* create takes options->reserve */
	bool raw;        /* create takes options->raw */
	bool sealed;     /* create takes sealed models (crypto/seal) */
};

struct format {
	const char *name;   /* as after -t, and in source.format */
	const char *title;  /* for messages */
	const char *suffix; /* of its file names, without the dot; NULL: none. Formats may
	                     * share one, */
	bool by_suffix;     /* and one of them is written where only the suffix decides */

	/* True if a file that begins with these n bytes looks like this format. NULL for
	 * formats that are not rows of the list, such as shards. */
	bool (*probe)(const uint8_t *head, size_t n);

	const struct format_reads *reads;
	const struct format_writes *writes; /* NULL: the format is only read */
	const struct format_option *options; /* its own, up to a row without a name; NULL:
	                                      * none */
	bool keys; /* it uses options->vault */
};

extern const struct format format_gguf, format_apr1, format_apr2, format_apr64,
	format_safetensors, format_stream;

/* ---- the list ---- */

/* By name (for -t); NULL if there is none. By index, in the order in which they are
 * probed; NULL past the last. */
const struct format *format_by_name(const char *name);
const struct format *format_row(unsigned index);

/* The suffix of a format that path ends in, in any case; NULL: none. The format that is
 * written for a suffix; NULL for NULL. */
const char *format_suffix(const char *path);
const struct format *format_by_suffix(const char *suffix);

/* Append the names of the formats that are written, in alphabetical order, with between
 * between two names and last before the last one. */
void format_names(struct buf *b, const char *between, const char *last);

/* The options of all formats, one after another: those of apr-pack (writes) or of
 * apr-unpack. *format: whose option it is. NULL past the last. */
const struct format_option *format_option_row(unsigned index, bool writes,
                                              const struct format **format);

/* Append them as a usage text has them: "[--NAME ARG] [--FLAG]". */
void format_option_usage(struct buf *b, bool writes);

/* ---- opening ---- */

/* True if reading this path may need a spool. Only the first bytes of a regular file are
 * looked at. False for NULL. */
bool format_may_spool(const char *path);

/* Open a path: a file ("-": standard input), or a model of several files. *held: a
 * descriptor of what was opened (the folder, for several files), which becomes the
 * caller's; -1 if nothing was opened. */
struct source *format_open_path(const char *path, const struct format_options *options,
                                void (*note)(const char *), const struct format **which,
                                int *held, struct err *e);

/* The model folder that the file at path belongs to, in a new string, or NULL: for a
 * caller that needs the files beside the weights. Reads no file. */
char *format_folder_of(const char *path);

/* Find the format from the content and open it. The fault names a known format that
 * cannot be read (E001). */
struct source *format_open(struct reader *r, const struct format_options *options,
                           void (*note)(const char *), const struct format **which,
                           struct err *e);

#endif
