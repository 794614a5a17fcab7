#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "core/num.h"
#include "formats/apr64/apr64_reader.h"
#include "formats/apr64/apr64_writer.h"

#define PIECE 32768 /* bytes read from a spool at once */

/* Move the value of a blob into the writer's spool, decoded. */
static int
keep_value(struct apr64_source *s, struct apr64_sink *w, size_t i)
{
	struct apr64_text t = s->blobs[i];
	struct base64_reader decoder = { 0 };
	struct err *e = s->reader.err;
	struct buf piece = { 0 };
	uint8_t raw[PIECE];
	size_t n;
	int r = 0;

	w->blobs[i] = (struct apr64_kept){ w->kept.bytes, s->plan.blobs[i].bytes };
	for (; r == 0 && t.n > 0; t.at += n, t.n -= n) {
		n = (size_t)num_min(t.n, sizeof raw);
		buf_clear(&piece);
		r = spool_get(&s->text, t.at, raw, n, e);
		if (r == 0 && t.base64 && base64_add(&decoder, raw, n, &piece) < 0)
			r = err_set(e, ERR_CORRUPT, s->reader.name, "the value of %.100s is not base64",
			            s->plan.blobs[i].name);
		if (r == 0 && !t.base64)
			buf_put(&piece, raw, n);
		if (r == 0)
			r = buf_ok(&piece) ? spool_put(&w->kept, piece.p, piece.n, e)
			                   : err_memory(e);
	}
	buf_free(&piece);
	if (r == 0 && w->kept.bytes != w->blobs[i].at + w->blobs[i].bytes)
		r = err_set(e, ERR_CORRUPT, s->reader.name, "the value of %.100s is not base64",
		            s->plan.blobs[i].name);
	return r;
}

/* Run a writer up to the members that follow from the plan. */
static int
derive(struct apr64_source *s, struct apr64_sink *w)
{
	struct err *e = s->reader.err;
	size_t i;

	w->blobs = mem_array(s->plan.blob_count, sizeof *w->blobs);
	if (!w->blobs)
		return err_memory(e);
	for (i = 0; i < s->plan.blob_count; i++)
		if (strcmp(s->plan.blobs[i].type, MODEL_VALUE) == 0 && keep_value(s, w, i) < 0)
			return -1;
	if (apr64_choose_members(w, e) < 0)
		return -1;
	buf_text(&w->b, "{");
	if (apr64_put_derived(w, e) < 0)
		return -1;
	buf_text(&w->b, "}");
	return apr64_flush(w, e);
}

/* 1 if the texts are the same, 0 if not, or -1. */
static int
same_text(struct apr64_source *s, const struct member *have, struct spool *made,
          const struct member *want)
{
	uint8_t a[PIECE], b[PIECE];
	struct err *e = s->reader.err;
	uint64_t done;
	size_t n;

	if (have->n != want->n)
		return 0;
	for (done = 0; done < have->n; done += n) {
		n = (size_t)num_min(have->n - done, PIECE);
		if (spool_get(&s->text, have->at + done, a, n, e) < 0 ||
		    spool_get(made, want->at + done, b, n, e) < 0)
			return -1;
		if (memcmp(a, b, n) != 0)
			return 0;
	}
	return 1;
}

static int
differs(struct apr64_source *s, const char *name)
{
	return err_set(s->reader.err, ERR_CORRUPT, s->reader.name, "its member %.60s is not "
	               "what follows from its keys and tensors", name);
}

static int
compare(struct apr64_source *s, struct spool *made, const struct members *want)
{
	const struct member *x;
	size_t i;
	int r = 1;

	for (i = 0; i < want->count; i++) {
		x = members_find(&s->members, want->list[i].name, "");
		r = x ? same_text(s, x, made, &want->list[i]) : 0;
		if (r <= 0)
			return r < 0 ? -1 : differs(s, want->list[i].name);
	}
	/* The file must not have other derived members. Keys that are members do not count. */
	for (i = 0; i < s->members.count; i++) {
		x = &s->members.list[i];
		if (!x->used && apr64_is_derived(x->name) && !members_find(want, x->name, ""))
			return differs(s, x->name);
	}
	return 0;
}

int
apr64_check_derived(struct apr64_source *s)
{
	struct apr64_sink w = { .plan = &s->plan, .out = { .name = s->reader.name } };
	struct members want = { 0 };
	int r;

	if (s->plain)
		return 0;
	r = derive(s, &w);
	if (r == 0)
		r = members_scan(&want, &w.text, 0, w.text.bytes, &apr64_rules,
		                 s->reader.name, 0, s->reader.err);
	if (r == 0)
		r = compare(s, &w.text, &want);
	members_free(&want);
	spool_free(&w.kept);
	spool_free(&w.text);
	buf_free(&w.b);
	free(w.blobs);
	free(w.member);
	return r;
}
