/* lint_parts: what the rules of lint.h share. */
#ifndef CHECK_LINT_PARTS_H
#define CHECK_LINT_PARTS_H

#include "check/lint.h"

typedef const char *lint_judge(const struct lint *l, const struct rule *r);

lint_judge lint_name, lint_form;
lint_judge lint_licence, lint_card, lint_provenance, lint_title, lint_empty, lint_spelling,
	lint_twice, lint_format_version, lint_shape, lint_units;
lint_judge lint_context, lint_special, lint_tokenizer, lint_template, lint_pre;
lint_judge lint_gguf_version, lint_quantization_version, lint_file_type, lint_old_type;
lint_judge lint_align, lint_unaligned, lint_padding, lint_compress, lint_sparse, lint_config;
lint_judge security_pickle, security_path, security_control, security_template, security_hidden,
	security_polyglot, security_size, security_licence, security_code, security_claims;

/* Text and numbers of the plan. lint_text: the n bytes of a text key, not terminated, or NULL. */
const char *lint_text(const struct lint *l, const char *key, size_t *n);
bool lint_has(const struct lint *l, const char *key);
const char *lint_card_text(const struct lint *l, const char *field);

/* "gguf": the container, or what a stream came from. */
bool lint_is(const struct lint *l, const char *format);
bool lint_is_apr(const struct lint *l);

/* The number of items of a key that is a list, typed or as JSON; 0 if it is not. numbers: only
 * if they are numbers. */
uint64_t lint_items(const struct lint *l, const struct meta *k, bool numbers);

/* Adds a fix to the last finding: KEY=VALUE or other words of apr-meta, for the file. */
void lint_fix_meta(const struct lint *l, const char *words);

/* Adds a fix: a command, then the file, then what follows: "apr-rename ... FILE | apr-pack ...".
 * The file and new.SUFFIX are quoted for a shell. */
void lint_fix_pipe(const struct lint *l, const char *command, const char *pack);

/* Sets b to text quoted for a shell, with control characters escaped. */
const char *lint_shell(struct buf *b, const char *text);

#endif
