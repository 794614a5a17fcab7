/* safetensors: a JSON header and the tensors, without a gap.
 *
 *     1. u64 n, little-endian: bytes of the header, at most 100 000 000
 *     2. the header: one JSON object, from its "{" on, and spaces
 *     3. the tensors, in ascending offset: no hole, no overlap, nothing after
 *
 * A member of the header is a tensor
 *
 *     "NAME":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}
 *
 * (offsets in part 3; shape outermost first, [] a scalar, 0 an empty tensor), or
 * "__metadata__", an object of strings: the typed keys, all of type string.
 * Source: the description and the reference reader of safetensors/safetensors.
 *
 * Stricter than JSON, as one header must not have two readings: no name twice at
 * any depth, no other members, whole numbers in digits alone, no NUL and nothing
 * but UTF-8 in a string, nothing but spaces behind the object.
 *
 * Keys of our own in __metadata__, for what safetensors cannot say. They are no
 * content: reading turns them back into what they carry, in whatever order.
 *
 *     apr.metadata    JSON: the typed list [[key,type,value],…] of stream/plan.h,
 *                     where not every key is a string. A row [key,"string"] has
 *                     its value in the member of that name; a member without a
 *                     row follows behind. A value {"blob":NAME} lies in
 *     apr.blob.NAME   base64: a long value, or a side file
 *     apr.blobs       JSON: [[name,type],…], the side files in their order
 *     apr.licence     base64: the licence block
 *     apr.prov.N      base64: head of a prov frame
 *     apr.sign.N      base64: head and body of a sign frame
 *     apr.dtype.NAME  type of a tensor stored as U8 in one dimension, and
 *     apr.shape.NAME  JSON: its shape
 *     apr.source      JSON: source of a model that was no safetensors file first
 *
 * Side files are no tensors of type U8: every other program would load them as
 * weights. So all of them share the header's 100 MB.
 */
#ifndef FORMATS_SAFETENSORS_H
#define FORMATS_SAFETENSORS_H

#include "core/base64.h"
#include "core/spool.h"
#include "formats/format.h"

#define SAFETENSORS_HEADER_MAX 100000000u
#define SAFETENSORS_KEYS_MAX (1u << 20) /* a header of shorter ones is an attack */
#define SAFETENSORS_KEY 65535           /* bytes of a key */
#define SAFETENSORS_METADATA "__metadata__"

#define SAFETENSORS_LIST "apr.metadata"
#define SAFETENSORS_BLOB "apr.blob."
#define SAFETENSORS_BLOBS "apr.blobs"
#define SAFETENSORS_LICENCE "apr.licence"
#define SAFETENSORS_PROV "apr.prov."
#define SAFETENSORS_SIGN "apr.sign."
#define SAFETENSORS_DTYPE "apr.dtype."
#define SAFETENSORS_SHAPE "apr.shape."
#define SAFETENSORS_SOURCE "apr.source"

/* Is it a key of our own? Is it one with a value in base64? */
bool safetensors_is_ours(const char *key);
bool safetensors_is_base64(const char *key);

/* The type that a header calls by this name, or NULL; and the name of a type, or NULL if
 * the format has no such type. */
const struct dtype *safetensors_dtype(const char *name);
const char *safetensors_type(const struct dtype *t);

/* Where n bytes of UTF-8 that were cut anywhere can be taken apart: before their
 * last sequence of several bytes, if it ends them, else at n. */
size_t safetensors_whole(const uint8_t *p, size_t n);

/* How writers spell their headers. A member of source tells each, where it is
 * not as the reference library has it, so that a header comes back as it was:
 *
 *     "spaced":true      ", " and ": " between (Python's json)
 *     "ascii":true       \uXXXX for what is not ASCII
 *     "metadata_at":N    N tensors stand before __metadata__ (also where it is
 *                        first but empty)
 *     "padding":N        N spaces at the end; else up to a multiple of 8 bytes
 *     "members":[…]      the order of dtype, shape, data_offsets
 *     "index_order":[…]  positions of the tensors (model.h)
 */
#define SAFETENSORS_MEMBERS 3
struct safetensors_style {
	bool spaced, ascii;
	uint64_t metadata_at; /* or MODEL_NONE: it is not there */
	uint64_t padding;     /* or MODEL_NONE: up to a multiple of 8 */
	uint8_t members[SAFETENSORS_MEMBERS]; /* safetensors_members by index */
};
extern const char *const safetensors_members[SAFETENSORS_MEMBERS];

/* From source, and to it. A source of another format has the usual style. */
void safetensors_style_get(struct safetensors_style *style, const struct model *m);
int safetensors_style_set(const struct safetensors_style *style, bool has_keys,
                          json_t *source);

/* ---- the header as it is read ---- */

/* A member of __metadata__. Long text waits in the spool. That of a key with a
 * value in base64 is what it says. */
struct safetensors_key {
	char *name;
	char *text;      /* NULL: it is in the spool, from byte at */
	uint64_t at, bytes;
	bool used;
};

/* A tensor as stored, and where it begins in the data. */
struct safetensors_entry {
	struct tensor *tensor;
	uint64_t at;
};

struct safetensors_header {
	uint64_t bytes;   /* with padding, without the length before it */
	uint64_t reserve; /* spaces at its end beyond those up to a multiple of 8 */
	struct safetensors_style style;
	struct safetensors_key *keys; /* in their order */
	size_t key_count, key_cap;
	struct safetensors_entry *entries; /* in their order */
	size_t entry_count, entry_cap;
	struct spool spool;
};

/* Read length and header into h, which is all zero. 0, or -1 with the reader's
 * err filled: ERR_FORMAT for a dtype without a row, or more than 8 dimensions,
 * else ERR_CORRUPT. Free h in any case. */
int safetensors_header_read(struct safetensors_header *h, struct reader *r);
void safetensors_header_free(struct safetensors_header *h);

/* ---- the two halves of format_safetensors ---- */

struct source *safetensors_open(struct reader *r, const struct format_options *options,
                                void (*note)(const char *), struct err *e);
/* One file of several: signatures of the whole model are not proved. */
struct source *safetensors_open_shard(struct reader *r, void (*note)(const char *),
                                      struct err *e);
/* Its signatures have the size that those of the model have. */
int safetensors_prove_signs(const struct source *s, const struct model *m,
                            struct err *e);
json_t *safetensors_describe(struct source *s, struct err *e);
uint64_t safetensors_tensor_offset(const struct source *s, size_t i);
struct sink *safetensors_create(struct out *o, const struct format_options *options,
                                struct err *e);
/* One file of several. whole: the plan of the model, which its signatures are about.
 * settle: all of its tensors have come; only prov, sign and end may follow.
 * rename: the name that end gives it. */
struct sink *safetensors_create_shard(struct out *o, const struct format_options *options,
                                      const struct model *whole, struct err *e);
int safetensors_settle(struct sink *s, struct err *e);
void safetensors_rename(struct sink *s, const char *path);

#endif
