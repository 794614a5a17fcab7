#include <stdlib.h>
#include <string.h>

#include "core/dir.h"
#include "formats/safetensors/safetensors_folder.h"

struct shards {
	struct folder_source in;
	json_t *rows;         /* of the shards, in source */
};

const struct folder_kind folder_safetensors = {
	.title = "safetensors",
	.single = FOLDER_SINGLE,
	.index = FOLDER_INDEX,
	.ending = ".safetensors",
};

/* ---- the plan ---- */

static struct source *
open_shard(struct joined *j, size_t i)
{
	struct shards *s = (struct shards *)j;
	struct reader r;

	if (dir_open(s->in.folder.fd, j->parts[i].name, j->parts[i].label, &r, j->err) < 0)
		return NULL;
	return safetensors_open_shard(&r, j->source.note, j->err);
}

/* True if a shard has all strings of the first shard, in the same order. */
static bool
has_all_keys(const struct shards *s, const struct model *m)
{
	size_t i, n = 0;

	for (i = 0; i < s->in.joined.plan.meta_count; i++) {
		const struct meta *k = &s->in.joined.plan.meta[i];

		if (!safetensors_is_string(k) || !k->wire)
			continue;
		if (n == m->meta_count || strcmp(m->meta[n].key, k->key) != 0)
			return false;
		n++;
	}
	return n == m->meta_count;
}

static json_t *
key_names(const struct model *m)
{
	json_t *list = json_array();
	size_t i;

	for (i = 0; list && i < m->meta_count; i++)
		if (json_array_append_new(list, json_string(m->meta[i].key)) < 0) {
			json_decref(list);
			return NULL;
		}
	return list;
}

/* Add the row of a shard to source, with the style from the shard's own source. */
static int
add_row(struct shards *s, size_t i, const struct model *m)
{
	json_t *row = json_pack("{s:s,s:I}", "file", s->in.joined.parts[i].name, "tensors",
	                        (json_int_t)m->tensor_count);
	int r = row ? 0 : -1;

	if (r == 0)
		r = json_object_update_missing(row, m->source);
	json_object_del(row, "format");
	if (r == 0 && i > 0 && !has_all_keys(s, m))
		r = json_object_set_new(row, "keys", key_names(m));
	if (r < 0) {
		json_decref(row);
		return err_memory(s->in.joined.err);
	}
	return json_array_append_new(s->rows, row) < 0 ? err_memory(s->in.joined.err) : 0;
}

/* Check that a shard other than the first repeats only strings of the first. */
static int
judge(struct joined *j, size_t i, struct source *part)
{
	const struct model *m = part->plan;
	bool fine = model_source_is(m, format_safetensors.name);
	size_t k;

	for (k = 0; k < m->meta_count; k++)
		fine = fine && safetensors_is_string(&m->meta[k]);
	if (i > 0 && !fine)
		return err_set(j->err, ERR_CORRUPT, j->parts[i].label, "has keys of its own, "
		               "but is not the first shard");
	return add_row((struct shards *)j, i, m);
}

/* ---- source, in the form that the writer expects ---- */

/* The facts of the index that do not follow from the tensors. */
static json_t *
index_facts(const struct shards *s)
{
	const char *name = s->in.folder.index_name;
	json_t *metadata = json_object_get(s->in.folder.index, "metadata"), *o = json_object();
	int r = 0;

	if (strcmp(name, FOLDER_INDEX) != 0)
		r |= json_object_set_new(o, "file", json_string(name));
	metadata = metadata ? json_deep_copy(metadata) : json_object();
	json_object_del(metadata, "total_size");
	if (json_object_size(metadata))
		r |= json_object_set(o, "metadata", metadata);
	json_decref(metadata);
	if (r == 0)
		return o;
	json_decref(o);
	return NULL;
}

/* Fill source. If the model came from another container, source already describes it. */
static int
fill_source(struct shards *s)
{
	struct model *m = &s->in.joined.plan;
	const char *name = s->in.folder.shards[0].name;
	json_t *source;

	if (!model_source_is(m, format_safetensors.name))
		return 0;
	if (!s->in.folder.index_name)
		return strcmp(name, FOLDER_SINGLE) == 0
		           ? 0 : model_source_set(m, "file", json_string(name), s->in.joined.err);
	source = json_pack("{s:s,s:O,s:o}", "format", format_safetensors.name, "shards",
	                   s->rows, "index", index_facts(s));
	if (!source)
		return err_memory(s->in.joined.err);
	json_decref(m->source);
	m->source = source;
	return 0;
}

/* ---- opening ---- */

static int
read_all(struct shards *s)
{
	struct joined *j = &s->in.joined;

	s->rows = json_array();
	if (!s->rows)
		return err_memory(j->err);
	if (folder_source_read(&s->in) < 0 || fill_source(s) < 0)
		return -1;
	if (model_source_is(&j->plan, format_safetensors.name) &&
	    folder_config(&s->in.folder, &j->plan, j->err) < 0)
		return -1;
	if (folder_source_add_files(&s->in) < 0 ||
	    folder_source_prove(&s->in, json_object_get(s->in.folder.index, "weight_map")) < 0)
		return -1;
	return safetensors_prove_signs(j->head, &j->plan, j->err);
}

static void
close_shards(struct joined *j)
{
	struct shards *s = (struct shards *)j;

	json_decref(s->rows);
	folder_source_close(&s->in);
}

struct source *
safetensors_folder_open(const char *path, const struct format_options *options,
                        void (*note)(const char *), const struct format **which,
                        struct err *e)
{
	static const struct joined_ops ops = { &format_safetensors, SAFETENSORS_METADATA,
		open_shard, judge, folder_source_beside, folder_source_beside_read,
		close_shards };
	struct shards *s = folder_source_new(sizeof *s, &ops, path, options, note, e);
	bool read;

	if (!s)
		return NULL;
	read = folder_find(&s->in.folder, &folder_safetensors, path, note, e) > 0 &&
	       read_all(s) == 0;
	return joined_opened(&s->in.joined, read, &format_safetensors_folder, which);
}

char *
safetensors_folder_of(const char *path)
{
	return folder_around(&folder_safetensors, path);
}

static json_t *
describe(struct source *source, struct err *e)
{
	const struct shards *s = (struct shards *)source;
	json_t *o = json_pack("{s:s,s:b,s:o,s:b}", "format", format_safetensors.name,
	                      "index", s->in.folder.index_name != NULL, "shards",
	                      joined_list(&s->in.joined), "checksum", 0);

	if (!o)
		err_memory(e);
	return o;
}

static const struct format_reads reads = {
	.skips = true,
	.describe = describe,
	.tensor_offset = joined_tensor_offset,
	.tensor_file = joined_tensor_file,
};

const struct format format_safetensors_folder = {
	.name = "safetensors",
	.title = "safetensors folder",
	.reads = &reads,
};
