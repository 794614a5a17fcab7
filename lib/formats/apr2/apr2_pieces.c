#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "formats/apr2/apr2.h"
#include "formats/apr2/apr2_manifest.h"
#include "formats/pieces.h"

/* The member source of file i. That of the first file describes the first container; the
 * others have only its format, version and alignment. */
static json_t *
piece_source(const struct pieces *s, size_t i)
{
	static const char *const members[] = { "format", "version", "alignment",
		APR2_ALIGNMENT_MEMBER };
	json_t *source, *v;
	size_t k;
	int r = 0;

	if (i == 0)
		return json_deep_copy(s->plan->source);
	source = json_object();
	for (k = 0; k < sizeof members / sizeof *members; k++)
		if ((v = json_object_get(s->plan->source, members[k])))
			r |= json_object_set(source, members[k], v);
	if (source && r == 0)
		return source;
	json_decref(source);
	return NULL;
}

static struct sink *
create_piece(struct pieces *s, size_t i, struct out *o, struct err *e)
{
	struct format_options options = s->options;

	if (i > 0)
		options.reserve = 0;
	return apr2_create_shard(o, &options, s->piece_count > 1 ? s->plan : NULL, e);
}

static json_t *
map_tensors(const struct pieces *s)
{
	json_t *map = json_object();
	size_t i, k;
	int r = map ? 0 : -1;

	for (i = 0; i < s->piece_count; i++)
		for (k = 0; r == 0 && k < s->pieces[i].count; k++)
			r = json_object_set_new(map,
			                        tensor_name(s->plan->tensors[s->pieces[i].first + k]),
			                        json_integer((json_int_t)i));
	if (r == 0)
		return map;
	json_decref(map);
	return NULL;
}

static int
write_manifest(struct pieces *s, struct buf *text, struct err *e)
{
	struct apr2_manifest_row *rows = mem_array(s->piece_count, sizeof *rows);
	json_t *map = map_tensors(s);
	size_t i;
	int r;

	for (i = 0; rows && i < s->piece_count; i++) {
		rows[i].file = s->pieces[i].name;
		apr2_settled(s->pieces[i].sink, &rows[i].crc, &rows[i].bytes);
	}
	r = rows && map ? apr2_manifest_write(rows, s->piece_count, map, text, e)
	                : err_memory(e);
	json_decref(map);
	free(rows);
	return r;
}

struct sink *
apr2_create_shards(const struct out_options *where, const struct format_options *options,
                   struct err *e)
{
	static const struct pieces_ops ops = { .ending = ".apr",
		.index_end = APR2_MANIFEST_END, .unit = APR2_BOUNDARY, .source = piece_source,
		.create = create_piece, .settle = apr2_settle, .rename = apr2_rename,
		.index = write_manifest };

	return pieces_create(where, false, options, &ops, e);
}
