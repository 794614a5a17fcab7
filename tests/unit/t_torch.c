/* t_torch: 10000 mutated pickles of PyTorch, sound and hostile ones, and 2000 mutated files each of
 * the tar form and with a sparse tensor, in a process that may open no file, start no process and
 * make no socket: the system kills it at the first one.
 */
#include "imports.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../gen/torch_sparse.h"
#include "../gen/torch_tar.h"
#include "imports/torch/torch.h"

#define MUTATED 10000
#define OTHERS 2000 /* of each kind */

#define SYSTEM "cos\nsystem\nX" LENGTH("\002") "id\205R"
#define QUANTIZED \
	"ctorch._utils\n_rebuild_qtensor\n(" STORAGE("QInt8Storage", "0", "\006") "K\000" SHAPE_2_3 \
	STRIDES_3_1 "(ctorch\nper_channel_affine\n](G\077\340\000\000\000\000\000\000K\001e](K\000K\000e" \
	"K\000t\211" DICT "tR"
#define PIECE(S) { S, sizeof(S) - 1 }

struct piece {
	const char *p;
	size_t n;
};

/* What is mutated. */
static const struct piece bases[] = {
	PIECE(ALONE(TENSOR)),
	PIECE(BESIDE("K\001")),
	PIECE(PROTO DICT KEY("w") TENSOR "q\001s" KEY("v") "h\001s."),
	PIECE(PROTO "}X" LENGTH("\012") "state_dict" DICT KEY("w") TENSOR "ss."),
	PIECE(ALONE(QUANTIZED)),
	PIECE("\200\004\225\013\000\000\000\000\000\000\000}\224\214\001a\224K\001\224s."),
	PIECE(BESIDE(SYSTEM)),
	PIECE(PROTO SYSTEM "0}" KEY("a") TENSOR "s."),
	PIECE(BESIDE("X" LENGTH("\002") "osX" LENGTH("\006") "system\223X" LENGTH("\002") "id\205R")),
	PIECE(BESIDE("(X" LENGTH("\002") "idios\nsystem\n")),
	PIECE(BESIDE("cbuiltins\ngetattr\ncos\n__dict__\nX" LENGTH("\006") "system\206R)R")),
	PIECE(BESIDE("\202\001)R")),
	PIECE(BESIDE("ccopyreg\n_reconstructor\ncmy\nC\ncbuiltins\nobject\nN\207R}b")),
};

/* What comes between opcodes. */
static const struct piece objects[] = {
	PIECE("N0"), PIECE("]0"), PIECE("K\0010"), PIECE("(1"), PIECE("q\10"), PIECE("p9\n"),
	PIECE("N"), PIECE("\210"), PIECE("K\377"), PIECE("J\377\377\377\377"),
	PIECE("\212\010\377\377\377\377\377\377\377\177"), PIECE("G\077\360\0\0\0\0\0\0"),
	PIECE("X\1\0\0\0a"), PIECE("}"), PIECE("]"), PIECE(")"), PIECE("("), PIECE("0"), PIECE("1"),
	PIECE("2"), PIECE("s"), PIECE("u"), PIECE("a"), PIECE("e"), PIECE("t"), PIECE("\205"),
	PIECE("R"), PIECE("\201"), PIECE("b"), PIECE("Q"), PIECE("\223"), PIECE("o"),
	PIECE("cos\nsystem\n"), PIECE("(ios\nsystem\n"), PIECE("q\1"), PIECE("h\1"), PIECE("\224"),
	PIECE("."), PIECE(TENSOR), PIECE(SYSTEM), PIECE("\225\1\0\0\0\0\0\0\0"), PIECE("V\\u0061\n"),
};

static uint64_t state = 88172645463325252u;

static size_t
chance(size_t n)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return n ? (size_t)(state % n) : 0;
}

/* Change one place of the pickle: a byte, a run that goes or comes twice, or a new object. */
static void
change(struct gen *g)
{
	const size_t at = chance(g->n), run = 1 + chance(g->n - at < 24 ? g->n - at : 24);
	const struct piece *o = &objects[chance(sizeof objects / sizeof *objects)];
	uint8_t copy[24];

	switch (chance(5)) {
	case 0:
		g->p[at] = (uint8_t)chance(256);
		break;
	case 1:
		g->p[at] ^= (uint8_t)(1u << chance(8));
		break;
	case 2:
		memmove(g->p + at, g->p + at + run, g->n - at - run);
		g->n -= run;
		break;
	case 3:
		memcpy(copy, g->p + at, run);
		memcpy(gen_open(g, chance(g->n), run), copy, run);
		break;
	default:
		memcpy(gen_open(g, at, o->n), o->p, o->n);
	}
}

/* What became of them. */
struct tally {
	unsigned done, read, called, damaged, wrong;
};

/* Read one: it gives tensors and calls nothing, or it is refused with a message. */
static void
judge(const struct gen *file, struct tally *t)
{
	static const struct format_choice chosen[] = { { &torch_options[TORCH_DENSE], "" } };
	static const struct format_options dense = { .own = chosen, .own_count = 1 };
	struct brought b;
	json_t *facts;

	if (bring(&b, &format_pytorch, file->p, file->n, &dense, false) == 0) {
		facts = format_pytorch.reads->describe(b.source, &b.err);
		t->read++;
		t->wrong += !facts || json_object_get(facts, "would_call") ||
		            b.source->plan->tensor_count == 0;
		json_decref(facts);
	} else {
		t->called += strstr(b.err.fact, "its pickle calls") || strstr(b.err.fact, "names");
		t->damaged += b.err.code == ERR_CORRUPT;
		t->wrong += b.err.fact[0] == 0 || (b.err.code != ERR_CORRUPT && b.err.code != ERR_FORMAT &&
		                                   b.err.code != ERR_VERSION);
	}
	let_go(&b);
	t->done++;
}

static void
mutate_all(struct tally *t)
{
	size_t i, k;

	for (i = 0; i < MUTATED; i++) {
		const struct piece *base = &bases[i % (sizeof bases / sizeof *bases)];
		struct gen pickle = { 0 }, file = { 0 };

		put(&pickle, base->p, base->n);
		for (k = 1 + chance(4) / 3; k > 0 && pickle.n > 1; k--)
			change(&pickle);
		put_torch(&file, pickle.p, pickle.n);
		judge(&file, t);
		gen_free(&pickle);
		gen_free(&file);
	}
}

/* ---- other files ---- */

/* Change bytes of the members of an archive, or its pickle; the sums are right again mostly. */
static void
mutate_tar(struct tally *t)
{
	static const struct tar_form plain;
	struct gen pickle = { 0 }, file = { 0 };
	size_t k;

	put(&pickle, TAR_PICKLE, sizeof TAR_PICKLE - 1);
	for (k = chance(2); k > 0; k--)
		change(&pickle);
	made_tar(&file, &plain, pickle.p, pickle.n);
	for (k = chance(3); k > 0; k--)
		file.p[chance(file.n)] = (uint8_t)chance(256);
	if (chance(8))
		tar_resum(&file);
	judge(&file, t);
	gen_free(&pickle);
	gen_free(&file);
}

/* Change the pickle, or an index. */
static void
mutate_sparse(struct tally *t)
{
	static const float values[] = { 1, 2, 3 };
	int64_t rows[] = { 0, 1, 3 }, columns[] = { 1, 0, 2 };
	const struct sparse_part list = { "LongStorage", 2, { 1, 3 }, columns, sizeof columns, NULL },
		groups = { "LongStorage", 1, { 3 }, rows, sizeof rows, NULL },
		plain = { "LongStorage", 1, { 3 }, columns, sizeof columns, NULL },
		floats = { "FloatStorage", 1, { 3 }, values, sizeof values, NULL };
	const struct sparse_file coo = { "torch.sparse_coo", { { .type = NULL }, list, floats }, 1, { 3 },
		'\211', false }, csr = { "torch.sparse_csr", { groups, plain, floats }, 2, { 2, 3 }, 0, false };
	const struct member rest[] = { { "a/data/0", rows, sizeof rows, 0 },
		{ "a/data/1", columns, sizeof columns, 0 }, { "a/data/2", values, sizeof values, 0 } };
	struct member members[4];
	struct gen pickle = { 0 }, file = { 0 };
	int64_t *index = chance(2) ? rows : columns;

	if (chance(3) == 0)
		index[chance(3)] = (int64_t)chance(9) - 3;
	put_sparse_pickle(&pickle, chance(2) ? &coo : &csr);
	if (chance(2))
		change(&pickle);
	members[0] = (struct member){ "a/data.pkl", pickle.p, pickle.n, 0 };
	memcpy(members + 1, rest, sizeof rest);
	put_zip(&file, members, 4);
	judge(&file, t);
	gen_free(&pickle);
	gen_free(&file);
}

static void
mutate_others(struct tally *tar, struct tally *sparse)
{
	size_t i;

	for (i = 0; i < OTHERS; i++) {
		mutate_tar(tar);
		mutate_sparse(sparse);
	}
}

/* ---- the process ---- */

#define FORBID(CALL) \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, CALL, 0, 1), \
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)

/* 0, or -1 if the kernel cannot do this. */
static int
forbid(void)
{
	struct sock_filter list[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
#ifdef SYS_open
		FORBID(SYS_open), FORBID(SYS_creat), FORBID(SYS_fork), FORBID(SYS_vfork),
#endif
		FORBID(SYS_openat), FORBID(SYS_openat2), FORBID(SYS_execve), FORBID(SYS_execveat),
		FORBID(SYS_clone), FORBID(SYS_clone3), FORBID(SYS_socket), FORBID(SYS_socketpair),
		FORBID(SYS_connect), FORBID(SYS_memfd_create), FORBID(SYS_unlink), FORBID(SYS_unlinkat),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = { sizeof list / sizeof *list, list };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -1;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
}

int
main(void)
{
	struct tally *t = mmap(NULL, 3 * sizeof *t, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
	                       0);
	int status = 0, i;
	pid_t child;

	if (t == MAP_FAILED)
		return 1;
	json_decref(json_object()); /* jansson reads its seed from a file, once */
	child = fork();
	if (child == 0) {
		if (forbid() < 0)
			_exit(77);
		mutate_all(t);
		mutate_others(t + 1, t + 2);
		/* The filter is there: this ends the process. */
		_exit(open("/dev/null", O_RDONLY) < 0 ? 2 : 3);
	}
	if (child < 0 || waitpid(child, &status, 0) != child)
		return 1;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
		fprintf(stderr, "no seccomp here: the pickles are read without it\n");
		mutate_all(t);
		mutate_others(t + 1, t + 2);
	} else {
		test_ok(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS,
		        "only the last open ends the process: status %d after %u", status, t->done);
	}
	test_ok(t->done == MUTATED, "all pickles are read: %u", t->done);
	test_ok(t->wrong == 0, "each gives tensors or is refused with a message: not %u", t->wrong);
	test_ok(t->read > 50 && t->called > 1000 && t->damaged > 1000,
	        "mutations reach all ends: %u read, %u call, %u damaged", t->read, t->called,
	        t->damaged);
	for (i = 1; i < 3; i++)
		test_ok(t[i].done == OTHERS && t[i].wrong == 0 && t[i].read > 50 && t[i].damaged > 50,
		        "%s: %u files, %u read, %u damaged, %u wrong", i == 1 ? "tar" : "sparse", t[i].done,
		        t[i].read, t[i].damaged, t[i].wrong);
	return test_done();
}
