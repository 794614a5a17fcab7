#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/json.h"
#include "core/reader.h"
#include "core/text.h"
#include "hub/pull_parts.h"

#define DEPTH 16 /* folders in one another in a snapshot */

static const char *
revision_of(const struct pull *p)
{
	return *p->source->revision ? p->source->revision : "main";
}

/* Whether a path is the source's folder or below it; all are if it has none. */
static bool
is_below(const struct hub_source *s, const char *path)
{
	size_t n = strlen(s->path);

	return n == 0 || (strncmp(path, s->path, n) == 0 && path[n] == '/');
}

static int
not_there(const struct pull *p, const char *fact, struct err *e)
{
	err_set(e, ERR_IO, p->source->label, "%s", fact);
	e->missing = 1;
	return -1;
}

/* ---- ORG/REPO:TAG ---- */

static bool
has_tag(const char *path, const char *tag)
{
	const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;

	return strcasestr(name, tag) && strlen(path) > 5 &&
	       strcasecmp(path + strlen(path) - 5, ".gguf") == 0 && !strcasestr(name, "mmproj");
}

static int
choose_tag(struct pull *p, struct err *e)
{
	char names[400] = "", one[HUB_PATH] = "";
	const char *tag = p->source->tag;
	size_t i, kept = 0, models = 0, length = 0;

	for (i = 0; i < p->n; i++) {
		const char *path = p->files[i].path, *of = strstr(path, "-of-");
		bool gguf = strlen(path) > 5 && strcasecmp(path + strlen(path) - 5, ".gguf") == 0;

		if (gguf && length + strlen(path) + 3 < sizeof names)
			length += (size_t)snprintf(names + length, sizeof names - length, "%s%s",
			                           length ? ", " : "", path);
		if (!has_tag(path, tag)) {
			free(p->files[i].path);
			continue;
		}
		if (!of || of - path < 6 || strncmp(of - 5, "00001", 5) == 0)
			models++;
		snprintf(one, sizeof one, "%s", path);
		p->files[kept++] = p->files[i];
	}
	p->n = kept;
	p->several = kept > 1;
	if (models == 1)
		return 0;
	if (!length)
		return not_there(p, "has no GGUF file", e);
	err_set(e, models ? ERR_USAGE : ERR_IO, p->source->label,
	        "%s GGUF file has %s in its name, of: %s", models ? "more than one" : "no", tag,
	        names);
	e->missing = !models;
	return -1;
}

/* ---- without requests ---- */

/* Adds the files below a folder of a snapshot. */
static int
walk(struct pull *p, const char *folder, unsigned depth, struct err *e)
{
	char path[HUB_PATH + 80], name[HUB_PATH], blob[65];
	int n = snprintf(path, sizeof path, "snapshots/%s%s%s", p->info.commit,
	                 *folder ? "/" : "", folder), r = 0;
	int fd = n < 0 || (size_t)n >= sizeof path || depth > DEPTH
	             ? -1 : openat(p->repo.fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *x;

	while (d && r == 0 && (x = readdir(d))) {
		struct stat st;

		n = snprintf(name, sizeof name, "%s%s%s", folder, *folder ? "/" : "", x->d_name);
		if (n < 0 || (size_t)n >= sizeof name || !hub_path_is_safe(name))
			continue;
		if (fstatat(fd, x->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode))
			r = walk(p, name, depth + 1, e);
		else if (cache_has(&p->repo, p->info.commit, name, blob) &&
		         fstatat(fd, x->d_name, &st, 0) == 0 && is_below(p->source, name))
			r = pull_add(p, name, (uint64_t)st.st_size, DOWNLOAD_UNKNOWN, blob, e) ? 0 : -1;
	}
	if (d)
		closedir(d);
	else if (fd >= 0)
		close(fd);
	return r;
}

/* Adds the files of trees/COMMIT.json, the listing of the commit. 0 if there is none; -1. */
static int
read_tree(struct pull *p, struct err *e)
{
	char path[80], digest[65];
	struct reader in;
	struct buf b = { 0 };
	json_t *o = NULL, *v;
	const char *name, *id;
	int fd, r = 0;

	snprintf(path, sizeof path, "trees/%s.json", p->info.commit);
	fd = openat(p->repo.fd, path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return 0;
	reader_fd(&in, fd, path, e);
	if (reader_rest(&in, &b, HF_ANSWER) == 0)
		o = json_parse(b.p, b.n, ERR_CORRUPT, path, e);
	reader_close(&in);
	buf_free(&b);
	if (!o)
		return -1;
	json_object_foreach(json_object_get(o, "files"), name, v) {
		uint64_t size;
		bool lfs = json_member_text(v, "lfs_sha256", &id) == 0;

		if (!hub_path_is_safe(name) || !is_below(p->source, name) ||
		    json_member_u64(v, lfs && json_object_get(v, "lfs_size") ? "lfs_size" : "size", &size) < 0 ||
		    (!lfs && json_member_text(v, "blob_id", &id) < 0) || strlen(id) >= sizeof digest)
			continue;
		if (r == 0 && !pull_add(p, name, size, lfs ? DOWNLOAD_SHA256 : DOWNLOAD_GIT, id, e))
			r = -1;
	}
	json_decref(o);
	return r;
}

static int
by_path(const void *a, const void *b)
{
	return strcmp(((const struct pull_file *)a)->path, ((const struct pull_file *)b)->path);
}

static void
forget_files(struct pull *p)
{
	size_t i;

	for (i = 0; i < p->n; i++)
		free(p->files[i].path);
	p->n = 0;
}

/* Whether the cache knows that the path is neither a file nor a folder of the commit. */
static bool
is_absent(struct pull *p)
{
	const struct hub_source *s = p->source;
	struct err unused = ERR_INIT;
	char tree[80];
	bool absent;

	snprintf(tree, sizeof tree, "trees/%s.json", p->info.commit);
	absent = *s->path && !s->folder && cache_lacks(&p->repo, p->info.commit, s->path) &&
	         faccessat(p->repo.fd, tree, R_OK, 0) == 0 && read_tree(p, &unused) == 0 && p->n == 0;
	forget_files(p);
	return absent;
}

/* The choice from the cache alone. why: how the message of what is missing ends. */
static int
open_cached(struct pull *p, const char *why, struct err *e)
{
	const struct hub_source *s = p->source;
	char fact[200], shown[80];
	size_t i;

	snprintf(fact, sizeof fact, "is not in the cache, %s", why);
	if (!cache_ref(&p->repo, revision_of(p), p->info.commit))
		return not_there(p, fact, e);
	forget_files(p);
	if (*s->path && cache_has(&p->repo, p->info.commit, s->path, NULL)) {
		struct stat st = { .st_size = 0 };
		char name[HUB_PATH + 64], blob[65];

		cache_has(&p->repo, p->info.commit, s->path, blob);
		snprintf(name, sizeof name, "snapshots/%s/%s", p->info.commit, s->path);
		if (fstatat(p->repo.fd, name, &st, 0) < 0)
			return not_there(p, fact, e);
		return pull_add(p, s->path, (uint64_t)st.st_size, DOWNLOAD_UNKNOWN, blob, e) ? 0 : -1;
	}
	p->several = true;
	if (read_tree(p, e) < 0 || (p->n == 0 && walk(p, s->path, 0, e) < 0))
		return -1;
	if (p->n == 0)
		return not_there(p, cache_lacks(&p->repo, p->info.commit, s->path)
		                 ? "does not exist in this revision" : fact, e);
	qsort(p->files, p->n, sizeof *p->files, by_path);
	if ((*s->tag ? choose_tag(p, e) : pull_choose(p, e)) < 0)
		return -1;
	for (i = 0; i < p->n; i++)
		if (!cache_has(&p->repo, p->info.commit, p->files[i].path, NULL)) {
			text_quote(shown, sizeof shown, p->files[i].path, strlen(p->files[i].path));
			snprintf(fact, sizeof fact, "lacks %s in the cache, %s", shown, why);
			return not_there(p, fact, e);
		}
	return 0;
}

/* ---- by requests ---- */

/* Stores the listing of a commit as the Python client does, so that a later run without the
 * network knows whether all files are there. Failure only costs that. */
static void
write_tree(const struct pull *p, const struct hf_listing *l)
{
	json_t *o = json_object(), *files = json_object();
	char name[80], made[120];
	struct buf b = { 0 };
	size_t i;
	int fd;

	for (i = 0; i < l->n; i++) {
		const struct hf_file *f = &l->files[i];
		json_t *v = json_object();

		json_object_set_new(v, "size", json_integer((json_int_t)f->size));
		json_object_set_new(v, f->kind == DOWNLOAD_GIT ? "blob_id" : "lfs_sha256",
		                    json_string(f->digest));
		if (f->kind == DOWNLOAD_SHA256)
			json_object_set_new(v, "lfs_size", json_integer((json_int_t)f->size));
		json_object_set_new(files, f->path, v);
	}
	json_object_set_new(o, "format_version", json_integer(1));
	json_object_set_new(o, "files", files);
	snprintf(name, sizeof name, "trees/%s.json", p->info.commit);
	snprintf(made, sizeof made, "%s.%ld.apr", name, (long)getpid());
	cache_folders_at(p->repo.fd, "trees");
	fd = json_write(o, &b) < 0
	         ? -1 : openat(p->repo.fd, made, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (fd >= 0 && write(fd, b.p, b.n) == (ssize_t)b.n)
		renameat(p->repo.fd, made, p->repo.fd, name);
	else if (fd >= 0)
		unlinkat(p->repo.fd, made, 0);
	if (fd >= 0)
		close(fd);
	buf_free(&b);
	json_decref(o);
}

/* Creates the folder of the repository, since there is something to put into it. */
static int
create_repo(struct pull *p, struct err *e)
{
	cache_repo_close(&p->repo);
	return cache_repo_open(&p->repo, &p->roots, p->source->org, p->source->repo, true, e);
}

static int
open_folder(struct pull *p, struct err *e)
{
	struct hf_listing l = { .n = 0 };
	size_t i;
	int r = hf_list(&p->hf, p->source, p->info.commit, &l, e);
	char text[200];

	for (i = 0; r == 0 && i < l.n; i++)
		if (is_below(p->source, l.files[i].path) &&
		    !pull_add(p, l.files[i].path, l.files[i].size, l.files[i].kind, l.files[i].digest, e))
			r = -1;
	if (r == 0 && l.skipped && p->o->note) {
		snprintf(text, sizeof text, "%zu file%s left out, whose names are not safe here: %s",
		         l.skipped, l.skipped == 1 ? " is" : "s are", l.skipped_name);
		p->o->note(text);
	}
	if (r == 0 && !p->o->no_cache && !p->o->plan_only)
		r = create_repo(p, e);
	if (r == 0 && p->repo.fd >= 0 && !p->o->no_cache && !p->o->plan_only && l.skipped == 0)
		write_tree(p, &l);
	hf_listing_free(&l);
	if (r < 0)
		return -1;
	p->several = true;
	return *p->source->tag ? choose_tag(p, e) : pull_choose(p, e);
}

/* Keeps that the path is not a file of the commit, as the Python client does. */
static void
keep_absence(struct pull *p, const char *commit)
{
	struct err unused = ERR_INIT;

	if (create_repo(p, &unused) < 0)
		return;
	cache_lack(&p->repo, commit, p->source->path);
	cache_ref_write(&p->repo, revision_of(p), commit, &unused);
}

/* A path may be a file or a folder. */
static int
open_path(struct pull *p, struct err *e)
{
	const struct hub_source *s = p->source;
	struct hf_file f;
	struct hf_info info;
	struct err why = ERR_INIT, unused = ERR_INIT;
	char commit[CACHE_COMMIT];

	if (hf_facts(&p->hf, s, revision_of(p), s->path, commit, &f, &why) == 0) {
		/* Mirrors may lack the description; then the licence is not known. */
		if (hf_info(&p->hf, s, commit, &info, &unused) == 0)
			p->info = info;
		memcpy(p->info.commit, commit, CACHE_COMMIT);
		return pull_add(p, s->path, f.size, f.kind, f.digest, e) ? 0 : -1;
	}
	if (why.missing && hf_info(&p->hf, s, revision_of(p), &p->info, &unused) == 0) {
		unused = (struct err)ERR_INIT;
		if (open_folder(p, &unused) == 0)
			return 0;
		forget_files(p);
	}
	if (why.missing && *commit && !p->o->no_cache && !p->o->plan_only)
		keep_absence(p, commit);
	*e = why;
	return -1;
}

static int
open_online(struct pull *p, struct err *e)
{
	if (*p->source->path && !p->source->folder)
		return open_path(p, e);
	return hf_info(&p->hf, p->source, revision_of(p), &p->info, e) < 0 ? -1
	                                                                   : open_folder(p, e);
}

/* Whether a commit by its digits has the file, or is known not to: no request is needed. */
static bool
is_settled(struct pull *p)
{
	return *p->source->path && !p->source->folder && strlen(p->source->revision) == 40 &&
	       cache_ref(&p->repo, p->source->revision, p->info.commit) &&
	       (cache_has(&p->repo, p->info.commit, p->source->path, NULL) || is_absent(p));
}

static int
find_out(struct pull *p, struct err *e)
{
	const struct hub_source *s = p->source;
	struct err why = ERR_INIT, unused = ERR_INIT;
	char text[700];

	if (cache_repo_open(&p->repo, &p->roots, s->org, s->repo, false, e) < 0)
		return -1;
	if (!p->o->no_cache && (p->o->offline || is_settled(p)))
		return open_cached(p, "and requests are switched off (offline)", e);
	if (p->o->offline)
		return not_there(p, "needs requests, which are switched off (offline)", e);
	if (hf_open(&p->hf, p->o->token_file, e) < 0)
		return -1;
	p->hf.http = http_open(p->web, e);
	if (!p->hf.http)
		return -1;
	if (open_online(p, &why) == 0)
		return p->o->no_cache || p->o->plan_only ? 0 : create_repo(p, e);
	if (why.code == ERR_NETWORK && !p->o->no_cache && open_cached(p, "", &unused) == 0) {
		snprintf(text, sizeof text, "%.200s: %.300s; the copy in the cache is used", why.object,
		         why.fact);
		if (p->o->note)
			p->o->note(text);
		return 0;
	}
	*e = why;
	return -1;
}

int
pull_open_hf(struct pull *p, struct err *e)
{
	const char *below;
	size_t i;
	int n;

	if (find_out(p, e) < 0)
		return -1;
	for (i = 0; i < p->n && !p->o->no_cache; i++)
		p->files[i].cached = cache_has(&p->repo, p->info.commit, p->files[i].path, NULL) ||
		                     cache_has_blob(&p->repo, p->files[i].digest, p->files[i].size);
	below = p->several ? p->source->path : p->files[0].path;
	n = snprintf(p->root, sizeof p->root, "%s/snapshots/%s%s%s", p->repo.path, p->info.commit,
	             *below ? "/" : "", below);
	return n > 0 && (size_t)n < sizeof p->root
	           ? 0 : err_set(e, ERR_USAGE, p->repo.path, "is too long for the path of a cache");
}

/* ---- files ---- */

struct wanted {
	const struct pull *p;
	const struct pull_file *f;
};

static bool
has_blob(void *ctx)
{
	const struct wanted *w = ctx;

	return cache_has_blob(&w->p->repo, w->f->digest, w->f->size);
}

static struct download
new_download(struct pull *p, const struct pull_file *f, unsigned jobs)
{
	struct download d = { .label = f->path, .size = f->size, .kind = f->kind, .jobs = jobs,
		.authorization = *p->hf.authorization ? p->hf.authorization : NULL };

	memcpy(d.digest, f->digest, sizeof d.digest);
	d.sha256_too = p->o->sha256;
	return d;
}

static int
get_to_cache(struct pull *p, struct pull_file *f, unsigned jobs, const char *url,
             struct err *e)
{
	struct download d = new_download(p, f, jobs);
	struct wanted w = { p, f };
	int r;

	d.url = url;
	d.name = f->digest;
	d.replace = true;
	d.folder = openat(p->repo.fd, "blobs", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (d.folder < 0)
		return err_errno(e, p->repo.path, "blobs cannot be opened");
	r = pull_fetch(p, f, &d, p->repo.locks, f->digest, has_blob, &w, e);
	close(d.folder);
	return r;
}

/* Opens the folder of a path below p->o->folder. *name: the last part. */
int
pull_open_target(struct pull *p, const char *path, const char **name, struct err *e)
{
	char folder[HUB_PATH] = ".";
	const char *slash = strrchr(path, '/');
	int fd;

	if (slash)
		snprintf(folder, sizeof folder, "%.*s", (int)(slash - path), path);
	*name = slash ? slash + 1 : path;
	fd = cache_folders_at(p->o->folder, folder) < 0
	         ? -1 : openat(p->o->folder, folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? err_errno(e, path, "the folder cannot be created") : fd;
}

static int
get_to_folder(struct pull *p, struct pull_file *f, unsigned jobs, const char *url,
              struct err *e)
{
	struct download d = new_download(p, f, jobs);
	const char *path = p->several || !p->o->name ? f->path : p->o->name;
	int r;

	d.url = url;
	d.replace = p->o->replace;
	d.folder = pull_open_target(p, path, &d.name, e);
	if (d.folder < 0)
		return -1;
	d.progress = &p->progress;
	d.note = p->o->note;
	r = download_run(&d, p->web, e);
	f->fetched = d.fetched;
	close(d.folder);
	return r;
}

int
pull_get_hf(struct pull *p, struct pull_file *f, unsigned jobs, struct err *e)
{
	char folder[CACHE_PATH + 64];
	struct wanted w = { p, f };
	struct buf url = { 0 };
	int r = 0;

	hf_url(&url, &p->hf, p->source, p->info.commit, f->path);
	if (!buf_string(&url)) {
		r = err_memory(e);
	} else if (p->o->no_cache) {
		r = get_to_folder(p, f, jobs, (char *)url.p, e);
	} else if (has_blob(&w) || cache_has(&p->repo, p->info.commit, f->path, NULL)) {
		f->cached = true;
		atomic_fetch_add(&p->progress, f->size);
	} else if (p->o->offline) {
		r = not_there(p, "is not in the cache, and requests are switched off (offline)", e);
	} else {
		r = get_to_cache(p, f, jobs, (char *)url.p, e);
	}
	buf_free(&url);
	if (r < 0 || p->o->no_cache)
		return r;
	if (*f->digest && has_blob(&w) && cache_link(&p->repo, p->info.commit, f->path, f->digest, e) < 0)
		return -1;
	snprintf(folder, sizeof folder, "%s/snapshots/%s", p->repo.path, p->info.commit);
	return pull_set_place(f, folder, f->path, e);
}
