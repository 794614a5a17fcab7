/* serve_fetch: bytes of files of a source, with what authorizes requests. */
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "hub/oci.h"
#include "hub/pull_parts.h"
#include "hub/serve_files.h"

struct request {
	struct serve *s;
	struct served *f;
	const struct ranges_sink *sink;
	uint64_t from;
};

static int
changed(const struct served *f, struct err *e)
{
	return err_set(e, ERR_NETWORK, f->label, "has changed on the server while it was read");
}

int
serve_no_parts(const char *label, struct err *e)
{
	err_set(e, ERR_NETWORK, label, "the server only sends whole files, not parts of them");
	return err_hint(e, "apr-pull -o FILE fetches it whole");
}

/* The first answer says which version of the file is read. */
static int
take_head(void *ctx, const struct http_answer *a, struct err *e)
{
	struct request *q = ctx;
	struct served *f = q->f;
	bool strong = answer_etag_is_strong(a->etag), same;

	if (!a->ranged && (q->from > 0 || a->length != f->size))
		return serve_no_parts(f->label, e);
	if (a->ranged && a->range_total != HTTP_UNKNOWN && a->range_total != f->size)
		return changed(f, e);
	pthread_mutex_lock(&q->s->mutex);
	if (!*f->etag && strong)
		strcpy(f->etag, a->etag);
	same = !strong || strcmp(f->etag, a->etag) == 0;
	if (!f->direct && strcmp(a->final.text, f->url) != 0)
		f->direct = mem_text(a->final.text, strlen(a->final.text));
	pthread_mutex_unlock(&q->s->mutex);
	return same ? 0 : changed(f, e);
}

static int
take_data(void *ctx, const void *p, size_t n, struct err *e)
{
	struct request *q = ctx;

	return q->sink->data(q->sink->ctx, p, n, e);
}

static int
take_again(void *ctx, struct err *e)
{
	struct request *q = ctx;

	return q->sink->again ? q->sink->again(q->sink->ctx, e) : 0;
}

/* The value of the header for a file, or NULL. refused: the one that a registry has refused.
 * token: OCI_TOKEN bytes. */
static const char *
authorization(struct serve *s, const struct served *f, const char *refused, char *token,
              struct err *e)
{
	if (f->hub)
		return *s->hf.authorization ? s->hf.authorization : NULL;
	if (!f->registry || pull_oci_token(&s->artifact, f->url, refused, token, e) < 0)
		return NULL;
	return *token ? token : NULL;
}

/* A token of a registry may end on the way: with another one. */
static int
request_registry(struct serve *s, const struct served *f, struct http *h, struct http_request *q,
                 struct http_answer *a, struct err *e)
{
	char token[OCI_TOKEN];
	struct err why = ERR_INIT;

	if (http_get(h, q, a, &why) == 0)
		return 0;
	if (a->status == 401 && a->got == 0)
		q->authorization = authorization(s, f, q->authorization ? q->authorization : "", token, e);
	if (a->status == 401 && a->got == 0 && e->code == ERR_NONE)
		return http_get(h, q, a, e);
	if (e->code == ERR_NONE)
		*e = why;
	return -1;
}

/* Requests the bytes, at the address where redirects led before, or at the file's own. */
static int
request(struct serve *s, struct request *ctx, struct http *h, const char *direct, uint64_t to,
        struct http_answer *a, struct err *e)
{
	struct served *f = ctx->f;
	char etag[sizeof f->etag], token[OCI_TOKEN];
	const char *first = direct ? NULL : authorization(s, f, NULL, token, e);
	struct http_request q = { .url = direct ? direct : f->url, .authorization = first,
		.from = ctx->from, .to = to, .stop = ctx->sink->stop, .head = take_head,
		.data = take_data, .again = take_again, .ctx = ctx };

	pthread_mutex_lock(&s->mutex);
	strcpy(etag, f->etag);
	pthread_mutex_unlock(&s->mutex);
	q.if_range = *etag ? etag : NULL;
	answer_reset(a);
	if (!f->registry || direct)
		return http_get(h, &q, a, e);
	return request_registry(s, f, h, &q, a, e);
}

/* A signed address that has expired, or a host that does not have the file any more. */
static bool
is_gone(const struct http_answer *a)
{
	return a->status == 400 || a->status == 401 || a->status == 403 || a->status == 404 ||
	       a->status == 410;
}

static char *
direct_of(struct serve *s, struct served *f)
{
	char *direct;

	pthread_mutex_lock(&s->mutex);
	direct = f->direct ? mem_text(f->direct, strlen(f->direct)) : NULL;
	pthread_mutex_unlock(&s->mutex);
	return direct;
}

static void
forget_direct(struct serve *s, struct served *f)
{
	pthread_mutex_lock(&s->mutex);
	free(f->direct);
	f->direct = NULL;
	pthread_mutex_unlock(&s->mutex);
}

int
serve_fetch_file(struct serve *s, struct served *f, unsigned worker, uint64_t from, uint64_t to,
                 const struct ranges_sink *sink, struct err *e)
{
	struct request ctx = { .s = s, .f = f, .sink = sink, .from = from };
	struct http *h = serve_connection(s, worker, e);
	struct http_answer *a = malloc(sizeof *a);
	char *direct = direct_of(s, f);
	struct err why = ERR_INIT;
	int r = -1;

	if (!a)
		err_memory(e);
	if (a && h) {
		r = request(s, &ctx, h, direct, to, a, &why);
		if (r < 0 && direct && is_gone(a) && a->got == 0) {
			why = (struct err)ERR_INIT;
			forget_direct(s, f);
			r = request(s, &ctx, h, NULL, to, a, &why);
		}
		if (r < 0 && a->failure == HTTP_NO_RANGES)
			serve_no_parts(f->label, e);
		else if (r < 0 && a->failure == HTTP_CHANGED)
			changed(f, e);
		else if (r < 0 && e->code == ERR_NONE)
			*e = why;
	}
	free(direct);
	free(a);
	return r;
}

struct served *
serve_numbered(struct serve *s, uint32_t number)
{
	struct served *f = NULL;
	size_t i;

	pthread_mutex_lock(&s->mutex);
	for (i = 0; i < s->count && !f; i++)
		if (s->files[i]->number == (int64_t)number)
			f = s->files[i];
	pthread_mutex_unlock(&s->mutex);
	return f;
}

int
serve_fetch(void *serve, unsigned worker, uint32_t file, uint64_t from, uint64_t to,
            const struct ranges_sink *sink, struct err *e)
{
	struct serve *s = serve;
	struct served *f = serve_numbered(s, file);

	return f ? serve_fetch_file(s, f, worker, from, to, sink, e)
	         : err_set(e, ERR_CORRUPT, NULL, "is not a file of the source");
}
