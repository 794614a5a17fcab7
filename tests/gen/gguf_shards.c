/* gguf_shards: models in several GGUF files: folders that are sound, and folders with
 * a single fault each.
 *
 * A folder has three shards, m-00001-of-00003.gguf and so on, with a tensor each.
 * MANIFEST: a line for each fault: the path to read, and as in other tables. SOUND: a
 * line for each sound one: the path to read, and the file that its shards make
 * together.
 */
#include "gguf.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#define SHARDS 3
#define ONE "m-00001-of-00003.gguf"
#define TWO "m-00002-of-00003.gguf"
#define THREE "m-00003-of-00003.gguf"

struct shard {
	const char *file;
	int number, count, tensors; /* -1: not said */
	uint32_t number_type;
	const char *tensor;         /* "": it has none */
	const char *key, *value;    /* one more */
	int plain;                  /* without what makes it a shard */
	const char *text;           /* all that is in it */
};

#define SHARD(I, FILE, NAME) { FILE, I, SHARDS, SHARDS, U16, NAME, NULL, NULL, 0, NULL }

static const struct shard usual[SHARDS] = {
	SHARD(0, ONE, "a"), SHARD(1, TWO, "b"), SHARD(2, THREE, "c"),
};

struct row {
	const char *name;
	int status;               /* 0: sound */
	const char *says;
	struct shard shards[SHARDS]; /* instead of the usual ones, where there is a file */
	const char *missing;      /* it is not there */
	const char *link[2];      /* a link of this name, and where it leads */
	const char *folder, *pipe;
	const char *also;         /* a complete model of that name beside them */
	const char *read;         /* that file, not the folder */
};

static const struct row rows[] = {
	/* Sound. */
	{ .name = "gguf_shards_folder" },
	{ .name = "gguf_shards_first", .read = ONE },
	{ .name = "gguf_shards_last", .read = THREE },
	{ .name = "gguf_shards_first_without_tensors", .read = TWO,
	  .shards = { { ONE, 0, 3, 3, U16, "", NULL, NULL, 0, NULL },
	              { TWO, 1, 3, 3, U16, "ab", NULL, NULL, 0, NULL } } },
	{ .name = "gguf_shards_other_integers",
	  .shards = { { ONE, 0, 3, 3, U32, "a", NULL, NULL, 0, NULL },
	              { TWO, 1, 3, 3, I64, "b", NULL, NULL, 0, NULL } } },
	{ .name = "gguf_shards_without_their_sum",
	  .shards = { { ONE, 0, 3, -1, U16, "a", NULL, NULL, 0, NULL },
	              { TWO, 1, 3, -1, U16, "b", NULL, NULL, 0, NULL },
	              { THREE, 2, 3, -1, U16, "c", NULL, NULL, 0, NULL } } },
	{ .name = "gguf_shards_repeated_key",
	  .shards = { { TWO, 1, 3, 3, U16, "b", "general.architecture", "llama", 0, NULL } } },
	{ .name = "gguf_shards_beside_another", .also = "other.gguf", .read = TWO },

	/* Missing. */
	{ .name = "gguf_shards_missing", .status = 3, .missing = TWO,
	  .says = TWO ": cannot be opened: No such file or directory (E007)" },
	{ .name = "gguf_shards_missing_seen_from_the_last", .status = 3, .missing = TWO, .read = THREE,
	  .says = TWO ": cannot be opened: No such file or directory (E007)" },
	{ .name = "gguf_shards_missing_first", .status = 3, .missing = ONE, .read = THREE,
	  .says = ONE ": cannot be opened: No such file or directory (E007)" },
	{ .name = "gguf_shards_missing_last", .status = 3, .missing = THREE, .read = ONE,
	  .says = THREE ": cannot be opened: No such file or directory (E007)" },

	/* Doubled and reordered. */
	{ .name = "gguf_shards_doubled", .status = 4,
	  .says = TWO ": says that it is shard 1 of 3, but by its name it is shard 2 (E002)",
	  .shards = { { TWO, 0, 3, 3, U16, "a", NULL, NULL, 0, NULL } } },
	{ .name = "gguf_shards_reordered", .status = 4,
	  .says = TWO ": says that it is shard 3 of 3, but by its name it is shard 2 (E002)",
	  .shards = { { TWO, 2, 3, 3, U16, "c", NULL, NULL, 0, NULL },
	              { THREE, 1, 3, 3, U16, "b", NULL, NULL, 0, NULL } } },
	{ .name = "gguf_shards_beyond", .status = 4, .says = "says that it is shard 4 of 3",
	  .shards = { { THREE, 3, 3, 3, U16, "c", NULL, NULL, 0, NULL } } },
	{ .name = "gguf_shards_tensor_twice", .status = 4, .says = "tensor a occurs twice",
	  .shards = { { THREE, 2, 3, 3, U16, "a", NULL, NULL, 0, NULL } } },
	{ .name = "gguf_shards_named_beyond", .status = 4, .says = "is numbered as shard 4 of 3 (E002)",
	  .shards = { { "m-00004-of-00003.gguf", 2, 3, 3, U16, "c", NULL, NULL, 0, NULL } },
	  .read = "m-00004-of-00003.gguf" },

	/* Foreign. */
	{ .name = "gguf_shards_foreign_count", .status = 4,
	  .says = TWO ": is a shard of a model with 4 shards, not of this one, which has 3",
	  .shards = { { TWO, 1, 4, 3, U16, "b", NULL, NULL, 0, NULL } } },
	{ .name = "gguf_shards_foreign_sum", .status = 4, .says = TWO ": is a shard of another model: its "
	  "split.tensors.count is not that of the first shard",
	  .shards = { { TWO, 1, 3, 4, U16, "b", NULL, NULL, 0, NULL } } },
	{ .name = "gguf_shards_foreign_key", .status = 4, .says = TWO ": its metadata is not that of the "
	  "first shard", .shards = { { TWO, 1, 3, 3, U16, "b", "general.architecture", "gemma",
	                               0, NULL } } },
	{ .name = "gguf_shards_foreign_carrier", .status = 4, .says = "a key of ours with a value that is not",
	  .shards = { { TWO, 1, 3, 3, U16, "b", "apr.licence", "x", 0, NULL } } },
	{ .name = "gguf_shards_kept_key_of_another_name", .status = 4,
	  .says = "a key of ours with a value that is not",
	  .shards = { { ONE, 0, 3, 3, U16, "a", "apr.key.general.alignment", "x", 0, NULL } } },
	{ .name = "gguf_shards_sum_wrong", .status = 4,
	  .says = "its shards hold 3 tensors, but split.tensors.count says 4",
	  .shards = { { ONE, 0, 3, 4, U16, "a", NULL, NULL, 0, NULL },
	              { TWO, 1, 3, 4, U16, "b", NULL, NULL, 0, NULL },
	              { THREE, 2, 3, 4, U16, "c", NULL, NULL, 0, NULL } } },
	{ .name = "gguf_shards_sum_negative", .status = 4, .says = "split.tensors.count is not a number",
	  .shards = { { TWO, 1, 3, -7, U16, "b", NULL, NULL, 0, NULL } } },
	{ .name = "gguf_shards_number_not_said", .status = 4, .says = "does not say which shard it is",
	  .shards = { { TWO, -1, 3, 3, U16, "b", NULL, NULL, 0, NULL } } },
	{ .name = "gguf_shards_number_is_text", .status = 4, .says = "split.no is not a number of shards",
	  .shards = { { TWO, 1, 3, 3, STRING, "b", NULL, NULL, 0, NULL } } },
	{ .name = "gguf_shards_number_is_float", .status = 4, .says = "split.no is not a number of shards",
	  .shards = { { TWO, 1, 3, 3, F32, "b", NULL, NULL, 0, NULL } } },
	{ .name = "gguf_shards_number_twice", .status = 4, .says = "metadata key split.no occurs twice",
	  .shards = { { TWO, 1, 3, 3, U16, "b", "split.no", "1", 0, NULL } } },
	{ .name = "gguf_shards_no_shard", .status = 4, .says = TWO ": does not say which shard it is",
	  .shards = { { TWO, 0, 0, 0, U16, "b", NULL, NULL, 1, NULL } } },
	{ .name = "gguf_shards_no_gguf", .status = 4, .says = TWO,
	  .shards = { { TWO, 0, 0, 0, U16, "", NULL, NULL, 0, "12345678901234567890" } } },
	{ .name = "gguf_shards_cut", .status = 4, .says = "ends here",
	  .shards = { { TWO, 0, 0, 0, U16, "", NULL, NULL, 0, "GGUF\3" } } },

	/* Files that are none. */
	{ .name = "gguf_shards_link", .status = 4, .missing = TWO, .link = { TWO, "../gguf_shards_folder/" TWO },
	  .says = TWO ": is a link, which is not followed (E002)" },
	{ .name = "gguf_shards_link_read_itself", .status = 4, .missing = TWO, .read = TWO,
	  .link = { TWO, "../gguf_shards_folder/" TWO }, .says = "is a link, which is not followed" },
	{ .name = "gguf_shards_link_inside", .status = 4, .missing = TWO, .link = { TWO, ONE },
	  .says = "is a link, which is not followed" },
	{ .name = "gguf_shards_link_into_no_cache", .status = 4, .missing = TWO,
	  .link = { TWO, "../../blobs/two" }, .says = "is a link, which is not followed" },
	{ .name = "gguf_shards_shard_is_a_folder", .status = 4, .missing = TWO, .folder = TWO,
	  .says = TWO ": is not a regular file" },
	{ .name = "gguf_shards_shard_is_a_pipe", .status = 4, .missing = TWO, .pipe = TWO,
	  .says = TWO ": is not a regular file" },

	/* Folders and names. */
	{ .name = "gguf_shards_two_models", .status = 4, .also = "other.gguf",
	  .says = "holds GGUF files of more than one model (E001)" },
	{ .name = "gguf_shards_two_sets", .status = 4,
	  .says = "holds GGUF files of more than one model (E001)",
	  .shards = { { "n-00003-of-00003.gguf", 2, 3, 3, U16, "c", NULL, NULL, 0, NULL } } },
	{ .name = "gguf_shards_another_name", .status = 4, .read = "renamed.gguf",
	  .says = "is shard 2 of 3, and the others cannot be found (E001)",
	  .shards = { { "renamed.gguf", 1, 3, 3, U16, "b", NULL, NULL, 0, NULL } } },
	{ .name = "gguf_shards_another_name_number_wrong", .status = 4, .read = "renamed.gguf",
	  .says = "is one of 3 shards, but says not which",
	  .shards = { { "renamed.gguf", 3, 3, 3, U16, "b", NULL, NULL, 0, NULL } } },
};

static struct folder all;
static FILE *sound;

static void
make_path(char path[4096], const char *folder, const char *name)
{
	if (snprintf(path, 4096, "%s/%s/%s", all.path, folder, name) >= 4096)
		gen_die("too long", name);
}

static void
write_file(const char *path, struct gen *g)
{
	FILE *f = fopen(path, "wb");

	if (!f || fwrite(g->p ? g->p : (uint8_t *)"", 1, g->n, f) != g->n || fclose(f) != 0)
		gen_die("cannot be written", path);
	gen_free(g);
}

static void
put_metadata(struct gen *g)
{
	put_key_string(g, "general.architecture", "llama");
	put_key(g, "key.ids", ARRAY);
	put_array_head(g, I32, 2);
	put_u32(g, 5);
	put_u32(g, 6);
}

/* Each letter of names is a tensor of 40 bytes. */
static void
put_tensors(struct gen *g, const char *names)
{
	char name[2] = { 0 };
	size_t i;

	for (i = 0; names[i]; i++) {
		name[0] = names[i];
		put_tensor(g, name, NE(5, 2), T_F32, i * 64);
	}
	put_align(g, 32);
	for (i = 0; names[i]; i++) {
		put_fill(g, (uint8_t)names[i], 40);
		put_align(g, 32);
	}
}

static void
put_split(struct gen *g, const char *key, int v, uint32_t type)
{
	put_key(g, key, type);
	if (type == STRING)
		put_string(g, "1");
	else
		put_number(g, (uint64_t)(int64_t)v, type == U16 ? 2 : type == I64 ? 8 : 4);
}

static void
write_shard(const char *folder, const struct shard *x)
{
	int first = x->number == 0 || x->plain;
	struct gen g = { 0 };
	char path[4096];

	make_path(path, folder, x->file);
	if (x->text) {
		put_text(&g, x->text);
		write_file(path, &g);
		return;
	}
	put_header(&g, strlen(x->tensor), (uint64_t)((first ? 2 : 0) + (x->key != NULL) +
	           (x->plain ? 0 : (x->number >= 0) + (x->count >= 0) + (x->tensors != -1))));
	if (first)
		put_metadata(&g);
	if (x->key && strncmp(x->key, "split.", 6) == 0)
		put_split(&g, x->key, atoi(x->value), U16);
	else if (x->key)
		put_key_string(&g, x->key, x->value);
	if (!x->plain && x->number >= 0)
		put_split(&g, "split.no", x->number, x->number_type);
	if (!x->plain && x->count >= 0)
		put_split(&g, "split.count", x->count, U16);
	if (!x->plain && x->tensors != -1)
		put_split(&g, "split.tensors.count", x->tensors, I32);
	put_tensors(&g, x->tensor);
	write_file(path, &g);
}

/* What the three make together; with the keys that llama-gguf-split leaves in it. */
static void
write_whole(const char *folder, const char *name, int merged)
{
	struct gen g = { 0 };
	char path[4096];

	put_header(&g, 3, merged ? 5 : 2);
	put_metadata(&g);
	if (merged) {
		put_split(&g, "split.no", 0, U16);
		put_split(&g, "split.count", 0, U16);
		put_split(&g, "split.tensors.count", 3, I32);
	}
	put_tensors(&g, "abc");
	make_path(path, folder, name);
	write_file(path, &g);
}

static int
is_replaced(const struct row *r, const char *name)
{
	size_t i;

	if (r->missing && strcmp(r->missing, name) == 0)
		return 1;
	for (i = 0; i < SHARDS; i++)
		if (r->shards[i].file && strcmp(r->shards[i].file, name) == 0)
			return 1;
	return 0;
}

static void
write_row(const struct row *r)
{
	const char *slash = r->read ? "/" : "", *read = r->read ? r->read : "";
	char path[4096];
	size_t i;

	make_path(path, r->name, "");
	if (mkdir(path, 0777) < 0 && errno != EEXIST)
		gen_die("cannot be made", path);
	for (i = 0; i < SHARDS; i++) {
		if (!is_replaced(r, usual[i].file))
			write_shard(r->name, &usual[i]);
		if (r->shards[i].file)
			write_shard(r->name, &r->shards[i]);
	}
	if (r->also)
		write_whole(r->name, r->also, 0);
	make_path(path, r->name, r->link[0] ? r->link[0] : r->folder ? r->folder
	                         : r->pipe ? r->pipe : "");
	if (r->link[0] && symlink(r->link[1], path) < 0 && errno != EEXIST)
		gen_die("no link can be made", path);
	if (r->folder && mkdir(path, 0777) < 0 && errno != EEXIST)
		gen_die("cannot be made", path);
	if (r->pipe && mkfifo(path, 0666) < 0 && errno != EEXIST)
		gen_die("cannot be made", path);
	if (r->status)
		fprintf(all.manifest, "%s%s%s\t%d\t%s\n", r->name, slash, read, r->status,
		        r->says);
	else
		fprintf(sound, "%s%s%s\twhole.gguf\n", r->name, slash, read);
}

/* A cache's folder: links to files that are named by what they hold. */
static void
write_cache(void)
{
	static const char *const folders[] = { "cache", "cache/blobs", "cache/snapshots",
		"cache/snapshots/0123abcd" };
	char path[4096], target[64];
	struct shard blob;
	size_t i;

	for (i = 0; i < sizeof folders / sizeof *folders; i++) {
		make_path(path, folders[i], "");
		if (mkdir(path, 0777) < 0 && errno != EEXIST)
			gen_die("cannot be made", path);
	}
	for (i = 0; i < SHARDS; i++) {
		blob = usual[i];
		snprintf(target, sizeof target, "%zu%zu%zu%zu", i, i, i, i);
		blob.file = target;
		write_shard("cache/blobs", &blob);
		make_path(path, folders[3], usual[i].file);
		snprintf(target, sizeof target, "../../blobs/%zu%zu%zu%zu", i, i, i, i);
		if (symlink(target, path) < 0 && errno != EEXIST)
			gen_die("no link can be made", path);
	}
	fprintf(sound, "%s\t%s\n%s/" TWO "\t%s\n", folders[3], "whole.gguf", folders[3],
	        "whole.gguf");
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
	write_cache();
	write_whole(".", "whole.gguf", 0);
	write_whole(".", "merged.gguf", 1);
	if (ferror(sound) || fclose(sound) != 0)
		gen_die("cannot be written", name);
	return folder_close(&all);
}
