#include "front/find.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char *
front_folder(void)
{
	static char folder[PATH_MAX];
	ssize_t n;

	if (*folder)
		return folder;
	n = readlink("/proc/self/exe", folder, sizeof folder - 1);
	folder[n > 0 ? n : 0] = '\0';
	if (strrchr(folder, '/'))
		*strrchr(folder, '/') = '\0';
	return folder;
}

static bool
is_program(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

/* Writes FOLDER/NAME, n characters of the folder; false if it is too long. */
static bool
join(char path[PATH_MAX], const char *folder, size_t n, const char *name)
{
	int length = snprintf(path, PATH_MAX, "%.*s/%s", (int)n, n > 0 ? folder : ".", name);

	return n < PATH_MAX && length > 0 && length < PATH_MAX;
}

bool
front_find(const char *name, char path[PATH_MAX])
{
	const char *at = getenv("PATH"), *folder = front_folder();
	size_t n;

	if (strchr(name, '/') || !*name)
		return false;
	if (*folder && join(path, folder, strlen(folder), name) && is_program(path))
		return true;
	for (; at && *at; at += n + (at[n] == ':')) {
		n = strcspn(at, ":");
		if (join(path, at, n, name) && is_program(path))
			return true;
	}
	return false;
}
