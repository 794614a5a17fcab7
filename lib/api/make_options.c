/* The options of a maker, by the names that apr-pack, apr-quant and apr-sign give them. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "api/make.h"
#include "core/mem.h"
#include "core/near.h"
#include "formats/create.h"
#include "kernels/kernel.h"

#define SHARD_MOST INT64_MAX

enum option_kind { FLAG, NUMBER, TEXT, OWN };

/* The options beside those of single formats. */
enum option_name {
	TO, COMPRESS, ALIGN, RESERVE, SHARD_SIZE, PLAIN, NO_SYNC,
	TYPE, PURE, LEAVE_OUTPUT, REQUANTIZE, NONFINITE, NO_RECORD, TENSOR_TYPE, OUTPUT_TYPE,
	TYPE_FILE, EMBEDDING_TYPE, FALLBACK, MAX_RMSE, PRUNE_LAYERS, OVERRIDE_KV, INCLUDE, EXCLUDE,
	NAME, VERSION, DATE, COMMENT
};

static const struct option {
	const char *name;
	enum option_kind kind;
} options[] = {
	[TO] = { "to", TEXT },
	[COMPRESS] = { "compress", TEXT },
	[ALIGN] = { "align", NUMBER },
	[RESERVE] = { "reserve", NUMBER },
	[SHARD_SIZE] = { "shard-size", NUMBER },
	[PLAIN] = { "plain", FLAG },
	[NO_SYNC] = { "no-sync", FLAG },
	[TYPE] = { "type", TEXT },
	[PURE] = { "pure", FLAG },
	[LEAVE_OUTPUT] = { "leave-output-tensor", FLAG },
	[REQUANTIZE] = { "allow-requantize", FLAG },
	[NONFINITE] = { "allow-nonfinite", FLAG },
	[NO_RECORD] = { "no-record", FLAG },
	[TENSOR_TYPE] = { "tensor-type", TEXT },
	[TYPE_FILE] = { "tensor-type-file", TEXT },
	[OUTPUT_TYPE] = { "output-tensor-type", TEXT },
	[EMBEDDING_TYPE] = { "token-embedding-type", TEXT },
	[FALLBACK] = { "fallback", TEXT },
	[MAX_RMSE] = { "max-rmse", TEXT },
	[PRUNE_LAYERS] = { "prune-layers", TEXT },
	[OVERRIDE_KV] = { "override-kv", TEXT },
	[INCLUDE] = { "include-weights", TEXT },
	[EXCLUDE] = { "exclude-weights", TEXT },
	[NAME] = { "name", TEXT },
	[VERSION] = { "model-version", TEXT },
	[DATE] = { "date", TEXT },
	[COMMENT] = { "comment", TEXT },
};
#define OPTIONS (sizeof options / sizeof *options)

static const char *
option_word(unsigned i)
{
	return i < OPTIONS ? options[i].name : NULL;
}

/* ---- values ---- */

static int
wrong(struct aprml_maker *k, const char *option, const char *value)
{
	return err_set(&k->err, ERR_USAGE, option, "cannot be %.80s", value ? value : "without a value");
}

static int
number(struct aprml_maker *k, const char *option, const char *value, uint64_t most, uint64_t *n)
{
	char *end;

	errno = 0;
	*n = strtoull(value, &end, 10);
	if (*value < '0' || *value > '9' || *end || errno || *n > most)
		return wrong(k, option, value);
	return 0;
}

static int
type_of(struct aprml_maker *k, const char *option, const char *value, const struct dtype **type)
{
	*type = dtype_asked(value);
	if (*type && dtype_sized(*type))
		return 0;
	return wrong(k, option, value);
}

static int
set_format(struct aprml_maker *k, const char *value)
{
	k->format = strcmp(value, format_stream.name) == 0 ? &format_stream : format_by_name(value);
	if (k->format == &format_stream || (k->format && k->format->writes))
		return 0;
	return err_set(&k->err, ERR_USAGE, NULL, "format %.40s cannot be written", value);
}

/* ---- types of tensors ---- */

static int
set_type(struct aprml_maker *k, const char *value)
{
	struct api_quant *q = &k->quant;
	const struct dtype *t;
	size_t i;

	q->asked = true;
	q->recipe.mixture = mixture_by_name(value);
	if (q->recipe.mixture)
		return 0;
	t = dtype_asked(value);
	if (!t || !kernel_encodes(t))
		return wrong(k, "type", value);
	for (i = 0; t->name[i] && i + 1 < sizeof q->plain_name; i++)
		q->plain_name[i] = (char)tolower((unsigned char)t->name[i]);
	q->plain_name[i] = '\0';
	q->plain = mixture_plain(t);
	q->plain.name = q->plain_name;
	q->recipe.mixture = &q->plain;
	return 0;
}

static int
set_fallback(struct aprml_maker *k, const char *value)
{
	struct recipe_options *r = &k->quant.recipe;

	r->fallback = strcmp(value, "error") == 0 ? RECIPE_ERROR
	              : strcmp(value, "warn") == 0 ? RECIPE_WARN : RECIPE_TYPE;
	return r->fallback == RECIPE_TYPE ? type_of(k, "fallback", value, &r->fallback_type) : 0;
}

static int
set_rmse(struct aprml_maker *k, const char *value)
{
	char *end;

	k->quant.max_rmse = strtod(value, &end);
	return *value && !*end && k->quant.max_rmse >= 0 ? 0 : wrong(k, "max-rmse", value);
}

/* Append a text that names of entries of the importance matrix contain. */
static int
add_word(struct aprml_maker *k, struct api_words *to, const char *value)
{
	if (mem_grow(&to->word, &to->cap, to->n + 1, sizeof *to->word) < 0)
		return err_memory(&k->err);
	to->word[to->n] = api_maker_text(k, value);
	return to->word[to->n++] ? 0 : -1;
}

/* ---- what is signed ---- */

static int
set_statement(struct aprml_maker *k, enum option_name i, const char *value)
{
	struct statement *s = &k->says;

	switch (i) {
	case NAME:
		return statement_set(s->name, sizeof s->name, "name", value, ERR_USAGE, &k->err);
	case VERSION:
		return statement_set(s->version, sizeof s->version, "model-version", value, ERR_USAGE,
		                     &k->err);
	case COMMENT:
		return statement_set(s->comment, sizeof s->comment, "comment", value, ERR_USAGE,
		                     &k->err);
	default:
		return statement_date(value, s->date) == 0 ? 0 : wrong(k, "date", value);
	}
}

/* ---- setting ---- */

static int
set_container(struct aprml_maker *k, enum option_name i, const char *value)
{
	uint64_t n = 0;

	switch (i) {
	case TO:
		return set_format(k, value);
	case COMPRESS:
		k->compress = api_maker_text(k, value);
		return k->compress ? 0 : -1;
	case ALIGN:
		if (number(k, "align", value, UINT32_MAX, &n) < 0)
			return -1;
		k->how.align = (unsigned)n;
		return 0;
	case RESERVE:
		k->how.reserves = true;
		return number(k, "reserve", value, FORMAT_RESERVE, &k->how.reserve);
	case SHARD_SIZE:
		return number(k, "shard-size", value, SHARD_MOST, &k->how.shard_size);
	case PLAIN:
		k->how.plain = true;
		return 0;
	default:
		k->no_sync = true;
		return 0;
	}
}

static int
set_rule(struct aprml_maker *k, enum option_name i, const char *value)
{
	struct api_quant *q = &k->quant;

	switch (i) {
	case TYPE:
		return set_type(k, value);
	case TENSOR_TYPE:
		return override_add(&q->overrides, value, &k->err);
	case TYPE_FILE:
		return override_read(&q->overrides, value, &k->err);
	case OUTPUT_TYPE:
		return type_of(k, "output-tensor-type", value, &q->overrides.output);
	case EMBEDDING_TYPE:
		return type_of(k, "token-embedding-type", value, &q->overrides.embedding);
	case FALLBACK:
		return set_fallback(k, value);
	case MAX_RMSE:
		return set_rmse(k, value);
	case PRUNE_LAYERS:
		return prune_parse(&q->prune, value, &k->err);
	case INCLUDE:
		return add_word(k, &q->include, value);
	case EXCLUDE:
		return add_word(k, &q->exclude, value);
	default:
		return key_values_add(&q->keys, value, &k->err);
	}
}

static void
set_flag(struct api_quant *q, enum option_name i)
{
	switch (i) {
	case PURE:
		q->recipe.how.pure = true;
		break;
	case LEAVE_OUTPUT:
		q->overrides.leave_output = true;
		break;
	case REQUANTIZE:
		q->recipe.allow_requantize = true;
		break;
	case NONFINITE:
		q->allow_nonfinite = true;
		break;
	default:
		q->recipe.no_record = true;
	}
}

/* An option of a single format. 1 if there is one of this name. */
static int
set_own(struct aprml_maker *k, const char *option, const char *value)
{
	struct format_choice *c = k->own;

	if (!c->option)
		format_choices(k->own, API_OWN, true);
	for (; c < k->own + API_OWN && c->option; c++) {
		if (strcmp(c->option->name, option) != 0)
			continue;
		if (!c->option->arg != !value)
			return wrong(k, option, value);
		c->value = api_maker_text(k, value ? value : "");
		return c->value ? 1 : -1;
	}
	return 0;
}

static int
set(struct aprml_maker *k, const char *option, const char *value)
{
	const int own = set_own(k, option, value);
	unsigned i;

	if (own != 0)
		return own < 0 ? -1 : 0;
	for (i = 0; i < OPTIONS && strcmp(options[i].name, option) != 0; i++)
		;
	if (i == OPTIONS) {
		err_set(&k->err, ERR_USAGE, option, "is not an option of a maker");
		near_words(&k->err, option, option_word);
		return -1;
	}
	if ((options[i].kind == FLAG) != !value)
		return wrong(k, option, value);
	if (i < TYPE)
		return set_container(k, i, value);
	if (i >= NAME)
		return set_statement(k, i, value);
	if (options[i].kind == FLAG) {
		set_flag(&k->quant, i);
		return 0;
	}
	return set_rule(k, i, value);
}

int
aprml_maker_set(struct aprml_maker *k, const char *option, const char *value,
                struct aprml_error *e)
{
	if (api_maker_begin(k, e) < 0)
		return -1;
	return set(k, option, value) == 0 ? 0 : api_maker_fail(k, e);
}

/* ---- importance ---- */

static int
read_importance(struct aprml_maker *k, const void *p, size_t n, const char *name)
{
	const struct format_options how = { .align = 0 };
	const struct format *format;
	struct source *s;
	struct reader r;

	reader_memory(&r, p, n, name, &k->err);
	if (imatrix_is_dat(p, n)) {
		imatrix_read_dat(&k->quant.imatrix, &r, &k->err);
		reader_close(&r);
		return k->err.code == ERR_NONE ? 0 : -1;
	}
	s = format_open(&r, &how, NULL, &format, &k->err);
	if (s)
		imatrix_read_model(&k->quant.imatrix, s, &k->err);
	source_close(s);
	return k->err.code == ERR_NONE ? 0 : -1;
}

int
aprml_maker_importance(struct aprml_maker *k, const void *p, size_t n, const char *name,
                       struct aprml_error *e)
{
	struct api_quant *q;

	if (api_maker_begin(k, e) < 0)
		return -1;
	q = &k->quant;
	if (q->recipe.imatrix)
		err_set(&k->err, ERR_USAGE, name, "is a second importance matrix");
	if (k->err.code != ERR_NONE || !(q->recipe.imatrix_path = api_maker_text(k, name)) ||
	    read_importance(k, p, n, q->recipe.imatrix_path) < 0 ||
	    imatrix_means(&q->imatrix, &k->err) < 0)
		return api_maker_fail(k, e);
	q->recipe.imatrix = &q->imatrix;
	return 0;
}

/* ---- all of them ---- */

/* Without "to", the suffix of the path decides. */
static void
choose_format(struct aprml_maker *k)
{
	if (!k->format && k->to.path)
		k->format = format_by_suffix(format_suffix(k->to.path));
	if (!k->format)
		k->format = &format_apr2;
}

static int
prove_codec(struct aprml_maker *k)
{
	const struct format_writes *w = k->format->writes;

	if (!k->compress)
		return 0;
	if (!w || !w->compresses)
		return err_set(&k->err, ERR_USAGE, NULL, "%s has no compression", k->format->name);
	k->how.raw = w->raw && strcmp(k->compress, "none") == 0;
	return k->how.raw ? 0 : codec_parse(k->compress, &k->how.codec, &k->how.level, &k->err);
}

static int
prove_own(struct aprml_maker *k)
{
	const struct format *of = NULL;
	unsigned i;

	for (i = 0; i < API_OWN && k->own[i].option; i++)
		if (k->own[i].value && format_option_row(i, true, &of) && of != k->format)
			return err_set(&k->err, ERR_USAGE, k->own[i].option->name, "is an option of %s",
			               of->name);
	if (k->vault && !k->format->keys)
		return err_set(&k->err, ERR_USAGE, NULL, "%s has no keys of its own", k->format->name);
	return 0;
}

/* Leave out the entries of the importance matrix that the options name. */
static int
choose_entries(struct aprml_maker *k)
{
	struct api_quant *q = &k->quant;
	const size_t all = q->imatrix.n;
	size_t i;

	if (!q->recipe.imatrix)
		return q->include.n + q->exclude.n == 0 ? 0
		       : err_set(&k->err, ERR_USAGE, NULL,
		                 "include-weights and exclude-weights need an importance matrix");
	for (i = 0; i < q->exclude.n; i++)
		if (imatrix_exclude(&q->imatrix, q->exclude.word[i]) == 0)
			return err_set(&k->err, ERR_USAGE, "exclude-weights", "%.80s: no entry's name "
			               "contains it", q->exclude.word[i]);
	if (q->include.n > 0)
		imatrix_include(&q->imatrix, q->include.word, q->include.n);
	if (q->imatrix.n == 0)
		return err_set(&k->err, ERR_USAGE, NULL,
		               "none of the %zu entries of the importance matrix is left", all);
	return 0;
}

static int
prove_quant(struct aprml_maker *k)
{
	struct api_quant *q = &k->quant;

	q->recipe.how.overrides = &q->overrides;
	q->recipe.prune = &q->prune;
	q->recipe.keys = &q->keys;
	if (choose_entries(k) < 0)
		return -1;
	if (q->asked && q->recipe.imatrix)
		return prune_imatrix(&q->prune, &q->imatrix, &k->err);
	if (!q->asked && (q->recipe.imatrix || q->overrides.n || q->prune.n || q->keys.n ||
	                  q->overrides.output || q->overrides.embedding || q->recipe.how.pure ||
	                  q->overrides.leave_output || q->recipe.fallback != RECIPE_DEFAULT))
		return err_set(&k->err, ERR_USAGE, NULL, "the option type is missing");
	return 0;
}

int
api_maker_prove(struct aprml_maker *k)
{
	if (k->err.code != ERR_NONE)
		return -1;
	choose_format(k);
	if (prove_own(k) < 0 || prove_quant(k) < 0 || prove_codec(k) < 0)
		return -1;
	if (k->signs && statement_check(&k->says, ERR_USAGE, &k->err) < 0)
		return -1;
	if (!k->format->writes)
		return 0;
	if (k->to.write && k->how.shard_size)
		return err_set(&k->err, ERR_USAGE, NULL, "several files need a path");
	return create_check_options(k->format, &k->how, &k->err) < 0 ||
	       create_check_output(k->format, &k->how, k->to.path, &k->err) < 0 ? -1 : 0;
}

void
api_quant_free(struct api_quant *q)
{
	override_free(&q->overrides);
	imatrix_free(&q->imatrix);
	prune_free(&q->prune);
	key_values_free(&q->keys);
	free(q->include.word);
	free(q->exclude.word);
}
