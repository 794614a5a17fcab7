#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "core/num.h"
#include "core/text.h"
#include "formats/safetensors/safetensors.h"

/* The header is scanned as it arrives, and only what it says is kept: as a tree
 * of JSON values it would take many times its 100 MB. */
struct scan {
	struct safetensors_header *h;
	struct reader *r;
	const uint8_t *p, *end; /* of the bytes at hand */
	uint64_t left;          /* of the header, behind them */
	struct buf raw;         /* a string, its escapes resolved */
	struct buf name;        /* of the member that is being read */
	struct buf tensor;      /* name of the tensor */
	struct buf decoded;
	bool has_metadata;
	/* What tells the style. */
	bool plain, spaced, odd;  /* kinds of separators seen */
	bool wide, escaped;       /* characters beyond ASCII: as they are; as \u */
};

/* ---- bytes ---- */

static int fail(struct scan *s, enum err_code code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static int
fail(struct scan *s, enum err_code code, const char *fmt, ...)
{
	struct reader *r = s->r;
	char object[sizeof r->err->object];
	va_list ap;

	r->failed = true;
	snprintf(object, sizeof object, "%s: byte %" PRIu64, r->name,
	         reader_tell(r) - (uint64_t)(s->end - s->p));
	va_start(ap, fmt);
	err_vset(r->err, code, object, fmt, ap);
	va_end(ap);
	return -1;
}

static int
no_memory(struct scan *s)
{
	s->r->failed = true;
	return err_memory(s->r->err);
}

/* The next byte, or -1 at the end of the header and after a fault. */
static int
peek(struct scan *s)
{
	size_t n;

	if (s->p == s->end) {
		if (s->left == 0 || s->r->failed)
			return -1;
		s->p = s->end = reader_some(s->r, s->left, &n);
		if (!s->p)
			return -1;
		s->end += n;
		s->left -= n;
	}
	return *s->p;
}

static bool
take(struct scan *s, char c)
{
	if (peek(s) != c)
		return false;
	s->p++;
	return true;
}

static int
wanted(struct scan *s, const char *what)
{
	if (peek(s) >= 0)
		return fail(s, ERR_CORRUPT, "%s is expected here", what);
	if (s->r->failed)
		return -1;
	return fail(s, ERR_CORRUPT, "the header ends where %s is expected", what);
}

/* Blanks after a separator make the style; elsewhere no style has any. */
static void
blanks(struct scan *s, bool separator)
{
	size_t n = 0;
	int c, first = peek(s);

	while ((c = peek(s)) == ' ' || c == '\t' || c == '\n' || c == '\r') {
		s->p++;
		n++;
	}
	if (separator && n == 0)
		s->plain = true;
	else if (separator && n == 1 && first == ' ')
		s->spaced = true;
	else if (n > 0)
		s->odd = true;
}

/* ---- strings ---- */

/* Where the text of a string goes. */
struct text {
	struct buf b;
	size_t most;     /* a longer one is a fault, */
	const char *what; /* named so; or most is 0 and what exceeds */
	size_t keep;     /* bytes moves to the spool */
	bool spooled;
	uint64_t at, bytes;
	bool base64;
	struct base64_reader decoder;
};

static int
put(struct scan *s, struct text *t, const uint8_t *p, size_t n)
{
	struct spool *spool = &s->h->spool;

	t->bytes += n;
	if (!t->spooled && (t->most || t->b.n + n <= t->keep)) {
		buf_put(&t->b, p, n);
		return buf_ok(&t->b) ? 0 : no_memory(s);
	}
	if (!t->spooled) {
		t->spooled = true;
		t->at = spool->bytes;
		if (spool_put(spool, t->b.p, t->b.n, s->r->err) < 0)
			return -1;
		buf_clear(&t->b);
	}
	return spool_put(spool, p, n, s->r->err);
}

/* Pass on what is whole of the string so far; at its end all of it. */
static int
settle(struct scan *s, struct text *t, bool last)
{
	size_t n = last ? s->raw.n : safetensors_whole(s->raw.p, s->raw.n);

	if (!buf_ok(&s->raw))
		return no_memory(s);
	if (t->most && t->bytes + s->raw.n > t->most)
		return fail(s, ERR_CORRUPT, "%s of more than %zu bytes", t->what, t->most);
	if (!text_utf8(s->raw.p, n, false))
		return fail(s, ERR_CORRUPT, "a string that is not UTF-8 text without NUL");
	if (!t->base64) {
		if (put(s, t, s->raw.p, n) < 0)
			return -1;
	} else {
		buf_clear(&s->decoded);
		if (base64_add(&t->decoder, s->raw.p, n, &s->decoded) < 0 ||
		    (last && base64_end(&t->decoder) < 0))
			return fail(s, ERR_CORRUPT,
			            "a key of ours with a value that is not base64");
		if (!buf_ok(&s->decoded))
			return no_memory(s);
		if (put(s, t, s->decoded.p, s->decoded.n) < 0)
			return -1;
	}
	s->raw.n -= n;
	if (s->raw.n)
		memmove(s->raw.p, s->raw.p + n, s->raw.n);
	return 0;
}

/* Four hexadecimal digits. */
static int
read_unit(struct scan *s, uint32_t *unit)
{
	unsigned i;

	*unit = 0;
	for (i = 0; i < 4; i++, s->p++) {
		int c = peek(s), v;

		if (c >= '0' && c <= '9')
			v = c - '0';
		else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
			v = (c | 0x20) - 'a' + 10;
		else
			return wanted(s, "a hexadecimal digit");
		*unit = *unit << 4 | (uint32_t)v;
	}
	return 0;
}

static void
put_character(struct buf *b, uint32_t c)
{
	if (c < 0x80) {
		buf_u8(b, (uint8_t)c);
		return;
	}
	if (c < 0x800) {
		buf_u8(b, (uint8_t)(0xc0 | c >> 6));
	} else {
		if (c < 0x10000) {
			buf_u8(b, (uint8_t)(0xe0 | c >> 12));
		} else {
			buf_u8(b, (uint8_t)(0xf0 | c >> 18));
			buf_u8(b, (uint8_t)(0x80 | (c >> 12 & 0x3f)));
		}
		buf_u8(b, (uint8_t)(0x80 | (c >> 6 & 0x3f)));
	}
	buf_u8(b, (uint8_t)(0x80 | (c & 0x3f)));
}

/* After "\u". Two units make a character beyond the first 65536. */
static int
read_character(struct scan *s)
{
	uint32_t c, low;

	if (read_unit(s, &c) < 0)
		return -1;
	if (c >= 0x7f)
		s->escaped = true;
	if (c >= 0xd800 && c < 0xe000) {
		if (c >= 0xdc00 || !take(s, '\\') || !take(s, 'u') || read_unit(s, &low) < 0 ||
		    low < 0xdc00 || low >= 0xe000)
			return fail(s, ERR_CORRUPT, "half a pair of surrogates");
		c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
	}
	put_character(&s->raw, c);
	return 0;
}

static int
read_escape(struct scan *s)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	int c = peek(s);
	const char *at = c > 0 ? strchr(from, c) : NULL;

	if (c == 'u') {
		s->p++;
		return read_character(s);
	}
	if (!at)
		return wanted(s, "an escape of JSON");
	s->p++;
	buf_u8(&s->raw, (uint8_t)to[at - from]);
	return 0;
}

/* The characters at hand that stand for themselves. */
static void
read_run(struct scan *s)
{
	const uint8_t *from = s->p;

	while (s->p < s->end && *s->p >= 0x20 && *s->p != '"' && *s->p != '\\') {
		s->wide |= *s->p >= 0x7f;
		s->p++;
	}
	buf_put(&s->raw, from, (size_t)(s->p - from));
}

/* After its opening quote. */
static int
read_string(struct scan *s, struct text *t)
{
	int c;

	buf_clear(&s->raw);
	while ((c = peek(s)) != '"') {
		if (c < 0)
			return wanted(s, "the end of a string");
		if (c < 0x20)
			return fail(s, ERR_CORRUPT, "a control character in a string");
		if (c == '\\') {
			s->p++;
			if (read_escape(s) < 0)
				return -1;
		} else {
			read_run(s);
		}
		if (s->raw.n > VALUE_INLINE_BYTES && settle(s, t, false) < 0)
			return -1;
	}
	if (settle(s, t, true) < 0)
		return -1;
	s->p++;
	return buf_string(&t->b) ? 0 : no_memory(s);
}

/* A short string, into b. */
static int
read_name(struct scan *s, struct buf *b, const char *what, size_t most)
{
	struct text t = { .b = *b, .most = most, .what = what };
	int r;

	buf_clear(&t.b);
	r = read_string(s, &t);
	*b = t.b;
	return r;
}

/* ---- structure ---- */

/* In an object: 1, and s->name is that of the next member, whose value comes; 0
 * behind the object; -1. */
static int
next_member(struct scan *s, bool *first)
{
	blanks(s, false);
	if (take(s, '}'))
		return 0;
	if (!*first) {
		if (!take(s, ','))
			return wanted(s, "a comma or the end of an object");
		blanks(s, true);
	}
	*first = false;
	if (!take(s, '"'))
		return wanted(s, "the name of a member");
	if (read_name(s, &s->name, "a name", TENSOR_NAME) < 0)
		return -1;
	blanks(s, false);
	if (!take(s, ':'))
		return wanted(s, "a colon");
	blanks(s, true);
	return 1;
}

static int
read_integer(struct scan *s, uint64_t *v)
{
	unsigned digits = 0;
	int c, first = peek(s);

	*v = 0;
	while ((c = peek(s)) >= '0' && c <= '9') {
		if (num_mul(*v, 10, v) < 0 || num_add(*v, (uint64_t)(c - '0'), v) < 0)
			return fail(s, ERR_CORRUPT, "a number that does not fit in 64 bits");
		digits++;
		s->p++;
	}
	if (digits == 0 || c == '.' || c == 'e' || c == 'E')
		return wanted(s, "a whole number, in digits alone,");
	if (digits > 1 && first == '0')
		return fail(s, ERR_CORRUPT, "a number with a leading zero");
	return 0;
}

/* A list of whole numbers: *n of them. A longer one is a fault of the given code. */
static int
read_integers(struct scan *s, uint64_t *list, unsigned most, unsigned *n,
              enum err_code code)
{
	*n = 0;
	if (!take(s, '['))
		return wanted(s, "a list of whole numbers");
	blanks(s, false);
	if (take(s, ']'))
		return 0;
	for (;;) {
		if (*n == most)
			return fail(s, code, "more than %u numbers", most);
		if (read_integer(s, &list[*n]) < 0)
			return -1;
		++*n;
		blanks(s, false);
		if (take(s, ']'))
			return 0;
		if (!take(s, ','))
			return wanted(s, "a comma or the end of a list");
		blanks(s, true);
	}
}

/* ---- __metadata__ ---- */

static int
read_key(struct scan *s)
{
	struct safetensors_header *h = s->h;
	struct text t = { .keep = VALUE_INLINE_BYTES };
	struct safetensors_key *k;
	int r;

	if (h->key_count == SAFETENSORS_KEYS_MAX)
		return fail(s, ERR_CORRUPT, "more than %u keys", SAFETENSORS_KEYS_MAX);
	if (mem_grow(&h->keys, &h->key_cap, h->key_count + 1, sizeof *h->keys) < 0)
		return no_memory(s);
	k = &h->keys[h->key_count++];
	if (!(k->name = mem_text((char *)s->name.p, s->name.n)))
		return no_memory(s);
	t.base64 = safetensors_is_base64(k->name);
	r = take(s, '"') ? read_string(s, &t) : wanted(s, "text, which every value is,");
	k->at = t.at;
	k->bytes = t.bytes;
	if (r == 0 && !t.spooled && !(k->text = mem_text((char *)t.b.p, t.b.n)))
		r = no_memory(s);
	buf_free(&t.b);
	if (r < 0)
		err_hint(s->r->err, "the key is %.160s", k->name);
	return r;
}

static int
read_metadata(struct scan *s)
{
	bool first = true;
	int more;

	if (s->has_metadata)
		return fail(s, ERR_CORRUPT, SAFETENSORS_METADATA " occurs twice");
	s->has_metadata = true;
	s->h->style.metadata_at = s->h->entry_count;
	if (!take(s, '{'))
		return wanted(s, "an object of strings");
	while ((more = next_member(s, &first)) > 0)
		if (read_key(s) < 0)
			return -1;
	return more;
}

/* ---- tensors ---- */

/* What an entry says. */
struct described {
	const struct dtype *type;
	uint64_t dims[TENSOR_DIMS], place[2];
	unsigned ndim;
	uint8_t members[SAFETENSORS_MEMBERS]; /* in the order they came */
	unsigned count;
};

static int
read_dtype(struct scan *s, struct described *d)
{
	if (!take(s, '"'))
		return wanted(s, "the name of a dtype");
	if (read_name(s, &s->name, "a dtype", 64) < 0)
		return -1;
	d->type = safetensors_dtype((char *)s->name.p);
	if (!d->type)
		return err_set(s->r->err, ERR_FORMAT, (char *)s->tensor.p,
		               "has the dtype %s, which is not known here: "
		               "UnsupportedQuantization", (char *)s->name.p);
	return 0;
}

static int
read_place(struct scan *s, struct described *d)
{
	unsigned n;

	if (read_integers(s, d->place, 2, &n, ERR_CORRUPT) < 0)
		return -1;
	if (n < 2)
		return fail(s, ERR_CORRUPT, "data_offsets of %u numbers instead of 2", n);
	if (d->place[0] > d->place[1])
		return fail(s, ERR_CORRUPT, "data_offsets that end before they begin");
	return 0;
}

/* The value of one of the three members. */
static int
read_member(struct scan *s, struct described *d)
{
	unsigned i, k;

	for (i = 0; i < SAFETENSORS_MEMBERS; i++)
		if (strcmp((char *)s->name.p, safetensors_members[i]) == 0)
			break;
	if (i == SAFETENSORS_MEMBERS)
		return fail(s, ERR_CORRUPT, "%.40s, which no tensor has", (char *)s->name.p);
	for (k = 0; k < d->count; k++)
		if (d->members[k] == i)
			return fail(s, ERR_CORRUPT, "%s occurs twice", safetensors_members[i]);
	d->members[d->count++] = (uint8_t)i;
	switch (i) {
	case 0:
		return read_dtype(s, d);
	case 1:
		return read_integers(s, d->dims, TENSOR_DIMS, &d->ndim, ERR_FORMAT);
	}
	return read_place(s, d);
}

static int
keep_tensor(struct scan *s, const struct described *d)
{
	struct safetensors_header *h = s->h;
	struct safetensors_entry *x;

	if (mem_grow(&h->entries, &h->entry_cap, h->entry_count + 1, sizeof *h->entries) < 0)
		return no_memory(s);
	x = &h->entries[h->entry_count];
	x->at = d->place[0];
	x->tensor = tensor_new((char *)s->tensor.p, s->tensor.n, d->type, d->ndim, d->dims,
	                       d->place[1] - d->place[0], s->r->name, s->r->err);
	if (!x->tensor)
		return -1;
	/* The style of the first is that of all, or there is none. */
	if (h->entry_count++ == 0)
		memcpy(h->style.members, d->members, sizeof d->members);
	return 0;
}

static int
read_tensor(struct scan *s)
{
	struct described d = { 0 };
	struct buf name = s->name;
	bool first = true;
	int more = -1;

	/* The buffers change places: s->name is needed for the members. */
	s->name = s->tensor;
	s->tensor = name;
	if (take(s, '{'))
		while ((more = next_member(s, &first)) > 0 && (more = read_member(s, &d)) == 0)
			;
	else
		wanted(s, "an object that describes a tensor");
	if (more == 0 && d.count < SAFETENSORS_MEMBERS)
		more = fail(s, ERR_CORRUPT, "a tensor without dtype, shape or data_offsets");
	if (more == 0)
		more = keep_tensor(s, &d);
	if (more < 0 && s->r->failed)
		err_hint(s->r->err, "the tensor is %.160s", (char *)s->tensor.p);
	return more;
}

/* ---- the whole ---- */

static int
read_object(struct scan *s)
{
	bool first = true;
	int more;

	if (!take(s, '{'))
		return wanted(s, "the \"{\" that every header begins with");
	while ((more = next_member(s, &first)) > 0)
		if ((strcmp((char *)s->name.p, SAFETENSORS_METADATA) == 0
		         ? read_metadata(s) : read_tensor(s)) < 0)
			return -1;
	return more;
}

/* Up to the end of the header. */
static int
read_padding(struct scan *s)
{
	uint64_t n = 0, text;
	int c;

	while ((c = peek(s)) == ' ') {
		s->p++;
		n++;
	}
	if (c >= 0)
		return fail(s, ERR_CORRUPT, "something other than spaces after the header");
	text = s->h->bytes - n;
	if (n > (8 - text % 8) % 8)
		s->h->reserve = n - (8 - text % 8) % 8;
	s->h->style.padding = n == (8 - text % 8) % 8 ? MODEL_NONE : n;
	return s->r->failed ? -1 : 0;
}

int
safetensors_header_read(struct safetensors_header *h, struct reader *r)
{
	struct scan s = { .h = h, .r = r };
	int status = -1;

	h->style = (struct safetensors_style){ .metadata_at = MODEL_NONE,
		.members = { 0, 1, 2 } };
	h->bytes = s.left = reader_u64(r);
	if (r->failed)
		return -1;
	if (h->bytes > SAFETENSORS_HEADER_MAX)
		return reader_fail(r, ERR_CORRUPT, "a header of %" PRIu64 " bytes, at most %u "
		                   "are allowed", h->bytes, SAFETENSORS_HEADER_MAX);
	if (h->bytes > reader_left(r))
		return reader_fail(r, ERR_CORRUPT, "a header of %" PRIu64 " bytes exceeds the %"
		                   PRIu64 " bytes left", h->bytes, reader_left(r));
	if (read_object(&s) == 0)
		status = read_padding(&s);
	h->style.spaced = s.spaced && !s.plain && !s.odd;
	h->style.ascii = s.escaped && !s.wide;
	buf_free(&s.raw);
	buf_free(&s.name);
	buf_free(&s.tensor);
	buf_free(&s.decoded);
	return status;
}

void
safetensors_header_free(struct safetensors_header *h)
{
	size_t i;

	for (i = 0; i < h->key_count; i++) {
		free(h->keys[i].name);
		free(h->keys[i].text);
	}
	for (i = 0; i < h->entry_count; i++)
		tensor_free(h->entries[i].tensor);
	free(h->keys);
	free(h->entries);
	spool_free(&h->spool);
	*h = (struct safetensors_header){ 0 };
}
