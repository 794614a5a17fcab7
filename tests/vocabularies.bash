# vocabularies: small vocabularies, as descriptions for mkmodel. Loaded by "load vocabularies".
# shellcheck shell=bash

# The letters of byte-level vocabularies, in the order of the bytes, in the spelling of
# mkmodel: printable bytes stand for themselves, the others are U+0100 and up.
letters() {
	local b c unseen=0
	set +T # bats traces each command
	for ((b = 0; b < 256; b++)); do
		if ((b > 32 && b < 127 || b > 160 && b != 173)); then
			c=$b
		else
			c=$((256 + unseen++))
		fi
		if ((c < 128)); then
			printf ' \\x%02x' $c
		else
			printf ' \\x%02x\\x%02x' $((192 | c >> 6)) $((128 | c & 63))
		fi
	done
}

# bpe PRE: a byte-level vocabulary: all bytes, and a few merges of them.
bpe() {
	[ -e "$BATS_FILE_TMPDIR/letters" ] || letters >"$BATS_FILE_TMPDIR/letters"
	printf 'key general.architecture string llama\nkey tokenizer.ggml.model string gpt2\n'
	[ -z "$1" ] || printf 'key tokenizer.ggml.pre string %s\n' "$1"
	printf 'key tokenizer.ggml.tokens array:string%s th the he er \\xc4\\xa0t 12 123 <|im_end|>\n' \
		"$(<"$BATS_FILE_TMPDIR/letters")"
	printf 'key tokenizer.ggml.token_type array:i32'
	printf ' 1%.0s' {1..263}
	printf ' 3\n'
	printf 'key tokenizer.ggml.merges array:string t\\sh th\\se h\\se e\\sr \\xc4\\xa0\\st 1\\s2 12\\s3\n'
}

# spm: a SentencePiece vocabulary with scores.
spm() {
	local i
	printf 'key general.architecture string llama\nkey tokenizer.ggml.model string llama\n'
	printf 'key tokenizer.ggml.tokens array:string <unk> <s> </s>'
	for ((i = 0; i < 256; i++)); do
		printf ' <0x%02X>' $i
	done
	printf ' \\xe2\\x96\\x81 a b c ab bc \\xe2\\x96\\x81a \\xe2\\x96\\x81ab abc \\xc3\\xa9 <user>\n'
	printf 'key tokenizer.ggml.scores array:f32'
	printf ' 0%.0s' {1..259}
	printf ' -9 -8 -7 -6 -2 -1 -3 -4 -5 -10 0\n'
	printf 'key tokenizer.ggml.token_type array:i32 2 3 3'
	printf ' 6%.0s' {1..256}
	printf ' 1%.0s' {1..10}
	printf ' 4\n'
	printf 'key tokenizer.ggml.bos_token_id u32 1\nkey tokenizer.ggml.eos_token_id u32 2\n'
}

# wpm: a WordPiece vocabulary.
wpm() {
	printf 'key general.architecture string bert\nkey tokenizer.ggml.model string bert\n'
	printf 'key tokenizer.ggml.tokens array:string [PAD] [UNK] [CLS] [SEP] \\xe2\\x96\\x81un'
	printf ' aff able \\xe2\\x96\\x81, \\xe2\\x96\\x81a \\xe2\\x96\\x81\\xe4\\xb8\\xad\n'
	printf 'key tokenizer.ggml.token_type array:i32 3 3 3 3 1 1 1 1 1 1\n'
	printf 'key tokenizer.ggml.cls_token_id u32 2\nkey tokenizer.ggml.unknown_token_id u32 1\n'
	printf 'key tokenizer.ggml.seperator_token_id u32 3\n'
}

# ids WANT MODEL TEXT ARG…: encoding TEXT prints WANT and nothing else.
ids() {
	local want=$1 model=$2 text=$3
	shift 3
	try apr-tok encode "$@" --text "$text" "$model"
	quiet
	[ "$(cat "$out")" = "$want" ] || fail "$text: $(cat "$out")" "not: $want"
}
