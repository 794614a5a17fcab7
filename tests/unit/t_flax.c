/* t_flax: parameters of Flax: arrays whole and in chunks, keys, and faults. */
#include "imports.h"

#include "../gen/flax.h"
#include "wire/msgpack.h"

static const struct format_options usual;
static const float six[] = { 1, -2, 3, 4, 5, 6 };

/* ---- tokens ---- */

static void
tokens_of_each_kind(void)
{
	static const struct {
		const char *bytes;
		size_t n;
		int r, kind;
		int64_t number; /* or length */
	} list[] = {
		{ "\x7f", 1, 1, MSGPACK_INT, 127 }, { "\xe0", 1, 1, MSGPACK_INT, -32 },
		{ "\xcc\xff", 2, 1, MSGPACK_INT, 255 }, { "\xcd\1\2", 3, 1, MSGPACK_INT, 258 },
		{ "\xd0\xff", 2, 1, MSGPACK_INT, -1 }, { "\xd1\xff\xfe", 3, 1, MSGPACK_INT, -2 },
		{ "\xd3\x80\0\0\0\0\0\0\0", 9, 1, MSGPACK_INT, INT64_MIN },
		{ "\xce\xff\xff\xff\xff", 5, 1, MSGPACK_INT, 4294967295 },
		{ "\xd2\x7f\0\0\0", 5, 1, MSGPACK_INT, 2130706432 },
		{ "\xc0", 1, 1, MSGPACK_NIL, 0 }, { "\xc3", 1, 1, MSGPACK_BOOL, 1 },
		{ "\x8f", 1, 1, MSGPACK_MAP, 15 }, { "\xdf\xff\xff\xff\xff", 5, 1, MSGPACK_MAP, 4294967295 },
		{ "\xdc\1\0", 3, 1, MSGPACK_ARRAY, 256 }, { "\xa3" "abc", 4, 1, MSGPACK_TEXT, 3 },
		{ "\xd9\2ab", 4, 1, MSGPACK_TEXT, 2 }, { "\xc5\0\1x", 4, 1, MSGPACK_BYTES, 1 },
		{ "\xd4\5x", 3, 1, MSGPACK_EXT, 1 }, { "\xc7\2\5xy", 5, 1, MSGPACK_EXT, 2 },
		{ "", 0, 0, MSGPACK_NIL, 0 }, { "\xc1", 1, -1, 0, 0 }, { "\xcd\1", 2, -1, 0, 0 },
		{ "\xa3" "ab", 3, -1, 0, 0 }, { "\xc6\xff\xff\xff\xff", 5, -1, 0, 0 },
		{ "\xd8", 1, -1, 0, 0 }, { "\xd8\1abc", 5, -1, 0, 0 }, { "\xdb\0\0", 3, -1, 0, 0 },
	};
	struct msgpack_token t;
	struct msgpack m;
	struct err e;
	size_t i;
	int r;

	for (i = 0; i < sizeof list / sizeof *list; i++) {
		e = (struct err)ERR_INIT;
		msgpack_open(&m, (const uint8_t *)list[i].bytes, list[i].n, 7, "in", &e);
		r = msgpack_next(&m, &t);
		test_ok(r == list[i].r && (r <= 0 || ((int)t.kind == list[i].kind && m.at == m.n &&
		        (t.kind == MSGPACK_INT || t.kind == MSGPACK_BOOL ? (int64_t)t.number
		                                                          : (int64_t)t.n) == list[i].number)),
		        "token %zu", i);
		test_ok(r >= 0 || (e.code == ERR_CORRUPT && strncmp(e.fact, "byte ", 5) == 0), "%s", e.fact);
	}
	e = (struct err)ERR_INIT;
	msgpack_open(&m, (const uint8_t *)"\xca\x3f\xc0\0\0\xcb\xbf\xf8\0\0\0\0\0\0", 14, 0, "in", &e);
	test_ok(msgpack_next(&m, &t) == 1 && t.real == 1.5 && msgpack_next(&m, &t) == 1 &&
	        t.real == -1.5, "floats");
}

/* ---- models ---- */

static void
mother(struct gen *g)
{
	struct gen body = { 0 };

	mark(g, "top");
	put_map(g, 3);
	put_word(g, "params");
	put_map(g, 2);
	put_word(g, "dense");
	put_map(g, 2);
	put_array(g, "kernel", "2x3", "float32", six, 24);
	put_array(g, "bias", "3", "bfloat16", "\x80\x3f\0\0\0\x40", 6);
	put_chunked(g, "embedding", "3x2", "float32", six, 8, 16, 4);
	put_word(g, "step");
	put_u8(g, 100);
	put_word(g, "opt");
	put_map(g, 7);
	put_word(g, "count");
	put_array_bytes(&body, "", "int32", "\7\0\0\0", 4);
	put_ext(g, 3, &body);
	put_word(g, "rate");
	put_u8(g, 0xcb);
	put_big(g, 0x3fb0000000000000, 8);
	put_word(g, "name");
	put_word(g, "adam");
	put_word(g, "none");
	put_u8(g, 0xc0);
	put_word(g, "yes");
	put_u8(g, 0xc3);
	put_word(g, "low");
	put_u8(g, 0xff);
	put_word(g, "complex");
	put(&body, "\x92\xca\0\0\0\0\xca\0\0\0\0", 11);
	put_ext(g, 2, &body);
}

static void
is(const struct brought *b, const char *name, const char *type, const char *shape, const void *p,
   size_t n)
{
	struct gen want = { 0 };

	put(&want, p, n);
	test_ok(b->source && holds(b, name, type, shape, &want), "%s: %s", name, b->err.fact);
	gen_free(&want);
}

static void
a_model_and_its_keys(void)
{
	static const char *const keys[] = { "flax.step", "flax.opt.rate", "flax.opt.name",
		"flax.opt.yes", "flax.opt.low", "flax.kernel_layout" };
	struct gen g = { 0 };
	struct brought b;
	size_t i;
	int pipe;

	mother(&g);
	for (pipe = 0; pipe < 2; pipe++) {
		bring(&b, &format_flax, g.p, g.n, &usual, pipe);
		is(&b, "params.dense.kernel", "F32", "2x3", six, 24);
		is(&b, "params.dense.bias", "BF16", "3", "\x80\x3f\0\0\0\x40", 6);
		is(&b, "params.embedding", "F32", "3x2", six, 24);
		is(&b, "opt.count", "I32", "scalar", "\7\0\0\0", 4);
		for (i = 0; b.source && i < sizeof keys / sizeof *keys; i++)
			test_ok(model_find(b.source->plan, keys[i]) != NULL, "%s", keys[i]);
		test_ok(b.source && b.source->plan->meta_count == 6, "six keys");
		test_ok(strstr(noted, "complex numbers that are not arrays: 1") != NULL, "a note");
		let_go(&b);
	}
	test_ok(format_flax.probe(g.p, 64), "the content decides");
	gen_free(&g);
}

/* ---- faults ---- */

static void
chunk_fault(struct gen *g, unsigned which)
{
	static const char *const names[] = { "shape", "chunks" };
	struct gen body = { 0 };

	put_map(g, 1);
	put_word(g, "w");
	put_map(g, which == 0 ? 2 : 3);
	put_u8(g, 0xd9);
	put_u8(g, 25);
	put_text(g, "__msgpack_chunked_array__");
	put_u8(g, which == 1 ? 0xc2 : 0xc3);
	put_word(g, which == 2 ? "form" : names[0]);
	put_map(g, 1);
	put_word(g, which == 3 ? "1" : which == 4 ? "x" : "0");
	put_u8(g, which == 5 ? 0xff : 4);
	put_word(g, which == 6 ? names[0] : names[1]);
	put_map(g, which == 7 ? 0 : 2);
	put_word(g, "0");
	put_array_bytes(&body, which == 8 ? "1x2" : "2", "float32", six, 8);
	put_ext(g, which == 9 ? 3 : 1, &body);
	put_word(g, which == 10 ? "0" : which == 11 ? "2" : "1");
	put_array_bytes(&body, which == 12 ? "1" : which == 13 ? "4" : "2",
	                which == 12 || which == 14 ? "int32" : which == 13 ? "int16" : "float32", six,
	                which == 12 ? 4 : 8);
	put_ext(g, 1, &body);
}

static const char *const chunk_says[] = { "not a map of shape and chunks",
	"not a map of shape and chunks", "not a map of shape and chunks", "not numbers",
	"not numbers", "not a map of sizes", "not a map of sizes", "not a map of arrays",
	"several types or dimensions", "twice there or not an array", "twice there or not an array",
	"not numbers", "several types", "several types", "several types" };

/* Whole files of a few bytes. */
static const struct {
	const char *says, *bytes;
	size_t n;
} small[] = {
#define SMALL(SAYS, BYTES) { SAYS, BYTES, sizeof(BYTES) - 1 }
	SMALL("is not a map", "\x93\1\2\3"),
	SMALL("holds no array of Flax", "\x81\xa1" "a\1"),
	SMALL("followed by other bytes", "\x81\xa1" "a\1\1"),
	SMALL("ends inside a map", "\xdf\xff\xff\xff\xff\xa1" "a\1"),
	SMALL("not a text", "\x81\1\1"),
	SMALL("name is empty", "\x81\xa0\1"),
	SMALL("has a NUL", "\x81\xa1\0\1"),
	SMALL("list or bytes", "\x81\xa1" "a\x91\1"),
	SMALL("value of type 9", "\x81\xa1" "a\xd4\x09x"),
	SMALL("not an array of shape, type and bytes", "\x81\xa1" "a\xd4\1x"),
	SMALL("without a shape", "\x81\xa1" "a\xc7\4\1\x93\1\1\1"),
	SMALL("9 dimensions", "\x81\xa1" "a\xc7\2\1\x93\x99"),
	SMALL("list of sizes", "\x81\xa1" "a\xc7\3\1\x93\x91\xff"),
	SMALL("list of sizes", "\x81\xa1" "a\xc7\x14\1\x93\x92\xcf\xff\xff\xff\xff\xff\xff\xff\xff"
	      "\xcf\xff\xff\xff\xff\xff\xff\xff\xff"),
	SMALL("without a type", "\x81\xa1" "a\xc7\4\1\x93\x91\1\1"),
	SMALL("type object, which", "\x81\xa1" "a\xc7\x0c\1\x93\x91\1\xa6object\xc4\0"),
	SMALL("type \\x1b, which", "\x81\xa1" "a\xc7\7\1\x93\x91\1\xa1\x1b\xc4\0"),
	SMALL("has 1 bytes, but", "\x81\xa1" "a\xc7\x0c\1\x93\x91\2\xa5uint8\xc4\1x"),
	SMALL("not an array of shape, type and bytes", "\x81\xa1" "a\xc7\x0d\1\x93\x91\1\xa5uint8\xc4\1xx"),
	SMALL("a value is longer", "\x81\xa1" "a\xc9\xff\xff\xff\xff\1x"),
	SMALL("c1 is not", "\x81\xa1" "a\xc1"),
};

static void
refused(struct gen *g, const char *says)
{
	struct brought b;

	bring(&b, &format_flax, g->p, g->n, &usual, false);
	test_ok(err_exit(&b.err) == 4 && strstr(b.err.fact, says), "%s: %s", says, b.err.fact);
	let_go(&b);
	gen_free(g);
}

static void
faults_are_named(void)
{
	struct gen g = { 0 };
	unsigned i;

	for (i = 0; i < sizeof small / sizeof *small; i++) {
		put(&g, small[i].bytes, small[i].n);
		refused(&g, small[i].says);
	}
	for (i = 0; i < sizeof chunk_says / sizeof *chunk_says; i++) {
		chunk_fault(&g, i);
		refused(&g, chunk_says[i]);
	}
	put_map(&g, 1);
	put_chunked(&g, "w", "3x3", "float32", six, 8, 16, 4);
	refused(&g, "24 bytes in chunks, but its shape needs 36");
	for (i = 0; i < 100; i++)
		put(&g, "\x81\xa1" "a", 3);
	refused(&g, "nest too deeply");
	for (i = 0; i < 40; i++) {
		put(&g, "\x81\xd9\xc8", 3);
		put_fill(&g, 'n', 200);
	}
	refused(&g, "too long");
	/* The dot before the second name is one byte more than the path may have. */
	put(&g, "\x81\xda\x0f\xa0", 4);
	put_fill(&g, 'n', 4000);
	put(&g, "\x81\xd9\x60", 3);
	put_fill(&g, 'm', 96);
	put(&g, "\x81\xa1" "a", 3);
	refused(&g, "too long");
}

static void
content_decides(void)
{
	static const struct { const char *head; size_t n; bool is; } list[] = {
		{ "\x81\xa1" "a\xc7\4\1\x93\x90\xa1", 8, true },
		{ "\x81\xa1" "a\xc9\0\1\0\0\1\x93\x91", 11, true },
		{ "\x81\xa7" "encoder\x82\xa5layer\xdf\0\0", 18, true },
		{ "\x81\xa7" "encoder\x82\xaflay", 13, true },
		{ "\x81\xa7" "encoder\1", 10, false },
		{ "\x81\xa1" "a\xc9\0\1\0\0\5\x93\x91", 11, false },
		{ "\x80\2}q\0X\1\0\0\0a", 11, false }, /* a pickle */
		{ "\x81\xa3\1\2\3\x81\xa1" "a\1", 9, false },
		{ "\x81\xa1" "a\x91\x81\xa1" "a\1", 8, false },
	};
	size_t i;

	for (i = 0; i < sizeof list / sizeof *list; i++)
		test_ok(format_flax.probe((const uint8_t *)list[i].head, list[i].n) == list[i].is,
		        "probe %zu", i);
}

int
main(void)
{
	tokens_of_each_kind();
	a_model_and_its_keys();
	faults_are_named();
	content_decides();
	try_cuts("model", &format_flax, &usual, mother, false);
	return test_done();
}
