/* apr-embed: one program with a model inside */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/embed/embed.h"
#include "cli/input.h"
#include "cli/tool.h"
#include "core/reader.h"
#include "core/sandbox.h"
#include "core/text.h"
#include "crypto/digest.h"
#include "formats/format.h"

struct options {
	const char *tool, *runtime, *extract;
	struct opt_list words;
	bool list, force;
	const char *output;
};

/* Refuses what apr-run cannot open. Other tools have formats of their own. */
static int
check_model(const struct options *o, const char *path, struct err *e)
{
	const uint8_t *head;
	struct reader r;
	size_t n;
	int status = 0;

	if (o->tool && strcmp(o->tool, "apr-run") != 0)
		return 0;
	if (reader_open(&r, path, e) < 0)
		return -1;
	head = reader_peek(&r, FORMAT_PROBE, &n);
	if (head && n == 0)
		status = err_set(e, ERR_CORRUPT, path, "is empty");
	else if (!head || !format_probe(head, n))
		status = err_set(e, ERR_FORMAT, path, "is not a model file of a known format");
	reader_close(&r);
	return status;
}

/* Declares all files, and refuses an output that is one of them. */
static int
declare(const struct options *o, const struct embed_program *program,
        const struct embed_file *files, size_t count, struct err *e)
{
	const struct output_options where = { .path = o->output, .force = o->force };
	size_t i;

	if (where.path && input_spare(program->path, &where, e) < 0)
		return -1;
	for (i = 0; i < count; i++) {
		if (where.path && input_spare(files[i].path, &where, e) < 0)
			return -1;
		sandbox_read(files[i].path);
	}
	sandbox_write(o->output, o->force);
	return 0;
}

static int
write_program(const struct options *o, const struct embed_program *program,
              const struct embed_file *files, size_t count, struct err *e)
{
	const struct out_options where = { .path = o->output, .force = o->force, .mode = 0777,
		.input = -1 };
	struct out out;

	if (declare(o, program, files, count, e) < 0)
		return -1;
	sandbox_enter();
	if (check_model(o, files[0].path, e) < 0 || out_open(&out, &where, e) < 0)
		return -1;
	if (embed_write(program, files, count, o->words.items, o->words.n, &out, e) < 0 ||
	    out_finish(&out) < 0)
		out_abandon(&out);
	return e->code == ERR_NONE ? 0 : -1;
}

static int
embed(const struct options *o, char **operands, struct err *e)
{
	struct embed_file files[PAYLOAD_FILES];
	struct embed_program program;
	char path[EMBED_PATH];
	size_t count;
	int r;

	for (count = 0; operands[count]; count++) {
		if (count == PAYLOAD_FILES)
			return tool_misused(e, "at most %d files can be embedded", PAYLOAD_FILES);
		if (embed_file_name(&files[count], operands[count], count > 0, e) < 0)
			return -1;
	}
	if (!o->runtime && embed_program_find(path, o->tool ? o->tool : "apr-run", e) < 0)
		return -1;
	r = embed_program_open(&program, o->runtime ? o->runtime : path, e);
	if (r == 0 && !program.is_static)
		tool_notef("%.200s needs the shared libraries of this system: it is not static",
		           program.path);
	if (r == 0)
		r = write_program(o, &program, files, count, e);
	embed_program_close(&program);
	return r;
}

/* ---- an executable with files ---- */

static int
list(const struct payload *p, struct err *e)
{
	char hex[DIGEST_TEXT];
	struct buf b = { 0 };
	struct digest d;
	size_t i;

	for (i = 0; i < p->count; i++) {
		memcpy(d.b, p->files[i].digest, sizeof d.b);
		buf_printf(&b, "file %s  %" PRIu64 " bytes at %" PRIu64 "  %s\n", digest_text(hex, &d),
		           p->files[i].bytes, p->files[i].at, p->files[i].name);
	}
	for (i = 0; i < p->word_count; i++) {
		buf_text(&b, "argument ");
		text_show(&b, p->words[i], strcspn(p->words[i], "\n"));
		buf_text(&b, p->words[i][strcspn(p->words[i], "\n")] ? "...\n" : "\n");
	}
	if (tool_print(&b, e) < 0)
		return -1;
	buf_free(&b);
	return 0;
}

static int
extract(const struct options *o, const struct payload *p, int fd, const char *path, struct err *e)
{
	const struct out_options where = { .path = o->output, .force = o->force, .input = fd,
		.from = path };
	struct out out;

	if (out_open(&out, &where, e) < 0)
		return -1;
	if (embed_extract(p, o->extract, fd, path, &out, e) < 0 || out_finish(&out) < 0)
		out_abandon(&out);
	return e->code == ERR_NONE ? 0 : -1;
}

static int
look(const struct options *o, const char *path, struct err *e)
{
	struct embed_program program;
	struct payload p = { .count = 0 };
	int r = embed_program_open(&program, path, e);

	sandbox_write(o->output, o->force);
	sandbox_enter();
	if (r == 0)
		r = payload_read(&p, program.fd, path, e);
	if (r == 0 && p.count == 0)
		r = err_set(e, ERR_FORMAT, path, "has no embedded files");
	if (r == 0)
		r = o->list ? list(&p, e) : extract(o, &p, program.fd, path, e);
	payload_free(&p);
	embed_program_close(&program);
	return r;
}

/* ---- the command line ---- */

static int
check_options(const struct options *o, char **operands, struct err *e)
{
	bool looks = o->list || o->extract;

	if (o->list && o->extract)
		return tool_misused(e, "--list and --extract cannot be combined");
	if (looks && (o->tool || o->runtime || o->words.n))
		return tool_misused(e, "--tool, --runtime and --arg cannot be combined with --list or --extract");
	if (o->list && o->output)
		return tool_misused(e, "--list does not take -o");
	if (o->tool && strcmp(o->tool, "apr-run") != 0 && strcmp(o->tool, "apr-predict") != 0)
		return tool_misused(e, "--tool is apr-run or apr-predict, not %.40s", o->tool);
	if (o->words.n > PAYLOAD_WORDS)
		return tool_misused(e, "--arg can be given at most %d times", PAYLOAD_WORDS);
	if (!operands[0])
		return tool_misused(e, looks ? "a FILE is expected" : "a MODEL is expected");
	if (looks && operands[1])
		return tool_misused(e, "one operand too many: %.80s", operands[1]);
	return 0;
}

int
main(int argc, char **argv)
{
	static struct options o;
	static const struct opt opts[] = {
		TEXT(0, "tool", "TOOL", &o.tool, "the program: apr-run or apr-predict (default: apr-run)"),
		TEXT(0, "runtime", "FILE", &o.runtime, "the program, built without shared libraries"),
		{ 0, "arg", "WORD", OPT_LIST, &o.words, "an argument that comes before those of the user", 0, 0 },
		FLAG('l', "list", &o.list, "list what is embedded in FILE"),
		TEXT(0, "extract", "NAME", &o.extract, "write the file NAME that is embedded in FILE"),
		TEXT('o', "output", "FILE", &o.output, "write to FILE"),
		FLAG('f', "force", &o.force, "replace an existing FILE"),
		OPT_END
	};
	static const struct tool tool = {
		"apr-embed", "[--tool TOOL] [--runtime FILE] [--arg WORD] [-f] [-o FILE] MODEL\n[NAME=FILE ...]\n"
		"apr-embed -l FILE\n"
		"apr-embed --extract NAME [-f] [-o FILE] FILE",
		"Make one program of a tool and a model.", opts, TOOL_FILES
	};
	struct err e = ERR_INIT;
	char **operands = tool_begin(&tool, argc, argv);

	if (check_options(&o, operands, &e) == 0)
		o.list || o.extract ? look(&o, operands[0], &e) : embed(&o, operands, &e);
	free(o.words.items);
	return tool_end(&e);
}
