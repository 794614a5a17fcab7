/* refusal: the point of each file that a reader refuses. The generators make files with one fault
 * each, and tests/golden/refusals.txt has their points. So a message that changes cannot move a
 * point unseen. If a fault is new, the test prints its line. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check/refusal.h"
#include "check/survey.h"
#include "core/dir.h"
#include "formats/format.h"
#include "file.h"
#include "test.h"

static const char *const generators[] = {
	"gguf_faults", "apr2_faults", "apr64_faults", "apr1_faults", "safetensors_faults",
	"stream_faults",
};

static const char *golden;
static unsigned tested;

/* Reads the file to its end. The point of its fault, or 0. */
static unsigned
point_of(const char *path, struct err *e)
{
	struct format_options how = { .closed = false };
	struct survey s = { .path = path, .jobs = 1 };
	const struct format *format;
	struct source *source;
	int held = -1;

	source = format_open_path(path, &how, NULL, &format, &held, e);
	if (source && survey_run(&s, source, e) == 0 && !s.complete && e->code == ERR_NONE)
		*e = s.fault;
	if (source)
		survey_free(&s);
	source_close(source);
	if (held >= 0)
		close(held);
	return refusal_point(e);
}

static void
test_file(const char *folder, const char *name)
{
	char path[4096], line[256];
	struct err e = ERR_INIT;
	unsigned point;

	snprintf(path, sizeof path, "%s/%s", folder, name);
	point = point_of(path, &e);
	snprintf(line, sizeof line, "\n%s %u\n", name, point);
	if (!golden || !strstr(golden, line))
		test_ok(0, "%s %u (%s)", name, point, e.fact);
	tested++;
}

/* Tests the files of a MANIFEST that are refused. Returns their number. */
static unsigned
test_manifest(const char *folder)
{
	size_t n;
	char *text = (char *)file_read(&n, "%s/MANIFEST", folder), *line, *next = text, *status;
	unsigned count = 0;

	while ((line = strsep(&next, "\n")) && *line) {
		status = strchr(line, '\t');
		if (!status || status[1] == '0')
			continue;
		*status = 0;
		test_file(folder, line);
		count++;
	}
	free(text);
	return count;
}

static void
test_generator(const char *programs, const char *folder, const char *name)
{
	char command[4096];
	unsigned n;

	snprintf(command, sizeof command, "rm -rf '%s' && mkdir '%s' && '%s/%s' '%s'", folder, folder,
	         programs, name, folder);
	if (!test_ok(system(command) == 0, "%s makes files", name))
		return;
	n = test_manifest(folder);
	test_ok(n > 50, "%s: %u files, whose points are those of the list", name, n);
}

int
main(void)
{
	const char *programs = getenv("APR_GEN");
	char folder[] = "/tmp/t_refusal.XXXXXX", files[64], command[128];
	const char *at;
	unsigned listed = 0;
	size_t i, n;

	if (!programs) {
		test_skip("refusals", "APR_GEN does not name the folder of generators");
		return test_done();
	}
	if (!mkdtemp(folder))
		return 1;
	golden = (const char *)file_read(&n, "tests/golden/refusals.txt");
	snprintf(files, sizeof files, "%s/files", folder);
	for (i = 0; i < sizeof generators / sizeof *generators; i++)
		test_generator(programs, files, generators[i]);
	snprintf(command, sizeof command, "rm -rf '%s'", folder);
	test_ok(system(command) == 0, "the files are removed");
	for (at = golden; at && (at = strchr(at + 1, '\n')) && at[1]; )
		listed++;
	test_ok(listed == tested, "the list has %u files, as the generators make", listed);
	free((void *)(uintptr_t)golden);
	return test_done();
}
