# The sandbox: entered before the first byte of a model is read, and in nobody's way.
load helper

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
