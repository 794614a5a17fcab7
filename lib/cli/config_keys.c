#include <stdio.h>
#include <string.h>

#include "cli/config.h"
#include "core/text.h"

#define MOST_HEX (1u << 20)

static const struct config_key keys[] = {
	{ "defaults", "output_format", CONFIG_WORD, "text|json", 0, 0, "text", "APR_OUTPUT_FORMAT",
	  "reports are text, or JSON" },
	{ "defaults", "color", CONFIG_WHEN, NULL, 0, 0, "auto", "APR_COLOR",
	  "messages are in colour" },
	{ "defaults", "log_level", CONFIG_WORD, "error|info", 0, 0, "info", "APR_LOG_LEVEL",
	  "error: no notes and warnings" },
	{ "defaults", "progress", CONFIG_WHEN, NULL, 0, 0, "auto", "APR_PROGRESS",
	  "progress is shown" },
	{ "defaults", "jobs", CONFIG_NUMBER, NULL, 1, 1024, NULL, "APR_JOBS",
	  "threads of a tool" },
	{ "defaults", "ram_limit", CONFIG_BYTES, NULL, 1, UINT64_MAX, NULL, "APR_RAM_LIMIT",
	  "private memory of a process" },
	{ "inspect", "show_vocab", CONFIG_SWITCH, NULL, 0, 0, "true", "APR_SHOW_VOCAB",
	  "the facts of a model show tokens" },
	{ "inspect", "max_tokens_display", CONFIG_NUMBER, NULL, 1, 1000, "6",
	  "APR_MAX_TOKENS_DISPLAY", "how many tokens and items of arrays" },
	{ "debug", "drama_mode", CONFIG_SWITCH, NULL, 0, 0, "false", "APR_DRAMA_MODE",
	  "apr-debug prints a play" },
	{ "debug", "hex_limit", CONFIG_NUMBER, NULL, 1, MOST_HEX, "256", "APR_HEX_LIMIT",
	  "bytes, or strings, that apr-debug prints" },
	{ "validate", "strict", CONFIG_SWITCH, NULL, 0, 0, "true", "APR_STRICT",
	  "a pipe with apr-check --pass ends at a bad model" },
	{ "validate", "require_signature", CONFIG_SWITCH, NULL, 0, 0, "false",
	  "APR_REQUIRE_SIGNATURE", "apr-check and apr-run need a trusted signature" },
	{ "validate", "min_score", CONFIG_NUMBER, NULL, 1, 100, NULL, "APR_MIN_SCORE",
	  "the score that apr-check requires" },
	{ "lint", "fail_on", CONFIG_WORD, "info|warning|error|never", 0, 0, "warning",
	  "APR_FAIL_ON", "the level from which apr-lint fails" },
	{ "trust", "folder", CONFIG_PATH, NULL, 0, 0, NULL, "APR_TRUSTED",
	  "the folder of trusted keys" },
};
_Static_assert(sizeof keys / sizeof *keys == CONFIG_KEYS, "the number of keys");

/* Tools whose text another tool or a script reads keep it: apr-sum, apr-fit, apr-tok, apr-get,
 * the lists of types, a single value of apr-meta, and what a model says. */
/* Progress is read by cli/progress.c; its row is here for --no-progress. */
#define JSON(tool, unless, with, operands) \
	{ "defaults.output_format", tool, "json", "json", unless, with, operands }
static const struct config_use uses[] = {
	{ "debug.drama_mode", "apr-debug", "drama", "true", "hex strings json", NULL, NULL },
	{ "debug.hex_limit", "apr-debug", "limit", NULL, NULL, NULL, NULL },
	{ "validate.strict", "apr-check", "relaxed", "false", NULL, "pass", NULL },
	{ "validate.require_signature", "apr-check", "trusted-key", "true", "list", NULL, NULL },
	{ "validate.require_signature", "apr-run", "trusted-key", "true", NULL, NULL, NULL },
	{ "validate.min_score", "apr-check", "min-score", NULL, "list stats-only", NULL, NULL },
	{ "lint.fail_on", "apr-lint", "fail-on", NULL, "config rules", NULL, NULL },
	{ "defaults.jobs", "!apr-batch", "jobs", NULL, NULL, NULL, NULL },
	{ "defaults.progress", NULL, "progress", "", NULL, NULL, NULL },
	JSON("apr-header", NULL, NULL, NULL),
	JSON("apr-check", "sarif junit pass", NULL, NULL),
	JSON("apr-lint", "sarif junit", NULL, NULL),
	JSON("apr-debug", "hex strings drama", NULL, NULL),
	JSON("apr-diff", "quiet", NULL, NULL),
	JSON("apr-stats", NULL, NULL, NULL),
	JSON("apr-explain", NULL, NULL, NULL),
	JSON("apr-canary", NULL, NULL, "check"),
	JSON("apr-meta", "markdown", NULL, "list card"),
	JSON("apr-verify", NULL, "quiet", NULL),
	JSON("apr-rename", NULL, "dry-run", NULL),
	JSON("apr-imatrix", NULL, "list", NULL),
	JSON("apr-quant", "list", "dry-run check explain", NULL),
	JSON("apr-run", NULL, "bench perplexity", NULL),
	JSON("apr-batch", NULL, NULL, NULL),
};

const struct config_key *
config_key(size_t i)
{
	return i < CONFIG_KEYS ? &keys[i] : NULL;
}

const struct config_use *
config_use(size_t i)
{
	return i < sizeof uses / sizeof *uses ? &uses[i] : NULL;
}

/* The name TABLE.NAME of key i. */
static const char *
name_of(size_t i, char *text, size_t size)
{
	snprintf(text, size, "%s.%s", keys[i].table, keys[i].name);
	return text;
}

size_t
config_find(const char *name)
{
	char text[64];
	size_t i;

	for (i = 0; i < CONFIG_KEYS; i++)
		if (strcmp(name_of(i, text, sizeof text), name) == 0)
			break;
	return i;
}

void
config_near(const char *name, struct err *e)
{
	const char *dot = strrchr(name, '.'), *last = dot ? dot + 1 : name;
	size_t i, cost, part, best = strlen(name) / 3 + 1, found = CONFIG_KEYS;
	char text[64];

	for (i = 0; i < CONFIG_KEYS; i++) {
		cost = text_distance(name, name_of(i, text, sizeof text));
		/* Users more often forget the table, or give a wrong one, than misspell both. */
		part = text_distance(last, keys[i].name);
		if (part <= strlen(last) / 4 && part < cost)
			cost = part;
		if (cost < best) {
			best = cost;
			found = i;
		}
	}
	if (found < CONFIG_KEYS)
		err_hint(e, "did you mean %s?", name_of(found, text, sizeof text));
}
