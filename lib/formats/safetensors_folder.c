#include "formats/safetensors_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/mem.h"
#include "core/text.h"

#define INDEX_END ".index.json"
#define SHARD_END ".safetensors"
#define CACHE "../../blobs"   /* where links of a cache's snapshot lead */

bool
folder_name_is_plain(const char *name)
{
	size_t i, n = strlen(name);

	if (n == 0 || n > 255 || *name == '.' || !text_utf8(name, n, false))
		return false;
	for (i = 0; i < n; i++)
		if (name[i] == '/' || (uint8_t)name[i] < 0x20 || name[i] == 0x7f)
			return false;
	return true;
}

char *
folder_label(const char *path, const char *name)
{
	struct buf b = { 0 };
	size_t n = strlen(path);

	buf_text(&b, path);
	if (n > 0 && path[n - 1] != '/')
		buf_text(&b, "/");
	buf_text(&b, name);
	if (buf_string(&b))
		return (char *)b.p;
	buf_free(&b);
	return NULL;
}

static bool
ends(const char *s, const char *with)
{
	size_t n = strlen(s), m = strlen(with);

	return n >= m && strcmp(s + n - m, with) == 0;
}

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

/* ---- files, and links that are as good ---- */

static bool
same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* Is the folder one of a cache's snapshots, of which the files are links to
 * ../../blobs/SOMETHING? The text of such a link, or NULL. */
static char *
cache_link(const struct folder *f, const char *name)
{
	struct stat up, snapshots, blobs;
	char text[512];
	ssize_t n = readlinkat(f->fd, name, text, sizeof text - 1);

	if (n < 0)
		return NULL;
	text[n] = '\0';
	if (strncmp(text, CACHE "/", strlen(CACHE "/")) != 0 ||
	    !folder_name_is_plain(text + strlen(CACHE "/")))
		return NULL;
	if (fstatat(f->fd, "..", &up, AT_SYMLINK_NOFOLLOW) < 0 ||
	    fstatat(f->fd, "../../snapshots", &snapshots, AT_SYMLINK_NOFOLLOW) < 0 ||
	    fstatat(f->fd, CACHE, &blobs, AT_SYMLINK_NOFOLLOW) < 0 ||
	    !same_file(&up, &snapshots) || !S_ISDIR(blobs.st_mode))
		return NULL;
	return mem_text(text, (size_t)n);
}

/* What name is, a cache's link followed. */
static int
look(const struct folder *f, const char *name, struct stat *st)
{
	char *link;
	int r;

	if (fstatat(f->fd, name, st, AT_SYMLINK_NOFOLLOW) < 0)
		return -1;
	if (!S_ISLNK(st->st_mode) || !(link = cache_link(f, name)))
		return 0;
	r = fstatat(f->fd, link, st, AT_SYMLINK_NOFOLLOW);
	free(link);
	return r;
}

int
folder_open(const struct folder *f, const char *name, const char *label,
            struct reader *r, struct err *e)
{
	char *link = cache_link(f, name);
	struct stat st;
	int fd;

	*r = (struct reader){ .fd = -1, .err = e, .failed = true };
	/* A pipe of that name must not keep us waiting. */
	fd = openat(f->fd, link ? link : name,
	            O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	free(link);
	if (fd < 0 && errno == ELOOP)
		return err_set(e, ERR_CORRUPT, label, "is a link, which is not followed");
	if (fd < 0)
		return err_errno(e, label, "cannot be opened");
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		close(fd);
		return err_set(e, ERR_CORRUPT, label, "is no regular file");
	}
	if (reader_fd(r, fd, label, e) < 0) {
		close(fd);
		return -1;
	}
	r->owns_fd = true;
	return 0;
}

/* ---- the index ---- */

/* PREFIX-00002-of-00003.safetensors: the numbers, and the length of PREFIX. */
static bool
numbered(const char *name, uint64_t *number, uint64_t *of, size_t *prefix)
{
	size_t n = strlen(name), end = strlen("-00000-of-00000" SHARD_END);
	char a[6] = { 0 }, b[6] = { 0 };

	if (n <= end || !ends(name, SHARD_END))
		return false;
	*prefix = n - end;
	name += *prefix;
	memcpy(a, name + 1, 5);
	memcpy(b, name + 10, 5);
	return name[0] == '-' && memcmp(name + 6, "-of-", 4) == 0 &&
	       text_u64(a, 1, 99999, number) == 0 && text_u64(b, 1, 99999, of) == 0;
}

/* Names with numbers tell whether one is missing. */
static int
check_numbers(const struct folder *f, const char *label, struct err *e)
{
	const char *first = f->shards[0].name;
	uint64_t number, of, all;
	size_t i, prefix, same;

	if (!numbered(first, &number, &all, &same))
		return 0;
	for (i = 0; i < f->shard_count; i++) {
		const char *name = f->shards[i].name;

		if (!numbered(name, &number, &of, &prefix) || prefix != same || of != all ||
		    memcmp(name, first, same) != 0)
			return err_set(e, ERR_CORRUPT, label, "names %s, which does not belong "
			               "to %s", name, first);
		if (number != i + 1)
			return err_set(e, ERR_CORRUPT, label, "does not name shard %zu of %"
			               PRIu64, i + 1, all);
	}
	if (f->shard_count != all)
		return err_set(e, ERR_CORRUPT, label, "does not name shard %zu of %" PRIu64,
		               f->shard_count + 1, all);
	return 0;
}

/* The files that the index names, each once. */
static int
list_shards(struct folder *f, const char *label, struct err *e)
{
	json_t *map = json_object_get(f->index, "weight_map"), *seen = json_object(), *v;
	const char *tensor, *name;
	int r = seen ? 0 : err_memory(e);

	json_object_foreach(map, tensor, v) {
		name = json_string_value(v);
		if (r < 0)
			break;
		if (!name || !folder_name_is_plain(name)) {
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

static int
parse_index(struct folder *f, struct reader *r, struct err *e)
{
	struct buf b = { 0 };
	json_t *metadata;
	int status = -1;

	if (reader_left(r) > SAFETENSORS_HEADER_MAX)
		reader_fail(r, ERR_CORRUPT, "an index of %" PRIu64 " bytes, at most %u are read",
		            reader_left(r), SAFETENSORS_HEADER_MAX);
	else if (reader_append(r, &b, reader_left(r)) == 0)
		f->index = json_parse(b.p, b.n, ERR_CORRUPT, r->name, e);
	buf_free(&b);
	if (!f->index)
		return -1;
	metadata = json_object_get(f->index, "metadata");
	if (!json_is_object(json_object_get(f->index, "weight_map")))
		err_set(e, ERR_FORMAT, r->name,
		        "is JSON, but no index of safetensors files: it has no weight_map");
	else if (metadata && !json_is_object(metadata))
		err_set(e, ERR_CORRUPT, r->name, "is an index whose metadata is no object");
	else
		status = list_shards(f, r->name, e);
	return status;
}

static int
read_index(struct folder *f, const char *name, struct err *e)
{
	char *label = folder_label(f->path, name);
	struct reader r;
	int status = -1;

	f->index_name = mem_text(name, strlen(name));
	if (!label || !f->index_name)
		status = err_memory(e);
	else if (folder_open(f, name, label, &r, e) == 0)
		status = parse_index(f, &r, e);
	if (label && f->index_name)
		reader_close(&r);
	free(label);
	return status;
}

/* ---- side files ---- */

/* By its end: what other programs keep weights in, or code that builds them. */
static bool
named_like_weights(const char *name)
{
	static const char *const ending[] = { SHARD_END, ".bin", ".pt", ".pth", ".ckpt",
		".pkl", ".pickle", ".gguf", ".ggml", ".onnx", ".onnx_data", ".h5", ".hdf5",
		".keras", ".tflite", ".pb", ".msgpack", ".npy", ".npz", ".apr", ".aprs",
		".mlmodel", ".nemo", ".ot", ".tar", ".zip", ".gz" };
	size_t i;

	for (i = 0; i < sizeof ending / sizeof *ending; i++)
		if (ends(name, ending[i]))
			return true;
	return false;
}

/* By its first bytes: some format of ours. 1, 0, or -1 where it cannot be read. */
static int
begins_like_weights(const struct folder *f, const char *name, struct err *e)
{
	char *label = folder_label(f->path, name);
	const struct format *format;
	const uint8_t *head = NULL;
	struct reader r = { .fd = -1 };
	size_t n;
	unsigned i;
	int found = 0;

	if (!label)
		return err_memory(e);
	if (folder_open(f, name, label, &r, e) == 0)
		head = reader_peek(&r, FORMAT_PROBE, &n);
	for (i = 0; head && !found && (format = format_row(i)); i++)
		found = format->probe(head, n);
	reader_close(&r);
	free(label);
	return head ? found : -1;
}

/* Why a file is left behind, or NULL. */
static const char *
reason(const char *name, const struct stat *st)
{
	if (S_ISDIR(st->st_mode))
		return "is a folder";
	if (S_ISLNK(st->st_mode))
		return "is a link";
	if (!S_ISREG(st->st_mode))
		return "is no regular file";
	if (*name == '.')
		return "begins with a dot";
	if (!folder_name_is_plain(name) || strncmp(name, "value:", 6) == 0)
		return "has a name that cannot travel";
	if (named_like_weights(name))
		return "holds weights";
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

static int
take_file(struct folder *f, const char *name, void (*note)(const char *), struct err *e)
{
	const char *why;
	struct stat st;
	int weights;

	if (is_part(f, name))
		return 0;
	if (look(f, name, &st) < 0) {
		left_behind(name, "cannot be looked at", note);
		return 0;
	}
	why = reason(name, &st);
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
list_folder(const struct folder *f, struct folder_file **list, size_t *count,
            struct err *e)
{
	int fd = openat(f->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *x;
	size_t cap = 0;
	int r = 0;

	if (!d) {
		if (fd >= 0)
			close(fd);
		return err_errno(e, f->path, "cannot be read");
	}
	for (errno = 0; r == 0 && (x = readdir(d)); errno = 0)
		if (strcmp(x->d_name, ".") != 0 && strcmp(x->d_name, "..") != 0)
			r = add_file(list, count, &cap, x->d_name, 0, e);
	if (r == 0 && errno)
		r = err_errno(e, f->path, "cannot be read");
	closedir(d);
	if (*count)
		qsort(*list, *count, sizeof **list, by_name);
	return r;
}

static bool
has(const struct folder_file *list, size_t n, const char *name)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (strcmp(list[i].name, name) == 0)
			return true;
	return false;
}

/* The only file with that end, or NULL; *found tells how many there are. */
static const char *
only(const struct folder_file *list, size_t n, const char *ending, size_t *found)
{
	const char *name = NULL;
	size_t i;

	*found = 0;
	for (i = 0; i < n; i++)
		if (ends(list[i].name, ending)) {
			name = list[i].name;
			++*found;
		}
	return *found == 1 ? name : NULL;
}

/* Where the weights are. As transformers looks for them: one file before an index,
 * the usual names before others. */
static int
choose(struct folder *f, const struct folder_file *list, size_t n, struct err *e)
{
	const char *single = FOLDER_SINGLE, *index = FOLDER_INDEX;
	size_t files, indexes;

	if (!has(list, n, single)) {
		single = NULL;
		if (!has(list, n, index))
			index = only(list, n, SHARD_END INDEX_END, &indexes);
		if (!index)
			single = only(list, n, SHARD_END, &files);
		if (!index && !single && files == 0)
			return err_set(e, ERR_IO, f->path, "holds no safetensors file, and is a "
			               "directory");
		if (!index && !single) {
			err_set(e, ERR_FORMAT, f->path, "holds %zu safetensors files, and no "
			        "index that makes them one model", files);
			return err_hint(e, "a file of it can be read by its own name");
		}
	}
	if (single)
		return add_file(&f->shards, &f->shard_count, &f->shard_cap, single, 0, e);
	return read_index(f, index, e);
}

static int
find_in_folder(struct folder *f, void (*note)(const char *), struct err *e)
{
	struct folder_file *list = NULL;
	size_t i, n = 0;
	int r = list_folder(f, &list, &n, e);

	if (r == 0)
		r = choose(f, list, n, e);
	for (i = 0; r == 0 && i < n; i++)
		r = take_file(f, list[i].name, note, e);
	for (i = 0; i < n; i++)
		free(list[i].name);
	free(list);
	return r < 0 ? -1 : 1;
}

/* Does a file that cannot be binary begin like JSON? */
static bool
begins_like_index(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	char c = 0;
	bool like = fd >= 0 && read(fd, &c, 1) == 1 && c == '{';

	if (fd >= 0)
		close(fd);
	return like;
}

/* The folder in which the index lies, and its name there. */
static int
find_by_index(struct folder *f, const char *path, struct err *e)
{
	const char *slash = strrchr(path, '/');

	free(f->path);
	f->path = slash ? mem_text(path, (size_t)(slash - path) + 1) : mem_text("", 0);
	if (!f->path)
		return err_memory(e);
	f->fd = open(slash ? f->path : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (f->fd < 0)
		return err_errno(e, path, "lies in a folder that cannot be opened");
	return read_index(f, slash ? slash + 1 : path, e) < 0 ? -1 : 1;
}

int
folder_find(struct folder *f, const char *path, void (*note)(const char *),
            struct err *e)
{
	struct stat st;

	*f = (struct folder){ .fd = -1 };
	if (stat(path, &st) < 0)
		return 0;
	if (!S_ISDIR(st.st_mode) && !(S_ISREG(st.st_mode) && begins_like_index(path)))
		return 0;
	f->path = mem_text(path, strlen(path));
	if (!f->path)
		return err_memory(e);
	if (!S_ISDIR(st.st_mode))
		return find_by_index(f, path, e);
	f->fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
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
