/* safetensors_good: sound safetensors files, each with something that a reader,
 * the stream or a writer could get wrong.
 *
 * MANIFEST: name, and the file that a round trip must give (itself, or the same
 * said in the spelling of the reference library).
 */
#include "safetensors.h"

#define A "\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]}"
#define B "\"b\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[2,5]}"
#define META "\"__metadata__\":{\"format\":\"pt\",\"z\":\"last\",\"a\":\"first\"}"

/* Spelled like the reference library's: padded to 8. */
static const struct sound {
	const char *name, *header;
	size_t data;
} sound[] = {
	{ "safetensors_nothing", "{}", 0 },
	{ "safetensors_metadata_only", "{" META "}", 0 },
	{ "safetensors_metadata_empty", "{\"__metadata__\":{}," A "," B "}", 5 },
	{ "safetensors_metadata_first", "{" META "," A "," B "}", 5 },
	{ "safetensors_metadata_between", "{" A "," META "," B "}", 5 },
	{ "safetensors_metadata_last", "{" A "," B "," META "}", 5 },
	{ "safetensors_metadata_empty_last", "{" A "," B ",\"__metadata__\":{}}", 5 },
	{ "safetensors_metadata_empty_value", "{\"__metadata__\":{\"k\":\"\"}," A "}", 2 },
	{ "safetensors_metadata_like_a_tensor", "{\"__metadata__\":{\"dtype\":\"F32\",\"shape\":\"[2]\","
	  "\"data_offsets\":\"[0,8]\"}," A "}", 2 },
	{ "safetensors_key_like_ours", "{\"__metadata__\":{\"apr\":\"1\",\"apr.\":\"2\",\"apr.x\":\"3\","
	  "\"apr.blob\":\"4\",\"APR.metadata\":\"5\"}}", 0 },

	{ "safetensors_dtypes", "{\"bool\":{\"dtype\":\"BOOL\",\"shape\":[1],\"data_offsets\":[0,1]},"
	  "\"u8\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[1,2]},"
	  "\"i8\":{\"dtype\":\"I8\",\"shape\":[1],\"data_offsets\":[2,3]},"
	  "\"e5\":{\"dtype\":\"F8_E5M2\",\"shape\":[1],\"data_offsets\":[3,4]},"
	  "\"e4\":{\"dtype\":\"F8_E4M3\",\"shape\":[1],\"data_offsets\":[4,5]},"
	  "\"e8\":{\"dtype\":\"F8_E8M0\",\"shape\":[3],\"data_offsets\":[5,8]},"
	  "\"i16\":{\"dtype\":\"I16\",\"shape\":[1],\"data_offsets\":[8,10]},"
	  "\"u16\":{\"dtype\":\"U16\",\"shape\":[1],\"data_offsets\":[10,12]},"
	  "\"f16\":{\"dtype\":\"F16\",\"shape\":[1],\"data_offsets\":[12,14]},"
	  "\"bf16\":{\"dtype\":\"BF16\",\"shape\":[1],\"data_offsets\":[14,16]},"
	  "\"i32\":{\"dtype\":\"I32\",\"shape\":[1],\"data_offsets\":[16,20]},"
	  "\"u32\":{\"dtype\":\"U32\",\"shape\":[1],\"data_offsets\":[20,24]},"
	  "\"f32\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[24,32]},"
	  "\"c64\":{\"dtype\":\"C64\",\"shape\":[1],\"data_offsets\":[32,40]},"
	  "\"f64\":{\"dtype\":\"F64\",\"shape\":[1],\"data_offsets\":[40,48]},"
	  "\"i64\":{\"dtype\":\"I64\",\"shape\":[1],\"data_offsets\":[48,56]},"
	  "\"u64\":{\"dtype\":\"U64\",\"shape\":[1],\"data_offsets\":[56,64]}}", 64 },
	{ "safetensors_scalar", "{\"s\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0,4]}}", 4 },
	{ "safetensors_eight_axes", "{\"s\":{\"dtype\":\"F32\",\"shape\":[1,2,1,2,1,1,1,1],"
	  "\"data_offsets\":[0,16]}}", 16 },
	{ "safetensors_empty_tensors", "{\"z\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[0,0]},"
	  "\"y\":{\"dtype\":\"F16\",\"shape\":[2,0,3],\"data_offsets\":[0,0]},"
	  "\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]},"
	  "\"x\":{\"dtype\":\"F32\",\"shape\":[0,7],\"data_offsets\":[2,2]},"
	  "\"b\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[2,5]},"
	  "\"w\":{\"dtype\":\"I64\",\"shape\":[0],\"data_offsets\":[5,5]}}", 5 },
	{ "safetensors_only_empty_tensors",
	  "{\"b\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[0,0]},"
	  "\"a\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[0,0]}}", 0 },
	{ "safetensors_index_backwards", "{" B "," A "}", 5 },
	{ "safetensors_index_of_empty_behind",
	  "{" A ",\"e\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[0,0]}}", 2 },
	{ "safetensors_index_mixed", "{\"c\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[5,6]}," META
	  "," B ",\"d\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[6,7]}," A "}", 7 },
	{ "safetensors_members_sorted", "{\"__metadata__\":{\"format\":\"mlx\"},"
	  "\"a\":{\"data_offsets\":[0,2],\"dtype\":\"U8\",\"shape\":[2]},"
	  "\"b\":{\"data_offsets\":[2,5],\"dtype\":\"U8\",\"shape\":[3]}}", 5 },
	{ "safetensors_members_backwards",
	  "{\"a\":{\"data_offsets\":[0,2],\"shape\":[2],\"dtype\":\"U8\"}}",
	  2 },

	{ "safetensors_escapes", "{\"__metadata__\":{\"\\\"\\\\\":\"\\b\\f\\n\\r\\t\\u0001\\u001f/\x7f\"},"
	  "\"\\n\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]}}", 2 },
	{ "safetensors_beyond_ascii", "{\"__metadata__\":{\"\xc3\xa9\":\"\xe2\x82\xac \xf0\x9f\x98\x80\"},"
	  "\"\xe6\xa8\xa1\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]}}", 2 },
	{ "safetensors_beyond_ascii_escaped", "{\"__metadata__\":{\"\\u00e9\":\"\\u20ac \\ud83d\\ude00\"},"
	  "\"\\u6a21\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]}}", 2 },
	{ "safetensors_spaced", "{\"__metadata__\": {\"format\": \"pt\", \"k\": \"v\"}, "
	  "\"a\": {\"dtype\": \"U8\", \"shape\": [1, 2], \"data_offsets\": [0, 2]}}", 2 },
	{ "safetensors_name_with_blob",
	  "{\"value:a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]}}",
	  2 },
};

/* Padded otherwise. */
static const struct sound padded[] = {
	{ "safetensors_padding_none", "{" A "}", 2 },
	{ "safetensors_padding_one", "{" A "} ", 2 },
	{ "safetensors_padding_to_64", "{" A "}          ", 2 },
	{ "safetensors_padding_many", "{}                                                          ", 0 },
};

/* Spelled as no writer is known to, and what comes back. */
static const struct other {
	const char *name, *header, *back;
	size_t data;
} others[] = {
	{ "safetensors_blanks", "{ \"__metadata__\" : { \"k\" : \"v\" } ,\n\t\"a\":{\"dtype\":\"U8\"\r\n,"
	  "\"shape\":[ 2 ],\"data_offsets\":[ 0 , 2 ]} } ",
	  "{\"__metadata__\":{\"k\":\"v\"}," A "}", 2 },
	{ "safetensors_escaped_letters", "{\"\\u0061\":{\"d\\u0074ype\":\"\\u00558\",\"shape\":[2],"
	  "\"data_offsets\":[0,2]}}", "{" A "}", 2 },
	{ "safetensors_escaped_slash", "{\"__metadata__\":{\"a\\/b\":\"\\u002F\\u001F\"}}",
	  "{\"__metadata__\":{\"a/b\":\"/\\u001f\"}}", 0 },
	{ "safetensors_members_mixed",
	  "{" A ",\"b\":{\"shape\":[3],\"dtype\":\"U8\",\"data_offsets\":[2,5]}}",
	  "{" A "," B "}", 5 },
	{ "safetensors_half_escaped", "{\"__metadata__\":{\"\\u00e9\":\"\xc3\xa9\"}}",
	  "{\"__metadata__\":{\"\xc3\xa9\":\"\xc3\xa9\"}}", 0 },
};

/* Text of n bytes between two escapes: long values go other ways than short ones,
 * in pieces. */
static void
long_value(struct gen *g, size_t n)
{
	struct gen header = { 0 };
	size_t i;

	put_text(&header, "{\"__metadata__\":{\"first\":\"1\",\"long\":\"\\n");
	for (i = 0; i < n; i++)
		put_u8(&header, (uint8_t)('a' + i % 26));
	for (i = 0; i < n / 8; i++)
		put_text(&header, i % 3 ? "\xe2\x82\xac" : "\xf0\x9f\x98\x80");
	put_text(&header, "\\\"\",\"last\":\"2\"}}");
	put_fill(&header, ' ', (8 - header.n % 8) % 8);
	put_safetensors_n(g, (char *)header.p, header.n, 0);
	gen_free(&header);
}

/* 46 000 tensors. */
static void
many(struct gen *g)
{
	struct gen header = { 0 };
	char text[160];
	unsigned i;

	header.p = malloc(header.cap = 8u << 20);
	put_text(&header, "{\"__metadata__\":{\"format\":\"pt\"}");
	for (i = 0; i < 46000; i++) {
		snprintf(text, sizeof text, ",\"model.layers.%u.mlp.experts.%u.down_proj.weight\":"
		         "{\"dtype\":\"BF16\",\"shape\":[1,1],\"data_offsets\":[%u,%u]}",
		         i / 256, i % 256, 2 * i, 2 * i + 2);
		put_text(&header, text);
	}
	put_text(&header, "}");
	put_fill(&header, ' ', (8 - header.n % 8) % 8);
	put_safetensors_n(g, (char *)header.p, header.n, 2 * 46000);
	gen_free(&header);
}

static struct folder folder;

static void
finish(struct gen *g, const char *name, const char *back)
{
	folder_file(&folder, name, g);
	if (back)
		fprintf(folder.manifest, "%s\t%s\n", name, back);
	gen_free(g);
}

int
main(int argc, char **argv)
{
	struct gen g = { 0 };
	char twin[128];
	size_t i;

	folder_open(&folder, argc, argv);
	for (i = 0; i < sizeof sound / sizeof *sound; i++) {
		put_padded(&g, sound[i].header, sound[i].data);
		finish(&g, sound[i].name, sound[i].name);
	}
	for (i = 0; i < sizeof padded / sizeof *padded; i++) {
		put_safetensors(&g, padded[i].header, padded[i].data);
		finish(&g, padded[i].name, padded[i].name);
	}
	for (i = 0; i < sizeof others / sizeof *others; i++) {
		put_padded(&g, others[i].header, others[i].data);
		snprintf(twin, sizeof twin, "%s.usual", others[i].name);
		finish(&g, others[i].name, twin);
		put_padded(&g, others[i].back, others[i].data);
		finish(&g, twin, NULL);
	}
	long_value(&g, 100);
	finish(&g, "safetensors_value_short", "safetensors_value_short");
	long_value(&g, 65000);
	finish(&g, "safetensors_value_over_64_kib", "safetensors_value_over_64_kib");
	long_value(&g, 3000000);
	finish(&g, "safetensors_value_of_4_mb", "safetensors_value_of_4_mb");
	many(&g);
	finish(&g, "safetensors_many", "safetensors_many");
	return folder_close(&folder);
}
