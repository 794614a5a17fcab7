#include "cli/cache/cache_work.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "cli/cache/cache_text.h"
#include "cli/tool.h"
#include "core/num.h"
#include "core/text.h"
#include "report/lines.h"

int
cache_age(const char *text, int64_t *seconds)
{
	static const struct {
		char unit;
		uint64_t seconds;
	} units[] = { { 's', 1 }, { 'm', 60 }, { 'h', 3600 }, { 'd', 86400 }, { 'w', 604800 } };
	uint64_t n, all;
	size_t i;

	if (text_digits(&text, &n) < 0 || !text[0] || text[1])
		return -1;
	for (i = 0; i < sizeof units / sizeof *units; i++)
		if (units[i].unit == text[0] && num_mul(n, units[i].seconds, &all) == 0 &&
		    all <= INT64_MAX) {
			*seconds = (int64_t)all;
			return 0;
		}
	return -1;
}

/* ---- verify ---- */

struct verify {
	bool json;
	uint64_t blobs, bytes, bad, unknown;
	struct buf report;
};

static const char *const results[] = {
	[STOCK_HOLDS] = "ok", [STOCK_DIFFERS] = "differs", [STOCK_UNKNOWN] = "unknown",
};

static void
put_blob(struct verify *w, const struct stock_cache *c, const struct stock_repo *r,
         const struct stock_blob *b, enum stock_verdict verdict)
{
	char name[512], blob[300];

	if (w->json) {
		lines_json(&w->report, json_pack("{s:s,s:o,s:o,s:I,s:s}", "cache", c->apr ? "apr" : "hub",
		           "name", lines_file_name(r->name), "blob", lines_file_name(b->name), "bytes",
		           (json_int_t)b->size, "result", results[verdict]));
	} else if (verdict == STOCK_DIFFERS) {
		text_quote(name, sizeof name, r->name, strlen(r->name));
		text_quote(blob, sizeof blob, b->name, strlen(b->name));
		buf_printf(&w->report, "%s%s%s: the content differs from its digest\n", name,
		           *name ? ": " : "", blob);
	}
}

static int
verify_blob(struct verify *w, const struct stock_cache *c, const struct stock_repo *r, int fd,
            const struct stock_blob *b, struct err *e)
{
	enum stock_verdict verdict;

	if (stock_verify(c, fd, b, &verdict, e) < 0)
		return -1;
	w->blobs++;
	w->bytes += b->size;
	w->bad += verdict == STOCK_DIFFERS;
	w->unknown += verdict == STOCK_UNKNOWN;
	put_blob(w, c, r, b, verdict);
	return tool_print(&w->report, e);
}

/* Files that lead to no content. */
static int
verify_links(struct verify *w, const struct stock_cache *c, const struct stock_revision *v,
             struct err *e)
{
	size_t i;

	for (i = 0; i < v->n; i++) {
		const struct stock_file *f = &v->files[i];
		const char *what = f->state == STOCK_OUTSIDE ? "leads out of the cache" : "missing";
		char path[1024];
		json_t *o;

		if (f->state != STOCK_MISSING && f->state != STOCK_OUTSIDE)
			continue;
		w->bad++;
		if (w->json) {
			o = cache_json_revision(c, v);
			json_object_set_new(o, "file", lines_file_name(f->path));
			json_object_set_new(o, "result", json_string(what));
			lines_json(&w->report, o);
		} else {
			cache_put_revision(&w->report, v);
			buf_printf(&w->report, ": %s: %s\n", text_quote(path, sizeof path, f->path,
			           strlen(f->path)), f->state == STOCK_OUTSIDE
			           ? "the link leads out of the cache" : "the content is missing");
		}
	}
	/* An entry that cannot be read has no files. */
	if (v->n == 0 && v->broken) {
		w->bad++;
		cache_put_revision(&w->report, v);
		buf_text(&w->report, ": is not valid JSON\n");
	}
	return tool_print(&w->report, e);
}

/* Whether a chosen revision needs the blob, or it is loose in a chosen repository. */
static void
choose_blobs(struct stock_repo *r)
{
	size_t i, j;

	for (i = 0; i < r->blob_count; i++)
		r->blobs[i].doomed = r->chosen && r->blobs[i].links == 0;
	for (i = 0; i < r->revision_count; i++)
		for (j = 0; j < r->revisions[i].n && r->revisions[i].chosen; j++)
			if (r->revisions[i].files[j].blob != STOCK_NONE)
				r->blobs[r->revisions[i].files[j].blob].doomed = true;
}

static int
verify_repo(struct verify *w, const struct stock_cache *c, struct stock_repo *r, struct err *e)
{
	int fd = stock_repo_open(c, r, e), done = fd < 0 ? -1 : 0;
	size_t i;

	choose_blobs(r);
	for (i = 0; i < r->blob_count && done == 0; i++)
		if (r->blobs[i].doomed && !r->blobs[i].partial)
			done = verify_blob(w, c, r, fd, &r->blobs[i], e);
	for (i = 0; i < r->revision_count && done == 0; i++)
		if (r->revisions[i].chosen)
			done = verify_links(w, c, &r->revisions[i], e);
	if (fd >= 0)
		close(fd);
	return done;
}

int
cache_verify(const struct stock *s, bool json, struct err *e)
{
	const struct stock_cache *caches[] = { &s->hub, &s->apr };
	struct verify w = { .json = json };
	char size[32];
	size_t i, j;
	int done = 0;

	for (i = 0; i < 2; i++)
		for (j = 0; j < caches[i]->n && done == 0; j++)
			done = verify_repo(&w, caches[i], &caches[i]->repos[j], e);
	if (done == 0 && w.unknown)
		tool_notef("%" PRIu64 " of %" PRIu64 " contents have no digest as name", w.unknown, w.blobs);
	if (done == 0 && w.bad)
		done = err_set(e, ERR_INVALID, NULL, "%" PRIu64 " %s of the cache %s not valid", w.bad,
		               w.bad == 1 ? "file" : "files", w.bad == 1 ? "is" : "are");
	if (done < 0 && w.bad)
		err_hint(e, "apr-cache clear NAME removes a model, so that it is fetched again");
	if (done == 0 && !json) {
		buf_printf(&w.report, "%" PRIu64 " %s, %s: valid\n", w.blobs,
		           w.blobs == 1 ? "content" : "contents", text_size(size, sizeof size, w.bytes));
		done = tool_print(&w.report, e);
	}
	buf_free(&w.report);
	return done;
}

/* ---- clear ---- */

static void
note_busy(const struct stock_repo *r, const struct stock_revision *v)
{
	char name[512];

	(void)r;
	tool_notef("%s is kept: %s is using it",
	           text_quote(name, sizeof name, v->name, strlen(v->name)),
	           v->upload ? "an upload" : "a download");
}

static void
put_removed(struct buf *b, const struct stock_cache *c, const struct stock_repo *r, bool json)
{
	size_t i;

	for (i = 0; i < r->revision_count; i++) {
		const struct stock_revision *v = &r->revisions[i];

		if (!v->chosen)
			continue;
		if (json) {
			lines_json(b, cache_json_revision(c, v));
		} else {
			cache_put_revision(b, v);
			buf_text(b, "\n");
		}
	}
}

static void
put_freed(struct buf *b, const struct stock_cleared *cleared, bool dry, bool json)
{
	char size[32];

	if (json)
		lines_json(b, json_pack("{s:I,s:I,s:b}", "revisions", (json_int_t)cleared->revisions,
		                        "bytes", (json_int_t)cleared->bytes, "dry_run", dry));
	else
		buf_printf(b, "%s%s\n", text_size(size, sizeof size, cleared->bytes),
		           dry ? " would be freed" : " freed");
}

int
cache_clear(struct stock *s, bool dry, bool json, struct err *e)
{
	struct stock_cache *caches[] = { &s->hub, &s->apr };
	struct stock_cleared cleared = { 0 };
	struct buf report = { 0 };
	size_t i, j;
	int done = 0;

	for (i = 0; i < 2; i++)
		for (j = 0; j < caches[i]->n && done == 0; j++) {
			struct stock_repo *r = &caches[i]->repos[j];

			done = stock_clear(caches[i], r, dry, note_busy, &cleared, e);
			put_removed(&report, caches[i], r, json);
		}
	put_freed(&report, &cleared, dry, json);
	if (tool_print(&report, e) < 0)
		done = -1;
	buf_free(&report);
	if (done == 0 && cleared.busy)
		done = err_set(e, ERR_NO, NULL, "%zu %s of the cache %s kept: downloads or uploads hold locks",
		               cleared.busy, cleared.busy == 1 ? "part" : "parts",
		               cleared.busy == 1 ? "is" : "are");
	return done;
}
