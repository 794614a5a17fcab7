#include "crypto/signature.h"

#include <stdio.h>
#include <string.h>

#include "model/model.h"

_Static_assert(SIGNATURE_HEAD_BYTES == MODEL_SIGN_HEAD,
               "containers reserve what a signature takes");

static const char domain[] = "apr signature 2";

/* The head consists of these pieces with hexadecimal digits between them, the statement,
 * and blanks before the last brace. */
enum { FIELDS = 7 };
static const char *const piece[FIELDS + 1] = {
	"{\"version\":2,\"key\":\"", "\",\"root\":\"", "\",\"metadata\":\"", "\",\"blobs\":\"",
	"\",\"licence\":\"", "\",\"tensors\":\"", "\",\"signature\":\"", "\",\"statement\":"
};
static const size_t field_bytes[FIELDS] = {
	KEY_ID_BYTES, DIGEST_BYTES, DIGEST_BYTES, DIGEST_BYTES, DIGEST_BYTES,
	DIGEST_BYTES, KEY_SIGNATURE_BYTES
};

enum { FIXED = 574 }; /* bytes up to the statement */
_Static_assert(FIXED + STATEMENT_TEXT + 1 <= SIGNATURE_HEAD_BYTES,
               "the longest statement fits");

static void
message(struct buf *b, const struct key_public *k, const struct digest *root,
        const struct statement *says)
{
	char text[STATEMENT_TEXT + 1];
	size_t n = statement_text(says, text);

	buf_put(b, domain, sizeof domain);
	buf_put(b, k->key, KEY_PUBLIC_BYTES);
	buf_put(b, root->b, DIGEST_BYTES);
	buf_u64(b, n);
	buf_put(b, text, n);
}

static bool
holds(const struct signature *s, const struct key_public *k, const struct digest *root)
{
	struct buf b = { 0 };
	bool yes;

	message(&b, k, root, &s->says);
	yes = buf_ok(&b) && key_verify_hashed(k, b.p, b.n, s->sig);
	buf_free(&b);
	return yes;
}

int
signature_make(struct signature *s, const struct content *c, const struct statement *says,
               const struct key_secret *k, struct err *e)
{
	const struct key_public *p = key_secret_public(k);
	struct buf b = { 0 };

	memset(s, 0, sizeof *s);
	if (statement_check(says, ERR_USAGE, e) < 0)
		return -1;
	memcpy(s->key_id, p->id, sizeof s->key_id);
	s->root = c->root;
	s->claimed = c->components;
	s->says = *says;
	message(&b, p, &c->root, says);
	if (buf_ok(&b))
		key_sign_hashed(k, b.p, b.n, s->sig);
	buf_free(&b);
	if (!holds(s, p, &c->root))
		return err_set(e, ERR_SIGNATURE, NULL,
		               "the signature just made does not verify");
	return 0;
}

/* The key id is shown as a number, its last byte first. */
static void
reversed(uint8_t to[KEY_ID_BYTES], const uint8_t from[KEY_ID_BYTES])
{
	size_t i;

	for (i = 0; i < KEY_ID_BYTES; i++)
		to[i] = from[KEY_ID_BYTES - 1 - i];
}

/* The fields of a frame in the order of the head. */
static void
fields(const struct signature *s, uint8_t id[KEY_ID_BYTES], const uint8_t *f[FIELDS])
{
	reversed(id, s->key_id);
	f[0] = id;
	f[1] = s->root.b;
	f[2] = s->claimed.metadata.b;
	f[3] = s->claimed.blobs.b;
	f[4] = s->claimed.licence.b;
	f[5] = s->claimed.tensors.b;
	f[6] = s->sig;
}

void
signature_head(const struct signature *s, char dst[SIGNATURE_HEAD_BYTES + 1])
{
	static const char hex[] = "0123456789abcdef";
	uint8_t id[KEY_ID_BYTES];
	const uint8_t *f[FIELDS];
	char *end = dst + SIGNATURE_HEAD_BYTES;
	size_t i, k;

	fields(s, id, f);
	for (i = 0; i < FIELDS; i++) {
		size_t n = strlen(piece[i]);

		memcpy(dst, piece[i], n);
		dst += n;
		for (k = 0; k < field_bytes[i]; k++) {
			*dst++ = hex[f[i][k] >> 4];
			*dst++ = hex[f[i][k] & 15];
		}
	}
	dst = stpcpy(dst, piece[FIELDS]);
	dst += statement_text(&s->says, dst);
	memset(dst, ' ', (size_t)(end - dst));
	end[-1] = '}';
	*end = '\0';
}

static void
put_digests(const struct content_list *l, struct buf *b)
{
	size_t i;

	for (i = 0; i < l->n; i++)
		buf_put(b, l->item[i].digest.b, DIGEST_BYTES);
}

int
signature_body(const struct content *c, struct buf *b, struct err *e)
{
	put_digests(&c->blobs, b);
	put_digests(&c->tensors, b);
	return buf_ok(b) ? 0 : err_memory(e);
}

/* The value of a lower-case hexadecimal digit, or -1. */
static int
digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static int
parse_field(const char *text, uint8_t *to, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		int high = digit(text[2 * i]), low = digit(text[2 * i + 1]);

		if (high < 0 || low < 0)
			return -1;
		to[i] = (uint8_t)(high << 4 | low);
	}
	return 0;
}

/* The version number of a head; 0 if it does not have the form of one. */
static unsigned
version_of(const char *text, size_t n)
{
	static const char first[] = "{\"version\":";
	size_t i, at = sizeof first - 1;
	unsigned v = 0;

	if (n < at || memcmp(text, first, at) != 0)
		return 0;
	for (i = at; i < n && i < at + 6 && text[i] >= '0' && text[i] <= '9'; i++)
		v = 10 * v + (unsigned)(text[i] - '0');
	return i < n && text[i] == ',' ? v : 0;
}

static int
refuse_version(unsigned version, struct err *e)
{
	err_set(e, ERR_VERSION, "signature", "is of version %u, not 2", version);
	return version > 2 ? -1 : err_hint(e, "apr-sign signs the model anew");
}

/* Parse the statement and the blanks up to the last brace. Returns the bytes that are
 * valid. */
static size_t
parse_rest(const char *text, size_t n, struct statement *says)
{
	size_t used = statement_parse(text, n, says);

	if (!used)
		return 0;
	while (used < n - 1 && text[used] == ' ')
		used++;
	return used == n - 1 && text[used] == '}' ? n : used;
}

static int
bad_form(size_t at, struct err *e)
{
	return err_set(e, ERR_CORRUPT, "signature", "its head has another form at byte %zu",
	               at);
}

int
signature_parse(const void *head, size_t n, struct signature *s, struct err *e)
{
	uint8_t field[FIELDS][KEY_SIGNATURE_BYTES];
	const char *text = head;
	unsigned version = version_of(head, n);
	size_t i, len, at = 0;

	memset(s, 0, sizeof *s);
	if (version && version != 2)
		return refuse_version(version, e);
	if (n != SIGNATURE_HEAD_BYTES)
		return err_set(e, ERR_CORRUPT, "signature",
		               "has a head of %zu bytes, not %d", n, SIGNATURE_HEAD_BYTES);
	for (i = 0; i <= FIELDS; i++) {
		len = strlen(piece[i]);
		if (memcmp(text + at, piece[i], len) != 0)
			return bad_form(at, e);
		at += len;
		if (i == FIELDS)
			break;
		if (parse_field(text + at, field[i], field_bytes[i]) < 0)
			return bad_form(at, e);
		at += 2 * field_bytes[i];
	}
	len = parse_rest(text + at, n - at, &s->says);
	if (len != n - at)
		return bad_form(at + len, e);
	reversed(s->key_id, field[0]);
	memcpy(s->root.b, field[1], DIGEST_BYTES);
	memcpy(s->claimed.metadata.b, field[2], DIGEST_BYTES);
	memcpy(s->claimed.blobs.b, field[3], DIGEST_BYTES);
	memcpy(s->claimed.licence.b, field[4], DIGEST_BYTES);
	memcpy(s->claimed.tensors.b, field[5], DIGEST_BYTES);
	memcpy(s->sig, field[6], sizeof s->sig);
	return 0;
}

/* The four parts of a content, in the order in which they are hashed. */
enum { METADATA, BLOBS, LICENCE, TENSORS, PARTS };
static const char *const part_name[PARTS] = {
	"metadata", "side files", "licence", "tensors"
};

static const struct digest *
part_digest(const struct components *c, unsigned part)
{
	const struct digest *d[PARTS] = {
		&c->metadata, &c->blobs, &c->licence, &c->tensors
	};

	return d[part];
}

/* A frame under examination. */
struct exam {
	const struct signature *s;
	const struct content *c;
	const uint8_t *body;
	bool root;           /* the frame quotes the root of its own claims */
	bool counted;        /* the body has a digest for each item of our lists */
	bool differs[PARTS]; /* the signed part is not the one here */
	struct err *e;
};

static size_t
first_difference(const struct content_list *l, const uint8_t *digests, size_t *more)
{
	size_t i, first = l->n;

	*more = 0;
	for (i = 0; i < l->n; i++) {
		if (memcmp(l->item[i].digest.b, digests + i * DIGEST_BYTES, DIGEST_BYTES) == 0)
			continue;
		if (first == l->n)
			first = i;
		else
			++*more;
	}
	return first;
}

/* " (metadata, licence too)": the other parts that differ. */
static void
other_parts(const struct exam *x, unsigned but, char dst[64])
{
	size_t used = 0;
	unsigned part;

	dst[0] = '\0';
	for (part = 0; part < PARTS; part++)
		if (part != but && x->differs[part])
			used += (size_t)snprintf(dst + used, 64 - used, "%s%s",
			                         used ? ", " : " (", part_name[part]);
	if (used)
		snprintf(dst + used, 64 - used, " too)");
}

/* Side files or tensors differ. Our names, types and shapes together with the frame's
 * digests give the claimed component only if the names, types and shapes are as signed and
 * the digests are genuine. Then the digests show which bodies differ. */
static int
name_item(const struct exam *x, unsigned part)
{
	bool tensors = part == TENSORS;
	const struct content_list *l = tensors ? &x->c->tensors : &x->c->blobs;
	const uint8_t *digests;
	struct digest with;
	size_t i, more;
	char too[64], rest[64] = "";

	other_parts(x, part, too);
	if (!x->counted)
		return err_set(x->e, ERR_SIGNATURE, part_name[part],
		               "their number differs from what was signed%s", too);
	digests = tensors ? x->body + x->c->blobs.n * DIGEST_BYTES : x->body;
	if ((tensors ? content_tensors_with : content_blobs_with)(x->c, digests, &with,
	                                                          x->e) < 0)
		return -1;
	i = first_difference(l, digests, &more);
	if (i == l->n || !digest_equal(&with, part_digest(&x->s->claimed, part)))
		return err_set(x->e, ERR_SIGNATURE, part_name[part],
		               "%s differs from what was signed%s",
		               tensors ? "a name, type or shape" : "a name or type", too);
	if (more)
		snprintf(rest, sizeof rest, ", as do those of %zu more", more);
	return err_set(x->e, ERR_SIGNATURE, l->item[i].name,
	               "its bytes differ from what was signed%s%s", rest, too);
}

/* The claims were signed, but the content here is different. */
static int
name_part(const struct exam *x)
{
	char too[64];

	if (x->differs[TENSORS])
		return name_item(x, TENSORS);
	if (x->differs[BLOBS])
		return name_item(x, BLOBS);
	other_parts(x, x->differs[METADATA] ? METADATA : LICENCE, too);
	return err_set(x->e, ERR_SIGNATURE,
	               part_name[x->differs[METADATA] ? METADATA : LICENCE],
	               "differs from what was signed%s", too);
}

/* The content is as it was signed. Check the rest of the frame. */
static int
check_lists(const struct exam *x)
{
	const struct content_list *blobs = &x->c->blobs, *tensors = &x->c->tensors;
	const uint8_t *digests = x->body;
	const char *name = NULL;
	size_t i, more;

	if (!x->root)
		return err_set(x->e, ERR_SIGNATURE, "signature", "its root was changed");
	if (!x->counted)
		return err_set(x->e, ERR_SIGNATURE, "signature",
		               "its list of digests has another length");
	i = first_difference(blobs, digests, &more);
	if (i < blobs->n)
		name = blobs->item[i].name;
	if (blobs->n > 0) /* an empty list has no bytes */
		digests += blobs->n * DIGEST_BYTES;
	i = first_difference(tensors, digests, &more);
	if (!name && i < tensors->n)
		name = tensors->item[i].name;
	if (name)
		return err_set(x->e, ERR_SIGNATURE, name,
		               "its digest in the signature was changed");
	return 0;
}

static int
check_frame(const struct exam *x)
{
	unsigned part;

	for (part = 0; part < PARTS; part++)
		if (x->differs[part])
			return err_set(x->e, ERR_SIGNATURE, "signature",
			               "its digest of the %s was changed", part_name[part]);
	return check_lists(x);
}

/* This key cannot have signed the frame. */
static int
refuse(const struct signature *s, const struct key_public *k, struct err *e)
{
	char made[KEY_ID_TEXT], given[KEY_ID_TEXT];

	key_id_text(made, s->key_id);
	key_id_text(given, k->id);
	if (strcmp(made, given) != 0)
		return err_set(e, ERR_SIGNATURE, "signature",
		               "is by key %s, not by %s", made, given);
	return err_set(e, ERR_SIGNATURE, "signature",
	               "is not by key %s, or was itself changed", given);
}

int
signature_check(const struct signature *s, const uint8_t *body, size_t n,
                const struct content *c, const struct key_public *k,
                enum signature_scope scope, struct err *e)
{
	struct exam x = { .s = s, .c = c, .body = body, .e = e };
	struct digest claimed;
	bool now;
	unsigned part;

	if (content_root(&s->claimed, &claimed, e) < 0)
		return -1;
	now = holds(s, k, &c->root);
	if (!now && !holds(s, k, &claimed))
		return refuse(s, k, e);
	if (memcmp(s->key_id, k->id, sizeof s->key_id) != 0)
		return err_set(e, ERR_SIGNATURE, "signature", "its key id was changed");
	x.root = digest_equal(&claimed, &s->root);
	x.counted = n % DIGEST_BYTES == 0 &&
	            n / DIGEST_BYTES == c->blobs.n + c->tensors.n;
	for (part = 0; part < PARTS; part++)
		x.differs[part] = !digest_equal(part_digest(&s->claimed, part),
		                                part_digest(&c->components, part));
	if (now)
		return check_frame(&x);
	if (scope == SIGNATURE_WEIGHTS)
		x.differs[METADATA] = false;
	for (part = 0; part < PARTS; part++)
		if (x.differs[part])
			return name_part(&x);
	return check_lists(&x);
}
