#include "core/dir_name.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/buf.h"
#include "core/mem.h"
#include "core/text.h"

#define PARTS 6 /* of a name that leads to folders below */
#define NUMBERS "-00000-of-00000"

bool
dir_name_is_plain(const char *name)
{
	size_t i, n = strlen(name);

	if (n == 0 || n > 255 || *name == '.' || !text_utf8(name, n, false))
		return false;
	for (i = 0; i < n; i++)
		if (name[i] == '/' || (uint8_t)name[i] < 0x20 || name[i] == 0x7f)
			return false;
	return true;
}

bool
dir_name_folder(const char *name, char folder[256])
{
	const char *slash = strchr(name, '/');

	return slash && snprintf(folder, 256, "%.*s", (int)(slash - name), name) < 256;
}

bool
dir_name_is_below(const char *name)
{
	char folder[256];

	return strlen(name) <= 255 && dir_name_folder(name, folder) && dir_name_is_plain(folder) &&
	       strcmp(strchr(name, '/') + 1, "config.json") == 0;
}

bool
dir_name_is_inside(const char *name)
{
	char part[256];
	unsigned parts;

	if (strlen(name) > 255)
		return false;
	for (parts = 1; dir_name_folder(name, part); parts++) {
		if (parts == PARTS || !dir_name_is_plain(part))
			return false;
		name = strchr(name, '/') + 1;
	}
	return dir_name_is_plain(name);
}

bool
dir_name_in_package(const char *name)
{
	return (strncmp(name, "Data/", 5) == 0 || strncmp(name, "weights/", 8) == 0) &&
	       dir_name_is_inside(name);
}

bool
dir_name_in_saved_model(const char *name)
{
	return (strncmp(name, "variables/", 10) == 0 || strncmp(name, "assets/", 7) == 0) &&
	       dir_name_is_inside(name);
}

bool
dir_name_ends(const char *name, const char *with)
{
	size_t n = strlen(name), m = strlen(with);

	return n >= m && strcmp(name + n - m, with) == 0;
}

bool
dir_is_several(const char *name)
{
	static const char *const indexes[] = { ".index.json", ".apr.json", ".index" };
	static const char *const shards[] = { ".gguf", ".apr", ".safetensors", ".bin" };
	struct dir_number number;
	size_t i;

	if (strcmp(name, "checkpoint") == 0) /* of TensorFlow: it names an index */
		return true;
	for (i = 0; i < sizeof indexes / sizeof *indexes; i++)
		if (dir_name_ends(name, indexes[i]))
			return true;
	for (i = 0; i < sizeof shards / sizeof *shards; i++)
		if (dir_numbered(name, shards[i], &number))
			return true;
	return false;
}

char *
dir_label(const char *path, const char *name)
{
	struct buf b = { 0 };
	size_t n = strlen(path);

	buf_text(&b, path);
	if (n > 0 && path[n - 1] != '/')
		buf_text(&b, "/");
	buf_text(&b, name);
	if (buf_string(&b))
		return (char *)b.p;
	buf_free(&b);
	return NULL;
}

char *
dir_last(const char *path)
{
	size_t n = path ? strlen(path) : 0, from;

	while (n > 1 && path[n - 1] == '/')
		n--;
	for (from = n; from > 0 && path[from - 1] != '/'; from--)
		;
	if (n == from || (path[from] == '.' && n - from <= 2))
		return NULL;
	return mem_text(path + from, n - from);
}

bool
dir_numbered(const char *name, const char *ending, struct dir_number *n)
{
	size_t length = strlen(name), end = strlen(NUMBERS) + strlen(ending);
	char a[6] = { 0 }, b[6] = { 0 };

	if (length <= end || !dir_name_ends(name, ending))
		return false;
	n->prefix = length - end;
	name += n->prefix;
	memcpy(a, name + 1, 5);
	memcpy(b, name + 10, 5);
	return name[0] == '-' && memcmp(name + 6, "-of-", 4) == 0 &&
	       text_u64(a, 1, 99999, &n->number) == 0 && text_u64(b, 1, 99999, &n->of) == 0;
}

char *
dir_number_name(const char *prefix, size_t prefix_bytes, uint64_t number, uint64_t of,
                const char *ending)
{
	struct buf b = { 0 };

	buf_put(&b, prefix, prefix_bytes);
	buf_printf(&b, "-%05" PRIu64 "-of-%05" PRIu64 "%s", number, of, ending);
	if (buf_string(&b))
		return (char *)b.p;
	buf_free(&b);
	return NULL;
}
