/* plan: what becomes of each tensor of a model that is pruned. Everything that can be wrong is
 * proved here, before a byte is written.
 *
 * Without patterns, the matrices of layers are pruned (of the whole model if it has no layers),
 * except those that quantizing keeps too, such as expert routers (quant/mixture.h). Embeddings and
 * the output matrix stay.
 *
 * The result has the key apr.prune.recipe (string), an object: what was asked for.
 */
#ifndef PRUNE_PLAN_H
#define PRUNE_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/pattern.h"
#include "merge/input.h"
#include "quant/imatrix.h"
#include "quant/prune.h"
#include "stats/border.h"

#define PRUNE_ROW ((uint64_t)1 << 22)    /* the maximum number of values of a row */
#define PRUNE_LAYERS ((uint64_t)1 << 20) /* and of layers, for SCOPE_LAYER and PRUNE_SHAPE */
#define PRUNE_UPDATE ((uint64_t)1 << 16) /* and of columns, for how.update */
#define PRUNE_WHOLE UINT64_MAX           /* a tensor that is not of one expert */

/* The values among which a share becomes zero. */
enum prune_scope { SCOPE_ROW, SCOPE_TENSOR, SCOPE_LAYER, SCOPE_GLOBAL };

struct prune_how {
	enum { PRUNE_SHARE, PRUNE_BELOW, PRUNE_GROUPS, PRUNE_SHAPE } rule;
	uint64_t heads, neurons;  /* PRUNE_SHAPE: of each layer these numbers go, */
	const struct prune *layers; /* and these layers; */
	const bool *used;         /* and tokens that are not used, unless this is NULL */
	size_t used_count;
	const char *vocab_path;   /* whose text uses them, for the record */
	double share;             /* PRUNE_SHARE: 0 to 1 */
	float below;              /* PRUNE_BELOW: magnitudes under this one become zero */
	unsigned keep, of;        /* PRUNE_GROUPS: of each `of` values of a row `keep` stay */
	enum prune_scope scope;   /* PRUNE_SHARE */
	bool activations;         /* scores are magnitudes times norms of activations */
	bool update;              /* the values that stay make up for the others (prune/update.h) */
	const char *text_path;    /* whose text gives the activations for it, for the record */
	/* The upper triangle of the sum of x xᵀ over the activations that the matrix which GGUF calls
	 * this is multiplied with, n × n. Set before the result is read. 0 or -1. */
	int (*hessian)(void *ctx, const char *gguf, double *h, size_t n, struct err *e);
	void *hessian_ctx;
	struct imatrix *imatrix;  /* means; or NULL */
	const char *imatrix_path;
	struct pattern *targets;  /* tensors that are pruned; none: as above */
	size_t target_count;
};

struct prune_list {
	uint64_t *at;             /* ascending */
	size_t n, cap;
};

struct prune_row {
	size_t from;              /* the tensor of the input; its own index, unless layers go */
	const struct prune_list *kept_rows, *kept_columns; /* those that stay; NULL: all */
	bool pruned;              /* else its bytes pass unchanged, as far as they stay */
	char *input;              /* how.update: the name that GGUF has for it */
	float *norms;             /* of the columns of each matrix, one after another; NULL: 1 */
	const float *importance;  /* the same as means, for encoding; NULL: none */
	uint64_t matrix_rows;     /* rows of a matrix */
	size_t group;
};

/* Tensors that share a border. */
struct prune_group {
	uint64_t values, gone;    /* values, and how many of them become zero */
	size_t first, last;       /* its tensors are among these */
	struct border border;     /* of ranks (prune/choose.h), once `found` */
	uint64_t equals;          /* values at the border so far */
	bool found;
};

struct prune_plan {
	struct prune_how how;
	struct merge_input *in;
	struct prune_row *rows;   /* one for each tensor of the result */
	struct prune_list *lists; /* that rows point to */
	size_t list_count;
	struct prune_list tokens; /* that stay, if tokens go */
	struct subject_files files; /* side files and long values that change */
	struct prune_group *groups;
	size_t group_count, group_cap;
	size_t *of_layer;         /* SCOPE_LAYER: for each layer the number of its group + 1 */
	struct model out;

	size_t pruned, quantized; /* tensors; those of them that are quantized */
	size_t unmeasured;        /* those without an entry in the importance matrix */
	uint64_t values;          /* of pruned tensors */
	uint64_t zeros;           /* of these, once the model has flowed */
	uint64_t lost;            /* zeros that their blocks cannot hold */
};

/* Plan. The input and what `how` points to must outlive the plan. prune_plan_free in any case.
 * 0, or -1: ERR_USAGE for a pattern without a tensor, or an importance matrix of another model. */
int prune_plan_make(struct prune_plan *p, const struct prune_how *how, struct merge_input *in,
                    struct err *e);
void prune_plan_free(struct prune_plan *p);

/* The means of the columns of a tensor, which GGUF calls this, or NULL if the matrix has none.
 * ERR_INVALID if their number is another one. 0 or -1. */
int prune_means(const struct prune_plan *p, const struct tensor *t, const char *gguf,
                uint64_t expert, const float **means, struct err *e);

/* prune/shape.c: heads, neurons and layers that go: the rows and the keys of the result. 0, or -1:
 * ERR_INVALID if they do not divide or are not there, ERR_FORMAT for a model without them. */
int prune_shape(struct prune_plan *p, struct err *e);

/* The tensors of the result get the shapes of what stays. 0, or -1: ERR_INVALID if rows would not fill
 * blocks. */
int prune_put_shapes(struct prune_plan *p, struct err *e);

/* prune/depth.c: the layers that go. 0 or -1. */
int prune_depth(struct prune_plan *p, struct err *e);

/* Append the recipe as a JSON object. 0 or -1. */
int prune_record(const struct prune_how *how, struct buf *to, struct err *e);

#endif
