/* A model with the names and metadata of .apr files: values and side files as in a model
 * folder. */
#include <string.h>

#include "adapt/adapt_parts.h"
#include "adapt/keys/shared_keys.h"
#include "arch/match.h"

static struct tensor *
renamed(const struct tensor *t, const struct adapt *a, struct err *e)
{
	char name[MATCH_NAME];

	if (a->o.form == ARCH_FOLDER)
		return tensor_copy(t);
	match_apr(tensor_name(t), name);
	return tensor_new(name, strlen(name), tensor_type(t), tensor_ndim(t), tensor_dims(t),
	                  tensor_bytes(t), a->s.w.name, e);
}

/* The tensors of a folder under other names. */
static int
take_tensors(struct adapt *a, struct err *e)
{
	size_t i;

	a->t = (struct tensors){ .sources = a->s.plan->tensor_count, .tied = SIZE_MAX,
		.embed = SIZE_MAX };
	for (i = 0; i < a->t.sources; i++) {
		const struct tensor *t = a->s.plan->tensors[i];
		struct tensors_row *row = tensors_add(&a->t, renamed(t, a, e), e);

		if (!row)
			return -1;
		row->from = tensor_type(t);
		row->last = i;
		row->about = i;
		if (tensors_add_piece(row, move_run(i, 0, tensor_items(t)), e) < 0)
			return -1;
	}
	store_uses(&a->store, &a->t);
	return adapt_add_tensors(a, e);
}

static int
copy_keys(struct adapt *a, struct err *e)
{
	size_t i;

	for (i = 0; i < a->s.plan->meta_count; i++) {
		const struct meta *k = &a->s.plan->meta[i];
		struct value_type type;
		size_t n;
		const uint8_t *p = weights_meta(&a->s.w, k, &type, &n);

		if (p && model_add_meta(&a->plan, k->key, strlen(k->key), type, p, n, e) < 0)
			return -1;
	}
	return 0;
}

int
adapt_folder_to_apr(struct adapt *a, struct err *e)
{
	if (copy_keys(a, e) < 0 || adapt_apr_keys(&a->s, &a->plan, e) < 0 ||
	    adapt_long_values(a, e) < 0 || adapt_keep_files(a, e) < 0)
		return -1;
	return take_tensors(a, e);
}

/* Add config.json and other files that the keys of an .apr file stand for. */
static int
make_files(struct adapt *a, struct err *e)
{
	struct subject_files files = { 0 };
	size_t n, i;
	int r = 0;

	if (!weights_file(&a->s.w, "config.json", &n))
		r = subject_add_json(&files, "config.json", json_incref(a->s.config), e);
	if (r == 0)
		r = adapt_apr_files(&a->s, &files, e);
	for (i = 0; r == 0 && i < files.count; i++) {
		struct buf *b = &files.file[i].bytes;

		r = adapt_add_blob(a, files.file[i].name, "file", b->p, b->n, b->p, e);
		*b = (struct buf){ 0 };
	}
	subject_free_files(&files);
	return r;
}

int
adapt_apr_to_folder(struct adapt *a, struct err *e)
{
	if (!a->s.config)
		return err_set(e, ERR_FORMAT, a->s.w.name, "does not have the hyper-parameters of a "
		               "config.json");
	if (copy_keys(a, e) < 0 || adapt_apr_drop(&a->s, &a->plan, e) < 0 ||
	    adapt_long_values(a, e) < 0 || make_files(a, e) < 0 || adapt_keep_files(a, e) < 0)
		return -1;
	return take_tensors(a, e);
}

int
adapt_rename_to_apr(struct adapt *a, struct err *e)
{
	size_t i;

	for (i = 0; i < a->t.count; i++) {
		struct tensor *t = renamed(a->t.rows[i].t, a, e);

		if (!t)
			return -1;
		tensor_free(a->t.rows[i].t);
		a->t.rows[i].t = t;
	}
	return 0;
}
