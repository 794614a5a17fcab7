#include "core/program.h"

#include <string.h>
#include <unistd.h>

int
program_beside(char *path, size_t size, const char *name, const char *why, struct err *e)
{
	ssize_t n = readlink("/proc/self/exe", path, size - 16);
	char self[256] = "this program", *slash;

	if (n < 0)
		return err_errno(e, "/proc/self/exe", "cannot be read");
	path[n] = '\0';
	slash = strrchr(path, '/');
	if (slash && strlen(slash + 1) < sizeof self)
		strcpy(self, slash + 1);
	strcpy(slash ? slash + 1 : path, name);
	if (access(path, X_OK) < 0)
		return err_errno(e, path, "is needed by %s %s, but cannot be run", self, why);
	return 0;
}

int
program_unstarted(const char *name, struct err *e)
{
	*e = (struct err)ERR_INIT;
	return err_set(e, ERR_IO, name, "cannot be started: the file is damaged, or for another system");
}
