/* pull_parts: what the files of hub/pull.h share: a function for each kind of source. */
#ifndef HUB_PULL_PARTS_H
#define HUB_PULL_PARTS_H

#include "hub/pull.h"

/* Adds a file. NULL with e filled. */
struct pull_file *pull_add(struct pull *p, const char *path, uint64_t size,
                           enum download_kind kind, const char *digest, struct err *e);

/* Leaves out files by --include, --exclude and the rules of hub/pull.h; refuses an empty or
 * unclear choice. */
int pull_choose(struct pull *p, struct err *e);

/* Find out about a source of one kind, and bring one of its files; `job` connections. */
int pull_open_hf(struct pull *p, struct err *e);
int pull_get_hf(struct pull *p, struct pull_file *f, unsigned jobs, struct err *e);
int pull_open_http(struct pull *p, struct err *e);
int pull_get_http(struct pull *p, struct pull_file *f, unsigned jobs, struct err *e);

int pull_open_oci(struct pull *p, struct err *e);
int pull_get_oci(struct pull *p, struct pull_file *f, unsigned jobs, struct err *e);

/* Appends the address of a layer. */
void pull_oci_url(const struct pull *p, const struct pull_file *f, struct buf *b);

/* What a request for the address of a layer is authorized by, "" without: in `to`, OCI_TOKEN
 * bytes. refused: NULL, or what the registry did not take: a new one is asked for, unless another
 * thread has done so. 0 or -1. */
int pull_oci_token(struct pull *p, const char *url, const char *refused, char *to, struct err *e);

/* After the last file. */
int pull_finish_oci(struct pull *p, struct err *e);
void pull_close_oci(struct pull *p);

/* Opens the folder of a path below o->folder, which is made, and sets *name to the last part of
 * path. -1 with e filled. */
int pull_open_target(struct pull *p, const char *path, const char **name, struct err *e);

/* Sets f->at to FOLDER/NAME. */
int pull_set_place(struct pull_file *f, const char *folder, const char *name, struct err *e);

/* Fetches f by d, whose folder, name, part and label are set, under a lock of this name, unless
 * has(ctx) finds that another process has done it meanwhile. */
int pull_fetch(struct pull *p, struct pull_file *f, struct download *d, const char *locks,
               const char *lock, bool (*has)(void *ctx), void *ctx, struct err *e);

#endif
