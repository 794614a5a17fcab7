/* readers: one function for each kind of file (predict.h, struct predict_reader). */
#ifndef PREDICT_READERS_H
#define PREDICT_READERS_H

#include "predict/predict.h"

/* XGBoost: JSON and UBJSON since 1.0; the binary form before. Source: the schema in its
 * documentation, and src/learner.cc, src/gbm, include/xgboost/tree_model.h for the old form. */
int xgboost_read(struct predictor *m, const uint8_t *p, size_t n, const char *where,
                 struct err *e);
int xgboost_old_read(struct predictor *m, const uint8_t *p, size_t n, const char *where,
                     struct err *e);
bool xgboost_old_probe(const uint8_t *p, size_t n);

/* LightGBM: text, and the JSON of dump_model. Source: src/boosting/gbdt_model_text.cpp and
 * src/io/tree.cpp. */
int lightgbm_read(struct predictor *m, const uint8_t *p, size_t n, const char *where,
                  struct err *e);
int lightgbm_json_read(struct predictor *m, const uint8_t *p, size_t n, const char *where,
                       struct err *e);

/* The words of "objective=". */
int lightgbm_objective(struct predictor *m, const char *words, const char *where, struct err *e);

/* CatBoost: the JSON of save_model, trees of numbers (oblivious or not). Source: the
 * documentation of its JSON model. */
int catboost_read(struct predictor *m, const uint8_t *p, size_t n, const char *where,
                  struct err *e);

/* scikit-learn: a pickle of an estimator, or of a pipeline that ends with one (sklearn.h). Nothing in it
 * runs. Source: sklearn/tree/_tree.pyx and the attributes that the documentation lists. */
int sklearn_read(struct predictor *m, const uint8_t *p, size_t n, const char *where,
                 struct err *e);

/* The same in a file of skops. */
int skops_read(struct predictor *m, const uint8_t *p, size_t n, const char *where, struct err *e);
bool skops_probe(const uint8_t *p, size_t n);

/* N-grams in ARPA's text form, which score texts. */
int arpa_read(struct predictor *m, const uint8_t *p, size_t n, const char *where, struct err *e);
bool arpa_probe(const uint8_t *p, size_t n);

/* Appends a line: a text by chance, as likely as the n-grams say, of ARPA or of counts (markov.h). It
 * depends on the seed and the number of the text alone. 0, or -1: ERR_USAGE if the model is not a list
 * of n-grams. */
#define ARPA_WORDS 1000 /* at most */
int arpa_generate(const struct predictor *m, uint64_t seed, uint64_t number, struct buf *to,
                  struct err *e);

/* Classical models in ONNX. */
int onnxml_read(struct predictor *m, const uint8_t *p, size_t n, const char *where, struct err *e);
bool onnxml_probe(const uint8_t *p, size_t n);

/* Networks in ONNX (onnxnet.h). */
int onnxnet_read(struct predictor *m, const uint8_t *p, size_t n, const char *where, struct err *e);
bool onnxnet_probe(const uint8_t *p, size_t n);

/* Networks in TensorFlow Lite (tflite.h). */
int tflite_net_read(struct predictor *m, const uint8_t *p, size_t n, const char *where, struct err *e);
bool tflite_probe(const uint8_t *p, size_t n);

/* PMML 3.0 to 4.4 (pmml.h). */
int pmml_read(struct predictor *m, const uint8_t *p, size_t n, const char *where, struct err *e);
bool pmml_probe(const uint8_t *p, size_t n);

#endif
