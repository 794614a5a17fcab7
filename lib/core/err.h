/* err: what went wrong, told once.
 *
 * The library never prints and never exits: a function that can fail takes a
 * caller-owned struct err, fills it, and returns -1. The first fault wins, so
 * that the message names the cause and not what followed from it.
 *
 * Printed by cli/tool.c as
 *     apr-quant: OBJECT: FACT (E001)
 *     hint: HINT
 */
#ifndef CORE_ERR_H
#define CORE_ERR_H

#include <stdarg.h>
#include <stdint.h>

/* The numbers 1 to 8 are the specification's E001 to E008. */
enum err_code {
	ERR_NONE = 0,
	ERR_FORMAT = 1,    /* not a form we read, or not of this kind */
	ERR_CORRUPT = 2,   /* structure damaged, truncated, contradictory */
	ERR_VERSION = 3,   /* a version we do not read */
	ERR_CHECKSUM = 4,  /* a CRC differs */
	ERR_DECRYPT = 5,   /* wrong key or passphrase */
	ERR_SIGNATURE = 6, /* signature missing, wrong, or not trusted */
	ERR_IO = 7,        /* the system refused; exit 3 if the file is missing */
	ERR_MEMORY = 8,    /* out of memory, or a limit reached */
	ERR_USAGE,         /* wrong command line: exit 2, no E-number */
	ERR_NO,            /* "no" as an answer: exit 1, no E-number */
	ERR_INVALID,       /* a requested check failed: exit 5, no E-number */
	ERR_CHILD          /* a child has already spoken; exit with its status */
};

struct err {
	enum err_code code;
	int missing;       /* ERR_IO: the file does not exist */
	int status;        /* ERR_CHILD: the exit status to pass on */
	char object[384];  /* file or tensor, printable, perhaps with an offset */
	char fact[640];
	char hint[256];
};

#define ERR_INIT { .code = ERR_NONE }

/* Fill e, unless it already holds a fault. object may be NULL; it is escaped
 * (core/text.h), and so is what the fact quotes: names from files may be
 * handed in as they are. Always returns -1, so that "return err_set(…)" reads well. */
int err_set(struct err *e, enum err_code code, const char *object,
            const char *fmt, ...) __attribute__((format(printf, 4, 5)));
int err_vset(struct err *e, enum err_code code, const char *object,
             const char *fmt, va_list ap) __attribute__((format(printf, 4, 0)));

/* As err_set with ERR_IO and the text of errno after the fact. */
int err_errno(struct err *e, const char *object, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Out of memory (E008). */
int err_memory(struct err *e);

/* Give the fault a second line. Returns -1. */
int err_hint(struct err *e, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* The process exit status a fault asks for: 1, 2, 3, 4 or 5. */
int err_exit(const struct err *e);

#endif
