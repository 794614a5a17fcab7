#include "cli/lora/merging.h"

#include <inttypes.h>

#include "arch/guess.h"
#include "cli/tool.h"

/* All side files have come: find what the adapters change. Names that are the same need no
 * architecture, so a model without one is not refused here. */
static int
aim(struct merging *m, struct err *e)
{
	struct sizes sizes = { .of = { 0 } };
	struct lora_base base = { .plan = m->plan, .sizes = &sizes };
	struct err unknown = ERR_INIT;
	size_t i;
	int r = 0;

	m->aimed = true;
	if (subject_find(&m->subject, m->arch, m->arch ? e : &unknown) == 0 && m->subject.arch) {
		base.plan = m->subject.plan;
		base.arch = m->subject.arch;
		base.form = m->subject.form;
		r = base.form == ARCH_GGUF
			? sizes_keys(&sizes, &m->subject.w, base.arch->name, e)
			: m->subject.config ? sizes_config(&sizes, m->subject.config, e) : 0;
	} else {
		base.form = ARCH_FOLDER;
	}
	if (unknown.code == ERR_MEMORY)
		*e = unknown;
	if (r < 0 || e->code != ERR_NONE)
		return -1;
	for (i = 0; i < m->count; i++)
		if (lora_aim_add(&m->aim, &m->loras[i], &base, e) < 0)
			return -1;
	return 0;
}

static int
item(void *ctx, const struct item *in, struct item *out, struct err *e)
{
	struct merging *m = ctx;

	if (in->kind == ITEM_BLOB)
		return subject_take(&m->subject, in->index, NULL, 0, e);
	if (in->kind == ITEM_TENSOR && !m->aimed && aim(m, e) < 0)
		return -1;
	out->same = in->kind != ITEM_TENSOR || m->aim.first[in->index] == SIZE_MAX;
	if (out->same)
		return 0;
	return lora_apply_begin(&m->apply, &m->aim, in->index, m->plan->tensors[in->index], e);
}

static int
data(void *ctx, const struct item *in, const uint8_t *p, size_t n, struct sink *sink,
     struct err *e)
{
	struct merging *m = ctx;

	if (in->kind == ITEM_TENSOR)
		return lora_apply_add(&m->apply, p, n, sink, e);
	if (in->kind == ITEM_BLOB && n > 0 && subject_take(&m->subject, in->index, p, n, e) < 0)
		return -1;
	return sink_write(sink, p, n, e);
}

static int
item_end(void *ctx, const struct item *in, struct sink *sink, struct err *e)
{
	struct merging *m = ctx;

	return in->kind == ITEM_TENSOR && m->aim.first[in->index] != SIZE_MAX
		? lora_apply_end(&m->apply, sink, e) : 0;
}

static int
finish(void *ctx, struct sink *sink, struct err *e)
{
	struct merging *m = ctx;

	(void)sink;
	if (!m->aimed && aim(m, e) < 0)
		return -1;
	if (m->apply.lost)
		tool_notef("%" PRIu64 " values are too large for their type, or not numbers",
		           m->apply.lost);
	tool_notef("%zu of %zu tensors change", m->aim.tensors, m->plan->tensor_count);
	return 0;
}

int
merging_begin(struct merging *m, const struct source *source, struct flow *f, struct err *e)
{
	m->plan = source->plan;
	*f = (struct flow){ .item = item, .data = data, .item_end = item_end, .finish = finish,
		.ctx = m, .operation = "apr-lora" };
	return subject_begin(&m->subject, source, e);
}

void
merging_close(struct merging *m)
{
	lora_apply_free(&m->apply);
	lora_aim_free(&m->aim);
	subject_close(&m->subject);
}
