#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/dir.h"
#include "formats/joined.h"
#include "formats/safetensors/safetensors_folder.h"

struct shards {
	struct joined joined;
	struct format_options options;
	struct folder folder;
	json_t *rows;         /* of the shards, in source */

	/* A side file that is being sent. */
	size_t file;
	struct reader reader;
	char *label;
	uint64_t left;
};

/* ---- the plan ---- */

static struct source *
open_shard(struct joined *j, size_t i)
{
	struct shards *s = (struct shards *)j;
	struct reader r;

	if (dir_open(s->folder.fd, j->parts[i].name, j->parts[i].label, &r, j->err) < 0)
		return NULL;
	return safetensors_open_shard(&r, j->source.note, j->err);
}

/* True if a shard has all strings of the first shard, in the same order. */
static bool
has_all_keys(const struct shards *s, const struct model *m)
{
	size_t i, n = 0;

	for (i = 0; i < s->joined.plan.meta_count; i++) {
		const struct meta *k = &s->joined.plan.meta[i];

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
	json_t *row = json_pack("{s:s,s:I}", "file", s->joined.parts[i].name, "tensors",
	                        (json_int_t)m->tensor_count);
	int r = row ? 0 : -1;

	if (r == 0)
		r = json_object_update_missing(row, m->source);
	json_object_del(row, "format");
	if (r == 0 && i > 0 && !has_all_keys(s, m))
		r = json_object_set_new(row, "keys", key_names(m));
	if (r < 0) {
		json_decref(row);
		return err_memory(s->joined.err);
	}
	return json_array_append_new(s->rows, row) < 0 ? err_memory(s->joined.err) : 0;
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
	const char *name = s->folder.index_name;
	json_t *metadata = json_object_get(s->folder.index, "metadata"), *o = json_object();
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
	struct model *m = &s->joined.plan;
	const char *name = s->folder.shards[0].name;
	json_t *source;

	if (!model_source_is(m, format_safetensors.name))
		return 0;
	if (!s->folder.index_name)
		return strcmp(name, FOLDER_SINGLE) == 0
		           ? 0 : model_source_set(m, "file", json_string(name), s->joined.err);
	source = json_pack("{s:s,s:O,s:o}", "format", format_safetensors.name, "shards",
	                   s->rows, "index", index_facts(s));
	if (!source)
		return err_memory(s->joined.err);
	json_decref(m->source);
	m->source = source;
	return 0;
}

/* ---- the index against the shards ---- */

static int
check_index(const struct shards *s, const char *label)
{
	const struct joined *j = &s->joined;
	json_t *map = json_object_get(s->folder.index, "weight_map");
	size_t i;

	for (i = 0; i < j->part_count; i++)
		if (joined_prove_part(j, i, j->plan.tensors + j->parts[i].first,
		                      j->parts[i].count, map, "index") < 0)
			return -1;
	return joined_prove_list(j, map, label);
}

static int
check_size(const struct shards *s, const char *label)
{
	json_t *metadata = json_object_get(s->folder.index, "metadata");
	json_t *v = json_object_get(metadata, "total_size");
	uint64_t bytes = model_tensor_bytes(&s->joined.plan);
	char text[400];

	/* Some writers store it as a float. */
	if (!v || json_number_value(v) == (double)bytes)
		return 0;
	if (s->options.strict)
		return err_set(s->joined.err, ERR_CORRUPT, label, "its total_size is not the %" PRIu64
		               " bytes that the tensors have", bytes);
	snprintf(text, sizeof text, "%.200s: its total_size is not the %" PRIu64
	         " bytes that the tensors have", label, bytes);
	if (s->joined.source.note)
		s->joined.source.note(text);
	return 0;
}

static int
prove_index(const struct shards *s)
{
	char *label;
	int r;

	if (!s->folder.index_name)
		return 0;
	label = dir_label(s->folder.path, s->folder.index_name);
	if (!label)
		return err_memory(s->joined.err);
	r = check_index(s, label);
	if (r == 0)
		r = check_size(s, label);
	free(label);
	return r;
}

/* ---- opening ---- */

static int
read_all(struct shards *s)
{
	struct joined *j = &s->joined;
	size_t i;

	s->rows = json_array();
	if (!s->rows)
		return err_memory(j->err);
	for (i = 0; i < s->folder.shard_count; i++)
		if (joined_add(j, s->folder.path, s->folder.shards[i].name) < 0)
			return -1;
	if (joined_read(j) < 0 || fill_source(s) < 0)
		return -1;
	if (model_source_is(&j->plan, format_safetensors.name) &&
	    folder_config(&s->folder, &j->plan, j->err) < 0)
		return -1;
	for (i = 0; i < s->folder.file_count; i++)
		if (model_add_blob(&j->plan, s->folder.files[i].name, FOLDER_BLOB,
		                   s->folder.files[i].bytes, j->err) < 0)
			return -1;
	if (model_check(&j->plan, s->folder.path, j->err) < 0 || prove_index(s) < 0)
		return -1;
	return safetensors_prove_signs(j->head, &j->plan, j->err);
}

/* ---- side files ---- */

static int
send_file(struct joined *j, struct item *item)
{
	struct shards *s = (struct shards *)j;
	const struct folder_file *x = &s->folder.files[s->file];

	if (s->file == s->folder.file_count)
		return 0;
	free(s->label);
	reader_close(&s->reader);
	s->label = dir_label(s->folder.path, x->name);
	if (!s->label)
		return err_memory(j->err);
	if (dir_open(s->folder.fd, x->name, s->label, &s->reader, j->err) < 0)
		return -1;
	if (s->reader.end != x->bytes)
		return err_set(j->err, ERR_CORRUPT, s->label, "has changed while it was read");
	*item = (struct item){ .kind = ITEM_BLOB, .bytes = x->bytes,
		.index = j->head->plan->blob_count + s->file++ };
	s->left = x->bytes;
	return 1;
}

static int
read_file(struct joined *j, const uint8_t **p, size_t *n)
{
	struct shards *s = (struct shards *)j;

	if (s->left == 0)
		return 0;
	*p = reader_some(&s->reader, s->left, n);
	s->left -= *n;
	return *p ? 0 : -1;
}

static void
close_shards(struct joined *j)
{
	struct shards *s = (struct shards *)j;

	free(s->label);
	reader_close(&s->reader);
	joined_free(j);
	folder_free(&s->folder);
	json_decref(s->rows);
	free(s);
}

struct source *
folder_source(const char *path, const struct format_options *options,
              void (*note)(const char *), const struct format **which, struct err *e)
{
	static const struct joined_ops ops = { &format_safetensors, SAFETENSORS_METADATA,
		open_shard, judge, send_file, read_file, close_shards };
	struct shards *s = joined_new(sizeof *s, &ops, path, note, e);

	if (!s)
		return NULL;
	s->reader.fd = -1;
	s->options = *options;
	return joined_opened(&s->joined,
	                     folder_find(&s->folder, path, note, e) > 0 && read_all(s) == 0,
	                     &format_safetensors_folder, which);
}

static json_t *
describe(struct source *source, struct err *e)
{
	const struct shards *s = (struct shards *)source;
	json_t *o = json_pack("{s:s,s:b,s:o,s:b}", "format", format_safetensors.name,
	                      "index", s->folder.index_name != NULL, "shards",
	                      joined_list(&s->joined), "checksum", 0);

	if (!o)
		err_memory(e);
	return o;
}

static const struct format_reads reads = {
	.describe = describe,
	.tensor_offset = joined_tensor_offset,
	.tensor_file = joined_tensor_file,
};

const struct format format_safetensors_folder = {
	.name = "safetensors",
	.title = "safetensors folder",
	.reads = &reads,
};
