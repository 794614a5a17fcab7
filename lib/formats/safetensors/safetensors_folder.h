/* safetensors_folder: a model of safetensors files in a folder (formats/folder.h).
 *
 * In the plan a folder is one model: the tensors of the shards one after another, in the
 * order of the shards' names; everything else comes from the first shard. Source has
 *
 *     "file":NAME        a single file that is not called model.safetensors
 *     "shards":[…]       an object for each: "file", "tensors" (their number), its
 *                        style, and "keys": the names of the members of its
 *                        __metadata__, if it lacks some of the first shard's
 *     "index":{…}        "file", if the index has another name than above, and
 *                        "metadata", its members other than total_size
 *     "config":{…}       from config.json: model_type first, then other numbers, booleans
 *                        and strings up to 128 bytes, at most 64 members
 *
 * Source: what transformers and huggingface_hub write.
 */
#ifndef FORMATS_SAFETENSORS_FOLDER_H
#define FORMATS_SAFETENSORS_FOLDER_H

#include "formats/folder.h"
#include "formats/safetensors/safetensors.h"

#define FOLDER_SINGLE "model.safetensors"
#define FOLDER_INDEX "model.safetensors.index.json"

/* As open_path and folder_of of format.h. */
char *safetensors_folder_of(const char *path);
struct source *safetensors_folder_open(const char *path, const struct format_options *options,
                                       void (*note)(const char *),
                                       const struct format **which, struct err *e);
/* As create_folder of format.h: writes the shards that source lists, or one file, and the
 * blobs of type "file" beside them. Refuses a path that exists, unless it is an empty folder,
 * and names that clash or are not plain file names. */
struct sink *folder_create(const struct out_options *where,
                           const struct format_options *options, struct err *e);
/* As create_shards of format.h. */
struct sink *safetensors_create_shards(const struct out_options *where,
                                       const struct format_options *options,
                                       struct err *e);
extern const struct format format_safetensors_folder;

#endif
