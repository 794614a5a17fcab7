#include "tool/progress.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "core/text.h"
#include "tool/tool.h"

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
	bool terminal = isatty(STDERR_FILENO) == 1;

	*p = (struct progress){ .on = terminal || asked, .terminal = terminal,
		.total = total };
	if (p->on)
		p->began = p->shown = now();
}

static void
show(const struct progress *p, double at)
{
	char done[32], total[32], rate[32];
	double seconds = at - p->began, speed = seconds > 0 ? (double)p->done / seconds : 0;
	double left = speed > 0 && p->total > p->done
	                  ? (double)(p->total - p->done) / speed : 0;

	fprintf(stderr, "%s%s: %s of %s, %s/s, %.0f s left%s", p->terminal ? "\r" : "",
	        tool_name(), text_size(done, sizeof done, p->done),
	        text_size(total, sizeof total, p->total),
	        text_size(rate, sizeof rate, (uint64_t)speed), left,
	        p->terminal ? "\033[K" : "\n");
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
