/* The names that the pickles of PyTorch may call, and their meanings. Everything else is
 * unknown; what is unknown is never called, so the table of names that execute only decides on
 * names that are mentioned and not called, and on no file that is otherwise refused. */
#include "imports/torch/torch.h"

#include <string.h>

#define EXECUTES(M, N) { M, N, PICKLE_EXECUTES }
#define OPAQUE(M, N) { M, N, PICKLE_OPAQUE }
#define DTYPE(N) { "torch", N, TORCH_DTYPE }
#define STORAGE(N) { "torch", N, TORCH_STORAGE }, { "torch.cuda", N, TORCH_STORAGE }
#define NUMPY(N) OPAQUE("numpy", N)

const struct pickle_name torch_names[] = {
	{ "collections", "OrderedDict", TORCH_ORDERED_DICT },

	{ "torch._utils", "_rebuild_tensor", TORCH_REBUILD },
	{ "torch._utils", "_rebuild_tensor_v2", TORCH_REBUILD },
	{ "torch._utils", "_rebuild_tensor_v3", TORCH_REBUILD_TYPED },
	{ "torch._utils", "_rebuild_qtensor", TORCH_REBUILD_QUANTIZED },
	{ "torch._utils", "_rebuild_parameter", TORCH_PARAMETER },
	{ "torch._utils", "_rebuild_parameter_with_state", TORCH_PARAMETER },
	{ "torch._tensor", "_rebuild_from_type_v2", TORCH_SUBCLASS },
	{ "torch._utils", "_rebuild_sparse_tensor", TORCH_SPARSE },
	{ "torch._utils", "_rebuild_sparse_csr_tensor", TORCH_SPARSE },
	{ "torch._utils", "_rebuild_nested_tensor", TORCH_NO_TENSOR },
	{ "torch._utils", "_rebuild_meta_tensor_no_storage", TORCH_NO_TENSOR },
	{ "torch._utils", "_rebuild_wrapper_subclass", TORCH_NO_TENSOR },
	{ "torch._utils", "_rebuild_device_tensor_from_numpy", TORCH_NO_TENSOR },
	{ "torch._utils", "_rebuild_xla_tensor", TORCH_NO_TENSOR },
	{ "torch", "Tensor", TORCH_TENSOR_CLASS },
	{ "torch.nn.parameter", "Parameter", TORCH_TENSOR_CLASS },
	{ "torch.nn.parameter", "Buffer", TORCH_TENSOR_CLASS },
	{ "torch", "per_tensor_affine", TORCH_SCHEME },
	{ "torch", "per_channel_affine", TORCH_SCHEME },
	{ "torch", "per_tensor_symmetric", TORCH_SCHEME },
	{ "torch", "per_channel_symmetric", TORCH_SCHEME },
	{ "torch", "per_channel_affine_float_qparams", TORCH_SCHEME },

	STORAGE("FloatStorage"), STORAGE("DoubleStorage"), STORAGE("HalfStorage"),
	STORAGE("BFloat16Storage"), STORAGE("LongStorage"), STORAGE("IntStorage"),
	STORAGE("ShortStorage"), STORAGE("CharStorage"), STORAGE("ByteStorage"),
	STORAGE("BoolStorage"), STORAGE("ComplexFloatStorage"), STORAGE("ComplexDoubleStorage"),
	STORAGE("QInt8Storage"), STORAGE("QUInt8Storage"), STORAGE("QInt32Storage"),
	STORAGE("QUInt4x2Storage"), STORAGE("QUInt2x4Storage"),
	{ "torch.storage", "UntypedStorage", TORCH_UNTYPED },
	{ "torch", "UntypedStorage", TORCH_UNTYPED },
	{ "torch.storage", "TypedStorage", TORCH_UNTYPED },
	DTYPE("float32"), DTYPE("float64"), DTYPE("float16"), DTYPE("bfloat16"), DTYPE("int64"),
	DTYPE("int32"), DTYPE("int16"), DTYPE("int8"), DTYPE("uint8"), DTYPE("bool"),
	DTYPE("uint16"), DTYPE("uint32"), DTYPE("uint64"), DTYPE("complex32"), DTYPE("complex64"),
	DTYPE("complex128"), DTYPE("float8_e4m3fn"), DTYPE("float8_e5m2"),
	DTYPE("float8_e4m3fnuz"), DTYPE("float8_e5m2fnuz"), DTYPE("float8_e8m0fnu"),
	DTYPE("qint8"), DTYPE("quint8"), DTYPE("qint32"), DTYPE("quint4x2"), DTYPE("quint2x4"),

	/* Objects of TorchScript; the code of their classes lies beside them. */
	{ "__torch__", NULL, TORCH_OBJECT },
	OPAQUE("torch.jit._pickle", "build_intlist"),
	OPAQUE("torch.jit._pickle", "build_doublelist"),
	OPAQUE("torch.jit._pickle", "build_boollist"),
	OPAQUE("torch.jit._pickle", "build_tensorlist"),
	OPAQUE("torch.jit._pickle", "restore_type_tag"),

	/* Values that hold data and do nothing else. */
	{ "torch", "Size", TORCH_SIZE },
	OPAQUE("torch", "device"),
	{ "torch.serialization", "_get_layout", TORCH_LAYOUT },
	OPAQUE("torch", "strided"), OPAQUE("torch", "contiguous_format"),
	OPAQUE("torch", "channels_last"), OPAQUE("torch", "preserve_format"),
	OPAQUE("collections", "defaultdict"),
	OPAQUE("collections", "Counter"),
	OPAQUE("collections", "deque"),
	OPAQUE("builtins", "set"), OPAQUE("builtins", "frozenset"), OPAQUE("builtins", "list"),
	OPAQUE("builtins", "dict"), OPAQUE("builtins", "tuple"), OPAQUE("builtins", "int"),
	OPAQUE("builtins", "float"), OPAQUE("builtins", "complex"), OPAQUE("builtins", "bool"),
	OPAQUE("builtins", "str"), OPAQUE("builtins", "bytes"), OPAQUE("builtins", "bytearray"),
	OPAQUE("builtins", "slice"), OPAQUE("builtins", "range"),
	{ "_codecs", "encode", TORCH_ENCODE },
	OPAQUE("argparse", "Namespace"),
	OPAQUE("types", "SimpleNamespace"),
	OPAQUE("pathlib", "PosixPath"), OPAQUE("pathlib", "PurePosixPath"),
	OPAQUE("pathlib", "WindowsPath"), OPAQUE("pathlib", "PureWindowsPath"),
	OPAQUE("pathlib", "Path"),
	OPAQUE("datetime", "datetime"), OPAQUE("datetime", "date"), OPAQUE("datetime", "time"),
	OPAQUE("datetime", "timedelta"), OPAQUE("datetime", "timezone"),
	OPAQUE("decimal", "Decimal"),
	OPAQUE("fractions", "Fraction"),
	OPAQUE("uuid", "UUID"),
	OPAQUE("numpy.core.multiarray", "scalar"), OPAQUE("numpy._core.multiarray", "scalar"),
	{ "numpy.core.multiarray", "_reconstruct", TORCH_ARRAY },
	{ "numpy._core.multiarray", "_reconstruct", TORCH_ARRAY },
	{ "numpy", "dtype", TORCH_ARRAY_TYPE },
	OPAQUE("numpy.core.numeric", "_frombuffer"), OPAQUE("numpy._core.numeric", "_frombuffer"),
	NUMPY("ndarray"), NUMPY("float16"), NUMPY("float32"), NUMPY("float64"),
	NUMPY("int8"), NUMPY("int16"), NUMPY("int32"), NUMPY("int64"), NUMPY("uint8"),
	NUMPY("uint16"), NUMPY("uint32"), NUMPY("uint64"), NUMPY("bool_"),

	/* What executes programs, code or other pickles, or reaches files and networks. */
	EXECUTES("os", NULL), EXECUTES("posix", NULL), EXECUTES("nt", NULL),
	EXECUTES("posixpath", NULL), EXECUTES("ntpath", NULL),
	EXECUTES("subprocess", NULL), EXECUTES("_posixsubprocess", NULL), EXECUTES("pty", NULL),
	EXECUTES("platform", NULL), EXECUTES("popen2", NULL),
	EXECUTES("multiprocessing", NULL), EXECUTES("concurrent", NULL),
	EXECUTES("asyncio", NULL), EXECUTES("threading", NULL), EXECUTES("_thread", NULL),
	EXECUTES("sys", NULL), EXECUTES("socket", NULL), EXECUTES("_socket", NULL),
	EXECUTES("ssl", NULL), EXECUTES("urllib", NULL), EXECUTES("urllib2", NULL),
	EXECUTES("http", NULL), EXECUTES("httplib", NULL), EXECUTES("ftplib", NULL),
	EXECUTES("smtplib", NULL), EXECUTES("telnetlib", NULL), EXECUTES("webbrowser", NULL),
	EXECUTES("requests", NULL), EXECUTES("aiohttp", NULL), EXECUTES("xmlrpc", NULL),
	EXECUTES("builtins", "eval"), EXECUTES("builtins", "exec"),
	EXECUTES("builtins", "execfile"), EXECUTES("builtins", "compile"),
	EXECUTES("builtins", "open"), EXECUTES("builtins", "file"),
	EXECUTES("builtins", "input"), EXECUTES("builtins", "breakpoint"),
	EXECUTES("builtins", "getattr"), EXECUTES("builtins", "setattr"),
	EXECUTES("builtins", "delattr"), EXECUTES("builtins", "apply"),
	EXECUTES("builtins", "map"), EXECUTES("builtins", "filter"),
	EXECUTES("builtins", "reduce"), EXECUTES("builtins", "vars"),
	EXECUTES("builtins", "globals"), EXECUTES("builtins", "locals"),
	EXECUTES("builtins", "__import__"), EXECUTES("builtins", "__build_class__"),
	EXECUTES("builtins", "type"), EXECUTES("builtins", "memoryview"),
	EXECUTES("importlib", NULL), EXECUTES("imp", NULL), EXECUTES("pkgutil", NULL),
	EXECUTES("runpy", NULL), EXECUTES("code", NULL), EXECUTES("codeop", NULL),
	EXECUTES("pdb", NULL), EXECUTES("bdb", NULL), EXECUTES("trace", NULL),
	EXECUTES("profile", NULL), EXECUTES("cProfile", NULL), EXECUTES("timeit", NULL),
	EXECUTES("doctest", NULL), EXECUTES("unittest", NULL), EXECUTES("test", NULL),
	EXECUTES("idlelib", NULL), EXECUTES("lib2to3", NULL), EXECUTES("distutils", NULL),
	EXECUTES("setuptools", NULL), EXECUTES("pip", NULL), EXECUTES("ensurepip", NULL),
	EXECUTES("venv", NULL), EXECUTES("zipimport", NULL), EXECUTES("pydoc", NULL),
	EXECUTES("types", "CodeType"), EXECUTES("types", "FunctionType"),
	EXECUTES("types", "LambdaType"), EXECUTES("types", "MethodType"),
	EXECUTES("marshal", NULL), EXECUTES("pickle", NULL), EXECUTES("dill", NULL),
	EXECUTES("cloudpickle", NULL), EXECUTES("joblib", NULL), EXECUTES("shelve", NULL),
	EXECUTES("jsonpickle", NULL), EXECUTES("yaml", NULL),
	EXECUTES("copyreg", "add_extension"), EXECUTES("copyreg", "pickle"),
	EXECUTES("copyreg", "constructor"),
	EXECUTES("functools", "partial"), EXECUTES("functools", "reduce"),
	EXECUTES("functools", "partialmethod"), EXECUTES("itertools", NULL),
	EXECUTES("operator", NULL), EXECUTES("_operator", NULL),
	EXECUTES("ctypes", NULL), EXECUTES("_ctypes", NULL), EXECUTES("cffi", NULL),
	EXECUTES("gc", NULL), EXECUTES("inspect", NULL), EXECUTES("signal", NULL),
	EXECUTES("atexit", NULL), EXECUTES("sched", NULL), EXECUTES("weakref", NULL),
	EXECUTES("shutil", NULL), EXECUTES("tempfile", NULL), EXECUTES("glob", NULL),
	EXECUTES("fileinput", NULL), EXECUTES("io", NULL), EXECUTES("_io", NULL),
	EXECUTES("linecache", NULL), EXECUTES("zipfile", NULL), EXECUTES("tarfile", NULL),
	EXECUTES("sqlite3", NULL), EXECUTES("dbm", NULL), EXECUTES("logging", NULL),
	EXECUTES("site", NULL), EXECUTES("sysconfig", NULL), EXECUTES("ctypes", NULL),
	EXECUTES("uuid", "_get_command_stdout"), EXECUTES("uuid", "_popen"),
	EXECUTES("imaplib", NULL), EXECUTES("poplib", NULL), EXECUTES("pipes", NULL),
	EXECUTES("_osx_support", NULL), EXECUTES("_aix_support", NULL), EXECUTES("_pyrepl", NULL),
	EXECUTES("_interpreters", NULL), EXECUTES("_xxsubinterpreters", NULL),
	EXECUTES("torch", "load"), EXECUTES("torch.serialization", "load"),
	EXECUTES("torch.storage", "_load_from_bytes"),
	EXECUTES("torch", "compile"), EXECUTES("torch.hub", NULL), EXECUTES("torch.jit", NULL),
	EXECUTES("torch.package", NULL), EXECUTES("torch.utils", NULL),
	EXECUTES("torch.distributed", NULL), EXECUTES("torch.fx", NULL),
	EXECUTES("torch._dynamo", NULL), EXECUTES("torch._inductor", NULL),
	EXECUTES("torch.multiprocessing", NULL), EXECUTES("torch.testing", NULL),
	EXECUTES("torch.ops", NULL), EXECUTES("torch._ops", NULL), EXECUTES("torch.library", NULL),
	EXECUTES("torch.cuda", "_lazy_call"), EXECUTES("torch.onnx", NULL),
	EXECUTES("numpy", "load"), EXECUTES("numpy", "fromfile"),
	EXECUTES("numpy.lib", NULL), EXECUTES("numpy.testing", NULL),
	EXECUTES("numpy.f2py", NULL), EXECUTES("numpy.distutils", NULL),
	EXECUTES("numpy.ctypeslib", NULL), EXECUTES("pandas", NULL), EXECUTES("scipy", NULL),
	EXECUTES("transformers", NULL), EXECUTES("tensorflow", NULL), EXECUTES("keras", NULL),
	EXECUTES("sklearn", NULL),
};
const size_t torch_name_count = sizeof torch_names / sizeof *torch_names;

static const struct torch_type types[] = {
	{ "FloatStorage", "float32", "F32", 4, 7, NULL, 0 },
	{ "DoubleStorage", "float64", "F64", 8, 8, NULL, 0 },
	{ "HalfStorage", "float16", "F16", 2, 6, NULL, 0 },
	{ "BFloat16Storage", "bfloat16", "BF16", 2, 13, NULL, 0 },
	{ "LongStorage", "int64", "I64", 8, 5, NULL, 0 },
	{ "IntStorage", "int32", "I32", 4, 4, NULL, 0 },
	{ "ShortStorage", "int16", "I16", 2, 3, NULL, 0 },
	{ "CharStorage", "int8", "I8", 1, 2, NULL, 0 },
	{ "ByteStorage", "uint8", "U8", 1, 1, NULL, 0 },
	{ "BoolStorage", "bool", "BOOL", 1, 12, NULL, 0 },
	{ NULL, "uint16", "U16", 2, 28, NULL, 0 },
	{ NULL, "uint32", "U32", 4, 0, NULL, 0 },
	{ NULL, "uint64", "U64", 8, 0, NULL, 0 },
	{ NULL, "float8_e4m3fn", "F8_E4M3", 1, 29, NULL, 0 },
	{ NULL, "float8_e5m2", "F8_E5M2", 1, 30, NULL, 0 },
	{ NULL, "float8_e8m0fnu", "F8_E8M0", 1, 0, NULL, 0 },
	{ NULL, "float8_e4m3fnuz", NULL, 1, 31, NULL, 0 },
	{ NULL, "float8_e5m2fnuz", NULL, 1, 32, NULL, 0 },
	{ NULL, "complex32", NULL, 4, 9, "F16", 2 },
	{ "ComplexFloatStorage", "complex64", "C64", 8, 10, NULL, 0 },
	{ "ComplexDoubleStorage", "complex128", NULL, 16, 11, "F64", 2 },
	{ "QInt8Storage", "qint8", NULL, 1, 0, "I8", 0 },
	{ "QUInt8Storage", "quint8", NULL, 1, 0, "U8", 0 },
	{ "QInt32Storage", "qint32", NULL, 4, 0, "I32", 0 },
	{ "QUInt4x2Storage", "quint4x2", NULL, 1, 0, NULL, 0 },
	{ "QUInt2x4Storage", "quint2x4", NULL, 1, 0, NULL, 0 },
};

const struct torch_type *
torch_type_of(const struct pickle *k, pickle_ref global)
{
	int what = pickle_what(k, global);
	pickle_ref said = pickle_name_of(k, global);
	size_t i;

	if (what != TORCH_STORAGE && what != TORCH_DTYPE)
		return NULL;
	for (i = 0; i < sizeof types / sizeof *types; i++) {
		const char *name = what == TORCH_DTYPE ? types[i].dtype : types[i].storage;

		if (name && pickle_is(k, said, name))
			return &types[i];
	}
	return NULL;
}

const struct torch_type *
torch_type_of_number(int64_t number)
{
	size_t i;

	for (i = 0; number != 0 && i < sizeof types / sizeof *types; i++)
		if (types[i].number == number)
			return &types[i];
	return NULL;
}

const struct torch_type *
torch_type_of_storage(const char *letters, size_t n)
{
	size_t i;

	for (i = 0; i < sizeof types / sizeof *types; i++)
		if (types[i].storage && strncmp(types[i].storage, letters, n) == 0 &&
		    strcmp(types[i].storage + n, "Storage") == 0)
			return &types[i];
	return NULL;
}
