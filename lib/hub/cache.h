/* cache: files that were fetched, where the hub's Python client keeps them too.
 *
 *     ROOT/CACHEDIR.TAG
 *     ROOT/.locks/models--ORG--REPO/NAME.lock      flock(2)
 *     ROOT/models--ORG--REPO/refs/REVISION         the commit, 40 digits without a line break
 *     ROOT/models--ORG--REPO/blobs/NAME            content; NAME is its SHA-256 (LFS), or the
 *                                                  SHA-1 of its git blob (small files)
 *     ROOT/models--ORG--REPO/snapshots/COMMIT/PATH a relative link to ../../blobs/NAME, with one
 *                                                  more "../" for each folder in PATH; where links
 *                                                  cannot be made, the file itself
 *     ROOT/models--ORG--REPO/.no_exist/COMMIT/PATH empty: the file does not exist there
 *
 * ROOT is HF_HUB_CACHE, HUGGINGFACE_HUB_CACHE, HF_HOME/hub, XDG_CACHE_HOME/huggingface/hub or
 * ~/.cache/huggingface/hub, the first that is set. What does not come from the hub is in the
 * cache of these tools, APR: APR_CACHE, XDG_CACHE_HOME/apr or ~/.cache/apr:
 *
 *     APR/blobs/sha256/HEX       content of registries and web addresses
 *     APR/urls/SHA256.json       facts of a web address: {"url","etag","size","sha256"}
 *     APR/.locks/NAME.lock
 *
 * A blob gets its name only when its digest holds; until then it is NAME.apr.incomplete beside
 * it (hub/download.h). Links are made after the blob, a ref after the links.
 *
 * Source: huggingface_hub, file_download.py and constants.py.
 */
#ifndef HUB_CACHE_H
#define HUB_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/err.h"

#define CACHE_PATH 4096

struct cache_roots {
	char hub[CACHE_PATH], apr[CACHE_PATH]; /* absolute, without "/" at the end */
};

/* The roots by the environment; they need not exist. "~" and $NAME in a value are expanded.
 * ERR_USAGE if one is too long or HOME is needed and not set. */
int cache_roots(struct cache_roots *r, struct err *e);

/* The folder of a repository: its path, and the folder itself, open. */
struct cache_repo {
	char path[CACHE_PATH];   /* ROOT/models--ORG--REPO */
	char locks[CACHE_PATH];  /* ROOT/.locks/models--ORG--REPO */
	int fd;                  /* -1: does not exist */
};

/* make: creates what is missing, with blobs, and CACHEDIR.TAG; else fd may be -1. */
int cache_repo_open(struct cache_repo *c, const struct cache_roots *r, const char *org,
                    const char *repo, bool make, struct err *e);
void cache_repo_close(struct cache_repo *c);

#define CACHE_COMMIT 41

/* Whether text is 40 lower-case hexadecimal digits. */
bool cache_is_commit(const char *text);

/* The commit of a revision: the revision itself if it is 40 digits, else what refs/ has. False
 * if the cache does not know it. */
bool cache_ref(const struct cache_repo *c, const char *revision, char commit[CACHE_COMMIT]);
int cache_ref_write(const struct cache_repo *c, const char *revision, const char *commit,
                    struct err *e);

/* Whether a file of a commit is there, following its link to blobs. blob: NULL, or room for the
 * name of the blob it leads to; "" if the file is not a link. */
bool cache_has(const struct cache_repo *c, const char *commit, const char *path,
               char blob[65]);

/* Whether the cache knows that a commit has no file of this path. */
bool cache_lacks(const struct cache_repo *c, const char *commit, const char *path);
/* Keeps that. Failure only costs a request. */
void cache_lack(const struct cache_repo *c, const char *commit, const char *path);

/* Whether the cache has a blob of this size. */
bool cache_has_blob(const struct cache_repo *c, const char *name, uint64_t size);

/* Makes the link from the snapshot to the blob; an existing one is replaced. If the file system
 * has no links, moves the blob there. */
int cache_link(const struct cache_repo *c, const char *commit, const char *path,
               const char *blob, struct err *e);


/* Creates a folder and those above it that are missing. 0 or -1 with errno. */
int cache_folders(const char *path);
/* The same for the folders of PATH below the open folder fd. */
int cache_folders_at(int fd, const char *path);

/* Waits for a lock and takes it: flock of the file FOLDER/NAME.lock. waits, if not NULL, is
 * called before waiting. Returns a descriptor whose closing releases it, or -1 with e filled. */
int cache_lock(const char *folder, const char *name, void (*waits)(const char *name),
               struct err *e);

#endif
