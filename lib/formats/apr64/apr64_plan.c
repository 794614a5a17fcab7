#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "core/num.h"
#include "formats/apr64/apr64_reader.h"
#include "formats/members_plan.h"
#include "stream/plan.h"

/* ---- texts of members ---- */

static int
bad(struct apr64_source *s, const char *name)
{
	return err_set(s->reader.err, ERR_CORRUPT, s->reader.name,
	               "metadata key %.100s, which is one of ours, has a value that is not",
	               name);
}

/* A member as JSON; NULL with *x NULL if there is none. */
static json_t *
json_of(struct apr64_source *s, const char *name, struct member **x)
{
	struct buf b = { 0 };
	json_t *v = NULL;

	*x = members_find(&s->members, name, "");
	if (*x && members_text(&s->text, *x, &b, s->reader.err) == 0)
		v = json_parse_any(b.p, b.n, ERR_CORRUPT, name, s->reader.err);
	if (*x)
		(*x)->used = true;
	buf_free(&b);
	return v;
}

/* Find a text in base64, without its quotes; *x NULL if there is none. Its characters are
 * checked when they are read. */
static int
base64_of(struct apr64_source *s, const char *prefix, const char *name,
          struct apr64_text *t, struct member **x)
{
	uint8_t first;

	*x = members_find(&s->members, prefix, name);
	if (!*x)
		return 0;
	(*x)->used = true;
	if (spool_get(&s->text, (*x)->at, &first, 1, s->reader.err) < 0)
		return -1;
	if (first != '"')
		return bad(s, (*x)->name);
	*t = (struct apr64_text){ (*x)->at + 1, (*x)->n - 2, true };
	return 0;
}

/* Check that the text has the length, with padding, of this many bytes. */
static int
has_length(struct apr64_source *s, const struct apr64_text *t, const char *name,
           uint64_t bytes)
{
	uint64_t length;
	char end[2] = { 0 };

	if (base64_length(bytes, &length) < 0 || length != t->n)
		return bad(s, name);
	if (t->n == 0)
		return 0;
	if (spool_get(&s->text, t->at + t->n - 2, end, sizeof end, s->reader.err) < 0)
		return -1;
	if ((end[0] == '=') + (end[1] == '=') != (int)((3 - bytes % 3) % 3))
		return bad(s, name);
	return 0;
}

static int
add_text(struct apr64_text **list, size_t *count, size_t *cap, struct apr64_text t,
         struct err *e)
{
	if (mem_grow(list, cap, *count + 1, sizeof **list) < 0)
		return err_memory(e);
	(*list)[(*count)++] = t;
	return 0;
}

/* ---- files of other programs: each member is a key ---- */

static int
add_key(struct apr64_source *s, const struct member *x)
{
	struct err *e = s->reader.err;

	if (x->n > VALUE_INLINE_BYTES &&
	    add_text(&s->blobs, &s->blob_count, &s->blob_cap,
	             (struct apr64_text){ x->at, x->n, false }, e) < 0)
		return -1;
	return members_key(&s->plan, &s->text, x, e);
}

static int
read_foreign(struct apr64_source *s)
{
	struct model *m = &s->plan;
	struct err *e = s->reader.err;
	size_t i;

	s->plain = true;
	if (model_init(m, e) < 0 ||
	    model_source_set(m, "format", json_string(format_apr64.name), e) < 0 ||
	    model_source_set(m, "version", json_string("2.0"), e) < 0)
		return -1;
	if (s->header.flags != APR64_ROW_MAJOR &&
	    model_source_set(m, APR64_FLAGS_MEMBER, json_integer(s->header.flags), e) < 0)
		return -1;
	for (i = 0; i < s->members.count; i++)
		if (add_key(s, &s->members.list[i]) < 0)
			return -1;
	return model_check(m, s->reader.name, e);
}

/* Warn about two names of one member: realizar's reader then ignores all metadata. */
static int
check_aliases(struct apr64_source *s)
{
	const char *seen[APR64_ALIASES] = { NULL }, *canonical;
	size_t i;

	for (i = 0; i < s->members.count; i++) {
		const char *name = s->members.list[i].name;
		int alias = apr64_alias(name, &canonical);

		if (alias >= 0 && seen[alias])
			return apr64_warn(s, "its metadata has both %s and %s, which some programs "
			                  "take for the same and then read nothing of it",
			                  seen[alias], name);
		if (alias >= 0)
			seen[alias] = name;
	}
	return 0;
}

/* ---- files of the apr tools ---- */

struct reading {
	struct apr64_source *s;
	struct members_plan plan;
};

/* Turn the result of members_row into 0 or an error. */
static int
completed(struct reading *d, int r)
{
	return r > 0 ? 0 : r < 0 ? -1 : bad(d->s, APR64_OWN);
}

static int
complete_rows(struct reading *d)
{
	struct member *x;
	json_t *row;
	size_t i;

	json_array_foreach(d->plan.rows, i, row) {
		const char *key = json_string_value(json_array_get(row, 0));
		const char *type = json_string_value(json_array_get(row, 1));

		if (json_is_object(json_array_get(row, 2)))
			d->plan.values++;
		if (json_array_size(row) != 2)
			continue;
		x = key && !apr64_is_ours(key) ? members_find(&d->s->members, key, "") : NULL;
		if (!x || x->used || !type || strcmp(type, "json") != 0)
			return bad(d->s, APR64_OWN);
		if (completed(d, members_row(&d->plan, row, x)) < 0)
			return -1;
	}
	return 0;
}

/* Add the members that another program has added to the file, as keys. */
static int
add_rows(struct reading *d)
{
	size_t i;

	for (i = 0; i < d->s->members.count; i++) {
		struct member *x = &d->s->members.list[i];

		if (x->used || apr64_is_ours(x->name) || apr64_is_derived(x->name))
			continue;
		if (completed(d, members_new_row(&d->plan, x)) < 0)
			return -1;
	}
	return 0;
}

/* Find the bytes of the plan's blobs: a member's text, or base64. */
static int
find_blobs(struct apr64_source *s)
{
	struct model *m = &s->plan;
	struct member *x;
	struct apr64_text t;
	size_t i, k = 0;

	for (i = 0; i < m->blob_count; i++) {
		const struct blob *b = &m->blobs[i];

		if (base64_of(s, APR64_BLOB, b->name, &t, &x) < 0)
			return -1;
		if (x) {
			if (has_length(s, &t, x->name, b->bytes) < 0)
				return -1;
		} else {
			/* Values come in the order of their keys. */
			while (k < m->meta_count && m->meta[k].blob != i)
				k++;
			x = k < m->meta_count && !apr64_is_ours(m->meta[k].key)
			        ? members_find(&s->members, m->meta[k].key, "") : NULL;
			if (!x || m->meta[k].type.leaf != VALUE_JSON || x->n != b->bytes)
				return err_set(s->reader.err, ERR_CORRUPT, s->reader.name,
				               "blob %.100s is not there", b->name);
			x->used = true;
			t = (struct apr64_text){ x->at, x->n, false };
		}
		if (add_text(&s->blobs, &s->blob_count, &s->blob_cap, t, s->reader.err) < 0)
			return -1;
	}
	return 0;
}

/* Find records and signatures, whose sizes follow from the plan. */
static int
find_frames(struct apr64_source *s)
{
	const struct model *m = &s->plan;
	uint64_t sign = MODEL_SIGN_HEAD + model_sign_body(m);
	size_t i, n = m->prov_count + (size_t)m->signatures;
	struct err *e = s->reader.err;

	for (i = 0; i < n; i++) {
		bool prov = i < m->prov_count;
		struct member *x;
		struct apr64_text t;
		char number[24];

		snprintf(number, sizeof number, "%zu", prov ? i : i - m->prov_count);
		if (base64_of(s, prov ? APR64_PROV : APR64_SIGN, number, &t, &x) < 0)
			return -1;
		if (!x)
			return bad(s, APR64_OWN);
		if (has_length(s, &t, x->name, prov ? m->provs[i] : sign) < 0 ||
		    (prov ? add_text(&s->provs, &s->prov_count, &s->prov_cap, t, e)
		          : add_text(&s->signs, &s->sign_count, &s->sign_cap, t, e)) < 0)
			return -1;
	}
	return 0;
}

static int
find_licence(struct apr64_source *s)
{
	struct member *x;

	if (base64_of(s, APR64_LICENCE, "", &s->licence, &x) < 0)
		return -1;
	if ((s->plan.licence != MODEL_NONE) != (x != NULL))
		return bad(s, APR64_LICENCE);
	return x ? has_length(s, &s->licence, x->name, s->plan.licence) : 0;
}

static int
read_own(struct apr64_source *s, json_t *plan)
{
	struct reading d = { .s = s, .plan = { .text = &s->text, .e = s->reader.err,
		.rows = json_object_get(plan, "metadata"),
		.blobs = json_object_get(plan, "blobs") } };
	struct member *x;

	if (!json_is_array(d.plan.rows) || !json_is_array(d.plan.blobs))
		return bad(s, APR64_OWN);
	s->types = json_of(s, APR64_TENSORS, &x);
	if (x && !json_is_object(s->types))
		return bad(s, APR64_TENSORS);
	s->empty = json_incref(json_object_get(plan, TIES_MEMBER));
	if (s->empty)
		json_object_del(plan, TIES_MEMBER);
	if (complete_rows(&d) < 0 || add_rows(&d) < 0)
		return -1;
	return plan_from_json(&s->plan, plan, false, s->reader.name, s->reader.err);
}

/* ---- both ---- */

int
apr64_read_metadata(struct apr64_source *s)
{
	struct member *own;
	json_t *plan;
	int r;

	if (head_metadata(&s->reader, s->header.meta_bytes, &s->text) < 0 ||
	    members_scan(&s->members, &s->text, 0, s->header.meta_bytes, &apr64_rules,
	                 s->reader.name, s->header.meta_at, s->reader.err) < 0 ||
	    check_aliases(s) < 0)
		return -1;
	plan = json_of(s, APR64_OWN, &own);
	if (!own)
		return read_foreign(s);
	r = plan ? read_own(s, plan) : -1;
	json_decref(plan);
	return r;
}

/* Called after the tensors, because the sizes of signatures follow from them. */
int
apr64_find_carriers(struct apr64_source *s)
{
	size_t i;

	if (s->plain)
		return 0;
	if (find_blobs(s) < 0 || find_licence(s) < 0 || find_frames(s) < 0)
		return -1;
	for (i = 0; i < s->members.count; i++)
		if (!s->members.list[i].used && apr64_is_ours(s->members.list[i].name))
			return err_set(s->reader.err, ERR_CORRUPT, s->reader.name,
			               "metadata key %.100s, which is one of ours, belongs to "
			               "nothing", s->members.list[i].name);
	if (s->typed != json_object_size(s->types))
		return bad(s, APR64_TENSORS);
	return 0;
}
