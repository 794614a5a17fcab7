#include "hub/oci.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "crypto/digest.h"
#include "hub/stock.h"

#define LOGINS (1u << 20)

/* ---- names ---- */

void
oci_name(struct oci *o, const struct hub_source *s)
{
	const bool ollama = s->kind == HUB_OLLAMA;
	const char *registry = *s->registry ? s->registry : "registry.ollama.ai";

	/* Names of Docker's own registry, which is at another address. */
	if (strcmp(registry, "docker.io") == 0 || strcmp(registry, "index.docker.io") == 0)
		registry = "registry-1.docker.io";
	snprintf(o->registry, sizeof o->registry, "%s", registry);
	snprintf(o->base, sizeof o->base, "https://%s", registry);
	snprintf(o->name, sizeof o->name, "%s%s", ollama && !strchr(s->name, '/') ? "library/" : "",
	         s->name);
	snprintf(o->reference, sizeof o->reference, "%s", *s->digest ? s->digest
	         : *s->tag ? s->tag : "latest");
	snprintf(o->label, sizeof o->label, "%s", s->label);
}

void
oci_url(struct buf *b, const struct oci *o, const char *kind, const char *reference)
{
	buf_printf(b, "%s/v2/%s/%s/%s", o->base, o->name, kind, reference);
}

/* ---- credentials ---- */

bool
oci_logins_path(char *path, size_t size)
{
	const char *file = getenv("REGISTRY_AUTH_FILE"), *folder = getenv("DOCKER_CONFIG");
	const char *home = getenv("HOME");
	int n = -1;

	if (file && *file)
		n = snprintf(path, size, "%s", file);
	else if (folder && *folder)
		n = snprintf(path, size, "%s/config.json", folder);
	else if (home && *home)
		n = snprintf(path, size, "%s/.docker/config.json", home);
	return n > 0 && (size_t)n < size;
}

static void
read_login(struct oci *o)
{
	struct buf text = { 0 };
	char path[4096];

	o->basic[0] = '\0';
	if (oci_logins_path(path, sizeof path) && stock_small(AT_FDCWD, path, LOGINS, &text) == 0)
		oci_login_parse(text.p, text.n, o->registry, o->basic, sizeof o->basic);
	if (text.p)
		explicit_bzero(text.p, text.n);
	buf_free(&text);
}

/* ---- reaching the registry ---- */

/* A registry on the loopback may speak http: one that answers is used so. */
static void
find_scheme(struct oci *o)
{
	struct http_answer *a = malloc(sizeof *a);
	struct err unused = ERR_INIT;
	struct http_request q = { .stop_redirect = true };
	char base[sizeof o->base], address[sizeof base + 8];
	struct url u;

	snprintf(base, sizeof base, "http://%s", o->registry);
	if (a && url_parse(&u, base, &unused) == 0 && u.loopback) {
		snprintf(address, sizeof address, "%s/v2/", base);
		q.url = address;
		answer_reset(a);
		/* A server that expects TLS closes the connection, or answers 400. */
		if (http_once(o->http, &q, a, &unused) == 0 && a->status != 400)
			memcpy(o->base, base, sizeof base);
	}
	free(a);
}

int
oci_open(struct oci *o, struct web *web, const struct hub_source *s, bool push, struct err *e)
{
	*o = (struct oci){ .push = push };
	oci_name(o, s);
	o->http = http_open(web, e);
	if (!o->http)
		return -1;
	read_login(o);
	find_scheme(o);
	return 0;
}

void
oci_close(struct oci *o)
{
	http_close(o->http);
	explicit_bzero(o->basic, sizeof o->basic);
	explicit_bzero(o->authorization, sizeof o->authorization);
	o->http = NULL;
}

/* ---- tokens ---- */

/* Appends NAME=VALUE to an address. */
static void
add_query(struct buf *b, const char *name, const char *value)
{
	if (!*value)
		return;
	buf_printf(b, "%c%s=", memchr(b->p, '?', b->n) ? '&' : '?', name);
	url_encode(b, value, "");
}

/* Asks the server for tokens. */
static int
ask_token(struct oci *o, const struct oci_challenge *c, struct err *e)
{
	struct http_answer *a = malloc(sizeof *a);
	struct http_request q = { .authorization = *o->basic ? o->basic : NULL, .limit = OCI_TOKEN };
	struct buf address = { 0 }, text = { 0 };
	char scope[400];
	int done = -1;

	snprintf(scope, sizeof scope, "repository:%s:%s", o->name, o->push ? "pull,push" : "pull");
	buf_text(&address, c->realm);
	add_query(&address, "service", c->service);
	/* A challenge may be for less than what is needed. */
	add_query(&address, "scope", o->push || !*c->scope ? scope : c->scope);
	q.url = buf_string(&address);
	if (!a || !q.url)
		err_memory(e);
	else
		done = http_bytes(o->http, &q, &text, a, e);
	if (done == 0 && oci_token_parse(text.p, text.n, o->authorization, sizeof o->authorization) < 0)
		done = err_set(e, ERR_CORRUPT, o->registry, "the server for tokens sent none");
	if (done < 0 && e->code == ERR_ACCESS && !*e->hint)
		err_hint(e, "docker login %.200s writes the credentials that are used", o->registry);
	if (text.p)
		explicit_bzero(text.p, text.n);
	buf_free(&text);
	buf_free(&address);
	free(a);
	return done;
}

/* Gets a new authorization by the challenge of an answer (WWW-Authenticate). */
static int
authorize(struct oci *o, const char *challenge, struct err *e)
{
	struct oci_challenge *c = malloc(sizeof *c);
	struct err why = ERR_INIT;
	struct url realm;
	int done = -1;

	if (!c)
		return err_memory(e);
	oci_challenge_parse(c, challenge);
	if (c->basic && *o->basic) {
		snprintf(o->authorization, sizeof o->authorization, "%s", o->basic);
		done = 0;
	} else if (!c->bearer) {
		err_set(e, ERR_ACCESS, o->label, "the registry refuses the request without credentials");
		err_hint(e, "docker login %.200s writes the credentials that are used", o->registry);
	} else if (url_parse(&realm, c->realm, &why) < 0 || (!realm.https && !realm.loopback)) {
		err_set(e, ERR_ACCESS, o->label, "the registry names no server for tokens with https");
	} else {
		done = ask_token(o, c, e);
	}
	free(c);
	return done;
}

/* ---- exchanges ---- */

/* The same as http_get does. */
static int
get(struct oci *o, struct http_request *q, struct http_answer *a, struct err *e)
{
	struct err why = ERR_INIT;

	q->authorization = *o->authorization ? o->authorization : NULL;
	if (http_get(o->http, q, a, &why) == 0)
		return 0;
	if (a->status != 401 || authorize(o, a->authenticate, e) < 0) {
		if (e->code == ERR_NONE)
			*e = why;
		return -1;
	}
	q->authorization = o->authorization;
	return http_get(o->http, q, a, e);
}

int
oci_once(struct oci *o, struct http_request *q, struct http_answer *a, struct err *e)
{
	q->authorization = *o->authorization ? o->authorization : NULL;
	if (http_once(o->http, q, a, e) < 0)
		return -1;
	if (a->status != 401)
		return 0;
	if (authorize(o, a->authenticate, e) < 0)
		return -1;
	q->authorization = o->authorization;
	return http_once(o->http, q, a, e);
}

/* ---- manifests ---- */

static int
add_bytes(void *ctx, const void *p, size_t n, struct err *e)
{
	struct buf *b = ctx;

	buf_put(b, p, n);
	return buf_ok(b) ? 0 : err_memory(e);
}

static int
forget_bytes(void *ctx, struct err *e)
{
	(void)e;
	buf_clear(ctx);
	return 0;
}

int
oci_manifest_digest(const struct buf *text, char digest[OCI_DIGEST], struct err *e)
{
	char hex[DIGEST_TEXT];
	struct digest d;

	if (sha256_of(text->p, text->n, &d) < 0)
		return err_memory(e);
	snprintf(digest, OCI_DIGEST, "sha256:%s", digest_text(hex, &d));
	return 0;
}

static int
check_manifest(const struct oci *o, const char *reference, const struct buf *text,
               const char *stated, char digest[OCI_DIGEST], struct err *e)
{
	const char *wanted = oci_digest_is_valid(reference) ? reference : stated;

	if (oci_manifest_digest(text, digest, e) < 0)
		return -1;
	if (oci_digest_is_valid(wanted) && strcmp(wanted, digest) != 0)
		return err_set(e, ERR_CHECKSUM, o->label, "the manifest arrived with the digest %s, not %s",
		               digest, wanted);
	return 0;
}

int
oci_fetch_manifest(struct oci *o, const char *reference, struct buf *text,
                   char digest[OCI_DIGEST], struct err *e)
{
	static const char *const headers[] = { OCI_ACCEPT };
	struct http_answer *a = malloc(sizeof *a);
	struct http_request q = { .headers = headers, .header_count = 1, .limit = OCI_MANIFEST,
		.data = add_bytes, .again = forget_bytes, .ctx = text };
	struct buf address = { 0 };
	int done = -1;

	oci_url(&address, o, "manifests", reference);
	q.url = buf_string(&address);
	buf_clear(text);
	if (!a || !q.url) {
		err_memory(e);
	} else {
		answer_reset(a);
		done = get(o, &q, a, e);
	}
	if (done < 0 && a && a->status == 404) {
		*e = (struct err)ERR_INIT;
		err_set(e, ERR_IO, o->label, "does not exist in the registry");
		e->missing = 1;
	}
	if (done == 0)
		done = check_manifest(o, reference, text, a->digest, digest, e);
	buf_free(&address);
	free(a);
	return done;
}
