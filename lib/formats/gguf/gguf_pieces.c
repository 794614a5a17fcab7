#include <stdlib.h>
#include <string.h>

#include "formats/gguf/gguf.h"
#include "formats/pieces.h"

/* ---- source ---- */

static bool
is_gguf(const struct pieces *s)
{
	return model_source_is(s->plan, format_gguf.name);
}

/* The index order of file i: the positions of its tensors, taken from the index of the model
 * and counted from its first tensor. */
static json_t *
piece_order(const struct pieces *s, size_t i)
{
	json_t *all = json_object_get(s->plan->source, "index_order"), *list = json_array();
	const struct piece *p = &s->pieces[i];
	json_t *v;
	size_t k;
	uint64_t at;
	int r = list ? 0 : -1;

	json_array_foreach(all, k, v)
		if (json_value_u64(v, &at) == 0 && at >= p->first && at - p->first < p->count)
			r |= json_array_append_new(list, json_from_u64(at - p->first));
	if (r == 0)
		return list;
	json_decref(list);
	return NULL;
}

/* The member source of file i. The first file has that of the model; the others have only the
 * members about their data. Only the last file has the end padding of the model. */
static json_t *
piece_source(const struct pieces *s, size_t i)
{
	bool last = i + 1 == s->piece_count;
	json_t *all = s->plan->source, *source, *order;
	int r = 0;

	if (!is_gguf(s) || s->piece_count == 1)
		return json_deep_copy(all);
	source = i == 0 ? json_deep_copy(all) : json_pack("{s:s}", "format", format_gguf.name);
	if (i > 0 && json_object_get(all, "alignment"))
		r |= json_object_set(source, "alignment", json_object_get(all, "alignment"));
	json_object_del(source, "end_padded");
	if (last && json_object_get(all, "end_padded"))
		r |= json_object_set(source, "end_padded", json_object_get(all, "end_padded"));
	if (json_object_get(all, "index_order")) {
		order = piece_order(s, i);
		r |= json_object_set_new(source, "index_order", order);
	}
	if (r == 0)
		return source;
	json_decref(source);
	return NULL;
}

/* The index order of the model, if joining the files would give another order. A list that is
 * not an order is ignored, as in a single file. */
static json_t *
odd_order(const struct pieces *s)
{
	json_t *all = json_object_get(s->plan->source, "index_order"), *v;
	uint64_t at;
	size_t k, i = 0;

	if (!is_gguf(s) || json_array_size(all) != s->plan->tensor_count)
		return NULL;
	json_array_foreach(all, k, v) {
		while (k >= s->pieces[i].first + s->pieces[i].count)
			i++;
		if (json_value_u64(v, &at) < 0 || at < s->pieces[i].first ||
		    at - s->pieces[i].first >= s->pieces[i].count)
			return all;
	}
	return NULL;
}

/* ---- outputs ---- */

static struct sink *
create_piece(struct pieces *s, size_t i, struct out *o, struct err *e)
{
	struct gguf_split split = { i, s->piece_count, s->plan->tensor_count };
	struct format_options options = s->options;

	if (s->piece_count == 1)
		split.count = 0;
	if (i > 0)
		options.reserve = 0;
	return gguf_create_shard(o, &options, s->plan, &split,
	                         i == 0 && split.count ? odd_order(s) : NULL, e);
}

struct sink *
gguf_create_shards(const struct out_options *where, const struct format_options *options,
                   struct err *e)
{
	static const struct pieces_ops ops = { .ending = ".gguf", .unit = GGUF_ALIGN,
		.most = GGUF_SHARDS, .source = piece_source, .create = create_piece,
		.settle = gguf_settle, .rename = gguf_rename };

	return pieces_create(where, false, options, &ops, e);
}
