/* recipe_parts: what the files that read recipes share. */
#ifndef MERGE_RECIPE_PARTS_H
#define MERGE_RECIPE_PARTS_H

#include "core/json.h"
#include "merge/recipe.h"
#include "wire/yaml.h"

struct yaml_recipe {
	struct merge_recipe *r;
	const char *what;
	struct yaml_lines lines;
	struct err *e;
};

/* A key of a mapping, and what reads its value: into the recipe, a slice or a part. */
struct recipe_key {
	const char *name;
	int (*read)(struct yaml_recipe *y, const json_t *object, const json_t *v, void *to);
	const char *refused; /* why the key is refused; NULL: it is read, or ignored */
};

/* -1: the value of a key, and its line. */
int recipe_wrong(struct yaml_recipe *y, const json_t *object, const char *key, const char *fact);

/* Whether v is a mapping that has a key with a value: "models:" alone has none. */
bool recipe_has(const json_t *v, const char *key);

/* Read the keys of a mapping in the order of the table, which ends with a name of NULL. 0 or -1. */
int recipe_read_keys(struct yaml_recipe *y, const json_t *object, const struct recipe_key *keys,
                     void *to);

/* The index of the model that a value names, or MERGE_NONE. */
size_t recipe_model_of(struct yaml_recipe *y, const json_t *object, const char *key, const json_t *v);

/* The mapping `tokenizer`, into a recipe that has its models. 0 or -1. */
int recipe_read_tokenizer(struct yaml_recipe *y, const json_t *object, const json_t *v, void *to);

#endif
