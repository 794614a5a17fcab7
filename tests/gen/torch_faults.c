/* torch_faults: files of PyTorch with one fault each, and hostile pickles: what is known to get
 * past scanners of pickles is among them. They come from the published lists of bypasses of
 * picklescan, modelscan and fickling, and of torch.load with weights_only.
 */
#include "torch.h"

/* ---- functions that execute ---- */

/* Each is called in one of the ways that a pickle has. */
static const struct { const char *module, *name; } functions[] = {
	{ "os", "system" }, { "posix", "system" }, { "nt", "system" }, { "os", "popen" },
	{ "os", "execve" }, { "posix", "_exit" }, { "subprocess", "Popen" },
	{ "subprocess", "check_output" }, { "builtins", "eval" }, { "builtins", "exec" },
	{ "__builtin__", "eval" }, { "__builtin__", "apply" }, { "builtins", "getattr" },
	{ "builtins", "__import__" }, { "builtins", "compile" }, { "builtins", "open" },
	{ "builtins", "breakpoint" }, { "builtins", "map" }, { "builtins", "globals" },
	{ "commands", "getoutput" }, { "runpy", "_run_code" }, { "runpy", "run_path" },
	{ "importlib", "import_module" }, { "importlib.util", "module_from_spec" },
	{ "imp", "load_source" }, { "pkgutil", "resolve_name" }, { "pickle", "loads" },
	{ "_pickle", "loads" }, { "cPickle", "load" }, { "dill", "loads" }, { "marshal", "loads" },
	{ "joblib", "load" }, { "torch", "load" }, { "torch.serialization", "load" },
	{ "torch.storage", "_load_from_bytes" }, { "torch.hub", "load" }, { "torch.jit", "load" },
	{ "torch.utils.collect_env", "run" }, { "torch.utils.bottleneck.__main__", "run_cprofile" },
	{ "torch.utils._config_module", "ConfigModule.load_config" },
	{ "torch.utils.data.datapipes.utils.decoder", "basichandlers" },
	{ "torch.fx.experimental.symbolic_shapes", "ShapeEnv.evaluate_guards_expression" },
	{ "torch._dynamo.guards", "GuardBuilder.get" },
	{ "torch.jit.unsupported_tensor_ops", "execWrapper" },
	{ "torch._inductor.codecache", "compile_file" },
	{ "torch.distributed.rpc.internal", "_run_function" },
	{ "numpy", "load" }, { "numpy.f2py.crackfortran", "getlincoef" },
	{ "numpy.testing._private.utils", "runstring" }, { "numpy.lib.npyio", "load" },
	{ "ctypes", "CDLL" }, { "webbrowser", "open" }, { "socket", "create_connection" },
	{ "pty", "spawn" }, { "pip", "main" }, { "ensurepip", "_run_pip" },
	{ "timeit", "timeit" }, { "cProfile", "runctx" }, { "profile", "Profile.run" },
	{ "trace", "Trace.run" }, { "pdb", "run" }, { "bdb", "Bdb.run" },
	{ "code", "InteractiveInterpreter.runcode" }, { "doctest", "debug_script" },
	{ "idlelib.pyshell", "ModifiedInterpreter.runcommand" }, { "idlelib.run", "Executive.runcode" },
	{ "lib2to3.pgen2.pgen", "ParserGenerator.make_label" }, { "distutils.file_util", "write_file" },
	{ "operator", "methodcaller" }, { "_operator", "attrgetter" }, { "functools", "partial" },
	{ "types", "FunctionType" }, { "asyncio.unix_events", "_UnixSubprocessTransport._start" },
	{ "multiprocessing.util", "spawnv_passfds" }, { "urllib.request", "urlopen" },
	{ "requests.api", "get" }, { "aiohttp.client", "ClientSession" },
	{ "smtplib", "SMTP" }, { "shutil", "rmtree" }, { "tempfile", "mktemp" },
	{ "sys", "settrace" }, { "uuid", "_get_command_stdout" }, { "pydoc", "pipepager" },
	{ "logging.config", "listen" }, { "copyreg", "add_extension" }, { "atexit", "register" },
	{ "sqlite3", "connect" }, { "zipimport", "zipimporter" }, { "venv", "create" },
	{ "cloudpickle.cloudpickle", "subimport" }, { "cloudpickle.cloudpickle", "_make_function" },
	{ "types", "CodeType" }, { "_io", "FileIO" }, { "logging", "FileHandler" },
	{ "numpy.f2py.crackfortran", "_eval_length" }, { "operator", "attrgetter" },
	{ "_operator", "itemgetter" }, { "idlelib.autocomplete", "AutoComplete.get_entity" },
	{ "idlelib.calltip", "get_entity" }, { "idlelib.calltip", "Calltip.fetch_tip" },
	{ "idlelib.debugobj", "ObjectTreeItem.SetText" }, { "imaplib", "IMAP4_stream" },
	{ "lib2to3.pgen2.grammar", "Grammar.loads" }, { "_osx_support", "_read_output" },
	{ "_osx_support", "_find_build_tool" }, { "_aix_support", "_read_cmd_output" },
	{ "_pyrepl.pager", "pipe_pager" }, { "_pyrepl.pager", "tempfile_pager" },
	{ "test.support.script_helper", "assert_python_ok" }, { "trace", "Trace.runctx" },
	{ "cProfile", "run" }, { "profile", "run" }, { "pydoc", "locate" },
	{ "torch.utils.bottleneck.__main__", "run_autograd_prof" },
	{ "ssl", "get_server_certificate" }, { "http.client", "HTTPSConnection" },
	{ "_posixsubprocess", "fork_exec" }, { "site", "addsitedir" },
	{ "_interpreters", "run_string" }, { "_xxsubinterpreters", "run_string" },
	{ "pipes", "Template" }, { "pip._internal", "main" }, { "numpy.ctypeslib", "load_library" },
	{ "pandas", "read_pickle" }, { "tensorflow", "load_library" }, { "xmlrpc.client", "ServerProxy" },
	{ "ftplib", "FTP" }, { "telnetlib", "Telnet" }, { "poplib", "POP3" },
	{ "platform", "popen" }, { "signal", "alarm" }, { "threading", "Thread" },
	{ "linecache", "getlines" }, { "fileinput", "input" }, { "gc", "get_objects" },
	{ "torch._inductor.runtime.compile_tasks", "_reload_python_module" },
	{ "torch.package", "PackageImporter" }, { "torch.ops", "load_library" },
	{ "copyreg", "_reconstructor" }, { "builtins", "memoryview" }, { "builtins", "type" },
	{ "unknown_module", "harmless" }, { "torch", "Tensor.backward" },
	{ "collections", "OrderedDict.__init__" }, { "torch._utils", "os.system" },
};

static void
put_string(struct gen *g, const char *s)
{
	put_u8(g, 0x8c);
	put_u8(g, (uint8_t)strlen(s));
	put_text(g, s);
}

static void
put_call(struct gen *g, size_t way, const char *module, const char *name)
{
	switch (way % 5) {
	case 0: /* GLOBAL, REDUCE */
	case 1: /* GLOBAL, NEWOBJ */
		put_u8(g, 'c');
		put_text(g, module);
		put_text(g, "\n");
		put_text(g, name);
		put_text(g, "\n");
		put_string(g, "id");
		put_text(g, way % 5 ? "\205\201" : "\205R");
		break;
	case 2: /* STACK_GLOBAL, REDUCE */
		put_string(g, module);
		put_string(g, name);
		put_u8(g, 0x93);
		put_string(g, "id");
		put_text(g, "\205R");
		break;
	case 3: /* INST */
		put_u8(g, '(');
		put_string(g, "id");
		put_u8(g, 'i');
		put_text(g, module);
		put_text(g, "\n");
		put_text(g, name);
		put_text(g, "\n");
		break;
	default: /* OBJ */
		put_u8(g, '(');
		put_string(g, module);
		put_string(g, name);
		put_u8(g, 0x93);
		put_string(g, "id");
		put_u8(g, 'o');
	}
}

static void
write_functions(struct folder *f)
{
	char name[200], says[300];
	size_t i;

	for (i = 0; i < sizeof functions / sizeof *functions; i++) {
		static const char before[] = PROTO "}(" KEY("a") TENSOR KEY("b");
		const char *module = functions[i].module;
		struct gen p = { 0 }, g = { 0 };

		put(&p, before, sizeof before - 1);
		put_call(&p, i, module, functions[i].name);
		put_text(&p, "u.");
		put_torch(&g, p.p, p.n);
		snprintf(name, sizeof name, "torch_calls_%s_%s", module, functions[i].name);
		snprintf(says, sizeof says, "is refused: its pickle calls %s.%s('id') (E001)", module,
		         functions[i].name);
		folder_file(f, name, &g);
		folder_fault(f, name, 4, says, NULL);
		gen_free(&p);
		gen_free(&g);
	}
}

/* ---- pickles ---- */

struct row {
	const char *name;
	int status;
	const char *says;
	const char *p;
	size_t n;
};
#define ROW(NAME, SAYS, BYTES) { NAME, 4, SAYS, BYTES, sizeof(BYTES) - 1 }

#define SYSTEM "cos\nsystem\nX" LENGTH("\002") "id\205R"
#define FLOATS(N) STORAGE("FloatStorage", "0", N)
#define OF_TYPE(TYPE) TENSOR_OF(STORAGE(TYPE, "0", "\001"), "K\000", "K\001\205", "K\001\205")
#define PARAMETER(X) "ctorch._utils\n_rebuild_parameter\n" X "\211" DICT "\207R"
#define TWICE(X) PARAMETER(PARAMETER(X))
#define V3(DTYPE) \
	"ctorch._utils\n_rebuild_tensor_v3\n((X" LENGTH("\007") "storagectorch.storage\n" \
	"UntypedStorage\n" KEY("0") "X" LENGTH("\003") "cpuK\030tQK\000" SHAPE_2_3 STRIDES_3_1 "\211" \
	DICT "ctorch\n" DTYPE "\ntR"
#define QUANTIZED(TYPE, SCHEME) \
	"ctorch._utils\n_rebuild_qtensor\n(" STORAGE(TYPE, "0", "\006") "K\000" SHAPE_2_3 \
	STRIDES_3_1 SCHEME "\211" DICT "tR"
#define TENSOR_QUANTIZED(STORAGE_ID, SHAPE, STRIDES, SCHEME) \
	"ctorch._utils\n_rebuild_qtensor\n(" STORAGE_ID "K\000" SHAPE STRIDES SCHEME "\211" DICT "tR"
#define PER_AXIS(SCALES, ZEROS, AXIS) "(ctorch\nper_channel_affine\n" SCALES ZEROS AXIS "t"
#define HALVES "](G\077\340\000\000\000\000\000\000G\077\340\000\000\000\000\000\000e"
#define ZEROS "](K\000K\000e"
#define OF_TWO(TYPE) TENSOR_OF(STORAGE(TYPE, "0", "\002"), "K\000", "K\002\205", "K\001\205")
#define MARKED(TYPE, SHAPE, STRIDES, MARKS) \
	"ctorch._utils\n_rebuild_tensor_v2\n(" STORAGE(TYPE, "0", "\006") "K\000" SHAPE STRIDES "\211" \
	DICT MARKS "tR"
#define CONJ "}X" LENGTH("\004") "conj\210s"
#define NEG "}X" LENGTH("\003") "neg\210s"
#define PER_TENSOR "ctorch\nper_tensor_affine\nG\077\340\000\000\000\000\000\000K\003\207"

static const struct row pickles[] = {
	/* Other ways to a call. */
	ROW("torch_hidden_nested_call", "calls builtins.getattr(os, ...", /* see below */ ""),
	ROW("torch_pickle_calls_result", "calls os.system('id')", BESIDE(SYSTEM ")R")),
	ROW("torch_pickle_call_dropped", "calls os.system('id')", PROTO SYSTEM "0}" KEY("a") TENSOR "s."),
	ROW("torch_pickle_call_before_damage", "calls os.system('id')", PROTO SYSTEM "0\377."),
	ROW("torch_pickle_call_without_end", "calls os.system('id')", PROTO SYSTEM),
	ROW("torch_pickle_call_in_key", "calls os.system('id')", PROTO "}" SYSTEM TENSOR "s."),
	ROW("torch_pickle_call_in_state", "calls os.system('id')",
	    PROTO DICT "}" KEY("x") SYSTEM "sb" KEY("a") TENSOR "s."),
	ROW("torch_pickle_names_only", "names os.system", BESIDE("cos\nsystem\n")),
	ROW("torch_pickle_names_for_defaultdict", "names os.system",
	    BESIDE("ccollections\ndefaultdict\ncos\nsystem\n\205R")),
	ROW("torch_pickle_name_of_hooks", "names builtins.eval",
	    ALONE("ctorch._utils\n_rebuild_tensor_v2\n(" FLOATS("\006") "K\000" SHAPE_2_3 STRIDES_3_1
	          "\211cbuiltins\neval\ntR")),
	ROW("torch_pickle_build_of_class", "calls torch.Tensor(",
	    BESIDE("ctorch\nTensor\n}X" LENGTH("\003") "addK\001sb")),
	ROW("torch_pickle_extension_1", "has an extension code", BESIDE("\202\001")),
	ROW("torch_pickle_extension_2", "has an extension code", BESIDE("\203\001\001")),
	ROW("torch_pickle_extension_4", "has an extension code", BESIDE("\204\001\000\000\000")),
	ROW("torch_pickle_computed_name", "computes the name of a function",
	    BESIDE("X" LENGTH("\002") "oscbuiltins\nstr\nX" LENGTH("\006") "system\205R\223)R")),
	ROW("torch_pickle_name_of_numbers", "computes the name of a function",
	    BESIDE("K\001K\002\223)R")),
	ROW("torch_pickle_escaped_name", "calls os.system('id')",
	    BESIDE("V\\u006fs\nVsyste\\u006d\n\223X" LENGTH("\002") "id\205R")),
	ROW("torch_pickle_string_escape", "calls os.system('id')",
	    BESIDE("S'\\x6fs'\nS'\\163ystem'\n\223X" LENGTH("\002") "id\205R")),
	ROW("torch_pickle_memo_name", "calls os.system('id')",
	    BESIDE("X" LENGTH("\002") "osq\001X" LENGTH("\006") "systemq\00200h\001h\002\223X" LENGTH("\002")
	           "id\205R")),
	ROW("torch_pickle_memo_overwritten", "calls os.system('id')",
	    BESIDE("X" LENGTH("\002") "ioq\0010X" LENGTH("\002") "osq\0010h\001X" LENGTH("\006")
	           "system\223X" LENGTH("\002") "id\205R")),
	ROW("torch_pickle_memo_put_of_another", "calls os.system('id')",
	    BESIDE("X" LENGTH("\013") "collectionsX" LENGTH("\002") "osq\0011\205X" LENGTH("\002") "os"
	           "X" LENGTH("\006") "system\223X" LENGTH("\002") "id\205R")),
	ROW("torch_pickle_name_with_steps", "calls collections.OrderedDict.__init__(",
	    BESIDE("\214\013collections\214\024OrderedDict.__init__\223)R")),
	ROW("torch_pickle_name_steps_to_modules", "calls collections.abc.sys.modules.get('os')",
	    BESIDE("\214\013collections\214\023abc.sys.modules.get\223\214\002os\205R")),
	ROW("torch_pickle_setstate", "calls _interpreters.create()",
	    BESIDE("c_interpreters\ncreate\n)R}X" LENGTH("\001") "xK\001sb")),
	ROW("torch_pickle_dropped_by_pop_mark", "calls os.system('id')",
	    PROTO "(" SYSTEM "1}" KEY("a") TENSOR "s."),
	ROW("torch_pickle_two_protocols", "calls os.system('id')", BESIDE("\200\004" SYSTEM)),
	ROW("torch_pickle_pickle_in_bytes", "calls pickle.loads(",
	    BESIDE("cpickle\nloads\nC\022cos\nsystem\n(S'id'\n\205R")),
	ROW("torch_pickle_set_in_number", "cannot have them", PROTO "K\001K\001K\001s."),
	ROW("torch_pickle_set_in_tensor_storage", "cannot have them",
	    PROTO STORAGE("FloatStorage", "0", "\006") "K\001K\002s."),
	ROW("torch_pickle_set_in_text", "cannot have them", PROTO KEY("x") "K\001K\002s."),
	ROW("torch_pickle_append_to_tuple", "cannot have them", PROTO ")K\001a."),
	ROW("torch_pickle_buffers", "needs buffers from outside", BESIDE("\227")),
	ROW("torch_pickle_read_only_buffer", "needs buffers from outside", BESIDE("K\001\230")),
	ROW("torch_pickle_named_arguments", "with named arguments",
	    BESIDE("ccollections\nOrderedDict\n)}" KEY("x") "K\001s\222")),

	/* Damage. */
	ROW("torch_pickle_empty", "no end at byte 0", ""),
	ROW("torch_pickle_no_end", "no end at byte", PROTO "}"),
	ROW("torch_pickle_only_end", "too little on the stack", PROTO "."),
	ROW("torch_pickle_end_above_mark", "an end above a mark", PROTO "}(."),
	ROW("torch_pickle_trailing", "has 1 bytes behind the end of its pickle", ALONE(TENSOR) "x"),
	ROW("torch_pickle_second_pickle", "bytes behind the end of its pickle",
	    ALONE(TENSOR) PROTO SYSTEM "."),
	ROW("torch_pickle_unknown_opcode", "an opcode that does not exist", PROTO "\377."),
	ROW("torch_pickle_protocol_6", "protocol 6, which is not known (E003)", "\200\006}."),
	ROW("torch_pickle_frame", "a frame that is longer than the pickle",
	    "\200\004\225\377\000\000\000\000\000\000\000}."),
	ROW("torch_pickle_cut_opcode", "inside an opcode", PROTO "J\001"),
	ROW("torch_pickle_cut_line", "a line that does not end", PROTO "cos"),
	ROW("torch_pickle_underflow", "too little on the stack", PROTO "\206."),
	ROW("torch_pickle_underflow_below_mark", "too little on the stack", PROTO "K\001(\205."),
	ROW("torch_pickle_no_mark", "finds no mark", PROTO "t."),
	ROW("torch_pickle_dup_of_nothing", "too little on the stack", PROTO "2."),
	ROW("torch_pickle_memo_unset", "a reference to nothing", PROTO "h\007."),
	ROW("torch_pickle_memo_huge", "a memo of too many objects", PROTO "}r\377\377\377\377."),
	ROW("torch_pickle_memo_not_a_number", "a memo without a number", PROTO "}px\n."),
	ROW("torch_pickle_memo_of_nothing", "too little on the stack", PROTO "q\001}."),
	ROW("torch_pickle_text_past_end", "bytes that reach past the end", PROTO "X\377\000\000\000a."),
	ROW("torch_pickle_text_4_gib", "bytes that reach past the end", PROTO "X\377\377\377\377a."),
	ROW("torch_pickle_text_2_63", "bytes that reach past the end",
	    PROTO "\215\000\000\000\000\000\000\000\200a."),
	ROW("torch_pickle_text_not_utf8", "a string that is not UTF-8", PROTO "X" LENGTH("\001") "\377."),
	ROW("torch_pickle_string_unquoted", "a string without its quotes", PROTO "Sabc\n."),
	ROW("torch_pickle_string_wrong_escape", "a wrong escape", PROTO "S'\\q'\n."),
	ROW("torch_pickle_unicode_wrong_escape", "a wrong escape", PROTO "V\\u12\n."),
	ROW("torch_pickle_unicode_surrogate", "a wrong escape", PROTO "V\\ud800\n."),
	ROW("torch_pickle_integer", "an integer that is not one", PROTO "I1x\n."),
	ROW("torch_pickle_long_text", "an integer that is not one", PROTO "LL\n."),
	ROW("torch_pickle_float", "a number that is not one", PROTO "F1.5x\n."),
	ROW("torch_pickle_odd_items", "cannot have them", PROTO "}(K\001u."),
	ROW("torch_pickle_odd_dict", "a key without a value", PROTO "(K\001d."),
	ROW("torch_pickle_append_to_dict", "cannot have them", PROTO "}K\001a."),
	ROW("torch_pickle_append_to_number", "cannot have them", PROTO "K\001K\001a."),
	ROW("torch_pickle_set_in_list", "cannot have them", PROTO "]K\001K\002s."),
	ROW("torch_pickle_add_to_list", "cannot have them", PROTO "](K\001\220."),
	ROW("torch_pickle_arguments", "without a tuple", PROTO "ccollections\nOrderedDict\n]R."),
	ROW("torch_pickle_object_without_class", "an object without a class", PROTO "(o."),
	ROW("torch_pickle_build_of_list", "no attributes", PROTO "]}b."),
	ROW("torch_pickle_build_twice", "its attributes twice", PROTO DICT "}b}b."),

	/* Tensors. */
	ROW("torch_no_tensors", "holds no tensors", PROTO "}."),
	ROW("torch_number", "holds no tensors", PROTO "K\001."),
	ROW("torch_two_names", "tensor a occurs twice", PROTO "}(" KEY("a") TENSOR KEY("a") TENSOR "u."),
	ROW("torch_two_states", "has the key model twice",
	    PROTO "}(X" LENGTH("\005") "model}X" LENGTH("\005") "model}u."),
	ROW("torch_storage_missing", "lies in a storage that the file lacks",
	    ALONE(TENSOR_OF(STORAGE("FloatStorage", "7", "\006"), "K\000", SHAPE_2_3, STRIDES_3_1))),
	ROW("torch_storage_path", "lies in a storage that the file lacks",
	    ALONE(TENSOR_OF("(X" LENGTH("\007") "storagectorch\nFloatStorage\nX" LENGTH("\013")
	                    "../data.pklX" LENGTH("\003") "cpuK\006tQ", "K\000", SHAPE_2_3, STRIDES_3_1))),
	ROW("torch_storage_too_large", "fewer than the pickle says",
	    ALONE(TENSOR_OF(FLOATS("\007"), "K\000", SHAPE_2_3, STRIDES_3_1))),
	ROW("torch_storage_overflow", "fewer than the pickle says",
	    ALONE(TENSOR_OF("(X" LENGTH("\007") "storagectorch\nFloatStorage\n" KEY("0") "X"
	                    LENGTH("\003") "cpu\212\010\377\377\377\377\377\377\377\177tQ", "K\000",
	                    SHAPE_2_3, STRIDES_3_1))),
	ROW("torch_storage_negative", "a storage that is not described",
	    ALONE(TENSOR_OF("(X" LENGTH("\007") "storagectorch\nFloatStorage\n" KEY("0") "X"
	                    LENGTH("\003") "cpuJ\377\377\377\377tQ", "K\000", SHAPE_2_3, STRIDES_3_1))),
	ROW("torch_storage_other_word", "a storage that is not described",
	    ALONE(TENSOR_OF("(X" LENGTH("\006") "modulectorch\nFloatStorage\n" KEY("0") "X"
	                    LENGTH("\003") "cpuK\006tQ", "K\000", SHAPE_2_3, STRIDES_3_1))),
	ROW("torch_storage_is_text", "a storage that is not described",
	    ALONE(TENSOR_OF("Pabc\n", "K\000", SHAPE_2_3, STRIDES_3_1))),
	ROW("torch_storage_is_number", "does not lie in a storage",
	    ALONE(TENSOR_OF("K\001", "K\000", SHAPE_2_3, STRIDES_3_1))),
	ROW("torch_storage_class", "a storage of unknown type",
	    ALONE(TENSOR_OF("(X" LENGTH("\007") "storagectorch\nSize\n" KEY("0") "X"
	                    LENGTH("\003") "cpuK\006tQ", "K\000", SHAPE_2_3, STRIDES_3_1))),
	ROW("torch_storage_opaque", "calls my.storage(",
	    ALONE(TENSOR_OF("cmy\nstorage\n)R", "K\000", SHAPE_2_3, STRIDES_3_1))),
	ROW("torch_offset", "reaches past the end of its storage",
	    ALONE(TENSOR_OF(FLOATS("\006"), "K\001", SHAPE_2_3, STRIDES_3_1))),
	ROW("torch_offset_huge", "reaches past the end of its storage",
	    ALONE(TENSOR_OF(FLOATS("\006"), "\212\010\377\377\377\377\377\377\377\177", SHAPE_2_3,
	                    STRIDES_3_1))),
	ROW("torch_offset_negative", "too few or wrong arguments",
	    ALONE(TENSOR_OF(FLOATS("\006"), "J\377\377\377\377", SHAPE_2_3, STRIDES_3_1))),
	ROW("torch_stride_negative", "negative or not a number",
	    ALONE(TENSOR_OF(FLOATS("\006"), "K\000", SHAPE_2_3, "J\375\377\377\377K\001\206"))),
	ROW("torch_stride_past_end", "reaches past the end of its storage",
	    ALONE(TENSOR_OF(FLOATS("\006"), "K\000", SHAPE_2_3, "K\003K\002\206"))),
	ROW("torch_stride_overflows", "reaches past the end of its storage",
	    ALONE(TENSOR_OF(FLOATS("\006"), "K\000", SHAPE_2_3,
	                    "\212\010\377\377\377\377\377\377\377\177K\001\206"))),
	ROW("torch_strides_missing", "2 dimensions and 1 strides",
	    ALONE(TENSOR_OF(FLOATS("\006"), "K\000", SHAPE_2_3, "K\001\205"))),
	ROW("torch_shape_call", "has no shape",
	    ALONE(TENSOR_OF(FLOATS("\006"), "K\000", "ctorch\ndevice\n)R", ")"))),
	ROW("torch_shape_name", "has no shape",
	    ALONE(TENSOR_OF(FLOATS("\006"), "K\000", "ctorch\nSize\n", ")"))),
	ROW("torch_shape_size_of_call", "has no shape",
	    ALONE(TENSOR_OF(FLOATS("\006"), "K\000", "ctorch\nSize\n)R", ")"))),
	ROW("torch_shape_negative", "negative or not a number",
	    ALONE(TENSOR_OF(FLOATS("\006"), "K\000", "J\377\377\377\377K\003\206", STRIDES_3_1))),
	ROW("torch_shape_text", "negative or not a number",
	    ALONE(TENSOR_OF(FLOATS("\006"), "K\000", KEY("2") "K\003\206", STRIDES_3_1))),
	ROW("torch_shape_list", "has no shape",
	    ALONE(TENSOR_OF(FLOATS("\006"), "K\000", "]", STRIDES_3_1))),
	ROW("torch_shape_of_9", "9 dimensions, at most 8",
	    ALONE(TENSOR_OF(FLOATS("\006"), "K\000", "(K\001K\001K\001K\001K\001K\001K\001K\001K\001t",
	                    STRIDES_3_1))),
	ROW("torch_shape_overflows", "reaches past the end of its storage",
	    ALONE(TENSOR_OF(FLOATS("\006"), "K\000",
	                    "\212\010\377\377\377\377\377\377\377\177K\003\206", "K\000K\000\206"))),
	ROW("torch_expanded_bomb", "has tensors of 4294967296 bytes in a file of",
	    ALONE(TENSOR_OF(FLOATS("\006"), "K\000", "J\000\000\000\100\205", "K\000\205"))),
	ROW("torch_arguments_missing", "too few or wrong arguments",
	    ALONE("ctorch._utils\n_rebuild_tensor_v2\n" FLOATS("\006") "K\000\206R")),
	ROW("torch_arguments_none", "too few or wrong arguments",
	    ALONE("ctorch._utils\n_rebuild_tensor_v2\n)R")),
	ROW("torch_changed_later", "is changed by its pickle after it was built", ALONE(TENSOR "}b")),
	ROW("torch_members_later", "is changed by its pickle after it was built",
	    ALONE(TENSOR "K\001a")),
	ROW("torch_parameter_of_nothing", "a parameter around something that is not a tensor",
	    ALONE(PARAMETER("N"))),
	ROW("torch_parameter_of_8", "a parameter around too many others",
	    ALONE(TWICE(TWICE(TWICE(TWICE(TENSOR)))))),
	ROW("torch_conjugated", "is marked as negated or conjugated, which its type cannot be",
	    ALONE(MARKED("FloatStorage", SHAPE_2_3, STRIDES_3_1, CONJ))),
	ROW("torch_negated_integers", "is marked as negated or conjugated, which its type cannot be",
	    ALONE(MARKED("IntStorage", SHAPE_2_3, STRIDES_3_1, NEG))),
	ROW("torch_mark_unknown", "has marks that are not known",
	    ALONE(MARKED("FloatStorage", SHAPE_2_3, STRIDES_3_1, "}" KEY("x") "\210s"))),
	ROW("torch_mark_number", "has marks that are not known",
	    ALONE(MARKED("FloatStorage", SHAPE_2_3, STRIDES_3_1, "}X" LENGTH("\003") "negK\001s"))),
	ROW("torch_marks_list", "has marks that are not known",
	    ALONE(MARKED("FloatStorage", SHAPE_2_3, STRIDES_3_1, "]"))),
	ROW("torch_sparse", "is a sparse tensor, which is read only as a dense one",
	    ALONE("ctorch._utils\n_rebuild_sparse_tensor\nK\000)\206R")),
	ROW("torch_meta", "is a nested or virtual tensor",
	    ALONE("ctorch._utils\n_rebuild_meta_tensor_no_storage\n)R")),
	ROW("torch_subclass", "a class of tensors that is not known",
	    ALONE("ctorch._tensor\n_rebuild_from_type_v2\n(ctorch._utils\n_rebuild_tensor_v2\n"
	          "cmy.tensors\nMine\n(" FLOATS("\006") "K\000" SHAPE_2_3 STRIDES_3_1 "t}tR")),
	ROW("torch_complex_128_of_8", "the type complex128, which is not read",
	    ALONE(TENSOR_OF(STORAGE("ComplexDoubleStorage", "0", "\001"), "K\000",
	                    "(K\001K\001K\001K\001K\001K\001K\001K\001t",
	                    "(K\001K\001K\001K\001K\001K\001K\001K\001t"))),
	ROW("torch_complex_128_past_end", "reaches past the end of its storage",
	    ALONE(TENSOR_OF(STORAGE("ComplexDoubleStorage", "0", "\001"), "K\000", "K\002\205",
	                    "K\001\205"))),
	ROW("torch_quantized_without_scale", "the type qint8, which is not read",
	    ALONE(OF_TYPE("QInt8Storage"))),
	ROW("torch_quantized_symmetric", "is quantized as quint8 in a way",
	    ALONE(QUANTIZED("QUInt8Storage",
	                    "ctorch\nper_tensor_symmetric\nG\077\340\000\000\000\000\000\000K\003\207"))),
	ROW("torch_quantized_4_bits", "is quantized as quint4x2 in a way",
	    ALONE(QUANTIZED("QUInt4x2Storage", PER_TENSOR))),
	ROW("torch_quantized_floats", "is quantized as float32 in a way",
	    ALONE(QUANTIZED("FloatStorage", PER_TENSOR))),
	ROW("torch_quantized_complex", "is quantized as complex128 in a way",
	    ALONE(TENSOR_QUANTIZED(STORAGE("ComplexDoubleStorage", "0", "\001"), ")", ")", PER_TENSOR))),
	ROW("torch_quantized_scale_text", "scales or zero points that cannot be",
	    ALONE(QUANTIZED("QUInt8Storage", "ctorch\nper_tensor_affine\n" KEY("1") "K\003\207"))),
	ROW("torch_quantized_scale_infinite", "scales or zero points that cannot be",
	    ALONE(QUANTIZED("QUInt8Storage",
	                    "ctorch\nper_tensor_affine\nG\177\360\000\000\000\000\000\000K\003\207"))),
	ROW("torch_quantized_per_channel", "scales or zero points that cannot be",
	    ALONE(QUANTIZED("QInt8Storage", PER_AXIS("N", "N", "K\000")))),
	ROW("torch_quantized_axis_2", "along an axis that it lacks",
	    ALONE(QUANTIZED("QInt8Storage", PER_AXIS(HALVES, ZEROS, "K\002")))),
	ROW("torch_quantized_axis_negative", "along an axis that it lacks",
	    ALONE(QUANTIZED("QInt8Storage", PER_AXIS(HALVES, ZEROS, "J\377\377\377\377")))),
	ROW("torch_quantized_axis_text", "along an axis that it lacks",
	    ALONE(QUANTIZED("QInt8Storage", PER_AXIS(HALVES, ZEROS, KEY("0"))))),
	ROW("torch_quantized_few_scales", "scales or zero points that cannot be",
	    ALONE(QUANTIZED("QInt8Storage", PER_AXIS(HALVES, ZEROS, "K\001")))),
	ROW("torch_quantized_few_zeros", "scales or zero points that cannot be",
	    ALONE(QUANTIZED("QInt8Storage", PER_AXIS(HALVES, "](K\000e", "K\000")))),
	ROW("torch_quantized_scales_shape", "scales or zero points that cannot be",
	    ALONE(QUANTIZED("QInt8Storage", PER_AXIS(TENSOR, ZEROS, "K\000")))),
	ROW("torch_quantized_scales_of_bytes", "scales or zero points that cannot be",
	    ALONE(QUANTIZED("QInt8Storage", PER_AXIS(OF_TWO("ByteStorage"), ZEROS, "K\000")))),
	ROW("torch_quantized_scales_past_end", "reaches past the end of its storage",
	    ALONE(QUANTIZED("QInt8Storage",
	                    PER_AXIS(TENSOR_OF(STORAGE("FloatStorage", "0", "\006"), "K\005", "K\002\205",
	                                       "K\001\205"), ZEROS, "K\000")))),
	ROW("torch_quantized_scales_quantized", "is quantized as qint8 in a way",
	    ALONE(QUANTIZED("QInt8Storage",
	                    PER_AXIS(TENSOR_QUANTIZED(STORAGE("QInt8Storage", "0", "\002"), "K\002\205",
	                                              "K\001\205", PER_TENSOR), ZEROS, "K\000")))),
	ROW("torch_quantized_scales_call", "calls os.system('id')",
	    ALONE(QUANTIZED("QInt8Storage", PER_AXIS(SYSTEM, ZEROS, "K\000")))),
	ROW("torch_quantized_scale_nan", "a scale or zero point that cannot be",
	    ALONE(QUANTIZED("QInt8Storage",
	                    "ctorch\nper_tensor_affine\nG\177\370\000\000\000\000\000\000K\003\207"))),
	ROW("torch_array_short", "is an array of 4 bytes, but its shape needs 6",
	    ALONE(ARRAY("K\003\205", DTYPE("i2", "<"), "\211", "C\0041234"))),
	ROW("torch_array_overflows", "but its shape needs 18446744073709551615",
	    ALONE(ARRAY("\212\010\377\377\377\377\377\377\377\177K\003\206", DTYPE("i2", "<"), "\211",
	                "C\0041234"))),
	ROW("torch_array_without_values", "is an array whose pickle has no values",
	    ALONE("cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\000\205C\001b\207R")),
	ROW("torch_array_shape_negative", "has a shape that is not of numbers",
	    ALONE(ARRAY("J\377\377\377\377\205", DTYPE("i2", "<"), "\211", "C\0041234"))),
	ROW("torch_array_of_9", "has 9 dimensions, at most 8 are read",
	    ALONE(ARRAY("(K\001K\001K\001K\001K\001K\001K\001K\001K\001t", DTYPE("i2", "<"), "\211",
	                "C\00212"))),
	ROW("torch_array_of_33", "holds no tensors",
	    ALONE(ARRAY("(K\001K\001K\001K\001K\001K\001K\001K\001K\001K\001K\001K\001K\001K\001K\001"
	                "K\001K\001K\001K\001K\001K\001K\001K\001K\001K\001K\001K\001K\001K\001K\001"
	                "K\001K\001K\001t", DTYPE("i2", "<"), "\211", "C\00212"))),
	ROW("torch_array_shape_list", "is an array whose pickle has no shape",
	    ALONE(ARRAY("]", DTYPE("i2", "<"), "\211", "C\0041234"))),
	ROW("torch_array_type_text", "is an array whose pickle has no type",
	    ALONE(ARRAY("K\002\205", "\214\002i2", "\211", "C\0041234"))),
	ROW("torch_array_bytes_number", "is an array whose pickle has no bytes",
	    ALONE(ARRAY("K\002\205", DTYPE("i2", "<"), "\211", "K\001"))),
	ROW("torch_array_letters", "has a text that is not bytes",
	    ALONE(ARRAY("K\003\205", DTYPE("u1", "|"), "\211", LETTERS("\003", "\342\202\254")))),
	ROW("torch_array_of_call", "calls os.system('id')",
	    ALONE(ARRAY("K\003\205", DTYPE("u1", "|"), "\211", SYSTEM))),
	ROW("torch_array_of_objects_call", "calls os.system('id')",
	    BESIDE(ARRAY("K\001\205", DTYPE("O8", "|"), "\211", "]" SYSTEM "a"))),
	ROW("torch_array_of_texts", "holds no tensors",
	    ALONE(ARRAY("K\001\205", DTYPE("U1", "<"), "\211", "C\0041234"))),
	ROW("torch_untyped", "has a type that is not known", ALONE(V3("Size"))),
	ROW("torch_untyped_float8", "the type float8_e4m3fnuz, which is not read",
	    ALONE(V3("float8_e4m3fnuz"))),
	ROW("torch_untyped_too_wide", "reaches past the end of its storage", ALONE(V3("float64"))),
};

static void
write_pickles(struct folder *f)
{
	static const char nested[] = BESIDE("cbuiltins\ngetattr\ncos\n__dict__\nX" LENGTH("\006")
	                                    "system\206RX" LENGTH("\002") "id\205R");
	size_t i;

	for (i = 0; i < sizeof pickles / sizeof *pickles; i++) {
		const struct row *r = &pickles[i];
		struct gen g = { 0 };

		if (i == 0)
			put_torch(&g, nested, sizeof nested - 1);
		else
			put_torch(&g, r->p, r->n);
		folder_file(f, r->name, &g);
		folder_fault(f, r->name, r->status, i ? r->says
		             : "calls builtins.getattr(os.__dict__, 'system')", NULL);
		gen_free(&g);
	}
}

/* ---- bombs ---- */

static void
write_bomb(struct folder *f, const char *name, const char *says, struct gen *p)
{
	struct gen g = { 0 };

	put_torch(&g, p->p, p->n);
	folder_file(f, name, &g);
	folder_fault(f, name, 4, says, NULL);
	gen_free(p);
	gen_free(&g);
}

#define PUT(P, S) put(P, S, sizeof(S) - 1)

/* A call of a class or constant, with more members than the pickle has nodes, stands where its
 * name is due. */
static void
write_called_names(struct folder *f)
{
	struct gen p = { 0 };

	PUT(&p, PROTO "}" KEY("a") "ctorch._utils\n_rebuild_tensor_v2\n((X" LENGTH("\007") "storage"
	    "ctorch\nFloatStorage\n)R(K\001");
	put_fill(&p, '2', 1000000);
	PUT(&p, "e" KEY("0") "X" LENGTH("\003") "cpuK\006tQK\000" SHAPE_2_3 STRIDES_3_1 "\211" DICT
	    "tRs.");
	write_bomb(f, "torch_bomb_called_type", "lies in a storage of unknown type", &p);

	PUT(&p, PROTO "}" KEY("a") "ctorch._utils\n_rebuild_qtensor\n("
	    STORAGE("QInt8Storage", "0", "\006") "K\000" SHAPE_2_3 STRIDES_3_1
	    "ctorch\nper_tensor_affine\n)R(K\001");
	put_fill(&p, '2', 1000000);
	PUT(&p, "eG\077\340\000\000\000\000\000\000K\003\207\211" DICT "tRs.");
	write_bomb(f, "torch_bomb_called_scheme", "is quantized as qint8", &p);
}

/* A key of 8 MB, which each of 400000 members of a dictionary has. */
static void
write_long_key(struct folder *f)
{
	struct gen p = { 0 };
	unsigned i;

	PUT(&p, PROTO "}X\000\000\200\000");
	put_fill(&p, 'k', 1u << 23);
	PUT(&p, "q\001K\001q\002s");
	for (i = 1; i < 400000; i++)
		put_text(&p, "h\1h\2s");
	put_text(&p, ".");
	write_bomb(f, "torch_bomb_long_key", "holds no tensors", &p);
}

/* A dictionary that holds another one under 1000 keys, which holds a tensor under 1000 keys. */
static void
write_many_names(struct folder *f)
{
	struct gen p = { 0 };
	char key[16];
	unsigned i;

	PUT(&p, PROTO "}(" KEY("t") TENSOR "q\001" KEY("d") "}q\002(");
	for (i = 0; i < 1000; i++) {
		snprintf(key, sizeof key, "I%u\n", i);
		put_text(&p, key);
		put_text(&p, "h\1");
	}
	PUT(&p, "u" KEY("e") "}(");
	for (i = 0; i < 1000; i++) {
		snprintf(key, sizeof key, "I%u\n", i);
		put_text(&p, key);
		put_text(&p, "h\2");
	}
	PUT(&p, "uu.");
	write_bomb(f, "torch_bomb_names", "has more names of tensors than its pickle has objects", &p);
}

static void
write_bombs(struct folder *f)
{
	static const char twice[] = "}q\001(K\001h\000K\002h\000uq\000";
	struct gen p = { 0 };
	unsigned i;

	/* Dictionaries in each other, each holding the one before twice. */
	put_text(&p, PROTO "}q");
	put_u8(&p, 0);
	for (i = 0; i < 40; i++)
		put(&p, twice, sizeof twice - 1);
	put_text(&p, ".");
	write_bomb(f, "torch_bomb_doubled", "objects on the way to its tensors", &p);

	for (i = 0; i < 100000; i++)
		put_text(&p, "]");
	for (i = 1; i < 100000; i++)
		put_text(&p, "a");
	put_text(&p, ".");
	write_bomb(f, "torch_bomb_deep", "nests more than 64 objects", &p);

	/* A list that holds itself. */
	put_text(&p, PROTO "]q\001h\001a.");
	write_bomb(f, "torch_bomb_itself", "nests more than 64 objects", &p);

	for (i = 0; i < 3000000; i++)
		put_text(&p, "N");
	write_bomb(f, "torch_bomb_objects", "a pickle of more than 44 MiB of objects", &p);

	put_text(&p, PROTO "]");
	for (i = 0; i < 600000; i++)
		put_text(&p, "(");
	for (i = 0; i < 12000000; i++)
		put_text(&p, "(");
	write_bomb(f, "torch_bomb_marks", "a pickle of more than 44 MiB of objects", &p);
}

/* ---- archives ---- */

#define SET16(MARK, V) { EDIT_SET, MARK, V, 2, NULL, 0 }

static const struct {
	const char *name;
	const char *says;
	struct edit edits[3];
} archives[] = {
	{ "torch_zip_cut", "has no end record: it is not whole", { CUT("end") } },
	{ "torch_zip_trailing", "has no end record", { TAIL("x") } },
	{ "torch_zip_two_ends", "could end at more than one place",
	  { SET16("end.comment", 22), TAIL("PK\005\006\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0") } },
	{ "torch_zip_disk", "one file of a zip archive in several", { SET8("end.disk", 1) } },
	{ "torch_zip_disk_of_member", "lies in another file", { SET8("c1.disk", 1) } },
	{ "torch_zip_count_less", "has more in its directory than its members",
	  { SET8("end.count", 2), SET8("end.here", 2) } },
	{ "torch_zip_count_more", "too small for its members",
	  { SET8("end.count", 4), SET8("end.here", 4) } },
	{ "torch_zip_counts_differ", "contradicts itself about the number", { SET8("end.here", 2) } },
	{ "torch_zip_count_65535", "too small for its members",
	  { SET16("end.count", 65535), SET16("end.here", 65535) } },
	{ "torch_zip_directory_shifted", "does not end at its end record", { ADD32("end.at", 1) } },
	{ "torch_zip_directory_short", "does not end at its end record", { ADD32("end.bytes", -1) } },
	{ "torch_zip_central_magic", "has a damaged directory", { SET8("c1.head", 0) } },
	{ "torch_zip_local_magic", "has no header where the directory says", { SET8("l1.head", 0) } },
	{ "torch_zip_offset_past_end", "has no header where the directory says",
	  { SET32("c1.at", 0x7fffffff) } },
	{ "torch_zip_offset_64", "lacks its sizes in 64 bits", { SET32("c1.at", 0xffffffff) } },
	{ "torch_zip_local_name", "another name in its own header", { TEXT("l0.name", "archive/data.pkk") } },
	{ "torch_zip_central_name", "another name in its own header",
	  { TEXT("c0.name", "archive/data.pkk") } },
	{ "torch_zip_local_method", "another method or other flags", { SET8("l0.method", 8) } },
	{ "torch_zip_local_flags", "another method or other flags", { SET8("l0.flags", 8) } },
	{ "torch_zip_local_size", "another size in its own header", { ADD32("l0.bytes", 1) } },
	{ "torch_zip_local_stored", "another size in its own header", { ADD32("l0.stored", -1) } },
	{ "torch_zip_local_crc", "another CRC-32 in its own header", { ADD32("l0.crc", 1) } },
	{ "torch_zip_crc", "has a wrong CRC-32 (E004)", { ADD32("l0.crc", 1), ADD32("c0.crc", 1) } },
	{ "torch_zip_pickle_changed", "has a wrong CRC-32 (E004)", { SET8("l0.data", 0x81) } },
	{ "torch_zip_encrypted", "is encrypted (E001)", { SET8("l0.flags", 1), SET8("c0.flags", 1) } },
	{ "torch_zip_strongly_encrypted", "is encrypted (E001)",
	  { SET8("l1.flags", 0x40), SET8("c1.flags", 0x40) } },
	{ "torch_zip_masked", "is encrypted (E001)",
	  { SET16("l1.flags", 0x2000), SET16("c1.flags", 0x2000) } },
	{ "torch_zip_method_12", "a method that is not read", { SET8("c1.method", 12) } },
	{ "torch_zip_patch", "a method that is not read", { SET8("c1.flags", 0x20) } },
	{ "torch_zip_deflate_wrong", "not deflated data", { SET8("c0.method", 8), SET8("l0.method", 8) } },
	{ "torch_zip_deflate_ratio", "larger than deflate can make it",
	  { SET8("c1.method", 8), SET32("c1.bytes", 100000) } },
	{ "torch_zip_two_sizes", "is stored with two sizes", { SET8("c1.bytes", 1) } },
	{ "torch_zip_member_past_directory", "does not lie before the directory",
	  { SET32("c1.bytes", 1000), SET32("c1.stored", 1000) } },
	{ "torch_zip_overlap", "overlaps another one",
	  { SET32("c1.bytes", 40), SET32("c1.stored", 40) } },
	{ "torch_zip_name_not_utf8", "whose name is not text", { SET8("c2.name", 0xff) } },
	{ "torch_zip_name_nul", "whose name is not text", { SET8("c2.name", 0) } },
};

static void
write_archives(struct folder *f)
{
	static const char good[] = ALONE(TENSOR);
	size_t i, k;

	for (i = 0; i < sizeof archives / sizeof *archives; i++) {
		struct gen g = { 0 };

		put_torch(&g, good, sizeof good - 1);
		for (k = 0; k < 3; k++)
			edit(&g, &archives[i].edits[k]);
		if (strcmp(archives[i].name, "torch_zip_overlap") == 0) {
			static const struct edit same[] = { SET32("l1.bytes", 40), SET32("l1.stored", 40) };

			edit(&g, &same[0]);
			edit(&g, &same[1]);
		}
		folder_file(f, archives[i].name, &g);
		folder_fault(f, archives[i].name, 4, archives[i].says, NULL);
		gen_free(&g);
	}
}

/* A member whose offset is in the extra field of 64 bits, and far behind the file. */
static void
write_offset_64(struct folder *f)
{
	static const char good[] = ALONE(TENSOR);
	static const uint8_t extra[12] = { 1, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 128 };
	static const struct edit edits[] = { SET32("c1.at", 0xffffffff), ADD32("end.bytes", 12) };
	struct gen g = { 0 };

	put_torch(&g, good, sizeof good - 1);
	edit(&g, &edits[0]);
	edit(&g, &edits[1]);
	g.p[mark_at(&g, "c1.disk") - 4] = sizeof extra; /* bytes of the extra field */
	memcpy(gen_open(&g, mark_at(&g, "c2.head"), sizeof extra), extra, sizeof extra);
	folder_file(f, "torch_zip_offset_2_63", &g);
	folder_fault(f, "torch_zip_offset_2_63", 4, "has no header where the directory says", NULL);
	gen_free(&g);
}

/* ---- members ---- */

static void
write_members(struct folder *f, const char *name, const char *says, const struct member *list,
              size_t n)
{
	struct gen g = { 0 };

	put_zip(&g, list, n);
	folder_file(f, name, &g);
	folder_fault(f, name, 4, says, NULL);
	gen_free(&g);
}

static void
write_folders(struct folder *f)
{
	static const char good[] = ALONE(TENSOR), evil[] = PROTO SYSTEM ".";
	const struct member pickle = { "a/data.pkl", good, sizeof good - 1, 0 };
	const struct member storage = { "a/data/0", "123456781234567812345678", 24, 0 };
	const struct member twice[] = { pickle, storage, { "a/data.pkl", evil, sizeof evil - 1, 0 } };
	const struct member other[] = { pickle, storage, { "b/data.pkl", evil, sizeof evil - 1, 0 } };
	const struct member top[] = { pickle, storage, { "data.pkl", evil, sizeof evil - 1, 0 } };
	const struct member none[] = { storage, { "a/x.pkl", good, sizeof good - 1, 0 } };
	const struct member order[] = { pickle, storage, { "a/byteorder", "middle", 6, 0 } };
	const struct member elsewhere[] = { pickle, { "b/data/0", "123456781234567812345678", 24, 0 } };

	write_members(f, "torch_member_twice", "a/data.pkl is there twice", twice, 3);
	write_members(f, "torch_two_folders", "with 2 members data.pkl", other, 3);
	write_members(f, "torch_folder_and_none", "with 2 members data.pkl", top, 3);
	write_members(f, "torch_no_pickle", "without the data.pkl of PyTorch", none, 2);
	write_members(f, "torch_byteorder", "neither little nor big", order, 3);
	write_members(f, "torch_storage_elsewhere", "a storage that the file lacks", elsewhere, 2);
	write_members(f, "torch_zip_empty_directory", "without the data.pkl of PyTorch", &storage, 1);
}

/* ---- TorchScript ---- */

static void
write_scripts(struct folder *f)
{
	static const char good[] = ALONE(TENSOR), evil[] = PROTO SYSTEM ".";
	static const char outside[] = PROTO TENSOR_OF(STORAGE("FloatStorage", "7", "\006"), "K\000",
		SHAPE_2_3, STRIDES_3_1) "\205.";
	static const struct { const char *name, *says, *member, *p; size_t n; } rows[] = {
		{ "torch_code_climbs", "whose name leaves its folder", "a/code/../x.py", "x", 1 },
		{ "torch_code_climbs_at_end", "whose name leaves its folder", "a/code/..", "x", 1 },
		{ "torch_code_here", "whose name leaves its folder", "a/code/./x.py", "x", 1 },
		{ "torch_code_empty_part", "whose name leaves its folder", "a/code//x.py", "x", 1 },
		{ "torch_code_backslash", "whose name leaves its folder", "a/code/..\\x.py", "x", 1 },
		{ "torch_extra_climbs", "whose name leaves its folder", "a/extra/../../x", "x", 1 },
		{ "torch_constants_call", "is refused: its pickle calls os.system('id') (E001)",
		  "a/constants.pkl", evil, sizeof evil - 1 },
		{ "torch_constants_outside", "a storage that the file lacks", "a/constants.pkl", outside,
		  sizeof outside - 1 },
		{ "torch_constants_trailing", "bytes behind the end of its pickle", "a/constants.pkl",
		  PROTO "].]", 5 },
		{ "torch_constants_empty", "no end at byte 0", "a/constants.pkl", "", 0 },
	};
	struct member list[] = { { "a/data.pkl", good, sizeof good - 1, 0 },
		{ "a/data/0", "123456781234567812345678", 24, 0 }, { NULL, NULL, 0, 0 } };
	size_t i;

	for (i = 0; i < sizeof rows / sizeof *rows; i++) {
		list[2] = (struct member){ rows[i].member, rows[i].p, rows[i].n, 0 };
		write_members(f, rows[i].name, rows[i].says, list, 3);
	}
}

/* Too many members of code, and one that would inflate to more than 64 MiB. */
static void
write_much_code(struct folder *f)
{
	static const char good[] = ALONE(TENSOR);
	static const struct edit edits[] = { { EDIT_SET, "c0.method", 8, 2, NULL, 0 },
		{ EDIT_SET, "l0.method", 8, 2, NULL, 0 }, SET32("c0.bytes", (64 << 20) + 1),
		SET32("l0.bytes", (64 << 20) + 1) };
	static struct member many[4100];
	static char names[4100][24], zeros[70000];
	struct gen g = { 0 };
	size_t i;

	for (i = 0; i < 4098; i++) {
		snprintf(names[i], sizeof names[i], "a/code/%zu.py", i);
		many[i] = (struct member){ names[i], "", 0, 0 };
	}
	many[0] = (struct member){ "a/data.pkl", good, sizeof good - 1, 0 };
	many[4098] = (struct member){ "a/data/0", "123456781234567812345678", 24, 0 };
	write_members(f, "torch_code_many", "has more than 4096 members of code", many, 4099);

	many[1] = many[0];
	many[2] = many[4098];
	many[0] = (struct member){ "a/code/x.py", zeros, sizeof zeros, 0 };
	put_zip(&g, many, 3);
	for (i = 0; i < sizeof edits / sizeof *edits; i++)
		edit(&g, &edits[i]);
	folder_file(f, "torch_code_large", &g);
	folder_fault(f, "torch_code_large", 4, "or more than 64 MiB of them", NULL);
	gen_free(&g);
}

/* ---- the legacy form ---- */

#define MAGIC "\200\002\212\nl\374\234F\371 j\250P\031."
#define SYSTEM_SIZES \
	"\200\002}X" LENGTH("\015") "little_endian\210s."
#define VALUES "\006\0\0\0\0\0\0\0" "\0\0\200\077\0\0\0\100\0\0\100\100\0\0\200\100\0\0\240\100\0\0\300\100"
#define STORAGE_OLD(TYPE, VIEW) "(X" LENGTH("\007") "storagectorch\n" TYPE "\n" KEY("0") "X" \
	LENGTH("\003") "cpuK\006" VIEW "tQ"
#define OLD(STORAGE_ID) TENSOR_OF(STORAGE_ID, "K\000", SHAPE_2_3, STRIDES_3_1)
#define LEGACY(OBJECT, KEYS, DATA) \
	MAGIC "\200\002M\351\003." SYSTEM_SIZES OBJECT "\200\002" KEYS "." DATA
#define GOOD ALONE(OLD(STORAGE_OLD("FloatStorage", "N")))

static const struct row legacy[] = {
	ROW("torch_old_version", "a version that is not known (E003)", MAGIC "\200\002M\352\003."),
	ROW("torch_old_cut", "no end at byte 0", MAGIC "\200\002M\351\003."),
	ROW("torch_old_sizes", "without its system's sizes", MAGIC "\200\002M\351\003.]."),
	ROW("torch_old_calls", "calls os.system('id')", LEGACY(PROTO SYSTEM ".", "]" KEY("0") "a", VALUES)),
	ROW("torch_old_calls_in_sizes", "calls os.system('id')",
	    MAGIC "\200\002M\351\003." PROTO SYSTEM "."),
	ROW("torch_old_calls_in_keys", "calls os.system('id')", LEGACY(GOOD, SYSTEM, VALUES)),
	ROW("torch_old_keys", "without a list of its storages", LEGACY(GOOD, "}", VALUES)),
	ROW("torch_old_key_unknown", "a storage of unknown type", LEGACY(GOOD, "]" KEY("1") "a", VALUES)),
	ROW("torch_old_key_twice", "lists a storage twice",
	    LEGACY(GOOD, "](" KEY("0") KEY("0") "e", VALUES)),
	ROW("torch_old_storage_missing", "a storage that the file lacks", LEGACY(GOOD, "]", "")),
	ROW("torch_old_storage_cut", "that ends inside its storages",
	    LEGACY(GOOD, "]" KEY("0") "a", "\006\0\0\0\0\0\0\0" "1234")),
	ROW("torch_old_storage_huge", "that ends inside its storages",
	    LEGACY(GOOD, "]" KEY("0") "a", "\0\0\0\0\0\0\0\100" "1234")),
	ROW("torch_old_storage_size_cut", "that ends inside its storages",
	    LEGACY(GOOD, "]" KEY("0") "a", "\006\0\0")),
	ROW("torch_old_trailing", "has 1 bytes behind its last storage",
	    LEGACY(GOOD, "]" KEY("0") "a", VALUES "x")),
	ROW("torch_old_two_types", "gives one storage two types",
	    LEGACY(PROTO "}(" KEY("a") OLD(STORAGE_OLD("FloatStorage", "N")) KEY("b")
	           OLD(STORAGE_OLD("HalfStorage", "N")) "u.", "]" KEY("0") "a", VALUES)),
	ROW("torch_old_view_past_end", "fewer than the pickle says",
	    LEGACY(ALONE(OLD(STORAGE_OLD("FloatStorage", KEY("v") "K\001K\006\207"))),
	           "]" KEY("0") "a", VALUES)),
	ROW("torch_old_view_negative", "a part of a storage that is not described",
	    LEGACY(ALONE(OLD(STORAGE_OLD("FloatStorage", KEY("v") "J\377\377\377\377K\006\207"))),
	           "]" KEY("0") "a", VALUES)),

	/* Pickles alone. */
	ROW("pickle_of_nothing", "is a Python pickle without tensors of PyTorch", PROTO "}."),
	ROW("pickle_calls", "calls os.system('id')", PROTO SYSTEM "."),
	ROW("pickle_of_a_class", "estimators of the class DecisionTree are not read",
	    "\200\004\214\014sklearn.tree\214\014DecisionTree\223)\201."),
	ROW("pickle_with_references", "refers to objects outside", PROTO "Pabc\n."),
};

static void
write_legacy(struct folder *f)
{
	size_t i;

	for (i = 0; i < sizeof legacy / sizeof *legacy; i++) {
		struct gen g = { 0 };

		put(&g, legacy[i].p, legacy[i].n);
		folder_file(f, legacy[i].name, &g);
		folder_fault(f, legacy[i].name, legacy[i].status, legacy[i].says, NULL);
		gen_free(&g);
	}
}

int
main(int argc, char **argv)
{
	static const char good[] = ALONE(TENSOR), good_old[] =
		LEGACY(GOOD, "]" KEY("0") "a", VALUES);
	struct gen g = { 0 }, old = { 0 };
	struct folder f;

	folder_open(&f, argc, argv);
	put_torch(&g, good, sizeof good - 1);
	folder_file(&f, "good", &g);
	put(&old, good_old, sizeof good_old - 1);
	folder_file(&f, "good_old", &old);
	write_functions(&f);
	write_pickles(&f);
	write_bombs(&f);
	write_called_names(&f);
	write_long_key(&f);
	write_many_names(&f);
	write_archives(&f);
	write_offset_64(&f);
	write_folders(&f);
	write_scripts(&f);
	write_much_code(&f);
	write_legacy(&f);
	gen_free(&g);
	gen_free(&old);
	return folder_close(&f);
}
