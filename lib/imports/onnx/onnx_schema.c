/* The fields of ONNX's messages that are known. Fields without a use here are listed so that
 * their form is checked; others are counted as unknown. */
#include "imports/onnx/onnx.h"

#define NUMBER(N, NAME) { N, PROTOBUF_VARINT, PROTOBUF_ONCE, NAME }
#define FLOAT(N, NAME) { N, PROTOBUF_4, PROTOBUF_ONCE, NAME }
#define BYTES(N, NAME) { N, PROTOBUF_BYTES, PROTOBUF_ONCE, NAME }
#define MANY(N, NAME) { N, PROTOBUF_BYTES, PROTOBUF_REPEATED, NAME }
#define NUMBERS(N, NAME) { N, PROTOBUF_VARINT, PROTOBUF_PACKED, NAME }
#define FLOATS(N, NAME) { N, PROTOBUF_4, PROTOBUF_PACKED, NAME }
#define DOUBLES(N, NAME) { N, PROTOBUF_8, PROTOBUF_PACKED, NAME }

#define MESSAGE(NAME, TITLE) \
	_Static_assert(sizeof NAME##_rows / sizeof *NAME##_rows <= PROTOBUF_ROWS, "rows"); \
	const struct protobuf_message NAME = { TITLE, NAME##_rows, \
		sizeof NAME##_rows / sizeof *NAME##_rows }

static const struct protobuf_row onnx_model_rows[] = {
	NUMBER(MODEL_IR_VERSION, "ir_version"), BYTES(MODEL_PRODUCER, "producer_name"),
	BYTES(MODEL_PRODUCER_VERSION, "producer_version"), BYTES(MODEL_DOMAIN, "domain"),
	NUMBER(MODEL_VERSION, "model_version"), BYTES(MODEL_DOC, "doc_string"),
	BYTES(MODEL_GRAPH, "graph"), MANY(MODEL_OPSET, "opset_import"),
	MANY(MODEL_METADATA, "metadata_props"), MANY(20, "training_info"),
	MANY(MODEL_FUNCTIONS, "functions"), MANY(26, "configuration"),
};
MESSAGE(onnx_model, "ModelProto");

static const struct protobuf_row onnx_opset_rows[] = {
	BYTES(1, "domain"), NUMBER(2, "version"),
};
MESSAGE(onnx_opset, "OperatorSetIdProto");

static const struct protobuf_row onnx_entry_rows[] = {
	BYTES(1, "key"), BYTES(2, "value"),
};
MESSAGE(onnx_entry, "StringStringEntryProto");

static const struct protobuf_row onnx_graph_rows[] = {
	MANY(GRAPH_NODE, "node"), BYTES(GRAPH_NAME, "name"), MANY(GRAPH_INITIALIZER, "initializer"),
	BYTES(GRAPH_DOC, "doc_string"), MANY(GRAPH_INPUT, "input"), MANY(GRAPH_OUTPUT, "output"),
	MANY(13, "value_info"), MANY(GRAPH_ANNOTATION, "quantization_annotation"),
	MANY(GRAPH_SPARSE, "sparse_initializer"), MANY(16, "metadata_props"),
};
MESSAGE(onnx_graph, "GraphProto");

static const struct protobuf_row onnx_node_rows[] = {
	MANY(NODE_INPUT, "input"), MANY(NODE_OUTPUT, "output"), BYTES(NODE_NAME, "name"),
	BYTES(NODE_OP, "op_type"), MANY(NODE_ATTRIBUTE, "attribute"), BYTES(6, "doc_string"),
	BYTES(NODE_DOMAIN, "domain"), BYTES(8, "overload"), MANY(9, "metadata_props"),
};
MESSAGE(onnx_node, "NodeProto");

static const struct protobuf_row onnx_attribute_rows[] = {
	BYTES(ATTRIBUTE_NAME, "name"), FLOAT(ATTRIBUTE_F, "f"), NUMBER(ATTRIBUTE_I, "i"),
	BYTES(ATTRIBUTE_S, "s"), BYTES(ATTRIBUTE_TENSOR, "t"), BYTES(ATTRIBUTE_GRAPH, "g"),
	FLOATS(ATTRIBUTE_FLOATS, "floats"), NUMBERS(ATTRIBUTE_INTS, "ints"),
	MANY(ATTRIBUTE_STRINGS, "strings"), MANY(10, "tensors"), MANY(ATTRIBUTE_GRAPHS, "graphs"),
	BYTES(13, "doc_string"), BYTES(14, "tp"), MANY(15, "type_protos"), NUMBER(20, "type"),
	BYTES(ATTRIBUTE_REF, "ref_attr_name"), BYTES(ATTRIBUTE_SPARSE, "sparse_tensor"),
	MANY(23, "sparse_tensors"),
};
MESSAGE(onnx_attribute, "AttributeProto");

static const struct protobuf_row onnx_tensor_proto_rows[] = {
	NUMBERS(TENSOR_DIM, "dims"), NUMBER(TENSOR_TYPE, "data_type"),
	BYTES(TENSOR_SEGMENT, "segment"), FLOATS(TENSOR_FLOATS, "float_data"),
	NUMBERS(TENSOR_INT32S, "int32_data"), MANY(TENSOR_STRINGS, "string_data"),
	NUMBERS(TENSOR_INT64S, "int64_data"), BYTES(TENSOR_NAMED, "name"),
	BYTES(TENSOR_RAW, "raw_data"), DOUBLES(TENSOR_DOUBLES, "double_data"),
	NUMBERS(TENSOR_UINT64S, "uint64_data"), BYTES(12, "doc_string"),
	MANY(TENSOR_EXTERNAL, "external_data"), NUMBER(TENSOR_LOCATION, "data_location"),
	MANY(16, "metadata_props"),
};
MESSAGE(onnx_tensor_proto, "TensorProto");

static const struct protobuf_row onnx_sparse_rows[] = {
	BYTES(1, "values"), BYTES(2, "indices"), NUMBERS(3, "dims"),
};
MESSAGE(onnx_sparse, "SparseTensorProto");

static const struct protobuf_row onnx_value_info_rows[] = {
	BYTES(1, "name"), BYTES(2, "type"), BYTES(3, "doc_string"), MANY(4, "metadata_props"),
};
MESSAGE(onnx_value_info, "ValueInfoProto");

static const struct protobuf_row onnx_type_proto_rows[] = {
	BYTES(1, "tensor_type"), BYTES(4, "sequence_type"), BYTES(5, "map_type"),
	BYTES(6, "denotation"), BYTES(7, "opaque_type"), BYTES(8, "sparse_tensor_type"),
	BYTES(9, "optional_type"),
};
MESSAGE(onnx_type_proto, "TypeProto");

static const struct protobuf_row onnx_type_tensor_rows[] = {
	NUMBER(1, "elem_type"), BYTES(2, "shape"),
};
MESSAGE(onnx_type_tensor, "TypeProto.Tensor");

static const struct protobuf_row onnx_shape_rows[] = { MANY(1, "dim") };
MESSAGE(onnx_shape, "TensorShapeProto");

static const struct protobuf_row onnx_dimension_rows[] = {
	NUMBER(1, "dim_value"), BYTES(2, "dim_param"), BYTES(3, "denotation"),
};
MESSAGE(onnx_dimension, "Dimension");

static const struct protobuf_row onnx_function_rows[] = {
	BYTES(FUNCTION_NAME, "name"), MANY(4, "input"), MANY(5, "output"), MANY(6, "attribute"),
	MANY(FUNCTION_NODE, "node"), BYTES(8, "doc_string"), MANY(9, "opset_import"),
	BYTES(10, "domain"), MANY(11, "attribute_proto"), MANY(12, "value_info"),
	BYTES(13, "overload"), MANY(14, "metadata_props"),
};
MESSAGE(onnx_function, "FunctionProto");

static const struct protobuf_row onnx_annotation_rows[] = {
	BYTES(1, "tensor_name"), MANY(2, "quant_parameter_tensor_names"),
};
MESSAGE(onnx_annotation, "TensorAnnotation");
