/* Files of PyTorch in the tar form, and archives with one fault each. */
#include "imports.h"

#include "../gen/torch_tar.h"
#include "imports/torch/torch.h"

static const struct format_options usual;

static bool
has_floats(const struct brought *b, const char *name, const char *shape, const float *v, size_t n)
{
	struct gen want = { 0 };
	bool r;

	put(&want, v, n * sizeof *v);
	r = holds(b, name, "F32", shape, &want);
	gen_free(&want);
	return r;
}

static void
make(struct gen *g, const struct tar_form *form)
{
	*g = (struct gen){ 0 };
	made_tar(g, form, TAR_PICKLE, sizeof TAR_PICKLE - 1);
}

static void
sound(const char *what, const struct tar_form *form, bool pipe)
{
	static const float plain[] = { 1, 2, 3, 4, 5, 6 }, turned[] = { 1, 4, 2, 5, 3, 6 },
		part[] = { 4, 5 };
	struct gen g, bytes = { 0 }, none = { 0 };
	struct brought b;
	json_t *facts;

	make(&g, form);
	if (test_ok(bring(&b, &format_pytorch, g.p, g.n, &usual, pipe) == 0 &&
	            b.source->plan->tensor_count == 5, "%s%s: %s", what, pipe ? ", pipe" : "",
	            b.err.fact)) {
		test_ok(has_floats(&b, "a", "2x3", plain, 6), "a tensor");
		test_ok(has_floats(&b, "b", "3x2", turned, 6), "a parameter around a turned view");
		test_ok(has_floats(&b, "c", "2", part, 2), "a tensor in a part of a storage");
		test_ok(holds(&b, "d", "F16", "0", &none), "a tensor without a storage is empty");
		put(&bytes, "\007\010\011\012", 4);
		test_ok(holds(&b, "e", "U8", "4", &bytes), "a tensor of another storage");
		test_ok(strcmp(noted, "left out: values that are not tensors: 2\n") == 0,
		        "a storage alone and a number are values");
		facts = format_pytorch.reads->describe(b.source, &b.err);
		test_ok(strcmp(json_string_value(json_object_get(facts, "form")), "tar") == 0 &&
		        json_integer_value(json_object_get(facts, "members")) == 4, "the form is reported");
		json_decref(facts);
	}
	let_go(&b);
	gen_free(&g);
	gen_free(&bytes);
}

/* ---- faults ---- */

/* `at` is an offset behind the first edit's mark; sums are made right again unless `sum`. */
static const struct {
	struct fault fault;
	size_t at;
	bool sum;
} faults[] = {
	{ { "a wrong sum", 4, "wrong sum, at offset 1024", SET8("h1", 'x'), { 0 } }, 0, true },
	{ { "a wrong sum of a later member", 4, "wrong sum", SET8("h4", 'x'), { 0 } }, 0, true },
	{ { "a sum that is not a number", 4, "wrong sum", TEXT("h2", "zzzzzz"), { 0 } }, 148, true },
	{ { "a size that is not octal", 4, "size that cannot be", TEXT("h2", "00000000129"), { 0 } }, 124, false },
	{ { "a size of letters", 4, "size that cannot be", TEXT("h2", "0x000000012"), { 0 } }, 124, false },
	{ { "a size of spaces", 4, "size that cannot be", TEXT("h2", "            "), { 0 } }, 124, false },
	{ { "digits behind a space", 4, "size that cannot be", TEXT("h2", "0000 000012"), { 0 } }, 124, false },
	{ { "a binary size of 2^63", 4, "size that cannot be", TEXT("h2", "\x80\0\0\0\x80\0\0\0\0\0\0\0"), { 0 } }, 124, false },
	{ { "a binary size of 2^80", 4, "size that cannot be", TEXT("h2", "\x80\0\1\0\0\0\0\0\0\0\0\0"), { 0 } }, 124, false },
	{ { "a negative binary size", 4, "size that cannot be", TEXT("h2", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"), { 0 } }, 124, false },
	{ { "a member past the end", 4, "ends inside a member", TEXT("h4", "77777777777"), { 0 } }, 124, false },
	{ { "a binary size past the end", 4, "ends inside a member", TEXT("h4", "\x80\0\0\0\x0f\0\0\0\0\0\0\0"), { 0 } }, 124, false },
	{ { "cut in the last member", 4, "ends inside a member", CUT("views"), { 0 } }, 0, false },
	{ { "cut before the end", 4, "has no end", CUT("end"), { 0 } }, 0, false },
	{ { "cut inside the end", 4, "has no end", CUT("rest"), { EDIT_CUT, "end", 0, 0, NULL, 0 } }, 0, false },
	{ { "more behind the end", 4, "more behind its end", TAIL("x"), { 0 } }, 0, false },
	{ { "a second archive behind the end", 4, "more behind its end", TEXT("rest", "sys_info"), { 0 } }, 0, false },
	{ { "a hard link", 4, "has a link", SET8("h4", '1'), { 0 } }, 156, false },
	{ { "a link", 4, "has a link", SET8("h2", '2'), { 0 } }, 156, false },
	{ { "a device", 4, "a type that is not read", SET8("h2", '3'), { 0 } }, 156, false },
	{ { "a long name of GNU", 4, "a type that is not read", SET8("h2", 'L'), { 0 } }, 156, false },
	{ { "a sparse member of GNU", 4, "a type that is not read", SET8("h4", 'S'), { 0 } }, 156, false },
	{ { "a type of 255", 4, "a type that is not read", SET8("h4", 255), { 0 } }, 156, false },
	{ { "a name that climbs", 4, "leaves its folder", TEXT("h2", "../pickle"), { 0 } }, 0, false },
	{ { "a name that climbs later", 4, "leaves its folder", TEXT("h2", "a/../../pickle"), { 0 } }, 0, false },
	{ { "a name that ends in ..", 4, "leaves its folder", TEXT("h2", "a/..\0"), { 0 } }, 0, false },
	{ { "a name from the root", 4, "leaves its folder", TEXT("h2", "/etc/pickle"), { 0 } }, 0, false },
	{ { "a name from the root behind ./", 4, "leaves its folder", TEXT("h2", ".//etc/pickle"), { 0 } }, 0, false },
	{ { "a name with an empty part", 4, "leaves its folder", TEXT("h2", "a//pickle"), { 0 } }, 0, false },
	{ { "a name with a backslash", 4, "leaves its folder", TEXT("h2", "..\\pickle"), { 0 } }, 0, false },
	{ { "a prefix that climbs", 4, "leaves its folder", TEXT("h2", "../.."), { 0 } }, 345, false },
	{ { "a name that is not text", 4, "not text", TEXT("h2", "\xff\xfe"), { 0 } }, 0, false },
	{ { "no name", 4, "without a name", TEXT("h2", "\0\0\0\0\0\0\0\0"), { 0 } }, 0, false },
	{ { "two members of one name", 4, "tensors is there twice", TEXT("h2", "tensors"), { 0 } }, 0, false },
	{ { "one name in two forms", 4, "tensors is there twice", TEXT("h2", "./tensors"), { 0 } }, 0, false },
	{ { "a prefix", 4, "without the member pickle", TEXT("h2", "a"), { 0 } }, 345, false },
	{ { "no object", 4, "without the member pickle", TEXT("h2", "qickle"), { 0 } }, 0, false },
	{ { "no storages", 4, "without the member storages", TEXT("h4", "x"), { 0 } }, 0, false },
	{ { "fields without their length", 4, "damaged field", TEXT("fields", "xx mtime"), { 0 } }, 0, false },
	{ { "fields that are too long", 4, "damaged field", TEXT("fields", "99 mtime"), { 0 } }, 0, false },
	{ { "fields that are too short", 4, "damaged field", TEXT("fields", "21 mtime"), { 0 } }, 0, false },
	{ { "a field without a key", 4, "damaged field", TEXT("fields", "22 ="), { 0 } }, 0, false },
	{ { "a field of length 0", 4, "damaged field", TEXT("fields", "00 mtime"), { 0 } }, 0, false },
	{ { "a size that is not a number", 4, "size that cannot be", TEXT("fields", "22 size=14900000x0.5"), { 0 } }, 0, false },
	{ { "a size of 10^18", 4, "ends inside a member", TEXT("fields", "22 size=1000000000000"), { 0 } }, 0, false },
	{ { "a name in the fields that climbs", 4, "leaves its folder", TEXT("fields", "22 path=../../../../a"), { 0 } }, 0, false },
	{ { "a name in the fields with NUL", 4, "not text", TEXT("fields", "22 path=sys_info\0aaaa"), { 0 } }, 0, false },
	{ { "a name in the fields that is there", 4, "is there twice", TEXT("fields", "22 path=./././tensors"), { 0 } }, 0, false },
	{ { "a sparse file in the fields", 4, "sparse member", TEXT("fields", "22 GNU.sparse.major=1"), { 0 } }, 0, false },
	{ { "fields for all members", 4, "one name or size", TEXT("h0", "g"), TEXT("fields", "22 path=abcdefghijklm") }, 156, false },
	{ { "too many fields", 4, "too many fields", TEXT("h0", "00000400000"), { 0 } }, 124, false },
	{ { "fields for nothing", 4, "fields for a member that is missing", CUT("h1"), TEXT("fields", "22 path=abcdefghijklm") }, 0, false },

	{ { "another version", 4, "version that is not known", TEXT("protocol", "M\351"), { 0 } }, 0, false },
	{ { "big-endian", 4, "big-endian tar file", SET8("little", 0x89), { 0 } }, 0, false },
	{ { "sizes that are not a dictionary", 4, "without its system's sizes", TEXT("system", "\200\002]."), { 0 } }, 0, false },
	{ { "sizes that call", 4, "calls os.system()", TEXT("system", "\200\002cos\nsystem\n)R."), { 0 } }, 0, false },
	{ { "a number of tensors that is negative", 4, "whose number", TEXT("count", "J\377\377\377\377."), { 0 } }, 0, false },
	{ { "a number of tensors that is huge", 4, "whose number", TEXT("count", "J\377\377\377\177."), { 0 } }, 0, false },
	{ { "a number of tensors that is text", 4, "whose number", TEXT("count", "U\1a."), { 0 } }, 0, false },
	{ { "one tensor more", 4, "no end at byte 0", TEXT("count", "\200\002K\006."), { 0 } }, 0, false },
	{ { "one tensor less", 4, "behind its storages or tensors", TEXT("count", "\200\002K\004."), { 0 } }, 0, false },
	{ { "a tensor that calls", 4, "calls os.system()", TEXT("tensor", "cos\nsystem\n)R."), { 0 } }, 0, false },
	{ { "a tensor that refers", 4, "refers to objects outside", TEXT("tensor", "P1\n."), { 0 } }, 0, false },
	{ { "a tensor of a storage that is missing", 4, "a storage that the file lacks", TEXT("tensor", "\200\002K\012K\011"), { 0 } }, 0, false },
	{ { "a tensor in a tensor", 4, "a storage that the file lacks", TEXT("tensor", "\200\002K\012K\013"), { 0 } }, 0, false },
	{ { "two tensors of one key", 4, "a storage or tensor twice", TEXT("tensor", "\200\002K\013"), { 0 } }, 0, false },
	{ { "a tensor with the key of a storage", 4, "a storage or tensor twice", TEXT("tensor", "\200\002K\002"), { 0 } }, 0, false },
	{ { "a tensor of unknown type", 4, "a tensor of unknown type", TEXT("no_storage", "\200\002K\015Nctorch\nXalf"), { 0 } }, 0, false },
	{ { "values without a storage", 4, "reaches past the end of its storage", TEXT("tensor", "I010\nN"), { 0 } }, 0, false },
	{ { "2^32 - 1 dimensions", 4, "ends inside its tensors", SET32("ndim", 0xffffffff), { 0 } }, 0, false },
	{ { "9 dimensions", 4, "damaged", SET32("ndim", 9), { 0 } }, 0, false },
	{ { "a negative size", 4, "negative", SET64("dim", UINT64_MAX), { 0 } }, 0, false },
	{ { "a size of 2^62", 4, "reaches past the end of its storage", SET64("dim", UINT64_C(1) << 62), { 0 } }, 0, false },
	{ { "a negative stride", 4, "negative", SET64("stride", UINT64_MAX), { 0 } }, 0, false },
	{ { "a stride of 2^62", 4, "reaches past the end of its storage", SET64("stride", UINT64_C(1) << 62), { 0 } }, 0, false },
	{ { "an offset past the end", 4, "reaches past the end of its storage", SET64("offset", 1), { 0 } }, 0, false },
	{ { "a negative offset", 4, "reaches past the end of its storage", SET64("offset", UINT64_MAX), { 0 } }, 0, false },
	{ { "a bomb", 4, "bytes in a file of", SET64("stride", 0), SET64("dim", UINT64_C(1) << 40) }, 0, false },
	{ { "a storage of unknown type", 4, "a storage that is not described", TEXT("storage", "\200\002K\001X\3\0\0\0cpuctorch\nXloatStorage"), { 0 } }, 0, false },
	{ { "a storage of 2^63 values", 4, "ends inside its storages", SET64("elements", UINT64_C(1) << 63), { 0 } }, 0, false },
	{ { "a storage of 2^40 values", 4, "ends inside its storages", SET64("elements", UINT64_C(1) << 40), { 0 } }, 0, false },
	{ { "two storages of one key", 4, "a storage or tensor twice", TEXT("storage", "\200\002K\002"), { 0 } }, 0, false },
	{ { "parts that are not a list", 4, "without a list of the parts", TEXT("views", "\200\002}."), { 0 } }, 0, false },
	{ { "parts that call", 4, "calls os.system()", TEXT("views", "cos\nsystem\n)R."), { 0 } }, 0, false },
	{ { "a part of nothing", 4, "that the storage lacks", TEXT("views", "\200\002]((K\003K\011"), { 0 } }, 0, false },
	{ { "a part past the end", 4, "that the storage lacks", TEXT("views", "\200\002]((K\003K\001K\003"), { 0 } }, 0, false },
	{ { "a part of 3 numbers", 4, "a part of a storage that is not described", TEXT("views", "\200\002]((K\003K\001K\002te."), { 0 } }, 0, false },
	{ { "a part with the key of a storage", 4, "a storage or tensor twice", TEXT("views", "\200\002]((K\002"), { 0 } }, 0, false },
};

static void
try_all(void)
{
	static const struct tar_form plain;
	struct brought b;
	struct gen g;
	size_t i;
	int pipe;

	for (i = 0; i < sizeof faults / sizeof *faults; i++)
		for (pipe = 0; pipe < 2; pipe++) {
			const struct fault *f = &faults[i].fault;

			make(&g, &plain);
			g.marks[g.mark_count++] = (struct mark){ "there",
				(f->edit.mark ? mark_at(&g, f->edit.mark) : 0) + faults[i].at };
			edit(&g, &(struct edit){ f->edit.op, f->edit.mark ? "there" : NULL, f->edit.value,
				f->edit.width, f->edit.bytes, f->edit.n });
			edit(&g, &f->second);
			if (!faults[i].sum)
				tar_resum(&g);
			bring(&b, &format_pytorch, g.p, g.n, &usual, pipe);
			test_ok(b.err.code != ERR_NONE && err_exit(&b.err) == f->exit &&
			        strstr(b.err.fact, f->says), "%s%s: %s: %s", f->name, pipe ? ", pipe" : "",
			        b.err.object, b.err.fact);
			let_go(&b);
			gen_free(&g);
		}
}

/* Objects that are refused, or that refer to what is not there. */
static void
try_objects(void)
{
	static const struct { const char *says, *p; size_t n; } rows[] = {
#define OBJECT(SAYS, P) { SAYS, P, sizeof(P) - 1 }
		OBJECT("calls os.system('id')", "\200\002}" KEY("a") "cos\nsystem\nX" LENGTH("\002") "id\205Rs."),
		OBJECT("is a tensor that the file lacks", "\200\002}" KEY("a") PERSISTENT("\002", "77") "s."),
		OBJECT("is a tensor that the file lacks", "\200\002}" KEY("a") PERSISTENT("\002", "-1") "s."),
		OBJECT("is a tensor that the file lacks", "\200\002}" KEY("a") PERSISTENT("\003", "1\0000") "s."),
		OBJECT("is a tensor that the file lacks", "\200\002}" KEY("a") PERSISTENT("\003", "10 ") "s."),
		OBJECT("holds no tensors", "\200\002}" KEY("a") "K\012Qs."),
		OBJECT("holds no tensors", "\200\002}" KEY("a") PERSISTENT("\001", "1") "s."),
		OBJECT("bytes behind the end of its pickle", "\200\002}" KEY("a") PERSISTENT("\002", "10") "s.x"),
		OBJECT("is changed by its pickle", "\200\002}" KEY("a") "ctorch.nn.parameter\nParameter\n"
		       PERSISTENT("\002", "10") "\205R}bs."),
		OBJECT("is changed by its pickle", "\200\002}" KEY("a") "ctorch.nn.parameter\nParameter\n"
		       PERSISTENT("\002", "10") "\205RK\001K\002K\003\207bs."),
	};
	static const struct tar_form plain;
	struct brought b;
	size_t i;

	for (i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct gen g = { 0 };

		made_tar(&g, &plain, rows[i].p, rows[i].n);
		bring(&b, &format_pytorch, g.p, g.n, &usual, false);
		test_ok(b.err.code != ERR_NONE && err_exit(&b.err) == 4 && strstr(b.err.fact, rows[i].says),
		        "%s: %s", b.err.object, b.err.fact);
		let_go(&b);
		gen_free(&g);
	}
}

static void
make_plain(struct gen *g)
{
	static const struct tar_form plain;

	make(g, &plain);
	g->n = mark_at(g, "rest");
}

int
main(void)
{
	static const struct { const char *what; struct tar_form form; } forms[] = {
		{ "as Python writes it", { 0 } },
		{ "binary sizes", { .binary = true } },
		{ "names that begin with ./", { .dots = true } },
		{ "a name in more fields", { .path = true } },
		{ "a name and a size in more fields", { .path = true, .size = true } },
		{ "a folder in front", { .folder = true } },
	};
	size_t i;

	for (i = 0; i < sizeof forms / sizeof *forms; i++) {
		sound(forms[i].what, &forms[i].form, false);
		sound(forms[i].what, &forms[i].form, true);
	}
	try_all();
	try_objects();
	try_cuts("the tar form", &format_pytorch, &usual, make_plain, false);
	return test_done();
}
