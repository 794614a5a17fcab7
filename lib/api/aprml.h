/* aprml: model files, read by a program.
 *
 * One model is opened from a file of any format that the apr tools read; what it
 * holds is known at once, the tensors' bytes come in their order in the file, in
 * pieces of any size (values of a single tensor: aprml_floats; a page: aprml(3)):
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
 * Nothing is printed, no signal is caught, no thread is started; a model needs
 * constant memory beside what it says of itself, and long values and files once they
 * are asked for. One thread at a time may be in
 * these functions, with whatever model. All names begin with aprml_, also those
 * that the linker sees.
 *
 * Strings are UTF-8, terminated, and the model's: they end with it.
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

/* Filled by what fails. code: the number of the error as the tools have it (2 for
 * E002, see apr(7)), or 0 for a fault that has none. text: what happened, in one
 * line without line feed, safe to print. */
struct aprml_error {
	int code;
	char text[1040];
};

#define APRML_DIMS 8

struct aprml_tensor {
	const char *name;
	const char *type;          /* "F32", "Q4_K", … */
	unsigned ndim;
	uint64_t dims[APRML_DIMS]; /* outermost first; the last runs fastest */
	uint64_t values;           /* their product: 1 for a scalar */
	uint64_t bytes;
};

/* The version of the library: "0.1.0". */
const char *aprml_version(void);

/* Open the model at path: a file ("-" for standard input), a model folder, or any file
 * of a model in several (apr-unpack(1)). The header is read and proved.
 * NULL and *e filled where that fails. */
struct aprml *aprml_open(const char *path, struct aprml_error *e);

/* m may be NULL. */
void aprml_close(struct aprml *m);

/* The tensors, in the order of their data. -1 where there is no tensor i. */
size_t aprml_tensor_count(const struct aprml *m);
int aprml_tensor(const struct aprml *m, size_t i, struct aprml_tensor *t);

/* The number of the tensor of that name in *i: 0, or -1 where there is none. */
int aprml_find(const struct aprml *m, const char *name, size_t *i);

/* Values from, from + 1, ... of tensor i, n of them, in single precision; y has room for
 * them. Any tensor may be asked for at any time, before, between and after what aprml_next
 * returns, and that goes on undisturbed. Values of a file that stores the tensor as it is are
 * read where they lie. Elsewhere (compressed tensors, streams) the model is opened once more
 * and read up to them, in each call. No checksum of the tensor is tested; aprml_next does.
 * -1 and *e filled where there is no such tensor or value, the type cannot be decoded, the
 * model comes through a pipe, or reading fails. */
int aprml_floats(struct aprml *m, size_t i, uint64_t from, size_t n, float *y,
                 struct aprml_error *e);

/* The keys of the metadata, in their order. NULL where there is no key i. */
size_t aprml_key_count(const struct aprml *m);
const char *aprml_key(const struct aprml *m, size_t i);

/* The value of a key: a text; an integer of any size that is not negative. NULL, or
 * -1, where there is no such key or its value is of another kind, or too long to
 * be at hand (over 64 KiB). */
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
	const char *text;      /* of APRML_STRING and APRML_JSON: bytes bytes of it, the */
	size_t bytes;          /* model's, not terminated, not proved to be UTF-8 */
	uint64_t count;        /* of APRML_ARRAY: its items */
	/* The library's own. */
	const unsigned char *wire;
	size_t wire_bytes, at;
	uint64_t next;
	uint32_t item;
};

/* The value of a key. What the header does not hold (arrays of more than 1024 items, values
 * of more than 64 KiB) is read and kept at the first call that needs it, together with the
 * side files, up to APRML_KEEP bytes of both. That is possible before the first aprml_next
 * only. -1 and *e filled where there is no such key, or its value was not kept. */
#define APRML_KEEP (256u << 20)
int aprml_value(struct aprml *m, const char *key, struct aprml_value *v,
                struct aprml_error *e);

/* Item i of an array, which may be an array itself: 0, or -1 where there is none. Strings are
 * found fast where they are asked for in their order. item must not be the array. */
int aprml_item(struct aprml_value *array, uint64_t i, struct aprml_value *item);

/* Files that travel with the model (tokenizer.json, ...). */
struct aprml_file {
	const char *name;
	const char *type;  /* what the container says of it */
	uint64_t bytes;
	const void *p;     /* its bytes, the model's */
};

/* How many there are, and file i with its bytes, which are kept as those of values are.
 * -1 and *e filled where there is no file i, or it was not kept. */
size_t aprml_file_count(const struct aprml *m);
int aprml_file(struct aprml *m, size_t i, struct aprml_file *f, struct aprml_error *e);

/* Go on to the data of the next tensor, over what is left of the last: 1 and its
 * number in *i. 0 at the end, which means that the file was whole, and its
 * checksums, if it has any, right. -1 and *e filled at a fault. */
int aprml_next(struct aprml *m, size_t *i, struct aprml_error *e);

/* Up to size of the tensor's next bytes: 0, and *n tells how many there are; none
 * at its end. -1 and *e filled at a fault. */
int aprml_read(struct aprml *m, void *p, size_t size, size_t *n, struct aprml_error *e);

/* The numbers in bytes bytes of a tensor of that type, whole blocks of it, in single
 * precision: y has room for room of them. Q8_TENSOR and APR_Q8 begin with a scale:
 * their bytes are those from the tensor's first on. APR_Q4 may end within a block:
 * what is in it beyond the tensor's values counts, and means nothing. Returns how many
 * there are; or -1 where the type cannot be decoded, blocks are not whole, or room is too
 * small. */
int64_t aprml_decode(const char *type, const void *x, size_t bytes, float *y, size_t room);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif

#ifdef __cplusplus
}
#endif

#endif
