/* keras: sequential networks of Keras, from their configuration (the key keras.model_config) and their
 * tensors, in whatever container both stand. */
#ifndef PREDICT_KERAS_H
#define PREDICT_KERAS_H

#include "core/json.h"
#include "model/weights.h"
#include "predict/net.h"
#include "predict/predict.h"

#define KERAS_LAYERS 4096
#define KERAS_SHAPE 4 /* dimensions of a row, at most */

struct keras_net {
	struct predictor *m;
	const struct weights *w;
	struct err *e;
	const json_t *config;     /* of the layer */
	const char *layer, *kind; /* its name and its class */
	char path[160];           /* of its variables in files of version 3: layers/dense_1 */
	size_t ndim, dims[KERAS_SHAPE]; /* of a row so far; 0 dimensions: not known */
	uint64_t work;
};

/* 0, or -1 with e filled. */
int keras_read(struct predictor *m, const struct weights *w, const char *config, struct err *e);

/* ---- for layers ---- */

/* An error about the layer. Always -1. */
int keras_wrong(const struct keras_net *k, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Members of the configuration, with a value for those that are missing. keras_sizes: an integer or a
 * list of n of them, from 1 to 2^24 (or from 0 with zero). 0 or -1. */
const char *keras_text(const struct keras_net *k, const char *name, const char *other);
double keras_number(const struct keras_net *k, const char *name, double other);
bool keras_flag(const struct keras_net *k, const char *name, bool other);
int keras_sizes(const struct keras_net *k, const char *name, size_t n, bool zero, size_t *to);

/* Reads a variable of the layer: by its name in files of version 2, by its number in those of version 3,
 * in the part ("cell", "forward_layer/cell") of a layer. NULL with an error unless it has this number of
 * items. The caller frees it. */
double *keras_variable(const struct keras_net *k, const char *part, const char *name, unsigned number,
                       uint64_t items);

/* Appends a step from the shape of now to another one; NULL with an error. */
struct step *keras_step(struct keras_net *k, const struct step_kind *kind, size_t ndim, const size_t *dims);

/* The same for windows: the step gets a copy of w, whose work is counted. */
struct step *keras_window(struct keras_net *k, const struct step_kind *kind, const struct net_window *w,
                          size_t ndim, const size_t *dims);

/* A step of the kind net_gather, whose list the caller fills. */
struct step *keras_gather(struct keras_net *k, size_t ndim, const size_t *dims);

/* The same for a recurrent layer without weights yet: a copy of n, which the step owns. */
struct step *keras_recur(struct keras_net *k, const struct net_recurrent *n, size_t ndim, const size_t *dims);

/* Exchanges the dimensions of a row: dimension i is order[i] from then on. 0 or -1. */
int keras_turn(struct keras_net *k, const size_t *order);

/* What all networks are, once their steps are there: the last activation becomes the link. */
void keras_finish(struct predictor *m, const char *kind);

/* Counts multiplications for a row. 0 or -1. */
int keras_work(struct keras_net *k, uint64_t work);

/* Appends the activation that a member names, if it is more than the identity. 0 or -1. */
int keras_activation(struct keras_net *k, const char *member);
int keras_function(const struct keras_net *k, const json_t *v, struct net_activation *a);
int keras_activate(struct keras_net *k, const struct net_activation *a);

/* Layers (keras_functions.c, keras_layers.c, keras_recurrent.c). 0 or -1. */
int keras_named(struct keras_net *k); /* class Activation */
int keras_relu(struct keras_net *k);
int keras_leaky(struct keras_net *k);
int keras_elu(struct keras_net *k);
int keras_softmax(struct keras_net *k);
int keras_dense(struct keras_net *k);
int keras_conv(struct keras_net *k);
int keras_pool(struct keras_net *k);
int keras_global_pool(struct keras_net *k);
int keras_norm(struct keras_net *k);
int keras_embedding(struct keras_net *k);
int keras_recurrent(struct keras_net *k);
int keras_bidirectional(struct keras_net *k);
int keras_pad(struct keras_net *k);
int keras_repeat(struct keras_net *k);
int keras_permute(struct keras_net *k);

#endif
