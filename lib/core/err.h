/* err: one error, with its cause.
 *
 * The library never prints and never exits. A function that can fail takes a struct err,
 * which the caller owns, fills it and returns -1. The first error wins, so the message
 * names the cause and not its consequences.
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
	ERR_FORMAT = 1,    /* an unsupported format, or the wrong kind of file */
	ERR_CORRUPT = 2,   /* damaged, truncated or contradictory */
	ERR_VERSION = 3,   /* an unsupported version */
	ERR_CHECKSUM = 4,  /* a CRC differs */
	ERR_DECRYPT = 5,   /* wrong key or passphrase */
	ERR_SIGNATURE = 6, /* signature missing, wrong, or not trusted */
	ERR_IO = 7,        /* a system call failed; exit 3 if a file is missing */
	ERR_MEMORY = 8,    /* out of memory, or a limit reached */
	ERR_USAGE,         /* wrong command line: exit 2, no E-number */
	ERR_NO,            /* the answer is "no": exit 1, no E-number */
	ERR_INVALID,       /* a requested check failed: exit 5, no E-number */
	ERR_NETWORK,       /* the network or a server failed: exit 6, no E-number */
	ERR_ACCESS,        /* a server or a licence refuses access: exit 7, no E-number */
	ERR_CHILD          /* a child has printed the message; exit with its status */
};

struct err {
	enum err_code code;
	int missing;       /* ERR_IO: the file does not exist */
	int status;        /* ERR_CHILD: the exit status to pass on */
	int has_at;        /* the error is at a place in the file: */
	uint64_t at;       /* byte offset */
	char object[384];  /* file or tensor, printable, with an offset if known */
	char fact[640];
	char hint[256];
};

#define ERR_INIT { .code = ERR_NONE }

/* Fills e unless it holds an error already. object may be NULL. Object and fact are escaped
 * (core/text.h), so callers can pass names from files without changes. Always returns -1,
 * so that callers can write "return err_set(...)". */
int err_set(struct err *e, enum err_code code, const char *object,
            const char *fmt, ...) __attribute__((format(printf, 4, 5)));
int err_vset(struct err *e, enum err_code code, const char *object,
             const char *fmt, va_list ap) __attribute__((format(printf, 4, 0)));

/* err_set with ERR_IO; appends the text of errno to the fact. */
int err_errno(struct err *e, const char *object, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Out of memory (E008). */
int err_memory(struct err *e);

/* Adds a second line to the error. Returns -1. */
int err_hint(struct err *e, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* The exit status for the error: 1 to 7. */
int err_exit(const struct err *e);

#endif
