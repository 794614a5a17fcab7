/* push_hf: to the hub. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base64.h"
#include "hub/push_hub.h"
#include "hub/push_session.h"

#define ANSWER (16u << 20)    /* bytes of an answer at most */
#define SAMPLE 512            /* bytes of a file that the hub sees first */
#define REGULAR (UINT64_C(32) << 20) /* bytes of files that are not LFS files, in all */
#define BATCH 256             /* objects of one request */
#define LIMIT_HEADERS 16
#define LFS "application/vnd.git-lfs+json"

/* ---- exchanges ---- */

/* A repository that is not there, or not for this token. */
static int
hint_at_create(const struct to_hub *h, struct err *e)
{
	if (!e->missing || h->p->create || strcmp(h->answer->error_code, "RevisionNotFound") == 0)
		return -1;
	e->hint[0] = '\0';
	return err_hint(e, "--create creates it");
}

/* POSTs a body to an address of the hub and parses the answer, if parsed is not NULL. */
static int
post(struct to_hub *h, const char *address, const char *type, const struct buf *body, json_t **parsed,
     struct err *e)
{
	char content[96], accept[96];
	const char *headers[] = { content, accept };
	struct http_request q = { .method = "POST", .url = address, .headers = headers, .header_count = 2,
		.authorization = *h->hf.authorization ? h->hf.authorization : NULL, .limit = ANSWER,
		.body = body->p, .body_bytes = body->n };
	struct err why = ERR_INIT;
	struct buf text = { 0 };
	int done;

	snprintf(content, sizeof content, "Content-Type: %s", type);
	snprintf(accept, sizeof accept, "Accept: %s", strcmp(type, LFS) == 0 ? LFS : "application/json");
	answer_reset(h->answer);
	done = http_bytes(h->hf.http, &q, &text, h->answer, &why);
	if (done < 0 && h->answer->status >= 400 && h->answer->status < 500 && h->answer->status != 429) {
		hf_refused(&h->hf, h->p->to, NULL, h->answer, e);
		hint_at_create(h, e);
	} else if (done < 0) {
		*e = why;
	}
	if (done == 0 && parsed) {
		*parsed = json_parse_wide(text.p, text.n, ERR_CORRUPT, h->p->to->label, e);
		done = *parsed ? 0 : -1;
	}
	buf_free(&text);
	return done;
}

/* "E/api/models/ORG/REPO/VERB/REV". */
static const char *
api_address(struct buf *b, const struct to_hub *h, const char *verb)
{
	buf_printf(b, "%s/api/models/%s/%s/%s/", h->hf.endpoint, h->p->to->org, h->p->to->repo, verb);
	url_encode(b, h->revision, "");
	return buf_string(b);
}

/* ---- which files are LFS files ---- */

static json_t *
describe(const struct push_file *f, struct err *e)
{
	uint8_t first[SAMPLE];
	struct buf sample = { 0 };
	ssize_t n = pread(f->fd, first, sizeof first, 0);
	json_t *o;

	if (n < 0) {
		err_errno(e, f->at, "cannot be read");
		return NULL;
	}
	base64_put(&sample, first, (size_t)n);
	o = buf_string(&sample) ? json_pack("{s:s,s:s,s:I}", "path", f->name, "sample", sample.p, "size",
	                                    (json_int_t)f->size) : NULL;
	buf_free(&sample);
	if (!o)
		err_memory(e);
	return o;
}

static void
take_modes(struct push *p, const json_t *answer)
{
	const json_t *o;
	const char *path, *mode;
	size_t i, j;

	json_array_foreach(json_object_get(answer, "files"), i, o)
		for (j = 0; j < p->n; j++)
			if (json_member_text(o, "path", &path) == 0 && strcmp(path, p->files[j].name) == 0 &&
			    json_member_text(o, "uploadMode", &mode) == 0)
				p->files[j].lfs = strcmp(mode, "lfs") == 0;
}

/* Asks about up to BATCH files. */
static int
ask_some(struct to_hub *h, size_t first, struct err *e)
{
	struct push *p = h->p;
	json_t *list = json_array(), *o = json_pack("{s:o}", "files", list), *answer = NULL;
	struct buf address = { 0 }, body = { 0 };
	int done = o ? 0 : err_memory(e);
	size_t i;

	for (i = first; i < p->n && i < first + BATCH && done == 0; i++) {
		json_t *file = describe(&p->files[i], e);

		done = file && json_array_append_new(list, file) == 0 ? 0 : -1;
	}
	if (done == 0 && (json_write(o, &body) < 0 || !api_address(&address, h, "preupload")))
		done = err_memory(e);
	if (done == 0)
		done = post(h, (const char *)address.p, "application/json", &body, &answer, e);
	if (done == 0)
		take_modes(p, answer);
	json_decref(answer);
	json_decref(o);
	buf_free(&address);
	buf_free(&body);
	return done;
}

static int
ask_modes(struct to_hub *h, struct err *e)
{
	uint64_t regular = 0;
	size_t i;

	for (i = 0; i < h->p->n; i += BATCH)
		if (ask_some(h, i, e) < 0)
			return -1;
	for (i = 0; i < h->p->n; i++)
		regular += h->p->files[i].lfs ? 0 : h->p->files[i].size;
	if (regular > REGULAR)
		return err_set(e, ERR_USAGE, h->p->to->label, "takes these files without LFS, which is for "
		               "at most %" PRIu64 " MiB in all", REGULAR >> 20);
	return 0;
}

/* ---- objects ---- */

int
push_put_bytes(struct to_hub *h, const struct push_file *f, const char *address, uint64_t from,
               uint64_t n, const char *const *headers, size_t count, char etag[256], struct err *e)
{
	struct http_request q = { .method = "PUT", .url = address, .headers = headers,
		.header_count = count, .body_file = f->fd, .body_from = from, .body_bytes = n };
	struct buf text = { 0 };
	int done;

	answer_reset(h->answer);
	done = http_bytes(h->hf.http, &q, &text, h->answer, e);
	if (done == 0 && etag)
		snprintf(etag, 256, "%s", h->answer->etag);
	if (done == 0)
		h->p->sent += n;
	buf_free(&text);
	return done;
}

static bool
is_plain(const char *s)
{
	for (; *s; s++)
		if (*s < ' ' || *s > '~')
			return false;
	return true;
}

/* A whole object; the hub may name headers to send with it. */
static int
put_whole(struct to_hub *h, const struct push_file *f, const char *address, const json_t *header,
          struct err *e)
{
	const char *headers[LIMIT_HEADERS];
	struct buf lines[LIMIT_HEADERS] = { { 0 } };
	const char *name;
	json_t *value;
	size_t n = 0, i;
	int done = 0;

	json_object_foreach((json_t *)(uintptr_t)header, name, value) {
		const char *text = json_string_value(value);

		if (!text || n == LIMIT_HEADERS || !is_plain(name) || !is_plain(text) || strchr(name, ':'))
			continue;
		buf_printf(&lines[n], "%s: %s", name, text);
		headers[n] = buf_string(&lines[n]);
		done = headers[n++] ? 0 : err_memory(e);
	}
	if (done == 0)
		done = push_put_bytes(h, f, address, 0, f->size, headers, n, NULL, e);
	for (i = 0; i < n; i++)
		buf_free(&lines[i]);
	return done;
}

/* The hub may want to see that the object has arrived. */
static int
verify(struct to_hub *h, const struct push_file *f, const char *address, struct err *e)
{
	json_t *o = json_pack("{s:s,s:I}", "oid", f->sha256, "size", (json_int_t)f->size);
	struct url there, hub;
	struct buf body = { 0 };
	int done = -1;

	/* The token goes to the hub only. */
	if (url_parse(&there, address, e) < 0 || url_parse(&hub, h->hf.endpoint, e) < 0)
		;
	else if (!url_same_origin(&there, &hub))
		done = 0;
	else if (!o || json_write(o, &body) < 0)
		err_memory(e);
	else
		done = post(h, address, LFS, &body, NULL, e);
	json_decref(o);
	buf_free(&body);
	return done;
}

static struct push_file *
find_object(struct push *p, const json_t *object)
{
	const char *oid;
	size_t i;

	if (json_member_text(object, "oid", &oid) == 0)
		for (i = 0; i < p->n; i++)
			if (p->files[i].lfs && strcmp(p->files[i].sha256, oid) == 0)
				return &p->files[i];
	return NULL;
}

static int
put_object(struct to_hub *h, const json_t *object, struct err *e)
{
	struct push_file *f = find_object(h->p, object);
	const json_t *upload = json_object_get(json_object_get(object, "actions"), "upload");
	const json_t *check = json_object_get(json_object_get(object, "actions"), "verify");
	const json_t *header = json_object_get(upload, "header");
	const char *address, *size, *message;
	int done;

	if (!f)
		return err_set(e, ERR_CORRUPT, h->p->to->label, "the hub names an object that was not asked for");
	if (json_member_text(json_object_get(object, "error"), "message", &message) == 0)
		return err_set(e, ERR_ACCESS, f->name, "the hub refuses the object: %s", message);
	f->there = !upload;
	if (!upload)
		return 0;
	if (json_member_text(upload, "href", &address) < 0)
		return err_set(e, ERR_CORRUPT, f->name, "the hub names no address for the object");
	done = json_member_text(header, "chunk_size", &size) == 0
		? push_put_parts(h, f, address, header, size, e) : put_whole(h, f, address, header, e);
	if (done == 0 && json_member_text(check, "href", &address) == 0)
		done = verify(h, f, address, e);
	return done;
}

/* Sends up to BATCH objects from file `first` on; *next is the file after them. */
static int
put_batch(struct to_hub *h, size_t first, size_t *next, struct err *e)
{
	struct push *p = h->p;
	json_t *list = json_array(), *answer = NULL, *object;
	json_t *o = json_pack("{s:s,s:[ss],s:s,s:o}", "operation", "upload", "transfers", "basic",
	                      "multipart", "hash_algo", "sha256", "objects", list);
	struct buf address = { 0 }, body = { 0 };
	int done = o ? 0 : err_memory(e);
	size_t i;

	for (i = first; i < p->n && json_array_size(list) < BATCH; i++)
		if (p->files[i].lfs)
			json_array_append_new(list, json_pack("{s:s,s:I}", "oid", p->files[i].sha256, "size",
			                                      (json_int_t)p->files[i].size));
	*next = i;
	buf_printf(&address, "%s/%s/%s.git/info/lfs/objects/batch", h->hf.endpoint, p->to->org,
	           p->to->repo);
	if (done == 0 && (json_write(o, &body) < 0 || !buf_string(&address)))
		done = err_memory(e);
	if (done == 0 && json_array_size(list) > 0)
		done = post(h, (const char *)address.p, LFS, &body, &answer, e);
	json_array_foreach(json_object_get(answer, "objects"), i, object)
		if (done == 0)
			done = put_object(h, object, e);
	json_decref(answer);
	json_decref(o);
	buf_free(&address);
	buf_free(&body);
	return done;
}

/* ---- the commit ---- */

static int
put_line(struct buf *b, const char *key, json_t *value, struct err *e)
{
	json_t *o = json_pack("{s:s,s:o}", "key", key, "value", value);
	int done = o && json_write(o, b) == 0 ? 0 : err_memory(e);

	buf_text(b, "\n");
	json_decref(o);
	return done;
}

static int
put_file_line(struct buf *b, const struct push_file *f, struct err *e)
{
	struct buf bytes = { 0 }, text = { 0 };
	uint8_t *room;
	int done = -1;

	if (f->lfs)
		return put_line(b, "lfsFile", json_pack("{s:s,s:s,s:s,s:I}", "path", f->name, "algo", "sha256",
		                "oid", f->sha256, "size", (json_int_t)f->size), e);
	room = buf_room(&bytes, (size_t)f->size + 1);
	if (!room)
		err_memory(e);
	else if (pread(f->fd, room, (size_t)f->size, 0) != (ssize_t)f->size)
		err_set(e, ERR_IO, f->at, "changed while it was read");
	else
		done = 0;
	base64_put(&text, room, done == 0 ? (size_t)f->size : 0);
	if (done == 0)
		done = buf_string(&text) ? put_line(b, "file", json_pack("{s:s,s:s,s:s}", "content", text.p,
		                           "path", f->name, "encoding", "base64"), e) : err_memory(e);
	buf_free(&bytes);
	buf_free(&text);
	return done;
}

static int
commit(struct to_hub *h, struct err *e)
{
	const char *summary = h->p->message ? h->p->message : "Upload by apr-push";
	struct buf body = { 0 }, address = { 0 };
	json_t *answer = NULL;
	const char *oid;
	size_t i;
	int done = put_line(&body, "header", json_pack("{s:s,s:s}", "summary", summary, "description", ""),
	                    e);

	for (i = 0; i < h->p->n && done == 0; i++)
		done = put_file_line(&body, &h->p->files[i], e);
	if (done == 0 && (!buf_ok(&body) || !api_address(&address, h, "commit")))
		done = err_memory(e);
	if (done == 0)
		done = post(h, (const char *)address.p, "application/x-ndjson", &body, &answer, e);
	if (done == 0 && json_member_text(answer, "commitOid", &oid) < 0)
		done = err_set(e, ERR_CORRUPT, h->p->to->label, "the hub names no commit");
	if (done == 0)
		snprintf(h->p->result, sizeof h->p->result, "%.400s/%s/%s/commit/%.64s", h->hf.endpoint,
		         h->p->to->org, h->p->to->repo, oid);
	json_decref(answer);
	buf_free(&body);
	buf_free(&address);
	return done;
}

/* ---- the repository ---- */

/* Creates the repository, unless it exists. */
static int
create_repository(struct to_hub *h, struct err *e)
{
	const struct hub_source *to = h->p->to;
	json_t *o = json_pack("{s:s,s:s,s:s,s:b}", "name", to->repo, "organization", to->org, "type",
	                      "model", "private", h->p->private_repo);
	struct buf address = { 0 }, body = { 0 };
	struct err why = ERR_INIT;
	int done = -1;

	buf_printf(&address, "%s/api/repos/create", h->hf.endpoint);
	if (!o || json_write(o, &body) < 0 || !buf_string(&address))
		err_memory(e);
	else
		done = post(h, (const char *)address.p, "application/json", &body, NULL, &why);
	if (done < 0 && h->answer->status == 409) {
		done = 0;
		if (h->p->private_repo && h->p->note)
			h->p->note("the repository exists already: --private does not change it");
	} else if (done < 0 && e->code == ERR_NONE) {
		*e = why;
	}
	json_decref(o);
	buf_free(&address);
	buf_free(&body);
	return done;
}

/* ---- all ---- */

/* Where records of uploads are kept, if they can be. */
static void
find_uploads(struct to_hub *h)
{
	struct cache_roots roots;
	struct err unused = ERR_INIT;
	int n;

	if (cache_roots(&roots, &unused) < 0)
		return;
	n = snprintf(h->uploads, sizeof h->uploads, "%s/" PUSH_UPLOADS, roots.apr);
	if (n < 0 || (size_t)n >= sizeof h->uploads)
		h->uploads[0] = '\0';
	else
		session_sweep(h->uploads);
}

static int
send_all(struct to_hub *h, struct err *e)
{
	size_t next;

	find_uploads(h);
	if ((h->p->create && create_repository(h, e) < 0) || ask_modes(h, e) < 0)
		return -1;
	for (next = 0; next < h->p->n;)
		if (put_batch(h, next, &next, e) < 0)
			return -1;
	return commit(h, e);
}

int
push_hf(struct push *p, struct web *web, struct err *e)
{
	struct to_hub h = { .p = p, .revision = *p->to->revision ? p->to->revision : "main" };
	int done = -1;

	h.answer = malloc(sizeof *h.answer);
	if (!h.answer)
		return err_memory(e);
	if (hf_open(&h.hf, p->token_file, e) == 0 && !*h.hf.authorization) {
		err_set(e, ERR_ACCESS, p->to->label, "needs a token that may write");
		err_hint(e, "set HF_TOKEN, or use --token-file");
	} else if (e->code == ERR_NONE) {
		h.hf.http = http_open(web, e);
		done = h.hf.http ? send_all(&h, e) : -1;
	}
	http_close(h.hf.http);
	h.hf.http = NULL;
	hf_close(&h.hf);
	free(h.answer);
	return done;
}
