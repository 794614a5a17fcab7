#include "cli/quant/calibrate.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/input.h"
#include "cli/method.h"
#include "core/spool.h"
#include "core/text.h"
#include "crypto/digest.h"

#define TEXT_BYTES (64u << 20) /* maximum */
#define PIECE (1u << 16)

/* ---- the text ---- */

static int
refuse(const struct calibrate *c, const struct buf *text, struct err *e)
{
	const bool matrix = text->n >= 4 && memcmp(text->p, "GGUF", 4) == 0;

	err_set(e, ERR_CORRUPT, c->path, "is not UTF-8 text");
	return err_hint(e, matrix ? "an importance matrix is given with --imatrix"
	                          : "--calibration needs a text that resembles what the model is "
	                            "used for");
}

static int
read_all(const struct calibrate *c, int fd, struct buf *text, struct err *e)
{
	struct stat st;
	uint8_t *room;
	ssize_t n = 1;

	if (fd < 0 || fstat(fd, &st) < 0)
		return err_errno(e, c->path, "cannot be opened");
	if (!S_ISREG(st.st_mode)) {
		err_set(e, ERR_USAGE, c->path, "is not a file: it is read twice");
		return err_hint(e, "write the text to a file first");
	}
	while (n != 0) {
		room = buf_room(text, PIECE);
		n = room ? read(fd, room, PIECE) : 0;
		if (!room)
			return err_memory(e);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_errno(e, c->path, "cannot be read");
		text->n += (size_t)n;
		if (text->n > TEXT_BYTES)
			return err_set(e, ERR_MEMORY, c->path, "is longer than %u bytes", TEXT_BYTES);
	}
	return 0;
}

static int
read_text(struct calibrate *c, struct err *e)
{
	struct buf text = { 0 };
	struct digest digest;
	struct sha256 hash;
	const int fd = open(c->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	int r = read_all(c, fd, &text, e);

	if (r == 0 && text.n == 0)
		r = err_set(e, ERR_INVALID, c->path, "is empty");
	if (r == 0 && !text_utf8((const char *)text.p, text.n, false))
		r = refuse(c, &text, e);
	if (r == 0) {
		sha256_start(&hash);
		sha256_add(&hash, text.p, text.n);
		r = sha256_finish(&hash, &digest, e);
	}
	if (r == 0)
		digest_text(c->record.sha256, &digest);
	if (fd >= 0)
		close(fd);
	buf_free(&text);
	return r;
}

int
calibrate_check(struct calibrate *c, const char *trusted, struct err *e)
{
	double range;

	if (!c->path) {
		if (c->method || c->percentile > 0 || c->samples)
			return tool_misused(e, "%s needs --calibration FILE, the text",
			                    c->method ? "--calibration-method"
			                    : c->samples ? "--calibration-samples" : "--calibration-percentile");
		return 0;
	}
	if (strcmp(c->path, "-") == 0)
		return tool_misused(e, "--calibration: standard input is the model");
	range = method_range("--calibration-", c->method, c->percentile, e);
	if (range < 0)
		return -1;
	if (trusted) {
		err_set(e, ERR_USAGE, NULL, "--calibration reads the model before it is verified");
		return err_hint(e, "apr-verify --trusted-key KEY FILE | apr-quant --calibration ...");
	}
	c->record.method = c->method ? c->method : "mse";
	c->record.percentile = strcmp(c->record.method, "percentile") == 0 ? range : 0;
	return read_text(c, e);
}

/* ---- the model ---- */

static int
copy(int from, int to, struct err *e)
{
	uint8_t piece[PIECE];
	ssize_t n, put, at;

	while ((n = read(from, piece, sizeof piece)) != 0) {
		if (n < 0 && errno != EINTR)
			return err_errno(e, "<stdin>", "cannot be read");
		for (at = 0; at < n; at += put) {
			put = write(to, piece + at, (size_t)(n - at));
			if (put < 0 && errno != EINTR)
				return err_errno(e, spool_folder(), "the model cannot be spooled");
			put = put < 0 ? 0 : put;
		}
	}
	return 0;
}

/* Make standard input a file, which can be read again. */
static int
hold_input(struct calibrate *c, struct err *e)
{
	struct stat st;
	int fd, r;

	c->piped = true;
	if (fstat(STDIN_FILENO, &st) == 0 && S_ISREG(st.st_mode)) {
		c->start = lseek(STDIN_FILENO, 0, SEEK_CUR);
		return 0;
	}
	fd = spool_file(e);
	if (fd < 0)
		return -1;
	r = copy(STDIN_FILENO, fd, e);
	if (r == 0 && (lseek(fd, 0, SEEK_SET) < 0 || dup2(fd, STDIN_FILENO) < 0))
		r = err_errno(e, spool_folder(), "the model cannot be spooled");
	close(fd);
	return r;
}

int
calibrate_prepare(struct calibrate *c, const char *path, unsigned jobs, struct err *e)
{
	const char **to = c->run;

	if (!c->path)
		return 0;
	if ((!path || strcmp(path, "-") == 0) && !isatty(STDIN_FILENO) && hold_input(c, e) < 0)
		return -1;
	*to++ = "apr-imatrix";
	*to++ = "--reproducible";
	*to++ = "--process-output";
	*to++ = "--to";
	*to++ = "stream";
	*to++ = "--method";
	*to++ = c->record.method;
	if (c->record.percentile > 0) {
		snprintf(c->share, sizeof c->share, "%.17g", c->record.percentile);
		*to++ = "--percentile";
		*to++ = c->share;
	}
	if (c->samples) {
		snprintf(c->count, sizeof c->count, "%llu", (unsigned long long)c->samples);
		*to++ = "--chunks";
		*to++ = c->count;
	}
	snprintf(c->jobs, sizeof c->jobs, "%u", jobs);
	*to++ = "--jobs";
	*to++ = c->jobs;
	*to++ = "--text";
	*to++ = c->path;
	*to++ = "--";
	*to++ = path ? path : "-";
	*to = NULL;
	input_prepare_run(c->path, c->run);
	return 0;
}

int
calibrate_read(struct calibrate *c, struct imatrix *m, struct err *e)
{
	struct input in;

	if (input_open(&in, c->path, e) == 0)
		imatrix_read_model(m, in.source, e);
	if (input_close(&in, e) < 0)
		return -1;
	if (c->piped && lseek(STDIN_FILENO, c->start, SEEK_SET) < 0)
		return err_errno(e, "<stdin>", "cannot be read again");
	c->record.samples = m->chunks;
	c->record.tokens = m->chunks * m->chunk_tokens;
	return 0;
}
