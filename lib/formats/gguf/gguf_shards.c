#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/dir.h"
#include "core/mem.h"
#include "core/opened.h"
#include "formats/folder.h"
#include "formats/gguf/gguf.h"

#define ENDING ".gguf"

struct shards {
	struct joined joined;
	struct format_options options;
	int fd;              /* of the folder */
	char *folder;        /* the folder's path */
	json_t *order;       /* of the index, for all shards in turn */
	bool ordered;        /* it differs from the order of the data */
	bool end_padded;     /* the last shard ends with padding */
};

/* ---- finding the shards ---- */

/* Add all n->of files of a model; name is the name of one of them, and n its numbers. */
static int
add_files(struct shards *s, const char *name, const struct dir_number *n)
{
	uint64_t i;
	int r = 0;

	for (i = 1; r == 0 && i <= n->of; i++) {
		char *file = dir_number_name(name, n->prefix, i, n->of, ENDING);

		r = file ? joined_add(&s->joined, s->folder, file) : err_memory(s->joined.err);
		free(file);
	}
	return r;
}

/* 1 if the file at path is a GGUF file whose keys make it one of several, 0 if not, or -1.
 * Follows a link, because the user has given the path. */
static int
is_shard(struct shards *s, const char *path)
{
	struct err *e = s->joined.err;
	struct source *shard;
	struct reader r;
	const uint8_t *head;
	size_t n;
	int is;

	if (reader_open(&r, path, e) < 0)
		return -1;
	head = reader_peek(&r, FORMAT_PROBE, &n);
	if (!head || !r.seekable || !format_gguf.probe(head, n)) {
		reader_close(&r);
		return head ? 0 : -1;
	}
	shard = gguf_open_shard(&r, &s->options, s->joined.source.note, e);
	if (!shard)
		return -1;
	is = gguf_split_of(shard)->count != MODEL_NONE && gguf_split_of(shard)->count > 1;
	source_close(shard);
	return is;
}

static int
find_by_name(struct shards *s, const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	struct dir_number n;
	int is;

	if (!dir_numbered(name, ENDING, &n) || (is = is_shard(s, path)) == 0)
		return 0;
	if (is < 0)
		return -1;
	s->fd = dir_of(path, &s->folder, &name, s->joined.err);
	if (s->fd < 0)
		return -1;
	if (n.number > n.of)
		return err_set(s->joined.err, ERR_CORRUPT, path, "is numbered as shard %" PRIu64
		               " of %" PRIu64, n.number, n.of);
	return add_files(s, name, &n) < 0 ? -1 : 1;
}

/* True if b is another shard of the model of a. */
static bool
same_set(const char *a, const struct dir_number *na, const char *b)
{
	struct dir_number nb;

	return dir_numbered(b, ENDING, &nb) && na->prefix == nb.prefix && na->of == nb.of &&
	       memcmp(a, b, na->prefix) == 0;
}

/* Find the shards in a folder whose GGUF files are all shards of one model. 0 if the folder
 * also holds weights of another kind: which model the user means is then unclear. */
static int
find_in_folder(struct shards *s, const char *path)
{
	struct dir_names list = { 0 };
	const char *first = NULL;
	struct dir_number n = { 0 };
	bool other = false, foreign = false;
	size_t i;
	int r = dir_list(s->fd, path, &list, s->joined.err);

	for (i = 0; r == 0 && i < list.n; i++) {
		foreign |= folder_is_weights(list.p[i]) ||
		           dir_name_ends(list.p[i], ".apr.json");
		if (!dir_name_ends(list.p[i], ENDING))
			continue;
		if (!first && dir_numbered(list.p[i], ENDING, &n))
			first = list.p[i];
		else if (!first || !same_set(first, &n, list.p[i]))
			other = true;
	}
	if (r == 0 && !foreign && other) {
		r = err_set(s->joined.err, ERR_FORMAT, path, "holds GGUF files of more than one "
		            "model");
		err_hint(s->joined.err, "one that is meant, or one of its shards, can be read "
		         "by its own name");
	} else if (r == 0 && !foreign && first) {
		s->folder = mem_text(path, strlen(path));
		r = s->folder ? add_files(s, first, &n) : err_memory(s->joined.err);
		r = r < 0 ? -1 : 1;
	}
	dir_names_free(&list);
	return r;
}

/* 1 if path is a shard or a folder of shards, 0 if not, or -1. */
static int
find(struct shards *s, const char *path)
{
	struct stat st;

	if (opened_stat(path, &st) < 0)
		return 0;
	if (!S_ISDIR(st.st_mode))
		return S_ISREG(st.st_mode) ? find_by_name(s, path) : 0;
	s->fd = opened_folder(path);
	if (s->fd < 0)
		return err_errno(s->joined.err, path, "cannot be opened");
	return find_in_folder(s, path);
}

/* ---- checking that the shards belong together ---- */

static struct source *
open_shard(struct joined *j, size_t i)
{
	struct shards *s = (struct shards *)j;
	struct reader r;

	if (dir_open(s->fd, j->parts[i].name, j->parts[i].label, &r, j->err) < 0)
		return NULL;
	return gguf_open_shard(&r, &s->options, j->source.note, j->err);
}

static int
judge_split(const struct joined *j, size_t i, const struct gguf_split *x)
{
	const char *label = j->parts[i].label;
	const struct gguf_split *first = i ? gguf_split_of(j->head) : x;

	if (x->count == MODEL_NONE || x->number == MODEL_NONE)
		return err_set(j->err, ERR_CORRUPT, label, "does not say which shard it is: it "
		               "lacks " GGUF_SPLIT_NO " or " GGUF_SPLIT_COUNT);
	if (x->count != j->part_count)
		return err_set(j->err, ERR_CORRUPT, label, "is a shard of a model with %" PRIu64
		               " shards, not of this one, which has %zu", x->count,
		               j->part_count);
	if (x->number != i)
		return err_set(j->err, ERR_CORRUPT, label, "says that it is shard %" PRIu64
		               " of %zu, but by its name it is shard %zu", x->number + 1,
		               j->part_count, i + 1);
	if (x->tensors != first->tensors)
		return err_set(j->err, ERR_CORRUPT, label, "is a shard of another model: its "
		               GGUF_SPLIT_TENSORS " is not that of the first shard");
	return 0;
}

/* Append the index order of a shard to that of the shards before it. */
static int
add_order(struct shards *s, const struct model *m)
{
	json_t *list = json_object_get(m->source, "index_order");
	uint64_t first = s->joined.plan.tensor_count, at;
	size_t i;

	s->ordered |= list != NULL;
	for (i = 0; i < m->tensor_count; i++) {
		if (!list || json_value_u64(json_array_get(list, i), &at) < 0)
			at = i;
		if (json_array_append_new(s->order, json_from_u64(first + at)) < 0)
			return err_memory(s->joined.err);
	}
	return 0;
}

static int
judge(struct joined *j, size_t i, struct source *part)
{
	struct shards *s = (struct shards *)j;

	s->end_padded = !json_is_false(json_object_get(part->plan->source, "end_padded"));
	if (judge_split(j, i, gguf_split_of(part)) < 0)
		return -1;
	if (i > 0 && gguf_order_of(part))
		return err_set(j->err, ERR_CORRUPT, j->parts[i].label, "has the key " GGUF_ORDER
		               ", but is not the first shard");
	return add_order(s, part->plan);
}

static int
prove_count(const struct joined *j)
{
	uint64_t tensors = gguf_split_of(j->head)->tensors;

	if (tensors == MODEL_NONE || tensors == j->plan.tensor_count)
		return 0;
	return err_set(j->err, ERR_CORRUPT, j->source.name, "its shards hold %zu tensors, but "
	               GGUF_SPLIT_TENSORS " says %" PRIu64, j->plan.tensor_count, tensors);
}

/* Fill the member source as if the shards were one file. */
static int
fill_source(struct shards *s)
{
	struct joined *j = &s->joined;
	json_t *order = gguf_order_of(j->head);
	struct model *m = &j->plan;

	if (!order && s->ordered)
		order = s->order;
	json_object_del(m->source, "index_order");
	if (order && model_source_set(m, "index_order", json_incref(order), j->err) < 0)
		return -1;
	if (model_source_set(m, "end_padded", json_boolean(s->end_padded), j->err) < 0)
		return -1;
	return model_source_set(m, "shards", json_from_u64(j->part_count), j->err);
}

static int
read_all(struct shards *s)
{
	struct joined *j = &s->joined;

	s->order = json_array();
	if (!s->order)
		return err_memory(j->err);
	if (joined_read(j) < 0 || prove_count(j) < 0 || fill_source(s) < 0 ||
	    model_check(&j->plan, j->source.name, j->err) < 0)
		return -1;
	return gguf_prove_shard(j->head, &j->plan, j->err);
}

static void
close_shards(struct joined *j)
{
	struct shards *s = (struct shards *)j;

	joined_free(j);
	json_decref(s->order);
	free(s->folder);
	if (s->fd >= 0)
		close(s->fd);
	free(s);
}

struct source *
gguf_open_path(const char *path, const struct format_options *options,
               void (*note)(const char *), const struct format **which, struct err *e)
{
	static const struct joined_ops ops = { &format_gguf, "metadata", open_shard, judge,
		NULL, NULL, close_shards };
	struct shards *s = joined_new(sizeof *s, &ops, path, note, e);

	if (!s)
		return NULL;
	s->fd = -1;
	s->options = *options;
	return joined_opened(&s->joined, find(s, path) > 0 && read_all(s) == 0,
	                     &format_gguf_shards, which);
}

static json_t *
describe(struct source *source, struct err *e)
{
	struct joined *j = (struct joined *)source;
	json_t *o = gguf_describe(j->head, e);

	json_object_del(o, "header_bytes");
	json_object_del(o, "data_offset");
	if (!o || json_object_set_new(o, "shards", joined_list(j)) == 0)
		return o;
	json_decref(o);
	err_memory(e);
	return NULL;
}

static const struct format_reads reads = {
	.skips = true,
	.describe = describe,
	.tensor_offset = joined_tensor_offset,
	.tensor_file = joined_tensor_file,
};

const struct format format_gguf_shards = {
	.name = "gguf",
	.title = "GGUF in shards",
	.reads = &reads,
};
