/* embed: apr-embed's work: a program and files become one executable (core/payload.h), and files
 * come out of it again.
 */
#ifndef CLI_EMBED_EMBED_H
#define CLI_EMBED_EMBED_H

#include "core/out.h"
#include "core/payload.h"

#define EMBED_PATH 4096

/* A program without files behind it, or those of an earlier apr-embed, which are left out. */
struct embed_program {
	const char *path;
	int fd;        /* owned; -1: none */
	uint64_t bytes;
	bool is_static; /* it needs no interpreter, and so no shared libraries */
};

/* What is embedded: names, and the paths of their files. */
struct embed_file {
	const char *name;
	size_t name_bytes;
	const char *path;
};

/* Opens the program at path; ERR_FORMAT if it is not an ELF file. 0 or -1; close it in either case. */
int embed_program_open(struct embed_program *p, const char *path, struct err *e);
void embed_program_close(struct embed_program *p);

/* Sets path to the static program of a tool, beside the running one. 0 or -1. */
int embed_program_find(char path[EMBED_PATH], const char *tool, struct err *e);

/* Splits NAME=FILE, or takes the last part of a path for its name. 0, or -1 with ERR_USAGE. */
int embed_file_name(struct embed_file *f, const char *operand, bool equals, struct err *e);

/* Writes the executable. Inside the sandbox; the files were declared. 0 or -1. */
int embed_write(const struct embed_program *program, const struct embed_file *files, size_t count,
                const char **words, size_t word_count, struct out *o, struct err *e);

/* Writes the bytes of one file of the executable fd, whose SHA-256 must hold. 0 or -1. */
int embed_extract(const struct payload *p, const char *wanted, int fd, const char *path,
                  struct out *o, struct err *e);

#endif
