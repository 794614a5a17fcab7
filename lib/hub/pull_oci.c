/* pull_oci: artifacts of registries.
 *
 * What a cache keeps of an artifact, in APR (hub/cache.h):
 *
 *     blobs/sha256/HEX                       its layers
 *     oci/REGISTRY/NAME/TAG.json             its manifest, unchanged; "sha256-HEX.json" if it was
 *                                            asked for by digest
 *     snapshots/HEX/PATH                     of an artifact of several files: hard links to its
 *                                            layers; HEX is the SHA-256 of the manifest
 */
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/text.h"
#include "hub/oci.h"
#include "hub/pull_parts.h"
#include "hub/stock.h"

struct pull_artifact {
	struct oci oci;
	struct oci_manifest manifest;
	struct buf text;          /* of the manifest */
	char digest[OCI_DIGEST];  /* of it */
	bool from_cache;          /* it was read from the cache */
	pthread_mutex_t mutex;    /* of oci, once files are fetched */
};

/* ---- the manifest in the cache ---- */

static void
entry_folder(const struct pull *p, char path[CACHE_PATH + 700])
{
	const struct oci *o = &p->artifact->oci;

	snprintf(path, CACHE_PATH + 700, "%s/oci/%s/%s", p->roots.apr, o->registry, o->name);
}

static void
entry_path(const struct pull *p, char path[CACHE_PATH + 1000])
{
	const char *reference = p->artifact->oci.reference;
	const bool digest = oci_digest_is_valid(reference);
	char folder[CACHE_PATH + 700];

	entry_folder(p, folder);
	snprintf(path, CACHE_PATH + 1000, "%s/%s%s.json", folder, digest ? "sha256-" : "",
	         reference + (digest ? 7 : 0));
}

/* Reads the manifest that an earlier process has left. */
static bool
read_entry(const struct pull *p)
{
	struct pull_artifact *a = p->artifact;
	char path[CACHE_PATH + 1000];
	struct err unused = ERR_INIT;

	if (p->o->no_cache)
		return false;
	entry_path(p, path);
	buf_clear(&a->text);
	a->from_cache = stock_small(AT_FDCWD, path, OCI_MANIFEST, &a->text) == 0 &&
		oci_manifest_digest(&a->text, a->digest, &unused) == 0;
	return a->from_cache;
}

/* Writes it, under a name of its own first. */
static int
write_entry(const struct pull *p, struct err *e)
{
	const struct pull_artifact *a = p->artifact;
	char path[CACHE_PATH + 1000], made[CACHE_PATH + 1040], folder[CACHE_PATH + 700];
	int fd, done;

	entry_path(p, path);
	entry_folder(p, folder);
	if (cache_folders(folder) < 0)
		return err_errno(e, folder, "cannot be created");
	snprintf(made, sizeof made, "%s.%ld.apr", path, (long)getpid());
	fd = open(made, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0666);
	done = fd < 0 || write(fd, a->text.p, a->text.n) != (ssize_t)a->text.n ? -1 : 0;
	if (fd >= 0 && close(fd) < 0)
		done = -1;
	if (done == 0)
		done = rename(made, path);
	if (done < 0) {
		err_errno(e, path, "cannot be written");
		unlink(made);
	}
	return done;
}

/* ---- the layers ---- */

static int
fetch(struct pull *p, struct err *e)
{
	struct pull_artifact *a = p->artifact;

	if (oci_open(&a->oci, p->web, p->source, false, e) < 0)
		return -1;
	return oci_fetch_manifest(&a->oci, a->oci.reference, &a->text, a->digest, e);
}

static bool
is_asked(const struct pull_options *o, const char *path)
{
	bool in = o->include_count == 0;
	size_t i;

	for (i = 0; i < o->include_count && !in; i++)
		in = fnmatch(o->include[i], path, 0) == 0;
	for (i = 0; i < o->exclude_count && in; i++)
		in = fnmatch(o->exclude[i], path, 0) != 0;
	return in;
}

static size_t
count(const struct oci_manifest *m, enum oci_role role)
{
	size_t n = 0, i;

	for (i = 0; i < m->n; i++)
		n += m->layers[i].role == role;
	return n;
}

/* Without patterns: the weights and what lies beside them; of a model in one file, that alone. */
static bool
is_wanted(const struct pull *p, const struct oci_layer *l)
{
	const struct oci_manifest *m = &p->artifact->manifest;
	const bool one = count(m, OCI_MODEL) == 1 && count(m, OCI_SIDE) == 0;

	if (p->o->include_count)
		return true;
	return l->role == OCI_MODEL || l->role == OCI_SIDE || (l->role == OCI_DOC && !one);
}

static int
nothing(const struct pull *p, struct err *e)
{
	const struct oci_manifest *m = &p->artifact->manifest;

	if (p->o->include_count || p->o->exclude_count) {
		err_set(e, ERR_IO, p->source->label, "has no file to fetch that the patterns allow");
		e->missing = 1;
		return -1;
	}
	err_set(e, ERR_FORMAT, p->source->label, m->has_archives
	        ? "has its files in tar archives, which are not read"
	        : "is an artifact without a layer of weights");
	return err_hint(e, "--include '*' fetches its layers unchanged");
}

static int
add_layers(struct pull *p, struct err *e)
{
	const struct oci_manifest *m = &p->artifact->manifest;
	size_t i, weights = 0;

	for (i = 0; i < m->n; i++) {
		const struct oci_layer *l = &m->layers[i];

		if (!is_wanted(p, l) || !is_asked(p->o, l->path)) {
			text_quote(p->left_out_name, sizeof p->left_out_name, l->path, strlen(l->path));
			p->left_out++;
			continue;
		}
		weights += l->role == OCI_MODEL;
		if (!pull_add(p, l->path, l->size, DOWNLOAD_SHA256, l->digest + 7, e))
			return -1;
	}
	if (p->n == 0 || (!weights && !p->o->include_count))
		return nothing(p, e);
	p->several = p->n > 1;
	if (p->several && p->o->no_cache && p->o->name) {
		err_set(e, ERR_USAGE, p->source->label, "has %zu files", p->n);
		return err_hint(e, "-o FOLDER/ takes them, or --include names one");
	}
	if (p->o->sha256 && p->n == 1 && strcmp(p->o->sha256, p->files[0].digest) != 0)
		return err_set(e, ERR_CHECKSUM, p->source->label, "has the SHA-256 %s, not %s",
		               p->files[0].digest, p->o->sha256);
	return 0;
}

/* Reads the manifest; of a list of manifests, the one for the model. */
static int
parse(struct pull *p, struct err *e)
{
	struct pull_artifact *a = p->artifact;
	char child[OCI_DIGEST];

	if (oci_manifest_parse(&a->manifest, a->text.p, a->text.n, p->source->label, e) < 0)
		return -1;
	if (!*a->manifest.child)
		return add_layers(p, e);
	memcpy(child, a->manifest.child, sizeof child);
	oci_manifest_free(&a->manifest);
	if (a->from_cache)
		return err_set(e, ERR_CORRUPT, p->source->label, "has a list of manifests in the cache");
	if (oci_fetch_manifest(&a->oci, child, &a->text, a->digest, e) < 0 ||
	    oci_manifest_parse(&a->manifest, a->text.p, a->text.n, p->source->label, e) < 0)
		return -1;
	return *a->manifest.child ? err_set(e, ERR_FORMAT, p->source->label,
	                                    "is a list of lists of manifests") : add_layers(p, e);
}

int
pull_open_oci(struct pull *p, struct err *e)
{
	struct pull_artifact *a = calloc(1, sizeof *a);
	struct err why = ERR_INIT;
	char text[700];

	p->artifact = a;
	if (!a)
		return err_memory(e);
	pthread_mutex_init(&a->mutex, NULL);
	oci_name(&a->oci, p->source);
	if (p->o->offline && read_entry(p))
		return parse(p, e);
	if (p->o->offline) {
		err_set(e, ERR_IO, p->source->label,
		        "is not in the cache, and requests are switched off (offline)");
		e->missing = 1;
		return -1;
	}
	if (fetch(p, &why) == 0)
		return parse(p, e);
	if (why.code != ERR_NETWORK || !read_entry(p)) {
		*e = why;
		return -1;
	}
	snprintf(text, sizeof text, "%.200s: %.300s; the copy in the cache is used", why.object, why.fact);
	if (p->o->note)
		p->o->note(text);
	return parse(p, e);
}

/* ---- the files ---- */

void
pull_oci_url(const struct pull *p, const struct pull_file *f, struct buf *b)
{
	char digest[OCI_DIGEST];

	snprintf(digest, sizeof digest, "sha256:%.64s", f->digest);
	oci_url(b, &p->artifact->oci, "blobs", digest);
}

int
pull_oci_token(struct pull *p, const char *url, const char *refused, char *to, struct err *e)
{
	struct pull_artifact *a = p->artifact;
	struct http_answer *answer = malloc(sizeof *answer);
	struct http_request q = { .method = "HEAD", .url = url, .stop_redirect = true };
	int done = 0;

	if (!answer)
		return err_memory(e);
	answer_reset(answer);
	pthread_mutex_lock(&a->mutex);
	if (refused && strcmp(refused, a->oci.authorization) == 0) {
		a->oci.authorization[0] = '\0';
		done = oci_once(&a->oci, &q, answer, e);
	}
	snprintf(to, OCI_TOKEN, "%s", a->oci.authorization);
	pthread_mutex_unlock(&a->mutex);
	free(answer);
	return done;
}

/* One file on its way. */
struct fetching {
	struct pull *p;
	struct pull_file *f;
	char authorization[OCI_TOKEN];
	struct buf url;
	char folder[CACHE_PATH + 32];
};

static bool
has_blob(void *ctx)
{
	const struct fetching *w = ctx;
	char path[CACHE_PATH + 128];
	struct stat st;

	snprintf(path, sizeof path, "%s/%s", w->folder, w->f->digest);
	return lstat(path, &st) == 0 && S_ISREG(st.st_mode) && (uint64_t)st.st_size == w->f->size;
}

static int
run(struct fetching *w, struct download *d, struct err *e)
{
	struct pull *p = w->p;
	char locks[CACHE_PATH + 16];
	int done;

	d->authorization = *w->authorization ? w->authorization : NULL;
	snprintf(locks, sizeof locks, "%s/.locks", p->roots.apr);
	if (!p->o->no_cache)
		return pull_fetch(p, w->f, d, locks, w->f->digest, has_blob, w, e);
	d->progress = &p->progress;
	d->note = p->o->note;
	done = download_run(d, p->web, e);
	w->f->fetched = d->fetched;
	return done;
}

/* Fetches by d; a token may end on the way. */
static int
fetch_file(struct fetching *w, struct download *d, struct err *e)
{
	struct err why = ERR_INIT;
	char next[OCI_TOKEN];

	if (pull_oci_token(w->p, d->url, NULL, w->authorization, e) < 0)
		return -1;
	if (run(w, d, &why) == 0)
		return 0;
	if (d->status != 401 || pull_oci_token(w->p, d->url, w->authorization, next, e) < 0) {
		if (e->code == ERR_NONE)
			*e = why;
		return -1;
	}
	memcpy(w->authorization, next, sizeof next);
	return run(w, d, e);
}

/* Opens the folder of the result, and sets the name in it. */
static int
open_folder(const struct fetching *w, struct download *d, struct err *e)
{
	const struct pull_options *o = w->p->o;
	const char *path = w->f->path;

	if (!o->no_cache) {
		if (cache_folders(w->folder) < 0)
			return err_errno(e, w->folder, "cannot be created");
		d->name = w->f->digest;
		d->folder = open(w->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		return d->folder < 0 ? err_errno(e, w->folder, "cannot be opened") : 0;
	}
	d->folder = pull_open_target(w->p, w->p->several || !o->name ? path : o->name, &d->name, e);
	d->replace = o->replace;
	return d->folder < 0 ? -1 : 0;
}

static int
get(struct fetching *w, unsigned jobs, struct err *e)
{
	struct download d = { .label = w->f->path, .size = w->f->size, .kind = DOWNLOAD_SHA256,
		.jobs = jobs };
	int done;

	pull_oci_url(w->p, w->f, &w->url);
	d.url = buf_string(&w->url);
	if (!d.url)
		return err_memory(e);
	snprintf(d.digest, sizeof d.digest, "%s", w->f->digest);
	if (open_folder(w, &d, e) < 0)
		return -1;
	done = fetch_file(w, &d, e);
	close(d.folder);
	return done;
}

int
pull_get_oci(struct pull *p, struct pull_file *f, unsigned jobs, struct err *e)
{
	struct fetching w = { .p = p, .f = f };
	int done = 0;

	snprintf(w.folder, sizeof w.folder, "%s/blobs/sha256", p->roots.apr);
	if (!p->o->no_cache && has_blob(&w)) {
		f->cached = true;
		atomic_fetch_add(&p->progress, f->size);
	} else if (p->o->offline || p->artifact->oci.http == NULL) {
		err_set(e, ERR_IO, f->path, "is not in the cache, and requests are switched off (offline)");
		e->missing = 1;
		done = -1;
	} else {
		done = get(&w, jobs, e);
	}
	buf_free(&w.url);
	return done < 0 || p->o->no_cache ? done : pull_set_place(f, w.folder, f->digest, e);
}

/* ---- the end ---- */

/* Links the files of an artifact under their names. */
static int
link_files(struct pull *p, struct err *e)
{
	size_t i;

	snprintf(p->root, sizeof p->root, "%.*s/snapshots/%s", CACHE_PATH - 100, p->roots.apr,
	         p->artifact->digest + 7);
	for (i = 0; i < p->n; i++) {
		struct pull_file *f = &p->files[i];
		char to[CACHE_PATH + HUB_PATH];
		char *slash;

		snprintf(to, sizeof to, "%s/%s", p->root, f->path);
		slash = strrchr(to, '/');
		*slash = '\0';
		if (cache_folders(to) < 0)
			return err_errno(e, to, "cannot be created");
		*slash = '/';
		if (link(f->at, to) < 0 && errno != EEXIST)
			return err_errno(e, to, "cannot be linked");
		if (pull_set_place(f, p->root, f->path, e) < 0)
			return -1;
	}
	return 0;
}

int
pull_finish_oci(struct pull *p, struct err *e)
{
	if (p->o->no_cache)
		return 0;
	if (p->several && link_files(p, e) < 0)
		return -1;
	if (!p->several)
		snprintf(p->root, sizeof p->root, "%s", p->files[0].at);
	return p->artifact->from_cache ? 0 : write_entry(p, e);
}

void
pull_close_oci(struct pull *p)
{
	struct pull_artifact *a = p->artifact;

	if (!a)
		return;
	oci_close(&a->oci);
	oci_manifest_free(&a->manifest);
	buf_free(&a->text);
	pthread_mutex_destroy(&a->mutex);
	free(a);
	p->artifact = NULL;
}
