/* apr1_good: APR version 1 files of other programs, a payload for each layout that man
 * apr1(5) lists, and every form of metadata. MANIFEST: name, "same" where our writer
 * gives back the same bytes, else "changed"; the layout; its tensors (name, type,
 * shape of each, separated by semicolons); what is said of it, or "-".
 */
#include <lz4.h>
#include <zstd.h>

#include "apr1.h"

static struct folder folder;

static void
finish(struct apr1 *m, const char *name, const char *same, const char *layout,
       const char *tensors, const char *says)
{
	apr1_assemble(m);
	apr1_checksum(m);
	folder_file(&folder, name, &m->file);
	fprintf(folder.manifest, "%s\t%s\t%s\t%s\t%s\n", name, same, layout, tensors, says);
	apr1_free(m);
}

/* A payload of others with the usual metadata. */
static void
usual(struct apr1 *m, unsigned type, const char *name, const char *layout,
      const char *tensors)
{
	m->type = type;
	mp_usual(&m->meta, 0);
	finish(m, name, "same", layout, tensors, "-");
}

/* ---- models of lines ---- */

static void
put_linear(struct gen *g, float first)
{
	put_u8(g, 1);
	put_floats(g, 3, first);
	put_f32(g, 0.5f);
	put_u8(g, 1);
}

static void
put_logistic(struct gen *g, unsigned n)
{
	put_u8(g, 1);
	put_floats(g, n, 0.25f);
	put_f32(g, 0.0625f);
	put_f32(g, 0.01f);
	put_u64(g, 100);
	put_f32(g, 1e-4f);
}

static void
lines(void)
{
	struct apr1 m = { 0 };

	put_linear(&m.payload, 1);
	usual(&m, 1, "apr1_linear", "LinearRegression",
	      "coefficients F32 3;intercept F32 scalar;fit_intercept BOOL scalar");
	put_u8(&m.payload, 0);
	put_f32(&m.payload, 0);
	put_u8(&m.payload, 0);
	usual(&m, 1, "apr1_linear_empty", "LinearRegression",
	      "intercept F32 scalar;fit_intercept BOOL scalar");
	put_u8(&m.payload, 1);
	put_u64(&m.payload, 0);
	put_f32(&m.payload, 0);
	put_u8(&m.payload, 0);
	usual(&m, 1, "apr1_linear_no_features", "LinearRegression",
	      "coefficients F32 0;intercept F32 scalar;fit_intercept BOOL scalar");
	put_f32(&m.payload, 2);
	put_linear(&m.payload, 1);
	usual(&m, 1, "apr1_ridge", "Ridge", "alpha F32 scalar;coefficients F32 3;"
	      "intercept F32 scalar;fit_intercept BOOL scalar");
	put_f32(&m.payload, 2);
	put_linear(&m.payload, 1);
	put_u64(&m.payload, 1000);
	put_f32(&m.payload, 0.001f);
	usual(&m, 1, "apr1_lasso", "Lasso", "alpha F32 scalar;coefficients F32 3;"
	      "intercept F32 scalar;fit_intercept BOOL scalar;max_iter U64 scalar;"
	      "tol F32 scalar");
	put_f32(&m.payload, 2);
	put_f32(&m.payload, 0.5f);
	put_linear(&m.payload, 1);
	put_u64(&m.payload, 1000);
	put_f32(&m.payload, 0.001f);
	usual(&m, 1, "apr1_elastic_net", "ElasticNet", "alpha F32 scalar;l1_ratio F32 scalar;"
	      "coefficients F32 3;intercept F32 scalar;fit_intercept BOOL scalar;"
	      "max_iter U64 scalar;tol F32 scalar");
	put_logistic(&m.payload, 4);
	usual(&m, 2, "apr1_logistic", "LogisticRegression", "coefficients F32 4;"
	      "intercept F32 scalar;learning_rate F32 scalar;max_iter U64 scalar;"
	      "tol F32 scalar");
}

/* ---- clusters ---- */

static void
put_kmeans(struct gen *g, int all)
{
	put_u64(g, 2);
	put_u64(g, 300);
	put_f32(g, 1e-4f);
	put_u8(g, (uint8_t)all);
	if (all)
		put_u64(g, UINT64_MAX);
	put_u8(g, (uint8_t)all);
	if (all) {
		put_floats(g, 6, 1);
		put_u64(g, 2);
		put_u64(g, 3);
	}
	put_u8(g, (uint8_t)all);
	if (all)
		put_words(g, 5, 0);
	put_f32(g, 12.5f);
	put_u64(g, 7);
}

static void
clusters(void)
{
	struct apr1 m = { 0 };

	put_kmeans(&m.payload, 1);
	usual(&m, 6, "apr1_kmeans", "KMeans", "n_clusters U64 scalar;max_iter U64 scalar;"
	      "tol F32 scalar;random_state U64 scalar;centroids F32 2x3;labels U64 5;"
	      "inertia F32 scalar;n_iter U64 scalar");
	put_kmeans(&m.payload, 0);
	usual(&m, 6, "apr1_kmeans_new", "KMeans", "n_clusters U64 scalar;max_iter U64 scalar;"
	      "tol F32 scalar;inertia F32 scalar;n_iter U64 scalar");
}

/* ---- trees ---- */

static void
put_leaf(struct gen *g, int classes, unsigned what)
{
	put_u32(g, 1);
	if (classes)
		put_u64(g, what);
	else
		put_f32(g, (float)what / 2);
	put_u64(g, 10 + what);
}

static void
put_split(struct gen *g, unsigned feature)
{
	put_u32(g, 0);
	put_u64(g, feature);
	put_f32(g, (float)feature + 0.5f);
}

/* ((leaf leaf) leaf): five nodes. */
static void
put_tree(struct gen *g, int classes)
{
	put_u8(g, 1);
	put_split(g, 2);
	put_split(g, 7);
	put_leaf(g, classes, 0);
	put_leaf(g, classes, 1);
	put_leaf(g, classes, 2);
	put_u8(g, 1);
	put_u64(g, 4);
}

/* Of a tree of n nodes, with what stands before its names. */
#define CLASSES(P, N) P "node_features I64 " N ";" P "node_thresholds F32 " N ";" \
	P "node_classes U64 " N ";" P "node_samples U64 " N ";" P "node_left_child I64 " N ";" \
	P "node_right_child I64 " N
#define VALUES(P, N) P "node_features I64 " N ";" P "node_thresholds F32 " N ";" \
	P "node_values F32 " N ";" P "node_samples U64 " N ";" P "node_left_child I64 " N ";" \
	P "node_right_child I64 " N

static void
put_class_tree(struct gen *g, int with_features)
{
	put_tree(g, 1);
	if (with_features) {
		put_u8(g, 1);
		put_u64(g, 9);
	}
}

static void
put_value_tree(struct gen *g)
{
	put_tree(g, 0);
	put_u64(g, 2);
	put_u64(g, 1);
}

static void
trees(void)
{
	struct apr1 m = { 0 };
	unsigned i;

	put_class_tree(&m.payload, 1);
	usual(&m, 3, "apr1_class_tree", "DecisionTreeClassifier", CLASSES("", "5") ";"
	      "max_depth U64 scalar;n_features U64 scalar");
	put_class_tree(&m.payload, 0);
	usual(&m, 3, "apr1_class_tree_1", "DecisionTreeClassifier.1", CLASSES("", "5") ";"
	      "max_depth U64 scalar");
	put_u8(&m.payload, 0);
	put_u8(&m.payload, 0);
	put_u8(&m.payload, 0);
	usual(&m, 3, "apr1_class_tree_new", "DecisionTreeClassifier", "-");
	put_value_tree(&m.payload);
	usual(&m, 3, "apr1_value_tree", "DecisionTreeRegressor", VALUES("", "5") ";"
	      "max_depth U64 scalar;min_samples_split U64 scalar;"
	      "min_samples_leaf U64 scalar");
	/* As deep as it goes: a list to the left, which no recursion should follow. */
	put_u8(&m.payload, 1);
	for (i = 0; i < 20000; i++)
		put_split(&m.payload, i);
	for (i = 0; i < 20001; i++)
		put_leaf(&m.payload, 1, i);
	put_u8(&m.payload, 0);
	put_u8(&m.payload, 0);
	usual(&m, 3, "apr1_deep_tree", "DecisionTreeClassifier", CLASSES("", "40001"));
}

static void
put_forest(struct gen *g, int classes, int features, int samples)
{
	put_u64(g, 2);
	if (classes) {
		put_class_tree(g, features);
		put_class_tree(g, features);
	} else {
		put_value_tree(g);
		put_value_tree(g);
	}
	put_u64(g, 2);
	put_u8(g, 0);
	put_u8(g, 1);
	put_u64(g, 42);
	if (!samples)
		return;
	put_u64(g, 2);
	put_words(g, 3, 1);
	put_words(g, 0, 0);
	put_u8(g, 1);
	put_floats(g, 8, 0);
	put_u64(g, 4);
	put_u64(g, 2);
	put_u8(g, 1);
	if (classes)
		put_words(g, 4, 0);
	else
		put_floats(g, 4, 0);
}

#define REST ";n_estimators U64 scalar;random_state U64 scalar"
#define SAMPLES(Y) ";oob_indices U64 3;oob_indices_lengths U64 2;x_train F32 4x2;" \
	"y_train " Y " 4"

static void
forests(void)
{
	struct apr1 m = { 0 };

	put_forest(&m.payload, 1, 1, 1);
	usual(&m, 4, "apr1_class_forest", "RandomForestClassifier", "tree_count U64 scalar;"
	      CLASSES("tree_0_", "5") ";tree_0_max_depth U64 scalar;tree_0_n_features U64 scalar;"
	      CLASSES("tree_1_", "5") ";tree_1_max_depth U64 scalar;tree_1_n_features U64 scalar"
	      REST SAMPLES("U64"));
	put_forest(&m.payload, 1, 0, 1);
	usual(&m, 4, "apr1_class_forest_2", "RandomForestClassifier.2", "tree_count U64 scalar;"
	      CLASSES("tree_0_", "5") ";tree_0_max_depth U64 scalar;"
	      CLASSES("tree_1_", "5") ";tree_1_max_depth U64 scalar" REST SAMPLES("U64"));
	put_forest(&m.payload, 1, 0, 0);
	usual(&m, 4, "apr1_class_forest_1", "RandomForestClassifier.1", "tree_count U64 scalar;"
	      CLASSES("tree_0_", "5") ";tree_0_max_depth U64 scalar;"
	      CLASSES("tree_1_", "5") ";tree_1_max_depth U64 scalar" REST);
	put_forest(&m.payload, 0, 0, 1);
	usual(&m, 4, "apr1_value_forest", "RandomForestRegressor", "tree_count U64 scalar;"
	      VALUES("tree_0_", "5") ";tree_0_max_depth U64 scalar;"
	      "tree_0_min_samples_split U64 scalar;tree_0_min_samples_leaf U64 scalar;"
	      VALUES("tree_1_", "5") ";tree_1_max_depth U64 scalar;"
	      "tree_1_min_samples_split U64 scalar;tree_1_min_samples_leaf U64 scalar"
	      REST SAMPLES("F32"));
	put_forest(&m.payload, 0, 0, 0);
	usual(&m, 4, "apr1_value_forest_1", "RandomForestRegressor.1", "tree_count U64 scalar;"
	      VALUES("tree_0_", "5") ";tree_0_max_depth U64 scalar;"
	      "tree_0_min_samples_split U64 scalar;tree_0_min_samples_leaf U64 scalar;"
	      VALUES("tree_1_", "5") ";tree_1_max_depth U64 scalar;"
	      "tree_1_min_samples_split U64 scalar;tree_1_min_samples_leaf U64 scalar" REST);
}

/* ---- language ---- */

static void
put_markov(struct gen *g, int long_form)
{
	put_u64(g, 3);
	put_u64(g, 2);
	put_string(g, "git");
	put_u64(g, 2);
	put_string(g, "status");
	put_u32(g, 5);
	put_string(g, "");
	put_u32(g, 1);
	put_string(g, "\xc3\xa4");
	put_u64(g, 0);
	put_u64(g, 1);
	put_string(g, "ls -l");
	put_u32(g, 77);
	put_u64(g, 83);
	if (long_form)
		put_u64(g, 82);
}

#define MARKOV "n U64 scalar;ngrams_text U8 5;ngrams_lengths U64 2;ngrams_sizes U64 2;" \
	"ngrams_next_text U8 6;ngrams_next_lengths U64 2;ngrams_counts U32 2;" \
	"command_freq_text U8 5;command_freq_lengths U64 1;command_freq_counts U32 1;" \
	"total_commands U64 scalar"

static void
language(void)
{
	struct apr1 m = { 0 };

	put_markov(&m.payload, 1);
	usual(&m, 0x10, "apr1_markov", "MarkovModel", MARKOV ";last_trained_pos U64 scalar");
	put_markov(&m.payload, 0);
	usual(&m, 0x10, "apr1_markov_1", "MarkovModel.1", MARKOV);
	put_markov(&m.payload, 1);
	usual(&m, 0xff, "apr1_markov_custom", "MarkovModel",
	      MARKOV ";last_trained_pos U64 scalar");
}

/* ---- experts ---- */

static void
put_routing(struct gen *g)
{
	put_u64(g, 3);
	put_u64(g, 2);
	put_f32(g, 1);
	put_floats(g, 6, 0);
	put_u64(g, 1);
	put_f32(g, 1.25f);
	put_f32(g, 0);
	put_f32(g, 0.01f);
}

#define ROUTING ";gating_n_features U64 scalar;gating_n_experts U64 scalar;" \
	"gating_temperature F32 scalar;gating_weights F32 6;config_top_k U64 scalar;" \
	"config_capacity_factor F32 scalar;config_expert_dropout F32 scalar;" \
	"config_load_balance_weight F32 scalar"
#define LINEAR(P) P "coefficients F32 3;" P "intercept F32 scalar;" P "fit_intercept BOOL scalar"
#define LOGISTIC(P) P "coefficients F32 2;" P "intercept F32 scalar;" \
	P "learning_rate F32 scalar;" P "max_iter U64 scalar;" P "tol F32 scalar"

static void
experts(void)
{
	struct apr1 m = { 0 };

	put_u64(&m.payload, 2);
	put_linear(&m.payload, 1);
	put_linear(&m.payload, 9);
	put_routing(&m.payload);
	usual(&m, 0x40, "apr1_experts", "MixtureOfExperts.LinearRegression",
	      "expert_count U64 scalar;" LINEAR("expert_0_") ";" LINEAR("expert_1_") ROUTING);
	put_u64(&m.payload, 2);
	put_logistic(&m.payload, 2);
	put_logistic(&m.payload, 2);
	put_routing(&m.payload);
	usual(&m, 0x40, "apr1_experts_logistic", "MixtureOfExperts.LogisticRegression",
	      "expert_count U64 scalar;" LOGISTIC("expert_0_") ";" LOGISTIC("expert_1_") ROUTING);
}

/* ---- what nobody understands ---- */

/* Upstream's golden file, whose parameters it publishes with its tests. */
static void
golden(void)
{
	static const float weights[] = { 1, 2, .5f, -.5f, 4, -2, .25f, 8 };
	struct apr1 m = { .type = 1, .byte22 = 85 };
	unsigned i;

	mp_map(&m.meta, 3);
	mp_pair(&m.meta, "created_at", "1700000000");
	mp_pair(&m.meta, "aprender_version", "0.0.0-golden");
	mp_pair(&m.meta, "model_name", "golden-v1");
	put_string(&m.payload, "golden_v1");
	put_u64(&m.payload, 8);
	for (i = 0; i < 8; i++)
		put_f32(&m.payload, weights[i]);
	put_f32(&m.payload, 0.125f);
	finish(&m, "golden_v1", "same", "opaque", "payload U8 61", "-");
}

static void
put_scaler(struct gen *g)
{
	put_u8(g, 1);
	put_floats(g, 2, 0);
	put_u8(g, 1);
	put_floats(g, 2, 1);
	put_u8(g, 1);
	put_u8(g, 0);
}

static void
opaque(void)
{
	static const unsigned types[] = { 5, 7, 8, 9, 10, 0x11, 0x12, 0x20, 0x21, 0x30, 0xff };
	struct apr1 m = { 0 };
	char name[32], tensor[32];
	size_t i;

	for (i = 0; i < sizeof types / sizeof *types; i++) {
		put_ramp(&m.payload, 40 + i);
		snprintf(tensor, sizeof tensor, "payload U8 %u", 40 + (unsigned)i);
		snprintf(name, sizeof name, "apr1_type_%02x", types[i]);
		usual(&m, types[i], name, "opaque", tensor);
	}
	usual(&m, 0xff, "apr1_nothing", "opaque", "payload U8 0");
	put_scaler(&m.payload);
	usual(&m, 0xff, "apr1_scaler", "opaque", "payload U8 36");
	/* Truth is 0 or 1: this is not a linear model. */
	put_u8(&m.payload, 1);
	put_floats(&m.payload, 4, 1);
	put_f32(&m.payload, 0.5f);
	put_u8(&m.payload, 2);
	usual(&m, 1, "apr1_linear_of_2", "opaque", "payload U8 30");
	/* One node too few, one byte too many. */
	put_u8(&m.payload, 1);
	put_split(&m.payload, 1);
	put_leaf(&m.payload, 1, 1);
	usual(&m, 3, "apr1_tree_cut", "opaque", "payload U8 37");
	put_kmeans(&m.payload, 1);
	put_u8(&m.payload, 0);
	usual(&m, 6, "apr1_kmeans_longer", "opaque", "payload U8 140");
	/* rows × columns is not the number of values */
	put_kmeans(&m.payload, 1);
	m.payload.p[20 + 9 + 1 + 8 + 24] = 3;
	usual(&m, 6, "apr1_kmeans_shape", "opaque", "payload U8 139");
}

/* ---- metadata and flags ---- */

#define LOGISTIC_4 "coefficients F32 4;intercept F32 scalar;learning_rate F32 scalar;" \
	"max_iter U64 scalar;tol F32 scalar"

static void
full(struct apr1 *m, const char *name, const char *same, const char *says)
{
	m->type = 2;
	put_logistic(&m->payload, 4);
	finish(m, name, same, "LogisticRegression", LOGISTIC_4, says);
}

static void
put_types(struct gen *g)
{
	static const uint8_t f32[] = { 0xca, 0x3d, 0xcc, 0xcc, 0xcd };
	static const uint8_t f64[] = { 0xcb, 0x3f, 0xb9, 0x99, 0x99, 0x99, 0x99, 0x99, 0x9a };
	static const uint8_t nan[] = { 0xca, 0x7f, 0xc0, 0, 0 };
	static const uint8_t max[] = { 0xcf, 255, 255, 255, 255, 255, 255, 255, 255 };
	static const uint8_t bin[] = { 0xc4, 3, 1, 2, 3 };

	mp_usual(g, 11);
	mp_text(g, "yes");
	put_u8(g, 0xc3);
	mp_text(g, "nothing");
	put_u8(g, 0xc0);
	mp_text(g, "seven");
	put_u8(g, 7);
	mp_text(g, "minus");
	put_u8(g, 0xe0);
	mp_text(g, "largest");
	put(g, max, sizeof max);
	mp_text(g, "single");
	put(g, f32, sizeof f32);
	mp_text(g, "double");
	put(g, f64, sizeof f64);
	mp_text(g, "not a number");
	put(g, nan, sizeof nan);
	mp_text(g, "bytes");
	put(g, bin, sizeof bin);
	mp_text(g, "list");
	mp_array(g, 3);
	put_u8(g, 1);
	put(g, f32, sizeof f32);
	mp_text(g, "x");
	mp_text(g, "metrics");
	mp_map(g, 2);
	mp_text(g, "accuracy");
	put(g, f64, sizeof f64);
	mp_text(g, "loss");
	put(g, nan, sizeof nan);
}

/* The card as existing software writes it, and as the specification has it. */
static void
put_card(struct gen *g)
{
	mp_text(g, "model_card");
	mp_map(g, 5);
	mp_pair(g, "model_id", "digits");
	mp_pair(g, "name", "Digits");
	mp_pair(g, "version", "1.0.0");
	mp_text(g, "metrics");
	mp_map(g, 1);
	mp_text(g, "accuracy");
	put(g, "\xca\x3f\x73\x33\x33", 5);
	mp_text(g, "intended_users");
	mp_array(g, 2);
	mp_text(g, "researchers");
	mp_text(g, "students");
}

static void
metadata(void)
{
	struct apr1 m = { 0 };
	unsigned i;

	/* a map of two, spelled with 16 bits for its size */
	put(&m.meta, "\xde\0\2", 3);
	mp_pair(&m.meta, "created_at", "1764278947");
	mp_pair(&m.meta, "aprender_version", "0.11.0");
	full(&m, "apr1_long_spelling", "same", "-");
	mp_array(&m.meta, 3);
	mp_text(&m.meta, "1764278947");
	mp_text(&m.meta, "0.11.0");
	mp_text(&m.meta, "digits");
	full(&m, "apr1_array", "same", "-");
	mp_map(&m.meta, 0);
	full(&m, "apr1_no_metadata", "same", "-");
	mp_usual(&m.meta, 1);
	put_card(&m.meta);
	m.flags = 0x40;
	full(&m, "apr1_card", "same", "-");
	mp_usual(&m.meta, 2);
	mp_pair(&m.meta, "inference_pub_key", "6S1GKAlULPDEPQ9R6cASGd9oMd/LbEhC6JqkStqA+FQ=");
	mp_pair(&m.meta, "inference_protocol", "x25519-aes256gcm-v1");
	full(&m, "apr1_inference", "same", "-");
	/* a map of that name that is none of ours */
	mp_usual(&m.meta, 1);
	mp_text(&m.meta, "custom");
	mp_map(&m.meta, 1);
	mp_text(&m.meta, "x");
	put_u8(&m.meta, 1);
	full(&m, "apr1_custom", "same", "-");
	mp_usual(&m.meta, 1);
	mp_text(&m.meta, "license");
	mp_map(&m.meta, 3);
	mp_pair(&m.meta, "uuid", "7b4b0cbb-6b0b-4d6b-8f0c-3f1e5cf0ae9e");
	mp_pair(&m.meta, "hash", "abc");
	mp_pair(&m.meta, "tier", "Team");
	m.flags = 8;
	m.byte22 = 100;
	full(&m, "apr1_licensed_metadata", "same", "-");
	/* more than a plan holds */
	mp_usual(&m.meta, 1);
	mp_text(&m.meta, "long");
	put(&m.meta, "\xdc\x08\x00", 3);
	for (i = 0; i < 2048; i++)
		put(&m.meta, "\xcd\x30\x39", 3);
	full(&m, "apr1_long_list", "same", "-");
	mp_usual(&m.meta, 0);
	m.minor = 3;
	full(&m, "apr1_minor", "same", "-");
}

/* ---- licence blocks ---- */

static void
licences(void)
{
	struct apr1 m = { .flags = 8 };

	mp_usual(&m.meta, 0);
	put_licence(&m.behind, "");
	full(&m, "apr1_licence", "same", "-");
	m.flags = 8;
	mp_usual(&m.meta, 0);
	put_licence(&m.behind, "for schools");
	full(&m, "apr1_licence_terms", "same", "-");
}

/* ---- compression ---- */

static void
compressed(void)
{
	struct apr1 m = { .compression = 3 };
	struct gen plain = { 0 };
	uint8_t room[4096];
	int n;

	mp_usual(&m.meta, 0);
	put_logistic(&plain, 200);
	m.type = 2;
	m.plain = (uint32_t)plain.n;
	n = LZ4_compress_default((char *)plain.p, (char *)room, (int)plain.n, sizeof room);
	put_u32(&m.payload, m.plain);
	put(&m.payload, room, (size_t)n);
	finish(&m, "apr1_lz4", "same", "LogisticRegression", "coefficients F32 200;"
	       "intercept F32 scalar;learning_rate F32 scalar;max_iter U64 scalar;tol F32 scalar",
	       "-");
	m.compression = 1;
	m.type = 2;
	m.plain = (uint32_t)plain.n;
	mp_usual(&m.meta, 0);
	put(&m.payload, room, ZSTD_compress(room, sizeof room, plain.p, plain.n, 3));
	finish(&m, "apr1_zstd", "same", "LogisticRegression", "coefficients F32 200;"
	       "intercept F32 scalar;learning_rate F32 scalar;max_iter U64 scalar;tol F32 scalar",
	       "-");
	m.compression = 2;
	m.type = 2;
	m.plain = (uint32_t)plain.n;
	mp_usual(&m.meta, 0);
	/* as a streaming encoder has it, which does not know the size */
	{
		ZSTD_CCtx *c = ZSTD_createCCtx();
		ZSTD_inBuffer in = { plain.p, plain.n, 0 };
		ZSTD_outBuffer out = { room, sizeof room, 0 };

		ZSTD_CCtx_setParameter(c, ZSTD_c_compressionLevel, 19);
		ZSTD_CCtx_setParameter(c, ZSTD_c_contentSizeFlag, 0);
		while (ZSTD_compressStream2(c, &out, &in, ZSTD_e_end) != 0)
			;
		put(&m.payload, room, out.pos);
		ZSTD_freeCCtx(c);
	}
	finish(&m, "apr1_zstd_19", "changed", "LogisticRegression", "coefficients F32 200;"
	       "intercept F32 scalar;learning_rate F32 scalar;max_iter U64 scalar;tol F32 scalar",
	       "-");
	gen_free(&plain);
}

/* ---- TRUENO_NATIVE ---- */

/* Three tensors: [2,3] f32 and its transpose by strides, and five bytes. */
static void
aligned(const char *name, int names, int transposed, uint8_t hint, const char *says)
{
	static const uint32_t dims[] = { 2, 3 }, rows[] = { 3, 1 }, columns[] = { 1, 2 };
	static const uint32_t five[] = { 5 }, one[] = { 1 };
	struct apr1 m = { .type = 0x20, .flags = 0x10 };
	uint64_t base, start, i;

	mp_usual(&m.meta, (unsigned)names);
	if (names) {
		mp_text(&m.meta, "tensor_names");
		mp_array(&m.meta, 2);
		mp_text(&m.meta, "layer.0.weight");
		mp_text(&m.meta, "five");
	}
	base = 32 + m.meta.n;
	start = (base + 4 + 28 + 16 + 28 + 8 + 63) / 64 * 64;
	put_u32(&m.payload, 2);
	put_aligned(&m.payload, "layer.0.weight", 0, 2, dims, transposed ? columns : rows, hint,
	            start, 24);
	put_aligned(&m.payload, "five", 4, 1, five, one, 0, start + 64, 5);
	put_fill(&m.payload, 0, (size_t)(start - base) - m.payload.n);
	for (i = 0; i < 6; i++)
		put_f32(&m.payload, transposed ? (float)(i % 2 * 3 + i / 2) : (float)i);
	put_fill(&m.payload, 0, 40);
	put_ramp(&m.payload, 5);
	finish(&m, name, names && !transposed ? "same" : "changed", "-", names
	       ? "layer.0.weight F32 2x3;five U8 5"
	       : "tensor_7b3e0c79a947673a F32 2x3;tensor_aa851578efea8575 U8 5", says);
}

int
main(int argc, char **argv)
{
	struct apr1 m = { 0 };

	folder_open(&folder, argc, argv);
	lines();
	clusters();
	trees();
	forests();
	language();
	experts();
	golden();
	opaque();
	metadata();
	put_types(&m.meta);
	full(&m, "apr1_types", "same", "-");
	licences();
	compressed();
	aligned("apr1_aligned", 1, 0, 0, "-");
	aligned("apr1_aligned_hint", 1, 0, 4, "-");
	aligned("apr1_aligned_columns", 1, 1, 0, "-");
	aligned("apr1_aligned_no_names", 0, 0, 0, "has no tensor_names");
	return folder_close(&folder);
}
