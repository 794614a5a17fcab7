#include "load/load.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/buf.h"
#include "core/dir.h"
#include "core/mem.h"
#include "core/num.h"

#define ALIGN 64 /* of tensors that are copied */

/* ---- what travels beside the tensors ---- */

/* Read a blob; memory grows as the bytes arrive. */
static int
read_blob(struct load *l, struct source *s, const struct item *item, struct err *e)
{
	struct weights_blob *b = &l->weights.blobs[item->index];
	bool keep = item->kind == ITEM_BLOB && item->bytes <= LOAD_BLOB;
	struct buf bytes = { 0 };
	const uint8_t *p;
	size_t n;
	int r;

	while ((r = source_read(s, &p, &n, e)) == 0 && n > 0)
		if (keep)
			buf_put(&bytes, p, n);
	if (r == 0 && keep && !buf_string(&bytes)) /* never NULL, even if it is empty */
		r = err_memory(e);
	if (r < 0 || !keep) {
		buf_free(&bytes);
		return r;
	}
	b->p = bytes.p;
	b->n = bytes.n;
	return 0;
}

void
load_drop_blobs(struct load *l)
{
	size_t i;

	for (i = 0; l->weights.blobs && i < l->plan.blob_count; i++) {
		free((void *)(uintptr_t)l->weights.blobs[i].p);
		l->weights.blobs[i] = (struct weights_blob){ 0 };
	}
}

/* ---- where tensors lie ---- */

/* Release bytes in whichever map holds them. */
static void
release(const struct weights *w, const uint8_t *p, size_t n)
{
	const struct load *l = (const void *)((const char *)w - offsetof(struct load, weights));
	size_t i;

	for (i = 0; i < l->map_count; i++)
		map_release(&l->maps[i], p, n);
	map_release(&l->copies, p, n);
}

static int
begin(struct load *l, struct source *s, struct err *e)
{
	if (model_copy(&l->plan, s->plan, e) < 0)
		return -1;
	l->name = mem_text(s->name, strlen(s->name));
	l->weights.tensors = mem_array(l->plan.tensor_count, sizeof *l->weights.tensors);
	l->weights.blobs = mem_array(l->plan.blob_count, sizeof *l->weights.blobs);
	if (!l->name || !l->weights.tensors || !l->weights.blobs)
		return err_memory(e);
	l->weights.name = l->name;
	l->weights.plan = &l->plan;
	l->weights.release = release;
	return 0;
}

/* Allocate memory for the tensors that are copied, and place each in it. */
static int
room(struct load *l, const bool *copy, struct err *e)
{
	uint64_t at = 0, next;
	size_t i;

	for (i = 0; i < l->plan.tensor_count; i++) {
		if (!copy[i])
			continue;
		if (num_add(at, tensor_bytes(l->plan.tensors[i]), &next) < 0 ||
		    num_align(next, ALIGN, &at) < 0)
			return err_memory(e);
		l->copied += tensor_bytes(l->plan.tensors[i]);
	}
	if (map_zeros(&l->copies, at, e) < 0)
		return -1;
	for (i = 0, at = 0; i < l->plan.tensor_count; i++) {
		uint64_t n = tensor_bytes(l->plan.tensors[i]);

		if (!copy[i])
			continue;
		/* An empty tensor also needs a pointer that is not NULL. */
		l->weights.tensors[i] = l->copies.p ? l->copies.p + at : (uint8_t *)l->name;
		at += (n + ALIGN - 1) & ~(uint64_t)(ALIGN - 1);
	}
	return 0;
}

/* Read one tensor's bytes to their place in memory, or discard them. */
static int
read_tensor(struct load *l, struct source *s, const struct item *item, bool copy,
            struct err *e)
{
	size_t place = copy ? (size_t)(l->weights.tensors[item->index] - l->copies.p) : 0;
	uint64_t at = 0, all = tensor_bytes(l->plan.tensors[item->index]);
	const uint8_t *p;
	size_t n;
	int r;

	while ((r = source_read(s, &p, &n, e)) == 0 && n > 0) {
		if (n > all - at)
			return err_set(e, ERR_CORRUPT,
			               tensor_name(l->plan.tensors[item->index]),
			               "is longer than its shape");
		if (copy)
			memcpy(l->copies.p + place + at, p, n);
		at += n;
	}
	return r;
}

/* Read all items up to the end of the source. copy: true for each tensor to be copied. */
static int
read_items(struct load *l, struct source *s, const bool *copy, struct err *e)
{
	struct item item;
	const uint8_t *p;
	size_t n;
	int r, got = 0;

	while (got == 0 && (r = source_next(s, &item, e)) == 1) {
		if (item.kind == ITEM_BLOB || item.kind == ITEM_LICENCE) {
			got = read_blob(l, s, &item, e);
		} else if (item.kind == ITEM_TENSOR) {
			got = read_tensor(l, s, &item, copy[item.index], e);
		} else {
			while ((got = source_read(s, &p, &n, e)) == 0 && n > 0)
				;
		}
	}
	return got < 0 || r < 0 ? -1 : 0;
}

int
load_source(struct load *l, struct source *s, struct err *e)
{
	size_t i;
	bool *copy;
	int r;

	*l = (struct load){ 0 };
	if (begin(l, s, e) < 0)
		return -1;
	copy = mem_array(l->plan.tensor_count, sizeof *copy);
	if (!copy)
		return err_memory(e);
	for (i = 0; i < l->plan.tensor_count; i++)
		copy[i] = true;
	r = room(l, copy, e) < 0 ? -1 : read_items(l, s, copy, e);
	free(copy);
	return r;
}

/* ---- files that are mapped ---- */

/* Map a file of the model, once. file is NULL if the model has only one. */
static const struct map *
map_of(struct load *l, const struct load_from *o, const char *file, struct err *e)
{
	int (*map)(struct map *m, int fd, const char *name, struct err *e) =
		o->plain ? map_plain : map_file;
	const char *name = file ? file : l->name;
	struct reader r;
	size_t i;
	int done;

	for (i = 0; i < l->map_count; i++)
		if (strcmp(l->map_names[i], name) == 0)
			return &l->maps[i];
	if (l->map_count == l->map_cap) {
		size_t cap = l->map_cap;

		if (mem_grow(&l->maps, &l->map_cap, l->map_count + 1, sizeof *l->maps) < 0 ||
		    mem_grow(&l->map_names, &cap, l->map_cap, sizeof *l->map_names) < 0) {
			err_memory(e);
			return NULL;
		}
	}
	l->map_names[l->map_count] = mem_text(name, strlen(name));
	if (!l->map_names[l->map_count]) {
		err_memory(e);
		return NULL;
	}
	if (!file) {
		done = map(&l->maps[l->map_count], o->held, name, e);
	} else if ((done = dir_open(o->held, file, file, &r, e)) == 0) {
		done = map(&l->maps[l->map_count], r.fd, name, e);
		reader_close(&r);
	}
	l->map_count += done == 0;
	if (done < 0)
		free(l->map_names[l->map_count]);
	return done < 0 ? NULL : &l->maps[l->map_count - 1];
}

/* The bytes in which tensor i lies unchanged, and their number; NULL with e filled. */
static const uint8_t *
file_of(struct load *l, const struct load_from *o, size_t i, size_t *n, struct err *e)
{
	const struct format_reads *f = o->format->reads;
	const struct map *m;

	if (o->memory) {
		*n = o->memory_bytes;
		return o->memory;
	}
	m = map_of(l, o, f->tensor_file ? f->tensor_file(o->source, i) : NULL, e);
	*n = m ? m->n : 0;
	return m ? m->p : NULL;
}

/* Find each tensor that its file holds unchanged. */
static int
find_tensors(struct load *l, const struct load_from *o, bool *copy, struct err *e)
{
	const uint8_t *file;
	uint64_t from, to;
	size_t i, n;

	for (i = 0; i < l->plan.tensor_count; i++) {
		const struct tensor *t = l->plan.tensors[i];

		copy[i] = tensor_bytes(t) == 0 || !format_holds(o->format, o->source, i);
		if (copy[i])
			continue;
		file = file_of(l, o, i, &n, e);
		if (!file)
			return -1;
		from = o->format->reads->tensor_offset(o->source, i);
		if (num_add(from, tensor_bytes(t), &to) < 0 || to > n)
			return err_set(e, ERR_CORRUPT, tensor_name(t), "lies outside its file");
		l->weights.tensors[i] = file + from;
		l->mapped += tensor_bytes(t);
	}
	return 0;
}

/* Read the items before the tensors, but not the tensors. */
static int
read_head(struct load *l, struct source *s, struct err *e)
{
	struct item item;
	int r;

	while ((r = source_next(s, &item, e)) == 1 &&
	       (item.kind == ITEM_BLOB || item.kind == ITEM_LICENCE))
		if (read_blob(l, s, &item, e) < 0)
			return -1;
	return r < 0 ? -1 : 0;
}

static int
load_placed(struct load *l, const struct load_from *o, bool *copy, struct err *e)
{
	bool any = false;
	size_t i;

	if (find_tensors(l, o, copy, e) < 0 || room(l, copy, e) < 0)
		return -1;
	for (i = 0; i < l->plan.tensor_count; i++)
		any = any || (copy[i] && tensor_bytes(l->plan.tensors[i]) > 0);
	o->source->wanted = copy;
	return any ? read_items(l, o->source, copy, e) : read_head(l, o->source, e);
}

/* Whether tensors can be used where the file has them. */
static bool
is_placed(const struct load_from *o)
{
	struct stat st;

	if (o->copies || !o->format->reads->tensor_offset)
		return false;
	return o->memory || (fstat(o->held, &st) == 0 &&
	                     (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode)));
}

int
load_from(struct load *l, const struct load_from *from, struct err *e)
{
	bool *copy;
	int r;

	if (!is_placed(from))
		return load_source(l, from->source, e);
	*l = (struct load){ 0 };
	if (begin(l, from->source, e) < 0)
		return -1;
	copy = mem_array(l->plan.tensor_count, sizeof *copy);
	if (!copy)
		return err_memory(e);
	r = load_placed(l, from, copy, e);
	from->source->wanted = NULL;
	free(copy);
	return r;
}

int
load_open(struct load *l, const char *path, void (*note)(const char *), struct err *e)
{
	const struct format_options options = { .use = FORMAT_PLACES };
	struct load_from from = { .held = -1 };
	int r = -1;

	*l = (struct load){ 0 };
	from.source = format_open_path(path, &options, note, &from.format, &from.held, e);
	/* Sealed weights cannot be used. */
	if (from.source && source_check_open(from.source, e) == 0)
		r = load_from(l, &from, e);
	source_close(from.source);
	if (from.held >= 0)
		close(from.held);
	return r;
}

int
load_check(const struct load *l, struct err *e)
{
	size_t i;

	for (i = 0; i < l->map_count; i++)
		if (!map_whole(&l->maps[i]))
			return err_set(e, ERR_CORRUPT, l->map_names[i],
			               "was cut while it was in use");
	return 0;
}

void
load_close(struct load *l)
{
	size_t i;

	load_drop_blobs(l);
	for (i = 0; i < l->map_count; i++) {
		map_close(&l->maps[i]);
		free(l->map_names[i]);
	}
	map_close(&l->copies);
	free(l->maps);
	free(l->map_names);
	free(l->weights.tensors);
	free(l->weights.blobs);
	free(l->name);
	model_free(&l->plan);
	*l = (struct load){ 0 };
}
