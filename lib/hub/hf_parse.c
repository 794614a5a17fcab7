#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/json.h"
#include "core/mem.h"
#include "core/text.h"
#include "hub/hf.h"

static bool
is_hex(const char *s, size_t n)
{
	return strspn(s, "0123456789abcdef") == n && !s[n];
}

/* ---- info ---- */

/* The licence of a card: a text, or a list of texts, whose first counts. */
static const char *
license_of(const json_t *v)
{
	if (json_is_array(v))
		v = json_array_get(v, 0);
	return json_is_string(v) ? json_string_value(v) : NULL;
}

/* "license:apache-2.0" among the tags. */
static const char *
license_tag(const json_t *tags)
{
	size_t i;
	const json_t *v;

	for (i = 0; i < json_array_size(tags); i++) {
		v = json_array_get(tags, i);
		if (json_is_string(v) && strncmp(json_string_value(v), "license:", 8) == 0)
			return json_string_value(v) + 8;
	}
	return NULL;
}

int
hf_parse_info(const void *p, size_t n, struct hf_info *info, struct err *e)
{
	const char *what = "the hub's description of the model";
	json_t *o = json_parse(p, n, ERR_CORRUPT, what, e);
	const json_t *card = json_object_get(o, "cardData"), *gated = json_object_get(o, "gated");
	const char *text, *sha;
	int r = 0;

	*info = (struct hf_info){ .gated = false };
	if (!o)
		return -1;
	if (json_member_text(o, "sha", &sha) < 0 || !is_hex(sha, 40))
		r = err_set(e, ERR_CORRUPT, what, "has no commit");
	else
		memcpy(info->commit, sha, CACHE_COMMIT);
	text = license_of(json_object_get(card, "license"));
	if (text && strcmp(text, "other") == 0 && license_of(json_object_get(card, "license_name")))
		text = license_of(json_object_get(card, "license_name"));
	if (!text)
		text = license_tag(json_object_get(o, "tags"));
	if (text)
		text_quote(info->license, sizeof info->license, text, strlen(text));
	info->gated = json_is_true(gated) || json_is_string(gated);
	info->private_repo = json_is_true(json_object_get(o, "private"));
	json_decref(o);
	return r;
}

/* ---- listing ---- */

void
hf_listing_free(struct hf_listing *l)
{
	size_t i;

	for (i = 0; i < l->n; i++)
		free(l->files[i].path);
	free(l->files);
	*l = (struct hf_listing){ .n = 0 };
}

static int
by_path(const void *a, const void *b)
{
	return strcmp(((const struct hf_file *)a)->path, ((const struct hf_file *)b)->path);
}

/* Size and digest: of LFS if the entry has it, else of git. */
static bool
take_digest(struct hf_file *f, const json_t *entry)
{
	const json_t *lfs = json_object_get(entry, "lfs");
	const char *oid;
	bool large = json_is_object(lfs);

	if (json_member_text(large ? lfs : entry, "oid", &oid) < 0 ||
	    json_member_u64(large ? lfs : entry, "size", &f->size) < 0)
		return false;
	if (strncmp(oid, "sha256:", 7) == 0)
		oid += 7;
	f->kind = large ? DOWNLOAD_SHA256 : DOWNLOAD_GIT;
	if (!is_hex(oid, large ? 64 : 40) || f->size > INT64_MAX / 2)
		return false;
	memcpy(f->digest, oid, strlen(oid) + 1);
	return true;
}

static int
take_entry(struct hf_listing *l, const json_t *entry, const char *what, struct err *e)
{
	const char *type, *path;
	struct hf_file f = { .path = NULL };

	if (!json_is_object(entry) || json_member_text(entry, "type", &type) < 0 ||
	    json_member_text(entry, "path", &path) < 0)
		return err_set(e, ERR_CORRUPT, what, "has an entry without type and path");
	if (strcmp(type, "file") != 0)
		return 0;
	if (!hub_path_is_safe(path)) {
		if (!l->skipped++)
			text_quote(l->skipped_name, sizeof l->skipped_name, path, strlen(path));
		return 0;
	}
	if (!take_digest(&f, entry))
		return err_set(e, ERR_CORRUPT, what, "has no size and digest of %s", path);
	if (l->n == HF_FILES)
		return err_set(e, ERR_MEMORY, what, "has more than %d files", HF_FILES);
	f.path = mem_text(path, strlen(path));
	if (!f.path || mem_grow(&l->files, &l->cap, l->n + 1, sizeof *l->files) < 0) {
		free(f.path);
		return err_memory(e);
	}
	l->files[l->n++] = f;
	return 0;
}

const struct hf_file *
hf_listing_find(const struct hf_listing *l, const char *path)
{
	const struct hf_file wanted = { .path = (char *)(uintptr_t)path };

	return l->n ? bsearch(&wanted, l->files, l->n, sizeof *l->files, by_path) : NULL;
}

/* A file listed twice, or as a folder too, could be overwritten by another one. */
static int
check_doubles(const struct hf_listing *l, const char *what, struct err *e)
{
	char folder[HUB_PATH];
	size_t i, n;

	for (i = 0; i < l->n; i++) {
		const char *path = l->files[i].path;

		if (i > 0 && strcmp(l->files[i - 1].path, path) == 0)
			return err_set(e, ERR_CORRUPT, what, "lists %s twice", path);
		for (n = strcspn(path, "/"); path[n]; n += 1 + strcspn(path + n + 1, "/")) {
			snprintf(folder, sizeof folder, "%.*s", (int)n, path);
			if (hf_listing_find(l, folder))
				return err_set(e, ERR_CORRUPT, what, "lists %s as a file and as a folder", folder);
		}
	}
	return 0;
}

int
hf_parse_list(const void *p, size_t n, struct hf_listing *l, struct err *e)
{
	const char *what = "the hub's list of files";
	json_t *a = json_parse_any(p, n, ERR_CORRUPT, what, e);
	size_t i;
	int r = 0;

	if (!a)
		return -1;
	if (!json_is_array(a))
		r = err_set(e, ERR_CORRUPT, what, "is not a list");
	for (i = 0; r == 0 && i < json_array_size(a); i++)
		r = take_entry(l, json_array_get(a, i), what, e);
	json_decref(a);
	return r;
}

int
hf_listing_finish(struct hf_listing *l, struct err *e)
{
	if (l->n)
		qsort(l->files, l->n, sizeof *l->files, by_path);
	return check_doubles(l, "the hub's list of files", e);
}

/* ---- facts ---- */

int
hf_parse_facts(const struct http_answer *a, const char *label, char commit[CACHE_COMMIT],
               struct hf_file *file, struct err *e)
{
	const char *etag = *a->linked_etag ? a->linked_etag : a->etag;
	bool redirected = a->status >= 300 && a->status < 400;
	uint64_t size = a->linked_size != HTTP_UNKNOWN ? a->linked_size
	                : redirected ? HTTP_UNKNOWN : a->length;

	*file = (struct hf_file){ .size = size };
	if (!is_hex(a->repo_commit, 40))
		return err_set(e, ERR_NETWORK, label, "%s does not answer as a hub: a proxy or a login "
		               "page may be in the way", a->final.host);
	memcpy(commit, a->repo_commit, CACHE_COMMIT);
	if (!answer_etag(file->digest, sizeof file->digest, etag))
		file->digest[0] = '\0';
	if (is_hex(file->digest, 64))
		file->kind = DOWNLOAD_SHA256;
	else if (is_hex(file->digest, 40))
		file->kind = DOWNLOAD_GIT;
	else
		return err_set(e, ERR_NETWORK, label, "the hub gives no digest of the file");
	if (size == HTTP_UNKNOWN || size > INT64_MAX / 2)
		return err_set(e, ERR_NETWORK, label, "the hub gives no size of the file");
	return 0;
}
