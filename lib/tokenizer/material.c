#include "tokenizer/material.h"

#include <stdlib.h>
#include <string.h>

#include "core/mem.h"

#define PREFIX "tokenizer."

static const char *const files[] = { "tokenizer.json", "tokenizer_config.json",
	                             "tokenizer.model", "spiece.model", "vocab.json",
	                             "vocab.txt" };

int
material_open(struct material *m, const struct model *plan, struct err *e)
{
	*m = (struct material){ .plan = plan };
	m->blob = mem_array(plan->blob_count, sizeof *m->blob);
	return m->blob ? 0 : err_memory(e);
}

void
material_free(struct material *m)
{
	size_t i;

	for (i = 0; m->blob && i < m->plan->blob_count; i++)
		buf_free(&m->blob[i]);
	free(m->blob);
	*m = (struct material){ 0 };
}

bool
material_wants(const struct material *m, size_t blob)
{
	const struct blob *b = &m->plan->blobs[blob];
	size_t i;

	if (strcmp(b->type, MODEL_VALUE) == 0)
		return strncmp(b->name, MODEL_VALUE_NAME PREFIX,
		               strlen(MODEL_VALUE_NAME PREFIX)) == 0 ||
		       strcmp(b->name, MODEL_VALUE_NAME "vocab") == 0;
	for (i = 0; i < sizeof files / sizeof *files; i++)
		if (strcmp(b->name, files[i]) == 0)
			return true;
	return false;
}

int
material_add(struct material *m, size_t blob, const uint8_t *p, size_t n, struct err *e)
{
	if (!material_wants(m, blob))
		return 0;
	if (n > MATERIAL_BYTES - m->bytes)
		return err_set(e, ERR_MEMORY, m->plan->blobs[blob].name,
		               "a tokenizer of more than %zu MiB is not read",
		               MATERIAL_BYTES >> 20);
	m->bytes += n;
	buf_put(&m->blob[blob], p, n);
	return buf_ok(&m->blob[blob]) ? 0 : err_memory(e);
}

int
material_read(struct material *m, struct source *s, struct err *e)
{
	const uint8_t *p;
	struct item item;
	size_t i, n;

	for (i = 0; i < m->plan->blob_count;) {
		int r = source_next(s, &item, e);

		if (r < 0)
			return -1;
		if (r == 0)
			return err_set(e, ERR_CORRUPT, s->name, "ends before its side files");
		do {
			if (source_read(s, &p, &n, e) < 0)
				return -1;
			if (item.kind == ITEM_BLOB && material_add(m, item.index, p, n, e) < 0)
				return -1;
		} while (n > 0);
		i += item.kind == ITEM_BLOB;
	}
	return 0;
}

const uint8_t *
material_value(const struct material *m, const char *key, struct value_type type,
               size_t *n, struct err *e)
{
	const struct meta *k = model_find(m->plan, key);
	char has[VALUE_TYPE_TEXT], wants[VALUE_TYPE_TEXT];

	*n = 0;
	if (!k)
		return NULL;
	if (k->type.depth != type.depth || k->type.leaf != type.leaf) {
		err_set(e, ERR_CORRUPT, key, "is of type %s, not %s", value_type_text(k->type, has),
		        value_type_text(type, wants));
		return NULL;
	}
	if (k->wire) {
		*n = k->wire_bytes;
		return k->wire;
	}
	*n = m->blob[k->blob].n;
	return m->blob[k->blob].p;
}

const uint8_t *
material_file(const struct material *m, const char *name, size_t *n)
{
	size_t i;

	for (i = 0; i < m->plan->blob_count; i++)
		if (strcmp(m->plan->blobs[i].type, MODEL_VALUE) != 0 &&
		    strcmp(m->plan->blobs[i].name, name) == 0) {
			*n = m->blob[i].n;
			return m->blob[i].p;
		}
	*n = 0;
	return NULL;
}
