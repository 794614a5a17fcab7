/* sparse: the bytes of a tensor that is stored without its zeros, in the stream and in APR2.
 * apr-stream(5), Sparse tensors, is the contract. All numbers are little-endian:
 *
 *     head, 24 bytes: u8 kind (1 csr, 2 bitmap, 3 block), u8 bytes of a value, u16 values of a
 *     block or 0, u32 0, u64 values of a row, u64 bytes of the dense tensor
 *     then groups, which together are all values:
 *         u32 count, or SPARSE_RAW
 *         csr:     u16 index of each value in the group, ascending; then these values
 *         bitmap:  a bit for each value, the lowest first; then the values whose bit is set
 *         block:   the same with a bit for each block; the last block of the tensor may be shorter
 *         raw:     all values of the group
 *
 * A group of csr is a row, or SPARSE_GROUP values of a longer row; the last of a row is what is
 * left of it. A group of the other kinds is SPARSE_GROUP values, regardless of rows; the last is
 * what is left of the tensor. count: stored values or blocks. A value is left out if all its
 * bytes are 0, and a block if all its values are: -0 is stored. The writer stores a group raw if
 * the form would not be shorter.
 *
 * Nothing here reads ahead or depends on how the bytes are split. Encoder and decoder hold one
 * group.
 */
#ifndef WIRE_SPARSE_H
#define WIRE_SPARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/buf.h"
#include "core/err.h"
#include "model/sparse.h"
#include "model/tensor.h"

#define SPARSE_HEAD 24
#define SPARSE_GROUP 65536u
#define SPARSE_RAW UINT32_MAX
#ifndef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
#define SPARSE_MOST UINT64_MAX /* bytes of a dense tensor */
#else
#define SPARSE_MOST (1u << 20) /* zeros take a fuzzer's time */
#endif

/* Dense bytes for one stored byte, at most: an empty group of csr with values of 8 bytes. */
#define SPARSE_RATIO (SPARSE_GROUP * 8u / 4u)

struct sparse_layout {
	struct sparse_form form; /* not dense */
	uint8_t element;         /* bytes of a value: 1, 2, 4 or 8 */
	uint64_t row;            /* values of a row, at least 1 */
	uint64_t bytes;          /* of the dense tensor, at least one value, whole rows */
};

void sparse_head_put(const struct sparse_layout *l, uint8_t to[SPARSE_HEAD]);
/* False if the bytes are not a head that describes a possible tensor. */
bool sparse_head_get(const uint8_t p[SPARSE_HEAD], struct sparse_layout *l);
/* That of a tensor with a form. */
struct sparse_layout sparse_layout_of(const struct tensor *t);
bool sparse_layout_same(const struct sparse_layout *a, const struct sparse_layout *b);

/* The number of groups of a tensor of this many values, in rows of `row`. */
uint64_t sparse_groups(struct sparse_form f, uint64_t values, uint64_t row);

/* NULL with e filled (no memory). */
struct sparse_encoder *sparse_encoder_new(struct err *e);
/* Begins a tensor, even if the one before was not ended, and appends the head to out. */
void sparse_encoder_begin(struct sparse_encoder *x, const struct sparse_layout *l, struct buf *out);
/* Takes the next dense bytes and appends the groups that are full to out; the last bytes also
 * end the last group. More bytes than the layout has are ERR_CORRUPT. */
int sparse_encoder_put(struct sparse_encoder *x, const uint8_t *p, size_t n, struct buf *out,
                       struct err *e);
void sparse_encoder_free(struct sparse_encoder *x);

struct sparse_decoder *sparse_decoder_new(struct err *e);
/* Begins a tensor. expected: what its head must say; NULL: any tensor. */
void sparse_decoder_begin(struct sparse_decoder *x, const struct sparse_layout *expected);
/* Decodes from *in and advances it. Sets *out to *out_n bytes of the dense tensor, which the
 * decoder owns and the next call overwrites; *out_n is 0 if more input is needed. Returns 1 once
 * all bytes of the tensor have been returned, 0 before, and -1 with ERR_CORRUPT for indices that
 * do not ascend or exceed the group, counts that differ from the bits, and other contradictions.
 * name: of the tensor, for messages. */
int sparse_decoder_step(struct sparse_decoder *x, const uint8_t **in, size_t *in_n,
                        const uint8_t **out, size_t *out_n, const char *name, struct err *e);
void sparse_decoder_free(struct sparse_decoder *x);

#endif
