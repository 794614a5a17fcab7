# Full disks and sudden ends: nothing wrong ever has a final name, and nothing that
# is temporary stays.
load ../helper

setup_file() {
	cd "$BATS_FILE_TMPDIR" || return
	export APR_LOG_LEVEL=error
	PATH=$APR_BIN:$PATH
	apr-unpack "$model" >m.aprs
	apr-pack -o want.apr2 m.aprs
	apr-pack -z zstd -o want.zstd m.aprs
	apr-pack -t gguf -o want.gguf m.aprs
	apr-pack -t safetensors -o want.safetensors m.aprs
	apr-pack -t apr2-64 -o want.apr2-64 m.aprs
}

setup() {
	shared=$BATS_FILE_TMPDIR
	cd "$BATS_TEST_TMPDIR" || return
	export APR_LOG_LEVEL=error
	set +T # each command of a loop would be traced
	mkdir disk
}

# Each writer: its name, the command that reads the stream, its output.
# The last two write into a file that the shell has made.
writers=(
	'apr2|apr-pack -o disk/made|made'
	'zstd|apr-pack -z zstd -o disk/made|made'
	'gguf|apr-pack -t gguf -o disk/made|made'
	'safetensors|apr-pack -t safetensors -o disk/made|made'
	'safetensors|apr-pack -t safetensors -o disk/made/|made/model.safetensors'
	'apr2-64|apr-pack -t apr2-64 -o disk/made|made'
	'stream|apr-quant --pure bf16 -o disk/made|made'
	'apr2|apr-pack >disk/made|made'
	'gguf|apr-pack -t gguf >disk/made|made'
)

writer() {
	IFS='|' read -r kind command made <<<"${writers[$1 % ${#writers[@]}]}"
	case $kind in
	stream) whole=$shared/want.stream ;;
	*) whole=$shared/want.$kind ;;
	esac
	[ -e "$shared/want.stream" ] ||
		apr-quant --pure bf16 <"$shared/m.aprs" >"$shared/want.stream"
}

# Only these names lie on the disk.
left() {
	local found
	found=$(cd disk && find . -mindepth 1 -printf '%P ' | tr -d '\n')
	[ "$found" = "${*:+$* }" ] || fail "$command: left: $found"
}

# After a failure: nothing, or the shell's file, and that is empty.
nothing_left() {
	[[ $command != *'>'* ]] || {
		[ ! -s disk/made ] || fail "$command: $(wc -c <disk/made) bytes stay" || return
		rm disk/made
	}
	left "$@"
}

# ---- a small file system ----

# Runs a function of this file with a tmpfs of this many KiB on "disk".
on_disk() {
	local how=-m
	[ "$(id -u)" -eq 0 ] || how=-rm
	unshare $how mount -t tmpfs none disk 2>/dev/null ||
		skip 'no file system can be mounted here; ulimit -f stands in for it below'
	export -f "$2" writer left nothing_left fail try said
	export shared status out err limit writers_text
	writers_text=$(printf '%s\n' "${writers[@]}")
	# shellcheck disable=SC2016 # the inner shell expands it
	unshare $how bash -c 'set -eu
		mapfile -t writers <<<"$writers_text"
		mount -t tmpfs -o "size=$1k" none disk
		"$2"' - "$1" "$2"
}

refuses_early() {
	local i
	for i in "${!writers[@]}"; do
		writer "$i"
		# The compressed size is not known in advance.
		[ "$kind" != zstd ] || continue
		try bash -c "$command" <"$shared/m.aprs"
		said 1 'needs 4'
		nothing_left
	done
}

@test "a disk that is too small is refused before the first byte" {
	on_disk 2048 refuses_early
}

# The disk is large enough at first, and then somebody fills it.
fills_up() {
	local i got pid half=$(($(wc -c <"$shared/m.aprs") / 2))
	mkfifo fifo
	for i in "${!writers[@]}"; do
		writer "$i"
		bash -c "exec $command" <fifo >"$out" 2>"$err" &
		pid=$!
		exec 9>fifo
		head -c "$half" "$shared/m.aprs" >&9
		head -c 8M /dev/zero >disk/other 2>/dev/null || true
		tail -c +$((half + 1)) "$shared/m.aprs" >&9 2>/dev/null || true
		exec 9>&-
		got=0
		wait $pid || got=$?
		status=$got
		said 1 'No space left on device (E007)' || fail "$command"
		nothing_left other
		rm disk/other
	done
}

@test "a disk that fills up while it is written" {
	on_disk 5120 fills_up
}

spool_fills_up() {
	TMPDIR=$PWD/disk try bash -c 'set -o pipefail; apr-pack -z zstd | cat' <"$shared/m.aprs"
	said 1 'No space left on device (E007)'
	[ ! -s "$out" ]
	left
}

@test "no room for the spool" {
	on_disk 1024 spool_fills_up
}

# ---- the longest file that the process may write ----

@test "a limit on the length of files is an error, never a signal" {
	local i
	for i in "${!writers[@]}"; do
		writer "$i"
		try bash -c "trap '' XFSZ; ulimit -f 2048; $command" <"$shared/m.aprs"
		said 1 'File too large (E007)'
		nothing_left
		try bash -c "ulimit -f 2048; exec $command" <"$shared/m.aprs"
		said 1 'File too large (E007)' || fail "$command"
		[ "$(wc -l <"$err")" -eq 1 ] || fail "$command: $(cat "$err")"
		nothing_left
	done
}

# ---- signals ----

# Whoever is killed leaves a helper, which ends when it has put things in order.
helper_has_ended() {
	local i
	for ((i = 0; i < 500; i++)); do
		[ -n "$(find /proc -maxdepth 2 -name cwd -lname "$PWD" 2>/dev/null |
			grep -v "/$$/\|/$BASHPID/" | while read -r cwd; do
				grep -sx apr-broker "${cwd%cwd}comm"
			done)" ] || return 0
		sleep 0.01
	done
	fail 'the helper stays'
}

# An output is complete or does not exist. $1: the signal.
whole_or_nothing() {
	local found
	[ "$1" != KILL ] || helper_has_ended
	if [ -e "disk/$made" ]; then
		if [[ $command == *'>'* && ! -s disk/$made ]]; then
			: # emptied
		elif [[ $1 = KILL && $command == *'>'* ]] && ! cmp -s "disk/$made" "$whole"; then
			# A signal that cannot be caught leaves bytes, but not the head that makes them a valid file.
			[ "$(head -c 4 "disk/$made" | od -An -tx1)" = ' 00 00 00 00' ] ||
				fail "$command: cut short, with a head" || return
		else
			cmp "disk/$made" "$whole" || fail "$command: wrong bytes" || return
		fi
		rm "disk/$made"
		[[ $made != */* ]] || rmdir disk/made
	fi
	[ -z "$(ls -A disk)" ] && return
	found=$(ls -A disk)
	fail "$command: $1 left $found"
}

# strike POINT SIGNAL WRITER: kill it after POINT bytes have gone into it.
strike() {
	local pid
	writer "$3"
	bash -c "exec env --default-signal=INT $command" <fifo >"$out" 2>"$err" 3>&- &
	pid=$!
	exec 9>fifo
	head -c "$1" "$shared/m.aprs" >&9
	kill -"$2" $pid
	exec 9>&-
	wait $pid 2>/dev/null || true
	whole_or_nothing "$2"
}

# Nine writers, and a signal more in each round: after 27 points each has met each.
@test "fifty points of a write, at which it is ended" {
	local i bytes signals=(KILL TERM INT)
	bytes=$(wc -c <"$shared/m.aprs")
	mkfifo fifo
	for ((i = 0; i < 50; i++)); do
		strike $((bytes * i / 49)) "${signals[(i + i / 9) % 3]}" "$i"
	done
}

# All bytes are there: the last moments, in which names are given.
@test "fifty moments of the end of a write" {
	local i pid signal signals=(KILL TERM INT)
	for ((i = 0; i < 50; i++)); do
		writer "$i"
		bash -c "exec env --default-signal=INT $command" <"$shared/m.aprs" \
			>"$out" 2>"$err" 3>&- &
		pid=$!
		# It takes about 40 ms, more on other machines: a finished output is valid too.
		sleep "0.0$((10 + i))"
		signal=${signals[(i + i / 9) % 3]}
		kill -$signal $pid 2>/dev/null || true
		wait $pid 2>/dev/null || true
		whole_or_nothing $signal
	done
}

@test "what a sudden end leaves of a file that was to be replaced" {
	local i
	mkfifo fifo
	writers=('apr2|apr-pack -f -o disk/made|made' 'gguf|apr-pack -t gguf -f -o disk/made|made')
	for ((i = 0; i < 6; i++)); do
		writer "$i"
		printf 'mine' >disk/made
		whole=$shared/mine
		printf 'mine' >"$whole"
		bash -c "exec $command" <fifo >"$out" 2>"$err" 3>&- &
		pid=$!
		exec 9>fifo
		head -c $((700000 * i)) "$shared/m.aprs" >&9
		kill -KILL $pid
		exec 9>&-
		wait $pid 2>/dev/null || true
		[ "$(cat disk/made)" = mine ]
		left made
	done
}

# ---- several files ----

shard_writers=(
	'apr-pack --shard-size 1M -o disk/made.apr|made.apr.json'
	'apr-pack -t gguf --shard-size 1M -o disk/made.gguf|made-00001-of-00005.gguf'
	'apr-pack -t safetensors --shard-size 1M -o disk/made/|made'
)

@test "shards: all of them or none, wherever the write is ended" {
	local i bytes point command first pid signal signals=(TERM KILL INT HUP)
	bytes=$(wc -c <"$shared/m.aprs")
	apr-sum "$shared/m.aprs" >want
	for ((i = 0; i < 36; i++)); do
		# A helper that has just been forked may still hold the last one open.
		rm -f fifo
		mkfifo fifo
		IFS='|' read -r command first <<<"${shard_writers[i % 3]}"
		point=$((bytes * i / 30))
		bash -c "exec env --default-signal=INT $command" <fifo >"$out" 2>"$err" 3>&- &
		pid=$!
		exec 9>fifo
		head -c $point "$shared/m.aprs" >&9
		# The last ones come to their end, or nearly so.
		[ $i -lt 30 ] || exec 9>&-
		signal=${signals[i % 4]}
		# (apr-pack(1) describes what can remain if it happens while names are given.)
		[ $i -lt 30 ] || [ $signal != KILL ] || signal=HUP
		kill -$signal $pid 2>/dev/null || true
		exec 9>&-
		wait $pid 2>/dev/null || true
		if [ -e "disk/$first" ]; then
			[ $i -ge 30 ]
			apr-sum "disk/$first" | cmp - want
			rm -r disk/made*
		fi
		[ -z "$(ls -A disk)" ] || fail "$command: $signal: $(ls -A disk)"
	done
}

shards_fill_up() {
	local i half=$(($(wc -c <"$shared/m.aprs") / 2)) pid
	mkfifo fifo
	for i in 0 1 2; do
		command=${shard_writers_text%%$'\n'*}
		shard_writers_text=${shard_writers_text#*$'\n'}
		command=${command%|*}
		bash -c "exec $command" <fifo >"$out" 2>"$err" &
		pid=$!
		exec 9>fifo
		head -c "$half" "$shared/m.aprs" >&9
		head -c 8M /dev/zero >disk/other 2>/dev/null || true
		tail -c +$((half + 1)) "$shared/m.aprs" >&9 2>/dev/null || true
		exec 9>&-
		status=0
		wait $pid || status=$?
		# If a shard begins while the disk fills up, the error may be reported before it is written.
		said 1 '(E007)' || fail "$command"
		grep -qE 'No space left on device|needs [0-9]+ bytes, but [0-9]+ are free' "$err"
		left other
		rm disk/other
	done
}

@test "shards on a disk that fills up" {
	shard_writers_text=$(printf '%s\n' "${shard_writers[@]}")
	export shard_writers_text
	on_disk 5120 shards_fill_up
}
