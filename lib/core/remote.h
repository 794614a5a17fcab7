/* remote: models that lie elsewhere, read in place by ranges.
 *
 * The path of such a model is a source: https://HOST/FILE, hf://ORG/REPO, or another that
 * remote_is knows. The process itself has no network: before it enters the sandbox
 * (core/sandbox.h), it starts a helper, the apr-pull beside the program, and keeps one end of
 * a socket to it (core/remote_wire.h).
 *
 * Each remote file has a handle: a descriptor that can be duplicated and has the file's size,
 * but cannot be read or mapped. core/opened.h and core/dir.h give out handles, and
 * core/reader.h, core/range.h and core/map.h read them through this module. Code that reads a
 * descriptor by itself fails with EBADF and never sees wrong bytes. If the helper has the file
 * on disk, its descriptor takes the place of the handle.
 *
 * Functions may be called by several threads.
 */
#ifndef CORE_REMOTE_H
#define CORE_REMOTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "core/err.h"

#define REMOTES 4 /* models that a process reads in this way at once */

/* Whether a path is the source of a remote model. */
bool remote_is(const char *path);

/* The name of an operand for messages and reports: the operand itself, or a URL without what
 * may be secret in it, the user and the query. The name then stands for the source in every
 * other function. file:///PATH becomes the path of a local file. NULL: no memory. */
const char *remote_name(const char *operand);

/* The operand of a name. */
const char *remote_source(const char *name);

/* Starts the helper, or uses one that the caller has a socket to (adopt). Errors are those of
 * the first use. */
void remote_start(const char *path);
void remote_adopt(const char *path, int socket);

/* Ends the helpers and waits for those that this process has started. Handles end too. */
void remote_end(void);

/* The sockets to the helpers, for the sandbox. Returns their number. */
size_t remote_sockets(int sockets[REMOTES]);

/* ---- for core/opened.h and core/dir.h: errors are errno, remote_fail has the reason ---- */

/* Handles of the model's file and of its folder, owned by the caller. */
int remote_file(const char *path);
int remote_folder(const char *path);

/* The size of the file, or that it is a folder; nothing else is set. */
int remote_stat(const char *path, struct stat *st);

/* The same for a name in a folder, which may have "/" in it. */
int remote_open(int folder, const char *name);
int remote_look(int folder, const char *name, struct stat *st);

/* Calls add for the name of each file that is known to be in the folder. 0 or -1. */
int remote_list(int folder, int (*add)(void *ctx, const char *name), void *ctx);

/* ---- for core/reader.h, core/range.h and core/map.h ---- */

/* Whether fd is a handle. */
bool remote_holds(int fd);

/* Reads between 1 and n bytes at this offset of the file, 0 at its end. more: the number of
 * bytes that will be read from there on, if it is known to exceed n. -1 with errno. */
ssize_t remote_read(int fd, uint64_t at, void *p, size_t n, uint64_t more);

/* A descriptor of a file on disk with all bytes of the handle's file, owned by the caller. */
int remote_whole(int fd);

/* After a failure: fills e with its reason, or from errno. Always -1. */
int remote_fail(const char *name, struct err *e);

/* ---- for the library (api/aprml.h) ---- */

/* Reads between 1 and n bytes at this offset, 0 at the end. -1 if that fails. */
struct remote_lender {
	int64_t (*read)(void *ctx, uint64_t at, void *p, size_t n);
	void *ctx;
};

/* A handle, owned by the caller, of a file with this many bytes, which the lender reads until
 * remote_return gets the handle or a duplicate. -1 with errno. */
int remote_lend(const struct remote_lender *lender, uint64_t bytes);
void remote_return(int fd);

/* ---- for the tools ---- */

/* Announces that these bytes of the model's file (NULL), or of one in its folder, will be read,
 * after those announced before; n 0: that was all. Nothing else is then fetched ahead. */
int remote_want(const char *path, const char *file, uint64_t at, uint64_t n, struct err *e);

/* After the model at path has been read: compares the digests of its files with those that
 * its source gives. 0 if they are equal or cannot be compared, which the helper notes; or
 * -1. */
int remote_prove(const char *path, struct err *e);

#endif
