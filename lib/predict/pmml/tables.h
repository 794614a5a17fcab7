/* tables: the terms of the RegressionTables of a model, and what makes values or classes of them. */
#ifndef PREDICT_PMML_TABLES_H
#define PREDICT_PMML_TABLES_H

#include "predict/pmml/pmml.h"

struct pmml_term {
	size_t slot;         /* of the value; SIZE_MAX: group is the result of a model */
	size_t group;
	size_t table;
	double coefficient;
};

struct pmml_tables {
	struct pmml_term *terms; /* in the order of the tables */
	size_t count, cap;
	double *intercepts;  /* of each table */
	size_t tables;
	size_t outputs;      /* of the model; the last of two classes has none, if it is what is left */
};

/* Reads the tables of a RegressionModel, and sets task, link and labels of the predictor. 0 or -1; pmml_free_tables
 * in any case. */
int pmml_read_tables(struct pmml *p, uint32_t model, struct pmml_tables *to);
void pmml_free_tables(struct pmml_tables *t);

/* Multiplies the leaves of the trees from `first` on. */
void pmml_scale(struct forest *f, size_t first, double by);

#endif
