/* onnx_models: models of ONNX that predict, written as text (../gen/onnx.h), and those that are refused. */
#ifndef ONNX_MODELS_H
#define ONNX_MODELS_H

#include <stdlib.h>
#include <string.h>

#include "../gen/onnx.h"
#include "predict/predict.h"
#include "test.h"

struct refused_model {
	const char *text, *fact; /* a part of the message */
};

static int
load(struct predictor *m, const char *text, struct err *e)
{
	struct gen g = { 0 };
	const struct predict_reader *reader;
	uint8_t *p;
	int r;

	put_proto(&g, text);
	p = malloc(g.n); /* of its own, so that nothing reads behind it */
	memcpy(p, g.p, g.n);
	reader = predict_probe(p, g.n);
	r = reader ? predict_read(m, reader, p, g.n, "m", e) : err_set(e, ERR_FORMAT, "m", "not recognized");
	free(p);
	free(g.p);
	return r;
}

static void
test_models_refused(const struct refused_model *cases, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		struct predictor m = { 0 };
		struct err e = ERR_INIT;
		int r = load(&m, cases[i].text, &e);
		bool right = r < 0 && strstr(e.fact, cases[i].fact);

		test_ok(right, "refused: %s", cases[i].fact);
		if (!right)
			printf("# %zu: %s\n", i, r < 0 ? e.fact : "is read");
		predictor_free(&m);
	}
}

#endif
