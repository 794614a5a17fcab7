/* say: messages on standard error, as all programs here print them: in colour if APR_COLOR says
 * so, or by default on a terminal that has colours. */
#ifndef CLI_SAY_H
#define CLI_SAY_H

#include "core/err.h"

/* Prints an error: "TOOL: SUBJECT: OBJECT: FACT (E001)", then its hint. subject: a file that the
 * object may name already, or NULL. */
void say_error(const char *tool, const char *subject, const struct err *e);

/* Prints "TOOL: TEXT". Silent if APR_LOG_LEVEL is "error". */
void say_note(const char *tool, const char *text);

#endif
