#include "front/line.h"

#include <string.h>

#include "core/near.h"
#include "core/text.h"

/* ---- spellings ---- */

static const struct front_option *
find_long(const struct front_word *w, const char *name, size_t n)
{
	const struct front_option *o;

	for (o = front_options(); o->words; o++)
		if (o->words & w->plan && front_spelled(o->names, name, n))
			return o;
	return NULL;
}

static const struct front_option *
find_letter(const struct front_word *w, char letter)
{
	const struct front_option *o;

	for (o = front_options(); o->words; o++)
		if (o->words & w->plan && o->letter == letter)
			return o;
	return NULL;
}

/* Copies the first spelling. */
static const char *
first_name(const struct front_option *o, char *name, size_t size)
{
	return text_quote(name, size, o->names, strcspn(o->names, " "));
}

/* ---- errors ---- */

static int
misused(const struct front_word *w, struct err *e, const char *fact, const char *what)
{
	err_set(e, ERR_USAGE, NULL, fact, what);
	return err_hint(e, "apr %s --help", w->name);
}

static int
refused(const struct front_word *w, const char *name, const char *why, struct err *e)
{
	err_set(e, ERR_USAGE, NULL, "--%s %s", name, why);
	return err_hint(e, "apr %s --help", w->name);
}

static int
unknown(const struct front_word *w, const char *name, struct err *e)
{
	size_t n = strcspn(name, "="), cost, far;
	const struct front_option *o;
	static char names[FRONT_GIVEN][32];
	struct near near = { .n = 0 };
	unsigned i = 0;
	char asked[80];

	text_quote(asked, sizeof asked, name, n);
	far = strlen(asked) / 3 + 2;
	err_set(e, ERR_USAGE, NULL, "apr %s has no option --%s", w->name, asked);
	for (o = front_options(); o->words && i < FRONT_GIVEN; o++) {
		if (!(o->words & w->plan))
			continue;
		names[i][0] = names[i][1] = '-';
		first_name(o, names[i] + 2, sizeof names[i] - 2);
		cost = text_distance(asked, names[i] + 2);
		if (cost < far)
			near_consider(&near, names[i++], cost);
	}
	if (near.n == 0)
		return err_hint(e, "apr %s --help", w->name);
	near_hint(&near, e);
	return -1;
}

/* ---- reading ---- */

static bool
may_repeat(const char *name)
{
	static const char *const names[] = {
		"tensor-type", "include", "exclude", "resolve-map", NULL
	};
	size_t i;

	for (i = 0; names[i]; i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

/* Whether a word is the name of a type of floats, the value of --dequantize, which may be
 * missing. */
static bool
is_float_type(const char *word)
{
	static const char *const types[] = { "f32", "f16", "bf16", "fp32", "fp16", NULL };
	size_t i;

	for (i = 0; word && types[i]; i++)
		if (strcmp(word, types[i]) == 0)
			return true;
	return false;
}

static int
take(struct front_line *l, const struct front_option *o, const char *value, struct err *e)
{
	char name[40];
	size_t i;

	first_name(o, name, sizeof name);
	if (o->why && *o->why == '!')
		return refused(l->word, name, o->why + 1, e);
	if (value && !*value)
		return misused(l->word, e, "--%s needs a value", name);
	if (o->slot == SLOT_DECODE && value && !is_float_type(value))
		return misused(l->word, e, "--dequantize decodes to f32, f16 or bf16%s", "");
	for (i = 0; i < l->given_count; i++)
		if (l->given[i].option == o && !may_repeat(name))
			return misused(l->word, e, "--%s is given twice", name);
	if (l->given_count == FRONT_GIVEN)
		return misused(l->word, e, "%s", "too many options");
	l->given[l->given_count].option = o;
	l->given[l->given_count++].value = value;
	l->wanted |= o->wants;
	if (o->slot)
		l->slot[o->slot] = value ? value : "";
	return 0;
}

/* Takes the option o at args[i], whose value may stand in the same word. Returns the number of
 * words used, or -1. */
static int
take_with_value(struct front_line *l, const struct front_option *o, const char *value, char **args,
                int i, struct err *e)
{
	char name[40];

	if (!o->arg)
		return take(l, o, NULL, e) < 0 ? -1 : 1;
	if (value)
		return take(l, o, value, e) < 0 ? -1 : 1;
	if (*o->arg == '[') {
		value = is_float_type(args[i + 1]) ? args[i + 1] : NULL;
		return take(l, o, value, e) < 0 ? -1 : value ? 2 : 1;
	}
	if (!args[i + 1])
		return misused(l->word, e, "--%s needs a value", first_name(o, name, sizeof name));
	return take(l, o, args[i + 1], e) < 0 ? -1 : 2;
}

static int
read_long(struct front_line *l, char **args, int i, struct err *e)
{
	const char *name = args[i] + 2, *equals = strchr(name, '=');
	size_t n = strcspn(name, "=");
	const struct front_option *o = find_long(l->word, name, n);
	char quoted[80];

	if (!o)
		return unknown(l->word, name, e);
	if (equals && !o->arg)
		return misused(l->word, e, "--%s takes no value", text_quote(quoted, 80, name, n));
	return take_with_value(l, o, equals ? equals + 1 : NULL, args, i, e);
}

/* Reads a word of letters: flags, then perhaps an option with a value. */
static int
read_letters(struct front_line *l, char **args, int i, struct err *e)
{
	const struct front_option *o;
	const char *p;
	char quoted[16];
	int used = 1;

	for (p = args[i] + 1; *p; p++) {
		o = find_letter(l->word, *p);
		if (!o)
			return misused(l->word, e, "unknown option -%s",
			               text_quote(quoted, sizeof quoted, p, 1));
		used = take_with_value(l, o, o->arg && p[1] ? p + 1 : NULL, args, i, e);
		if (used < 0 || o->arg)
			return used;
	}
	return used;
}

int
front_line_read(struct front_line *l, const struct front_word *w, char **args, struct err *e)
{
	bool options = true;
	int i = 0, used;

	*l = (struct front_line){ .word = w };
	while (args[i]) {
		used = 1;
		if (options && strcmp(args[i], "--") == 0) {
			options = false;
		} else if (options && args[i][0] == '-' && args[i][1] == '-') {
			used = read_long(l, args, i, e);
		} else if (options && args[i][0] == '-' && args[i][1]) {
			used = read_letters(l, args, i, e);
		} else if (l->operand_count < FRONT_OPERANDS) {
			l->operands[l->operand_count++] = args[i];
		} else {
			return misused(w, e, "%s", "too many files");
		}
		if (used < 0)
			return -1;
		i += used;
	}
	return 0;
}
