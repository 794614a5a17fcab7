#include "cli/cache/cache_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "core/text.h"
#include "report/lines.h"

#define SHORT_COMMIT 12

struct sums {
	uint64_t repositories, revisions, files, blobs, bytes, unfinished, unfinished_bytes, unused, broken, uploads;
};

static void
add_repo(struct sums *to, const struct stock_repo *r)
{
	size_t i, j;

	to->repositories++;
	for (i = 0; i < r->blob_count; i++) {
		const struct stock_blob *b = &r->blobs[i];

		to->blobs += !b->partial;
		to->bytes += b->size;
		to->unfinished += b->partial;
		to->unfinished_bytes += b->partial ? b->size : 0;
		to->unused += !b->partial && b->links == 0 ? b->size : 0;
	}
	for (i = 0; i < r->revision_count; i++) {
		const struct stock_revision *v = &r->revisions[i];

		to->uploads += v->upload;
		to->revisions += !v->upload;
		to->files += v->upload ? 0 : v->n;
		to->broken += v->broken;
		for (j = 0; j < v->n; j++)
			to->bytes += v->files[j].blob == STOCK_NONE ? v->files[j].size : 0;
	}
}

static struct sums
sums_of(const struct stock_cache *c)
{
	struct sums sums = { 0 };
	size_t i;

	for (i = 0; i < c->n; i++)
		add_repo(&sums, &c->repos[i]);
	return sums;
}

static void
put_count(struct buf *b, uint64_t n, const char *one, const char *several)
{
	buf_printf(b, "%" PRIu64 " %s", n, n == 1 ? one : several);
}

static void
put_sums(struct buf *b, const struct stock_cache *c)
{
	struct sums s = sums_of(c);
	char size[32], path[1024];

	text_quote(path, sizeof path, c->path, strlen(c->path));
	buf_printf(b, "%s: %s\n", path, c->fd < 0 ? "does not exist"
	           : text_size(size, sizeof size, s.bytes));
	if (c->fd < 0)
		return;
	buf_text(b, "  ");
	if (c->apr) {
		put_count(b, s.revisions, "artifact or address", "artifacts and addresses");
	} else {
		put_count(b, s.repositories, "repository", "repositories");
		buf_text(b, ", ");
		put_count(b, s.revisions, "revision", "revisions");
	}
	buf_text(b, ", ");
	put_count(b, s.files, "file", "files");
	buf_text(b, " with ");
	put_count(b, s.blobs, "content\n", "contents\n");
	if (s.unfinished)
		buf_printf(b, "  %" PRIu64 " unfinished: %s\n", s.unfinished,
		           text_size(size, sizeof size, s.unfinished_bytes));
	if (s.uploads) {
		buf_text(b, "  ");
		put_count(b, s.uploads, "upload that is not finished\n", "uploads that are not finished\n");
	}
	if (s.unused)
		buf_printf(b, "  not used by any revision: %s\n", text_size(size, sizeof size, s.unused));
	if (s.broken)
		buf_printf(b, "  %" PRIu64 " without content: see apr-cache verify\n", s.broken);
	if (c->links_as_repos)
		buf_printf(b, "  %zu not counted: a link\n", c->links_as_repos);
}

static json_t *
json_sums(const struct stock_cache *c)
{
	struct sums s = sums_of(c);
	json_t *path = lines_file_name(c->path);

	return json_pack("{s:o,s:b,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I}", "path", path, "exists", c->fd >= 0,
	                 "repositories", (json_int_t)(c->apr ? 0 : s.repositories),
	                 "revisions", (json_int_t)s.revisions, "files", (json_int_t)s.files,
	                 "blobs", (json_int_t)s.blobs, "bytes", (json_int_t)s.bytes,
	                 "unfinished", (json_int_t)s.unfinished,
	                 "unfinished_bytes", (json_int_t)s.unfinished_bytes,
	                 "unused_bytes", (json_int_t)s.unused, "broken", (json_int_t)s.broken,
	                 "uploads", (json_int_t)s.uploads);
}

void
cache_put_info(struct buf *b, const struct stock *s, bool json)
{
	if (json) {
		lines_json(b, json_pack("{s:o,s:o}", "hub", json_sums(&s->hub), "apr",
		                        json_sums(&s->apr)));
	} else {
		put_sums(b, &s->hub);
		put_sums(b, &s->apr);
	}
}

void
cache_put_revision(struct buf *b, const struct stock_revision *v)
{
	char text[1024];

	buf_text(b, text_quote(text, sizeof text, v->name, strlen(v->name)));
	if (v->commit)
		buf_printf(b, "@%s", text_quote(text, sizeof text, v->commit,
		                                strnlen(v->commit, SHORT_COMMIT)));
	if (v->refs)
		buf_printf(b, " (%s)", text_quote(text, sizeof text, v->refs, strlen(v->refs)));
}

json_t *
cache_json_revision(const struct stock_cache *c, const struct stock_revision *v)
{
	json_t *o = json_pack("{s:s,s:o}", "cache", c->apr ? "apr" : "hub", "name",
	                      lines_file_name(v->name));

	if (v->commit)
		json_object_set_new(o, "commit", lines_file_name(v->commit));
	if (v->refs)
		json_object_set_new(o, "refs", lines_file_name(v->refs));
	return o;
}

/* A day, in universal time. */
static void
put_day(struct buf *b, int64_t when)
{
	time_t t = (time_t)when;
	char text[32];
	struct tm tm;

	if (when <= 0 || !gmtime_r(&t, &tm) || strftime(text, sizeof text, "%Y-%m-%d", &tm) == 0)
		snprintf(text, sizeof text, "-");
	buf_printf(b, "%-10s", text);
}

/* ": 3 of 12 parts of 40.0 MiB" */
static void
put_parts(struct buf *b, const struct stock_revision *v)
{
	char size[32];

	if (v->parts)
		buf_printf(b, ": %zu of %zu parts of %s", v->sent, v->parts,
		           text_size(size, sizeof size, v->object));
	else
		buf_text(b, ": not a record");
}

static void
put_line(struct buf *b, const struct stock_cache *c, const struct stock_revision *v, bool json)
{
	char size[32];
	json_t *o;

	if (!json) {
		buf_printf(b, "%10s %6zu  ", text_size(size, sizeof size, v->size), v->n);
		put_day(b, v->used);
		buf_text(b, "  ");
		cache_put_revision(b, v);
		if (v->broken)
			buf_printf(b, ": %zu without content", v->broken);
		if (v->upload)
			put_parts(b, v);
		buf_text(b, "\n");
		return;
	}
	o = cache_json_revision(c, v);
	json_object_set_new(o, "bytes", json_integer((json_int_t)v->size));
	json_object_set_new(o, "files", json_integer((json_int_t)v->n));
	json_object_set_new(o, "broken", json_integer((json_int_t)v->broken));
	json_object_set_new(o, "used", json_integer((json_int_t)v->used));
	if (v->upload) {
		json_object_set_new(o, "parts", json_integer((json_int_t)v->parts));
		json_object_set_new(o, "sent", json_integer((json_int_t)v->sent));
		json_object_set_new(o, "object_bytes", json_integer((json_int_t)v->object));
	}
	lines_json(b, o);
}

/* Bytes of blobs that no revision needs: those of unfinished downloads, or the others. */
static uint64_t
loose_bytes(const struct stock_repo *r, bool partial)
{
	uint64_t sum = 0;
	size_t i;

	for (i = 0; i < r->blob_count; i++)
		if (r->blobs[i].links == 0 && r->blobs[i].partial == partial)
			sum += r->blobs[i].size;
	return sum;
}

/* What no revision needs: unfinished downloads and others. */
static void
put_loose(struct buf *b, const struct stock_cache *c, const struct stock_repo *r, bool partial,
          bool json)
{
	const char *what = partial ? "unfinished" : "unused";
	uint64_t bytes = loose_bytes(r, partial);
	char size[32], name[1024];

	if (!bytes)
		return;
	if (json)
		lines_json(b, json_pack("{s:s,s:o,s:I}", "cache", c->apr ? "apr" : "hub", "name",
		                        lines_file_name(r->name), what, (json_int_t)bytes));
	else
		buf_printf(b, "%10s %6s  %-10s  %s%s%s\n", text_size(size, sizeof size, bytes), "-", "-",
		           text_quote(name, sizeof name, r->name, strlen(r->name)), *r->name ? ": " : "",
		           what);
}

static void
put_cache(struct buf *b, const struct stock_cache *c, bool json)
{
	size_t i, j;

	for (i = 0; i < c->n; i++) {
		const struct stock_repo *r = &c->repos[i];

		for (j = 0; j < r->revision_count; j++)
			if (r->revisions[j].chosen)
				put_line(b, c, &r->revisions[j], json);
		if (r->chosen) {
			put_loose(b, c, r, true, json);
			put_loose(b, c, r, false, json);
		}
	}
}

void
cache_put_list(struct buf *b, const struct stock *s, bool json)
{
	put_cache(b, &s->hub, json);
	put_cache(b, &s->apr, json);
}
