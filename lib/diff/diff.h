/* diff: what differs between two models: tensors, metadata, side files, licence.
 *
 * One model is held: its tensors are at their places in files, or in a spool. The other one
 * flows by, so that a model from a pipe or from an adaptation needs no space. The result does
 * not depend on which of the two is held, nor on threads or CPU.
 */
#ifndef DIFF_DIFF_H
#define DIFF_DIFF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/err.h"
#include "core/pattern.h"
#include "diff/pair.h"
#include "diff/side.h"
#include "model/flow.h"

#define DIFF_NONE SIZE_MAX
#define DIFF_TOLERANCE 1e-6 /* version 2, section 4.5: "MATCH (delta < 1e-6)" */

/* ---- what is asked ---- */

/* Limits of figures; negative: none. */
struct diff_limits {
	double drift;      /* relative RMSE */
	double delta;      /* maximum of |d| */
	double l2;
	double cosine;     /* minimum */
};

struct diff_options {
	unsigned jobs;
	double tolerance;  /* values that differ by no more count as equal */
	struct diff_limits limits;
	bool metadata;     /* read no tensor: compare keys, files, names, types and shapes; or: */
	bool tensors;      /* compare only the tensors */
	struct pattern *only, *except; /* of names */
	size_t only_n, except_n;
	/* New names of the tensors of A or of B by index, NULL for one that keeps its name; or NULL
	 * for all of them. */
	char **names[2];
};

/* ---- the result ---- */

enum {
	DIFF_ADDED = 1,     /* only in B */
	DIFF_REMOVED = 2,   /* only in A */
	DIFF_RENAMED = 4,   /* other name, same type, shape and bytes */
	DIFF_RETYPED = 8,
	DIFF_RESHAPED = 16, /* values are compared in their order if their number is the same */
	DIFF_CHANGED = 32,  /* values differ */
	DIFF_UNKNOWN = 64,  /* bytes differ, and cannot be decoded */
	DIFF_OVER = 128     /* a limit does not hold */
};

struct diff_tensor {
	size_t a, b;          /* indexes in the plans, or DIFF_NONE */
	unsigned what;        /* 0: the same */
	bool match;           /* no value differs by more than the tolerance */
	struct drift *drift;  /* NULL: no figures, because bytes are the same or cannot be
	                       * compared */
};

/* Keys of the metadata, side files and licences that are not the same. */
#define DIFF_TEXTS 5        /* items of a list that are shown */
#define DIFF_TEXT 64        /* bytes of one */
struct diff_list {          /* of texts: a multiset; texts are cut, and not terminated */
	uint64_t added, removed;
	bool known;         /* false: not a list of texts, or too long */
	struct diff_text {
		uint32_t n;
		bool cut;
		char text[DIFF_TEXT];
	} first[2][DIFF_TEXTS]; /* of those that were removed, and added */
};

enum diff_where { DIFF_KEY, DIFF_FILE, DIFF_LICENCE };
struct diff_fact {
	enum diff_where where;
	size_t a, b;          /* in meta or blobs of the plans, or DIFF_NONE */
	unsigned what;        /* ADDED, REMOVED, RETYPED, CHANGED */
	struct diff_list *list; /* or NULL */
};

struct diff_counts {
	size_t compared;      /* pairs of tensors */
	size_t same, added, removed, renamed, retyped, reshaped, changed, drifting, over;
	size_t keys_added, keys_removed, keys_changed; /* retyped ones are changed */
	size_t files;         /* side files and licences */
};

struct diff {
	struct diff_options o;
	struct side side[2];  /* A and B */
	size_t flowing;       /* 0 or 1: the one that is not held */
	bool *chosen[2];      /* tensors of A and B that are compared */
	size_t *mate[2];      /* of each tensor of A and B: the other's, or DIFF_NONE */

	struct diff_tensor *tensors; /* those of A in their order, then those only in B */
	size_t tensor_count;
	struct diff_fact *facts;
	size_t fact_count, fact_cap;
	struct diff_counts counts;
	uint64_t values, equal; /* of all tensors; equal within the tolerance */
	bool matches;         /* the models have the same tensors, whose values match; and: */
	bool identical;       /* no value differs */
	double most, l2;      /* of all pairs with figures */
	const char *most_name;
	bool different;       /* the answer: what was asked for differs, or breaks a limit */
	struct diff_work *work;
};

/* 0 or -1; diff_close in any case, before the sources are closed. a and b: the two models, whose
 * plans outlive the diff. flowing: the one that is not held. */
int diff_open(struct diff *d, const struct diff_options *o, struct source *a, struct source *b,
              size_t flowing, struct err *e);
void diff_close(struct diff *d);

/* The hooks of the flow of a model: first of the held one, then of the other one. */
int diff_hooks(struct diff *d, size_t side, struct flow *f, struct err *e);

/* After both flows: the result. 0 or -1. */
int diff_finish(struct diff *d, struct err *e);

/* The share of values that are equal within the tolerance, in percent: 100 only if all are, and
 * the models have the same tensors in the same shapes. */
double diff_similarity(const struct diff *d);

/* The name by which a tensor is compared: its own, or a new one of the options. */
const char *diff_name_of(const struct diff *d, size_t side, size_t tensor);

/* The name of the first tensor that exceeds a limit; one does. */
const char *diff_first_over(const struct diff *d);

/* Whether a limit was given. */
bool diff_is_limited(const struct diff_limits *l);

#endif
