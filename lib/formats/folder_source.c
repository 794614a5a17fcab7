/* A folder as one source: its files joined, and the side files. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/dir.h"
#include "formats/folder.h"

/* ---- opening ---- */

void *
folder_source_new(size_t bytes, const struct joined_ops *ops, const char *path,
                  const struct format_options *options, void (*note)(const char *),
                  struct err *e)
{
	struct folder_source *s = joined_new(bytes, ops, path, note, e);

	if (!s)
		return NULL;
	s->options = *options;
	s->reader.fd = -1;
	s->folder.fd = -1;
	return s;
}

int
folder_source_read(struct folder_source *s)
{
	size_t i;

	for (i = 0; i < s->folder.shard_count; i++)
		if (joined_add(&s->joined, s->folder.path, s->folder.shards[i].name) < 0)
			return -1;
	return joined_read(&s->joined);
}

int
folder_source_add_files(struct folder_source *s)
{
	struct joined *j = &s->joined;
	size_t i;

	for (i = 0; i < s->folder.file_count; i++)
		if (model_add_blob(&j->plan, s->folder.files[i].name, FOLDER_BLOB,
		                   s->folder.files[i].bytes, j->err) < 0)
			return -1;
	return model_check(&j->plan, s->folder.path, j->err);
}

void
folder_source_close(struct folder_source *s)
{
	free(s->label);
	reader_close(&s->reader);
	joined_free(&s->joined);
	folder_free(&s->folder);
	free(s);
}

/* ---- the index against the shards ---- */

static int
check_index(const struct folder_source *s, json_t *map, const char *label)
{
	const struct joined *j = &s->joined;
	size_t i;

	for (i = 0; i < j->part_count; i++)
		if (joined_prove_part(j, i, j->plan.tensors + j->parts[i].first,
		                      j->parts[i].count, map, "index") < 0)
			return -1;
	return joined_prove_list(j, map, label);
}

static int
check_size(const struct folder_source *s, const char *label)
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

int
folder_source_prove(const struct folder_source *s, json_t *map)
{
	char *label;
	int r;

	if (!s->folder.index_name)
		return 0;
	label = dir_label(s->folder.path, s->folder.index_name);
	if (!label)
		return err_memory(s->joined.err);
	r = check_index(s, map, label);
	if (r == 0)
		r = check_size(s, label);
	free(label);
	return r;
}

/* ---- side files ---- */

int
folder_source_beside(struct joined *j, struct item *item)
{
	struct folder_source *s = (struct folder_source *)j;
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

int
folder_source_beside_read(struct joined *j, const uint8_t **p, size_t *n)
{
	struct folder_source *s = (struct folder_source *)j;

	if (s->left == 0)
		return 0;
	*p = reader_some(&s->reader, s->left, n);
	s->left -= *n;
	return *p ? 0 : -1;
}
