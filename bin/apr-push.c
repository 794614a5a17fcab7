/* apr-push: files of this machine -> a repository of the hub, a registry */
#include <stdlib.h>
#include <string.h>

#include "cli/confine.h"
#include "cli/tool.h"
#include "core/netbox.h"
#include "core/text.h"
#include "core/version.h"
#include "hub/hf.h"
#include "hub/push.h"
#include "report/lines.h"

struct options {
	struct opt_list maps;
	const char *message, *token_file, *signature;
	uint64_t retries;
	double wait;
	bool dry_run, json, create, private_repo;
};

/* One line for each file: size, digest and name there. */
static void
put_files(struct buf *b, const struct push *p, bool json)
{
	char size[32], name[1200];
	size_t i;

	for (i = 0; i < p->n; i++) {
		const struct push_file *f = &p->files[i];

		if (json)
			lines_json(b, json_pack("{s:o,s:o,s:I,s:s,s:b}", "file", lines_file_name(f->at), "name",
			           lines_file_name(f->name), "bytes", (json_int_t)f->size, "sha256", f->sha256,
			           "there", f->there));
		else
			buf_printf(b, "%10s  %.16s  %s%s\n", text_size(size, sizeof size, f->size), f->sha256,
			           text_quote(name, sizeof name, f->name, strlen(f->name)),
			           f->there ? ": there already" : "");
	}
}

static int
report(const struct push *p, const struct options *o, struct err *e)
{
	struct buf b = { 0 };
	int done;

	if (o->dry_run || o->json)
		put_files(&b, p, o->json);
	if (!o->dry_run && o->json)
		lines_json(&b, json_pack("{s:s,s:I}", "made", p->result, "sent", (json_int_t)p->sent));
	else if (!o->dry_run)
		buf_printf(&b, "%s\n", p->result);
	done = tool_print(&b, e);
	buf_free(&b);
	return done;
}

static int
send(struct push *p, const struct options *o, struct err *e)
{
	const struct web_options options = { .agent = "apr/" APR_VERSION, .maps = o->maps.items,
		.map_count = o->maps.n, .tries = (unsigned)o->retries,
		.wait = o->wait > 0 ? (unsigned)(o->wait * 1000) + 1 : 1, .note = tool_note };
	struct web *web = web_open(&options, e);
	int done = web ? push_run(p, web, e) : -1;

	web_close(web);
	return done;
}

static int
check(const struct options *o, char **operands, size_t *files, struct err *e)
{
	size_t n = 0;

	while (operands[n])
		n++;
	if (n < 2)
		return tool_misused(e, n ? "a destination is missing, as hf://ORG/REPO"
		                    : "FILEs and a destination are missing");
	*files = n - 1;
	if (!hub_is_source(operands[n - 1]))
		return tool_misused(e, "%s: not a destination, as hf://ORG/REPO or oci://HOST/NAME:TAG",
		                    operands[n - 1]);
	(void)o;
	return 0;
}

static int
check_destination(const struct options *o, const struct hub_source *to, struct err *e)
{
	const bool registry = to->kind == HUB_OCI || to->kind == HUB_OLLAMA;

	if (!registry && to->kind != HUB_HF)
		return err_set(e, ERR_USAGE, to->label, "is not hf://ORG/REPO or oci://HOST/NAME:TAG");
	if (to->kind == HUB_HF && *to->tag)
		return err_set(e, ERR_USAGE, to->label, "names a tag: a revision stands behind @");
	if (registry && *to->digest)
		return err_set(e, ERR_USAGE, to->label,
		               "names a digest, which follows from the files: name a tag");
	if (registry && o->message)
		return tool_misused(e, "--message is for the hub");
	if (registry && o->create)
		return tool_misused(e, "--create is for the hub: a registry creates what is pushed");
	if (o->private_repo && !o->create)
		return tool_misused(e, "--private needs --create");
	if (!registry && o->signature)
		return tool_misused(e, "--signature is for registries: to the hub, a signature is a FILE");
	return 0;
}

/* The folder of records of uploads to the hub. */
static void
allow_uploads(void)
{
	struct cache_roots roots;
	struct err unused = ERR_INIT;
	char path[CACHE_PATH + 16];

	if (cache_roots(&roots, &unused) < 0)
		return;
	snprintf(path, sizeof path, "%s/" PUSH_UPLOADS, roots.apr);
	if (cache_folders(path) == 0)
		netbox_may_write(path);
}

/* The files are read, and nothing else; nothing is written but records of uploads. */
static int
enter(const struct options *o, const struct hub_source *to, char **files, size_t n, struct err *e)
{
	const struct confine c = { .token_file = o->token_file };
	size_t i;

	if (to->kind == HUB_HF && !o->dry_run)
		allow_uploads();
	for (i = 0; i < n; i++)
		netbox_may_read(files[i]);
	netbox_may_read(o->signature);
	return confine(&c, e);
}

int
main(int argc, char **argv)
{
	static struct options o = { .wait = 1 };
	static const struct opt opts[] = {
		TEXT(0, "message", "TEXT", &o.message, "the summary of the commit"),
		FLAG(0, "create", &o.create, "to the hub: create the repository, unless it exists"),
		FLAG(0, "private", &o.private_repo, "with --create: as a private one"),
		TEXT(0, "signature", "FILE", &o.signature, "to a registry: a signature that refers to the model"),
		FLAG('n', "dry-run", &o.dry_run, "print what would be sent; make no request"),
		FLAG(0, "json", &o.json, "print one object per line"),
		TEXT(0, "token-file", "FILE", &o.token_file, "read the hub's token from FILE"),
		LIST(0, "resolve-map", "OLD=NEW", &o.maps, "send requests for host OLD to NEW"),
		NUMBER(0, "retries", "N", &o.retries, 1, 100, "tries of a request (default: 5)"),
		DECIMAL(0, "retry-wait", "SECONDS", &o.wait, 0, 60,
		        "wait before the second try; it doubles (default: 1)"),
		OPT_END
	};
	static const struct tool tool = {
		"apr-push", "[-n] [--json] [--message TEXT] [--create [--private]]\n"
		"[--signature FILE] [--token-file FILE] [--resolve-map OLD=NEW ...]\n"
		"[--retries N] [--retry-wait SECONDS] FILE ... DESTINATION",
		"Publish files in a repository of a hub or a registry.", opts, PUSH_FILES
	};
	static struct hub_source to;
	struct push p = { .to = &to, .note = tool_note };
	struct err e = ERR_INIT;
	char **operands = tool_begin(&tool, argc, argv), endpoint[URL_TEXT];
	size_t n = 0, i;

	if (check(&o, operands, &n, &e) == 0 && hf_endpoint(endpoint, &e) == 0 &&
	    hub_source_parse(&to, operands[n], endpoint, &e) == 0 && check_destination(&o, &to, &e) == 0) {
		p.message = o.message;
		p.token_file = o.token_file;
		p.signature = o.signature;
		p.create = o.create;
		p.private_repo = o.private_repo;
		enter(&o, &to, operands, n, &e);
		for (i = 0; i < n && e.code == ERR_NONE; i++)
			push_add(&p, operands[i], &e);
		if (e.code == ERR_NONE && push_hash(&p, &e) == 0 && (o.dry_run || send(&p, &o, &e) == 0))
			report(&p, &o, &e);
	}
	push_free(&p);
	free(o.maps.items);
	return tool_end(&e);
}
