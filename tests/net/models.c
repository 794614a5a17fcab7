/*
 * The hub: facts of its interface as clients see it.
 *
 *   GET  /api/models/ORG/REPO[/revision/REV]       id, sha, private, gated, cardData, siblings
 *   GET  /api/models/ORG/REPO/refs                 branches and tags
 *   GET  /api/models/ORG/REPO/tree/REV[/FOLDER]    ?recursive=true&limit=N&cursor=N, pages by Link
 *   GET, HEAD /ORG/REPO/resolve/REV/PATH           small files at once, LFS files by a redirect
 *   GET, HEAD /ORG/REPO/raw/REV/PATH               LFS files as their pointers
 *   GET, HEAD CDN/cdn/ORG/REPO/REV/PATH?sig=...    403 without the signature
 *
 * A file is an LFS file if its name ends in one of the suffixes below. Tokens: "hf_reader" may
 * read everything, "hf_outsider" is valid without access to gated and private repositories,
 * others are not valid.
 */
#include "server.h"

#include <dirent.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A repository at a revision, as a request names it. */
struct place {
	char *repo;             /* ORG/REPO */
	char *rev;              /* as asked for */
	char *path;             /* "" if there is none */
	char *folder;           /* models/ORG/REPO/REV, if the revision exists */
	char commit[65];
};

static void
place_free(struct place *p)
{
	free(p->repo);
	free(p->rev);
	free(p->path);
	free(p->folder);
}

bool
is_lfs(const char *path)
{
	static const char *const suffixes[] = { ".safetensors", ".gguf", ".bin", ".pt", ".apr" };
	size_t n = strlen(path);

	for (size_t i = 0; i < sizeof(suffixes) / sizeof(*suffixes); i++)
		if (n > strlen(suffixes[i]) && strcmp(path + n - strlen(suffixes[i]), suffixes[i]) == 0)
			return true;
	return false;
}

static void
commit_of(const char *repo, const char *rev, char commit[65])
{
	struct text name = { 0 }, text = { 0 };

	text_print(&name, "models/%s/%s.commit", repo, rev);
	if (file_read(name.at, &text) && text.n >= 40) {
		snprintf(commit, 65, "%.40s", text.at);
	} else {
		name.n = 0;
		text_print(&name, "%s/%s", repo, rev);
		sha1_hex(name.at, name.n, commit);
	}
	text_free(&name);
	text_free(&text);
}

/* Calls "each" with the name of each folder of a repository (a revision), until it is true. */
static bool
revisions_walk(const char *repo, bool (*each)(const char *repo, const char *rev, void *user), void *user)
{
	char path[4096];
	struct dirent **names;
	bool stop = false;
	int n;

	snprintf(path, sizeof(path), "%s/models/%s", server.root, repo);
	n = scandir(path, &names, NULL, alphasort);
	for (int i = 0; i < n; i++) {
		struct stat s;

		snprintf(path, sizeof(path), "%s/models/%s/%s", server.root, repo, names[i]->d_name);
		if (!stop && names[i]->d_name[0] != '.' && stat(path, &s) == 0 && S_ISDIR(s.st_mode))
			stop = each(repo, names[i]->d_name, user);
		free(names[i]);
	}
	if (n >= 0)
		free(names);
	return stop;
}

static bool
revision_match(const char *repo, const char *name, void *user)
{
	struct place *p = user;
	struct text encoded = { 0 };

	commit_of(repo, name, p->commit);
	encode(&encoded, p->rev, "-_.~");
	if (strcmp(name, encoded.at) == 0 || strcmp(p->commit, p->rev) == 0) {
		struct text folder = { 0 };

		text_print(&folder, "models/%s/%s", repo, name);
		p->folder = folder.at;
	}
	text_free(&encoded);
	return p->folder != NULL;
}

static bool
has(const struct place *p, const char *mark)
{
	char path[4096];

	snprintf(path, sizeof(path), "models/%s/%s", p->repo, mark);
	return file_exists(path);
}

/* Answers if the client may not read the repository, or the revision does not exist. */
static bool
access_refuse(const struct place *p, const struct request *r, struct answer *a, bool content)
{
	const char *auth = request_header(r, "authorization");
	bool reader = auth != NULL && strcmp(auth, "Bearer hf_reader") == 0;
	bool outsider = auth != NULL && strcmp(auth, "Bearer hf_outsider") == 0;

	if (auth != NULL && !reader && !outsider)
		answer_error(a, 401, NULL, "Invalid credentials in Authorization header");
	else if (!has(p, "") || (has(p, ".private") && !reader)) {
		if (auth == NULL)
			answer_error(a, 401, NULL, "Invalid username or password.");
		else
			answer_error(a, 404, "RepoNotFound", "Repository not found");
	} else if (has(p, ".disabled"))
		answer_error(a, 403, NULL, "Access to this resource is disabled.");
	else if (has(p, ".gated") && content && auth == NULL)
		answer_error(a, 401, "GatedRepo", "Access to model %s is restricted. You must have access to "
			"it and be authenticated to access it. Please log in.", p->repo);
	else if (has(p, ".gated") && content && !reader)
		answer_error(a, 403, "GatedRepo", "Access to model %s is restricted and you are not in the "
			"authorized list. Visit the model's page to ask for access.", p->repo);
	else if (p->folder == NULL)
		answer_error(a, 404, "RevisionNotFound", "Invalid rev id: %s", p->rev);
	else
		return false;
	return true;
}

static void
json_answer(struct answer *a, json_t *value)
{
	char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);

	answer_header(a, "Content-Type", "application/json; charset=utf-8");
	answer_text(a, 200, "%s", text);
	free(text);
	json_decref(value);
}

/* Appends the paths below a folder of a revision, sorted, to an array. */
static void
paths_list(json_t *list, const char *folder, const char *below, bool recursive, bool folders)
{
	char path[4096];
	struct dirent **names;
	int n;

	snprintf(path, sizeof(path), "%s/%s/%s", server.root, folder, below);
	n = scandir(path, &names, NULL, alphasort);
	for (int i = 0; i < n; i++) {
		const char *name = names[i]->d_name;
		struct text full = { 0 };
		struct stat s;

		text_print(&full, "%s%s%s", below, below[0] != '\0' ? "/" : "", name);
		snprintf(path, sizeof(path), "%s/%s/%s", server.root, folder, full.at);
		if (strcmp(name, ".") != 0 && strcmp(name, "..") != 0 && stat(path, &s) == 0) {
			if (!S_ISDIR(s.st_mode) || folders)
				json_array_append_new(list, json_string(full.at));
			if (S_ISDIR(s.st_mode) && recursive)
				paths_list(list, folder, full.at, true, folders);
		}
		text_free(&full);
		free(names[i]);
	}
	if (n >= 0)
		free(names);
}

/* The pointer that git has for a file, if it is an LFS file. */
static void
pointer_make(const char *sha256, long long size, struct text *to)
{
	text_print(to, "version https://git-lfs.github.com/spec/v1\noid sha256:%s\nsize %lld\n",
			sha256, size);
}

static json_t *
entry_new(const struct place *p, const char *path)
{
	char file[4096], full[8192], oid[65], sha256[65];
	struct text pointer = { 0 }, blob = { 0 };
	json_t *entry;
	struct stat s;

	snprintf(file, sizeof(file), "%s/%s", p->folder, path);
	snprintf(full, sizeof(full), "%s/%s", server.root, file);
	if (stat(full, &s) != 0)
		return json_null();
	if (S_ISDIR(s.st_mode)) {
		sha1_hex(path, strlen(path), oid);
		return json_pack("{s:s,s:s,s:i,s:s}", "type", "directory", "oid", oid, "size", 0, "path", path);
	}
	file_git(file, oid);
	entry = json_pack("{s:s,s:s,s:I,s:s}", "type", "file", "oid", oid, "size", (json_int_t)s.st_size,
			"path", path);
	if (!is_lfs(path))
		return entry;
	file_sha256(file, sha256);
	pointer_make(sha256, (long long)s.st_size, &pointer);
	text_print(&blob, "blob %zu", pointer.n);
	text_add(&blob, "", 1);
	text_add(&blob, pointer.at, pointer.n);
	sha1_hex(blob.at, blob.n, oid);
	json_object_set_new(entry, "oid", json_string(oid));
	json_object_set_new(entry, "lfs", json_pack("{s:s,s:I,s:I}", "oid", sha256, "size",
			(json_int_t)s.st_size, "pointerSize", (json_int_t)pointer.n));
	text_free(&pointer);
	text_free(&blob);
	return entry;
}

static size_t
number_query(const struct request *r, const char *name, size_t otherwise)
{
	char *value = request_query(r, name);
	size_t n = value != NULL ? strtoul(value, NULL, 10) : otherwise;

	free(value);
	return n;
}

static void
tree_serve(struct conn *c, const struct place *p, const struct request *r, struct answer *a)
{
	char *recursive = request_query(r, "recursive");
	bool all = recursive != NULL && strcasecmp(recursive, "false") != 0 && strcmp(recursive, "0") != 0;
	size_t page = number_query(r, "limit", server.page), first = number_query(r, "cursor", 0);
	json_t *names = json_array(), *entries = json_array();

	free(recursive);
	page = page < server.page ? page : server.page;
	paths_list(names, p->folder, p->path, all, true);
	for (size_t i = first; i < json_array_size(names) && i < first + page; i++)
		json_array_append_new(entries, entry_new(p, json_string_value(json_array_get(names, i))));
	if (p->path[0] != '\0' && json_array_size(names) == 0) {
		answer_error(a, 404, "EntryNotFound", "%s does not exist on \"%s\"", p->path, p->rev);
		json_decref(entries);
	} else {
		if (first + page < json_array_size(names)) {
			struct text link = { 0 };

			base_url(c, c->cdn, &link);
			encode(&link, r->path, "/-_.~");
			answer_header(a, "Link", "<%s?recursive=%s&limit=%zu&cursor=%zu>; rel=\"next\"",
					link.at, all ? "true" : "false", page, first + page);
			text_free(&link);
		}
		json_answer(a, entries);
	}
	json_decref(names);
}

static void
info_serve(const struct place *p, struct answer *a)
{
	json_t *names = json_array(), *siblings = json_array(), *info;
	struct text mark = { 0 }, license = { 0 };
	size_t i;
	json_t *name;

	paths_list(names, p->folder, "", true, false);
	json_array_foreach(names, i, name)
		json_array_append_new(siblings, json_pack("{s:O}", "rfilename", name));
	info = json_pack("{s:s,s:s,s:s,s:b,s:b,s:o}", "id", p->repo, "modelId", p->repo, "sha", p->commit,
			"private", has(p, ".private"), "disabled", has(p, ".disabled"), "siblings", siblings);
	json_object_set_new(info, "gated", has(p, ".gated") ? json_string("manual") : json_false());
	text_print(&mark, "models/%s/.license", p->repo);
	if (file_read(mark.at, &license) && license.n > 0) {
		license.at[strcspn(license.at, "\n")] = '\0';
		mark.n = 0;
		text_print(&mark, "license:%s", license.at);
		json_object_set_new(info, "cardData", json_pack("{s:s}", "license", license.at));
		json_object_set_new(info, "tags", json_pack("[s]", mark.at));
	}
	text_free(&mark);
	text_free(&license);
	json_answer(a, info);
	json_decref(names);
}

static bool
revision_add(const char *repo, const char *rev, void *user)
{
	char commit[65], *name = strdup(rev);

	commit_of(repo, rev, commit);
	decode(name);
	json_array_append_new(user, json_pack("{s:s,s:s+,s:s}", "name", name, "ref", "refs/heads/", name,
			"targetCommit", commit));
	free(name);
	return false;
}

static void
refs_serve(const struct place *p, struct answer *a)
{
	json_t *branches = json_array();

	revisions_walk(p->repo, revision_add, branches);
	json_answer(a, json_pack("{s:o,s:[],s:[]}", "branches", branches, "tags", "converts"));
}

static void
file_serve(struct conn *c, const struct place *p, struct answer *a)
{
	struct text file = { 0 }, to = { 0 };
	char sha256[65];

	text_print(&file, "%s/%s", p->folder, p->path);
	answer_header(a, "X-Repo-Commit", "%s", p->commit);
	if (!answer_file(a, file.at)) {
		answer_error(a, 404, "EntryNotFound", "Entry not found");
	} else if (!is_lfs(p->path)) {
		file_git(file.at, a->etag);
		answer_header(a, "Content-Type", "text/plain; charset=utf-8");
	} else {
		a->status = 302;
		a->ranges = false;
		file_sha256(file.at, sha256);
		base_url(c, true, &to);
		text_print(&to, "/cdn/%s/", p->repo);
		encode(&to, strrchr(p->folder, '/') + 1, "-_.~");
		text_print(&to, "/");
		encode(&to, p->path, "/-_.~");
		answer_header(a, "X-Linked-Etag", "\"%s\"", sha256);
		answer_header(a, "X-Linked-Size", "%llu", (unsigned long long)a->size);
		answer_header(a, "Location", "%s?sig=secret&oid=%s", to.at, sha256);
		answer_header(a, "Content-Type", "text/plain; charset=utf-8");
		answer_header(a, "Vary", "Origin, Accept");
		close(a->fd);
		a->fd = -1;
		text_print(&a->body, "Found. Redirecting to %s", to.at);
	}
	text_free(&file);
	text_free(&to);
}

static void
raw_serve(const struct place *p, struct answer *a)
{
	char file[4096], sha256[65];

	snprintf(file, sizeof(file), "%s/%s", p->folder, p->path);
	answer_header(a, "X-Repo-Commit", "%s", p->commit);
	if (!answer_file(a, file)) {
		answer_error(a, 404, "EntryNotFound", "Entry not found");
	} else if (!is_lfs(p->path)) {
		file_git(file, a->etag);
	} else {
		file_sha256(file, sha256);
		pointer_make(sha256, (long long)a->size, &a->body);
		close(a->fd);
		a->fd = -1;
	}
}

/* Content at the CDN: by signature, without tokens. */
static void
cdn_serve(const struct request *r, struct answer *a)
{
	struct text file = { 0 };
	char *signature = request_query(r, "sig");

	text_print(&file, "models/%s", r->path + 5);
	if (signature == NULL || strcmp(signature, "secret") != 0)
		answer_text(a, 403, "AccessDenied");
	else if (request_header(r, "authorization") != NULL)
		answer_text(a, 400, "Only one auth mechanism allowed");
	else if (!answer_file(a, file.at))
		answer_text(a, 404, "NoSuchKey");
	else
		file_sha256(file.at, a->etag);
	free(signature);
	text_free(&file);
}

/* A renamed repository: a relative redirect. */
static bool
renamed_serve(const struct place *p, const struct request *r, struct answer *a)
{
	struct text mark = { 0 }, now = { 0 };
	bool renamed;

	text_print(&mark, "models/%s/.renamed", p->repo);
	renamed = file_read(mark.at, &now) && now.n > 0;
	if (renamed) {
		char *at = strstr(r->target, p->repo);

		now.at[strcspn(now.at, "\n")] = '\0';
		answer_header(a, "Location", "%.*s%s%s", at != NULL ? (int)(at - r->target) : 0, r->target,
				now.at, at != NULL ? at + strlen(p->repo) : "");
		answer_text(a, 307, "Temporary Redirect. Redirecting to %s", now.at);
	}
	text_free(&mark);
	text_free(&now);
	return renamed;
}

/* Splits an undecoded path "ORG/REPO/VERB/REV[/PATH]"; REV has no slash before decoding. Returns
 * the verb, to be freed, "" if the repository is all, or NULL. */
static char *
place_split(struct place *p, const char *text)
{
	size_t org = strcspn(text, "/"), repo, n;
	char *verb;

	if (text[org] != '/')
		return NULL;
	repo = org + 1 + strcspn(text + org + 1, "/?");
	p->repo = strndup(text, repo);
	text += repo + (text[repo] == '/');
	n = strcspn(text, "/?");
	verb = strndup(text, n);
	text += n + (text[n] == '/');
	n = strcspn(text, "/?");
	p->rev = n > 0 ? strndup(text, n) : strdup("main");
	text += n + (text[n] == '/');
	p->path = strndup(text, strcspn(text, "?"));
	decode(p->repo);
	decode(p->rev);
	decode(p->path);
	while (p->path[0] != '\0' && p->path[strlen(p->path) - 1] == '/')
		p->path[strlen(p->path) - 1] = '\0';
	revisions_walk(p->repo, revision_match, p);
	return verb;
}

static bool
api_serve(struct conn *c, struct place *p, const char *verb, const struct request *r, struct answer *a)
{
	bool tree = strcmp(verb, "tree") == 0;

	if (!tree && strcmp(verb, "revision") != 0 && strcmp(verb, "refs") != 0 && verb[0] != '\0')
		return false;
	if (renamed_serve(p, r, a) || access_refuse(p, r, a, tree))
		return true;
	if (tree)
		tree_serve(c, p, r, a);
	else if (strcmp(verb, "refs") == 0)
		refs_serve(p, a);
	else
		info_serve(p, a);
	return true;
}

bool
models_serve(struct conn *c, const struct request *r, struct answer *a)
{
	bool api = strncmp(r->target, "/api/models/", 12) == 0, mine = false;
	struct place p = { 0 };
	char *verb;

	if (c->cdn) {
		if (strncmp(r->path, "/cdn/", 5) == 0)
			cdn_serve(r, a);
		return strncmp(r->path, "/cdn/", 5) == 0;
	}
	if (strncmp(r->path, "/v2/", 4) == 0 || strncmp(r->path, "/files/", 7) == 0)
		return false;
	verb = place_split(&p, r->target + (api ? 12 : 1));
	if (verb != NULL && api) {
		mine = api_serve(c, &p, verb, r, a);
	} else if (verb != NULL && (strcmp(verb, "resolve") == 0 || strcmp(verb, "raw") == 0)) {
		mine = true;
		if (!renamed_serve(&p, r, a) && !access_refuse(&p, r, a, true)) {
			if (strcmp(verb, "raw") == 0)
				raw_serve(&p, a);
			else
				file_serve(c, &p, a);
		}
	}
	free(verb);
	place_free(&p);
	return mine;
}
