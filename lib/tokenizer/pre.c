#include "tokenizer/pre.h"

#include <string.h>

/* The endings of English words, in lower case and in any case; letters, numbers and other
 * characters, each with a blank in front; white space, whose last character is left to
 * the word after it. Patterns differ in how many digits go together, and in what may stand
 * before letters or after other characters. */
#define ENDS "'s|'t|'re|'ve|'m|'ll|'d"
#define ANY_ENDS "(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])"
#define SPACES "\\s+(?!\\S)|\\s+"
#define GPT2 ENDS "| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|" SPACES
#define LLAMA3(digits) \
	ANY_ENDS "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|" digits \
	"| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|" SPACES

/* Words that begin with capitals: o200k. */
#define UPPER "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]"
#define LOWER "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]"
#define O200K(ends, digits) \
	"[^\\r\\n\\p{L}\\p{N}]?" UPPER "*" LOWER "+" ends \
	"|[^\\r\\n\\p{L}\\p{N}]?" UPPER "+" LOWER "*" ends "|" digits \
	"| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|" SPACES

#define BLOOM " ?[^(\\s|.,!?\\x{2026}\\x{3002}\\x{ff0c}\\x{3001}\\x{964}\\x{6d4}\\x{60c})]+"

/* DeepSeek: scripts are kept apart. */
#define CJK "[\\x{4e00}-\\x{9fa5}\\x{800}-\\x{4e00}\\x{ac00}-\\x{d7ff}]+"
#define DEEPSEEK3 \
	"[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+" \
	"|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\\r\\n]*" \
	"|\\s*[\\r\\n]+|" SPACES
#define ALPHABETS \
	"\\x{41}-\\x{5a}\\x{61}-\\x{7a}\\x{b5}\\x{c0}-\\x{d6}\\x{d8}-\\x{f6}" \
	"\\x{f8}-\\x{1ba}\\x{1bc}-\\x{1bf}\\x{1c4}-\\x{293}\\x{295}-\\x{2af}" \
	"\\x{370}-\\x{373}\\x{376}\\x{377}\\x{37b}-\\x{37d}\\x{37f}\\x{386}" \
	"\\x{388}-\\x{38a}\\x{38c}\\x{38e}-\\x{3a1}\\x{3a3}-\\x{3f5}\\x{3f7}-\\x{481}" \
	"\\x{48a}-\\x{52f}\\x{531}-\\x{556}\\x{10a0}-\\x{10c5}\\x{13a0}-\\x{13f5}" \
	"\\x{13f8}-\\x{13fd}\\x{1c90}-\\x{1cba}\\x{1cbd}-\\x{1cbf}\\x{1d00}-\\x{1d2b}" \
	"\\x{1d6b}-\\x{1d77}\\x{1d79}-\\x{1d9a}\\x{1e00}-\\x{1f15}\\x{1f18}-\\x{1f1d}" \
	"\\x{1f20}-\\x{1f45}\\x{1f48}-\\x{1f4d}\\x{1f50}-\\x{1f57}\\x{1f59}\\x{1f5b}" \
	"\\x{1f5d}\\x{1f5f}-\\x{1f7d}\\x{1f80}-\\x{1fb4}\\x{1fb6}-\\x{1fbc}\\x{1fbe}" \
	"\\x{1fc2}-\\x{1fc4}\\x{1fc6}-\\x{1fcc}\\x{1fd0}-\\x{1fd3}\\x{1fd6}-\\x{1fdb}" \
	"\\x{1fe0}-\\x{1fec}\\x{1ff2}-\\x{1ff4}\\x{1ff6}-\\x{1ffc}\\x{2102}\\x{2107}" \
	"\\x{210a}-\\x{2113}\\x{2115}\\x{2119}-\\x{211d}\\x{2124}\\x{2126}\\x{2128}" \
	"\\x{212a}-\\x{212d}\\x{212f}-\\x{2134}\\x{2139}\\x{213c}-\\x{213f}" \
	"\\x{2145}-\\x{2149}\\x{214e}\\x{2183}\\x{2184}\\x{2c00}-\\x{2c7b}" \
	"\\x{2c7e}-\\x{2ce4}\\x{2ceb}-\\x{2cee}\\x{2cf2}\\x{2cf3}\\x{a640}-\\x{a66d}" \
	"\\x{a680}-\\x{a69b}\\x{a722}-\\x{a76f}\\x{a771}-\\x{a787}\\x{a78b}-\\x{a78e}" \
	"\\x{ab70}-\\x{abbf}\\x{fb00}-\\x{fb06}\\x{fb13}-\\x{fb17}\\x{ff21}-\\x{ff3a}" \
	"\\x{ff41}-\\x{ff5a}\\x{10400}-\\x{1044f}\\x{104b0}-\\x{104d3}" \
	"\\x{104d8}-\\x{104fb}\\x{10c80}-\\x{10cb2}\\x{10cc0}-\\x{10cf2}" \
	"\\x{118a0}-\\x{118df}\\x{1e900}-\\x{1e943}"

#define THREES "" /* not a pattern: STEP_THREES */

const char pre_gpt2[] = GPT2;

static const struct pre table[] = {
	{ "default", { "[\\p{P}$+<=>^~|]+", GPT2, "\\p{N}+", "[0-9][0-9][0-9]" }, 0 },
	{ "gpt-2 phi-2 mpt olmo jais trillion granite-docling exaone4 gigachat a.x-4.0 mellum "
	  "modern-bert jina-es jina-de jina-v2-es jina-v2-de jina-v1-en jina-v2-code "
	  "roberta-bpe", { GPT2 }, 0 },
	{ "llama-bpe llama3 llama-v3 falcon3 falcon-h1 pixtral midm-2.0 lfm2 jina-v5-nano",
	  { LLAMA3("\\p{N}{1,3}") }, PRE_WHOLE_WORDS | PRE_BOS },
	{ "dbrx smaug-bpe", { LLAMA3("\\p{N}{1,3}") }, 0 },
	{ "glm4 chatglm-bpe", { LLAMA3("\\p{N}{1,3}") }, PRE_NO_BOS },
	{ "minicpm5", { "\\p{N}{1,3}", LLAMA3("\\p{N}+") }, PRE_WHOLE_WORDS },
	{ "qwen2 deepseek-r1-qwen kormo f2llmv2 megrez stablelm2 hunyuan solar-open grok-2",
	  { LLAMA3("\\p{N}") }, 0 },
	{ "qwen35",
	  { ANY_ENDS "|[^\\r\\n\\p{L}\\p{N}]?[\\p{L}\\p{M}]+|\\p{N}"
	    "| ?[^\\s\\p{L}\\p{M}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|" SPACES }, 0 },
	{ "laguna", { "[^\\n]+|[\\n]+", LLAMA3("\\p{N}") }, 0 },
	{ "seed-coder",
	  { ANY_ENDS "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}"
	    "| ?[^\\s\\p{L}\\p{N}\\r\\n]+|\\s*[\\r\\n]+|" SPACES }, 0 },
	{ "bailingmoe bailingmoe2 llada-moe",
	  { "'(?:[sSdDmMtT]|[lL][lL]|[vV][eE]|[rR][eE])|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}"
	    "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]|" SPACES }, 0 },
	{ "starcoder refact command-r smollm codeshell exaone minerva-7b mellum2",
	  { "\\p{N}", GPT2 }, 0 },
	{ "falcon", { "[\\p{P}$+<=>^~|`]+", GPT2, "[0-9][0-9][0-9]" }, 0 },
	{ "deepseek-llm",
	  { "[\\r\\n]", "\\s?[" ALPHABETS "]+",
	    "\\s?[!-/:-~\\x{ff01}-\\x{ff0f}\\x{ff1a}-\\x{ff5e}\\x{2018}-\\x{201f}"
	    "\\x{3000}-\\x{3002}]+",
	    "\\s+$", CJK, "\\p{N}+" }, 0 },
	{ "deepseek-coder", { "[\\r\\n]", "\\s?\\p{L}+", "\\s?\\p{P}+", CJK, "\\p{N}" }, 0 },
	{ "deepseek-v3 hunyuan-dense joyai-llm",
	  { "\\p{N}{1,3}", "[\\x{4e00}-\\x{9fa5}\\x{3040}-\\x{309f}\\x{30a0}-\\x{30ff}]+",
	    DEEPSEEK3 }, 0 },
	{ "tekken", { O200K("", "\\p{N}") }, PRE_WHOLE_WORDS | PRE_BOS },
	{ "gpt-4o llama4 kanana2 talkie minimax-m2", { O200K(ANY_ENDS "?", "\\p{N}{1,3}") },
	  0 },
	{ "granite-embed-multi-97m", { O200K(ANY_ENDS "?", "\\p{N}{1,3}") },
	  PRE_WHOLE_WORDS },
	{ "poro-chat bloom gpt3-finnish", { BLOOM }, 0 },
	{ "viking", { BLOOM, "\\p{N}" }, 0 },
	{ "superbpe", { "\\p{N}+", THREES }, 0 },
	{ "chameleon",
	  { "<sentinel:[0-9]+>", "(IMGIMG)((A|B|C|D|E|F|G|H|I){1,4})Z", "([\\t\\n]|    |  )",
	    "\\p{N}", "[\\p{P}!-/:-@\\[-`{-~]", GPT2 }, PRE_BOS },
};

static bool
is_among(const char *names, const char *name)
{
	size_t n = strlen(name), k;

	for (; *names; names += k + (names[k] == ' ')) {
		k = strcspn(names, " ");
		if (k == n && memcmp(names, name, n) == 0)
			return true;
	}
	return false;
}

const struct pre *
pre_find(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof table / sizeof *table; i++)
		if (is_among(table[i].names, name))
			return &table[i];
	return NULL;
}

const struct pre *
pre_row(size_t index)
{
	return index < sizeof table / sizeof *table ? &table[index] : NULL;
}

int
pre_steps(const struct pre *p, struct split *s, struct err *e)
{
	size_t i;

	for (i = 0; i < PRE_PATTERNS && p->pattern[i]; i++)
		if (!split_add(s, *p->pattern[i] ? STEP_PATTERN : STEP_THREES, p->pattern[i],
		               ERR_CORRUPT, e))
			return -1;
	return 0;
}
