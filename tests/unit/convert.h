/* convert: the cases of the reference data: a model folder, and the GGUF file that the
 * reference converter makes of it.
 */
#ifndef CONVERT_H
#define CONVERT_H

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "arch/subject.h"
#include "formats/format.h"
#include "load/load.h"
#include "test.h"

struct convert {
	char name[256];
	struct subject subject; /* of the folder */
	struct load expected;   /* the reference's GGUF file */

	struct source *source;
	struct err e;
	int held;
};

/* Open case NAME below data. 0, or -1 with c->e filled; convert_close is due in any case. */
__attribute__((unused)) static int
convert_open(struct convert *c, const char *data, const char *name)
{
	const struct format_options options = { 0 };
	const struct format *format;
	struct item next;
	char path[4096];
	bool more;

	*c = (struct convert){ .held = -1 };
	snprintf(c->name, sizeof c->name, "%s", name);
	snprintf(path, sizeof path, "%s/convert/%s/expected.gguf", data, name);
	if (load_open(&c->expected, path, NULL, &c->e) < 0)
		return -1;
	snprintf(path, sizeof path, "%s/convert/%s/hf", data, name);
	c->source = format_open_path(path, &options, NULL, &format, &c->held, &c->e);
	if (!c->source)
		return -1;
	return subject_read(&c->subject, c->source, NULL, &next, &more, &c->e);
}

__attribute__((unused)) static void
convert_close(struct convert *c)
{
	subject_close(&c->subject);
	source_close(c->source);
	if (c->held >= 0)
		close(c->held);
	load_close(&c->expected);
}

/* Call test for each case, in the order of the names. */
__attribute__((unused)) static void
convert_each(const char *data, void (*test)(struct convert *c))
{
	struct dirent **list;
	struct convert c;
	char path[4096];
	int i, n;

	snprintf(path, sizeof path, "%s/convert", data);
	n = scandir(path, &list, NULL, alphasort);
	for (i = 0; i < n; i++) {
		if (list[i]->d_name[0] != '.' && !strchr(list[i]->d_name, '.')) {
			if (convert_open(&c, data, list[i]->d_name) < 0)
				test_ok(0, "%s: %s: %s", list[i]->d_name, c.e.object, c.e.fact);
			else
				test(&c);
			convert_close(&c);
		}
		free(list[i]);
	}
	free(list);
}

#endif
