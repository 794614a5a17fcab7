#include "adapt/keys/keys_list.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool
keys_list_next(struct keys_list *l)
{
	const char *equals = l->text ? strstr(l->text, " = ") : NULL;
	char *when;
	size_t n;

	if (!equals)
		return false;
	snprintf(l->name, sizeof l->name, "%.*s", (int)(equals - l->text), l->text);
	n = strcspn(equals + 3, ";");
	snprintf(l->value, sizeof l->value, "%.*s", (int)n, equals + 3);
	when = strstr(l->value, " if ");
	snprintf(l->when, sizeof l->when, "%s", when ? when + 4 : "");
	if (when)
		*when = '\0';
	l->text = equals + 3 + n;
	l->text += strspn(l->text, "; ");
	return true;
}

bool
keys_listed(const char *words, const char *word)
{
	size_t n;

	for (; word && words && *words; words += n + strspn(words + n, " ")) {
		n = strcspn(words, " ");
		if (strlen(word) == n && memcmp(words, word, n) == 0)
			return true;
	}
	return false;
}

double
keys_shortest(float f)
{
	char text[32];
	double d = (double)f;
	int digits;

	for (digits = 1; digits < 10; digits++) {
		snprintf(text, sizeof text, "%.*g", digits, (double)f);
		d = strtod(text, NULL);
		if ((float)d == f)
			break;
	}
	return d;
}

/* ---- gating functions ---- */

static const struct { const char *name; unsigned number; } gates[] = {
	{ "softmax", 1 }, { "sigmoid", 2 }, { "sqrtsoftplus", 4 },
};

unsigned
keys_gating(const char *name)
{
	size_t i;

	for (i = 0; name && i < sizeof gates / sizeof *gates; i++)
		if (strcmp(gates[i].name, name) == 0)
			return gates[i].number;
	return 0;
}

const char *
keys_gating_name(uint64_t number)
{
	size_t i;

	for (i = 0; i < sizeof gates / sizeof *gates; i++)
		if (gates[i].number == number)
			return gates[i].name;
	return NULL;
}

/* ---- pooling ---- */

/* The file of the first module whose type ends in "Pooling", in modules.json. */
static bool
pooling_file(const json_t *modules, char *dst, size_t size)
{
	const char *type, *path;
	const json_t *m;
	size_t i, n;

	json_array_foreach(modules, i, m) {
		if (json_member_text(m, "type", &type) < 0 || json_member_text(m, "path", &path) < 0)
			continue;
		n = strlen(type);
		if (n >= 7 && strcmp(type + n - 7, "Pooling") == 0)
			return snprintf(dst, size, "%s/config.json", path) < (int)size;
	}
	return false;
}

static int
pooling_type(const json_t *o)
{
	static const struct { const char *member, *mode; } types[] = {
		{ "pooling_mode_mean_tokens", "mean" }, { "pooling_mode_cls_token", "cls" },
		{ "pooling_mode_lasttoken", "lasttoken" },
	};
	const char *mode = "";
	int i;

	for (i = 0; i < 3; i++)
		if (json_is_true(json_object_get(o, types[i].member)))
			return i + 1;
	json_member_text(o, "pooling_mode", &mode);
	for (i = 0; i < 3; i++)
		if (strcmp(mode, types[i].mode) == 0)
			return i + 1;
	return 0;
}

int
keys_pooling(const struct subject *s, struct err *e)
{
	size_t n;
	const uint8_t *text = weights_file(&s->w, "modules.json", &n);
	json_t *modules, *o = NULL;
	char name[256];
	int r = 0;

	if (!text)
		return 0;
	modules = json_parse_any(text, n, ERR_CORRUPT, "modules.json", e);
	if (pooling_file(modules, name, sizeof name)) {
		o = subject_json(s, name, e);
		r = pooling_type(o);
		if (o && r == 0)
			r = err_set(e, ERR_FORMAT, name, "pooling is neither mean nor cls nor last token");
	}
	json_decref(o);
	json_decref(modules);
	return e->code == ERR_NONE ? r : -1;
}
