#include "cli/progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/tool.h"
#include "core/text.h"

#define EVERY_TERMINAL 0.2 /* seconds between two lines */
#define EVERY_LOG 10.0

static double
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

void
progress_begin(struct progress *p, bool asked, uint64_t total)
{
	const char *when = getenv("APR_PROGRESS"), *draw = getenv("APR_PROGRESS_DRAW");
	const bool always = when && strcmp(when, "always") == 0;
	const bool never = when && strcmp(when, "never") == 0;
	bool terminal = isatty(STDERR_FILENO) == 1 || (draw && *draw);

	*p = (struct progress){ .on = asked || always || (terminal && !never), .terminal = terminal,
		.total = total };
	if (p->on)
		p->began = p->shown = now();
}

/* Formats "1.5 MiB of 3.0 MiB, 700.0 KiB/s" or "3 of 7 parts". */
static void
amount(const struct progress *p, double speed, char *text, size_t size)
{
	char done[32], total[32], rate[32];

	if (p->unit)
		snprintf(text, size, "%" PRIu64 " of %" PRIu64 " %s", p->done, p->total, p->unit);
	else
		snprintf(text, size, "%s of %s, %s/s", text_size(done, sizeof done, p->done),
		         text_size(total, sizeof total, p->total),
		         text_size(rate, sizeof rate, (uint64_t)speed));
}

static void
show(const struct progress *p, double at)
{
	double seconds = at - p->began, speed = seconds > 0 ? (double)p->done / seconds : 0;
	double left = speed > 0 && p->total > p->done
	                  ? (double)(p->total - p->done) / speed : 0;
	char text[128];

	amount(p, speed, text, sizeof text);
	fprintf(stderr, "%s%s: %s%s%s, %.0f s left%s", p->terminal ? "\r" : "", tool_name(), text,
	        *p->said ? ", " : "", p->said, left, p->terminal ? "\033[K" : "\n");
}

void
progress_at(struct progress *p, uint64_t done)
{
	double at;

	p->done = done;
	if (!p->on)
		return;
	at = now();
	if (at - p->shown < (p->terminal ? EVERY_TERMINAL : EVERY_LOG))
		return;
	p->shown = at;
	show(p, at);
}

void
progress_end(struct progress *p)
{
	if (!p->on)
		return;
	if (p->terminal)
		fputs("\r\033[K", stderr);
	else
		show(p, now());
	p->on = false;
}
