#include "diff/mapping.h"

#include "core/json.h"
#include "core/reader.h"

/* A schema has an array of rows, and a map only names. */
static int
read_schema(struct schema *s, const void *text, size_t n, const char *where, struct err *e)
{
	json_t *o = json_parse(text, n, ERR_CORRUPT, where, e);
	bool rows = json_is_array(json_object_get(o, "tensors"));

	if (!o)
		return -1;
	json_decref(o);
	return rows ? schema_read(s, text, n, where, e) : schema_read_map(s, text, n, where, e);
}

int
diff_mapping_read(struct diff_mapping *m, const void *text, size_t n, const char *where,
                  const struct model *a, const struct model *b, struct err *e)
{
	const struct model *model[2] = { a, b };
	struct rename r = { 0 };
	size_t i;
	int status = read_schema(&r.schema, text, n, where, e);

	*m = (struct diff_mapping){ 0 };
	for (i = 0; status == 0 && i < 2; i++) {
		status = rename_find(&r, model[i], where, &m->renames, e);
		if (status == 0 && m->renames.changed > 0) {
			m->names[i] = m->renames.name;
			break;
		}
		renames_free(&m->renames);
		m->renames = (struct renames){ 0 };
	}
	rename_free(&r);
	if (status == 0 && i == 2)
		return err_set(e, ERR_USAGE, where, "neither model has a tensor with a name of it");
	return status;
}

int
diff_mapping_open(struct diff_mapping *m, const char *path, const struct model *a,
                  const struct model *b, struct err *e)
{
	struct buf text = { 0 };
	int status = reader_file(path, SCHEMA_BYTES, &text, e);

	*m = (struct diff_mapping){ 0 };
	if (status == 0)
		status = diff_mapping_read(m, text.p, text.n, path, a, b, e);
	buf_free(&text);
	return status;
}

void
diff_mapping_free(struct diff_mapping *m)
{
	renames_free(&m->renames);
	*m = (struct diff_mapping){ 0 };
}
