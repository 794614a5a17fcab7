/* safetensors_folder: a model in several files: a folder, or an index with its
 * shards.
 *
 *     model.safetensors, or any single file of that name's end
 *     model.safetensors.index.json      {"metadata":{"total_size":N,…},
 *                                        "weight_map":{TENSOR:FILE,…}}
 *     model-00001-of-00003.safetensors  shards: complete files, as the index says
 *     config.json, tokenizer.json, …    side files, which travel as blobs of type
 *                                       "file"
 *
 * What an index names, and what is taken in, are regular files beside it; no link
 * leads out of the folder. (The one exception is how the cache of Hugging Face is
 * built: a folder in "snapshots" whose links lead to files in "../../blobs".)
 * Left behind, with a note, is what is no regular file, begins with a dot, exceeds
 * 64 MiB, or holds weights.
 *
 * In the plan a folder is one model: the tensors of the shards one after another,
 * in the order of the shards' names; all else from the first shard. Source has
 *
 *     "file":NAME        a single file that is not called model.safetensors
 *     "shards":[…]       an object for each: "file", "tensors" (how many), its
 *                        style, and "keys": names of the members of its
 *                        __metadata__, where they are not all of them
 *     "index":{…}        "file", where the index is not called as above, and
 *                        "metadata", what there is beside total_size
 *     "config":{…}       of config.json: model_type first, then its other numbers, truth
 *                        values and strings up to 128 bytes, 64 members at most
 *
 * Source: what transformers and huggingface_hub write.
 */
#ifndef FORMATS_SAFETENSORS_FOLDER_H
#define FORMATS_SAFETENSORS_FOLDER_H

#include "formats/safetensors/safetensors.h"

#define FOLDER_SINGLE "model.safetensors"
#define FOLDER_INDEX "model.safetensors.index.json"
#define FOLDER_CONFIG "config.json"
#define FOLDER_FILE_MAX ((uint64_t)64 << 20)
#define FOLDER_BLOB "file"   /* type of a side file's blob */

struct folder_file {
	char *name;
	uint64_t bytes;      /* side files */
};

/* What lies in a folder. */
struct folder {
	int fd;
	char *path;          /* for messages: that of the folder */
	struct folder_file *shards; /* by name */
	size_t shard_count, shard_cap;
	struct folder_file *files;  /* side files, by name */
	size_t file_count, file_cap;
	char *index_name;    /* NULL: a single file without an index */
	json_t *index;       /* proved to be of the shape above */
};

/* Look into the folder at path, or, if path is an index or a shard that the index
 * beside it names, for the shards alone.
 * 1 if path is one of these, 0 if it is something else, -1. note is told what is
 * left behind. Free f where it was 1 or -1. */
int folder_find(struct folder *f, const char *path, void (*note)(const char *),
                struct err *e);
void folder_free(struct folder *f);

/* As folder_of of format.h. */
char *folder_around(const char *path);

/* Let source of m tell what config.json says of the model, if it lies there and names a
 * model_type: its scalar members (MODEL_CONFIG). 0 or -1. */
int folder_config(const struct folder *f, struct model *m, struct err *e);

/* ---- the format of it ---- */

/* As open_path of format.h. */
struct source *folder_source(const char *path, const struct format_options *options,
                             void (*note)(const char *), const struct format **which,
                             struct err *e);
/* As create_folder of format.h: the shards that source lists, or one file; beside
 * them the blobs of type "file". Refused are a path that exists, unless it is an
 * empty folder, and names that are no plain file names or clash. */
struct sink *folder_create(const struct out_options *where,
                           const struct format_options *options, struct err *e);
/* As create_shards of format.h. */
struct sink *safetensors_create_shards(const struct out_options *where,
                                       const struct format_options *options,
                                       struct err *e);
extern const struct format format_safetensors_folder;

#endif
