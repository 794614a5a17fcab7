/* slices: models opened in each way that aprml.h has.
 *
 *	slices same FILE...     opens each file by its name, in memory and by ranges, and compares what
 *	                        the three give: metadata, bytes, values, views, and a walk to the end
 *	slices random FILE N    reads N tensors by ranges, chosen at random, at most 64 KiB of each; fails
 *	                        if more is asked for than that and the header
 *	slices touch FILE       the median of the milliseconds for opening a file and touching a tensor by
 *	                        a view
 *	slices parse FILE       that, and the milliseconds for opening it and decoding all tensors
 */
#define _POSIX_C_SOURCE 200809L
#include <aprml/aprml.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* A file that this program reads. */
struct file {
	int fd;
	uint64_t size, asked, told;
	int breaks; /* reads that succeed before one fails; -1: none fails */
};

static struct aprml_error e;

static int
die(const char *what, const char *name)
{
	fprintf(stderr, "slices: %s: %s: E%03d %s\n", name, what, e.code, e.text);
	exit(1);
}

static int64_t
give(void *ctx, uint64_t at, void *p, size_t n)
{
	struct file *f = ctx;
	ssize_t got;

	if (n == 0 || at >= f->size || n > f->size - at)
		die("bytes behind the end are asked for", "ranges");
	if (f->breaks == 0)
		return -1;
	f->breaks -= f->breaks > 0;
	got = pread(f->fd, p, n > 70000 ? 70000 : n, (off_t)at);
	f->asked += got > 0 ? (uint64_t)got : 0;
	return got;
}

static void
tell(void *ctx, uint64_t at, uint64_t n)
{
	struct file *f = ctx;

	if (at > f->size || n > f->size - at)
		die("bytes behind the end are announced", "ranges");
	f->told += n;
}

static struct file
file_of(const char *path)
{
	struct file f = { .fd = open(path, O_RDONLY), .breaks = -1 };
	struct stat st;

	if (f.fd < 0 || fstat(f.fd, &st) < 0)
		die("cannot be opened", path);
	f.size = (uint64_t)st.st_size;
	return f;
}

static struct aprml *
open_file(struct file *f)
{
	const struct aprml_ranges r = {
		sizeof r, f->size, give, tell, f
	};

	return aprml_open_ranges(&r, &e);
}

/* ---- same ---- */

enum { WAYS = 3, SOME = 1000 };

static void
compare_tensor(struct aprml *const m[WAYS], size_t i, const char *name)
{
	static unsigned char bytes[WAYS][SOME];
	static float y[WAYS][SOME];
	struct aprml_tensor t[WAYS];
	const unsigned char *view;
	uint64_t from, first;
	size_t k, n, count;
	int r[WAYS], floats[WAYS];

	for (k = 0; k < WAYS; k++)
		if (aprml_tensor(m[k], i, &t[k]) < 0 || strcmp(t[k].name, t[0].name) ||
		    t[k].bytes != t[0].bytes || strcmp(t[k].type, t[0].type))
			die("tensors differ", name);
	from = t[0].bytes / 3;
	n = (size_t)(t[0].bytes - from < SOME ? t[0].bytes - from : SOME);
	first = t[0].values / 3;
	count = (size_t)(t[0].values - first < SOME ? t[0].values - first : SOME);
	for (k = 0; k < WAYS; k++) {
		r[k] = aprml_bytes(m[k], i, from, n, bytes[k], &e);
		floats[k] = aprml_floats(m[k], i, first, count, y[k], &e);
		if (r[k] < 0 || memcmp(bytes[k], bytes[0], n) || floats[k] != floats[0] ||
		    (floats[0] == 0 && memcmp(y[k], y[0], count * sizeof **y)))
			die("slices differ", t[0].name);
		view = aprml_view(m[k], i, &e);
		if (k == 2 && t[k].bytes && view)
			die("ranges have a view", t[0].name);
		if (k < 2 && view && (memcmp(view + from, bytes[0], n) || aprml_view(m[k], i, &e) != view))
			die("a view differs", t[0].name);
		if (aprml_bytes(m[k], i, t[0].bytes, 1, bytes[k], &e) == 0)
			die("there are more bytes", t[0].name);
	}
}

static void
walk(struct aprml *m, const char *name)
{
	static unsigned char bytes[1 << 16];
	size_t i, n = 1;
	int more;

	while ((more = aprml_next(m, &i, &e)) > 0)
		for (n = 1; n > 0;)
			if (aprml_read(m, bytes, sizeof bytes, &n, &e) < 0)
				die("cannot be read", name);
	if (more < 0)
		die("ends with an error", name);
}

static void
same(const char *path)
{
	struct file f = file_of(path);
	void *p = mmap(NULL, (size_t)f.size, PROT_READ, MAP_PRIVATE, f.fd, 0);
	struct aprml *m[WAYS];
	size_t i, k;

	if (p == MAP_FAILED)
		die("cannot be mapped", path);
	m[0] = aprml_open(path, &e);
	m[1] = m[0] ? aprml_open_memory(p, (size_t)f.size, &e) : NULL;
	m[2] = m[1] ? open_file(&f) : NULL;
	if (!m[2])
		die("cannot be opened", path);
	for (k = 1; k < WAYS; k++) {
		if (aprml_tensor_count(m[k]) != aprml_tensor_count(m[0]) ||
		    aprml_key_count(m[k]) != aprml_key_count(m[0]))
			die("counts differ", path);
		for (i = 0; i < aprml_key_count(m[0]); i++)
			if (strcmp(aprml_key(m[k], i), aprml_key(m[0], i)))
				die("keys differ", path);
	}
	for (i = 0; i < aprml_tensor_count(m[0]); i++)
		compare_tensor(m, i, path);
	for (k = 0; k < WAYS; k++) {
		walk(m[k], path);
		aprml_close(m[k]);
	}
	/* A program that cannot read any more: an error, not other bytes. */
	f.breaks = 1;
	m[2] = open_file(&f);
	if (m[2] && aprml_bytes(m[2], aprml_tensor_count(m[2]) - 1, 0, 1, &k, &e) == 0)
		die("a read that fails gives bytes", path);
	aprml_close(m[2]);
	munmap(p, (size_t)f.size);
	close(f.fd);
}

/* ---- random ---- */

static void
random_tensors(const char *path, size_t times)
{
	static unsigned char bytes[1 << 16];
	struct file f = file_of(path);
	struct aprml *m = open_file(&f);
	uint64_t header = f.asked, want = 0, told = 0;
	struct aprml_tensor t;
	uint32_t seed = 1;
	size_t i, n;

	if (!m)
		die("cannot be opened", path);
	for (; times > 0; times--) {
		seed = seed * 1664525 + 1013904223;
		i = (seed >> 8) % aprml_tensor_count(m);
		aprml_tensor(m, i, &t);
		n = t.bytes < sizeof bytes ? (size_t)t.bytes : sizeof bytes;
		aprml_prefetch(m, &i, 1);
		if (aprml_bytes(m, i, (t.bytes - n) / 2, n, bytes, &e) < 0)
			die("cannot be read", t.name);
		want += n;
		told += t.bytes;
	}
	if (f.asked != header + want || f.told != told)
		die("more is asked for than the tensors have", path);
	printf("header %" PRIu64 " tensors %" PRIu64 "\n", header, want);
	aprml_close(m);
	close(f.fd);
}

/* ---- touch ---- */

static double
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static int
by_size(const void *a, const void *b)
{
	return (*(const double *)a > *(const double *)b) - (*(const double *)a < *(const double *)b);
}

/* all: decode everything, once. */
static double
touch(const char *path, int all)
{
	enum { TIMES = 9 };
	static float y[1 << 16];
	double took[TIMES];
	volatile unsigned char sum = 0;
	int i;

	for (i = 0; i < (all ? 1 : TIMES); i++) {
		double began = now();
		struct aprml *m = aprml_open(path, &e);
		size_t last = m ? aprml_tensor_count(m) - 1 : 0, k, n;
		const unsigned char *p = m && !all ? aprml_view(m, last, &e) : NULL;
		struct aprml_tensor t;
		uint64_t at;

		if (!m || (!all && !p))
			die("cannot be opened", path);
		if (p)
			sum = (unsigned char)(sum + p[0]);
		for (k = 0; all && aprml_tensor(m, k, &t) == 0; k++)
			for (at = 0; at < t.values; at += n) {
				n = t.values - at < sizeof y / sizeof *y ? (size_t)(t.values - at)
				                                         : sizeof y / sizeof *y;
				if (aprml_floats(m, k, at, n, y, &e) < 0)
					die("cannot be decoded", t.name);
			}
		aprml_close(m);
		took[i] = now() - began;
	}
	if (!all)
		qsort(took, TIMES, sizeof *took, by_size);
	return took[all ? 0 : TIMES / 2];
}

int
main(int argc, char **argv)
{
	int i;

	for (i = 2; i < argc && strcmp(argv[1], "same") == 0; i++)
		same(argv[i]);
	if (argc == 4 && strcmp(argv[1], "random") == 0)
		random_tensors(argv[2], (size_t)strtoul(argv[3], NULL, 10));
	if (argc == 3 && strcmp(argv[1], "touch") == 0)
		printf("%.3f\n", touch(argv[2], 0));
	if (argc == 3 && strcmp(argv[1], "parse") == 0) {
		double view = touch(argv[2], 0), whole = touch(argv[2], 1);

		printf("view %.3f ms, parsed %.1f ms, %.0f times\n", view, whole, whole / view);
	}
	return argc < 3;
}
