#include "quant/override.h"

#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "core/reader.h"

#define FILE_BYTES (16u << 20)

int
override_add(struct overrides *o, const char *text, struct err *e)
{
	const char *equals = strrchr(text, '=');
	struct override_rule *r;

	if (!equals || equals == text)
		return err_set(e, ERR_USAGE, text, "is not a rule REGEX=TYPE");
	if (mem_grow(&o->rules, &o->cap, o->n + 1, sizeof *o->rules) < 0)
		return err_memory(e);
	r = &o->rules[o->n];
	r->type = dtype_asked(equals + 1);
	if (!r->type || !dtype_sized(r->type))
		return err_set(e, ERR_USAGE, text, "%.40s is not a type", equals + 1);
	o->n++;
	r->text = mem_text(text, strlen(text));
	r->regex = mem_text(text, (size_t)(equals - text));
	if (!r->text || !r->regex)
		return err_memory(e);
	return pattern_open(&r->pattern, r->regex, e);
}

static int
add_lines(struct overrides *o, char *text, struct err *e)
{
	char *line, *save = NULL;

	for (line = strtok_r(text, "\r\n", &save); line; line = strtok_r(NULL, "\r\n", &save))
		if (line[strspn(line, " \t")] && override_add(o, line, e) < 0)
			return -1;
	return 0;
}

int
override_read(struct overrides *o, const char *path, struct err *e)
{
	struct buf b = { 0 };
	struct reader r;
	int status = -1;

	if (reader_open(&r, path, e) < 0)
		return -1;
	reader_rest(&r, &b, FILE_BYTES);
	reader_close(&r);
	if (b.n > FILE_BYTES)
		err_set(e, ERR_USAGE, path, "is too long for a list of rules");
	else if (memchr(b.p ? b.p : (uint8_t *)"", 0, b.n))
		err_set(e, ERR_USAGE, path, "is not text");
	else if (e->code == ERR_NONE && !buf_string(&b))
		err_memory(e);
	if (e->code == ERR_NONE)
		status = add_lines(o, (char *)b.p, e);
	buf_free(&b);
	return status;
}

/* All patterns are tried, to tell a rule that an earlier one hides from one
 * that matches nothing. */
const struct override_rule *
override_find(struct overrides *o, const char *name, int *fault, struct err *e)
{
	struct override_rule *first = NULL;
	size_t i;

	for (i = 0; i < o->n; i++) {
		int hit = pattern_match(&o->rules[i].pattern, name, e);

		if (hit < 0) {
			*fault = -1;
			return NULL;
		}
		if (hit && !first)
			first = &o->rules[i];
	}
	if (first)
		first->decided++;
	return first;
}

static int
option_used(const char *option, bool given, size_t decided, struct err *e)
{
	if (!given || decided)
		return 0;
	err_set(e, ERR_USAGE, option, "decides nothing: no tensor that changes has a name that it "
	        "is for");
	return err_hint(e, "these names are output.weight and token_embd.weight; --tensor-type "
	                "takes a pattern for any name");
}

int
override_all_used(const struct overrides *o, struct err *e)
{
	size_t i;

	if (option_used("--leave-output-tensor", o->leave_output, o->left, e) < 0 ||
	    option_used("--output-tensor-type", o->output, o->outputs, e) < 0 ||
	    option_used("--token-embedding-type", o->embedding, o->embeddings, e) < 0)
		return -1;
	for (i = 0; i < o->n; i++)
		if (o->rules[i].decided == 0)
			return err_set(e, ERR_USAGE, o->rules[i].text, o->rules[i].pattern.matches
			               ? "decides nothing: an earlier rule matches first"
			               : "matches no tensor that changes");
	return 0;
}

void
override_free(struct overrides *o)
{
	while (o->n > 0) {
		struct override_rule *r = &o->rules[--o->n];

		if (r->pattern.code)
			pattern_close(&r->pattern);
		free(r->text);
		free(r->regex);
	}
	free(o->rules);
	*o = (struct overrides){ 0 };
}
