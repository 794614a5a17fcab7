# apr-quant: types from a shared library, and a command that is asked for types
load ../helper

setup_file() {
	export PLUGINS=$BATS_FILE_TMPDIR
	cd "$PLUGINS" || return
	build my4.so <"$root/tests/plugin/my4.c"
	declare_plugin 2 MY5 32 20 >version.c
	declare_plugin 1 my5 32 20 >lower.c
	declare_plugin 1 Q8_0 32 34 >known.c
	declare_plugin 1 MY5 33 20 >block.c
	declare_plugin 1 MY5 32 0 >bytes.c
	echo 'int nothing;' >empty.c
	for name in version lower known block bytes empty; do
		build $name.so <$name.c
	done
}

build() {
	"${CC:-cc}" -std=c11 -Wall -Wextra -Werror -shared -fPIC -O2 -ffp-contract=off \
		-I "$root/lib/quant" -x c -o "$1" - -lm
}

declare_plugin() {
	cat <<-END
		#include "apr_plugin.h"
		static void e(const float *x, unsigned char *y, size_t n) { (void)x; (void)y; (void)n; }
		static void d(const unsigned char *x, float *y, size_t n) { (void)x; (void)y; (void)n; }
		const struct apr_plugin apr_plugin = { $1, "$2", $3, $4, e, d };
	END
}

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	PATH=$PATH:$APR_GEN
	export APR_LOG_LEVEL=error
	my4=$PLUGINS/my4.so
}

digests_of() {
	digests <"$1" | sort
}

@test "--plugin: its type is TYPE, and a rule's, and goes through every container" {
	local format
	apr-quant --plugin "$my4" my4 "$model" >made
	[ "$(apr-header -l made | awk '$2 == "MY4[32,20]"' | wc -l)" -eq 23 ]
	apr-header -l made | grep -q 'output.weight .* 163840$'
	for format in apr2 gguf safetensors; do
		apr-pack -t $format made >packed
		apr-unpack packed >back
		cmp <(digests_of made) <(digests_of back)
		# Packed once more it is the same file.
		apr-pack -t $format packed | cmp - packed
	done
	apr-quant q8_0 --plugin "$my4" --tensor-type ffn_up=MY4 "$model" | apr-header -l >types
	[ "$(grep -c 'ffn_up.*MY4\[32,20\]' types)" -eq 3 ]
	apr-keygen -W -o key >id
	pipe "apr-sign key made | apr-pack | apr-unpack - | apr-verify -q key.pub"
}

@test "--plugin: values come back, on any number of threads" {
	apr-quant --plugin "$my4" my4 -j 1 --check "$model" 2>check >one
	apr-quant --plugin "$my4" my4 -j 7 "$model" | cmp - one
	awk '$1 == "all" { ok = $6 > 0.05 && $6 < 0.15 } END { exit !ok }' check || fail "$(cat check)"
	apr-quant --plugin "$my4" f32 one >back
	apr-quant f32 "$model" >all
	diff <(apr-header -l back) <(apr-header -l all)
	# Nine in ten values within a tenth of the largest.
	apr-get --text --slice 0,:4 blk.0.attn_q.weight back >a
	apr-get --text --slice 0,:4 blk.0.attn_q.weight all >b
	paste -d' ' a b | awk '{ for (i = 1; i <= 4; i++) { d = $i - $(i + 4); if (d * d > 1e-3) exit 1 } }'
}

@test "without the plugin its tensors pass, and are not computed" {
	apr-quant --plugin "$my4" my4 "$model" >made
	try apr-quant q8_0 made
	said 4 'MY4[32,20] cannot be decoded here'
	try apr-get --text output.weight made
	said 4 'has no decoder'
	apr-stats made | grep 'output.weight' | grep -q 'MY4'
	try apr-quant my4 "$model"
	said 2 'my4 is not a type'
	apr-quant --plugin "$my4" --list | grep -Eq '^MY4\[32,20\] +32 +20 +5 +yes +yes$'
}

@test "--plugin: what is none is refused by name" {
	local name
	try apr-quant --plugin nothing.so q8_0 "$model"
	said 3 'nothing.so: cannot be opened'
	echo text >text.so
	try apr-quant --plugin text.so q8_0 "$model"
	said 4 'text.so: is not a shared library'
	try apr-quant --plugin "$PLUGINS/empty.so" q8_0 "$model"
	said 4 'has no structure apr_plugin'
	try apr-quant --plugin "$PLUGINS/version.so" q8_0 "$model"
	said 4 'is for version 2 of the plugin interface, not 1'
	for name in lower known block bytes; do
		try apr-quant --plugin "$PLUGINS/$name.so" q8_0 "$model"
		said 4 'does not define a type'
	done
	try apr-quant --plugin "$my4" --plugin "$my4" my4 "$model"
	said 4 'the type MY4[32,20], which there is already'
	# A name without a slash is a file here, not a library of the system.
	cp "$my4" libm.so.6
	apr-quant --plugin libm.so.6 my4 "$model" >/dev/null
}

@test "--hook is asked for each tensor that may change, and its answer counts" {
	cat >hook <<-'END'
		#!/bin/sh
		echo "$1 $2 $3 $4" >>asked
		case $1 in
		*ffn_up*) echo q8_0 ;;
		*attn_q*) echo keep ;;
		*attn_k*) echo ' F16 and why' ;;
		esac
	END
	chmod +x hook
	apr-quant q4_0 --hook ./hook "$model" >made
	apr-header -l made >types
	[ "$(grep -c 'ffn_up.* Q8_0 ' types)" -eq 3 ]
	[ "$(grep -c 'attn_q.* BF16 ' types)" -eq 3 ]
	[ "$(grep -c 'attn_k.* F16 ' types)" -eq 3 ]
	[ "$(grep -c ' Q4_0 ' types)" -eq 13 ]
	[ "$(wc -l <asked)" -eq 23 ]
	grep -qx 'output.weight 1024x256 BF16 Q6_K' asked
	apr-header made | grep -q 'quantization.rules .*--hook'
	apr-quant -n --json q4_0 --hook ./hook "$model" | grep 'ffn_up' | grep -c '"rule":"--hook"' | grep -qx 3
	# A dry run shows what a run does, here too.
	apr-quant -n --json q4_0 --hook ./hook "$model" |
		sed 's/.*"name":"\([^"]*\)".*"to":"\([^"]*\)".*"bytes":\([0-9]*\).*/\1 \2 \3/' |
		diff - <(awk '{ print $1, $2, $NF }' types)
	# The model on standard input is not the hook's.
	apr-unpack "$model" | apr-quant q4_0 --hook 'cat; true' | cmp - <(
		apr-quant q4_0 --hook : "$model")
}

@test "--hook: a name is an argument, whatever is in it; rows that do not fit fall back" {
	mkmodel <<-'END' >odd.gguf
		tensor $(touch\sowned);.weight F32 2x32 noise
		tensor b.weight F32 2x44 noise
	END
	apr-quant q4_0 --hook 'printf "%s\n" q8_0 #' --fallback warn odd.gguf | apr-header -l >types
	grep -q 'touch owned.* Q8_0 ' types
	grep -q 'b.weight.* F16 ' types
	[ ! -e owned ]
}

@test "--hook: no type, no command, no success" {
	try apr-quant q4_0 --hook 'echo q9_9 #' "$model"
	said 2 'the hook printed q9_9, which is not a type'
	try apr-quant q4_0 --hook 'exit 3 #' "$model"
	said 1 'token_embd.weight: the hook failed with status 3'
	try apr-quant q4_0 --hook ./nothing-there -o made "$model"
	[ "$status" -eq 1 ]
	grep -q 'the hook failed with status 127' "$err"
	[ ! -e made ]
	try apr-quant q4_0 --hook 'kill -9 $$ #' "$model"
	said 1 'with status 137'
	try apr-quant q4_0 --hook 'yes | head -c 100000 #' "$model"
	[ "$status" -ne 0 ]
}

@test "--hook: its process ends with the run, also where a FILE is never read" {
	try timeout 20 apr-quant q9_9 --hook : --imatrix "$root/tests/data/imatrix.gguf" "$model"
	said 2 'q9_9 is not a type'
	try timeout 20 apr-quant q8_0 --hook : --imatrix nothing.gguf "$model"
	said 3 'nothing.gguf'
}

@test "a plugin and a program may be written in C++" {
	local cxx
	if command -v c++ >/dev/null; then
		cxx=(c++)
	elif command -v clang >/dev/null; then
		cxx=(clang -x c++)
	else
		skip "no C++ compiler"
	fi
	declare_plugin 1 MY5 32 128 | sed 's/{ (void)x.*n; }/{ __builtin_memcpy(y, x, 4 * n); }/' >my5.cc
	"${cxx[@]}" -std=c++11 -Wall -Wextra -Werror -shared -fPIC \
		-I "$root/lib/quant" -o my5.so my5.cc
	mkmodel <<-'END' >f32.gguf
		tensor wide.weight F32 2x64 ramp
	END
	apr-unpack f32.gguf >f32.aprs
	apr-quant --pure --plugin ./my5.so my5 f32.aprs >my5.aprs
	apr-quant --plugin ./my5.so --pure --allow-requantize f32 my5.aprs >back.aprs
	diff <(digests_of f32.aprs) <(digests_of back.aprs)
	echo '#include "aprml.h"' >program.cc
	"${cxx[@]}" -std=c++11 -Wall -Wextra -Werror -fsyntax-only \
		-I "$root/lib/api" program.cc
}
