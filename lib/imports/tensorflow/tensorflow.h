/* tensorflow: models and checkpoints of TensorFlow.
 *
 * checkpoint   NAME.index, a table (wire/sstable.h), and files NAME.data-0000N-of-0000M with values:
 *
 *                  ""          BundleHeaderProto: number of files, order of bytes, version
 *                  a name      BundleEntryProto: type, shape, and where the values lie: file,
 *                              offset, size, masked CRC-32C; or else the slices of a variable that
 *                              was divided
 *                  a slice     begins with a 0 byte: name and extent of a slice, in a code that
 *                              sorts (tf_slice.c)
 *
 *              A text file `checkpoint` in the folder names the latest one. Objects of version 2
 *              have paths as names; _CHECKPOINTABLE_OBJECT_GRAPH, a tensor of one text
 *              (TrackableObjectGraph), has the names of the variables themselves.
 * SavedModel   a folder with saved_model.pb (SavedModel, with a MetaGraphDef for each use of the
 *              model), and a checkpoint `variables/variables`; perhaps with assets
 * GraphDef     a frozen graph (.pb): nodes Const have the values. A SavedModel without variables
 *              is read in the same way
 *
 * saved_model.pb becomes a side file without a change, and so do fingerprint.pb, keras_metadata.pb
 * and the assets that the model names. A graph whose nodes have the values becomes the side file
 * TF_GRAPH: the file without them, in the layout of onnx.graph (imports/onnx/onnx.h), but it begins
 * with "TFGRCUT1".
 *
 * A variable is called as TensorFlow calls it ("dense/kernel"), if no other one has that name; else
 * by its path ("layer_with_weights-0/kernel"). Variables of the optimizer, of metrics, and counters
 * are left out, unless all are asked for. So are texts.
 *
 * The key tensorflow.tensors, {"NAME":{"path":"layer_with_weights-0/kernel","layout":"IO",
 * "type":"QINT8"},…}, has what a name or type does not tell. The layout is the order of the
 * dimensions of weights: O outputs, I inputs, H height, W width, D depth, M multiplier. It follows
 * from the operation that uses a constant, else from the variable's name.
 *
 * Source: the .proto files of TensorFlow 2.16 (graph, node_def, attr_value, tensor, types,
 * function, meta_graph, saved_model, tensor_bundle, tensor_slice, trackable_object_graph) for the
 * numbers of fields; the comments on ordered codes and on tensors of texts.
 */
#ifndef IMPORTS_TENSORFLOW_TENSORFLOW_H
#define IMPORTS_TENSORFLOW_TENSORFLOW_H

#include "imports/import.h"
#include "wire/protobuf.h"
#include "wire/sstable.h"

#define TF_TENSORS_KEY "tensorflow.tensors"
#define TF_GRAPH "tensorflow.graph"

#define TF_SHARDS 1024         /* maximum number of files with values */
#define TF_NAME 4096           /* maximum bytes of a name */
#define TF_ASSETS 256
#define TF_GRID 64             /* slices of a variable that is divided in several dimensions */
#define TF_ALIASES (1u << 19)  /* nodes that pass a value on; layouts behind others stay unknown */
#ifndef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
#define TF_TENSORS (1u << 17)  /* constants, or entries of a checkpoint */
#define TF_FIELDS (1u << 26)   /* fields read of one file, by all passes together */
#define TF_FILLED (256u << 20) /* bytes of values that repeat the last one of a constant */
#define TF_SLICES 65536        /* of one variable */
#define TF_COMPARED (1u << 26) /* pairs of slices */
#define TF_NAMES (64u << 20)   /* bytes of all names */
#else
#define TF_TENSORS (1u << 10)
#define TF_FIELDS (1u << 16)
#define TF_FILLED (1u << 16)
#define TF_SLICES 64
#define TF_COMPARED (1u << 12)
#define TF_NAMES (1u << 16)
#endif

/* Text in a file: not terminated. */
struct tf_text {
	const char *p;
	size_t n;
};

/* A row of DataType. */
struct tf_type {
	uint8_t number;
	const char *name;  /* "FLOAT" */
	const char *type;  /* of the plan's tensor: "F32"; NULL: values are not read */
	uint8_t bytes;     /* of a value in a file */
	uint8_t field;     /* of TensorProto with values of this type */
	enum protobuf_form form; /* of one number there */
	uint8_t each;      /* numbers of a value; 2: complex */
	int64_t low, high; /* of a number, if it is an integer */
};
const struct tf_type *tf_type_of(uint64_t number); /* NULL: not known */
#define TF_STRING 7
#define TF_RESOURCE 20
#define TF_VARIANT 21

/* A part of a divided variable: extent in each dimension, and its values. */
struct tf_slice {
	uint64_t start[TENSOR_DIMS], length[TENSOR_DIMS];
	unsigned whole;    /* bits of the dimensions without a stated extent */
	const uint8_t *p;
	const struct map *map;
	uint64_t bytes, released;
	uint32_t crc;
};

struct tf_slices {
	struct tf_slices *next;
	unsigned ndim, width; /* width: bytes of a value */
	uint64_t dims[TENSOR_DIMS];
	size_t count, last;   /* last: the one that was used last */
	struct tf_slice list[];
};

/* An entry of a checkpoint. */
struct tf_entry {
	char *key;         /* owned, NUL behind it; a slice's has NULs inside */
	size_t key_bytes;
	const struct tf_type *type;
	uint64_t number;   /* of the type */
	unsigned ndim;
	uint64_t dims[TENSOR_DIMS], items;
	uint64_t shard, offset, bytes;
	uint32_t crc;
	struct tf_slices *slices; /* of a divided variable */
	struct tf_text name;      /* that the graph of objects gives; p is NULL: none */
	char *as;          /* owned: the tensor's name */
	bool part;         /* a slice */
	bool full;         /* a slice that a variable has */
	bool left_out;
};

/* A constant of a graph. */
struct tf_numbers {
	struct tf_numbers *next;
	const struct tf_type *type;
	struct protobuf_numbers in;
	const uint8_t *p;  /* the TensorProto */
	size_t n;
	uint64_t at;       /* its offset in the file */
	uint8_t last[16];  /* the value before */
};

#define TF_CONSTANT 1 /* more[3] of its place */

struct tf_constant {
	char *name;          /* owned, with that of its function */
	const struct tf_type *type;
	unsigned ndim;
	uint64_t dims[TENSOR_DIMS];
	const uint8_t *p;    /* the values; NULL: numbers */
	uint64_t bytes;
	struct tf_numbers *numbers;
	const char *layout;  /* NULL: not known */
};

/* A node that only passes a value on, or a constant. */
struct tf_alias {
	struct tf_text name, input;
	uint64_t graph;
	size_t constant;     /* SIZE_MAX: none */
};

struct tensorflow {
	struct import import;
	uint64_t budget;           /* fields that may still be read */
	bool all;                  /* variables of training too */
	struct buf relations;      /* the value of TF_TENSORS_KEY */

	/* The folder of the files, and a path for messages. */
	int folder;
	char *path;
	char *label;               /* of the file that was opened in it */

	/* The checkpoint. */
	const struct map *shards[TF_SHARDS];
	uint64_t shard_count;
	char *prefix;              /* NAME of its files, in the folder */
	struct tf_entry *entries;  /* in the order of their keys */
	size_t entry_count, entry_cap;
	uint64_t key_bytes, filled, compared;
	struct tf_slices *slices;  /* all */
	uint64_t training, texts;  /* that are left out */
	struct tf_text text;       /* the first of these texts */

	/* The graph. */
	uint64_t nodes, functions, variables, unread;
	struct tf_text unread_name;
	const struct tf_type *unread_type;
	struct tf_constant *constants;
	size_t constant_count, constant_cap;
	struct tf_alias *aliases;  /* sorted, once all are known */
	size_t alias_count, alias_cap;
	struct tf_numbers *numbers; /* all */
	struct buf cuts;           /* head of TF_GRAPH */
	struct buf tags, signatures; /* lists of texts */
	uint64_t tag_count, signature_count;
	struct tf_text version;    /* of TensorFlow */
	struct tf_text assets[TF_ASSETS];
	size_t asset_count;
	uint64_t assets_left;
};

/* A message of the file. offset: of p. */
void tf_message(struct tensorflow *x, struct protobuf *m, const uint8_t *p, uint64_t n,
                uint64_t offset);

/* Reads a TensorShapeProto; name: of the tensor. 0 or -1. */
int tf_shape(struct tensorflow *x, const struct protobuf *outer, const struct protobuf_field *f,
             const char *name, unsigned *ndim, uint64_t *dims, uint64_t *items);

/* A text of at most 200 bytes, for messages. */
const char *tf_show(struct tf_text t, char to[208]);
bool tf_is(struct tf_text t, const char *text);
struct tf_text tf_text_of(const struct protobuf_field *f);

/* The text in a field of a message; p is NULL if the message lacks it. 0 or -1. */
int tf_text_in(const struct protobuf *outer, const struct protobuf_field *f, uint32_t number,
               struct tf_text *t);

/* Adds a tensor to the value of TF_TENSORS_KEY: its path in the checkpoint, or NULL; its layout, or
 * NULL. 0 or -1. */
int tf_relate(struct tensorflow *x, const char *name, const char *path, const char *layout,
              const struct tf_type *type);

/* Sets how values of less than a byte are made. */
void tf_narrow(const struct tf_type *t, struct import_place *place);

/* ---- checkpoints (tf_bundle.c, tf_slice.c, tf_objects.c, tf_names.c) ---- */

/* Reads the table of n bytes at p, label for messages, and adds its tensors. 0 or -1. */
int tf_bundle(struct tensorflow *x, const uint8_t *p, uint64_t n, const char *label);

/* The entry with a key, or NULL. */
struct tf_entry *tf_find(const struct tensorflow *x, const char *key, size_t n);

/* The values of an entry. */
const uint8_t *tf_values(const struct tensorflow *x, const struct tf_entry *t);

/* Reads the slices of a variable: BundleEntryProto's fields. Then, with all entries known, finds
 * their values and proves that they fill it. 0 or -1. */
int tf_slices_read(struct tensorflow *x, struct tf_entry *t, const struct protobuf *m);
int tf_slices_prove(struct tensorflow *x, struct tf_entry *t);
import_make tf_slices_make;

/* Takes the names of variables out of the graph of objects, an entry of one text. */
int tf_objects(struct tensorflow *x, const struct tf_entry *graph);

/* Leaves out variables of training, and names the rest. tf_tell_entry: tf_relate for one. */
int tf_name(struct tensorflow *x);
int tf_tell_entry(struct tensorflow *x, const struct tf_entry *t);

/* Proves a masked checksum of values, and returns their pages. 0 or -1. */
int tf_prove(struct tensorflow *x, const uint8_t *p, uint64_t n, const struct map *map,
             uint32_t crc, const char *name);

/* ---- graphs (tf_graph.c, tf_constant.c, tf_saved.c, tf_use.c) ---- */

/* Reads a GraphDef: n bytes at p of the file. constants: collect them. 0 or -1. */
int tf_graph(struct tensorflow *x, const uint8_t *p, uint64_t n, uint64_t offset, bool constants);

/* Reads the TensorProto of a node Const. 1; 0 if its values are not read; or -1. */
int tf_constant(struct tensorflow *x, const struct protobuf *outer, const struct protobuf_field *f,
                struct tf_constant *c);
import_make tf_numbers_make;
int tf_numbers_begin(struct tensorflow *x, struct tf_numbers *v);

/* The parts of a node that are read. */
#define TF_INPUTS 4
struct tf_node {
	struct tf_text name, op, input[TF_INPUTS];
	unsigned inputs;
	bool transposed;    /* transpose_b */
	struct protobuf_field value; /* of the attribute `value`: a TensorProto; p is NULL: none */
	struct protobuf in; /* holds it */
};

/* Remembers what a node passes on; finds the layout of the constants that it uses, once
 * tf_uses_sort was called. 0 or -1. */
int tf_use_alias(struct tensorflow *x, const struct tf_node *n, uint64_t graph, size_t constant);
void tf_uses_sort(struct tensorflow *x);
void tf_use(struct tensorflow *x, const struct tf_node *n, uint64_t graph);

/* Adds the constants as tensors; adds TF_GRAPH. */
int tf_add_constants(struct tensorflow *x);
int tf_cut(struct tensorflow *x);

/* Reads a SavedModel; constants: as in tf_graph. Adds its keys, then its side files. */
int tf_saved(struct tensorflow *x, bool constants);
int tf_saved_keys(struct tensorflow *x);
int tf_saved_files(struct tensorflow *x);

/* ---- files (tf_folder.c, tf_probe.c) ---- */

enum tf_form { TF_NONE, TF_INDEX, TF_LIST, TF_SAVED, TF_META, TF_FROZEN };

/* What a file that begins with these bytes is. */
enum tf_form tf_probe(const uint8_t *head, size_t n);

/* What a folder holds of TensorFlow. */
struct tf_place {
	int folder;          /* descriptor, or -1 */
	char *path;          /* of the folder */
	char *label;         /* of the file in it */
	struct reader file;
};

/* 1; 0 if the folder holds nothing of TensorFlow, or path is not a folder; or -1. tf_place_free in
 * every case. */
int tf_place_open(struct tf_place *p, const char *path, struct err *e);
void tf_place_free(struct tf_place *p);

/* Sets prefix to NAME of the checkpoint that `checkpoint`, a text, names. 0 or -1. */
int tf_latest(struct tensorflow *x);

/* Finds the folder of the file that the user named, and *name, the file's name in it. 1; 0 if the
 * file came through a pipe; or -1. */
int tf_find_folder(struct tensorflow *x, const char **name);

/* Maps a file of the folder. *map is NULL if it does not exist and may be missing. 0 or -1. */
int tf_map(struct tensorflow *x, const char *name, bool may_miss, const struct map **map);

#endif
