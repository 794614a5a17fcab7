# apr-debug: the bytes of a file, sound or broken
load ../helper

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	PATH=$PATH:$APR_GEN
}

@test "apr-debug passes the exam" {
	exam_cut=1000
	exam report apr-debug
	exam report apr-debug --json
}

@test "plain: the parts of each format, up to the last byte" {
	apr-unpack "$model" >m.aprs
	for to in gguf apr2 apr2-64 apr1 safetensors; do
		apr-pack -t $to -f -o m."$to" m.aprs
	done
	for file in m.*; do
		try apr-debug "$file"
		quiet
		[ "$(awk '$1 ~ /^[0-9]+$/ { at = $1 + $2 } END { print at }' "$out")" = \
			"$(stat -c %s "$file")" ] || fail "$file:" "$(cat "$out")"
		awk '$1 ~ /^[0-9]+$/ { if ($1 != at) exit 1; at = $1 + $2 }' "$out" || fail "$file: holes"
	done
}

@test "a folder, and shards: the files with their tensors" {
	apr-unpack "$model" | apr-pack -t gguf --shard-size 2M -o m.gguf
	set -- m-*.gguf
	try apr-debug "$1"
	quiet
	grep -q '^             0              4  magic' "$out"
	[ "$(awk '/their bytes/ { on = 1; next } on && $3 ~ /gguf$/ { n += $1 } END { print n }' "$out")" -eq \
		"$(apr-header -l "$model" | wc -l)" ]
	try apr-debug --hex output.weight "$1"
	said 1 "does not hold output.weight, which lies in"
	mkdir hf
	apr-unpack "$model" | apr-pack -t safetensors -o hf/model.safetensors
	echo '{"model_type": "llama"}' >hf/config.json
	try apr-debug hf
	quiet
	grep -q '^folder  hf$' "$out"
	grep -qE '^ +[0-9]+ +[0-9]+  model.safetensors$' "$out"
	apr-debug --json hf | grep -q '"files":\[{"file":"model.safetensors","tensors":'
	for how in '--hex @0' --strings --drama; do
		try apr-debug $how hf
		said 2 'is a folder: give one of its files'
	done
	mkdir none
	try apr-debug none
	[ "$status" -ne 0 ]
	[ ! -s "$out" ]
}

@test "files of other programs are mapped by their tensors, or as archives" {
	printf '\223NUMPY\1\0\166\0%-117s\n' "{'descr': '<f4', 'fortran_order': False, 'shape': (4,), }" >a.npy
	head -c 16 /dev/zero >>a.npy
	try apr-debug a.npy
	quiet
	grep -qx ' *128 *16  tensor array, F32' "$out"
	try apr-debug --hex array a.npy
	quiet
	head -c 140 a.npy >cut.npy
	try apr-debug cut.npy
	[ "$status" -eq 4 ]
	grep -q '^no map: a file of this kind has one only if it is sound$' "$out"
	need_data
	while IFS=: read -r file part; do
		try apr-debug "$APR_TEST_DATA/import/$file"
		quiet
		grep -q -- "$part" "$out" || fail "$file:" "$(head "$out")"
	done <<-'END'
		ggml/tiny-rwkv-4v0-660K-FP16.bin:tensor emb.weight, F16
		keras/ad01.h5:tensor .*, F32
		keras/mnist_ann_baseline.keras:member model.weights.h5
		numpy/mel_filters.npz:member mel_80.npy
		tflite/hello_world/hello_world_float.tflite:tensor .*MatMul, F32
		onnx/magika_standard_v3_3/model.onnx:tensor slice_axes__119, I32
		coreml/MarsHabitatPricer.mlmodel:tensor .*weights.0, F64
	END
}

@test "broken files: where the structure breaks, with the bytes around it" {
	head -c 20000 "$model" >keys.gguf
	try apr-debug keys.gguf
	said 4 '(E002)'
	grep -q '^the structure breaks at byte 19998' "$out"
	grep -q '^> *19984  00 00' "$out"
	head -c 27000 "$model" >index.gguf
	try apr-debug index.gguf
	said 4 '(E002)'
	grep -q 'index, up to where it breaks' "$out"
	head -c 1000000 "$model" >data.gguf
	try apr-debug data.gguf
	said 4 '(E002)'
	grep -q '^tensor blk.0.ffn_gate.weight: .* bytes after the end of the file$' "$out"
	try apr-debug --hex blk.0.attn_q.weight@4096 --limit 16 data.gguf
	quiet
	grep -q '^ *557920  ' "$out"
	try apr-debug --hex output.weight data.gguf
	said 4 'behind the end of the file'
}

@test "files of other kinds are named, and their first bytes shown" {
	printf '<!DOCTYPE html><p>404' >a
	printf 'version https://git-lfs.github.com/spec/v1\n' >b
	printf '\177ELF\2\1' >c
	printf 'some text' >d
	head -c 100 /dev/zero >e
	while IFS=: read -r name kind; do
		try apr-debug "$name"
		[ "$status" -eq 4 ] || fail "$name: $status"
		grep -q "^kind    $kind" "$out" || fail "$name:" "$(cat "$out")"
		grep -q '^ *>* *0 ' "$out" || fail "$name: no bytes"
	done <<-END
		a:a web page
		b:a Git LFS pointer
		c:a program (ELF)
		d:text
		e:zeros
	END
}

@test "V-06: --hex: parts of blocks beside their bytes, with values" {
	apr-unpack "$model" | apr-quant --pure q4_k 2>/dev/null | apr-pack -t gguf -o q.gguf
	try apr-debug --hex blk.0.attn_q.weight@150 --limit 1 q.gguf
	quiet
	grep -q '^block 1 of Q4_K: values 256 to 511$' "$out"
	grep -q ' d [0-9.e-]*$' "$out"
	grep -q ' scales .*; minima ' "$out"
	apr-get --text --slice 1,0:8 blk.0.attn_q.weight q.gguf >want
	# the values are those of apr-get
	sed -n "s/^ *values \\(.*\\) \\.\\.\\.$/\\1/p" "$out" | diff - want
	try apr-debug --hex nought.weight q.gguf
	said 1 'has no tensor nought.weight'
	try apr-debug --hex @8 --limit 4 "$model"
	quiet
	grep -q '^ *8  1e 00 00 00 ' "$out"
	try apr-debug --hex @99999999 "$model"
	said 2 'has 4623200 bytes'
}

@test "V-06: --strings and --limit" {
	printf '\0abcd\1ab\0\033[31mred\nlong%0200d' 1 >s
	try apr-debug --strings s
	quiet
	diff "$out" <(printf '%14d  %s\n' 1 abcd 10 '[31mred' 18 "long$(printf '%0156d' 0) (44 more)")
	try apr-debug --strings --limit 1 s
	[ "$(wc -l <"$out")" -eq 1 ]
}

@test "falsification 53: --drama has its three acts without a terminal" {
	try apr-debug --drama "$model"
	quiet
	grep -c '^ACT' "$out" | grep -qx 3
	grep -q 'Parameters... 2,295,552 (a cast of millions!)' "$out"
	grep -q 'CURTAIN CALL' "$out"
	head -c 20000 "$model" >cut
	try apr-debug --drama cut
	said 4 '(E002)'
	grep -q 'CURTAIN FALLS: E002' "$out"
}
