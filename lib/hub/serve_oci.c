#include "hub/serve_files.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/mem.h"
#include "hub/pull_parts.h"

/* Opens a layer that the cache has. */
static int
open_cached(const struct serve *s, const struct pull_file *x)
{
	char path[CACHE_PATH + 128];
	struct stat st;
	int fd;

	if (s->o->no_cache)
		return -1;
	snprintf(path, sizeof path, "%s/blobs/sha256/%s", s->roots.apr, x->digest);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK);
	if (fd < 0)
		return -1;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && (uint64_t)st.st_size == x->size)
		return fd;
	close(fd);
	return -1;
}

static int
add_layer(struct serve *s, const struct pull_file *x, struct err *e)
{
	const struct pull *p = &s->artifact;
	struct buf url = { 0 }, label = { 0 };
	struct served *f = NULL;

	pull_oci_url(p, x, &url);
	buf_text(&label, s->source.label);
	if (p->several)
		buf_printf(&label, ": %s", x->path);
	if (!buf_string(&url) || !buf_string(&label))
		err_memory(e);
	else
		f = serve_add(s, x->path, (char *)label.p, mem_text((char *)url.p, url.n), x->size, e);
	buf_free(&url);
	buf_free(&label);
	if (!f)
		return -1;
	f->registry = true;
	f->kind = DOWNLOAD_SHA256;
	memcpy(f->digest, x->digest, sizeof f->digest);
	f->own = open_cached(s, x);
	if (f->own >= 0 || !s->how.offline)
		return 0;
	err_set(e, ERR_IO, f->label, "is not in the cache, and no request is made: offline");
	e->missing = 1;
	return -1;
}

int
serve_open_oci(struct serve *s, struct err *e)
{
	size_t i;

	s->how = (struct pull_options){ .plan_only = true, .folder = -1, .sha256 = s->o->sha256,
		.no_cache = s->o->no_cache, .offline = s->o->offline || hf_is_offline(), .note = s->o->note };
	if (pull_open(&s->artifact, &s->source, &s->how, s->web, e) < 0)
		return -1;
	s->folder = s->artifact.several;
	s->listed = true;
	for (i = 0; i < s->artifact.n; i++)
		if (add_layer(s, &s->artifact.files[i], e) < 0)
			return -1;
	return 0;
}
