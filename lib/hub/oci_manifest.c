#include "hub/oci_manifest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/buf.h"
#include "core/json.h"
#include "core/mem.h"
#include "core/num.h"
#include "hub/source.h"

/* ---- the dialects ---- */

/* A media type, or the beginning of several if it ends in "."; and the name of the file if
 * nothing else names it. */
static const struct row {
	const char *type;
	enum oci_role role;
	const char *path;
} rows[] = {
	{ "application/vnd.ollama.image.model", OCI_MODEL, "model.gguf" },
	{ "application/vnd.ollama.image.projector", OCI_EXTRA, "mmproj.gguf" },
	{ "application/vnd.ollama.image.adapter", OCI_EXTRA, "adapter.gguf" },
	{ "application/vnd.ollama.image.template", OCI_EXTRA, "template.txt" },
	{ "application/vnd.ollama.image.system", OCI_EXTRA, "system.txt" },
	{ "application/vnd.ollama.image.params", OCI_EXTRA, "params.json" },
	{ "application/vnd.ollama.image.messages", OCI_EXTRA, "messages.json" },
	{ "application/vnd.ollama.image.license", OCI_EXTRA, "LICENSE" },
	{ "application/vnd.docker.ai.gguf.v3", OCI_MODEL, "model.gguf" },
	{ "application/vnd.docker.ai.safetensors", OCI_MODEL, "model.safetensors" },
	{ "application/vnd.docker.ai.mmproj", OCI_EXTRA, "mmproj.gguf" },
	{ "application/vnd.docker.ai.chat.template.jinja", OCI_EXTRA, "chat_template.jinja" },
	{ "application/vnd.docker.ai.license", OCI_EXTRA, "LICENSE" },
	{ "application/vnd.docker.ai.model.file", OCI_SIDE, NULL },
	{ "application/vnd.cncf.model.weight.config.v1.", OCI_SIDE, "config.json" },
	{ "application/vnd.cncf.model.weight.v1.", OCI_MODEL, "model.bin" },
	{ "application/vnd.cncf.model.doc.v1.", OCI_DOC, "README.md" },
	{ "application/vnd.cncf.model.code.v1.", OCI_EXTRA, "code" },
	{ "application/vnd.cncf.model.dataset.v1.", OCI_EXTRA, "dataset" },
};

static const struct row *
row_of(const char *type)
{
	size_t i, n;

	for (i = 0; i < sizeof rows / sizeof *rows; i++) {
		n = strlen(rows[i].type);
		if (strncmp(type, rows[i].type, n) == 0 && (rows[i].type[n - 1] == '.' || !type[n]))
			return &rows[i];
	}
	return NULL;
}

/* Archives have a type that ends in "tar", or in "tar" and a compression. */
static bool
is_archive(const char *type)
{
	const char *at = strstr(type, "tar");

	for (; at; at = strstr(at + 1, "tar"))
		if (at > type && (at[-1] == '.' || at[-1] == '+') && (!at[3] || at[3] == '+' || at[3] == '.'))
			return true;
	return false;
}

/* ---- descriptors ---- */

bool
oci_digest_is_valid(const char *text)
{
	return strncmp(text, "sha256:", 7) == 0 && strlen(text) == OCI_DIGEST - 1 &&
	       strspn(text + 7, "0123456789abcdef") == 64;
}

/* Digest and size of a descriptor. */
static int
read_descriptor(const json_t *o, const char *what, const char *label, char digest[OCI_DIGEST],
                uint64_t *size, struct err *e)
{
	const char *text;

	if (!json_is_object(o))
		return err_set(e, ERR_CORRUPT, label, "%s of the manifest is not an object", what);
	if (json_member_text(o, "digest", &text) < 0)
		return err_set(e, ERR_CORRUPT, label, "%s of the manifest has no digest", what);
	if (!oci_digest_is_valid(text))
		return err_set(e, ERR_CORRUPT, label, "%s of the manifest has the digest %.100s, not "
		               "sha256 and 64 digits", what, text);
	if (json_member_u64(o, "size", size) < 0 || *size > INT64_MAX)
		return err_set(e, ERR_CORRUPT, label, "%s of the manifest has no valid size", what);
	memcpy(digest, text, OCI_DIGEST);
	return 0;
}

/* The file name of a layer by its annotations; NULL if none is usable. */
static const char *
annotated_path(const json_t *layer)
{
	static const char *const names[] = { OCI_PATH, OCI_TITLE };
	const json_t *notes = json_object_get(layer, "annotations");
	const char *text;
	size_t i;

	for (i = 0; i < 2; i++)
		if (json_member_text(notes, names[i], &text) == 0 && hub_path_is_safe(text))
			return text;
	return NULL;
}

static bool
has_path(const struct oci_manifest *m, const char *path)
{
	size_t i;

	for (i = 0; i < m->n; i++)
		if (m->layers[i].path && strcmp(m->layers[i].path, path) == 0)
			return true;
	return false;
}

/* Sets the path of the last layer. A name that the layer states itself must be unique; others get
 * a number: "LICENSE", "5-LICENSE". */
static int
set_path(struct oci_manifest *m, const char *path, bool stated, const char *label, struct err *e)
{
	struct oci_layer *l = &m->layers[m->n - 1];
	char made[HUB_PATH + 32];
	size_t i;

	snprintf(made, sizeof made, "%s", path);
	if (stated && has_path(m, made))
		return err_set(e, ERR_CORRUPT, label, "two layers of the manifest are the file %s", path);
	for (i = m->n; has_path(m, made); i++)
		snprintf(made, sizeof made, "%zu-%s", i, path);
	l->path = mem_text(made, strlen(made));
	return l->path ? 0 : err_memory(e);
}

static int
read_layer(struct oci_manifest *m, const json_t *o, const char *label, struct err *e)
{
	struct oci_layer *l = &m->layers[m->n];
	const char *type = "", *stated;
	const struct row *row;
	char what[32];

	snprintf(what, sizeof what, "layer %zu", m->n);
	if (read_descriptor(o, what, label, l->digest, &l->size, e) < 0)
		return -1;
	json_member_text(o, "mediaType", &type);
	row = row_of(type);
	stated = annotated_path(o);
	l->role = is_archive(type) ? OCI_ARCHIVE : row ? row->role : stated ? OCI_SIDE : OCI_OTHER;
	m->has_archives |= l->role == OCI_ARCHIVE;
	l->type = mem_text(type, strlen(type));
	if (!l->type)
		return err_memory(e);
	m->n++;
	return set_path(m, stated ? stated : row && row->path ? row->path : "layer", stated != NULL, label,
	                e);
}

/* ---- the whole ---- */

/* The first manifest of a list that is not for a platform "unknown" (attestations are). */
static int
read_list(struct oci_manifest *m, const json_t *list, const char *label, struct err *e)
{
	const json_t *o;
	const char *system;
	uint64_t size;
	size_t i;

	json_array_foreach(list, i, o) {
		if (json_member_text(json_object_get(o, "platform"), "os", &system) == 0 &&
		    strcmp(system, "unknown") == 0)
			continue;
		return read_descriptor(o, "an entry", label, m->child, &size, e);
	}
	return err_set(e, ERR_FORMAT, label, "the list of manifests has none for a model");
}

static int
read_layers(struct oci_manifest *m, const json_t *layers, const char *label, struct err *e)
{
	size_t n = json_array_size(layers), i;
	uint64_t sum = 0;

	if (n > OCI_LAYERS)
		return err_set(e, ERR_MEMORY, label, "the manifest has %zu layers, more than %d", n,
		               OCI_LAYERS);
	m->layers = mem_array(n, sizeof *m->layers);
	if (!m->layers)
		return err_memory(e);
	for (i = 0; i < n; i++)
		if (read_layer(m, json_array_get(layers, i), label, e) < 0)
			return -1;
	for (i = 0; i < n; i++)
		if (num_add(sum, m->layers[i].size, &sum) < 0)
			return err_set(e, ERR_CORRUPT, label, "the layers have sizes that are not possible");
	return 0;
}

static int
read_root(struct oci_manifest *m, const json_t *root, const char *label, struct err *e)
{
	const json_t *config = json_object_get(root, "config");
	const json_t *layers = json_object_get(root, "layers");
	const json_t *list = json_object_get(root, "manifests");

	if (json_is_array(list))
		return read_list(m, list, label, e);
	if (!json_is_array(layers))
		return err_set(e, ERR_FORMAT, label, "is not a manifest with layers");
	if (config && read_descriptor(config, "the config", label, m->config, &m->config_size, e) < 0)
		return -1;
	return read_layers(m, layers, label, e);
}

int
oci_manifest_parse(struct oci_manifest *m, const void *text, size_t n, const char *label,
                   struct err *e)
{
	json_t *root;
	int done;

	*m = (struct oci_manifest){ .n = 0 };
	if (n > OCI_MANIFEST)
		return err_set(e, ERR_MEMORY, label, "the manifest has more than 4 MiB");
	root = json_parse_wide(text, n, ERR_CORRUPT, label, e);
	if (!root)
		return -1;
	done = read_root(m, root, label, e);
	json_decref(root);
	return done;
}

void
oci_manifest_free(struct oci_manifest *m)
{
	size_t i;

	for (i = 0; m->layers && i < m->n; i++) {
		free(m->layers[i].path);
		free(m->layers[i].type);
	}
	free(m->layers);
	*m = (struct oci_manifest){ .n = 0 };
}
