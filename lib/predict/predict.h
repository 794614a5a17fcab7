/* predict: a classical model of any library in one form, and what it says of rows.
 *
 * A model gives each row a number of scores, its outputs; they are what libraries call raw values
 * or margins. A link turns scores into values or probabilities. What a model predicts depends on
 * its task:
 *
 *     value      the scores after the link, one column each
 *     binary     one score; the probability of the second class, and the label
 *     classes    a score for each class; probabilities, and the label of the greatest
 *     cluster    the square of the distance to each center; the number of the nearest
 *     pairs      a score for each pair of classes, positive for the first (if there are only two, for
 *                the second); the label that most pairs choose; probabilities only with the
 *                coefficients of each pair
 *
 * Steps (step.h) can stand in front of the trees or weights, and turn what is read into features.
 */
#ifndef PREDICT_PREDICT_H
#define PREDICT_PREDICT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/err.h"
#include "predict/forest.h"
#include "predict/step.h"

#define PREDICT_BYTES ((size_t)1 << 31) /* of a model file, at most */
#define PREDICT_OUTPUTS 65536
#define PREDICT_RANKS ((size_t)4 << 30) /* bytes of the form for many rows, at most, about */
#define PREDICT_PAIRED 362 /* classes that are compared in pairs */

enum predict_task {
	PREDICT_VALUE, PREDICT_BINARY, PREDICT_CLASSES, PREDICT_CLUSTER, PREDICT_PAIRS
};

enum predict_link {
	LINK_NONE,
	LINK_SIGMOID,   /* 1 / (1 + exp(-sharpness * x)) */
	LINK_SOFTMAX,   /* exp(x) / sum of exp */
	LINK_EXP,
	LINK_LOG1P_EXP, /* ln(1 + exp(x)) */
	LINK_SQUARE,    /* sign(x) * x^2 */
	LINK_HINGE,     /* 1 if x > 0, else 0 */
	LINK_SHARE,     /* scores that are probabilities already */
	LINK_EACH,      /* LINK_SIGMOID of each class, divided by their sum */
	LINK_PAIRS,     /* Platt's probabilities of pairs, coupled */
	LINK_SHARP,     /* LINK_SOFTMAX of sharpness * x */
	LINK_PORTION,   /* scores divided by their sum */
	LINK_PROBIT,    /* the normal distribution function */
	LINK_CLOGLOG,   /* 1 - exp(-exp(x)) */
	LINK_LOGLOG,    /* exp(-exp(-x)) */
	LINK_CAUCHIT    /* 1/2 + atan(x) / pi */
};

/* PREDICT_STEPS: the values behind the last step are the scores. */
enum predict_form { PREDICT_TREES, PREDICT_LINEAR, PREDICT_CENTERS, PREDICT_STEPS };

/* What an absent item of a sparse row is: libraries differ. */
enum predict_absent { ABSENT_ZERO, ABSENT_MISSING };

/* Scores that are sums of products: outputs x features, row by row. */
struct predict_linear {
	double *weights, *bias;
	bool skips;  /* a missing value is left out of the sum */
	bool after;  /* the bias is added last, not first */
};

/* The texts of a feature, and the number that each one stands for. */
struct predict_words {
	char **texts;
	size_t count;
	struct predict_word {
		const char *text;
		uint32_t number;
	} *sorted; /* set once the model is read */
	bool unused; /* whatever stands there */
	bool text;   /* any text, for a step that reads texts (step.h, pool) */
	uint8_t unknown; /* enum predict_unknown */
};

/* What a text is that a feature does not know. */
enum predict_unknown { PREDICT_UNKNOWN_KEPT /* -1 */, PREDICT_UNKNOWN_MISSING, PREDICT_UNKNOWN_REFUSED };

struct predictor {
	const char *kind;     /* for messages: "gradient boosting of XGBoost" */
	enum predict_form form;
	struct forest forest;
	struct predict_linear linear; /* or centers, without a bias */
	struct step *steps;
	size_t step_count, step_cap;
	double *platt;        /* LINK_PAIRS: a and b of each pair */

	size_t features, outputs;
	bool expects;         /* the form for many rows has been tried */
	size_t inner;         /* features behind the steps; set once the model is read */
	size_t classes;       /* 0 without classes; set by finish, for pairs by the reader */
	bool texts;           /* rows are texts; features is 1 */
	bool sparse;          /* predictions are rows whose values are mostly zero */
	bool rounds;          /* rows are rounded to single precision */
	bool single;          /* sums and links are in single precision */
	enum predict_absent absent;
	bool refuses_nan;     /* rows must not have missing values */
	bool refuses_inf;     /* nor infinite ones, nor ones that single precision cannot hold if it compares them */
	enum predict_task task;
	enum predict_link link;
	double sharpness;
	bool ties_up;         /* binary: the second class also at a probability of one half */
	bool chosen;          /* classes: the last output is the number of the label; classes is set by the reader */
	bool by_score;        /* binary: the second class if the score is greater than 0 */

	bool covers;          /* set by the caller: trees keep the covers of their nodes */
	struct contrib *contrib; /* contrib.h */

	char **names;         /* of the features; NULL: they have none */
	size_t name_count;    /* 0, or features once the model is read */
	struct predict_words *words; /* word_count of them: features that are texts; NULL: none is */
	size_t word_count;    /* 0, or features once the model is read */
	char **labels;        /* of the classes; NULL: their numbers */
	size_t label_count;
};

/* The table of readers: files of libraries, by their first bytes. */
struct predict_reader {
	const char *library;
	bool (*probe)(const uint8_t *p, size_t n);
	int (*read)(struct predictor *m, const uint8_t *p, size_t n, const char *where,
	            struct err *e);
	bool once; /* looks at each byte once, so that p may be a file that others write to */
};

/* Finds the reader for the n first bytes of a file; NULL: it belongs to none of the libraries. */
const struct predict_reader *predict_probe(const uint8_t *p, size_t n);
#define PREDICT_PROBE 4096

/* Reads a model from the n bytes of its file. 0, or -1 with e filled. predictor_free in any
 * case; m was all zero, except covers. */
int predict_read(struct predictor *m, const struct predict_reader *reader, const uint8_t *p,
                 size_t n, const char *where, struct err *e);
void predictor_free(struct predictor *m);

/* Proves what all readers promise: counts, labels, base. 0 or -1. */
int predictor_finish(struct predictor *m, const char *where, struct err *e);

/* For readers: appends a name to the features. 0 or -1. */
int predictor_add_name(struct predictor *m, const char *text, size_t n, struct err *e);
/* The same for the labels. */
int predictor_add_label(struct predictor *m, const char *text, size_t n, struct err *e);

/* What a feature reads. */
enum predict_reads { PREDICT_NUMBER, PREDICT_WORD /* a text that stands for a number */, PREDICT_TEXT /* any */ };
enum predict_reads predict_reads(const struct predictor *m, size_t feature);

/* The place of a text among words, -1 if it is not there. */
double predict_word(const struct predict_words *w, const char *text, size_t n);

/* Stores the number that a text stands for, by a feature that reads words: -1 if the model does not know it, NaN
 * if it is missing then. Returns false if the model refuses it. */
bool predict_word_value(const struct predictor *m, size_t feature, const char *text, size_t n, bool missing,
                        double *v);
void predict_words_free(struct predict_words *w);

/* Appends a step in front of the trees or weights, which then belongs to the model; NULL if memory
 * runs out. */
struct step *predictor_add_step(struct predictor *m);

/* Computes the rows x, at most FOREST_BLOCK, of m->features values each or of texts. scores: outputs
 * for each row, or NULL; a model with m->sparse leaves its predictions in x. leaves: one for each tree
 * and row, or NULL. missing: a value may be NaN. x and spare change. 0, or -1 with e filled. */
int predict_block(const struct predictor *m, struct step_rows *x, struct step_rows *spare,
                  bool missing, double *scores, uint32_t *leaves, struct err *e);

/* Turns a model that only scales and projects around. 0, or -1 with ERR_USAGE. */
int predictor_invert(struct predictor *m, struct err *e);

/* The same for a model without steps: n rows, at most FOREST_BLOCK, of features doubles each. */
void predict_rows(const struct predictor *m, double *rows, size_t n, bool missing, double *scores,
                  uint32_t *leaves);

/* The place of the first value of n rows that is infinite, or too large for a model with refuses_inf that rounds
 * rows; n * features if all are finite or missing. */
size_t predict_infinite(const struct predictor *m, const double *rows, size_t n);

/* Reports the number of rows that were asked for so far. From a number on that grows with the trees,
 * the forest takes the form for many rows. Not while other threads compute. */
void predict_expect(struct predictor *m, uint64_t rows);
/* Whether predict_expect would change the model. */
bool predict_changes(const struct predictor *m, uint64_t rows);

/* The columns of predictions after the link, for task value as many as outputs; of probabilities:
 * one for each class. */
size_t predict_columns(const struct predictor *m);

/* Turns the scores of one row into values or probabilities: predict_columns of them, in front of what
 * else predict_room asks for. */
size_t predict_room(const struct predictor *m);
void predict_link(const struct predictor *m, const double *scores, double *to);

/* What --raw says of the scores of one row: these, but the distances to centers in place of their squares.
 * to: as for predict_link. */
void predict_raw(const struct predictor *m, const double *scores, double *to);

/* The number of the label that the scores of one row stand for. */
size_t predict_label(const struct predictor *m, const double *scores);

/* The trees of the model, 0 for one without. */
size_t predict_trees(const struct predictor *m);

#endif
