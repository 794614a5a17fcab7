/* safetensors_folders: models of several files: folders that are sound and must come
 * back unchanged, and folders with a single fault each.
 *
 * A folder has two shards, an index and a side file, unless its row says otherwise.
 * MANIFEST: a line for each fault, as of other tables; its name may end in the file
 * that is to be read. SOUND: a line for each sound folder: its name, and the folder
 * that comes back (itself, except for links).
 */
#include "folders.h"
#include "safetensors.h"

#define ONE "model-00001-of-00002.safetensors"
#define TWO "model-00002-of-00002.safetensors"
#define INDEX "model.safetensors.index.json"
#define META "\"__metadata__\":{\"format\":\"pt\"}"
#define A "\"a\":{\"dtype\":\"F32\",\"shape\":[2,1],\"data_offsets\":[0,8]}"
#define B "\"b\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[8,12]}"
#define C "\"c\":{\"dtype\":\"F16\",\"shape\":[2],\"data_offsets\":[0,4]}"
#define HEADER_ONE "{" META "," A "," B "}"
#define HEADER_TWO "{" META "," C "}"

/* As Python's json writes it. */
#define INDEX_OF(METADATA, MAP) "{\n  \"metadata\": {\n" METADATA "  },\n" \
	"  \"weight_map\": {\n" MAP "  }\n}\n"
#define SIZE "    \"total_size\": 16\n"
#define IN(NAME, FILE) "    \"" NAME "\": \"" FILE "\""
#define MAP IN("a", ONE) ",\n" IN("b", ONE) ",\n" IN("c", TWO) "\n"

struct part {
	const char *name;
	const char *header; /* of a safetensors file; NULL: text is all */
	size_t data;
	const char *text;
};

#define PARTS 8
struct row {
	const char *name;
	int status;          /* 0: sound */
	const char *says;
	struct part parts[PARTS]; /* instead of, or beside, the usual ones */
	const char *missing; /* a usual part that is not there */
	const char *link[2]; /* a link of this name, and where it leads */
	const char *folder, *pipe;
	const char *read;    /* that file, not the folder */
};

static const struct part usual[] = {
	{ ONE, HEADER_ONE, 12, NULL }, { TWO, HEADER_TWO, 4, NULL },
	{ INDEX, NULL, 0, INDEX_OF(SIZE, MAP) },
	{ "config.json", NULL, 0, "{\"model_type\": \"llama\"}\n" },
};

#define TEXT_PART(NAME, S) { NAME, NULL, 0, S }
#define INDEX_PART(MAP_OF) TEXT_PART(INDEX, INDEX_OF(SIZE, MAP_OF))

static const struct row rows[] = {
	/* Sound. */
	{ .name = "folder_shards" },
	{ .name = "folder_one_file", .missing = INDEX,
	  .parts = { { "model.safetensors", HEADER_ONE, 12, NULL } } },
	{ .name = "folder_one_file_by_another_name", .missing = "*",
	  .parts = { { "weights.safetensors", HEADER_ONE, 12, NULL },
	             TEXT_PART("tokenizer.model", "\n\0"), TEXT_PART("empty.txt", "") } },
	{ .name = "folder_index_by_another_name", .missing = INDEX,
	  .parts = { TEXT_PART("diffusion_pytorch_model.safetensors.index.json",
	                       INDEX_OF(SIZE, MAP)) } },
	{ .name = "folder_index_with_facts",
	  .parts = { TEXT_PART(INDEX, INDEX_OF("    \"dtype\": \"bf16\",\n"
	                                       "    \"total_parameters\": 5,\n" SIZE, MAP)) } },
	{ .name = "folder_shards_of_other_styles",
	  .parts = { { ONE, "{\"__metadata__\": {\"format\": \"pt\"}, \"a\": {\"dtype\": \"F32\", "
	               "\"shape\": [2], \"data_offsets\": [0, 8]}, \"b\": {\"dtype\": \"F32\", "
	               "\"shape\": [1], \"data_offsets\": [8, 12]}}   ", 12, NULL },
	             { TWO, "{" C "," META "}", 4, NULL } } },
	{ .name = "folder_metadata_in_one_shard",
	  .parts = { { TWO, "{" C "}", 4, NULL } } },
	{ .name = "folder_some_metadata_in_a_shard",
	  .parts = { { ONE, "{\"__metadata__\":{\"x\":\"1\",\"y\":\"2\",\"z\":\"3\"}," A "," B "}",
	               12, NULL },
	             { TWO, "{\"__metadata__\":{\"z\":\"3\",\"x\":\"1\"}," C "}", 4, NULL } } },

	{ .name = "folder_weights",
	  .parts = { { ONE, "{\"a.weight\":{\"dtype\":\"F32\",\"shape\":[2,2],"
	               "\"data_offsets\":[0,16]}}", 16, NULL },
	             { TWO, "{\"b.weight\":{\"dtype\":\"F32\",\"shape\":[2,2],"
	               "\"data_offsets\":[0,16]}}", 16, NULL },
	             TEXT_PART(INDEX, INDEX_OF("    \"total_size\": 32\n", IN("a.weight", ONE)
	                                       ",\n" IN("b.weight", TWO) "\n")) } },

	/* The index. */
	{ .name = "index_not_json", .status = 4, .says = "is not valid JSON",
	  .parts = { TEXT_PART(INDEX, "{\"weight_map\":") } },
	{ .name = "index_list", .status = 4, .says = "is not a JSON object",
	  .parts = { TEXT_PART(INDEX, "[1]") } },
	{ .name = "index_of_something_else", .status = 4, .says = "has no weight_map (E001)",
	  .parts = { TEXT_PART(INDEX, "{\"a\":1}") } },
	{ .name = "index_map_list", .status = 4, .says = "has no weight_map (E001)",
	  .parts = { TEXT_PART(INDEX, "{\"weight_map\":[]}") } },
	{ .name = "index_metadata_list", .status = 4, .says = "whose metadata is not an object",
	  .parts = { TEXT_PART(INDEX, "{\"metadata\":[],\"weight_map\":{}}") } },
	{ .name = "index_empty", .status = 4, .says = "names no file",
	  .parts = { TEXT_PART(INDEX, "{\"weight_map\":{}}") } },
	{ .name = "index_number", .status = 4, .says = "a lies in nothing",
	  .parts = { TEXT_PART(INDEX, "{\"weight_map\":{\"a\":1}}") } },
	{ .name = "index_name_twice", .status = 4, .says = "is not valid JSON",
	  .parts = { INDEX_PART(IN("a", ONE) ",\n" IN("a", TWO) "\n") } },
	{ .name = "index_tensor_missing", .status = 4,
	  .says = "says that d lies in model-00002-of-00002.safetensors, but it does not",
	  .parts = { INDEX_PART(MAP "," IN("d", TWO) "\n") } },
	{ .name = "index_lacks_a_tensor", .status = 4,
	  .says = "holds b, which the index does not name",
	  .parts = { INDEX_PART(IN("a", ONE) ",\n" IN("c", TWO) "\n") } },
	{ .name = "index_tensors_exchanged", .status = 4,
	  .says = "holds a, which lies in model-00002-of-00002.safetensors by the index",
	  .parts = { INDEX_PART(IN("a", TWO) ",\n" IN("b", ONE) ",\n" IN("c", ONE) "\n") } },
	{ .name = "index_shard_missing", .status = 4, .says = "does not name shard 2 of 2",
	  .parts = { INDEX_PART(IN("a", ONE) ",\n" IN("b", ONE) "\n") } },
	{ .name = "index_first_shard_missing", .status = 4, .says = "does not name shard 1 of 2",
	  .parts = { INDEX_PART(IN("c", TWO) "\n") } },
	{ .name = "index_shard_of_another_model", .status = 4,
	  .says = "names other-00002-of-00002.safetensors, which does not belong to model-",
	  .parts = { INDEX_PART(IN("a", ONE) ",\n" IN("c", "other-00002-of-00002.safetensors") "\n") } },
	{ .name = "index_shard_of_another_count", .status = 4, .says = "does not belong to model-",
	  .parts = { INDEX_PART(IN("a", ONE) ",\n" IN("c", "model-00002-of-00003.safetensors") "\n") } },
	{ .name = "index_shard_beyond_the_last", .status = 4, .says = "does not name shard 2 of 2",
	  .parts = { INDEX_PART(IN("a", ONE) ",\n" IN("c", "model-00003-of-00002.safetensors") "\n") } },
	{ .name = "index_outside", .status = 4, .says = "which is not the name of a file beside it",
	  .parts = { INDEX_PART(IN("a", "../folder_shards/" ONE) "\n") } },
	{ .name = "index_absolute", .status = 4, .says = "which is not the name of a file beside it",
	  .parts = { INDEX_PART(IN("a", "/etc/passwd") "\n") } },
	{ .name = "index_parent", .status = 4, .says = "which is not the name of a file beside it",
	  .parts = { INDEX_PART(IN("a", "..") "\n") } },
	{ .name = "index_hidden", .status = 4, .says = "which is not the name of a file beside it",
	  .parts = { INDEX_PART(IN("a", ".secret") "\n") } },
	{ .name = "index_escape_sequence", .status = 4,
	  .says = "which is not the name of a file beside it",
	  .parts = { INDEX_PART(IN("a\\u001b[2J", "\\u001b[2J") "\n") } },
	{ .name = "index_read_by_name", .status = 4, .says = "has no weight_map (E001)",
	  .parts = { TEXT_PART(INDEX, "{\"a\":1}") }, .read = INDEX },
	{ .name = "index_is_a_side_file", .status = 4, .says = "has no weight_map (E001)",
	  .read = "config.json" },
	{ .name = "index_total_size", .status = 0, .says = "its total_size is not the 16 bytes",
	  .parts = { TEXT_PART(INDEX, INDEX_OF("    \"total_size\": 17\n", MAP)) } },

	/* Shards. */
	{ .name = "shard_missing", .status = 3,
	  .says = TWO ": cannot be opened: No such file or directory (E007)", .missing = TWO },
	{ .name = "shard_doubled", .status = 4, .says = "tensor a occurs twice",
	  .parts = { { TWO, "{" META "," A "}", 8, NULL } } },
	{ .name = "shard_foreign", .status = 4,
	  .says = "holds other, which the index does not name",
	  .parts = { { TWO, "{" META ",\"other\":{\"dtype\":\"F16\",\"shape\":[2],"
	               "\"data_offsets\":[0,4]}}", 4, NULL } } },
	{ .name = "shard_of_another_kind", .status = 4,
	  .says = "__metadata__ is not that of the first shard",
	  .parts = { { TWO, "{\"__metadata__\":{\"format\":\"mlx\"}," C "}", 4, NULL } } },
	{ .name = "shard_with_more_keys", .status = 4,
	  .says = "__metadata__ is not that of the first shard",
	  .parts = { { TWO, "{\"__metadata__\":{\"format\":\"pt\",\"k\":\"v\"}," C "}", 4, NULL } } },
	{ .name = "shard_with_a_side_file", .status = 4,
	  .says = "__metadata__ is not that of the first shard",
	  .parts = { { TWO, "{\"__metadata__\":{\"apr.blobs\":\"[[\\\"x\\\",\\\"y\\\"]]\","
	               "\"apr.blob.x\":\"AAAA\"}," C "}", 4, NULL } } },
	{ .name = "shard_cut", .status = 4, .says = TWO ": byte",
	  .parts = { { TWO, NULL, 0, "xx" } } },
	{ .name = "shard_of_another_format", .status = 4, .says = TWO,
	  .parts = { { TWO, NULL, 0, "GGUF\3............................" } } },
	{ .name = "shard_is_a_link", .status = 4, .says = "is a link, which is not followed",
	  .missing = TWO, .link = { TWO, "../folder_shards/" TWO } },
	{ .name = "shard_is_a_link_inside", .status = 4, .says = "is a link, which is not followed",
	  .missing = TWO, .link = { TWO, ONE } },
	{ .name = "shard_is_a_link_into_no_cache", .status = 4, .says = "is a link, which is not followed",
	  .missing = TWO, .link = { TWO, "../../blobs/two" } },
	{ .name = "shard_is_a_folder", .status = 4, .says = "is not a regular file",
	  .missing = TWO, .folder = TWO },
	{ .name = "shard_is_a_pipe", .status = 4, .says = "is not a regular file",
	  .missing = TWO, .pipe = TWO },
	{ .name = "index_is_a_link", .status = 4, .says = "is a link, which is not followed",
	  .missing = INDEX, .link = { INDEX, "../folder_shards/" INDEX } },

	/* Folders. */
	{ .name = "folder_without_model", .status = 1,
	  .says = "holds no safetensors or PyTorch file and no shards, and is a directory (E007)", .missing = "*",
	  .parts = { TEXT_PART("config.json", "{}") } },
	{ .name = "folder_of_two_models", .status = 4,
	  .says = "holds 2 safetensors files, and no index that makes them one model (E001)",
	  .missing = INDEX },
	{ .name = "folder_file_occurs_twice", .status = 4, .says = "blob config.json occurs twice",
	  .parts = { { ONE, "{\"__metadata__\":{\"format\":\"pt\","
	               "\"apr.blobs\":\"[[\\\"config.json\\\",\\\"y\\\"]]\","
	               "\"apr.blob.config.json\":\"AAAA\"}," A "," B "}", 12, NULL } } },
};

static void
write_part(const char *folder, const struct part *p)
{
	struct gen g = { 0 };

	if (p->header)
		put_padded(&g, p->header, p->data);
	else if (p->text)
		put_text(&g, p->text);
	make_file(folder, p->name, &g);
}

static int
is_replaced(const struct row *r, const char *name)
{
	size_t i;

	if (r->missing && (strcmp(r->missing, "*") == 0 || strcmp(r->missing, name) == 0))
		return 1;
	if (r->missing && strcmp(r->missing, INDEX) == 0 && r->parts[0].name &&
	    strcmp(r->parts[0].name, "model.safetensors") == 0 && name[0] == 'm')
		return 1; /* one file instead of the shards */
	for (i = 0; i < PARTS; i++)
		if (r->parts[i].name && strcmp(r->parts[i].name, name) == 0)
			return 1;
	return 0;
}

static void
write_row(const struct row *r)
{
	size_t i;

	make_folder(r->name, "");
	for (i = 0; i < sizeof usual / sizeof *usual; i++)
		if (!is_replaced(r, usual[i].name))
			write_part(r->name, &usual[i]);
	for (i = 0; i < PARTS; i++)
		if (r->parts[i].name)
			write_part(r->name, &r->parts[i]);
	if (r->link[0])
		make_link(r->name, r->link[0], r->link[1]);
	if (r->folder)
		make_folder(r->name, r->folder);
	if (r->pipe)
		make_pipe(r->name, r->pipe);
	if (r->status)
		folders_fault(r->name, r->read, r->status, r->says);
	else if (!r->says)
		fprintf(sound, "%s\t%s\n", r->name, r->name);
}

/* A cache's folder: links to files that are named by what they hold. */
static void
write_cache(void)
{
	static const char *const folders[] = { "cache", "cache/blobs", "cache/snapshots",
		"cache/snapshots/0123abcd" };
	char target[64];
	struct part blob;
	size_t i;

	for (i = 0; i < sizeof folders / sizeof *folders; i++)
		make_folder(folders[i], "");
	for (i = 0; i < sizeof usual / sizeof *usual; i++) {
		blob = usual[i];
		snprintf(target, sizeof target, "%zu%zu%zu%zu", i, i, i, i);
		blob.name = target;
		write_part("cache/blobs", &blob);
		snprintf(target, sizeof target, "../../blobs/%zu%zu%zu%zu", i, i, i, i);
		make_link(folders[3], usual[i].name, target);
	}
	fprintf(sound, "%s\t%s\n", folders[3], "folder_shards");
}

int
main(int argc, char **argv)
{
	size_t i;

	folders_open(argc, argv);
	for (i = 0; i < sizeof rows / sizeof *rows; i++)
		write_row(&rows[i]);
	write_cache();
	return folders_close();
}
