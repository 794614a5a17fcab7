/* fuzz_shards: the input is the manifest of two APR2 files, or two GGUF shards: u16
 * length of the first, the first, the second. Whatever they say, the model is read whole
 * or refused; and what is read is packed into shards, which are read again and have the
 * same content.
 */
#include "fuzz.h"

#include <dirent.h>
#include <sys/stat.h>

#include "core/le.h"

#define ONE "m-00001-of-00002"
#define TWO "m-00002-of-00002"

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
empty(const char *path)
{
	DIR *d = opendir(path);
	const struct dirent *e;

	must(d);
	while ((e = readdir(d)))
		unlinkat(dirfd(d), e->d_name, 0);
	closedir(d);
}

static void
clean(void)
{
	empty(folder);
	empty(made);
	rmdir(folder);
	rmdir(made);
}

static void
put_number(uint8_t **p, uint64_t v, unsigned width)
{
	for (; width > 0; width--, v >>= 8)
		*(*p)++ = (uint8_t)v;
}

/* An APR2 file with one tensor of two bytes, as the draft describes it. */
static void
write_apr2(const char *name, char tensor)
{
	static const char meta[] = "{\"apr_version\":\"2.0.0\",\"model_type\":\"x\","
		"\"architecture\":{}}";
	uint8_t file[512] = { 0 }, *p = file;
	unsigned at = 32 + sizeof meta - 1, bytes = 8 + 41, data = (at + bytes + 63) / 64 * 64;

	memcpy(p, "APR2\2\0\0\0", 8);
	p += 8;
	put_number(&p, 0x8a, 4);
	put_number(&p, 32, 4);
	put_number(&p, sizeof meta - 1, 4);
	put_number(&p, at, 4);
	put_number(&p, bytes, 4);
	put_number(&p, data, 4);
	memcpy(p, meta, sizeof meta - 1);
	p = file + at;
	put_number(&p, 1, 8);
	put_number(&p, 1, 2);
	*p++ = (uint8_t)tensor;
	*p++ = 7; /* U8 */
	*p++ = 1;
	put_number(&p, 2, 8);
	put_number(&p, 0, 8);
	put_number(&p, 2, 8);
	p = file + data + 64;
	put_number(&p, crc32_add(0, file, data + 64), 4);
	memcpy(p, "2RPA", 4);
	p += 4;
	put_number(&p, data + 64 + 16, 8);
	write_file(folder, name, file, (size_t)(p - file));
}

static void
prepare(void)
{
	snprintf(folder, sizeof folder, "/dev/shm/fuzz-shards.%ld", (long)getpid());
	snprintf(made, sizeof made, "%s.made", folder);
	must(mkdir(folder, 0777) == 0 && mkdir(made, 0777) == 0);
	atexit(clean);
	write_apr2(ONE ".apr", 'a');
	write_apr2(TWO ".apr", 'b');
	write_apr2("x.apr", 'x');
}

/* Read what lies at path, and pack it; its content is left in run. */
static void
pass(struct fuzz_run *run, const char *path, const char *to)
{
	struct flow f = { .item = fuzz_item, .data = fuzz_data, .item_end = fuzz_item_end,
		.finish = fuzz_finish, .ctx = run };
	struct out_options where = { .path = to, .input = -1, .no_sync = true };
	const struct format *which;
	struct source *source;
	struct sink *sink = NULL;
	int status = -1, held;

	run->err = (struct err)ERR_INIT;
	run->witness = (struct witness){ 0 };
	source = format_open_path(path, &run->options, fuzz_note, &which, &held, &run->err);
	if (held >= 0)
		close(held);
	run->opened = source != NULL;
	must(run->opened == (run->err.code == ERR_NONE));
	if (source) {
		json_decref(which->reads->describe(source, &run->err));
		must_say(run->err.code == ERR_NONE, &run->err);
		if (to) {
			sink = run->format->writes->create_shards(&where, &run->options, &run->err);
			must(sink);
			sink->note = fuzz_note;
		}
		if (witness_begin(&run->witness, source->plan, 1, &run->err) == 0)
			status = flow_run(source, sink, &f, &run->err);
		must_say((status == 0) == (run->err.code == ERR_NONE), &run->err);
		witness_free(&run->witness);
	}
	sink_close(sink);
	source_close(source);
	/* A file that is not there is what a manifest may well name. */
	if (run->err.code == ERR_IO)
		must_say(run->err.missing, &run->err);
	else if (run->err.code != ERR_NONE)
		fuzz_refused(&run->err, run->opened && to);
}

static void
both(const struct format *format, const char *path, uint64_t shard_size)
{
	struct fuzz_run run = { .format = format, .options = { .memory = 1 << 20,
		.shard_size = shard_size } }, again = run;
	char to[128], single[160];

	snprintf(to, sizeof to, "%s/n%s", made, format == &format_gguf ? ".gguf" : ".apr");
	pass(&run, path, to);
	if (run.err.code == ERR_NONE) {
		snprintf(single, sizeof single, "%s", to);
		pass(&again, access(single, F_OK) == 0 ? single : made, NULL);
		must_say(again.err.code == ERR_NONE, &again.err);
		must(fuzz_equal(&run.content, &again.content, true));
	}
	empty(made);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char path[128];
	size_t first;

	if (!*folder)
		prepare();
	if (size < 2)
		return 0;
	if (data[0] == '{') {
		write_file(folder, "m.apr.json", data, size);
		snprintf(path, sizeof path, "%s/m.apr.json", folder);
		both(&format_apr2, path, 1 + size % 4);
		return 0;
	}
	first = (size_t)le16(data) < size - 2 ? (size_t)le16(data) : size - 2;
	write_file(folder, ONE ".gguf", data + 2, first);
	write_file(folder, TWO ".gguf", data + 2 + first, size - 2 - first);
	snprintf(path, sizeof path, "%s/" ONE ".gguf", folder);
	both(&format_gguf, path, 1 + size % 100);
	return 0;
}
