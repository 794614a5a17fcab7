#include "test.h"

#include "apr2_models.h"

/* Items that contradict the plan: b a blob, l the licence, 0 and 1 tensors, p a
 * prov, s a sign, o another frame; < and > a tensor body too short, too long. */
static void
test_contradictions(void)
{
	static const struct {
		const char *items;
		const char *fact; /* NULL: good */
	} rows[] = {
		{ "bl01ps", NULL },     { "bl01pso", NULL },    { "obl0o1ops", NULL },
		{ "l01ps", "a blob or the licence" },           { "b01ps", "a blob or" },
		{ "lb01ps", "a blob" }, { "bbl01ps", "a blob" }, { "bll01ps", "the licence" },
		{ "bl10ps", "a tensor" }, { "bl0ps", "a tensor" }, { "bl011ps", "a tensor" },
		{ "bl01s", "a prov or sign" },                  { "bl01p", "a prov or sign" },
		{ "bl01sp", "a prov" }, { "bl01pps", "a prov" }, { "bl01pss", "a sign" },
		{ "bl01p0s", "a tensor" }, { "bl01pb", "a blob" }, { "bl01pl", "the licence" },
		{ "bl<1ps", "is shorter" }, { "bl>1ps", "is longer" },
		{ "B", "a blob" },      { "bL", "the licence" }, { "bl2", "a tensor" },
		{ "", "a blob or" },
	};
	static const uint64_t three[] = { 3 };
	char head[MODEL_SIGN_HEAD + 1];
	size_t i;

	snprintf(head, sizeof head, "{\"x\":\"%0*d\"}", MODEL_SIGN_HEAD - 8, 0);
	for (i = 0; i < sizeof rows / sizeof *rows; i++) {
		const char *c;
		struct err e = ERR_INIT;
		struct model m;
		struct sink *sink;
		int fd;

		begin_model(&m, NULL);
		model_add_blob(&m, "b", "file", 3, &e);
		m.licence = 2;
		m.signatures = 1;
		model_add_prov(&m, 2, &e);
		add_tensor(&m, "0", "U8", 1, three, TENSOR_OWN_SIZE);
		add_tensor(&m, "1", "U8", 1, three, TENSOR_OWN_SIZE);
		sink = open_sink(true, &no_options, &fd, &e);
		sink->note = note;
		noted[0] = '\0';
		sink_begin(sink, &m, &e);
		for (c = rows[i].items; *c && !e.code; c++) {
			struct item item = { .frame = "note", .head = "{}", .head_bytes = 2 };

			item.kind = strchr("bB", *c) ? ITEM_BLOB : strchr("lL", *c) ? ITEM_LICENCE
			          : *c == 'p' ? ITEM_PROV : *c == 's' ? ITEM_SIGN
			          : *c == 'o' ? ITEM_OTHER : ITEM_TENSOR;
			item.index = *c == '1';
			item.bytes = strchr("b01<>", *c) ? 3 : *c == 'l' ? 2 : 4;
			if (*c == 'p')
				item.bytes = 0;
			if (*c == 's') {
				item.bytes = model_sign_body(&m);
				item.head = head;
				item.head_bytes = MODEL_SIGN_HEAD;
			}
			if (sink_put(sink, &item, &e) < 0)
				break;
			put_body(sink, 0, item.bytes - (*c == '<') + (*c == '>'), &e);
			if (!e.code)
				sink_put_end(sink, &e);
		}
		if (!e.code)
			sink_end(sink, &e);
		test_ok(rows[i].fact ? e.code == ERR_CORRUPT && strstr(e.fact, rows[i].fact) != NULL
		                     : !e.code, "items %s: %s", rows[i].items, e.fact);
		test_ok((rows[i].items[0] == 'o') == (strstr(noted, "dropped") != NULL),
		        "items %s: %s", rows[i].items, noted);
		sink_close(sink);
		close(fd);
		model_free(&m);
	}
}

/* Content that APR2 cannot hold is refused before a byte is written. */
static void
test_refusals(void)
{
	static const uint64_t one[] = { 1 };
	struct format_options by_16 = { .align = 16 };
	struct buf out = { 0 };
	unsigned i;

	for (i = 0; i < 6; i++) {
		static const char *const fact[] = { "no code for type GGML_99",
			"offsets in 32 bits", "32 or 64 bytes", "exceeds the 256 MiB",
			"overflows", "overflows" };
		struct err e = ERR_INIT;
		struct model m;
		struct sink *sink;
		int fd;

		begin_model(&m, "gguf");
		if (i == 0)
			add_tensor(&m, "t", "GGML_99", 1, one, 5);
		else if (i == 1)
			model_add_blob(&m, "b", "file", UINT64_C(1) << 32, &e);
		else if (i == 3)
			model_add_meta_blob(&m, "k", 1, (struct value_type){ 0, VALUE_JSON },
			                    300u << 20, &e);
		else if (i == 4)
			model_add_blob(&m, "b", "file", UINT64_MAX - 10, &e);
		else if (i == 5)
			m.licence = UINT64_MAX - 10;
		sink = open_sink(true, i == 2 ? &by_16 : &no_options, &fd, &e);
		test_ok(sink_begin(sink, &m, &e) < 0 && strstr(e.fact, fact[i]), "%s: %s",
		        e.object, e.fact);
		sink_close(sink);
		slurp(fd, &out);
		test_ok(out.n == 0, "nothing was written");
		close(fd);
		model_free(&m);
	}
	buf_free(&out);
}

int
main(void)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	test_contradictions();
	test_refusals();
	return test_done();
}
