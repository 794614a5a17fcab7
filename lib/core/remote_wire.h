/* remote_wire: what a tool (core/remote.h) and the helper that reads a remote model for it
 * (hub/serve.h) send each other.
 *
 * Both ends of the socket are programs of the same build, so a message is a structure. The
 * tool sends a request and receives one answer to it. Bytes do not pass through the socket:
 * the helper puts them into the window, memory that both share and that the tool may only
 * read. They stay there until the tool's next request.
 */
#ifndef CORE_REMOTE_WIRE_H
#define CORE_REMOTE_WIRE_H

#include <stddef.h>
#include <stdint.h>

#include "core/err.h"

enum remote_what {
	REMOTE_BEGIN, /* text: the source. Answer: the window and its n bytes; file: the model, a
	               * number or REMOTE_FOLDER */
	REMOTE_NAME,  /* file: a number, from 0 on. Answer: text, its name in the folder; n, its
	               * size. Behind the last one: missing */
	REMOTE_FIND,  /* text: a name in the folder. Answer: file, n */
	REMOTE_OPEN,  /* file: a number or REMOTE_FOLDER. Answer: a descriptor; own */
	REMOTE_READ,  /* file, at, n: these bytes or fewer; more: the bytes from `at` on that will
	               * be read, n if that is not known. Answer: at, in the window; n, at least 1 */
	REMOTE_WANT,  /* file, at, n: these bytes will be read after those of the last WANT; n 0:
	               * that was all */
	REMOTE_WHOLE, /* file. Answer: the descriptor of a file that holds all bytes */
	REMOTE_PROVE  /* the model has been read: compare its digests, as far as they are known */
};

#define REMOTE_FOLDER UINT32_MAX
#define REMOTE_TEXT 8192 /* bytes of a source's text, with NUL */
#define REMOTE_NAMES 1024 /* bytes of a file's name, with NUL */
#define REMOTE_FILES 100000u

struct remote_ask {
	uint32_t what, file;
	uint64_t at, n, more;
	char text[REMOTE_TEXT]; /* sent up to its NUL */
};

struct remote_answer {
	uint32_t code;    /* enum err_code; then text is the error's */
	uint32_t missing; /* as in struct err */
	uint32_t file;
	uint32_t own;     /* REMOTE_OPEN: the descriptor is that of a file with all bytes; 0: it
	                   * has the size of the file, and cannot be read */
	uint64_t at, n;
	union {
		char name[REMOTE_NAMES];
		struct {
			char object[sizeof ((struct err *)0)->object];
			char fact[sizeof ((struct err *)0)->fact];
			char hint[sizeof ((struct err *)0)->hint];
		} why;
	} text; /* sent only if it is used */
};

#define REMOTE_ASK offsetof(struct remote_ask, text)
#define REMOTE_ANSWER offsetof(struct remote_answer, text)

/* Checks an answer of this many bytes to q against the form above; window: its size. Terminates
 * the texts. 0, or -1 if the helper cannot have meant it. */
int remote_check(const struct remote_ask *q, struct remote_answer *a, size_t bytes,
                 uint64_t window);

#endif
