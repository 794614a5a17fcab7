#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "arch/apr_keys.h"
#include "check/lint_parts.h"

#define ALIGNED 64
#define LARGE 1000000 /* bytes; "more than 1 MB" */

/* ---- GGUF ---- */

const char *
lint_gguf_version(const struct lint *l, const struct rule *r)
{
	uint64_t version;

	if (strcmp(l->s->format, "gguf") != 0 ||
	    model_source_u64(l->s->source->plan, "version", &version) < 0)
		return "the file is not GGUF";
	if (version >= 3)
		return NULL;
	findings_add(l->to, r, NULL, "the file has version %" PRIu64 " of GGUF", version);
	lint_fix_pipe(l, "apr-unpack", "-o new.gguf");
	return NULL;
}

const char *
lint_quantization_version(const struct lint *l, const struct rule *r)
{
	bool quantized = false;
	size_t i;

	for (i = 0; i < l->s->count && !quantized; i++)
		quantized = tensor_type(l->s->tensors[i].t)->quantized;
	if (!lint_is(l, "gguf") || !quantized)
		return "the file is not a quantized GGUF file";
	if (lint_has(l, "general.quantization_version"))
		return NULL;
	findings_add(l->to, r, "general.quantization_version", "is missing");
	lint_fix_meta(l, "set general.quantization_version:u32=2");
	return NULL;
}

/* general.file_type: the number, and types; a file of that kind has a tensor of at least one.
 * Source: enum llama_ftype of llama.h. */
static const struct {
	uint16_t number;
	const char *types; /* with a space around each */
} file_types[] = {
	{ 0, " F32 " }, { 1, " F16 " }, { 2, " Q4_0 " }, { 3, " Q4_1 " }, { 7, " Q8_0 " },
	{ 8, " Q5_0 " }, { 9, " Q5_1 " }, { 10, " Q2_K " }, { 11, " Q3_K " }, { 12, " Q3_K " },
	{ 13, " Q3_K " }, { 14, " Q4_K " }, { 15, " Q4_K " }, { 16, " Q5_K " }, { 17, " Q5_K " },
	{ 18, " Q6_K " }, { 19, " IQ2_XXS " }, { 20, " IQ2_XS " }, { 21, " Q2_K " },
	{ 22, " IQ3_S IQ3_XXS " }, { 23, " IQ3_XXS " }, { 24, " IQ1_S " }, { 25, " IQ4_NL " },
	{ 26, " IQ3_S " }, { 27, " IQ3_S " }, { 28, " IQ2_S IQ2_XS " }, { 29, " IQ2_S " },
	{ 30, " IQ4_XS " }, { 31, " IQ1_M " }, { 32, " BF16 " }, { 36, " TQ1_0 " },
	{ 37, " TQ2_0 " }, { 38, " MXFP4 " },
};

const char *
lint_file_type(const struct lint *l, const struct rule *r)
{
	static const char key[] = "general.file_type";
	const char *types = NULL;
	uint64_t number;
	size_t i;

	if (model_u64(l->s->source->plan, key, &number) < 0 || l->s->count == 0)
		return "the model does not state general.file_type, or has no tensors";
	for (i = 0; i < sizeof file_types / sizeof *file_types; i++)
		if (file_types[i].number == (number & ~(uint64_t)1024))
			types = file_types[i].types;
	for (i = 0; types && i < l->s->count; i++) {
		char word[48];

		snprintf(word, sizeof word, " %s ", tensor_type(l->s->tensors[i].t)->name);
		if (strstr(types, word))
			return NULL;
	}
	if (types)
		findings_add(l->to, r, key, "is %" PRIu64 ", but no tensor has a type of that kind:%.*s",
		             number, (int)strlen(types) - 1, types);
	return NULL;
}

const char *
lint_old_type(const struct lint *l, const struct rule *r)
{
	/* Numbers of types that GGML had once. */
	static const struct {
		int ggml;
		const char *name;
	} old[] = { { 4, "Q4_2" }, { 5, "Q4_3" }, { 31, "Q4_0_4_4" }, { 32, "Q4_0_4_8" },
		{ 33, "Q4_0_8_8" }, { 36, "IQ4_NL_4_4" }, { 37, "IQ4_NL_4_8" }, { 38, "IQ4_NL_8_8" } };
	size_t i, k;

	for (i = 0; i < l->s->count; i++)
		for (k = 0; k < sizeof old / sizeof *old; k++)
			if (tensor_type(l->s->tensors[i].t)->ggml == old[k].ggml)
				findings_add(l->to, r, tensor_name(l->s->tensors[i].t),
				             "has the type %s, which GGML has dropped", old[k].name);
	return NULL;
}

/* ---- places in the file ---- */

static const char *
no_places(const struct lint *l)
{
	return l->places ? NULL : "the places of tensors in the file are not known";
}

static bool
lies(const struct lint *l, size_t i)
{
	return l->places[i].offset != LINT_NOWHERE && tensor_bytes(l->s->tensors[i].t) > 0;
}

/* A container whose tensors programs use where they lie. */
static bool
is_mapped(const struct lint *l)
{
	return lint_is(l, "gguf") || lint_is(l, "safetensors") || lint_is_apr(l);
}

const char *
lint_align(const struct lint *l, const struct rule *r)
{
	uint64_t bits = 0;
	size_t i, off = 0, all = 0;

	if (no_places(l))
		return no_places(l);
	if (!is_mapped(l))
		return "programs do not map this container";
	for (i = 0; i < l->s->count; i++) {
		if (!lies(l, i))
			continue;
		all++;
		off += l->places[i].offset % ALIGNED != 0;
		bits |= l->places[i].offset;
	}
	if (off == 0)
		return NULL;
	findings_add(l->to, r, NULL, "%zu of %zu tensors could be aligned to 64 bytes (currently %"
	             PRIu64 ")", off, all, bits & (~bits + 1));
	lint_fix_pipe(l, "apr-unpack", lint_is(l, "gguf") ? "--align 64 -o new.gguf"
	                               : lint_is_apr(l)   ? "-o new.apr" : "-o new.safetensors");
	return NULL;
}

const char *
lint_unaligned(const struct lint *l, const struct rule *r)
{
	size_t i;

	if (no_places(l))
		return no_places(l);
	if (!is_mapped(l))
		return "programs do not map this container";
	for (i = 0; i < l->s->count; i++) {
		const struct dtype *t = tensor_type(l->s->tensors[i].t);
		uint64_t size = t->items == 1 ? t->bytes : 2;

		if (!lies(l, i) || l->places[i].packed || t->whole || !dtype_sized(t) ||
		    (t->items != 1 && t->bytes % 2 != 0) || l->places[i].offset % size == 0)
			continue;
		findings_add(l->to, r, tensor_name(l->s->tensors[i].t), "starts at byte %" PRIu64
		             ", which is not a multiple of %" PRIu64, l->places[i].offset, size);
		findings_offset(l->to, l->places[i].offset);
		lint_fix_pipe(l, "apr-unpack", NULL);
	}
	return NULL;
}

/* Adds a finding for each oddity of a kind that the reader of the container has recorded, and
 * counts those beyond. */
static void
add_oddities(const struct lint *l, const struct rule *r, enum oddity_kind kind, const char *one,
             const char *many)
{
	const struct oddities *o = l->s->source->oddities;
	size_t i, kept = 0;

	for (i = 0; o && i < o->count; i++) {
		if (o->of[i].kind != kind)
			continue;
		kept++;
		findings_add(l->to, r, o->of[i].object, "%" PRIu64 " %s", o->of[i].bytes,
		             o->of[i].bytes == 1 ? one : many);
		findings_offset(l->to, o->of[i].offset);
	}
	if (o && o->found[kind] > kept)
		findings_add(l->to, r, NULL, "%zu more places like these", o->found[kind] - kept);
}

const char *
lint_padding(const struct lint *l, const struct rule *r)
{
	if (!l->s->source->oddities)
		return "the reader of this container does not look at padding";
	add_oddities(l, r, ODD_PADDING, "byte of padding is not zero",
	             "bytes of padding are not zero");
	return NULL;
}

const char *
security_hidden(const struct lint *l, const struct rule *r)
{
	if (!l->s->source->oddities)
		return "the reader of this container refuses such bytes, or does not look";
	add_oddities(l, r, ODD_GAP, "byte belongs to no part of the model",
	             "bytes belong to no part of the model");
	add_oddities(l, r, ODD_TRAILING, "byte stands after the end of the model",
	             "bytes stand after the end of the model");
	return NULL;
}

/* ---- size ---- */

const char *
lint_compress(const struct lint *l, const struct rule *r)
{
	size_t i, n = 0;
	uint64_t bytes = 0;

	if (!l->places)
		return no_places(l);
	for (i = 0; i < l->s->count; i++) {
		uint64_t size = tensor_bytes(l->s->tensors[i].t);

		if (l->places[i].packed || size <= LARGE)
			continue;
		n++;
		if (__builtin_add_overflow(bytes, size, &bytes))
			bytes = UINT64_MAX;
	}
	if (n == 0)
		return NULL;
	findings_add(l->to, r, NULL, "%zu tensor%s of more than 1 MB %s not compressed (%" PRIu64
	             " bytes)", n, n == 1 ? "" : "s", n == 1 ? "is" : "are", bytes);
	lint_fix_pipe(l, "apr-unpack", "-z zstd -o new.apr");
	return NULL;
}

/* The key that calls the model sparse, or NULL. */
static const char *
claims_sparse(const struct lint *l)
{
	static const char *const keys[] = { "sparse", "sparsity", "is_sparse", "sparse_format",
		"general.sparse", "general.sparsity" };
	size_t i;

	for (i = 0; i < sizeof keys / sizeof *keys; i++) {
		json_t *v = lint_has(l, keys[i]) ? apr_key_value(&l->s->subject.w, keys[i]) : NULL;
		bool yes = v && !json_is_false(v) && !json_is_null(v) &&
		           !(json_is_number(v) && json_number_value(v) == 0);

		json_decref(v);
		if (yes)
			return keys[i];
	}
	return json_object_get(json_object_get(l->s->subject.config, "quantization_config"),
	                       "sparsity_config") ? "sparsity_config" : NULL;
}

/* With values: the share of zeros decides. Without: a model whose zeros take as much room as
 * other values. */
const char *
lint_sparse(const struct lint *l, const struct rule *r)
{
	const char *key = claims_sparse(l);
	uint64_t zeros = 0, values = 0;
	size_t i, packed = 0;

	if (!key)
		return "the model is not called sparse";
	for (i = 0; i < l->s->count; i++) {
		packed += l->places && l->places[i].packed;
		if (!l->s->tensors[i].read || tensor_ndim(l->s->tensors[i].t) < 2)
			continue;
		zeros += l->s->tensors[i].stats.zeros;
		values += l->s->tensors[i].stats.count;
	}
	if (values > 0 && zeros < values / 100)
		findings_add(l->to, r, key, "the model is called sparse, but %" PRIu64 " of %" PRIu64
		             " values of its matrices are not zero", values - zeros, values);
	else if (values == 0 && l->places && packed == 0)
		findings_add(l->to, r, key, "the model is called sparse, but all %zu tensors are stored "
		             "dense and without compression", l->s->count);
	return NULL;
}
