/* aprml: read model files from a program. The manual page is aprml(3).
 *
 * aprml_open opens a model in any format that the apr tools read. It may also be in memory, or
 * read by the program in ranges. The metadata and the list of tensors are available at once. The
 * tensors' bytes come in the order of the file, in pieces of any size; aprml_floats, aprml_bytes
 * and aprml_view return those of a single tensor.
 *
 *	struct aprml_error e;
 *	struct aprml *m = aprml_open("model.gguf", &e);
 *	struct aprml_tensor t;
 *	size_t i;
 *
 *	while (m && aprml_next(m, &i, &e) > 0) {
 *		aprml_tensor(m, i, &t);
 *		…aprml_read(m, bytes, sizeof bytes, &n, &e)…
 *	}
 *	aprml_close(m);
 *
 * These functions print nothing, catch no signal and start no thread. A model needs
 * constant memory in addition to its header; long values and side files are kept once
 * the caller has asked for one. All names that the linker sees begin with aprml_.
 *
 * Threads may use different models at once. Of one model, any number of threads may call
 * aprml_tensor_count, aprml_tensor, aprml_find, aprml_floats, aprml_bytes, aprml_view, aprml_prefetch,
 * aprml_key_count, aprml_key, aprml_text, aprml_integer and aprml_file_count at once, also beside one
 * thread that calls the others: aprml_next, aprml_read, aprml_value, aprml_file. The functions of
 * struct aprml_ranges are then called by these threads at once. What is computed does not depend on
 * the level of the CPU, which is chosen once in a process.
 *
 * After a fork without exec, only one of the two processes may use a model, since both share the position
 * in its file; the child must not ask for more than one thread (aprml_make.h, aprml_run.h) if the parent
 * has done so, since the library's threads do not live in it.
 *
 * Strings are UTF-8 and terminated. They belong to the model and are valid until
 * aprml_close.
 *
 * Errors: e may be NULL if the program does not ask for the reason. A handle that is NULL, such as that
 * of a model that could not be opened, is an error of the functions that take e, and harmless for those
 * that close. Other functions, and other pointers, need one that is not NULL unless that is said; it
 * may be NULL where the number of what it points to is 0. After an error of its own a handle can still
 * be closed, and what else it can do is said for its kind.
 *
 * Sizes: structures whose first member is `bytes` may get more members in a later version. The program
 * sets bytes to the size that it was compiled with. In a structure that the library reads, members
 * that it does not know must be 0; of one that it fills, it fills the first bytes, and zeros behind what
 * it knows. The other structures stay as they are as long as the soname does: aprml_error, aprml_tensor,
 * aprml_value, aprml_file and aprml_token. What later versions say beyond them gets functions of its
 * own. Numbers of enumerations are never used for something else.
 */
#ifndef APRML_H
#define APRML_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

struct aprml;

/* Filled by a function that fails, unless the program passes NULL. code: the number of the error, as in apr(7) (2 for
 * E002), or 0 if the error has no number. text: one line without line feed, safe to
 * print. */
struct aprml_error {
	int code;
	char text[1040];
};

#define APRML_DIMS 8

struct aprml_tensor {
	const char *name;
	const char *type;          /* "F32", "Q4_K", … */
	unsigned ndim;
	uint64_t dims[APRML_DIMS]; /* outermost first: the last varies fastest */
	uint64_t values;           /* their product: 1 for a scalar */
	uint64_t bytes;
};

/* The version of the library: "0.1.0". */
const char *aprml_version(void);

/* What the library takes from the program. Members may be NULL, and the C library's or the system's is
 * used. */
struct aprml_host {
	size_t bytes;   /* sizeof (struct aprml_host) */

	/* Changes the n bytes at p to another size, as realloc does: p NULL allocates, n 0 frees and
	 * returns NULL. Aligned for every type. NULL if there is no memory: the call that needed it
	 * fails (E008). Not used by the libraries for compression, patterns and cryptography, and for
	 * large buffers that are mapped. */
	void *(*resize)(void *ctx, void *p, size_t n);

	/* Fills n bytes with random numbers for keys, salts and seals. 0, or -1 if it has none. */
	int (*random)(void *ctx, void *p, size_t n);
	void *ctx;      /* of both; they may be called by several threads at once */
};

/* Set it for the whole process, before any other function of the library is called. 0, or -1 with *e
 * filled. */
int aprml_set_host(const struct aprml_host *host, struct aprml_error *e);

/* Open the model at path: a file ("-" for standard input), a model folder, or any file
 * of a model in several files (apr-unpack(1)). Reads and checks the header. On failure,
 * returns NULL and fills *e. */
struct aprml *aprml_open(const char *path, struct aprml_error *e);

/* The same for a file of n bytes at p, which is not copied and must not change until
 * aprml_close. */
struct aprml *aprml_open_memory(const void *p, size_t n, struct aprml_error *e);

/* A file that the program reads: from a web server, an archive, a store of objects. */
struct aprml_ranges {
	size_t bytes;   /* sizeof (struct aprml_ranges): a later version may have more members */
	uint64_t size;  /* of the file */

	/* Copies between 1 and n bytes, from byte at on, to p, and returns their number, or -1. Asked for
	 * no bytes behind the end. It may be called whenever the model is used, and by the thread that
	 * uses it. */
	int64_t (*read)(void *ctx, uint64_t at, void *p, size_t n);

	/* These bytes will be read soon (aprml_prefetch). May be NULL. */
	void (*prefetch)(void *ctx, uint64_t at, uint64_t n);
	void *ctx;
};

/* The same for such a file. The structure is copied; ctx must outlive the model. The header is read
 * in steps of 64 KiB, tensors byte for byte as they are asked for; but formats that the tools only
 * read, such as PyTorch's, and APR version 1 are read as a whole. */
struct aprml *aprml_open_ranges(const struct aprml_ranges *ranges, struct aprml_error *e);

/* Free the model and everything that the other functions returned. m may be NULL. */
void aprml_close(struct aprml *m);

/* The number of tensors, and tensor i, in the order of their data. aprml_tensor returns 0, or
 * -1 if there is no tensor i. */
size_t aprml_tensor_count(const struct aprml *m);
int aprml_tensor(const struct aprml *m, size_t i, struct aprml_tensor *t);

/* Store the number of the tensor with this name in *i. 0, or -1 if there is none. */
int aprml_find(const struct aprml *m, const char *name, size_t *i);

/* Store n values of tensor i, beginning with value from, in y, in single precision. y has
 * room for n values. Calls may come in any order, at any time, and do not disturb aprml_next.
 * If the file holds the tensor's bytes unchanged, only the bytes needed are read. For
 * compressed tensors and streams, each call opens the model again and reads up to the values.
 * Does not check the checksum of the tensor; aprml_next does. Returns 0. Returns -1 and fills
 * *e if the tensor or value does not exist, the type cannot be decoded, the model comes through
 * a pipe, or reading fails. */
int aprml_floats(struct aprml *m, size_t i, uint64_t from, size_t n, float *y,
                 struct aprml_error *e);

/* Store n bytes of tensor i, beginning with byte from, in p: bytes of its type, as the file has
 * them. Otherwise like aprml_floats. */
int aprml_bytes(struct aprml *m, size_t i, uint64_t from, size_t n, void *p,
                struct aprml_error *e);

/* The bytes of tensor i where they are, without a copy: in the program's memory, or in a mapping of
 * the file. They belong to the model and are aligned as the file has them. A program that reads
 * a mapping is killed (SIGBUS) if the file has been made shorter. Returns NULL and fills *e where
 * aprml_bytes would not read them in place, and for a file that the program reads. */
const void *aprml_view(struct aprml *m, size_t i, struct aprml_error *e);

/* Tell that these tensors will be used soon: *i of them, by their numbers. The system, or the
 * program's prefetch, may then fetch what can be read in place. */
void aprml_prefetch(struct aprml *m, const size_t *i, size_t n);

/* The number of metadata keys, and key i, in their order. NULL if there is no key i. */
size_t aprml_key_count(const struct aprml *m);
const char *aprml_key(const struct aprml *m, size_t i);

/* aprml_text returns the value of a string key; aprml_integer stores an integer of any type
 * that is not negative. They return NULL and -1 if the key does not exist, its value is of
 * another kind, or the text is longer than 64 KiB. */
const char *aprml_text(struct aprml *m, const char *key);
int aprml_integer(const struct aprml *m, const char *key, uint64_t *value);

enum aprml_kind {
	APRML_UNSIGNED, APRML_SIGNED, APRML_REAL, APRML_BOOL, APRML_STRING, APRML_JSON,
	APRML_ARRAY
};

#define APRML_TYPE 64

/* A value of the metadata, or an item of an array. */
struct aprml_value {
	enum aprml_kind kind;
	char type[APRML_TYPE]; /* "u32", "string", "array:f32", ... */
	uint64_t u;            /* of APRML_UNSIGNED, and of APRML_BOOL: 0 or not */
	int64_t i;             /* of APRML_SIGNED */
	double number;         /* of both and of APRML_REAL; integers beyond 2^53 rounded */
	const char *text;      /* of APRML_STRING and APRML_JSON: belongs to the model, not */
	size_t bytes;          /* terminated, perhaps not UTF-8; bytes is its length */
	uint64_t count;        /* of APRML_ARRAY: the number of items */
	/* Private. */
	const unsigned char *wire;
	size_t wire_bytes, at;
	uint64_t next;
	uint32_t item;
};

/* Fill v with the value of a key. Long values (arrays of more than 1024 items, values of more
 * than 64 KiB) and side files are read and kept by the first call that needs one of them, up
 * to APRML_KEEP bytes in total. This call must come before the first aprml_next. Returns 0.
 * Returns -1 and fills *e if the key does not exist or its value was not kept. */
#define APRML_KEEP (256u << 20)
int aprml_value(struct aprml *m, const char *key, struct aprml_value *v,
                struct aprml_error *e);

/* Fill item with item i of an array; the item may itself be an array. 0, or -1 if there is no
 * such item. Strings are found fastest in ascending order of i. item must not point to the
 * array. */
int aprml_item(struct aprml_value *array, uint64_t i, struct aprml_value *item);

/* Files that travel with the model (tokenizer.json, ...). */
struct aprml_file {
	const char *name;
	const char *type;  /* as the container gives it */
	uint64_t bytes;
	const void *p;     /* the bytes; they belong to the model */
};

/* The number of side files, and file i with its bytes, which are kept like long values
 * (aprml_value). aprml_file returns 0, or -1 with *e filled if there is no file i or it was
 * not kept. */
size_t aprml_file_count(const struct aprml *m);
int aprml_file(struct aprml *m, size_t i, struct aprml_file *f, struct aprml_error *e);

/* Move to the data of the next tensor, past the rest of the current one. Returns 1 and stores
 * the tensor's number in *i. Returns 0 at the end: the file was whole, and its checksums, if
 * it has any, were right. Returns -1 and fills *e on an error. */
int aprml_next(struct aprml *m, size_t *i, struct aprml_error *e);

/* Copy up to size of the tensor's next bytes to p. Returns 0 and stores their number in *n,
 * which is 0 at the end of the tensor. Returns -1 and fills *e on an error. */
int aprml_read(struct aprml *m, void *p, size_t size, size_t *n, struct aprml_error *e);

/* Convert bytes bytes at x, whole blocks of a tensor of this type, to single precision. y has
 * room for room values. The bytes of Q8_TENSOR and APR_Q8 must begin with the first byte of
 * the tensor, which belongs to its scale. The last block of APR_Q4 may hold more values than
 * the tensor: they are counted, but have no meaning. Returns the number of values, or -1 if
 * the type cannot be decoded, a block is not whole, or room is too small. */
int64_t aprml_decode(const char *type, const void *x, size_t bytes, float *y, size_t room);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif

#ifdef __cplusplus
}
#endif

#include "aprml_make.h"
#include "aprml_predict.h"
#include "aprml_run.h"
#include "aprml_trust.h"

#endif
