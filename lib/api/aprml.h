/* aprml: model files, read by a program.
 *
 * One model is opened from a file of any format that the apr tools read; what it
 * holds is known at once, the tensors' bytes come in their order in the file, in
 * pieces of any size:
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
 * constant memory beside what it says of itself. One thread at a time may be in
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

/* The keys of the metadata, in their order. NULL where there is no key i. */
size_t aprml_key_count(const struct aprml *m);
const char *aprml_key(const struct aprml *m, size_t i);

/* The value of a key: a text; an integer of any size that is not negative. NULL, or
 * -1, where there is no such key or its value is of another kind, or too long to
 * be at hand (over 64 KiB). */
const char *aprml_text(struct aprml *m, const char *key);
int aprml_integer(const struct aprml *m, const char *key, uint64_t *value);

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
 * what is in it beyond the tensor's values counts, and means nothing. How many there are; or -1 where the type
 * cannot be decoded, blocks are not whole, or room is too small. */
int64_t aprml_decode(const char *type, const void *x, size_t bytes, float *y, size_t room);

#ifdef __cplusplus
}
#endif

#endif
