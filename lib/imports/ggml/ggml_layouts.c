/* What the programs write in front of the tensors: one row for each. */
#include <string.h>

#include "core/le.h"
#include "imports/ggml/ggml.h"

#define LLAMA_FIELDS { { "vocab_size", GGML_VOCAB }, { "embedding_length", GGML_EMBD }, \
	{ NULL, GGML_DROP }, { "attention.head_count", GGML_HEADS }, { "block_count", GGML_LAYERS }, \
	{ "rope.dimension_count", GGML_KEY }, { NULL, GGML_TYPE }, { NULL, GGML_END } }
#define FALCON_FIELDS { { NULL, GGML_VOCAB }, { "embedding_length", GGML_KEY }, \
	{ "attention.head_count", GGML_KEY }, { "attention.head_count_kv", GGML_KEY }, \
	{ "block_count", GGML_KEY }, { NULL, GGML_DROP }, { NULL, GGML_TYPE }, { NULL, GGML_END } }
#define GPT2_FIELDS { { NULL, GGML_VOCAB }, { "context_length", GGML_KEY }, \
	{ "embedding_length", GGML_KEY }, { "attention.head_count", GGML_KEY }, \
	{ "block_count", GGML_KEY }, { NULL, GGML_FTYPE }, { NULL, GGML_END } }

const struct ggml_layout ggml_layouts[] = {
	{ "llama", "LLaMA (GGML)", "lmgg", 0, 0, 1, GGML_LLAMA, LLAMA_FIELDS },
	{ "llama", "LLaMA (GGMF)", "fmgg", 1, 1, 1, GGML_LLAMA | GGML_SCORED, LLAMA_FIELDS },
	{ "llama", "LLaMA (GGJT)", "tjgg", 1, 1, 1, GGML_LLAMA | GGML_SCORED | GGML_ALIGNED,
	  LLAMA_FIELDS },
	{ "llama", "LLaMA (GGJT)", "tjgg", 2, 2, 2, GGML_LLAMA | GGML_SCORED | GGML_ALIGNED,
	  LLAMA_FIELDS },
	{ "llama", "LLaMA (GGJT)", "tjgg", 3, 3, 3, GGML_LLAMA | GGML_SCORED | GGML_ALIGNED,
	  LLAMA_FIELDS },
	/* The converter of ggllm.cpp does not align; its quantizer, which writes version 3, does. */
	{ "falcon", "Falcon (GGJT)", "tjgg", 1, 1, 1, GGML_SCORED | GGML_BYTES, FALCON_FIELDS },
	{ "falcon", "Falcon (GGJT)", "tjgg", 3, 3, 3, GGML_SCORED | GGML_BYTES | GGML_ALIGNED,
	  FALCON_FIELDS },
	{ "rwkv", "rwkv.cpp", "fmgg", 100, 100, 1, GGML_WORDLESS | GGML_RWKV,
	  { { "vocab_size", GGML_KEY }, { "embedding_length", GGML_KEY },
	    { "block_count", GGML_KEY }, { NULL, GGML_TYPE }, { NULL, GGML_END } } },
	{ "rwkv", "rwkv.cpp", "fmgg", 101, 101, 3, GGML_WORDLESS | GGML_RWKV,
	  { { "vocab_size", GGML_KEY }, { "embedding_length", GGML_KEY },
	    { "block_count", GGML_KEY }, { NULL, GGML_TYPE }, { NULL, GGML_END } } },
	{ "whisper", "whisper.cpp", "lmgg", 0, 0, 0, GGML_FILTERS | GGML_COUNTED | GGML_BYTES,
	  { { "vocab_size", GGML_KEY }, { "encoder.context_length", GGML_KEY },
	    { "encoder.embedding_length", GGML_KEY }, { "encoder.attention.head_count", GGML_KEY },
	    { "encoder.block_count", GGML_KEY }, { "decoder.context_length", GGML_KEY },
	    { "decoder.embedding_length", GGML_KEY }, { "decoder.attention.head_count", GGML_KEY },
	    { "decoder.block_count", GGML_KEY }, { "encoder.mels_count", GGML_MELS },
	    { NULL, GGML_FTYPE }, { NULL, GGML_END } } },
	{ "gpt2", "GPT-2", "lmgg", 0, 0, 0, GGML_COUNTED | GGML_BYTES, GPT2_FIELDS },
	{ "starcoder", "StarCoder", "lmgg", 0, 0, 0, GGML_COUNTED | GGML_BYTES, GPT2_FIELDS },
	{ "gptj", "GPT-J", "lmgg", 0, 0, 0, GGML_COUNTED | GGML_BYTES,
	  { { NULL, GGML_VOCAB }, { "context_length", GGML_KEY }, { "embedding_length", GGML_KEY },
	    { "attention.head_count", GGML_KEY }, { "block_count", GGML_KEY },
	    { "rope.dimension_count", GGML_KEY }, { NULL, GGML_FTYPE }, { NULL, GGML_END } } },
	{ "gptneox", "GPT-NeoX", "lmgg", 0, 0, 0, GGML_BYTES,
	  { { NULL, GGML_VOCAB }, { "context_length", GGML_KEY }, { "embedding_length", GGML_KEY },
	    { "attention.head_count", GGML_KEY }, { "block_count", GGML_KEY },
	    { "rope.dimension_count", GGML_KEY }, { "use_parallel_residual", GGML_KEY_BOOL },
	    { NULL, GGML_FTYPE }, { NULL, GGML_END } } },
	{ "mpt", "MPT", "lmgg", 0, 0, 0, GGML_BYTES,
	  { { "embedding_length", GGML_KEY }, { "context_length", GGML_KEY },
	    { "attention.head_count", GGML_KEY }, { "block_count", GGML_KEY },
	    { NULL, GGML_VOCAB }, { "attention.max_alibi_bias", GGML_KEY_F32 },
	    { "attention.clamp_kqv", GGML_KEY_F32 }, { NULL, GGML_FTYPE }, { NULL, GGML_END } } },
	{ "replit", "Replit", "lmgg", 0, 0, 0, GGML_SCORED,
	  { { "embedding_length", GGML_KEY }, { "context_length", GGML_KEY },
	    { "attention.head_count", GGML_KEY }, { "block_count", GGML_KEY },
	    { NULL, GGML_VOCAB }, { NULL, GGML_FTYPE }, { NULL, GGML_END } } },
	{ NULL, NULL, "", 0, 0, 0, 0, { { NULL, GGML_END } } },
};

static uint32_t
number_at(const struct import *im, size_t i)
{
	return im->n >= 4 * (i + 1) ? le32(im->p + 4 * i) : 0;
}

/* whisper.cpp repeats the number of mel bands behind the header. */
static bool
is_whisper(const struct import *im)
{
	uint32_t mels = number_at(im, 10);

	return mels > 0 && mels <= 1024 && mels == number_at(im, 12) &&
	       number_at(im, 13) > 1 && number_at(im, 13) <= 65536;
}

/* LLaMA's first tensor follows its vocabulary directly. */
static bool
is_llama(const struct import *im)
{
	static const char first[] = "tok_embeddings.weight";
	const size_t name = sizeof first - 1;
	uint64_t at = 32, i, n = number_at(im, 1);

	for (i = 0; i < n && at + 4 <= im->n; i++) {
		at += 4;
		if (im->n - at < le32(im->p + at - 4))
			return false;
		at += le32(im->p + at - 4);
	}
	return i == n && at + 20 + name <= im->n && memcmp(im->p + at + 20, first, name) == 0;
}

/* A version fits if the layout has none. */
static bool
fits(const struct ggml_layout *x, const struct import *im)
{
	return memcmp(im->p, x->magic, 4) == 0 &&
	       (x->from == 0 || (number_at(im, 1) >= x->from && number_at(im, 1) <= x->to));
}

static const struct ggml_layout *
row_of(const struct import *im, const char *arch)
{
	const struct ggml_layout *x;

	for (x = ggml_layouts; x->arch; x++)
		if (fits(x, im) && (!arch || strcmp(arch, x->arch) == 0))
			return x;
	return NULL;
}

static bool
is_known(const char *arch)
{
	const struct ggml_layout *x;

	for (x = ggml_layouts; x->arch; x++)
		if (strcmp(arch, x->arch) == 0)
			return true;
	return false;
}

const struct ggml_layout *
ggml_layout_of(struct import *im, const char *arch)
{
	const struct ggml_layout *x;

	if (arch && !is_known(arch)) {
		err_set(im->err, ERR_USAGE, NULL, "--arch: headers of %s are not known", arch);
		err_hint(im->err, "llama, falcon, whisper, rwkv, gpt2, starcoder, gptj, gptneox, mpt, "
		         "replit");
		return NULL;
	}
	if (!arch && memcmp(im->p, "lmgg", 4) == 0)
		arch = is_whisper(im) ? "whisper" : is_llama(im) ? "llama" : "";
	x = row_of(im, arch);
	if (x)
		return x;
	if (arch && !*arch) {
		import_fail(im, ERR_FORMAT, "is a GGML file of a program that its header does not name");
		err_hint(im->err, "--arch names it: gpt2, starcoder, gptj, gptneox, mpt or replit");
	} else if (!arch || memcmp(im->p, "lmgg", 4) != 0) {
		import_fail(im, ERR_VERSION, "is a file of GGML, magic %.4s, version %u, which is not "
		            "known%s%s", (const char *)im->p, number_at(im, 1), arch ? " for " : "",
		            arch ? arch : "");
	} else {
		import_fail(im, ERR_FORMAT, "is a GGML file, but %s does not write this form", arch);
	}
	return NULL;
}
