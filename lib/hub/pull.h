/* pull: brings the files of a source to this machine, into a cache or a folder.
 *
 * pull_open asks for the files of the source, their sizes and the licence; offline it reads the
 * cache instead. pull_run fetches what is missing. In between, the caller can show or refuse it.
 *
 * Of a repository with safetensors at its top, files that hold the same weights in other forms
 * (pytorch_model.bin, onnx/, GGUF ...) are left out unless a pattern includes them. A repository
 * of several GGUF files is refused without a choice: they are the same model in other types.
 */
#ifndef HUB_PULL_H
#define HUB_PULL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hub/cache.h"
#include "hub/hf.h"
#include "hub/source.h"
#include "hub/watch.h"

struct pull_options {
	const char *const *include; /* patterns of fnmatch(3) for paths; "*" also matches "/" */
	size_t include_count;
	const char *const *exclude;
	size_t exclude_count;
	const char *sha256;       /* of the only file, or NULL */
	const char *token_file;   /* or NULL */
	unsigned jobs;            /* connections; 0: 4 */
	bool offline;             /* no request */
	bool plan_only;           /* pull_run will not follow: create nothing */
	bool no_cache;            /* into `folder` instead of a cache */
	int folder;               /* open; used if no_cache */
	const char *name;         /* no_cache: name of the only file there; NULL: its own */
	bool replace;             /* no_cache: an existing file may be replaced */
	void (*note)(const char *text);
};

/* One file. */
struct pull_file {
	char *path;               /* in the repository, or the last part of an address */
	uint64_t size;            /* or HTTP_UNKNOWN */
	enum download_kind kind;
	char digest[65];          /* "" if not known */
	bool cached;              /* it was there before */
	bool done;
	char *at;                 /* after pull_run: the file here */
	uint64_t fetched;         /* bytes over the network */
	struct watch *watch;      /* of a reader that does not wait for pull_run, or NULL */
	uint64_t head;            /* while pull_head runs: its bytes */
};

struct pull_artifact;

struct pull {
	const struct pull_options *o;
	const struct hub_source *source;
	struct web *web;
	struct hf hf;
	struct cache_roots roots;
	struct cache_repo repo;   /* hf */
	struct hf_info info;      /* hf: commit and licence */
	bool several;             /* a folder of files; else one file */
	struct pull_file *files;
	size_t n, cap;
	struct pull_artifact *artifact; /* of a registry */
	uint64_t bytes;           /* of all files whose size is known */
	_Atomic uint64_t progress; /* bytes here so far */
	size_t left_out;          /* files that were left out without being asked */
	char left_out_name[80];   /* one of them */
	char etag[256];           /* http: strong one, or "" */
	bool serves_ranges;       /* http */
	char root[CACHE_PATH];    /* after pull_run: the folder of the files, or the file */
};

/* Finds out about the source. Texts of o, source and web are borrowed. 0, or -1; pull_close is
 * due in any case. */
int pull_open(struct pull *p, const struct hub_source *source, const struct pull_options *o,
              struct web *web, struct err *e);

/* Fetches what is missing. */
int pull_run(struct pull *p, struct err *e);

/* While pull_run works in another thread: fetches about this number of bytes at the beginning of
 * a file with a watch, if its turn has not come. If that fails, it comes in its turn. */
void pull_head(struct pull *p, struct pull_file *f, uint64_t bytes);

void pull_close(struct pull *p);

/* Whether a licence forbids commercial use, as far as its name says so. */
bool pull_is_noncommercial(const char *license);

#endif
