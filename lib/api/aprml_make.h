/* aprml_make: models written, converted, quantized and judged. The manual page is aprml_make in
 * section 3. aprml.h includes this header.
 *
 * A maker writes one model, in one container, to a file or to a function of the program. The model is
 * one that was opened, or it is built from keys, files and tensors of the program:
 *
 *	struct aprml_output to = { sizeof to, "small.gguf" };
 *	struct aprml_maker *k = aprml_maker_open(&to, NULL, &e);
 *
 *	aprml_maker_set(k, "type", "q4_k_m", &e);
 *	aprml_maker_model(k, m, &e);
 *	aprml_maker_close(k);
 *
 * The bytes are those that the tools write: apr-unpack, apr-quant, apr-sign, apr-encrypt and apr-pack
 * in a pipe. They do not depend on the number of threads.
 *
 * Functions that return an int return 0, or -1 with *e filled. Those that return a pointer return NULL
 * with *e filled. The first error of a maker ends it: the functions below then fail with the same
 * error, and nothing remains under the name of the output.
 *
 * A maker, and the model that it takes, serve one thread at a time, apart from aprml_maker_cancel. A
 * report may be read by any number of threads. Call-backs may call the library, but not with the handles
 * of the call that they belong to.
 */
#ifndef APRML_MAKE_H
#define APRML_MAKE_H

#ifndef APRML_H
#include "aprml.h"
#endif

#ifdef __cplusplus
extern "C" {
#endif

#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

/* What a long call may use, and whom it informs. All members may be 0. */
struct aprml_work {
	size_t bytes;     /* sizeof (struct aprml_work) */
	unsigned threads; /* 0 or 1: the calling thread works alone, and none is started */
	double seconds;   /* that a call may take; 0: any time. Beyond it the call fails (E008). Looked
	                   * at between pieces of tensors and with each allocation, so also while a
	                   * header is read; not while a key is derived from a passphrase, which takes
	                   * some seconds at most */
	uint64_t memory;  /* bytes that the calling thread may have allocated at once; 0: any number.
	                   * Beyond it the call fails (E008). A derivation that needs more is refused.
	                   * Not counted: codecs, mappings, the buffers of threads that the call
	                   * starts, and programs with a resize of their own (struct aprml_host), which
	                   * can limit it themselves */

	/* Receives remarks for the user, one line each. */
	void (*log)(void *ctx, const char *text);

	/* Called by the calling thread after each piece of a tensor, at most a few MiB: `done` of
	 * `all` bytes of tensors have passed. Not 0: the call is to end; it fails. It may look at a
	 * variable that another thread sets. */
	int (*progress)(void *ctx, uint64_t done, uint64_t all);
	void *ctx;        /* of both */
};

/* ---- output ---- */

/* Where the bytes go: to the file at path, or to write. */
struct aprml_output {
	size_t bytes;     /* sizeof (struct aprml_output) */

	/* A file; it gets its name when it is complete, and is on the disk then. A path that ends in
	 * "/" is a model folder. NULL: write gets the bytes. */
	const char *path;
	int replace;      /* not 0: an existing file is replaced; otherwise it is an error */

	/* Stores n bytes from byte at on. 0, or -1 if that fails, which ends the maker. Most bytes come
	 * in order; some containers go back to fill in what they learn late. */
	int (*write)(void *ctx, uint64_t at, const void *p, size_t n);
	/* The output is complete and has this many bytes: 0, or -1. Or NULL. Bytes for which end was
	 * not called are not a model. */
	int (*end)(void *ctx, uint64_t bytes);
	void *ctx;        /* of both */
	int appends;      /* not 0: write is called with bytes in order, each once */
};

/* ---- makers ---- */

struct aprml_maker;

/* Make a maker; the structures and path are copied. work NULL: one of zeros. */
struct aprml_maker *aprml_maker_open(const struct aprml_output *to, const struct aprml_work *work,
                                     struct aprml_error *e);

/* Free the maker; what it has not completed is removed. NULL is harmless. */
void aprml_maker_close(struct aprml_maker *k);

/* End the call that writes, and refuse those that follow. Any thread may call this at any time until
 * aprml_maker_close. The call ends after the piece that it is at; what it had written is removed. */
void aprml_maker_cancel(struct aprml_maker *k);

/* Set an option by its name; the value is text, NULL for an option that has none. Some may be given
 * several times.
 *
 * Container, as for apr-pack(1):
 *	to            the format: gguf, safetensors, apr1, apr2, apr2-64 or stream; without it,
 *	              that of the suffix of path, else apr2
 *	compress      none, lz4, zstd, zstd:19
 *	align, reserve, shard-size (bytes), plain, no-sync, and the options of one format
 *
 * Types of tensors, as for apr-quant(1):
 *	type          a mixture or a type: q4_k_m, q8_0, f16, …; the others below need it
 *	pure, leave-output-tensor, allow-requantize, allow-nonfinite, no-record
 *	tensor-type (REGEX=TYPE), tensor-type-file (a file of such rules, one a line), which may be
 *	repeated; the first rule that matches wins
 *	output-tensor-type, token-embedding-type, max-rmse, prune-layers
 *	fallback (error, warn or a type), override-kv (may be repeated)
 *	include-weights, exclude-weights (a text that names of entries of the importance matrix contain;
 *	may be repeated)
 *
 * Three options of apr-quant are not here. calibration measures in plain C arithmetic, which would hold
 * for all other calls of the process too: apr-imatrix --reproducible measures the same, and
 * aprml_maker_importance takes what it writes. plugin loads a library into the process, and hook starts
 * a command: a program that has types or rules of its own gives tensor-type for each name. The types of a
 * maker are thus those of its options alone.
 *
 * Signature, as for apr-sign(1), with aprml_maker_sign:
 *	name, model-version, date, comment */
int aprml_maker_set(struct aprml_maker *k, const char *option, const char *value,
                    struct aprml_error *e);

/* Quantize by the importance matrix in n bytes: a file of llama.cpp's tool, or a model that apr-imatrix
 * wrote. They are read at once. name: what the metadata calls it. */
int aprml_maker_importance(struct aprml_maker *k, const void *p, size_t n, const char *name,
                           struct aprml_error *e);

/* Write a model that was opened: all of it, from its first tensor on, whatever has been read of it. A
 * model that comes through a pipe is used up. */
int aprml_maker_model(struct aprml_maker *k, struct aprml *m, struct aprml_error *e);

/* ---- a model of the program ---- */

/* First keys, files and tensors in any order, then the bytes of all tensors in theirs, then the end. */

/* Append a key. type is that of apr-stream(5): u8, i8, u16, i16, u32, i32, u64, i64, f32, f64, bool,
 * string, json, or array: and one of these but json. value points to n numbers in the C type of that
 * size (bool: uint8_t), to n bytes of text, or for array:string to n pointers to terminated strings.
 * A number that is not in an array has n 1. It is copied. */
int aprml_maker_key(struct aprml_maker *k, const char *key, const char *type, const void *value,
                    size_t n, struct aprml_error *e);

/* Append a side file, such as "tokenizer.json" of type "json". Its bytes are not copied: they must stay
 * until aprml_maker_end. */
int aprml_maker_file(struct aprml_maker *k, const char *name, const char *type, const void *p,
                     size_t n, struct aprml_error *e);

/* Append a tensor: dims are outermost first. */
int aprml_maker_tensor(struct aprml_maker *k, const char *name, const char *type, unsigned ndim,
                       const uint64_t *dims, struct aprml_error *e);

/* The next n bytes of the tensors, which follow each other without a gap, each in its type. */
int aprml_maker_data(struct aprml_maker *k, const void *p, size_t n, struct aprml_error *e);

/* All bytes of all tensors were given: complete the output. */
int aprml_maker_end(struct aprml_maker *k, struct aprml_error *e);

/* ---- check ---- */

/* What is asked of aprml_check; NULL members: the tool's default. */
struct aprml_check_options {
	size_t bytes;         /* sizeof (struct aprml_check_options) */
	const char *only;     /* lists of points, as for apr-check(1): "1-25,nan" */
	const char *except;
	const char *arch;     /* the architecture, instead of what the model says */
};

struct aprml_report;

/* Judge a model by the 100 points of apr-check(1). A model that is damaged behind its header gets a
 * report too. options and work may be NULL. */
struct aprml_report *aprml_check(struct aprml *m, const struct aprml_check_options *options,
                                 const struct aprml_work *work, struct aprml_error *e);
void aprml_report_close(struct aprml_report *r); /* NULL is harmless */

/* The score, 0 to 100; its word: EXCELLENT, GOOD, FAIR, POOR. */
unsigned aprml_report_score(const struct aprml_report *r);
const char *aprml_report_word(const struct aprml_report *r);

/* The number of findings at a level, with those that are only counted. */
enum aprml_level { APRML_INFO, APRML_WARNING, APRML_ERROR };
size_t aprml_report_count(const struct aprml_report *r, enum aprml_level level);

/* A finding; its texts belong to the report. Names from the model are not escaped. */
struct aprml_finding {
	size_t bytes;       /* sizeof (struct aprml_finding), set by the caller */
	enum aprml_level level;
	const char *id;     /* of its rule: "CHECK-028", "SHAPES-…" */
	const char *object; /* a tensor, a key; or NULL */
	const char *fact;
	const char *fix;    /* a command that mends it; or NULL */
};

/* Store finding i, errors first, in *f. 0, or -1 if there is none or f->bytes is too small. A rule has at
 * most 64 at each level. */
int aprml_report_finding(const struct aprml_report *r, size_t i, struct aprml_finding *f);

/* The whole report as apr-check --json prints it: a JSON object on each line, *n bytes. */
const char *aprml_report_json(const struct aprml_report *r, size_t *n);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif

#ifdef __cplusplus
}
#endif

#endif
