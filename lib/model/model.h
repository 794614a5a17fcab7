/* model: the whole plan of a stream, known before any data arrives.
 *
 * The plan lists what will come and its size: metadata, side files, licence, tensors,
 * provenance records, signatures. A sink computes the size of its output from it, and
 * refuses what it cannot hold before the first byte.
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

/* A key with a type. Its value is here, or in the blob that it names. */
struct meta {
	char *key;
	struct value_type type;
	uint8_t *wire;     /* the value (model/value.h); NULL if a blob holds it */
	size_t wire_bytes;
	size_t blob;       /* index into model.blobs, or SIZE_MAX */
};

/* Bytes that travel beside the tensors: a side file, or a long value. */
struct blob {
	char *name;        /* MODEL_VALUE_NAME and the key for a value, and only for a value */
	char *type;        /* MODEL_VALUE for a metadata value, else free text */
	uint64_t bytes;
};
#define MODEL_VALUE "value"
#define MODEL_VALUE_NAME "value:"

struct model {
	/* An object that describes the first container, not the content: format, version,
	 * alignment, … Members that a stage does not know pass unchanged. */
	json_t *source;
	struct meta *meta; /* source order; keys unique */
	size_t meta_count, meta_cap;
	/* Values first, in the order of their keys, then side files. Names are unique. */
	struct blob *blobs;
	size_t blob_count, blob_cap;
	uint64_t licence;  /* bytes, or MODEL_NONE */
	struct tensor **tensors; /* stream order; names unique; owned */
	size_t tensor_count, tensor_cap;
	uint64_t *provs;   /* head bytes of each prov frame to come */
	size_t prov_count, prov_cap;
	uint64_t signatures;
	/* Head bytes of the SKEY frame to come; 0: nothing is sealed. Otherwise all side
	 * files, tensors, prov and sign frames are sealed (model/flow.h: item_sizes), and
	 * their content cannot be used. */
	uint64_t sealed;
	/* Bytes of tensors that the source does not store, because its files are sparse, and that
	 * the output needs no space for either: an estimate for the check of free space. It is
	 * part of a stream and never of a file. */
	uint64_t holes;
	/* The name of the folder that the model was read from, or NULL: a name for a model that
	 * states none. It is part of a stream and never of a file. */
	char *folder;
	json_t *extra;     /* an object: members of the plan that these tools do not know */
};

/* Make an empty model. (A model of zero bytes is also empty, but has no source.) 0 or -1. */
int model_init(struct model *m, struct err *e);
void model_free(struct model *m);

/* Make a deep copy; to is uninitialized. */
int model_copy(struct model *to, const struct model *from, struct err *e);

/* Append. Text and wire bytes are copied; model_add_tensor takes ownership of t, even if it
 * fails. Uniqueness is proved once, by model_check. */
int model_add_meta(struct model *m, const char *key, size_t key_bytes,
                   struct value_type type, const uint8_t *wire, size_t wire_bytes,
                   struct err *e);
/* Append a key and the blob that will hold its value. */
int model_add_meta_blob(struct model *m, const char *key, size_t key_bytes,
                        struct value_type type, uint64_t bytes, struct err *e);
int model_add_blob(struct model *m, const char *name, const char *type, uint64_t bytes,
                   struct err *e);
int model_add_tensor(struct model *m, struct tensor *t, struct err *e);
/* At most MODEL_PROVS; one more is ERR_CORRUPT. */
int model_add_prov(struct model *m, uint64_t head_bytes, struct err *e);

/* Set a key to a value. A new key is appended; an old one keeps its place. */
int model_set_meta(struct model *m, const char *key, struct value_type type,
                   const uint8_t *wire, size_t wire_bytes, struct err *e);

/* The same, but the key moves to the end. */
int model_put_meta(struct model *m, const char *key, struct value_type type,
                   const uint8_t *wire, size_t wire_bytes, struct err *e);

/* Remove a key if it exists and no blob holds its value. */
void model_unset_meta(struct model *m, const char *key);

/* Remove all keys and all blobs, side files included. */
void model_clear_meta(struct model *m);

/* Drop the tensors for which keep[i] is false, and update the lists of positions in source. */
int model_keep(struct model *m, const bool *keep, struct err *e);

/* Prove what every later stage relies on: keys, blob names and tensor names are unique
 * UTF-8 text, and blobs are in their order. Otherwise fails with ERR_CORRUPT and where as
 * the object. */
int model_check(const struct model *m, const char *where, struct err *e);

const struct meta *model_find(const struct model *m, const char *key);
int model_u64(const struct model *m, const char *key, uint64_t *v);
/* The terminated text of a string key, or NULL. Valid as long as the model. */
const char *model_text(struct model *m, const char *key);
const char *meta_text(const struct meta *k);

/* Read and set members of source. model_source_is compares the member "format". */
int model_source_u64(const struct model *m, const char *name, uint64_t *v);
const char *model_source_text(const struct model *m, const char *name);
bool model_source_is(const struct model *m, const char *format);
int model_source_set(struct model *m, const char *name, json_t *value, struct err *e);

/* Set the folder to the last part of a path; NULL, or a path that ends without a name, as "." and
 * ".." do, or in one that is not UTF-8: to none. */
void model_set_folder(struct model *m, const char *path);

/* The member of source that describes a model without a key for its architecture: an object
 * of scalars from the first container, such as "model_type". NULL if the model has such a
 * key or is signed, because no signature covers source. */
#define MODEL_CONFIG "config"
const json_t *model_config(const struct model *m);

/* The architecture: the key general.architecture, or model_type of the config. *n bytes of
 * text, valid as long as the model, or NULL. */
const char *model_architecture(const struct model *m, size_t *n);

/* Positions of n tensors in the order of list, a member of source that holds the order of
 * an index. If list is NULL or is not an order of all n tensors, position i is i. Returns a
 * new array (free it), or NULL. */
size_t *model_order(const json_t *list, size_t n, struct err *e);

/* Indexes of the tensors, sorted by name in byte order. Returns a new array (free it), or
 * NULL. */
size_t *model_tensors_by_name(const struct model *m, struct err *e);

/* The index of the tensor of that name, by the indexes in that order; SIZE_MAX if there is none. */
size_t model_find_tensor(const struct model *m, const size_t *by_name, const char *name);

/* Bytes of all tensors; number of values in all tensors (parameters). */
uint64_t model_tensor_bytes(const struct model *m);
/* The space that a file of this many bytes needs on the disk: bytes less holes. */
static inline uint64_t
model_space(const struct model *m, uint64_t bytes)
{
	return m->sealed ? bytes : m->holes < bytes ? bytes - m->holes : 0;
}

uint64_t model_parameters(const struct model *m);

/* The number of tensors that have a sparse form; 0 for a sealed model. */
size_t model_sparse_count(const struct model *m);

/* Bits of all tensors divided by the number of their values, as llama.cpp counts them; 0 if
 * there are no values. Every tool that prints bits per weight uses this. */
double model_bits_per_weight(const struct model *m);

/* A sign frame's size follows from the plan alone: a head of MODEL_SIGN_HEAD
 * bytes, and a body of 32 bytes for each side file, prov and tensor. */
#define MODEL_SIGN_HEAD 2048
#define MODEL_PROV_HEAD 65536 /* maximum bytes of a prov frame's head */
#define MODEL_PROVS 1024      /* maximum number of prov frames */
#define MODEL_SIGNS 1024      /* maximum number of signatures */
#define MODEL_SKEY 131072     /* maximum bytes of an SKEY frame's head */
uint64_t model_sign_body(const struct model *m);

/* The size of a body of plain bytes once it is sealed. The body is cut into chunks of
 * MODEL_SEAL_CHUNK bytes; the last chunk may be shorter, and an empty body is one empty
 * chunk. Each chunk gets a tag. -1 on overflow. */
#define MODEL_SEAL_CHUNK ((uint64_t)1 << 20)
#define MODEL_SEAL_TAG 16
__attribute__((warn_unused_result)) int model_sealed_bytes(uint64_t plain,
                                                           uint64_t *sealed);

#endif
