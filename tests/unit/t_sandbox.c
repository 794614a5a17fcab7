/* sandbox: what a process can still do after it has entered */
#include "core/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"

static char root[] = "/tmp/t_sandbox.XXXXXX";
static volatile sig_atomic_t caught;

/* A name in the folder of this test; of several calls the last eight stay. */
static const char *
at(const char *name)
{
	static char text[8][128];
	static int i;
	char *to = text[i++ % 8];

	snprintf(to, 128, "%s/%s", root, name);
	return to;
}

static void
make_file(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT, 0600);

	if (fd < 0 || write(fd, "x", 1) != 1 || close(fd) < 0) {
		perror(path);
		exit(1);
	}
}

static void
make_all(void)
{
	static const char *const folders[] = { "in", "in/deep", "out", "else", "spool",
		"cache", "cache/blobs", "cache/snapshots", "cache/snapshots/1" };
	static const char *const files[] = { "file", "beside", "in/a", "in/deep/b",
		"else/c", "cache/blobs/d", "out/old" };
	size_t i;

	if (!mkdtemp(root))
		exit(1);
	for (i = 0; i < sizeof folders / sizeof *folders; i++)
		if (mkdir(at(folders[i]), 0700) < 0)
			exit(1);
	for (i = 0; i < sizeof files / sizeof *files; i++)
		make_file(at(files[i]));
}

/* errno of an attempt, 0 if it went well. */
static int
tried(int r)
{
	return r < 0 ? errno : 0;
}

static int
opens(const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC, 0600), r = tried(fd);

	if (fd >= 0)
		close(fd);
	return r;
}

/* As out_finish names a file that has no name. */
static int
names(const char *folder, const char *path)
{
	char self[64];
	int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600), r;

	if (fd < 0)
		return errno;
	snprintf(self, sizeof self, "/proc/self/fd/%d", fd);
	r = tried(linkat(AT_FDCWD, self, AT_FDCWD, path, AT_SYMLINK_FOLLOW));
	close(fd);
	return r;
}

static void
test_files(int version)
{
	test_ok(opens(at("file"), O_RDONLY) == 0, "a file that is to be read");
	test_ok(opens(at("file"), O_WRONLY) == EACCES, "it cannot be written");
	test_ok(opens(at("beside"), O_RDONLY) == EACCES, "the one beside it is closed");
	if (version >= 3)
		test_ok(tried(truncate(at("beside"), 0)) == EACCES, "nor can it be truncated");
	else
		test_skip("truncate", "Landlock before version 3 has no such right");
	test_ok(opens(at("in"), O_RDONLY | O_DIRECTORY) == 0 &&
	        opens(at("in/a"), O_RDONLY) == 0 && opens(at("in/deep/b"), O_RDONLY) == 0,
	        "a folder that is to be read");
	test_ok(opens(at("in/new"), O_WRONLY | O_CREAT) == EACCES &&
	        tried(unlink(at("in/a"))) == EACCES, "nothing in it can be changed");
	test_ok(opens(at("cache/snapshots/1/../../blobs/d"), O_RDONLY) == 0,
	        "where the links of a cache lead");
	test_ok(opens(at("else/c"), O_RDONLY) == EACCES &&
	        opens("/etc/passwd", O_RDONLY) == EACCES &&
	        opens("/proc/self/environ", O_RDONLY) == EACCES, "all else is closed");
}

static void
test_outputs(void)
{
	test_ok(names(at("out"), at("out/named")) == 0, "an output gets its name");
	test_ok(tried(rename(at("out/named"), at("out/old"))) == 0, "and replaces a file");
	test_ok(tried(mkdir(at("out/.tmp"), 0700)) == 0 &&
	        names(at("out"), at("out/.tmp/part")) == 0 &&
	        tried(rename(at("out/.tmp"), at("out/model"))) == 0, "a folder gets its name");
	test_ok(names(at("spool"), at("out/x")) != 0 && names(at("else"), at("else/x")) == EACCES,
	        "no name elsewhere");
	test_ok(opens(at("spool"), O_TMPFILE | O_RDWR) == 0, "a spool");
	test_ok(opens("/dev/null", O_WRONLY) == 0 && opens("/dev/null", O_RDONLY) == EACCES &&
	        opens("/dev/zero", O_WRONLY) == EACCES, "a device that is the output");
}

static void *
work(void *sum)
{
	*(int *)sum = 7;
	return sum;
}

static void
catch(int sig)
{
	(void)sig;
	caught = 1;
}

static void
test_calls(void)
{
	char *const no[] = { NULL };
	pthread_t thread;
	int sum = 0;

	test_ok(tried(socket(AF_INET, SOCK_STREAM, 0)) == EPERM &&
	        tried(socket(AF_UNIX, SOCK_STREAM, 0)) == EPERM, "no socket");
	test_ok(tried(execve("/bin/true", no, no)) == EPERM, "no program");
	test_ok(tried(fork()) == EPERM, "no process");
	test_ok(tried((int)ptrace(PTRACE_TRACEME, 0, NULL, NULL)) == EPERM, "no tracing");
	test_ok(tried(kill(getppid(), 0)) == EPERM && tried(kill(1, 0)) == EPERM,
	        "no signal to others");
	test_ok(tried(ioctl(0, TIOCSTI, "x")) == EPERM, "nothing is typed");
	test_ok(tried(chmod(at("file"), 0777)) == EPERM, "no mode is changed");
	signal(SIGUSR1, catch);
	test_ok(raise(SIGUSR1) == 0 && caught, "a signal to itself");
	test_ok(pthread_create(&thread, NULL, work, &sum) == 0 &&
	        pthread_join(thread, NULL) == 0 && sum == 7, "a thread");
}

static void
remove_all(void)
{
	char command[128];

	snprintf(command, sizeof command, "rm -rf %s", root);
	if (system(command) != 0)
		exit(1);
}

/* In a child, which has no way back; tests go on counting here. */
static int
inside(void)
{
	char text[SANDBOX_TEXT];
	int version;

	sandbox_read(NULL);
	sandbox_read("-");
	sandbox_read(at("file"));
	sandbox_read(at("in"));
	sandbox_read(at("cache/snapshots/1"));
	sandbox_read(at("not-there"));
	sandbox_write(at("out/made"));
	sandbox_write("/dev/null");
	sandbox_write(at("not-there/made"));
	setenv("TMPDIR", at("spool"), 1);
	sandbox_spool();
	sandbox_enter();
	sandbox_enter();
	sandbox_text(text);
	if (sscanf(text, "landlock %d", &version) == 1) {
		test_files(version);
		test_outputs();
	} else {
		test_skip("files", "the kernel has no Landlock, or forbids it here");
	}
	if (strstr(text, "seccomp"))
		test_calls();
	else
		test_skip("calls", "the kernel has no seccomp filters, or forbids them here");
	return test_done();
}

int
main(void)
{
	char text[SANDBOX_TEXT];
	int status;
	pid_t child;

	if (strncmp(sandbox_text(text), "none", 4) == 0) {
		test_skip("sandbox", text);
		return test_done();
	}
	make_all();
	fflush(stdout);
	child = fork();
	if (child == 0)
		exit(inside());
	waitpid(child, &status, 0);
	remove_all();
	return !WIFEXITED(status) || WEXITSTATUS(status) != 0;
}
