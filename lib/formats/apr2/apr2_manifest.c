#include "formats/apr2/apr2_manifest.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/dir.h"
#include "core/mem.h"
#include "model/model.h"

#define ENDING ".apr"

bool
apr2_is_manifest(const json_t *json)
{
	return json_is_array(json_object_get(json, "shards"));
}

/* ---- reading ---- */

/* Check the members about the shards as a whole. */
static int
read_facts(const json_t *o, size_t rows, const char *label, struct err *e)
{
	const json_t *sharded = json_object_get(o, "sharded");
	const char *version;
	uint64_t count;

	if (json_member_text(o, "apr_version", &version) < 0 &&
	    json_member_text(o, "version", &version) < 0)
		return err_set(e, ERR_CORRUPT, label, "is a manifest without apr_version");
	if (strncmp(version, "2.", 2) != 0)
		return err_set(e, ERR_VERSION, label, "is a manifest of APR version %.40s, but "
		               "only 2.x is read here", version);
	if (sharded && !json_is_true(sharded))
		return err_set(e, ERR_CORRUPT, label, "says that the model is not sharded");
	if (json_member_u64(o, "shard_count", &count) < 0 || count != rows)
		return err_set(e, ERR_CORRUPT, label, "lists %zu shards, but its shard_count says "
		               "otherwise", rows);
	return 0;
}

static int
read_crc(struct apr2_manifest_row *row, const json_t *v)
{
	const char *text = json_string_value(v);

	row->has_crc = v != NULL;
	if (json_is_integer(v)) {
		row->crc = (uint32_t)json_integer_value(v);
		return json_integer_value(v) == (json_int_t)row->crc ? 0 : -1;
	}
	if (!v)
		return 0;
	if (text && strncmp(text, "0x", 2) == 0)
		text += 2;
	if (!text || strlen(text) != 8 || strspn(text, "0123456789abcdefABCDEF") != 8)
		return -1;
	row->crc = (uint32_t)strtoul(text, NULL, 16);
	return 0;
}

static int
read_row(struct apr2_manifest *m, size_t i, const json_t *o, const char *label,
         struct err *e)
{
	struct apr2_manifest_row *row = &m->rows[i];
	const json_t *size = json_object_get(o, "size"), *index = json_object_get(o, "index");
	uint64_t n = i;

	if (json_member_text(o, "file", &row->file) < 0 &&
	    json_member_text(o, "filename", &row->file) < 0)
		return err_set(e, ERR_CORRUPT, label, "names no file for shard %zu", i + 1);
	if (!dir_name_is_plain(row->file))
		return err_set(e, ERR_CORRUPT, label, "says that shard %zu is %s, which is not the "
		               "name of a file beside it", i + 1, row->file);
	row->bytes = MODEL_NONE;
	if (size && json_value_u64(size, &row->bytes) < 0)
		return err_set(e, ERR_CORRUPT, label, "gives %s a size that is not a number",
		               row->file);
	if (index && (json_value_u64(index, &n) < 0 || n != i))
		return err_set(e, ERR_CORRUPT, label, "lists %s as shard %zu, but gives it "
		               "another index", row->file, i + 1);
	if (read_crc(row, json_object_get(o, "crc32")) < 0)
		return err_set(e, ERR_CORRUPT, label, "gives %s a crc32 that is not 8 hexadecimal "
		               "digits", row->file);
	return 0;
}

/* Check that no file is named twice, and that names with numbers are in their order. */
static int
check_names(const struct apr2_manifest *m, const char *label, struct err *e)
{
	struct dir_number first, n;
	bool numbered = dir_numbered(m->rows[0].file, ENDING, &first);
	json_t *seen = json_object();
	size_t i;
	int r = seen ? 0 : err_memory(e);

	for (i = 0; r == 0 && i < m->count; i++) {
		const char *file = m->rows[i].file;

		if (json_object_get(seen, file))
			r = err_set(e, ERR_CORRUPT, label, "names %s for two shards", file);
		else if (json_object_set_new(seen, file, json_true()) < 0)
			r = err_memory(e);
		if (r < 0 || !numbered)
			continue;
		if (!dir_numbered(file, ENDING, &n) || n.prefix != first.prefix ||
		    n.of != first.of || memcmp(file, m->rows[0].file, n.prefix) != 0)
			r = err_set(e, ERR_CORRUPT, label, "names %s, which does not belong to %s",
			            file, m->rows[0].file);
		else if (n.number != i + 1)
			r = err_set(e, ERR_CORRUPT, label, "lists %s as shard %zu: they are out of "
			            "order", file, i + 1);
	}
	if (r == 0 && numbered && first.of != m->count)
		r = err_set(e, ERR_CORRUPT, label, "does not name shard %zu of %" PRIu64,
		            m->count + 1, first.of);
	json_decref(seen);
	return r;
}

static int
read_map(struct apr2_manifest *m, const char *label, struct err *e)
{
	json_t *map = json_object_get(m->json, "tensor_shard_map"), *v;
	const char *name;
	uint64_t n;

	if (!map)
		map = json_object_get(m->json, "weight_map");
	if (!json_is_object(map))
		return err_set(e, ERR_CORRUPT, label, "is a manifest without tensor_shard_map");
	json_object_foreach(map, name, v)
		if (!json_is_integer(v) || json_value_u64(v, &n) < 0 || n >= m->count)
			return err_set(e, ERR_CORRUPT, label, "says that %s lies in a shard that it "
			               "does not list", name);
	m->map = map;
	return 0;
}

int
apr2_manifest_read(struct apr2_manifest *m, json_t *json, const char *label, struct err *e)
{
	const json_t *rows = json_object_get(json, "shards");
	size_t i, n = json_array_size(rows);

	m->json = json;
	if (!apr2_is_manifest(json))
		return err_set(e, ERR_FORMAT, label, "is not a manifest of APR2 files: it has no "
		               "shards");
	if (n == 0)
		return err_set(e, ERR_CORRUPT, label, "is a manifest that names no file");
	m->rows = mem_array(n, sizeof *m->rows);
	if (!m->rows)
		return err_memory(e);
	m->count = n;
	if (read_facts(json, n, label, e) < 0)
		return -1;
	for (i = 0; i < n; i++)
		if (read_row(m, i, json_array_get(rows, i), label, e) < 0)
			return -1;
	return check_names(m, label, e) < 0 ? -1 : read_map(m, label, e);
}

void
apr2_manifest_free(struct apr2_manifest *m)
{
	json_decref(m->json);
	free(m->rows);
	*m = (struct apr2_manifest){ 0 };
}

/* ---- writing ---- */

static int
append(const char *text, size_t n, void *b)
{
	buf_put(b, text, n);
	return buf_ok(b) ? 0 : -1;
}

static json_t *
list_rows(const struct apr2_manifest_row *rows, size_t count)
{
	json_t *list = json_array();
	char crc[16];
	size_t i;

	for (i = 0; list && i < count; i++) {
		snprintf(crc, sizeof crc, "%08" PRIx32, rows[i].crc);
		if (json_array_append_new(list, json_pack("{s:s,s:o,s:s}", "file", rows[i].file,
		                                          "size", json_from_u64(rows[i].bytes),
		                                          "crc32", crc)) < 0) {
			json_decref(list);
			return NULL;
		}
	}
	return list;
}

int
apr2_manifest_write(const struct apr2_manifest_row *rows, size_t count, json_t *map,
                    struct buf *text, struct err *e)
{
	json_t *json = json_pack("{s:s,s:b,s:I,s:o,s:O}", "apr_version", "2.0.0", "sharded", 1,
	                         "shard_count", (json_int_t)count, "shards",
	                         list_rows(rows, count), "tensor_shard_map", map);
	int r = -1;

	if (json)
		r = json_dump_callback(json, append, text, JSON_INDENT(2));
	json_decref(json);
	buf_text(text, "\n");
	return r < 0 ? err_memory(e) : 0;
}
