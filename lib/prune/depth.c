/* Layers that go: names, keys, lists and patterns of the others follow. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arch/hyper.h"
#include "core/le.h"
#include "core/mem.h"
#include "merge/layer.h"
#include "prune/plan.h"

static bool
goes(const struct prune_plan *p, uint64_t layer)
{
	const struct prune *gone = p->how.layers;
	size_t i;

	for (i = 0; i < gone->n; i++)
		if (gone->blocks[i] == layer)
			return true;
	return false;
}

/* The layers that stay, in a new array. */
static int
kept_layers(const struct prune_plan *p, uint64_t **kept, size_t *n, struct err *e)
{
	const struct prune *gone = p->how.layers;
	uint64_t layers = p->in->layers, i;

	*kept = NULL;
	if (layers > PRUNE_LAYERS)
		return err_set(e, ERR_INVALID, p->in->name, "has more than %" PRIu64 " layers",
		               PRUNE_LAYERS);
	if (gone->blocks[gone->n - 1] >= layers)
		return err_set(e, ERR_INVALID, p->in->name, "has %" PRIu64 " layers, numbered from 0: "
		               "%" PRIu64 " is not one of them", layers, gone->blocks[gone->n - 1]);
	if (gone->n == layers)
		return err_set(e, ERR_INVALID, p->in->name, "has %" PRIu64 " layers: none would be left",
		               layers);
	*kept = mem_array((size_t)layers - gone->n, sizeof **kept);
	if (!*kept)
		return err_memory(e);
	for (*n = 0, i = 0; i < layers; i++)
		if (!goes(p, i))
			(*kept)[(*n)++] = i;
	return 0;
}

/* Drop the tensors of layers that go, and number the others anew. */
static int
put_tensors(struct prune_plan *p, const uint64_t *kept, size_t n, struct err *e)
{
	bool *stays = mem_array(p->out.tensor_count, sizeof *stays);
	uint64_t *number = mem_array((size_t)p->in->layers, sizeof *number), layer;
	size_t i, to = 0;
	int r = stays && number ? 0 : err_memory(e);

	for (i = 0; r == 0 && i < n; i++)
		number[kept[i]] = i;
	for (i = 0; r == 0 && i < p->out.tensor_count; i++) {
		layer = p->in->layer[i];
		stays[i] = layer == MERGE_APART || !goes(p, layer);
		if (stays[i])
			p->rows[to++] = p->rows[i];
		p->pruned += !stays[i];
	}
	if (r == 0)
		r = model_keep(&p->out, stays, e);
	for (i = 0; r == 0 && i < p->out.tensor_count; i++) {
		const struct tensor *t = p->out.tensors[i];
		struct tensor *named;
		char *name;

		if ((layer = p->in->layer[p->rows[i].from]) == MERGE_APART || number[layer] == layer)
			continue;
		name = merge_layer_name(tensor_name(t), number[layer], e);
		named = name ? tensor_rename(t, name, e) : NULL;
		free(name);
		if (!named) {
			r = -1;
			break;
		}
		tensor_free(p->out.tensors[i]);
		p->out.tensors[i] = named;
	}
	free(stays);
	free(number);
	return r;
}

/* ---- keys that count from the first layer ---- */

/* The number of layers before the first with experts. */
static int
put_leading(struct prune_plan *p, const uint64_t *kept, size_t n, struct err *e)
{
	static const struct value_type u32 = { 0, VALUE_U32 };
	uint64_t leading, left = 0;
	uint8_t wire[4];
	char key[256];
	size_t i;

	if (!p->in->subject.arch)
		return 0;
	snprintf(key, sizeof key, "%s.leading_dense_block_count", p->in->subject.arch->name);
	if (model_u64(&p->out, key, &leading) < 0)
		return 0;
	for (i = 0; i < n; i++)
		left += kept[i] < leading;
	le32_put(wire, (uint32_t)left);
	return model_set_meta(&p->out, key, u32, wire, sizeof wire, e);
}

/* Patterns that repeat every few layers must give each layer what it had. */
static int
check_patterns(const struct prune_plan *p, const uint64_t *kept, size_t n, struct err *e)
{
	struct weights w = p->in->subject.w;
	struct hyper before = { 0 }, after = { 0 };
	struct err unknown = ERR_INIT;
	size_t i;
	int r = 0;

	if (!p->in->subject.arch || p->in->subject.form != ARCH_GGUF)
		return 0;
	if (hyper_read(&before, &w, &unknown) < 0) {
		hyper_free(&before);
		return 0; /* the program that runs it judges it */
	}
	w.plan = (struct model *)(uintptr_t)&p->out;
	if (before.layers != p->in->layers || hyper_read(&after, &w, &unknown) < 0 ||
	    after.layers != n)
		r = err_set(e, ERR_INVALID, p->in->name, "its keys do not fit %zu layers", n);
	for (i = 0; r == 0 && i < n; i++) {
		bool ropes = before.skip_rope &&
			((kept[i] + 1) % before.skip_rope == 0) != ((i + 1) % before.skip_rope == 0);

		if (ropes || before.windowed[kept[i]] != after.windowed[i]) {
			r = err_set(e, ERR_INVALID, p->in->name, "layer %" PRIu64 " would become layer %zu, "
			            "which has %s by the pattern of the architecture", kept[i], i,
			            ropes ? "other positions" : "another window");
			err_hint(e, "layers of whole periods of the pattern can go");
		}
	}
	hyper_free(&before);
	hyper_free(&after);
	return r;
}

int
prune_depth(struct prune_plan *p, struct err *e)
{
	uint64_t *kept = NULL;
	size_t n = 0;
	int r = kept_layers(p, &kept, &n, e);

	if (r == 0)
		r = put_tensors(p, kept, n, e);
	if (r == 0)
		r = merge_layers_apply(p->in, kept, n, &p->out, &p->files, e);
	if (r == 0)
		r = put_leading(p, kept, n, e);
	if (r == 0)
		r = check_patterns(p, kept, n, e);
	free(kept);
	return r;
}
