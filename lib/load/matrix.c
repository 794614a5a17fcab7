#include "load/matrix.h"

#include "formats/format.h"

/* The newer format is a model. */
static int
load_model(struct imatrix *m, struct reader *r, void (*note)(const char *), struct err *e)
{
	const struct format_options options = { .use = FORMAT_ALL };
	const struct format *which;
	struct source *s = format_open(r, &options, note, &which, e);
	int status = s ? source_check_open(s, e) : -1;

	if (status == 0)
		status = imatrix_read_model(m, s, e);
	source_close(s);
	return status;
}

int
matrix_load(struct imatrix *m, const char *path, void (*note)(const char *), struct err *e)
{
	const uint8_t *head;
	struct reader r;
	size_t n;
	int status;

	if (reader_open(&r, path, e) < 0)
		return -1;
	head = reader_peek(&r, 8, &n);
	if (head && !imatrix_is_dat(head, n))
		return load_model(m, &r, note, e); /* the source owns the reader */
	status = head ? imatrix_read_dat(m, &r, e) : -1;
	reader_close(&r);
	return status;
}
