#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/dir.h"
#include "core/mem.h"
#include "core/num.h"
#include "formats/safetensors_folder.h"

/* One file of the model. */
struct shard {
	char *label;         /* its path, for messages */
	size_t first, count; /* of its tensors, in the plan */
};

struct shards {
	struct source source;
	struct model plan;
	struct format_options options;
	struct folder folder;
	struct shard *shards;
	struct err *err;

	/* The first shard stays open: what is no tensor lies there, before the
	 * tensors of all and behind them. The others are opened again when it is
	 * their turn, so that one at a time needs memory. */
	struct source *head, *now;

	/* What is being sent. */
	enum { HEAD_BLOBS, FILES, HEAD_DATA, OTHERS, LATE } phase;
	struct item waiting;  /* of the head, */
	bool waits;           /* if there is one */
	size_t file, shard;
	struct source *from;  /* the body comes from there, or from */
	struct reader reader; /* a side file: */
	char *label;
	uint64_t left;
};

/* ---- the plan ---- */

static struct source *
open_shard(struct shards *s, size_t i)
{
	struct reader r;

	if (dir_open(s->folder.fd, s->folder.shards[i].name, s->shards[i].label, &r,
	                s->err) < 0)
		return NULL;
	return safetensors_open_shard(&r, s->source.note, s->err);
}

static int
add_tensors(struct shards *s, size_t i, const struct model *m)
{
	size_t k;

	s->shards[i].first = s->plan.tensor_count;
	s->shards[i].count = m->tensor_count;
	for (k = 0; k < m->tensor_count; k++) {
		struct tensor *t = tensor_copy(m->tensors[k]);

		if (!t)
			return err_memory(s->err);
		if (model_add_tensor(&s->plan, t, s->err) < 0)
			return -1;
	}
	return 0;
}

static bool
is_string(const struct meta *k)
{
	return k->type.depth == 0 && k->type.leaf == VALUE_STRING;
}

/* What another shard says beside its tensors, the first has said already. */
static int
check_other(const struct shards *s, size_t i, const struct model *m)
{
	const char *format = model_source_text(m, "format");
	bool same = m->blob_count == 0 && m->licence == MODEL_NONE && m->prov_count == 0 &&
	            m->signatures == 0 && format &&
	            strcmp(format, format_safetensors.name) == 0;
	size_t k;

	for (k = 0; same && k < m->meta_count; k++) {
		const struct meta *a = &m->meta[k], *b = model_find(&s->plan, a->key);

		same = b && is_string(a) && is_string(b) && b->wire &&
		       a->wire_bytes == b->wire_bytes &&
		       memcmp(a->wire, b->wire, a->wire_bytes) == 0;
	}
	return same ? 0 : err_set(s->err, ERR_CORRUPT, s->shards[i].label, "its "
	                          SAFETENSORS_METADATA " is not that of the first shard");
}

/* Does it have all the strings of the first, in that order? */
static bool
has_all_keys(const struct shards *s, const struct model *m)
{
	size_t i, n = 0;

	for (i = 0; i < s->plan.meta_count; i++) {
		const struct meta *k = &s->plan.meta[i];

		if (!is_string(k) || !k->wire)
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

/* The row of a shard in source: its style, which its own source tells. */
static int
add_row(struct shards *s, json_t *rows, size_t i, const struct model *m)
{
	json_t *row = json_pack("{s:s,s:I}", "file", s->folder.shards[i].name, "tensors",
	                        (json_int_t)m->tensor_count);
	int r = row ? 0 : -1;

	if (r == 0)
		r = json_object_update_missing(row, m->source);
	json_object_del(row, "format");
	if (r == 0 && i > 0 && !has_all_keys(s, m))
		r = json_object_set_new(row, "keys", key_names(m));
	if (r < 0) {
		json_decref(row);
		return err_memory(s->err);
	}
	return json_array_append_new(rows, row) < 0 ? err_memory(s->err) : 0;
}

static int
add_shard(struct shards *s, json_t *rows, size_t i)
{
	struct source *shard = open_shard(s, i);
	int r;

	if (!shard)
		return -1;
	if (i == 0) {
		s->head = shard;
		r = model_copy(&s->plan, shard->plan, s->err);
		s->shards[0].count = s->plan.tensor_count;
	} else {
		r = check_other(s, i, shard->plan);
		if (r == 0)
			r = add_tensors(s, i, shard->plan);
	}
	if (r == 0)
		r = add_row(s, rows, i, shard->plan);
	if (i > 0)
		source_close(shard);
	return r;
}

/* ---- source, as the writer wants it ---- */

/* What the index says beside what follows from the tensors. */
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

/* The model may come from another container: then source is about that. */
static int
fill_source(struct shards *s, json_t *rows)
{
	const char *format = model_source_text(&s->plan, "format");
	const char *name = s->folder.shards[0].name;
	json_t *source;

	if (!format || strcmp(format, format_safetensors.name) != 0)
		return 0;
	if (!s->folder.index_name)
		return strcmp(name, FOLDER_SINGLE) == 0
		           ? 0 : model_source_set(&s->plan, "file", json_string(name), s->err);
	source = json_pack("{s:s,s:O,s:o}", "format", format_safetensors.name, "shards", rows,
	                   "index", index_facts(s));
	if (!source)
		return err_memory(s->err);
	json_decref(s->plan.source);
	s->plan.source = source;
	return 0;
}

/* ---- the index against the shards ---- */

static int
check_index(const struct shards *s, const char *label)
{
	json_t *map = json_object_get(s->folder.index, "weight_map"), *v = NULL;
	const char *name = "", *said;
	size_t i, k;

	for (i = 0; i < s->folder.shard_count; i++)
		for (k = 0; k < s->shards[i].count; k++) {
			name = tensor_name(s->plan.tensors[s->shards[i].first + k]);
			said = json_string_value(json_object_get(map, name));
			if (!said)
				return err_set(s->err, ERR_CORRUPT, s->shards[i].label,
				               "holds %s, which the index does not name", name);
			if (strcmp(said, s->folder.shards[i].name) != 0)
				return err_set(s->err, ERR_CORRUPT, s->shards[i].label,
				               "holds %s, which lies in %s by the index", name, said);
		}
	/* No tensor occurs twice: model_check has seen to it. */
	if (json_object_size(map) == s->plan.tensor_count)
		return 0;
	json_object_foreach(map, name, v) {
		for (k = 0; k < s->plan.tensor_count; k++)
			if (strcmp(tensor_name(s->plan.tensors[k]), name) == 0)
				break;
		if (k == s->plan.tensor_count)
			break;
	}
	return err_set(s->err, ERR_CORRUPT, label, "says that %s lies in %s, but it does not",
	               name, json_string_value(v));
}

static int
check_size(const struct shards *s, const char *label)
{
	json_t *metadata = json_object_get(s->folder.index, "metadata");
	json_t *v = json_object_get(metadata, "total_size");
	uint64_t bytes = model_tensor_bytes(&s->plan);
	char text[400];

	/* Some writers have it as a float. */
	if (!v || json_number_value(v) == (double)bytes)
		return 0;
	if (s->options.strict)
		return err_set(s->err, ERR_CORRUPT, label, "its total_size is not the %" PRIu64
		               " bytes that the tensors have", bytes);
	snprintf(text, sizeof text, "%.200s: its total_size is not the %" PRIu64
	         " bytes that the tensors have", label, bytes);
	if (s->source.note)
		s->source.note(text);
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
		return err_memory(s->err);
	r = check_index(s, label);
	if (r == 0)
		r = check_size(s, label);
	free(label);
	return r;
}

/* ---- opening ---- */

static int
read_shards(struct shards *s)
{
	size_t i, n = s->folder.shard_count;
	json_t *rows = json_array();
	int r = 0;

	s->shards = mem_array(n, sizeof *s->shards);
	if (!s->shards || !rows)
		r = err_memory(s->err);
	for (i = 0; r == 0 && i < n; i++) {
		s->shards[i].label = dir_label(s->folder.path, s->folder.shards[i].name);
		r = s->shards[i].label ? add_shard(s, rows, i) : err_memory(s->err);
	}
	if (r == 0)
		r = fill_source(s, rows);
	json_decref(rows);
	return r;
}

static int
read_all(struct shards *s)
{
	size_t i;

	if (read_shards(s) < 0)
		return -1;
	for (i = 0; i < s->folder.file_count; i++)
		if (model_add_blob(&s->plan, s->folder.files[i].name, FOLDER_BLOB,
		                   s->folder.files[i].bytes, s->err) < 0)
			return -1;
	if (model_check(&s->plan, s->folder.path, s->err) < 0 || prove_index(s) < 0)
		return -1;
	return safetensors_prove_signs(s->head, &s->plan, s->err);
}

/* ---- sending ---- */

/* The next item of the first shard, in waiting. 1, 0 if there is none, -1. */
static int
next_of_head(struct shards *s)
{
	int r = s->waits ? 1 : source_next(s->head, &s->waiting, s->err);

	s->waits = r > 0;
	return r;
}

static int
send_waiting(struct shards *s, struct item *item)
{
	*item = s->waiting;
	s->waits = false;
	s->from = s->head;
	return 1;
}

static int
send_file(struct shards *s, struct item *item)
{
	const struct folder_file *x = &s->folder.files[s->file];

	free(s->label);
	reader_close(&s->reader);
	s->label = dir_label(s->folder.path, x->name);
	if (!s->label)
		return err_memory(s->err);
	if (dir_open(s->folder.fd, x->name, s->label, &s->reader, s->err) < 0)
		return -1;
	if (s->reader.end != x->bytes)
		return err_set(s->err, ERR_CORRUPT, s->label, "has changed while it was read");
	*item = (struct item){ .kind = ITEM_BLOB, .bytes = x->bytes,
		.index = s->head->plan->blob_count + s->file++ };
	s->from = NULL;
	s->left = x->bytes;
	return 1;
}

/* It is opened for the second time: what it holds must be the same. */
static int
check_again(const struct shards *s, const struct model *m)
{
	const struct shard *x = &s->shards[s->shard];
	bool same = m->tensor_count == x->count;
	size_t i;

	for (i = 0; same && i < x->count; i++) {
		const struct tensor *a = m->tensors[i], *b = s->plan.tensors[x->first + i];

		same = strcmp(tensor_name(a), tensor_name(b)) == 0 &&
		       tensor_type(a) == tensor_type(b) && tensor_bytes(a) == tensor_bytes(b);
	}
	return same ? 0 : err_set(s->err, ERR_CORRUPT, x->label,
	                          "has changed while the model was read");
}

/* The next tensor of the shards behind the first. 1, 0 at the end of all, -1. */
static int
send_other(struct shards *s, struct item *item)
{
	for (;; s->shard++) {
		int r;

		if (s->shard == s->folder.shard_count)
			return 0;
		if (!s->now) {
			s->now = open_shard(s, s->shard);
			if (!s->now || check_again(s, s->now->plan) < 0)
				return -1;
		}
		r = source_next(s->now, item, s->err);
		item->index += s->shards[s->shard].first;
		s->from = s->now;
		if (r != 0)
			return r;
		source_close(s->now);
		s->now = NULL;
	}
}

static int
next(struct source *source, struct item *item, struct err *e)
{
	struct shards *s = (struct shards *)source;
	int r;

	(void)e; /* it is the one given at the opening */
	switch (s->phase) {
	case HEAD_BLOBS:
		if ((r = next_of_head(s)) < 0)
			return -1;
		if (r > 0 && s->waiting.kind == ITEM_BLOB)
			return send_waiting(s, item);
		s->phase = FILES;
		/* fallthrough */
	case FILES:
		if (s->file < s->folder.file_count)
			return send_file(s, item);
		s->phase = HEAD_DATA;
		/* fallthrough */
	case HEAD_DATA:
		if ((r = next_of_head(s)) < 0)
			return -1;
		if (r > 0 && (s->waiting.kind == ITEM_LICENCE || s->waiting.kind == ITEM_TENSOR))
			return send_waiting(s, item);
		s->phase = OTHERS;
		s->shard = 1;
		/* fallthrough */
	case OTHERS:
		if ((r = send_other(s, item)) != 0)
			return r;
		s->phase = LATE;
		/* fallthrough */
	case LATE:
		break;
	}
	if ((r = next_of_head(s)) <= 0)
		return r;
	return send_waiting(s, item);
}

static int
read_body(struct source *source, const uint8_t **p, size_t *n, struct err *e)
{
	struct shards *s = (struct shards *)source;

	*n = 0;
	if (s->from)
		return source_read(s->from, p, n, e);
	if (s->left == 0)
		return 0;
	*p = reader_some(&s->reader, s->left, n);
	s->left -= *n;
	return *p ? 0 : -1;
}

static void
close_source(struct source *source)
{
	struct shards *s = (struct shards *)source;
	size_t i;

	source_close(s->now);
	source_close(s->head);
	for (i = 0; s->shards && i < s->folder.shard_count; i++)
		free(s->shards[i].label);
	free(s->shards);
	free(s->label);
	reader_close(&s->reader);
	model_free(&s->plan);
	folder_free(&s->folder);
	free(s);
}

struct source *
folder_source(const char *path, const struct format_options *options,
              void (*note)(const char *), const struct format **which, struct err *e)
{
	static const struct source_ops ops = { next, read_body, close_source };
	struct shards *s = mem_array(1, sizeof *s);
	int r;

	if (!s) {
		err_memory(e);
		return NULL;
	}
	s->source = (struct source){ .plan = &s->plan, .ops = &ops, .note = note };
	s->reader.fd = -1;
	s->options = *options;
	s->err = e;
	r = folder_find(&s->folder, path, note, e);
	s->source.name = s->folder.path;
	if (r > 0 && read_all(s) == 0) {
		*which = &format_safetensors_folder;
		return &s->source;
	}
	close_source(&s->source);
	return NULL;
}

static json_t *
describe(struct source *source, struct err *e)
{
	struct shards *s = (struct shards *)source;
	json_t *o = json_pack("{s:s,s:b,s:I,s:b}", "format", format_safetensors.name,
	                      "index", s->folder.index_name != NULL, "shards",
	                      (json_int_t)s->folder.shard_count, "checksum", 0);

	if (!o)
		err_memory(e);
	return o;
}

const struct format format_safetensors_folder = {
	.name = "safetensors",
	.title = "safetensors folder",
	.describe = describe,
};
