/* oci: a client of registries (OCI distribution specification 1.1).
 *
 *     GET  R/v2/NAME/manifests/REFERENCE     a tag or a digest
 *     GET  R/v2/NAME/blobs/DIGEST            with redirects to other hosts
 *
 * R is https://REGISTRY; a registry on the loopback may also speak http. A registry that answers 401
 * names a server for tokens (WWW-Authenticate: Bearer realm, service, scope), which is asked
 * with the user's credentials, if there are any, or asks for them itself (Basic). Credentials are
 * those that "docker login" or "podman login" wrote: the member auths.REGISTRY.auth of the file
 * REGISTRY_AUTH_FILE, DOCKER_CONFIG/config.json or ~/.docker/config.json. They go to the
 * registry and to the server for tokens that it names, over https or the loopback only; a token
 * goes to the registry only.
 */
#ifndef HUB_OCI_H
#define HUB_OCI_H

#include <stdbool.h>
#include <stddef.h>

#include "core/buf.h"
#include "core/err.h"
#include "hub/oci_manifest.h"
#include "hub/source.h"
#include "net/http.h"

#define OCI_TOKEN 16384

struct oci {
	struct http *http;
	char registry[URL_HOST + 8]; /* HOST[:PORT] */
	char base[URL_HOST + 16];    /* https://HOST[:PORT] */
	char name[300];              /* of the repository */
	char reference[160];         /* tag or digest */
	char label[512];             /* for messages */
	bool push;                   /* tokens must allow to write */
	char basic[2048];            /* "Basic ...", or "" */
	char authorization[OCI_TOKEN]; /* of requests to the registry, or "" */
};

/* Fills in what follows from the source alone: defaults of registry, name and tag. Makes no
 * request. */
void oci_name(struct oci *o, const struct hub_source *s);

/* Reads credentials and finds out how the registry is reached. 0 or -1; oci_close in any
 * case. */
int oci_open(struct oci *o, struct web *web, const struct hub_source *s, bool push,
             struct err *e);
void oci_close(struct oci *o);

/* The file of logins by the environment; it need not exist. False if there cannot be one. */
bool oci_logins_path(char *path, size_t size);

/* Makes an exchange as http_once does, with the authorization of o; one that is refused for lack
 * of a token is made again with one. */
int oci_once(struct oci *o, struct http_request *q, struct http_answer *a, struct err *e);

/* Fetches the manifest of a reference into text, and checks it against its digest: that of the
 * reference, or the one that the registry states. digest: of the text. */
int oci_fetch_manifest(struct oci *o, const char *reference, struct buf *text,
                       char digest[OCI_DIGEST], struct err *e);

/* The digest of a manifest's text, "sha256:HEX". */
int oci_manifest_digest(const struct buf *text, char digest[OCI_DIGEST], struct err *e);

/* Appends the address "R/v2/NAME/KIND/REFERENCE". */
void oci_url(struct buf *b, const struct oci *o, const char *kind, const char *reference);

/* ---- what strangers write, for tests and fuzzers ---- */

struct oci_challenge {
	bool bearer, basic;
	char realm[2048], service[512], scope[1024];
};

/* Reads WWW-Authenticate: a scheme and its parameters, quoted or not. Members that do not fit or
 * are malformed stay empty. */
void oci_challenge_parse(struct oci_challenge *c, const char *text);

/* Reads the token of an answer: {"token": ...} or {"access_token": ...}, printable ASCII. 0 or
 * -1. */
int oci_token_parse(const void *text, size_t n, char *to, size_t size);

/* The credentials of a registry in a file of logins, as "Basic ...". False if it has none. */
bool oci_login_parse(const void *text, size_t n, const char *registry, char *to, size_t size);

#endif
