#include "check/lint.h"

#include <string.h>

#include "check/lint_parts.h"
#include "core/le.h"
#include "core/text.h"

#define VALUE ((size_t)64 << 20) /* bytes of a JSON value that is parsed */

/* Columns: id, level, claim, why, function. */
static const struct lint_rule rules[] = {
	{ { "LINT-NAME", FINDING_INFO, "tensors have the names of their architecture",
	    "Tools find a tensor by its name. apr-rename gives other names." }, lint_name },
	{ { "LINT-FORM", FINDING_INFO, "names are those that readers of this container expect",
	    "Programs that read the container look for the names of its own form: apr-rename "
	    "--schema, or apr-adapt if values change too." }, lint_form },
	{ { "LINT-LICENSE", FINDING_WARN, "the model states its licence",
	    "Nobody knows whether the model may be used or passed on." }, lint_licence },
	{ { "LINT-CARD", FINDING_WARN, "the model describes itself",
	    "A user cannot see what the model is for, who made it, and what its limits are: a key "
	    "model_card, keys general.*, or a README.md beside it." }, lint_card },
	{ { "LINT-PROVENANCE", FINDING_WARN, "the model states where it comes from",
	    "Neither source, base model, training data nor a signature says where the weights come "
	    "from." }, lint_provenance },
	{ { "LINT-TITLE", FINDING_INFO, "the model has a name",
	    "Programs show general.name to their users." }, lint_title },
	{ { "LINT-EMPTY", FINDING_INFO, "no key has an empty text",
	    "An empty text says less than a missing key, and hides that something was forgotten." },
	  lint_empty },
	{ { "LINT-SPELLING", FINDING_INFO, "keys have their usual names",
	    "Programs look for the names of GGUF and of the transformers library." },
	  lint_spelling },
	{ { "LINT-TWICE", FINDING_WARN, "nothing is stated under two names",
	    "Two spellings can disagree, and existing readers of .apr files then drop all "
	    "metadata." }, lint_twice },
	{ { "LINT-FORMAT-VERSION", FINDING_INFO, "metadata of .apr files has format_version",
	    "Readers of later versions cannot tell how the metadata is meant." },
	  lint_format_version },
	{ { "LINT-SHAPE", FINDING_INFO, "a long list of numbers has its shape beside it",
	    "A matrix that was written as a flat list cannot be read back without KEY_shape." },
	  lint_shape },
	{ { "LINT-UNITS", FINDING_INFO, "a long list of numbers has its unit beside it",
	    "Nobody knows whether values are normalized, in Hz or in seconds without KEY_units." },
	  lint_units },
	{ { "LINT-CONFIG", FINDING_ERROR, "config.json and the architecture can be read",
	    "No program can load the model." }, lint_config },
	{ { "LINT-CONTEXT", FINDING_WARN, "the context length is possible",
	    "Programs allocate memory for that many positions." }, lint_context },
	{ { "LINT-SPECIAL", FINDING_WARN, "special tokens are in the vocabulary",
	    "Text then never ends, or the program stops with an error." }, lint_special },
	{ { "LINT-TOKENIZER", FINDING_WARN, "a language model has a tokenizer",
	    "Text cannot be turned into tokens." }, lint_tokenizer },
	{ { "LINT-TEMPLATE", FINDING_WARN, "a model for chats has a chat template",
	    "Programs guess the format of a chat, and the model then answers badly or never "
	    "stops." }, lint_template },
	{ { "LINT-PRE", FINDING_WARN, "the pre-tokenizer is stated and known",
	    "Programs cut text in another way than in training, which makes answers worse without "
	    "an error. Convert the original again." }, lint_pre },
	{ { "LINT-GGUF-VERSION", FINDING_INFO, "GGUF files have version 3",
	    "New programs may drop old versions." }, lint_gguf_version },
	{ { "LINT-QUANTIZATION-VERSION", FINDING_INFO, "quantized GGUF files state the version of "
	    "their blocks", "Without general.quantization_version, readers must guess the layout "
	    "of blocks." }, lint_quantization_version },
	{ { "LINT-FILE-TYPE", FINDING_INFO, "general.file_type agrees with the tensors",
	    "Programs show and choose by it." }, lint_file_type },
	{ { "LINT-OLD-TYPE", FINDING_WARN, "no tensor has a type that GGML has dropped",
	    "Current programs cannot read it. Quantize the original again." }, lint_old_type },
	{ { "LINT-ALIGN", FINDING_INFO, "tensors start at multiples of 64 bytes",
	    "Vector instructions and GPUs read aligned data faster." }, lint_align },
	{ { "LINT-UNALIGNED", FINDING_WARN, "values lie at multiples of their size",
	    "Programs that map the file cannot use the values where they lie." },
	  lint_unaligned },
	{ { "LINT-PADDING", FINDING_WARN, "padding is zero",
	    "Other bytes make files differ without a reason, and can hide data." },
	  lint_padding },
	{ { "LINT-COMPRESS", FINDING_INFO, "tensors of more than 1 MB are compressed",
	    "The file could be smaller." }, lint_compress },
	{ { "LINT-SPARSE", FINDING_WARN, "tensors that are called sparse are stored as sparse",
	    "The file has the size of a dense model, and programs compute with the zeros." },
	  lint_sparse },
	{ { NULL, FINDING_INFO, NULL, NULL }, NULL }
};

static const struct lint_rule security[] = {
	{ { "SEC-PICKLE", FINDING_ERROR, "the file calls no function when it is loaded",
	    "Programs that load a pickle run what it names. Do not load this file with them; "
	    "apr-unpack reads only tensors and calls nothing." }, security_pickle },
	{ { "SEC-PATH", FINDING_ERROR, "no name leads out of the folder of the model",
	    "A program that writes or opens a file under this name reaches other files of its "
	    "user." }, security_path },
	{ { "SEC-CONTROL", FINDING_WARN, "names and short texts have no control characters",
	    "They can change what a terminal or an editor shows." }, security_control },
	{ { "SEC-TEMPLATE", FINDING_ERROR, "chat templates only format messages",
	    "A template that reaches for attributes or imports can run code in programs whose "
	    "template engine has no sandbox." }, security_template },
	{ { "SEC-HIDDEN", FINDING_WARN, "every byte of the file belongs to the model",
	    "Gaps and bytes after the end can carry other data past a check." },
	  security_hidden },
	{ { "SEC-POLYGLOT", FINDING_ERROR, "the file is of one format only",
	    "Another program takes the same file for an archive, a document or a program." },
	  security_polyglot },
	{ { "SEC-SIZE", FINDING_WARN, "sizes are in proportion to the file",
	    "A small file that claims much makes its reader run out of memory." },
	  security_size },
	{ { "SEC-LICENSE", FINDING_WARN, "the licence allows commercial use",
	    "Use in a product can break the licence." }, security_licence },
	{ { "SEC-CODE", FINDING_WARN, "the model brings no code",
	    "Programs that trust the model (trust_remote_code) run that code." },
	  security_code },
	{ { "SEC-UNVERIFIED", FINDING_INFO, "a signature that the model carries was verified",
	    "Anybody can attach a signature; only apr-verify shows whether it holds." },
	  security_claims },
	{ { NULL, FINDING_INFO, NULL, NULL }, NULL }
};

const struct lint_rule *
lint_rule(size_t index)
{
	return index + 1 < sizeof rules / sizeof *rules ? &rules[index] : NULL;
}

const struct lint_rule *
security_rule(size_t index)
{
	return index + 1 < sizeof security / sizeof *security ? &security[index] : NULL;
}

/* ---- what rules share ---- */

const char *
lint_text(const struct lint *l, const char *key, size_t *n)
{
	struct value_type type;
	size_t bytes;
	const uint8_t *wire = weights_value(&l->s->subject.w, key, &type, &bytes);

	return wire ? value_string(type, wire, bytes, n) : NULL;
}

bool
lint_has(const struct lint *l, const char *key)
{
	return model_find(l->s->source->plan, key) != NULL;
}

const char *
lint_card_text(const struct lint *l, const char *field)
{
	return json_string_value(json_object_get(l->card, field));
}

bool
lint_is(const struct lint *l, const char *format)
{
	return strcmp(l->s->format, format) == 0 ||
	       (strcmp(l->s->format, "stream") == 0 &&
	        model_source_is(l->s->source->plan, format));
}

bool
lint_is_apr(const struct lint *l)
{
	return lint_is(l, "apr1") || lint_is(l, "apr2") || lint_is(l, "apr2-64");
}

static uint64_t
json_items_of(const char *text, size_t n, bool numbers)
{
	struct err e = ERR_INIT;
	json_t *v = n < VALUE && n > 0 && *text == '[' ? json_parse_any(text, n, ERR_CORRUPT, "", &e)
	                                               : NULL;
	uint64_t count = json_array_size(v);

	if (numbers && !json_is_number(json_array_get(v, 0)))
		count = 0;
	json_decref(v);
	return count;
}

uint64_t
lint_items(const struct lint *l, const struct meta *k, bool numbers)
{
	struct value_type type;
	size_t n;
	const uint8_t *wire = weights_meta(&l->s->subject.w, k, &type, &n);

	if (!wire)
		return 0;
	if (type.depth == 0 && type.leaf == VALUE_JSON)
		return json_items_of((const char *)wire, n, numbers);
	if (type.depth == 0 || n < 12 || (numbers && value_leaf_bytes(type.leaf) == 0))
		return 0;
	return le64(wire + 4);
}

/* ---- fixes ---- */

const char *
lint_shell(struct buf *b, const char *text)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
		"0123456789-_./,:=+@%";
	const char *s;

	buf_clear(b);
	if (*text && text[strspn(text, plain)] == '\0') {
		buf_text(b, text);
	} else {
		buf_text(b, "'");
		for (; *text; text++)
			if (*text == '\'')
				buf_text(b, "'\\''");
			else
				buf_put(b, text, 1);
		buf_text(b, "'");
	}
	s = buf_string(b);
	return s ? s : "";
}

static const char *
file_of(const struct lint *l, struct buf *b)
{
	return l->s->path && strcmp(l->s->path, "-") != 0 ? lint_shell(b, l->s->path) : "FILE";
}

/* The suffix of a new file of the same format. */
static const char *
suffix_of(const struct lint *l)
{
	return lint_is(l, "gguf") ? "gguf" : lint_is_apr(l) ? "apr" : "safetensors";
}

void
lint_fix_meta(const struct lint *l, const char *words)
{
	struct buf file = { 0 };

	if (l->edits)
		findings_fix(l->to, "apr-meta %s --in-place %s", words, file_of(l, &file));
	else
		findings_fix(l->to, "apr-meta %s %s | apr-pack -o new.%s", words, file_of(l, &file),
		             suffix_of(l));
	buf_free(&file);
}

void
lint_fix_pipe(const struct lint *l, const char *command, const char *pack)
{
	struct buf file = { 0 };

	if (pack)
		findings_fix(l->to, "%s %s | apr-pack %s", command, file_of(l, &file), pack);
	else
		findings_fix(l->to, "%s %s | apr-pack -o new.%s", command, file_of(l, &file),
		             suffix_of(l));
	buf_free(&file);
}
