#include "formats/apr2/apr2_meta.h"

#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "formats/ties.h"
#include "stream/plan.h"

/* One member of the object: its name (the parsed object's), and where the text
 * of its value lies. */
struct member {
	const char *name;
	size_t at, n;
	bool taken;
};

/* Offset after the string that begins at i. The text is known to be JSON. */
static size_t
after_string(const uint8_t *p, size_t i, size_t n)
{
	for (i++; i < n && p[i] != '"'; i++)
		if (p[i] == '\\')
			i++;
	return i + 1;
}

static size_t
after_value(const uint8_t *p, size_t i, size_t n)
{
	size_t depth = 0;

	do {
		if (p[i] == '"') {
			i = after_string(p, i, n);
		} else if (p[i] == '{' || p[i] == '[') {
			depth++;
			i++;
		} else if (p[i] == '}' || p[i] == ']') {
			depth--;
			i++;
		} else if (depth > 0) {
			i++;
		} else {
			while (i < n && !apr2_is_blank(p[i]) && p[i] != ',' && p[i] != '}')
				i++;
		}
	} while (depth > 0 && i < n);
	return i;
}

static size_t
after_blanks(const uint8_t *p, size_t i, size_t n, uint8_t mark)
{
	while (i < n && (apr2_is_blank(p[i]) || p[i] == mark))
		i++;
	return i;
}

/* Where each member's value lies; the parser keeps the order of the text. */
static struct member *
find_members(const struct buf *text, json_t *root, struct err *e)
{
	struct member *list = mem_array(json_object_size(root), sizeof *list);
	const uint8_t *p = text->p;
	size_t n = text->n, i, at, count = 0;
	const char *name;
	json_t *v;

	if (!list) {
		err_memory(e);
		return NULL;
	}
	i = after_blanks(p, 0, n, '{');
	json_object_foreach(root, name, v) {
		i = after_blanks(p, i, n, ',');
		i = after_string(p, i, n);
		at = after_blanks(p, i, n, ':');
		i = after_value(p, at, n);
		list[count++] = (struct member){ .name = name, .at = at, .n = i - at };
	}
	return list;
}

/* What is being put together from the text. */
struct reading {
	struct apr2_meta *meta;
	const char *where;
	struct err *e;
	json_t *plan;           /* apr_stream, or one made up for a foreign file */
	json_t *rows, *blobs;   /* its lists */
	struct member *members;
	size_t count;           /* of members */
	size_t values;          /* blobs that hold values, so far */
};

static int
bad(struct reading *d, const char *what)
{
	return err_set(d->e, ERR_CORRUPT, d->where, "its member " APR2_OWN " has %s", what);
}

/* Give a row [key,"json"] its value: the member's text, or a blob where it is
 * too long. */
static int
complete(struct reading *d, json_t *row, struct member *v)
{
	struct buf name = { 0 };
	const char *text = (const char *)d->meta->text.p + v->at;
	int r;

	v->taken = true;
	if (v->n <= VALUE_INLINE_BYTES)
		return json_array_append_new(row, json_stringn(text, v->n)) < 0
		           ? err_memory(d->e) : 0;
	if (d->values > json_array_size(d->blobs))
		return bad(d, "rows whose blobs are not there");
	buf_printf(&name, MODEL_VALUE_NAME "%s", v->name);
	if (!buf_string(&name)) {
		buf_free(&name);
		return err_memory(d->e);
	}
	r = json_array_append_new(row, json_pack("{s:s}", "blob", name.p));
	r |= json_array_insert_new(d->blobs, d->values,
	                           json_pack("[s,s,o]", name.p, MODEL_VALUE,
	                                     json_from_u64(v->n)));
	buf_free(&name);
	if (r < 0)
		return err_memory(d->e);
	return apr2_add_span(d->meta, d->values++, v->at, v->n, d->e);
}

/* Rows without a value are the members, in the same order. */
static int
complete_rows(struct reading *d)
{
	size_t i, next = 0;
	json_t *row;

	json_array_foreach(d->rows, i, row) {
		const char *key = json_string_value(json_array_get(row, 0));
		const char *type = json_string_value(json_array_get(row, 1));

		if (json_is_object(json_array_get(row, 2)))
			d->values++;
		if (json_array_size(row) != 2)
			continue;
		if (!key || !type || strcmp(type, "json") != 0)
			return bad(d, "a bad metadata row");
		while (next < d->count && strcmp(d->members[next].name, key) != 0)
			next++;
		if (next == d->count || strcmp(key, APR2_OWN) == 0)
			return bad(d, "a key whose member is not there, or out of order");
		if (complete(d, row, &d->members[next++]) < 0)
			return -1;
	}
	return 0;
}

/* Which derived member has this name; APR2_DERIVED: none. */
static size_t
derived_at(const char *name)
{
	size_t i;

	for (i = 0; i < APR2_DERIVED; i++)
		if (strcmp(name, apr2_derived[i]) == 0)
			break;
	return i;
}

/* Keep the text of a derived member, which is compared when the tensors are known. */
static int
keep_derived(struct reading *d, const struct member *v, size_t i)
{
	struct buf *b = &d->meta->derived[i];

	d->meta->taken[i] = v->taken;
	if (!v->taken)
		buf_put(b, d->meta->text.p + v->at, v->n);
	return buf_ok(b) ? 0 : err_memory(d->e);
}

/* Members that no row names are keys too: all of them in a foreign file, and
 * what somebody has added to one of ours. */
static int
add_rows(struct reading *d)
{
	size_t i;

	for (i = 0; i < d->count; i++) {
		struct member *v = &d->members[i];
		size_t k = d->meta->foreign ? APR2_DERIVED : derived_at(v->name);
		json_t *row;

		if (k < APR2_DERIVED && keep_derived(d, v, k) < 0)
			return -1;
		if (v->taken || strcmp(v->name, APR2_OWN) == 0 || k < APR2_DERIVED)
			continue;
		row = json_pack("[s,s]", v->name, "json");
		if (json_array_append(d->rows, row) < 0) {
			json_decref(row);
			return err_memory(d->e);
		}
		json_decref(row);
		if (complete(d, row, v) < 0)
			return -1;
	}
	return 0;
}

static int
read_root(struct reading *d, json_t *root, struct model *m)
{
	struct apr2_meta *meta = d->meta;
	json_t *own = json_object_get(root, APR2_OWN);
	size_t i;
	int r;

	meta->foreign = !own;
	for (i = APR2_REQUIRED; i-- > 0;)
		if (!json_object_get(root, apr2_derived[i]))
			meta->missing = apr2_derived[i];
	d->plan = own ? json_incref(own)
	              : json_pack("{s:i,s:{},s:[],s:[],s:i}", "version", PLAN_VERSION,
	                          "source", "metadata", "blobs", "signatures", 0);
	if (!d->plan)
		return err_memory(d->e);
	d->rows = json_object_get(d->plan, "metadata");
	d->blobs = json_object_get(d->plan, "blobs");
	if (!json_is_array(d->rows) || !json_is_array(d->blobs))
		return bad(d, "no list of metadata or blobs");
	meta->empty = json_incref(json_object_get(d->plan, TIES_MEMBER));
	if (meta->empty)
		json_object_del(d->plan, TIES_MEMBER);
	meta->types = json_incref(json_object_get(d->plan, APR2_TYPES));
	if (meta->types)
		json_object_del(d->plan, APR2_TYPES);
	d->count = json_object_size(root);
	d->members = find_members(&meta->text, root, d->e);
	if (!d->members)
		return -1;
	r = complete_rows(d);
	if (r == 0)
		r = add_rows(d);
	if (r == 0)
		r = plan_from_json(m, d->plan, false, d->where, d->e);
	free(d->members);
	return r;
}

int
apr2_meta_read(struct apr2_meta *meta, struct model *m, const char *where, struct err *e)
{
	struct reading d = { .meta = meta, .where = where, .e = e };
	json_t *root;
	int r;

	while (meta->text.n > 0 && meta->text.p[meta->text.n - 1] == ' ') {
		meta->text.n--;
		meta->reserve++;
	}
	root = json_parse(meta->text.p, meta->text.n, ERR_CORRUPT, where, e);
	if (!root)
		return -1;
	r = read_root(&d, root, m);
	json_decref(d.plan);
	json_decref(root);
	if (r == 0 && meta->span_count == 0)
		buf_free(&meta->text); /* it can be large, and all is said */
	return r;
}

/* Does the member i that the file has say what list, made anew, says? */
static bool
agrees(const struct apr2_meta *meta, size_t i, const struct buf *text,
       const struct member *list, size_t count)
{
	const struct buf *b = &meta->derived[i];

	while (count > 0 && strcmp(list[count - 1].name, apr2_derived[i]) != 0)
		count--;
	if (count == 0)
		return b->n == 0;
	list += count - 1;
	return b->n == list->n && memcmp(b->p, text->p + list->at, b->n) == 0;
}

/* The bits of what is quantized were those of blocks alone in files of version 0.1.0. 1 if
 * the member is that, 0 if not, -1 without memory. */
static int
agrees_as_before(const struct apr2_meta *meta, size_t i, const struct model *m, struct err *e)
{
	static const char head[] = "\"quantization\":";
	const size_t n = sizeof head - 1;
	struct buf old = { 0 };
	int same;

	if (strcmp(apr2_derived[i], "quantization") != 0)
		return 0;
	apr2_put_quantization(&old, m, true);
	same = !buf_ok(&old) ? err_memory(e) : old.n == n + meta->derived[i].n &&
	       memcmp(old.p + n, meta->derived[i].p, old.n - n) == 0;
	buf_free(&old);
	return same;
}

static int
compare(const struct apr2_meta *meta, const struct model *m, const struct buf *text,
        const char *where, struct err *e)
{
	json_t *root = json_parse(text->p, text->n, ERR_CORRUPT, where, e);
	struct member *list = root ? find_members(text, root, e) : NULL;
	int r = list ? 0 : -1;
	size_t i;

	for (i = 0; r == 0 && i < APR2_DERIVED; i++) {
		if (meta->taken[i] || agrees(meta, i, text, list, json_object_size(root)))
			continue;
		r = agrees_as_before(meta, i, m, e);
		r = r > 0 ? 0 : r < 0 ? -1 :
		    err_set(e, ERR_CORRUPT, where, "its member %s is not what follows from "
			            "its keys and tensors", apr2_derived[i]);
	}
	free(list);
	json_decref(root);
	return r;
}

int
apr2_meta_check(const struct apr2_meta *meta, const struct model *m, const char *where,
                struct err *e)
{
	struct buf b = { 0 };
	int r;

	if (meta->foreign)
		return 0;
	buf_text(&b, "{");
	apr2_put_derived(&b, m, meta->taken);
	buf_text(&b, "}");
	r = buf_ok(&b) ? compare(meta, m, &b, where, e) : err_memory(e);
	buf_free(&b);
	return r;
}
