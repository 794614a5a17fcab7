/* gguf: reads GGUF versions 1 to 3, writes version 3. All numbers are little-endian.
 *
 *     1. "GGUF", u32 version, u64 tensor count, u64 key count
 *     2. each key: string, u32 value type, value (model/value.h)
 *     3. each tensor: string name, u32 number of axes, u64 ne[] (innermost
 *        first), u32 GGML type, u64 offset in the data
 *     4. zero padding to the alignment (key general.alignment, u32; default 32)
 *     5. the tensors, each from a multiple of the alignment
 *     6. zero padding to the alignment, which some writers leave out
 *
 * A string is u64 length and bytes. Version 1 has u32 for every u64 length,
 * count and dimension (not for offsets). Source: ggml's description of GGUF.
 *
 * The apr tools use keys of their own for parts of a model that GGUF has no place for.
 * They are not content: a reader turns each back into the part that it carries.
 *
 *     apr.blob.NAME    array of u8   a side file;  apr.type.NAME its type
 *     apr.licence      array of u8   the licence block
 *     apr.prov.N       string        head of a prov frame
 *     apr.sign.N       array of u8   head and body of a sign frame
 *     apr.dtype.NAME   string        type of a tensor stored as I8, and
 *     apr.shape.NAME   array of u64  its shape, outermost first
 *     apr.scale.NAME   f32           scale of a Q8_TENSOR, whose codes are an I8 tensor
 *     apr.zero.NAME    i32           of the same shape, and its zero point
 *     apr.json.KEY     string        a value of type json
 *     apr.key.KEY      any           a key of the model that shards use themselves
 *     apr.order        array of u64  in shards: the order of the whole index
 *     apr.reserve      array of u8   zeros: room for longer metadata; or one u8, which is 0,
 *                                    where there is room for no more
 */
#ifndef FORMATS_GGUF_H
#define FORMATS_GGUF_H

#include "formats/format.h"

#define GGUF_VERSION 3
#define GGUF_ALIGN 32
#define GGUF_ALIGN_MAX 65536
#define GGUF_ALIGN_KEY "general.alignment"
#define GGUF_AXES 4
#define GGUF_NAME 63      /* bytes: ggml keeps names in 64 */
#define GGUF_KEY 65535    /* bytes of a key */
#define GGUF_TYPE_BYTES (VALUE_INLINE_BYTES - 8) /* of apr.type.NAME's text */

#define GGUF_BLOB "apr.blob."
#define GGUF_TYPE "apr.type."
#define GGUF_LICENCE "apr.licence"
#define GGUF_PROV "apr.prov."
#define GGUF_SIGN "apr.sign."
#define GGUF_DTYPE "apr.dtype."
#define GGUF_SHAPE "apr.shape."
#define GGUF_SCALE "apr.scale."
#define GGUF_ZERO "apr.zero."
#define GGUF_JSON "apr.json."
#define GGUF_KEPT "apr.key."
#define GGUF_ORDER "apr.order"

#define GGUF_SPLIT_NO "split.no"
#define GGUF_SPLIT_COUNT "split.count"
#define GGUF_SPLIT_TENSORS "split.tensors.count"
#define GGUF_SHARDS 65535 /* maximum: the keys are u16 */
#define GGUF_RESERVE "apr.reserve"

/* A Q8_TENSOR begins with a head: f32 scale and i32 zero point, which become keys. The codes
 * after them become the tensor. */
#define GGUF_SCALED "Q8_TENSOR"
#define GGUF_SCALED_HEAD 8

/* The two halves of format_gguf. */
struct source *gguf_open(struct reader *r, const struct format_options *options,
                         void (*note)(const char *), struct err *e);
json_t *gguf_describe(struct source *s, struct err *e);
/* FORMAT_SCATTERED for a tensor whose scale is a key. */
uint64_t gguf_tensor_offset(const struct source *s, size_t i);
void gguf_outline(struct reader *r, struct outline *o);
struct sink *gguf_create(struct out *o, const struct format_options *options,
                         struct err *e);

/* As amend of format.h. Keys stay in their order, and so do those of the apr tools among them;
 * the index of tensors is copied. apr.reserve, the last key, takes up the room. */
int gguf_amend(struct source *s, struct source *edited, const char *operation, struct out *o,
               struct err *e);

/* Refuse a key that a GGUF file of ours cannot have. 0, or -1 with ERR_INVALID. */
int gguf_check_key(const struct meta *k, struct err *e);

/* ---- shards ---- */

/* The split keys of a file; MODEL_NONE for a key that it lacks. */
struct gguf_split {
	uint64_t number, count, tensors;
};

bool gguf_is_split_key(const char *key);

/* True if the value of the key is JSON, whose text lies under the prefix GGUF_JSON. */
bool gguf_is_json(const struct meta *k);

/* True if GGUF has no type for the tensor, which is then stored as I8. */
bool gguf_is_foreign(const struct tensor *t);

/* True if such a tensor keeps its shape, and its scale and zero point become keys. */
bool gguf_is_scaled(const struct tensor *t);

/* True if the scale at the beginning of a head is finite. */
bool gguf_scale_is_finite(const uint8_t *head);

/* The bytes that a tensor takes in the file. */
uint64_t gguf_stored_bytes(const struct tensor *t);

/* Open one file of several, or one that may be. Its split keys are not metadata, and
 * the sizes of signatures, which are over the whole model, are not proved. */
struct source *gguf_open_shard(struct reader *r, const struct format_options *options,
                               void (*note)(const char *), struct err *e);
const struct gguf_split *gguf_split_of(const struct source *s);
/* The array apr.order of a shard, or NULL. Not a new reference. */
json_t *gguf_order_of(const struct source *s);
/* Prove that the signatures in a shard have the size that follows from the plan of the whole
 * model. */
int gguf_prove_shard(struct source *s, const struct model *whole, struct err *e);

/* As open_path of format.h: path is a shard, or a folder with the shards of one model. */
struct source *gguf_open_path(const char *path, const struct format_options *options,
                              void (*note)(const char *), const struct format **which,
                              struct err *e);
extern const struct format format_gguf_shards;

/* Create one file of several. whole: the plan of the model, which signatures cover. order:
 * the order of the whole index if this file must store it, or NULL; must outlive the sink.
 * gguf_settle: all tensors of the file have come, and only end may follow. gguf_rename: set
 * the name that end gives to the file. */
struct sink *gguf_create_shard(struct out *o, const struct format_options *options,
                               const struct model *whole, const struct gguf_split *split,
                               json_t *order, struct err *e);
int gguf_settle(struct sink *s, struct err *e);
void gguf_rename(struct sink *s, const char *path);

/* As create_shards of format.h. */
struct sink *gguf_create_shards(const struct out_options *where,
                                const struct format_options *options, struct err *e);

#endif
