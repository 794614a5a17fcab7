/* apr-pull: a model of a hub or a web address -> the cache, a file, a stream */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/confine.h"
#include "cli/pull/deliver.h"
#include "cli/pull/stream.h"
#include "cli/pull/told.h"
#include "cli/tool.h"
#include "core/remote.h"
#include "core/version.h"

struct options {
	struct opt_list include, exclude, maps;
	struct output_options output;
	struct select_options select;
	const char *sha256, *token_file, *policy;
	uint64_t jobs, retries, stall, serve;
	double wait;
	bool no_cache, json, dry_run, offline, path, accept, insecure;
};

/* ---- the work ---- */

static struct web_options
web_of(const struct options *o)
{
	return (struct web_options){ .agent = "apr/" APR_VERSION, .maps = o->maps.items,
		.map_count = o->maps.n, .insecure_http = o->insecure, .stall = (unsigned)o->stall,
		.tries = (unsigned)o->retries, .wait = o->wait > 0 ? (unsigned)(o->wait * 1000) + 1 : 1,
		.note = tool_note };
}

static int
open_web(const struct options *o, struct web **web, struct err *e)
{
	const struct web_options options = web_of(o);

	*web = web_open(&options, e);
	return *web ? 0 : -1;
}

/* Creates the folder that -o names; without the cache, files are fetched into it. */
static int
open_folder(struct pull_options *how, const struct options *o, struct target *t,
            const struct hub_source *s, struct err *e)
{
	bool several = s->kind == HUB_HF && (!*s->path || s->folder) && !*s->tag;

	if (several && !t->is_folder) {
		t->is_folder = true;
		snprintf(t->folder, sizeof t->folder, "%s", o->output.path);
	}
	if (t->is_folder && cache_folders(t->folder) < 0)
		return err_errno(e, t->folder, "the folder cannot be created");
	if (!how->no_cache)
		return 0;
	how->folder = open(t->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	how->name = t->is_folder ? NULL : t->name;
	return how->folder < 0 ? err_errno(e, t->folder, "the folder cannot be opened") : 0;
}

/* Prints the plan, or what has come. */
static int
report(const struct pull *p, const struct options *o, bool plan, struct err *e)
{
	struct buf b = { 0 };
	int r;

	if (o->json)
		told_json(&b, p, plan);
	else if (plan)
		told_list(&b, p);
	else
		buf_printf(&b, "%s\n", p->root);
	r = tool_print(&b, e);
	buf_free(&b);
	return r;
}

static int
pull(struct pull *p, const struct options *o, struct target *t, struct err *e)
{
	struct ticker ticker = { .runs = false };
	int r;

	told_before(p);
	if (o->policy && !o->accept && told_policy(p, o->policy, e) < 0)
		return -1;
	if (o->dry_run)
		return report(p, o, true, e);
	ticker_begin(&ticker, p, o->output.progress);
	r = pull_run(p, e);
	ticker_end(&ticker);
	if (r == 0 && o->output.path && !o->no_cache)
		r = deliver(p, t, o->output.path, o->output.force, e);
	return r;
}

/* The folder of -o must exist before the process confines itself. */
static int
confine_to(const struct options *o, const struct target *t, bool offline, struct err *e)
{
	const struct confine c = { .target = o->output.path ? t->folder : NULL, .policy = o->policy,
		.token_file = o->token_file, .reads_cache = !o->no_cache,
		.fills_cache = !o->no_cache && !offline && !o->dry_run };

	return confine(&c, e);
}

static struct pull_options
fetching(const struct options *o)
{
	return (struct pull_options){ .include = o->include.items, .include_count = o->include.n,
		.exclude = o->exclude.items, .exclude_count = o->exclude.n, .sha256 = o->sha256,
		.token_file = o->token_file, .jobs = (unsigned)o->jobs, .no_cache = o->no_cache,
		.offline = o->offline || hf_is_offline(), .folder = -1, .replace = o->output.force,
		.plan_only = o->dry_run, .note = tool_note };
}

/* Fetches; prints what the options ask for. */
static int
work(const struct options *o, const struct hub_source *s, struct err *e)
{
	struct pull_options how = fetching(o);
	struct target t = { .is_folder = false };
	struct web *web = NULL;
	struct pull p = { .repo = { .fd = -1 } };
	int r = open_web(o, &web, e);

	if (r == 0 && o->output.path)
		r = target_of(&t, o->output.path, e);
	if (r == 0 && o->output.path && !o->dry_run)
		r = open_folder(&how, o, &t, s, e);
	if (r == 0)
		r = confine_to(o, &t, how.offline, e);
	if (r == 0)
		r = pull_open(&p, s, &how, web, e);
	if (r == 0)
		r = pull(&p, o, &t, e);
	if (r == 0 && !o->dry_run && (o->json || !o->output.path))
		r = report(&p, o, false, e);
	pull_close(&p);
	web_close(web);
	if (how.folder >= 0)
		close(how.folder);
	return r;
}

/* ---- into a pipe ---- */

static struct serve_options
serving(const struct options *o)
{
	return (struct serve_options){ .web = web_of(o), .token_file = o->token_file,
		.sha256 = o->sha256, .no_cache = o->no_cache, .offline = o->offline, .note = tool_note };
}

static bool
selects(const struct options *o)
{
	return o->select.only.n + o->select.except.n > 0;
}

/* Without the cache and -o, or a part of the tensors. */
static bool
in_place(const struct options *o)
{
	return selects(o) || (o->no_cache && (!o->output.path || strcmp(o->output.path, "-") == 0));
}

/* Tensors flow while they arrive. */
static int
flow(const struct options *o, const struct hub_source *s, const char *text, struct err *e)
{
	const struct pull_options how = fetching(o);
	const struct stream_pull p = { .source = text, .hub = s, .select = o->select,
		.policy = o->accept ? NULL : o->policy, .progress = o->output.progress,
		.serve = serving(o), .pull = in_place(o) ? NULL : &how };

	stream_pull(&p, e);
	stream_exit(e);
}

/* ---- the command line ---- */

static int
check(const struct options *o, const char *text, struct err *e)
{
	if (!text)
		return tool_misused(e, "no SOURCE, as hf://ORG/REPO");
	if (o->sha256 && (strlen(o->sha256) != 64 || strspn(o->sha256, "0123456789abcdef") != 64))
		return tool_misused(e, "--sha256: not 64 lower-case hexadecimal digits");
	if (in_place(o) && isatty(STDOUT_FILENO) && !o->dry_run)
		return tool_misused(e, "--no-cache, --only and --except need -o or a pipe");
	if (selects(o) && (o->output.path || o->json || o->path || o->dry_run))
		return tool_misused(e, "--only and --except need a pipe");
	if (in_place(o) && o->include.n + o->exclude.n > 0)
		return tool_misused(e, "--include and --exclude choose files for the cache or -o");
	if (o->no_cache && o->path)
		return tool_misused(e, "--no-cache and --path cannot be combined");
	return 0;
}

static int
start(const struct options *o, const char *text, struct err *e)
{
	static struct hub_source s;
	char endpoint[URL_TEXT];
	bool streams = !o->output.path && !o->json && !o->path && !o->dry_run &&
	               !isatty(STDOUT_FILENO);

	if (hf_endpoint(endpoint, e) < 0 || hub_source_parse(&s, text, endpoint, e) < 0)
		return -1;
	if (!streams)
		return work(o, &s, e);
	return s.kind == HUB_FILE ? stream_unpack(s.path, &o->select, e) : flow(o, &s, text, e);
}

int
main(int argc, char **argv)
{
	static struct options o = { .wait = 1 };
	static const struct opt opts[] = {
		OPT_OUTPUT(&o.output),
		OPT_SELECT(&o.select),
		LIST(0, "include", "GLOB", &o.include, "fetch only files whose paths match"),
		LIST(0, "exclude", "GLOB", &o.exclude, "do not fetch files whose paths match"),
		TEXT(0, "sha256", "HEX", &o.sha256, "require this digest of the file"),
		FLAG(0, "no-cache", &o.no_cache, "neither use nor fill the cache"),
		FLAG(0, "offline", &o.offline, "make no request: use only the cache"),
		FLAG('n', "dry-run", &o.dry_run, "show what would be fetched"),
		FLAG(0, "path", &o.path, "print the path of the model in the cache"),
		FLAG(0, "json", &o.json, "print one object: files, digests, places"),
		NUMBER('j', "jobs", "N", &o.jobs, 1, 64, "connections at a time (default: 4)"),
		TEXT(0, "token-file", "FILE", &o.token_file, "read the hub's token from FILE"),
		LIST(0, "resolve-map", "OLD=NEW", &o.maps, "send requests for host OLD to NEW"),
		TEXT(0, "policy", "FILE", &o.policy, "refuse licences that the policy does not allow"),
		FLAG(0, "accept-license", &o.accept, "fetch what the policy refuses for its licence"),
		NUMBER(0, "retries", "N", &o.retries, 1, 100,
		       "tries of a request without progress (default: 5)"),
		DECIMAL(0, "retry-wait", "SECONDS", &o.wait, 0, 60,
		        "wait before the second try; it doubles (default: 1)"),
		NUMBER(0, "stall", "SECONDS", &o.stall, 1, 3600,
		       "give a connection up that is silent for so long (default: 30)"),
		FLAG(0, "insecure-http", &o.insecure, "allow http without encryption, to any host"),
		NUMBER(0, "serve", "FD", &o.serve, 3, INT_MAX,
		       "read a model in place for the tool at the socket FD"),
		OPT_END
	};
	static const struct tool tool = {
		"apr-pull", "[--only REGEX] [--except REGEX] [--include GLOB ...] [--exclude GLOB ...]\n"
		"[--sha256 HEX] [--no-cache] [--offline] [-n] [--path | --json] [-j N] [--token-file FILE]\n"
		"[--resolve-map OLD=NEW ...] [--policy FILE] [--accept-license]\n"
		"[--retries N] [--retry-wait SECONDS] [--stall SECONDS] [--insecure-http]\n"
		"[--serve FD] [--progress] [-f] [-o FILE] SOURCE",
		"Fetch a model from a hub or a web address, verified.", opts, 1
	};
	struct err e = ERR_INIT;
	char **operands = tool_begin(&tool, argc, argv);

	struct serve_options serve = serving(&o);
	const char *text = operands[0] ? remote_source(operands[0]) : NULL;

	if (o.serve)
		stream_serve((int)o.serve, &serve, &e);
	else if (check(&o, text, &e) == 0)
		start(&o, text, &e);
	return tool_end(&e);
}
