/* serve_files: the files of a source, for hub/serve.h.
 */
#ifndef HUB_SERVE_FILES_H
#define HUB_SERVE_FILES_H

#include <pthread.h>

#include "hub/fetch.h"
#include "hub/flow.h"
#include "hub/hf.h"
#include "hub/ranges.h"
#include "hub/serve.h"
#include "hub/source.h"

#define SERVE_FLOW (4u << 20)
#define SERVE_WINDOW (RANGES_WINDOW + SERVE_FLOW)

struct served {
	char *name;              /* in the folder of the source */
	char *label;             /* for messages */
	char *url;               /* NULL: only in the cache */
	bool hub;                /* the hub's token goes with requests, */
	bool registry;           /* or that of the registry */
	uint64_t size;
	enum download_kind kind; /* UNKNOWN: no digest is known */
	char digest[65];
	int own;                 /* an open file with all bytes, or -1 */
	int64_t number;          /* in ranges; -1: not read yet */
	int64_t flowing;         /* in the flow; -1: not one of its files */
	struct content_hash hash;

	/* With the mutex. */
	char etag[256];          /* strong one, or "" */
	char *direct;            /* where the redirects lead, or NULL */
};

struct serve {
	const struct serve_options *o;
	struct web *web;
	struct http *http[RANGES_WORKERS + 1]; /* of the workers, and of this thread; or NULL */
	struct ranges *ranges;
	struct flow *flow;       /* or NULL */
	struct flow flows;       /* flow points here */
	pthread_mutex_t mutex;

	struct hub_source source;
	struct hf hf;
	struct pull artifact;    /* of a registry: what it has; nothing is fetched by it */
	struct pull_options how; /* of artifact */
	struct cache_roots roots;
	char commit[CACHE_COMMIT];
	bool listed;             /* files has all of them */
	struct served **files;   /* the first one is the model, unless it is a folder */
	size_t count, cap;
	bool folder;             /* the model is a folder */
	uint8_t *first;          /* bytes at the beginning of the first file that came with its */
	size_t first_bytes;      /* size; not yet in ranges */
};

/* Finds out what the source is. Afterwards folder or files[0] is set. 0 or -1. */
int serve_open(struct serve *s, const char *text, struct err *e);

/* The same for an artifact of a registry, whose layers become files. */
int serve_open_oci(struct serve *s, struct err *e);

/* Fills files, as far as the source can be listed. 0 or -1. */
int serve_list(struct serve *s, struct err *e);

/* The file of this name, or NULL: e is then filled, with missing if it does not exist. */
struct served *serve_find(struct serve *s, const char *name, uint32_t *number, struct err *e);

/* The file with this number in ranges, or NULL. Any thread may call it. */
struct served *serve_numbered(struct serve *s, uint32_t number);

/* Fetches bytes of a file: the function of struct ranges_ops. */
int serve_fetch(void *serve, unsigned worker, uint32_t file, uint64_t from, uint64_t to,
                const struct ranges_sink *sink, struct err *e);

/* The same with the connection of the thread that serves. */
int serve_fetch_file(struct serve *s, struct served *f, unsigned worker, uint64_t from,
                     uint64_t to, const struct ranges_sink *sink, struct err *e);

/* Fills e for a server that does not send parts of files. Always -1. */
int serve_no_parts(const char *label, struct err *e);

/* The connection of a worker; RANGES_WORKERS: of the thread that serves. */
struct http *serve_connection(struct serve *s, unsigned worker, struct err *e);

/* Appends a file; takes url. NULL with e filled. */
struct served *serve_add(struct serve *s, const char *name, const char *label, char *url,
                         uint64_t size, struct err *e);

/* ---- files of a flow (hub/flow.h), which are in the cache or on their way to it ---- */

/* Starts the pull of the options. Sets what serve_open does. */
int serve_open_flow(struct serve *s, struct err *e);

/* A file that the cache has beside the only one of the pull, or NULL. */
struct served *serve_find_cached(struct serve *s, const char *name, uint32_t *number,
                                 struct err *e);

/* If the file is one of the flow and was in the cache, or `wait`: sets own, once it is there. */
int serve_flowing(struct serve *s, struct served *f, bool wait, struct err *e);

/* Reads as flow_read into the window, which has SERVE_FLOW bytes for it behind those of ranges.
 * *where: their offset. */
int serve_flow_read(struct serve *s, const struct served *f, uint64_t at, uint64_t n,
                    uint8_t *window, uint64_t *where, uint64_t *got, struct err *e);

#endif
