#include "cli/confine.h"

#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/netbox.h"
#include "hub/cache.h"
#include "hub/hf.h"
#include "hub/oci.h"

/* Loads the modules by which this system finds hosts, which may be files anywhere. */
static void
load_resolver(void)
{
	struct addrinfo *found = NULL;

	if (getaddrinfo("localhost", NULL, NULL, &found) == 0)
		freeaddrinfo(found);
}

static int
declare_cache(const struct confine *c, const char *root, struct err *e)
{
	if (c->fills_cache && cache_folders(root) < 0)
		return err_errno(e, root, "the cache cannot be created");
	if (c->fills_cache)
		netbox_may_write(root);
	else if (c->reads_cache)
		netbox_may_read(root);
	return 0;
}

int
confine(const struct confine *c, struct err *e)
{
	static const char *const names[] = { "CURL_CA_BUNDLE", "SSL_CERT_FILE", "SSL_CERT_DIR", "NETRC" };
	struct cache_roots roots;
	char path[CACHE_PATH];
	size_t i;

	if ((c->fills_cache || c->reads_cache) &&
	    (cache_roots(&roots, e) < 0 || declare_cache(c, roots.hub, e) < 0 ||
	     declare_cache(c, roots.apr, e) < 0))
		return -1;
	netbox_may_write(c->target);
	netbox_may_read(c->policy);
	netbox_may_read(c->token_file);
	if (oci_logins_path(path, sizeof path))
		netbox_may_read(path);
	if (hf_token_path(path, sizeof path))
		netbox_may_read(path);
	for (i = 0; i < sizeof names / sizeof *names; i++)
		netbox_may_read(getenv(names[i]));
	if (getenv("HOME") && snprintf(path, sizeof path, "%s/.netrc", getenv("HOME")) < CACHE_PATH)
		netbox_may_read(path);
	load_resolver();
	netbox_enter();
	return 0;
}
