#include "core/err.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/text.h"

int
err_vset(struct err *e, enum err_code code, const char *object,
         const char *fmt, va_list ap)
{
	char fact[sizeof e->fact];

	if (e->code != ERR_NONE)
		return -1;
	e->code = code;
	if (object)
		text_quote(e->object, sizeof e->object, object, strlen(object));
	vsnprintf(fact, sizeof fact, fmt, ap);
	text_sentence(e->fact, sizeof e->fact, fact);
	return -1;
}

int
err_set(struct err *e, enum err_code code, const char *object,
        const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	err_vset(e, code, object, fmt, ap);
	va_end(ap);
	return -1;
}

int
err_errno(struct err *e, const char *object, const char *fmt, ...)
{
	int saved = errno;
	va_list ap;
	size_t n;

	if (e->code != ERR_NONE)
		return -1;
	va_start(ap, fmt);
	err_vset(e, saved == ENOMEM ? ERR_MEMORY : ERR_IO, object, fmt, ap);
	va_end(ap);
	e->missing = saved == ENOENT || saved == ENOTDIR;
	n = strlen(e->fact);
	snprintf(e->fact + n, sizeof e->fact - n, ": %s", strerror(saved));
	return -1;
}

int
err_memory(struct err *e)
{
	return err_set(e, ERR_MEMORY, NULL, "out of memory");
}

int
err_hint(struct err *e, const char *fmt, ...)
{
	char hint[sizeof e->hint];
	va_list ap;

	if (e->hint[0])
		return -1;
	va_start(ap, fmt);
	vsnprintf(hint, sizeof hint, fmt, ap);
	va_end(ap);
	text_sentence(e->hint, sizeof e->hint, hint);
	return -1;
}

int
err_exit(const struct err *e)
{
	switch (e->code) {
	case ERR_NONE:
		return 0;
	case ERR_FORMAT:
	case ERR_CORRUPT:
	case ERR_VERSION:
	case ERR_CHECKSUM:
		return 4;
	case ERR_USAGE:
		return 2;
	case ERR_INVALID:
		return 5;
	case ERR_NETWORK:
		return 6;
	case ERR_ACCESS:
		return 7;
	case ERR_IO:
		return e->missing ? 3 : 1;
	case ERR_CHILD:
		return e->status;
	case ERR_DECRYPT:
	case ERR_SIGNATURE:
	case ERR_MEMORY:
	case ERR_NO:
		break;
	}
	return 1;
}
