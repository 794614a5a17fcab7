#include "model/suffix.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

const char *
suffix_container(const char *path)
{
	static const char *const names[] = { "gguf", "safetensors", "apr" };
	const char *slash = strrchr(path, '/'), *dot;
	size_t i;

	path = slash ? slash + 1 : path;
	dot = strrchr(path, '.');
	for (i = 0; dot && i < sizeof names / sizeof *names; i++)
		if (strcasecmp(dot + 1, names[i]) == 0)
			return names[i];
	return NULL;
}
