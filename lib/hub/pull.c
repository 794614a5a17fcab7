#include "hub/pull.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "core/mem.h"
#include "core/num.h"
#include "core/text.h"
#include "crypto/digest.h"
#include "hub/pull_parts.h"

#define BLOCK ((size_t)1 << 20)
#define SMALL (UINT64_C(16) << 20) /* files that come several at once, with a connection each */

/* A row for each kind of source that is fetched. */
static const struct kind {
	enum hub_kind kind;
	int (*open)(struct pull *p, struct err *e);
	int (*get)(struct pull *p, struct pull_file *f, unsigned jobs, struct err *e);
	int (*finish)(struct pull *p, struct err *e); /* or NULL */
} kinds[] = {
	{ HUB_HF, pull_open_hf, pull_get_hf, NULL },
	{ HUB_HTTP, pull_open_http, pull_get_http, NULL },
	{ HUB_OLLAMA, pull_open_oci, pull_get_oci, pull_finish_oci },
	{ HUB_OCI, pull_open_oci, pull_get_oci, pull_finish_oci },
};

static const struct kind *
kind_of(const struct pull *p)
{
	size_t i;

	for (i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (kinds[i].kind == p->source->kind)
			return &kinds[i];
	return NULL;
}

/* ---- files ---- */

struct pull_file *
pull_add(struct pull *p, const char *path, uint64_t size, enum download_kind kind,
         const char *digest, struct err *e)
{
	struct pull_file *f;
	char *copy = mem_text(path, strlen(path));

	if (!copy || mem_grow(&p->files, &p->cap, p->n + 1, sizeof *p->files) < 0) {
		free(copy);
		err_memory(e);
		return NULL;
	}
	f = &p->files[p->n++];
	*f = (struct pull_file){ .path = copy, .size = size, .kind = kind };
	snprintf(f->digest, sizeof f->digest, "%s", digest);
	return f;
}

static void
drop(struct pull *p, size_t i)
{
	free(p->files[i].path);
	memmove(&p->files[i], &p->files[i + 1], (p->n - i - 1) * sizeof *p->files);
	p->n--;
}

static bool
ends(const char *s, const char *with)
{
	size_t n = strlen(s), m = strlen(with);

	return n >= m && strcasecmp(s + n - m, with) == 0;
}

/* Files that hold weights in another form, if there are safetensors. */
static bool
is_other_form(const char *path)
{
	static const char *const endings[] = { ".bin", ".pt", ".pth", ".ckpt", ".h5", ".msgpack",
		".onnx", ".onnx_data", ".ot", ".gguf", ".tflite", ".mlmodel", ".pdparams", ".xml",
		".bin.index.json", ".mlpackage", ".npz", ".llamafile" };
	size_t i;

	for (i = 0; i < sizeof endings / sizeof *endings; i++)
		if (ends(path, endings[i]))
			return true;
	return strchr(path, '/') && ends(path, ".safetensors");
}

static bool
matches(const char *const *patterns, size_t n, const char *path)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (fnmatch(patterns[i], path, 0) == 0)
			return true;
	return false;
}

static void
leave_out_by_patterns(struct pull *p)
{
	const struct pull_options *o = p->o;
	size_t i;

	for (i = p->n; i-- > 0;)
		if ((o->include_count && !matches(o->include, o->include_count, p->files[i].path)) ||
		    matches(o->exclude, o->exclude_count, p->files[i].path))
			drop(p, i);
}

static void
leave_out_other_forms(struct pull *p)
{
	bool safetensors = false;
	size_t i;

	for (i = 0; i < p->n; i++)
		safetensors = safetensors || (ends(p->files[i].path, ".safetensors") &&
		                              !strchr(p->files[i].path, '/'));
	for (i = p->n; safetensors && i-- > 0;)
		if (is_other_form(p->files[i].path)) {
			text_quote(p->left_out_name, sizeof p->left_out_name, p->files[i].path,
			           strlen(p->files[i].path));
			p->left_out++;
			drop(p, i);
		}
}

/* GGUF files that are not parts of one another. Appends some of their names. */
static size_t
count_gguf(const struct pull *p, char *names, size_t size)
{
	size_t i, n = 0, length = 0;

	names[0] = '\0';
	for (i = 0; i < p->n; i++) {
		const char *path = p->files[i].path, *of = strstr(path, "-of-");

		if (!ends(path, ".gguf") ||
		    (of && of - path >= 6 && strncmp(of - 5, "00001", 5) != 0))
			continue;
		if (n++ < 8 && length + strlen(path) + 3 < size)
			length += (size_t)snprintf(names + length, size - length, "%s%s",
			                           length ? ", " : "", path);
	}
	return n;
}

/* A repository of GGUF files has one model in many types. */
static int
check_clear(const struct pull *p, struct err *e)
{
	char names[400];
	size_t n = count_gguf(p, names, sizeof names);

	if (n < 2 || p->o->include_count)
		return 0;
	err_set(e, ERR_USAGE, p->source->label, "has %zu GGUF files: %s%s", n, names,
	        n > 8 ? ", ..." : "");
	return err_hint(e, "name one: hf://%s/%s:Q4_K_M, or its path; or use --include",
	                p->source->org, p->source->repo);
}

int
pull_choose(struct pull *p, struct err *e)
{
	size_t all = p->n;

	leave_out_by_patterns(p);
	if (!p->o->include_count && !*p->source->path)
		leave_out_other_forms(p);
	if (p->n == 0) {
		err_set(e, ERR_IO, p->source->label, "has no file to fetch%s",
		        all ? " that the patterns allow" : "");
		e->missing = 1;
		return -1;
	}
	return check_clear(p, e);
}

int
pull_set_place(struct pull_file *f, const char *folder, const char *name, struct err *e)
{
	size_t n = strlen(folder) + strlen(name) + 2;

	free(f->at);
	f->at = malloc(n);
	if (!f->at)
		return err_memory(e);
	snprintf(f->at, n, "%s/%s", folder, name);
	return 0;
}

/* ---- fetching ---- */

static void (*note_of_wait)(const char *text);

static void
tell_wait(const char *name)
{
	char text[200];

	snprintf(text, sizeof text, "another process fetches %.100s; waiting for it", name);
	if (note_of_wait)
		note_of_wait(text);
}

int
pull_fetch(struct pull *p, struct pull_file *f, struct download *d, const char *locks,
           const char *lock, bool (*has)(void *ctx), void *ctx, struct err *e)
{
	int fd, r = 0;

	fd = cache_lock(locks, lock, tell_wait, e);
	if (fd < 0)
		return -1;
	if (has && has(ctx)) {
		f->cached = true;
	} else {
		d->progress = f->head ? NULL : &p->progress;
		d->note = p->o->note;
		d->watch = f->watch;
		d->head = f->head;
		r = download_run(d, p->web, e);
		f->fetched = d->fetched;
	}
	close(fd);
	return r;
}

static int
get_file(struct pull *p, struct pull_file *f, unsigned jobs, struct err *e)
{
	int r;

	if (f->watch ? !watch_take(f->watch) : f->done)
		return 0;
	r = kind_of(p)->get(p, f, jobs, e);
	f->done = r == 0;
	watch_give(f->watch, r, f->at, e);
	return r;
}

void
pull_head(struct pull *p, struct pull_file *f, uint64_t bytes)
{
	struct err unused = ERR_INIT;
	int r;

	if (!watch_try(f->watch))
		return;
	f->head = bytes;
	r = kind_of(p)->get(p, f, 1, &unused);
	f->head = 0;
	f->done = r == 0 && f->cached;
	f->watch->headless = r < 0;
	watch_give(f->watch, 0, f->done ? f->at : NULL, NULL);
}

/* Several files at once. */
struct crowd {
	struct pull *p;
	_Atomic size_t next;
	pthread_mutex_t mutex;
	struct err e;
};

static bool
is_small(const struct pull_file *f)
{
	return f->size <= SMALL;
}

static void *
get_small(void *of)
{
	struct crowd *c = of;
	struct pull *p = c->p;
	size_t i;

	while ((i = atomic_fetch_add(&c->next, 1)) < p->n) {
		struct err e = ERR_INIT;

		if (!is_small(&p->files[i]) || get_file(p, &p->files[i], 1, &e) == 0)
			continue;
		pthread_mutex_lock(&c->mutex);
		if (c->e.code == ERR_NONE)
			c->e = e;
		pthread_mutex_unlock(&c->mutex);
		atomic_store(&c->next, p->n);
		break;
	}
	return NULL;
}

static int
get_all_small(struct pull *p, unsigned jobs, struct err *e)
{
	struct crowd c = { .p = p, .e = ERR_INIT };
	pthread_t thread[16];
	unsigned i, n = jobs < 16 ? jobs : 16, started = 0;

	pthread_mutex_init(&c.mutex, NULL);
	for (i = 1; i < n && i < p->n; i++)
		started += pthread_create(&thread[started], NULL, get_small, &c) == 0;
	get_small(&c);
	for (i = 0; i < started; i++)
		pthread_join(thread[i], NULL);
	pthread_mutex_destroy(&c.mutex);
	if (c.e.code != ERR_NONE)
		*e = c.e;
	return c.e.code == ERR_NONE ? 0 : -1;
}

/* Compares a file that was in the cache with --sha256. */
static int
check_cached(const struct pull *p, const struct pull_file *f, struct err *e)
{
	struct sha256 h;
	struct digest d;
	char text[DIGEST_TEXT];
	uint8_t *block = malloc(BLOCK);
	int fd = open(f->at, O_RDONLY | O_CLOEXEC), r = fd < 0 ? -1 : 0;
	ssize_t n = 0;

	sha256_start(&h);
	while (block && r == 0 && (n = read(fd, block, BLOCK)) > 0)
		sha256_add(&h, block, (size_t)n);
	r = !block ? err_memory(e) : r < 0 || n < 0 ? err_errno(e, f->at, "cannot be read") : 0;
	if (sha256_finish(&h, &d, e) < 0)
		r = -1;
	if (r == 0 && strcmp(digest_text(text, &d), p->o->sha256) != 0)
		r = err_set(e, ERR_CHECKSUM, f->path, "has the SHA-256 %s, not %s", text, p->o->sha256);
	if (fd >= 0)
		close(fd);
	free(block);
	return r;
}

int
pull_run(struct pull *p, struct err *e)
{
	unsigned jobs = p->o->jobs ? p->o->jobs : 4;
	size_t i;

	note_of_wait = p->o->note;
	for (i = 0; i < p->n; i++)
		if (p->files[i].cached && get_file(p, &p->files[i], jobs, e) < 0)
			return -1;
	if (get_all_small(p, jobs, e) < 0)
		return -1;
	for (i = 0; i < p->n; i++)
		if (get_file(p, &p->files[i], jobs, e) < 0)
			return -1;
	if (p->o->sha256 && p->files[0].cached && p->files[0].kind != DOWNLOAD_SHA256 &&
	    check_cached(p, &p->files[0], e) < 0)
		return -1;
	if (kind_of(p)->finish && kind_of(p)->finish(p, e) < 0)
		return -1;
	if (p->source->kind == HUB_HF && !p->o->no_cache && !p->o->offline)
		return cache_ref_write(&p->repo, *p->source->revision ? p->source->revision : "main",
		                       p->info.commit, e);
	return 0;
}

/* ---- beginning and end ---- */

int
pull_open(struct pull *p, const struct hub_source *source, const struct pull_options *o,
          struct web *web, struct err *e)
{
	size_t i;

	*p = (struct pull){ .o = o, .source = source, .web = web, .repo = { .fd = -1 } };
	if (!kind_of(p)) {
		err_set(e, ERR_USAGE, source->label, "is a path of this machine, which is not fetched");
		return err_hint(e, "a repository of a hub is hf://ORG/REPO");
	}
	if (cache_roots(&p->roots, e) < 0 || kind_of(p)->open(p, e) < 0)
		return -1;
	if (o->sha256 && p->n != 1)
		return err_set(e, ERR_USAGE, source->label, "has %zu files, but --sha256 is the digest "
		               "of one", p->n);
	if (o->sha256 && p->files[0].kind == DOWNLOAD_SHA256 &&
	    strcmp(p->files[0].digest, o->sha256) != 0)
		return err_set(e, ERR_CHECKSUM, p->files[0].path, "has the SHA-256 %s, not %s",
		               p->files[0].digest, o->sha256);
	for (i = 0; i < p->n; i++)
		if (p->files[i].size != HTTP_UNKNOWN && num_add(p->bytes, p->files[i].size, &p->bytes) < 0)
			return err_set(e, ERR_CORRUPT, source->label, "has sizes that are not possible");
	return 0;
}

void
pull_close(struct pull *p)
{
	size_t i;

	for (i = 0; i < p->n; i++) {
		free(p->files[i].path);
		free(p->files[i].at);
	}
	free(p->files);
	p->files = NULL;
	p->n = 0;
	pull_close_oci(p);
	cache_repo_close(&p->repo);
	http_close(p->hf.http);
	p->hf.http = NULL;
	hf_close(&p->hf);
}

bool
pull_is_noncommercial(const char *license)
{
	static const char *const words[] = { "*-nc", "*-nc-*", "*noncommercial*", "*non-commercial*",
		"*research*", "apple-amlr", "*mnpl*" };
	size_t i;

	for (i = 0; i < sizeof words / sizeof *words; i++)
		if (fnmatch(words[i], license, FNM_CASEFOLD) == 0)
			return true;
	return false;
}
