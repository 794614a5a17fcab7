/* plan: a model's plan as JSON, which is the head of the APRS frame. APR2 stores the same
 * object without its tensors in its metadata.
 *
 *     {"version":1,
 *      "source":{"format":"gguf",…},
 *      "metadata":[["general.name","string","x"],["k","f32","0.1"],
 *                  ["tokenizer.ggml.tokens","array:string",{"blob":"value:…"}]],
 *      "blobs":[["value:…","value",123],["README.md","file",45]],
 *      "licence":72,                     bytes; absent if there is none
 *      "tensors":[["a.weight","F32",[8,4]],
 *                 ["b","GGML_77",[64],{"bytes":40}],
 *                 ["c","F16",[64,64],{"kind":"SPAR","form":"bitmap"}]],
 *      "provenance":[190],               bytes of each prov head; absent if none
 *      "signatures":1,
 *      "sealed":412,                     bytes of the SKEY head; absent if not sealed
 *      "holes":1048576,                  bytes of tensors that are in holes of sparse files;
 *                                        absent if there are none, and in APR2
 *      "folder":"Qwen3-0.6B"}            the name of the model's folder; absent in APR2
 */
#ifndef STREAM_PLAN_H
#define STREAM_PLAN_H

#include "core/json.h"
#include "model/flow.h"

#define PLAN_VERSION 1
#define PLAN_FOLDER 255 /* maximum bytes of "folder" */
#define PLAN_DEPTH 64 /* maximum nesting in "source" and in unknown members; a
                       * container may put the plan inside other JSON */

/* The JSON of m, with or without the tensor list. Returns a new reference, or NULL with e
 * filled. */
json_t *plan_to_json(const struct model *m, bool tensors, struct err *e);

/* Fills the uninitialized m from a plan and validates it with model_check. `where` names
 * the file in messages. With `tensors` the tensor list must be there, else it must not. On
 * failure m is empty: ERR_VERSION for another version, else ERR_CORRUPT. */
int plan_from_json(struct model *m, const json_t *plan, bool tensors,
                   const char *where, struct err *e);

/* Append the head of a TENS frame, or of a blob frame, as JSON to b. */
int plan_tensor_head(const struct tensor *t, struct buf *b);
int plan_blob_head(const struct blob *blob, struct buf *b);

/* Appends the head of a SEAL frame that holds an item: {"holds":"tensor",…} with the members
 * of the item's own head, or for prov and sign {"holds":"sign","number":0}. Returns 0, or
 * -1 (no memory). */
int plan_seal_head(const struct model *m, enum item_kind kind, size_t index,
                   struct buf *b);

/* The kind of item that such a head names. `where` names the file. ERR_CORRUPT if it names
 * none. */
int plan_seal_kind(const void *head, size_t n, enum item_kind *kind, const char *where,
                   struct err *e);

#endif
