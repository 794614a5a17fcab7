#include "quant/plugin.h"

#include <dlfcn.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "core/buf.h"
#include "kernels/kernel.h"
#include "quant/apr_plugin.h"

#ifdef APR_STATIC

static const struct apr_plugin *
structure(const char *path, struct err *e)
{
	err_set(e, ERR_FORMAT, path, "cannot be loaded: this program is static");
	err_hint(e, "apr-quant as \"make\" builds it loads plugins");
	return NULL;
}

#else

/* The library's structure. What is loaded stays, with the type that it defines. */
static const struct apr_plugin *
structure(const char *path, struct err *e)
{
	const struct apr_plugin *p = NULL;
	struct buf file = { 0 };
	void *library;

	if (access(path, R_OK) < 0) {
		err_errno(e, path, "cannot be opened");
		return NULL;
	}
	/* Without a slash, dlopen would search the system's libraries. */
	buf_printf(&file, "%s%s", strchr(path, '/') ? "" : "./", path);
	if (!buf_string(&file)) {
		buf_free(&file);
		err_memory(e);
		return NULL;
	}
	library = dlopen((char *)file.p, RTLD_NOW | RTLD_LOCAL);
	buf_free(&file);
	if (library)
		p = dlsym(library, "apr_plugin");
	if (!p)
		err_set(e, ERR_FORMAT, path, library ? "has no structure apr_plugin"
		                                     : "is not a shared library for this system");
	return p;
}

#endif

const struct dtype *
plugin_load(const char *path, struct err *e)
{
	const struct apr_plugin *p = structure(path, e);
	const struct dtype *t;
	struct kernel k;

	if (!p)
		return NULL;
	if (p->version != APR_PLUGIN_VERSION) {
		err_set(e, ERR_FORMAT, path, "is for version %u of the plugin interface, not %u",
		        p->version, (unsigned)APR_PLUGIN_VERSION);
		return NULL;
	}
	t = p->name && p->encode && p->decode ? dtype_named(p->name, p->block, p->bytes) : NULL;
	if (!t) {
		err_set(e, ERR_FORMAT, path, "does not define a type as apr_plugin.h wants it");
		return NULL;
	}
	/* The range of the type is unknown, so what was written is always checked. */
	k = (struct kernel){ .dtype = t->name, .encode = p->encode, .decode = p->decode,
		.holds = 0, .loses = INFINITY };
	if (kernel_add(&k) < 0) {
		err_set(e, ERR_FORMAT, path, "defines the type %s, which there is already, or is "
		        "one plugin too many", t->name);
		return NULL;
	}
	return t;
}
