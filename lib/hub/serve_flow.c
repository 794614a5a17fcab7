#include "hub/serve_files.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/dir_name.h"
#include "core/num.h"

/* The length of the folder in the paths of a source, with its "/". */
static size_t
folder_bytes(const struct pull *p)
{
	const char *first = p->files[0].path, *slash = strrchr(first, '/');

	if (!p->several)
		return slash ? (size_t)(slash + 1 - first) : 0;
	if (p->source->kind != HUB_HF || *p->source->tag || !*p->source->path)
		return 0;
	return strlen(p->source->path) + (p->source->path[strlen(p->source->path) - 1] != '/');
}

static int
add_files(struct serve *s, const struct pull *p, struct err *e)
{
	size_t i, below = folder_bytes(p);
	struct served *f;

	for (i = 0; i < p->n; i++) {
		const struct pull_file *x = &p->files[i];

		f = serve_add(s, x->path + below, x->path, NULL, x->size, e);
		if (!f)
			return -1;
		f->flowing = (int64_t)i;
	}
	return 0;
}

int
serve_open_flow(struct serve *s, struct err *e)
{
	struct pull *p = s->o->pull;

	s->source = *p->source;
	s->folder = p->several;
	memcpy(s->commit, p->info.commit, sizeof s->commit);
	/* Files beside a single one of the hub may be found. */
	s->listed = p->several || p->o->offline || p->source->kind != HUB_HF;
	if (cache_roots(&s->roots, e) < 0)
		return -1;
	if (!s->listed) {
		if (hf_open(&s->hf, s->o->token_file, e) < 0)
			return -1;
		s->hf.http = serve_connection(s, RANGES_WORKERS, e);
		if (!s->hf.http)
			return -1;
	}
	s->flow = &s->flows;
	return flow_start(s->flow, p, e) < 0 ? -1 : add_files(s, p, e);
}

struct served *
serve_find_cached(struct serve *s, const char *name, uint32_t *number, struct err *e)
{
	const struct pull *p = s->flow ? s->flow->pull : NULL;
	char path[HUB_PATH], at[HUB_PATH + 64];
	struct served *f = NULL;
	struct stat st;
	int n, fd = -1;

	if (!p || p->several || p->repo.fd < 0 || !dir_name_is_plain(name))
		return NULL;
	n = snprintf(path, sizeof path, "%.*s%s", (int)folder_bytes(p), p->files[0].path, name);
	if (n > 0 && (size_t)n < sizeof path && cache_has(&p->repo, s->commit, path, NULL)) {
		snprintf(at, sizeof at, "snapshots/%s/%s", s->commit, path);
		fd = openat(p->repo.fd, at, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	}
	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		f = serve_add(s, name, path, NULL, (uint64_t)st.st_size, e);
	if (f)
		f->own = fd;
	else if (fd >= 0)
		close(fd);
	*number = (uint32_t)s->count - 1;
	return f;
}

int
serve_flowing(struct serve *s, struct served *f, bool wait, struct err *e)
{
	size_t i = (size_t)f->flowing;

	if (f->flowing < 0 || f->own >= 0 || (!wait && !flow_has(s->flow, i)))
		return 0;
	f->own = flow_whole(s->flow, i, e);
	return f->own < 0 ? -1 : 0;
}

int
serve_flow_read(struct serve *s, const struct served *f, uint64_t at, uint64_t n,
                uint8_t *window, uint64_t *where, uint64_t *got, struct err *e)
{
	*where = RANGES_WINDOW;
	if (at >= f->size || n == 0)
		return err_set(e, ERR_CORRUPT, f->label, "a range lies outside its file");
	return flow_read(s->flow, (size_t)f->flowing, at, num_min(num_min(n, f->size - at), SERVE_FLOW),
	                 window + RANGES_WINDOW, got, e);
}
