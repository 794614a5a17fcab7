/* stock: what the two caches of this machine hold, and how parts of it are checked and
 * removed.
 *
 * The hub's cache has a folder for each repository, in the layout of the hub's own client:
 *
 *   models--ORG--NAME/            also datasets--, spaces--, kernels--
 *     refs/REVISION               the commit of a branch or tag, as text
 *     blobs/ETAG                  content; the name is its SHA-256, or its git blob id
 *     blobs/ETAG[.X].incomplete   an unfinished download
 *     snapshots/COMMIT/PATH       a relative link to ../../blobs/ETAG; where links are not
 *                                 possible the file itself
 *     trees/COMMIT.json  .no_exist/COMMIT/PATH    what is known about a commit
 *   .locks/FOLDER/ETAG.lock       locked (flock) during a download
 *
 * The cache of these tools has content by digest, and entries that refer to it:
 *
 *   blobs/sha256/HEX                       content; HEX[.X].incomplete as above
 *   oci/REGISTRY/NAME/TAG.json             the manifest of an artifact ("sha256-HEX.json" if it
 *                                          was asked for by digest)
 *   snapshots/HEX/PATH                     hard links to the layers of an artifact of several
 *                                          files; HEX is the SHA-256 of its manifest
 *   urls/HEX.json                          {"url": ..., "sha256": ...}
 *   uploads/HEX.json                       a record of an upload in parts (hub/push_session.h)
 *   .locks/HEX.lock
 *
 * Everything in a cache is untrusted: names, texts, links, and the number of files. A link counts
 * only if its text leads to a file in blobs/ of the same repository. Links are never followed,
 * neither to read nor to remove, except that the root of a cache may be one.
 */
#ifndef HUB_STOCK_H
#define HUB_STOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/err.h"

#define STOCK_NONE SIZE_MAX
#define STOCK_ENTRIES 2000000 /* limit of files and folders in all */

struct stock_blob {
	char *name;          /* in the folder of blobs */
	uint64_t size;
	int64_t used;        /* seconds since 1970: read or written last */
	bool partial;        /* an unfinished download */
	size_t links;        /* files of revisions that need it */
	size_t mark;         /* the last revision that counted it */
	bool doomed;
};

enum stock_state {
	STOCK_WHOLE,         /* a link to a blob, or a digest of a blob, that exists */
	STOCK_OWN,           /* a plain file in the snapshot */
	STOCK_MISSING,       /* the blob does not exist */
	STOCK_OUTSIDE        /* a link to anything but a blob of the repository */
};

struct stock_file {
	char *path;          /* in the snapshot; the digest in an artifact */
	enum stock_state state;
	size_t blob;         /* or STOCK_NONE */
	uint64_t size;
};

/* A commit of a repository, an artifact of a registry, a URL, or the record of an upload. */
struct stock_revision {
	char *name;          /* "org/name", "datasets/org/name", "oci://...", a URL, "upload:OID" */
	char *commit;        /* NULL for artifacts and URLs */
	char *refs;          /* names of branches and tags, with spaces between; or NULL */
	char *entry;         /* its folder in snapshots/, or its file, below the repository */
	char *folder;        /* of an artifact: its folder in snapshots/; else NULL */
	struct stock_file *files;
	size_t n, cap;
	uint64_t size;       /* each blob once */
	int64_t used;        /* when any of its files was read or written last */
	size_t broken;       /* files that are missing or outside */
	bool upload;         /* a record: */
	size_t parts, sent;  /* of the object; parts 0: the file is not a record */
	uint64_t object;     /* bytes of it */
	bool chosen;
};

struct stock_ref {
	char *name, *commit;
};

/* A repository of the hub, or all of the cache of these tools. */
struct stock_repo {
	char *folder;        /* below the root; "" for the cache of these tools */
	char *name;          /* "org/name", "datasets/org/name"; "" likewise */
	struct stock_blob *blobs; /* sorted by name */
	size_t blob_count, blob_cap;
	struct stock_revision *revisions;
	size_t revision_count, revision_cap;
	struct stock_ref *refs;
	size_t ref_count, ref_cap;
	bool chosen;         /* also what no revision needs */
};

struct stock_cache {
	const char *path;
	int fd;              /* -1: the folder does not exist */
	bool apr;            /* the cache of these tools */
	struct stock_repo *repos;
	size_t n, cap;
	size_t links_as_repos; /* folders of repositories that are links: not read */
};

struct stock {
	struct stock_cache hub, apr;
	size_t entries;      /* seen so far */
};

/* Reads the layout of both caches; the paths must outlive s. A cache whose folder does not
 * exist is empty. 0, or -1 with e filled; stock_free in any case. */
int stock_open(struct stock *s, const char *hub, const char *apr, struct err *e);
void stock_free(struct stock *s);

/* Parts of stock_open: the repositories of one cache. */
int stock_read_hub(struct stock *s, struct stock_cache *c, struct err *e);
int stock_read_apr(struct stock *s, struct stock_cache *c, struct err *e);
int stock_read_uploads(struct stock *s, struct stock_cache *c, struct stock_repo *r, struct err *e);

/* Counts an entry; -1 if there are too many. */
int stock_count(struct stock *s, const char *path, struct err *e);

/* Add to a repository. */
struct stock_revision *stock_add_revision(struct stock_repo *r, const char *entry, struct err *e);
struct stock_file *stock_add_file(struct stock_revision *v, const char *path, struct err *e);
size_t stock_find_blob(const struct stock_repo *r, const char *name);

/* The blobs of a folder; missing folders are empty. */
int stock_read_blobs(struct stock *s, int repo, const char *folder, const char *label,
                     struct stock_repo *r, struct err *e);

/* Opens a folder below fd without following links: -1 with errno. */
int stock_folder(int fd, const char *path);

/* Reads a small plain file: 0, -1 if it cannot be read or has more than `limit` bytes. */
struct buf;
int stock_small(int fd, const char *path, size_t limit, struct buf *to);

/* When a file was used last. */
struct stat;
int64_t stock_used(const struct stat *st);

/* Chooses what a name refers to: a repository ("org/name", "hf://org/name",
 * "datasets/org/name"), one of its revisions ("org/name@main", or a commit with at least 7
 * digits), an artifact, a URL or the beginning of an upload's name ("upload:"); NULL: everything. Returns the number of revisions and
 * repositories that it refers to. */
size_t stock_choose(struct stock *s, const char *name);

/* Keeps chosen only what was not used since `before`, a revision at a time. */
void stock_choose_older(struct stock *s, int64_t before);

/* The folder of a repository's blobs. */
const char *stock_blobs_of(const struct stock_cache *c);

/* Opens the folder of a repository: -1 with e filled. */
int stock_repo_open(const struct stock_cache *c, const struct stock_repo *r, struct err *e);

/* ---- check ---- */

enum stock_verdict {
	STOCK_HOLDS,
	STOCK_DIFFERS,       /* the content is not what the name says */
	STOCK_UNKNOWN        /* the name is not a digest */
};

/* Reads a blob and compares it with its name. 0, or -1 with e filled. */
int stock_verify(const struct stock_cache *c, int repo, const struct stock_blob *b,
                 enum stock_verdict *verdict, struct err *e);

/* ---- clear ---- */

struct stock_cleared {
	uint64_t bytes;      /* of blobs and files */
	size_t revisions, busy; /* removed; kept because a download holds a lock */
};

/* Takes the lock of a record of an upload: a descriptor that holds it, or one of these. */
enum { STOCK_BUSY = -1, STOCK_UNLOCKED = -2 };
int stock_lock_upload(int root, const struct stock_revision *v);

/* Removes what is chosen of a repository, or only computes `to` (dry). A revision is kept if a
 * download or upload holds its lock, or that of one of its blobs; `busy` is called with its name. A blob that
 * another revision needs stays. */
int stock_clear(const struct stock_cache *c, struct stock_repo *r, bool dry,
                void (*busy)(const struct stock_repo *, const struct stock_revision *),
                struct stock_cleared *to, struct err *e);

#endif
