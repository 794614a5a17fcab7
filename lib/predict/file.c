#include "predict/file.h"

#include "core/buf.h"
#include "core/map.h"

/* Reads the rest of r. */
static int
read_rest(struct predictor *m, const struct predict_reader *reader, struct reader *r,
          const char *where, struct err *e)
{
	struct buf b = { 0 };
	int status = -1;

	if (reader_rest(r, &b, PREDICT_BYTES) == 0)
		status = b.n > PREDICT_BYTES ? err_set(e, ERR_MEMORY, where, "is larger than 2 GiB")
		                             : predict_read(m, reader, b.p, b.n, where, e);
	buf_free(&b);
	return status;
}

/* Maps the file if its reader looks at each byte once. */
static int
read_file(struct predictor *m, const struct predict_reader *reader, struct reader *r,
          const char *where, struct err *e)
{
	struct map map = { 0 };
	int status;

	if (!reader->once || !r->seekable || r->remote || r->fd < 0 || r->end == 0)
		return read_rest(m, reader, r, where, e);
	if (map_file(&map, r->fd, where, e) < 0)
		return -1;
	if (map.n != r->end || map.n > PREDICT_BYTES)
		status = read_rest(m, reader, r, where, e);
	else
		status = predict_read(m, reader, map.p, map.n, where, e);
	if (status == 0 && !map_whole(&map))
		status = err_set(e, ERR_CORRUPT, where, "became shorter while it was read");
	map_close(&map);
	return status;
}

int
predict_file(struct predictor *m, struct reader *r, const char *where, struct err *e)
{
	const struct predict_reader *reader;
	size_t n;
	const uint8_t *p = reader_peek(r, PREDICT_PROBE, &n);

	if (!p)
		return -1;
	reader = predict_probe(p, n);
	return reader ? read_file(m, reader, r, where, e) : 1;
}
