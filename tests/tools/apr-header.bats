# apr-header: facts about a file, from its header alone
load ../helper

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	PATH=$PATH:$APR_GEN
}

# One of everything, in the formats.
mothers() {
	tamper mother >mother.aprs
	apr-pack -t gguf -o mother.gguf mother.aprs
	apr-pack -o mother.apr mother.aprs
	apr-pack -t apr2-64 -o mother.64 mother.aprs 2>/dev/null
}

# The output of a command equals the file in tests/golden; UPDATE=1 writes that file.
golden() {
	local want=$root/tests/golden/$1
	shift
	"$@" >printed
	[ -z "${UPDATE:-}" ] || cp printed "$want"
	diff "$want" printed
}

# The file $1 takes little time and memory.
at_once() {
	local began=$EPOCHREALTIME took
	try peak peak.txt apr-header "$1"
	quiet
	took=$((${EPOCHREALTIME/[.,]/} - ${began/[.,]/}))
	[ $took -lt 2000000 ] || fail "$1: $took us"
	[ "$(cat peak.txt)" -lt 65536 ] || fail "$1: $(cat peak.txt) KiB"
}

no_controls() {
	if tr -d '\n' <"$1" | grep -q '[[:cntrl:]]'; then
		fail "control characters:" "$(cat -v "$1")"
	fi
}

# It stops where the header ends: only a small file is taken whole from a pipe.
@test "apr-header passes the exam, with each format" {
	local f
	mkmodel >small.gguf <<-END
		key general.architecture string llama
		tensor a.weight F32 8x64 noise
		tensor b.weight F16 8x64 noise
	END
	apr-unpack small.gguf >small.aprs
	apr-pack -o small.apr small.aprs
	apr-pack -t apr2-64 -o small.64 small.aprs
	for f in small.aprs small.gguf small.apr small.64; do
		exam_in=$BATS_TEST_TMPDIR/$f exam_cut=100
		exam report apr-header -l
	done
}

@test "--json of each format: valid, and as it always was (CHECK-073)" {
	local f
	mothers
	for f in mother.gguf mother.apr mother.64 mother.aprs; do
		golden header/$f.json apr-header --json $f
		golden header/$f.tensors.json apr-header -l --json $f
		objects <"$root/tests/golden/header/$f.json"
		objects <"$root/tests/golden/header/$f.tensors.json"
		[ "$(wc -l <printed)" -eq 8 ]
	done
}

@test "the text of each format, as it always was" {
	local f
	mothers
	for f in mother.gguf mother.apr mother.64 mother.aprs; do
		golden header/$f.txt apr-header $f
		golden header/$f.tensors.txt apr-header -l $f
	done
}

@test "metadata stands in columns as wide as the longest key and type" {
	mkmodel >long.gguf <<-END
		key general.architecture string llama
		key llama.a.key.that.is.longer.than.forty.characters u32 7
		key short bool 1
		tensor a.weight F32 8x64 noise
	END
	apr-header long.gguf | sed -n '/^  /p' >lines
	diff lines - <<-END
		  general.architecture                             string llama
		  llama.a.key.that.is.longer.than.forty.characters u32    7
		  short                                            bool   yes
	END
}

@test "what does not depend on the container is the same in all" {
	local f
	mothers
	tail -n +2 <(apr-header mother.gguf) | sed -n '/^architecture/,$p' >want
	[ "$(wc -l <want)" -eq 45 ]
	for f in mother.apr mother.aprs; do
		diff <(apr-header $f | sed -n '/^architecture/,$p') want
	done
}

@test "--list: name, dtype, shape, offset, bytes" {
	apr-header -l "$model" >list
	[ "$(wc -l <list)" -eq 30 ]
	[ "$(awk '{ print NF }' list | sort -u)" = 5 ]
	grep -Eqx 'output.weight +BF16 +1024x256 +4098912 +524288' list
	# Offsets are those of the file.
	while read -r name _ _ offset bytes; do
		printf '%s %s\n' "$name" "$(tail -c "+$((offset + 1))" "$model" | head -c "$bytes" | sha256sum)"
	done <list | sed 's/ *-$//' | sort >ours
	apr-unpack "$model" | digests | cut -d ' ' -f 1,3 | sort >want
	diff ours want
	apr-pack -o model.apr "$model"
	while read -r name _ _ offset bytes; do
		printf '%s %s\n' "$name" "$(tail -c "+$((offset + 1))" model.apr | head -c "$bytes" | sha256sum)"
	done < <(apr-header -l model.apr) | sed 's/ *-$//' | sort >ours
	diff ours want
	# In a stream a tensor has no place.
	apr-unpack "$model" | apr-header -l | awk '{ print $4 }' | sort -u >offsets
	[ "$(cat offsets)" = - ]
}

@test "a checksum is shown, and that it was not verified" {
	apr-pack -o model.apr "$model"
	apr-header model.apr >header
	local crc
	crc=$(tail -c 16 model.apr | od -An -tx4 -N4 --endian=little | tr -d ' ')
	grep -Eqx "checksum +0x$crc \(not verified\)" header
	apr-header --json model.apr | grep -qF "\"checksum\":\"0x$crc\",\"checksum_verified\":false"
	apr-header "$model" | grep -Eqx 'checksum +no'
	try apr-header --checksum --header model.apr
	quiet
	grep -Eqx "checksum +0x$crc \(valid\)" "$out"
	! grep -q architecture "$out"
	apr-header --checksum --full --json model.apr | grep -qF '"checksum_verified":true'
	apr-unpack model.apr | apr-header --checksum | grep -Eqx 'checksum +yes \(valid\)'
	try apr-header --checksum "$model"
	said 1 'has no checksum'
	mkdir shards
	apr-pack --shard-size 2M -o shards/m.apr "$model"
	apr-header --header shards | grep -Eqx 'checksum +yes \(not verified\)'
	apr-header --header --checksum shards | grep -Eqx 'checksum +yes \(valid\)'
	printf 'X' | dd of=shards/m-00002-of-00003.apr bs=1 seek=60000 conv=notrunc 2>/dev/null
	try apr-header --checksum shards
	said 4 '(E004)'
	# The data is not looked at: damage there is not seen.
	printf 'X' | dd of=model.apr bs=1 seek=2000000 conv=notrunc 2>/dev/null
	apr-header model.apr | diff - header
	try apr-header --checksum model.apr
	said 4 '(E004)'
	try apr-header --checksum --full model.apr
	said 4 '(E004)'
	try apr-header --checksum -l model.apr
	said 2 'goes with'
	try apr-unpack model.apr
	said 4 '(E004)'
}

@test "flags by name, signatures, licence and side files are told" {
	tamper mother >mother.aprs
	apr-keygen -W -o key >id
	pipe "apr-sign key mother.aprs | apr-sign key" >twice.aprs
	apr-pack -o twice.apr twice.aprs
	apr-header twice.apr >header
	grep -Eqx 'flags +ALIGNED_64 SIGNED QUANTIZED STREAMING' header ||
		fail "$(grep flags header)"
	grep -Eqx 'signatures +2 \(not verified\)' header
	grep -Eqx 'provenance +2 \(claims\)' header
	grep -Eqx 'licence +yes' header
	grep -Eqx 'files +README.md text/markdown 8, TWIN.md text/markdown 8, tokenizer.json application/json 2' header
}

@test "pt 51: a file of 100 GB is answered at once, in little memory (CHECK-051)" {
	mkmodel 2>why <<-END >big.gguf || skip "no sparse file of 100 GB here: $(cat why)"
		key general.architecture string llama
		tensor big.weight F16 1000000x50000 hole
	END
	at_once big.gguf
	grep -Eqx 'parameters +50000000000' "$out"
	grep -Eqx 'tensor_bytes +100000000000 \(93.1 GiB\)' "$out"
	try_pipe 'apr-header -l - <big.gguf'
	quiet
	# In a pipe, it prints what stands before the data, and reads the rest for the writer's sake,
	# which takes a minute for 100 GB.
	mkmodel <<-END >smaller.gguf
		tensor big.weight F16 1000000x500 hole
	END
	try bash -c 'cat smaller.gguf | apr-header -l'
	quiet
	grep -q '^big.weight .* 1000000x500 .* 1000000000$' "$out"
}

@test "a header that promises more than the file has is refused at once" {
	mkmodel 2>why <<-END >big.gguf || skip "no sparse file of 100 GB here: $(cat why)"
		tensor big.weight F16 1000000x50000 hole
	END
	truncate -s 5G big.gguf
	try apr-header big.gguf
	said 4 'exceed the'
	head -c 100 big.gguf >short.gguf
	try apr-header short.gguf
	said 4 '(E002)'
}

@test "what is not read is called by its name" {
	printf 'GGUF\0\0\0\3\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0' >big-endian
	try apr-header big-endian
	said 4 'is a big-endian GGUF file, which is not read (E001)'
	printf 'GGUF\4\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0' >later
	try apr-header later
	said 4 '(E003)'
	printf 'PK\3\4................' | try apr-header
	said 4 'is a zip archive that has no end record'
	printf 'APRN............................' | try apr-header
	said 4 'UnsupportedVersion: is APRN version 46.46'
}

@test "names and values from files do not reach a terminal as they are" {
	mkmodel <<-'END' >esc.gguf
		key general.architecture string ll\x1b[31mama
		key k\x1b]0;title\x07 string a\x07b\x0d\xc2\x9bc\xe2\x80\xaed
		key list array:string \x1b[2J \x00
		tensor n\x1b[2J.weight F32 2x32 noise
		tensor b\x0a.weight F32 2x32 noise
	END
	for o in '' -l '--json' '-l --json'; do
		apr-header $o esc.gguf >printed
		no_controls printed
		[ "$o" = "${o/json/}" ] || objects <printed
	done
	apr-header esc.gguf | grep -qF 'k\x1b]0;title\x07'
	apr-header esc.gguf | grep -qF 'a\x07b\x0d\xc2\x9bc\xe2\x80\xaed'
	[ "$(apr-header -l esc.gguf | wc -l)" -eq 2 ]
	try apr-quant q4_0 --pure --allow-requantize --fallback error esc.gguf
	[ "$status" -eq 0 ]
	no_controls "$err"
	mkmodel <<-'END' >esc.gguf
		tensor n\x1b[2J\xe2\x80\xae.weight F32 2x32 values nan
	END
	APR_LOG_LEVEL=error try apr-quant q4_0 esc.gguf
	said 5 'n\x1b[2J\xe2\x80\xae.weight: values not finite: 64'
}

# The architecture and size of a model, in one line.
kind() {
	apr-header "$@" 2>/dev/null | awk '$1 == "architecture" || $1 == "size_label" { printf "%s ", $2 }'
}

@test "a folder has the architecture and size of its GGUF file" {
	need_data
	local folder got want n=0
	for folder in "$APR_TEST_DATA"/convert/*/; do
		[ -e "$folder/hf" ] || continue
		got=$(kind "$folder/hf")
		want=$(kind "$folder/expected.gguf")
		# The name in its model card says "mini".
		[[ $folder != */phi3/ ]] || want=${want/mini/231K}
		[ "$got" = "$want" ] || fail "$folder: $got, not $want"
		n=$((n + 1))
	done
	[ $n -gt 30 ]
	[ "$(kind "$APR_TEST_DATA/models/gpt2-layout")" = 'gpt2 812K ' ]
	[ "$(kind "$APR_TEST_DATA/models/shakespeare")" = 'llama 2.3M ' ]
	[ "$(kind "$APR_TEST_DATA/models/stories260K")" = 'llama 260K ' ]
}

@test "the architecture of an .apr file, and of a file that does not state it" {
	{
		echo 'key general.architecture string qwen2_moe'
		echo 'tensor token_embd.weight F32 4 noise'
	} | mkmodel >a.gguf
	[ "$(kind a.gguf)" = 'qwen2moe 0.00K ' ]
	sed 's/ string .*/ string own/' <<<'key general.architecture string x' | mkmodel >b.gguf
	[ "$(kind b.gguf)" = 'own unknown ' ]
	apr-header -l "$model" | awk '{ print "tensor", $1, $2, $3, "noise" }' | mkmodel >bare.gguf
	[ "$(kind bare.gguf)" = 'llama 2.3M ' ]
	apr-pack -t apr2-64 -o m.64 "$model" 2>/dev/null
	[ "$(kind m.64)" = "$(kind "$model")" ]
	apr-pack -t apr2 -o m.apr bare.gguf 2>/dev/null
	[ "$(kind m.apr)" = 'llama 2.3M ' ]
	# A signature does not cover the container's own description, but it covers names.
	apr-keygen -W -o key 2>/dev/null
	apr-sign key bare.gguf >signed 2>/dev/null
	[ "$(kind signed)" = 'llama 2.3M ' ]
}

@test "Q-14: --quantization: type, block, bits per weight, original types" {
	apr-unpack "$model" | apr-quant q4_0 2>/dev/null | apr-pack -t gguf -f -o q.gguf
	try apr-header --quantization --json q.gguf
	quiet
	grep -q '^{"type":"Q4_0","block_values":32,"block_bytes":18,"bits_per_weight":4.7' "$out"
	grep -qF '"original":["BF16"]' "$out"
	try apr-header --quantization "$model"
	quiet
	grep -qx 'original          unknown' "$out"
	try apr-header --quantization -l "$model"
	said 2 'only one of'
}

@test "--context: the cache is as large as apr-run allocates it" {
	# 3 layers, 4 key and value heads of 32, 100 positions in columns of 32
	try apr-header --context 100 "$model"
	quiet
	grep -q "^cache_bytes  *$((3 * 4 * 128 * 64 * 2)) " "$out"
	grep -q "^cache_bytes_f32  *$((3 * 4 * 128 * 64 * 4)) " "$out"
	grep -q "^cache_bytes_q8_0  *$((3 * 4 * 128 * (64 + 4))) " "$out"
	try apr-header --context 0 --json "$model"
	grep -qF '"context":256,' "$out"
}

@test "V-03: --full: facts, whole values of all keys, and tensors" {
	mothers
	# A value in a blob, and one of more items than are shown otherwise.
	apr-header --full mother.apr >full
	diff <(sed '/^metadata/,$d' full) <(apr-header mother.apr | sed '/^metadata/,$d')
	diff <(sed -n '/^a.weight/,$p' full) <(apr-header -l mother.apr)
	grep -Eqx '  a.nested +array:array:u8 +\[\[.*\]\]' full
	[ "$(sed -n 's/^  a.long *array:u32 *//p' full)" = "$(apr-meta get a.long mother.apr)" ]
	apr-header --full --json mother.apr >full.json
	objects <full.json
	[ "$(wc -l <full.json)" -eq 1 ]
	[ "$(jq -c '.tensor_list[]' full.json)" = "$(apr-header -l --json mother.apr | jq -c .)" ]
	[ "$(jq '.metadata | length' full.json)" -eq 34 ]
	[ "$(jq -c '.metadata[] | select(.[0] == "a.long")[2]' full.json)" = \
		"$(apr-meta get a.long mother.apr)" ]
	for f in mother.gguf mother.64 mother.aprs; do
		[ "$(apr-header --full --json $f | jq -c .metadata)" = "$(jq -c .metadata full.json)" ] ||
			fail "$f"
	done
}

@test "V-03: --vocab: id, type, score and text, of keys, files and folders" {
	mkmodel >spm.gguf <<-'END'
		key general.architecture string rwkv6
		key tokenizer.ggml.model string rwkv
		key tokenizer.ggml.tokens array:string <unk> a\x1b[2J b\xff \xe2\x96\x81
		key tokenizer.ggml.token_type array:i32 2 1 6 3
		key tokenizer.ggml.scores array:f32 0 -1.5 0.1 -inf
		tensor token_embd.weight F32 8x64 noise
	END
	try apr-header --vocab spm.gguf
	quiet
	printf '%s\t%s\t%s\t%s\n' 0 unknown 0 '<unk>' 1 normal -1.5 'a\x1b[2J' \
		2 byte 0.100000001 'b\xff' 3 control -inf '▁' | diff - "$out"
	apr-header --vocab --json spm.gguf | diff - <(printf '%s\n' \
		'{"id":0,"type":"unknown","score":0,"text":"<unk>"}' \
		'{"id":1,"type":"normal","score":-1.5,"text":"a\u001B[2J"}' \
		'{"id":2,"type":"byte","score":0.100000001,"bytes":"62ff"}' \
		'{"id":3,"type":"control","score":null,"text":"▁"}')
	apr-header --vocab --json spm.gguf spm.gguf | tail -n 1 | grep -q ',"model":"spm.gguf"}$'
	apr-unpack spm.gguf | apr-header --vocab | diff - "$out"
	# A list of texts in the metadata of an .apr file.
	mkmodel <<<'key vocab array:string one two' >list.gguf
	[ "$(apr-header --vocab list.gguf | cut -f 4 | tr '\n' ' ')" = 'one two ' ]
	mkmodel <<<'key tokenizer.ggml.tokens array:string one two' >list.gguf
	apr-header list.gguf | grep -Eqx 'vocab_size +2'
	apr-header "$model" | grep -Eqx 'vocab_size +1024'
	{ echo 'key general.architecture string x' && echo 'key x.vocab_size u32 7'; } | mkmodel >list.gguf
	apr-header list.gguf | grep -Eqx 'vocab_size +7'
	# Files beside the weights, and alone.
	mkdir folder
	echo '{"model":{"type":"Unigram","vocab":[["<unk>",0],["x",-2.25]],"unk_id":0},' \
		'"added_tokens":[{"id":2,"content":"<s>","special":true}]}' >tokenizer.json
	printf '%s\n' '0	unknown	0	<unk>' '1	normal	-2.25	x' '2	control	0	<s>' >want
	apr-header --vocab tokenizer.json | diff - want
	mkmodel <<<'tensor a.weight F32 4 noise' >a.gguf
	apr-pack -t safetensors -o folder/model.safetensors a.gguf 2>/dev/null
	echo '{"model_type":"unknown"}' >folder/config.json
	printf 'one\n##two\n' >folder/vocab.txt
	[ "$(apr-header --vocab folder | cut -f 4 | tr '\n' ' ')" = 'one ##two ' ]
	echo '{"b":1,"a":0}' >folder/vocab.json
	[ "$(apr-header --vocab folder | cut -f 4 | tr '\n' ' ')" = 'a b ' ]
	cp tokenizer.json folder
	apr-header --vocab folder | diff - want
	try apr-header --vocab a.gguf
	said 4 'has no vocabulary (E001)'
	# The same list as JSON.
	[ "$(apr-unpack a.gguf | apr-meta set 'vocab:json=["a","b\n"]' | apr-header --vocab |
		cut -f 4 | tr '\n' ' ')" = 'a b\x0a ' ]
	try_pipe "apr-unpack a.gguf | apr-meta set 'vocab:json={\"a\":1}' | apr-header --vocab"
	said 4 'vocab: is not a list (E002)'
}

@test "V-03: --filters: the mel bank of a tensor, a key, or a file" {
	mkmodel >mel.gguf <<-'END'
		tensor first.weight F32 8x64 noise
		tensor audio.mel_filterbank F32 3x6 values 0 1 2 0 0 0 0 0 0 0 0 0 0 0 0.5 0.25 0 nan
	END
	try apr-header --filters mel.gguf
	quiet
	diff - "$out" <<-END
		# tensor audio.mel_filterbank: 3 bands of 6 bins
		   0     1     2            2 | +@   |
		   1     -     -            0 |      |
		   2     2     5          0.5 |  @+  |
	END
	apr-header --filters --json mel.gguf | tail -n 1 | grep -qxF \
		'{"band":2,"first":2,"last":5,"values":[0.0,0.0,0.5,0.25,0.0,null]}'
	apr-unpack mel.gguf | apr-header --filters | diff - "$out"
	# A key, whose rows are the bins here.
	mkmodel >key.gguf <<-END
		key mel_filterbank array:f32 1 2 3 4 5 6
		key mel_filterbank_shape array:u32 3 2
		tensor a.weight F32 4 noise
	END
	[ "$(apr-header --filters --json key.gguf | jq -c .values | tr '\n' ' ')" = \
		'[1,3,5] [2,4,6] ' ] || fail "$(apr-header --filters --json key.gguf)"
	mkmodel <<-END >bad.gguf
		key mel_filterbank array:f32 1 2 3
		key mel_filterbank_shape array:u32 3 2
	END
	try apr-header --filters bad.gguf
	said 4 'does not have the values of its shape (E002)'
	mkdir folder
	mkmodel <<<'tensor a.weight F32 4 noise' >a.gguf
	apr-pack -t safetensors -o folder/model.safetensors a.gguf 2>/dev/null
	echo '{"model_type":"unknown"}' >folder/config.json
	echo '{"mel_filters":[[0,1],[2,3],[4,5]]}' >folder/preprocessor_config.json
	[ "$(apr-header --filters --json folder | jq -c .values | tr '\n' ' ')" = '[0,2,4] [1,3,5] ' ]
	try apr-header --filters a.gguf
	said 1 'has no mel filters'
}

@test "V-02: type and vocabulary of a model of speech" {
	need_data
	try apr-header "$APR_TEST_DATA/import/ggml/for-tests-ggml-tiny.bin"
	quiet
	grep -Eqx 'type +Whisper' "$out"
	grep -Eqx 'vocab_size +51865' "$out"
	apr-header --filters "$APR_TEST_DATA/import/ggml/for-tests-ggml-tiny.bin" |
		grep -qx '# tensor audio.mel_filterbank: 80 bands of 201 bins'
	apr-unpack "$APR_TEST_DATA/import/ggml/for-tests-ggml-tiny.bin" |
		apr-pack -t apr1 --model-type NEURAL_CUSTOM -o whisper.apr 2>/dev/null
	apr-header whisper.apr | grep -Eqx 'type +NEURAL_CUSTOM \(Whisper\)'
}
