#include <string.h>

#include "core/base64.h"
#include "tokenizer/json.h"
#include "tokenizer/pre.h"

#define BLANK "\xe2\x96\x81" /* U+2581 */
#define DEEPEST 4            /* the deepest nesting of sequences */

/* The types of components, with their functions; each list ends with NULL. */
struct component {
	const char *type;
	int (*add)(struct file *f, const json_t *o);
};

static int
run_component(struct file *f, const json_t *o, const char *part, const char *list,
              const struct component *known, unsigned depth)
{
	const char *type;
	const json_t *all;
	size_t i;

	if (!o || json_is_null(o))
		return 0;
	type = file_text(f, o, "type", "");
	if (!type)
		return -1;
	if (strcmp(type, "Sequence") == 0) {
		all = json_object_get(o, list);
		if (!json_is_array(all) || depth == DEEPEST)
			return file_refuse(f, part, type);
		for (i = 0; i < json_array_size(all); i++)
			if (run_component(f, json_array_get(all, i), part, list, known, depth + 1) < 0)
				return -1;
		return 0;
	}
	for (i = 0; known[i].type; i++)
		if (strcmp(known[i].type, type) == 0)
			return known[i].add ? known[i].add(f, o) : 0;
	return file_refuse(f, part, type);
}

/* {"String": …} or {"Regex": …}. */
static const char *
pattern_of(struct file *f, const json_t *o, bool *literal)
{
	const json_t *p = json_object_get(o, "pattern");
	const json_t *text = json_object_get(p, "String");

	*literal = text != NULL;
	if (!text)
		text = json_object_get(p, "Regex");
	if (!json_is_string(text)) {
		err_set(f->e, ERR_CORRUPT, f->what, "a pattern is neither String nor Regex");
		return NULL;
	}
	return json_string_value(text);
}

/* ---- normalizers ---- */

static int
simple(struct file *f, enum normal_kind kind)
{
	return normal_add(&f->t->normal, kind, NULL, NULL, f->e) ? 0 : -1;
}

#define SIMPLE(name, kind) \
	static int name(struct file *f, const json_t *o) \
	{ \
		(void)o; \
		return simple(f, kind); \
	}
SIMPLE(add_nfc, NORMAL_NFC)
SIMPLE(add_nfd, NORMAL_NFD)
SIMPLE(add_nfkc, NORMAL_NFKC)
SIMPLE(add_nfkd, NORMAL_NFKD)
SIMPLE(add_lower, NORMAL_LOWER)
SIMPLE(add_marks, NORMAL_MARKS)

static int
add_bert(struct file *f, const json_t *o)
{
	int clean = file_bool(f, o, "clean_text", true);
	int chinese = file_bool(f, o, "handle_chinese_chars", true);
	int lower = file_bool(f, o, "lowercase", true);
	int accents = file_bool(f, o, "strip_accents", lower > 0);

	if (clean < 0 || chinese < 0 || lower < 0 || accents < 0)
		return -1;
	return tokenizer_bert_normal(f->t, clean, chinese, accents, lower, f->e);
}

static int
add_replace(struct file *f, const json_t *o)
{
	bool literal;
	const char *from = pattern_of(f, o, &literal);
	const char *to = file_text(f, o, "content", "");

	if (!from || !to)
		return -1;
	return normal_add(&f->t->normal, literal ? NORMAL_REPLACE : NORMAL_REPLACE_PATTERN,
	                  from, to, f->e) ? 0 : -1;
}

static int
add_prepend(struct file *f, const json_t *o)
{
	const char *text = file_text(f, o, "prepend", "");

	return text && normal_add(&f->t->normal, NORMAL_PREPEND, NULL, text, f->e) ? 0 : -1;
}

static int
add_strip(struct file *f, const json_t *o)
{
	int left = file_bool(f, o, "strip_left", true);
	int right = file_bool(f, o, "strip_right", true);
	struct normal_step *s;

	if (left < 0 || right < 0)
		return -1;
	s = normal_add(&f->t->normal, NORMAL_STRIP, NULL, NULL, f->e);
	if (!s)
		return -1;
	s->left = left;
	s->right = right;
	return 0;
}

static int
add_map(struct file *f, const json_t *o)
{
	const char *text = file_text(f, o, "precompiled_charsmap", NULL);
	struct base64_reader reader = { 0 };
	struct buf b = { 0 };
	int r;

	if (!text)
		return f->e->code != ERR_NONE ? -1
		       : err_set(f->e, ERR_CORRUPT, f->what, "Precompiled without a map");
	if (base64_add(&reader, text, strlen(text), &b) < 0 || base64_end(&reader) < 0)
		r = err_set(f->e, ERR_CORRUPT, f->what, "precompiled_charsmap is not base64");
	else if (!buf_ok(&b))
		r = err_memory(f->e);
	else
		r = normal_add_map(&f->t->normal, b.p, b.n, "precompiled_charsmap", f->e);
	buf_free(&b);
	return r;
}

int
file_normalizer(struct file *f, const json_t *o)
{
	static const struct component known[] = {
		{ "NFC", add_nfc }, { "NFD", add_nfd }, { "NFKC", add_nfkc },
		{ "NFKD", add_nfkd }, { "Lowercase", add_lower }, { "StripAccents", add_marks },
		{ "BertNormalizer", add_bert }, { "Replace", add_replace },
		{ "Prepend", add_prepend }, { "Strip", add_strip },
		{ "Precompiled", add_map }, { NULL, NULL }
	};

	return run_component(f, o, "normalizer", "normalizers", known, 0);
}

/* ---- pre-tokenizers ---- */

static int
add_pattern(struct file *f, const char *pattern, enum split_behavior behavior,
            bool invert)
{
	struct step *s = split_add(&f->t->split, STEP_PATTERN, pattern, ERR_CORRUPT, f->e);

	if (!s)
		return -1;
	s->behavior = behavior;
	s->invert = invert;
	return 0;
}

static int
add_byte_level(struct file *f, const json_t *o)
{
	int prefix = file_bool(f, o, "add_prefix_space", true);
	int cuts = file_bool(f, o, "use_regex", true);

	if (prefix < 0 || cuts < 0)
		return -1;
	if (prefix && !split_add(&f->t->split, STEP_BLANK_FIRST, NULL, ERR_CORRUPT, f->e))
		return -1;
	return cuts ? add_pattern(f, pre_gpt2, SPLIT_ISOLATED, false) : 0;
}

static int
behavior_of(struct file *f, const json_t *o, const char *otherwise)
{
	static const char *const names[] = { "Isolated", "Removed", "MergedWithPrevious",
		                             "MergedWithNext", "Contiguous" };
	const char *name = file_text(f, o, "behavior", otherwise);
	size_t i;

	for (i = 0; name && i < sizeof names / sizeof *names; i++)
		if (strcmp(name, names[i]) == 0)
			return (int)i; /* in the order of enum split_behavior */
	return name ? file_refuse(f, "behavior", name) : -1;
}

static int
add_split(struct file *f, const json_t *o)
{
	bool literal;
	const char *pattern = pattern_of(f, o, &literal);
	int behavior = behavior_of(f, o, "Isolated");
	int invert = file_bool(f, o, "invert", false);
	struct step *s;

	if (!pattern || behavior < 0 || invert < 0)
		return -1;
	s = split_add(&f->t->split, literal ? STEP_LITERAL : STEP_PATTERN, pattern,
	              ERR_CORRUPT, f->e);
	if (!s)
		return -1;
	s->behavior = (enum split_behavior)behavior;
	s->invert = invert;
	return 0;
}

static int
add_digits(struct file *f, const json_t *o)
{
	int each = file_bool(f, o, "individual_digits", false);

	return each < 0 ? -1 : add_pattern(f, "\\p{N}", each ? SPLIT_ISOLATED
	                                                     : SPLIT_CONTIGUOUS, false);
}

static int
add_punctuation(struct file *f, const json_t *o)
{
	int behavior = behavior_of(f, o, "Isolated");

	return behavior < 0 ? -1 : add_pattern(f, "[!-/:-@\\[-`{-~]|\\p{P}",
	                                       (enum split_behavior)behavior, false);
}

static int
add_words(struct file *f, const json_t *o)
{
	(void)o;
	return add_pattern(f, "[\\p{L}\\p{M}\\p{N}\\p{Pc}]+|[^\\p{L}\\p{M}\\p{N}\\p{Pc}\\s]+",
	                   SPLIT_REMOVED, true);
}

static int
add_spaces(struct file *f, const json_t *o)
{
	(void)o;
	return add_pattern(f, "\\s+", SPLIT_REMOVED, false);
}

static int
add_bert_split(struct file *f, const json_t *o)
{
	(void)o;
	return tokenizer_bert_split(f->t, f->e);
}

/* Where Metaspace puts a blank: "always", "first", "never"; a boolean before 2023. */
static int
scheme_of(struct file *f, const json_t *o)
{
	int prefix = file_bool(f, o, "add_prefix_space", true);
	const char *scheme = prefix < 0 ? NULL
	                                : file_text(f, o, "prepend_scheme",
	                                            prefix ? "always" : "never");

	if (!scheme)
		return -1;
	return strcmp(scheme, "always") == 0  ? (int)FIRST_ALWAYS
	       : strcmp(scheme, "first") == 0 ? (int)FIRST_OF_TEXT
	       : strcmp(scheme, "never") == 0 ? (int)FIRST_NEVER
	                                      : file_refuse(f, "prepend_scheme", scheme);
}

static int
is_metaspace(struct file *f, const json_t *o)
{
	const char *blank = file_text(f, o, "replacement", BLANK);

	return !blank ? -1 : strcmp(blank, BLANK) == 0 ? 0
	                                               : file_refuse(f, "replacement", blank);
}

static int
add_metaspace(struct file *f, const json_t *o)
{
	int first = scheme_of(f, o), cuts = file_bool(f, o, "split", true);
	struct step *s;

	if (first < 0 || cuts < 0 || is_metaspace(f, o) < 0)
		return -1;
	s = split_add(&f->t->split, STEP_METASPACE, NULL, ERR_CORRUPT, f->e);
	if (!s)
		return -1;
	s->first = (enum step_first)first;
	return !cuts || split_add(&f->t->split, STEP_CUT_BLANKS, NULL, ERR_CORRUPT, f->e)
	           ? 0 : -1;
}

int
file_pre_tokenizer(struct file *f, const json_t *o)
{
	static const struct component known[] = {
		{ "ByteLevel", add_byte_level }, { "Split", add_split }, { "Digits", add_digits },
		{ "Punctuation", add_punctuation }, { "Whitespace", add_words },
		{ "WhitespaceSplit", add_spaces }, { "BertPreTokenizer", add_bert_split },
		{ "Metaspace", add_metaspace }, { NULL, NULL }
	};

	return run_component(f, o, "pre-tokenizer", "pretokenizers", known, 0);
}

bool
file_is_byte_level(const json_t *o)
{
	const json_t *list = json_object_get(o, "pretokenizers");
	const char *type = json_string_value(json_object_get(o, "type"));
	size_t i;

	for (i = 0; i < json_array_size(list); i++) {
		const char *part =
			json_string_value(json_object_get(json_array_get(list, i), "type"));

		if (part && strcmp(part, "ByteLevel") == 0)
			return true;
	}
	return type && strcmp(type, "ByteLevel") == 0;
}

/* ---- post-processors ---- */

static int
add_id(struct file *f, struct affix *a, const json_t *id)
{
	uint64_t v;

	if (json_value_u64(id, &v) < 0 || v >= f->t->vocab.count)
		return err_set(f->e, ERR_CORRUPT, f->what,
		               "the post-processor adds something that is not a token");
	return affix_add(a, (uint32_t)v, f->what, f->e);
}

/* "single": a list of special tokens around one sequence. */
static int
add_template(struct file *f, const json_t *o)
{
	const json_t *list = json_object_get(o, "single");
	const json_t *all = json_object_get(o, "special_tokens"), *ids;
	struct affix *a = &f->t->before;
	const char *name;
	size_t i, k;

	if (!json_is_array(list))
		return file_refuse(f, "post-processor", "TemplateProcessing without single");
	for (i = 0; i < json_array_size(list); i++) {
		const json_t *part = json_array_get(list, i);

		if (json_object_get(part, "Sequence")) {
			if (a == &f->t->behind)
				return file_refuse(f, "post-processor", "a template with two texts");
			a = &f->t->behind;
			continue;
		}
		name = json_string_value(json_object_get(json_object_get(part, "SpecialToken"),
		                                         "id"));
		ids = json_object_get(json_object_get(all, name ? name : ""), "ids");
		if (!json_is_array(ids))
			return err_set(f->e, ERR_CORRUPT, f->what,
			               "the post-processor adds something that is not a token");
		for (k = 0; k < json_array_size(ids); k++)
			if (add_id(f, a, json_array_get(ids, k)) < 0)
				return -1;
	}
	return 0;
}

/* "cls": [text, id] goes in front, "sep" at the end. */
static int
add_cls_sep(struct file *f, const json_t *o)
{
	if (add_id(f, &f->t->before, json_array_get(json_object_get(o, "cls"), 1)) < 0)
		return -1;
	return add_id(f, &f->t->behind, json_array_get(json_object_get(o, "sep"), 1));
}

int
file_post_processor(struct file *f, const json_t *o)
{
	static const struct component known[] = {
		{ "TemplateProcessing", add_template }, { "BertProcessing", add_cls_sep },
		{ "RobertaProcessing", add_cls_sep }, { "ByteLevel", NULL }, { NULL, NULL }
	};

	return run_component(f, o, "post-processor", "processors", known, 0);
}

/* ---- decoders ---- */

static int
add_bytes_out(struct file *f, const json_t *o)
{
	(void)o;
	return f->t->of_bytes ? 0 : file_refuse(f, "decoder", "ByteLevel without its "
	                                        "pre-tokenizer");
}

static int
add_fallback(struct file *f, const json_t *o)
{
	(void)o;
	f->byte_fallback = true;
	return 0;
}

/* U+2581 becomes a blank; real files have no other replacement. */
static int
add_replace_out(struct file *f, const json_t *o)
{
	bool literal;
	const char *from = pattern_of(f, o, &literal);
	const char *to = file_text(f, o, "content", "");

	if (!from || !to)
		return -1;
	if (!literal || strcmp(from, BLANK) != 0 || strcmp(to, " ") != 0)
		return file_refuse(f, "decoder", "Replace of something else than U+2581");
	f->t->blanks = true;
	return 0;
}

static int
add_strip_out(struct file *f, const json_t *o)
{
	const char *content = file_text(f, o, "content", " ");
	uint64_t start = 0, stop = 0;

	json_member_u64(o, "start", &start);
	json_member_u64(o, "stop", &stop);
	if (!content)
		return -1;
	if (strcmp(content, " ") != 0 || start > 1 || stop > 0)
		return file_refuse(f, "decoder", "Strip of something else than a blank in front");
	f->t->blank_first = start == 1;
	return 0;
}

static int
add_metaspace_out(struct file *f, const json_t *o)
{
	int first = scheme_of(f, o);

	if (first < 0 || is_metaspace(f, o) < 0)
		return -1;
	f->t->blanks = true;
	f->t->blank_first = first != FIRST_NEVER;
	return 0;
}

static int
add_words_out(struct file *f, const json_t *o)
{
	const char *prefix = file_text(f, o, "prefix", "##");
	int tidies = file_bool(f, o, "cleanup", true);

	if (!prefix || tidies < 0)
		return -1;
	if (f->t->kind != KIND_WORDPIECE || strcmp(prefix, "##") != 0)
		return file_refuse(f, "decoder", "WordPiece of another kind");
	f->t->tidies = tidies;
	return 0;
}

int
file_decoder(struct file *f, const json_t *o)
{
	static const struct component known[] = {
		{ "ByteLevel", add_bytes_out }, { "ByteFallback", add_fallback },
		{ "Fuse", NULL }, { "Replace", add_replace_out }, { "Strip", add_strip_out },
		{ "Metaspace", add_metaspace_out }, { "WordPiece", add_words_out },
		{ NULL, NULL }
	};

	return run_component(f, o, "decoder", "decoders", known, 0);
}
