/* vocabulary: the tokenizer of a file of any format. */
#ifndef VOCABULARY_H
#define VOCABULARY_H

#include "formats/format.h"
#include "tokenizer/tokenizer.h"

static struct tokenizer *
tokenizer_of_file(const char *path, struct err *e)
{
	const struct format_options options = { 0 };
	struct tokenizer *t = NULL;
	const struct format *which;
	struct material m;
	struct reader r;
	struct source *s = NULL;

	if (reader_open(&r, path, e) == 0)
		s = format_open(&r, &options, NULL, &which, e);
	if (!s)
		return NULL;
	if (material_open(&m, s->plan, e) == 0 && material_read(&m, s, e) == 0)
		t = tokenizer_open(&m, path, NULL, e);
	material_free(&m);
	source_close(s);
	return t;
}

#endif
