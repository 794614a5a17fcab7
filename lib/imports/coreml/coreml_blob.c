/* Weight files of programs. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/dir.h"
#include "core/le.h"
#include "core/mem.h"
#include "core/num.h"
#include "imports/coreml/coreml_program.h"

#define SENTINEL 0xdeadbeefu
#define RECORD 64u
#define BESIDE "@model_path/"

/* ---- files ---- */

static int
find_folder(struct coreml *s, const char *name)
{
	const char *file;

	if (s->package.folder >= 0)
		return 0;
	if (s->import.reader.fd < 0 || !s->import.reader.seekable ||
	    strcmp(s->import.source.name, "<stdin>") == 0) {
		err_set(s->import.err, ERR_FORMAT, name, "has its values in another file, which cannot be "
		        "found from a pipe");
		return err_hint(s->import.err, "name the package (.mlpackage) instead");
	}
	s->package.folder = dir_of(s->import.source.name, &s->package.path, &file, s->import.err);
	return s->package.folder < 0 ? -1 : 0;
}

/* The path of a file in s->package.folder, in a new string: text is "@model_path/PATH". */
static char *
path_of(struct coreml *s, const char *name, const uint8_t *text, uint64_t n)
{
	const size_t skip = strlen(BESIDE);
	struct buf b = { 0 };

	if (n > skip && n < 512 && memcmp(text, BESIDE, skip) == 0 && !memchr(text, 0, (size_t)n)) {
		buf_text(&b, s->package.inside ? s->package.inside : "");
		buf_put(&b, text + skip, (size_t)n - skip);
		if (!buf_string(&b))
			err_memory(s->import.err);
		else if (dir_name_is_plain((char *)b.p) || dir_name_in_package((char *)b.p))
			return (char *)b.p;
	}
	buf_free(&b);
	err_set(s->import.err, ERR_CORRUPT, name, "has its values in a file that is not in the package");
	return NULL;
}

static int
open_blob(struct coreml *s, struct coreml_file *file, const char *path)
{
	char *label = dir_label(s->package.path, path);

	if (!label)
		return err_memory(s->import.err);
	file->map = import_beside(&s->import, s->package.folder, path, label);
	free(label);
	if (!file->map)
		return -1;
	file->p = file->map->p;
	file->n = file->map->n;
	return 0;
}

/* The file of this name, mapped. NULL: an error. */
static const struct coreml_file *
find_file(struct coreml *s, const char *name, const struct protobuf_field *location)
{
	struct coreml_file *file;
	char *path;
	size_t i;

#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
	/* A fuzzer has one input: it is model and weights. */
	s->files[0] = (struct coreml_file){ .p = s->import.p, .n = s->import.n, .path = s->files[0].path };
	return &s->files[0];
#endif
	if (find_folder(s, name) < 0 ||
	    !(path = path_of(s, name, location->p, location->value)))
		return NULL;
	for (i = 0; i < s->file_count; i++)
		if (strcmp(s->files[i].path, path) == 0) {
			free(path);
			return &s->files[i];
		}
	if (i == COREML_FILES) {
		free(path);
		err_set(s->import.err, ERR_CORRUPT, name, "is in one weight file too many: %d are read",
		        COREML_FILES);
		return NULL;
	}
	file = &s->files[s->file_count++];
	*file = (struct coreml_file){ .path = path };
	if (open_blob(s, file, path) < 0)
		return NULL;
	if (file->n >= RECORD && le32(file->p + 4) == 2)
		return file;
	err_set(s->import.err, ERR_CORRUPT, name, "has its values in %s, which is not a weight file of "
	        "version 2", path);
	return NULL;
}

/* ---- records ---- */

/* Prove a record against the type, and set the place of the values. */
static int
take_record(struct coreml *s, const char *name, const struct coreml_file *file, uint64_t offset,
            struct coreml_value *v)
{
	const uint8_t *record;
	uint64_t bytes, at, end;

	if (offset > file->n || file->n - offset < RECORD)
		return err_set(s->import.err, ERR_CORRUPT, name, "has a record at byte %" PRIu64
		               " of a weight file of %" PRIu64 " bytes", offset, file->n);
	record = file->p + offset;
	if (le32(record) != SENTINEL)
		return err_set(s->import.err, ERR_CORRUPT, name, "has a record at byte %" PRIu64
		               " where the weight file has none", offset);
	if (le32(record + 4) != v->type->blob || v->type->blob == 0)
		return err_set(s->import.err, ERR_CORRUPT, name, "has a record of type %" PRIu32 ", which is "
		               "not its own", le32(record + 4));
	bytes = le64(record + 8);
	at = le64(record + 16);
	if (coreml_prove_size(s, name, v, bytes) < 0)
		return -1;
	if (num_add(at, bytes, &end) < 0 || end > file->n)
		return err_set(s->import.err, ERR_CORRUPT, name, "has %" PRIu64 " bytes at byte %" PRIu64
		               " of a weight file of %" PRIu64 " bytes", bytes, at, file->n);
	if (v->type->bits < 8 && le64(record + 24) != (8 - v->items % 8 * v->type->bits % 8) % 8)
		return err_set(s->import.err, ERR_CORRUPT, name, "has a record with a wrong number of unused "
		               "bits");
	v->p = file->p + at;
	v->map = file->map;
	return 1;
}

int
coreml_blob(struct coreml *s, const char *name, const struct protobuf_field *from,
            struct coreml_value *v)
{
	struct protobuf_field f, location = { .p = NULL };
	const struct coreml_file *file;
	uint64_t offset = 0;
	struct protobuf m;
	int r;

	protobuf_open(&m, from->p, (size_t)from->value, s->import.source.name, s->import.err);
	while ((r = protobuf_next(&m, &f)) > 0) {
		if (f.number == 1 && f.form == PROTOBUF_BYTES)
			location = f;
		if (f.number == 2 && f.form == PROTOBUF_VARINT)
			offset = f.value;
	}
	if (r < 0)
		return -1;
	file = find_file(s, name, &location);
	return file ? take_record(s, name, file, offset, v) : -1;
}

void
coreml_blobs_free(struct coreml *s)
{
	while (s->file_count > 0)
		free(s->files[--s->file_count].path);
}
