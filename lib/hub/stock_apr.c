/* stock_apr: the cache of these tools. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/buf.h"
#include "core/dir.h"
#include "core/json.h"
#include "core/mem.h"
#include "crypto/digest.h"
#include "hub/stock.h"

#define DEPTH 32            /* folders in folders of names */
#define ENTRY (4u << 20)    /* bytes of a manifest */
#define HEX 64

static bool
is_hex(const char *s)
{
	return strlen(s) == HEX && strspn(s, "0123456789abcdef") == HEX;
}

/* Adds the blob of a digest to an entry. */
static int
add_digest(const struct stock_repo *r, struct stock_revision *v, const char *digest,
           struct err *e)
{
	struct stock_file *f = stock_add_file(v, digest, e);

	if (!f)
		return -1;
	if (strncmp(digest, "sha256:", 7) == 0)
		digest += 7;
	f->blob = is_hex(digest) ? stock_find_blob(r, digest) : STOCK_NONE;
	f->state = f->blob == STOCK_NONE ? STOCK_MISSING : STOCK_WHOLE;
	return 0;
}

/* The digests of a manifest: its config and its layers. */
static int
add_manifest(const struct stock_repo *r, struct stock_revision *v, const json_t *root,
             struct err *e)
{
	const json_t *layers = json_object_get(root, "layers"), *layer;
	const char *digest;
	size_t i;

	if (json_member_text(json_object_get(root, "config"), "digest", &digest) == 0 &&
	    add_digest(r, v, digest, e) < 0)
		return -1;
	json_array_foreach(layers, i, layer)
		if (json_member_text(layer, "digest", &digest) == 0 &&
		    add_digest(r, v, digest, e) < 0)
			return -1;
	return 0;
}

/* "oci/HOST/ORG/NAME/TAG.json" is oci://HOST/ORG/NAME:TAG, or @sha256:HEX. */
static char *
artifact_name(const char *path)
{
	const char *slash = strrchr(path, '/'), *tag = slash + 1;
	struct buf b = { 0 };
	char *made;
	size_t n = strlen(tag) - strlen(".json");

	buf_text(&b, "oci://");
	buf_put(&b, path + 4, (size_t)(slash - path) - 4);
	if (strncmp(tag, "sha256-", 7) == 0)
		buf_printf(&b, "@sha256:%.*s", (int)n - 7, tag + 7);
	else
		buf_printf(&b, ":%.*s", (int)n, tag);
	made = buf_string(&b) ? mem_text((const char *)b.p, b.n) : NULL;
	buf_free(&b);
	return made;
}

/* Fills in an entry from its JSON; one that cannot be read has no files and no name of its
 * own. */
static int
read_json(const struct stock_repo *r, struct stock_revision *v, const json_t *root, bool url,
          struct err *e)
{
	const char *text;

	if (!url)
		return add_manifest(r, v, root, e);
	if (json_member_text(root, "url", &text) == 0 && !(v->name = mem_text(text, strlen(text))))
		return err_memory(e);
	return json_member_text(root, "sha256", &text) == 0 ? add_digest(r, v, text, e) : 0;
}

/* The folder of an artifact is named after its manifest. */
static int
set_folder(struct stock_revision *v, const struct buf *text, struct err *e)
{
	char hex[DIGEST_TEXT];
	struct digest d;

	if (sha256_of(text->p, text->n, &d) < 0)
		return err_memory(e);
	digest_text(hex, &d);
	v->folder = mem_text(hex, strlen(hex));
	return v->folder ? 0 : err_memory(e);
}

static int
add_entry(struct stock_repo *r, int fd, const char *name, const char *path, struct err *e)
{
	bool url = strncmp(path, "urls/", 5) == 0;
	struct stock_revision *v;
	struct err ignored = ERR_INIT;
	struct buf text = { 0 };
	struct stat st;
	json_t *root;
	int done = 0;

	if (fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode))
		return 0;
	v = stock_add_revision(r, path, e);
	if (!v)
		return -1;
	v->used = st.st_mtim.tv_sec;
	root = stock_small(fd, name, ENTRY, &text) == 0
		? json_parse_wide(text.p, text.n, ERR_CORRUPT, path, &ignored) : NULL;
	if (root && !url)
		done = set_folder(v, &text, e);
	if (root && done == 0)
		done = read_json(r, v, root, url, e);
	v->broken += !root;
	json_decref(root);
	buf_free(&text);
	if (done == 0 && !v->name)
		v->name = url ? mem_text(path, strlen(path)) : artifact_name(path);
	return done == 0 && !v->name ? err_memory(e) : done;
}

static bool
is_json(const char *name)
{
	size_t n = strlen(name);

	return n > 5 && strcmp(name + n - 5, ".json") == 0;
}

static int
read_entries(struct stock *s, struct stock_repo *r, int fd, const char *below, int depth,
             struct err *e)
{
	struct dir_names names = { 0 };
	int done = dir_list(fd, s->apr.path, &names, e), folder;
	struct buf path = { 0 };
	size_t i;

	for (i = 0; i < names.n && done == 0; i++) {
		buf_clear(&path);
		buf_printf(&path, "%s/%s", below, names.p[i]);
		if (!buf_string(&path) || path.n > 4095) {
			done = buf_ok(&path) ? 0 : err_memory(e);
			continue;
		}
		if ((done = stock_count(s, s->apr.path, e)) < 0)
			break;
		folder = depth < DEPTH ? stock_folder(fd, names.p[i]) : -1;
		if (folder >= 0) {
			done = read_entries(s, r, folder, (const char *)path.p, depth + 1, e);
			close(folder);
		} else if (is_json(names.p[i])) {
			done = add_entry(r, fd, names.p[i], (const char *)path.p, e);
		}
	}
	buf_free(&path);
	dir_names_free(&names);
	return done;
}

int
stock_read_apr(struct stock *s, struct stock_cache *c, struct err *e)
{
	static const char *const folders[] = { "oci", "urls" };
	struct stock_repo *r;
	int done = 0;
	size_t i;

	if (mem_grow(&c->repos, &c->cap, 1, sizeof *r) < 0)
		return err_memory(e);
	r = &c->repos[c->n++];
	r->folder = mem_text("", 0);
	r->name = mem_text("", 0);
	if (!r->folder || !r->name)
		return err_memory(e);
	done = stock_read_blobs(s, c->fd, "blobs/sha256", c->path, r, e);
	for (i = 0; i < 2 && done == 0; i++) {
		int fd = stock_folder(c->fd, folders[i]);

		if (fd < 0)
			continue;
		done = read_entries(s, r, fd, folders[i], 0, e);
		close(fd);
	}
	return done < 0 ? -1 : stock_read_uploads(s, c, r, e);
}
