/* list: the formats of the modules without importers: the containers that the tools write. */
#include "formats/format.h"

const struct format *const format_list[] = { &format_gguf, &format_apr64, &format_apr2,
	&format_apr1, &format_safetensors, &format_stream };
const size_t format_count = sizeof format_list / sizeof *format_list;
