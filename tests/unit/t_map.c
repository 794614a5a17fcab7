/* map: a file that is cut while it is mapped, room that is not there. */
#include "core/map.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/signals.h"
#include "core/thread.h"
#include "test.h"

#define SIZE (64u << 10)

static struct map file;
static unsigned char seen[SIZE / 4096];

static void
look(void *ctx, size_t i)
{
	(void)ctx;
	seen[i] = file.p[i * 4096 + 7];
}

/* Some of it stays, all of it goes; read by threads as well. */
static void
cut(long to)
{
	struct err e = ERR_INIT;
	FILE *f = tmpfile();
	size_t i, good = 0, zero = 0;

	for (i = 0; f && i < SIZE; i++)
		putc('x', f);
	if (!f || fflush(f) != 0 || map_file(&file, fileno(f), "it", &e) < 0) {
		test_ok(0, "a file: %s", e.fact);
		return;
	}
	test_ok(file.n == SIZE && file.p[SIZE - 1] == 'x' && map_whole(&file), "a file is mapped");
	test_ok(ftruncate(fileno(f), to) == 0 && !map_whole(&file), "it was cut");
	thread_for(3, SIZE / 4096, look, NULL);
	for (i = 0; i < SIZE / 4096; i++) {
		good += seen[i] == 'x';
		zero += seen[i] == 0;
	}
	test_ok(good == (size_t)to / 4096 && good + zero == SIZE / 4096,
	        "%zu pages are there, zeros in place of %zu", good, zero);
	/* It does not help to bring the bytes back. */
	test_ok(ftruncate(fileno(f), SIZE) == 0 && !map_whole(&file), "it stays cut");
	map_close(&file);
	map_close(&file);
	fclose(f);
}

/* In a program that is not a tool, the file is in memory, and what becomes of it has no effect. */
static void
copied(void)
{
	struct err e = ERR_INIT;
	FILE *f = tmpfile();
	struct map m;

	if (!f || fwrite(seen, 1, sizeof seen, f) != sizeof seen || fputc('x', f) != 'x' ||
	    fflush(f) != 0 || map_file(&m, fileno(f), "it", &e) < 0) {
		test_ok(0, "a file: %s", e.fact);
		return;
	}
	test_ok(ftruncate(fileno(f), 0) == 0 && m.n == sizeof seen + 1, "a file is read and cut");
	map_look(&m, m.p);
	map_release(&m, m.p, m.n);
	test_ok(m.p[m.n - 1] == 'x' && map_whole(&m), "its bytes stay");
	map_close(&m);
	test_ok(map_file(&m, fileno(f), "it", &e) < 0, "an empty file is refused");
	fclose(f);
}

int
main(void)
{
	struct err e = ERR_INIT;
	struct map m;
	int pipes[2];

	copied();
	signals_catch();
	cut(8192);
	cut(0);
	test_ok(map_zeros(&m, 5000, &e) == 0 && m.p[4999] == 0, "zeros");
	m.p[4999] = 1;
	test_ok(map_whole(&m), "they cannot be cut");
	map_close(&m);
	test_ok(map_zeros(&m, 0, &e) == 0 && m.n == 0, "none of them");
	test_ok(map_zeros(&m, UINT64_MAX / 2, &e) < 0 && e.code == ERR_MEMORY,
	        "too many");
	e = (struct err)ERR_INIT;
	test_ok(pipe(pipes) == 0 && map_file(&m, pipes[0], "a pipe", &e) < 0 && e.code == ERR_IO,
	        "a pipe is not a file");
	return test_done();
}
