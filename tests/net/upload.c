/*
 * The hub's interfaces for publishing. The token must be "hf_reader".
 *
 *   POST /api/repos/create                        {"name", "organization", "private"}
 *   POST /api/models/ORG/REPO/preupload/REV       which files are LFS files: by their suffix
 *   POST /ORG/REPO.git/info/lfs/objects/batch     where to put them: nowhere if they are known
 *   PUT  CDN/lfs/OID?sig=secret                   a whole object
 *   PUT  CDN/lfs/OID/N?sig=secret                 part N of an object, with --chunk N
 *   POST CDN/lfs/OID?sig=secret                   {"parts": [{"partNumber", "etag"}]}: joins them
 *   POST /ORG/REPO.git/info/lfs/verify            {"oid", "size"}
 *   POST /api/models/ORG/REPO/commit/REV          lines of JSON: header, file, lfsFile, deletedFile
 *
 * Objects are in ROOT/lfs/OID. A commit puts its files into models/ORG/REPO/REV, all or none.
 */
#include "server.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool
refuse_stranger(const struct request *r, struct answer *a)
{
	const char *auth = request_header(r, "authorization");

	if (auth != NULL && strcmp(auth, "Bearer hf_reader") == 0)
		return false;
	if (auth == NULL)
		answer_error(a, 401, NULL, "Invalid username or password.");
	else
		answer_error(a, 403, NULL, "You don't have the rights to write here.");
	return true;
}

static void
json_answer(struct answer *a, json_t *value)
{
	char *text = json_dumps(value, JSON_COMPACT);

	answer_header(a, "Content-Type", "application/json; charset=utf-8");
	answer_text(a, 200, "%s", text);
	free(text);
	json_decref(value);
}

static const char *
member(const json_t *o, const char *name)
{
	const char *text = json_string_value(json_object_get(o, name));

	return text != NULL ? text : "";
}

static void
create_serve(const json_t *body, struct answer *a)
{
	struct text file = { 0 };

	text_print(&file, "models/%s/%s/main/.gitattributes", member(body, "organization"),
			member(body, "name"));
	if (file_exists(file.at)) {
		answer_error(a, 409, NULL, "You already created this model repo");
	} else {
		file_write(file.at, "", 0);
		if (json_is_true(json_object_get(body, "private"))) {
			file.n = 0;
			text_print(&file, "models/%s/%s/.private", member(body, "organization"),
					member(body, "name"));
			file_write(file.at, "", 0);
		}
		json_answer(a, json_pack("{s:s}", "url", "created"));
	}
	text_free(&file);
}

static void
preupload_serve(const json_t *body, struct answer *a)
{
	json_t *files = json_array(), *file;
	size_t i;

	json_array_foreach(json_object_get(body, "files"), i, file)
		json_array_append_new(files, json_pack("{s:s,s:s,s:b}", "path", member(file, "path"),
				"uploadMode", is_lfs(member(file, "path")) ? "lfs" : "regular", "shouldIgnore", 0));
	json_answer(a, json_pack("{s:o}", "files", files));
}

/* What the client is to do with an object. */
static json_t *
actions_new(struct conn *c, const char *repo, const char *oid, uint64_t size)
{
	struct text href = { 0 }, verify = { 0 };
	json_t *header = json_object(), *actions;

	base_url(c, true, &href);
	text_print(&href, "/lfs/%s", oid);
	base_url(c, false, &verify);
	text_print(&verify, "/%s/info/lfs/verify", repo);
	if (server.chunk > 0 && size > server.chunk) {
		char number[32];

		snprintf(number, sizeof(number), "%zu", server.chunk);
		json_object_set_new(header, "chunk_size", json_string(number));
		for (uint64_t i = 1; (i - 1) * server.chunk < size; i++) {
			struct text part = { 0 };

			text_print(&part, "%s/%llu?sig=secret", href.at, (unsigned long long)i);
			snprintf(number, sizeof(number), "%05llu", (unsigned long long)i);
			json_object_set_new(header, number, json_string(part.at));
			text_free(&part);
		}
	}
	text_print(&href, "?sig=secret");
	actions = json_pack("{s:{s:s,s:o},s:{s:s}}", "upload", "href", href.at, "header", header,
			"verify", "href", verify.at);
	text_free(&href);
	text_free(&verify);
	return actions;
}

static void
batch_serve(struct conn *c, const char *repo, const json_t *body, struct answer *a)
{
	json_t *objects = json_array(), *object;
	bool parts = false;
	size_t i;

	json_array_foreach(json_object_get(body, "objects"), i, object) {
		const char *oid = member(object, "oid");
		uint64_t size = (uint64_t)json_integer_value(json_object_get(object, "size"));
		json_t *made = json_pack("{s:s,s:I}", "oid", oid, "size", (json_int_t)size);
		char file[128];

		snprintf(file, sizeof(file), "lfs/%.64s", oid);
		if (!file_exists(file))
			json_object_set_new(made, "actions", actions_new(c, repo, oid, size));
		parts |= server.chunk > 0 && size > server.chunk;
		json_array_append_new(objects, made);
	}
	json_answer(a, json_pack("{s:s,s:o}", "transfer", parts ? "multipart" : "basic", "objects", objects));
}

/* Stores an object whose digest holds. */
static void
object_store(const char *oid, const struct text *content, struct answer *a)
{
	char hex[65], file[128];

	sha256_hex(content->at, content->n, hex);
	snprintf(file, sizeof(file), "lfs/%.64s", oid);
	if (strcmp(hex, oid) != 0)
		answer_text(a, 400, "BadDigest");
	else if (file_write(file, content->at != NULL ? content->at : "", content->n))
		answer_text(a, 200, "{}");
	else
		answer_text(a, 500, "not written");
}

/* Joins the parts of an object. */
static void
parts_join(const char *oid, const json_t *body, struct answer *a)
{
	struct text content = { 0 };
	json_t *part;
	size_t i;

	json_array_foreach(json_object_get(body, "parts"), i, part) {
		struct text file = { 0 }, piece = { 0 };
		char hex[65];

		text_print(&file, "parts/%s.%lld", oid,
				(long long)json_integer_value(json_object_get(part, "partNumber")));
		file_read(file.at, &piece);
		sha256_hex(piece.at != NULL ? piece.at : "", piece.n, hex);
		if (strstr(member(part, "etag"), hex) != NULL)
			text_add(&content, piece.at, piece.n);
		text_free(&file);
		text_free(&piece);
	}
	object_store(oid, &content, a);
	text_free(&content);
}

/* The CDN's side: /lfs/OID[/N]. */
static void
object_serve(const struct request *r, struct answer *a)
{
	char oid[65] = "", *signature = request_query(r, "sig");
	const char *part = strchr(r->path + 5, '/');

	snprintf(oid, sizeof(oid), "%.64s", r->path + 5);
	if (signature == NULL || strcmp(signature, "secret") != 0) {
		answer_text(a, 403, "AccessDenied");
	} else if (request_header(r, "authorization") != NULL) {
		answer_text(a, 400, "Only one auth mechanism allowed");
	} else if (part != NULL && strcmp(r->method, "PUT") == 0) {
		char file[256];

		snprintf(file, sizeof(file), "parts/%s.%s", oid, part + 1);
		file_write(file, r->body.at != NULL ? r->body.at : "", r->body.n);
		sha256_hex(r->body.at != NULL ? r->body.at : "", r->body.n, a->etag);
		answer_text(a, 200, "%s", "");
	} else if (strcmp(r->method, "PUT") == 0) {
		object_store(oid, &r->body, a);
	} else {
		json_t *body = json_loadb(r->body.at != NULL ? r->body.at : "", r->body.n, 0, NULL);

		parts_join(oid, body, a);
		json_decref(body);
	}
	free(signature);
}

static void
verify_serve(const json_t *body, struct answer *a)
{
	char file[128];

	snprintf(file, sizeof(file), "lfs/%.64s", member(body, "oid"));
	answer_text(a, file_exists(file) ? 200 : 404, "%s", "");
}

/* One line of a commit; write: does it, else only checks it. */
static bool
line_commit(const char *folder, const json_t *line, bool write)
{
	const char *key = member(line, "key");
	const json_t *value = json_object_get(line, "value");
	struct text file = { 0 }, content = { 0 };
	bool ok = true;

	text_print(&file, "%s/%s", folder, member(value, "path"));
	if (strcmp(key, "file") == 0) {
		const char *text = member(value, "content");
		size_t n = strlen(text);
		unsigned char *plain = calloc(1, n + 4);
		int k = EVP_DecodeBlock(plain, (const unsigned char *)text, (int)n);

		for (size_t i = n; k > 0 && i > 0 && text[i - 1] == '='; i--)
			k--;
		ok = k >= 0 && strcmp(member(value, "encoding"), "base64") == 0;
		if (ok)
			text_add(&content, plain, (size_t)k);
		free(plain);
	} else if (strcmp(key, "lfsFile") == 0) {
		char object[128];

		snprintf(object, sizeof(object), "lfs/%.64s", member(value, "oid"));
		ok = strcmp(member(value, "algo"), "sha256") == 0 && file_read(object, &content);
	} else {
		write = false;
	}
	if (ok && write)
		ok = file_write(file.at, content.at != NULL ? content.at : "", content.n);
	text_free(&file);
	text_free(&content);
	return ok;
}

static void
commit_serve(const char *folder, const struct request *r, struct answer *a)
{
	char hex[65];
	bool ok = true;

	for (int write = 0; write < 2 && ok; write++) {
		char *copy = strndup(r->body.at != NULL ? r->body.at : "", r->body.n), *save = NULL;

		for (char *at = strtok_r(copy, "\n", &save); at != NULL && ok; at = strtok_r(NULL, "\n", &save)) {
			json_t *line = json_loads(at, 0, NULL);

			ok = line != NULL && line_commit(folder, line, write);
			json_decref(line);
		}
		free(copy);
	}
	if (!ok) {
		answer_error(a, 400, NULL, "The commit names an object that was not uploaded");
		return;
	}
	sha1_hex(r->body.at, r->body.n, hex);
	json_answer(a, json_pack("{s:b,s:s,s:s}", "success", 1, "commitOid", hex, "commitUrl", "commit"));
}

/* "main" is there from the beginning. */
static bool
has_revision(const char *folder, const char *rev)
{
	struct text path = { 0 };
	bool has;

	text_print(&path, "%s/", folder);
	encode(&path, rev, "-_.~");
	has = strcmp(rev, "main") == 0 || file_exists(path.at);
	text_free(&path);
	return has;
}

bool
upload_serve(struct conn *c, const struct request *r, struct answer *a)
{
	char org[128] = "", repo[128] = "", verb[32] = "", rev[128] = "";
	char *lfs = strstr(r->path, ".git/info/lfs/");
	bool api = sscanf(r->path, "/api/models/%127[^/]/%127[^/]/%31[^/]/%127s", org, repo, verb, rev) == 4;
	bool commit = api && strcmp(verb, "commit") == 0, preupload = api && strcmp(verb, "preupload") == 0;
	bool create = strcmp(r->path, "/api/repos/create") == 0;
	struct text folder = { 0 };
	json_t *body;

	if (c->cdn && strncmp(r->path, "/lfs/", 5) == 0) {
		object_serve(r, a);
		return true;
	}
	if (strcmp(r->method, "POST") != 0 || c->cdn || (!lfs && !commit && !preupload && !create))
		return false;
	if (refuse_stranger(r, a))
		return true;
	body = commit ? NULL : json_loadb(r->body.at != NULL ? r->body.at : "", r->body.n, 0, NULL);
	text_print(&folder, "models/%s/%s", org, repo);
	if (api && !file_exists(folder.at)) {
		answer_error(a, 404, "RepoNotFound", "Repository not found");
	} else if (api && !has_revision(folder.at, rev)) {
		answer_error(a, 404, "RevisionNotFound", "Invalid rev id: %s", rev);
	} else if (create) {
		create_serve(body, a);
	} else if (preupload) {
		preupload_serve(body, a);
	} else if (commit) {
		text_print(&folder, "/");
		encode(&folder, rev, "-_.~");
		commit_serve(folder.at, r, a);
	} else if (strcmp(lfs, ".git/info/lfs/objects/batch") == 0) {
		char *name = strndup(r->path + 1, (size_t)(lfs - r->path) + 3);

		batch_serve(c, name, body, a);
		free(name);
	} else {
		verify_serve(body, a);
	}
	json_decref(body);
	text_free(&folder);
	return true;
}
