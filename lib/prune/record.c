/* The recipe of a pruned model as JSON. */
#include <stdio.h>
#include <string.h>

#include "prune/plan.h"

/* The last part of a path. */
static void
put_file(json_t *o, const char *name, const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	if (path)
		json_object_set_new(o, name, json_string(slash ? slash + 1 : path));
}

static void
put_shape(json_t *o, const struct prune_how *how)
{
	json_t *list = json_array();
	size_t i;

	if (how->heads)
		json_object_set_new(o, "heads", json_integer((json_int_t)how->heads));
	if (how->neurons)
		json_object_set_new(o, "neurons", json_integer((json_int_t)how->neurons));
	for (i = 0; how->layers && i < how->layers->n; i++)
		json_array_append_new(list, json_integer((json_int_t)how->layers->blocks[i]));
	if (json_array_size(list) > 0)
		json_object_set(o, "layers", list);
	json_decref(list);
	put_file(o, "vocab", how->vocab_path);
}

static void
put_rule(json_t *o, const struct prune_how *how)
{
	static const char *const scopes[] = { "row", "tensor", "layer", "global" };
	char text[32];

	switch (how->rule) {
	case PRUNE_SHARE:
		json_object_set_new(o, "sparsity", json_real(how->share));
		json_object_set_new(o, "scope", json_string(scopes[how->scope]));
		break;
	case PRUNE_BELOW:
		json_object_set_new(o, "threshold", json_real((double)how->below));
		break;
	case PRUNE_GROUPS:
		snprintf(text, sizeof text, "%u:%u", how->keep, how->of);
		json_object_set_new(o, "nm", json_string(text));
		break;
	case PRUNE_SHAPE:
		put_shape(o, how);
		break;
	}
}

int
prune_record(const struct prune_how *how, struct buf *to, struct err *e)
{
	json_t *o = json_object(), *list = json_array();
	size_t i;
	int r;

	if (how->rule != PRUNE_SHAPE)
		json_object_set_new(o, "by", json_string(
			how->update ? "sparsegpt" : how->activations ? "wanda" : "magnitude"));
	put_rule(o, how);
	put_file(o, "imatrix", how->imatrix_path);
	put_file(o, "text", how->text_path);
	for (i = 0; i < how->target_count; i++)
		json_array_append_new(list, json_string(how->targets[i].text));
	if (how->target_count)
		json_object_set(o, "target", list);
	json_decref(list);
	r = o ? json_write(o, to) : -1;
	json_decref(o);
	return r < 0 ? err_memory(e) : 0;
}
