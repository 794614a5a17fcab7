/* model: the whole plan of a stream, known before any data arrives.
 *
 * It says what will come and how large it is: metadata, side files, licence,
 * tensors, what filters did, signatures. A sink sizes its output from it, and
 * refuses before the first byte what it cannot hold.
 */
#ifndef MODEL_MODEL_H
#define MODEL_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/err.h"
#include "core/json.h"
#include "model/tensor.h"
#include "model/value.h"

#define MODEL_NONE UINT64_MAX

/* A typed key. Its value lies here, or in the blob it names. */
struct meta {
	char *key;
	struct value_type type;
	uint8_t *wire;     /* the value (model/value.h); NULL where a blob holds it */
	size_t wire_bytes;
	size_t blob;       /* index into model.blobs, or SIZE_MAX */
};

/* Bytes that travel beside the tensors: a side file, or a long value. */
struct blob {
	char *name;        /* of a value: MODEL_VALUE_NAME and its key, and only then */
	char *type;        /* MODEL_VALUE for a metadata value, else free text */
	uint64_t bytes;
};
#define MODEL_VALUE "value"
#define MODEL_VALUE_NAME "value:"

struct model {
	/* About the first container, not content: format, version, alignment, …
	 * An object; members that a stage does not know travel on. */
	json_t *source;
	struct meta *meta; /* source order; keys unique */
	size_t meta_count, meta_cap;
	/* Values first, in the order of their keys; then side files. Names unique. */
	struct blob *blobs;
	size_t blob_count, blob_cap;
	uint64_t licence;  /* bytes, or MODEL_NONE */
	struct tensor **tensors; /* stream order; names unique; owned */
	size_t tensor_count, tensor_cap;
	uint64_t *provs;   /* head bytes of each prov frame to come */
	size_t prov_count, prov_cap;
	uint64_t signatures;
	/* Head bytes of the SKEY frame to come; 0: nothing is sealed. Else all side
	 * files, tensors, prov and sign are (model/flow.h: item_sizes), and nothing
	 * that looks into them may be done. */
	uint64_t sealed;
	json_t *extra;     /* members of the plan that we do not know; an object */
};

/* An empty model (all zero is one too, but without source). 0 or -1. */
int model_init(struct model *m, struct err *e);
void model_free(struct model *m);

/* A deep copy into an uninitialized one. */
int model_copy(struct model *to, const struct model *from, struct err *e);

/* Append. Text and wire bytes are copied; model_add_tensor takes t over, also
 * when it fails. Uniqueness is proved once, by model_check. */
int model_add_meta(struct model *m, const char *key, size_t key_bytes,
                   struct value_type type, const uint8_t *wire, size_t wire_bytes,
                   struct err *e);
/* A key whose value lies in a new blob. */
int model_add_meta_blob(struct model *m, const char *key, size_t key_bytes,
                        struct value_type type, uint64_t bytes, struct err *e);
int model_add_blob(struct model *m, const char *name, const char *type, uint64_t bytes,
                   struct err *e);
int model_add_tensor(struct model *m, struct tensor *t, struct err *e);
/* At most MODEL_PROVS; one more is ERR_CORRUPT. */
int model_add_prov(struct model *m, uint64_t head_bytes, struct err *e);

/* Set a key to a value, in its place or at the end. */
int model_set_meta(struct model *m, const char *key, struct value_type type,
                   const uint8_t *wire, size_t wire_bytes, struct err *e);

/* The same, but at the end wherever it was. */
int model_put_meta(struct model *m, const char *key, struct value_type type,
                   const uint8_t *wire, size_t wire_bytes, struct err *e);

/* Drop a key, if it is there and no blob holds its value. */
void model_unset_meta(struct model *m, const char *key);

/* Drop the tensors for which keep[i] is false; source order lists follow. */
int model_keep(struct model *m, const bool *keep, struct err *e);

/* Prove what every later stage relies on: keys, blob names and tensor names
 * are unique UTF-8 text, blobs lie in their order. ERR_CORRUPT otherwise, with
 * where as the object. */
int model_check(const struct model *m, const char *where, struct err *e);

const struct meta *model_find(const struct model *m, const char *key);
int model_u64(const struct model *m, const char *key, uint64_t *v);
/* The text of a string key, terminated, or NULL; valid while the model is. */
const char *model_text(struct model *m, const char *key);

/* Members of source; is "format" that one? */
int model_source_u64(const struct model *m, const char *name, uint64_t *v);
const char *model_source_text(const struct model *m, const char *name);
bool model_source_is(const struct model *m, const char *format);
int model_source_set(struct model *m, const char *name, json_t *value, struct err *e);

/* A member of source: what the first container said of a model without a key for its
 * architecture, an object of scalars, "model_type" among them. NULL where there is such a
 * key, and for a signed model: no signature covers source. */
#define MODEL_CONFIG "config"
const json_t *model_config(const struct model *m);

/* What the model is: general.architecture, or the model_type of its config: *n bytes of
 * text, valid while the model is, or NULL. */
const char *model_architecture(const struct model *m, size_t *n);

/* Positions of n tensors in the order of list, a member of source: that of an index. As
 * they are where it is NULL, or no order of all of them. In a new array (free it), or
 * NULL. */
size_t *model_order(const json_t *list, size_t n, struct err *e);

/* Indexes sorted by byte order of names, in a new array (free it), or NULL. */
size_t *model_tensors_by_name(const struct model *m, struct err *e);

/* Bytes of all tensors; number of values in all tensors (parameters). */
uint64_t model_tensor_bytes(const struct model *m);
uint64_t model_parameters(const struct model *m);

/* Bits of all tensors over the number of their values, as llama.cpp counts them; 0 where
 * there are no values. Whatever tells bits per weight tells this. */
double model_bits_per_weight(const struct model *m);

/* A sign frame's size follows from the plan alone: a head of MODEL_SIGN_HEAD
 * bytes, and a body of 32 bytes for each side file, prov and tensor. */
#define MODEL_SIGN_HEAD 2048
#define MODEL_PROV_HEAD 65536 /* bytes of a prov frame's head, at most */
#define MODEL_PROVS 1024      /* prov frames, at most */
#define MODEL_SIGNS 1024      /* signatures, at most */
#define MODEL_SKEY 131072     /* bytes of an SKEY frame's head, at most */
uint64_t model_sign_body(const struct model *m);

/* What a body of so many bytes takes when it is sealed: it is cut into chunks of
 * MODEL_SEAL_CHUNK bytes, of which the last may be shorter, and an empty body is one
 * empty chunk; each gets a tag. -1 on overflow. */
#define MODEL_SEAL_CHUNK ((uint64_t)1 << 20)
#define MODEL_SEAL_TAG 16
__attribute__((warn_unused_result)) int model_sealed_bytes(uint64_t plain,
                                                           uint64_t *sealed);

#endif
