/* replay: run a fuzz target over files, without a fuzzer.
 *
 * Usage: replay_NAME PATH...: files, or folders of them. Prints the number of
 * files, unless a property fails: then it stops there.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

extern int fuzz_way;
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t files;

/* The input's own way, and all that differ in sink and source. */
static void
replay(const char *path)
{
	FILE *f = fopen(path, "rb");
	static uint8_t data[1 << 20];
	size_t n = f ? fread(data, 1, sizeof data, f) : 0;
	uint8_t *exact = malloc(n ? n : 1); /* so that a sanitizer sees its end */

	if (!f || ferror(f) || !feof(f) || !exact) {
		fprintf(stderr, "replay: %s: cannot be read\n", path);
		exit(1);
	}
	fclose(f);
	memcpy(exact, data, n);
	for (fuzz_way = -1; fuzz_way < 8; fuzz_way++)
		LLVMFuzzerTestOneInput(exact, n);
	free(exact);
	files++;
}

static void
replay_folder(const char *path)
{
	DIR *d = opendir(path);
	struct dirent *x;
	char name[4096];

	while (d && (x = readdir(d))) {
		if (x->d_name[0] == '.')
			continue;
		snprintf(name, sizeof name, "%s/%s", path, x->d_name);
		replay(name);
	}
	if (d)
		closedir(d);
}

int
main(int argc, char **argv)
{
	struct stat st;
	int i;

	for (i = 1; i < argc; i++)
		if (stat(argv[i], &st) == 0 && S_ISDIR(st.st_mode))
			replay_folder(argv[i]);
		else
			replay(argv[i]);
	printf("%zu files\n", files);
	return files == 0;
}
