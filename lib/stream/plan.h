/* plan: a model's plan as JSON, the head of the APRS frame. APR2 keeps the same
 * object, without its tensors, in its metadata.
 *
 *     {"version":1,
 *      "source":{"format":"gguf",…},
 *      "metadata":[["general.name","string","x"],["k","f32","0.1"],
 *                  ["tokenizer.ggml.tokens","array:string",{"blob":"value:…"}]],
 *      "blobs":[["value:…","value",123],["README.md","file",45]],
 *      "licence":72,                     absent if there is none
 *      "tensors":[["a.weight","F32",[8,4]],
 *                 ["b","GGML_77",[64],{"bytes":40}]],
 *      "provenance":[190],               head bytes of each prov; absent if none
 *      "signatures":1,
 *      "sealed":412}                     head bytes of SKEY; absent if not sealed
 */
#ifndef STREAM_PLAN_H
#define STREAM_PLAN_H

#include "core/json.h"
#include "model/flow.h"

#define PLAN_VERSION 1
#define PLAN_DEPTH 64 /* of what nests in source and in members we do not know:
                       * a container may put the plan inside other JSON */

/* The JSON of m, with or without the tensor list. New reference, or NULL with
 * e filled. */
json_t *plan_to_json(const struct model *m, bool tensors, struct err *e);

/* Fill the uninitialized m from a plan; proved by model_check. where: the file,
 * for faults. tensors: the list must be there (else it must not). On failure m
 * is left empty. ERR_VERSION for another version, else ERR_CORRUPT. */
int plan_from_json(struct model *m, const json_t *plan, bool tensors,
                   const char *where, struct err *e);

/* The head of a TENS frame and of a blob frame: JSON text appended to b. */
int plan_tensor_head(const struct tensor *t, struct buf *b);
int plan_blob_head(const struct blob *blob, struct buf *b);

/* The head of a SEAL frame that holds an item: {"holds":"tensor",…} and what the
 * item's own head says, or of prov and sign {"holds":"sign","number":0}. JSON text
 * appended to b; 0, or -1 (memory). */
int plan_seal_head(const struct model *m, enum item_kind kind, size_t index,
                   struct buf *b);

/* What such a head says it holds; where: the file. ERR_CORRUPT if nothing. */
int plan_seal_kind(const void *head, size_t n, enum item_kind *kind, const char *where,
                   struct err *e);

#endif
