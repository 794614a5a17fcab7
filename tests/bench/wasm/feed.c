/* feed MODEL PROMPT COUNT TIMES: CPU time of one thread for a prompt of PROMPT tokens that is fed at once, and for
 * COUNT tokens after it that are fed one after the other, through the public functions; what feed.mjs does
 * in WebAssembly. Prints microseconds a token of each of TIMES runs, after one run that is not measured.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "api/aprml.h"

static double
cpu_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void
need(int ok, const struct aprml_error *e)
{
	if (ok)
		return;
	fprintf(stderr, "feed: %s\n", e->text);
	exit(1);
}

/* Microseconds a token of n tokens, fed in calls of at_once. */
static double
fed(struct aprml_run *r, uint32_t *id, size_t n, size_t at_once)
{
	const size_t words = aprml_run_vocabulary(r), first = aprml_run_position(r);
	struct aprml_error e;
	double start = cpu_seconds();
	size_t i, k;

	for (i = 0; i < n; i += at_once) {
		for (k = 0; k < at_once; k++)
			id[k] = (uint32_t)((first + i + k) * 7 % words);
		need(aprml_run_feed(r, id, at_once, NULL, NULL, &e) == 0, &e);
	}
	return (cpu_seconds() - start) * 1e6 / (double)n;
}

int
main(int argc, char **argv)
{
	size_t prompt, count;
	struct aprml_weights *w;
	struct aprml_error e;
	struct aprml_run *r;
	struct aprml *m;
	uint32_t *id;
	double before;
	int i;

	if (argc != 5)
		return 2;
	prompt = strtoul(argv[2], NULL, 10);
	count = strtoul(argv[3], NULL, 10);
	id = calloc(prompt + 1, sizeof *id);
	need((m = aprml_open(argv[1], &e)) != NULL, &e);
	need((w = aprml_weights_open(m, NULL, &e)) != NULL, &e);
	need((r = aprml_run_open(w, NULL, &e)) != NULL, &e);
	for (i = -1; id && i < atoi(argv[4]); i++) {
		aprml_run_rewind(r, 0);
		before = fed(r, id, prompt, prompt);
		if (i < 0)
			fed(r, id, count, 1);
		else
			printf("%.1f %.1f\n", before, fed(r, id, count, 1));
	}
	aprml_run_close(r);
	aprml_weights_close(w);
	aprml_close(m);
	free(id);
	return 0;
}
