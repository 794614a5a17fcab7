/* hf: the interface of the hub and of mirrors that speak it.
 *
 *     HEAD E/ORG/REPO/resolve/REV/PATH                   facts of a file
 *     GET  E/ORG/REPO/resolve/REV/PATH                   its bytes, after redirects
 *     GET  E/api/models/ORG/REPO/revision/REV            commit, licence, gate
 *     GET  E/api/models/ORG/REPO/tree/REV?recursive=true all files, in pages
 *
 * E is HF_ENDPOINT or https://huggingface.co. The token is HF_TOKEN, HUGGING_FACE_HUB_TOKEN,
 * or the text of the file HF_TOKEN_PATH, $HF_HOME/token or ~/.cache/huggingface/token; it goes
 * to E only. HF_HUB_OFFLINE and TRANSFORMERS_OFFLINE forbid requests.
 *
 * What the hub answers is untrusted: names are checked (hub_path_is_safe), numbers of entries
 * and bytes are bounded, and digests must be hexadecimal.
 *
 * Source: huggingface_hub, _http.py, file_download.py, hf_api.py.
 */
#ifndef HUB_HF_H
#define HUB_HF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hub/cache.h"
#include "hub/download.h"
#include "hub/source.h"
#include "net/http.h"

#define HF_FILES 100000       /* files of a repository at most */
#define HF_PAGES 2000
#define HF_ANSWER (32u << 20) /* bytes of one JSON answer at most */

struct hf {
	char endpoint[URL_TEXT];  /* without "/" at the end */
	char authorization[1100]; /* "Bearer TOKEN", or "" */
	struct http *http;        /* borrowed */
};

/* The endpoint by the environment; ERR_USAGE. */
int hf_endpoint(char endpoint[URL_TEXT], struct err *e);
bool hf_is_offline(void);
/* The file of the token by the environment; false if none is named. */
bool hf_token_path(char *path, size_t size);

/* Reads endpoint and token. token_file: instead of the environment's, or NULL. */
int hf_open(struct hf *h, const char *token_file, struct err *e);
void hf_close(struct hf *h);

/* One file of a repository. */
struct hf_file {
	char *path;
	uint64_t size;
	enum download_kind kind;  /* DOWNLOAD_SHA256 for LFS, else DOWNLOAD_GIT */
	char digest[65];
};

struct hf_listing {
	struct hf_file *files;    /* sorted by path */
	size_t n, cap;
	size_t skipped;           /* entries whose names cannot become files here */
	char skipped_name[80];    /* the first of them, printable */
};
void hf_listing_free(struct hf_listing *l);
/* The file of this path in a finished list, or NULL. */
const struct hf_file *hf_listing_find(const struct hf_listing *l, const char *path);

struct hf_info {
	char commit[CACHE_COMMIT];
	char license[128];        /* "" if the card names none */
	bool gated, private_repo;
};

/* Commit, licence and gate of a revision. */
int hf_info(struct hf *h, const struct hub_source *s, const char *revision,
            struct hf_info *info, struct err *e);

/* All files of a commit. */
int hf_list(struct hf *h, const struct hub_source *s, const char *commit,
            struct hf_listing *l, struct err *e);

/* Facts of one file. *file: path is not set. If the file does not exist (e->missing), commit is
 * the one that lacks it, or "" if the hub does not say that. */
int hf_facts(struct hf *h, const struct hub_source *s, const char *revision,
             const char *path, char commit[CACHE_COMMIT], struct hf_file *file,
             struct err *e);

/* The address of a file's bytes, appended to b. */
void hf_url(struct buf *b, const struct hf *h, const struct hub_source *s,
            const char *revision, const char *path);

/* Fills e for an answer of the hub that is not 2xx. Always -1. */
int hf_refused(const struct hf *h, const struct hub_source *s, const char *path,
               const struct http_answer *a, struct err *e);

/* ---- JSON, for tests and fuzzers ---- */

int hf_parse_info(const void *p, size_t n, struct hf_info *info, struct err *e);
/* Adds one page; after the last one, hf_listing_finish sorts them. */
int hf_parse_list(const void *p, size_t n, struct hf_listing *l, struct err *e);
int hf_listing_finish(struct hf_listing *l, struct err *e);
/* Facts by the headers of an answer to HEAD. */
int hf_parse_facts(const struct http_answer *a, const char *label,
                   char commit[CACHE_COMMIT], struct hf_file *file, struct err *e);

#endif
