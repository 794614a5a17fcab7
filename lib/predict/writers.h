/* writers: models in the files of other libraries, which then predict the same. What a file cannot hold
 * is refused (ERR_INVALID) or, if only digits or names are lost, said.
 *
 * In single precision a sum of leaves that begins with a base score is that of leaves alone, whose first
 * one has the base added: both round at the same place. So the base goes into the first tree of each
 * output, wherever a library would add it.
 */
#ifndef PREDICT_WRITERS_H
#define PREDICT_WRITERS_H

#include "predict/predict.h"

/* note receives what is lost, or is NULL. where: for messages. 0, or -1 with e filled. */
typedef int predict_writer(const struct predictor *m, const char *where, void (*note)(const char *),
                           struct buf *to, struct err *e);

/* JSON of XGBoost 1.7: trees and gblinear. Source: the schema in its documentation. */
predict_writer xgboost_write;

/* ONNX with the operators TreeEnsembleClassifier, -Regressor, LinearClassifier, -Regressor,
 * SVMClassifier, -Regressor, and steps in front of them, of the domain ai.onnx.ml, version 3. Source: onnx.proto, and the operators in the documentation of ONNX. */
predict_writer onnxml_write;

/* ---- what they share ---- */

struct writer {
	const struct predictor *m;
	const char *where, *title; /* of the file's format */
	void (*note)(const char *);
	struct buf *to;
	struct err *e;
	bool steps;  /* set by the caller: the format has steps, and pairs of classes */
	bool *first; /* for each tree: it is the first of its output */
};

/* Refuses what no file here holds, says what is lost, and finds the first trees. 0 or -1; writer_end in
 * any case. */
int writer_begin(struct writer *w);
void writer_end(struct writer *w);

int writer_refuse(const struct writer *w, const char *what);
/* The same for what lies between scores and predictions. */
int writer_refuse_link(const struct writer *w);

/* The value k of a leaf of a tree. */
float writer_leaf(const struct writer *w, size_t tree, uint32_t node, size_t k);

/* The greatest float that is not above t: "x <= t" is the same for all floats x. */
float writer_threshold(double t);

/* The nodes of a tree, which follow its root. */
uint32_t writer_nodes(const struct forest *f, size_t tree);

#endif
