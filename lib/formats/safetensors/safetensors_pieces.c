#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/dir.h"
#include "core/mem.h"
#include "core/num.h"
#include "formats/pieces.h"
#include "formats/safetensors/safetensors_folder.h"

#define ENDING ".safetensors"

/* ---- which file gets which tensors ---- */

/* The shards that source lists, if they match the tensors of the model. */
static json_t *
listed_shards(const struct model *m)
{
	json_t *rows = json_object_get(m->source, "shards"), *row;
	const char *name;
	uint64_t n, all = 0;
	size_t i;

	if (!model_source_is(m, format_safetensors.name) ||
	    json_array_size(rows) == 0)
		return NULL;
	json_array_foreach(rows, i, row)
		if (json_member_text(row, "file", &name) < 0 || !dir_name_is_plain(name) ||
		    json_member_u64(row, "tensors", &n) < 0 || num_add(all, n, &all) < 0)
			return NULL;
	return all == m->tensor_count ? rows : NULL;
}

static int
choose_index(struct pieces *s, struct err *e)
{
	json_t *index = json_object_get(s->plan->source, "index");
	const char *name;

	if (json_member_text(index, "file", &name) < 0 || !dir_name_is_plain(name) ||
	    pieces_is_taken(s, name))
		name = FOLDER_INDEX;
	s->index_name = mem_text(name, strlen(name));
	return s->index_name ? 0 : err_memory(e);
}

/* Cut the model into the same shards as the folder that it came from. */
static int
choose_again(struct pieces *s, json_t *rows, struct err *e)
{
	const char *name;
	json_t *row;
	uint64_t n;
	size_t i;

	json_array_foreach(rows, i, row) {
		json_member_text(row, "file", &name);
		json_member_u64(row, "tensors", &n);
		if (pieces_is_taken(s, name))
			return err_set(e, ERR_INVALID, name, "is the name of two shards");
		if (pieces_add(s, name, (size_t)n, e) < 0)
			return -1;
	}
	return choose_index(s, e);
}

static int
choose(struct pieces *s, struct err *e)
{
	const struct model *m = s->plan;
	json_t *rows = listed_shards(m);
	const char *name;

	if (s->options.shard_size)
		return pieces_cut(s, e);
	if (rows)
		return choose_again(s, rows, e);
	name = model_source_text(m, "file");
	if (!name || !dir_name_is_plain(name))
		name = FOLDER_SINGLE;
	return pieces_add(s, name, m->tensor_count, e);
}

/* ---- a plan for each file ---- */

static int
copy_key(struct model *to, const struct meta *k, struct err *e)
{
	return model_add_meta(to, k->key, strlen(k->key), k->type, k->wire, k->wire_bytes, e);
}

static bool
is_short_string(const struct meta *k)
{
	return k->wire && k->type.depth == 0 && k->type.leaf == VALUE_STRING;
}

/* Copy strings of the first file to another file: all of them, or those that it had. */
static int
copy_keys(const struct pieces *s, size_t piece, struct model *to, struct err *e)
{
	json_t *names = json_object_get(s->pieces[piece].plan.source, "keys"), *name;
	const struct model *m = s->plan;
	size_t i;

	for (i = 0; !names && i < m->meta_count; i++)
		if (is_short_string(&m->meta[i]) && copy_key(to, &m->meta[i], e) < 0)
			return -1;
	json_array_foreach(names, i, name) {
		const struct meta *k = json_is_string(name)
		                           ? model_find(m, json_string_value(name)) : NULL;

		if (k && is_short_string(k) && !model_find(to, k->key) &&
		    copy_key(to, k, e) < 0)
			return -1;
	}
	return 0;
}

/* The member source of a file that did not exist before: the usual style. The first file keeps
 * the source of a model that came from another format. */
static json_t *
new_source(const struct pieces *s, size_t i)
{
	if (i > 0 || model_source_is(s->plan, format_safetensors.name))
		return json_pack("{s:s}", "format", format_safetensors.name);
	return json_deep_copy(s->plan->source);
}

/* The member source of file i. The style comes from its row, or from a single source file. */
static json_t *
piece_source(const struct pieces *s, size_t i)
{
	json_t *row = json_array_get(json_object_get(s->plan->source, "shards"), i), *source;

	if (!s->index_name)
		return json_deep_copy(s->plan->source);
	if (s->options.shard_size)
		return new_source(s, i);
	source = row ? json_deep_copy(row) : NULL;
	if (source &&
	    json_object_set_new(source, "format", json_string(format_safetensors.name)) < 0) {
		json_decref(source);
		return NULL;
	}
	return source;
}

/* ---- the index ---- */

static int
append(const char *text, size_t n, void *b)
{
	buf_put(b, text, n);
	return buf_ok(b) ? 0 : -1;
}

static json_t *
build_index(const struct pieces *s)
{
	json_t *facts = json_object_get(json_object_get(s->plan->source, "index"), "metadata");
	json_t *metadata = json_is_object(facts) ? json_deep_copy(facts) : json_object();
	json_t *map = json_object(), *index;
	size_t i, k;
	int r = json_object_set_new(metadata, "total_size",
	                            json_from_u64(model_tensor_bytes(s->plan)));

	for (i = 0; i < s->piece_count; i++)
		for (k = 0; r == 0 && k < s->pieces[i].count; k++)
			r = json_object_set_new(map,
			                        tensor_name(s->plan->tensors[s->pieces[i].first + k]),
			                        json_string(s->pieces[i].name));
	index = r == 0 ? json_pack("{s:O,s:O}", "metadata", metadata, "weight_map", map) : NULL;
	json_decref(metadata);
	json_decref(map);
	return index;
}

/* Write the index as Python's json does with indent=2 and sort_keys, plus a line feed. */
static int
write_index(struct pieces *s, struct buf *b, struct err *e)
{
	json_t *index = build_index(s);
	int r = -1;

	if (index)
		r = json_dump_callback(index, append, b, JSON_INDENT(2) | JSON_SORT_KEYS |
		                       JSON_ENSURE_ASCII);
	buf_text(b, "\n");
	json_decref(index);
	return r < 0 ? err_memory(e) : 0;
}

/* ---- the format ---- */

static struct sink *
create_piece(struct pieces *s, size_t i, struct out *o, struct err *e)
{
	(void)i;
	return safetensors_create_shard(o, &s->options, s->plan, e);
}

static const struct pieces_ops ops = { .ending = ENDING, .index_end = ENDING ".index.json",
	.single = FOLDER_SINGLE, .unit = 1, .blob = FOLDER_BLOB, .choose = choose,
	.source = piece_source, .keys = copy_keys, .create = create_piece,
	.settle = safetensors_settle, .rename = safetensors_rename, .index = write_index };

struct sink *
folder_create(const struct out_options *where, const struct format_options *options,
              struct err *e)
{
	return pieces_create(where, true, options, &ops, e);
}

struct sink *
safetensors_create_shards(const struct out_options *where,
                          const struct format_options *options, struct err *e)
{
	return pieces_create(where, false, options, &ops, e);
}
