#include "hub/hf.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define DEFAULT "https://huggingface.co"

/* ---- the environment ---- */

static const char *
set(const char *name)
{
	const char *s = getenv(name);

	return s && *s ? s : NULL;
}

static bool
is_yes(const char *s)
{
	return s && (strcmp(s, "1") == 0 || strcasecmp(s, "on") == 0 ||
	             strcasecmp(s, "yes") == 0 || strcasecmp(s, "true") == 0);
}

bool
hf_is_offline(void)
{
	return is_yes(set("HF_HUB_OFFLINE")) || is_yes(set("TRANSFORMERS_OFFLINE"));
}

int
hf_endpoint(char endpoint[URL_TEXT], struct err *e)
{
	const char *s = set("HF_ENDPOINT") ? set("HF_ENDPOINT") : DEFAULT;
	struct url u;
	size_t n;

	if (url_parse(&u, s, e) < 0)
		return err_hint(e, "HF_ENDPOINT must be the address of a hub, as " DEFAULT);
	if (strchr(u.text, '?'))
		return err_set(e, ERR_USAGE, "HF_ENDPOINT", "must not have a query");
	n = strlen(u.text);
	while (n > 0 && u.text[n - 1] == '/')
		n--;
	memcpy(endpoint, u.text, n);
	endpoint[n] = '\0';
	return 0;
}

bool
hf_token_path(char *path, size_t size)
{
	const char *home = set("HF_HOME"), *xdg = set("XDG_CACHE_HOME");
	int n = -1;

	if (set("HF_TOKEN_PATH"))
		n = snprintf(path, size, "%s", set("HF_TOKEN_PATH"));
	else if (home)
		n = snprintf(path, size, "%s/token", home);
	else if (xdg)
		n = snprintf(path, size, "%s/huggingface/token", xdg);
	else if (set("HOME"))
		n = snprintf(path, size, "%s/.cache/huggingface/token", set("HOME"));
	return n > 0 && (size_t)n < size;
}

/* Takes a token without the spaces around it. */
static int
take_token(struct hf *h, const char *text, size_t n, const char *from, struct err *e)
{
	while (n && strchr(" \t\r\n", text[n - 1]))
		n--;
	while (n && strchr(" \t\r\n", *text)) {
		text++;
		n--;
	}
	if (n == 0)
		return 0;
	if (n + 8 > sizeof h->authorization)
		return err_set(e, ERR_ACCESS, from, "is too long for a token");
	snprintf(h->authorization, sizeof h->authorization, "Bearer %.*s", (int)n, text);
	return 0;
}

static int
read_token(struct hf *h, const char *path, bool needed, struct err *e)
{
	char text[2048];
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY), r;
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text);

	if (n < 0 && needed) {
		r = err_errno(e, path, "the token cannot be read");
		e->missing = errno == ENOENT;
	} else {
		r = n > 0 ? take_token(h, text, (size_t)n, path, e) : 0;
	}
	if (fd >= 0)
		close(fd);
	return r;
}

int
hf_open(struct hf *h, const char *token_file, struct err *e)
{
	const char *token = set("HF_TOKEN") ? set("HF_TOKEN") : set("HUGGING_FACE_HUB_TOKEN");
	char path[CACHE_PATH];

	*h = (struct hf){ .http = NULL };
	if (hf_endpoint(h->endpoint, e) < 0)
		return -1;
	if (token_file)
		return read_token(h, token_file, true, e);
	if (is_yes(set("HF_HUB_DISABLE_IMPLICIT_TOKEN")) && !token)
		return 0;
	if (token)
		return take_token(h, token, strlen(token), "HF_TOKEN", e);
	return hf_token_path(path, sizeof path) ? read_token(h, path, false, e) : 0;
}

void
hf_close(struct hf *h)
{
	explicit_bzero(h->authorization, sizeof h->authorization);
}

/* ---- addresses ---- */

void
hf_url(struct buf *b, const struct hf *h, const struct hub_source *s, const char *revision,
       const char *path)
{
	buf_printf(b, "%s/%s/%s/resolve/", h->endpoint, s->org, s->repo);
	url_encode(b, revision, "");
	buf_text(b, "/");
	url_encode(b, path, "/");
}

static void
api_url(struct buf *b, const struct hf *h, const struct hub_source *s, const char *verb,
        const char *revision)
{
	buf_printf(b, "%s/api/models/%s/%s/%s/", h->endpoint, s->org, s->repo, verb);
	url_encode(b, revision, "");
}

static const char *
credentials(const struct hf *h)
{
	return *h->authorization ? h->authorization : NULL;
}

/* ---- refusals ---- */

static int
missing(struct err *e, const char *label, const char *fact)
{
	err_set(e, ERR_IO, label, "%s", fact);
	e->missing = 1;
	return -1;
}

static int
no_repository(const struct hf *h, const struct hub_source *s, struct err *e)
{
	char name[2 * HUB_NAME + 8];

	snprintf(name, sizeof name, "%s/%s", s->org, s->repo);
	if (*h->authorization) {
		missing(e, name, "does not exist on the hub, or the token gives no access to it");
		return err_hint(e, "look at %s/%s", h->endpoint, name);
	}
	missing(e, name, "does not exist on the hub, or is private");
	return err_hint(e, "for a private model set HF_TOKEN");
}

static int
gated(const struct hf *h, const struct hub_source *s, struct err *e)
{
	char name[2 * HUB_NAME + 8];

	snprintf(name, sizeof name, "%s/%s", s->org, s->repo);
	err_set(e, ERR_ACCESS, name, "is gated: its owner asks for consent or approval first");
	return err_hint(e, "accept at %s/%s%s", h->endpoint, name,
	                *h->authorization ? "" : ", then set HF_TOKEN");
}

int
hf_refused(const struct hf *h, const struct hub_source *s, const char *path,
           const struct http_answer *a, struct err *e)
{
	char name[2 * HUB_NAME + HUB_PATH + 8], fact[HUB_REVISION + 64];
	const char *code = a->error_code;

	snprintf(name, sizeof name, "%s/%s%s%s", s->org, s->repo, path ? "/" : "", path ? path : "");
	if (strcmp(code, "GatedRepo") == 0)
		return gated(h, s, e);
	if (strcmp(code, "EntryNotFound") == 0)
		return missing(e, name, "does not exist in this revision");
	if (strcmp(code, "RevisionNotFound") == 0) {
		snprintf(fact, sizeof fact, "has no revision %s", *s->revision ? s->revision : "main");
		snprintf(name, sizeof name, "%s/%s", s->org, s->repo);
		return missing(e, name, fact);
	}
	if (a->status == 401 && strstr(a->error_message, "Invalid credentials")) {
		err_set(e, ERR_ACCESS, h->endpoint, "does not know the token");
		return err_hint(e, "HF_TOKEN or its file holds a token that is wrong or has expired");
	}
	if (strstr(a->error_message, "Access to this resource is disabled"))
		return err_set(e, ERR_ACCESS, name, "is disabled by the hub");
	if (strcmp(code, "RepoNotFound") == 0 || a->status == 401 || a->status == 404)
		return no_repository(h, s, e);
	if (a->status == 403)
		return err_set(e, ERR_ACCESS, name, "%s", *h->authorization
		               ? "is not open to this token" : "is not open to everybody");
	return http_refused(a, h->endpoint, e);
}

/* After http_get has failed with why: the hub's reason if it has answered. */
static int
explain(const struct hf *h, const struct hub_source *s, const char *path,
        const struct http_answer *a, const struct err *why, struct err *e)
{
	if (a->status >= 400 && a->status < 500 && a->status != 408 && a->status != 429 &&
	    a->failure == HTTP_FINE)
		return hf_refused(h, s, path, a, e);
	if (e->code == ERR_NONE)
		*e = *why;
	return -1;
}

/* ---- questions ---- */

int
hf_info(struct hf *h, const struct hub_source *s, const char *revision,
        struct hf_info *info, struct err *e)
{
	struct buf url = { 0 }, body = { 0 };
	struct http_answer *a = malloc(sizeof *a);
	struct err why = ERR_INIT;
	int r = -1;

	api_url(&url, h, s, "revision", revision);
	if (!a || !buf_string(&url)) {
		err_memory(e);
	} else {
		struct http_request q = { .url = (char *)url.p, .authorization = credentials(h),
			.limit = HF_ANSWER };

		answer_reset(a);
		r = http_bytes(h->http, &q, &body, a, &why);
		r = r < 0 ? explain(h, s, NULL, a, &why, e) : hf_parse_info(body.p, body.n, info, e);
	}
	buf_free(&url);
	buf_free(&body);
	free(a);
	return r;
}

/* The next page must be at the hub too, since the token goes there. */
static int
take_next(struct buf *url, const struct http_answer *a, struct err *e)
{
	struct url next;

	buf_clear(url);
	if (!*a->next)
		return 0;
	if (url_join(&next, &a->final, a->next, e) < 0)
		return -1;
	if (!url_same_origin(&next, &a->final))
		return err_set(e, ERR_NETWORK, url_label(&a->final).text,
		               "the next page of the list is at another host");
	buf_text(url, next.text);
	return 0;
}

int
hf_list(struct hf *h, const struct hub_source *s, const char *commit,
        struct hf_listing *l, struct err *e)
{
	struct buf url = { 0 }, body = { 0 };
	struct http_answer *a = malloc(sizeof *a);
	unsigned page;
	int r = a ? 0 : err_memory(e);

	api_url(&url, h, s, "tree", commit);
	buf_text(&url, "?recursive=true");
	for (page = 0; r == 0 && url.n > 0; page++) {
		struct err why = ERR_INIT;
		struct http_request q = { .url = buf_string(&url), .authorization = credentials(h),
			.limit = HF_ANSWER };

		answer_reset(a);
		if (!q.url)
			r = err_memory(e);
		else if (page == HF_PAGES)
			r = err_set(e, ERR_MEMORY, s->label, "the list of files has more than %d pages",
			            HF_PAGES);
		else if (http_bytes(h->http, &q, &body, a, &why) < 0)
			r = explain(h, s, NULL, a, &why, e);
		else
			r = hf_parse_list(body.p, body.n, l, e) < 0 ? -1 : take_next(&url, a, e);
	}
	buf_free(&url);
	buf_free(&body);
	free(a);
	return r < 0 ? -1 : hf_listing_finish(l, e);
}

int
hf_facts(struct hf *h, const struct hub_source *s, const char *revision, const char *path,
         char commit[CACHE_COMMIT], struct hf_file *file, struct err *e)
{
	static const char *const plain[] = { "Accept-Encoding: identity" };
	struct buf url = { 0 };
	struct http_answer *a = malloc(sizeof *a);
	struct err why = ERR_INIT;
	int r = -1;

	commit[0] = '\0';
	hf_url(&url, h, s, revision, path);
	if (!a || !buf_string(&url)) {
		err_memory(e);
	} else {
		struct http_request q = { .method = "HEAD", .url = (char *)url.p,
			.authorization = credentials(h), .headers = plain, .header_count = 1,
			.stop_absolute = true };

		answer_reset(a);
		r = http_get(h->http, &q, a, &why);
		/* The redirect to where the bytes are is the answer. */
		if (r < 0 && (a->status < 300 || a->status >= 400 || a->failure != HTTP_FINE))
			r = explain(h, s, path, a, &why, e);
		else
			r = hf_parse_facts(a, path, commit, file, e);
		if (r < 0 && strcmp(a->error_code, "EntryNotFound") == 0 && cache_is_commit(a->repo_commit))
			memcpy(commit, a->repo_commit, CACHE_COMMIT);
	}
	buf_free(&url);
	free(a);
	return r;
}
