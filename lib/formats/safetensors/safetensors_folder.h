/* safetensors_folder: a model in several files: a folder, or an index with its
 * shards.
 *
 *     model.safetensors, or any single file with this ending
 *     model.safetensors.index.json      {"metadata":{"total_size":N,…},
 *                                        "weight_map":{TENSOR:FILE,…}}
 *     model-00001-of-00003.safetensors  shards: complete files that the index names
 *     config.json, tokenizer.json, …    side files, which travel as blobs of type
 *                                       "file"
 *
 *     1_Pooling/config.json             the only side file in a folder below
 *
 * The files that an index names and the side files are regular files beside it; no link
 * may lead out of the folder. (The only exception is the cache of Hugging Face: a folder
 * in "snapshots" whose links lead to files in "../../blobs".)
 * A file is left out, with a note, if it is not a regular file, begins with a dot, exceeds
 * 64 MiB, or holds weights.
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

/* The files of a folder. */
struct folder {
	int fd;
	char *path;          /* of the folder, for messages */
	struct folder_file *shards; /* by name */
	size_t shard_count, shard_cap;
	struct folder_file *files;  /* side files, by name */
	size_t file_count, file_cap;
	char *index_name;    /* NULL: a single file without an index */
	json_t *index;       /* proved to have the form above */
};

/* Find the files of the folder at path. If path is an index, or a shard that the index beside
 * it names, find only the shards. 1 if path is one of these, 0 if it is something else, or -1.
 * note receives the names of the files left out. The caller frees f after 1 or -1. */
int folder_find(struct folder *f, const char *path, void (*note)(const char *),
                struct err *e);
void folder_free(struct folder *f);

/* As folder_of of format.h. */
char *folder_around(const char *path);

/* Copy the scalar members of config.json into source of m (MODEL_CONFIG), if the file exists
 * and has a model_type. 0 or -1. */
int folder_config(const struct folder *f, struct model *m, struct err *e);

/* ---- the format ---- */

/* As open_path of format.h. */
struct source *folder_source(const char *path, const struct format_options *options,
                             void (*note)(const char *), const struct format **which,
                             struct err *e);
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
