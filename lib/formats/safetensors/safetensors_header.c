#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "core/num.h"
#include "formats/safetensors/safetensors_scan.h"

/* ---- structure ---- */

/* Read the name of the next member of an object into s->name. 1 before its value, 0 after the
 * end of the object, or -1. */
static int
next_member(struct scan *s, bool *first)
{
	scan_blanks(s, false);
	if (scan_take(s, '}'))
		return 0;
	if (!*first) {
		if (!scan_take(s, ','))
			return scan_wanted(s, "a comma or the end of an object");
		scan_blanks(s, true);
	}
	*first = false;
	if (!scan_take(s, '"'))
		return scan_wanted(s, "the name of a member");
	if (scan_name(s, &s->name, "a name", TENSOR_NAME) < 0)
		return -1;
	scan_blanks(s, false);
	if (!scan_take(s, ':'))
		return scan_wanted(s, "a colon");
	scan_blanks(s, true);
	return 1;
}

static int
read_integer(struct scan *s, uint64_t *v)
{
	unsigned digits = 0;
	int c, first = scan_peek(s);

	*v = 0;
	while ((c = scan_peek(s)) >= '0' && c <= '9') {
		if (num_mul(*v, 10, v) < 0 || num_add(*v, (uint64_t)(c - '0'), v) < 0)
			return scan_fail(s, ERR_CORRUPT, "a number that does not fit in 64 bits");
		digits++;
		s->p++;
	}
	if (digits == 0 || c == '.' || c == 'e' || c == 'E')
		return scan_wanted(s, "a whole number, in digits alone,");
	if (digits > 1 && first == '0')
		return scan_fail(s, ERR_CORRUPT, "a number with a leading zero");
	return 0;
}

/* Read a list of *n whole numbers. More than most are an error with the given code. */
static int
read_integers(struct scan *s, uint64_t *list, unsigned most, unsigned *n,
              enum err_code code)
{
	*n = 0;
	if (!scan_take(s, '['))
		return scan_wanted(s, "a list of whole numbers");
	scan_blanks(s, false);
	if (scan_take(s, ']'))
		return 0;
	for (;;) {
		if (*n == most)
			return scan_fail(s, code, "more than %u numbers", most);
		if (read_integer(s, &list[*n]) < 0)
			return -1;
		++*n;
		scan_blanks(s, false);
		if (scan_take(s, ']'))
			return 0;
		if (!scan_take(s, ','))
			return scan_wanted(s, "a comma or the end of a list");
		scan_blanks(s, true);
	}
}

/* ---- __metadata__ ---- */

static int
read_key(struct scan *s)
{
	struct safetensors_header *h = s->h;
	struct scan_text t = { .keep = VALUE_INLINE_BYTES };
	struct safetensors_key *k;
	int r;

	if (h->key_count == SAFETENSORS_KEYS_MAX)
		return scan_fail(s, ERR_CORRUPT, "more than %u keys", SAFETENSORS_KEYS_MAX);
	if (mem_grow(&h->keys, &h->key_cap, h->key_count + 1, sizeof *h->keys) < 0)
		return scan_no_memory(s);
	k = &h->keys[h->key_count++];
	if (!(k->name = mem_text((char *)s->name.p, s->name.n)))
		return scan_no_memory(s);
	t.base64 = safetensors_is_base64(k->name);
	r = scan_take(s, '"') ? scan_string(s, &t) : scan_wanted(s, "text, which every value is,");
	k->at = t.at;
	k->bytes = t.bytes;
	if (r == 0 && !t.spooled && !(k->text = mem_text((char *)t.b.p, t.b.n)))
		r = scan_no_memory(s);
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
		return scan_fail(s, ERR_CORRUPT, SAFETENSORS_METADATA " occurs twice");
	s->has_metadata = true;
	s->h->style.metadata_at = s->h->entry_count;
	if (!scan_take(s, '{'))
		return scan_wanted(s, "an object of strings");
	while ((more = next_member(s, &first)) > 0)
		if (read_key(s) < 0)
			return -1;
	return more;
}

/* ---- tensors ---- */

/* The members of an entry. */
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
	if (!scan_take(s, '"'))
		return scan_wanted(s, "the name of a dtype");
	if (scan_name(s, &s->name, "a dtype", 64) < 0)
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
		return scan_fail(s, ERR_CORRUPT, "data_offsets of %u numbers instead of 2", n);
	if (d->place[0] > d->place[1])
		return scan_fail(s, ERR_CORRUPT, "data_offsets that end before they begin");
	return 0;
}

/* Read the value of one of the three members. */
static int
read_member(struct scan *s, struct described *d)
{
	unsigned i, k;

	for (i = 0; i < SAFETENSORS_MEMBERS; i++)
		if (strcmp((char *)s->name.p, safetensors_members[i]) == 0)
			break;
	if (i == SAFETENSORS_MEMBERS)
		return scan_fail(s, ERR_CORRUPT, "%.40s, which no tensor has", (char *)s->name.p);
	for (k = 0; k < d->count; k++)
		if (d->members[k] == i)
			return scan_fail(s, ERR_CORRUPT, "%s occurs twice", safetensors_members[i]);
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
		return scan_no_memory(s);
	x = &h->entries[h->entry_count];
	x->at = d->place[0];
	x->tensor = tensor_new((char *)s->tensor.p, s->tensor.n, d->type, d->ndim, d->dims,
	                       d->place[1] - d->place[0], s->r->name, s->r->err);
	if (!x->tensor)
		return -1;
	/* The order of members in the first entry becomes the style. */
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

	/* Swap the buffers: s->name is needed for the members. */
	s->name = s->tensor;
	s->tensor = name;
	if (scan_take(s, '{'))
		while ((more = next_member(s, &first)) > 0 && (more = read_member(s, &d)) == 0)
			;
	else
		scan_wanted(s, "an object that describes a tensor");
	if (more == 0 && d.count < SAFETENSORS_MEMBERS)
		more = scan_fail(s, ERR_CORRUPT, "a tensor without dtype, shape or data_offsets");
	if (more == 0)
		more = keep_tensor(s, &d);
	if (more < 0 && s->r->failed && s->r->err->code != ERR_MEMORY)
		err_hint(s->r->err, "the tensor is %.160s", (char *)s->tensor.p);
	return more;
}

/* ---- the whole ---- */

static int
read_object(struct scan *s)
{
	bool first = true;
	int more;

	if (!scan_take(s, '{'))
		return scan_wanted(s, "the \"{\" that every header begins with");
	while ((more = next_member(s, &first)) > 0)
		if ((strcmp((char *)s->name.p, SAFETENSORS_METADATA) == 0
		         ? read_metadata(s) : read_tensor(s)) < 0)
			return -1;
	return more;
}

/* Read the spaces up to the end of the header. */
static int
read_padding(struct scan *s)
{
	uint64_t n = 0, text;
	int c;

	while ((c = scan_peek(s)) == ' ') {
		s->p++;
		n++;
	}
	if (c >= 0)
		return scan_fail(s, ERR_CORRUPT, "something other than spaces after the header");
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
