/* manifest: lines of digests, as text or JSON, and compared with a list made earlier.
 *
 *     DIGEST  KIND  NAME  DETAIL       KIND and DETAIL may be missing
 *     HASH      DIGEST  FILE:NAME      the form of llama.cpp's gguf-hash; ":NAME"
 *                                      is missing where the whole model is meant
 *
 * NAME is escaped (core/text.h), so that a line is a line.
 */
#ifndef REPORT_MANIFEST_H
#define REPORT_MANIFEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/buf.h"
#include "core/err.h"
#include "crypto/content.h"
#include "crypto/digest.h"
#include "model/tensor.h"

struct manifest {
	bool json;         /* lines are JSON objects */
	const char *model; /* their member "model", or NULL */
	const char *file;  /* FILE, if lines have gguf-hash's form; else NULL */
	struct manifest_line {
		const char *hash;         /* gguf-hash: "sha256" or "uuid"; else NULL */
		char digest[DIGEST_TEXT]; /* as printed */
		char *text;               /* the rest of the line; JSON: all of it, with "\n" */
	} *lines;
	size_t n, cap;
};

/* The subject of a line. */
struct manifest_entry {
	const char *hash;     /* gguf-hash's name of the hash, a constant; or NULL */
	const char *digest;
	const char *kind;     /* "tensor", "blob", … or NULL */
	const char *name;     /* NULL: the whole model */
	const char *type;     /* a tensor's dtype, a blob's type; or NULL */
	bool shaped;          /* ndim and dims are set */
	unsigned ndim;
	const uint64_t *dims;
};

/* Appends a line in the form that m asks for. Returns 0, or -1 with E008. */
int manifest_add(struct manifest *m, const struct manifest_entry *x, struct err *e);

/* Appends the lines of a content: tensors and blobs by name, its parts, its root. */
int manifest_add_content(struct manifest *m, const struct content *c, struct err *e);

/* Appends the line of a tensor; hash as in struct manifest_entry. */
int manifest_add_tensor(struct manifest *m, const struct tensor *t, const char *hash,
                        const struct digest *d, struct err *e);

/* Appends all lines to b. */
void manifest_put(struct buf *b, const struct manifest *m);

/* Reads a list made earlier from the file at path ("-": standard input). hashes: the list
 * has gguf-hash's form. Lines with hashes that apr-sum does not compute are ignored;
 * manifest_list_ignored returns their number. NULL with e filled: ERR_CORRUPT if the file
 * is not such a list. */
struct manifest_list *manifest_list_open(const char *path, bool hashes, struct err *e);
size_t manifest_list_ignored(const struct manifest_list *l);
void manifest_list_close(struct manifest_list *l);

/* Compare with a list of the same form, in any order. Each line that is not
 * listed, has another digest, or is only in the list becomes a note (report/lines.h).
 * 0 if there is none; else -1 with ERR_NO.
 *
 * Of gguf-hash's lines only what is listed at all (tensors, the whole, the UUID)
 * must be there, and the name of FILE does not matter. */
int manifest_check(const struct manifest *m, struct manifest_list *l, struct buf *notes,
                   struct err *e);

void manifest_free(struct manifest *m);

#endif
