# The test runners: tests/run.sh and .ci/run list the failures at the end.
load ../helper

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	unset ONLY
}

program() {
	printf '#!/bin/sh\n%s\n' "$2" >"$1"
	chmod +x "$1"
}

# Prints the last lines of the last try, from the first failure on.
tail_of() {
	sed -n '/^failed: /,$p' "$out" >end
}

@test "run.sh: names and output of what failed stand before the sums, those skipped above" {
	program t_good 'echo "ok 1 - one"; echo "ok 2 - two # SKIP why"; echo 1..2'
	program t_bad 'echo "ok 1 - one"; echo "not ok 2 - it adds"; echo "# 1 + 1 is 3"; echo 1..2; exit 1'
	try "$root/tests/run.sh" "$PWD/t_good" "$PWD/t_bad"
	[ "$status" -eq 1 ]
	grep -q '^skipped: t_good: two (why)$' "$out"
	tail_of
	diff end - <<-'E'
		failed: t_bad: exit status 1
		failed: t_bad: it adds
		-- t_bad
		not ok 2 - it adds
		# 1 + 1 is 3
		2 passed, 1 failed, 1 skipped
	E
	try "$root/tests/run.sh" "$PWD/t_good"
	[ "$status" -eq 0 ]
	[ "$(tail -n 1 "$out")" = '1 passed, 0 failed, 1 skipped' ]
}

@test "run.sh: .bats files, and programs that end before their plan" {
	printf '@test "it holds" { true; }\n@test "it breaks" { echo seen; false; }\n' >some.bats
	program t_dies 'echo "ok 1 - one"; kill -9 $$'
	try "$root/tests/run.sh" "$PWD/t_dies" "$PWD/some.bats"
	[ "$status" -eq 1 ]
	grep -q '^failed: some.bats: it breaks$' "$out"
	grep -q '^# seen$' "$out"
	grep -q '^failed: t_dies: exit status 137$' "$out"
	[ "$(tail -n 1 "$out")" = '2 passed, 2 failed, 0 skipped' ]
	ONLY=some.bats try "$root/tests/run.sh" "$PWD/t_dies" "$PWD/some.bats"
	[ "$(tail -n 1 "$out")" = '1 passed, 1 failed, 0 skipped' ]
	ONLY=try/ try "$root/tests/run.sh" "$PWD/t_dies"
	[ "$(tail -n 1 "$out")" = '0 passed, 0 failed, 0 skipped' ]
	[ "$status" -eq 1 ]
}

@test "run.sh: what hangs is stopped, and fails" {
	program t_hangs 'echo "ok 1 - one"; sleep 100; echo 1..1'
	printf '@test "it ends" { true; }\n@test "it hangs" { sleep 100; }\n' >some.bats
	began=$SECONDS
	HANG=5 try "$root/tests/run.sh" "$PWD/t_hangs" "$PWD/some.bats"
	[ $((SECONDS - began)) -lt 60 ]
	[ "$status" -eq 1 ]
	grep -q '^failed: t_hangs: exit status 124$' "$out" ||
		grep -q '^failed: t_hangs: exit status 143$' "$out"
	grep -q '^failed: some.bats: exit status' "$out"
	[ "$(tail -n 1 "$out")" = '2 passed, 2 failed, 0 skipped' ]
}

@test "run.sh: at most 200 lines of failures" {
	program t_long 'for i in $(seq 500); do echo "not ok $i - test $i"; echo "# why"; done; echo 1..500; exit 1'
	for i in 1 2 3 4 5; do
		cp t_long t_long$i
	done
	try "$root/tests/run.sh" "$PWD"/t_long?
	tail_of
	[ "$(wc -l <end)" -le 201 ]
	grep -q '^failed: t_long1: test 1$' end
	grep -q '^-- t_long1$' end
	[ "$(tail -n 1 end)" = '0 passed, 2500 failed, 0 skipped' ]
}

# Makes a fake make whose parts print the text of $1, $2…: "NAME-OF-ARGUMENT:TEXT:STATUS".
false_make() {
	mkdir -p made/.ci made/bin
	cp "$root/.ci/run" made/.ci/run
	{
		printf '#!/bin/bash\ncase " $* " in\n'
		printf '%s\n' "$@"
		printf '*) echo "built: $*" ;;\nesac\n'
	} >made/bin/make
	chmod +x made/bin/make
}

@test ".ci/run: times of all parts, failures of each, one sum" {
	false_make '*" MODE=san check "*) echo "failed: t_x: it adds"; echo "not ok 1"
		echo "3 passed, 1 failed, 2 skipped"; exit 1 ;;' \
		'*" MODE=clang "*) echo "5 passed, 0 failed, 0 skipped" ;;' \
		'*" lint-clang "*) for i in $(seq 300); do echo "warning $i"; done; exit 2 ;;' \
		'*" check "*) echo "10 passed, 0 failed, 1 skipped" ;;'
	PATH=$PWD/made/bin:$PATH try made/.ci/run
	[ "$status" -eq 1 ]
	sed -n '/^== times$/,$p' "$out" >end
	[ "$(wc -l <end)" -lt 100 ]
	[ "$(grep -Ec '^(packages|build|sanitized|release|lint|sanitizers|clang|all) +0:0[0-9]' end)" -eq 8 ]
	grep -q '^== sanitizers failed$' end
	grep -q '^failed: t_x: it adds$' end
	grep -q '^== lint failed$' end
	grep -q '^warning 300$' end
	! grep -q '^warning 200$' end
	[ "$(tail -n 1 end)" = '18 passed, 1 failed, 3 skipped' ]
}

@test ".ci/run: a part that breaks without a test is a failure" {
	false_make '*" CFLAGS=-Werror "*) echo "an error of the compiler"; exit 2 ;;' \
		'*" check "*) echo "10 passed, 0 failed, 0 skipped" ;;'
	PATH=$PWD/made/bin:$PATH try made/.ci/run
	[ "$status" -eq 1 ]
	[ "$(tail -n 3 "$out" | head -n 1)" = 'an error of the compiler' ]
	[ "$(tail -n 1 "$out")" = '30 passed, 1 failed, 0 skipped' ]

	false_make '*" check "*) echo "10 passed, 0 failed, 0 skipped" ;;'
	PATH=$PWD/made/bin:$PATH try made/.ci/run
	quiet
	[ "$(tail -n 1 "$out")" = '30 passed, 0 failed, 0 skipped' ]
}

@test "deps and demo print fewer than 60 lines on a bare machine" {
	mkdir bare
	cp "$root/scripts/deps.sh" deps.sh
	sed -i 's/"$(id -u)" -ne 0/0 -ne 0/' deps.sh
	program bare/dpkg-query 'exit 1'
	program bare/apt-get 'seq 1000; [ ! -e broken ] || { echo "E: no network" >&2; exit 100; }'
	PATH=$PWD/bare:$PATH try bash deps.sh
	quiet
	cp "$out" said
	"$root/tests/demo.sh" >>said 2>&1
	grep -q 'm.gguf, packed again  *the same bytes' said
	# One more is of make.
	[ "$(wc -l <said)" -le 58 ]

	: >broken
	PATH=$PWD/bare:$PATH try bash deps.sh
	[ "$status" -eq 1 ]
	grep -q 'failed: apt-get update' "$err"
	grep -q '^E: no network' "$err"
	[ "$(wc -l <"$err")" -le 41 ]
}
