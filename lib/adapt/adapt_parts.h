/* adapt_parts: what the files of adapt.h share. */
#ifndef ADAPT_ADAPT_PARTS_H
#define ADAPT_ADAPT_PARTS_H

#include "adapt/adapt.h"
#include "adapt/tensors/store.h"
#include "adapt/tensors/tensors.h"
#include "adapt/tensors/values.h"
#include "arch/subject.h"

/* The bytes of a blob of the new plan. */
struct adapt_blob {
	const uint8_t *p;
	size_t n;
	uint8_t *own; /* p, if it is to be freed */
};

struct adapt {
	struct source source; /* first; its plan is &plan */
	struct source *inner;
	struct adapt_options o;
	struct subject s;
	struct tensors t;
	struct store store;
	struct values v;
	struct model plan;
	json_t *tokenizer;        /* for the record: what keys lose of the tokenizer; or NULL */
	struct adapt_blob *blobs; /* of plan */
	size_t blob_count, blob_cap;
	bool changes;

	/* What is being sent. */
	struct item next; /* of inner, not sent yet, */
	bool more;        /* if there is one */
	size_t blob, row;
	enum { SEND_NOTHING, SEND_INNER, SEND_BLOB, SEND_LICENCE, SEND_STORED, SEND_WINDOWS, SEND_SHARED } mode;
	struct range place; /* of a tensor that is shared from a file */
	uint64_t sent, seen; /* bytes of the body; tensors of inner that came */
	struct buf licence; /* of inner, read early */
	bool has_licence;
	unsigned tied_seen;   /* of head and embeddings, if tied_claim; */
	uint32_t tied_crc;    /* and the difference of their checksums */
	uint8_t *window;
	size_t window_cap, window_fill;
	uint64_t zeros; /* of inner that come after the window */
};

/* Make the plan of the form: keys, side files, tensors. 0 or -1. */
int adapt_to_gguf(struct adapt *a, struct err *e);
int adapt_to_folder(struct adapt *a, struct err *e);

/* A model folder with the names and metadata of .apr files; and only the names, for targets
 * that have those of folders. 0 or -1. */
int adapt_folder_to_apr(struct adapt *a, struct err *e);
int adapt_apr_to_folder(struct adapt *a, struct err *e);
int adapt_rename_to_apr(struct adapt *a, struct err *e);

/* Append a blob; own as in struct adapt_blob, taken also on failure. 0 or -1. */
int adapt_add_blob(struct adapt *a, const char *name, const char *type, const uint8_t *p,
                   size_t n, uint8_t *own, struct err *e);

/* Give values that are too long for the plan to blobs, before any side file. 0 or -1. */
int adapt_long_values(struct adapt *a, struct err *e);

/* Append copies of all targets to the plan. 0 or -1. */
int adapt_add_tensors(struct adapt *a, struct err *e);

/* Set a key to a string. 0 or -1. */
int adapt_put_text(struct model *m, const char *key, const char *text, size_t n,
                   struct err *e);

/* Take items of inner into the store up to the first that comes after its tensors, or until
 * `tensors` of them have come. 0 or -1. */
int adapt_take(struct adapt *a, uint64_t tensors, struct err *e);

/* The next window of a row whose only source is what inner has now: filled from inner, and
 * computed; *n is 0 at its end. adapt_window_zeros: the row's zeros that come next, which inner
 * leaves out. 0 or -1. */
int adapt_window(struct adapt *a, const uint8_t **p, size_t *n, struct err *e);
int adapt_window_zeros(struct adapt *a, uint64_t *n, struct err *e);

/* Append the subject's side files that no form makes anew. 0 or -1. */
int adapt_keep_files(struct adapt *a, struct err *e);

#endif
