/* t_ggml: files of GGML's programs: what comes out, and files with one fault each. */
#include "imports.h"

#include "../gen/ggml.h"
#include "imports/ggml/ggml.h"

static const struct format_options usual;

static struct format_options
with_arch(const char *arch)
{
	static struct format_choice choice;

	choice = (struct format_choice){ &ggml_options[0], arch };
	return (struct format_options){ .own = &choice, .own_count = 1 };
}

/* ---- what comes out ---- */

static const char *
type_name(unsigned type)
{
	return type == 2 ? "Q4_0" : type == 3 ? "Q4_1" : type == 6 ? "Q5_0" : type == 7 ? "Q5_1"
	                                                                              : "Q8_0";
}

/* Blocks of each generation become today's if their scales allow it, else F32. */
static void
blocks_become_those_of_today(void)
{
	static const unsigned types[] = { 2, 3, 6, 7, 8 };
	static const struct { const char *magic; uint32_t version, generation; } files[] = {
		{ "lmgg", 0, 1 }, { "fmgg", 1, 1 }, { "tjgg", 1, 1 }, { "tjgg", 2, 2 }, { "tjgg", 3, 3 },
	};
	size_t i, k;
	unsigned j;
	int exact;

	for (i = 0; i < 5; i++)
		for (k = 0; k < 5; k++)
			for (exact = 0; exact < 2; exact++) {
				const struct ggml_form form = { files[i].magic, files[i].version,
					files[i].generation, types[k], exact };
				bool halves = form.generation == 3 || types[k] == 6 || types[k] == 7;
				struct gen g = { 0 }, want = { 0 };
				struct brought b;
				int r;

				made_llama(&g, &form);
				r = bring(&b, &format_ggml, g.p, g.n, &usual, false);
				for (j = 0; j < VOCAB; j++)
					if (exact || halves)
						put_block(&want, types[k], 3, j, true);
					else
						put_values(&want, types[k], j);
				test_ok(r == 0 && holds(&b, "token_embd.weight",
				                        exact || halves ? type_name(types[k]) : "F32", "5x32",
				                        &want),
				        "%s of %s version %u%s: %s", type_name(types[k]), form.magic,
				        form.version, exact ? "" : ", scales are not F16", b.err.fact);
				let_go(&b);
				gen_free(&g);
				gen_free(&want);
			}
}

static bool
has_u32(const struct brought *b, const char *key, uint64_t want)
{
	uint64_t v;

	return model_u64(b->source->plan, key, &v) == 0 && v == want;
}

/* LLaMA gets GGUF's keys and names. */
static void
llama_has_keys_of_gguf(void)
{
	static const struct ggml_form form = { "tjgg", 3, 3, 2, true };
	static const uint8_t tokens[] = "\5\0\0\0\0\0\0\0<unk>\3\0\0\0\0\0\0\0<s>"
		"\4\0\0\0\0\0\0\0</s>\6\0\0\0\0\0\0\0<0x0A>\10\0\0\0\0\0\0\0\xe2\x96\x81" "a\xe2\x96\x81"
		"b";
	static const uint32_t types[] = { 2, 3, 3, 6, 1 };
	const struct meta *m;
	struct gen g = { 0 };
	struct brought b;
	uint32_t i;

	made_llama(&g, &form);
	test_ok(bring(&b, &format_ggml, g.p, g.n, &usual, true) == 0, "a LLaMA: %s", b.err.fact);
	test_ok(has_u32(&b, "llama.vocab_size", 5) && has_u32(&b, "llama.embedding_length", 32) &&
	        has_u32(&b, "llama.attention.head_count", 2) &&
	        has_u32(&b, "llama.attention.head_count_kv", 1) &&
	        has_u32(&b, "llama.block_count", 1) &&
	        has_u32(&b, "llama.rope.dimension_count", 16) &&
	        has_u32(&b, "llama.feed_forward_length", 64) &&
	        has_u32(&b, "llama.context_length", 2048), "numbers");
	m = model_find(b.source->plan, "tokenizer.ggml.tokens");
	test_ok(m && m->wire_bytes == 12 + sizeof tokens - 1 &&
	        memcmp(m->wire + 12, tokens, sizeof tokens - 1) == 0, "tokens");
	m = model_find(b.source->plan, "tokenizer.ggml.token_type");
	for (i = 0; m && i < 5 && m->wire[12 + 4 * i] == types[i]; i++)
		;
	test_ok(i == 5, "types of tokens");
	m = model_find(b.source->plan, "tokenizer.ggml.scores");
	test_ok(m && m->wire_bytes == 12 + 20, "scores");
	test_ok(number_of(&b, "blk.0.attn_q.weight") != SIZE_MAX &&
	        number_of(&b, "blk.0.ffn_norm.weight") != SIZE_MAX &&
	        number_of(&b, "output_norm.weight") != SIZE_MAX &&
	        number_of(&b, "blk.0.ffn_down.weight") != SIZE_MAX, "names");
	let_go(&b);
	gen_free(&g);
}

static void
others_have_their_own(void)
{
	static const uint8_t letters[] = "\1\0\0\0\0\0\0\0!\6\0\0\0\0\0\0\0\xc4\xa0\xc4\x8a\xc3\x83";
	struct gen g = { 0 }, want = { 0 };
	const struct meta *m;
	struct brought b;
	unsigned i;

	made_whisper(&g);
	test_ok(bring(&b, &format_ggml, g.p, g.n, &usual, false) == 0, "whisper: %s", b.err.fact);
	for (i = 0; i < 6; i++)
		put_u32(&want, bits_of((float)i / 4));
	test_ok(holds(&b, "audio.mel_filterbank", "F32", "2x3", &want), "mel filters");
	test_ok(has_u32(&b, "whisper.encoder.mels_count", 2) &&
	        has_u32(&b, "whisper.decoder.context_length", 448), "numbers");
	m = model_find(b.source->plan, "tokenizer.ggml.tokens");
	test_ok(m && m->wire_bytes == 12 + sizeof letters - 1 &&
	        memcmp(m->wire + 12, letters, sizeof letters - 1) == 0, "letters for bytes");
	let_go(&b);
	gen_free(&g);
	gen_free(&want);

	made_silero(&g);
	test_ok(bring(&b, &format_ggml, g.p, g.n, &usual, false) == 0, "silero: %s", b.err.fact);
	put_u32(&want, bits_of(2.5f));
	test_ok(holds(&b, "_model.decoder.2.bias", "F32", "scalar", &want) &&
	        has_u32(&b, "silero-vad.lstm.hidden_length", 64), "a scalar");
	let_go(&b);
	gen_free(&g);
	gen_free(&want);

	made_rwkv(&g, 101, 7, 8);
	test_ok(bring(&b, &format_ggml, g.p, g.n, &usual, false) == 0, "rwkv: %s", b.err.fact);
	for (i = 0; i < VOCAB; i++)
		put_block(&want, 7, 3, i, true);
	test_ok(holds(&b, "head.weight", "Q5_1", "5x32", &want), "rwkv.cpp's number of a type");
	let_go(&b);
	gen_free(&g);
	gen_free(&want);
}

/* Headers that do not name their program. */
static void
the_user_names_the_program(void)
{
	static const struct {
		const char *arch;
		uint32_t header[9];
		size_t n;
		bool counted, scored;
		const char *key;
	} files[] = {
		{ "gpt2", { 2, 9, 8, 2, 1, 1 }, 6, true, false, "gpt2.context_length" },
		{ "starcoder", { 2, 9, 8, 2, 1, 1001 }, 6, true, false, "starcoder.context_length" },
		{ "gptj", { 2, 9, 8, 2, 1, 4, 2001 }, 7, true, false, "gptj.context_length" },
		{ "gptneox", { 2, 9, 8, 2, 1, 4, 1, 1 }, 8, false, false, "gptneox.context_length" },
		{ "mpt", { 8, 9, 2, 1, 2, 0x41000000, 0, 1 }, 8, false, false, "mpt.context_length" },
		{ "replit", { 8, 9, 2, 1, 2, 1 }, 6, false, true, "replit.context_length" },
	};
	struct format_options o;
	struct brought b;
	struct gen g;
	size_t i;

	for (i = 0; i < sizeof files / sizeof *files; i++) {
		g = (struct gen){ 0 };
		made_ggml(&g, files[i].header, files[i].n, files[i].counted, files[i].scored);
		o = with_arch(files[i].arch);
		test_ok(bring(&b, &format_ggml, g.p, g.n, &o, false) == 0 &&
		        has_u32(&b, files[i].key, 9) && number_of(&b, "ln_f.weight") == 0, "%s: %s",
		        files[i].arch, b.err.fact);
		let_go(&b);
		test_ok(bring(&b, &format_ggml, g.p, g.n, &usual, false) < 0 &&
		        err_exit(&b.err) == 4 && strstr(b.err.hint, "--arch"),
		        "%s is not guessed: %s", files[i].arch, b.err.fact);
		let_go(&b);
		gen_free(&g);
	}
}

/* Falcon has the magic of LLaMA, and one key of heads more. */
static void
falcon_has_its_own_header(void)
{
	static const struct ggml_form forms[] = { { "tjgg", 1, 0, 2, true }, { "tjgg", 3, 3, 2, true } };
	uint32_t header[] = { 1, 2, 8, 4, 9, 3, 7, 1 };
	struct format_options o = with_arch("falcon");
	struct brought b;
	struct gen g;
	size_t i;

	for (i = 0; i < 2; i++) {
		g = (struct gen){ 0 };
		header[0] = forms[i].version;
		made_of(&g, &forms[i], header, 8, false, true);
		test_ok(bring(&b, &format_ggml, g.p, g.n, &o, false) == 0 &&
		        has_u32(&b, "falcon.attention.head_count_kv", 9) &&
		        has_u32(&b, "falcon.block_count", 3) && number_of(&b, "ln_f.weight") == 0,
		        "falcon, version %u: %s", (unsigned)forms[i].version, b.err.fact);
		let_go(&b);
		test_ok(bring(&b, &format_ggml, g.p, g.n, &usual, false) < 0 && err_exit(&b.err) == 4,
		        "it is not taken for LLaMA: %s", b.err.fact);
		let_go(&b);
		gen_free(&g);
	}
}

/* ---- faults ---- */

static void
mother_llama(struct gen *g)
{
	static const struct ggml_form form = { "tjgg", 3, 3, 2, true };

	made_llama(g, &form);
}

static void
mother_old(struct gen *g)
{
	static const struct ggml_form form = { "lmgg", 0, 1, 3, false };

	made_llama(g, &form);
}

static void
mother_rwkv(struct gen *g)
{
	made_rwkv(g, 101, 7, 8);
}

static const struct fault llama_faults[] = {
	{ "version 0", 4, "version 0, which is not known", SET32("version", 0), { 0 } },
	{ "version 4", 4, "version 4, which is not known", SET32("version", 4), { 0 } },
	{ "no embedding", 4, "llama.embedding_length is 0", SET32("n_embd", 0), { 0 } },
	{ "negative heads", 4, "llama.attention.head_count is -1", SET32("n_head", 0xffffffff), { 0 } },
	{ "negative layers", 4, "llama.block_count is -2147483648", SET32("n_layer", 0x80000000), { 0 } },
	{ "no vocabulary", 4, "llama.vocab_size is 0", SET32("n_vocab", 0), { 0 } },
	{ "a vocabulary of 2^31 - 1", 4, "for which the file is too short", SET32("n_vocab", 0x7fffffff), { 0 } },
	{ "a vocabulary that is too long", 4, "", SET32("n_vocab", 900), { 0 } },
	{ "a token beyond the file", 4, "a token of", SET32("words", 0x7fffffff), { 0 } },
	{ "a token of 4 GB", 4, "a token of", SET32("words", 0xffffffff), { 0 } },
	{ "5 dimensions", 4, "a tensor of 5 dimensions", SET32("ndim", 5), { 0 } },
	{ "2^32 - 1 dimensions", 4, "dimensions", SET32("ndim", 0xffffffff), { 0 } },
	{ "a name of 0 bytes", 4, "a name of 0 bytes", SET32("name_bytes", 0), { 0 } },
	{ "a name of 4 GB", 4, "a name of 4294967295 bytes", SET32("name_bytes", 0xffffffff), { 0 } },
	{ "a name beyond the file", 4, "more bytes were expected", SET32("name_bytes", 60000), { 0 } },
	{ "a name with a NUL", 4, "a name with a NUL", SET8("name", 0), { 0 } },
	{ "a name that is not UTF-8", 4, "", SET8("name", 0xff), { 0 } },
	{ "a dimension of 0", 4, "a dimension of 0", SET32("dims", 0), { 0 } },
	{ "a negative dimension", 4, "a dimension of -32", SET32("dims", (uint32_t)-32), { 0 } },
	{ "values beyond the file", 4, "are left", SET32("dims", 32 << 20), { 0 } },
	{ "rows that do not fill blocks", 4, "do not fill blocks of Q4_0", SET32("dims", 33), { 0 } },
	{ "Q4_2", 4, "Q4_2, which GGML removed", SET32("type", 4), { 0 } },
	{ "Q4_3", 4, "Q4_3, which GGML removed", SET32("type", 5), { 0 } },
	{ "Q8_1", 4, "the type 9, which is not known", SET32("type", 9), { 0 } },
	{ "type 99", 4, "the type 99, which is not known", SET32("type", 99), { 0 } },
	{ "bytes behind the tensors", 4, "more bytes were expected", TAIL("\1\0\0\0"), { 0 } },
	{ "one of several parts", 4, "is one of several parts", SET32("n_embd", 64), { 0 } },
	{ "layers that are missing", 4, "tensors, but", SET32("n_layer", 2), { 0 } },
};

static const struct fault whisper_faults[] = {
	{ "version 3 of blocks", 4, "has blocks of version 3", SET32("ftype", 3001), { 0 } },
	{ "filters of another number", 4, "a program that its header does not name", SET32("mels", 3), { 0 } },
	{ "filters of 65537 values", 4, "a program that its header does not name", { EDIT_SET, "mels", UINT64_C(0x1000100000002), 8, NULL, 0 }, { 0 } },
	{ "filters beyond the file", 4, "mel filters end behind the file", { EDIT_SET, "mels", UINT64_C(0x1000000000002), 8, NULL, 0 }, { 0 } },
	{ "a vocabulary of 2^32 - 1", 4, "for which the file is too short", SET32("words", 0xffffffff), { 0 } },
};

static const struct fault silero_faults[] = {
	{ "a type of model of 65 bytes", 4, "a type of model of 65 bytes", SET32("type_bytes", 65), { 0 } },
	{ "no layers", 4, "0 layers of an encoder", SET32("layers", 0), { 0 } },
	{ "4 billion layers", 4, "4294967295 layers of an encoder", SET32("layers", 0xffffffff), { 0 } },
};

static const struct fault rwkv_faults[] = {
	{ "blocks of version 100", 4, "whose blocks changed without a new version", { EDIT_NONE, NULL, 0, 0, NULL, 0 }, { 0 } },
};

static const struct fault rwkv_types_faults[] = {
	{ "version 102", 4, "version 102", { EDIT_ADD, "header", 0, 4, NULL, 0 }, { 0 } },
};

static void
mother_rwkv_100(struct gen *g)
{
	made_rwkv(g, 100, 7, 8);
}

static void
mother_rwkv_102(struct gen *g)
{
	made_rwkv(g, 102, 7, 8);
}

#define TRY(O, MOTHER, LIST) try_faults(&format_ggml, O, MOTHER, LIST, sizeof LIST / sizeof *LIST)

static void
faults_are_named(void)
{
	static const struct fault none = { "llama", 2, "headers of pong are not known", { 0 }, { 0 } };
	static const struct fault other = { "gpt2", 4, "", { 0 }, { 0 } };
	struct format_options o;

	TRY(&usual, mother_llama, llama_faults);
	TRY(&usual, made_whisper, whisper_faults);
	TRY(&usual, made_silero, silero_faults);
	TRY(&usual, mother_rwkv_100, rwkv_faults);
	TRY(&usual, mother_rwkv_102, rwkv_types_faults);
	o = with_arch("pong");
	try_faults(&format_ggml, &o, mother_llama, &none, 1);
	o = with_arch("gpt2");
	try_faults(&format_ggml, &o, mother_llama, &other, 1);
	try_faults(&format_ggml, &o, made_whisper, &other, 1);
}

static void
cut_files_are_refused(void)
{
	try_cuts("GGJT", &format_ggml, &usual, mother_llama, false);
	try_cuts("GGML", &format_ggml, &usual, mother_old, false);
	try_cuts("whisper.cpp", &format_ggml, &usual, made_whisper, true);
	try_cuts("silero VAD", &format_ggml, &usual, made_silero, true);
	try_cuts("rwkv.cpp", &format_ggml, &usual, mother_rwkv, true);
}

int
main(void)
{
	blocks_become_those_of_today();
	llama_has_keys_of_gguf();
	others_have_their_own();
	the_user_names_the_program();
	falcon_has_its_own_header();
	faults_are_named();
	cut_files_are_refused();
	return test_done();
}
