/* apr1_write: models as the tensors of the payloads that existing software reads in APR version 1
 * (apr1(5), Layouts): LinearRegression, LogisticRegression, KMeans, DecisionTreeClassifier and -Regressor,
 * RandomForestClassifier and -Regressor. All compute in single precision.
 */
#ifndef PREDICT_APR1_WRITE_H
#define PREDICT_APR1_WRITE_H

#include "predict/predict.h"

struct apr1_tensor {
	char *name;
	const char *type;
	unsigned ndim;
	uint64_t dims[2];
	struct buf data;
};

struct apr1_payload {
	const char *type, *layout; /* "LINEAR_REGRESSION", "LinearRegression" */
	struct apr1_tensor *list;
	size_t count, cap;
	const char *lost;          /* what predicts the same and is not there any more; NULL: nothing */
};

/* 1: done. 0: no payload holds the model, why says what it has that none can hold. -1 with e filled.
 * apr1_payload_free in any case. */
int apr1_payload_make(const struct predictor *m, struct apr1_payload *to, char why[256], struct err *e);
void apr1_payload_free(struct apr1_payload *p);

#endif
