/* download: one file from the network to its name in a folder, verified and resumable.
 *
 * The bytes come in pieces of 16 MiB to 1 GiB by range requests, several at a time. They are
 * written to NAME.apr.incomplete in the same folder at their final offsets; a hash follows
 * the first byte that is missing. Only when size and digest hold does the file get its name.
 *
 * A process that ends in between leaves this, and the next one goes on with it:
 *
 *     the file's bytes, with holes
 *     zeros to a multiple of 4096 bytes
 *     "APRPART2", size, bytes of a piece, number of pieces     8 bytes each, little-endian
 *     digest[80], ETag[256]                                    text, filled with zeros
 *     bytes at the beginning of each piece that have arrived   8 bytes each
 *     "APRPART2"
 *
 * The counts are written after the bytes, at least every 64 KiB of a piece; the whole record is
 * cut off before the file gets its name. What it says is only trusted as far as the digest
 * holds in the end: if it does not, the file is fetched anew, once. Without a digest, the ETag
 * must be the same to go on.
 *
 * A file without a length or on a server without ranges comes in one piece and begins anew
 * each time.
 */
#ifndef HUB_DOWNLOAD_H
#define HUB_DOWNLOAD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/err.h"
#include "hub/watch.h"
#include "net/http.h"

#define DOWNLOAD_ENDING ".apr.incomplete"
#define DOWNLOAD_NAME 256
#define DOWNLOAD_WITHOUT_LENGTH (UINT64_C(16) << 30) /* bytes of a file without length */

enum download_kind {
	DOWNLOAD_UNKNOWN, DOWNLOAD_SHA256, DOWNLOAD_GIT /* SHA-1 of "blob SIZE\0" and content */
};

struct download {
	int folder;               /* open folder of the result */
	const char *name;         /* result; NULL: the SHA-256 of the content, 64 digits */
	const char *part;         /* NAME of NAME.apr.incomplete; NULL: name */
	const char *label;        /* for messages */
	const char *url, *authorization;
	const char *const *headers; /* more of the request, as for struct http_request */
	size_t header_count;
	uint64_t size;            /* or HTTP_UNKNOWN */
	enum download_kind kind;
	char digest[65];          /* of that kind */
	const char *sha256_too;   /* another digest that must hold, or NULL */
	char etag[256];           /* strong one, or "" */
	bool ranges;              /* the server is known to serve ranges; else the first request
	                           * finds out */
	bool replace;             /* an existing result may be replaced */
	unsigned jobs;            /* connections */
	unsigned tries;           /* times that a file with a wrong digest is fetched; 0: 2 */
	_Atomic uint64_t *progress; /* bytes so far are added, and taken back; may be NULL */
	void (*note)(const char *text); /* may be NULL */
	struct watch *watch;      /* of a reader that does not wait for the end, or NULL */
	uint64_t head;            /* not 0: fetch about this number of bytes at the beginning. They stay
	                           * in the incomplete file, where the next download finds them */

	/* results */
	char sha256[65];
	uint64_t bytes;           /* of the file */
	uint64_t fetched;         /* over the network, in this process */
	enum http_failure failure; /* of the last request */
	int status;
};

/* Fetches the file. The caller holds a lock for part (cache_lock). Returns 0, or -1 with e
 * filled: ERR_CHECKSUM for a wrong digest or size. */
int download_run(struct download *d, struct web *web, struct err *e);

#endif
