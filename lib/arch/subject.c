#include "arch/subject.h"

#include <stdlib.h>
#include <string.h>

#include "arch/apr_keys.h"
#include "arch/guess.h"
#include "arch/match.h"
#include "core/mem.h"

/* ---- what comes before the tensors ---- */

int
subject_begin(struct subject *s, const struct source *source, struct err *e)
{
	*s = (struct subject){ .plan = source->plan, .note = source->note,
		.w = { .name = source->name, .plan = source->plan } };
	s->w.blobs = mem_array(s->plan->blob_count, sizeof *s->w.blobs);
	s->blob_room = s->plan->blob_count;
	return s->w.blobs ? 0 : err_memory(e);
}

int
subject_take(struct subject *s, size_t index, const uint8_t *p, size_t n, struct err *e)
{
	struct weights_blob *b = &s->w.blobs[index];
	const char *text;

	if (n == 0)
		s->taking = (struct buf){ 0 };
	if (n > SUBJECT_BYTES - s->taken)
		return err_set(e, ERR_MEMORY, s->w.name, "has too many bytes of side files");
	s->taken += n;
	if (n > 0)
		buf_put(&s->taking, p, n);
	text = buf_string(&s->taking); /* never NULL, even if it is empty */
	b->p = s->taking.p;
	b->n = s->taking.n;
	return text ? 0 : err_memory(e);
}

static int
read_blob(struct subject *s, struct source *source, const struct item *item, struct err *e)
{
	const uint8_t *p = NULL;
	size_t n = 0;

	do {
		if (subject_take(s, item->index, p, n, e) < 0 || source_read(source, &p, &n, e) < 0)
			return -1;
	} while (n > 0);
	return 0;
}

static int
read_blobs(struct subject *s, struct source *source, struct item *next, bool *more,
           struct err *e)
{
	int r;

	while ((r = source_next(source, next, e)) == 1 && next->kind == ITEM_BLOB)
		if (read_blob(s, source, next, e) < 0)
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
	enum arch_form names;

	if (!type && s->form != ARCH_FOLDER)
		type = model_text(s->w.plan, "general.architecture");
	if (!type && s->config)
		json_member_text(s->config, "model_type", &type);
	if (!type) {
		s->arch = arch_guess(s->plan, &names);
		return 0;
	}
	s->arch = s->form == ARCH_FOLDER ? arch_by_folder(type) : arch_by_name(type);
	if (!s->arch)
		s->arch = s->form == ARCH_FOLDER ? arch_by_name(type) : arch_by_folder(type);
	return s->arch ? 0 : arch_unknown(s->w.name, type, e);
}

/* ---- .apr files ---- */

/* The members of an .apr file that stand for config.json, if they say what the model is. */
static int
make_config(struct subject *s, struct err *e)
{
	s->config = apr_config(&s->w, e);
	if (!s->config)
		return -1;
	if (!json_object_get(s->config, "model_type") ||
	    !json_object_get(s->config, "hidden_size")) {
		json_decref(s->config);
		s->config = NULL;
	}
	return 0;
}

/* Existing software writes files whose rows of queries and keys have the order of GGUF, under
 * names of folders. */
static int
check_rows(const struct subject *s, struct err *e)
{
	json_t *type = apr_key_value(&s->w, "rope_type");
	bool pairs = json_is_integer(type) && json_integer_value(type) == 0;
	const struct arch_rule *r;
	size_t i;

	json_decref(type);
	for (i = 0; pairs && (r = arch_rule(s->arch, i)); i++)
		if (r->change == CHANGE_PAIRS_Q)
			return err_set(e, ERR_FORMAT, s->w.name, "the rows of its queries and keys have "
			               "the order of GGUF (rope_type is 0), which is not supported");
	return 0;
}

/* Give the tensors the names of folders, in a plan of the subject's own. */
static int
rename_tensors(struct subject *s, struct err *e)
{
	char name[MATCH_NAME];
	struct match m;
	size_t i;

	if (model_copy(&s->own, s->plan, e) < 0)
		return -1;
	for (i = 0; i < s->own.tensor_count; i++) {
		struct tensor *t = s->own.tensors[i];

		if (!match_find(s->arch, ARCH_APR, tensor_name(t), 0, &m))
			continue;
		match_name(m.rule, ARCH_FOLDER, m.bias, m.block, m.expert, name);
		if (!(s->own.tensors[i] = tensor_rename(t, name, e))) {
			s->own.tensors[i] = t;
			return -1;
		}
		tensor_free(t);
	}
	s->plan = s->w.plan = &s->own;
	s->apr = true;
	return 0;
}

/* Read a model without keys of GGUF whose names or metadata may be those of .apr files. */
static int
find_names(struct subject *s, bool config, struct err *e)
{
	enum arch_form names;

	if (s->form == ARCH_GGUF || !s->arch)
		return 0;
	names = arch_form_of(s->arch, s->plan);
	if (names == ARCH_GGUF || (!config && check_rows(s, e) < 0))
		return names == ARCH_GGUF ? 0 : -1;
	if (names == ARCH_APR && rename_tensors(s, e) < 0)
		return -1;
	s->form = ARCH_FOLDER;
	return 0;
}

int
subject_find(struct subject *s, const char *name, struct err *e)
{
	bool config;

	s->config = subject_json(s, "config.json", e);
	if (e->code != ERR_NONE)
		return -1;
	config = s->config != NULL;
	if (subject_flatten(s->config) && s->note)
		s->note("the text part of config.json is used");
	s->form = model_find(s->plan, "general.architecture") ? ARCH_GGUF :
	          s->config ? ARCH_FOLDER : ARCH_APR;
	if (s->form == ARCH_APR && make_config(s, e) < 0)
		return -1;
	return find_arch(s, name, e) < 0 ? -1 : find_names(s, config, e);
}

int
subject_read_blobs(struct subject *s, struct source *source, struct item *next, bool *more,
                   struct err *e)
{
	return subject_begin(s, source, e) < 0 ? -1 : read_blobs(s, source, next, more, e);
}

int
subject_read(struct subject *s, struct source *source, const char *name, struct item *next,
             bool *more, struct err *e)
{
	return subject_read_blobs(s, source, next, more, e) < 0 ? -1 : subject_find(s, name, e);
}

void
subject_close(struct subject *s)
{
	size_t i;

	for (i = 0; s->w.blobs && i < s->blob_room; i++)
		free((void *)(uintptr_t)s->w.blobs[i].p);
	free(s->w.blobs);
	json_decref(s->config);
	model_free(&s->own);
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

void
subject_resize(const struct subject_files *f, struct model *plan)
{
	size_t i, k;

	for (i = 0; i < f->count; i++)
		for (k = 0; k < plan->blob_count; k++)
			if (strcmp(plan->blobs[k].name, f->file[i].name) == 0)
				plan->blobs[k].bytes = f->file[i].bytes.n;
}
