/* torch_folders: models of PyTorch in several files: sound folders (SOUND lists them), and others
 * with one fault each (MANIFEST).
 */
#include "folders.h"
#include "torch.h"

#define ONE "pytorch_model-00001-of-00002.bin"
#define TWO "pytorch_model-00002-of-00002.bin"
#define INDEX "pytorch_model.bin.index.json"
#define INDEX_OF(METADATA, MAP) \
	"{\n  \"metadata\": {" METADATA "},\n  \"weight_map\": {\n" MAP "\n  }\n}\n"
#define SIZE "\"total_size\": 72"
#define IN(NAME, FILE) "    \"" NAME "\": \"" FILE "\""
#define MAP IN("a", ONE) ",\n" IN("b", ONE) ",\n" IN("c", TWO)

/* Pickles. */
#define AB PROTO "}(" KEY("a") TENSOR KEY("b") TENSOR "u."
#define ABC PROTO "}(" KEY("a") TENSOR KEY("b") TENSOR KEY("c") TENSOR "u."
#define C PROTO "}" KEY("c") TENSOR "s."
#define CALLS PROTO "}(" KEY("c") TENSOR KEY("d") "cos\nsystem\n" KEY("x") "\205Ru."

struct part {
	const char *name;
	const char *p;      /* a pickle of bytes bytes, or text */
	size_t bytes;
};
#define TORCH(NAME, PICKLE) { NAME, PICKLE, sizeof(PICKLE) - 1 }
#define TEXT_PART(NAME, S) { NAME, S, 0 }
#define INDEX_PART(MAP_OF) TEXT_PART(INDEX, INDEX_OF(SIZE, MAP_OF))

struct row {
	const char *name;
	const char *says;   /* NULL: sound */
	int status;
	struct part parts[4]; /* instead of, or beside, the usual ones */
	const char *missing; /* a usual part that is not there; "*": all of them */
	const char *link[2]; /* a link of this name, and where it leads */
	const char *folder, *pipe;
	const char *read;    /* that file, not the folder */
};

static const struct part usual[] = {
	TORCH(ONE, AB), TORCH(TWO, C), TEXT_PART(INDEX, INDEX_OF(SIZE, MAP)),
	TEXT_PART("config.json", "{\"model_type\": \"llama\"}\n"),
};

#define NOT_A_NAME "which is not the name of a file beside it"
#define A_LINK "is a link, which is not followed"

static const struct row rows[] = {
	{ .name = "torch_shards" },
	{ .name = "torch_one_file", .missing = "*",
	  .parts = { TORCH("pytorch_model.bin", ABC), TEXT_PART("config.json", "{}\n") } },
	{ .name = "torch_one_file_by_another_name", .missing = "*",
	  .parts = { TORCH("diffusion_pytorch_model.bin", ABC), TORCH("training_args.bin", C) } },
	{ .name = "torch_one_file_comes_before_an_index", .parts = { TORCH("pytorch_model.bin", ABC) } },
	{ .name = "torch_index_by_another_name", .missing = INDEX,
	  .parts = { TEXT_PART("weights.bin.index.json", INDEX_OF(SIZE, MAP)) } },
	{ .name = "torch_index_by_its_name", .read = INDEX },
	{ .name = "torch_index_by_a_shard", .read = TWO },
	{ .name = "torch_shard_with_a_value",
	  .parts = { TORCH(TWO, PROTO "}(" KEY("c") TENSOR KEY("n") "K\003u.") } },
	{ .name = "torch_index_without_facts",
	  .parts = { TEXT_PART(INDEX, "{\"weight_map\": {" MAP "}}") } },

	/* The index. */
	{ .name = "torch_index_not_json", .status = 4, .says = "is not valid JSON",
	  .parts = { TEXT_PART(INDEX, "{\"weight_map\":") } },
	{ .name = "torch_index_list", .status = 4, .says = "is not a JSON object",
	  .parts = { TEXT_PART(INDEX, "[1]") } },
	{ .name = "torch_index_of_something_else", .status = 4, .says = "has no weight_map (E001)",
	  .parts = { TEXT_PART(INDEX, "{\"a\":1}") } },
	{ .name = "torch_index_map_list", .status = 4, .says = "has no weight_map (E001)",
	  .parts = { TEXT_PART(INDEX, "{\"weight_map\":[]}") } },
	{ .name = "torch_index_metadata_list", .status = 4, .says = "whose metadata is not an object",
	  .parts = { TEXT_PART(INDEX, "{\"metadata\":[],\"weight_map\":{" MAP "}}") } },
	{ .name = "torch_index_empty", .status = 4, .says = "names no file",
	  .parts = { TEXT_PART(INDEX, "{\"weight_map\":{}}") } },
	{ .name = "torch_index_number", .status = 4, .says = "a lies in nothing",
	  .parts = { TEXT_PART(INDEX, "{\"weight_map\":{\"a\":1}}") } },
	{ .name = "torch_index_name_twice", .status = 4, .says = "is not valid JSON",
	  .parts = { INDEX_PART(IN("a", ONE) "," IN("a", TWO)) } },
	{ .name = "torch_index_tensor_missing", .status = 4,
	  .says = "says that d lies in " TWO ", but it does not",
	  .parts = { INDEX_PART(MAP "," IN("d", TWO)) } },
	{ .name = "torch_index_lacks_a_tensor", .status = 4,
	  .says = "holds b, which the index does not name",
	  .parts = { INDEX_PART(IN("a", ONE) "," IN("c", TWO)) } },
	{ .name = "torch_index_tensors_exchanged", .status = 4,
	  .says = "holds a, which lies in " TWO " by the index",
	  .parts = { INDEX_PART(IN("a", TWO) "," IN("b", ONE) "," IN("c", ONE)) } },
	{ .name = "torch_index_shard_missing", .status = 4, .says = "does not name shard 2 of 2",
	  .parts = { INDEX_PART(IN("a", ONE) "," IN("b", ONE)) } },
	{ .name = "torch_index_first_shard_missing", .status = 4, .says = "does not name shard 1 of 2",
	  .parts = { INDEX_PART(IN("c", TWO)) } },
	{ .name = "torch_index_shard_of_another_model", .status = 4,
	  .says = "names other-00002-of-00002.bin, which does not belong to other-00001",
	  .parts = { INDEX_PART(IN("a", "other-00001-of-00001.bin") ","
	                        IN("c", "other-00002-of-00002.bin")) } },
	{ .name = "torch_index_shard_beyond_the_last", .status = 4, .says = "does not name shard 2 of 2",
	  .parts = { INDEX_PART(IN("a", ONE) "," IN("c", "pytorch_model-00003-of-00002.bin")) } },
	{ .name = "torch_index_outside", .status = 4, .says = NOT_A_NAME,
	  .parts = { INDEX_PART(IN("a", "../torch_shards/" ONE)) } },
	{ .name = "torch_index_below", .status = 4, .says = NOT_A_NAME,
	  .parts = { INDEX_PART(IN("a", "below/" ONE)) } },
	{ .name = "torch_index_absolute", .status = 4, .says = NOT_A_NAME,
	  .parts = { INDEX_PART(IN("a", "/etc/passwd")) } },
	{ .name = "torch_index_parent", .status = 4, .says = NOT_A_NAME,
	  .parts = { INDEX_PART(IN("a", "..")) } },
	{ .name = "torch_index_hidden", .status = 4, .says = NOT_A_NAME,
	  .parts = { INDEX_PART(IN("a", ".secret")) } },
	{ .name = "torch_index_is_a_link", .status = 4, .says = A_LINK, .missing = INDEX,
	  .link = { INDEX, "../torch_shards/" INDEX } },
	{ .name = "torch_index_read_by_name", .status = 4, .says = NOT_A_NAME, .read = INDEX,
	  .parts = { INDEX_PART(IN("a", "../torch_shards/" ONE)) } },
	{ .name = "torch_index_lies_about_a_shard", .status = 4,
	  .says = "holds b, which the index does not name", .read = TWO,
	  .parts = { INDEX_PART(IN("a", ONE) "," IN("c", TWO)) } },
	{ .name = "torch_index_does_not_name_the_shard", .status = 4, .says = "is not named by the index",
	  .parts = { INDEX_PART(IN("a", "other.bin")) }, .read = TWO },

	/* Shards. */
	{ .name = "torch_shard_missing", .status = 3,
	  .says = TWO ": cannot be opened: No such file or directory (E007)", .missing = TWO },
	{ .name = "torch_shard_doubled", .status = 4, .says = "tensor a occurs twice",
	  .parts = { TORCH(TWO, AB) } },
	{ .name = "torch_shard_with_one_more", .status = 4,
	  .says = "holds a, which lies in " ONE " by the index",
	  .parts = { TORCH(TWO, PROTO "}(" KEY("a") TENSOR KEY("c") TENSOR "u."),
	             TORCH(ONE, PROTO "}" KEY("b") TENSOR "s.") } },
	{ .name = "torch_shard_foreign", .status = 4, .says = "holds x, which the index does not name",
	  .parts = { TORCH(TWO, PROTO "}" KEY("x") TENSOR "s.") } },
	{ .name = "torch_shard_without_tensors", .status = 4, .says = TWO ": holds no tensors (E001)",
	  .parts = { TORCH(TWO, PROTO "}.") } },
	{ .name = "torch_shard_of_gguf", .status = 4, .says = TWO ": is not a file of PyTorch (E001)",
	  .parts = { TEXT_PART(TWO, "GGUF\3............................") } },
	{ .name = "torch_shard_of_text", .status = 4, .says = TWO ": is not a file of PyTorch (E001)",
	  .parts = { TEXT_PART(TWO, "version https://git-lfs.github.com/spec/v1\n") } },
	{ .name = "torch_shard_empty", .status = 4, .says = TWO ": is not a file of PyTorch (E001)",
	  .parts = { TEXT_PART(TWO, "") } },
	{ .name = "torch_shard_cut", .status = 4, .says = TWO ": ",
	  .parts = { TEXT_PART(TWO, "PK\3\4....") } },
	{ .name = "torch_shard_is_a_link", .status = 4, .says = A_LINK, .missing = TWO,
	  .link = { TWO, "../torch_shards/" TWO } },
	{ .name = "torch_shard_is_a_link_inside", .status = 4, .says = A_LINK, .missing = TWO,
	  .link = { TWO, ONE } },
	{ .name = "torch_shard_is_a_folder", .status = 4, .says = "is not a regular file",
	  .missing = TWO, .folder = TWO },
	{ .name = "torch_shard_is_a_pipe", .status = 4, .says = "is not a regular file",
	  .missing = TWO, .pipe = TWO },
	{ .name = "torch_calls_in_the_last_shard", .status = 4,
	  .says = TWO ": is refused: its pickle calls os.system('x') (E001)",
	  .parts = { TORCH(TWO, CALLS) } },
	{ .name = "torch_calls_in_the_only_file", .status = 4, .missing = "*",
	  .says = "pytorch_model.bin: is refused: its pickle calls os.system('x') (E001)",
	  .parts = { TORCH("pytorch_model.bin", CALLS) } },

	/* Folders. */
	{ .name = "torch_folder_without_index", .status = 4, .missing = INDEX,
	  .says = "holds 2 PyTorch (.bin) files, and no index that makes them one model (E001)" },
	{ .name = "torch_folder_of_training", .status = 1, .missing = "*",
	  .says = "holds no safetensors or PyTorch file and no shards, and is a directory (E007)",
	  .parts = { TORCH("training_args.bin", C), TORCH("optimizer.bin", C) } },
	{ .name = "torch_folder_of_other_weights", .status = 4, .missing = "*",
	  .says = "model.bin: is not a file of PyTorch (E001)",
	  .parts = { TEXT_PART("model.bin", "OpenVINO") } },
};

static void
write_part(const char *folder, const struct part *p)
{
	struct gen g = { 0 };

	if (p->bytes)
		put_torch(&g, p->p, p->bytes);
	else
		put_text(&g, p->p);
	make_file(folder, p->name, &g);
}

/* True if a usual part is missing, or the row has its own. */
static int
is_replaced(const struct row *r, const char *name)
{
	int replaced = r->missing && (*r->missing == '*' || strcmp(r->missing, name) == 0);
	const struct part *p = r->parts;

	for (; p < r->parts + sizeof r->parts / sizeof *p && p->name; p++)
		replaced |= strcmp(p->name, name) == 0;
	return replaced;
}

static void
write_row(const struct row *r)
{
	const struct part *p;

	make_folder(r->name, "");
	for (p = usual; p < usual + sizeof usual / sizeof *usual; p++)
		if (!is_replaced(r, p->name))
			write_part(r->name, p);
	for (p = r->parts; p < r->parts + sizeof r->parts / sizeof *p && p->name; p++)
		write_part(r->name, p);
	if (r->link[0])
		make_link(r->name, r->link[0], r->link[1]);
	if (r->folder)
		make_folder(r->name, r->folder);
	if (r->pipe)
		make_pipe(r->name, r->pipe);
	if (r->says)
		folders_fault(r->name, r->read, r->status, r->says);
	else
		fprintf(sound, "%s%s%s\n", r->name, r->read ? "/" : "", r->read ? r->read : "");
}

int
main(int argc, char **argv)
{
	size_t i;

	folders_open(argc, argv);
	for (i = 0; i < sizeof rows / sizeof *rows; i++)
		write_row(&rows[i]);
	return folders_close();
}
