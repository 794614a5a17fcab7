#include "formats/format.h"

const struct format *const format_list[] = { &format_gguf, &format_apr64,
	&format_apr2, &format_apr1, &format_xgboost, &format_lightgbm, &format_catboost, &format_sklearn,
	&format_onnxml, &format_pmml, &format_arpa, &format_aprjson, &format_coreml, &format_tensorflow,
	&format_safetensors, &format_numpy, &format_keras, &format_pytorch, &format_ggml,
	&format_tflite, &format_onnx, &format_stream, &format_flax, &format_llama2c };
const size_t format_count = sizeof format_list / sizeof *format_list;
