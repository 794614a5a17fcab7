/* pieces: a model written into several files of one container, which get their
 * names together, or none does.
 *
 * Which file gets which tensors follows from the plan, before any data comes: tensors
 * in their order, as many as stay within the size that is asked for, and at least
 * one. The first file has all else. Each file but the first is complete, and on the
 * disk, before the next one begins; the first waits for what comes last.
 *
 * Either the files make a folder, which has a temporary name until it is complete;
 * or they lie beside what is there already, as PREFIX-00001-of-00003ENDING.
 */
#ifndef FORMATS_PIECES_H
#define FORMATS_PIECES_H

#include "formats/format.h"

struct piece {
	char *name, *label;
	struct model plan;   /* of it */
	size_t first, count; /* of its tensors, in the whole plan */
	struct sink *sink;   /* once it has begun */
	size_t file;         /* its number in the place, then */
	bool begun, settled;
};

/* A file that is no piece: a side file in a folder, or the index. */
struct beside {
	char *name, *label;
	struct out out;
};

struct pieces;

struct pieces_ops {
	const char *ending; /* of the files' names */
	const char *index_end; /* of the index's name; NULL: there is none */
	const char *single; /* the name of one file in a folder */
	unsigned unit;      /* a tensor takes up a multiple of so many bytes */
	const char *blob;   /* type of blobs that become files of a folder, or NULL */
	size_t most;        /* files of one model; 0: as many as there may be */

	/* Name the files and say which tensors they have (pieces_add), and name the
	 * index. NULL: pieces_cut does. */
	int (*choose)(struct pieces *s, struct err *e);

	/* The source of file i's plan (new, or NULL), and what its plan has beside
	 * tensors, if it is not the first (NULL: nothing). */
	json_t *(*source)(const struct pieces *s, size_t i);
	int (*keys)(const struct pieces *s, size_t i, struct model *to, struct err *e);

	/* The sink of file i. It takes o over. */
	struct sink *(*create)(struct pieces *s, size_t i, struct out *o, struct err *e);
	/* All has come: only end may follow. After it the out is settled. */
	int (*settle)(struct sink *sink, struct err *e);
	/* The name that end gives it; it must outlive the call of end. */
	void (*rename)(struct sink *sink, const char *path);

	/* The text of the index, when all files are settled. */
	int (*index)(struct pieces *s, struct buf *text, struct err *e);
};

struct pieces {
	struct sink sink;
	const struct pieces_ops *ops;
	struct format_options options;
	struct out_options where;
	const struct model *plan;
	bool makes_folder;
	char *path;      /* of the folder to be made, or of the file that was asked for */
	char *folder;    /* in which the files will lie: path, or path's */
	char *parent;    /* in which path lies */
	struct place *place; /* which gives all of it the names */
	uint64_t bytes;  /* that all of it will need, headers not counted */

	struct piece *pieces;
	size_t piece_count, piece_cap;
	char *index_name; /* NULL: there is none */
	struct beside *besides;
	size_t beside_count, beside_cap;
	size_t *blobs;    /* of the plan: its number in the first file, or PIECES_FILE */

	/* The item that is coming. */
	enum { TO_PIECE, TO_FILE } now;
	struct piece *piece;
	struct beside *beside;
};
#define PIECES_FILE SIZE_MAX

/* As create_folder and create_shards of format.h. The first is for where->path with
 * or without a slash at its end. */
struct sink *pieces_create(const struct out_options *where, bool makes_folder,
                           const struct format_options *options,
                           const struct pieces_ops *ops, struct err *e);

/* One file more, with the next count tensors. */
int pieces_add(struct pieces *s, const char *name, size_t count, struct err *e);

/* Files by size, PREFIX-00001-of-…, and an index; or one file, if all fits into it.
 * PREFIX is "model" in a folder, else the name that was asked for without its ending. */
int pieces_cut(struct pieces *s, struct err *e);

/* The name in its folder of what was asked for. */
const char *pieces_base(const struct pieces *s);

/* Does a file of the model, or the index, have this name? */
bool pieces_is_taken(const struct pieces *s, const char *name);

/* ---- how they get their names (pieces_name.c) ---- */

/* Refuse now what may not be replaced later. */
int pieces_refuse(const struct pieces *s, struct err *e);
/* All is settled. */
int pieces_name(struct pieces *s, struct err *e);

#endif
