/*
 * A registry (OCI distribution), with the folder ROOT/v2/NAME of each repository:
 *
 *   manifests/TAG and manifests/sha256:HEX, blobs/sha256:HEX
 *   .type       the Content-Type of manifests; default: "mediaType" of the manifest
 *   .token      empty: pulls need a bearer token from /token
 *   .basic      "USER:PASSWORD", which /token demands as Basic credentials
 *   .redirect   empty: blobs are at the CDN, by a redirect
 */
#include "server.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TOKEN "registry-token"

static bool
has(const char *name, const char *mark)
{
	char path[4096];

	snprintf(path, sizeof(path), "v2/%s/%s", name, mark);
	return file_exists(path);
}

/* The registry's way to fail. */
static void
refuse(struct answer *a, int status, const char *code, const char *message)
{
	answer_header(a, "Content-Type", "application/json");
	answer_text(a, status, "{\"errors\":[{\"code\":\"%s\",\"message\":\"%s\"}]}", code, message);
}

/* Compares "Basic BASE64" with "USER:PASSWORD". */
static bool
basic_matches(const char *header, const char *wanted)
{
	unsigned char plain[512] = { 0 };

	if (header == NULL || strncmp(header, "Basic ", 6) != 0 || strlen(header) > 600)
		return false;
	if (EVP_DecodeBlock(plain, (const unsigned char *)header + 6, (int)strlen(header + 6)) < 0)
		return false;
	return strcmp((const char *)plain, wanted) == 0;
}

/* GET /token?service=...&scope=repository:NAME:pull */
static void
token_serve(const struct request *r, struct answer *a)
{
	struct text file = { 0 }, wanted = { 0 };
	char *scope = request_query(r, "scope"), *name = NULL;

	if (scope != NULL && strncmp(scope, "repository:", 11) == 0)
		name = strndup(scope + 11, strcspn(scope + 11, ":"));
	text_print(&file, "v2/%s/.basic", name != NULL ? name : "");
	if (file_read(file.at, &wanted) && wanted.n > 0)
		wanted.at[strcspn(wanted.at, "\n")] = '\0';
	if (name == NULL)
		refuse(a, 400, "DENIED", "no scope");
	else if (wanted.n > 0 && !basic_matches(request_header(r, "authorization"), wanted.at))
		refuse(a, 401, "UNAUTHORIZED", "wrong user or password");
	else
		answer_text(a, 200, "{\"token\":\"%s\",\"expires_in\":300}", TOKEN);
	free(scope);
	free(name);
	text_free(&file);
	text_free(&wanted);
}

static bool
token_demand(struct conn *c, const char *name, const struct request *r, struct answer *a)
{
	const char *auth = request_header(r, "authorization");
	bool pull = strcmp(r->method, "GET") == 0 || strcmp(r->method, "HEAD") == 0;
	struct text realm = { 0 };

	if (!has(name, ".token") || (auth != NULL && strcmp(auth, "Bearer " TOKEN) == 0))
		return false;
	base_url(c, false, &realm);
	answer_header(a, "WWW-Authenticate",
			"Bearer realm=\"%s/token\",service=\"test\",scope=\"repository:%s:%s\"", realm.at, name,
			pull ? "pull" : "pull,push");
	refuse(a, 401, "UNAUTHORIZED", "authentication required");
	text_free(&realm);
	return true;
}

/* The media type that a manifest states, or that the test wants. */
static void
type_answer(struct answer *a, const char *name, const struct text *manifest)
{
	struct text file = { 0 }, type = { 0 };
	json_t *root = json_loadb(manifest->at, manifest->n, 0, NULL);
	const char *stated = json_string_value(json_object_get(root, "mediaType"));

	text_print(&file, "v2/%s/.type", name);
	if (file_read(file.at, &type) && type.n > 0) {
		type.at[strcspn(type.at, "\n")] = '\0';
		stated = type.at;
	}
	answer_header(a, "Content-Type", "%s",
			stated != NULL ? stated : "application/vnd.oci.image.manifest.v1+json");
	json_decref(root);
	text_free(&file);
	text_free(&type);
}

static void
manifest_serve(const char *name, const char *reference, struct answer *a)
{
	struct text file = { 0 };
	char hex[65];

	text_print(&file, "v2/%s/manifests/%s", name, reference);
	if (!file_read(file.at, &a->body) || a->body.n == 0) {
		refuse(a, 404, "MANIFEST_UNKNOWN", "manifest unknown");
	} else {
		sha256_hex(a->body.at, a->body.n, hex);
		type_answer(a, name, &a->body);
		answer_header(a, "Docker-Content-Digest", "sha256:%s", hex);
	}
	text_free(&file);
}

static void
blob_serve(struct conn *c, const char *name, const char *digest, struct answer *a)
{
	struct text file = { 0 };

	text_print(&file, "v2/%s/blobs/%s", name, digest);
	if (!c->cdn && has(name, ".redirect") && file_exists(file.at)) {
		struct text to = { 0 };

		base_url(c, true, &to);
		answer_header(a, "Location", "%s/%s?sig=secret", to.at, file.at);
		answer_text(a, 307, "Temporary Redirect");
		text_free(&to);
	} else if (!answer_file(a, file.at)) {
		refuse(a, 404, "BLOB_UNKNOWN", "blob unknown to registry");
	} else {
		answer_header(a, "Content-Type", "application/octet-stream");
		answer_header(a, "Docker-Content-Digest", "%s", digest);
		snprintf(a->etag, sizeof(a->etag), "%s", digest);
	}
	text_free(&file);
}

/* Serves /v2/NAME/KIND/REFERENCE; NAME may have slashes. */
static bool
content_serve(struct conn *c, const struct request *r, struct answer *a)
{
	char *name = strdup(r->path + 4), *kind = strstr(name, "/manifests/");
	bool read = strcmp(r->method, "GET") == 0 || strcmp(r->method, "HEAD") == 0;
	bool mine = true;

	if (kind == NULL)
		kind = strstr(name, "/blobs/");
	if (kind == NULL) {
		free(name);
		return false;
	}
	*kind++ = '\0';
	if (!c->cdn && token_demand(c, name, r, a))
		;
	else if (!read || strncmp(kind, "blobs/uploads/", 14) == 0)
		mine = registry_upload_serve(c, name, kind, r, a);
	else if (!has(name, ""))
		refuse(a, 404, "NAME_UNKNOWN", "repository name not known to registry");
	else if (strncmp(kind, "manifests/", 10) == 0)
		manifest_serve(name, kind + strlen("manifests/"), a);
	else
		blob_serve(c, name, kind + strlen("blobs/"), a);
	free(name);
	return mine;
}

bool
registry_serve(struct conn *c, const struct request *r, struct answer *a)
{
	if (strcmp(r->path, "/token") == 0) {
		token_serve(r, a);
		return true;
	}
	if (strcmp(r->path, "/v2/") == 0) {
		answer_header(a, "Docker-Distribution-API-Version", "registry/2.0");
		answer_text(a, 200, "{}");
		return true;
	}
	return strncmp(r->path, "/v2/", 4) == 0 && content_serve(c, r, a);
}
