/* front: what `apr WORD` adds to the start-up of its tool: runs in turn, the medians and the
 * shortest ones.
 *
 *     front FOLDER [RUNS]     FOLDER has apr and apr-sum
 */
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

#define RUNS 1000

static double
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* Returns the milliseconds of one run. */
static double
measure(const char *path, char *const *argv, const posix_spawn_file_actions_t *quiet)
{
	double began = now();
	int status;
	pid_t pid;

	if (posix_spawn(&pid, path, quiet, NULL, argv, environ) != 0 ||
	    waitpid(pid, &status, 0) < 0 || status != 0) {
		fprintf(stderr, "front: %s fails\n", path);
		exit(1);
	}
	return now() - began;
}

static int
compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

int
main(int argc, char **argv)
{
	static double alone[RUNS], front[RUNS];
	char tool[4096], apr[4096];
	char version[] = "--version", sum[] = "sum";
	char *one[] = { tool, version, NULL }, *two[] = { apr, sum, version, NULL };
	posix_spawn_file_actions_t quiet;
	size_t i, runs;

	if (argc < 2 || argc > 3) {
		fputs("operands: FOLDER [RUNS]\n", stderr);
		return 2;
	}
	runs = argc == 3 ? strtoul(argv[2], NULL, 10) : RUNS;
	if (runs == 0 || runs > RUNS)
		runs = RUNS;
	snprintf(tool, sizeof tool, "%s/apr-sum", argv[1]);
	snprintf(apr, sizeof apr, "%s/apr", argv[1]);
	posix_spawn_file_actions_init(&quiet);
	posix_spawn_file_actions_addopen(&quiet, STDOUT_FILENO, "/dev/null", 1, 0);
	for (i = 0; i < runs; i++) {
		alone[i] = measure(tool, one, &quiet);
		front[i] = measure(apr, two, &quiet);
	}
	qsort(alone, runs, sizeof *alone, compare);
	qsort(front, runs, sizeof *front, compare);
	printf("apr-sum --version %.2f ms, apr sum --version %.2f ms: %.2f ms more; shortest runs "
	       "%.2f and %.2f ms: %.2f ms more\n", alone[runs / 2], front[runs / 2],
	       front[runs / 2] - alone[runs / 2], alone[0], front[0], front[0] - alone[0]);
	return 0;
}
