#ifndef NET_SERVER_H
#define NET_SERVER_H

/*
 * A server for tests: a model hub, its CDN and a registry in one process on the loopback. It
 * shares nothing with lib/. `server ROOT` listens on four ports, prints them in one line,
 *
 *   HUB CDN HUB-TLS CDN-TLS
 *
 * and serves until it is killed or the process that started it ends. In ROOT:
 *
 *   models/ORG/REPO/REV/PATH    files of a revision; REV/ of refs/pr/1 is named refs%2Fpr%2F1
 *   models/ORG/REPO/REV.commit  its commit; default: SHA-1 of "ORG/REPO/REV"
 *   models/ORG/REPO/.gated .private .disabled      empty files
 *   models/ORG/REPO/.license    the licence that the model's card names
 *   models/ORG/REPO/.renamed    "ORG/NEW", where relative redirects lead
 *   files/PATH                  plain files, at /files/PATH
 *   v2/NAME/                    of a registry, see registry.c
 *   faults                      rules, see faults.c
 *   log                         written: each request with its headers and status, before the
 *                               answer is sent
 *   ca.pem                      written: the certificate of the CA, made at each start
 *
 * At each HTTP port, /_idle waits until no other request is being answered and prints
 * "REQUESTS BYTES PATH" of each path (bytes of bodies); /_stalled/N waits until N answers have
 * stalled in all. --page N is the number of entries in a page of a listing; --chunk N the size of
 * the parts that LFS objects are uploaded in (default: in one piece); --cdn-host NAME
 * the host that redirects to the CDN name (default 127.0.0.1).
 */

#include <openssl/ssl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LIMIT_HEADERS 100

/* A growing text with a 0 at its end. */
struct text {
	char *at;
	size_t n;
};
void text_add(struct text *t, const void *bytes, size_t n);
void text_print(struct text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
void text_free(struct text *t);

/* One client. */
struct conn {
	int fd;
	SSL *ssl;       /* NULL without TLS */
	bool cdn;       /* it came to the port of the CDN */
	bool broken;    /* the client is gone, or the connection must be closed */
	char ahead[65536];      /* read, and not yet used */
	size_t n;
};
bool conn_write(struct conn *c, const void *bytes, size_t n);
/* Waits until the client closes the connection. */
void conn_wait(struct conn *c);

struct request {
	char *head;             /* owns the texts below */
	const char *method;
	const char *target;     /* as sent */
	char *path;             /* decoded, without the query */
	const char *query;      /* "" if there is none */
	struct {
		const char *name, *value;
	} header[LIMIT_HEADERS];
	size_t headers;
	struct text body;
};
/* Reads a request; false at the end of the connection. */
bool request_read(struct conn *c, struct request *r);
void request_free(struct request *r);
/* Returns the value of a header, or NULL. */
const char *request_header(const struct request *r, const char *name);
/* Returns the decoded value of a member of the query, to be freed, or NULL. */
char *request_query(const struct request *r, const char *name);
/* Decodes %XX in place. */
void decode(char *text);
/* Appends text with all but letters, digits and the characters of "safe" as %XX. */
void encode(struct text *to, const char *text, const char *safe);
/* "http://127.0.0.1:PORT" of the hub or the CDN, with the scheme by which the client came. */
void base_url(const struct conn *c, bool cdn, struct text *to);

/* What a handler answers: a body in memory, or a file. */
struct answer {
	int status;
	struct text headers;    /* "Name: value\r\n" each */
	struct text body;
	int fd;                 /* -1: the body is in memory */
	uint64_t size;          /* of the file */
	char etag[80];          /* without quotes; "" is none */
	bool ranges;            /* the client may ask for ranges */
};
void answer_header(struct answer *a, const char *name, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* A status and a short text as body. */
void answer_text(struct answer *a, int status, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* The hub's way to fail: X-Error-Code (unless NULL) and X-Error-Message. */
void answer_error(struct answer *a, int status, const char *code, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
/* A file below the root as body; false if it cannot be opened. */
bool answer_file(struct answer *a, const char *path);

/* What one rule of the file "faults" does to a request; faults.c describes the members. */
struct fault {
	uint64_t short_at, cut, stall, flip, length;    /* UINT64_MAX: not wanted */
	int status;
	bool noranges, needrange, badrange, chunked, endless, endless_headers, loop, reset;
	char *etag, *location, *body;
	struct text headers;
};
/* Fills in what the rules say about a request, and counts their use. */
void fault_find(const struct request *r, struct fault *f);
void fault_free(struct fault *f);

/* Sends an answer, damaged by f. */
void answer_send(struct conn *c, const struct request *r, struct answer *a, const struct fault *f);

/* Handlers. Each returns false if the path is not its own. */
bool models_serve(struct conn *c, const struct request *r, struct answer *a);
bool upload_serve(struct conn *c, const struct request *r, struct answer *a);
bool registry_upload_serve(struct conn *c, const char *name, const char *kind, const struct request *r,
		struct answer *a);
/* Whether a file is stored by its digest: by its suffix. */
bool is_lfs(const char *path);
bool registry_serve(struct conn *c, const struct request *r, struct answer *a);

/* Lowercase hex of digests. "file": a path below the root; results are remembered until the
 * file changes. */
void sha256_hex(const void *bytes, size_t n, char hex[65]);
bool file_sha256(const char *file, char hex[65]);
/* SHA-1 of a git blob: "blob SIZE\0" and the content. */
bool file_git(const char *file, char hex[65]);
void sha1_hex(const void *bytes, size_t n, char hex[65]);

/* Creates the file below the root and its folders; writes n bytes. */
bool file_write(const char *file, const void *bytes, size_t n);
/* Reads a file below the root; false if it cannot be. */
bool file_read(const char *file, struct text *to);
bool file_exists(const char *file);

/* A context with a new certificate for 127.0.0.1 and localhost, signed by a new CA whose
 * certificate is written to the file. */
SSL_CTX *certificate_new(const char *ca_file);

/* The bytes of bodies, and stalls. */
void count_request(const char *path);
void count_bytes(const char *path, size_t n);
void count_stall(void);

extern struct server {
	const char *root;
	const char *cdn_host;
	size_t page, chunk;
	int port[4];            /* hub, CDN, and both with TLS */
} server;

#endif
