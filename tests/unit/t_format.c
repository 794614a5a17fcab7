/* The list of formats: what the tools take from it. */
#include "test.h"

#include <string.h>

#include "formats/create.h"
#include "model/suffix.h"

static void
test_names(void)
{
	struct buf b = { 0 };

	format_names(&b, ", ", " and ");
	test_ok(buf_string(&b) &&
	        strcmp((char *)b.p, "apr1, apr2, apr2-64, gguf, onnx, safetensors and xgboost") == 0,
	        "the formats that are written, by name: %s", b.p ? (char *)b.p : "");
	buf_free(&b);
}

/* Each row states itself in full, and no two rows have one name. */
static void
test_rows(void)
{
	const struct format *f, *g;
	unsigned i, k;

	for (i = 0; (f = format_row(i)); i++) {
		test_ok(f->name && f->title && f->probe && f->reads && f->reads->open &&
		        f->reads->describe, "%s is read", f->name);
		test_ok(!f->writes || f->writes->create, "%s: a table of writing writes", f->name);
		test_ok(format_by_name(f->name) == f, "%s is found by its name", f->name);
		for (k = 0; (g = format_row(k)); k++)
			if (k != i && strcmp(f->name, g->name) == 0)
				test_ok(0, "%s stands twice in the list", f->name);
	}
	test_ok(!format_by_name("pdf"), "a name without a format");
}

static void
test_suffixes(void)
{
	const struct format *f, *by;
	char path[64];
	unsigned i;

	for (i = 0; (f = format_row(i)); i++) {
		if (!f->suffix)
			continue;
		snprintf(path, sizeof path, "a.b/x.%s", f->suffix);
		by = format_by_suffix(format_suffix(path));
		test_ok(by && by->writes && strcmp(by->suffix, f->suffix) == 0,
		        "%s is written as %s", path, by ? by->name : "nothing");
		test_ok(suffix_container(path) && strcmp(suffix_container(path), f->suffix) == 0,
		        "tools that write streams know the suffix %s", f->suffix);
	}
	test_ok(format_by_suffix(format_suffix("X.GGUF")) == &format_gguf, "in either case");
	test_ok(format_by_suffix(format_suffix("x.apr")) == &format_apr2, "apr is apr2");
	test_ok(!format_suffix("x.gguf/y") && !format_suffix("gguf") && !format_suffix("x.") &&
	        !format_by_suffix(NULL), "no suffix of a format");
}

/* Option names are unique, and choices are found by their row. */
static void
test_options(void)
{
	const struct format_option *o, *other;
	const struct format *f;
	struct format_choice own[2] = { { NULL, NULL } };
	struct format_options options = { .own = own, .own_count = 2 };
	struct buf b = { 0 };
	unsigned i, k, writes;

	for (writes = 0; writes < 2; writes++)
		for (i = 0; (o = format_option_row(i, writes, &f)); i++) {
			test_ok(o->help && o->writes == (writes == 1), "--%s of %s", o->name, f->name);
			for (k = 0; k < i; k++) {
				other = format_option_row(k, writes, &f);
				if (strcmp(o->name, other->name) == 0)
					test_ok(0, "--%s stands twice", o->name);
			}
			own[1].option = o;
			own[1].value = NULL;
			test_ok(!format_chosen(&options, o), "--%s is not chosen", o->name);
			own[1].value = "x";
			test_ok(strcmp(format_chosen(&options, o), "x") == 0, "--%s is", o->name);
		}
	format_option_usage(&b, false);
	test_ok(buf_string(&b) &&
	        strcmp((char *)b.p, "[--expect-type NAME] [--payload NAME] [--key PATH] "
	              "[--prefix TEXT] [--all] [--opaque] [--dense] [--arch NAME] "
	              "[--tokenizer FILE]") == 0, "in usage: %s",
	        b.p ? (char *)b.p : "");
	buf_free(&b);
}

/* Content that a format cannot write is refused with this text; NULL: it is accepted. */
static void
test_refusals(void)
{
	static const struct {
		const struct format *format;
		struct format_options options;
		const char *path, *text;
	} cases[] = {
		{ &format_gguf, { .align = 32 }, "x", NULL },
		{ &format_gguf, { .align = 65536 }, "x", NULL },
		{ &format_gguf, { .align = 16 }, "x",
		  "--align must be a power of two from 32 to 65536, not 16" },
		{ &format_gguf, { .align = 131072 }, "x",
		  "--align must be a power of two from 32 to 65536, not 131072" },
		{ &format_gguf, { .align = 48 }, "x",
		  "--align must be a power of two from 32 to 65536, not 48" },
		{ &format_safetensors, { 0 }, "x/", NULL },
		{ &format_gguf, { 0 }, "x/", "-o x/: a model in GGUF is one file, not a folder" },
		{ &format_gguf, { .shard_size = 1 }, "x", NULL },
		{ &format_gguf, { .shard_size = 1 }, NULL, "--shard-size needs -o FILE" },
		{ &format_gguf, { .shard_size = 1 }, "-", "--shard-size needs -o FILE" },
		{ &format_apr1, { .shard_size = 1 }, "x",
		  "a model in APR version 1 is one file" },
		{ &format_apr2, { .reserves = true }, NULL, NULL },
		{ &format_apr64, { .reserves = true }, "x", "apr2-64 has no room to reserve" },
	};
	size_t i;

	for (i = 0; i < sizeof cases / sizeof *cases; i++) {
		const char *text = cases[i].text;
		struct err e = ERR_INIT;
		int r = create_check_options(cases[i].format, &cases[i].options, &e);

		if (r == 0)
			r = create_check_output(cases[i].format, &cases[i].options, cases[i].path,
			                        &e);
		test_ok(text ? r < 0 && e.code == ERR_USAGE && strcmp(e.fact, text) == 0 : r == 0,
		        "%s: %s", cases[i].format->name, text ? text : "accepted");
	}
}

int
main(void)
{
	test_names();
	test_rows();
	test_suffixes();
	test_options();
	test_refusals();
	return test_done();
}
