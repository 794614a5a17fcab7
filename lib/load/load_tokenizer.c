#include "load/load_tokenizer.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/dir.h"
#include "core/opened.h"

/* Open a file that is a tokenizer and not a model: JSON, or SentencePiece's. If it is neither,
 * returns NULL, leaves e empty, and r is at its beginning. */
static struct tokenizer *
open_file(struct reader *r, const struct tokenizer_options *o, struct err *e)
{
	struct tokenizer *t = NULL;
	struct buf b = { 0 };
	const uint8_t *head;
	size_t n;
	bool json;

	head = reader_peek(r, FORMAT_PROBE, &n);
	if (!head || n == 0 || (head[0] != '{' && head[0] != '\n'))
		return NULL;
	json = head[0] == '{';
	if (reader_rest(r, &b, SIZE_MAX) == 0)
		t = json ? tokenizer_open_json(b.p, b.n, NULL, 0, r->name, o, e)
		         : tokenizer_open_sentencepiece(b.p, b.n, r->name, o, e);
	buf_free(&b);
	return t;
}

static struct tokenizer *
read_model(struct source *s, bool whole, const struct tokenizer_options *o, struct err *e)
{
	struct tokenizer *t = NULL;
	struct material m;

	if (material_open(&m, s->plan, e) == 0 && material_read(&m, s, e) == 0 &&
	    (!whole || source_finish(s, e) == 0))
		t = tokenizer_open(&m, s->name, o, e);
	material_free(&m);
	return t;
}

struct tokenizer *
load_tokenizer_source(struct source *s, const struct tokenizer_options *o, struct err *e)
{
	return read_model(s, true, o, e);
}

/* whole: read a pipe to its end, so that its writer does not get a closed pipe. */
static struct tokenizer *
open_model(struct source *s, bool whole, const struct tokenizer_options *o, struct err *e)
{
	struct tokenizer *t = s ? read_model(s, whole, o, e) : NULL;

	source_close(s);
	return t;
}

struct tokenizer *
load_tokenizer(const char *path, const struct tokenizer_options *o, struct err *e)
{
	const struct format_options options = { 0 };

	return load_tokenizer_from(path, &options, o, e);
}

struct tokenizer *
load_tokenizer_from(const char *path, const struct format_options *options,
                    const struct tokenizer_options *o, struct err *e)
{
	const struct format *format;
	struct tokenizer *t;
	struct source *s;
	struct stat st;
	struct reader r;
	int held = -1;

	if (strcmp(path, "-") == 0 || (opened_stat(path, &st) == 0 && S_ISREG(st.st_mode) &&
	                               !dir_is_several(path))) {
		if (reader_open(&r, path, e) < 0)
			return NULL;
		t = options->from ? NULL : open_file(&r, o, e);
		if (t || e->code != ERR_NONE) {
			reader_close(&r);
			return t;
		}
		return open_model(format_open(&r, options, NULL, &format, e),
		                  strcmp(path, "-") == 0, o, e);
	}
	s = format_open_path(path, options, NULL, &format, &held, e);
	t = open_model(s, false, o, e);
	if (held >= 0)
		close(held);
	return t;
}
