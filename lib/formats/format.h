/* format: the interface of a container of models. Each format is a folder with one struct
 * format that describes it; format.c lists them. Formats never include each other: they
 * are joined through model/flow.h.
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
#include "model/outline.h"
#include "model/vault.h"

#define FORMAT_RESERVE (16u << 20)
#define FORMAT_SCATTERED UINT64_MAX /* not an offset */
#define FORMAT_PROBE 64 /* bytes at the beginning that identify most formats, */
#define FORMAT_PROBE_MAX 4096 /* and all */

/* ---- options ---- */

#define FORMAT_FILE "FILE"

/* An option of only one format. apr-pack or apr-unpack offers it as --NAME. */
struct format_option {
	const char *name; /* without "--" */
	const char *arg;  /* the name of its value in the help; NULL: a flag. FORMAT_FILE: a file,
	                   * which the format opens with opened_file (core/opened.h) */
	const char *help;
	bool writes;      /* the option belongs to apr-pack, else to apr-unpack */
	const char *mismatch; /* reading: the beginning of the message if the file has another
	                       * format, such as "ModelTypeMismatch: "; NULL: none */
};

/* An option that the user gave. */
struct format_choice {
	const struct format_option *option;
	const char *value; /* "" for a flag */
};

/* The tensors that the caller of a source reads. A format whose checksum covers the whole file
 * may leave that checksum unverified for FORMAT_SOME and FORMAT_PLACES. */
enum format_use {
	FORMAT_ALL,    /* any */
	FORMAT_SOME,   /* those that it sets wanted for: the checksum of the whole file is left
	                * unverified only if each tensor has a checksum of its own */
	FORMAT_PLACES, /* it maps tensors at their offsets, and reads only the others */
};

struct format;

/* Options of more than one format, and the user's choices among the options of one format. */
struct format_options {
	const struct format *from; /* reading: the user's choice of format, whatever the content
	                  * looks like; NULL: the content decides */
	unsigned align;  /* of tensor data: a power of two, which a format may refuse
	                  * (ERR_USAGE); 0: that of the source, else the format's default */
	bool plain;      /* drop the parts that only keys of the apr tools can carry */
	bool strict;     /* reading: a warning is an error */
	bool reserves;   /* leave reserve bytes in the header for longer metadata, instead
	                  * of the room that the source left; not part of the content */
	uint64_t reserve; /* bytes, at most FORMAT_RESERVE */
	uint64_t shard_size; /* maximum bytes of tensor data in each of several files; 0: one
	                      * file, or the same files as the source */

	const struct codec *codec; /* compress tensors that get smaller; NULL: none */
	int level;       /* of the codec */
	bool raw;        /* writing: no compression, even if the source had one */
	uint64_t memory; /* reading: the largest window that compressed data may ask for;
	                  * 0: CODEC_MEMORY */

	struct vault *vault; /* keys for a signature or encryption of the file's own bytes
	                      * (struct format, keys); NULL: none */
	enum format_use use; /* reading */
	bool closed;     /* reading: for a report. Do not decrypt: the model then has no
	                  * tensors. Describe what is otherwise refused, if that is safe */

	/* Not owned; outlives every source or sink made with these options. */
	const struct format_choice *own;
	size_t own_count;
};

/* The value that the user gave to an option, or NULL if the option was not given. */
const char *format_chosen(const struct format_options *o, const struct format_option *row);

/* ---- a format ---- */

struct format_reads {
	/* Take ownership of a reader at the file's first byte; read and prove the plan.
	 * Later calls must be given the same struct err as this one.
	 * note: receives warnings; may be NULL. On failure, returns NULL with e filled. */
	struct source *(*open)(struct reader *r, const struct format_options *options,
	                       void (*note)(const char *), struct err *e);

	/* Open a model of several files: a folder, or an index of shards. If path is neither
	 * in this format, returns NULL and leaves e empty. note also receives the files that
	 * are left out. *which: the format whose other functions fit the source. The member
	 * is NULL if the format has no such models. */
	struct source *(*open_path)(const char *path, const struct format_options *options,
	                            void (*note)(const char *),
	                            const struct format **which, struct err *e);

	/* The folder of the weights file at path, if it has a config.json or tokenizer.json:
	 * a new string, or NULL. Decides by the names of files alone. The member is NULL if
	 * the format has no such folders. */
	char *(*folder_of)(const char *path);

	/* Describe the container itself (apr-header): an ordered JSON object with "format",
	 * "version", and for example "flags" by name, sizes and "checksum". Reads no tensor
	 * data. New reference, or NULL with e filled. */
	json_t *(*describe)(struct source *s, struct err *e);

	/* Byte offset of tensor i in its file; FORMAT_SCATTERED: its bytes do not lie there
	 * in one piece, so they must come from the source. */
	uint64_t (*tensor_offset)(const struct source *s, size_t i);

	/* The codec that compressed tensor i, or NULL if it is not compressed; *bytes is the
	 * number of bytes in the file. If these are not as many as the tensor has, they hold
	 * it in another form. The member is NULL if no tensor is ever compressed. */
	const struct codec *(*tensor_stored)(const struct source *s, size_t i,
	                                     uint64_t *bytes);

	/* The file that holds tensor i. The member is NULL if there is only one file. */
	const char *(*tensor_file)(const struct source *s, size_t i);

	/* Follow the structure of a file that may be broken, from its first byte, as far as it
	 * goes. r can seek; its error is the outline's. The member is NULL if only sound files
	 * can be described. */
	void (*outline)(struct reader *r, struct outline *o);

	/* Tensors that are not wanted are not read from a remote file (core/remote.h). */
	bool skips;

	/* True if reading a file that begins with these n bytes may need a spool
	 * (core/spool.h). The member is NULL if no file needs one. */
	bool (*spools)(const uint8_t *head, size_t n);
};

struct format_writes {
	/* Take ownership of an output. On failure, returns NULL with e filled. */
	struct sink *(*create)(struct out *o, const struct format_options *options,
	                       struct err *e);

	/* Create a folder at where->path, which gets its name at the end. The member is NULL
	 * if the format has no folders. */
	struct sink *(*create_folder)(const struct out_options *where,
	                              const struct format_options *options,
	                              struct err *e);

	/* Create files of options->shard_size in one folder. They get their names at the
	 * end: where->path with numbers in it. The member is NULL if a model is always one
	 * file. */
	struct sink *(*create_shards)(const struct out_options *where,
	                              const struct format_options *options,
	                              struct err *e);

	/* Refuse wrong choices (ERR_USAGE) before any file is opened. The member is NULL if
	 * every choice is allowed. 0 or -1. */
	int (*check)(const struct format_options *options, struct err *e);

	bool compresses; /* create takes options->codec */
	bool sparse;     /* create keeps sparse forms; other formats store dense tensors */
	bool reserves;   /* create takes options->reserve */
	bool raw;        /* create takes options->raw */
	bool sealed;     /* create takes sealed models (crypto/seal) */
};

struct format {
	const char *name;   /* as after -t, and in source.format */
	const char *title;  /* for messages */
	const char *suffix; /* of its file names, without the dot; NULL: none. Several formats
	                     * may have the same suffix: */
	bool by_suffix;     /* this one is written if only the suffix decides */

	/* True if a file that begins with these n bytes looks like this format. NULL for
	 * formats that are not rows of the list, such as shards. */
	bool (*probe)(const uint8_t *head, size_t n);
	size_t peeks;       /* the bytes that probe asks for; 0: FORMAT_PROBE */
	bool json;          /* a file that begins with '{' may have this format, and is then no index
	                     * of a folder */

	const struct format_reads *reads;
	const struct format_writes *writes; /* NULL: the format is only read */
	const struct format_option *options; /* options of this format, up to a row without a
	                                      * name; NULL: none */
	const struct format_option *shared; /* an option of another format that this one has too;
	                                     * NULL: none */
	bool keys; /* the format uses options->vault */

	/* Write the bytes of the file up to its tensor data, exactly as many as it has, as they are with
	 * the metadata of edited: a source behind s with other keys and values, and the same side
	 * files and tensors. If s is signed, the signatures end, and a record of the operation takes
	 * their place. s was read from a single file that can seek. o can seek and is empty. 0, or -1
	 * with ERR_INVALID if the room does not suffice (format_no_room).
	 * The member is NULL if the format cannot do this. */
	int (*amend)(struct source *s, struct source *edited, const char *operation, struct out *o,
	             struct err *e);
};

/* For amend: report that the metadata needs this many bytes more than there is room for. Returns
 * -1. */
int format_no_room(const struct source *s, uint64_t bytes, struct err *e);

extern const struct format format_gguf, format_apr1, format_apr2, format_apr64,
	format_safetensors, format_numpy, format_pytorch, format_ggml, format_llama2c,
	format_onnx, format_tflite, format_coreml, format_flax, format_keras, format_aprjson,
	format_tensorflow, format_stream, format_xgboost, format_lightgbm, format_catboost,
	format_sklearn, format_onnxml, format_pmml, format_arpa;

/* ---- the list ---- */

/* The formats, in the order in which they are probed. A module of WebAssembly may have fewer
 * (web/few/). */
extern const struct format *const format_list[];
extern const size_t format_count;

/* A format by name (for -t), or NULL; a format by index, in the order in which they are
 * probed, or NULL past the last. */
const struct format *format_by_name(const char *name);
const struct format *format_row(unsigned index);

/* The suffix of a format at the end of path, in upper or lower case, or NULL. The format that
 * is written for a suffix; NULL for NULL. */
const char *format_suffix(const char *path);
const struct format *format_by_suffix(const char *suffix);

/* Find the format that the user chose to read: 0, also for NULL, which leaves *from NULL; or -1
 * with ERR_USAGE, with all names in the hint. */
int format_choose(const char *name, const struct format **from, struct err *e);

/* Append the names of the formats that can be written, in alphabetical order: last separates
 * the last name, between all others. */
void format_names(struct buf *b, const char *between, const char *last);

/* The options of all formats by index: those of apr-pack (writes) or of apr-unpack. *format:
 * the format of the option. NULL past the last. */
const struct format_option *format_option_row(unsigned index, bool writes,
                                              const struct format **format);

/* Fill own, which has room for n, with these options, without values. Returns their number. */
unsigned format_choices(struct format_choice *own, unsigned n, bool writes);

/* Append these options in the form of a usage text: "[--NAME ARG] [--FLAG]". */
void format_option_usage(struct buf *b, bool writes);

/* ---- opening ---- */

/* True if reading this path may need a spool. Reads only the first bytes, and only of a
 * regular file. False for NULL. */
bool format_may_spool(const char *path);

/* Open a path: a file ("-": standard input), or a model of several files. *held: a descriptor
 * of the file, or of the folder if there are several files; the caller closes it. -1 if
 * nothing was opened. */
struct source *format_open_path(const char *path, const struct format_options *options,
                                void (*note)(const char *), const struct format **which,
                                int *held, struct err *e);

/* The model folder that the file at path belongs to, in a new string, or NULL: for a
 * caller that needs the files beside the weights. Reads no file. */
char *format_folder_of(const char *path);

/* The format that recognizes a file that begins with these n bytes, or NULL. */
const struct format *format_probe(const uint8_t *head, size_t n);

/* Detect the format from the content, and open it. If the format is known but cannot be read,
 * the error names it (E001). */
struct source *format_open(struct reader *r, const struct format_options *options,
                           void (*note)(const char *), const struct format **which,
                           struct err *e);

/* True if one file holds the bytes of tensor i unchanged and in one piece, so that they can be
 * read or mapped at tensor_offset. s: an opened source of format f. */
bool format_holds(const struct format *f, const struct source *s, size_t i);

#endif
