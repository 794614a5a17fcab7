# apr-run: the numbers of models
load ../helper

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	PATH=$PATH:$APR_GEN
}

# Of a recording: {"tokens": [ID, …], …, "shape": [ROWS, COLUMNS], …}.
tokens_of() {
	sed 's/.*"tokens": \[\([^]]*\)\].*/\1/' "$1" | tr -d ' '
}

columns_of() {
	sed 's/.*"shape": \[[0-9]*, \([0-9]*\)\].*/\1/' "$1"
}

# agrees MODEL RECORDING LOGITS LIMIT [OPTION…]: at each level its logits are those recorded.
agrees() {
	local level all
	read -ra all < <(levels)
	[ "${all[0]}" = ref ] || fail "levels: ${all[*]}" || return
	for level in "${all[@]}"; do
		try env APR_CPU="$level" \
			apr-run --tokens "$(tokens_of "$2")" --logits --cache f32 "${@:5}" "$1"
		[ "$status" -eq 0 ] || fail "$1:" "$(cat "$err")" || return
		nearlogits "$out" "$3" "$(columns_of "$2")" "$4" >near ||
			fail "$level: $1: $(cat near)" || return
	done
}

@test "apr-run passes the exam" {
	exam report apr-run --tokens 1,2,3 -n 2 --json
}

@test "logits of the architectures that are here are those of llama.cpp" {
	count=0
	for file in "$root"/tests/data/arch/*.gguf; do
		of=${file%.gguf}
		agrees "$file" "$of.json" "$of.logits.f32" 1e-3
		count=$((count + 1))
	done
	[ $count -ge 3 ]
}

@test "logits with a cache of codes are near those with halves, on any number of threads" {
	for name in gemma2 gptneox; do
		of=$root/tests/data/arch/$name
		ask=(apr-run --tokens "$(seq -s, 1 250)" --logits "$of.gguf" --cache)
		"${ask[@]}" f16 >halves
		"${ask[@]}" q8_0 >codes
		"${ask[@]}" q8_0 -t 3 | cmp - codes
		# Of two that are nearly the same, the other may be the largest.
		nearlogits codes halves 1024 0.2 >near || true
		awk '{ exit !($3 > 1e-3 && $3 < 0.2 && $4 <= 5) }' near || fail "$name: $(cat near)"
	done
}

# bats test_tags=repeats
@test "logits of all twelve architectures are those of llama.cpp" {
	need_data
	count=0
	for file in "$APR_TEST_DATA"/models/arch/*.gguf; do
		of=${file%.gguf}
		agrees "$file" "$of.json" "$of.logits.f32" 1e-3
		count=$((count + 1))
	done
	[ $count -eq 12 ]
}

@test "logits of the cases of model folders are those of llama.cpp, in both forms" {
	need_data
	count=0
	for of in "$root"/tests/data/cases/*.json; do
		case=$APR_TEST_DATA/convert/$(basename "$of" .json)
		logits=${of%.json}.logits.f32
		APR_LOG_LEVEL=error apr-quant f32 "$case/expected.gguf" >gguf
		agrees gguf "$of" "$logits" 1e-3
		# GGUF has halves of the weights of some, and a table for GELU.
		APR_LOG_LEVEL=error apr-quant f32 "$case/hf" >folder
		agrees folder "$of" "$logits" 5e-3
		count=$((count + 1))
	done
	[ $count -eq 8 ]
}

@test "logits of real models are those of PyTorch" {
	need_data
	export APR_LOG_LEVEL=error
	of=$APR_TEST_DATA/models/stories260K
	for form in "$of/stories260K-f32.gguf" "$of"; do
		agrees "$form" "$of/reference.json" "$of/reference.logits.f32" 1e-4
	done
	of=$APR_TEST_DATA/models/gpt2-layout
	agrees "$of" "$of/reference.json" "$of/reference.logits.f32" 1e-4
}

@test "logits do not depend on threads, the container, a pipe, or compression" {
	of=$root/tests/data/arch/qwen2moe
	ask=(apr-run --tokens "$(tokens_of $of.json)" --logits)
	"${ask[@]}" -t 1 $of.gguf >want
	[ "$(wc -c <want)" -eq $((24 * 1024 * 4)) ]
	"${ask[@]}" -t 2 $of.gguf | cmp - want
	"${ask[@]}" -t 3 $of.gguf | cmp - want
	apr-unpack $of.gguf >stream
	apr-pack <stream >m.apr
	apr-pack -z lz4 <stream >lz4.apr
	apr-pack -z zstd <stream >zstd.apr
	apr-pack -t apr2-64 <stream >m64.apr
	apr-pack -t safetensors <stream >m.safetensors
	apr-pack -t gguf --shard-size 300K -o shard.gguf <stream
	for form in m.apr lz4.apr zstd.apr m64.apr m.safetensors shard*-of-*.gguf stream; do
		"${ask[@]}" $form | cmp - want
		[[ $form == shard* ]] || "${ask[@]}" - <$form | cmp - want
	done
	pipe "cat stream | ${ask[*]} | cmp - want"
}

# Bytes that COMMAND reads; what it writes is in $out. Pages of a map do not count.
bytes_read() {
	# shellcheck disable=SC2016
	bash -c 'out=$1; shift; "$@" >"$out" || exit
		while read -r what n; do [ "$what" != rchar: ] || echo "$n"; done </proc/self/io' \
		- "$out" "$@"
}

@test "tensors that lie in a file unchanged are mapped, in each format" {
	local way n ask=(apr-run --tokens 5,6,7 --logits)
	llama 2 512 1408 2000 1 >m.gguf
	"${ask[@]}" m.gguf >want
	for way in '-t gguf' '-t apr2' '-t apr2-64' '-t safetensors' '-t apr1 --trueno-native' \
		'-t apr1 --trueno-native --streaming'; do
		# shellcheck disable=SC2086
		apr-pack $way -f -o m.file m.gguf
		[ "$(wc -c <m.file)" -gt 8000000 ]
		n=$(bytes_read "${ask[@]}" m.file)
		[ "$n" -lt 1000000 ] || fail "$way: $n bytes are read"
		cmp "$out" want || fail "$way"
		pipe "cat m.file | ${ask[*]} | cmp - want" || fail "$way from a pipe"
	done
	n=$(stat -c %s m.file)
	truncate -s $((n - 1)) m.file
	try "${ask[@]}" m.file
	said 4 'm.file: ends after'
}

@test "tensors that an uncompressed file holds in another order are not mapped" {
	local ask=(apr-run --tokens 5,6,7 --logits)
	llama 1 256 512 1000 1 >m.gguf
	apr-quant --pure q8_tensor m.gguf 2>/dev/null >m.aprs
	"${ask[@]}" m.aprs >want
	apr-pack -t apr1 -z none -o m.apr m.aprs
	"${ask[@]}" m.apr | cmp - want
}

@test "backend hints of APR version 1 choose the level, where the CPU has it" {
	read -ra all < <(levels)
	best=${all[-1]}
	ask=(apr-run --tokens 5,6,7,8,9 --logits)
	"${ask[@]}" "$model" >best
	APR_CPU=ref "${ask[@]}" "$model" >ref
	[ "$best" = ref ] || ! cmp -s best ref || fail "levels have the same logits"
	for hint in auto gpu wasm-simd scalar sse2; do
		apr-pack -f -t apr1 --trueno-native --backend-hint $hint -o m.apr "$model"
		want=best
		[[ $hint != s* ]] || want=ref
		try "${ask[@]}" m.apr
		cmp "$out" $want || fail "$hint: $(cat "$err")"
		if [ $want = ref ] && [ "$best" != ref ]; then
			grep -qxF 'apr-run: using level ref, as the model asks; APR_CPU overrides it' "$err"
			apr-unpack m.apr | "${ask[@]}" 2>/dev/null | cmp - ref
			APR_CPU=$best try "${ask[@]}" m.apr
			cmp "$out" best
		fi
	done
	# Every CPU lacks at least one of NEON and AVX-512.
	for hint in neon avx-512; do
		apr-pack -f -t apr1 --trueno-native --backend-hint $hint -o m.apr "$model"
		try "${ask[@]}" m.apr
		[[ " ${all[*]} " == *" ${hint/-/} "* ]] || {
			cmp "$out" best
			grep -qxF "apr-run: the model asks for ${hint/-/}, which this CPU lacks" "$err"
		}
	done
}

@test "backend hints that differ choose nothing; auto agrees with any" {
	local at n ask=(apr-run --tokens 5,6,7 --logits)
	"${ask[@]}" "$model" >best
	APR_CPU=ref "${ask[@]}" "$model" >ref
	apr-pack -t apr1 --trueno-native --backend-hint scalar -o all.apr "$model"
	# The first entry of the index: alignment 64, hint 1, an offset.
	at=$(LC_ALL=C grep -abo -P '\x40\x01.{6}\x00\x00' all.apr | head -n 1 | cut -d: -f1)
	while IFS=/ read -r n shown want; do
		printf "\\x$n" | dd of=all.apr bs=1 seek=$((at + 1)) conv=notrunc status=none
		apr1_flip 3 <all.apr | apr1_flip 3 >m.apr # the checksum anew
		apr-header m.apr | grep -qx "backend_hints     $shown" || fail "$(apr-header m.apr)"
		"${ask[@]}" m.apr 2>/dev/null | cmp - "$want" || fail "$shown"
	done <<-'END'
		01/scalar 30/ref
		02/sse2 1, scalar 29/ref
		04/avx2 1, scalar 29/best
		08/gpu 1, scalar 29/best
		00/scalar 29/ref
	END
}

@test "repacked weights give the same logits, with each type, at each level" {
	local all level
	read -ra all < <(levels)
	[ "${all[0]}" = ref ] || fail "levels: ${all[*]}"
	llama 2 512 1024 2000 4 >f16.gguf
	for type in q4_0 q8_0 q4_k_m q5_k_m q6_k f16; do
		model=$type.gguf
		[ -e "$model" ] || apr-quant $type f16.gguf | apr-pack -t gguf --no-sync -o "$model"
		ask=(apr-run --logits --tokens "$(seq -s, 1 24)")
		"${ask[@]}" "$model" >plain
		"${ask[@]}" --repack "$model" 2>said | cmp - plain
		grep -q '^apr-run: weights were packed in [0-9.]* s$' said
		"${ask[@]}" --repack -t 3 2>/dev/null <"$model" | cmp - plain
		# Three tokens are added in another order.
		apr-run --logits --tokens 7,8,9 "$model" >plain
		apr-run --logits --tokens 7,8,9 --repack "$model" 2>/dev/null >packed
		nearlogits packed plain 2000 1e-5 >near || fail "$type: $(cat near)"
		for level in "${all[@]}"; do
			[ "$level" != avx512 ] || continue # which packs, as above
			APR_CPU=$level apr-run --logits --tokens 7,8,9 "$model" >plain 2>/dev/null
			APR_CPU=$level apr-run --logits --tokens 7,8,9 --repack "$model" 2>/dev/null |
				cmp - plain
		done
	done
}

# bats test_tags=repeats
@test "repacked architectures have the logits of llama.cpp" {
	for name in gemma2 gptneox qwen2moe; do
		of=$root/tests/data/arch/$name
		agrees "$of.gguf" "$of.json" "$of.logits.f32" 1e-3 --repack
	done
}

@test "a text cut into passes has the same logits" {
	of=$root/tests/data/arch/gemma2
	list=$(seq -s, 1 200)
	apr-run --tokens "$list" --logits $of.gguf >all
	[ "$(wc -c <all)" -eq $((200 * 1024 * 4)) ]
	apr-run --tokens "$list" --logits --json $of.gguf >lines
	[ "$(wc -l <lines)" -eq 200 ]
	tail -n 1 lines | grep -q '^{"position":199,"token":200,"logits":\[-\?[0-9]'
	# What is generated is the maximum, also where the cache has been used.
	apr-run --tokens "$(seq -s, 1 100)" -n 3 --json $of.gguf >three
	ids=$(sed 's/.*"id":\([0-9]*\).*/\1/' three | head -n 2 | paste -sd,)
	# Two tokens more at once, and not one by one: the last digits are others.
	apr-run --tokens "$(seq -s, 1 100),$ids" -n 1 --json $of.gguf >last
	[ "$(sed 's/.*"id":\([0-9]*\).*/\1/' last)" = "$(sed 's/.*"id":\([0-9]*\).*/\1/;$!d' three)" ]
	cat last <(tail -n 1 three) | sed 's/.*"logprob":\([^,}]*\).*/\1/' |
		awk '{ v[NR] = $1 } END { d = v[1] - v[2]; exit !(NR == 2 && d < 1e-4 && d > -1e-4) }'
}

@test "a file that is cut while it is in use is a fault, and no crash" {
	llama 2 64 128 1000 1 >m.gguf
	# A pipe holds a MiB at most, these logits are 7 MB, made by some 500 tokens at a
	# time: what reads them lets the file be cut between two passes.
	mkfifo held
	{ apr-run --tokens "$(seq -s, 1 900),$(seq -s, 1 900)" --logits m.gguf 2>"$err" || echo "exit $?"; } >held &
	pid=$!
	exec 5<held
	until grep -qsF "$PWD/m.gguf" /proc/[0-9]*/maps; do
		kill -0 $pid
		sleep 0.05
	done
	truncate -s 100000 m.gguf
	cat <&5 >"$out"
	exec 5<&-
	[ "$(tail -c 7 "$out")" = 'exit 4' ]
	grep -q 'm.gguf: was cut while it was in use (E002)' "$err"
}

@test "memory is that of the weights, the cache, and 64 MiB" {
	if grep -q -e __asan_init -e __ubsan_handle "$APR_BIN/apr-run"; then
		skip 'a sanitizer has memory of its own'
	fi
	llama 2 1024 2816 24000 4 >m.gguf
	# Two blocks, four heads of 64, keys and values, halves, 100 positions.
	most=$(($(wc -c <m.gguf) / 1024 + 2 * 4 * 64 * 2 * 2 * 100 / 1024 + 65536))
	ask=(apr-run --tokens "$(seq -s, 1 90)" -n 10 --json)
	peak file "${ask[@]}" m.gguf >want
	apr-unpack m.gguf | peak pipe "${ask[@]}" | cmp - want
	peak repacked "${ask[@]}" --repack m.gguf 2>/dev/null | cmp - want
	apr-unpack m.gguf | peak repacked-pipe "${ask[@]}" --repack 2>/dev/null | cmp - want
	apr-pack -z zstd m.gguf >m.apr
	peak packed "${ask[@]}" m.apr | cmp - want
	rm m.gguf m.apr
	for form in file pipe repacked repacked-pipe packed; do
		echo "# $form $(($(cat $form) / 1024)) of $((most / 1024)) MiB" >&3
		[ "$(cat $form)" -le $most ] || fail "$form: $(cat $form) KiB of $most"
	done
	# Packed weights are not in memory twice.
	[ "$(cat repacked)" -le $(($(cat file) + 32768)) ]
	[ "$(cat repacked-pipe)" -le $(($(cat pipe) + 32768)) ]
}
