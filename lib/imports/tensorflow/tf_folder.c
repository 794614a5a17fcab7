/* Folders: which file of one is the model, and the files beside it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/dir.h"
#include "core/mem.h"
#include "core/opened.h"
#include "imports/tensorflow/tensorflow.h"

/* ---- the file of a folder ---- */

/* 1 if the file exists and is of this form; 0; or -1. */
static int
open_in(struct tf_place *p, const char *name, enum tf_form form, struct err *e)
{
	const uint8_t *head;
	size_t n;
	int fd = dir_open_fd(p->folder, name);

	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR || errno == ENODEV))
		return 0;
	if (fd >= 0)
		close(fd);
	free(p->label);
	p->label = dir_label(p->path, name);
	if (!p->label)
		return err_memory(e);
	if (dir_open(p->folder, name, p->label, &p->file, e) < 0)
		return -1;
	head = reader_peek(&p->file, FORMAT_PROBE, &n);
	if (p->file.failed)
		return -1;
	if (n > 0 && tf_probe(head, n) == form)
		return 1;
	if (form == TF_SAVED)
		return err_set(e, ERR_FORMAT, p->label, "is not a SavedModel of TensorFlow");
	reader_close(&p->file);
	p->file = (struct reader){ .fd = -1 };
	return 0;
}

/* True if the folder has the weights in another form, which then counts. */
static bool
has_others(const struct tf_place *p)
{
	static const char *const others[] = { "model.safetensors", "model.safetensors.index.json",
		"pytorch_model.bin", "pytorch_model.bin.index.json" };
	size_t i;
	int fd = -1;

	for (i = 0; fd < 0 && i < sizeof others / sizeof *others; i++)
		fd = dir_open_fd(p->folder, others[i]);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

int
tf_place_open(struct tf_place *p, const char *path, struct err *e)
{
	static const struct { const char *name; enum tf_form form; } files[] = {
		{ "saved_model.pb", TF_SAVED }, { "checkpoint", TF_LIST },
		{ "variables.index", TF_INDEX },
	};
	struct stat st;
	size_t i;
	int r = 0;

	*p = (struct tf_place){ .folder = -1, .file = { .fd = -1 } };
	if (opened_stat(path, &st) < 0 || !S_ISDIR(st.st_mode))
		return 0;
	p->folder = opened_folder(path);
	if (p->folder < 0 || has_others(p))
		return 0;
	p->path = mem_text(path, strlen(path));
	if (!p->path)
		return err_memory(e);
	for (i = 0; r == 0 && i < sizeof files / sizeof *files; i++)
		r = open_in(p, files[i].name, files[i].form, e);
	return r;
}

void
tf_place_free(struct tf_place *p)
{
	reader_close(&p->file);
	if (p->folder >= 0)
		close(p->folder);
	free(p->path);
	free(p->label);
	*p = (struct tf_place){ .folder = -1, .file = { .fd = -1 } };
}

/* ---- files beside a file ---- */

int
tf_find_folder(struct tensorflow *x, const char **name)
{
	struct import *im = &x->import;
	const char *slash = strrchr(im->source.name, '/');

	*name = slash ? slash + 1 : im->source.name;
	if (x->folder >= 0)
		return 1;
	if (im->reader.fd < 0 || !im->reader.seekable || strcmp(im->source.name, "<stdin>") == 0)
		return 0;
	x->folder = dir_of(im->source.name, &x->path, name, im->err);
	return x->folder < 0 ? -1 : 1;
}

int
tf_map(struct tensorflow *x, const char *name, bool may_miss, const struct map **map)
{
	int fd = may_miss ? dir_open_fd(x->folder, name) : -1;
	char *label;

	*map = NULL;
	if (may_miss && fd < 0 && (errno == ENOENT || errno == ENOTDIR))
		return 0;
	if (fd >= 0)
		close(fd);
	label = dir_label(x->path, name);
	if (!label)
		return err_memory(x->import.err);
	*map = import_beside(&x->import, x->folder, name, label);
	free(label);
	return *map ? 0 : -1;
}

/* ---- the latest checkpoint ---- */

/* CheckpointState as text: a line for each field. The path may be that of another machine; its last
 * part counts. */
int
tf_latest(struct tensorflow *x)
{
	static const char field[] = "model_checkpoint_path: \"";
	const struct import *im = &x->import;
	const uint8_t *p = im->p + sizeof field - 1, *end;
	const size_t n = (size_t)im->n - (sizeof field - 1);
	const char *slash;

	end = memchr(p, '"', n);
	if (!end || memchr(p, '\\', (size_t)(end - p)) || memchr(p, 0, (size_t)(end - p)))
		return import_fail(im, ERR_CORRUPT, "does not name a checkpoint");
	x->prefix = mem_text((const char *)p, (size_t)(end - p));
	if (!x->prefix)
		return err_memory(im->err);
	slash = strrchr(x->prefix, '/');
	if (slash) {
		import_note(im, "names a checkpoint by a path; the file of that name in its own folder is "
		            "read");
		memmove(x->prefix, slash + 1, strlen(slash));
	}
	if (dir_name_is_plain(x->prefix) && strlen(x->prefix) < 200)
		return 0;
	return import_fail(im, ERR_CORRUPT, "does not name a checkpoint of its folder");
}
