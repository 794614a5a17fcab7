#include <stdlib.h>
#include <string.h>

#include "core/dir.h"
#include "formats/folder.h"

#define CONFIG_BYTES ((uint64_t)1 << 20) /* maximum size; real files have a few hundred bytes */
#define MEMBERS 64
#define TEXT_BYTES 128

/* The file as JSON, or NULL if it is not a JSON object. */
static json_t *
read_config(const struct folder *f, const char *label)
{
	struct err fault = ERR_INIT;
	struct buf b = { 0 };
	struct reader r;
	json_t *o = NULL;

	if (dir_open(f->fd, FOLDER_CONFIG, label, &r, &fault) < 0)
		return NULL;
	if (reader_left(&r) <= CONFIG_BYTES && reader_append(&r, &b, reader_left(&r)) == 0)
		o = json_parse(b.p, b.n, ERR_CORRUPT, label, &fault);
	reader_close(&r);
	buf_free(&b);
	return o;
}

static bool
is_short(const json_t *v)
{
	return json_is_number(v) || json_is_boolean(v) ||
	       (json_is_string(v) && json_string_length(v) <= TEXT_BYTES);
}

/* The scalar members, or NULL if there is no model_type. */
static json_t *
scalars(json_t *config)
{
	const char *type, *name;
	json_t *o, *v;

	if (json_member_text(config, "model_type", &type) < 0 || !*type ||
	    !is_short(json_object_get(config, "model_type")))
		return NULL;
	o = json_object();
	json_object_set(o, "model_type", json_object_get(config, "model_type"));
	json_object_foreach(config, name, v)
		if (is_short(v) && strlen(name) <= TEXT_BYTES && json_object_size(o) < MEMBERS)
			json_object_set(o, name, v);
	return o;
}

int
folder_config(const struct folder *f, struct model *m, struct err *e)
{
	json_t *config = NULL, *o = NULL;
	char *label;
	size_t i;

	for (i = 0; i < f->file_count; i++)
		if (strcmp(f->files[i].name, FOLDER_CONFIG) == 0)
			break;
	if (i == f->file_count)
		return 0;
	label = dir_label(f->path, FOLDER_CONFIG);
	if (!label)
		return err_memory(e);
	config = read_config(f, label);
	o = scalars(config);
	json_decref(config);
	free(label);
	if (!o)
		return 0;
	model_set_folder(m, f->path);
	return model_source_set(m, MODEL_CONFIG, o, e);
}
