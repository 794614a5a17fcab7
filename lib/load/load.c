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
#include "formats/format.h"
#include "model/low_rank.h"

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
	if (model_find(&l->plan, LOWRANK_KEY)) {
		err_set(e, ERR_FORMAT, s->name, "has matrices as factors of low rank");
		return err_hint(e, "apr-lowrank merge multiplies them");
	}
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

/* The model that is being opened. */
struct opened {
	struct source *source;
	const struct format *format;
	int held; /* descriptor of the file, or of the folder if there are several */
	bool *copy;
};

/* Map a file of the model, once. file is NULL if the model has only one. */
static const struct map *
map_of(struct load *l, const struct opened *o, const char *file, struct err *e)
{
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
		done = map_file(&l->maps[l->map_count], o->held, name, e);
	} else if ((done = dir_open(o->held, file, file, &r, e)) == 0) {
		done = map_file(&l->maps[l->map_count], r.fd, name, e);
		reader_close(&r);
	}
	l->map_count += done == 0;
	if (done < 0)
		free(l->map_names[l->map_count]);
	return done < 0 ? NULL : &l->maps[l->map_count - 1];
}

/* Find each tensor that its file holds unchanged. */
static int
find_tensors(struct load *l, const struct opened *o, struct err *e)
{
	const struct format *f = o->format;
	uint64_t from, to;
	size_t i;

	for (i = 0; i < l->plan.tensor_count; i++) {
		const struct tensor *t = l->plan.tensors[i];
		const struct map *m;

		o->copy[i] = tensor_bytes(t) == 0 || !format_holds(f, o->source, i);
		if (o->copy[i])
			continue;
		m = map_of(l, o, f->reads->tensor_file ? f->reads->tensor_file(o->source, i) : NULL, e);
		if (!m)
			return -1;
		from = f->reads->tensor_offset(o->source, i);
		if (num_add(from, tensor_bytes(t), &to) < 0 || to > m->n)
			return err_set(e, ERR_CORRUPT, tensor_name(t), "lies outside its file");
		l->weights.tensors[i] = m->p + from;
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
load_mapped(struct load *l, struct opened *o, struct err *e)
{
	bool any = false;
	size_t i;

	if (begin(l, o->source, e) < 0)
		return -1;
	o->copy = mem_array(l->plan.tensor_count, sizeof *o->copy);
	if (!o->copy)
		return err_memory(e);
	if (find_tensors(l, o, e) < 0 || room(l, o->copy, e) < 0)
		return -1;
	for (i = 0; i < l->plan.tensor_count; i++)
		any = any || (o->copy[i] && tensor_bytes(l->plan.tensors[i]) > 0);
	o->source->wanted = o->copy;
	if (!any)
		return read_head(l, o->source, e);
	return read_items(l, o->source, o->copy, e);
}

int
load_open(struct load *l, const char *path, void (*note)(const char *), struct err *e)
{
	const struct format_options options = { .use = FORMAT_PLACES };
	struct opened o = { .held = -1 };
	struct stat st;
	int r = -1;

	*l = (struct load){ 0 };
	o.source = format_open_path(path, &options, note, &o.format, &o.held, e);
	/* Sealed weights cannot be used. */
	if (o.source && source_check_open(o.source, e) < 0)
		r = -1;
	else if (o.source && o.format->reads->tensor_offset && fstat(o.held, &st) == 0 &&
	    (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode)))
		r = load_mapped(l, &o, e);
	else if (o.source)
		r = load_source(l, o.source, e);
	source_close(o.source);
	if (o.held >= 0)
		close(o.held);
	free(o.copy);
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
