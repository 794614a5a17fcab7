/* push_parts: objects in parts. */
#include <stdio.h>
#include <string.h>

#include "core/num.h"
#include "core/text.h"
#include "hub/push_hub.h"
#include "hub/push_session.h"

static int
put_missing(struct to_hub *h, const struct push_file *f, struct push_session *s, struct err *e)
{
	char etag[256];
	size_t i;

	for (i = 0; i < s->n; i++) {
		uint64_t from = s->chunk * i;

		if (!s->etag[i] &&
		    (push_put_bytes(h, f, s->address[i], from, num_min(s->chunk, f->size - from), NULL, 0, etag,
		                    e) < 0 || session_sent(s, i, etag, e) < 0))
			return -1;
	}
	return 0;
}

/* {"oid":...,"parts":[{"partNumber":1,"etag":...}, ...]} */
static int
put_list(struct buf *b, const struct push_session *s)
{
	json_t *parts = json_array(), *o = json_pack("{s:s,s:o}", "oid", s->oid, "parts", parts);
	size_t i;
	int done;

	for (i = 0; i < s->n; i++)
		json_array_append_new(parts, json_pack("{s:I,s:s}", "partNumber", (json_int_t)(i + 1), "etag",
		                                       s->etag[i]));
	done = o && json_write(o, b) == 0 ? 0 : -1;
	json_decref(o);
	return done;
}

static int
join(struct to_hub *h, const struct push_session *s, struct err *e)
{
	static const char *const headers[] = { "Content-Type: application/json" };
	struct http_request q = { .method = "POST", .url = s->complete, .headers = headers,
		.header_count = 1 };
	struct buf body = { 0 }, text = { 0 };
	int done = put_list(&body, s) < 0 ? err_memory(e) : 0;

	q.body = body.p;
	q.body_bytes = body.n;
	answer_reset(h->answer);
	if (done == 0)
		done = http_bytes(h->hf.http, &q, &text, h->answer, e);
	buf_free(&body);
	buf_free(&text);
	return done;
}

static int
put_session(struct to_hub *h, const struct push_file *f, struct push_session *s, struct err *e)
{
	return put_missing(h, f, s, e) < 0 ? -1 : join(h, s, e);
}

/* Whether a session of an earlier process has ended at the hub: its addresses have expired, or
 * what it had was removed. */
static bool
has_ended(const struct http_answer *a)
{
	return a->status == 400 || a->status == 401 || a->status == 403 || a->status == 404 ||
	       a->status == 409 || a->status == 410;
}

/* Goes on with what an earlier process has begun. 1 if there is nothing of use. */
static int
resume(struct to_hub *h, const struct push_file *f, struct push_session *s, struct err *e)
{
	struct err why = ERR_INIT;
	char text[600];

	if (s->n == 0)
		return 1;
	snprintf(text, sizeof text, "%.500s: %zu of %zu parts were sent by an earlier run", f->name,
	         s->sent, s->n);
	if (h->p->note)
		h->p->note(text);
	if (put_session(h, f, s, &why) == 0)
		return 0;
	if (has_ended(h->answer)) {
		snprintf(text, sizeof text, "%.500s: the hub has forgotten them: all parts are sent", f->name);
		if (h->p->note)
			h->p->note(text);
		return 1;
	}
	*e = why;
	return -1;
}

int
push_put_parts(struct to_hub *h, const struct push_file *f, const char *address,
               const json_t *header, const char *size, struct err *e)
{
	struct push_session s;
	struct err why = ERR_INIT;
	struct buf key = { 0 };
	uint64_t chunk;
	int done;

	if (text_u64(size, 1, INT64_MAX, &chunk) < 0)
		return err_set(e, ERR_CORRUPT, f->name, "the hub asks for parts of a size that is not possible");
	buf_printf(&key, "%s\n%s/%s\n%s", h->hf.endpoint, h->p->to->org, h->p->to->repo, f->sha256);
	if (!buf_string(&key))
		return err_memory(e);
	session_open(&s, *h->uploads ? h->uploads : NULL, (char *)key.p, f->sha256, f->size);
	done = resume(h, f, &s, e);
	if (done > 0 && session_begin(&s, address, header, chunk, &why) < 0)
		done = err_set(e, why.code, f->name, "%s", why.fact);
	else if (done > 0)
		done = put_session(h, f, &s, e);
	if (done == 0)
		session_forget(&s);
	session_close(&s);
	buf_free(&key);
	return done;
}
