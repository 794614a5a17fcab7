/* http: requests over http and https, by libcurl, which only http.c includes.
 *
 * Nothing else is spoken. Plain http goes to the loopback only, unless the user allows it
 * (insecure_http), because whoever is on the way could read and change it. Redirects are
 * followed here and not by the library: at most HTTP_REDIRECTS, never from https to http,
 * and credentials stay at the origin (scheme, host, port) that they were given for. Proxies
 * come from the environment, as curl has it; ~/.netrc (or NETRC) is used for the first host
 * of a request without credentials of its own. Certificates are always verified, against
 * the system's, or those of CURL_CA_BUNDLE or SSL_CERT_FILE, SSL_CERT_DIR.
 *
 * A header or message never contains a credential, nor the query of an address.
 */
#ifndef NET_HTTP_H
#define NET_HTTP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/buf.h"
#include "core/err.h"
#include "net/answer.h"

#define HTTP_REDIRECTS 8
#define HTTP_HEADERS (64u << 10) /* bytes of an answer's head at most */
#define HTTP_SMALL (1u << 20)    /* bytes of a body if the request sets no limit */
#define HTTP_WAIT_MAX 300        /* seconds that a server may ask to wait */

struct web_options {
	const char *agent;         /* User-Agent */
	const char *const *maps;   /* "OLD=NEW": requests to host OLD (or OLD:PORT) go to NEW, */
	size_t map_count;          /* "HOST[:PORT]" or "http[s]://HOST[:PORT]" */
	bool insecure_http;        /* plain http to any host; without credentials */
	unsigned connect;          /* seconds for a connection; 0: 10 */
	unsigned stall;            /* seconds without a byte before a connection is given up; 0: 30 */
	unsigned tries;            /* without progress, per request; 0: 5 */
	unsigned wait;             /* milliseconds before the second try, then doubled, to 8 times
	                            * this; each wait is up to a quarter longer by chance; 0: 1000 */
	void (*note)(const char *text); /* told about each new try; may be NULL; from any thread */
};

/* Settings of a process. Threads may share one. The options' texts are borrowed. NULL with
 * ERR_USAGE for a map that is not valid. */
struct web;
struct web *web_open(const struct web_options *o, struct err *e);
void web_close(struct web *w);

/* A connection for one thread at a time; it is kept open between requests, also after http_close
 * for the next http_open. */
struct http;
struct http *http_open(struct web *w, struct err *e);
void http_close(struct http *h);

struct http_request {
	const char *method;        /* NULL: GET */
	const char *url;
	const char *const *headers; /* "Name: value", without the ones that follow */
	size_t header_count;
	const char *authorization; /* the value of the header, as "Bearer TOKEN"; for the first
	                            * origin only, and never over plain http beyond the loopback */
	uint64_t from, to;         /* bytes [from, to) of the body; to 0: to the end */
	const char *if_range;      /* a strong ETag with its quotes, or NULL */
	uint64_t held;             /* bytes that the kernel may hold for this process, if that needs
	                            * a new connection; 0: what the system chooses */
	uint64_t limit;            /* bytes of the body at most; 0: to - from, or HTTP_SMALL */
	const void *body;          /* sent with the request: body_bytes at body, */
	int body_file;             /* or, if body is NULL and body_bytes is not 0, in this file */
	uint64_t body_from;        /* from this offset on */
	uint64_t body_bytes;
	bool stop_absolute;        /* a redirect that names a host is the answer (the hub's HEAD) */
	bool stop_redirect;        /* any redirect is the answer */
	const atomic_bool *stop;   /* becomes true when the request is to end early; or NULL */

	/* head: after the head of a 2xx answer, before its data; -1 ends the request. data: the
	 * bytes of a 2xx answer in order. again: what was given so far is void, as the body
	 * begins anew; NULL: such a body is refused. All return 0, or -1 with e filled. */
	int (*head)(void *ctx, const struct http_answer *a, struct err *e);
	int (*data)(void *ctx, const void *p, size_t n, struct err *e);
	int (*again)(void *ctx, struct err *e);
	void *ctx;
};

/* One exchange, with its redirects. Returns 0 if an answer has arrived whole, whatever its
 * status; else -1 with e filled and the kind in a->failure. */
int http_once(struct http *h, const struct http_request *q, struct http_answer *a,
              struct err *e);

/* An exchange that is tried again after temporary failures (408, 429, 500, 502 to 504,
 * connections that fail, stall or end early), honours Retry-After up to HTTP_WAIT_MAX, and
 * goes on behind the last byte that data was given. Returns 0 if a 2xx answer has arrived
 * whole: with `to`, exactly to - from bytes. -1 for any other status (http_refused). */
int http_get(struct http *h, const struct http_request *q, struct http_answer *a,
             struct err *e);

/* Fills e for an answer that is not 2xx. ERR_ACCESS for 401, 403, 407 and 451, ERR_IO (missing)
 * for 404 and 410, else ERR_NETWORK. Always -1. */
int http_refused(const struct http_answer *a, const char *url, struct err *e);

/* http_get of at most `limit` bytes (0: HTTP_SMALL) into b, which is emptied first. data, head
 * and again of q are not used. */
int http_bytes(struct http *h, const struct http_request *q, struct buf *b,
               struct http_answer *a, struct err *e);

/* The facts of a file: length, ETag, whether ranges work. By HEAD; if the server refuses that
 * (signed addresses are good for GET only), by GET of the first byte, in which case length is
 * the total. */
int http_facts(struct http *h, const char *url, const char *authorization,
               struct http_answer *a, struct err *e);

/* Seconds with a fraction, of a clock that only goes forward. */
double http_clock(void);

#endif
