/* train_parts: what the files of this room share. */
#ifndef TRAIN_PARTS_H
#define TRAIN_PARTS_H

#include "core/thread.h"
#include "kernels/training.h"
#include "train/train.h"

#define TRAIN_NONE SIZE_MAX /* a parameter that a model does not have */

/* Parameters by number. A layer may be some rows of a matrix: a part of a fused one. */
struct train_linear {
	size_t weight, bias;
	size_t first, rows, columns;
};

struct train_norm {
	size_t weight, bias;
};

struct train_layer {
	struct train_norm attn_norm, q_norm, k_norm, ffn_norm;
	struct train_linear q, k, v, o, gate, up, down; /* gate.weight: TRAIN_NONE without gates */
};

struct train_ends {
	size_t embed, positions;
	struct train_norm norm;
	struct train_linear out;  /* of the embeddings, if tied */
};

/* Parameters, or their gradients; NULL if number is TRAIN_NONE. */
static inline float *
train_value(const struct train_model *m, size_t number)
{
	return number == TRAIN_NONE ? NULL : m->value + m->params[number].at;
}

static inline float *
train_slope(const struct train_model *m, size_t number)
{
	return number == TRAIN_NONE ? NULL : m->gradient + m->params[number].at;
}

/* Finds the parameters of a model in its plan, whose form is that of w, and proves their shapes; w gives
 * hyper-parameters. 0 or -1. */
int train_bind(struct train_model *m, const struct weights *w, struct err *e);

/* Allocates what train_bind has counted. 0 or -1. */
int train_allocate(struct train_model *m, unsigned flags, struct err *e);

/* ---- a pass ---- */

/* A layer's values that its gradient needs. tokens × the number in brackets. */
struct train_kept {
	float *x, *mean, *factor, *h;     /* input [width], its norm [1, 1, width] */
	float *q_in, *q_mean, *q_factor;  /* queries [heads × head_k] before their norm, [heads] */
	float *k_in, *k_mean, *k_factor;
	float *q, *k, *v;                 /* with norm and positions */
	float *most, *share;              /* of softmax [heads] */
	float *att;                       /* [heads × head_v] */
	float *x2, *mean2, *factor2, *h2; /* input of the feed-forward, its norm */
	float *gate, *up;                 /* [ff]; gate: as up without gates */
};

struct train_work {
	struct train_model *m;
	const struct training *t;
	size_t rows, length, tokens;      /* as opened */
	size_t now_rows, now_length, n;   /* of the batch; n = their product */
	unsigned flags, jobs;
	size_t ff;                        /* the largest of all layers */
	float *memory;

	struct train_kept *kept;          /* one for each layer; with TRAIN_FORWARD all are the same */
	struct train_kept last;           /* x, mean, factor, h of the end of the stack */
	float *wide;                      /* [ff]: products of gates */
	float *y;                         /* [width] */
	float *dx, *dh;                   /* [width] */
	float *dq, *dk, *dv, *datt;       /* as q, k, v, att */
	float *dwide;                     /* [ff] */
	float *weights, *back_weights;    /* packed */
	float *inputs;                    /* packed */
	float *logits, *teacher;          /* chunk × vocabulary */
	size_t chunk;                     /* rows of logits at a time */
	float *cosines, *sines;           /* length × rot / 2 */
	float *attention;                 /* for each thread */
	size_t attention_size;
	double *losses;                   /* hard and soft of each row of a chunk */
};

/* As rope_angles, but the same bits from any C library on any CPU. */
void train_angles(const struct rope *r, double position, float *cosines, float *sines);

/* x^y for |y| <= 1, and the cosine and sine of an angle, rounded once; NaN for what has none. */
float train_power(float x, float y);
void train_angle(float angle, float *cosine, float *sine);

/* c = a b in parallel. */
void train_product(const struct train_work *w, const struct training_product *p);

/* y = x l + bias; x: n rows of l->columns values. pack: pack the weights first (else they are still
 * packed in w->weights). */
void train_linear(const struct train_work *w, const struct train_linear *l, const float *x, size_t n,
                  float *y, bool pack);

/* The gradients: dx = dy W (added if `add`); and those of the weights and the bias, from x, which is
 * NULL if it is still packed in w->inputs. */
void train_linear_back(const struct train_work *w, const struct train_linear *l, const float *dy,
                       size_t n, float *dx, bool add);
void train_linear_gain(const struct train_work *w, const struct train_linear *l, const float *dy,
                       const float *x, size_t n);

/* Pack a matrix for products with it, in parallel; arguments as those of struct training. */
void train_pack(const struct train_work *w, const float *b, size_t row, size_t column, size_t k,
                size_t n, float *to);

/* Attention of a layer, and its gradients: kept->att from q, k and v; dq, dk and dv from datt. */
void train_attend(const struct train_work *w, const struct train_kept *k);
void train_attend_back(const struct train_work *w, const struct train_kept *k);
size_t train_attend_size(const struct train_model *m, size_t length); /* floats for a thread */

/* The norm of rows of n values each, and its gradients; mean and factor: one for each row. */
struct train_rows {
	struct train_norm norm;
	const float *x;
	size_t rows, n;
	float *mean, *factor;
};
void train_normalize(const struct train_work *w, const struct train_rows *r, float *y);
void train_normalize_back(const struct train_work *w, const struct train_rows *r, const float *dy,
                          float *dx, bool add);

/* w->last.h from tokens: all but the output. */
void train_forward(struct train_work *w, const struct train_batch *b);
/* From w->dh, the gradient of w->last.h, to all parameters but those of the output. */
void train_backpass(struct train_work *w, const struct train_batch *b);

#endif
