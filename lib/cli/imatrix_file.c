#include "cli/imatrix_file.h"

#include <string.h>

#include "cli/input.h"
#include "cli/tool.h"
#include "core/sandbox.h"

int
imatrix_file_read(struct imatrix *m, const char *path, struct err *e)
{
	struct reader r;
	struct input in;
	const uint8_t *head;
	bool dat = false;
	size_t n;
	int status;

	if (strcmp(path, "-") == 0)
		return tool_misused(e, "--imatrix: standard input is the model");
	if (reader_open(&r, path, e) < 0)
		return -1;
	sandbox_enter();
	head = reader_peek(&r, 8, &n);
	dat = head && imatrix_is_dat(head, n);
	if (dat || r.failed) {
		status = dat ? imatrix_read_dat(m, &r, e) : -1;
		reader_close(&r);
		return status;
	}
	reader_close(&r);
	if (input_open(&in, path, e) == 0)
		imatrix_read_model(m, in.source, e);
	return input_close(&in, e);
}
