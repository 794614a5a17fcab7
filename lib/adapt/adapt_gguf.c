/* A model folder as GGUF: keys in the order of llama.cpp's converter, and tensors. */
#include <string.h>

#include "adapt/adapt_parts.h"
#include "adapt/keys/general.h"
#include "adapt/keys/keys.h"
#include "adapt/tensors/origin.h"
#include "adapt/tokens/tokens.h"

int
adapt_put_text(struct model *m, const char *key, const char *text, size_t n, struct err *e)
{
	struct buf wire = { 0 };
	int r;

	buf_u64(&wire, n);
	buf_put(&wire, text, n);
	r = buf_ok(&wire) ? model_set_meta(m, key, (struct value_type){ 0, VALUE_STRING }, wire.p,
	                                   wire.n, e)
	                  : err_memory(e);
	buf_free(&wire);
	return r;
}

static int
put_u32(struct model *m, const char *key, uint32_t v, struct err *e)
{
	const uint8_t wire[4] = { (uint8_t)v, (uint8_t)(v >> 8), (uint8_t)(v >> 16),
		(uint8_t)(v >> 24) };

	return model_set_meta(m, key, (struct value_type){ 0, VALUE_U32 }, wire, sizeof wire, e);
}

/* Rows of the embeddings: padding of the vocabulary. */
static uint64_t
vocabulary(const struct tensors *t)
{
	char name[64];
	size_t i;

	snprintf(name, sizeof name, "%s.weight", role_name(ROLE_EMBED, ARCH_GGUF));
	for (i = 0; i < t->count; i++)
		if (strcmp(tensor_name(t->rows[i].t), name) == 0)
			return tensor_dims(t->rows[i].t)[0];
	return sizes_get(&t->sizes, 'V');
}

static int
put_keys(struct adapt *a, struct err *e)
{
	const struct tokens_options tokens = { .rows = vocabulary(&a->t), .pre = a->o.pre,
		.chat_template = a->o.chat_template,
		.origin = a->o.no_record ? NULL : &a->tokenizer };
	const char *arch = a->s.arch->name, *folder = a->inner->plan->folder;
	struct arch_sizes sizes;

	arch_count(NULL, &a->plan, &sizes);
	if (adapt_put_text(&a->plan, "general.architecture", arch, strlen(arch), e) < 0 ||
	    keys_put_first(&a->s, &a->plan, e) < 0 ||
	    general_put(&a->s, folder ? folder : a->o.file, &sizes, &a->plan, e) < 0 ||
	    keys_put(&a->s, tensors_file_type(&a->t), &a->plan, e) < 0 ||
	    put_u32(&a->plan, "general.quantization_version", 2, e) < 0)
		return -1;
	return tokens_put_keys(&a->s, &tokens, &a->plan, e);
}

static int
put_origin(struct adapt *a, struct err *e)
{
	struct buf text = { 0 };
	int r;

	if (a->o.no_record)
		return 0;
	r = origin_write(a, &text, e);
	if (r == 0 && text.n > 0)
		r = adapt_put_text(&a->plan, ORIGIN_KEY, (const char *)text.p, text.n, e);
	buf_free(&text);
	return r;
}

int
adapt_to_gguf(struct adapt *a, struct err *e)
{
	const struct tensors_options o = { .type = a->o.type, .relaxed = a->o.relaxed,
		.anywhere = a->o.places, .equal = a->o.places ? store_equal : NULL,
		.ctx = &a->store };

	if (a->s.arch->flags & ARCH_NO_GGUF) {
		err_set(e, ERR_FORMAT, a->s.w.name, "GGUF has no form of %s models", a->s.arch->folder);
		return -1;
	}
	if (!a->s.config) {
		err_set(e, ERR_FORMAT, a->s.w.name, "has no config.json");
		return err_hint(e, "a folder of the transformers library becomes GGUF");
	}
	if (tensors_to_gguf(&a->t, &a->s, &o, e) < 0)
		return -1;
	store_uses(&a->store, &a->t);
	if (adapt_add_tensors(a, e) < 0 || put_keys(a, e) < 0 || put_origin(a, e) < 0 ||
	    adapt_long_values(a, e) < 0)
		return -1;
	return adapt_keep_files(a, e);
}
