/* Files of PyTorch in a folder, with an index or alone: one model. */
#include <stdlib.h>
#include <string.h>

#include "core/dir.h"
#include "formats/folder.h"
#include "imports/torch/torch_folder.h"

struct shards {
	struct folder_source in;
	uint64_t stripped, unread; /* tensors, as in struct torch */
	struct buf relations; /* of all files, without the last brace */
	json_t *calls;             /* of all files, for a report; NULL: none so far */
};

static const char *const no_models[] = { "training_args.bin", "optimizer.bin", "scheduler.bin",
	NULL };

const struct folder_kind folder_pytorch = {
	.title = "PyTorch (.bin)",
	.single = "pytorch_model.bin",
	.index = "pytorch_model.bin.index.json",
	.ending = ".bin",
	.others = no_models,
};

/* ---- the plan ---- */

/* Open a file, for the second time without the notes of the first. */
static struct source *
open_shard(struct joined *j, size_t i)
{
	struct shards *s = (struct shards *)j;
	const char *label = j->parts[i].label;
	bool again = j->phase == OTHERS;
	struct reader r;
	const uint8_t *head;
	size_t n;

	if (dir_open(s->in.folder.fd, j->parts[i].name, label, &r, j->err) < 0)
		return NULL;
	head = reader_peek(&r, FORMAT_PROBE, &n);
	if (head && format_pytorch.probe(head, n))
		return torch_open_part(&r, &s->in.options, again ? NULL : j->source.note, j->err);
	if (head)
		err_set(j->err, ERR_FORMAT, label, "is not a file of PyTorch");
	reader_close(&r);
	return NULL;
}

/* Keep what the whole model needs of a file. */
static int
judge(struct joined *j, size_t i, struct source *part)
{
	struct shards *s = (struct shards *)j;
	const struct torch *t = (const struct torch *)part;
	json_t *calls;
	int r;

	(void)i;
	s->stripped += t->stripped;
	s->unread += t->unread;
	if (t->joined.n) {
		buf_text(&s->relations, s->relations.n ? "," : "{");
		buf_put(&s->relations, t->joined.p + 1, t->joined.n - 2);
	}
	if (t->pickle.call_count == 0 && json_array_size(t->inner_calls) == 0)
		return 0;
	calls = torch_calls(t);
	if (!s->calls)
		s->calls = json_array();
	r = calls && s->calls ? json_array_extend(s->calls, calls) : -1;
	json_decref(calls);
	return r < 0 ? err_memory(j->err) : 0;
}

/* The index with the names that the tensors have without the prefix: a new reference, or
 * NULL. */
static json_t *
strip(json_t *map, const char *prefix)
{
	size_t skip = strlen(prefix);
	json_t *o = json_object(), *v;
	const char *name, *rest;

	json_object_foreach(map, name, v) {
		rest = strncmp(name, prefix, skip) == 0 && name[skip] ? name + skip : name;
		if (json_object_set(o, rest, v) < 0) {
			json_decref(o);
			return NULL;
		}
	}
	return o;
}

/* A report leaves out tensors that are refused, so it cannot prove the index. */
static int
prove_index(const struct shards *s, const char *prefix)
{
	json_t *map = json_object_get(s->in.folder.index, "weight_map");
	int r;

	if (s->unread > 0)
		return 0;
	if (!map || !prefix)
		return folder_source_prove(&s->in, map);
	map = strip(map, prefix);
	r = map ? folder_source_prove(&s->in, map) : err_memory(s->in.joined.err);
	json_decref(map);
	return r;
}

/* The key of all files. */
static int
add_relations(struct shards *s)
{
	static const struct value_type json = { 0, VALUE_JSON };
	struct joined *j = &s->in.joined;
	struct buf *b = &s->relations;

	if (b->n == 0)
		return buf_ok(b) ? 0 : err_memory(j->err);
	buf_text(b, "}");
	if (!buf_ok(b))
		return err_memory(j->err);
	if (b->n > VALUE_INLINE_BYTES)
		return err_set(j->err, ERR_FORMAT, j->path, "has quantized tensors with scales of more "
		               "than %u bytes, which only a single file can have", VALUE_INLINE_BYTES);
	return model_add_meta(&j->plan, TORCH_TENSORS_KEY, strlen(TORCH_TENSORS_KEY), json, b->p, b->n,
	                      j->err);
}

static int
read_all(struct shards *s)
{
	const char *prefix = format_chosen(&s->in.options, &torch_options[TORCH_PREFIX]);
	struct joined *j = &s->in.joined;

	if (folder_source_read(&s->in) < 0)
		return -1;
	if (prefix && *prefix && s->stripped == 0)
		return torch_no_prefix(j->path, prefix, j->err);
	if (add_relations(s) < 0 || folder_config(&s->in.folder, &j->plan, j->err) < 0 ||
	    folder_source_add_files(&s->in) < 0)
		return -1;
	return prove_index(s, prefix);
}

/* ---- the format ---- */

static void
close_shards(struct joined *j)
{
	struct shards *s = (struct shards *)j;

	json_decref(s->calls);
	buf_free(&s->relations);
	folder_source_close(&s->in);
}

struct source *
torch_folder_open(const char *path, const struct format_options *options,
                  void (*note)(const char *), const struct format **which, struct err *e)
{
	static const struct joined_ops ops = { &format_pytorch, "content", open_shard, judge,
		folder_source_beside, folder_source_beside_read, close_shards };
	struct shards *s = folder_source_new(sizeof *s, &ops, path, options, note, e);
	bool read;

	if (!s)
		return NULL;
	read = folder_find(&s->in.folder, &folder_pytorch, path, note, e) > 0 && read_all(s) == 0;
	return joined_opened(&s->in.joined, read, &format_pytorch_folder, which);
}

char *
torch_folder_of(const char *path)
{
	return folder_around(&folder_pytorch, path);
}

static json_t *
describe(struct source *source, struct err *e)
{
	const struct shards *s = (struct shards *)source;
	json_t *o = json_pack("{s:s,s:O,s:b,s:o}", "format", format_pytorch.name, "form",
	                      json_object_get(source->plan->source, "form"), "index",
	                      s->in.folder.index_name != NULL, "shards", joined_list(&s->in.joined));
	int r = o ? 0 : -1;

	if (r == 0 && s->calls)
		r = json_object_set(o, "would_call", s->calls);
	if (r == 0 && json_object_set_new(o, "checksum", json_false()) == 0)
		return o;
	json_decref(o);
	err_memory(e);
	return NULL;
}

static const struct format_reads reads = {
	.describe = describe,
	.tensor_offset = joined_tensor_offset,
	.tensor_file = joined_tensor_file,
};

const struct format format_pytorch_folder = {
	.name = "pytorch",
	.title = "PyTorch folder",
	.reads = &reads,
	.options = torch_options,
};
