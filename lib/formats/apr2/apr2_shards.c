#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/crc32.h"
#include "core/dir.h"
#include "core/mem.h"
#include "core/opened.h"
#include "formats/apr2/apr2.h"
#include "formats/apr2/apr2_manifest.h"
#include "formats/folder.h"

#define ENDING ".apr"

struct shards {
	struct joined joined;
	struct format_options options;
	struct apr2_manifest manifest;
	bool whole;          /* the plan has the tensors of all files */
	int fd;              /* of the folder */
	char *folder;        /* the folder's path */
	char *name, *label;  /* of the manifest: in the folder, and for messages */
};

/* ---- the manifest ---- */

static json_t *
parse(struct reader *r, struct err *e)
{
	struct buf b = { 0 };
	json_t *json = NULL;

	if (reader_left(r) > APR2_MANIFEST_MAX)
		reader_fail(r, ERR_CORRUPT, "a manifest of %" PRIu64 " bytes, at most %u are read",
		            reader_left(r), APR2_MANIFEST_MAX);
	else if (reader_append(r, &b, reader_left(r)) == 0)
		json = json_parse(b.p, b.n, ERR_CORRUPT, r->name, e);
	buf_free(&b);
	return json;
}

/* Read the manifest s->name in the folder, and add the files that it names. 1 or -1. */
static int
read_manifest(struct shards *s)
{
	struct err *e = s->joined.err;
	struct reader r;
	json_t *json;
	size_t i;

	s->label = dir_label(s->folder, s->name);
	if (!s->label)
		return err_memory(e);
	if (dir_open(s->fd, s->name, s->label, &r, e) < 0)
		return -1;
	json = parse(&r, e);
	reader_close(&r);
	if (!json || apr2_manifest_read(&s->manifest, json, s->label, e) < 0)
		return -1;
	for (i = 0; i < s->manifest.count; i++)
		if (joined_add(&s->joined, s->folder, s->manifest.rows[i].file) < 0)
			return -1;
	return 1;
}

/* ---- finding the manifest ---- */

/* True if the file is a manifest, judged by its content. For a file with the name of a
 * manifest, a "{" at its beginning is enough. */
static bool
looks_like_manifest(const char *path)
{
	struct err ignored = ERR_INIT;
	struct reader r;
	json_t *json = NULL;
	const uint8_t *head;
	size_t n;
	bool is;

	if (dir_name_ends(path, ".safetensors.index.json") ||
	    reader_open(&r, path, &ignored) < 0)
		return false;
	head = reader_peek(&r, 1, &n);
	if (head && n == 1 && *head == '{' && r.seekable) {
		if (dir_name_ends(path, APR2_MANIFEST_END)) {
			reader_close(&r);
			return true;
		}
		json = parse(&r, &ignored);
	}
	reader_close(&r);
	is = apr2_is_manifest(json);
	json_decref(json);
	return is;
}

/* True if the file is an APR2 file with the flag SHARDED. */
static bool
is_shard(const struct shards *s, const char *path)
{
	struct err ignored = ERR_INIT;
	struct source *shard;
	struct reader r;
	const uint8_t *head;
	size_t n;
	bool is;

	if (reader_open(&r, path, &ignored) < 0)
		return false;
	head = reader_peek(&r, FORMAT_PROBE, &n);
	if (!head || !r.seekable || !format_apr2.probe(head, n)) {
		reader_close(&r);
		return false;
	}
	shard = apr2_open_shard(&r, &s->options, NULL, &ignored);
	is = shard && apr2_is_sharded(shard);
	source_close(shard);
	return is;
}

/* path is a manifest with any name. */
static int
find_by_manifest(struct shards *s, const char *path)
{
	const char *name;

	s->fd = dir_of(path, &s->folder, &name, s->joined.err);
	if (s->fd < 0)
		return -1;
	s->name = mem_text(name, strlen(name));
	return s->name ? read_manifest(s) : err_memory(s->joined.err);
}

/* path is PREFIX-00002-of-00003.apr: PREFIX.apr.json must exist and name it. */
static int
find_by_shard(struct shards *s, const char *path)
{
	struct err *e = s->joined.err;
	struct dir_number n;
	struct buf b = { 0 };
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	size_t i;

	if (!dir_numbered(name, ENDING, &n) || !is_shard(s, path))
		return 0;
	s->fd = dir_of(path, &s->folder, &name, e);
	if (s->fd < 0)
		return -1;
	buf_put(&b, name, n.prefix);
	buf_text(&b, APR2_MANIFEST_END);
	if (buf_string(&b))
		s->name = mem_text((char *)b.p, b.n);
	buf_free(&b);
	if (!s->name)
		return err_memory(e);
	if (read_manifest(s) < 0)
		return -1;
	for (i = 0; i < s->manifest.count; i++)
		if (strcmp(s->manifest.rows[i].file, name) == 0)
			return 1;
	return err_set(e, ERR_CORRUPT, path, "is not named by the manifest %s beside it",
	               s->name);
}

/* path is a folder with one manifest. 0 if the folder also holds other weights: which
 * model the user means is then unclear. */
static int
find_in_folder(struct shards *s, const char *path)
{
	struct dir_names list = { 0 };
	size_t i, found = 0;
	bool foreign = false, gguf = false;
	int r = dir_list(s->fd, path, &list, s->joined.err);

	for (i = 0; r == 0 && i < list.n; i++) {
		foreign |= folder_is_weights(list.p[i]);
		gguf |= dir_name_ends(list.p[i], ".gguf");
		if (!dir_name_ends(list.p[i], APR2_MANIFEST_END) || found++)
			continue;
		s->name = mem_text(list.p[i], strlen(list.p[i]));
	}
	if (r == 0 && !foreign && (found > 1 || (found == 1 && gguf))) {
		r = err_set(s->joined.err, ERR_FORMAT, path, "holds %zu manifest%s of APR2 files%s",
		            found, found == 1 ? "" : "s", gguf ? ", and GGUF files" : "");
		err_hint(s->joined.err, "the one that is meant can be read by its own name");
	} else if (r == 0 && !foreign && found == 1) {
		s->folder = mem_text(path, strlen(path));
		r = s->folder && s->name ? read_manifest(s) : err_memory(s->joined.err);
	}
	dir_names_free(&list);
	return r;
}

/* 1 if path is a manifest, a shard or such a folder, 0 if not, or -1. */
static int
find(struct shards *s, const char *path)
{
	struct stat st;

	if (opened_stat(path, &st) < 0)
		return 0;
	if (S_ISREG(st.st_mode))
		return looks_like_manifest(path) ? find_by_manifest(s, path)
		                                 : find_by_shard(s, path);
	if (!S_ISDIR(st.st_mode))
		return 0;
	s->fd = opened_folder(path);
	if (s->fd < 0)
		return err_errno(s->joined.err, path, "cannot be opened");
	return find_in_folder(s, path);
}

/* ---- checking that the shards belong together ---- */

/* Check that the file is the one in the manifest: its footer is compared before any data is
 * read, and reading the data proves the footer. */
static int
prove_file(const struct shards *s, size_t i, struct source *shard)
{
	const struct apr2_manifest_row *row = &s->manifest.rows[i];
	const char *label = s->joined.parts[i].label;
	struct err *e = s->joined.err;
	uint64_t bytes;
	uint32_t crc, all;
	bool known = apr2_file_crc(shard, &crc, &all, &bytes);

	if (row->bytes != MODEL_NONE && row->bytes != bytes)
		return err_set(e, ERR_CORRUPT, label, "has %" PRIu64 " bytes, but by the manifest "
		               "it has %" PRIu64, bytes, row->bytes);
	if (!row->has_crc)
		return 0;
	if (!known)
		return err_set(e, ERR_CORRUPT, label, "does not end with a footer");
	if (!crc32_same(crc, row->crc) && !crc32_same(all, row->crc))
		return err_set(e, ERR_CHECKSUM, label, "is not the file that the manifest names: "
		               "its CRC is 0x%08" PRIx32 ", not 0x%08" PRIx32, crc, row->crc);
	return 0;
}

static struct source *
open_shard(struct joined *j, size_t i)
{
	struct shards *s = (struct shards *)j;
	struct source *shard;
	struct reader r;

	if (dir_open(s->fd, j->parts[i].name, j->parts[i].label, &r, j->err) < 0)
		return NULL;
	shard = apr2_open_shard(&r, &s->options, j->source.note, j->err);
	if (shard && prove_file(s, i, shard) == 0 &&
	    (!s->whole || apr2_set_whole(shard, &j->plan, j->err) == 0))
		return shard;
	source_close(shard);
	return NULL;
}

static int
judge(struct joined *j, size_t i, struct source *part)
{
	const struct shards *s = (const struct shards *)j;

	return joined_prove_part(j, i, part->plan->tensors, part->plan->tensor_count,
	                         s->manifest.map, "manifest");
}

static int
read_all(struct shards *s)
{
	struct joined *j = &s->joined;

	if (joined_read(j) < 0 || model_check(&j->plan, s->label, j->err) < 0 ||
	    joined_prove_list(j, s->manifest.map, s->label) < 0)
		return -1;
	s->whole = true;
	return apr2_set_whole(j->head, &j->plan, j->err);
}

static void
close_shards(struct joined *j)
{
	struct shards *s = (struct shards *)j;

	joined_free(j);
	apr2_manifest_free(&s->manifest);
	free(s->folder);
	free(s->name);
	free(s->label);
	if (s->fd >= 0)
		close(s->fd);
	free(s);
}

struct source *
apr2_open_path(const char *path, const struct format_options *options,
               void (*note)(const char *), const struct format **which, struct err *e)
{
	static const struct joined_ops ops = { &format_apr2, "metadata", open_shard, judge,
		NULL, NULL, close_shards };
	struct shards *s = joined_new(sizeof *s, &ops, path, note, e);

	if (!s)
		return NULL;
	s->fd = -1;
	s->options = *options;
	return joined_opened(&s->joined, find(s, path) > 0 && read_all(s) == 0,
	                     &format_apr2_shards, which);
}

/* ---- description ---- */

/* The number of tensors for each codec: {"zstd":20}. */
static json_t *
count_codecs(const struct joined *j)
{
	json_t *o = json_object();
	size_t i;

	for (i = 0; i < j->place_count; i++) {
		const struct codec *c = j->places[i].codec;
		json_int_t n = c ? json_integer_value(json_object_get(o, c->name)) : 0;

		if (c)
			json_object_set_new(o, c->name, json_integer(n + 1));
	}
	return o;
}

/* True if the manifest has the CRC of each file: reading the model then proves all of them. */
static bool
has_crcs(const struct shards *s)
{
	size_t i;

	for (i = 0; i < s->manifest.count && s->manifest.rows[i].has_crc; i++)
		;
	return i > 0 && i == s->manifest.count;
}

/* The description of the first file, without the parts that are not true of all files. */
static json_t *
describe(struct source *source, struct err *e)
{
	static const char *const own[] = { "metadata_bytes", "index_bytes", "data_offset",
		"data_bytes", "checksum", "checksum_verified", "compression" };
	struct shards *s = (struct shards *)source;
	json_t *o = apr2_describe(s->joined.head, e), *codecs;
	size_t i;
	int r;

	if (!o)
		return NULL;
	for (i = 0; i < sizeof own / sizeof *own; i++)
		json_object_del(o, own[i]);
	r = json_object_set_new(o, "manifest", json_string(s->name));
	r |= json_object_set_new(o, "shards", joined_list(&s->joined));
	r |= json_object_set_new(o, "checksum", json_boolean(has_crcs(s)));
	r |= json_object_set_new(o, "checksum_verified", json_false());
	codecs = count_codecs(&s->joined);
	if (json_object_size(codecs) > 0)
		r |= json_object_set(o, "compression", codecs);
	json_decref(codecs);
	if (r == 0)
		return o;
	json_decref(o);
	err_memory(e);
	return NULL;
}

static const struct format_reads reads = {
	.describe = describe,
	.tensor_offset = joined_tensor_offset,
	.tensor_stored = joined_tensor_stored,
	.tensor_file = joined_tensor_file,
};

const struct format format_apr2_shards = {
	.name = "apr2",
	.title = "APR2 in shards",
	.reads = &reads,
};
