#include "formats/folder_choice.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/dir.h"
#include "core/mem.h"
#include "core/opened.h"
#include "core/text.h"
#include "formats/other.h"

static int
add_file(struct folder_file **list, size_t *count, size_t *cap, const char *name,
         uint64_t bytes, struct err *e)
{
	struct folder_file *x;

	if (mem_grow(list, cap, *count + 1, sizeof **list) < 0)
		return err_memory(e);
	x = &(*list)[*count];
	x->bytes = bytes;
	x->name = mem_text(name, strlen(name));
	if (!x->name)
		return err_memory(e);
	++*count;
	return 0;
}

static int
by_name(const void *a, const void *b)
{
	const struct folder_file *x = a, *y = b;

	return strcmp(x->name, y->name);
}

/* ---- the index ---- */

/* If the names of the shards have numbers, check that none is missing. */
static int
check_numbers(const struct folder *f, const char *label, struct err *e)
{
	const char *first = f->shards[0].name, *ending = f->kind->ending;
	struct dir_number same, n;
	size_t i;

	if (!dir_numbered(first, ending, &same))
		return 0;
	for (i = 0; i < f->shard_count; i++) {
		const char *name = f->shards[i].name;

		if (!dir_numbered(name, ending, &n) || n.prefix != same.prefix ||
		    n.of != same.of || memcmp(name, first, same.prefix) != 0)
			return err_set(e, ERR_CORRUPT, label, "names %s, which does not belong "
			               "to %s", name, first);
		if (n.number != i + 1)
			return err_set(e, ERR_CORRUPT, label, "does not name shard %zu of %"
			               PRIu64, i + 1, same.of);
	}
	if (f->shard_count != same.of)
		return err_set(e, ERR_CORRUPT, label, "does not name shard %zu of %" PRIu64,
		               f->shard_count + 1, same.of);
	return 0;
}

/* Keras divides the weights of a model like this. The map names one file for a group, or a list of
 * them; the group may go on in the next file. So it does not say where a tensor lies. */
static int
refuse_keras(const struct folder *f, const char *label, struct err *e)
{
	static const char ending[] = ".weights.h5";
	json_t *map = json_object_get(f->index, "weight_map");
	json_t *v = json_object_iter_value(json_object_iter(map));
	const char *name = json_string_value(json_is_array(v) ? json_array_get(v, 0) : v);

	if (!name || strlen(name) < sizeof ending ||
	    strcmp(name + strlen(name) - (sizeof ending - 1), ending) != 0)
		return 0;
	err_set(e, ERR_FORMAT, label, "is the list of weights of Keras in several files, which is not "
	        "read");
	return err_hint(e, "Model.save_weights without max_shard_size writes one file, which is read");
}

/* List the files that the index names, each once. */
static int
list_shards(struct folder *f, const char *label, struct err *e)
{
	json_t *map = json_object_get(f->index, "weight_map"), *seen = json_object(), *v;
	const char *tensor, *name;
	int r = seen ? refuse_keras(f, label, e) : err_memory(e);

	json_object_foreach(map, tensor, v) {
		name = json_string_value(v);
		if (r < 0)
			break;
		if (!name || !dir_name_is_plain(name)) {
			r = err_set(e, ERR_CORRUPT, label, "says that %s lies in %s, which is not "
			            "the name of a file beside it", tensor, name ? name : "nothing");
		} else if (!json_object_get(seen, name)) {
			r = add_file(&f->shards, &f->shard_count, &f->shard_cap, name, 0, e);
			if (r == 0 && json_object_set_new(seen, name, json_true()) < 0)
				r = err_memory(e);
		}
	}
	json_decref(seen);
	if (r == 0 && f->shard_count == 0)
		return err_set(e, ERR_CORRUPT, label, "is an index that names no file");
	if (r < 0)
		return -1;
	qsort(f->shards, f->shard_count, sizeof *f->shards, by_name);
	return check_numbers(f, label, e);
}

/* Refuse JSON that is not an index; a model of another program is named. */
static void
no_index(json_t *o, const char *name, struct err *e)
{
	const struct format_other *other = format_other_json(o);

	if (!other) {
		err_set(e, ERR_FORMAT, name, "is JSON, but no index of shards: it has no weight_map");
		return;
	}
	err_set(e, ERR_FORMAT, name, "is %s, which is not read here", other->title);
	err_hint(e, "%s", other->hint);
}

static int
parse_index(struct folder *f, struct reader *r, struct err *e)
{
	struct buf b = { 0 };
	json_t *metadata;
	int status = -1;

	if (reader_left(r) > FOLDER_INDEX_MAX)
		reader_fail(r, ERR_CORRUPT, "an index of %" PRIu64 " bytes, at most %u are read",
		            reader_left(r), FOLDER_INDEX_MAX);
	else if (reader_append(r, &b, reader_left(r)) == 0)
		f->index = json_parse(b.p, b.n, ERR_CORRUPT, r->name, e);
	buf_free(&b);
	if (!f->index)
		return -1;
	metadata = json_object_get(f->index, "metadata");
	if (!json_is_object(json_object_get(f->index, "weight_map")))
		no_index(f->index, r->name, e);
	else if (metadata && !json_is_object(metadata))
		err_set(e, ERR_CORRUPT, r->name, "is an index whose metadata is not an object");
	else
		status = list_shards(f, r->name, e);
	return status;
}

static int
read_index(struct folder *f, const char *name, struct err *e)
{
	char *label = dir_label(f->path, name);
	struct reader r;
	int status = -1;

	f->index_name = mem_text(name, strlen(name));
	if (!label || !f->index_name)
		status = err_memory(e);
	else if (dir_open(f->fd, name, label, &r, e) == 0)
		status = parse_index(f, &r, e);
	if (label && f->index_name)
		reader_close(&r);
	free(label);
	return status;
}

/* ---- side files ---- */

/* True if the name has the ending of a weights file of other programs, or of code that
 * builds weights. */
static bool
named_like_weights(const char *name)
{
	static const char *const ending[] = { ".safetensors", ".bin", ".pt", ".pth", ".ckpt",
		".pkl", ".pickle", ".gguf", ".ggml", ".onnx", ".onnx_data", ".h5", ".hdf5",
		".keras", ".tflite", ".pb", ".msgpack", ".npy", ".npz", ".apr", ".aprs",
		".mlmodel", ".nemo", ".ot", ".tar", ".zip", ".gz" };
	size_t i;

	for (i = 0; i < sizeof ending / sizeof *ending; i++)
		if (dir_name_ends(name, ending[i]))
			return true;
	return false;
}

/* 1 if the first bytes of the file are those of a format that the tools read, 0 if not, or -1
 * if the file cannot be read. */
static int
begins_like_weights(const struct folder *f, const char *name, struct err *e)
{
	char *label = dir_label(f->path, name);
	const struct format *format;
	const uint8_t *head = NULL;
	struct reader r = { .fd = -1 };
	size_t n;
	unsigned i;
	int found = 0;

	if (!label)
		return err_memory(e);
	if (dir_open(f->fd, name, label, &r, e) == 0)
		head = reader_peek(&r, FORMAT_PROBE, &n);
	for (i = 0; head && !found && (format = format_row(i)); i++)
		found = format->probe(head, n);
	reader_close(&r);
	free(label);
	return head ? found : -1;
}

/* True if the name is that of an index of weights of another kind. */
static bool
is_other_index(const struct folder_kind *kind, const char *name)
{
	const struct folder_kind *other;
	char end[64];
	size_t i;

	for (i = 0; (other = folder_kind_row(i)); i++) {
		snprintf(end, sizeof end, "%s" FOLDER_INDEX_END, other->ending);
		if (other != kind && dir_name_ends(name, end))
			return true;
	}
	return false;
}

/* The reason why a file is left out, or NULL. */
static const char *
reason(const struct folder_kind *kind, const char *name, const struct stat *st)
{
	if (S_ISDIR(st->st_mode))
		return "is a folder";
	if (S_ISLNK(st->st_mode))
		return "is a link";
	if (!S_ISREG(st->st_mode))
		return "is not a regular file";
	if (*name == '.')
		return "begins with a dot";
	if (!dir_name_is_plain(name) || strncmp(name, "value:", 6) == 0)
		return "has a name that cannot travel";
	if (named_like_weights(name))
		return "holds weights";
	if (is_other_index(kind, name))
		return "is the index of other weights";
	if ((uint64_t)st->st_size > FOLDER_FILE_MAX)
		return "is larger than 64 MiB";
	return NULL;
}

static bool
is_part(const struct folder *f, const char *name)
{
	size_t i;

	if (f->index_name && strcmp(name, f->index_name) == 0)
		return true;
	for (i = 0; i < f->shard_count; i++)
		if (strcmp(name, f->shards[i].name) == 0)
			return true;
	return false;
}

static void
left_behind(const char *name, const char *why, void (*note)(const char *))
{
	char quoted[300], text[400];

	if (!note)
		return;
	text_quote(quoted, sizeof quoted, name, strlen(name));
	snprintf(text, sizeof text, "left behind: %s, which %s", quoted, why);
	note(text);
}

/* Note that a shard is read as a file of its own, because there is no index beside it. */
static void
left_alone(const char *name, const char *index, void (*note)(const char *))
{
	char text[800];

	if (!note)
		return;
	snprintf(text, sizeof text, "%.255s is read alone: there is no %.300s beside it", name,
	         index);
	note(text);
}

/* The file of a folder that says how sentence-transformers makes one vector of those of all
 * tokens: 1_Pooling/config.json. 1 if it is taken, 0 if not, or -1. */
static int
take_pooling(struct folder *f, const char *folder, struct err *e)
{
	char name[512];
	struct stat st;

	snprintf(name, sizeof name, "%.255s/" FOLDER_CONFIG, folder);
	if (!dir_name_ends(folder, "_Pooling") || !dir_name_is_below(name) ||
	    dir_look(f->fd, name, &st) < 0 || reason(f->kind, "file", &st))
		return 0;
	return add_file(&f->files, &f->file_count, &f->file_cap, name, (uint64_t)st.st_size,
	                e) < 0 ? -1 : 1;
}

static int
take_file(struct folder *f, const char *name, void (*note)(const char *), struct err *e)
{
	const char *why;
	struct stat st;
	int weights, taken = take_pooling(f, name, e);

	if (taken != 0 || is_part(f, name))
		return taken < 0 ? -1 : 0;
	if (dir_look(f->fd, name, &st) < 0) {
		left_behind(name, "cannot be looked at", note);
		return 0;
	}
	why = reason(f->kind, name, &st);
	if (!why) {
		weights = begins_like_weights(f, name, e);
		if (weights < 0)
			return -1;
		why = weights ? "holds weights" : NULL;
	}
	if (why) {
		left_behind(name, why, note);
		return 0;
	}
	return add_file(&f->files, &f->file_count, &f->file_cap, name,
	                (uint64_t)st.st_size, e);
}

/* ---- the folder ---- */

static int
take_weights(struct folder *f, const struct folder_choice *c, struct err *e)
{
	if (c->index)
		return read_index(f, c->index, e);
	if (c->single)
		return add_file(&f->shards, &f->shard_count, &f->shard_cap, c->single, 0, e);
	if (!c->kind)
		return err_set(e, ERR_IO, f->path, "holds no safetensors or PyTorch file and no "
		               "shards, and is a directory");
	err_set(e, ERR_FORMAT, f->path, "holds %zu %s files, and no index that makes "
	        "them one model", c->files, c->kind->title);
	return err_hint(e, "a file of it can be read by its own name");
}

static int
find_in_folder(struct folder *f, void (*note)(const char *), struct err *e)
{
	struct dir_names list = { 0 };
	struct folder_choice c = { .kind = NULL };
	size_t i;
	int r = dir_list(f->fd, f->path, &list, e);
	bool other;

	if (r == 0)
		c = folder_choose(&list);
	other = c.kind && c.kind != f->kind;
	if (r == 0 && !other)
		r = take_weights(f, &c, e);
	for (i = 0; r == 0 && !other && i < list.n; i++)
		r = take_file(f, list.p[i], note, e);
	dir_names_free(&list);
	return r < 0 ? -1 : !other;
}

/* True if the file begins like JSON and cannot be binary, and is not a model of trees in JSON. */
static bool
begins_like_index(const char *path)
{
	int fd = opened_file(path, O_RDONLY | O_NONBLOCK);
	uint8_t head[FORMAT_PROBE];
	ssize_t n = fd >= 0 ? read(fd, head, sizeof head) : 0;
	const struct format *f = n > 0 && *head == '{' ? format_probe(head, (size_t)n) : NULL;
	bool like = n > 0 && *head == '{' && !(f && f->json);

	if (fd >= 0)
		close(fd);
	return like;
}

/* The kind of the files that an index names: that of the first one's ending. */
static const struct folder_kind *
kind_of_index(const struct folder *f)
{
	const struct folder_kind *kind;
	size_t i;

	for (i = 0; (kind = folder_kind_row(i)); i++)
		if (dir_name_ends(f->shards[0].name, kind->ending))
			return kind;
	return folder_kind_row(0);
}

/* Open the folder of the index at path, and read the index. 0 if its files are of another
 * kind. */
static int
find_by_index(struct folder *f, const char *path, struct err *e)
{
	const char *name;

	free(f->path);
	f->fd = dir_of(path, &f->path, &name, e);
	if (f->fd < 0)
		return -1;
	if (read_index(f, name, e) < 0)
		return -1;
	return kind_of_index(f) == f->kind;
}

/* 1 if path is a shard and an index beside it names it, 0 if not, or -1. */
static int
find_by_shard(struct folder *f, const char *path, void (*note)(const char *),
              struct err *e)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	struct dir_number n;
	struct buf index = { 0 };
	struct stat st;
	size_t i;
	int r = 0;

	if (!dir_numbered(name, f->kind->ending, &n) || n.of < 2)
		return 0;
	f->fd = dir_of(path, &f->path, &name, e);
	if (f->fd < 0)
		return -1;
	buf_put(&index, name, n.prefix);
	buf_printf(&index, "%s" FOLDER_INDEX_END, f->kind->ending);
	if (!buf_string(&index))
		r = err_memory(e);
	else if (dir_look(f->fd, (char *)index.p, &st) == 0)
		r = read_index(f, (char *)index.p, e) < 0 ? -1 : 1;
	else
		left_alone(name, (char *)index.p, note);
	for (i = 0; r > 0 && i < f->shard_count; i++)
		if (strcmp(f->shards[i].name, name) == 0)
			break;
	if (r > 0 && i == f->shard_count)
		r = err_set(e, ERR_CORRUPT, path, "is not named by the index %s beside it",
		            (char *)index.p);
	buf_free(&index);
	return r;
}

int
folder_find(struct folder *f, const struct folder_kind *kind, const char *path,
            void (*note)(const char *), struct err *e)
{
	struct stat st;

	*f = (struct folder){ .kind = kind, .fd = -1 };
	if (opened_stat(path, &st) < 0)
		return 0;
	if (S_ISREG(st.st_mode) && !begins_like_index(path))
		return find_by_shard(f, path, note, e);
	if (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode))
		return 0;
	f->path = mem_text(path, strlen(path));
	if (!f->path)
		return err_memory(e);
	if (!S_ISDIR(st.st_mode))
		return find_by_index(f, path, e);
	f->fd = opened_folder(path);
	if (f->fd < 0)
		return err_errno(e, path, "cannot be opened");
	return find_in_folder(f, note, e);
}

static void
free_files(struct folder_file *list, size_t n)
{
	while (n > 0)
		free(list[--n].name);
	free(list);
}

void
folder_free(struct folder *f)
{
	free_files(f->shards, f->shard_count);
	free_files(f->files, f->file_count);
	json_decref(f->index);
	free(f->index_name);
	free(f->path);
	if (f->fd >= 0)
		close(f->fd);
	*f = (struct folder){ .fd = -1 };
}
