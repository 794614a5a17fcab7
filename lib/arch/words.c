#include "arch/words.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- architectures ---- */

#define DECODER "decoder-only transformer"
#define ENCODER "encoder-only transformer"
#define BOTH "encoder-decoder transformer"
#define TEXT "text generation: chat, completion, code"
#define TOKENS "tokens of text"
#define NEXT "for each position, a score for each token of the vocabulary to come next"
#define VECTORS "a vector of the hidden size for each token, or one for the text"
#define ROTARY "rotary"

static const struct arch_words rows[] = {
	{ "llama", "LLaMA", DECODER, TEXT, TOKENS, NEXT,
	  "The form that most open models follow: RMS norms before each sublayer, rotary positions, "
	  "a gated feed-forward network, no biases.", NULL, NULL, NULL },
	{ "mistral", "Mistral", DECODER, TEXT, TOKENS, NEXT,
	  "Computes as LLaMA does; the first models limit attention to a window of 4096 "
	  "positions.", NULL, NULL, NULL },
	{ "mixtral", "Mixtral", DECODER " with experts", TEXT, TOKENS, NEXT,
	  "Mistral whose feed-forward network is a mixture of experts: a router chooses two of them "
	  "for each token.", NULL, NULL, NULL },
	{ "qwen2", "Qwen2", DECODER, TEXT, TOKENS, NEXT,
	  "As LLaMA, with biases on queries, keys and values.", NULL, NULL, NULL },
	{ "qwen3", "Qwen3", DECODER, TEXT, TOKENS, NEXT,
	  "As LLaMA, with an RMS norm over each head of queries and keys.", NULL, NULL, NULL },
	{ "qwen2_moe", "Qwen2 MoE", DECODER " with experts", TEXT, TOKENS, NEXT,
	  "Qwen2 with experts, and one more expert with a gate of its own that sees every token.",
	  NULL, NULL, NULL },
	{ "qwen3_moe", "Qwen3 MoE", DECODER " with experts", TEXT, TOKENS, NEXT,
	  "Qwen3 with experts; the weights of those that are chosen sum to one.",
	  NULL, NULL, NULL },
	{ "phi3", "Phi-3", DECODER, TEXT, TOKENS, NEXT,
	  "Queries, keys and values are one tensor, gate and up projection another. Long contexts "
	  "use other factors for rotary positions than short ones.", NULL, NULL, NULL },
	{ "gemma2", "Gemma 2", DECODER, TEXT, TOKENS, NEXT,
	  "Norms before and after each sublayer, embeddings multiplied by the root of the hidden "
	  "size, soft caps on scores and logits; every second block sees a window only.",
	  NULL, NULL, NULL },
	{ "gemma3_text", "Gemma 3", DECODER, TEXT, TOKENS, NEXT,
	  "As Gemma 2, with norms of queries and keys instead of caps on scores; five of six blocks "
	  "see a window only.", NULL, NULL, NULL },
	{ "gpt2", "GPT-2", DECODER, "text completion", TOKENS, NEXT,
	  "Layer norms with biases and learned positions. Model folders store its matrices "
	  "transposed (Conv1D).", NULL, NULL, NULL },
	{ "gpt_neox", "GPT-NeoX", DECODER, "text completion", TOKENS, NEXT,
	  "Attention and feed-forward network read the same input and are added together; only a "
	  "part of each head is rotated. Pythia is of this family.", NULL, NULL, NULL },
	{ "smollm3", "SmolLM3", DECODER, TEXT, TOKENS, NEXT,
	  "As LLaMA, except that every fourth block has no positions.", NULL, NULL, NULL },
	{ "olmo2", "OLMo 2", DECODER, TEXT, TOKENS, NEXT,
	  "Norms stand behind each sublayer and not before it; queries and keys have a norm over all "
	  "heads.", NULL, NULL, NULL },
	{ "granite", "Granite", DECODER, TEXT, TOKENS, NEXT,
	  "As LLaMA, with fixed factors on embeddings, residuals, scores and logits.",
	  NULL, NULL, NULL },
	{ "deepseek_v2", "DeepSeek-V2", DECODER " with experts", TEXT, TOKENS, NEXT,
	  "Keys and values of all heads are computed from one short latent vector, which makes the "
	  "cache small. The first blocks have a plain feed-forward network.", ROTARY, NULL, NULL },
	{ "deepseek_v3", "DeepSeek-V3", DECODER " with experts", TEXT, TOKENS, NEXT,
	  "As DeepSeek-V2; a bias for each expert balances the router's choice.",
	  ROTARY, NULL, NULL },
	{ "gpt_oss", "gpt-oss", DECODER " with experts", TEXT, TOKENS, NEXT,
	  "Each head has a learned score that takes no value (an attention sink), and every second "
	  "block sees a window only. Experts are published in MXFP4.", NULL,
	  "gated with a clamped SiLU", NULL },
	{ "bert", "BERT", ENCODER, "text embedding and classification", TOKENS, VECTORS,
	  "Each token sees all others, before and after it. Layer norms stand behind each sublayer.",
	  "learned", "two layers with GELU", NULL },
	{ "roberta", "RoBERTa", ENCODER, "text embedding and classification", TOKENS, VECTORS,
	  "As BERT, trained longer and without segments; the first rows of its positions are not "
	  "used.", "learned", "two layers with GELU", NULL },
	{ "xlm-roberta", "XLM-RoBERTa", ENCODER,
	  "text embedding and classification in about 100 languages", TOKENS, VECTORS,
	  "RoBERTa with a SentencePiece vocabulary of 250,000 tokens.",
	  "learned", "two layers with GELU", NULL },
	{ "t5", "T5", BOTH, "text to text: translation, summaries, answers",
	  TOKENS " for the encoder, and the answer so far for the decoder", NEXT,
	  "Distances between tokens add a learned bias to scores, the same in all blocks. The "
	  "encoder alone is used to embed text.", "relative: a bias for each range of distances",
	  "two layers with ReLU, or gated with GELU", NULL },
	{ "phi", "Phi-2", DECODER, "text completion, code", TOKENS, NEXT,
	  "Attention and feed-forward network read the same layer norm and are added together; all "
	  "matrices have biases.", NULL, NULL, NULL },
	{ "stablelm", "StableLM", DECODER, TEXT, TOKENS, NEXT,
	  "As LLaMA, with layer norms, and rotation of a part of each head.", NULL, NULL, NULL },
	{ "starcoder2", "StarCoder2", DECODER, "code completion", TOKENS, NEXT,
	  "Layer norms and biases everywhere, a feed-forward network without gate.",
	  NULL, NULL, NULL },
	{ "falcon", "Falcon", DECODER, TEXT, TOKENS, NEXT,
	  "Few keys and values for many queries; attention and feed-forward network are added "
	  "together.", ROTARY, "two layers with GELU", NULL },
	{ "cohere", "Command R", DECODER, TEXT ", retrieval", TOKENS, NEXT,
	  "Attention and feed-forward network read the same layer norm without bias; logits are "
	  "multiplied by a factor.", NULL, NULL, NULL },
	{ "nemotron", "Nemotron", DECODER, TEXT, TOKENS, NEXT,
	  "Layer norms whose stored weights lack one, and a feed-forward network with the square "
	  "of ReLU.", NULL, NULL, NULL },
	{ "mamba", "Mamba", "selective state space model", TEXT, TOKENS, NEXT,
	  "No attention: each block keeps a state of constant size, so time and memory for a token "
	  "do not grow with the text.", "none: the order of the states has them", "none",
	  "selective states" },
	{ "whisper", "Whisper", BOTH, "automatic speech recognition and translation to English",
	  "30 seconds of sound as a log-mel spectrogram",
	  "tokens of text, with the language, the task and times as special tokens",
	  "Two convolutions shorten the spectrogram, the encoder reads it whole, and the decoder "
	  "writes text while it attends to the encoder's output.",
	  "sines in the encoder, learned in the decoder", "two layers with GELU", NULL },
};

static const struct arch_words unknown = { NULL, NULL, "neural network", "not known here",
	"not known", "not known", "This architecture has no description here.", NULL, NULL, NULL };

const struct arch_words *
arch_words(const struct arch *a)
{
	size_t i;

	for (i = 0; a->folder && i < sizeof rows / sizeof *rows; i++)
		if (strcmp(rows[i].folder, a->folder) == 0)
			return &rows[i];
	return &unknown;
}

/* Sizes that have a name. */
static const struct { const char *folder, *name; uint64_t width, blocks; } sizes_named[] = {
	{ "whisper", "tiny", 384, 4 }, { "whisper", "base", 512, 6 },
	{ "whisper", "small", 768, 12 }, { "whisper", "medium", 1024, 24 },
	{ "whisper", "large", 1280, 32 }, { "bert", "tiny", 128, 2 }, { "bert", "mini", 256, 4 },
	{ "bert", "small", 512, 4 }, { "bert", "medium", 512, 8 }, { "bert", "base", 768, 12 },
	{ "bert", "large", 1024, 24 }, { "roberta", "base", 768, 12 },
	{ "roberta", "large", 1024, 24 }, { "xlm-roberta", "base", 768, 12 },
	{ "xlm-roberta", "large", 1024, 24 }, { "gpt2", "small", 768, 12 },
	{ "gpt2", "medium", 1024, 24 }, { "gpt2", "large", 1280, 36 }, { "gpt2", "XL", 1600, 48 },
	{ "t5", "small", 512, 6 }, { "t5", "base", 768, 12 }, { "t5", "large", 1024, 24 },
};

const char *
arch_size_name(const struct arch *a, uint64_t width, uint64_t blocks)
{
	size_t i;

	for (i = 0; a->folder && i < sizeof sizes_named / sizeof *sizes_named; i++)
		if (strcmp(sizes_named[i].folder, a->folder) == 0 &&
		    sizes_named[i].width == width && sizes_named[i].blocks == blocks)
			return sizes_named[i].name;
	return NULL;
}

/* ---- roles ---- */

#define CHANNEL { "values, one for each channel", NULL, NULL }
#define QUERIES "computes the queries of attention: what a position looks for"
#define KEYS "computes the keys of attention: what a position offers to be found by"
#define VALUES "computes the values of attention: what a position passes on"
#define MERGES "mixes the results of all heads into the hidden state"
#define GATES "computes the gate, which scales each value of the feed-forward network"
#define WIDENS "widens the hidden state to the feed-forward size"
#define NARROWS "narrows the feed-forward size to the hidden state"
#define SCALES "scales each channel of the hidden state before "
#define AFTER "scales each channel of the result of "
#define BUCKETS { "ranges of distances", "heads", NULL }
#define EACH_HEAD { "values of a head", NULL, NULL }
#define ANY { NULL, NULL, NULL }

static const struct role_words roles[ROLES] = {
	[ROLE_EMBED] = { "token embeddings", "turns each token into a vector",
	                 { "tokens", "values each", NULL } },
	[ROLE_POSITIONS] = { "position embeddings", "adds a vector for each position",
	                     { "positions", "values each", NULL } },
	[ROLE_TOKEN_TYPES] = { "segment embeddings", "adds a vector for the segment of a token",
	                       { "segments", "values each", NULL } },
	[ROLE_EMBED_NORM] = { "norm of the embeddings", AFTER "the embeddings", CHANNEL },
	[ROLE_OUT_NORM] = { "final norm", SCALES "the output matrix", CHANNEL },
	[ROLE_OUT] = { "output matrix",
	               "gives each token of the vocabulary a score (logit)",
	               { "tokens", "inputs", NULL } },
	[ROLE_ROPE_FREQS] = { "rotary factors", "divides the frequencies of rotary positions",
	                      { "pairs of a head", NULL, NULL } },
	[ROLE_ROPE_LONG] = { "rotary factors of long contexts",
	                     "divides the frequencies of rotary positions",
	                     { "pairs of a head", NULL, NULL } },
	[ROLE_ROPE_SHORT] = { "rotary factors of short contexts",
	                      "divides the frequencies of rotary positions",
	                      { "pairs of a head", NULL, NULL } },
	[ROLE_ATTN_NORM] = { "norm before attention", SCALES "attention", CHANNEL },
	[ROLE_ATTN_NORM2] = { "second norm before attention", SCALES "attention", CHANNEL },
	[ROLE_Q] = { "query projection", QUERIES, ANY },
	[ROLE_K] = { "key projection", KEYS, ANY },
	[ROLE_V] = { "value projection", VALUES, ANY },
	[ROLE_QKV] = { "query, key and value projection in one",
	               "computes queries, keys and values of attention", ANY },
	[ROLE_O] = { "output projection of attention", MERGES, ANY },
	[ROLE_Q_NORM] = { "norm of queries", "scales each channel of the queries", EACH_HEAD },
	[ROLE_K_NORM] = { "norm of keys", "scales each channel of the keys", EACH_HEAD },
	[ROLE_ATTN_POST] = { "norm after attention", AFTER "attention", CHANNEL },
	[ROLE_ATTN_OUT_NORM] = { "norm after attention", AFTER "attention and the residual",
	                         CHANNEL },
	[ROLE_SINKS] = { "attention sinks", "gives each head a score that takes no value",
	                 { "heads", NULL, NULL } },
	[ROLE_FFN_NORM] = { "norm before the feed-forward network",
	                    SCALES "the feed-forward network", CHANNEL },
	[ROLE_GATE] = { "gate projection", GATES, ANY },
	[ROLE_UP] = { "up projection", WIDENS, ANY },
	[ROLE_DOWN] = { "down projection", NARROWS, ANY },
	[ROLE_FFN_POST] = { "norm after the feed-forward network",
	                    AFTER "the feed-forward network", CHANNEL },
	[ROLE_LAYER_OUT_NORM] = { "norm at the end of the block", AFTER "the whole block",
	                          CHANNEL },
	[ROLE_Q_A] = { "first half of the query projection",
	               "shortens the hidden state to a latent vector for queries", ANY },
	[ROLE_Q_A_NORM] = { "norm of the latent queries", "scales the latent vector of queries",
	                    CHANNEL },
	[ROLE_Q_B] = { "second half of the query projection",
	               "computes the queries of all heads from the latent vector", ANY },
	[ROLE_KV_A] = { "latent projection of keys and values",
	                "shortens the hidden state to what the cache keeps, with the rotary part",
	                ANY },
	[ROLE_KV_A_NORM] = { "norm of latent keys and values",
	                     "scales the latent vector of keys and values", CHANNEL },
	[ROLE_K_B] = { "keys of each head", "computes keys from the latent vector",
	               { "heads", "latent values", "key values" } },
	[ROLE_V_B] = { "values of each head", "computes values from the latent vector",
	               { "heads", "values", "latent values" } },
	[ROLE_ROUTER] = { "router", "scores the experts for each token",
	                  { "experts", "inputs", NULL } },
	[ROLE_EXP_PROBS] = { "bias of the router", "balances how often experts are chosen",
	                     { "experts", NULL, NULL } },
	[ROLE_GATE_EXPS] = { "gate projections of the experts", GATES, ANY },
	[ROLE_UP_EXPS] = { "up projections of the experts", WIDENS, ANY },
	[ROLE_DOWN_EXPS] = { "down projections of the experts", NARROWS, ANY },
	[ROLE_SHARED_ROUTER] = { "gate of the shared expert", "scales the shared expert's result",
	                         ANY },
	[ROLE_SHARED_GATE] = { "gate projection of the shared expert", GATES, ANY },
	[ROLE_SHARED_UP] = { "up projection of the shared expert", WIDENS, ANY },
	[ROLE_SHARED_DOWN] = { "down projection of the shared expert", NARROWS, ANY },
	[ROLE_SSM_IN] = { "input projection of the states",
	                  "computes the input of the states, and its gate", ANY },
	[ROLE_SSM_CONV] = { "convolution before the states",
	                    "mixes each channel with the tokens just before",
	                    { "channels", "input each", "tokens" } },
	[ROLE_SSM_X] = { "projection to step, input and output of the states",
	                 "makes the states depend on the token (selection)", ANY },
	[ROLE_SSM_DT] = { "step projection", "computes how far each channel's state moves", ANY },
	[ROLE_SSM_A] = { "decay of the states", "says how fast each state forgets",
	                 { "channels", "states", NULL } },
	[ROLE_SSM_D] = { "direct path", "passes a part of the input by the states",
	                 { "channels", NULL, NULL } },
	[ROLE_SSM_OUT] = { "output projection of the states",
	                   "mixes the channels into the hidden state", ANY },
	[ROLE_ENC_OUT_NORM] = { "final norm of the encoder", AFTER "the encoder", CHANNEL },
	[ROLE_ENC_NORM] = { "norm before the encoder's attention", SCALES "attention", CHANNEL },
	[ROLE_ENC_Q] = { "query projection of the encoder", QUERIES, ANY },
	[ROLE_ENC_K] = { "key projection of the encoder", KEYS, ANY },
	[ROLE_ENC_V] = { "value projection of the encoder", VALUES, ANY },
	[ROLE_ENC_O] = { "output projection of the encoder's attention", MERGES, ANY },
	[ROLE_ENC_BIAS] = { "relative positions of the encoder",
	                    "adds to scores by the distance of two tokens", BUCKETS },
	[ROLE_ENC_FFN_NORM] = { "norm before the encoder's feed-forward network",
	                        SCALES "the feed-forward network", CHANNEL },
	[ROLE_ENC_GATE] = { "gate projection of the encoder", GATES, ANY },
	[ROLE_ENC_UP] = { "up projection of the encoder", WIDENS, ANY },
	[ROLE_ENC_DOWN] = { "down projection of the encoder", NARROWS, ANY },
	[ROLE_DEC_OUT_NORM] = { "final norm of the decoder", SCALES "the output matrix", CHANNEL },
	[ROLE_DEC_NORM] = { "norm before the decoder's attention", SCALES "attention", CHANNEL },
	[ROLE_DEC_Q] = { "query projection of the decoder", QUERIES, ANY },
	[ROLE_DEC_K] = { "key projection of the decoder", KEYS, ANY },
	[ROLE_DEC_V] = { "value projection of the decoder", VALUES, ANY },
	[ROLE_DEC_O] = { "output projection of the decoder's attention", MERGES, ANY },
	[ROLE_DEC_BIAS] = { "relative positions of the decoder",
	                    "adds to scores by the distance of two tokens", BUCKETS },
	[ROLE_CROSS_NORM] = { "norm before cross-attention", SCALES "cross-attention", CHANNEL },
	[ROLE_CROSS_Q] = { "query projection of cross-attention", QUERIES, ANY },
	[ROLE_CROSS_K] = { "key projection of cross-attention",
	                   "computes keys from the encoder's output", ANY },
	[ROLE_CROSS_V] = { "value projection of cross-attention",
	                   "computes values from the encoder's output", ANY },
	[ROLE_CROSS_O] = { "output projection of cross-attention", MERGES, ANY },
	[ROLE_DEC_FFN_NORM] = { "norm before the decoder's feed-forward network",
	                        SCALES "the feed-forward network", CHANNEL },
	[ROLE_DEC_GATE] = { "gate projection of the decoder", GATES, ANY },
	[ROLE_DEC_UP] = { "up projection of the decoder", WIDENS, ANY },
	[ROLE_DEC_DOWN] = { "down projection of the decoder", NARROWS, ANY },
};

/* Rules without a role, by the end of their names; of several that fit, the first. The names
 * are Whisper's. */
static const struct { const char *end; struct role_words words; } named[] = {
	{ "encoder.conv1", { "first convolution", "turns the spectrogram into features",
	  { "filters", "input channels", "frames of the kernel" } } },
	{ "encoder.conv2", { "second convolution", "halves the number of frames",
	  { "filters", "input channels", "frames of the kernel" } } },
	{ "encoder.embed_positions", { "positions of the encoder", "adds a vector of sines to each "
	  "frame", { "frames", "values each", NULL } } },
	{ "decoder.embed_positions", { "positions of the decoder",
	  "adds a learned vector to each token", { "positions", "values each", NULL } } },
	{ "decoder.embed_tokens", { "token embeddings", "turns each token into a vector",
	  { "tokens", "values each", NULL } } },
	{ "encoder.layer_norm", { "final norm of the encoder", AFTER "the encoder", CHANNEL } },
	{ "decoder.layer_norm", { "final norm of the decoder", SCALES "the output matrix",
	  CHANNEL } },
	{ "encoder_attn.q_proj", { "query projection of cross-attention", QUERIES, ANY } },
	{ "encoder_attn.k_proj", { "key projection of cross-attention",
	  "computes keys from the encoder's output", ANY } },
	{ "encoder_attn.v_proj", { "value projection of cross-attention",
	  "computes values from the encoder's output", ANY } },
	{ "encoder_attn.out_proj", { "output projection of cross-attention", MERGES, ANY } },
	{ "encoder_attn_layer_norm", { "norm before cross-attention", SCALES "cross-attention",
	  CHANNEL } },
	{ "self_attn.q_proj", { "query projection", QUERIES, ANY } },
	{ "self_attn.k_proj", { "key projection", KEYS, ANY } },
	{ "self_attn.v_proj", { "value projection", VALUES, ANY } },
	{ "self_attn.out_proj", { "output projection of attention", MERGES, ANY } },
	{ "self_attn_layer_norm", { "norm before attention", SCALES "attention", CHANNEL } },
	{ "fc1", { "up projection", WIDENS, ANY } },
	{ "fc2", { "down projection", NARROWS, ANY } },
	{ "final_layer_norm", { "norm before the feed-forward network",
	  SCALES "the feed-forward network", CHANNEL } },
	{ "proj_out", { "output matrix", "gives each token of the vocabulary a score (logit)",
	  { "tokens", "inputs", NULL } } },
};

static const struct role_words unused = { "not used",
	"GGUF files do not have this tensor, and the forward pass does not read it", ANY };

const struct role_words *
role_words(const struct arch_rule *r)
{
	size_t i, n, end;

	if (r->role != ROLES)
		return roles[r->role].what ? &roles[r->role] : NULL;
	if (r->flags & RULE_UNUSED)
		return &unused;
	n = strlen(r->name);
	for (i = 0; i < sizeof named / sizeof *named; i++) {
		end = strlen(named[i].end);
		if (n >= end && strcmp(r->name + n - end, named[i].end) == 0)
			return &named[i].words;
	}
	return NULL;
}

/* ---- shapes ---- */

/* What a letter of a shape (arch/shape.c) stands for: a size, or a number of parts. */
static const struct { char letter; bool counts; const char *noun; } letters[] = {
	{ 'C', false, "kernel size" }, { 'D', false, "step rank" }, { 'E', true, "experts" },
	{ 'F', false, "feed-forward size" }, { 'G', true, "key-value heads" },
	{ 'H', true, "heads" }, { 'J', false, "ranges of distances" }, { 'K', false, "head size" },
	{ 'L', false, "latent size" }, { 'M', false, "inner size" },
	{ 'N', false, "part without positions" }, { 'P', false, "context" },
	{ 'Q', false, "latent size of queries" }, { 'R', false, "rotary part" },
	{ 'S', false, "feed-forward size of the shared expert" }, { 'T', false, "segments" },
	{ 'U', false, "head size of values" }, { 'V', false, "vocabulary" },
	{ 'W', false, "hidden size" }, { 'X', false, "feed-forward size of an expert" },
	{ 'Z', false, "state size" },
};

static void
put_letter(struct buf *b, char letter, const struct sizes *s, bool last)
{
	size_t i;

	for (i = 0; i < sizeof letters / sizeof *letters; i++)
		if (letters[i].letter == letter && letters[i].counts)
			buf_printf(b, "%" PRIu64 " %s", sizes_get(s, letter), letters[i].noun);
		else if (letters[i].letter == letter && last)
			buf_printf(b, "%" PRIu64, sizes_get(s, letter));
		else if (letters[i].letter == letter)
			buf_text(b, letters[i].noun);
}

/* Appends one dimension of an expression and moves *p past it: "32 heads of 128", "hidden
 * size". */
static void
put_dimension(struct buf *b, const char **p, const struct sizes *s)
{
	bool factor = false;

	for (; **p && **p != ' ' && **p != '|'; (*p)++)
		if (**p == '*') {
			buf_text(b, " of ");
			factor = true;
		} else if (**p == '+') {
			buf_text(b, " + ");
			factor = false;
		} else {
			put_letter(b, **p, s, factor);
		}
}

/* Whether the shape stays that of folders, or is only transposed. */
static bool
keeps_shape(enum arch_change c)
{
	return c == CHANGE_NONE || c == CHANGE_PAIRS_Q || c == CHANGE_PAIRS_K ||
	       c == CHANGE_PLUS_ONE || c == CHANGE_QKV || c == CHANGE_NEG_EXP ||
	       c == CHANGE_TURN;
}

/* The dimensions that a rule gives a tensor in a form, outermost first. 0: not known. */
static unsigned
dims_of(const struct match *m, const struct sizes *s, enum arch_form form, bool *turned,
        uint64_t dims[TENSOR_DIMS])
{
	const char *shape = rule_shape(m->rule);
	uint64_t stack, swap, all[TENSOR_DIMS];
	unsigned n, i;

	*turned = false;
	if (!shape || !s || !keeps_shape(m->rule->change))
		return 0;
	n = shape_dims(shape, s, all, &stack);
	if (form == ARCH_GGUF && m->rule->change == CHANGE_TURN && n >= 2) {
		swap = all[n - 1];
		all[n - 1] = all[n - 2];
		all[n - 2] = swap;
		*turned = true;
	}
	if (m->bias && !(m->rule->flags & RULE_AS_BIAS) && n > 0) {
		/* one for each output, which in a transposed matrix is the last dimension */
		if (m->rule->change == CHANGE_TURN && !*turned)
			all[0] = all[n - 1];
		n--;
	}
	if (form == ARCH_GGUF && shape_stacks(shape) && n < TENSOR_DIMS) {
		dims[0] = stack;
		memcpy(dims + 1, all, n * sizeof *all);
		return n + 1;
	}
	for (i = 0; i < n; i++)
		dims[i] = all[i];
	return n;
}

/* Appends what the expression of a rule says about each dimension. */
static void
put_expression(struct buf *b, const struct match *m, const struct sizes *s, unsigned ndim,
               bool stacked, bool turned)
{
	const char *p = rule_shape(m->rule), *bar = strchr(p, '|');
	struct buf part[TENSOR_DIMS] = { { 0 } };
	unsigned n = 0, i;

	if (bar && !stacked)
		p = bar + 1;
	while (*p && n < ndim) {
		put_dimension(&part[n++], &p, s);
		if (*p)
			p++;
	}
	for (i = 0; i < n; i++) {
		unsigned k = turned && n >= 2 && i + 2 >= n ? 2 * n - 3 - i : i;

		buf_printf(b, "%s%s", i ? " x " : " (", buf_string(&part[k]));
	}
	buf_text(b, n ? ")" : "");
	for (i = 0; i < n; i++)
		buf_free(&part[i]);
}

/* What is counted along dimension i of n, as the role says, or as any matrix has it. */
static const char *
axis(const struct tensor *t, const struct match *m, unsigned i, bool inputs_first)
{
	const struct role_words *w = m ? role_words(m->rule) : NULL;
	unsigned n = tensor_ndim(t), k = 0;

	if (m && m->bias && !(m->rule->flags & RULE_AS_BIAS))
		return i + 1 == n ? "values, one for each output" : "parts";
	while (w && k < 3 && w->axes[k])
		k++;
	if (k && n >= k)
		return i + k < n ? "parts" : w->axes[i + k - n];
	if (k && m->rule->change == CHANGE_SQUEEZE) /* GGUF drops the dimension of 1 */
		return i == 0 ? w->axes[0] : w->axes[i + k - n];
	if (n == 1)
		return "values";
	if (i + 2 < n)
		return "experts";
	return (i + 1 == n) != inputs_first ? "inputs" : "outputs";
}

void
words_shape(struct buf *b, const struct tensor *t, const struct match *m,
            const struct sizes *s, enum arch_form form)
{
	uint64_t dims[TENSOR_DIMS] = { 0 };
	bool turned = false, same = true, known = true;
	bool inputs_first = m && m->rule->change == CHANGE_TURN && form != ARCH_GGUF;
	unsigned i, n = m ? dims_of(m, s, form, &turned, dims) : 0;

	for (i = 0; i < tensor_ndim(t); i++)
		buf_printf(b, "%s%" PRIu64 " %s", i ? " x " : "", tensor_dims(t)[i],
		           axis(t, m, i, inputs_first));
	if (tensor_ndim(t) == 0)
		buf_text(b, "one value");
	if (n == 0 || n != tensor_ndim(t))
		return;
	for (i = 0; i < n; i++) {
		known = known && dims[i];
		same = same && (!dims[i] || dims[i] == tensor_dims(t)[i]);
	}
	if (same && known && !m->bias)
		put_expression(b, m, s, n, form == ARCH_GGUF && shape_stacks(rule_shape(m->rule)),
		               turned);
	if (same)
		return;
	buf_text(b, "; the hyper-parameters give ");
	for (i = 0; i < n; i++)
		buf_printf(b, dims[i] ? "%s%" PRIu64 : "%s?", i ? "x" : "", dims[i]);
}
