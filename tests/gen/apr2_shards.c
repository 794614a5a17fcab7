/* apr2_shards: models in several APR2 files and a manifest: folders that are sound, and
 * folders with a single fault each.
 *
 * A folder has two shards of one tensor and m.apr.json, as the draft describes them and
 * nothing more. In a row's manifest, @1 and @2 stand for the CRC-32 in the footers of
 * the shards, in eight digits, %1 and %2 for that of the whole files, #1 and #2 for their sizes. MANIFEST: a line for each fault: the path to
 * read, and as in other tables. SOUND: the path of each sound one.
 */
#include "stream.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#define ONE "m-00001-of-00002.apr"
#define TWO "m-00002-of-00002.apr"
#define MANIFEST "m.apr.json"
#define META "{\"apr_version\":\"2.0.0\",\"model_type\":\"llama\"," \
	"\"architecture\":{\"name\":\"llama\"}}"
#define FLAGS (0x002 | 0x008 | 0x080) /* aligned to 64, sharded, streaming */

#define ROW(FILE, N) "{\"file\":\"" FILE "\",\"size\":#" N ",\"crc32\":\"@" N "\"}"
#define ROWS ROW(ONE, "1") "," ROW(TWO, "2")
#define MAP "{\"a\":0,\"b\":1}"
#define OF(VERSION, COUNT, LIST, TENSORS) "{\"apr_version\":\"" VERSION "\",\"sharded\":true," \
	"\"shard_count\":" COUNT ",\"shards\":[" LIST "],\"tensor_shard_map\":" TENSORS "}"
#define USUAL OF("2.0.0", "2", ROWS, MAP)
#define WITH_ROWS(LIST) OF("2.0.0", "2", LIST, MAP)
#define WITH_MAP(TENSORS) OF("2.0.0", "2", ROWS, TENSORS)

struct shard {
	const char *file, *tensors; /* each letter a tensor */
	const char *meta;           /* NULL: META */
	uint32_t flags;             /* 0: FLAGS */
	const char *text;           /* all that is in it */
};

struct row {
	const char *name;
	int status;
	const char *says, *manifest;
	struct shard shards[2];
	const char *missing, *link[2], *also, *read;
};

static const struct shard usual[2] = { { ONE, "a", NULL, 0, NULL }, { TWO, "b", NULL, 0, NULL } };

static const struct row rows[] = {
	/* Sound. */
	{ .name = "apr2_shards_manifest", .read = MANIFEST },
	{ .name = "apr2_shards_folder" },
	{ .name = "apr2_shards_first", .read = ONE },
	{ .name = "apr2_shards_last", .read = TWO },
	{ .name = "apr2_shards_of_another_name", .read = "index.json", .also = "index.json" },
	{ .name = "apr2_shards_as_existing_software_writes_it", .manifest = "{\"version\":\"2.0\","
	  "\"shard_count\":2,\"total_size\":1,\"tensor_count\":2,\"shards\":["
	  "{\"filename\":\"" ONE "\",\"index\":0,\"size\":#1,\"tensors\":[\"a\"]},"
	  "{\"filename\":\"" TWO "\",\"index\":1,\"size\":#2,\"tensors\":[\"b\"]}],"
	  "\"weight_map\":{\"a\":0,\"b\":1}}" },
	{ .name = "apr2_shards_crc_in_other_spellings", .manifest = WITH_ROWS(
	  "{\"file\":\"" ONE "\",\"crc32\":\"0x@1\"},{\"file\":\"" TWO "\"}") },
	{ .name = "apr2_shards_crc_of_the_whole_file", .manifest = WITH_ROWS(
	  "{\"file\":\"" ONE "\",\"crc32\":\"%1\"},{\"file\":\"" TWO "\",\"crc32\":\"%2\"}") },
	{ .name = "apr2_shards_names_without_numbers", .read = MANIFEST,
	  .shards = { { "y.apr", "a", NULL, 0, NULL }, { "x.apr", "b", NULL, 0, NULL } },
	  .manifest = WITH_ROWS("{\"file\":\"y.apr\"},{\"file\":\"x.apr\"}") },
	{ .name = "apr2_shards_without_the_flag", .read = MANIFEST,
	  .shards = { { ONE, "a", NULL, 0x82, NULL }, { TWO, "b", NULL, 0x82, NULL } } },

	/* The manifest. */
	{ .name = "apr2_shards_not_json", .status = 4, .says = "is not valid JSON", .manifest = "{" },
	{ .name = "apr2_shards_without_shards", .status = 4, .says = "it has no shards (E001)",
	  .manifest = "{\"a\":1}" },
	{ .name = "apr2_shards_no_shards", .status = 4, .says = "names no file",
	  .manifest = OF("2.0.0", "0", "", "{}") },
	{ .name = "apr2_shards_version_3", .status = 4, .says = "APR version 3.0.0, but only 2.x",
	  .manifest = OF("3.0.0", "2", ROWS, MAP) },
	{ .name = "apr2_shards_without_version", .status = 4, .says = "without apr_version",
	  .manifest = "{\"shards\":[1]}" },
	{ .name = "apr2_shards_not_sharded", .status = 4, .says = "says that the model is not sharded",
	  .manifest = "{\"apr_version\":\"2.0.0\",\"sharded\":false,\"shards\":[1]}" },
	{ .name = "apr2_shards_count_differs", .status = 4, .says = "lists 2 shards, but its shard_count",
	  .manifest = OF("2.0.0", "3", ROWS, MAP) },
	{ .name = "apr2_shards_row_is_no_object", .status = 4, .says = "names no file for shard 1",
	  .manifest = WITH_ROWS("1,2") },
	{ .name = "apr2_shards_row_without_file", .status = 4, .says = "names no file for shard 2",
	  .manifest = WITH_ROWS(ROW(ONE, "1") ",{}") },
	{ .name = "apr2_shards_outside", .status = 4, .says = "not the name of a file beside it",
	  .manifest = WITH_ROWS(ROW(ONE, "1") "," ROW("../apr2_shards_folder/" TWO, "2")) },
	{ .name = "apr2_shards_absolute", .status = 4, .says = "not the name of a file beside it",
	  .manifest = WITH_ROWS(ROW(ONE, "1") "," ROW("/etc/passwd", "2")) },
	{ .name = "apr2_shards_hidden", .status = 4, .says = "not the name of a file beside it",
	  .manifest = WITH_ROWS(ROW(ONE, "1") "," ROW(".b", "2")) },
	{ .name = "apr2_shards_escape_sequence", .status = 4, .says = "not the name of a file beside it",
	  .manifest = WITH_ROWS(ROW(ONE, "1") "," ROW("\\u001b[2J", "2")) },
	{ .name = "apr2_shards_crc_short", .status = 4, .says = "not 8 hexadecimal digits",
	  .manifest = WITH_ROWS("{\"file\":\"" ONE "\",\"crc32\":\"123\"}," ROW(TWO, "2")) },
	{ .name = "apr2_shards_crc_too_large", .status = 4, .says = "not 8 hexadecimal digits",
	  .manifest = WITH_ROWS("{\"file\":\"" ONE "\",\"crc32\":4294967296}," ROW(TWO, "2")) },
	{ .name = "apr2_shards_size_negative", .status = 4, .says = "a size that is not a number",
	  .manifest = WITH_ROWS("{\"file\":\"" ONE "\",\"size\":-1}," ROW(TWO, "2")) },
	{ .name = "apr2_shards_index_differs", .status = 4, .says = "gives it another index",
	  .manifest = WITH_ROWS("{\"file\":\"" ONE "\",\"index\":1}," ROW(TWO, "2")) },
	{ .name = "apr2_shards_doubled", .status = 4, .says = "names " ONE " for two shards",
	  .manifest = WITH_ROWS(ROW(ONE, "1") "," ROW(ONE, "1")) },
	{ .name = "apr2_shards_reordered", .status = 4, .says = "lists " TWO " as shard 1: they are out of",
	  .manifest = OF("2.0.0", "2", ROW(TWO, "2") "," ROW(ONE, "1"), "{\"a\":1,\"b\":0}") },
	{ .name = "apr2_shards_last_not_named", .status = 4, .says = "does not name shard 2 of 2",
	  .manifest = OF("2.0.0", "1", ROW(ONE, "1"), "{\"a\":0}") },
	{ .name = "apr2_shards_another_model", .status = 4,
	  .says = "names n-00002-of-00002.apr, which does not belong to " ONE,
	  .manifest = WITH_ROWS(ROW(ONE, "1") "," ROW("n-00002-of-00002.apr", "2")) },
	{ .name = "apr2_shards_without_map", .status = 4, .says = "without tensor_shard_map",
	  .manifest = WITH_MAP("[]") },
	{ .name = "apr2_shards_map_beyond", .status = 4, .says = "says that b lies in a shard that it does not",
	  .manifest = WITH_MAP("{\"a\":0,\"b\":2}") },
	{ .name = "apr2_shards_map_text", .status = 4, .says = "says that b lies in a shard that it does not",
	  .manifest = WITH_MAP("{\"a\":0,\"b\":\"1\"}") },
	{ .name = "apr2_shards_map_lacks", .status = 4, .says = TWO ": holds b, which the manifest does not name",
	  .manifest = WITH_MAP("{\"a\":0}") },
	{ .name = "apr2_shards_map_exchanged", .status = 4, .says = ONE ": holds a, which lies in " TWO,
	  .manifest = WITH_MAP("{\"a\":1,\"b\":0}") },
	{ .name = "apr2_shards_map_more", .status = 4, .says = "says that c lies in " TWO ", but it does not",
	  .manifest = WITH_MAP("{\"a\":0,\"b\":1,\"c\":1}") },
	{ .name = "apr2_shards_two_manifests", .status = 4, .says = "holds 2 manifests of APR2 files",
	  .also = "n.apr.json" },
	{ .name = "apr2_shards_manifest_is_a_link", .status = 4, .says = "is a link, which is not followed",
	  .missing = MANIFEST, .link = { MANIFEST, "../apr2_shards_folder/" MANIFEST }, .read = TWO },
	{ .name = "apr2_shards_manifest_missing", .status = 3, .missing = MANIFEST, .read = TWO,
	  .says = MANIFEST ": cannot be opened: No such file or directory (E007)" },
	{ .name = "apr2_shards_not_in_the_manifest", .status = 4, .read = "m-00001-of-00003.apr",
	  .says = "is not named by the manifest m.apr.json beside it",
	  .shards = { { "m-00001-of-00003.apr", "a", NULL, 0, NULL } } },

	/* Shards. */
	{ .name = "apr2_shards_missing", .status = 3, .missing = TWO,
	  .says = TWO ": cannot be opened: No such file or directory (E007)" },
	{ .name = "apr2_shards_missing_first", .status = 3, .missing = ONE, .read = TWO,
	  .says = ONE ": cannot be opened: No such file or directory (E007)" },
	{ .name = "apr2_shards_foreign", .status = 4, .says = TWO ": is not the file that the manifest names: "
	  "its CRC is", .shards = { { TWO, "b", NULL, 0x82, NULL } },
	  .manifest = WITH_ROWS(ROW(ONE, "1") ",{\"file\":\"" TWO "\",\"crc32\":\"@1\"}") },
	{ .name = "apr2_shards_longer", .status = 4, .says = TWO ": has",
	  .manifest = WITH_ROWS(ROW(ONE, "1") ",{\"file\":\"" TWO "\",\"size\":7}") },
	{ .name = "apr2_shards_foreign_key", .status = 4, .says = TWO ": its metadata is not that of the first",
	  .shards = { { TWO, "b", "{\"apr_version\":\"2.0.0\",\"model_type\":\"gemma\","
	                "\"architecture\":{\"name\":\"llama\"}}", 0, NULL } } },
	{ .name = "apr2_shards_tensor_twice", .status = 4, .says = "holds a, which lies in " ONE,
	  .shards = { { TWO, "a", NULL, 0, NULL } } },
	{ .name = "apr2_shards_no_apr2", .status = 4, .says = TWO ": ",
	  .shards = { { TWO, "", NULL, 0, "GGUF............................" } },
	  .manifest = WITH_ROWS(ROW(ONE, "1") ",{\"file\":\"" TWO "\"}") },
	{ .name = "apr2_shards_link", .status = 4, .says = "is a link, which is not followed", .missing = TWO,
	  .link = { TWO, "../apr2_shards_folder/" TWO } },
	{ .name = "apr2_shards_renamed", .status = 4, .read = "m.apr",
	  .says = "is one of several files, and the others cannot be found (E001)",
	  .shards = { { "m.apr", "a", NULL, 0, NULL } } },
};

static struct folder all;
static FILE *sound;
static uint32_t crc[2], crc_all[2];
static size_t bytes[2];

static void
make_path(char path[4096], const char *folder, const char *name)
{
	if (snprintf(path, 4096, "%s/%s/%s", all.path, folder, name) >= 4096)
		gen_die("too long", name);
}

static void
write_file(const char *folder, const char *name, struct gen *g)
{
	char path[4096];
	FILE *f;

	make_path(path, folder, name);
	f = fopen(path, "wb");
	if (!f || fwrite(g->p, 1, g->n, f) != g->n || fclose(f) != 0)
		gen_die("cannot be written", path);
	gen_free(g);
}

static void
put_index(struct gen *g, const char *tensors)
{
	size_t i;

	put_u32(g, (uint32_t)strlen(tensors));
	put_u32(g, 0);
	for (i = 0; tensors[i]; i++) {
		put_number(g, 1, 2);
		put_u8(g, (uint8_t)tensors[i]);
		put_u8(g, 0);
		put_u8(g, 2);
		put_u64(g, 2);
		put_u64(g, 3);
		put_u64(g, i * 64);
		put_u64(g, 24);
		put_u64(g, 0);
		put_u32(g, 0);
	}
}

static void
put_apr2(struct gen *g, const struct shard *x)
{
	const char *meta = x->meta ? x->meta : META;
	uint32_t index = 32 + (uint32_t)strlen(meta);
	uint32_t index_bytes = 8 + (uint32_t)strlen(x->tensors) * 49;
	size_t i;

	put_text(g, "APR2");
	put_number(g, 2, 2);
	put_number(g, 0, 2);
	put_u32(g, x->flags ? x->flags : FLAGS);
	put_u32(g, 32);
	put_u32(g, (uint32_t)strlen(meta));
	put_u32(g, index);
	put_u32(g, index_bytes);
	put_u32(g, (index + index_bytes + 63) / 64 * 64);
	put_text(g, meta);
	put_index(g, x->tensors);
	put_align(g, 64);
	for (i = 0; x->tensors[i]; i++) {
		put_fill(g, (uint8_t)x->tensors[i], 24);
		put_align(g, 64);
	}
	put_u32(g, crc32_of(g->p, g->n));
	put_text(g, "2RPA");
	put_u64(g, g->n + 8);
}

static void
write_shard(const char *folder, size_t i, const struct shard *x)
{
	struct gen g = { 0 };

	if (x->text)
		put_text(&g, x->text);
	else
		put_apr2(&g, x);
	crc[i] = crc32_of(g.p, g.n < 16 ? 0 : g.n - 16);
	crc_all[i] = crc32_of(g.p, g.n);
	bytes[i] = g.n;
	write_file(folder, x->file, &g);
}

static void
write_manifest(const char *folder, const char *name, const char *text)
{
	struct gen g = { 0 };
	char number[32];

	for (; *text; text++) {
		if ((*text == '@' || *text == '#' || *text == '%') && (text[1] == '1' || text[1] == '2')) {
			size_t i = (size_t)(text[1] - '1');

			if (*text != '#')
				snprintf(number, sizeof number, "%08x",
				         *text == '@' ? crc[i] : crc_all[i]);
			else
				snprintf(number, sizeof number, "%zu", bytes[i]);
			put_text(&g, number);
			text++;
		} else {
			put_u8(&g, (uint8_t)*text);
		}
	}
	write_file(folder, name, &g);
}

static void
write_row(const struct row *r)
{
	const char *slash = r->read ? "/" : "", *read = r->read ? r->read : "";
	const char *manifest = r->manifest ? r->manifest : USUAL;
	char path[4096];
	size_t i, k;

	make_path(path, r->name, "");
	if (mkdir(path, 0777) < 0 && errno != EEXIST)
		gen_die("cannot be made", path);
	for (i = 0; i < 2; i++) {
		const struct shard *x = &usual[i];

		for (k = 0; k < 2; k++)
			if (r->shards[k].file && strcmp(r->shards[k].file, x->file) == 0)
				x = &r->shards[k];
		if (!r->missing || strcmp(r->missing, x->file) != 0)
			write_shard(r->name, i, x);
	}
	for (i = 0; i < 2; i++)
		if (r->shards[i].file && strcmp(r->shards[i].file, ONE) != 0 &&
		    strcmp(r->shards[i].file, TWO) != 0)
			write_shard(r->name, i, &r->shards[i]);
	if (!r->missing || strcmp(r->missing, MANIFEST) != 0)
		write_manifest(r->name, MANIFEST, manifest);
	if (r->also)
		write_manifest(r->name, r->also, manifest);
	make_path(path, r->name, r->link[0] ? r->link[0] : "");
	if (r->link[0] && symlink(r->link[1], path) < 0 && errno != EEXIST)
		gen_die("no link can be made", path);
	if (r->status)
		fprintf(all.manifest, "%s%s%s\t%d\t%s\n", r->name, slash, read, r->status, r->says);
	else
		fprintf(sound, "%s%s%s\n", r->name, slash, read);
}

int
main(int argc, char **argv)
{
	char name[4096];
	size_t i;

	folder_open(&all, argc, argv);
	snprintf(name, sizeof name, "%s/SOUND", all.path);
	sound = fopen(name, "w");
	if (!sound)
		gen_die("cannot be written", name);
	for (i = 0; i < sizeof rows / sizeof *rows; i++)
		write_row(&rows[i]);
	{
		const struct shard whole = { "whole.apr", "ab", NULL, 0x82, NULL };

		write_shard(".", 0, &whole);
	}
	if (ferror(sound) || fclose(sound) != 0)
		gen_die("cannot be written", name);
	return folder_close(&all);
}
