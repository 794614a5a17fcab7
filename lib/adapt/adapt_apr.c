/* A model with the names and metadata of .apr files: values and side files as in a model
 * folder. */
#include <stdlib.h>
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

/* Adds a tensor of the folder, or a packed weight, under its other name. */
static int
add_row(struct adapt *a, size_t source, size_t last, const struct dtype *type, struct err *e)
{
	const struct tensor *t = tensors_source(&a->t, &a->s, source);
	struct tensor *made = NULL;
	struct tensors_row *row;
	char name[MATCH_NAME];

	if (type == tensor_type(t)) {
		made = renamed(t, a, e);
	} else {
		match_apr(tensor_name(t), name);
		made = tensor_new(name, strlen(name), type, tensor_ndim(t), tensor_dims(t),
		                  TENSOR_OWN_SIZE, a->s.w.name, e);
	}
	row = tensors_add(&a->t, made, e);
	if (!row)
		return -1;
	row->from = tensor_type(t);
	row->last = last;
	row->about = source;
	return tensors_add_piece(row, move_run(source, 0, tensor_items(t)), e);
}

/* ---- packed weights, which are decoded ---- */

/* The last tensor of the folder that a packed weight reads. */
static size_t
last_part(const struct packed *w)
{
	size_t last = w->at, k;

	for (k = 0; k < PACKED_PARTS; k++)
		if (w->part[k] != SIZE_MAX && w->part[k] > last)
			last = w->part[k];
	return last;
}

/* Finds the packed weights of a folder, whose configuration must not say so any more. */
static int
find_packed(struct adapt *a, struct err *e)
{
	const struct tensor *t;
	size_t i;

	if (packed_find(&a->s, &a->t.packed, e) < 0)
		return -1;
	for (i = 0; i < a->t.packed.count; i++) {
		t = a->t.packed.p[i].tensor;
		if (tensor_type(t)->items == 1)
			continue;
		err_set(e, ERR_FORMAT, tensor_name(t), "has type %s, which model folders and files with "
		        "their names do not have", tensor_type(t)->name);
		return err_hint(e, "the form gguf keeps its blocks: apr import --form gguf, or apr-adapt "
		                "gguf");
	}
	return 0;
}

static int
put_plain_config(struct adapt *a, struct err *e)
{
	struct subject_files files = { 0 };
	json_t *config = a->t.packed.count ? json_deep_copy(a->s.config) : NULL;
	struct buf *b = NULL;
	int r;

	if (a->t.packed.count == 0)
		return 0;
	json_object_del(config, "quantization_config");
	r = config ? subject_add_json(&files, "config.json", config, e) : err_memory(e);
	if (r == 0) {
		b = &files.file[0].bytes;
		r = adapt_add_blob(a, files.file[0].name, "file", b->p, b->n, b->p, e);
		*b = (struct buf){ 0 };
	}
	subject_free_files(&files);
	return r;
}

/* ---- tensors ---- */

static void
begin_tensors(struct adapt *a)
{
	a->t = (struct tensors){ .sources = a->s.plan->tensor_count, .tied = SIZE_MAX,
		.embed = SIZE_MAX };
}

/* The type of decoded weights: that of the folder's first matrix in half precision. */
static const struct dtype *
type_of_decoded(const struct subject *s)
{
	size_t i;

	for (i = 0; i < s->plan->tensor_count; i++)
		if (tensors_is_half(s->plan->tensors[i]))
			return tensor_type(s->plan->tensors[i]);
	return dtype_by_name("F16");
}

static int
by_last(const void *a, const void *b)
{
	const struct tensors_row *x = a, *y = b;

	if (x->last != y->last)
		return x->last < y->last ? -1 : 1;
	return x->about < y->about ? -1 : x->about > y->about;
}

/* The tensors of a folder under other names, each packed weight in the place of its last part. */
static int
take_tensors(struct adapt *a, struct err *e)
{
	const struct dtype *decoded = type_of_decoded(&a->s);
	const struct packed_list *packed = &a->t.packed;
	size_t i;

	for (i = 0; i < a->t.sources; i++)
		if (!(packed->consumed && packed->consumed[i]) &&
		    add_row(a, i, i, tensor_type(a->s.plan->tensors[i]), e) < 0)
			return -1;
	for (i = 0; i < packed->count; i++)
		if (add_row(a, a->t.sources + i, last_part(&packed->p[i]), decoded, e) < 0)
			return -1;
	if (a->t.count > 0)
		qsort(a->t.rows, a->t.count, sizeof *a->t.rows, by_last);
	store_uses(&a->store, &a->t);
	return adapt_add_tensors(a, e);
}

/* ---- metadata ---- */

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
	begin_tensors(a);
	if (find_packed(a, e) < 0 || copy_keys(a, e) < 0 || adapt_apr_keys(&a->s, &a->plan, e) < 0 ||
	    adapt_long_values(a, e) < 0 || put_plain_config(a, e) < 0 || adapt_keep_files(a, e) < 0)
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
	begin_tensors(a);
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
