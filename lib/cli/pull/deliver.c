#include "cli/pull/deliver.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/out.h"
#include "core/reader.h"

#define BLOCK (1u << 20)

int
target_of(struct target *t, const char *path, struct err *e)
{
	const char *slash = strrchr(path, '/');
	struct stat st;
	size_t n = strlen(path);

	*t = (struct target){ .is_folder = n && path[n - 1] == '/' };
	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
		t->is_folder = true;
	if (n + 1 >= sizeof t->folder || (slash && strlen(slash + 1) >= sizeof t->name) ||
	    (!slash && n >= sizeof t->name))
		return err_set(e, ERR_USAGE, path, "is too long for a path");
	if (t->is_folder) {
		memcpy(t->folder, path, n + 1);
		return 0;
	}
	snprintf(t->folder, sizeof t->folder, "%.*s", slash == path ? 1 : slash ? (int)(slash - path) : 1,
	         slash ? path : ".");
	snprintf(t->name, sizeof t->name, "%s", slash ? slash + 1 : path);
	return 0;
}

/* ---- copies ---- */

static int
copy(const char *from, const char *to, bool force, struct err *e)
{
	struct out_options where = { .path = to, .force = force, .input = -1 };
	struct out out = { .fd = -1 };
	uint8_t *block = malloc(BLOCK);
	int fd = open(from, O_RDONLY | O_CLOEXEC), r = 0;
	ssize_t n = 0;

	if (!block)
		r = err_memory(e);
	else if (fd < 0)
		r = err_errno(e, from, "cannot be opened");
	else
		r = out_open(&out, &where, e);
	while (r == 0 && (n = read(fd, block, BLOCK)) > 0)
		r = out_put(&out, block, (size_t)n);
	if (r == 0 && n < 0)
		r = err_errno(e, from, "cannot be read");
	if (r == 0)
		r = out_finish(&out);
	out_abandon(&out);
	if (fd >= 0)
		close(fd);
	free(block);
	return r;
}

static int
copy_into(const char *folder, const struct pull_file *f, const char *path, bool force,
          struct err *e)
{
	char to[2 * CACHE_PATH], above[2 * CACHE_PATH];
	const char *slash;

	snprintf(to, sizeof to, "%s%s%s", folder, folder[strlen(folder) - 1] == '/' ? "" : "/", path);
	slash = strrchr(to, '/');
	snprintf(above, sizeof above, "%.*s", (int)(slash - to), to);
	if (*above && cache_folders(above) < 0)
		return err_errno(e, above, "the folder cannot be created");
	return copy(f->at, to, force, e);
}

int
deliver(const struct pull *p, const struct target *t, const char *path, bool force,
        struct err *e)
{
	size_t i, below = strlen(p->source->path);

	if (!p->several && !t->is_folder)
		return copy(p->files[0].at, path, force, e);
	for (i = 0; i < p->n; i++) {
		const char *name = p->files[i].path;

		if (!p->several)
			name = strrchr(name, '/') ? strrchr(name, '/') + 1 : name;
		else if (p->source->kind == HUB_HF && below && !*p->source->tag)
			name += below + 1;
		if (copy_into(path, &p->files[i], name, force, e) < 0)
			return -1;
	}
	return 0;
}

/* ---- progress ---- */

static void *
tick(void *of)
{
	struct ticker *t = of;
	const struct timespec pause = { .tv_nsec = 50000000 };

	while (!atomic_load(&t->end)) {
		nanosleep(&pause, NULL);
		progress_at(&t->progress, atomic_load(&t->pull->progress));
	}
	return NULL;
}

void
ticker_begin(struct ticker *t, const struct pull *p, bool asked)
{
	t->pull = p;
	atomic_init(&t->end, false);
	progress_begin(&t->progress, asked, p->bytes);
	t->runs = t->progress.on && pthread_create(&t->thread, NULL, tick, t) == 0;
}

void
ticker_end(struct ticker *t)
{
	if (!t->runs)
		return;
	atomic_store(&t->end, true);
	pthread_join(t->thread, NULL);
	progress_at(&t->progress, atomic_load(&t->pull->progress));
	progress_end(&t->progress);
	t->runs = false;
}
