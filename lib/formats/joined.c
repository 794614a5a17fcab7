#include "formats/joined.h"

#include <stdlib.h>
#include <string.h>

#include "core/dir.h"
#include "core/mem.h"

/* ---- the plan ---- */

int
joined_add(struct joined *j, const char *path, const char *name)
{
	struct part *p;

	if (mem_grow(&j->parts, &j->part_cap, j->part_count + 1, sizeof *j->parts) < 0)
		return err_memory(j->err);
	p = &j->parts[j->part_count++];
	p->name = mem_text(name, strlen(name));
	p->label = dir_label(path, name);
	return p->name && p->label ? 0 : err_memory(j->err);
}

/* Check that a file other than the first has nothing in addition to its tensors, except keys
 * with the same values as in the first file. */
static int
judge_other(const struct joined *j, size_t i, const struct model *m)
{
	bool same = m->blob_count == 0 && m->licence == MODEL_NONE && m->prov_count == 0 &&
	            m->signatures == 0;
	size_t k;

	for (k = 0; same && k < m->meta_count; k++) {
		const struct meta *a = &m->meta[k], *b = model_find(&j->plan, a->key);

		same = b && a->wire && b->wire && a->type.depth == b->type.depth &&
		       a->type.leaf == b->type.leaf && a->wire_bytes == b->wire_bytes &&
		       memcmp(a->wire, b->wire, a->wire_bytes) == 0;
	}
	return same ? 0 : err_set(j->err, ERR_CORRUPT, j->parts[i].label,
	                          "its %s is not that of the first shard", j->ops->others);
}

static int
add_tensors(struct joined *j, const struct model *m)
{
	size_t k;

	for (k = 0; k < m->tensor_count; k++) {
		struct tensor *t = tensor_copy(m->tensors[k]);

		if (!t)
			return err_memory(j->err);
		if (model_add_tensor(&j->plan, t, j->err) < 0)
			return -1;
	}
	return 0;
}

static int
add_places(struct joined *j, const struct source *part)
{
	const struct format *f = j->ops->format;
	size_t i, n = part->plan->tensor_count;

	if (mem_grow(&j->places, &j->place_cap, j->place_count + n, sizeof *j->places) < 0)
		return err_memory(j->err);
	for (i = 0; i < n; i++) {
		struct part_place *p = &j->places[j->place_count++];

		p->offset = f->reads->tensor_offset(part, i);
		if (f->reads->tensor_stored)
			p->codec = f->reads->tensor_stored(part, i, &p->stored);
	}
	return 0;
}

static int
read_part(struct joined *j, size_t i)
{
	struct source *part = j->ops->open(j, i);
	int r = 0;

	if (!part)
		return -1;
	j->parts[i].first = j->plan.tensor_count;
	j->parts[i].count = part->plan->tensor_count;
	if (i == 0)
		j->head = part;
	else
		r = judge_other(j, i, part->plan);
	if (r == 0)
		r = j->ops->judge(j, i, part);
	if (r == 0)
		r = i == 0 ? model_copy(&j->plan, part->plan, j->err)
		           : add_tensors(j, part->plan);
	if (r == 0 && i > 0)
		j->plan.holes += part->plan->holes;
	if (r == 0)
		r = add_places(j, part);
	if (i > 0)
		source_close(part);
	return r;
}

int
joined_read(struct joined *j)
{
	size_t i;

	for (i = 0; i < j->part_count; i++)
		if (read_part(j, i) < 0)
			return -1;
	return 0;
}

/* ---- the map of tensors to files ---- */

static const char *
file_of(const struct joined *j, const json_t *v)
{
	return json_is_integer(v) ? j->parts[json_integer_value(v)].name : json_string_value(v);
}

int
joined_prove_part(const struct joined *j, size_t i, struct tensor *const *tensors, size_t n,
                  json_t *map, const char *what)
{
	size_t k;

	for (k = 0; k < n; k++) {
		const char *name = tensor_name(tensors[k]);
		const char *file = file_of(j, json_object_get(map, name));

		if (!file)
			return err_set(j->err, ERR_CORRUPT, j->parts[i].label, "holds %s, which the "
			               "%s does not name", name, what);
		if (strcmp(file, j->parts[i].name) != 0)
			return err_set(j->err, ERR_CORRUPT, j->parts[i].label, "holds %s, which lies "
			               "in %s by the %s", name, file, what);
	}
	return 0;
}

/* No tensor occurs twice, and each is in the map: so the map has other tensors exactly if the
 * numbers differ. */
int
joined_prove_list(const struct joined *j, json_t *map, const char *label)
{
	const char *name = "";
	json_t *v = NULL;
	size_t i;

	if (json_object_size(map) == j->plan.tensor_count)
		return 0;
	json_object_foreach(map, name, v) {
		for (i = 0; i < j->plan.tensor_count; i++)
			if (strcmp(tensor_name(j->plan.tensors[i]), name) == 0)
				break;
		if (i == j->plan.tensor_count)
			break;
	}
	return err_set(j->err, ERR_CORRUPT, label, "says that %s lies in %s, but it does not",
	               name, file_of(j, v));
}

/* ---- sending ---- */

/* Read the next item of the first file into waiting. 1, 0 if there is none, or -1. */
static int
next_of_head(struct joined *j)
{
	int r = j->waits ? 1 : 0;

	j->head->wanted = j->source.wanted;
	if (!j->waits && !j->ended)
		r = source_next(j->head, &j->waiting, j->err);
	j->waits = r > 0;
	j->ended |= r == 0;
	return r;
}

static int
send_waiting(struct joined *j, struct item *item)
{
	*item = j->waiting;
	j->waits = false;
	j->blobs += item->kind == ITEM_BLOB;
	j->from = j->head;
	return 1;
}

/* Check that a file that is opened for the second time holds the same tensors. */
static int
check_again(const struct joined *j, const struct model *m)
{
	const struct part *x = &j->parts[j->part];
	bool same = m->tensor_count == x->count;
	size_t i;

	for (i = 0; same && i < x->count; i++) {
		const struct tensor *a = m->tensors[i], *b = j->plan.tensors[x->first + i];

		same = strcmp(tensor_name(a), tensor_name(b)) == 0 &&
		       tensor_type(a) == tensor_type(b) && tensor_bytes(a) == tensor_bytes(b);
	}
	return same ? 0 : err_set(j->err, ERR_CORRUPT, x->label,
	                          "has changed while the model was read");
}

/* True if a tensor of this file is wanted. The file is then read to its end. */
static bool
is_wanted(const struct joined *j, const struct part *p)
{
	size_t i;

	for (i = 0; j->source.wanted && i < p->count; i++)
		if (j->source.wanted[p->first + i])
			return true;
	return !j->source.wanted;
}

/* Send the next tensor of the files after the first. 1, 0 at the end of the last file, or
 * -1. */
static int
send_other(struct joined *j, struct item *item)
{
	for (;; j->part++) {
		int r;

		if (j->part == j->part_count)
			return 0;
		if (!j->now && !is_wanted(j, &j->parts[j->part]))
			continue;
		if (!j->now) {
			j->now = j->ops->open(j, j->part);
			if (!j->now || check_again(j, j->now->plan) < 0)
				return -1;
		}
		if (j->source.wanted)
			j->now->wanted = j->source.wanted + j->parts[j->part].first;
		r = source_next(j->now, item, j->err);
		item->index += j->parts[j->part].first;
		j->from = j->now;
		if (r != 0)
			return r;
		source_close(j->now);
		j->now = NULL;
	}
}

static int
next(struct source *source, struct item *item, struct err *e)
{
	struct joined *j = (struct joined *)source;
	int r;

	(void)e; /* the same as at opening */
	switch (j->phase) {
	case HEAD_BLOBS:
		if ((r = next_of_head(j)) < 0)
			return -1;
		if (j->blobs < j->head->plan->blob_count)
			return r == 0 ? 0 : send_waiting(j, item);
		j->phase = BESIDE;
		/* fallthrough */
	case BESIDE:
		j->from = NULL;
		if (j->ops->beside && (r = j->ops->beside(j, item)) != 0)
			return r;
		j->phase = HEAD_DATA;
		/* fallthrough */
	case HEAD_DATA:
		if ((r = next_of_head(j)) < 0)
			return -1;
		if (r > 0 && (j->waiting.kind == ITEM_LICENCE || j->waiting.kind == ITEM_TENSOR))
			return send_waiting(j, item);
		j->phase = OTHERS;
		j->part = 1;
		/* fallthrough */
	case OTHERS:
		if ((r = send_other(j, item)) != 0)
			return r;
		j->phase = LATE;
		/* fallthrough */
	case LATE:
		break;
	}
	if ((r = next_of_head(j)) <= 0)
		return r;
	return send_waiting(j, item);
}

static int
read_body(struct source *source, const uint8_t **p, size_t *n, struct err *e)
{
	struct joined *j = (struct joined *)source;

	*n = 0;
	return j->from ? source_read(j->from, p, n, e) : j->ops->beside_read(j, p, n);
}

static int
share_body(struct source *source, struct out *o, const uint8_t **p, size_t *n,
           struct err *e)
{
	struct joined *j = (struct joined *)source;

	if (j->from)
		return source_share(j->from, o, p, n, e);
	*n = 0;
	return j->ops->beside_read(j, p, n) < 0 || (*n > 0 && out_put(o, *p, *n) < 0) ? -1 : 0;
}

static int
zeros(struct source *source, uint64_t *n, struct err *e)
{
	struct joined *j = (struct joined *)source;

	return j->from ? source_zeros(j->from, n, e) : 0;
}

static bool
lies(struct source *source, uint64_t *offset)
{
	struct joined *j = (struct joined *)source;

	return j->from && j->from->ops->lies && j->from->ops->lies(j->from, offset);
}

static int
opened(struct source *source)
{
	struct joined *j = (struct joined *)source;

	return j->from && j->from->ops->opened ? j->from->ops->opened(j->from) : -1;
}

static void
close_source(struct source *source)
{
	struct joined *j = (struct joined *)source;

	j->ops->close(j);
}

void
joined_free(struct joined *j)
{
	size_t i;

	source_close(j->now);
	source_close(j->head);
	for (i = 0; i < j->part_count; i++) {
		free(j->parts[i].name);
		free(j->parts[i].label);
	}
	free(j->parts);
	free(j->places);
	free(j->path);
	model_free(&j->plan);
}

void *
joined_new(size_t bytes, const struct joined_ops *ops, const char *path,
           void (*note)(const char *), struct err *e)
{
	static const struct source_ops verbs = { .next = next, .read = read_body,
		.close = close_source, .share = share_body, .lies = lies,
		.opened = opened, .zeros = zeros };
	struct joined *j = mem_array(1, bytes);

	if (!j || !(j->path = mem_text(path, strlen(path)))) {
		free(j);
		err_memory(e);
		return NULL;
	}
	j->source = (struct source){ .plan = &j->plan, .ops = &verbs, .name = j->path,
		.note = note };
	j->ops = ops;
	j->err = e;
	return j;
}

struct source *
joined_opened(struct joined *j, bool read, const struct format *is,
              const struct format **which)
{
	if (!read) {
		j->ops->close(j);
		return NULL;
	}
	*which = is;
	return &j->source;
}

/* ---- description ---- */

uint64_t
joined_tensor_offset(const struct source *s, size_t i)
{
	return ((const struct joined *)s)->places[i].offset;
}

const struct codec *
joined_tensor_stored(const struct source *s, size_t i, uint64_t *bytes)
{
	const struct part_place *p = &((const struct joined *)s)->places[i];

	*bytes = p->stored;
	return p->codec;
}

const char *
joined_tensor_file(const struct source *s, size_t i)
{
	const struct part *p = ((const struct joined *)s)->parts;

	while (i >= p->first + p->count)
		p++;
	return p->name;
}

json_t *
joined_list(const struct joined *j)
{
	json_t *list = json_array();
	size_t i;

	for (i = 0; list && i < j->part_count; i++)
		if (json_array_append_new(list, json_pack("[s,I]", j->parts[i].name,
		                                          (json_int_t)j->parts[i].count)) < 0) {
			json_decref(list);
			return NULL;
		}
	return list;
}
