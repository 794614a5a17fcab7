#include "formats/create.h"

#include <string.h>

#include "core/num.h"

#define ALIGN_MIN 32 /* programs do not need a smaller one */
#define ALIGN_MAX 65536

static bool
is_folder(const char *path)
{
	return path && *path && path[strlen(path) - 1] == '/';
}

int
create_check_options(const struct format *format, const struct format_options *o,
                     struct err *e)
{
	if (format->writes->check && format->writes->check(o, e) < 0)
		return -1;
	if (o->align && (!num_power_of_two(o->align) || o->align < ALIGN_MIN ||
	                 o->align > ALIGN_MAX))
		return err_set(e, ERR_USAGE, NULL, "--align must be a power of two from %d to %d, "
		               "not %u", ALIGN_MIN, ALIGN_MAX, o->align);
	return 0;
}

int
create_check_output(const struct format *format, const struct format_options *o,
                    const char *path, struct err *e)
{
	if (is_folder(path) && !format->writes->create_folder)
		return err_set(e, ERR_USAGE, NULL, "-o %.100s: a model in %s is one file, not a "
		               "folder", path, format->title);
	if (o->shard_size && (!path || strcmp(path, "-") == 0))
		return err_set(e, ERR_USAGE, NULL, "--shard-size needs -o FILE");
	if (o->shard_size && !format->writes->create_shards)
		return err_set(e, ERR_USAGE, NULL, "a model in %s is one file", format->title);
	if (o->reserves && !format->writes->reserves)
		return err_set(e, ERR_USAGE, NULL, "%s has no room to reserve", format->name);
	return 0;
}

struct sink *
create_sink(const struct format *format, const struct out_options *where,
            const struct format_options *o, struct err *e)
{
	struct out out;

	if (is_folder(where->path))
		return format->writes->create_folder(where, o, e);
	if (o->shard_size)
		return format->writes->create_shards(where, o, e);
	if (out_open(&out, where, e) == 0)
		return format->writes->create(&out, o, e);
	out_abandon(&out);
	return NULL;
}
