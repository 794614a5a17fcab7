#include "cli/meta/apply.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/meta/known.h"
#include "cli/near.h"
#include "cli/tool.h"
#include "core/le.h"
#include "core/mem.h"
#include "core/text.h"
#include "model/value_text.h"

/* ---- spellings ---- */

/* Cuts the type off the end of key. 1 if there is one, 0 if not. */
static int
cut_type(char *key, struct value_type *t)
{
	char *colon = strchr(key, ':');

	for (; colon; colon = strchr(colon + 1, ':'))
		if (colon > key && value_type_parse(colon + 1, t) == 0) {
			*colon = '\0';
			return 1;
		}
	return 0;
}

/* Cuts [INDEX] off the end of key. */
static bool
cut_index(char *key, uint64_t *index)
{
	char *open = strrchr(key, '['), *end;
	size_t n = strlen(key);

	if (!open || open == key || key[n - 1] != ']')
		return false;
	end = key + n - 1;
	*end = '\0';
	if (text_u64(open + 1, 0, UINT64_MAX, index) == 0) {
		*open = '\0';
		return true;
	}
	*end = ']';
	return false;
}

/* Finds the parts of a spelling. Returns 0, or -1 with ERR_USAGE for an unknown type. The
 * caller frees s->key in either case. */
static int
spell(struct spelled *s, const struct edited *d, const char *text, struct err *e)
{
	*s = (struct spelled){ .key = mem_text(text, strlen(text)) };
	if (!s->key)
		return err_memory(e);
	if ((s->row = edited_row(d, s->key)))
		return 0;
	if (strchr(s->key, ':')) {
		s->typed = cut_type(s->key, &s->type);
		if (!s->typed) {
			err_set(e, ERR_USAGE, s->key, "has a colon, but no type that is known after it");
			return err_hint(e, "types are u8 i8 u16 i16 u32 i32 u64 i64 f32 f64 bool string "
			                "json and array:TYPE");
		}
		if ((s->row = edited_row(d, s->key)))
			return 0;
	}
	if (cut_index(s->key, &s->index)) {
		s->indexed = true;
		s->row = edited_row(d, s->key);
		if (!s->row)
			return near_no_key(d->from->plan, s->key, d->from->name, e);
	}
	return 0;
}

int
apply_find(struct spelled *s, const struct edited *d, const char *text, struct err *e)
{
	*s = (struct spelled){ .key = mem_text(text, strlen(text)) };
	if (!s->key)
		return err_memory(e);
	if (!(s->row = edited_row(d, s->key)) && cut_index(s->key, &s->index)) {
		s->indexed = true;
		s->row = edited_row(d, s->key);
	}
	return s->row ? 0 : near_no_key(d->from->plan, text, d->from->name, e);
}

/* ---- set ---- */

/* The type of a value that is set: the given one, that of the key so far, the one that GGUF
 * defines, or one that fits the text. */
static int
choose_type(const struct edit *x, const struct spelled *s, struct value_type *t, struct err *e)
{
	struct value_type fits;
	bool guessed;

	if (s->typed || x->typed) {
		*t = s->typed ? s->type : x->type;
		return 0;
	}
	if (s->row) {
		*t = s->row->type;
		return 0;
	}
	if (known_type(s->key, t))
		return 0;
	guessed = value_guess((const char *)x->text.p, x->text.n, &fits) == 0;
	*t = x->quoted ? fits : (struct value_type){ 0, VALUE_STRING };
	if (x->quoted && !guessed) {
		err_set(e, ERR_USAGE, s->key, "is new, and its type does not follow from its value");
		return err_hint(e, "{\"type\":\"array:string\",\"value\":[]} gives a type");
	}
	if (!x->quoted && guessed && fits.leaf != VALUE_STRING && fits.leaf != VALUE_JSON)
		tool_notef("%.200s is a new key and becomes a string: %.200s:TYPE=VALUE gives "
		           "another type", s->key, s->key);
	return 0;
}

static int
set_wire(struct edited *d, const struct edits *edits, const struct edit *x, struct row *r,
         struct err *e)
{
	struct spool *wires = (struct spool *)(uintptr_t)&edits->wires, space = { 0 };
	uint8_t *to = spool_room(&space, x->n, e);
	int status = to && spool_get(wires, x->at, to, (size_t)x->n, e) == 0
	                 ? edited_put(d, r, x->type, to, x->n, e) : -1;

	spool_free(&space);
	return status;
}

/* Replaces one item of an array. */
static int
set_item(struct edited *d, const struct edit *x, const struct spelled *s, struct err *e)
{
	struct spool space = { 0 };
	struct value_type item;
	struct buf b = { 0 };
	size_t at, span;
	const uint8_t *p;
	int r = -1;

	if (!s->row->type.depth || s->typed || x->typed)
		return err_set(e, ERR_USAGE, s->key, s->row->type.depth
		               ? "is an array: its items have its type, and no type of their own"
		               : "is not an array: it has no item %" PRIu64, s->index);
	if (edited_wire(d, s->row, &space, &p, e) < 0)
		goto end;
	if (value_item(s->row->type, p, (size_t)s->row->n, s->index, &at, &span, &item) < 0) {
		err_set(e, ERR_NO, s->key, "has %" PRIu64 " items, and no item %" PRIu64,
		        value_count(s->row->type, p, (size_t)s->row->n), s->index);
		goto end;
	}
	if (value_parse(item, (const char *)x->text.p, x->text.n, x->quoted, s->key, &b, e) == 0 &&
	    (b.n != span || memcmp(b.p, p + at, span) != 0))
		r = edited_splice(d, s->row, p, at, span, &b, e);
	else if (e->code == ERR_NONE)
		r = 0;
end:
	buf_free(&b);
	spool_free(&space);
	return r;
}

static int
set_value(struct edited *d, const struct edits *edits, const struct edit *x,
          struct spelled *s, struct err *e)
{
	struct buf wire = { 0 };
	struct value_type type;
	int r = 0;

	if (known_check(s->key, e) < 0)
		return -1;
	if (s->indexed)
		return set_item(d, x, s, e);
	if (!x->is_wire &&
	    (choose_type(x, s, &type, e) < 0 ||
	     value_parse(type, x->text.n ? (const char *)x->text.p : "", x->text.n, x->quoted,
	                 s->key, &wire, e) < 0))
		r = -1;
	if (r == 0 && !s->row && !(s->row = edited_new(d, s->key, e)))
		r = -1;
	if (r == 0)
		r = x->is_wire ? set_wire(d, edits, x, s->row, e)
		               : edited_put(d, s->row, type, wire.p, wire.n, e);
	buf_free(&wire);
	return r;
}

static int
set(struct edited *d, const struct edits *edits, const struct edit *x, struct err *e)
{
	struct spelled s = { 0 };
	int r = 0;

	if (x->spells)
		r = spell(&s, d, x->key, e);
	else if (!(s.key = mem_text(x->key, strlen(x->key))))
		r = err_memory(e);
	else
		s.row = edited_row(d, s.key);
	if (r == 0)
		r = set_value(d, edits, x, &s, e);
	free(s.key);
	return r;
}

/* ---- delete and rename ---- */

static int
no_key(const struct edited *d, const char *key, struct err *e)
{
	char *base = mem_text(key, strlen(key));
	uint64_t index;
	bool item = base && cut_index(base, &index) && edited_row(d, base);

	free(base);
	if (!item)
		return near_no_key(d->from->plan, key, d->from->name, e);
	err_set(e, ERR_USAGE, key, "is an item of an array, which can only be set");
	return err_hint(e, "set the whole array instead");
}

static int
delete(struct edited *d, const struct edit *x, struct err *e)
{
	struct row *r = edited_row(d, x->key);

	if (!r)
		return x->optional ? 0 : no_key(d, x->key, e);
	r->gone = true;
	d->changed = true;
	return 0;
}

static int
rename_key(struct edited *d, const struct edit *x, struct err *e)
{
	struct row *r = edited_row(d, x->key);

	if (!r)
		return no_key(d, x->key, e);
	if (strcmp(x->key, x->to) == 0)
		return 0;
	if (known_check(x->to, e) < 0)
		return -1;
	if (edited_row(d, x->to)) {
		err_set(e, ERR_INVALID, x->to, "is a key of the model already");
		return err_hint(e, "delete it first");
	}
	return edited_rename(d, r, x->to, e);
}

int
apply_edit(struct edited *d, const struct edits *edits, size_t i, struct err *e)
{
	const struct edit *x = &edits->items[i];

	switch (x->op) {
	case EDIT_SET:
		return set(d, edits, x, e);
	case EDIT_DELETE:
		return delete(d, x, e);
	case EDIT_RENAME:
		break;
	}
	return rename_key(d, x, e);
}

/* ---- agreement ---- */

/* The number of items of an array; *any: there is such an array. */
static int
items_of(struct edited *d, const char *key, uint64_t *count, bool *any, struct err *e)
{
	struct row *r = edited_row(d, key);
	struct spool space = { 0 };
	const uint8_t *p;

	*any = r && r->type.depth;
	if (!*any)
		return 0;
	if (edited_wire(d, r, &space, &p, e) < 0)
		return -1;
	*count = value_count(r->type, p, (size_t)r->n);
	spool_free(&space);
	return 0;
}

/* Whether a key of the source is not as it was. */
static bool
is_changed(const struct edited *d, const char *key)
{
	const struct meta *k = model_find(d->from->plan, key);
	const struct row *r = edited_row(d, key);

	if (!k || !r)
		return (k != NULL) != (r != NULL);
	return k->wire ? r->where != ROW_HERE || r->n != k->wire_bytes ||
	                 memcmp(r->wire, k->wire, k->wire_bytes) != 0
	               : r->where != ROW_OLD || r->blob != k->blob;
}

int
apply_check(struct edited *d, struct err *e)
{
	uint64_t first = 0, count;
	const char *key, *of = NULL;
	bool changed = false, any;
	unsigned i;

	for (i = 0; (key = known_vocabulary(i)); i++)
		changed |= is_changed(d, key);
	for (i = 0; changed && (key = known_vocabulary(i)); i++) {
		if (items_of(d, key, &count, &any, e) < 0)
			return -1;
		if (any && of && count != first) {
			err_set(e, ERR_INVALID, key, "would have %" PRIu64 " items, and %s %" PRIu64
			        ": a vocabulary has one of each per token", count, of, first);
			return err_hint(e, "change both in one call");
		}
		if (any && !of) {
			of = key;
			first = count;
		}
	}
	return 0;
}
