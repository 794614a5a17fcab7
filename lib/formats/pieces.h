/* pieces: writes a model into several files of one container. Either all files get their
 * names, or none does.
 *
 * The plan decides which file gets which tensors, before any data comes. Each file gets
 * tensors in their order: as many as fit into the requested size, and at least one. The first
 * file also has everything else. Each other file is complete and on the disk before the next
 * one begins; the first file waits for the items that come last.
 *
 * The files either make a folder, which has a temporary name until it is complete, or go
 * into an existing folder as PREFIX-00001-of-00003ENDING.
 */
#ifndef FORMATS_PIECES_H
#define FORMATS_PIECES_H

#include "formats/format.h"

struct piece {
	char *name, *label;
	struct model plan;   /* of this file */
	size_t first, count; /* its tensors in the whole plan */
	struct sink *sink;   /* set if begun */
	size_t file;         /* its number in the place, if begun */
	bool begun, settled;
};

/* A file without tensors: a side file in a folder, or the index. */
struct beside {
	char *name, *label;
	struct out out;
};

struct pieces;

struct pieces_ops {
	const char *ending; /* of the files' names */
	const char *index_end; /* the end of the index's name; NULL: no index */
	const char *single; /* name of the only file in a folder */
	unsigned unit;      /* a tensor takes a multiple of this many bytes */
	const char *blob;   /* type of blobs that become files of a folder, or NULL */
	size_t most;        /* maximum number of files; 0: 99999 */

	/* Name the files and choose their tensors (pieces_add), and name the index. NULL:
	 * pieces_cut is used. */
	int (*choose)(struct pieces *s, struct err *e);

	/* source returns the member source of file i's plan (new, or NULL). keys adds keys to
	 * the plan of a file other than the first (NULL: it has only tensors). */
	json_t *(*source)(const struct pieces *s, size_t i);
	int (*keys)(const struct pieces *s, size_t i, struct model *to, struct err *e);

	/* Create the sink of file i, which takes ownership of o. */
	struct sink *(*create)(struct pieces *s, size_t i, struct out *o, struct err *e);
	/* Called after the last item; only end may follow. Completes the file. */
	int (*settle)(struct sink *sink, struct err *e);
	/* Set the name that end gives to the file; it must outlive the call of end. */
	void (*rename)(struct sink *sink, const char *path);

	/* Write the text of the index, after all files are settled. */
	int (*index)(struct pieces *s, struct buf *text, struct err *e);
};

struct pieces {
	struct sink sink;
	const struct pieces_ops *ops;
	struct format_options options;
	struct out_options where;
	const struct model *plan;
	bool makes_folder;
	char *path;      /* requested: of the folder to be made, or of a file */
	char *folder;    /* the folder that will hold the files: path, or the folder of path */
	char *parent;    /* the folder of path */
	struct place *place; /* gives all files their names */
	uint64_t bytes;  /* of all files, without their headers */

	struct piece *pieces;
	size_t piece_count, piece_cap;
	char *index_name; /* NULL: none */
	struct beside *besides;
	size_t beside_count, beside_cap;
	size_t *blobs;    /* for each blob of the plan, its number in the first file, or
	                   * PIECES_FILE */

	/* The current item. */
	enum { TO_PIECE, TO_FILE } now;
	struct piece *piece;
	struct beside *beside;
};
#define PIECES_FILE SIZE_MAX

/* As create_folder (makes_folder) and create_shards of format.h. The path of a folder may
 * end in a slash. */
struct sink *pieces_create(const struct out_options *where, bool makes_folder,
                           const struct format_options *options,
                           const struct pieces_ops *ops, struct err *e);

/* Add a file with the next count tensors. */
int pieces_add(struct pieces *s, const char *name, size_t count, struct err *e);

/* Divide the tensors by size into files PREFIX-00001-of-…, and name an index; or make one
 * file if everything fits into it. PREFIX is "model" in a folder, otherwise the requested
 * name without its ending. */
int pieces_cut(struct pieces *s, struct err *e);

/* The last part of the requested path. */
const char *pieces_base(const struct pieces *s);

/* True if a file of the model, or the index, has this name. */
bool pieces_is_taken(const struct pieces *s, const char *name);

/* ---- naming the files (pieces_name.c) ---- */

/* Refuse if an existing file or folder must not be replaced at the end. */
int pieces_refuse(const struct pieces *s, struct err *e);
/* Give all files their names. All are complete. */
int pieces_name(struct pieces *s, struct err *e);

#endif
