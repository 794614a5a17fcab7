/* folder: a model in several files: a folder, or an index with its shards.
 *
 *     NAME.safetensors                  a single file: the usual name of its kind, or any
 *                                       name with the ending
 *     NAME.safetensors.index.json       {"metadata":{"total_size":N,…},
 *                                        "weight_map":{TENSOR:FILE,…}}
 *     NAME-00001-of-00003.safetensors   shards: complete files that the index names
 *     config.json, tokenizer.json, …    side files, which travel as blobs of type
 *                                       "file"
 *
 *     1_Pooling/config.json             the only side file in a folder below
 *
 * Formats whose models lie so have a kind each: the ending, and the usual names. If a folder
 * has weights of several kinds, the first kind of the list in folder.c is read.
 *
 * The files that an index names and the side files are regular files beside it; no link
 * may lead out of the folder. (The only exception is the cache of Hugging Face: a folder
 * in "snapshots" whose links lead to files in "../../blobs".)
 * A file is left out, with a note, if it is not a regular file, begins with a dot, exceeds
 * 64 MiB, holds weights, or is the index of weights of another kind.
 *
 * Source: what transformers and huggingface_hub write.
 */
#ifndef FORMATS_FOLDER_H
#define FORMATS_FOLDER_H

#include "formats/joined.h"

#define FOLDER_CONFIG "config.json"
#define FOLDER_FILE_MAX ((uint64_t)64 << 20)
#define FOLDER_INDEX_MAX 100000000u
#define FOLDER_BLOB "file"   /* type of a side file's blob */

struct folder_kind {
	const char *title;   /* for messages */
	const char *single;  /* usual name of a single file */
	const char *index;   /* usual name of an index */
	const char *ending;  /* of files with tensors */
	const char *const *others; /* files with the ending that are not a model, up to NULL;
	                      * NULL: every file with the ending holds weights */
};

extern const struct folder_kind folder_safetensors, folder_pytorch;

struct folder_file {
	char *name;
	uint64_t bytes;      /* side files */
};

/* The files of a folder. */
struct folder {
	const struct folder_kind *kind;
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
 * it names, find only the shards. 1 if path is one of these and its weights are of this kind,
 * 0 if it is something else, or -1. note receives the names of the files left out. The caller
 * frees f. */
int folder_find(struct folder *f, const struct folder_kind *kind, const char *path,
                void (*note)(const char *), struct err *e);
void folder_free(struct folder *f);

/* As folder_of of format.h, for weights of this kind. */
char *folder_around(const struct folder_kind *kind, const char *path);

/* True if a file with this name is sure to belong to the weights of a folder. */
bool folder_is_weights(const char *name);

/* Copy the scalar members of config.json into source of m (MODEL_CONFIG), and set the name of the
 * folder, if the file exists and has a model_type. 0 or -1. */
int folder_config(const struct folder *f, struct model *m, struct err *e);

/* ---- a folder as one source (folder_source.c) ---- */

struct folder_source {
	struct joined joined;
	struct format_options options;
	struct folder folder;

	/* A side file that is being sent. */
	size_t file;
	struct reader reader;
	char *label;
	uint64_t left;
};

/* As joined_new. The caller finds the files. */
void *folder_source_new(size_t bytes, const struct joined_ops *ops, const char *path,
                        const struct format_options *options, void (*note)(const char *),
                        struct err *e);

/* Read the plans of all files into one; then add the side files. 0 or -1. */
int folder_source_read(struct folder_source *s);
int folder_source_add_files(struct folder_source *s);

/* Prove the index against the plan, if there is one. map: its weight_map, or one with changed
 * names. A wrong total_size is noted, or refused if options are strict. 0 or -1. */
int folder_source_prove(const struct folder_source *s, json_t *map);

/* As in struct joined_ops. folder_source_close also frees s. */
int folder_source_beside(struct joined *j, struct item *item);
int folder_source_beside_read(struct joined *j, const uint8_t **p, size_t *n);
void folder_source_close(struct folder_source *s);

#endif
