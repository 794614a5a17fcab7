#include "hub/serve_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/dir_name.h"
#include "core/mem.h"
#include "core/num.h"

#define HERE RANGES_WORKERS /* the number of this thread's connection */

struct http *
serve_connection(struct serve *s, unsigned worker, struct err *e)
{
	if (!s->http[worker])
		s->http[worker] = http_open(s->web, e);
	return s->http[worker];
}

struct served *
serve_add(struct serve *s, const char *name, const char *label, char *url, uint64_t size,
          struct err *e)
{
	struct served *f = mem_array(1, sizeof *f);
	int grown = -1;

	/* Other threads look files up. */
	pthread_mutex_lock(&s->mutex);
	if (f && (grown = mem_grow(&s->files, &s->cap, s->count + 1, sizeof *s->files)) == 0)
		s->files[s->count] = f;
	pthread_mutex_unlock(&s->mutex);
	if (grown < 0) {
		free(f);
		free(url);
		err_memory(e);
		return NULL;
	}
	*f = (struct served){ .url = url, .size = size, .own = -1, .number = -1, .flowing = -1,
		.name = mem_text(name, strlen(name)), .label = mem_text(label, strlen(label)) };
	pthread_mutex_lock(&s->mutex);
	s->count++;
	pthread_mutex_unlock(&s->mutex);
	if (f->name && f->label)
		return f;
	err_memory(e);
	return NULL;
}

/* ---- web addresses ---- */

struct beginning {
	uint8_t *p;
	size_t n;
	bool parts;      /* the server sends parts */
	uint64_t size;
};

static int
begin_head(void *ctx, const struct http_answer *a, struct err *e)
{
	struct beginning *b = ctx;

	b->parts = a->ranged;
	b->size = a->ranged ? a->range_total : a->length;
	if (!b->parts && b->size > RANGES_FIRST)
		return serve_no_parts(url_label(&a->final).text, e);
	return 0;
}

static int
begin_data(void *ctx, const void *p, size_t n, struct err *e)
{
	struct beginning *b = ctx;

	if (n > RANGES_FIRST - b->n)
		return err_set(e, ERR_NETWORK, NULL, "the server sends too many bytes");
	memcpy(b->p + b->n, p, n);
	b->n += n;
	return 0;
}

static int
begin_again(void *ctx, struct err *e)
{
	(void)e;
	((struct beginning *)ctx)->n = 0;
	return 0;
}

/* The size of the file, with its first bytes if that takes one request. */
static int
look_at(struct serve *s, struct beginning *b, struct http_answer *a, struct err *e)
{
	struct http *h = serve_connection(s, HERE, e);
	struct http_request q = { .url = s->source.url.text, .to = RANGES_FIRST, .head = begin_head,
		.data = begin_data, .again = begin_again, .ctx = b };
	struct err why = ERR_INIT;

	if (!h)
		return -1;
	if (http_once(h, &q, a, &why) == 0 && (a->status == 200 || a->status == 206) &&
	    b->size != HTTP_UNKNOWN && b->n == num_min(b->size, RANGES_FIRST))
		return 0;
	b->n = 0;
	if (why.code != ERR_NONE && a->failure != HTTP_TEMPORARY) {
		*e = why;
		return -1;
	}
	/* With new tries. */
	if (http_facts(h, s->source.url.text, NULL, a, e) < 0)
		return -1;
	b->size = a->length;
	return b->size == HTTP_UNKNOWN
	           ? err_set(e, ERR_NETWORK, s->source.label, "the server does not say how long it is")
	           : 0;
}

/* The name of the file in its folder: the last part of the path, decoded if that is a plain
 * name. */
static char *
name_of_url(const char *label)
{
	const char *slash = strrchr(label, '/');
	struct buf b = { 0 };
	char *name = NULL;

	slash = slash ? slash + 1 : label;
	if (url_decode(&b, slash, strlen(slash)) == 0 && buf_string(&b) &&
	    dir_name_is_plain((char *)b.p))
		name = mem_text((char *)b.p, b.n);
	buf_free(&b);
	return name ? name : mem_text("model", 5);
}

static int
open_http(struct serve *s, struct err *e)
{
	struct http_answer *a = malloc(sizeof *a);
	struct beginning b = { .p = malloc(RANGES_FIRST) };
	char *name = name_of_url(s->source.label), *url = mem_text(s->source.url.text,
	                                                          strlen(s->source.url.text));
	struct served *f = NULL;

	if (!a || !b.p || !name || !url)
		err_memory(e);
	else if (look_at(s, &b, a, e) == 0)
		f = serve_add(s, name, s->source.label, url, b.size, e);
	else
		free(url);
	if (f && answer_etag_is_strong(a->etag))
		strcpy(f->etag, a->etag);
	if (f && s->o->sha256) {
		f->kind = DOWNLOAD_SHA256;
		snprintf(f->digest, sizeof f->digest, "%s", s->o->sha256);
	}
	s->first = b.p;
	s->first_bytes = f ? b.n : 0;
	s->listed = true;
	free(a);
	free(name);
	return f ? 0 : -1;
}

/* A file beside that of the address, which no list names. */
static struct served *
find_beside(struct serve *s, const char *name, struct err *e)
{
	struct http_answer *a = malloc(sizeof *a);
	struct url *u = malloc(sizeof *u);
	struct http *h = serve_connection(s, HERE, e);
	struct buf encoded = { 0 }, label = { 0 };
	struct served *f = NULL;

	url_encode(&encoded, name, "");
	buf_put(&label, s->source.label, (size_t)(strrchr(s->source.label, '/') + 1 - s->source.label));
	buf_text(&label, name);
	if (!a || !u || !buf_string(&encoded) || !buf_string(&label)) {
		err_memory(e);
	} else if (h && url_join(u, &s->source.url, (char *)encoded.p, e) == 0 &&
	           http_facts(h, u->text, NULL, a, e) == 0) {
		if (a->length == HTTP_UNKNOWN)
			err_set(e, ERR_NETWORK, (char *)label.p, "the server does not say how long it is");
		else
			f = serve_add(s, name, (char *)label.p, mem_text(u->text, strlen(u->text)), a->length, e);
	}
	buf_free(&encoded);
	buf_free(&label);
	free(a);
	free(u);
	return f;
}

/* ---- the hub ---- */

/* Opens a file in the snapshot of a commit. */
static int
open_cached(const struct serve *s, const struct cache_repo *c, const char *path)
{
	struct buf b = { 0 };
	int fd = -1;

	buf_printf(&b, "%s/snapshots/%s/%s", c->path, s->commit, path);
	if (buf_string(&b) && cache_has(c, s->commit, path, NULL))
		fd = open((char *)b.p, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	buf_free(&b);
	return fd;
}

/* The folder of the source in its repository, as "" or "FOLDER/". */
static size_t
folder_bytes(const struct serve *s)
{
	const char *path = s->source.path, *slash = strrchr(path, '/');
	size_t n = strlen(path);

	if (s->folder)
		return n && path[n - 1] != '/' ? n + 1 : n;
	return slash ? (size_t)(slash + 1 - path) : 0;
}

/* Adds a file of the hub, from the cache if it is there. */
static struct served *
add_hub(struct serve *s, const struct cache_repo *c, const struct hf_file *x, const char *path,
        struct err *e)
{
	struct buf url = { 0 }, label = { 0 };
	struct served *f = NULL;

	hf_url(&url, &s->hf, &s->source, s->commit, path);
	buf_printf(&label, "hf://%s/%s/%s", s->source.org, s->source.repo, path);
	if (!buf_string(&url) || !buf_string(&label))
		err_memory(e);
	else
		f = serve_add(s, path + folder_bytes(s), (char *)label.p,
		        mem_text((char *)url.p, url.n), x->size, e);
	buf_free(&url);
	buf_free(&label);
	if (!f)
		return NULL;
	f->hub = true;
	f->kind = x->kind;
	memcpy(f->digest, x->digest, sizeof f->digest);
	if (c->fd >= 0 && !s->o->no_cache && cache_has_blob(c, x->digest, x->size))
		f->own = open_cached(s, c, path);
	return f;
}

static int
open_repo(const struct serve *s, struct cache_repo *c, struct err *e)
{
	return cache_repo_open(c, &s->roots, s->source.org, s->source.repo, false, e);
}

static const char *
revision(const struct serve *s)
{
	return s->o->revision ? s->o->revision : *s->source.revision ? s->source.revision : "main";
}

static int
absent(const struct serve *s, struct err *e)
{
	err_set(e, ERR_IO, s->source.label, "does not exist in this revision");
	e->missing = 1;
	return -1;
}

/* A single file: its facts take one request, unless the cache knows that its commit lacks it. */
static int
open_hub_file(struct serve *s, struct err *e)
{
	struct hf_file x = { .path = NULL };
	struct cache_repo c;
	int r = -1;

	if (open_repo(s, &c, e) < 0)
		return -1;
	if (!s->o->no_cache && cache_lacks(&c, revision(s), s->source.path))
		absent(s, e);
	else if (hf_facts(&s->hf, &s->source, revision(s), s->source.path, s->commit, &x, e) == 0)
		r = add_hub(s, &c, &x, s->source.path, e) ? 0 : -1;
	cache_repo_close(&c);
	return r;
}

static int
open_hub_folder(struct serve *s, struct err *e)
{
	struct hf_info info;

	s->folder = true;
	if (hf_info(&s->hf, &s->source, revision(s), &info, e) < 0)
		return -1;
	memcpy(s->commit, info.commit, sizeof s->commit);
	return serve_list(s, e);
}

/* Without a request: the snapshot of the cache. */
static int
open_hub_cached(struct serve *s, struct err *e)
{
	struct cache_repo c;
	struct served *f = NULL;
	struct hf_file x = { .size = 0 };
	int fd = -1;

	if (open_repo(s, &c, e) < 0)
		return -1;
	if (c.fd >= 0 && cache_ref(&c, revision(s), s->commit))
		fd = open_cached(s, &c, s->source.path);
	if (fd >= 0 && (f = add_hub(s, &c, &x, s->source.path, e))) {
		f->own = fd;
		f->size = (uint64_t)lseek(fd, 0, SEEK_END);
		lseek(fd, 0, SEEK_SET);
		s->listed = true;
	} else if (fd < 0 && e->code == ERR_NONE && cache_lacks(&c, s->commit, s->source.path)) {
		absent(s, e);
	} else if (fd < 0 && e->code == ERR_NONE) {
		err_set(e, ERR_IO, s->source.label, "is not in the cache, and no request is made: "
		        "offline");
		e->missing = 1;
	}
	cache_repo_close(&c);
	return f ? 0 : -1;
}

static int
open_hub(struct serve *s, struct err *e)
{
	bool file = *s->source.path && !s->source.folder;

	if (hf_open(&s->hf, s->o->token_file, e) < 0)
		return -1;
	s->hf.http = serve_connection(s, HERE, e);
	if (!s->hf.http)
		return -1;
	if (s->o->offline || hf_is_offline())
		return open_hub_cached(s, e);
	return file ? open_hub_file(s, e) : open_hub_folder(s, e);
}

int
serve_list(struct serve *s, struct err *e)
{
	struct hf_listing l = { 0 };
	struct cache_repo c;
	size_t i, n = folder_bytes(s);
	int r;

	if (s->listed)
		return 0;
	if (open_repo(s, &c, e) < 0)
		return -1;
	r = hf_list(&s->hf, &s->source, s->commit, &l, e);
	for (i = 0; r == 0 && i < l.n; i++) {
		const struct hf_file *x = &l.files[i];

		if (strncmp(x->path, s->source.path, n > 0 ? n - 1 : 0) != 0 ||
		    (n > 0 && x->path[n - 1] != '/') || strcmp(x->path, s->source.path) == 0)
			continue;
		r = add_hub(s, &c, x, x->path, e) ? 0 : -1;
	}
	s->listed = r == 0;
	hf_listing_free(&l);
	cache_repo_close(&c);
	if (r == 0 && s->count == 0) {
		err_set(e, ERR_IO, s->source.label, "has no files");
		e->missing = 1;
		r = -1;
	}
	return r;
}

/* ---- any ---- */

int
serve_open(struct serve *s, const char *text, struct err *e)
{
	char endpoint[URL_TEXT];

	if (hf_endpoint(endpoint, e) < 0 || hub_source_parse(&s->source, text, endpoint, e) < 0 ||
	    cache_roots(&s->roots, e) < 0)
		return -1;
	switch (s->source.kind) {
	case HUB_HF:
		return open_hub(s, e);
	case HUB_HTTP:
		return open_http(s, e);
	case HUB_OCI:
	case HUB_OLLAMA:
		return serve_open_oci(s, e);
	default:
		err_set(e, ERR_USAGE, s->source.label, "cannot be read in place");
		return err_hint(e, "apr-pull -o FILE fetches it");
	}
}

static struct served *
find(struct serve *s, const char *name, uint32_t *number)
{
	size_t i;

	for (i = 0; i < s->count; i++)
		if (strcmp(s->files[i]->name, name) == 0) {
			*number = (uint32_t)i;
			return s->files[i];
		}
	return NULL;
}

struct served *
serve_find(struct serve *s, const char *name, uint32_t *number, struct err *e)
{
	struct served *f = find(s, name, number);

	if (!f)
		f = serve_find_cached(s, name, number, e);
	if (f || e->code != ERR_NONE || serve_list(s, e) < 0)
		return f;
	f = find(s, name, number);
	if (!f && s->source.kind == HUB_HTTP && !s->flow && dir_name_is_plain(name) &&
	    !strchr(s->source.url.text, '?')) {
		f = find_beside(s, name, e);
		*number = (uint32_t)s->count - 1;
	}
	if (!f && e->code == ERR_NONE) {
		err_set(e, ERR_IO, name, "does not exist");
		e->missing = 1;
	}
	return f;
}
