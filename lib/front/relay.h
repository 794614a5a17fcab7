/* relay: the messages of the stages of a pipe.
 *
 * Stages write messages into pipes. Each line goes on to standard error as it arrives, except
 * the last message of a stage (a line, and its hint): if the stage fails because another one
 * failed first, that is dropped. Progress, which ends in a carriage return or is written in
 * front of one, becomes one line for each stage at the bottom of a terminal.
 */
#ifndef FRONT_RELAY_H
#define FRONT_RELAY_H

#include <stdbool.h>
#include <stddef.h>

#include "core/buf.h"

#define RELAY_LINE 4096 /* longer lines are passed on in pieces */

struct relay_stage {
	int fd;             /* its messages, or -1 after their end */
	char line[RELAY_LINE];
	size_t n;           /* characters of a line that has not ended */
	struct buf held;    /* the last message, complete lines */
	char progress[160]; /* what it last said of its progress, or "" */
};

struct relay {
	struct relay_stage *stages;
	size_t n;
	bool terminal;      /* draws progress */
	size_t drawn;       /* lines of progress on the terminal */
};

/* Reads what has arrived from a stage; closes fd at the end. */
void relay_read(struct relay *r, size_t stage);

/* Draws the progress of all stages, or removes it. */
void relay_draw(struct relay *r);
void relay_clear(struct relay *r);

/* Prints the message that was held back, with a name in front of its fact if it is not NULL,
 * or drops it. */
void relay_release(struct relay *r, size_t stage, const char *name);
void relay_drop(struct relay *r, size_t stage);

#endif
