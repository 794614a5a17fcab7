#include <string.h>

#include "adapt/tokens/tokens_folder.h"
#include "adapt/tokens/tokens_keys.h"
#include "core/text.h"
#include "tokenizer/pre.h"

/* The structure of a pre_tokenizer is a text: its steps, a line each. A step is a pattern in
 * one spelling, so that files and the rows of pre.h can be compared. */

/* ---- one spelling of patterns ---- */

/* Endings of English words in two ways of ignoring case, and possessive repetitions, which
 * match the same text here. */
static const struct { const char *from, *to; } spellings[] = {
	{ "(?i:'s|'t|'re|'ve|'m|'ll|'d)", "<ends>" },
	{ "(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])", "<ends>" },
	{ "'(?i:[sdmt]|ll|ve|re)", "<tails>" },
	{ "'(?:[sSdDmMtT]|[lL][lL]|[vV][eE]|[rR][eE])", "<tails>" },
	{ "'(?:[sdmt]|ll|ve|re)", "'s|'t|'re|'ve|'m|'ll|'d" },
	{ "?+", "?" }, { "++", "+" }, { "*+", "*" }, { "}+", "}" },
};

static size_t
spelling(const char *s, const char **to)
{
	size_t i, n;

	for (i = 0; i < sizeof spellings / sizeof *spellings; i++) {
		n = strlen(spellings[i].from);
		if (strncmp(s, spellings[i].from, n) == 0) {
			*to = spellings[i].to;
			return n;
		}
	}
	return 0;
}

static void
put_pattern(struct buf *b, const char *s)
{
	const char *to;
	uint32_t c;
	size_t n;

	for (; *s; s += n) {
		n = spelling(s, &to);
		if (n > 0) {
			buf_text(b, to);
			continue;
		}
		n = text_character(s, strlen(s), &c);
		if (*s == '\\' && s[1]) {
			n = 2;
			buf_put(b, s, 2);
		} else if (n > 1) {
			buf_printf(b, "\\x{%x}", c);
		} else {
			n = 1;
			buf_text(b, *s == '\r' ? "\\r" : *s == '\n' ? "\\n" : *s == '\t' ? "\\t" : "");
			if (!strchr("\r\n\t", *s))
				buf_u8(b, (uint8_t)*s);
		}
	}
	buf_u8(b, '\n');
}

/* ---- the structure of a file ---- */

#define PUNCTUATION "<punctuation>"

static const char *
member_text(const json_t *o, const char *name)
{
	const char *s = json_string_value(json_object_get(o, name));

	return s ? s : "";
}

/* A split keeps the matches of a pattern as pieces, or drops the text between them: patterns
 * of tokenizers match all text, so this is the same. */
static bool
put_split(const json_t *o, struct buf *b)
{
	const json_t *pattern = json_object_get(o, "pattern");
	const char *regex = json_string_value(json_object_get(pattern, "Regex"));
	const char *behavior = member_text(o, "behavior");
	bool invert = json_is_true(json_object_get(o, "invert"));

	if (!regex || !(strcmp(behavior, "Isolated") == 0 ||
	                (strcmp(behavior, "Removed") == 0 && invert)))
		return false;
	put_pattern(b, regex);
	return true;
}

static bool
put_component(const json_t *o, struct buf *b)
{
	const char *type = member_text(o, "type");

	if (strcmp(type, "Split") == 0)
		return put_split(o, b);
	if (strcmp(type, "ByteLevel") == 0) {
		if (!json_is_false(json_object_get(o, "use_regex")))
			put_pattern(b, pre_gpt2);
	} else if (strcmp(type, "Digits") == 0) {
		put_pattern(b, json_is_true(json_object_get(o, "individual_digits")) ? "\\p{N}"
		                                                                      : "\\p{N}+");
	} else if (strcmp(type, "Punctuation") == 0 &&
	           strcmp(member_text(o, "behavior"), "Contiguous") == 0) {
		put_pattern(b, PUNCTUATION);
	} else {
		return false;
	}
	return true;
}

static bool
put_structure(const json_t *o, struct buf *b)
{
	const json_t *list = json_object_get(o, "pretokenizers");
	size_t i;

	if (strcmp(member_text(o, "type"), "Sequence") != 0)
		return put_component(o, b);
	for (i = 0; i < json_array_size(list); i++)
		if (!put_component(json_array_get(list, i), b))
			return false;
	return true;
}

/* ---- the names ---- */

#define ANY (-1)

/* Names of families, the first that fits. Steps are those of the name's row in pre.h, or of
 * the name `like`, or those of published files if they differ: a step that ends with "..."
 * stands for any rest. */
static const struct known {
	const char *name;
	const char *archs; /* model_type or general.architecture; NULL: any */
	int whole;         /* ignore_merges */
	const char *like;
	const char *steps[PRE_PATTERNS + 1];
} known[] = {
	/* one pattern, several families */
	{ "gpt-2", "gpt2", ANY, NULL, { NULL } },
	{ "phi-2", "phi phi2", ANY, NULL, { NULL } },
	{ "mpt", "mpt", ANY, NULL, { NULL } },
	{ "olmo", "olmo gpt_neox gptneox mamba", ANY, NULL, { NULL } },
	{ "roberta-bpe", "roberta", ANY, NULL, { NULL } },
	{ "modern-bert", "modernbert modern-bert", ANY, NULL, { NULL } },
	{ "jina-v2-es", "jina-bert-v2", ANY, NULL, { NULL } },
	{ "gigachat", "deepseek2 deepseek_v2 deepseek_v3", ANY, NULL, { NULL } },
	{ "a.x-4.0", "qwen2", ANY, NULL, { NULL } },
	{ "granite-docling", "granite idefics3", ANY, NULL, { NULL } },
	{ "trillion", "trillion", ANY, NULL, { NULL } },
	{ "gpt-2", NULL, ANY, NULL, { NULL } },

	{ "command-r", "cohere command-r cohere2", ANY, NULL, { NULL } },
	{ "refact", "granite granitemoe gpt_refact", ANY, NULL, { NULL } },
	{ "smollm", "llama", ANY, NULL, { NULL } },
	{ "minerva-7b", "mistral", ANY, NULL, { NULL } },
	{ "starcoder", NULL, ANY, NULL, { NULL } },

	{ "smaug-bpe", "smollm3", ANY, NULL, { NULL } },
	{ "stablelm2", "stablelm", ANY, "llama-bpe", { NULL } },
	{ "stablelm2", "stablelm", ANY, NULL, { NULL } },
	{ "falcon-h1", "falcon_h1 falcon-h1", ANY, NULL, { NULL } },
	{ "jina-v5-nano", "eurobert", ANY, NULL, { NULL } },
	{ "glm4", "glm glm4 glm4_moe glm4moe", ANY, NULL, { NULL } },
	{ "chatglm-bpe", "chatglm", ANY, NULL, { NULL } },
	{ "pixtral", "mistral3 pixtral", 1, NULL, { NULL } },
	{ "llama-bpe", NULL, 1, NULL, { NULL } },
	{ "smaug-bpe", "llama", 0, NULL, { NULL } },
	{ "dbrx", NULL, 0, NULL, { NULL } },

	{ "hunyuan", "hunyuan_v1_moe hunyuan-moe", ANY, NULL, { NULL } },
	{ "grok-2", "git grok", ANY, NULL, { NULL } },
	{ "megrez", "llama", ANY, NULL, { NULL } },
	{ "solar-open", "solar_open", ANY, NULL, { NULL } },
	{ "qwen2", NULL, ANY, NULL, { NULL } },

	{ "llama4", "llama4 llama4_text", 0, NULL, { NULL } },
	{ "minimax-m2", "minimax_m2 minimax-m2", 0, NULL, { NULL } },
	{ "kanana2", "deepseek2 deepseek_v3", 0, NULL, { NULL } },
	{ "gpt-4o", NULL, 0, NULL, { NULL } },

	/* published files that spell their steps in another way */
	{ "falcon", NULL, ANY, NULL,
	  { PUNCTUATION, pre_gpt2, "\\p{N}+", "[0-9][0-9][0-9]", NULL } },
	{ "deepseek-llm", NULL, ANY, NULL,
	  { "[\\r\\n]", "\\s?[A-Za-z\\x{b5}...", "\\s?[!-/:-~...", "\\s+$", "[\\x{4e00}...",
	    "\\p{N}", NULL } },
	{ "deepseek-coder", NULL, ANY, NULL,
	  { "[\\r\\n]", "\\s?\\p{L}+", "\\s?\\p{P}+", "[\\x{4e00}...", "\\p{N}", NULL } },
	{ "gpt3-finnish", "gpt3-finnish", ANY, NULL, { NULL } },
	{ "bloom", NULL, ANY, NULL,
	  { " ?[^(\\s|[.,!?\\x{2026}\\x{3002}\\x{ff0c}\\x{3001}\\x{964}\\x{6d4}\\x{60c}])]+",
	    NULL } },
	{ "viking", NULL, ANY, NULL,
	  { " ?[^(\\s|[.,!?\\x{2026}\\x{3002}\\x{ff0c}\\x{3001}\\x{964}\\x{6d4}\\x{60c}])]+",
	    "\\p{N}", NULL } },
	{ "superbpe", NULL, ANY, NULL, { "\\p{N}+", "(?=(\\d{3})+(?!\\d))", NULL } },
	{ "bailingmoe", NULL, ANY, NULL,
	  { "<tails>|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}"
	    "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]|\\s+(?!\\S)|\\s+", NULL } },
};

/* ---- comparing ---- */

static bool
is_word_of(const char *words, const char *word)
{
	size_t n = strlen(word), k;

	for (; *words; words += k + (words[k] == ' ')) {
		k = strcspn(words, " ");
		if (k == n && memcmp(words, word, n) == 0)
			return true;
	}
	return false;
}

/* Whether the architecture has a name among the words. */
static bool
has_arch(const struct subject *s, const char *words)
{
	const char *type = member_text(s->config, "model_type");

	return is_word_of(words, type) ||
	       (s->arch && ((s->arch->folder && is_word_of(words, s->arch->folder)) ||
	                    is_word_of(words, s->arch->name)));
}

/* Whether the structure consists of these steps, which end with NULL. */
static bool
is_same(const char *structure, const char *const *steps, size_t most, struct buf *b)
{
	size_t i, n;

	for (i = 0; i < most && steps[i]; i++) {
		buf_clear(b);
		put_pattern(b, steps[i]);
		n = b->n;
		if (n >= 4 && memcmp(b->p + n - 4, "...\n", 4) == 0) {
			n -= 4;
			if (strncmp(structure, (char *)b->p, n) != 0)
				return false;
			structure += strcspn(structure, "\n") + 1;
			continue;
		}
		if (strncmp(structure, (char *)b->p, n) != 0)
			return false;
		structure += n;
	}
	return *structure == 0;
}

static bool
is_like(const char *structure, const char *name, struct buf *b)
{
	const struct pre *p = pre_find(name);

	return p && is_same(structure, p->pattern, PRE_PATTERNS, b);
}

static bool
fits(const struct tokens_folder *f, const struct known *k, const char *structure, bool whole,
     struct buf *b)
{
	if ((k->archs && !has_arch(f->s, k->archs)) || (k->whole != ANY && k->whole != whole))
		return false;
	if (k->steps[0])
		return is_same(structure, k->steps, PRE_PATTERNS + 1, b);
	return is_like(structure, k->like ? k->like : k->name, b);
}

/* A name in the list of a row, as the name of the folder's pre-tokenizer. */
static const char *
keep(struct tokens_folder *f, const char *name)
{
	size_t n = strcspn(name, " ");

	if (n >= sizeof f->pre)
		return NULL;
	memcpy(f->pre, name, n);
	f->pre[n] = 0;
	return f->pre;
}

/* A row that has the steps: the name that is also the architecture's; or the first. */
static const char *
find_row(struct tokens_folder *f, const char *structure, bool whole, bool by_arch,
         struct buf *b)
{
	const struct pre *p;
	const char *name;
	size_t i;

	for (i = 0; (p = pre_row(i)) != NULL; i++) {
		if (!is_same(structure, p->pattern, PRE_PATTERNS, b) ||
		    (!by_arch && ((p->flags & PRE_WHOLE_WORDS) != 0) != whole))
			continue;
		for (name = p->names; *name; name += strspn(name, " ")) {
			if (!keep(f, name))
				return NULL;
			if (!by_arch || has_arch(f->s, f->pre))
				return f->pre;
			name += strcspn(name, " ");
		}
	}
	return NULL;
}

static const char *
find_name(struct tokens_folder *f, const char *structure, bool whole, struct buf *b)
{
	const char *name = find_row(f, structure, whole, true, b);
	size_t i;

	for (i = 0; !name && i < sizeof known / sizeof *known; i++)
		if (fits(f, &known[i], structure, whole, b))
			name = known[i].name;
	return name ? name : find_row(f, structure, whole, false, b);
}

static int
refuse(struct tokens_folder *f, const json_t *o)
{
	struct buf b = { 0 };

	json_write(o, &b);
	err_set(f->e, ERR_FORMAT, "tokenizer.json", "pre_tokenizer is not known: %.400s",
	        buf_string(&b) ? (char *)b.p : "");
	buf_free(&b);
	return err_hint(f->e, "--pre NAME names one that cuts text in the same way, such as "
	                "llama-bpe, qwen2 or gpt-2");
}

/* Without tokenizer.json, the class of the tokenizer has the patterns. */
static void
put_class(const struct tokens_folder *f, struct buf *b)
{
	const char *type = member_text(f->config, "tokenizer_class");
	const struct pre *p = strncmp(type, "Qwen2", 5) == 0 ? pre_find("qwen2")
	                                                     : pre_find("gpt-2");

	put_pattern(b, p->pattern[0]);
}

const char *
tokens_pre(struct tokens_folder *f)
{
	const json_t *o = json_object_get(f->file, "pre_tokenizer");
	const json_t *model = json_object_get(f->file, "model");
	bool whole = json_is_true(json_object_get(model, "ignore_merges"));
	struct buf structure = { 0 }, scratch = { 0 };
	const char *name = f->o->pre;

	if (!name)
		name = json_string_value(json_object_get(f->config, TOKENS_PRE_MEMBER));
	if (name)
		return name;
	if (f->kind != TOKENS_BYTES)
		return f->kind == TOKENS_WORDS ? TOKENS_PRE_WORDS : TOKENS_PRE_SCORES;
	if (!f->file)
		put_class(f, &structure);
	if ((!f->file || put_structure(o, &structure)) && buf_string(&structure))
		name = find_name(f, (char *)structure.p, whole, &scratch);
	if (!name)
		refuse(f, o);
	buf_free(&structure);
	buf_free(&scratch);
	return name;
}

const char *
tokens_derived(const struct subject *s, json_t *pre_tokenizer, bool whole, char name[64])
{
	struct tokens_folder f = { .s = s };
	struct buf structure = { 0 }, scratch = { 0 };
	const char *found = NULL;

	if (put_structure(pre_tokenizer, &structure) && buf_string(&structure))
		found = find_name(&f, (char *)structure.p, whole, &scratch);
	buf_free(&structure);
	buf_free(&scratch);
	if (!found || strlen(found) >= 64)
		return NULL;
	return strcpy(name, found);
}
