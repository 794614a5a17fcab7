#include "lora/written.h"

#include <string.h>

#include "core/json.h"

#define PREFIX "base_model.model."

static int
add_tensor(struct lora_written *w, const char *before, const char *name, size_t n,
           const char *ending, unsigned ndim, const uint64_t *dims, struct err *e)
{
	struct buf b = { 0 };
	struct tensor *t = NULL;

	buf_text(&b, before);
	buf_put(&b, name, n);
	buf_text(&b, ending);
	if (!buf_ok(&b))
		err_memory(e);
	else
		t = tensor_new((char *)b.p, b.n, dtype_by_name("F32"), ndim, dims, TENSOR_OWN_SIZE,
		               w->from, e);
	buf_free(&b);
	return t ? model_add_tensor(&w->plan, t, e) : -1;
}

static size_t
module_length(const char *name)
{
	return strlen(name) - strlen(".weight");
}

static int
add_part(struct lora_written *w, const struct lora_shape *p, struct err *e)
{
	const uint64_t a[2] = { p->rank, p->inputs }, a_turned[2] = { p->inputs, p->rank };
	const uint64_t b[2] = { p->outputs, p->rank };
	size_t n = strlen(p->name), module = module_length(p->name);

	if (w->form == ARCH_GGUF)
		return add_tensor(w, "", p->name, n, ".lora_a", 2, p->table ? a_turned : a, e) < 0
			? -1 : add_tensor(w, "", p->name, n, ".lora_b", 2, b, e);
	if (p->table)
		return add_tensor(w, PREFIX, p->name, module, ".lora_embedding_A", 2, a, e) < 0 ? -1
		       : add_tensor(w, PREFIX, p->name, module, ".lora_embedding_B", 2, b, e);
	return add_tensor(w, PREFIX, p->name, module, ".lora_A.weight", 2, a, e) < 0 ? -1
	       : add_tensor(w, PREFIX, p->name, module, ".lora_B.weight", 2, b, e);
}

static int
add_text(struct lora_written *w, const char *key, const char *text, struct err *e)
{
	static const struct value_type string = { 0, VALUE_STRING };
	struct buf b = { 0 };
	int r;

	buf_u64(&b, strlen(text));
	buf_text(&b, text);
	r = buf_ok(&b) ? model_set_meta(&w->plan, key, string, b.p, b.n, e) : err_memory(e);
	buf_free(&b);
	return r;
}

static int
add_keys(struct lora_written *w, struct err *e)
{
	static const struct value_type f32 = { 0, VALUE_F32 };
	struct buf b = { 0 };
	float alpha = (float)w->alpha;
	uint32_t bits;
	int r;

	memcpy(&bits, &alpha, sizeof bits);
	buf_u32(&b, bits);
	r = buf_ok(&b) ? 0 : err_memory(e);
	if (r == 0 && (!w->arch || add_text(w, "general.architecture", w->arch, e) == 0) &&
	    add_text(w, "general.type", "adapter", e) == 0 &&
	    add_text(w, "adapter.type", "lora", e) == 0)
		r = model_set_meta(&w->plan, "adapter.lora.alpha", f32, b.p, b.n, e);
	else
		r = -1;
	buf_free(&b);
	return r;
}

/* Members that PEFT needs. Modules have their whole names, so no other one gets a part. */
static int
add_config(struct lora_written *w, const struct lora_shape *parts, size_t n, struct err *e)
{
	json_t *o = json_object(), *modules = json_array(), *ranks = json_object();
	uint64_t rank = n ? parts[0].rank : 0;
	size_t i;
	int r;

	for (i = 0; i < n; i++) {
		size_t k = module_length(parts[i].name);

		json_array_append_new(modules, json_stringn(parts[i].name, k));
		if (parts[i].rank != rank)
			json_object_setn_new(ranks, parts[i].name, k,
			                     json_integer((json_int_t)parts[i].rank));
	}
	json_object_set_new(o, "peft_type", json_string("LORA"));
	json_object_set_new(o, "base_model_name_or_path", json_null());
	json_object_set_new(o, "bias", json_string("none"));
	json_object_set_new(o, "fan_in_fan_out", json_boolean(w->turned));
	json_object_set_new(o, "inference_mode", json_true());
	json_object_set_new(o, "lora_alpha", json_real(w->alpha));
	json_object_set_new(o, "lora_dropout", json_real(0));
	json_object_set_new(o, "r", json_integer((json_int_t)rank));
	json_object_set_new(o, "rank_pattern", ranks);
	json_object_set_new(o, "target_modules", modules);
	json_object_set_new(o, "task_type", json_string("CAUSAL_LM"));
	r = json_pretty(o, &w->config);
	json_decref(o);
	buf_text(&w->config, "\n");
	if (r < 0 || !buf_ok(&w->config))
		return err_memory(e);
	if (model_source_set(&w->plan, "format", json_string("safetensors"), e) < 0 ||
	    model_source_set(&w->plan, "file", json_string("adapter_model.safetensors"), e) < 0)
		return -1;
	return model_add_blob(&w->plan, "adapter_config.json", "file", w->config.n, e);
}

int
lora_written_begin(struct lora_written *w, const struct lora_shape *parts, size_t n, struct err *e)
{
	size_t i;

	if (model_init(&w->plan, e) < 0 ||
	    (w->form == ARCH_GGUF ? add_keys(w, e) : add_config(w, parts, n, e)) < 0)
		return -1;
	for (i = 0; i < n; i++)
		if (add_part(w, &parts[i], e) < 0)
			return -1;
	return 0;
}

int
lora_written_whole(struct lora_written *w, const char *name, unsigned ndim, const uint64_t *dims,
                   struct err *e)
{
	return add_tensor(w, w->form == ARCH_GGUF ? "" : PREFIX, name, strlen(name), "", ndim, dims, e);
}

int
lora_written_head(struct lora_written *w, struct sink *sink, struct err *e)
{
	const struct item config = { .kind = ITEM_BLOB, .bytes = w->config.n };

	if (model_check(&w->plan, w->from, e) < 0 || sink_begin(sink, &w->plan, e) < 0)
		return -1;
	if (w->config.n == 0)
		return 0;
	return sink_put(sink, &config, e) < 0 || sink_write(sink, w->config.p, w->config.n, e) < 0
	       ? -1 : sink_put_end(sink, e);
}

void
lora_written_free(struct lora_written *w)
{
	model_free(&w->plan);
	buf_free(&w->config);
}
