/* subject: the model that is adapted or judged, before its tensors: the plan, the side files and long
 * values in memory, its architecture, and its config.json.
 */
#ifndef ARCH_SUBJECT_H
#define ARCH_SUBJECT_H

#include <stdbool.h>
#include <stddef.h>

#include "arch/arch.h"
#include "core/buf.h"
#include "core/err.h"
#include "core/json.h"
#include "model/flow.h"
#include "model/weights.h"

/* All side files and long values together; more is ERR_MEMORY. */
#define SUBJECT_BYTES ((size_t)1 << 30)

struct subject {
	const struct model *plan;  /* the source's, which must outlive the subject's use;
	                            * subject_close does not read it */
	struct weights w;          /* its plan, name, side files and long values; no tensors */
	enum arch_form form;       /* of names and values */
	struct model own;          /* if the names are those of .apr files: the plan with names of
	                            * a folder, to which plan and w.plan then point; form is
	                            * ARCH_FOLDER, and */
	bool apr;                  /* true */
	const struct arch *arch;   /* NULL: not known */
	json_t *config;            /* of config.json, or of the keys of an .apr file that say the
	                            * same; an object; NULL: none */
	void (*note)(const char *); /* receives notes for the user; may be NULL */
	size_t blob_room;          /* length of w.blobs */
	struct buf taking;         /* the blob whose bytes arrive, */
	size_t taken;              /* and the bytes of all */
};

/* The three steps of subject_read, for a caller that passes the bytes on: begin, then the
 * bytes of each blob in their order (index: in the plan; n 0: it begins), then find form and
 * architecture. After a failure only subject_close is allowed, except after subject_find: the
 * blobs can be used. 0 or -1. */
int subject_begin(struct subject *s, const struct source *source, struct err *e);
int subject_take(struct subject *s, size_t index, const uint8_t *p, size_t n, struct err *e);
int subject_find(struct subject *s, const char *name, struct err *e);

/* Read the blobs of a source at its first item, and find form and architecture. next: the
 * item after the blobs; more is false if there is none. name: the architecture if the user
 * gave it (a name of GGUF or a model_type), else NULL: it comes from general.architecture,
 * config.json, or the names of tensors. If nothing says it, arch is NULL; a name without a
 * row is E001, with the nearest known name. subject_close is due in any case. 0 or -1. */
int subject_read(struct subject *s, struct source *source, const char *name,
                 struct item *next, bool *more, struct err *e);
void subject_close(struct subject *s);

/* Only read the blobs, without form and architecture, for a report of a model of any kind. */
int subject_read_blobs(struct subject *s, struct source *source, struct item *next, bool *more,
                       struct err *e);

/* Move the members of the text part of a config.json, which models with other kinds of input
 * have (text_config, and other names), to the top, where they replace others; architectures
 * stays. subject_read does this. Whether there was such a part. */
bool subject_flatten(json_t *config);

/* A side file that is JSON, as a new reference: an object. NULL with e empty if it does not
 * exist, NULL with e filled (ERR_CORRUPT) if it is not an object. */
json_t *subject_json(const struct subject *s, const char *name, struct err *e);

/* Side files that an adaptation makes. All zero at the beginning. */
struct subject_file {
	char *name;
	struct buf bytes;
};
struct subject_files {
	struct subject_file *file;
	size_t count, cap;
};

/* Append a file; takes the bytes. With pretty JSON of v: members indented by two spaces, as
 * the transformers library writes it, and a newline; takes the reference. 0 or -1. */
int subject_add_file(struct subject_files *f, const char *name, struct buf *bytes,
                     struct err *e);
int subject_add_json(struct subject_files *f, const char *name, json_t *v, struct err *e);
void subject_free_files(struct subject_files *f);

/* Give the blobs of a plan the sizes of the files with their names. */
void subject_resize(const struct subject_files *f, struct model *plan);

#endif
