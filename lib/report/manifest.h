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
	bool json;         /* lines are objects */
	const char *model; /* their member "model", or NULL */
	const char *file;  /* what stands for FILE: lines are gguf-hash's. Or NULL */
	struct manifest_line {
		const char *hash;         /* gguf-hash: "sha256" or "uuid"; else NULL */
		char digest[DIGEST_TEXT]; /* as it is printed */
		char *text;               /* the line without these; JSON: all of it, with its end */
	} *lines;
	size_t n, cap;
};

/* What a line is about. */
struct manifest_entry {
	const char *hash;     /* NULL, or a constant: gguf-hash's name of the hash */
	const char *digest;
	const char *kind;     /* "tensor", "blob", … or NULL */
	const char *name;     /* NULL: the whole model */
	const char *type;     /* a tensor's dtype, a blob's type; or NULL */
	bool shaped;          /* ndim and dims tell the shape */
	unsigned ndim;
	const uint64_t *dims;
};

/* Append a line, in the form that m asks for. 0, or -1 with E008. */
int manifest_add(struct manifest *m, const struct manifest_entry *x, struct err *e);

/* The lines of a content: tensors and blobs by name, its parts, its root. */
int manifest_add_content(struct manifest *m, const struct content *c, struct err *e);

/* The line of a tensor; hash as in an entry. */
int manifest_add_tensor(struct manifest *m, const struct tensor *t, const char *hash,
                        const struct digest *d, struct err *e);

/* Append all lines to b. */
void manifest_put(struct buf *b, const struct manifest *m);

/* A list made earlier, read from the file at path ("-": standard input); hashes:
 * in gguf-hash's form. Its lines with hashes that are not computed here are ignored;
 * manifest_list_ignored counts them. NULL with e filled: ERR_CORRUPT if it is not such a
 * list. */
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
