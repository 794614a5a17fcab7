/* stream_good: streams that are sound, each with something that a reader or a
 * writer could get wrong.
 *
 * MANIFEST: name, and the stream that passing it on must give: itself, or the
 * same in the spelling of our writer.
 */
#include "stream.h"

#define PLAN "APRS"

static void
plain_mother(struct frames *s)
{
	mother(s);
}

/* Frames with a lower-case kind that nobody knows, wherever they can stand. */
static void
unknown_frames(struct frames *s)
{
	static const struct change changes[] = {
		BEFORE("ids", "note", "{\"n\": 1}"), KIND("new", "aaaa"),
		BODY("new", "first"),
	};
	static const char *const ids[] = { "README", "lice", "a", "b", "prov", "sign", "DONE" };
	static const char *const names[] = { "n1", "n2", "n3", "n4", "n5", "n6", "n7" };
	size_t i;

	mother(s);
	for (i = 0; i < sizeof changes / sizeof *changes; i++)
		change_frames(s, &changes[i]);
	frame_by(s, "new")->id = "n0";
	for (i = 0; i < sizeof ids / sizeof *ids; i++) {
		struct change c = BEFORE(ids[i], "xyZZ", "{\"spelled\" :\t\"as it is\"}");

		change_frames(s, &c);
		put_ramp(&frame_by(s, "new")->body, i * 100);
		frame_by(s, "new")->id = names[i];
	}
}

/* A member that a later version may have. */
static void
unknown_member(struct frames *s)
{
	static const struct change c =
		HEAD(PLAN, "\"signatures\":1}", "\"signatures\":1,\"later\":{\"x\":[1,\"y\"]}}");

	mother(s);
	change_frames(s, &c);
}

/* The name of a folder. */
static void
named_folder(struct frames *s)
{
	static const struct change c =
		HEAD(PLAN, "\"signatures\":1}", "\"signatures\":1,\"folder\":\"Qwen3-0.6B\"}");

	mother(s);
	change_frames(s, &c);
}

/* The same in another spelling: blanks, escapes, order of members, a number as
 * text, defaults said aloud. */
static void
other_spelling(struct frames *s)
{
	static const struct change changes[] = {
		HEAD(PLAN, "{\"version\":1,\"source\"", " {\n\"version\" : 1, \"source\""),
		HEAD(PLAN, "\"llama\"", "\"ll\\u0061ma\""),
		HEAD(PLAN, "\"u32\",7", "\"u32\",\"7\""),
		HEAD(PLAN, "\"0.100000001\"", "\"1.00000001490116119384765625e-1\""),
		HEAD(PLAN, "\"licence\":4", "\"licence\":\"4\""),
		HEAD(PLAN, "[\"a\",\"F32\",[2,3]]",
		     "[\"a\",\"F32\",[\"2\",3],{\"kind\":\"TENS\",\"bytes\":24,\"block\":[1,4]}]"),
		HEAD("a", "{\"name\":\"a\",\"dtype\":\"F32\",\"shape\":[2,3]}",
		     "{ \"shape\":[2, 3], \"dtype\":\"F32\", \"name\":\"\\u0061\" }"),
		HEAD("README", "{\"name\":\"README\",\"type\":\"text/plain\"}",
		     "{\"type\":\"text\\/plain\",\"name\":\"README\"}"),
		HEAD("lice", "{}", "{ }"),
		HEAD("DONE", "{\"tensors\":3}", "{\"seconds\":1.5,\"tensors\":3}\n"),
	};
	size_t i;

	mother(s);
	for (i = 0; i < sizeof changes / sizeof *changes; i++)
		change_frames(s, &changes[i]);
}

static void
nothing(struct frames *s)
{
	put_frame(s, PLAN, "APRS", "{\"version\":1,\"source\":{},\"metadata\":[],\"blobs\":[],"
	          "\"tensors\":[],\"signatures\":0}");
	put_frame(s, "DONE", "DONE", "{\"tensors\":0}");
}

static void
every_value_type(struct frames *s)
{
	put_frame(s, PLAN, "APRS", "{\"version\":1,\"source\":{},\"metadata\":["
	          "[\"u8\",\"u8\",255],[\"i8\",\"i8\",-128],"
	          "[\"u16\",\"u16\",65535],[\"i16\",\"i16\",-32768],"
	          "[\"u32\",\"u32\",4294967295],[\"i32\",\"i32\",-2147483648],"
	          "[\"u64\",\"u64\",\"18446744073709551615\"],"
	          "[\"i64\",\"i64\",\"-9223372036854775808\"],"
	          "[\"exact\",\"u64\",9007199254740992],"
	          "[\"beyond\",\"u64\",\"9007199254740993\"],"
	          "[\"f32\",\"f32\",\"0.100000001\"],[\"f64\",\"f64\",\"0.10000000000000001\"],"
	          "[\"inf\",\"f32\",\"inf\"],[\"minf\",\"f64\",\"-inf\"],[\"nan\",\"f32\",\"nan\"],"
	          "[\"zero\",\"f32\",\"-0\"],[\"least\",\"f32\",\"1.40129846e-45\"],"
	          "[\"yes\",\"bool\",true],[\"no\",\"bool\",false],"
	          "[\"text\",\"string\",\"\\u001B \\\" \\\\ \xc3\xa9\"],"
	          "[\"json\",\"json\",\"{\\\"a\\\": [1, 2.50]}\"],"
	          "[\"none\",\"array:string\",[]],"
	          "[\"words\",\"array:string\",[\"a\",\"\"]],"
	          "[\"reals\",\"array:f32\",[\"1\",\"nan\",\"-inf\"]],"
	          "[\"flags\",\"array:bool\",[true,false]]],"
	          "\"blobs\":[],\"tensors\":[],\"signatures\":0}");
	put_frame(s, "DONE", "DONE", "{\"tensors\":0}");
}

/* Scalars, empty tensors, eight axes. */
static void
shapes(struct frames *s)
{
	put_frame(s, PLAN, "APRS", "{\"version\":1,\"source\":{},\"metadata\":[],\"blobs\":[],"
	          "\"tensors\":[[\"scalar\",\"F32\",[]],[\"none\",\"F16\",[0]],"
	          "[\"no rows\",\"Q8_0\",[0,3,32]],[\"eight\",\"U8\",[1,2,1,2,1,2,1,1]],"
	          "[\"no items\",\"I64\",[3,0]]],\"signatures\":0}");
	put_ramp(put_frame(s, "s", "TENS", "{\"name\":\"scalar\",\"dtype\":\"F32\",\"shape\":[]}"), 4);
	put_frame(s, "n", "TENS", "{\"name\":\"none\",\"dtype\":\"F16\",\"shape\":[0]}");
	put_frame(s, "r", "TENS", "{\"name\":\"no rows\",\"dtype\":\"Q8_0\",\"shape\":[0,3,32]}");
	put_ramp(put_frame(s, "e", "TENS",
	                   "{\"name\":\"eight\",\"dtype\":\"U8\",\"shape\":[1,2,1,2,1,2,1,1]}"), 8);
	put_frame(s, "i", "TENS", "{\"name\":\"no items\",\"dtype\":\"I64\",\"shape\":[3,0]}");
	put_frame(s, "DONE", "DONE", "{\"tensors\":5}");
}

/* The largest number of a GGML type; a container may have no place for it. */
static void
dtype_255(struct frames *s)
{
	put_frame(s, PLAN, "APRS", "{\"version\":1,\"source\":{},\"metadata\":[],\"blobs\":[],"
	          "\"tensors\":[[\"x\",\"GGML_255\",[1000],{\"bytes\":3}]],\"signatures\":0}");
	put_text(put_frame(s, "x", "TENS",
	                   "{\"name\":\"x\",\"dtype\":\"GGML_255\",\"shape\":[1000]}"), "abc");
	put_frame(s, "DONE", "DONE", "{\"tensors\":1}");
}

/* Every type by name, with the size of its block: the numbers of ggml and of the
 * plain types, written down a second time. */
static const struct {
	const char *name;
	unsigned items, bytes;
} dtypes[] = {
	{ "F32", 1, 4 }, { "F16", 1, 2 }, { "BF16", 1, 2 }, { "F64", 1, 8 },
	{ "I8", 1, 1 }, { "I16", 1, 2 }, { "I32", 1, 4 }, { "I64", 1, 8 },
	{ "U8", 1, 1 }, { "U16", 1, 2 }, { "U32", 1, 4 }, { "U64", 1, 8 },
	{ "BOOL", 1, 1 }, { "F8_E4M3", 1, 1 }, { "F8_E5M2", 1, 1 }, { "F8_E8M0", 1, 1 },
	{ "C64", 1, 8 },
	{ "Q4_0", 32, 18 }, { "Q4_1", 32, 20 }, { "Q5_0", 32, 22 }, { "Q5_1", 32, 24 },
	{ "Q8_0", 32, 34 }, { "Q8_1", 32, 36 }, { "IQ4_NL", 32, 18 }, { "MXFP4", 32, 17 },
	{ "Q2_K", 256, 84 }, { "Q3_K", 256, 110 }, { "Q4_K", 256, 144 },
	{ "Q5_K", 256, 176 }, { "Q6_K", 256, 210 }, { "Q8_K", 256, 292 },
	{ "IQ2_XXS", 256, 66 }, { "IQ2_XS", 256, 74 }, { "IQ2_S", 256, 82 },
	{ "IQ3_XXS", 256, 98 }, { "IQ3_S", 256, 110 }, { "IQ1_S", 256, 50 },
	{ "IQ1_M", 256, 56 }, { "IQ4_XS", 256, 136 }, { "TQ1_0", 256, 54 },
	{ "TQ2_0", 256, 66 },
};
#define DTYPES (sizeof dtypes / sizeof *dtypes)

static void
every_dtype(struct frames *s)
{
	/* Two rows of three blocks each. put_frame keeps ids as they are given:
	 * names from the table serve. */
	struct gen plan = { 0 };
	char text[128];
	size_t i;

	put_text(&plan, "{\"version\":1,\"source\":{},\"metadata\":[],\"blobs\":[],\"tensors\":[");
	for (i = 0; i < DTYPES; i++) {
		snprintf(text, sizeof text, "%s[\"%s\",\"%s\",[2,%u]]", i ? "," : "",
		         dtypes[i].name, dtypes[i].name, 3 * dtypes[i].items);
		put_text(&plan, text);
	}
	put_text(&plan, "],\"signatures\":0}");
	put_u8(&plan, 0);
	put_frame(s, PLAN, "APRS", (char *)plan.p);
	gen_free(&plan);
	for (i = 0; i < DTYPES; i++) {
		snprintf(text, sizeof text, "{\"name\":\"%s\",\"dtype\":\"%s\",\"shape\":[2,%u]}",
		         dtypes[i].name, dtypes[i].name, 3 * dtypes[i].items);
		put_ramp(put_frame(s, dtypes[i].name, "TENS", text), 6 * dtypes[i].bytes);
	}
	snprintf(text, sizeof text, "{\"tensors\":%u}", (unsigned)DTYPES);
	put_frame(s, "DONE", "DONE", text);
}

#define GAPS_PLAN "{\"version\":1,\"source\":{},\"metadata\":[],\"blobs\":[]," \
	"\"tensors\":[[\"a\",\"F32\",[2,3]],[\"b\",\"U8\",[9]]],\"signatures\":0}"
#define GAPS_A "{\"name\":\"a\",\"dtype\":\"F32\",\"shape\":[2,3]}"
#define GAPS_B "{\"name\":\"b\",\"dtype\":\"U8\",\"shape\":[9]}"

/* A frame of zeros and the bytes after them. */
static void
gap(struct frames *s, const char *head, uint64_t zeros, const char *bytes)
{
	struct gen *body = put_frame(s, "", "GAPS", head);

	put_u64(body, zeros);
	put_text(body, bytes);
}

/* Tensors whose zeros are left out: at both ends, in the middle, and all of them. */
static void
gaps(struct frames *s)
{
	put_frame(s, PLAN, "APRS", GAPS_PLAN);
	gap(s, GAPS_A, 0, "0123");
	gap(s, GAPS_A, 9, "4");
	gap(s, GAPS_A, 3, "56");
	gap(s, GAPS_A, 5, "");
	gap(s, GAPS_B, 9, "");
	put_frame(s, "DONE", "DONE", "{\"tensors\":2}");
}

/* The same with every byte. */
static void
no_gaps(struct frames *s)
{
	static const uint8_t a[24] = { '0', '1', '2', '3', [13] = '4', [17] = '5', '6' };
	static const uint8_t b[9];

	put_frame(s, PLAN, "APRS", GAPS_PLAN);
	put(put_frame(s, "a", "TENS", GAPS_A), a, sizeof a);
	put(put_frame(s, "b", "TENS", GAPS_B), b, sizeof b);
	put_frame(s, "DONE", "DONE", "{\"tensors\":2}");
}

static const struct good {
	const char *name, *twin;
	void (*build)(struct frames *);
} goods[] = {
	{ "stream_of_everything", NULL, plain_mother },
	{ "stream_unknown_frames", NULL, unknown_frames },
	{ "stream_unknown_member", NULL, unknown_member },
	{ "stream_named_folder", NULL, named_folder },
	{ "stream_other_spelling", "stream_of_everything", other_spelling },
	{ "stream_nothing", NULL, nothing },
	{ "stream_every_value_type", NULL, every_value_type },
	{ "stream_shapes", NULL, shapes },
	{ "stream_dtype_255", NULL, dtype_255 },
	{ "stream_every_dtype", NULL, every_dtype },
	{ "stream_gaps", NULL, gaps },
	{ "stream_no_gaps", NULL, no_gaps },
};

int
main(int argc, char **argv)
{
	struct folder folder;
	size_t i;

	folder_open(&folder, argc, argv);
	for (i = 0; i < sizeof goods / sizeof *goods; i++) {
		struct frames s = { 0 };
		struct gen g = { 0 };

		goods[i].build(&s);
		write_frames(&g, &s);
		folder_file(&folder, goods[i].name, &g);
		fprintf(folder.manifest, "%s\t%s\n", goods[i].name,
		        goods[i].twin ? goods[i].twin : goods[i].name);
		frames_free(&s);
		gen_free(&g);
	}
	return folder_close(&folder);
}
