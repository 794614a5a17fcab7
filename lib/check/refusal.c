#include "check/refusal.h"

#include <stddef.h>
#include <string.h>

/* The first row that fits holds. fact: a part of the fact of the error; code:
 * ERR_NONE is any. */
static const struct row {
	enum err_code code;
	const char *fact;
	unsigned point;
} rows[] = {
	{ ERR_CHECKSUM, "", 4 },
	{ ERR_VERSION, "", 3 },
	{ ERR_SIGNATURE, "", 23 },
	{ ERR_DECRYPT, "", 24 },
	{ ERR_FORMAT, "which is not read here", 1 },
	{ ERR_NONE, "plan has version", 3 },
	{ ERR_NONE, "CRC", 4 },
	{ ERR_NONE, "its reader was", 0 },
	{ ERR_NONE, "it was cut short", 12 },
	{ ERR_NONE, "belongs to nothing", 5 },
	/* names and descriptors */
	{ ERR_NONE, "dimensions, at most", 19 },
	{ ERR_NONE, "dimensions, GGUF has at most", 19 },
	{ ERR_NONE, "tensor name that is not UTF-8", 17 },
	{ ERR_NONE, "name is not UTF-8", 17 },
	{ ERR_NONE, "tensor name of", 17 },
	{ ERR_NONE, "without a name", 17 },
	{ ERR_NONE, "metadata key", 5 },
	{ ERR_NONE, "occurs twice in the index", 18 },
	{ ERR_NONE, "occurs twice", 18 },
	{ ERR_NONE, "dtype code", 21 },
	{ ERR_NONE, "the type number", 21 },
	{ ERR_NONE, "unknown dtype", 21 },
	{ ERR_NONE, "UnsupportedQuantization", 21 },
	{ ERR_NONE, "dtype by name", 21 },
	{ ERR_NONE, "the size of type", 21 },
	{ ERR_NONE, "index is not sorted", 7 },
	/* files of one model */
	{ ERR_NONE, "shard", 9 },
	{ ERR_IO, "", 9 },
	/* metadata */
	{ ERR_NONE, "exceeds 256 MiB", 16 },
	{ ERR_NONE, "MiB are read", 16 },
	{ ERR_NONE, "header of", 16 },
	{ ERR_NONE, "JSON", 5 },
	{ ERR_NONE, "value type", 5 },
	{ ERR_NONE, "value that its key", 5 },
	{ ERR_NONE, "metadata", 5 },
	{ ERR_NONE, "general.alignment", 6 },
	{ ERR_NONE, "not a multiple of", 6 },
	{ ERR_NONE, "its member", 5 },
	{ ERR_NONE, "MessagePack", 5 },
	{ ERR_NONE, "a length of", 5 },
	{ ERR_NONE, "an array of", 5 },
	{ ERR_NONE, "arrays inside arrays", 5 },
	{ ERR_NONE, "key of ours", 5 },
	{ ERR_NONE, "its plan has", 5 },
	{ ERR_NONE, "its plan gives", 5 },
	{ ERR_NONE, "that no key names", 5 },
	{ ERR_NONE, "is not there", 5 },
	{ ERR_NONE, "contradicts its", 5 },
	{ ERR_NONE, "contradicts apr_", 5 },
	{ ERR_NONE, "without its", 5 },
	{ ERR_NONE, "has both", 5 },
	{ ERR_NONE, "a scale that is not finite", 5 },
	{ ERR_NONE, "list of empty tensors", 5 },
	{ ERR_NONE, "names of types are listed", 5 },
	/* the header of safetensors, which is JSON */
	{ ERR_NONE, "is expected", 5 },
	{ ERR_NONE, "surrogates", 5 },
	{ ERR_NONE, "in a string", 5 },
	{ ERR_NONE, "a string that is not UTF-8", 5 },
	{ ERR_NONE, "leading zero", 5 },
	{ ERR_NONE, "a number that", 5 },
	{ ERR_NONE, "which no tensor has", 5 },
	{ ERR_NONE, "without dtype, shape", 5 },
	{ ERR_NONE, "spaces after the header", 5 },
	{ ERR_NONE, "data_offsets", 14 },
	{ ERR_NONE, "more than 8 numbers", 19 },
	/* the layout */
	{ ERR_NONE, "before the index", 2 },
	{ ERR_NONE, "before the data", 2 },
	{ ERR_NONE, "index begins", 2 },
	{ ERR_NONE, "is sealed", 24 },
	{ ERR_NONE, "compress", 8 },
	{ ERR_NONE, "codec", 8 },
	{ ERR_NONE, "lz4", 8 },
	{ ERR_NONE, "zstd", 8 },
	{ ERR_NONE, "footer", 12 },
	{ ERR_NONE, "ends before its checksum", 12 },
	{ ERR_NONE, "ends before DONE", 12 },
	{ ERR_NONE, "after the end", 13 },
	{ ERR_NONE, "bytes after its end", 13 },
	{ ERR_NONE, "its content ends at", 13 },
	{ ERR_NONE, "bytes of data", 14 },
	{ ERR_NONE, "overlaps", 14 },
	{ ERR_NONE, "a hole of", 14 },
	{ ERR_NONE, "lies before it", 14 },
	{ ERR_NONE, "its offset", 14 },
	{ ERR_NONE, "ends here", 14 },
	{ ERR_NONE, "of this shape takes", 14 },
	{ ERR_NONE, "needs rows of", 14 },
	{ ERR_NONE, "its dimensions overflows", 14 },
	{ ERR_NONE, "in bytes overflows", 14 },
	{ ERR_FORMAT, "", 1 },
	{ ERR_CORRUPT, "is empty", 1 },
	{ ERR_CORRUPT, "", 2 },
};

unsigned
refusal_point(const struct err *e)
{
	size_t i;

	if (e->code == ERR_NONE || e->missing)
		return 0;
	for (i = 0; i < sizeof rows / sizeof *rows; i++)
		if ((rows[i].code == ERR_NONE || rows[i].code == e->code) &&
		    strstr(e->fact, rows[i].fact))
			return rows[i].point;
	return 0;
}
