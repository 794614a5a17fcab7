/* input: a model that is merged or pruned: side files and long values in memory, tensors at their places in
 * files, or in a spool if they have none.
 */
#ifndef MERGE_INPUT_H
#define MERGE_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "adapt/tensors/store.h"
#include "arch/arch.h"
#include "arch/subject.h"
#include "core/buf.h"
#include "model/flow.h"

#define MERGE_APART UINT64_MAX /* a tensor that is not in a layer */

struct merge_input {
	const char *name;         /* file, for messages */
	const char *label;        /* its last part, for the record; may be NULL */
	const char *operation;    /* for records of its signatures; set by the caller */
	struct source *source;    /* the caller's, read to its end */
	struct source *adapted;   /* the same in another form, or NULL */
	struct subject subject;
	struct store store;
	struct tensors tensors;   /* of the store: only the number of sources */
	struct buf licence;
	bool has_licence;
	struct buf *records;      /* heads of prov items; then one for each signature, which ends */
	size_t record_count, record_cap;
	size_t *by_name;          /* tensors, sorted by name */
	uint64_t *layer;          /* of each tensor: its number, or MERGE_APART */
	uint64_t layers;          /* the highest number and one */
	uint8_t (*heads)[DTYPE_HEAD]; /* of tensors whose types have one */
};

/* Read a model from a source, in the form of `like` (NULL: its own) if the forms of both are
 * known and differ. places: the source has its tensors in files. arch: as of adapt_options.
 * merge_input_close in any case. 0 or -1. */
int merge_input_read(struct merge_input *in, struct source *source, const struct merge_input *like,
                     const char *arch, bool places, unsigned jobs, struct err *e);
void merge_input_close(struct merge_input *in);

/* The plan of the model in its form. */
const struct model *merge_input_plan(const struct merge_input *in);

/* The index of the tensor with a name, or SIZE_MAX. */
size_t merge_input_find(const struct merge_input *in, const char *name);

/* The name of a tensor in model folders, or NULL if it is not known. Returns a pointer to `to`. */
#define MERGE_NAME 512
const char *merge_input_folder_name(const struct merge_input *in, size_t tensor,
                                    char to[MERGE_NAME]);

/* The role of a tensor, or ROLES if it is not known. */
enum role merge_input_role(const struct merge_input *in, size_t tensor);

/* Whether a tensor outside of layers comes before them. */
bool merge_input_is_before(const struct merge_input *in, size_t tensor);

/* Whether the values of a tensor are numbers that can be merged: not integers. */
bool merge_is_number(const struct dtype *t);

/* Read values of a tensor in single precision: n from index `from` on, both multiples of the
 * block except at the end. raw has room for n values of 8 bytes. Any thread may call it. 0, or -1
 * with errno. */
int merge_input_values(struct merge_input *in, size_t tensor, uint64_t from, float *to, size_t n,
                       uint8_t *raw);

/* Of the n values from `from` on, a multiple of the block, the number of those at the beginning that
 * are 0 and that the file does not store, as far as that is known without reading. */
uint64_t merge_input_zeros(const struct merge_input *in, size_t tensor, uint64_t from, uint64_t n);

/* The same as merge_input_values for bytes. */
int merge_input_bytes(struct merge_input *in, size_t tensor, uint64_t from, uint8_t *to, size_t n);

/* Compare the tokens of two models. ERR_INVALID with the first that differs. 0 or -1. */
int merge_input_same_tokens(const struct merge_input *a, const struct merge_input *b,
                            struct err *e);

/* Free the side files and long values, when they are no longer needed. */
void merge_input_drop_files(struct merge_input *in);

#endif
