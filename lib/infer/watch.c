#include "infer/watch.h"

#include "arch/find.h"
#include "core/mem.h"
#include "infer/private.h"

/* Room for a copy of any input. */
static int
make_room(struct infer *m, struct err *e)
{
	struct pass *p = &m->pass;
	size_t columns = m->net.hyper.width, i;

	if (p->watched)
		return 0;
	for (i = 0; i < m->net.matrix_count; i++)
		if (m->net.matrices[i]->columns > columns)
			columns = m->net.matrices[i]->columns;
	p->watched = mem_array(m->batch * columns, sizeof *p->watched);
	return p->watched ? 0 : err_memory(e);
}

int
infer_watch(struct infer *m, infer_watcher *watcher, void *ctx, struct err *e)
{
	m->pass.watcher = NULL;
	if (watcher && make_room(m, e) < 0)
		return -1;
	m->pass.watcher = watcher;
	m->pass.watch_ctx = ctx;
	return 0;
}

int
infer_watch_blocks(struct infer *m, infer_block_watcher *watcher, void *ctx, struct err *e)
{
	m->pass.block_watcher = NULL;
	if (watcher && make_room(m, e) < 0)
		return -1;
	m->pass.block_watcher = watcher;
	m->pass.block_ctx = ctx;
	return 0;
}

const char *
infer_weight_name(const struct infer *m, const struct linear_id *layer, char name[WATCH_NAME])
{
	const struct arch *a = m->net.hyper.arch;
	const char *pattern = arch_tensor(a, ARCH_GGUF, layer->role);

	if (!pattern)
		pattern = arch_tensor(a, ARCH_FOLDER, layer->role);
	return find_text(pattern, layer->block, layer->expert, ".weight", name);
}

size_t
infer_experts(const struct infer *m)
{
	return m->net.hyper.experts;
}

size_t
infer_width(const struct infer *m)
{
	return m->net.hyper.width;
}

size_t
infer_blocks(const struct infer *m)
{
	return m->net.hyper.layers;
}
