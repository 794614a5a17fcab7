# apr: words, and the pipes behind them.
load ../helper
load ../net/server

llama2=$root/tests/data/convert/llama2

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	export APR_LOG_LEVEL=error
}

has() {
	[ -x "$APR_BIN/$1" ]
}

# ---- the lines of the specifications ----

# The files that the lines name, in the folder in: a small LLaMA in all formats.
make_inputs() {
	local name
	mkdir in pt tf
	cp "$llama2/expected.gguf" in/model.gguf
	apr-unpack "$llama2/hf" | apr-pack -o in/model.safetensors
	apr import in/model.safetensors -o in/model.apr
	"$APR_GEN/torch_from" in/model.safetensors pt 0
	cp pt/pytorch_model.bin in/model.pt
	cp pt/pytorch_model.bin in/model.pth
	"$APR_GEN/tensorflow_model" tf
	mv tf/saved in/saved_model
	apr quantize in/model.apr --type q4_0 -o in/model-q4.apr
	apr quantize in/model.gguf --type q4_k_m -o in/model-q4_k_m.gguf
	apr convert in/model.apr --compress zstd -o in/model-optimized.apr
	cp in/model-q4.apr in/model_v2.apr
	apr-quant f32 in/model.apr | apr-rename '^lm_head=head' | apr-pack -o in/source.safetensors
	for name in model_v1 model1 model-large; do
		ln in/model.apr in/$name.apr
	done
	ln in/model_v2.apr in/model2.apr
	echo '{"lm_head.weight":"head.weight"}' >in/mapping.json
	printf 'Hello\n' >in/test.wav
	printf 'Hello world and what it may say,1\n%.0s' {1..150} >in/data.csv
	printf '{"text":"Hello world, this is a text that a student learns."}\n%.0s' {1..40} >in/train.jsonl
	apr canary create -p Hello -n 4 -o in/canary.json in/model.apr
}

# A model with names of Whisper, for lines that name its tensors.
make_whisper() {
	"$APR_GEN/mkmodel" <<-'E' >whisper.gguf
		key general.name string Small
		tensor encoder.conv1.weight F32 8x4x3 noise
		tensor encoder.layer_norm.weight F32 6 values 0.9 1.0 1.1
	E
	apr convert whisper.gguf -o in/whisper.apr
}

# A hub that has the repository of the lines, and an empty cache.
start_hub() {
	local file
	server_start
	for file in "$llama2"/hf/*; do
		repo openai/whisper-tiny "${file##*/}" <"$file"
	done
	unset HF_TOKEN HF_HUB_CACHE HF_HUB_OFFLINE
	export HF_ENDPOINT=$HUB HF_HOME=$PWD/hf APR_CACHE=$PWD/cache
}

link_data() {
	local data=$APR_TEST_DATA/import
	[ -e "$data" ] || return 0
	ln -s "$data/onnx/mnist-opset8/model.onnx" in/model.onnx
	ln -s "$data/keras/pretrainedResnet.h5" in/model.h5
	ln -s "$data/tflite/hello_world/hello_world_float.tflite" in/model.tflite
}

# The first failure of a pipe, which a later stage did not cause.
# shellcheck disable=SC2016
first_status='
for s in "${PIPESTATUS[@]}"; do
	[ $s = 0 ] || [ $s = 141 ] || exit $s
done'

# Makes folder a or b with the inputs, except the output of the words that follow.
fresh() {
	local folder=$1 word output=
	shift
	rm -rf "$folder"
	mkdir "$folder"
	ln -s "$PWD"/in/* "$folder"
	for word; do
		case $output in
		next) output=$word ;;
		'') [[ $word != -o && $word != --output ]] || output=next ;;
		esac
	done
	[ -z "$output" ] || rm -f "$folder/${output%/}"
}

# same_as_shown STATUS WORD…: the word and its pipe give the same status, output and files.
same_as_shown() {
	local want=$1 got=0 shown=0 pipe
	shift
	fresh a "$@"
	fresh b "$@"
	(cd a && exec "$@") >out.a 2>err.a </dev/null || got=$?
	[ "$got" = "$want" ] || fail "exit status $got, not $want: $*" "$(cat err.a)" || return
	pipe=$("$@" --show) || fail "--show fails: $*" || return
	(cd b && exec bash -c "$pipe$first_status") >out.b 2>err.b </dev/null || shown=$?
	[ "$shown" = "$want" ] || fail "the pipe ends with $shown: $pipe" "$(cat err.b)" || return
	{ cmp out.a out.b && diff -r a b; } || fail "not the same as: $pipe"
}

# line KIND LINE: holds a row of the table.
line() {
	local kind=$1 words
	eval "words=($2)"
	case $kind in
	same*) same_as_shown "${kind#same}" "${words[@]}" || return ;;
	data)
		[ -e "$APR_TEST_DATA/import" ] || return 0
		[[ $2 == *.bin* ]] || same_as_shown 0 "${words[@]}" || return
		;;
	hub) same_as_shown 0 "${words[@]}" || return ;;
	needs*)
		"${words[@]}" --show | grep -q "^ *${kind#needs }" || fail "--show of $2" || return
		has "${kind#needs }" || {
			try "${words[@]}"
			said 2 "${kind#needs } is not installed"
		} || return
		;;
	other)
		try "${words[@]}"
		[ "$status" != 0 ] || fail "it works now: $2"
		;;
	*) fail "no such kind: $kind" ;;
	esac
}

# bats test_tags=repeats
@test "each command line of the specifications does what its text says, or why not" {
	local kind text rows=0
	make_inputs
	make_whisper
	link_data
	start_hub
	while IFS='|' read -r kind text _; do
		[[ $kind != '#'* ]] || continue
		kind=${kind% } text=${text# } text=${text% }
		[ "$kind" != same ] || kind=same0
		kind=${kind/same /same}
		[[ $text != *'encoder.'* ]] || text=${text/model.apr/whisper.apr}
		line "$kind" "$text" || fail "in the row: $kind | $text" || return
		rows=$((rows + 1))
	done <"$root/tests/tools/apr-lines.txt"
	[ $rows -ge 95 ]
}

# The lines of the specifications: a program that begins a line, without comments.
specified() {
	cat "$1"/apr-v1*.md "$1"/apr-v2*.md "$1"/unified*.md | sed -E 's/ +#.*$//; s/ \\$/ \\/' |
		awk '{ sub(/^\$ /, "") }
			/^apr(-qa)? [a-z]+ / || more { sub(/^ +/, ""); line = line $0
				more = sub(/\\ *$/, "", line); if (!more) { gsub(/ +/, " ", line); print line; line = "" } }' |
		sed 's/ $//' | sort -u
}

@test "the table has every line of the specifications" {
	[ -e "$root/../shared/specs" ] || skip "no specifications beside the checkout"
	cut -d'|' -f2 "$root/tests/tools/apr-lines.txt" | grep '^ apr' | sed 's/^ //; s/ $//' |
		sort -u >table
	specified "$root/../shared/specs" >lines
	[ "$(wc -l <lines)" -gt 80 ]
	comm -13 table lines >missing
	[ ! -s missing ] || fail "$(cat missing)"
}

# ---- words ----

@test "each word runs its tool, which may have another name" {
	local word tool purpose words=0
	apr help --words >words
	while IFS=$'\t' read -r word tool purpose; do
		[ -n "$purpose" ] || fail "$word has no purpose" || return
		words=$((words + 1))
		[ "$tool" != - ] || continue
		diff <(apr "$word" --version) <("$tool" --version)
	done <words
	[ $words -ge 40 ]
	# A program that is not a word.
	printf '#!/bin/sh\necho "own $*"\n' >apr-own
	chmod +x apr-own
	[ "$(PATH=$PWD:$PATH apr own a b)" = 'own a b' ]
}

@test "apr lists words by what they are for; mistyped ones have neighbours" {
	apr >list
	for title in Convert Look Judge Change Trust Run Fetch Settings; do
		grep -q "^$title" list
	done
	diff list <(apr --help)
	try apr convrt m.apr
	said 2 'did you mean convert'
	try apr tensor m.apr
	said 2 'did you mean tensors'
	try apr --verison
	said 2 'apr: apr has no option --verison hint: did you mean --version?'
	[ "$(apr convert m.apr -q q8_0 --calibration t --calibration-method minmax -o o.apr --show | head -n 1)" = \
		'apr-quant --calibration t --calibration-method minmax q8_0 m.apr |' ]
	try apr validate m.apr --nan-check --only 3
	said 2 '--only names the points already'
	[ "$(apr qa verify m.apr --shapes --nan-check --show)" = 'apr-check --only nan,shapes m.apr' ]
	diff <(apr version) <(apr --version)
	try apr convert m.apr --compres lz4
	said 2 'did you mean --compress?'
	try apr $'a\nb\e[31m'
	said 2 'is not a word of apr'
	try apr ../apr-sum
	said 2 'is not a word of apr'
	try apr ''
	said 2
	try apr help nosuch
	said 2 'is not a word of apr'
	try apr convert --help
	quiet
	grep -q '^usage: apr convert ' "$out"
	apr help --options convert | grep -q $'^--quantize\tTYPE\t'
	# Without man(1), the usage is printed.
	PATH=$APR_BIN "$APR_BIN/apr" help convert | grep -q '^usage: apr convert ' ||
		fail "no usage of convert"
	PATH=$APR_BIN "$APR_BIN/apr" help sum | grep -q '^usage: apr-sum ' || fail "no usage of sum"
}

@test "apr links the C library alone" {
	! grep -q __asan_init "$APR_BIN/apr" || skip "sanitizers have libraries"
	ldd "$APR_BIN/apr" >libraries
	grep -q 'libc\.so' libraries
	! grep -v -e 'libc\.so' -e ld-linux -e linux-vdso libraries || fail "it links more"
}

# ---- failures ----

# fails STATUS TEXT WORD…: one message with this text, the same status as the pipe, and no
# file more or less than before.
fails() {
	local want=$1 text=$2 shown=0 pipe
	shift 2
	ls -A >../before
	try "$@"
	said "$want" "$text" || return
	ls -A | diff ../before - || fail "$*: leaves something" || return
	pipe=$("$@" --show)
	bash -c "$pipe$first_status" >/dev/null 2>&1 </dev/null || shown=$?
	[ "$shown" = "$want" ] || fail "the pipe ends with $shown: $pipe"
	ls -A | diff ../before - || fail "the pipe leaves something: $pipe"
}

@test "each stage fails in turn: its message and status, and nothing is left" {
	local all=(--quantize q8_0 -o out.apr)
	mkdir folder
	cd folder
	cp "$llama2/expected.gguf" m.gguf
	head -c 200000 m.gguf >cut.gguf
	printf 'no model at all\n' >text.gguf
	"$APR_GEN/mkmodel" >nan.gguf <<-'E'
		key general.architecture string llama
		tensor blk.0.attn_norm.weight F32 64 values 1.0 nan
	E
	apr-meta set general.architecture=nosuch -o nosuch.s m.gguf
	: >taken.apr
	fails 3 'none.gguf: cannot be opened' apr convert none.gguf "${all[@]}"
	fails 4 'exceed the' apr convert cut.gguf "${all[@]}"
	fails 4 'UnsupportedFormat: text.gguf' apr import text.gguf "${all[@]}"
	fails 2 'apr-unpack: ' apr convert m.gguf --from nosuch "${all[@]}"
	fails 3 'apr-verify: ' apr convert m.gguf --trusted-key none.pub "${all[@]}"
	fails 1 'apr-adapt: nosuch.s: architecture nosuch is not known' apr import nosuch.s "${all[@]}"
	fails 5 'apr-rename: <stdin>: ArchitectureMismatch' \
		apr convert "$llama2/hf/model.safetensors" --arch whisper "${all[@]}"
	fails 2 'apr-quant: ' apr convert m.gguf --quantize nosuch -o out.apr
	fails 5 'apr-gate: ' apr convert m.gguf --quality-check --max-drift 0.0001 "${all[@]}"
	fails 5 'apr-check: ' apr convert nan.gguf --form none -o out.apr
	fails 5 'apr-check: ValidationFailed: ' apr import nan.gguf --form none -o out.apr
	fails 3 'apr-sign: ' apr convert m.gguf --sign none.key "${all[@]}"
	fails 2 'apr-pack: ' apr convert m.gguf --quantize q8_0 -o taken.apr
	fails 3 'apr-pack: ' apr convert m.gguf --quantize q8_0 -o none/out.apr
	# A later stage that stops reading is not the failure of those before it.
	fails 2 'apr-pack: ' apr convert "$model" --quantize q8_0 --compress nosuch -o out.apr
	# --force reports and goes on, and does not replace a file.
	apr convert m.gguf --quality-check --max-drift 0.0001 --force "${all[@]}"
	fails 2 'apr-pack: ' apr convert m.gguf --force "${all[@]}"
	apr convert m.gguf -f "${all[@]}"
}

@test "closed descriptors are not taken for those of a pipe" {
	local words=(apr convert "$llama2/expected.gguf" --quantize q8_0 -o)
	(exec 0<&- && "${words[@]}" in.apr)
	(exec 1>&- && "${words[@]}" out.apr)
	(exec 0<&- 1>&- 2>&- && "${words[@]}" all.apr)
	cmp in.apr out.apr
	cmp in.apr all.apr
}

@test "the import names the failure of a download, and prints the licence first" {
	printf '#!/bin/sh\necho "apr-pull: nosuch://a: is not an address (E007)" >&2\nexit 1\n' >apr-pull
	chmod +x apr-pull
	try env PATH="$PWD:$PATH" apr import nosuch://a -o out.apr
	[ "$status" != 0 ]
	grep -q '^apr-pull: DownloadFailed: ' "$err"
	[ ! -e out.apr ]
	unset APR_LOG_LEVEL
	try apr import "$model" -o out.apr
	[ "$status" = 0 ]
	[ "$(head -n 1 "$err")" = "apr: $model: its licence is CC0-1.0" ]
}

@test "a file that grows beyond the limit, or a disk that is full, leaves nothing" {
	mkdir folder
	(ulimit -f 100 && apr convert "$model" --quantize q8_0 -o folder/out.apr 2>"$err") && false
	grep -q '^apr-pack: ' "$err"
	[ "$(wc -l <"$err")" -le 2 ]
	[ -z "$(ls -A folder)" ]
}

# ---- ends ----

# Waits until no process of the session that $1 leads is left.
wait_session() {
	while pgrep -s "$1" >/dev/null; do
		:
	done
}

# ended SIGNAL: the word gets the signal while its stages work.
ended() {
	local pid
	rm -f fifo
	mkfifo fifo
	setsid env --default-signal=INT apr convert - --quantize q8_0 -o folder/out.apr <fifo >/dev/null 2>&1 3>&- &
	pid=$!
	exec 9>fifo
	# More than pipes hold, so stages have taken some of it.
	head -c 3000000 model.aprs >&9
	kill -s "$1" $pid
	status=0
	wait $pid || status=$?
	exec 9>&-
	wait_session $pid
}

@test "signals end all stages, and nothing is left" {
	local signal
	mkdir folder
	apr-unpack "$model" >model.aprs
	for signal in TERM INT HUP KILL; do
		ended $signal
		[ "$status" = $((128 + $(kill -l $signal))) ] || fail "$signal: exit status $status" || return
		[ -z "$(ls -A folder)" ] || fail "$signal: $(ls -A folder)" || return
	done
}

# APR_TRIALS: how many moments.
@test "a word that is killed at any moment leaves nothing, or the whole file" {
	local trials=${APR_TRIALS:-4} i total
	# The search for leaks does not work in a process that is traced.
	export ASAN_OPTIONS=$ASAN_OPTIONS:detect_leaks=0
	local words=(apr convert "$llama2/expected.gguf" --quantize q8_0 -z lz4 -o folder/out.apr)
	mkdir folder whole
	"${words[@]}"
	mv folder/out.apr whole
	status=0
	total=$("$APR_GEN/killed" count "${words[@]}" 2>"$err") || status=$?
	[ "$status" != 77 ] || skip "processes cannot be traced here"
	total=${total%% *}
	for ((i = 1; i <= trials; i++)); do
		rm -f folder/out.apr
		"$APR_GEN/killed" $((total * i / (trials + 1))) "${words[@]}" >"$out" 2>&1 || true
		[ -z "$(ls -A folder)" ] || diff -r folder whole || fail "killed at $i of $trials" || return
	done
}
