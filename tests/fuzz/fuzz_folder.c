/* fuzz_folder: the input is the index of a folder with two shards and a side file.
 * Whatever it says, the model is read whole or refused, and what is read is packed
 * into a folder that is read again and has the same content.
 */
#include "fuzz.h"

#include <dirent.h>
#include <sys/stat.h>

#include "core/le.h"
#include "formats/safetensors/safetensors_folder.h"

static char folder[64], made[80];

static void
write_file(const char *in, const char *name, const void *p, size_t n)
{
	char path[256];
	int fd;

	snprintf(path, sizeof path, "%s/%s", in, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	must(fd >= 0 && write(fd, p, n) == (ssize_t)n);
	close(fd);
}

static void
write_shard(const char *name, const char *header, size_t data)
{
	uint8_t file[512] = { 0 };

	le64_put(file, strlen(header));
	memcpy(file + 8, header, strlen(header));
	write_file(folder, name, file, 8 + strlen(header) + data);
}

static void
remove_all(const char *path)
{
	DIR *d = opendir(path);
	const struct dirent *e;

	if (!d)
		return;
	while ((e = readdir(d)))
		unlinkat(dirfd(d), e->d_name, 0);
	closedir(d);
	rmdir(path);
}

static void
clean(void)
{
	remove_all(folder);
	remove_all(made);
}

static void
prepare(void)
{
	snprintf(folder, sizeof folder, "/dev/shm/fuzz-folder.%ld", (long)getpid());
	snprintf(made, sizeof made, "%s.made", folder);
	must(mkdir(folder, 0777) == 0);
	atexit(clean);
	write_shard("model-00001-of-00002.safetensors", "{\"__metadata__\":{\"k\":\"v\"},"
	            "\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]}}", 2);
	write_shard("model-00002-of-00002.safetensors", "{\"__metadata__\":{\"k\":\"v\"},"
	            "\"b\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[0,3]}}", 3);
	write_file(folder, "config.json", "{}", 2);
}

/* Read the folder, and pack it; its content is left in run. */
static void
pass(struct fuzz_run *run, const char *path, const char *to)
{
	struct flow f = { .item = fuzz_item, .data = fuzz_data, .item_end = fuzz_item_end,
		.finish = fuzz_finish, .ctx = run };
	const struct format *which;
	struct source *source;
	struct sink *sink = NULL;

	run->err = (struct err)ERR_INIT;
	source = format_safetensors.reads->open_path(path, &run->options, fuzz_note, &which,
	                                      &run->err);
	run->opened = source != NULL;
	if (!source) {
		/* A file that is not there is what an index may well name. */
		must(run->err.code == ERR_IO ? run->err.missing
		                             : run->err.code != ERR_NONE);
		if (run->err.code != ERR_IO)
			fuzz_refused(&run->err, false);
		return;
	}
	must(which == &format_safetensors_folder);
	if (to) {
		struct out_options where = { .path = to, .input = -1 };

		sink = format_safetensors.writes->create_folder(&where, &run->options, &run->err);
		must(sink);
		sink->note = fuzz_note;
	}
	must(witness_begin(&run->witness, source->plan, 1, &run->err) == 0);
	must_say(flow_run(source, sink, &f, &run->err) == 0, &run->err);
	witness_free(&run->witness);
	sink_close(sink);
	source_close(source);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_run run = { .format = &format_safetensors }, again = run;

	if (!*folder)
		prepare();
	write_file(folder, FOLDER_INDEX, data, size);
	if (size == 0 || data[0] != '{')
		return 0;
	pass(&run, folder, made);
	if (!run.opened)
		return 0;
	pass(&again, made, NULL);
	must_say(again.opened, &again.err);
	must(fuzz_equal(&run.content, &again.content, true));
	remove_all(made);
	return 0;
}
