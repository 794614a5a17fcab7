# The sandbox: entered before the first byte of a model is read, and in nobody's way.
load ../helper

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	sandbox=$(apr-unpack --version | sed -n 's/^sandbox: //p')
	[ -n "$sandbox" ]
	[[ $sandbox != none* ]] || skip "sandbox: $sandbox"
	export APR_LOG_LEVEL=error
	mkfifo fifo
}

# A tool that waits for the first byte of what comes by the fifo: what of the
# sandbox the kernel knows of it. (Landlock tells nobody: see t_sandbox.)
waits_inside() {
	local pid i
	"$@" >made 2>err 3>&- &
	pid=$!
	exec 9>fifo
	for ((i = 0; i < 250; i++)); do
		! grep -q '^State:.S' "/proc/$pid/status" || break
		sleep 0.02
	done
	# That it sleeps may have been for another reason: a moment's patience.
	for ((i = 0; i < 50; i++)); do
		! grep -q '^Seccomp:.2' "/proc/$pid/status" || break
		sleep 0.02
	done
	cp "/proc/$pid/status" status
	exec 9>&-
	wait $pid || true
	grep -q '^NoNewPrivs:.1' status || fail "$*: not entered" "$(cat err)" || return
	[[ $sandbox != *seccomp* ]] || grep -q '^Seccomp:.2' status || fail "$*: no filter"
	grep -q 'is empty (E002)' err || fail "$*: $(cat err)"
}

@test "each tool is inside before the first byte of its input" {
	apr-keygen -W -o key >id
	waits_inside apr-unpack fifo
	waits_inside apr-header fifo
	for tool in apr-unpack apr-header apr-pack 'apr-quant q4_0' 'apr-sign key' \
		'apr-verify key.pub' 'apr-verify -q key.pub' apr-sum apr-stats 'apr-get --list' \
		'apr-tok encode -p x' \
		'apr-pack -t gguf -o named' 'apr-pack -t safetensors -o folder/' \
		'apr-quant -o named q4_0'; do
		waits_inside eval "exec $tool <fifo"
	done
}

# Lists and matrices are from others as well.
@test "each tool is inside before other files are parsed" {
	printf 'x' >list
	waits_inside apr-sum -c fifo "$model" || {
		# It is the list that is empty.
		grep -q 'fifo' err && grep -q '^NoNewPrivs:.1' status
	}
}

@test "FILE is read by a child that is inside too" {
	local pid child i
	apr-sum fifo >made 2>err 3>&- &
	pid=$!
	exec 9>fifo
	for ((i = 0; i < 250; i++)); do
		child=$(cat "/proc/$pid/task/$pid/children")
		child=${child%% *}
		[ -z "$child" ] || [ "$(cat "/proc/$child/comm")" != apr-unpack ] ||
			! grep -q '^NoNewPrivs:.1' "/proc/$child/status" || break
		sleep 0.02
	done
	grep -q '^NoNewPrivs:.1' "/proc/$pid/status"
	grep -q '^NoNewPrivs:.1' "/proc/$child/status"
	exec 9>&-
	wait $pid || true
}

@test "links of a cache, shards, lists and matrices are within reach" {
	mkdir -p cache/blobs cache/snapshots/1 out
	apr-pack -t safetensors -o cache/blobs/1234 "$model"
	ln -s ../../blobs/1234 cache/snapshots/1/model.safetensors
	apr-sum cache/snapshots/1 >sums
	apr-sum "$model" | diff - sums
	apr-sum -c sums "$model"
	apr-sum -c sums cache/snapshots/1/model.safetensors
	apr-sum -c <(cat sums) <(cat "$model")
	apr-unpack <(cat "$model") | apr-sum | diff - sums
	# A list of shards by another name.
	apr-pack -t safetensors --shard-size 2M -o shards/ "$model"
	mv shards/model.safetensors.index.json shards/list
	apr-sum shards/list | diff - sums
	# A file that leads elsewhere is read all the same, by the name that was given.
	ln -s "$model" link.gguf
	apr-pack -o out/made.apr link.gguf
	(cd out && apr-pack -t gguf -o ../back.gguf made.apr)
	cmp back.gguf "$model"
	apr-pack -o /dev/null "$model"
}

# The rights that t_sandbox finds from inside are those in the table of the page.
@test "the table of apr(7) is what the probes find" {
	probe=$APR_BIN/../tests/unit/t_sandbox
	[ -x "$probe" ] || probe=$root/build/release/tests/unit/t_sandbox
	[ -x "$probe" ] || skip 'no probe is built'
	[[ $sandbox == *seccomp* ]] || skip "$sandbox"
	"$probe" --table >found
	[ "$(grep -c '^\.It ' found)" -eq 22 ]
	sed -n '/^\.\\" made by t_sandbox/,/^\.\\" until here/p' "$root/man/apr.7" |
		sed '1d;$d' | diff - found
}

@test "a helper is there only where files are opened or named later, and goes" {
	local pid command
	helpers() { # of the process $1
		cat "/proc/$1/task/$1/children" | tr ' ' '\n' | grep . | while read -r pid; do
			cat "/proc/$pid/comm"
		done | grep -c '^apr-broker$' || true
	}
	inside() { # COMMAND: run it until it waits for its input; its helpers
		bash -c "exec $1" <fifo >made 2>err 3>&- &
		pid=$!
		exec 9>fifo
		until grep -q '^Seccomp:.2' "/proc/$pid/status" && grep -q '^State:.S' "/proc/$pid/status"; do
			sleep 0.02
		done
		got=$(helpers $pid)
	}
	[[ $sandbox == *seccomp* ]] || skip "$sandbox"
	inside apr-stats
	[ "$got" -eq 0 ]
	exec 9>&-
	wait $pid || true
	inside 'apr-sum'
	[ "$got" -eq 0 ]
	exec 9>&-
	wait $pid || true
	inside 'apr-verify -o named'
	[ "$got" -eq 1 ]
	kill -KILL $pid
	wait $pid || true
	exec 9>&-
	for ((i = 0; i < 100; i++)); do
		[ -n "$(pgrep -x apr-broker -P 1 || true)" ] || break
		sleep 0.02
	done
	[ ! -e named ]
}

@test "what the caller left open is closed" {
	[[ $sandbox == *seccomp* ]] || skip "$sandbox"
	local pid
	bash -c 'exec apr-sum 7>left' <fifo >made 2>err 3>&- &
	pid=$!
	exec 9>fifo
	until grep -q '^Seccomp:.2' "/proc/$pid/status"; do
		sleep 0.02
	done
	[ ! -e "/proc/$pid/fd/7" ]
	[ "$(find "/proc/$pid/fd" -lname "$PWD/left" | wc -l)" -eq 0 ]
	exec 9>&-
	wait $pid || true
}

@test "an output that is a device, a named pipe, or another program's input" {
	mkfifo later
	apr-pack -o want "$model"
	apr-pack -o later "$model" 3>&- &
	sleep 0.1
	cmp later want
	wait $!
	apr-pack -o >(cat >got) "$model"
	until cmp -s got want; do
		sleep 0.02
	done
	apr-pack -o /dev/null "$model"
}

# The pipe does not have a reader: a process that waits to write there can be ended.
@test "a writer that waits for a reader can be ended, and its helper goes too" {
	local pid helper i
	mkfifo later
	apr-pack -o later "$model" 3>&- &
	pid=$!
	until helper=$(pgrep -x apr-broker -P $pid); do
		sleep 0.02
	done
	kill $pid
	wait $pid || true
	for ((i = 0; i < 100; i++)); do
		[ -e "/proc/$helper" ] || break
		sleep 0.02
	done
	[ ! -e "/proc/$helper" ]
}

# COMMAND…: runs it as a user who may not start a process. Root always may, so it changes user.
without_fork() {
	local as=()
	if [ "$(id -u)" -eq 0 ]; then
		as=(setpriv --reuid 65534 --regid 65534 --clear-groups)
	fi
	# shellcheck disable=SC2016 # the inner shell expands it
	try "${as[@]}" bash -c 'ulimit -u 1 && exec "$@"' - "$@"
}

@test "a process that cannot be started: a fault, and no file" {
	command -v setpriv >/dev/null || skip 'no setpriv'
	local folder
	folder=$(mktemp -d)
	chmod 777 "$folder"
	apr-unpack "$model" >"$folder/m.aprs"
	cp "$model" "$folder/m.gguf"
	chmod 644 "$folder"/*
	if ! without_fork test -r "$folder/m.gguf" || ! without_fork "$APR_BIN/apr-pack" --version; then
		rm -r "$folder"
		skip 'these programs cannot be run by another user'
	fi
	# The helper, for -o.
	without_fork "$APR_BIN/apr-pack" -o "$folder/made" "$folder/m.aprs"
	[ "$status" -eq 1 ]
	grep -q '^apr-pack: .*Resource temporarily unavailable (E007)$' "$err"
	without_fork "$APR_BIN/apr-unpack" -o "$folder/made" "$folder/m.gguf"
	said 1 'Resource temporarily unavailable (E007)'
	# The reader of a FILE.
	without_fork "$APR_BIN/apr-stats" "$folder/m.gguf"
	said 1 'its reader cannot be started'
	# Commands that need neither work.
	without_fork "$APR_BIN/apr-header" "$folder/m.gguf"
	[ "$status" -eq 0 ]
	[ "$(ls "$folder")" = "$(printf 'm.aprs\nm.gguf')" ]
	rm -r "$folder"
}
