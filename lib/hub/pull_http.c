#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/json.h"
#include "crypto/digest.h"
#include "hub/pull_parts.h"

/* What APR/urls/KEY.json says about an address. */
struct record {
	char etag[256], sha256[65];
	uint64_t size;
};

/* SHA-256 of the address: the names of its record, its lock and its incomplete file. */
static int
key_of(const struct pull *p, char key[65], struct err *e)
{
	struct digest d;

	if (sha256_of(p->source->url.text, strlen(p->source->url.text), &d) < 0)
		return err_memory(e);
	digest_text(key, &d);
	return 0;
}

static void
record_path(const struct pull *p, const char *key, char path[CACHE_PATH + 80])
{
	snprintf(path, CACHE_PATH + 80, "%s/urls/%s.json", p->roots.apr, key);
}

static bool
is_sha256(const char *s)
{
	return strspn(s, "0123456789abcdef") == 64 && !s[64];
}

/* Whether the cache has content of this digest; *size. */
static bool
has_content(const struct pull *p, const char *sha256, uint64_t *size)
{
	char path[CACHE_PATH + 96];
	struct stat st;

	snprintf(path, sizeof path, "%s/blobs/sha256/%s", p->roots.apr, sha256);
	if (lstat(path, &st) < 0 || !S_ISREG(st.st_mode))
		return false;
	*size = (uint64_t)st.st_size;
	return true;
}

/* Reads the record; false if it is missing or damaged, or its content is not there. */
static bool
read_record(const struct pull *p, const char *key, struct record *r)
{
	char path[CACHE_PATH + 80], text[URL_TEXT + 1024];
	const char *etag, *sha256;
	struct err unused = ERR_INIT;
	uint64_t size;
	bool good;
	json_t *o;
	ssize_t n;
	int fd;

	record_path(p, key, path);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	n = fd < 0 ? -1 : read(fd, text, sizeof text);
	if (fd >= 0)
		close(fd);
	o = n > 0 ? json_parse(text, (size_t)n, ERR_CORRUPT, path, &unused) : NULL;
	good = o && json_member_text(o, "etag", &etag) == 0 &&
	       json_member_text(o, "sha256", &sha256) == 0 && is_sha256(sha256) &&
	       json_member_u64(o, "size", &r->size) == 0 && strlen(etag) < sizeof r->etag &&
	       has_content(p, sha256, &size) && size == r->size;
	if (good) {
		memcpy(r->etag, etag, strlen(etag) + 1);
		memcpy(r->sha256, sha256, 65);
	}
	json_decref(o);
	return good;
}

/* Failure only costs a later download. */
static void
write_record(const struct pull *p, const char *key, const struct record *r)
{
	char path[CACHE_PATH + 80], made[CACHE_PATH + 120];
	json_t *o = json_pack("{s:s, s:s, s:o, s:s}", "url", url_label(&p->source->url).text, "etag",
	                      r->etag, "size", json_from_u64(r->size), "sha256", r->sha256);
	struct buf b = { 0 };
	int fd;

	record_path(p, key, path);
	snprintf(made, sizeof made, "%s/urls", p->roots.apr);
	cache_folders(made);
	snprintf(made, sizeof made, "%s.%ld.apr", path, (long)getpid());
	fd = !o || json_write(o, &b) < 0
	         ? -1 : open(made, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0666);
	if (fd >= 0 && write(fd, b.p, b.n) == (ssize_t)b.n)
		rename(made, path);
	else if (fd >= 0)
		unlink(made);
	if (fd >= 0)
		close(fd);
	buf_free(&b);
	json_decref(o);
}

/* ---- facts of the address ---- */

/* The last part of the address as a file's name. */
static void
name_of(const struct pull *p, char name[256])
{
	const char *path = p->source->url.text + p->source->url.path, *last;
	size_t n = strcspn(path, "?");
	struct buf b = { 0 };

	for (last = path + n; last > path && last[-1] != '/'; last--)
		;
	n = (size_t)(path + n - last);
	snprintf(name, 256, "download");
	if (n && url_decode(&b, last, n) == 0 && buf_string(&b) && b.n < 256 && strlen((char *)b.p) == b.n &&
	    !strchr((char *)b.p, '/') && hub_path_is_safe((char *)b.p))
		memcpy(name, b.p, b.n + 1);
	buf_free(&b);
}

static int
add_cached(struct pull *p, const char *sha256, uint64_t size, struct err *e)
{
	char name[256];
	struct pull_file *f;

	name_of(p, name);
	f = pull_add(p, name, size, DOWNLOAD_SHA256, sha256, e);
	if (f)
		f->cached = true;
	return f ? 0 : -1;
}

static int
ask(struct pull *p, const struct record *known, struct err *e)
{
	const char *url = p->source->url.text;
	struct http_answer *a = malloc(sizeof *a);
	char name[256];
	int r = a ? 0 : err_memory(e);

	if (r == 0) {
		answer_reset(a);
		r = http_facts(p->hf.http, url, NULL, a, e);
	}
	if (r == 0 && known && answer_etag_is_strong(a->etag) && strcmp(known->etag, a->etag) == 0 &&
	    known->size == a->length) {
		r = add_cached(p, known->sha256, known->size, e);
	} else if (r == 0) {
		name_of(p, name);
		snprintf(p->etag, sizeof p->etag, "%s", answer_etag_is_strong(a->etag) ? a->etag : "");
		p->serves_ranges = a->accepts_ranges;
		if (!pull_add(p, name, a->length, p->o->sha256 ? DOWNLOAD_SHA256 : DOWNLOAD_UNKNOWN,
		              p->o->sha256 ? p->o->sha256 : "", e))
			r = -1;
	}
	free(a);
	return r;
}

int
pull_open_http(struct pull *p, struct err *e)
{
	struct record known;
	struct err why = ERR_INIT;
	char key[65], text[700];
	uint64_t size;
	bool has;

	if (key_of(p, key, e) < 0)
		return -1;
	if (!p->o->no_cache && p->o->sha256 && has_content(p, p->o->sha256, &size))
		return add_cached(p, p->o->sha256, size, e);
	has = !p->o->no_cache && read_record(p, key, &known) &&
	      (!p->o->sha256 || strcmp(p->o->sha256, known.sha256) == 0);
	if (p->o->offline && has)
		return add_cached(p, known.sha256, known.size, e);
	if (p->o->offline) {
		err_set(e, ERR_IO, p->source->label,
		        "is not in the cache, and requests are switched off (offline)");
		e->missing = 1;
		return -1;
	}
	p->hf.http = http_open(p->web, e);
	if (!p->hf.http)
		return -1;
	if (ask(p, has ? &known : NULL, &why) == 0)
		return 0;
	if (why.code == ERR_NETWORK && has) {
		snprintf(text, sizeof text, "%.200s: %.300s; the copy in the cache is used", why.object,
		         why.fact);
		if (p->o->note)
			p->o->note(text);
		return add_cached(p, known.sha256, known.size, e);
	}
	*e = why;
	return -1;
}

/* ---- the file ---- */

struct again {
	const struct pull *p;
	const char *key;
	struct record known;
	const struct pull_file *f;
};

/* Whether another process has fetched the same meanwhile. */
static bool
has_come(void *ctx)
{
	struct again *a = ctx;

	return read_record(a->p, a->key, &a->known) && *a->known.etag &&
	       (!*a->f->digest || strcmp(a->f->digest, a->known.sha256) == 0) && a->known.size == a->f->size &&
	       strcmp(a->known.etag, a->p->etag) == 0;
}

static int
get_to_cache(struct pull *p, struct pull_file *f, struct download *d, const char *key,
             struct err *e)
{
	char folder[CACHE_PATH + 32], locks[CACHE_PATH + 16];
	struct again again = { .p = p, .key = key, .f = f };
	struct record made;
	int r;

	snprintf(folder, sizeof folder, "%s/blobs/sha256", p->roots.apr);
	snprintf(locks, sizeof locks, "%s/.locks", p->roots.apr);
	if (cache_folders(folder) < 0)
		return err_errno(e, folder, "cannot be created");
	d->folder = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (d->folder < 0)
		return err_errno(e, folder, "cannot be opened");
	d->part = key;
	r = pull_fetch(p, f, d, locks, key, has_come, &again, e);
	close(d->folder);
	if (r < 0)
		return -1;
	made = (struct record){ .size = d->bytes };
	snprintf(made.etag, sizeof made.etag, "%s", p->etag);
	snprintf(made.sha256, sizeof made.sha256, "%s", f->cached ? again.known.sha256 : d->sha256);
	snprintf(f->digest, sizeof f->digest, "%s", made.sha256);
	if (!f->cached)
		write_record(p, key, &made);
	return 0;
}

int
pull_get_http(struct pull *p, struct pull_file *f, unsigned jobs, struct err *e)
{
	struct download d = { .label = f->path, .url = p->source->url.text, .size = f->size,
		.kind = f->kind, .jobs = jobs, .ranges = p->serves_ranges };
	char key[65], folder[CACHE_PATH + 32];
	int r = 0;

	snprintf(d.digest, sizeof d.digest, "%s", f->digest);
	snprintf(d.etag, sizeof d.etag, "%s", p->etag);
	if (key_of(p, key, e) < 0)
		return -1;
	if (p->o->no_cache) {
		d.folder = p->o->folder;
		d.name = p->o->name ? p->o->name : f->path;
		d.replace = p->o->replace;
		d.progress = &p->progress;
		d.note = p->o->note;
		r = download_run(&d, p->web, e);
		f->fetched = d.fetched;
		snprintf(f->digest, sizeof f->digest, "%s", d.sha256);
		f->size = d.bytes;
		return r;
	}
	if (f->cached)
		atomic_fetch_add(&p->progress, f->size);
	else
		r = get_to_cache(p, f, &d, key, e);
	if (r < 0)
		return -1;
	if (!f->cached)
		f->size = d.bytes;
	f->kind = DOWNLOAD_SHA256;
	snprintf(folder, sizeof folder, "%s/blobs/sha256", p->roots.apr);
	snprintf(p->root, sizeof p->root, "%.*s/%s", CACHE_PATH - 80, folder, f->digest);
	return pull_set_place(f, folder, f->digest, e);
}
