/* onnxops: graphs of ONNX that are computed operator by operator, for pipelines whose nodes do not just
 * follow one another (skl2onnx: vectorizers of texts, encoders of categories, neighbours, naive Bayes,
 * mixtures, clusters; several inputs; models whose answers other nodes change).
 *
 * A row is a batch of one: the first dimension of each input is 1. The whole graph is one step of a
 * predictor (step.h). Models inside of it (trees, linear, support vectors) are predictors of their own,
 * read and computed by the code for files that hold them alone.
 *
 * An evaluator and not a list of known patterns: what skl2onnx emits for an estimator differs by version,
 * options and target, and the operators are few.
 *
 * Numbers are doubles that are rounded to the type of their tensor after each operator; sums are in
 * double precision. Integers are at most 2^53 in size; larger ones are refused.
 *
 * Bounds: a graph has a budget of constants (as many values as the file has bytes, and some), a row one
 * of values and one of steps of work. Every shape is checked when the operator runs. Reading ends with a
 * trial row, so that shapes that never fit are refused then, and the widths of the outputs are known.
 *
 * Source: onnx.proto, and the operators of the domains ai.onnx (1 to 21), ai.onnx.ml (1 to 5) and
 * com.microsoft (Tokenizer, CDist) in the documentation of ONNX and of ONNX Runtime.
 */
#ifndef PREDICT_ONNXOPS_H
#define PREDICT_ONNXOPS_H

#include "predict/onnx/onnxml.h"

#define OPS_NODES 8192
#define OPS_RANK 8
#define OPS_ENDS 16384 /* inputs or outputs of a node */
#define OPS_WHOLE 9007199254740992.0 /* 2^53 */
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
#define OPS_CELLS ((size_t)1 << 16)
#define OPS_WORK ((uint64_t)1 << 18)
#else
#define OPS_CELLS ((size_t)1 << 25) /* values of a row, in all tensors */
#define OPS_WORK ((uint64_t)1 << 33) /* steps of a row */
#endif

/* Types of values: the numbers of onnx.proto. */
enum ops_type { OPS_FLOAT = 1, OPS_INT32 = 6, OPS_INT64, OPS_STRING, OPS_BOOL, OPS_HALF, OPS_DOUBLE };

struct ops_tensor {
	unsigned type; /* 0: not computed */
	size_t rank, dims[OPS_RANK], n;
	double *v;
	struct step_text *t; /* of OPS_STRING */
};

/* Memory that is freed as a whole. */
struct ops_arena {
	struct ops_chunk *chunks;
	size_t left;      /* bytes that may still be taken */
};

struct ops_attribute {
	char *name;
	double number;            /* f or i */
	struct step_text text;    /* s */
	double *list;             /* floats, ints */
	size_t count;
	struct step_text *texts;  /* strings */
	size_t text_count;
	struct ops_tensor tensor;
};

struct ops_run;
struct ops_reader;
struct ops_node;

struct ops_operator {
	const char *domain; /* "" for ai.onnx, "ml" for ai.onnx.ml, "ms" for com.microsoft */
	const char *name;
	size_t inputs;      /* that it needs */
	int (*run)(struct ops_run *r, const struct ops_node *n, const struct ops_tensor *const *in,
	           struct ops_tensor *out);
	int (*open)(struct ops_reader *x, struct ops_node *n); /* NULL: nothing to prepare */
	double (*f)(double x);            /* of operators on each value */
	double (*g)(double x, double y);  /* of operators on two */
};

struct ops_node {
	const struct ops_operator *op;
	const char *name; /* the operator's, for messages */
	double version;   /* of its set */
	size_t *in, *out; /* places of values; SIZE_MAX: left out */
	size_t in_count, out_count;
	struct ops_attribute *attributes;
	size_t attribute_count;
	size_t number;    /* of the node */
	void *more;       /* what open has prepared */
	void (*free_more)(void *more);
};

struct ops_graph {
	struct ops_node *nodes;
	size_t node_count;
	size_t values;          /* places */
	struct ops_tensor *constants; /* by place; type 0: not a constant */
	struct ops_arena memory;
	struct ops_input {
		size_t place, from, width, rank;
		unsigned type;
		bool map;       /* names and values, for DictVectorizer */
		const struct ops_attribute *names; /* of a map */
	} *inputs;
	size_t input_count;
	struct ops_output {
		size_t place, width;
	} *outputs;             /* the label last, if there is one */
	size_t output_count;
	bool labelled;          /* the last output becomes the number of a label */
	char *const *labels;    /* the predictor's; NULL: the number is the label */
	size_t label_count;
	char **words;           /* texts of columns by number; the predictor's; NULL: any text, of a pool */
	size_t word_count;
	bool reads_texts;       /* the only input is a text */
	const char *where;
};

/* What rows are computed in, by one thread. */
struct ops_run {
	const struct ops_graph *g;
	struct ops_tensor *values;
	struct ops_arena memory;
	uint64_t work;
	const struct buf *pool; /* texts of rows with other columns */
	bool texts;             /* an operator has looked into a text, not just for it in a list */
	bool trial;             /* values do not matter yet, only shapes */
	struct step_rows rows, spare; /* of models */
	double *scores;
	size_t score_cap;
	void **rooms;           /* by node: what a thread needs of its own */
	void (**free_rooms)(void *room);
	struct err *e;
};

/* ---- memory ---- */
void *ops_take(struct ops_arena *a, size_t n, size_t size); /* zeros; NULL: too much */
void ops_arena_free(struct ops_arena *a);

/* ---- for operators ---- */
int ops_wrong(struct ops_run *r, const struct ops_node *n, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* The same for values: a trial goes on. */
int ops_refuse(struct ops_run *r, const struct ops_node *n, const char *what);
int ops_work(struct ops_run *r, const struct ops_node *n, uint64_t steps);

/* A tensor of zeros or of empty texts. 0 or -1. */
int ops_make(struct ops_run *r, const struct ops_node *n, struct ops_tensor *t, unsigned type, size_t rank,
             const size_t *dims);
int ops_like(struct ops_run *r, const struct ops_node *n, struct ops_tensor *t, unsigned type,
             const struct ops_tensor *of);

/* Rounds values to their type. 0, or -1 for integers that are too large. */
int ops_round(struct ops_run *r, const struct ops_node *n, struct ops_tensor *t);

const struct ops_attribute *ops_attribute(const struct ops_node *n, const char *name);
double ops_number(const struct ops_node *n, const char *name, double missing);
bool ops_says(const struct ops_node *n, const char *name, const char *text);

/* An axis from 0 to rank - 1 (or rank with `more` = 1). 0 or -1. */
int ops_axis(struct ops_run *r, const struct ops_node *n, double axis, size_t rank, size_t *to);

/* The list of an attribute, or the values of input i. Not there: *v is NULL. */
void ops_list(const struct ops_node *n, const struct ops_tensor *const *in, const char *name, size_t i,
              const double **v, size_t *count);

/* The inputs must be numbers. 0 or -1. */
int ops_need_numbers(struct ops_run *r, const struct ops_node *n, const struct ops_tensor *const *in,
                     struct ops_tensor *out);

/* The shape that a tensor and dims have together, each dimension that of both or 1, in dims. 0 or -1. */
int ops_together(struct ops_run *r, const struct ops_node *n, const struct ops_tensor *a, size_t *rank, size_t *dims);
/* The place in a of value i of a tensor of that shape. */
size_t ops_place(const struct ops_tensor *a, size_t rank, const size_t *dims, size_t i);

static inline size_t
ops_product(const size_t *dims, size_t from, size_t to)
{
	size_t n = 1;

	for (; from < to; from++)
		n *= dims[from];
	return n;
}

static inline bool
ops_texts_equal(struct step_text a, struct step_text b)
{
	return a.n == b.n && (a.n == 0 || __builtin_memcmp(a.p, b.p, a.n) == 0);
}

/* Numbers or texts and their places in a list; of equal ones the first. NaN equals NaN. */
struct ops_table {
	struct ops_key {
		struct step_text text;
		double number;
		size_t at;
	} *keys;
	size_t n;
	bool texts;
};
int ops_table(struct ops_table *t, const double *numbers, const struct step_text *texts, size_t n);
size_t ops_search(const struct ops_table *t, double number, struct step_text text); /* SIZE_MAX: not there */

/* The file while it is read. */
struct ops_reader {
	struct onnxml *x;       /* the node that is read */
	struct ops_graph *g;
	struct ops_run *run;    /* computes constants, then a trial row */
	struct buf names;       /* struct step_text, by place: initializers, inputs, outputs of nodes */
	struct ops_table places;
	struct buf producers;   /* struct ops_node * by place */
	struct buf inputs;      /* struct ops_input */
	size_t given, next;     /* initializers; the place of what comes next */
	size_t file;            /* bytes of the file */
	size_t node_total;
	double versions[3];     /* of ai.onnx, ai.onnx.ml, com.microsoft */
	struct buf outputs;     /* places */
};
int ops_reader_wrong(struct ops_reader *x, const struct ops_node *n, const char *what); /* -1 */

/* The model that a classifier of ai.onnx.ml is; NULL: the node is another one. */
const struct predictor *ops_model(const struct ops_node *n);

/* A tensor of the file, in the memory of the graph. 0 or -1. */
int ops_read_tensor(struct ops_reader *x, struct onnxml_part part, struct ops_tensor *t);
/* The attributes of the node that is read. 0 or -1. */
int ops_read_attributes(struct ops_reader *x, struct ops_node *n);

/* Tables, the last row without a name. */
extern const struct ops_operator ops_math[], ops_products[], ops_shapes[], ops_ml[], ops_models[], ops_text[],
                                 ops_grams[];
const struct ops_operator *ops_find(const char *domain, struct onnxml_part name);

/* Sets columns and names; then, behind a trial row, categories, labels and scores. 0 or -1. */
int ops_set_inputs(struct ops_reader *x);
int ops_set_words(struct ops_reader *x);
int ops_set_outputs(struct ops_reader *x);

/* ---- reader and step ---- */
extern const struct step_kind step_graph, step_graph_texts;
void ops_graph_free(void *g);
struct ops_run *ops_run_new(const struct ops_graph *g, struct err *e);
void ops_run_free(struct ops_run *r);
int ops_run_node(struct ops_run *r, const struct ops_node *n);
/* Sets the inputs to a row: values, or a text. */
int ops_run_row(struct ops_run *r, const double *row, const struct step_text *text);

/* Appends the operators of a step of the kinds above, each once. */
void onnxops_names(const struct step *s, struct buf *to);

/* Reads any graph. 0 or -1; ERR_NO: the file does not have a graph, or the graph an output. */
int onnxops_read(struct predictor *m, const uint8_t *p, size_t n, const char *where, struct err *e);

#endif
