/* onnx: files of ONNX, a ModelProto in the wire format of protocol buffers.
 *
 *     ModelProto         ir_version, opset_import, producer, metadata_props, graph, functions
 *      GraphProto        node, initializer, sparse_initializer, input, output, …
 *       TensorProto      dims, data_type, name, and the values in one of three ways:
 *                        raw_data           little-endian, in the order of rows
 *                        a typed field      float_data, int32_data, … : repeated numbers
 *                        external_data      a part of a file in the folder of the model or below
 *
 * Tensors are the initializers of the graph and the values of its nodes Constant; also those
 * of graphs inside nodes (If, Loop, Scan), and of functions. A sparse tensor becomes two:
 * NAME.values and NAME.indices. It is not made dense, because its shape is only a claim, and a
 * small file could then fill any memory. Texts and whatever else stays in the graph.
 *
 * The file is mapped, and only the pages with the descriptions of tensors are read while the
 * plan is made. A pipe is spooled, since initializers may follow anything.
 *
 * The first side file, ONNX_GRAPH, is the file without the values of its tensors:
 *
 *     8 bytes   "ONNXCUT1"
 *     u64       bytes of the whole file
 *     u64       number of cuts
 *     for each cut, in the order of the file:
 *       u64     offset in the whole file
 *       u64     bytes that were cut out
 *       u32     0: they are the bytes of the tensor. Else the number of a type below: the
 *               values of the tensor, written as codes of that type
 *       u32     bytes of a name, and the name of the tensor in the plan
 *     the file without the cuts
 *
 * All numbers are little-endian. What is cut out are values in one piece: raw_data, and packed
 * float_data and double_data. All others stay. So the side file and the tensors together are
 * the file, byte for byte, as long as their names, types and values are unchanged. External data
 * is not part of it: the side file has the name of its file, offset and length, and the tensor its
 * bytes.
 *
 * Source: onnx.proto3 and the documents IR.md and ExternalData.md of ONNX 1.19, read for the
 * numbers of fields and types and for their meaning.
 */
#ifndef IMPORTS_ONNX_ONNX_H
#define IMPORTS_ONNX_ONNX_H

#include "formats/container.h"
#include "formats/format.h"
#include "imports/whole.h"
#include "wire/protobuf.h"

#define ONNX_GRAPH "onnx.graph"      /* name and type of the side file */
#define ONNX_GRAPH_TYPE "onnx-graph"
#define ONNX_TENSORS_KEY "onnx.tensors"

#ifndef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
#define ONNX_FIELDS (1u << 26)  /* fields read of one file, by all passes together */
#define ONNX_TENSORS (1u << 17) /* tensors of one file */
#else
#define ONNX_FIELDS (1u << 16)
#define ONNX_TENSORS (1u << 10)
#endif
#define ONNX_GRAPHS 32          /* graphs inside graphs */
#define ONNX_FILES 4096         /* files with external data */
#define ONNX_NAMES (16u << 20)  /* bytes of all names of tensors */

/* Text in the file: not terminated, perhaps not UTF-8. p is NULL if the field is missing. */
struct onnx_text {
	const char *p;
	size_t n;
};

/* ---- messages (onnx_schema.c) ---- */

extern const struct protobuf_message onnx_model, onnx_opset, onnx_entry, onnx_graph, onnx_node,
	onnx_attribute, onnx_tensor_proto, onnx_sparse, onnx_value_info, onnx_type_proto,
	onnx_type_tensor, onnx_shape, onnx_dimension, onnx_function, onnx_annotation;

/* Numbers of the fields that are read. */
enum { MODEL_IR_VERSION = 1, MODEL_PRODUCER, MODEL_PRODUCER_VERSION, MODEL_DOMAIN, MODEL_VERSION,
	MODEL_DOC, MODEL_GRAPH, MODEL_OPSET, MODEL_METADATA = 14, MODEL_FUNCTIONS = 25 };
enum { GRAPH_NODE = 1, GRAPH_NAME, GRAPH_INITIALIZER = 5, GRAPH_DOC = 10, GRAPH_INPUT,
	GRAPH_OUTPUT, GRAPH_ANNOTATION = 14, GRAPH_SPARSE };
enum { NODE_INPUT = 1, NODE_OUTPUT, NODE_NAME, NODE_OP, NODE_ATTRIBUTE, NODE_DOMAIN = 7 };
enum { ATTRIBUTE_NAME = 1, ATTRIBUTE_F, ATTRIBUTE_I, ATTRIBUTE_S, ATTRIBUTE_TENSOR,
	ATTRIBUTE_GRAPH, ATTRIBUTE_FLOATS, ATTRIBUTE_INTS, ATTRIBUTE_STRINGS,
	ATTRIBUTE_GRAPHS = 11, ATTRIBUTE_REF = 21, ATTRIBUTE_SPARSE };
enum { TENSOR_DIM = 1, TENSOR_TYPE, TENSOR_SEGMENT, TENSOR_FLOATS, TENSOR_INT32S,
	TENSOR_STRINGS, TENSOR_INT64S, TENSOR_NAMED, TENSOR_RAW, TENSOR_DOUBLES, TENSOR_UINT64S,
	TENSOR_EXTERNAL = 13, TENSOR_LOCATION };
enum { FUNCTION_NAME = 1, FUNCTION_NODE = 7 };

/* ---- types (onnx_types.c) ---- */

/* A row of TensorProto.DataType. The values are codes of 2, 4 or whole bytes' bits. Codes of
 * a type that is not known here become another type, by a function of one code. */
struct onnx_type {
	uint8_t number;
	const char *name;     /* "FLOAT" */
	const char *type;     /* of the plan's tensor: "F32"; NULL: tensors are refused */
	uint8_t bits;         /* of a code in raw_data */
	uint8_t field;        /* number of the typed field */
	uint8_t each;         /* numbers of the typed field for one value; 2: complex */
	int64_t low, high;    /* of a number in the typed field, if it is an integer */
	uint16_t (*decode)(unsigned code); /* NULL: the code is the value */
};
const struct onnx_type *onnx_type_of(uint64_t number);

/* The form of one number of the typed field. */
enum protobuf_form onnx_form(const struct onnx_type *t);

/* Bytes of this many values as codes. -1 if they do not fit into 64 bits. */
int onnx_code_bytes(const struct onnx_type *t, uint64_t values, uint64_t *bytes);

/* ---- tensors ---- */

/* The codes of a tensor's values. */
struct onnx_view {
	const struct onnx_type *type;
	enum { ONNX_RAW,      /* bytes of the model's file */
	       ONNX_NUMBERS,  /* numbers of a field of a message there */
	       ONNX_EXTERNAL, /* bytes of another file */
	       ONNX_DENSE     /* made of a sparse tensor */
	} in;
	uint64_t at, bytes;   /* of the codes, or of the message */
	uint8_t field;        /* ONNX_NUMBERS */
	bool single;          /* a 4-bit value in each number, not two */
	uint32_t file;        /* ONNX_EXTERNAL */
	struct onnx_sparse *sparse; /* ONNX_DENSE; owned by struct onnx */
};

/* A role of a node's input: rows in onnx_use.c. */
struct onnx_role {
	const char *op;
	uint8_t input;
	const char *suffix;   /* of a name that the node gives, such as "weight"; NULL: none */
	bool turned;          /* rows and columns change places, compared with PyTorch's layers */
	uint8_t scale, zero_point; /* inputs with the scale and zero point; 0: none */
};

/* The integers of a node that are read, by the names in onnx_walk.c. */
enum { ONNX_TRANS_B, ONNX_AXIS, ONNX_BITS, ONNX_BLOCK, ONNX_INTS };
#define ONNX_MISSING INT64_MIN

/* What the first node that uses a tensor says about it. */
struct onnx_use {
	const struct onnx_role *role; /* NULL: not used by a node that is known */
	struct onnx_text node;        /* its name */
	struct onnx_text op;
	size_t scale, zero_point;     /* numbers of tensors; SIZE_MAX: none */
	int64_t ints[ONNX_INTS];
};

struct onnx_tensor {
	struct onnx_text name; /* in kept: in the file, each comparison would map the pages around it */
	char *kept;
	const char *part;     /* of a sparse tensor: ".values" or ".indices"; or "" */
	struct onnx_view view;
	unsigned ndim;
	uint64_t dims[TENSOR_DIMS];
	uint64_t graph;       /* number of the graph that holds it: 1 is the main one */
	struct onnx_use use;
	char *as;             /* name in the plan */
};

struct onnx_file {
	char *name;           /* in the model's folder, or FOLDER/... below it */
	uint64_t bytes;
	bool used;            /* values of it were sent */
	char sum[41];         /* SHA-1 in hexadecimal, or "" */
};

struct onnx {
	struct source source;
	struct model plan;
	struct format_options options;
	struct reader reader;
	struct err *err;

	/* The whole file. */
	const uint8_t *p;
	uint64_t n, base;     /* base: offset of p[0] in the file */
	struct whole whole;
	uint64_t budget;      /* fields */

	/* The model. */
	struct protobuf model;  /* opened, to begin messages inside it */
	struct protobuf_field graph;
	int64_t ir_version;
	uint64_t nodes, graphs, functions, unknown, strings, pairs, pair_bytes;
	uint64_t graph_number; /* of the graph that is being walked */
	struct onnx_tensor *tensors;
	size_t tensor_count, tensor_cap;
	size_t *by_name;      /* numbers of tensors, sorted */
	uint64_t name_bytes;

	/* Sparse tensors that are made dense. */
	struct onnx_sparse *sparse, *sparse_now; /* all; the one that is being sent */
	uint64_t dense_bytes; /* of all */

	/* Files with external data. */
	struct onnx_file *files;
	size_t file_count, file_cap;
	int folder;           /* descriptor of the model's folder, or -1 */
	char *folder_path;
	struct reader beside; /* the one that was opened last */
	size_t beside_file;   /* its number, or SIZE_MAX */
	char *beside_label;

	struct buf relations; /* value of ONNX_TENSORS_KEY, if a blob holds it */
	struct buf cuts;      /* head of the side file */
	size_t *cut;          /* numbers of tensors, by offset */
	size_t cut_count;

	/* What is being sent. */
	struct container_sent sent;
	const struct onnx_view *view; /* NULL: a blob */
	bool graph_now;       /* that blob is the side file */
	size_t next_cut;
	uint64_t at;          /* in the file, of what comes next */
	uint64_t done;        /* bytes of a blob's head, or of a tensor's codes */
	uint64_t left;        /* bytes of the body */
	struct protobuf_numbers numbers;
	struct onnx_box *box;
	const uint8_t *last;  /* the piece of the map that was read last */
	size_t last_bytes;
};

/* True if a file that begins with these bytes looks like a ModelProto (onnx_probe.c). */
bool onnx_probe(const uint8_t *head, size_t n);

/* Make keys of the model's own fields, and of those of its graph when by_name is filled. 0 or
 * -1. */
int onnx_read_model(struct onnx *x);
int onnx_read_graph(struct onnx *x);

/* Collect the tensors of all graphs, and by_name (onnx_find.c). Then find what the nodes say
 * about them (onnx_use.c), and name them (onnx_names.c). 0 or -1. */
int onnx_find_tensors(struct onnx *x);
int onnx_find_uses(struct onnx *x);
int onnx_name_tensors(struct onnx *x);

/* The first tensor of this name, or SIZE_MAX. by_name must be filled. */
size_t onnx_find(const struct onnx *x, struct onnx_text name);

/* True if the use says that rows and columns change places. */
bool onnx_turned(const struct onnx_use *use);

/* ---- the walk through all graphs (onnx_walk.c) ---- */

#define ONNX_INPUTS 16 /* of a node, that are read */

/* A node, as far as its fields tell. Texts are in the file. */
struct onnx_node {
	struct onnx_text op, domain, name, output, input[ONNX_INPUTS];
	unsigned input_count;
	int64_t ints[ONNX_INTS];
	uint64_t graph;
};

/* An attribute of a node. The fields that it does not have are all zero. */
struct onnx_attribute {
	struct onnx_text name;
	const struct protobuf *m; /* holds the fields */
	struct protobuf_field tensor, sparse;
	bool has_f, has_i;
	bool refers;              /* the value is that of an attribute of a function */
};

struct onnx_pass {
	/* A field of a GraphProto other than its nodes. */
	int (*field)(struct onnx *x, const struct protobuf *graph, const struct protobuf_field *f);
	/* An attribute; outer and f are the message itself. */
	int (*attribute)(struct onnx *x, const struct onnx_node *node,
	                 const struct onnx_attribute *a, const struct protobuf *outer,
	                 const struct protobuf_field *f);
	/* A node, after its attributes. */
	int (*node)(struct onnx *x, const struct onnx_node *node);
};
int onnx_walk(struct onnx *x, const struct onnx_pass *pass);

/* Read a TensorProto into *to; its name may be missing. 1; 0 if it holds texts; -1. */
int onnx_tensor(struct onnx *x, const struct protobuf *outer, const struct protobuf_field *f,
                struct onnx_tensor *to);

/* Set a view that has numbers in a field of a message: check them all, and count them.
 * values: how many there must be. */
int onnx_numbers_view(struct onnx *x, const struct protobuf *outer,
                      const struct protobuf_field *message, uint64_t values,
                      const char *name, struct onnx_view *v);

/* What a tensor states about its external data. */
struct onnx_external {
	struct onnx_text location, offset, length, checksum;
};
int onnx_external_view(struct onnx *x, const struct onnx_external *e, uint64_t bytes,
                       const char *name, struct onnx_view *v);
/* Open a file with external data as x->beside, unless it is open. */
int onnx_open_beside(struct onnx *x, size_t file);
/* Compare the checksums that the model states of the files that were used. 0, or -1 with
 * ERR_CHECKSUM. */
int onnx_check_sums(struct onnx *x);

/* Make a dense tensor of a sparse one (onnx_sparse.c), whose values and indices fit each other:
 * *values becomes that tensor. ndim is at most TENSOR_DIMS. 0 or -1. */
int onnx_make_dense(struct onnx *x, struct onnx_tensor *values, const struct onnx_tensor *indices,
                    unsigned ndim, const uint64_t *dims);
/* Begin to send it: 0 or -1. Then write its next bytes, of `left`: the result is their number, a
 * whole number of values. */
int onnx_dense_begin(struct onnx *x, struct onnx_sparse *s);
size_t onnx_dense_read(struct onnx_sparse *s, uint64_t left, uint8_t *to, size_t room);
void onnx_sparse_free(struct onnx *x);

/* Make the head of the side file, after all names are known. */
int onnx_cut(struct onnx *x);

/* Begin and read the body of an item (onnx_send.c). o: also put it there, or NULL. */
int onnx_send_blob(struct onnx *x, size_t index, uint64_t bytes);
int onnx_send_tensor(struct onnx *x, size_t index);
int onnx_send_some(struct onnx *x, struct out *o, const uint8_t **p, size_t *n);
void onnx_send_free(struct onnx *x);

/* The bytes that the source gets from a reader: the file, or the one beside. NULL: from
 * memory. */
struct reader *onnx_reader_of(struct onnx *x, const struct onnx_view *v);

/* A text of at most 300 bytes, for messages; never NULL. */
const char *onnx_show(struct onnx_text t, char to[304]);
bool onnx_is(struct onnx_text t, const char *text);
struct onnx_text onnx_text_of(const struct protobuf_field *f);

/* Bytes of the map that will not be read again soon. */
void onnx_release(const struct onnx *x, const uint8_t *p, uint64_t n);

/* Note a text of at most 300 bytes to the user; "WHAT: N" unless n is 0. */
void onnx_note(const struct onnx *x, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

#endif
