/* t_aprjson: APR1 files with a JSON layout: tensors, keys of each kind, and faults. */
#include "imports.h"

#include <zlib.h>

#include "imports/aprjson/aprjson.h"

static const struct format_options usual;

#define META "{\"name\":\"tiny\",\"layers\":2,\"big\":18446744073709551615,\"rate\":0.1,\"yes\":true," \
	"\"none\":null,\"vocab\":[\"<pad>\",\"a\"],\"mixed\":[1,\"a\"],\"config\":{\"a\":[1]},\"deep\":[[1]]}"
#define FIRST "{\"name\":\"w\",\"dtype\":\"F32\",\"shape\":[2,1],\"offset\":0,\"size\":8}"
#define SECOND "{\"name\":\"b\",\"dtype\":\"I8\",\"shape\":[4],\"offset\":8,\"size\":4}"
#define INDEX "[" FIRST "," SECOND "]"
#define VALUES "\0\0\x80\x3f\0\0\0\xc0\1\2\3\xff"

static void
put_file(struct gen *g, const char *meta, uint32_t count, const char *index, size_t values)
{
	put_text(g, "APR1");
	mark(g, "meta_bytes");
	put_u32(g, (uint32_t)strlen(meta));
	put_text(g, meta);
	mark(g, "count");
	put_u32(g, count);
	mark(g, "index_bytes");
	put_u32(g, (uint32_t)strlen(index));
	put_text(g, index);
	mark(g, "values");
	put(g, VALUES, values);
	mark(g, "crc");
	put_u32(g, (uint32_t)crc32(0, g->p, (uInt)g->n));
}

static void
mother(struct gen *g)
{
	put_file(g, META, 2, INDEX, 12);
}

/* ---- a sound file ---- */

static bool
has_key(const struct model *m, const char *name, const char *type, const char *text)
{
	const struct meta *k = model_find(m, name);
	char t[VALUE_TYPE_TEXT];
	struct buf shown = { 0 };
	json_t *v = k && k->wire ? value_to_json(k->type, k->wire, k->wire_bytes) : NULL;
	bool same = v && json_write(v, &shown) == 0 && buf_string(&shown) &&
	            strcmp((char *)shown.p, text) == 0 && strcmp(value_type_text(k->type, t), type) == 0;

	if (!same)
		printf("# %s: %s %s\n", name, k ? value_type_text(k->type, t) : "", shown.p ? (char *)shown.p : "");
	json_decref(v);
	buf_free(&shown);
	return same;
}

static void
tensors_and_keys(bool pipe)
{
	static const char *const keys[][3] = { { "name", "string", "\"tiny\"" }, { "layers", "u32", "2" },
		{ "big", "u64", "\"18446744073709551615\"" }, { "rate", "f64", "\"0.10000000000000001\"" },
		{ "yes", "bool", "true" }, { "vocab", "array:string", "[\"<pad>\",\"a\"]" } };
	static const char *const json[] = { "none", "mixed", "config", "deep" };
	struct gen g = { 0 }, w = { 0 }, b = { 0 };
	struct brought x;
	size_t i;

	mother(&g);
	put(&w, VALUES, 8);
	put(&b, &VALUES[8], 4);
	bring(&x, &format_aprjson, g.p, g.n, &usual, pipe);
	test_ok(x.source && holds(&x, "w", "F32", "2x1", &w) && holds(&x, "b", "I8", "4", &b),
	        "both tensors%s: %s", pipe ? ", pipe" : "", x.err.fact);
	for (i = 0; x.source && i < sizeof keys / sizeof *keys; i++)
		test_ok(has_key(x.source->plan, keys[i][0], keys[i][1], keys[i][2]), "key %s", keys[i][0]);
	for (i = 0; x.source && i < sizeof json / sizeof *json; i++)
		test_ok(model_find(x.source->plan, json[i]) &&
		        model_find(x.source->plan, json[i])->type.leaf == VALUE_JSON,
		        "key %s stays JSON", json[i]);
	let_go(&x);
	gen_free(&g);
	gen_free(&w);
	gen_free(&b);
}

/* ---- faults ---- */

static void
faults_are_named(void)
{
	static const struct fault faults[] = {
		{ "magic", 4, "ends inside the head", TEXT("values", ""), CUT("meta_bytes") },
		{ "metadata too long", 4, "byte 4: metadata of", SET32("meta_bytes", 4000000000), { 0 } },
		{ "metadata too short", 4, "an index of", ADD32("meta_bytes", -1), { 0 } },
		{ "index too long", 4, "an index of", SET32("index_bytes", UINT32_MAX), { 0 } },
		{ "a bit in the values", 4, "CRC-32", SET8("values", 1), { 0 } },
		{ "a bit in the CRC", 4, "CRC-32", ADD32("crc", 1), { 0 } },
		{ "bytes behind", 4, "CRC-32", TAIL("x"), { 0 } },
	};
	static const struct {
		const char *name, *meta, *index;
		unsigned count, values;
		const char *says;
	} rows[] = {
		{ "two tensors of three", "{}", INDEX, 3, 12, "an index of 2 tensors, but its head says 3" },
		{ "not JSON", "{a}", INDEX, 2, 12, "JSON" },
		{ "a name twice", "{\"a\":1,\"a\":2}", INDEX, 2, 12, "duplicate" },
		{ "an integer of 80 bits in an object", "{\"a\":{\"b\":1208925819614629174706176}}", INDEX, 2, 12,
		  "too big integer" },
		{ "metadata is a list", "[]", INDEX, 2, 12, "" },
		{ "index is an object", "{}", "{}", 0, 0, "not a list" },
		{ "index is not JSON", "{}", "[", 0, 0, "JSON" },
		{ "an entry is a number", "{}", "[1]", 1, 0, "lacks a member" },
		{ "without a size", "{}", "[{\"name\":\"w\",\"dtype\":\"F32\",\"shape\":[1],\"offset\":0}]", 1, 4,
		  "lacks a member" },
		{ "shape is a number", "{}", "[{\"name\":\"w\",\"dtype\":\"F32\",\"shape\":1,\"offset\":0,"
		  "\"size\":4}]", 1, 4, "lacks a member" },
		{ "a negative dimension", "{}", "[{\"name\":\"w\",\"dtype\":\"F32\",\"shape\":[-1],\"offset\":0,"
		  "\"size\":4}]", 1, 4, "dimension that is not a number" },
		{ "nine dimensions", "{}", "[{\"name\":\"w\",\"dtype\":\"F32\",\"shape\":[1,1,1,1,1,1,1,1,1],"
		  "\"offset\":0,\"size\":4}]", 1, 4, "has 9 dimensions" },
		{ "an unknown type", "{}", "[{\"name\":\"w\",\"dtype\":\"F33\",\"shape\":[1],\"offset\":0,"
		  "\"size\":4}]", 1, 4, "of type F33" },
		{ "outside", "{}", "[{\"name\":\"w\",\"dtype\":\"F32\",\"shape\":[1],\"offset\":1,\"size\":4}]",
		  1, 4, "outside the values" },
		{ "an offset near 2^63", "{}", "[{\"name\":\"w\",\"dtype\":\"F32\",\"shape\":[1],\"offset\":"
		  "9223372036854775807,\"size\":4}]", 1, 4, "outside the values" },
		{ "a size that is not the shape's", "{}", "[{\"name\":\"w\",\"dtype\":\"F32\",\"shape\":[2],"
		  "\"offset\":0,\"size\":4}]", 1, 4, "its shape needs 8" },
		{ "a shape beyond 2^64", "{}", "[{\"name\":\"w\",\"dtype\":\"F32\",\"shape\":[4294967296,"
		  "4294967296],\"offset\":0,\"size\":0}]", 1, 4, "" },
		{ "two at one place", "{}", "[" FIRST ",{\"name\":\"b\",\"dtype\":\"I8\",\"shape\":[4],"
		  "\"offset\":0,\"size\":4}]", 2, 12, "" },
		{ "a hole", "{}", "[{\"name\":\"w\",\"dtype\":\"F32\",\"shape\":[1],\"offset\":4,\"size\":4}]",
		  1, 8, "" },
		{ "bytes behind the tensors", "{}", "[" FIRST "]", 1, 12, "4 bytes behind its tensors" },
		{ "a tensor twice", "{}", "[" FIRST ",{\"name\":\"w\",\"dtype\":\"I8\",\"shape\":[4],"
		  "\"offset\":8,\"size\":4}]", 2, 12, "" },
	};
	struct brought b;
	struct gen g;
	size_t i;

	try_faults(&format_aprjson, &usual, mother, faults, sizeof faults / sizeof *faults);
	for (i = 0; i < sizeof rows / sizeof *rows; i++) {
		g = (struct gen){ 0 };
		put_file(&g, rows[i].meta, rows[i].count, rows[i].index, rows[i].values);
		bring(&b, &format_aprjson, g.p, g.n, &usual, i % 2);
		test_ok(b.err.code != ERR_NONE && err_exit(&b.err) == 4 && strstr(b.err.fact, rows[i].says),
		        "%s: %s: %s", rows[i].name, b.err.object, b.err.fact);
		let_go(&b);
		gen_free(&g);
	}
}

static void
others_are_not_taken(void)
{
	struct gen g = { 0 };

	mother(&g);
	test_ok(format_aprjson.probe(g.p, 64), "the head of a file is recognized");
	test_ok(!format_aprjson.probe((const uint8_t *)"APR1\1\0\0\1\0\7\0\1", 12), "whisper.apr is not");
	test_ok(!format_aprjson.probe((const uint8_t *)"APR1\2\0\0\0\4\0\0\0", 12), "APR2 is not");
	gen_free(&g);
}

int
main(void)
{
	tensors_and_keys(false);
	tensors_and_keys(true);
	faults_are_named();
	try_cuts("the file", &format_aprjson, &usual, mother, false);
	others_are_not_taken();
	return test_done();
}
