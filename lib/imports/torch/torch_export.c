/* What torch.export.save writes: see torch.h for the members. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/json.h"
#include "core/num.h"
#include "imports/torch/torch.h"

#define CONFIG_MAX (32u << 20) /* bytes of a list of weights */
#define STRIDED 7              /* the layout of a tensor that is not sparse */
#define MODELS "models/"
#define OLD_GRAPH "serialized_exported_program.json"

/* The two lists of a model's tensors. */
static const struct {
	const char *folder, *list;
} lists[] = {
	{ "data/weights/", "weights" },
	{ "data/constants/", "constants" },
};

/* Of the form before: the state dictionary's ending has changed. */
static const struct {
	const char *name;
	bool weights;
} old_lists[] = {
	{ "serialized_state_dict.pt", true },
	{ "serialized_state_dict.json", true },
	{ "serialized_constants.pt", false },
};

static bool
has_ending(const struct zip_entry *x, const char *ending)
{
	const size_t n = strlen(ending);

	return x->name_bytes >= n && memcmp(x->name + x->name_bytes - n, ending, n) == 0;
}

/* ---- which form ---- */

/* True if member x is called this, without a folder or in one; sets the folder. */
static bool
is_root(struct torch *t, const struct zip_entry *x, const char *name)
{
	const size_t n = strlen(name);

	if (!has_ending(x, name))
		return false;
	if (x->name_bytes > n && memchr(x->name, '/', x->name_bytes) != x->name + x->name_bytes - n - 1)
		return false;
	t->folder = x->name;
	t->folder_bytes = x->name_bytes - n;
	return true;
}

int
torch_is_exported(struct torch *t)
{
	const struct zip_entry *x, *format = NULL;
	struct buf b = { 0 };
	size_t i, found = 0;
	int r;

	for (i = 0; i < t->zip.count; i++) {
		x = &t->zip.entries[i];
		if (is_root(t, x, "archive_format"))
			format = x;
		else if (!is_root(t, x, OLD_GRAPH))
			continue;
		found++;
	}
	if (found == 0)
		return 0;
	if (found > 1)
		return err_set(t->err, ERR_CORRUPT, t->source.name, "is a zip archive with %zu "
		               "models of torch.export", found);
	if (!format)
		return 1;
	r = zip_get(&t->zip, format, 64, &b, t->err);
	if (r == 0 && (b.n != 3 || memcmp(b.p, "pt2", 3) != 0))
		r = err_set(t->err, ERR_VERSION, t->source.name, "is a zip archive whose "
		            "archive_format is not pt2");
	buf_free(&b);
	return r < 0 ? -1 : 1;
}

/* ---- a list of weights ---- */

/* {"as_int": N} */
static int
read_number(const json_t *v, uint64_t *n)
{
	const json_t *i = json_object_get(v, "as_int");

	if (!json_is_integer(i) || json_integer_value(i) < 0)
		return -1;
	*n = (uint64_t)json_integer_value(i);
	return 0;
}

/* [{"as_int": N}, …]: at most TENSOR_DIMS of them. */
static int
read_numbers(const json_t *list, uint64_t *v, size_t *n)
{
	size_t i;

	*n = json_array_size(list);
	if (!json_is_array(list) || *n > TENSOR_DIMS)
		return -1;
	for (i = 0; i < *n; i++)
		if (read_number(json_array_get(list, i), &v[i]) < 0)
			return -1;
	return 0;
}

/* Add a tensor whose member holds its storage. */
static int
add_raw(struct torch *t, const char *name, const json_t *meta, const struct zip_entry *x)
{
	const json_t *number = json_object_get(meta, "dtype");
	const struct torch_storage s = { .at = x->deflated ? 0 : x->offset, .bytes = x->bytes,
		.deflated = x->deflated ? x : NULL, .stored = x->deflated ? NULL : x };
	struct torch_place place;
	const struct torch_type *type;
	struct torch_view v = { 0 };
	struct tensor *made;
	const char *as;
	size_t m;

	if (!json_is_integer(number) ||
	    read_numbers(json_object_get(meta, "sizes"), place.dims, &place.n) < 0 ||
	    read_numbers(json_object_get(meta, "strides"), place.strides, &m) < 0 || place.n != m ||
	    read_number(json_object_get(meta, "storage_offset"), &place.offset) < 0)
		return err_set(t->err, ERR_CORRUPT, name, "has no shape, strides, offset or type that "
		               "can be used: at most %u dimensions", TENSOR_DIMS);
	if (json_integer_value(json_object_get(meta, "layout")) != STRIDED)
		return err_set(t->err, ERR_FORMAT, name, "is sparse, or has another layout that is not "
		               "read");
	type = torch_type_of_number(json_integer_value(number));
	if (!type)
		return err_set(t->err, ERR_FORMAT, name, "has a type that is not known");
	m = strlen(name);
	as = torch_short_name(t, name, &m);
	made = torch_strided(t, as, m, type, &place, &s, &v);
	return made ? torch_take(t, made, &v) : -1;
}

static int
add_listed(struct torch *t, const char *folder, const char *name, const json_t *row)
{
	const json_t *meta = json_object_get(row, "tensor_meta");
	const char *path = json_string_value(json_object_get(row, "path_name"));
	const struct zip_entry *x;
	char member[ZIP_NAME];
	int n;

	if (!path || strchr(path, '/') || !json_is_boolean(json_object_get(row, "use_pickle")))
		return err_set(t->err, ERR_CORRUPT, name, "has no member that can be used");
	n = snprintf(member, sizeof member, "%s%s", folder, path);
	x = n < (int)sizeof member ? torch_member(t, member) : NULL;
	if (!x)
		return err_set(t->err, ERR_CORRUPT, name, "lies in a member that the file lacks: %.200s",
		               path);
	/* An object of a class of C++ is a pickle, and is not read. */
	if (!meta || json_is_null(meta)) {
		t->objects++;
		return 0;
	}
	if (json_is_true(json_object_get(row, "use_pickle")))
		return torch_add_inner(t, x, name);
	if (add_raw(t, name, meta, x) == 0)
		return 0;
	return torch_pass_over(t) ? 0 : -1;
}

/* Add the tensors of a list: {"config": {NAME: {…}, …}}. */
static int
read_list(struct torch *t, const struct zip_entry *x, const char *folder, const char *before)
{
	struct buf b = { 0 }, name = { 0 };
	json_t *root = NULL, *config, *row;
	const char *key;
	int r = zip_get(&t->zip, x, CONFIG_MAX, &b, t->err);

	if (r == 0 && !(root = json_parse(b.n ? (const char *)b.p : "", b.n, ERR_CORRUPT,
	                                  t->source.name, t->err)))
		r = -1;
	config = json_object_get(root, "config");
	if (r == 0 && !json_is_object(config))
		r = err_set(t->err, ERR_CORRUPT, t->source.name, "has a list of weights without its "
		            "config");
	json_object_foreach(config, key, row) {
		if (r < 0)
			break;
		buf_clear(&name);
		buf_printf(&name, "%s%s", before, key);
		r = buf_string(&name) ? add_listed(t, folder, (char *)name.p, row)
		                      : err_memory(t->err);
	}
	json_decref(root);
	buf_free(&name);
	buf_free(&b);
	return r;
}

/* ---- models ---- */

/* Add the weights or constants of a model: from a list, or from an archive of torch.save, which
 * files of 2.7 and 2.8 have. */
static int
read_lists(struct torch *t, const char *model, const char *before, size_t which)
{
	const struct zip_entry *list, *archive;
	char name[ZIP_NAME];

	snprintf(name, sizeof name, "%s%s_%s_config.json", lists[which].folder, model,
	         lists[which].list);
	list = torch_member(t, name);
	snprintf(name, sizeof name, "%s%s.pt", lists[which].folder, model);
	archive = torch_member(t, name);
	if (list && archive)
		return err_set(t->err, ERR_CORRUPT, t->source.name, "has the %s of the model %s in two "
		               "places", lists[which].list, model);
	if (!list && !archive)
		return err_set(t->err, ERR_CORRUPT, t->source.name, "lacks the list of the %s of the "
		               "model %s", lists[which].list, model);
	return list ? read_list(t, list, lists[which].folder, before)
	            : torch_add_inner(t, archive, NULL);
}

/* The name of the model whose graph member x is, or false. */
static bool
is_graph(const struct torch *t, const struct zip_entry *x, char *model, size_t most)
{
	const size_t begin = t->folder_bytes + strlen(MODELS), end = strlen(".json");
	size_t n;

	if (x->name_bytes <= begin + end || !has_ending(x, ".json") ||
	    memcmp(x->name + t->folder_bytes, MODELS, strlen(MODELS)) != 0)
		return false;
	n = x->name_bytes - begin - end;
	if (n >= most || memchr(x->name + begin, '/', n))
		return false;
	memcpy(model, x->name + begin, n);
	model[n] = 0;
	return true;
}

/* Several models have their names before those of their tensors. */
static int
read_models(struct torch *t)
{
	char model[1024], before[1026];
	size_t i, k, count = 0;

	for (i = 0; i < t->zip.count; i++)
		count += is_graph(t, &t->zip.entries[i], model, sizeof model);
	if (count == 0) {
		err_set(t->err, ERR_FORMAT, t->source.name, "is a package of PyTorch without a graph, "
		        "such as AOTInductor compiles, which is not read");
		err_hint(t->err, "torch.export.save writes the model itself");
		return -1;
	}
	for (i = 0; i < t->zip.count; i++) {
		if (!is_graph(t, &t->zip.entries[i], model, sizeof model))
			continue;
		*before = 0;
		if (count > 1)
			snprintf(before, sizeof before, "%s.", model);
		if (torch_add_side(t, &t->zip.entries[i]) < 0)
			return -1;
		for (k = 0; k < 2; k++)
			if (read_lists(t, model, before, k) < 0)
				return -1;
	}
	return 0;
}

/* The form of releases 2.1 to 2.6. */
static int
read_old(struct torch *t)
{
	const struct zip_entry *x;
	size_t i, found = 0;

	for (i = 0; i < sizeof old_lists / sizeof *old_lists; i++) {
		x = torch_member(t, old_lists[i].name);
		if (x && old_lists[i].weights && found++)
			return err_set(t->err, ERR_CORRUPT, t->source.name, "has two state dictionaries");
		if (x && torch_add_inner(t, x, NULL) < 0)
			return -1;
	}
	if (found == 0)
		return err_set(t->err, ERR_CORRUPT, t->source.name, "lacks the state dictionary of its "
		               "model");
	return torch_add_side(t, torch_member(t, OLD_GRAPH));
}

int
torch_add_exported(struct torch *t)
{
	const char *key = torch_chosen(t, TORCH_KEY);

	if (key)
		return err_set(t->err, ERR_INVALID, t->source.name, "has no key %s: it is a model of "
		               "torch.export", key);
	if ((torch_member(t, OLD_GRAPH) ? read_old(t) : read_models(t)) < 0)
		return -1;
	if (torch_check_found(t) < 0)
		return -1;
	if (t->objects)
		torch_note(t, "left out: objects of custom classes: %" PRIu64, t->objects);
	return 0;
}
