/* answer: the head of an HTTP answer, and what its headers say.
 *
 * Every header comes from a stranger. A value that is too long for its field or malformed
 * counts as absent, except where a comment says otherwise. No field holds control
 * characters.
 *
 * Sources: RFC 9110 (ETag, Content-Range, Retry-After, Accept-Ranges), RFC 8288 (Link); the
 * draft "RateLimit header fields for HTTP"; the hub's X-... headers as its Python client
 * reads them; the distribution specification (Docker-Content-Digest).
 */
#ifndef NET_ANSWER_H
#define NET_ANSWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/url.h"

#define HTTP_UNKNOWN UINT64_MAX  /* a length that is not given */
#define HTTP_NO_WAIT UINT32_MAX
#define HTTP_BODY 4096           /* kept of the body of an answer that is not 2xx */

/* Why an exchange failed, for callers that go on. */
enum http_failure {
	HTTP_FINE,
	HTTP_TEMPORARY, /* another try may succeed */
	HTTP_FINAL,     /* it would fail again */
	HTTP_NO_RANGES, /* the server sends the whole file, although a part was asked */
	HTTP_CHANGED    /* the file is not the one of If-Range any more */
};

struct http_answer {
	int status;               /* 0: no answer */
	enum http_failure failure;
	uint64_t length;          /* Content-Length */
	bool ranged;              /* 206 with a valid Content-Range: */
	uint64_t range_from, range_to; /* first byte, and the one after the last */
	uint64_t range_total;     /* or HTTP_UNKNOWN */
	bool accepts_ranges;      /* Accept-Ranges: bytes, or ranged */
	bool bad_range;           /* a Content-Range that is malformed */
	uint32_t retry_after;     /* seconds, from Retry-After or RateLimit; HTTP_NO_WAIT */
	uint64_t linked_size;     /* X-Linked-Size, or HTTP_UNKNOWN */
	uint64_t got;             /* bytes of the body that data was given */
	char etag[256];           /* unchanged, with quotes and W/ */
	char linked_etag[256];    /* X-Linked-Etag, likewise */
	char last_modified[64];
	char repo_commit[64];     /* X-Repo-Commit */
	char error_code[64];      /* X-Error-Code */
	char error_message[256];  /* X-Error-Message */
	char digest[160];         /* Docker-Content-Digest */
	char authenticate[1024];  /* WWW-Authenticate */
	char content_type[128];
	char upload[128];         /* Docker-Upload-UUID */
	char range[64];           /* Range: what of an upload has arrived */
	char location[URL_TEXT];  /* Location, unchanged */
	char next[URL_TEXT];      /* Link: <...>; rel="next" */
	struct url final;         /* the address that answered, after redirects */
	char body[HTTP_BODY + 1]; /* of an answer that is not 2xx, terminated */
	size_t body_bytes;
};

/* Empties a. */
void answer_reset(struct http_answer *a);

/* Reads one line of a head, without its line break: the status line, which empties the
 * fields of an earlier head, or a header. */
void answer_line(struct http_answer *a, const char *line, size_t n);

/* The value of an ETag without W/ and quotes in dst; false if it does not fit or has other
 * characters than printable ASCII. */
bool answer_etag(char *dst, size_t size, const char *etag);

/* Whether the ETag is a strong one, which If-Range needs. */
bool answer_etag_is_strong(const char *etag);

#endif
