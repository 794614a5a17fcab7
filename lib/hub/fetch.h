/* fetch: the threads of a download (hub/download.h): some fetch pieces, one hashes. */
#ifndef HUB_FETCH_H
#define HUB_FETCH_H

#include "crypto/digest.h"
#include "hub/download.h"
#include "hub/partial.h"

/* SHA-256 of the content, and the hub's SHA-1 of small files. */
struct content_hash {
	bool git;
	struct sha256 sha256;
	struct sha1 sha1;
};
void content_hash_start(struct content_hash *h, enum download_kind kind, uint64_t size);
void content_hash_add(struct content_hash *h, const void *p, size_t n);
/* Writes both as text; git is "" unless asked. 0 or -1. */
int content_hash_finish(struct content_hash *h, char sha256[65], char git[65], struct err *e);
void content_hash_abandon(struct content_hash *h);

/* Fetches what p lacks, and hashes all of it. Sets d->failure and d->status. 0 or -1. */
int fetch_pieces(struct download *d, struct partial *p, struct web *web,
                 struct content_hash *h, struct err *e);

/* Fetches what p lacks of d->head bytes at the beginning, as far as they lie in its first piece. */
int fetch_head(struct download *d, struct partial *p, struct web *web, struct err *e);

/* Fetches a file of unknown length into fd. */
int fetch_stream(struct download *d, int fd, struct web *web, struct content_hash *h,
                 struct err *e);

#endif
