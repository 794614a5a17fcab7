#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "crypto/trusted.h"
#include "test.h"

static char base[] = "/tmp/apr-t_trusted-XXXXXX";

/* base, then name: one of a few strings. */
static const char *
in(const char *name)
{
	static char path[4][128];
	static unsigned next;
	char *p = path[next++ % 4];

	snprintf(p, sizeof path[0], "%s%s", base, name);
	return p;
}

static void
write_key(const char *name, uint8_t id)
{
	struct key_public k = { { id }, { 0 } };
	struct err e = ERR_INIT;

	if (key_public_write(&k, in(name), true, &e) < 0)
		test_ok(0, "test key: %s", e.fact);
}

static void
write_text(const char *name)
{
	FILE *f = fopen(in(name), "w");

	if (!f || fputs("no key\n", f) < 0 || fclose(f) != 0)
		test_ok(0, "test file");
}

/* The ids found, in order, as text "1 2 "; "!" after a fault, which is in e. */
static const char *
found(struct err *e)
{
	static char ids[64];
	struct trusted t;
	size_t i, n = 0;

	*e = (struct err)ERR_INIT;
	ids[0] = '\0';
	if (trusted_load(&t, e) < 0)
		strcpy(ids, "!");
	else
		for (i = 0; i < t.n; i++)
			n += (size_t)snprintf(ids + n, sizeof ids - n, "%u ", t.item[i].key.id[0]);
	trusted_free(&t);
	return ids;
}

int
main(void)
{
	static const char *const folders[] = {
		"/.config", "/.config/apr", "/.config/apr/trusted",
		"/xdg", "/xdg/apr", "/xdg/apr/trusted"
	};
	static const char *const files[] = {
		"/.config/apr/trusted/a.pub", "/.config/apr/trusted/b.pub",
		"/.config/apr/trusted/.hidden.pub", "/.config/apr/trusted/notes",
		"/xdg/apr/trusted/c.pub", "/xdg/apr/trusted/d.pub"
	};
	struct err e;
	size_t i;

	if (!mkdtemp(base))
		return 1;
	unsetenv("XDG_CONFIG_HOME");
	setenv("HOME", base, 1);
	test_ok(strcmp(found(&e), "") == 0 && e.code == ERR_NONE, "no folder: no keys");
	for (i = 0; i < sizeof folders / sizeof *folders; i++)
		mkdir(in(folders[i]), 0700);
	test_ok(strcmp(found(&e), "") == 0 && e.code == ERR_NONE, "empty folder: no keys");
	write_key(files[1], 2);
	write_key(files[0], 1);
	write_text(files[2]);
	write_text(files[3]);
	write_key(files[4], 3);
	test_ok(strcmp(found(&e), "1 2 ") == 0, "keys in the order of their names: %s", e.fact);
	setenv("XDG_CONFIG_HOME", in("/xdg"), 1);
	test_ok(strcmp(found(&e), "3 ") == 0, "XDG_CONFIG_HOME");
	setenv("XDG_CONFIG_HOME", "xdg", 1);
	test_ok(strcmp(found(&e), "1 2 ") == 0, "a relative one does not count");
	setenv("XDG_CONFIG_HOME", "", 1);
	test_ok(strcmp(found(&e), "1 2 ") == 0, "nor does an empty one");
	setenv("XDG_CONFIG_HOME", in("/xdg"), 1);
	write_text(files[5]);
	test_ok(strcmp(found(&e), "!") == 0 && e.code == ERR_FORMAT && strstr(e.object, "d.pub"),
	        "a file that is not a key: %s: %s", e.object, e.fact);
	setenv("XDG_CONFIG_HOME", in("/xdg/apr/trusted/c.pub"), 1);
	test_ok(strcmp(found(&e), "!") == 0 && e.code == ERR_IO, "a file for a folder: %s",
	        e.fact);
	unsetenv("XDG_CONFIG_HOME");
	unsetenv("HOME");
	test_ok(strcmp(found(&e), "") == 0 && e.code == ERR_NONE, "no home: no keys");
	for (i = 0; i < sizeof files / sizeof *files; i++)
		unlink(in(files[i]));
	for (i = sizeof folders / sizeof *folders; i-- > 0; )
		rmdir(in(folders[i]));
	test_ok(rmdir(base) == 0, "nothing is left behind");
	return test_done();
}
