/* push_oci: to a registry, as a ModelPack artifact. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/json.h"
#include "core/text.h"
#include "hub/oci.h"
#include "hub/push.h"

#define EMPTY_TYPE "application/vnd.oci.empty.v1+json"
#define SIGNATURE_TYPE "application/vnd.apr.signature.v1"
#define BUNDLE_TYPE "application/vnd.dev.sigstore.bundle.v0.3+json"
#define SIGNATURE (1u << 20)
#define TRIES 5

/* ---- what is published ---- */

static bool
ends(const char *name, const char *with)
{
	size_t n = strlen(name), m = strlen(with);

	return n >= m && strcasecmp(name + n - m, with) == 0;
}

/* The media type of a file in a ModelPack artifact, by its name. */
static const char *
media_type(const char *name)
{
	static const struct {
		const char *end, *type;
	} rows[] = {
		{ ".gguf", OCI_TYPE_WEIGHT }, { ".safetensors", OCI_TYPE_WEIGHT }, { ".apr", OCI_TYPE_WEIGHT },
		{ ".bin", OCI_TYPE_WEIGHT }, { ".pt", OCI_TYPE_WEIGHT }, { ".pth", OCI_TYPE_WEIGHT },
		{ ".onnx", OCI_TYPE_WEIGHT }, { ".npz", OCI_TYPE_WEIGHT }, { ".md", OCI_TYPE_DOC },
		{ "LICENSE", OCI_TYPE_DOC }, { "LICENSE.txt", OCI_TYPE_DOC }, { "NOTICE", OCI_TYPE_DOC },
		{ ".pdf", OCI_TYPE_DOC }, { ".py", OCI_TYPE_CODE }, { ".sh", OCI_TYPE_CODE },
	};
	size_t i;

	for (i = 0; i < sizeof rows / sizeof *rows; i++)
		if (ends(name, rows[i].end))
			return rows[i].type;
	return OCI_TYPE_WEIGHT_CONFIG;
}

/* The format of the first file of weights, by its name. */
static const char *
format_of(const struct push *p)
{
	size_t i;

	for (i = 0; i < p->n; i++)
		if (strcmp(media_type(p->files[i].name), OCI_TYPE_WEIGHT) == 0)
			return strrchr(p->files[i].name, '.') + 1;
	return "unknown";
}

static void
put_json(struct buf *b, json_t *o)
{
	if (!o || json_write(o, b) < 0)
		b->failed = true;
	json_decref(o);
}

static void
put_config(struct buf *b, const struct push *p)
{
	json_t *list = json_array();
	char digest[OCI_DIGEST];
	size_t i;

	for (i = 0; i < p->n; i++) {
		snprintf(digest, sizeof digest, "sha256:%s", p->files[i].sha256);
		json_array_append_new(list, json_string(digest));
	}
	put_json(b, json_pack("{s:{s:s},s:{s:s,s:o},s:{s:s}}", "descriptor", "name", p->to->name, "modelfs",
	                      "type", "layers", "diffIds", list, "config", "format", format_of(p)));
}

static json_t *
layer_of(const struct push_file *f)
{
	char digest[OCI_DIGEST];

	snprintf(digest, sizeof digest, "sha256:%s", f->sha256);
	return json_pack("{s:s,s:s,s:I,s:{s:s,s:s}}", "mediaType", media_type(f->name), "digest", digest,
	                 "size", (json_int_t)f->size, "annotations", OCI_TITLE, f->name, OCI_PATH, f->name);
}

static void
put_manifest_text(struct buf *b, const struct push *p, const struct buf *config)
{
	json_t *list = json_array();
	char digest[OCI_DIGEST] = "";
	struct err unused = ERR_INIT;
	size_t i;

	push_digest(config->p, config->n, digest, &unused);
	for (i = 0; i < p->n; i++)
		json_array_append_new(list, layer_of(&p->files[i]));
	put_json(b, json_pack("{s:i,s:s,s:s,s:{s:s,s:s,s:I},s:o}", "schemaVersion", 2, "mediaType",
	                      OCI_TYPE_MANIFEST, "artifactType", OCI_TYPE_MODEL, "config", "mediaType",
	                      OCI_TYPE_CONFIG, "digest", digest, "size", (json_int_t)config->n, "layers",
	                      list));
}

/* ---- blobs ---- */

/* Bytes that become a blob: a part of a file, or memory. */
struct blob {
	const char *label;
	char digest[OCI_DIGEST];
	uint64_t size;
	int fd;
	const void *bytes;       /* or NULL */
};

struct to_registry {
	struct push *p;
	struct oci oci;
	struct http_answer *answer;
	struct url upload;       /* where the blob goes */
};

static int
has_blob(struct to_registry *r, const struct blob *b, bool *has, struct err *e)
{
	struct http_request q = { .method = "HEAD" };
	struct buf address = { 0 };
	int done;

	oci_url(&address, &r->oci, "blobs", b->digest);
	q.url = buf_string(&address);
	answer_reset(r->answer);
	done = q.url ? oci_once(&r->oci, &q, r->answer, e) : err_memory(e);
	*has = done == 0 && r->answer->status == 200;
	if (done == 0 && !*has && r->answer->status != 404)
		done = http_refused(r->answer, q.url, e);
	buf_free(&address);
	return done;
}

/* Takes the address for what follows from an answer. */
static int
take_location(struct to_registry *r, const struct url *base, struct err *e)
{
	if (!*r->answer->location)
		return err_set(e, ERR_CORRUPT, r->oci.label, "the registry names no address for an upload");
	return url_join(&r->upload, base, r->answer->location, e);
}

static int
begin(struct to_registry *r, struct err *e)
{
	struct http_request q = { .method = "POST", .body = "", .stop_redirect = true };
	struct buf address = { 0 };
	struct url base;
	int done = -1;

	oci_url(&address, &r->oci, "blobs", "uploads/");
	q.url = buf_string(&address);
	answer_reset(r->answer);
	if (!q.url)
		err_memory(e);
	else if (url_parse(&base, q.url, e) == 0 && oci_once(&r->oci, &q, r->answer, e) == 0)
		done = r->answer->status == 202 ? take_location(r, &base, e)
			: http_refused(r->answer, q.url, e);
	buf_free(&address);
	return done;
}

static bool
is_own(const struct to_registry *r, const struct url *u)
{
	struct err unused = ERR_INIT;
	struct url base;

	return url_parse(&base, r->oci.base, &unused) == 0 && url_same_origin(u, &base);
}

/* One request of an upload; its address may be at another host, which gets no token. */
static int
send_part(struct to_registry *r, const char *method, const char *address, const struct blob *b,
          uint64_t from, uint64_t n, struct err *e)
{
	static const char type[] = "Content-Type: application/octet-stream";
	char range[80];
	const char *headers[] = { type, range };
	struct http_request q = { .method = method, .url = address, .headers = headers,
		.header_count = strcmp(method, "PATCH") == 0 ? 2 : 1, .stop_redirect = true, .body_file = b->fd,
		.body_from = from, .body_bytes = n };

	snprintf(range, sizeof range, "Content-Range: %" PRIu64 "-%" PRIu64, from, from + n - 1);
	if (b->bytes || n == 0)
		q.body = b->bytes ? (const char *)b->bytes + from : "";
	answer_reset(r->answer);
	return is_own(r, &r->upload) ? oci_once(&r->oci, &q, r->answer, e)
		: http_once(r->oci.http, &q, r->answer, e);
}

/* Asks how much has arrived. False if the registry does not know. */
static bool
find_end(struct to_registry *r, uint64_t *at)
{
	struct http_request q = { .url = r->upload.text, .stop_redirect = true };
	struct err unused = ERR_INIT;
	uint64_t last;

	answer_reset(r->answer);
	if (!is_own(r, &r->upload) || oci_once(&r->oci, &q, r->answer, &unused) < 0 ||
	    r->answer->status != 204 || strncmp(r->answer->range, "0-", 2) != 0 ||
	    text_u64(r->answer->range + 2, 0, INT64_MAX - 1, &last) < 0)
		return false;
	/* "0-0" also stands for nothing. */
	*at = last == 0 ? 0 : last + 1;
	return last != 0;
}

/* Sends the pieces of a blob from *at on. */
static int
send_pieces(struct to_registry *r, const struct blob *b, uint64_t *at, struct err *e)
{
	struct url here;

	while (b->size - *at > PUSH_PIECE) {
		here = r->upload;
		if (send_part(r, "PATCH", here.text, b, *at, PUSH_PIECE, e) < 0)
			return -1;
		if (r->answer->status != 202)
			return http_refused(r->answer, here.text, e);
		*at += PUSH_PIECE;
		r->p->sent += PUSH_PIECE;
		if (take_location(r, &here, e) < 0)
			return -1;
	}
	return 0;
}

/* The last piece, with the digest. */
static int
send_end(struct to_registry *r, const struct blob *b, uint64_t at, struct err *e)
{
	struct buf address = { 0 };
	int done = -1;

	buf_printf(&address, "%s%cdigest=", r->upload.text, strchr(r->upload.text, '?') ? '&' : '?');
	url_encode(&address, b->digest, "");
	if (!buf_string(&address))
		err_memory(e);
	else if (send_part(r, "PUT", (const char *)address.p, b, at, b->size - at, e) == 0)
		done = r->answer->status == 201 ? 0 : http_refused(r->answer, r->upload.text, e);
	if (done == 0)
		r->p->sent += b->size - at;
	buf_free(&address);
	return done;
}

/* Sends a blob; after a failure goes on behind what has arrived. */
static int
send_blob(struct to_registry *r, const struct blob *b, struct err *e)
{
	uint64_t at = 0;
	unsigned i;

	for (i = 0;; i++) {
		struct err why = ERR_INIT;

		if ((at == 0 && begin(r, &why) < 0) || send_pieces(r, b, &at, &why) < 0 ||
		    send_end(r, b, at, &why) < 0) {
			if (why.code != ERR_NETWORK || i + 1 == TRIES) {
				*e = why;
				return -1;
			}
			if (r->p->note)
				r->p->note("the registry failed; the upload goes on");
			if (!find_end(r, &at))
				at = 0;
			continue;
		}
		return 0;
	}
}

static int
put_blob(struct to_registry *r, const struct blob *b, bool *there, struct err *e)
{
	bool has;

	if (has_blob(r, b, &has, e) < 0)
		return -1;
	if (there)
		*there = has;
	return has ? 0 : send_blob(r, b, e);
}

static int
put_bytes(struct to_registry *r, const struct buf *bytes, const char *label, struct err *e)
{
	struct blob b = { .label = label, .size = bytes->n, .fd = -1, .bytes = bytes->p };

	return push_digest(bytes->p, bytes->n, b.digest, e) < 0 ? -1 : put_blob(r, &b, NULL, e);
}

/* ---- manifests ---- */

static int
put_manifest(struct to_registry *r, const char *reference, const struct buf *text, struct err *e)
{
	static const char *const headers[] = { "Content-Type: " OCI_TYPE_MANIFEST };
	struct http_request q = { .method = "PUT", .headers = headers, .header_count = 1,
		.stop_redirect = true, .body = text->p, .body_bytes = text->n };
	struct buf address = { 0 };
	int done;

	oci_url(&address, &r->oci, "manifests", reference);
	q.url = buf_string(&address);
	answer_reset(r->answer);
	done = q.url ? oci_once(&r->oci, &q, r->answer, e) : err_memory(e);
	if (done == 0 && r->answer->status != 201)
		done = http_refused(r->answer, q.url, e);
	buf_free(&address);
	return done;
}

/* The manifest of a signature: its subject is the manifest of the model. */
static void
put_signature_manifest(struct buf *b, const char *name, const struct buf *signature,
                       const struct buf *model)
{
	const char *type = ends(name, ".sig") && memchr(signature->p, '{', signature->n ? 1 : 0)
		? BUNDLE_TYPE : SIGNATURE_TYPE;
	char empty[OCI_DIGEST] = "", layer[OCI_DIGEST] = "", subject[OCI_DIGEST] = "";
	struct err unused = ERR_INIT;

	push_digest("{}", 2, empty, &unused);
	push_digest(signature->p, signature->n, layer, &unused);
	push_digest(model->p, model->n, subject, &unused);
	put_json(b, json_pack("{s:i,s:s,s:s,s:{s:s,s:s,s:i},s:[{s:s,s:s,s:I,s:{s:s}}],s:{s:s,s:s,s:I}}",
	         "schemaVersion", 2, "mediaType", OCI_TYPE_MANIFEST, "artifactType", type,
	         "config", "mediaType", EMPTY_TYPE, "digest", empty, "size", 2,
	         "layers", "mediaType", type, "digest", layer, "size", (json_int_t)signature->n,
	         "annotations", OCI_TITLE, name,
	         "subject", "mediaType", OCI_TYPE_MANIFEST, "digest", subject, "size",
	         (json_int_t)model->n));
}

static int
read_signature(const char *path, struct buf *to, struct err *e)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	struct stat st;
	uint8_t *room;
	int done = -1;

	if (fd < 0)
		return err_errno(e, path, "cannot be opened");
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size > (off_t)SIGNATURE || st.st_size == 0)
		err_set(e, ERR_FORMAT, path, "is not a signature: a file of 1 byte to 1 MiB");
	else if (!(room = buf_room(to, (size_t)st.st_size)))
		err_memory(e);
	else if (read(fd, room, (size_t)st.st_size) != (ssize_t)st.st_size)
		err_errno(e, path, "cannot be read");
	else
		done = 0;
	to->n = done == 0 ? (size_t)st.st_size : 0;
	close(fd);
	return done;
}

/* Sends a signature. Registries list it by its subject; those that do not know subjects have it
 * under the tag "sha256-HEX". */
static int
put_signature(struct to_registry *r, const struct buf *signature, const struct buf *model,
              const char *digest, struct err *e)
{
	const char *slash = strrchr(r->p->signature, '/');
	struct buf empty = { .p = (uint8_t *)(uintptr_t)"{}", .n = 2 }, text = { 0 };
	char tag[OCI_DIGEST];
	int done = -1;

	snprintf(tag, sizeof tag, "sha256-%.64s", digest + 7);
	put_signature_manifest(&text, slash ? slash + 1 : r->p->signature, signature, model);
	if (!buf_ok(&text))
		err_memory(e);
	else if (put_bytes(r, &empty, "config", e) == 0 &&
	         put_bytes(r, signature, r->p->signature, e) == 0)
		done = put_manifest(r, tag, &text, e);
	buf_free(&text);
	return done;
}

/* ---- all ---- */

static int
send_all(struct to_registry *r, struct err *e)
{
	struct push *p = r->p;
	struct buf config = { 0 }, manifest = { 0 }, signature = { 0 };
	char digest[OCI_DIGEST] = "";
	int done = 0;
	size_t i;

	put_config(&config, p);
	put_manifest_text(&manifest, p, &config);
	if (!buf_ok(&config) || !buf_ok(&manifest) ||
	    push_digest(manifest.p, manifest.n, digest, e) < 0)
		done = err_memory(e);
	if (done == 0 && p->signature)
		done = read_signature(p->signature, &signature, e);
	for (i = 0; i < p->n && done == 0; i++) {
		struct push_file *f = &p->files[i];
		struct blob b = { .label = f->name, .size = f->size, .fd = f->fd };

		snprintf(b.digest, sizeof b.digest, "sha256:%s", f->sha256);
		done = put_blob(r, &b, &f->there, e);
	}
	if (done == 0)
		done = put_bytes(r, &config, "config", e);
	if (done == 0)
		done = put_manifest(r, r->oci.reference, &manifest, e);
	if (done == 0 && p->signature)
		done = put_signature(r, &signature, &manifest, digest, e);
	if (done == 0)
		snprintf(p->result, sizeof p->result, "%s/%s@%s", r->oci.registry, r->oci.name, digest);
	buf_free(&config);
	buf_free(&manifest);
	buf_free(&signature);
	return done;
}

int
push_oci(struct push *p, struct web *web, struct err *e)
{
	struct to_registry *r = calloc(1, sizeof *r);
	int done = -1;

	if (!r)
		return err_memory(e);
	r->p = p;
	r->answer = malloc(sizeof *r->answer);
	if (*p->to->digest)
		err_set(e, ERR_USAGE, p->to->label, "names a digest, which follows from the files: name a tag");
	else if (!r->answer)
		err_memory(e);
	else if (oci_open(&r->oci, web, p->to, true, e) == 0)
		done = send_all(r, e);
	oci_close(&r->oci);
	free(r->answer);
	free(r);
	return done;
}
