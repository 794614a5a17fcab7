/* Checkpoints: the entries of the table, and the files with values. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/crc32.h"
#include "core/crc32c.h"
#include "core/mem.h"
#include "core/num.h"
#include "imports/tensorflow/tensorflow.h"

#define OBJECTS "_CHECKPOINTABLE_OBJECT_GRAPH"
#define STEP (1u << 22) /* bytes whose checksum is computed before their pages are returned */

/* ---- messages ---- */

/* VersionDef: what a reader must at least be. */
static int
read_version(struct tensorflow *x, const struct protobuf *outer, const struct protobuf_field *f)
{
	struct protobuf_field g;
	struct protobuf m;
	int r;

	protobuf_within(&m, outer, f);
	while ((r = protobuf_next(&m, &g)) > 0)
		if (g.number == 2 && g.form == PROTOBUF_VARINT && g.value > 1)
			return err_set(x->import.err, ERR_VERSION, outer->reader.name, "needs a reader of "
			               "version %" PRIu64 " of checkpoints; 1 is read", g.value);
	return r;
}

/* BundleHeaderProto */
static int
read_header(struct tensorflow *x, struct protobuf *m)
{
	struct protobuf_field f;
	int r;

	while ((r = protobuf_next(m, &f)) > 0) {
		if (f.number == 1 && f.form == PROTOBUF_VARINT)
			x->shard_count = f.value;
		if (f.number == 2 && f.form == PROTOBUF_VARINT && f.value != 0)
			return err_set(x->import.err, ERR_FORMAT, m->reader.name, "was written by a big-endian "
			               "machine, which is not read");
		if (f.number == 3 && f.form == PROTOBUF_BYTES && read_version(x, m, &f) < 0)
			return -1;
	}
	if (r == 0 && (x->shard_count == 0 || x->shard_count > TF_SHARDS))
		return err_set(x->import.err, ERR_CORRUPT, m->reader.name, "states %" PRIu64 " files with "
		               "values; 1 to %d are read", x->shard_count, TF_SHARDS);
	return r;
}

/* Checks a field's form. The numbers 3 to 6 say where the values lie. */
static int
read_field(struct tensorflow *x, struct protobuf *m, const struct protobuf_field *f,
           struct tf_entry *t)
{
	static const enum protobuf_form forms[] = { 0, PROTOBUF_VARINT, PROTOBUF_BYTES, PROTOBUF_VARINT,
		PROTOBUF_VARINT, PROTOBUF_VARINT, PROTOBUF_4, PROTOBUF_BYTES };

	if (f->number > 7)
		return 0;
	if (f->form != forms[f->number])
		return err_set(x->import.err, ERR_CORRUPT, m->reader.name, "has an entry %.200s that is "
		               "not a BundleEntryProto", t->part ? "of a slice" : t->key);
	switch (f->number) {
	case 1:
		t->number = f->value;
		return 0;
	case 2:
		return tf_shape(x, m, f, t->part ? "a slice" : t->key, &t->ndim, t->dims, &t->items);
	case 3:
		t->shard = f->value;
		return 0;
	case 4:
		t->offset = f->value;
		return 0;
	case 5:
		t->bytes = f->value;
		return 0;
	case 6:
		t->crc = (uint32_t)f->value;
		return 0;
	default:
		return 1;
	}
}

/* BundleEntryProto. Its shape stands before its slices. */
static int
read_entry(struct tensorflow *x, struct protobuf *m, struct tf_entry *t)
{
	const struct protobuf again = *m;
	struct protobuf_field f;
	bool divided = false;
	int r, more;

	t->items = 1;
	while ((more = protobuf_next(m, &f)) > 0) {
		r = read_field(x, m, &f, t);
		if (r < 0)
			return -1;
		divided |= r > 0;
	}
	t->type = tf_type_of(t->number);
	if (more < 0)
		return -1;
	return divided && !t->part ? tf_slices_read(x, t, &again) : 0;
}

static int
add_entry(struct tensorflow *x, struct sstable *table)
{
	const struct buf *key = &table->data.key;
	struct tf_entry *t;
	struct protobuf m;

	x->key_bytes += key->n;
	if (x->entry_count == TF_TENSORS || x->key_bytes > TF_NAMES || key->n > TF_NAME)
		return err_set(x->import.err, ERR_CORRUPT, table->name, "has more than %u tensors, or names "
		               "that are too long", TF_TENSORS);
	if (mem_grow(&x->entries, &x->entry_cap, x->entry_count + 1, sizeof *x->entries) < 0)
		return err_memory(x->import.err);
	t = &x->entries[x->entry_count];
	*t = (struct tf_entry){ .key = mem_text((const char *)key->p, key->n), .key_bytes = key->n };
	if (!t->key)
		return err_memory(x->import.err);
	x->entry_count++;
	t->part = key->p[0] == 0;
	protobuf_open(&m, table->data.value, table->data.value_bytes, table->name, x->import.err);
	m.budget = &x->budget;
	return read_entry(x, &m, t);
}

static int
read_table(struct tensorflow *x, struct sstable *table)
{
	struct protobuf m;
	int r = sstable_next(table);

	if (r <= 0 || table->data.key.n > 0)
		return r < 0 ? -1 : err_set(x->import.err, ERR_FORMAT, table->name, "is a table without a "
		                            "header: it is not the index of a checkpoint");
	protobuf_open(&m, table->data.value, table->data.value_bytes, table->name, x->import.err);
	m.budget = &x->budget;
	if (read_header(x, &m) < 0)
		return -1;
	while ((r = sstable_next(table)) > 0)
		if (add_entry(x, table) < 0)
			return -1;
	return r;
}

/* ---- entries ---- */

static int
compare_key(const void *key, const void *entry)
{
	const struct tf_text *k = key;
	const struct tf_entry *t = entry;
	const size_t n = k->n < t->key_bytes ? k->n : t->key_bytes;
	int r = memcmp(k->p, t->key, n);

	return r ? r : k->n < t->key_bytes ? -1 : k->n > t->key_bytes;
}

struct tf_entry *
tf_find(const struct tensorflow *x, const char *key, size_t n)
{
	const struct tf_text k = { key, n };

	return x->entry_count ? bsearch(&k, x->entries, x->entry_count, sizeof *x->entries, compare_key)
	                      : NULL;
}

static const char *
shown(const struct tf_entry *t)
{
	return t->part ? "a slice of a variable" : t->key;
}

/* Maps the file with the values of an entry, and proves that they lie in it. */
static int
find_values(struct tensorflow *x, const struct tf_entry *t)
{
	struct buf name = { 0 };
	uint64_t end;
	int r = 0;

	if (t->shard >= x->shard_count)
		return err_set(x->import.err, ERR_CORRUPT, shown(t), "lies in file %" PRIu64
		               ", but the files are 0 to %" PRIu64, 		               t->shard, x->shard_count - 1);
	if (t->bytes == 0)
		return 0;
	if (!x->shards[t->shard]) {
		buf_printf(&name, "%s.data-%05" PRIu64 "-of-%05" PRIu64, x->prefix, t->shard,
		           x->shard_count);
		r = buf_string(&name) ? tf_map(x, (char *)name.p, false, &x->shards[t->shard])
		                      : err_memory(x->import.err);
		buf_free(&name);
	}
	if (r < 0)
		return -1;
	if (num_add(t->offset, t->bytes, &end) < 0 || end > x->shards[t->shard]->n)
		return err_set(x->import.err, ERR_CORRUPT, shown(t), "has %" PRIu64 " bytes at byte %"
		               PRIu64 " of file %" PRIu64 ", which has only %zu bytes", t->bytes, t->offset,
		               t->shard, x->shards[t->shard]->n);
	return 0;
}

/* True if an entry is not a tensor of numbers. */
static bool
is_text(const struct tf_entry *t)
{
	return t->number == TF_STRING || t->number == TF_RESOURCE || t->number == TF_VARIANT;
}

/* Proves type and size of an entry. */
static int
check_entry(struct tensorflow *x, const struct tf_entry *t)
{
	uint64_t need;

	if (!t->type)
		return err_set(x->import.err, ERR_FORMAT, shown(t), "has values of type %" PRIu64
		               ", which is not known", t->number);
	if (!t->type->type && !is_text(t))
		return err_set(x->import.err, ERR_FORMAT, shown(t), "has values of type %s, which are not "
		               "read", t->type->name);
	if (t->slices)
		return t->bytes == 0 ? 0 : err_set(x->import.err, ERR_CORRUPT, shown(t), "is divided into "
		                                   "slices, but has values too");
	if (!is_text(t) && (num_mul(t->items, t->type->bytes, &need) < 0 || need != t->bytes))
		return err_set(x->import.err, ERR_CORRUPT, shown(t), "has %" PRIu64 " bytes, but its shape "
		               "is that of %" PRIu64 " values of type %s", t->bytes, t->items,
		               t->type->name);
	return find_values(x, t);
}

static int
by_place(const void *a, const void *b)
{
	const struct tf_entry *const *s = a, *const *t = b;

	if ((*s)->shard != (*t)->shard)
		return (*s)->shard < (*t)->shard ? -1 : 1;
	return (*s)->offset < (*t)->offset ? -1 : (*s)->offset > (*t)->offset;
}

/* No byte belongs to two entries. */
static int
prove_places(struct tensorflow *x)
{
	struct tf_entry **order = mem_array(x->entry_count, sizeof *order);
	size_t i, n = 0;
	int r = 0;

	if (!order)
		return err_memory(x->import.err);
	for (i = 0; i < x->entry_count; i++)
		if (x->entries[i].bytes > 0)
			order[n++] = &x->entries[i];
	qsort(order, n, sizeof *order, by_place);
	for (i = 1; r == 0 && i < n; i++)
		if (order[i]->shard == order[i - 1]->shard &&
		    order[i]->offset < order[i - 1]->offset + order[i - 1]->bytes)
			r = err_set(x->import.err, ERR_CORRUPT, shown(order[i]), "lies in the same bytes as "
			            "%.200s", shown(order[i - 1]));
	free(order);
	return r;
}

static int
check_entries(struct tensorflow *x)
{
	size_t i;

	for (i = 0; i < x->entry_count; i++)
		if (check_entry(x, &x->entries[i]) < 0)
			return -1;
	if (prove_places(x) < 0)
		return -1;
	for (i = 0; i < x->entry_count; i++)
		if (x->entries[i].slices && tf_slices_prove(x, &x->entries[i]) < 0)
			return -1;
	for (i = 0; i < x->entry_count; i++)
		if (x->entries[i].part && !x->entries[i].full)
			return import_fail(&x->import, ERR_CORRUPT, "has a slice that belongs to no variable");
	return 0;
}

/* ---- values ---- */

const uint8_t *
tf_values(const struct tensorflow *x, const struct tf_entry *t)
{
	return t->bytes ? x->shards[t->shard]->p + t->offset : NULL;
}

int
tf_prove(struct tensorflow *x, const uint8_t *p, uint64_t n, const struct map *map, uint32_t crc,
         const char *name)
{
	uint32_t found = 0;
	uint64_t left, step;

	for (left = n; left > 0; left -= step, p += step) {
		step = num_min(left, STEP);
		found = crc32c_add(found, p, (size_t)step);
		if (map->fd >= 0 && n > STEP)
			map_release(map, p, (size_t)step);
	}
	if (crc32_same(crc32c_mask(found), crc))
		return 0;
	return err_set(x->import.err, ERR_CHECKSUM, name, "has values whose checksum (CRC-32C) is wrong");
}

/* ---- tensors ---- */

static int
add_tensor(struct tensorflow *x, const struct tf_entry *t)
{
	struct import_place place = { .p = tf_values(x, t), .data = t };

	if (t->bytes)
		place.map = x->shards[t->shard];
	tf_narrow(t->type, &place);
	if (t->slices) {
		place.p = t->slices->count ? t->slices->list[0].p : NULL;
		place.map = t->slices->count ? t->slices->list[0].map : NULL;
		place.make = tf_slices_make;
		place.in = 0;
		place.out = t->type->bytes;
	}
	if (import_tensor(&x->import, t->as, strlen(t->as), dtype_by_name(t->type->type), t->ndim,
	                  t->dims, &place) < 0)
		return -1;
	return tf_tell_entry(x, t);
}

int
tf_bundle(struct tensorflow *x, const uint8_t *p, uint64_t n, const char *label)
{
	const struct tf_entry *objects;
	struct sstable table;
	size_t i;
	int r = sstable_open(&table, p, n, label, x->import.err);

	if (r == 0)
		r = read_table(x, &table);
	sstable_free(&table);
	if (r < 0 || check_entries(x) < 0)
		return -1;
	objects = tf_find(x, OBJECTS, sizeof OBJECTS - 1);
	if (objects && tf_objects(x, objects) < 0)
		return -1;
	for (i = 0; i < x->entry_count; i++) {
		struct tf_entry *t = &x->entries[i];

		t->left_out = t->part || is_text(t);
		if (!t->part && is_text(t) && t != objects && x->texts++ == 0)
			x->text = (struct tf_text){ t->key, t->key_bytes };
	}
	if (tf_name(x) < 0)
		return -1;
	for (i = 0; i < x->entry_count; i++)
		if (!x->entries[i].left_out && add_tensor(x, &x->entries[i]) < 0)
			return -1;
	return 0;
}
