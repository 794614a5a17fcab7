/* tool: what all tools share: the command line, messages, and the exit.
 * Only this room and bin/ print and exit.
 */
#ifndef CLI_TOOL_H
#define CLI_TOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/buf.h"
#include "core/err.h"

/* The kind of an option, and the type of its target. It is a usage error to give an option
 * twice, except OPT_LIST. */
enum opt_kind {
	OPT_FLAG,   /* bool * */
	OPT_MARK,   /* const char **: a flag, which sets it to "" */
	OPT_TEXT,   /* const char ** */
	OPT_ANY_TEXT, /* the same; it may be empty */
	OPT_NUMBER, /* uint64_t *, within [low, high] */
	OPT_BYTES,  /* the same; a unit may follow the number (text_bytes) */
	OPT_DECIMAL, /* double *, finite, within [low, high] */
	OPT_STREAM, /* const char **: an output file for a stream; a suffix of a container is
	             * refused */
	OPT_LIST    /* struct opt_list *: may be repeated */
};

struct opt_list {
	const char **items; /* point into argv; the list owns the array */
	size_t n, cap;
};

struct opt {
	char letter;        /* or 0 */
	const char *name;   /* without "--" */
	const char *arg;    /* the name of its value, or NULL for a flag */
	enum opt_kind kind;
	void *to;
	const char *help;   /* NULL: an old spelling, see below */
	uint64_t low, high;
};

/* The rows of a table of options. */
#define FLAG(letter, name, to, help) \
	{ letter, name, NULL, OPT_FLAG, to, help, 0, 0 }
#define TEXT(letter, name, arg, to, help) \
	{ letter, name, arg, OPT_TEXT, to, help, 0, 0 }
#define ANY_TEXT(letter, name, arg, to, help) \
	{ letter, name, arg, OPT_ANY_TEXT, to, help, 0, 0 }
#define LIST(letter, name, arg, to, help) \
	{ letter, name, arg, OPT_LIST, to, help, 0, 0 }
#define NUMBER(letter, name, arg, to, low, high, help) \
	{ letter, name, arg, OPT_NUMBER, to, help, low, high }
#define BYTES(letter, name, arg, to, low, high, help) \
	{ letter, name, arg, OPT_BYTES, to, help, low, high }
#define DECIMAL(letter, name, arg, to, low, high, help) \
	{ letter, name, arg, OPT_DECIMAL, to, help, low, high }
/* Copies rows up to OPT_END to a table with enough room. Returns the place after them. */
struct opt *opt_add(struct opt *to, const struct opt *rows);
/* The same for one option that a list elsewhere names: text if it has an argument, else a mark.
 * Its value goes to *value. */
struct opt *opt_add_named(struct opt *to, const char *name, const char *arg, const char *help,
                          const char **value);
#define OPT_END { 0, NULL, NULL, OPT_FLAG, NULL, NULL, 0, 0 }

/* Rows with the same target are spellings of one option. A row without help is a deprecated
 * spelling: it works, --help does not show it, and a note names the first row with that
 * target. A row whose name is "" has only its letter. A letter has the same meaning in all
 * tools, except the letters of llama.cpp in apr-run and apr-tok: apr(7), Letters. */

struct tool {
	const char *name;     /* "apr-quant" */
	const char *usage;    /* the SYNOPSIS without the name; lines end in "\n" */
	const char *summary;  /* one sentence */
	const struct opt *opts; /* ended by a row without name */
	size_t operands;      /* maximum number; TOOL_FILES: any number */
};
#define TOOL_FILES SIZE_MAX

/* Options of every tool that writes a stream or a file. */
struct output_options {
	const char *path;     /* -o */
	bool force;           /* -f */
	bool progress;        /* --progress */
};
#define OPT_OUTPUT(o) OPT_OUTPUT_KIND(o, OPT_TEXT)          /* any file */
#define OPT_OUTPUT_STREAM(o) OPT_OUTPUT_KIND(o, OPT_STREAM) /* a stream */
#define OPT_OUTPUT_KIND(o, kind) \
	{ 'o', "output", "FILE", kind, &(o)->path, "write to FILE", 0, 0 }, \
	FLAG('f', "force", &(o)->force, "replace an existing FILE"), \
	OPT_PROGRESS(&(o)->progress)
#define OPT_PROGRESS(to) \
	FLAG(0, "progress", to, "show progress on standard error, even if it is not a terminal")
#define OPT_JOBS(to) \
	NUMBER('j', "jobs", "N", to, 1, 1024, "threads (default: all CPUs)")

/* The first call of main. Parses argv and returns the operands (NULL after the
 * last; the array is never freed). -h, --help, --version and wrong usage end the
 * process here. For a URL, the name is returned, and for file:///PATH the path
 * (remote_name of core/remote.h); remote_source gives what the user wrote. */
char **tool_begin(const struct tool *t, int argc, char **argv);

/* The same for a tool that may have its model embedded: the first operand is then that model, and
 * the options of the user replace those that were embedded (core/embedded.h). */
char **tool_begin_embedded(const struct tool *t, int argc, char **argv);

/* The last call of main. Prints the error in e, if any, flushes standard output, and
 * returns the exit status. */
int tool_end(struct err *e);

/* Prints a note on standard error: "apr-quant: TEXT". Silent if APR_LOG_LEVEL is
 * "error". */
void tool_note(const char *text);
void tool_notef(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* tool_print prints a report (report/lines.h) on standard output and empties it; -1 if
 * memory ran out while it was built. tool_notes prints each of its lines as a
 * note. */
int tool_print(struct buf *b, struct err *e);
void tool_notes(struct buf *b);

/* Fills e with ERR_USAGE and the hint "apr-quant --help". Returns -1. */
int tool_misused(struct err *e, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Returns the input of a tool: its FILE operand, or "-" for standard input if there is
 * none. NULL with ERR_USAGE if that is a terminal. */
const char *tool_input(const char *operand, struct err *e);

/* Reads the rest of standard input if it is a pipe. Otherwise SIGPIPE would end the
 * writer, and a script with pipefail. */
void tool_drain(void);

const char *tool_name(void);

/* Makes each following message name this file unless it does so already (cli/each.h). */
void tool_subject(const char *file);

#endif
