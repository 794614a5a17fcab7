#include "formats/apr1/apr1_layout.h"

#include <string.h>

/* The fields as aprender declares them, from its linear_model, classification, cluster,
 * tree, ensemble and preprocessing, and aprender-shell's model. Fields that were added later
 * make a separate layout, because bincode has no defaults. */
#define END { NULL, APR1_F32, false, NULL }

static const struct apr1_field linear[] = {
	{ "coefficients", APR1_FLOATS, true, NULL },
	{ "intercept", APR1_F32, false, NULL },
	{ "fit_intercept", APR1_BOOL, false, NULL },
	END
};

static const struct apr1_field ridge[] = {
	{ "alpha", APR1_F32, false, NULL },
	{ "coefficients", APR1_FLOATS, true, NULL },
	{ "intercept", APR1_F32, false, NULL },
	{ "fit_intercept", APR1_BOOL, false, NULL },
	END
};

static const struct apr1_field lasso[] = {
	{ "alpha", APR1_F32, false, NULL },
	{ "coefficients", APR1_FLOATS, true, NULL },
	{ "intercept", APR1_F32, false, NULL },
	{ "fit_intercept", APR1_BOOL, false, NULL },
	{ "max_iter", APR1_U64, false, NULL },
	{ "tol", APR1_F32, false, NULL },
	END
};

static const struct apr1_field elastic_net[] = {
	{ "alpha", APR1_F32, false, NULL },
	{ "l1_ratio", APR1_F32, false, NULL },
	{ "coefficients", APR1_FLOATS, true, NULL },
	{ "intercept", APR1_F32, false, NULL },
	{ "fit_intercept", APR1_BOOL, false, NULL },
	{ "max_iter", APR1_U64, false, NULL },
	{ "tol", APR1_F32, false, NULL },
	END
};

static const struct apr1_field logistic[] = {
	{ "coefficients", APR1_FLOATS, true, NULL },
	{ "intercept", APR1_F32, false, NULL },
	{ "learning_rate", APR1_F32, false, NULL },
	{ "max_iter", APR1_U64, false, NULL },
	{ "tol", APR1_F32, false, NULL },
	END
};

static const struct apr1_field kmeans[] = {
	{ "n_clusters", APR1_U64, false, NULL },
	{ "max_iter", APR1_U64, false, NULL },
	{ "tol", APR1_F32, false, NULL },
	{ "random_state", APR1_U64, true, NULL },
	{ "centroids", APR1_MATRIX, true, NULL },
	{ "labels", APR1_WORDS, true, NULL },
	{ "inertia", APR1_F32, false, NULL },
	{ "n_iter", APR1_U64, false, NULL },
	END
};

static const struct apr1_field class_tree[] = {
	{ "node", APR1_CLASSES, true, NULL },
	{ "max_depth", APR1_U64, true, NULL },
	{ "n_features", APR1_U64, true, NULL },
	END
};

static const struct apr1_field class_tree_1[] = {
	{ "node", APR1_CLASSES, true, NULL },
	{ "max_depth", APR1_U64, true, NULL },
	END
};

static const struct apr1_field value_tree[] = {
	{ "node", APR1_VALUES, true, NULL },
	{ "max_depth", APR1_U64, true, NULL },
	{ "min_samples_split", APR1_U64, false, NULL },
	{ "min_samples_leaf", APR1_U64, false, NULL },
	END
};

/* A forest: its trees, the samples that each tree has not seen, and all samples. */
#define FOREST(TREE, Y) { \
	{ "tree", APR1_MANY, false, TREE }, \
	{ "n_estimators", APR1_U64, false, NULL }, \
	{ "max_depth", APR1_U64, true, NULL }, \
	{ "random_state", APR1_U64, true, NULL }, \
	{ "oob_indices", APR1_WORD_LISTS, false, NULL }, \
	{ "x_train", APR1_MATRIX, true, NULL }, \
	{ "y_train", Y, true, NULL }, \
	END }
#define FOREST_1(TREE) { \
	{ "tree", APR1_MANY, false, TREE }, \
	{ "n_estimators", APR1_U64, false, NULL }, \
	{ "max_depth", APR1_U64, true, NULL }, \
	{ "random_state", APR1_U64, true, NULL }, \
	END }

static const struct apr1_field class_forest[] = FOREST(class_tree, APR1_WORDS);
static const struct apr1_field class_forest_2[] = FOREST(class_tree_1, APR1_WORDS);
static const struct apr1_field class_forest_1[] = FOREST_1(class_tree_1);
static const struct apr1_field value_forest[] = FOREST(value_tree, APR1_FLOATS);
static const struct apr1_field value_forest_1[] = FOREST_1(value_tree);

static const struct apr1_field ngram[] = {
	{ "n", APR1_U64, false, NULL },
	{ "ngrams", APR1_CONTEXTS, false, NULL },
	{ "command_freq", APR1_COUNTS, false, NULL },
	{ "total_commands", APR1_U64, false, NULL },
	{ "last_trained_pos", APR1_U64, false, NULL },
	END
};

static const struct apr1_field ngram_1[] = {
	{ "n", APR1_U64, false, NULL },
	{ "ngrams", APR1_CONTEXTS, false, NULL },
	{ "command_freq", APR1_COUNTS, false, NULL },
	{ "total_commands", APR1_U64, false, NULL },
	END
};

static const struct apr1_field gating[] = {
	{ "n_features", APR1_U64, false, NULL },
	{ "n_experts", APR1_U64, false, NULL },
	{ "temperature", APR1_F32, false, NULL },
	{ "weights", APR1_FLOATS, false, NULL },
	END
};

static const struct apr1_field routing[] = {
	{ "top_k", APR1_U64, false, NULL },
	{ "capacity_factor", APR1_F32, false, NULL },
	{ "expert_dropout", APR1_F32, false, NULL },
	{ "load_balance_weight", APR1_F32, false, NULL },
	END
};

#define EXPERTS(OF) { \
	{ "expert", APR1_MANY, false, OF }, \
	{ "gating_", APR1_ONE, false, gating }, \
	{ "config_", APR1_ONE, false, routing }, \
	END }

static const struct apr1_field experts_linear[] = EXPERTS(linear);
static const struct apr1_field experts_logistic[] = EXPERTS(logistic);
static const struct apr1_field experts_ridge[] = EXPERTS(ridge);
static const struct apr1_field experts_lasso[] = EXPERTS(lasso);
static const struct apr1_field experts_net[] = EXPERTS(elastic_net);
static const struct apr1_field experts_class_tree[] = EXPERTS(class_tree);
static const struct apr1_field experts_value_tree[] = EXPERTS(value_tree);
static const struct apr1_field experts_kmeans[] = EXPERTS(kmeans);

static const struct apr1_field standard_scaler[] = {
	{ "mean", APR1_FLOATS, true, NULL },
	{ "std", APR1_FLOATS, true, NULL },
	{ "with_mean", APR1_BOOL, false, NULL },
	{ "with_std", APR1_BOOL, false, NULL },
	END
};

static const struct apr1_field min_max_scaler[] = {
	{ "data_min", APR1_FLOATS, true, NULL },
	{ "data_max", APR1_FLOATS, true, NULL },
	{ "feature_min", APR1_F32, false, NULL },
	{ "feature_max", APR1_F32, false, NULL },
	END
};

static const struct apr1_field robust_scaler[] = {
	{ "median", APR1_FLOATS, true, NULL },
	{ "iqr", APR1_FLOATS, true, NULL },
	{ "with_centering", APR1_BOOL, false, NULL },
	{ "with_scaling", APR1_BOOL, false, NULL },
	END
};

static const struct apr1_layout layouts[] = {
	{ 0x01, "LinearRegression", linear },
	{ 0x01, "Ridge", ridge },
	{ 0x01, "Lasso", lasso },
	{ 0x01, "ElasticNet", elastic_net },
	{ 0x02, "LogisticRegression", logistic },
	{ 0x03, "DecisionTreeClassifier", class_tree },
	{ 0x03, "DecisionTreeClassifier.1", class_tree_1 },
	{ 0x03, "DecisionTreeRegressor", value_tree },
	{ 0x04, "RandomForestClassifier", class_forest },
	{ 0x04, "RandomForestClassifier.2", class_forest_2 },
	{ 0x04, "RandomForestClassifier.1", class_forest_1 },
	{ 0x04, "RandomForestRegressor", value_forest },
	{ 0x04, "RandomForestRegressor.1", value_forest_1 },
	{ 0x06, "KMeans", kmeans },
	{ 0x10, "MarkovModel", ngram },
	{ 0x10, "MarkovModel.1", ngram_1 },
	{ 0xff, "MarkovModel", ngram },
	{ 0xff, "MarkovModel.1", ngram_1 },
	{ 0x40, "MixtureOfExperts.LinearRegression", experts_linear },
	{ 0x40, "MixtureOfExperts.LogisticRegression", experts_logistic },
	{ 0x40, "MixtureOfExperts.Ridge", experts_ridge },
	{ 0x40, "MixtureOfExperts.Lasso", experts_lasso },
	{ 0x40, "MixtureOfExperts.ElasticNet", experts_net },
	{ 0x40, "MixtureOfExperts.DecisionTreeClassifier", experts_class_tree },
	{ 0x40, "MixtureOfExperts.DecisionTreeRegressor", experts_value_tree },
	{ 0x40, "MixtureOfExperts.KMeans", experts_kmeans },
	{ 0, "StandardScaler", standard_scaler },
	{ 0, "MinMaxScaler", min_max_scaler },
	{ 0, "RobustScaler", robust_scaler },
};
#define LAYOUTS (sizeof layouts / sizeof *layouts)

const struct apr1_layout *
apr1_layout_row(size_t index)
{
	return index < LAYOUTS ? &layouts[index] : NULL;
}

const struct apr1_layout *
apr1_layout_by_name(const char *name)
{
	size_t i;

	for (i = 0; i < LAYOUTS; i++)
		if (strcmp(layouts[i].name, name) == 0)
			return &layouts[i];
	return NULL;
}
