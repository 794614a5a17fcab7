/* Packages: which file of the folder is the model. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/dir.h"
#include "core/json.h"
#include "core/mem.h"
#include "core/opened.h"
#include "imports/coreml/coreml.h"

#define MANIFEST "Manifest.json"
#define MANIFEST_MAX (1u << 20)

/* The path of the model in the package, in a new string; NULL: an error. */
static char *
model_of(json_t *manifest, const char *label, struct err *e)
{
	const char *id = json_string_value(json_object_get(manifest, "rootModelIdentifier"));
	json_t *items = json_object_get(manifest, "itemInfoEntries");
	const char *path = id ? json_string_value(json_object_get(json_object_get(items, id), "path"))
	                      : NULL;
	char *name = path ? dir_label("Data", path) : NULL;

	if (!path) {
		err_set(e, ERR_CORRUPT, label, "does not name the package's model");
	} else if (!name) {
		err_memory(e);
	} else if (!dir_name_in_package(name)) {
		err_set(e, ERR_CORRUPT, label, "names %s as its model, which is not a file of the package",
		        path);
		free(name);
		name = NULL;
	}
	return name;
}

static json_t *
read_manifest(struct reader *r, struct err *e)
{
	struct buf b = { 0 };
	json_t *o = NULL;

	if (reader_left(r) > MANIFEST_MAX)
		reader_fail(r, ERR_CORRUPT, "is larger than %u bytes", MANIFEST_MAX);
	else if (reader_append(r, &b, reader_left(r)) == 0)
		o = json_parse(b.p, b.n, ERR_CORRUPT, r->name, e);
	buf_free(&b);
	return o;
}

/* Open the model, and remember its folder. */
static int
open_model(struct coreml_package *p, const char *name, struct err *e)
{
	p->label = dir_label(p->path, name);
	p->inside = mem_text(name, (size_t)(strrchr(name, '/') + 1 - name));
	if (!p->label || !p->inside)
		return err_memory(e);
	return dir_open(p->folder, name, p->label, &p->model, e);
}

static int
open_package(struct coreml_package *p, int manifest, struct err *e)
{
	char *label = dir_label(p->path, MANIFEST), *name = NULL;
	struct reader r = { .fd = -1 };
	json_t *o = NULL;
	int status = -1;

	if (!label)
		status = err_memory(e);
	else if (reader_fd(&r, manifest, label, e) == 0)
		o = read_manifest(&r, e);
	if (o)
		name = model_of(o, label, e);
	if (name)
		status = open_model(p, name, e);
	reader_close(&r);
	json_decref(o);
	free(label);
	free(name);
	return status < 0 ? -1 : 1;
}

int
coreml_package_open(struct coreml_package *p, const char *path, struct err *e)
{
	struct stat st;
	int manifest, r;

	*p = (struct coreml_package){ .folder = -1, .model = { .fd = -1 } };
	if (opened_stat(path, &st) < 0 || !S_ISDIR(st.st_mode))
		return 0;
	p->folder = opened_folder(path);
	manifest = p->folder < 0 ? -1 : dir_open_fd(p->folder, MANIFEST);
	if (manifest < 0)
		return 0;
	p->path = mem_text(path, strlen(path));
	r = p->path ? open_package(p, manifest, e) : err_memory(e);
	close(manifest);
	return r;
}

void
coreml_package_free(struct coreml_package *p)
{
	reader_close(&p->model);
	if (p->folder >= 0)
		close(p->folder);
	free(p->path);
	free(p->inside);
	free(p->label);
	*p = (struct coreml_package){ .folder = -1, .model = { .fd = -1 } };
}
