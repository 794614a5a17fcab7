/* recipe: what is to be merged, by which method and with which parameters; from the command line,
 * or from a YAML file with the keys of mergekit.
 *
 * Keys of the file:
 *     merge_method           a method (merge/method.h). linear divides by the sum of the weights
 *                            unless normalize is false, as documented there: it is our "weighted"
 *     models: [{model, parameters}]           whole models; or
 *     slices: [{sources: [{model, layer_range: [FROM, TO], parameters}],
 *               base_model, parameters}]      layers one above the other
 *     base_model
 *     parameters             at three levels; the innermost that has a value for a tensor counts
 *     dtype, out_dtype       float32, float16 or bfloat16; out_dtype counts
 *     tokenizer_source       base, union or a model: models whose tokens differ are merged by the
 *                            texts of tokens (merge/vocabulary.h)
 *     tokenizer: {source, tokens: {TEXT: {source, force}}}
 *                            the same, with rules for the rows of single tokens; their source is a
 *                            model, {kind: model_token, model, token or token_id} or {kind: zero}
 *     name                   ignored
 * All other keys are refused by name with their line. A value of a parameter is a number (or
 * true, false), a list of numbers, which is interpolated over the layers (a gradient), or a list
 * of {filter, value}, whose first member counts whose filter is a part of the tensor's name.
 *
 * A model is a path relative to the folder of the recipe, in it or below it, or a name to which the
 * user gives a path. Memory is bounded by the limits of wire/yaml.h.
 */
#ifndef MERGE_RECIPE_H
#define MERGE_RECIPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/err.h"
#include "merge/method.h"
#include "model/dtype.h"

#define MERGE_MODELS 64   /* of a merge */
#define MERGE_LAYERS 4096 /* of a result */
#define MERGE_NONE SIZE_MAX
#define MERGE_RECIPE_BYTES ((size_t)2 << 20) /* of a file */

/* The value of a parameter: the first rule whose filter fits a tensor. */
struct merge_rule {
	char *filter;             /* part of a name; NULL: all tensors */
	double *v;                /* one value, or a gradient over the layers */
	size_t n;
};
struct merge_setting {
	struct merge_rule *rules;
	size_t n, cap;
};
struct merge_settings {
	struct merge_setting of[MERGE_PARAMS];
};

struct merge_part {
	size_t model;             /* in models */
	uint64_t from, to;        /* layers, if the recipe has slices */
	struct merge_settings own;
};

struct merge_slice {
	struct merge_part *parts; /* without the base, unless it is one of the models (BASE_FIRST: */
	size_t n, cap;            /* the first) */
	bool has_base, placed;    /* placed: the slice has a base of its own */
	struct merge_part base;
	struct merge_settings all;
};

/* Which tokens the result has, if those of the models may differ. */
enum merge_tokens { MERGE_TOKENS_SAME, MERGE_TOKENS_BASE, MERGE_TOKENS_UNION, MERGE_TOKENS_OF };

/* Where the rows of one token come from. */
#define MERGE_TOKEN_RULES 1024 /* of a recipe */
#define MERGE_TOKEN_BY_TEXT UINT64_MAX
struct merge_token {
	char *text;
	enum { MERGE_TOKEN_USUAL, MERGE_TOKEN_ZERO, MERGE_TOKEN_MODEL } source;
	size_t model;             /* MERGE_TOKEN_MODEL: of this model the row of */
	char *from;               /* the token with this text (NULL: the same), or */
	uint64_t id;              /* this id, unless it is MERGE_TOKEN_BY_TEXT */
	bool force;               /* also of models that have the token */
	size_t line;              /* in the file */
};

struct merge_recipe {
	const struct merge_method *method;
	char **models;            /* names, each once */
	size_t model_count, model_cap;
	size_t base;              /* in models, or MERGE_NONE */
	bool layered;             /* slices; else one slice of whole models */
	struct merge_slice *slices;
	size_t slice_count, slice_cap;
	struct merge_settings all;
	enum merge_tokens tokens;
	size_t tokens_model;      /* MERGE_TOKENS_OF: in models */
	struct merge_token *token;
	size_t token_count, token_cap;
	const struct dtype *type, *work; /* of the result, of mergekit's arithmetic; or NULL */
};

/* A recipe without models; merge_recipe_free in any case. */
void merge_recipe_init(struct merge_recipe *r, const struct merge_method *m);
void merge_recipe_free(struct merge_recipe *r);

/* The index of a model, which is added if it is new, or MERGE_NONE with e filled. */
size_t merge_recipe_model(struct merge_recipe *r, const char *name, struct err *e);

/* Whether tensors of a model are merged: a model may only give its tokens. */
bool merge_recipe_uses(const struct merge_recipe *r, size_t model);

/* Set the tokens of the result: base, union or the name of a model. 0 or -1. */
int merge_recipe_tokens(struct merge_recipe *r, const char *source, struct err *e);

/* Append a slice, and a part to it. NULL with E008. */
struct merge_slice *merge_recipe_slice(struct merge_recipe *r, struct err *e);
struct merge_part *merge_slice_part(struct merge_slice *s, size_t model, struct err *e);

/* Append a rule. Takes v (n numbers); filter is copied. 0 or -1 (E008). */
int merge_setting_add(struct merge_setting *s, const char *filter, double *v, size_t n,
                      struct err *e);

/* Parse text as a value: "0.5", "true", "0,0.5,1" (a gradient). where: for messages. ERR_USAGE
 * if it is not one, or beyond the limits of the parameter. 0 or -1. */
int merge_setting_parse(struct merge_setting *s, enum merge_param p, const char *text,
                        const char *where, struct err *e);

/* One number in decimal notation, or a truth value. False if the text is not one. */
bool merge_number(const char *text, double *v);
bool merge_in_limits(enum merge_param p, double v);

/* Put this model into the place of a slice's base. where: for messages. 0, or -1 with ERR_USAGE. */
int merge_slice_base(const struct merge_recipe *r, struct merge_slice *s, size_t model,
                     const char *where, struct err *e);

/* Put the base in its place in each slice, and prove the number of models. where: for messages.
 * 0, or -1 with ERR_USAGE. */
int merge_recipe_finish(struct merge_recipe *r, const char *where, struct err *e);

/* The value of a parameter for a tensor: of a part of a slice (NULL: not of a model), at position
 * t of 0 to 1 in the layers. folder: the tensor's name in model folders, or NULL. False if there
 * is none and the method has no default. */
bool merge_recipe_value(const struct merge_recipe *r, const struct merge_slice *s,
                        const struct merge_part *part, enum merge_param p, const char *name,
                        const char *folder, double t, double *value);

/* Read a recipe file. what: for messages. ERR_CORRUPT with the line if it is not a recipe,
 * ERR_FORMAT if it needs what these tools do not have. merge_recipe_free in any case. 0 or -1. */
int merge_recipe_read(struct merge_recipe *r, const char *text, size_t n, const char *what,
                      struct err *e);

#endif
