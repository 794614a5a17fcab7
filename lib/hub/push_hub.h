/* push_hub: what the files of the push to the hub share. */
#ifndef HUB_PUSH_HUB_H
#define HUB_PUSH_HUB_H

#include "core/json.h"
#include "hub/hf.h"
#include "hub/push.h"

struct to_hub {
	struct push *p;
	struct hf hf;
	struct http_answer *answer; /* the last one */
	const char *revision;
	char uploads[CACHE_PATH];   /* the folder of records (hub/push_session.h); "" without */
};

/* Sends bytes of a file to a signed address. etag: of the answer, or NULL. */
int push_put_bytes(struct to_hub *h, const struct push_file *f, const char *address, uint64_t from,
                   uint64_t n, const char *const *headers, size_t count, char etag[256],
                   struct err *e);

/* Sends an object in parts of `size` bytes, as decimal text, whose addresses are in header; address
 * joins them. Parts that an earlier process has sent are not sent again. */
int push_put_parts(struct to_hub *h, const struct push_file *f, const char *address,
                   const json_t *header, const char *size, struct err *e);

#endif
