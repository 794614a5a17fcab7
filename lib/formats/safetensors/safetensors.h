/* safetensors: a JSON header and the tensors, without gaps.
 *
 *     1. u64 n, little-endian: bytes of the header, at most 100 000 000
 *     2. the header: one JSON object, which begins at once, then spaces
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
 * A header must not have two readings, so it is stricter than JSON:
 * - no object has two members of one name, at any depth;
 * - there are no other members;
 * - whole numbers consist of digits alone;
 * - strings are UTF-8 without NUL;
 * - only spaces follow the object.
 *
 * The apr tools use keys of their own in __metadata__ for parts of a model that safetensors
 * has no place for. They are not content: a reader turns each back into the part that it
 * carries, in any order.
 *
 *     apr.metadata    JSON: the typed list [[key,type,value],…] of stream/plan.h,
 *                     present if not every key is a string. The value of a row
 *                     [key,"string"] is in the member of that name; members
 *                     without a row come last. A value {"blob":NAME} is in
 *     apr.blob.NAME   base64: a long value, or a side file
 *     apr.blobs       JSON: [[name,type],…], the side files in their order
 *     apr.licence     base64: the licence block
 *     apr.prov.N      base64: head of a prov frame
 *     apr.sign.N      base64: head and body of a sign frame
 *     apr.dtype.NAME  type of a tensor stored as U8 in one dimension, and
 *     apr.shape.NAME  JSON: its shape
 *     apr.source      JSON: source of a model that came from another format
 *
 * Side files are not stored as tensors of type U8, because other programs would load
 * them as weights. So all of them share the header's 100 MB.
 */
#ifndef FORMATS_SAFETENSORS_H
#define FORMATS_SAFETENSORS_H

#include "core/base64.h"
#include "core/spool.h"
#include "formats/format.h"

#define SAFETENSORS_HEADER_MAX 100000000u
#define SAFETENSORS_KEYS_MAX (1u << 20) /* a header with more keys is an attack */
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

/* True for a key of the apr tools; for one whose value is in base64. */
bool safetensors_is_ours(const char *key);
bool safetensors_is_base64(const char *key);

/* The type with this name in a header, or NULL; and the name of a type, or NULL if the format
 * lacks the type. */
const struct dtype *safetensors_dtype(const char *name);
const char *safetensors_type(const struct dtype *t);

/* True if the format has no type for the tensor, which is then stored as U8. */
bool safetensors_is_foreign(const struct tensor *t);

/* True if the value of the key is one string, which __metadata__ holds unchanged. */
bool safetensors_is_string(const struct meta *k);

/* Where to split n bytes of UTF-8 that may end within a character: before the last sequence
 * of several bytes, if the bytes end with one, otherwise at n. */
size_t safetensors_whole(const uint8_t *p, size_t n);

/* How a writer spells its header. Members of source record each difference from the
 * reference library, so that a header can be written again with the same bytes:
 *
 *     "spaced":true      ", " and ": " between (Python's json)
 *     "ascii":true       \uXXXX for characters that are not ASCII
 *     "metadata_at":N    N tensors stand before __metadata__ (present as well if
 *                        __metadata__ is first but empty)
 *     "padding":N        N spaces at the end; default: up to a multiple of 8 bytes
 *     "members":[…]      the order of dtype, shape, data_offsets
 *     "index_order":[…]  positions of the tensors (model.h)
 */
#define SAFETENSORS_MEMBERS 3
struct safetensors_style {
	bool spaced, ascii;
	uint64_t metadata_at; /* MODEL_NONE: there is no __metadata__ */
	uint64_t padding;     /* MODEL_NONE: up to a multiple of 8 */
	uint8_t members[SAFETENSORS_MEMBERS]; /* indexes into safetensors_members */
};
extern const char *const safetensors_members[SAFETENSORS_MEMBERS];

/* Read the style from source, and write it there. A source of another format has the style of
 * the reference library. */
void safetensors_style_get(struct safetensors_style *style, const struct model *m);
int safetensors_style_set(const struct safetensors_style *style, bool has_keys,
                          json_t *source);

/* ---- reading the header ---- */

/* A member of __metadata__. Long text waits in the spool. A value in base64 is stored
 * decoded. */
struct safetensors_key {
	char *name;
	char *text;      /* NULL: in the spool, from byte at on */
	uint64_t at, bytes;
	bool used;
};

/* A tensor as stored, and its offset in the data. */
struct safetensors_entry {
	struct tensor *tensor;
	uint64_t at;
};

struct safetensors_header {
	uint64_t bytes;   /* with padding, without the length before it */
	uint64_t reserve; /* spaces at its end, after those up to a multiple of 8 */
	struct safetensors_style style;
	struct safetensors_key *keys; /* in their order */
	size_t key_count, key_cap;
	struct safetensors_entry *entries; /* in their order */
	size_t entry_count, entry_cap;
	struct spool spool;
};

/* Read length and header into h, which is all zero. 0, or -1 with the reader's err filled:
 * ERR_FORMAT for an unknown dtype or more than 8 dimensions, else ERR_CORRUPT. The caller
 * frees h in either case. */
int safetensors_header_read(struct safetensors_header *h, struct reader *r);
void safetensors_header_free(struct safetensors_header *h);

/* ---- the two halves of format_safetensors ---- */

struct source *safetensors_open(struct reader *r, const struct format_options *options,
                                void (*note)(const char *), struct err *e);
/* Open one file of several. The sizes of signatures, which are over the whole model, are not
 * proved. */
struct source *safetensors_open_shard(struct reader *r, void (*note)(const char *),
                                      struct err *e);
/* Prove that the signatures in a file have the size that follows from the plan m of the whole
 * model. */
int safetensors_prove_signs(const struct source *s, const struct model *m,
                            struct err *e);
void safetensors_outline(struct reader *r, struct outline *o);
json_t *safetensors_describe(struct source *s, struct err *e);
uint64_t safetensors_tensor_offset(const struct source *s, size_t i);
struct sink *safetensors_create(struct out *o, const struct format_options *options,
                                struct err *e);
/* Create one file of several. whole: the plan of the model, which signatures cover.
 * safetensors_settle: all tensors of the file have come; only prov, sign and end may follow.
 * safetensors_rename: set the name that end gives to the file. */
struct sink *safetensors_create_shard(struct out *o, const struct format_options *options,
                                      const struct model *whole, struct err *e);
int safetensors_settle(struct sink *s, struct err *e);
void safetensors_rename(struct sink *s, const char *path);

/* As amend of format.h. The header is written again, in the style that it has, and filled up with
 * spaces. */
int safetensors_amend(struct source *s, struct source *edited, const char *operation,
                      struct out *o, struct err *e);

#endif
