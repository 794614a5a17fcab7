#include "formats/apr2/apr2_meta.h"

#include <string.h>

#include "core/num.h"
#include "formats/members_plan.h"
#include "formats/ties.h"
#include "stream/plan.h"

const struct members_rules apr2_rules = { .depth = 2048, .members = 1u << 21,
	.strict = true };

/* The plan that is built from the text. */
struct reading {
	struct apr2_meta *meta;
	const char *where;
	struct err *e;
	struct members members;
	struct members_plan plan; /* of apr_stream */
};

static int
bad(struct reading *d, const char *what)
{
	return err_set(d->e, ERR_CORRUPT, d->where, "its member " APR2_OWN " has %s", what);
}

/* Turn the result of members_row into 0 or an error. */
static int
completed(struct reading *d, int r)
{
	return r > 0 ? 0 : r < 0 ? -1 : bad(d, "rows whose blobs are not there");
}

/* Complete the rows without a value, whose values are the members of the same names. */
static int
complete_rows(struct reading *d)
{
	struct members *m = &d->members;
	size_t i, next = 0;
	json_t *row;

	json_array_foreach(d->plan.rows, i, row) {
		const char *key = json_string_value(json_array_get(row, 0));
		const char *type = json_string_value(json_array_get(row, 1));

		if (json_is_object(json_array_get(row, 2)))
			d->plan.values++;
		if (json_array_size(row) != 2)
			continue;
		if (!key || !type || strcmp(type, "json") != 0)
			return bad(d, "a bad metadata row");
		while (next < m->count && strcmp(m->list[next].name, key) != 0)
			next++;
		if (next == m->count || strcmp(key, APR2_OWN) == 0)
			return bad(d, "a key whose member is not there, or out of order");
		if (completed(d, members_row(&d->plan, row, &m->list[next++])) < 0)
			return -1;
	}
	return 0;
}

/* The index of the derived member with this name, or APR2_DERIVED. */
static size_t
derived_at(const char *name)
{
	size_t i;

	for (i = 0; i < APR2_DERIVED; i++)
		if (strcmp(name, apr2_derived[i]) == 0)
			break;
	return i;
}

/* Handle the members that no row names: the text of derived members is kept until the tensors
 * are known; a member that another program has added becomes a key. */
static int
other_members(struct reading *d)
{
	size_t i, k;

	for (i = 0; i < d->members.count; i++) {
		struct member *x = &d->members.list[i];

		k = derived_at(x->name);
		if (k < APR2_DERIVED)
			d->meta->taken[k] = x->used;
		if (x->used || strcmp(x->name, APR2_OWN) == 0)
			continue;
		if (k < APR2_DERIVED) {
			if (members_text(&d->meta->kept, x, &d->meta->derived[k], d->e) < 0)
				return -1;
		} else if (completed(d, members_new_row(&d->plan, x)) < 0) {
			return -1;
		}
	}
	return 0;
}

/* Remove a list from the JSON of the plan, to which it does not belong, and return it, or
 * NULL. */
static json_t *
take_list(json_t *plan, const char *name)
{
	json_t *list = json_incref(json_object_get(plan, name));

	if (list)
		json_object_del(plan, name);
	return list;
}

static int
read_own(struct reading *d, const struct member *own, struct model *m)
{
	struct apr2_meta *meta = d->meta;
	struct buf b = { 0 };
	json_t *plan = NULL;
	int r = -1;

	if (members_text(&meta->kept, own, &b, d->e) == 0)
		plan = json_parse_any(b.p, b.n, ERR_CORRUPT, d->where, d->e);
	buf_free(&b);
	if (!plan)
		return -1;
	d->plan = (struct members_plan){ .text = &meta->kept, .e = d->e,
		.rows = json_object_get(plan, "metadata"),
		.blobs = json_object_get(plan, "blobs") };
	meta->empty = take_list(plan, TIES_MEMBER);
	meta->types = take_list(plan, APR2_TYPES);
	if (!json_is_array(d->plan.rows) || !json_is_array(d->plan.blobs))
		bad(d, "no list of metadata or blobs");
	else if (complete_rows(d) == 0 && other_members(d) == 0)
		r = plan_from_json(m, plan, false, d->where, d->e);
	json_decref(plan);
	return r;
}

/* Read a file of another program: each member becomes a key. */
static int
read_foreign(struct reading *d, struct model *m)
{
	size_t i;
	int r = model_init(m, d->e);

	d->meta->foreign = true;
	for (i = 0; r == 0 && i < d->members.count; i++) {
		d->members.list[i].used = true;
		r = members_key(m, &d->meta->kept, &d->members.list[i], d->e);
	}
	if (r == 0)
		r = model_check(m, d->where, d->e);
	if (r < 0)
		model_free(m);
	return r;
}

/* Find the spans of the blobs that are members. */
static int
find_spans(struct reading *d, const struct model *m)
{
	size_t i;

	for (i = 0; i < m->meta_count; i++) {
		const struct meta *k = &m->meta[i];
		const struct member *x = k->blob == SIZE_MAX ? NULL
		                         : members_find(&d->members, k->key, "");

		if (x && x->used && apr2_add_span(d->meta, k->blob, x->at, x->n, d->e) < 0)
			return -1;
	}
	return 0;
}

/* Find the end of the metadata without the spaces after it. */
static int
find_end(struct apr2_meta *meta, uint64_t *end, struct err *e)
{
	uint8_t piece[4096];
	size_t n;

	for (*end = meta->kept.bytes; *end > 0; *end -= n) {
		size_t left = n = (size_t)num_min(*end, sizeof piece);

		if (spool_get(&meta->kept, *end - n, piece, n, e) < 0)
			return -1;
		while (left > 0 && piece[left - 1] == ' ')
			left--;
		meta->reserve += n - left;
		if (left > 0) {
			*end -= n - left;
			break;
		}
	}
	return 0;
}

static int
read_members(struct reading *d, struct model *m)
{
	const struct member *own = members_find(&d->members, APR2_OWN, "");
	size_t i;

	for (i = APR2_REQUIRED; i-- > 0;)
		if (!members_find(&d->members, apr2_derived[i], ""))
			d->meta->missing = apr2_derived[i];
	if ((own ? read_own(d, own, m) : read_foreign(d, m)) < 0)
		return -1;
	if (find_spans(d, m) == 0)
		return 0;
	model_free(m);
	return -1;
}

int
apr2_meta_read(struct apr2_meta *meta, struct model *m, const char *where, uint64_t base,
               struct err *e)
{
	struct reading d = { .meta = meta, .where = where, .e = e };
	uint64_t end;
	int r = find_end(meta, &end, e);

	if (r == 0)
		r = members_scan(&d.members, &meta->kept, 0, end, &apr2_rules, where, base, e);
	if (r == 0)
		r = read_members(&d, m);
	members_free(&d.members);
	if (r == 0 && meta->span_count == 0)
		spool_free(&meta->kept); /* it can be large and is no longer needed */
	return r;
}

/* True if derived member i of the file has the same value as the newly made text. */
static bool
agrees(const struct apr2_meta *meta, size_t i, const struct buf *text,
       const struct members *list)
{
	const struct buf *b = &meta->derived[i];
	const struct member *x = members_find(list, apr2_derived[i], "");

	if (!x)
		return b->n == 0;
	return b->n == x->n && memcmp(b->p, text->p + x->at, b->n) == 0;
}

/* Files of version 0.1.0 stored the bits per weight of the tensors in blocks alone. 1 if the
 * member has that value, 0 if not, -1 if out of memory. */
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
	struct spool copy = { 0 };
	struct members list = { 0 };
	int r = spool_put(&copy, text->p, text->n, e);
	size_t i;

	if (r == 0)
		r = members_scan(&list, &copy, 0, text->n, &apr2_rules, where, 0, e);
	for (i = 0; r == 0 && i < APR2_DERIVED; i++) {
		if (meta->taken[i] || agrees(meta, i, text, &list))
			continue;
		r = agrees_as_before(meta, i, m, e);
		r = r > 0 ? 0 : r < 0 ? -1 :
		    err_set(e, ERR_CORRUPT, where, "its member %s is not what follows from "
			            "its keys and tensors", apr2_derived[i]);
	}
	members_free(&list);
	spool_free(&copy);
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
