#include "adapt/subject.h"

#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "core/text.h"

/* ---- what comes before the tensors ---- */

static int
read_blob(struct subject *s, struct source *source, const struct item *item, size_t *left,
          struct err *e)
{
	struct weights_blob *b = &s->w.blobs[item->index];
	struct buf bytes = { 0 };
	const uint8_t *p;
	size_t n;
	int r;

	while ((r = source_read(source, &p, &n, e)) == 0 && n > 0) {
		if (n > *left) {
			buf_free(&bytes);
			return err_set(e, ERR_MEMORY, s->w.name, "has too many bytes of side files");
		}
		*left -= n;
		buf_put(&bytes, p, n);
	}
	if (r == 0 && !buf_string(&bytes)) /* never NULL, even if it is empty */
		r = err_memory(e);
	if (r < 0) {
		buf_free(&bytes);
		return r;
	}
	b->p = bytes.p;
	b->n = bytes.n;
	return 0;
}

static int
read_blobs(struct subject *s, struct source *source, struct item *next, bool *more,
           struct err *e)
{
	size_t left = SUBJECT_BYTES;
	int r;

	s->w.blobs = mem_array(s->plan->blob_count, sizeof *s->w.blobs);
	if (!s->w.blobs)
		return err_memory(e);
	while ((r = source_next(source, next, e)) == 1 && next->kind == ITEM_BLOB)
		if (read_blob(s, source, next, &left, e) < 0)
			return -1;
	*more = r == 1;
	return r < 0 ? -1 : 0;
}

json_t *
subject_json(const struct subject *s, const char *name, struct err *e)
{
	size_t n;
	const uint8_t *text = weights_file(&s->w, name, &n);

	return text ? json_parse_wide(text, n, ERR_CORRUPT, name, e) : NULL;
}

/* ---- form and architecture ---- */

/* No row has that name: hint at the nearest one. */
static int
unknown(const struct subject *s, const char *type, struct err *e)
{
	const struct arch *a, *near = NULL;
	size_t i, least = strlen(type) / 3 + 2;

	for (i = 0; (a = arch_row(i)); i++) {
		size_t folder = text_distance(type, a->folder), gguf = text_distance(type, a->name);
		size_t cost = folder < gguf ? folder : gguf;

		if (cost < least) {
			least = cost;
			near = a;
		}
	}
	err_set(e, ERR_FORMAT, s->w.name, "architecture %s is not known", type);
	return near ? err_hint(e, "the nearest known one is %s; --arch %s adapts the model as "
	                       "such", near->folder, near->folder)
	            : err_hint(e, "--arch NAME adapts the model as another one");
}

bool
subject_flatten(json_t *config)
{
	static const char *const names[] = { "text_config", "llm_config", "lm_config",
		"language_config" };
	json_t *part = json_object_get(json_object_get(config, "thinker_config"), names[0]);
	const char *name;
	json_t *v;
	size_t i;

	for (i = 0; !json_is_object(part) && i < sizeof names / sizeof *names; i++)
		part = json_object_get(config, names[i]);
	if (!json_is_object(part))
		return false;
	json_incref(part);
	json_object_foreach(part, name, v)
		if (strcmp(name, "architectures") != 0)
			json_object_set(config, name, v);
	json_decref(part);
	return true;
}

static int
find_arch(struct subject *s, const char *name, struct err *e)
{
	const char *type = name;

	if (!type && s->form != ARCH_FOLDER)
		type = model_text(s->w.plan, "general.architecture");
	if (!type && s->config)
		json_member_text(s->config, "model_type", &type);
	if (!type)
		return 0;
	s->arch = s->form == ARCH_FOLDER ? arch_by_folder(type) : arch_by_name(type);
	if (!s->arch)
		s->arch = s->form == ARCH_FOLDER ? arch_by_name(type) : arch_by_folder(type);
	return s->arch ? 0 : unknown(s, type, e);
}

int
subject_read(struct subject *s, struct source *source, const char *name, struct item *next,
             bool *more, struct err *e)
{
	*s = (struct subject){ .plan = source->plan, .note = source->note,
		.w = { .name = source->name, .plan = source->plan } };
	if (read_blobs(s, source, next, more, e) < 0)
		return -1;
	s->config = subject_json(s, "config.json", e);
	if (e->code != ERR_NONE)
		return -1;
	if (subject_flatten(s->config) && s->note)
		s->note("the text part of config.json is used");
	s->form = model_find(s->plan, "general.architecture") ? ARCH_GGUF :
	          s->config ? ARCH_FOLDER : ARCH_APR;
	return find_arch(s, name, e);
}

void
subject_close(struct subject *s)
{
	size_t i;

	for (i = 0; s->w.blobs && i < s->plan->blob_count; i++)
		free((void *)(uintptr_t)s->w.blobs[i].p);
	free(s->w.blobs);
	json_decref(s->config);
	*s = (struct subject){ 0 };
}

/* ---- files that are made ---- */

int
subject_add_file(struct subject_files *f, const char *name, struct buf *bytes, struct err *e)
{
	char *copy = mem_text(name, strlen(name));

	if (!copy || !buf_string(bytes) ||
	    (f->count == f->cap && mem_grow(&f->file, &f->cap, f->count + 1, sizeof *f->file) < 0)) {
		free(copy);
		buf_free(bytes);
		return err_memory(e);
	}
	f->file[f->count++] = (struct subject_file){ .name = copy, .bytes = *bytes };
	*bytes = (struct buf){ 0 };
	return 0;
}

int
subject_add_json(struct subject_files *f, const char *name, json_t *v, struct err *e)
{
	struct buf b = { 0 };
	int r = v ? json_pretty(v, &b) : -1;

	json_decref(v);
	buf_text(&b, "\n");
	if (r < 0) {
		buf_free(&b);
		return err_memory(e);
	}
	return subject_add_file(f, name, &b, e);
}

void
subject_free_files(struct subject_files *f)
{
	size_t i;

	for (i = 0; i < f->count; i++) {
		free(f->file[i].name);
		buf_free(&f->file[i].bytes);
	}
	free(f->file);
	*f = (struct subject_files){ 0 };
}
