/* pmml: models in PMML, version 3.0 to 4.4, whose elements become the parts of a predictor.
 *
 * Trees of all kinds become the form of forest.h. A Node has any number of children, each with a predicate
 * that is true, false or unknown; grow.c turns them into splits of two, so that a row takes the same way
 * for every combination of values and missing values:
 *
 *     x < 3, for a field of floats       the largest float below 3
 *     x = 3                              x <= 3, and x <= the largest double below 3
 *     a missing value                    the default of a split, or a split of its own in front: "x is missing"
 *     and, or, xor, surrogate            a split for each predicate inside
 *
 * Sums, averages and votes of trees, and chains that end in a regression, become outputs, weights and
 * the link of the predictor. Fields that are computed are slots behind those of the row (derive.c). What does
 * not fit is refused with the name of its element and its line.
 *
 * Source: PMML 4.4.1, General Structure, Transformations, Functions, Tree, Regression, Multiple Models,
 * Clustering, Naive Bayes (dmg.org). x-mathContext is an extension of JPMML: float means single
 * precision.
 */
#ifndef PREDICT_PMML_PMML_H
#define PREDICT_PMML_PMML_H

#include "predict/predict.h"
#include "wire/xml.h"

#define PMML_NESTED 2000 /* calls of functions inside each other */

/* A field of any kind: of the rows, derived, or the result of an earlier model of a chain. */
struct pmml_field {
	const char *name;
	uint32_t node;       /* DataField or DerivedField, or none */
	uint32_t base;       /* the field whose words these are; itself, except for another name of a field */
	size_t slot;         /* SIZE_MAX: it is not a value of rows */
	size_t group;        /* SIZE_MAX, or the output of the model that it is the result of */
	bool text;           /* its values are numbers of words */
	bool whole;          /* its values are integers */
	bool single;         /* values are rounded to single precision */
	bool open;           /* words that are not listed are valid */
	bool target, used;
	uint8_t unknown;     /* enum predict_unknown: a word that a row has and the field does not */
	uint8_t state;       /* of a derived field: DERIVE_… */
	const char **words;
	size_t word_count, word_cap;
};

enum { DERIVE_NOT, DERIVE_NOW, DERIVE_DONE };

/* A text in the tables of names and words. */
struct pmml_entry {
	const char *text;
	uint32_t of, number; /* 0: names of fields; k + 1: words of field k */
};

struct pmml {
	struct predictor *m;
	struct xml x;
	const char *where;
	struct err *e;
	struct pmml_field *fields;
	size_t field_count, field_cap;
	struct pmml_entry *table;
	size_t used, slots;      /* of the table */
	char **kept;             /* words that stand in no attribute */
	size_t kept_count, kept_cap;
	uint64_t work, most;     /* steps of searches so far, and at most */
	size_t inputs;           /* slots of the row */
	bool uses_single, uses_double; /* fields of rows that were used, as what */
	bool mixed;              /* both, so that each is rounded by itself; found by a first reading */
	struct derived *derived; /* derive.c: the computed slots, NULL without any */
	size_t depth;
	uint32_t target;         /* field, UINT32_MAX: none */
	uint32_t top;            /* the model that is not in another one */
};

/* ---- fields.c ---- */

/* Errors with the line of an element. Always -1. refuse: ERR_FORMAT, for what is not read here; wrong: ERR_CORRUPT. */
int pmml_fail(struct pmml *p, uint32_t node, enum err_code code, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
#define pmml_refuse(p, node, ...) pmml_fail(p, node, ERR_FORMAT, __VA_ARGS__)
#define pmml_wrong(p, node, ...) pmml_fail(p, node, ERR_CORRUPT, __VA_ARGS__)

/* The dictionary of the document and the mining schema of its model. 0 or -1. */
int pmml_read_fields(struct pmml *p, uint32_t root, uint32_t model);
/* The derived fields of an element, which hide earlier ones with their names. 0 or -1. */
int pmml_add_derived(struct pmml *p, uint32_t transformations);
/* The schema of a model inside a model, which must not treat values anew. 0 or -1. */
int pmml_check_schema(struct pmml *p, uint32_t model);
/* Adds a field; UINT32_MAX with an error. */
uint32_t pmml_new_field(struct pmml *p, const char *name, uint32_t node);

/* The number of a field that a predicate or term of `node` uses, with a slot or a group; UINT32_MAX with an
 * error. */
uint32_t pmml_use(struct pmml *p, uint32_t node, const char *name);
/* A field by its name; UINT32_MAX: there is none. */
uint32_t pmml_find(struct pmml *p, const char *name);

/* The number of a word of a field, which is added if it is open; -2 if the field cannot have it, -1 with an
 * error. */
double pmml_word(struct pmml *p, uint32_t field, const char *text);
/* The same for a text that does not last. */
double pmml_word_of(struct pmml *p, uint32_t field, const char *text);
/* The same for any value of the field: a word or a number. NaN with an error. */
double pmml_value(struct pmml *p, uint32_t node, uint32_t field, const char *text);

/* A text as a finite number: 0, or -1 with an error that names it. */
int pmml_number(struct pmml *p, uint32_t node, const char *what, const char *text, double *to);
/* The attribute of an element; *to stays without one. */
int pmml_attr(struct pmml *p, uint32_t node, const char *name, double *to);
/* Whether an attribute has this value. */
bool pmml_says(const struct pmml *p, uint32_t node, const char *name, const char *value);

/* The words of an Array: text between spaces, maybe in quotes. Advances *at; false at its end. word is
 * cut at n - 1 bytes. */
bool pmml_item(const char **at, char *word, size_t n);
#define PMML_WORD 1024

/* Counts calls inside each other: pmml_enter before, p->depth-- after. 0 or -1. */
int pmml_enter(struct pmml *p, uint32_t node);

/* ---- derive.c ---- */

/* Makes the slot of a derived field. 0 or -1. */
int pmml_derive(struct pmml *p, uint32_t field);
/* A slot that is 1 if a field has the value, else 0; and the product of fields, each to a power. SIZE_MAX with an
 * error. */
size_t pmml_indicator(struct pmml *p, uint32_t field, double value);
size_t pmml_product(struct pmml *p, const uint32_t *fields, const double *powers, size_t n);
/* How the values of an input are treated before they are used. 0 or -1. */
int pmml_treat(struct pmml *p, uint32_t field, uint32_t mining);
/* The value at the number of a word in a list of n, otherwise for other words; the logarithm of a normal density,
 * of at least the threshold. Both are 0 for a missing value. */
size_t pmml_lookup(struct pmml *p, uint32_t field, const double *list, size_t n, double otherwise);
size_t pmml_density(struct pmml *p, uint32_t field, double mean, double variance, double threshold);
/* Makes the slots 0 that no sum uses, so that a missing value there does not matter. used: of each slot. 0 or -1. */
int pmml_drop(struct pmml *p, const bool *used);
/* Gives the slots to the model as its first step, if there are any. 0 or -1. */
int pmml_put_derived(struct pmml *p);
void pmml_free_derived(struct pmml *p);
size_t pmml_derived_count(const struct pmml *p);
/* Values of a row behind the derived fields so far. */
size_t pmml_slots(const struct pmml *p);

/* ---- models ---- */

int pmml_read_model(struct pmml *p, uint32_t model);

/* The classes of a model: words of the target. */
int pmml_classes(struct pmml *p, uint32_t model, const char *element, const char *attribute);
size_t pmml_class_count(const struct pmml *p);

/* grow.c: adds a TreeModel to the forest, as a tree of this output. A pass over segments in front of it: selectFirst. */
struct pmml_leaf {
	bool classes;     /* a value for each class, else one */
	bool votes;       /* 1 for the class of the score */
	double factor;    /* of the values */
	uint32_t group;
	double otherwise; /* the value where no segment's predicate is true; NaN: none */
};
int pmml_grow(struct pmml *p, uint32_t tree, uint32_t predicate, const struct pmml_leaf *leaf);
/* One tree of the trees of all segments, the first whose predicate is true. */
int pmml_grow_first(struct pmml *p, uint32_t segmentation, const struct pmml_leaf *leaf);

/* mining.c: a TreeModel or MiningModel as the whole model. */
int pmml_read_tree(struct pmml *p, uint32_t model);
int pmml_read_mining(struct pmml *p, uint32_t model);

/* regression.c */
int pmml_read_regression(struct pmml *p, uint32_t model);
/* others.c */
int pmml_read_clustering(struct pmml *p, uint32_t model);
int pmml_read_bayes(struct pmml *p, uint32_t model);

#endif
