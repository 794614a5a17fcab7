/*
 * The registry's interfaces for publishing.
 *
 *   POST  /v2/NAME/blobs/uploads/             begins an upload
 *   PATCH /v2/NAME/blobs/uploads/ID           appends; Content-Range must begin where it ends
 *   GET   /v2/NAME/blobs/uploads/ID           Range: what has arrived
 *   PUT   /v2/NAME/blobs/uploads/ID?digest=   appends the body, if any, and ends
 *   PUT   /v2/NAME/manifests/REFERENCE        all of its blobs must be there
 */
#include "server.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void
refuse(struct answer *a, int status, const char *code)
{
	answer_header(a, "Content-Type", "application/json");
	answer_text(a, status, "{\"errors\":[{\"code\":\"%s\",\"message\":\"%s\"}]}", code, code);
}

static void
progress_answer(struct answer *a, int status, const char *name, const char *id, size_t n)
{
	answer_header(a, "Location", "/v2/%s/blobs/uploads/%s", name, id);
	answer_header(a, "Range", "0-%zu", n > 0 ? n - 1 : 0);
	answer_header(a, "Docker-Upload-UUID", "%s", id);
	answer_text(a, status, "%s", "");
}

static void
begin_serve(const char *name, struct answer *a)
{
	static unsigned turn;
	char id[32], file[512];

	snprintf(id, sizeof(id), "upload-%u", __atomic_add_fetch(&turn, 1, __ATOMIC_RELAXED));
	snprintf(file, sizeof(file), "v2/%s/uploads/%s", name, id);
	file_write(file, "", 0);
	progress_answer(a, 202, name, id, 0);
}

/* Reads what an upload has, and appends the body. False if that begins elsewhere. */
static bool
upload_append(const char *file, const struct request *r, struct text *content)
{
	const char *range = request_header(r, "content-range");

	if (!file_read(file, content))
		return false;
	if (range != NULL && strtoull(range, NULL, 10) != content->n)
		return false;
	text_add(content, r->body.at != NULL ? r->body.at : "", r->body.n);
	return file_write(file, content->at, content->n);
}

static void
end_serve(const char *name, const char *id, const struct request *r, const struct text *content,
		struct answer *a)
{
	char *digest = request_query(r, "digest"), hex[65], file[512];

	sha256_hex(content->at, content->n, hex);
	if (digest == NULL || strncmp(digest, "sha256:", 7) != 0 || strcmp(digest + 7, hex) != 0) {
		refuse(a, 400, "DIGEST_INVALID");
	} else {
		snprintf(file, sizeof(file), "v2/%s/blobs/%s", name, digest);
		file_write(file, content->at, content->n);
		answer_header(a, "Location", "/v2/%s/blobs/%s", name, digest);
		answer_header(a, "Docker-Content-Digest", "%s", digest);
		answer_text(a, 201, "%s", "");
	}
	(void)id;
	free(digest);
}

static void
upload_one_serve(const char *name, const char *id, const struct request *r, struct answer *a)
{
	struct text content = { 0 };
	char file[512];

	snprintf(file, sizeof(file), "v2/%s/uploads/%s", name, id);
	if (!file_exists(file))
		refuse(a, 404, "BLOB_UPLOAD_UNKNOWN");
	else if (strcmp(r->method, "GET") == 0 && file_read(file, &content))
		progress_answer(a, 204, name, id, content.n);
	else if (!upload_append(file, r, &content))
		progress_answer(a, 416, name, id, content.n);
	else if (strcmp(r->method, "PATCH") == 0)
		progress_answer(a, 202, name, id, content.n);
	else
		end_serve(name, id, r, &content, a);
	text_free(&content);
}

static bool
blob_known(const char *name, const json_t *descriptor)
{
	const char *digest = json_string_value(json_object_get(descriptor, "digest"));
	char file[512];

	snprintf(file, sizeof(file), "v2/%s/blobs/%s", name, digest != NULL ? digest : "?");
	return file_exists(file);
}

static void
manifest_store(const char *name, const char *reference, const struct request *r, struct answer *a)
{
	json_t *root = json_loadb(r->body.at != NULL ? r->body.at : "", r->body.n, 0, NULL), *layer;
	bool known = blob_known(name, json_object_get(root, "config"));
	char hex[65], file[1024];
	size_t i;

	json_array_foreach(json_object_get(root, "layers"), i, layer)
		known = known && blob_known(name, layer);
	sha256_hex(r->body.at != NULL ? r->body.at : "", r->body.n, hex);
	if (root == NULL) {
		refuse(a, 400, "MANIFEST_INVALID");
	} else if (!known) {
		refuse(a, 400, "MANIFEST_BLOB_UNKNOWN");
	} else {
		snprintf(file, sizeof(file), "v2/%s/manifests/%s", name, reference);
		file_write(file, r->body.at, r->body.n);
		snprintf(file, sizeof(file), "v2/%s/manifests/sha256:%s", name, hex);
		file_write(file, r->body.at, r->body.n);
		answer_header(a, "Docker-Content-Digest", "sha256:%s", hex);
		answer_text(a, 201, "%s", "");
	}
	json_decref(root);
}

bool
registry_upload_serve(struct conn *c, const char *name, const char *kind, const struct request *r,
		struct answer *a)
{
	(void)c;
	if (strncmp(kind, "blobs/uploads/", 14) == 0) {
		if (kind[14] == '\0' && strcmp(r->method, "POST") == 0)
			begin_serve(name, a);
		else
			upload_one_serve(name, kind + 14, r, a);
		return true;
	}
	if (strncmp(kind, "manifests/", 10) != 0 || strcmp(r->method, "PUT") != 0)
		return false;
	manifest_store(name, kind + 10, r, a);
	return true;
}
