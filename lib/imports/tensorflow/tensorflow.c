#include "imports/tensorflow/tensorflow.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/dir.h"
#include "core/mem.h"
#include "imports/torch/torch.h"

#define INDEX ".index"
#define VARIABLES "variables/variables"

/* ---- checkpoints ---- */

static int
from_pipe(const struct tensorflow *x)
{
	import_fail(&x->import, ERR_FORMAT, "has its values in other files, which cannot be found from a "
	            "pipe");
	return err_hint(x->import.err, "name the model's file or folder instead");
}

static int
read_index(struct tensorflow *x)
{
	struct import *im = &x->import;
	const char *name;
	int r = tf_find_folder(x, &name);

	if (r <= 0)
		return r < 0 ? -1 : from_pipe(x);
	if (!dir_name_ends(name, INDEX) || strlen(name) == strlen(INDEX)) {
		import_fail(im, ERR_FORMAT, "is the index of a checkpoint, but its name does not end in "
		            INDEX);
		return err_hint(im->err, "the files with values have the same name: NAME" INDEX
		                " belongs to NAME.data-00000-of-00001");
	}
	x->prefix = mem_text(name, strlen(name) - strlen(INDEX));
	return x->prefix ? tf_bundle(x, im->p, im->n, im->source.name) : err_memory(im->err);
}

/* Reads the checkpoint NAME of the folder. */
static int
read_prefix(struct tensorflow *x)
{
	char *file, *label;
	const struct map *map;
	struct buf b = { 0 };
	int r = -1;

	buf_printf(&b, "%s" INDEX, x->prefix);
	file = (char *)(uintptr_t)buf_string(&b);
	label = file ? dir_label(x->path, file) : NULL;
	if (!label)
		err_memory(x->import.err);
	else
		r = tf_map(x, file, false, &map);
	if (r == 0)
		r = tf_bundle(x, map->p, map->n, label);
	buf_free(&b);
	free(label);
	return r;
}

static int
read_list(struct tensorflow *x)
{
	const char *name;
	int r = tf_find_folder(x, &name);

	if (r <= 0)
		return r < 0 ? -1 : from_pipe(x);
	return tf_latest(x) < 0 ? -1 : read_prefix(x);
}

/* ---- graphs ---- */

static int
read_saved(struct tensorflow *x)
{
	const struct map *index = NULL;
	const char *name;
	int r = tf_find_folder(x, &name);

	if (r > 0)
		r = tf_map(x, VARIABLES INDEX, true, &index);
	if (r < 0)
		return -1;
	x->prefix = mem_text(VARIABLES, strlen(VARIABLES));
	if (!x->prefix)
		return err_memory(x->import.err);
	if (index && read_prefix(x) < 0)
		return -1;
	/* A model without variables has its values in its graph. */
	if (tf_saved(x, x->import.plan.tensor_count == 0) < 0)
		return -1;
	if (!index && x->variables > 0)
		return x->folder < 0 ? from_pipe(x) : read_prefix(x);
	return tf_add_constants(x);
}

static int
read_frozen(struct tensorflow *x)
{
	struct import *im = &x->import;

	if (tf_graph(x, im->p, im->n, 0, true) < 0)
		return -1;
	if (x->constant_count == 0) {
		import_fail(im, ERR_FORMAT, "is a graph of TensorFlow without values");
		return x->variables ? err_hint(im->err, "its variables are in a checkpoint: name the file "
		                               "NAME" INDEX) : -1;
	}
	return tf_add_constants(x);
}

/* ---- the file ---- */

static void
tell(const struct tensorflow *x)
{
	const struct import *im = &x->import;
	char shown[208];

	if (x->training)
		import_note(im, "left out: %" PRIu64 " variable%s of training (optimizer, metrics, "
		            "counters); --all reads %s", x->training, x->training == 1 ? "" : "s",
		            x->training == 1 ? "it" : "them");
	if (x->texts)
		import_note(im, "left out: %" PRIu64 " tensor%s of texts%s%.180s", x->texts,
		            x->texts == 1 ? "" : "s", x->text.p ? ", the first is " : "",
		            x->text.p ? tf_show(x->text, shown) : "");
	if (x->unread)
		import_note(im, "left in the graph: %" PRIu64 " constant%s of types that are not read, the "
		            "first is %.150s of type %s", x->unread, x->unread == 1 ? "" : "s",
		            tf_show(x->unread_name, shown), x->unread_type->name);
	if (x->assets_left)
		import_note(im, "left out: %" PRIu64 " asset%s", x->assets_left,
		            x->assets_left == 1 ? "" : "s");
}

static int
set_numbers(struct tensorflow *x, const char *form)
{
	struct import *im = &x->import;

	if (import_source(im, "form", json_string(form)) < 0)
		return -1;
	if (x->nodes && (import_source(im, "nodes", json_from_u64(x->nodes)) < 0 ||
	                 import_source(im, "functions", json_from_u64(x->functions)) < 0))
		return -1;
	return x->shard_count ? import_source(im, "data_files", json_from_u64(x->shard_count)) : 0;
}

/* Reads the file by its form, and its side files after all keys. */
static int
read_form(struct tensorflow *x, enum tf_form form)
{
	static const char *const names[] = { [TF_INDEX] = "checkpoint", [TF_LIST] = "checkpoint",
		[TF_SAVED] = "SavedModel", [TF_FROZEN] = "GraphDef" };
	static int (*const reads[])(struct tensorflow *x) = { [TF_INDEX] = read_index,
		[TF_LIST] = read_list, [TF_SAVED] = read_saved, [TF_FROZEN] = read_frozen };

	if (reads[form](x) < 0 || tf_saved_keys(x) < 0 ||
	    import_related(&x->import, TF_TENSORS_KEY, &x->relations) < 0 ||
	    set_numbers(x, names[form]) < 0)
		return -1;
	if ((form == TF_SAVED && tf_saved_files(x) < 0) || (form == TF_FROZEN && tf_cut(x) < 0))
		return -1;
	tell(x);
	return 0;
}

static int
read_file(struct import *im)
{
	struct tensorflow *x = (struct tensorflow *)im;
	struct tf_place *given = (struct tf_place *)(uintptr_t)im->given;
	const enum tf_form form = tf_probe(im->p, im->n < FORMAT_PROBE ? (size_t)im->n : FORMAT_PROBE);

	x->folder = -1;
	x->budget = TF_FIELDS;
	x->all = import_chosen(im, &torch_options[TORCH_ALL]) != NULL;
	if (given) { /* the model is not the file that the user named: offsets in it mean nothing */
		x->folder = given->folder;
		x->path = given->path;
		x->label = given->label;
		*given = (struct tf_place){ .folder = -1, .file = { .fd = -1 } };
		im->base = READER_UNKNOWN;
	}
	if (form == TF_META) {
		import_fail(im, ERR_FORMAT, "is the graph of a checkpoint (.meta), without values");
		return err_hint(im->err, "name the file NAME" INDEX " beside it");
	}
	if (form == TF_NONE)
		return import_fail(im, ERR_FORMAT, "is neither a checkpoint nor a graph of TensorFlow");
	return read_form(x, form);
}

/* Proves the checksums of a tensor's values, once, before they are sent. */
static int
begin(struct import *im, struct import_place *place)
{
	struct tensorflow *x = (struct tensorflow *)im;
	const size_t i = (size_t)(place - im->places);
	const char *name = tensor_name(im->plan.tensors[i]);
	const struct tf_entry *t = place->data;
	const struct tf_constant *c = place->data;
	size_t k;

	if (place->more[3] == TF_CONSTANT)
		return c->numbers && c->type->form != PROTOBUF_BYTES ? tf_numbers_begin(x, c->numbers) : 0;
	if (!t->slices)
		return tf_prove(x, place->p, t->bytes, place->map, t->crc, name);
	for (k = 0; k < t->slices->count; k++) {
		const struct tf_slice *s = &t->slices->list[k];

		if (s->bytes && tf_prove(x, s->p, s->bytes, s->map, s->crc, name) < 0)
			return -1;
	}
	return 0;
}

static void
close_file(struct import *im)
{
	struct tensorflow *x = (struct tensorflow *)im;
	struct tf_slices *slices;
	struct tf_numbers *numbers;
	size_t i;

	for (i = 0; i < x->entry_count; i++) {
		free(x->entries[i].key);
		free(x->entries[i].as);
	}
	for (i = 0; i < x->constant_count; i++)
		free(x->constants[i].name);
	for (; (slices = x->slices); free(slices))
		x->slices = slices->next;
	for (; (numbers = x->numbers); free(numbers))
		x->numbers = numbers->next;
	free(x->entries);
	free(x->constants);
	free(x->aliases);
	free(x->prefix);
	free(x->path);
	free(x->label);
	if (x->folder >= 0)
		close(x->folder);
	buf_free(&x->relations);
	buf_free(&x->cuts);
	buf_free(&x->tags);
	buf_free(&x->signatures);
}

static const struct import_kind kind = {
	.format = &format_tensorflow, .bytes = sizeof(struct tensorflow), .read = read_file,
	.begin = begin, .close = close_file,
};

/* ---- the format ---- */

static struct source *
open_file(struct reader *r, const struct format_options *options, void (*note)(const char *),
          struct err *e)
{
	return import_open(&kind, r, options, note, e);
}

static struct source *
open_path(const char *path, const struct format_options *options, void (*note)(const char *),
          const struct format **which, struct err *e)
{
	struct source *s = NULL;
	struct tf_place p;
	struct reader file;

	if (tf_place_open(&p, path, e) > 0) {
		file = p.file;
		p.file = (struct reader){ .fd = -1 };
		s = import_open_with(&kind, &file, options, note, &p, e);
		*which = &format_tensorflow;
	}
	tf_place_free(&p);
	return s;
}

static json_t *
describe(struct source *s, struct err *e)
{
	const struct tensorflow *x = (const struct tensorflow *)s;
	json_t *o = import_describe(s, e);

	if (!o || x->shard_count == 0 || json_object_set_new(o, "checksum", json_true()) == 0)
		return o;
	json_decref(o);
	err_memory(e);
	return NULL;
}

static bool
probe(const uint8_t *head, size_t n)
{
	return tf_probe(head, n) != TF_NONE;
}

static const struct format_reads reads = {
	.open = open_file,
	.open_path = open_path,
	.describe = describe,
	.tensor_offset = import_tensor_offset,
};

const struct format format_tensorflow = {
	.name = "tensorflow",
	.title = "TensorFlow",
	.probe = probe,
	.reads = &reads,
	.shared = &torch_options[TORCH_ALL],
};
