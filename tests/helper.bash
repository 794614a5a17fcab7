# helper: functions for all .bats files. Loaded by "load helper".
#
#   try COMMAND…        runs it; sets $status; its output is in the files $out, $err
#   said N [TEXT]       the last try ended with N and one message (perhaps with a hint)
#                       that contains TEXT
#   quiet               the last try ended with 0 and printed no message
#   pipe 'a | b'        runs a pipe that fails if any stage fails; try_pipe: tries it
#   on_terminal COMMAND prints what it writes to a terminal
#   vectors NAME FOLDER makes the files of the generator tests/gen/NAME
#   rows COMMAND        calls it with the fields of each line of MANIFEST
#   need_data           skips the test, with the reason, without the reference data
#   exam ROLE TOOL ARG… the exam that every tool passes; see below
#
# APR_BIN: the tools under test (default: bin/ of the checkout); APR_GEN: the
# generators; APR_TEST_DATA: the reference data.
# shellcheck shell=bash disable=SC2016
bats_require_minimum_version 1.5.0

root=$(cd "${BASH_SOURCE[0]%/*}/.." && pwd)
APR_BIN=${APR_BIN:-$root/bin}
APR_GEN=${APR_GEN:-$root/build/release/tests/gen}
APR_TEST_DATA=${APR_TEST_DATA:-$root/../shared/data}
PATH=$APR_BIN:$PATH
model=$root/tests/data/shakespeare-BF16.gguf
out=$BATS_TEST_TMPDIR/try.out
err=$BATS_TEST_TMPDIR/try.err

# The user's keys, settings and language are not used. A finding of a sanitizer must not look
# like an exit status of a tool.
export HOME=$BATS_RUN_TMPDIR/home LC_ALL=C
unset XDG_CONFIG_HOME APR_CONFIG APR_CACHE APR_COLOR APR_CPU APR_LOG_LEVEL APR_RAM_LIMIT
unset APR_OUTPUT_FORMAT APR_PROGRESS APR_JOBS APR_SHOW_VOCAB APR_MAX_TOKENS_DISPLAY APR_DRAMA_MODE
unset APR_HEX_LIMIT APR_STRICT APR_REQUIRE_SIGNATURE APR_MIN_SCORE APR_FAIL_ON APR_TRUSTED
unset APR_CONFIG_WARNED APR_PROGRESS_DRAW NO_COLOR
export ASAN_OPTIONS=exitcode=99
# The search for leaks takes a third of the time of a short process. tests/tools/ runs each
# tool with its options, and unit tests each part of the library; they search.
[[ $BATS_TEST_FILENAME == */tools/* ]] || ASAN_OPTIONS+=:detect_leaks=0
export UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1:exitcode=98

fail() {
	printf '%s\n' "$@" >&2
	return 1
}

# Never test an installed copy by accident.
if [ ! -x "$APR_BIN/apr-unpack" ]; then
	echo "no tools in $APR_BIN: run make" >&2
	exit 1
fi

# Limit of address space for commands of "try", in KiB; not under a sanitizer that reserves
# terabytes of it.
limit=
limit_memory() {
	grep -q __asan_init "$APR_BIN/apr-unpack" || limit=$1
}

# A limit of CPU seconds ends loops; the limit of the whole run ends what blocks.
try() {
	status=0
	(
		ulimit -t 60
		[ -z "$limit" ] || ulimit -v "$limit"
		exec "$@"
	) >"$out" 2>"$err" || status=$?
}

# Called hundreds of times, so it must not start a process.
said() {
	local lines text
	mapfile -t lines <"$err"
	text=${lines[*]}
	[ "$status" -eq "$1" ] || fail "exit status $status, not $1:" "$text" || return
	[[ ${lines[0]-} == apr-*:\ * || ${lines[0]-} == apr:\ * ]] || fail "no message:" "$text" || return
	[[ ${#lines[@]} -eq 1 || ${#lines[@]} -eq 2 && ${lines[1]} == hint:\ * ]] ||
		fail "more than one message:" "${lines[@]}" || return
	[[ $text != *[[:cntrl:]]* ]] ||
		fail "control characters in a message:" "${lines[@]@Q}" || return
	[[ -z ${2-} || $text == *"$2"* ]] || fail "not said: $2" "${lines[@]}"
}

quiet() {
	[ "$status" -eq 0 ] || fail "exit status $status:" "$(cat "$err")" || return
	[ ! -s "$err" ] || fail "it spoke:" "$(cat "$err")"
}

pipe() {
	bash -o pipefail -c "$1"
}

try_pipe() {
	try bash -o pipefail -c "$1"
}

# on_terminal COMMAND…: prints its output to a terminal, where line breaks are two bytes.
on_terminal() {
	script -qec "${*@Q}" /dev/null </dev/null | sed 's/\r$//'
}

# levels: prints the levels of this CPU, as APR_CPU names them.
levels() {
	APR_CPU=none apr-quant q4_0 "$model" 2>&1 | sed -n 's/^hint: this CPU has //p' | tr -d ,
}

vectors() {
	[ -x "$APR_GEN/$1" ] || fail "no generator $1 in $APR_GEN: run make gen" || return
	mkdir -p "$2"
	"$APR_GEN/$1" "$2"
}

rows() {
	local line n=0
	set +T # bats traces each command of a test: loops become six times slower
	while IFS=$'\t' read -r -a line; do
		"$1" "${line[@]}" || fail "${line[0]}" || return
		n=$((n + 1))
	done <MANIFEST
	[ $n -gt 0 ]
}

need_data() {
	[ -e "$APR_TEST_DATA/README.md" ] ||
		skip "no reference data in APR_TEST_DATA ($APR_TEST_DATA)"
}

# ---- the exam ----
#
# exam ROLE TOOL ARG…: TOOL must do its work with ARG…, its input on standard input or as one
# more operand. ROLE selects the parts:
#
#   source, filter, sink   all parts; the differences do not matter here
#   report                 writes text and does not have -o; $exam_cut is a number of
#                          bytes of input that is too small
#   maker                  does not read a model
#
# A report that takes several FILEs is tested with good and bad ones.
#
# $exam_in: a good input (a model file for a source, else a stream of the small model). Each
# part can be called alone, as exam_PART TOOL ARG….

exam() {
	local role=$1
	exam_role=$role
	shift
	# Notes are not messages.
	export APR_LOG_LEVEL=error
	exam_prepare "$role"
	exam_options "$@"
	[ "$role" != maker ] || return 0
	exam_input "$@"
	exam_output "$@"
	[ "$role" != report ] || ! takes_files "$1" || exam_several "$@"
	[ "$role" != report ] || return 0
	exam_trailing "$@"
	exam_named_output "$@"
	exam_same_file "$@"
	exam_dead_upstream "$@"
	exam_signal "$@"
}

exam_prepare() {
	exam_folder=$BATS_TEST_TMPDIR/exam
	mkdir -p "$exam_folder"
	cd "$exam_folder" || return
	[ "$1" != maker ] || return 0
	if [ -z "${exam_in:-}" ]; then
		exam_in=$BATS_TEST_TMPDIR/exam.in
		if [ "$1" = source ]; then
			cp "$model" "$exam_in"
		else
			apr-unpack "$model" >"$exam_in"
		fi
	fi
	exam_cut=${exam_cut:-$(($(wc -c <"$exam_in") / 2))}
	head -c "$exam_cut" "$exam_in" >"$BATS_TEST_TMPDIR/exam.cut"
}

# Prints the first option of TOOL without a value, from its --help.
exam_flag() {
	"$1" --help | sed -n 's/^  [ -][^ ]\{0,1\}[ ,]\{1,3\}--\([a-z-]*\)  .*/--\1/p' | head -n 1
}

exam_options() {
	local flag option
	for option in -h --help; do
		try "$1" $option
		quiet
		[[ $(head -n 1 "$out") == "usage: $1 "* ]] || fail "no usage:" "$(cat "$out")"
	done
	try "$1" --version
	quiet
	grep -Eqx "$1 \(apr tools\) [0-9]+\.[0-9]+\.[0-9]+" "$out"
	exam_synopsis "$1"

	try "$@" --no-such-option </dev/null
	said 2 'unknown option --no-such-option'
	try "$@" -Z </dev/null
	said 2 'unknown option -Z'
	flag=$(exam_flag "$1")
	[ -n "$flag" ] || fail "no option without value in its help"
	try "$@" "$flag" "$flag" </dev/null
	said 2 "$flag is given twice"
	try "$@" "$flag=1" </dev/null
	said 2 "$flag takes no value"
	try "$@" "${flag%?}" </dev/null
	said 2 "unknown option ${flag%?}"
	grep -qF -e "did you mean $flag?" "$err"
	if takes_files "$1" && [ "$exam_role" = report ]; then
		exam_no_files "$@"
	elif takes_models "$1"; then
		try "$@" no-such-a no-such-b </dev/null
		said 3 'no-such-a: cannot be opened'
	elif takes_files "$1"; then
		try "$@" a b c d e f g h </dev/null
		said 2 'several FILEs need -q'
	else
		try "$@" a b c d e f g h </dev/null
		said 2 'one operand too many'
		try "$@" -- a b c d e f g h </dev/null
		said 2 'one operand too many'
	fi
	try bash -c '"$@" --help >/dev/full' - "$1"
	said 1 '<stdout>'
}

takes_files() {
	"$1" --help | sed '/^$/,$d' | grep -qF '[FILE ...]'
}

# Several models together, which make one result.
takes_models() {
	"$1" --help | sed '/^$/,$d' | grep -qF ' [MODEL ...]'
}

# Each bad FILE of several gets its own message.
exam_no_files() {
	local file
	try "$@" -- no-such-a no-such-b no-such-c </dev/null
	[ "$status" -eq 3 ] || fail "exit status $status:" "$(cat "$err")"
	for file in a b c; do
		grep -q "no-such-$file: cannot be opened" "$err" || fail "no-such-$file:" "$(cat "$err")"
	done
}

# Several FILEs: a bad one does not hide the next, and the highest exit status counts.
exam_several() {
	try "$@" "$exam_in"
	cp "$out" "$BATS_TEST_TMPDIR/exam.one"
	try "$@" "$exam_in" "$BATS_TEST_TMPDIR/exam.cut" no-such-file "$exam_in"
	[ "$status" -eq 4 ] || fail "exit status $status:" "$(cat "$err")"
	grep -q 'exam.cut: ' "$err" || fail "exam.cut is not named:" "$(cat "$err")"
	grep -q 'no-such-file: ' "$err" || fail "no-such-file is not named:" "$(cat "$err")"
	# Output for a single FILE lacks only the member "model".
	grep -v '^==> \|^$' "$out" | sed 's/,"model":"[^"]*"}$/}/' >"$BATS_TEST_TMPDIR/exam.got"
	grep -v '^$' "$BATS_TEST_TMPDIR/exam.one" | cat - "$BATS_TEST_TMPDIR/exam.one" | grep -v '^$' |
		diff - "$BATS_TEST_TMPDIR/exam.got"
	if grep -q '^==> ' "$out"; then
		diff <(grep '^==> ' "$out") <(printf '==> %s <==\n' "$exam_in" \
			"$BATS_TEST_TMPDIR/exam.cut" no-such-file "$exam_in")
	fi
	try bash -c '"$@" >/dev/full' - "$@" "$exam_in" "$exam_in"
	[ "$status" -eq 1 ] && grep -q '<stdout>: cannot be written' "$err" ||
		fail "exit status $status, /dev/full:" "$(cat "$err")"
}

# The usage is the SYNOPSIS of the manual page.
exam_synopsis() {
	local page=$root/man/$1.1
	[ -e "$page" ] || return 0
	"$1" --help | sed '/^$/,$d; s/^usage: //' | tr -s ' \n' ' ' >"$BATS_TEST_TMPDIR/usage"
	mandoc -T utf8 -O width=200 "$page" | col -bx | sed -n '/^SYNOPSIS/,/^[A-Z]/p' |
		sed '1d; $d' | tr -s ' \n' ' ' | sed 's/^ //' >"$BATS_TEST_TMPDIR/synopsis"
	diff "$BATS_TEST_TMPDIR/usage" "$BATS_TEST_TMPDIR/synopsis" ||
		fail "usage and SYNOPSIS of $1 differ"
}

exam_input() {
	try "$@" <"$exam_in"
	quiet
	cp "$out" "$BATS_TEST_TMPDIR/exam.want"
	try_pipe "cat '$exam_in' | ${*@Q}"
	quiet
	cmp "$out" "$BATS_TEST_TMPDIR/exam.want"
	try "$@" "$exam_in"
	quiet
	try "$@" - <"$exam_in"
	quiet
	cmp "$out" "$BATS_TEST_TMPDIR/exam.want"

	try "$@" </dev/null
	said 4 'is empty (E002)'
	: >empty
	try "$@" empty
	said 4 'empty: is empty (E002)'
	try "$@" <empty
	said 4 'is empty (E002)'
	try "$@" <"$BATS_TEST_TMPDIR/exam.cut"
	said 4 '(E002)'
	try_pipe "cat '$BATS_TEST_TMPDIR/exam.cut' | ${*@Q}"
	said 4 '(E002)'
	try "$@" "$BATS_TEST_TMPDIR/exam.cut"
	said 4 '(E002)'
	printf 'This is no model.' >noise
	try "$@" <noise
	said 4 '(E001)'
	try "$@" noise
	said 4 '(E001)'
	try "$@" "$exam_folder"
	said 1 'is a directory (E007)'
	try "$@" <"$exam_folder"
	said 1 'is a directory (E007)'
	try "$@" no-such-file
	said 3 'no-such-file: cannot be opened'
	try "$@" no-such-folder/file
	said 3 'no-such-folder/file: cannot be opened'
	try bash -c '"$@" <&-' - "$@"
	said 1 '(E007)'
	rm -f empty noise
}

exam_trailing() {
	{ cat "$exam_in"; printf '\0'; } >"$BATS_TEST_TMPDIR/exam.long"
	try "$@" <"$BATS_TEST_TMPDIR/exam.long"
	said 4 '(E002)'
	try_pipe "cat '$BATS_TEST_TMPDIR/exam.long' | ${*@Q}"
	said 4 '(E002)'
	try "$@" "$BATS_TEST_TMPDIR/exam.long"
	said 4 '(E002)'
}

exam_output() {
	try bash -c '"$@" >/dev/full' - "$@" <"$exam_in"
	said 1 '<stdout>: cannot be written'
	try bash -c '"$@" >&-' - "$@" <"$exam_in"
	said 1 '<stdout>: cannot be written'
	# A reader that closes the pipe early is not an error.
	try bash -c '"$@" | head -c 1' - "$@" <"$exam_in"
	quiet
}

# Only these names may exist in the folder of the exam.
exam_files() {
	local found
	found=$(find . -mindepth 1 -printf '%P\n' | sort | tr '\n' ' ')
	[ "$found" = "${*:+$* }" ] || fail "files: $found" "not: $*"
}

exam_named_output() {
	local want=$BATS_TEST_TMPDIR/exam.want
	try "$@" -o made <"$exam_in"
	quiet
	[ ! -s "$out" ] || fail "-o, and yet it wrote to standard output"
	exam_files made
	[ "$(stat -c %a made)" = "$(printf %o $((0666 & ~$(umask))))" ] ||
		fail "mode $(stat -c %a made)"
	try "$@" <"$exam_in"
	cmp made "$out"
	cp made "$want"

	# -o - is standard output; an empty file there is treated like a named one.
	try "$@" -o - <"$exam_in"
	quiet
	cmp "$out" "$want"

	# An existing file is replaced only with -f.
	printf 'mine' >other
	try "$@" -o other <"$exam_in"
	said 2 'other: exists already'
	grep -qF 'hint: -f' "$err"
	[ "$(cat other)" = mine ]
	try "$@" -f -o other <"$exam_in"
	quiet
	cmp other "$want"
	printf 'mine' >other
	try "$@" --output=other --force "$exam_in"
	quiet
	[ "$(wc -c <other)" -eq "$(wc -c <"$want")" ]
	exam_files made other

	# It also survives a failure.
	printf 'mine' >other
	try "$@" -f -o other <"$BATS_TEST_TMPDIR/exam.cut"
	said 4 '(E002)'
	[ "$(cat other)" = mine ]
	exam_files made other

	# Appending to a file keeps its contents.
	try bash -c '"$@" >>other' - "$@" <"$exam_in"
	quiet
	[ "$(head -c 4 other)" = mine ]
	tail -c +5 other | cmp - "$want"

	mkdir folder
	try "$@" -o folder <"$exam_in"
	said 2 'folder: is a directory'
	try "$@" -o nowhere/made <"$exam_in"
	said 3 'nowhere/made: cannot be created'
	try "$@" -o '' <"$exam_in"
	said 2
	try "$@" -o /dev/full <"$exam_in"
	said 1 '/dev/full: cannot be written'
	rmdir folder
	exam_files made other
	rm made other
}

# The output must not replace the input, under any name.
exam_same_file() {
	local name
	cp "$exam_in" input
	ln input hard
	ln -s input soft
	for name in input ./input hard soft "$exam_folder/input"; do
		try "$@" -f -o "$name" input
		said 2 'is the input file itself'
		try "$@" -f -o "$name" <input
		said 2 'is the input file itself'
		try bash -c '"$@" 1<>"$0"' "$name" "$@" input
		said 2 'is the input file itself'
		try bash -c '"$@" <input 1<>"$0"' "$name" "$@"
		said 2 'is the input file itself'
		try bash -c '"$@" input >>"$0"' "$name" "$@"
		said 2 'is the input file itself'
		cmp input "$exam_in"
	done
	exam_files hard input soft
	rm input hard soft
}

# Half a stream, as from a stage that was killed.
exam_dead_upstream() {
	try_pipe "head -c $exam_cut '$exam_in' | ${*@Q} -o made"
	said 4 '(E002)'
	exam_files
	try_pipe "head -c $exam_cut '$exam_in' | ${*@Q} >made"
	said 4 '(E002)'
	exam_files made
	[ ! -s made ] || fail "> left $(wc -c <made) bytes"
	rm made
}

# Waits until process $1 has opened its output and waits for more input.
exam_wait() {
	local i
	for ((i = 0; i < 200; i++)); do
		# For a tool with secrets, only root may read that folder.
		if [ $i -ge 25 ] && [ -e "/proc/$1/fd" ] && ! ls "/proc/$1/fd" >/dev/null 2>&1 &&
			grep -q '^State:.S' "/proc/$1/status"; then
			return
		fi
		if [ -n "$(find "/proc/$1/fd" -lname "$exam_folder*" 2>/dev/null)" ] &&
			grep -q '^State:.S' "/proc/$1/status"; then
			return
		fi
		sleep 0.02
	done
	fail "process $1 never came to wait for input"
}

exam_signal() {
	local signal number pid got
	mkfifo "$BATS_TEST_TMPDIR/exam.fifo"
	for signal in TERM:15 INT:2 HUP:1; do
		number=${signal#*:}
		for how in '-o made' '>made'; do
			# Background jobs of a shell ignore SIGINT, those of nohup SIGHUP: env undoes that.
			eval "exec env --default-signal=INT,HUP,TERM ${*@Q} $how" \
				<"$BATS_TEST_TMPDIR/exam.fifo" 2>"$err" 3>&- &
			pid=$!
			exec 9>"$BATS_TEST_TMPDIR/exam.fifo"
			head -c "$exam_cut" "$exam_in" >&9
			exam_wait $pid
			kill -"${signal%:*}" $pid
			got=0
			wait $pid || got=$?
			exec 9>&-
			[ $got -eq $((128 + number)) ] ||
				fail "$signal, $how: status $got:" "$(cat "$err")"
			[ ! -s made ] || fail "$signal, $how: $(wc -c <made) bytes stay"
			[ "$how" = '>made' ] || exam_files
			rm -f made
		done
	done
	exam_files
	rm "$BATS_TEST_TMPDIR/exam.fifo"
}
