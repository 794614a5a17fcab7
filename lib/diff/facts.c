/* What differs before the tensors: keys, side files, licences. */
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "diff/parts.h"

static struct diff_fact *
add(struct diff *d, enum diff_where where, size_t a, size_t b, unsigned what, struct err *e)
{
	if (mem_grow(&d->facts, &d->fact_cap, d->fact_count + 1, sizeof *d->facts) < 0) {
		err_memory(e);
		return NULL;
	}
	d->facts[d->fact_count] = (struct diff_fact){ where, a, b, what, NULL };
	return &d->facts[d->fact_count++];
}

/* ---- keys ---- */

static bool
same_value(const struct diff *d, const struct meta *a, const struct meta *b)
{
	if (a->type.depth != b->type.depth || a->type.leaf != b->type.leaf ||
	    !a->wire != !b->wire)
		return false;
	if (a->wire)
		return a->wire_bytes == b->wire_bytes && memcmp(a->wire, b->wire, a->wire_bytes) == 0;
	return d->side[0].plan->blobs[a->blob].bytes == d->side[1].plan->blobs[b->blob].bytes &&
	       digest_equal(&d->side[0].blobs[a->blob].digest, &d->side[1].blobs[b->blob].digest);
}

static int
compare_keys(struct diff *d, size_t i, size_t k, struct err *e)
{
	const struct meta *a = &d->side[0].plan->meta[i], *b = &d->side[1].plan->meta[k];
	unsigned what = 0;
	struct diff_fact *f;

	if (a->type.depth != b->type.depth || a->type.leaf != b->type.leaf)
		what = DIFF_RETYPED;
	else if (!same_value(d, a, b))
		what = DIFF_CHANGED;
	if (what == 0)
		return 0;
	if (!(f = add(d, DIFF_KEY, i, k, what, e)))
		return -1;
	d->counts.keys_changed++;
	f->list = diff_lists(d, a, b, e);
	return e->code == ERR_NONE ? 0 : -1;
}

static int
one_key(struct diff *d, size_t i, size_t k, struct err *e)
{
	if (i != DIFF_NONE && k != DIFF_NONE)
		return compare_keys(d, i, k, e);
	d->counts.keys_added += i == DIFF_NONE;
	d->counts.keys_removed += k == DIFF_NONE;
	return add(d, DIFF_KEY, i, k, i == DIFF_NONE ? DIFF_ADDED : DIFF_REMOVED, e) ? 0 : -1;
}

/* ---- files ---- */

static int
one_file(struct diff *d, size_t i, size_t k, struct err *e)
{
	const struct side *a = &d->side[0], *b = &d->side[1];
	unsigned what = i == DIFF_NONE ? DIFF_ADDED : k == DIFF_NONE ? DIFF_REMOVED : DIFF_CHANGED;
	struct diff_fact *f;

	if (what == DIFF_CHANGED && a->plan->blobs[i].bytes == b->plan->blobs[k].bytes &&
	    digest_equal(&a->blobs[i].digest, &b->blobs[k].digest))
		return 0;
	d->counts.files++;
	f = add(d, DIFF_FILE, i, k, what, e);
	if (f && what == DIFF_CHANGED && side_keeps_file(a, i))
		f->list = diff_vocabularies(d, i, k);
	return f ? 0 : -1;
}

static int
licences(struct diff *d, struct err *e)
{
	const struct side *a = &d->side[0], *b = &d->side[1];
	bool has = a->plan->licence != MODEL_NONE, other = b->plan->licence != MODEL_NONE;

	if (!has && !other)
		return 0;
	if (has && other && a->plan->licence == b->plan->licence &&
	    digest_equal(&a->licence, &b->licence))
		return 0;
	d->counts.files++;
	return add(d, DIFF_LICENCE, has ? 0 : DIFF_NONE, other ? 0 : DIFF_NONE,
	           !has ? DIFF_ADDED : !other ? DIFF_REMOVED : DIFF_CHANGED, e) ? 0 : -1;
}

/* ---- two lists of names ---- */

struct entry {
	const char *name;
	size_t index;
};

static int
by_name(const void *a, const void *b)
{
	return strcmp(((const struct entry *)a)->name, ((const struct entry *)b)->name);
}

static size_t
keys_of(const struct model *m, struct entry *to)
{
	size_t i;

	for (i = 0; i < m->meta_count; i++)
		to[i] = (struct entry){ m->meta[i].key, i };
	return m->meta_count;
}

static size_t
files_of(const struct model *m, struct entry *to)
{
	size_t i, n = 0;

	for (i = 0; i < m->blob_count; i++)
		if (strcmp(m->blobs[i].type, MODEL_VALUE) != 0)
			to[n++] = (struct entry){ m->blobs[i].name, i };
	return n;
}

/* Call one for each name in either list, sorted, with its index in each. */
static int
each(struct diff *d, size_t (*list)(const struct model *m, struct entry *to), size_t room[2],
     int (*one)(struct diff *d, size_t i, size_t k, struct err *e), struct err *e)
{
	struct entry *x[2] = { NULL, NULL };
	size_t n[2], i = 0, k = 0, side;
	int r = 0;

	for (side = 0; side < 2; side++) {
		x[side] = mem_array(room[side], sizeof **x);
		if (!x[side]) {
			r = err_memory(e);
			goto end;
		}
		n[side] = list(d->side[side].plan, x[side]);
		qsort(x[side], n[side], sizeof **x, by_name);
	}
	while (r == 0 && (i < n[0] || k < n[1])) {
		int order = i == n[0] ? 1 : k == n[1] ? -1 : by_name(&x[0][i], &x[1][k]);

		r = one(d, order <= 0 ? x[0][i].index : DIFF_NONE,
		        order >= 0 ? x[1][k].index : DIFF_NONE, e);
		i += order <= 0;
		k += order >= 0;
	}
end:
	free(x[0]);
	free(x[1]);
	return r;
}

int
diff_facts(struct diff *d, struct err *e)
{
	const struct model *a = d->side[0].plan, *b = d->side[1].plan;
	size_t keys[2] = { a->meta_count, b->meta_count };
	size_t files[2] = { a->blob_count, b->blob_count };

	if (each(d, keys_of, keys, one_key, e) < 0 || each(d, files_of, files, one_file, e) < 0)
		return -1;
	return licences(d, e);
}
