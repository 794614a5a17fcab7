/* peak: run a command and write its peak resident memory, in KiB, to a file.
 *
 *     peak FILE COMMAND [ARGUMENT ...]
 *
 * Resident memory counts more than private memory (code and mapped
 * files too), so a bound that holds for it holds for private memory. The exit status is the
 * command's.
 */
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

int
main(int argc, char **argv)
{
	struct rusage u;
	int status;
	pid_t child;
	FILE *f;

	if (argc < 3)
		return 2;
	child = fork();
	if (child == 0) {
		execvp(argv[2], argv + 2);
		_exit(127);
	}
	if (child < 0 || wait4(child, &status, 0, &u) < 0)
		return 1;
	f = fopen(argv[1], "w");
	if (!f)
		return 1;
	fprintf(f, "%ld\n", u.ru_maxrss);
	fclose(f);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}
