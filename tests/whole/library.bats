# libaprml for other programs: its names and layouts, the shared library, the examples of section 3
load ../helper
load ../library/library

# One installation for all tests.
setup_file() {
	dest=$BATS_FILE_TMPDIR/dest
	run_make install
}

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	need_library
	dest=$BATS_FILE_TMPDIR/dest
	lib=$dest/opt/apr/lib
}

# compile OUTPUT COMPILER... SOURCE: with the flags of pkg-config for the shared library.
compile() {
	local output=$1
	# shellcheck disable=SC2046
	"${@:2}" -Wall -Wextra -Wpedantic -Werror -o "$output" -x none $(flags_of) $(mode_flags)
}

# Prints the versions and names that the shared library exports.
exported() {
	nm -D --defined-only --with-symbol-versions "$lib/libaprml.so" |
		awk '$2 == "T" || $2 == "A" { print $2 == "A" ? "version" : "name", $3 }' |
		grep -v -e '__\(asan\|odr_asan\|gcov\|gcda\)' | sort
}

# The functions of the headers.
functions() {
	grep -oh '\<aprml_[a-z_0-9]*(' "$root"/lib/api/aprml*.h | tr -d '(' | sort -u
}

@test "the ABI is the one that programs were linked with: versions, names, layouts, numbers" {
	compile abi "${CC:-cc}" -std=c11 -x c "$root/tests/library/abi.c"
	{
		readelf -d "$lib/libaprml.so" | sed -n 's/.*soname: \[\(.*\)\]/soname \1/p'
		exported
		LD_LIBRARY_PATH=$lib ./abi
	} >abi.now
	[ "$(uname -m)" = x86_64 ] || sed -i '/^aprml_/d' abi.now
	diff <([ "$(uname -m)" = x86_64 ] && cat "$root/tests/library/aprml.abi" ||
		sed '/^aprml_/d' "$root/tests/library/aprml.abi") abi.now
	# Nothing of the header is missing there.
	sed -n 's/^struct \(aprml_[a-z]*\) {/\1/p' "$root"/lib/api/aprml*.h >structs
	[ "$(wc -l <structs)" -ge 4 ]
	while read -r name; do
		grep -q "^$name " abi.now || fail "$name"
	done <structs
	functions | diff - <(sed -n 's/^name \([^@]*\)@.*/\1/p' abi.now)
}

@test "shared and static: what pkg-config gives links and runs" {
	cat >version.c <<-'END'
		#include <aprml/aprml.h>
		#include <stdio.h>

		int
		main(void)
		{
			puts(aprml_version());
			return 0;
		}
	END
	compile shared "${CC:-cc}" -std=c11 -x c version.c
	readelf -d shared | grep -q 'NEEDED.*\[libaprml.so.0\]'
	[[ $(flags_of) != *zstd* ]]
	[ "$(LD_LIBRARY_PATH=$lib ./shared)" = "$(apr-unpack --version | sed -n '1s/.* //p')" ]
	[ "$(readlink "$lib/libaprml.so")" = "$(readlink "$lib/libaprml.so.0")" ]
	# The static one, and a program without any shared library.
	[[ $(flags_of --static) == *zstd* ]]
	# shellcheck disable=SC2046
	${CC:-cc} -std=c11 -o static version.c $(flags_of --static) $(mode_flags)
	readelf -d static | grep -q libaprml && return 1
	./static | grep -qx "$(LD_LIBRARY_PATH=$lib ./shared)"
	[ "$mode" = release ] || return 0
	# shellcheck disable=SC2046
	${CC:-cc} -std=c11 -static -o alone version.c $(flags_of --static)
	readelf -d alone | grep -q NEEDED && return 1
	./alone | diff - <(./static)
}

# page_program NAME SUFFIX: the program NAME of a page of section 3, into NAME.SUFFIX.
page_program() {
	sed -e 's/\\e/\\/g' -e 's/\\&//g' -e 's/\\-/-/g' "$root"/man/aprml*.3 |
		sed -n "/^\(\/\*\|#\) $1:/,/^\.Ed/p" | sed '$d' >"$1.$2"
	[ -s "$1.$2" ]
}

# Calls a command for each compiler and language.
each_compiler() {
	local cc found=0
	for cc in "gcc -std=c11 -x c" "clang -std=c11 -x c" "g++ -std=c++17 -x c++" "clang++ -std=c++17 -x c++"; do
		# A sanitizer's library goes with the compiler that made the tools.
		[[ $mode == release || $cc == g* ]] || continue
		command -v "${cc%% *}" >/dev/null || continue
		found=$((found + 1))
		"$@" "$cc"
	done
	[ "$found" -ge 2 ]
}

peek_runs() {
	# shellcheck disable=SC2086
	compile peek $1 peek.c
	./peek "$model" token_embd.weight >said
	[ "$(head -n 1 said)" = 'token 0: !' ]
	[ "$(tail -n 1 said | cut -d' ' -f1 | awk '{ printf "%.4g", $1 }')" = "$(apr-get --text \
		--slice 0,0 token_embd.weight "$model" | awk '{ printf "%.4g", $1 }')" ]
	run ./peek "$model" no.such.tensor
	[ "$status" -eq 1 ] && [[ $output == *'peek: no such tensor'* ]]
}

part_runs() {
	# shellcheck disable=SC2086
	compile part $1 part.c
	./part "$model" output_norm.weight >said
	[ "$(cut -d' ' -f1 said)" = "$(apr-get --text --slice 0 output_norm.weight "$model" |
		awk '{ printf "%.6g", $1 }')" ] || fail "$(cat said)"
	[[ $(cat said) == *", 65552 of $(stat -c %s "$model") bytes" ]] || fail "$(cat said)"
}

@test "aprml(3): the examples compile as C11 and C++17 and run; each function stands there" {
	local name
	export LD_LIBRARY_PATH=$lib
	for name in "$root"/man/aprml*.3; do
		cmp "$dest/opt/apr/share/man/man3/${name##*/}" "$name"
	done
	page_program peek c
	each_compiler peek_runs
	page_program part c
	each_compiler part_runs
	for name in $(functions); do
		grep -q "^\.Fn $name " "$root"/man/aprml*.3 || fail "$name"
	done
}

say_runs() {
	# shellcheck disable=SC2086
	compile say $1 say.c
	./say "$model" 'ROMEO:' >said
	apr-run -n 40 -p 'ROMEO:' "$model" | diff said -
	run ./say "$root/tests/tools/apr-predict.bats" x
	[ "$status" -eq 1 ] && [[ $output == say:* ]]
}

row_runs() {
	# shellcheck disable=SC2086
	compile row $1 row.c
	[ "$(./row v.txt 1 0)" = 10 ]
	[ "$(./row v.txt 1 1)" = 20.25 ]
	run ./row v.txt 1
	[ "$status" -eq 1 ] && [ "$output" = 'row: 2 numbers are needed' ]
}

@test "aprml_run(3), aprml_predict(3): the examples compile as C11 and C++17 and run" {
	export LD_LIBRARY_PATH=$lib
	printf '%s\n' tree num_class=1 num_tree_per_iteration=1 max_feature_idx=1 objective=regression \
		'feature_names=a b' '' Tree=0 num_leaves=2 num_cat=0 split_feature=1 threshold=0.5 \
		decision_type=10 left_child=-1 right_child=-2 'leaf_value=10 20.25' '' 'end of trees' >v.txt
	page_program say c
	each_compiler say_runs
	page_program row c
	each_compiler row_runs
}

small_runs() {
	# shellcheck disable=SC2086
	compile small $1 small.c
	rm -f small.gguf
	./small "$model" q4_0 small.gguf >said
	printf '%s\n' 'score 100' '4594688 bytes of tensors' | diff said -
	apr-quant q4_0 "$model" 2>/dev/null | apr-pack -t gguf | cmp - small.gguf
	run ./small "$model" q4_0 small.gguf
	[ "$status" -eq 1 ] && [[ $output == *'small: small.gguf: exists already'* ]]
}

build_runs() {
	# shellcheck disable=SC2086
	compile build $1 build.c
	[ "$(./build)" = '6 in author' ]
}

trust_runs() {
	# shellcheck disable=SC2086
	compile trust $1 trust.c
	rm -f sealed.apr
	[ "$(./trust "$model" sealed.apr)" = 'example, 30 tensors' ]
	run ./trust "$model" sealed.apr
	[ "$status" -eq 1 ] && [[ $output == 'trust: sealed.apr: exists already'* ]]
}

@test "aprml_make(3), aprml_trust(3): the examples compile as C11 and C++17 and run" {
	export LD_LIBRARY_PATH=$lib
	page_program small c
	each_compiler small_runs
	page_program build c
	each_compiler build_runs
	page_program trust c
	each_compiler trust_runs
}

# rustc, which rustup finds by the user's own folder.
rust() {
	HOME=$(getent passwd "$(id -u)" | cut -d: -f6) rustc "$@"
}

@test "aprml_run(3): the examples in Python and Rust generate text" {
	[ "$mode" = release ] || skip "a sanitizer's library comes with the program"
	local found=0
	export LD_LIBRARY_PATH=$lib
	apr-run -n 40 -p 'ROMEO:' "$model" >expected
	if command -v python3 >/dev/null; then
		page_program tell py
		python3 tell.py "$model" 'ROMEO:' | diff - expected
		run python3 tell.py missing.gguf x
		[ "$status" -eq 1 ] && [[ $output == 'tell: missing.gguf: cannot be opened'* ]]
		found=1
	fi
	if rust --version >/dev/null 2>&1; then
		page_program go rs
		rust --edition 2021 -L "$lib" -l aprml go.rs
		./go "$model" 'ROMEO:' | diff - expected
		run ./go missing.gguf x
		[ "$status" -eq 1 ] && [[ $output == 'go: missing.gguf: cannot be opened'* ]]
		found=1
	fi
	[ $found = 1 ] || skip "neither python3 nor rustc"
}

@test "aprml(3): the example in Python runs" {
	[ "$mode" = release ] || skip "a sanitizer's library comes with the program"
	command -v python3 >/dev/null || skip "no python3"
	export LD_LIBRARY_PATH=$lib
	page_program look py
	[ "$(python3 look.py "$model" token_embd.weight)" = "$(apr-get --text --slice 0,0:4 \
		token_embd.weight "$model" | xargs printf '%g %g %g %g\n')" ]
	run python3 look.py "$model" no.such.tensor
	[ "$status" -eq 1 ] && [ "$output" = 'look: no such tensor' ]
	run python3 look.py missing.gguf token_embd.weight
	[ "$status" -eq 1 ] && [[ $output == 'look: missing.gguf: cannot be opened'* ]]
}

@test "aprml: a model by its name, in memory and by ranges: the same, in each format" {
	export LD_LIBRARY_PATH=$lib
	local f
	compile slices "${CC:-cc}" -std=c11 -x c "$root/tests/library/slices.c"
	apr-unpack "$model" >m.aprs
	apr-quant q4_0 m.aprs >q.aprs
	apr-pack -t gguf -o q.gguf q.aprs
	apr-pack -z zstd -o q.apr q.aprs
	for f in safetensors apr1 apr2-64; do
		apr-pack -t $f -o m.$f m.aprs 2>/dev/null
	done
	./slices same "$model" m.aprs q.aprs q.gguf q.apr m.safetensors m.apr1 m.apr2-64
	[ ! -d "$APR_TEST_DATA/import" ] || ./slices same "$APR_TEST_DATA"/import/numpy/mel_filters.npz \
		"$APR_TEST_DATA"/import/keras/ad01.h5 "$APR_TEST_DATA"/import/pytorch/crepe-tiny.pth \
		"$APR_TEST_DATA"/import/coreml/MNIST_swiftbrain.mlmodel
	# A cut file is refused in each way.
	head -c 3000000 "$model" >cut.gguf
	run ./slices same cut.gguf
	[ "$status" -eq 1 ]
}

@test "aprml_open_ranges: 1000 tensors of a file of 100 GB, and no byte beside them" {
	export LD_LIBRARY_PATH=$lib
	local i
	compile slices "${CC:-cc}" -std=c11 -x c "$root/tests/library/slices.c"
	for ((i = 0; i < 2000; i++)); do
		echo "tensor t$i F32 $((i % 2 ? 1 : 1000))x25000 hole"
	done | PATH=$PATH:$APR_GEN mkmodel 2>why >big.gguf || skip "no sparse file of 100 GB here: $(cat why)"
	[ "$(stat -c %s big.gguf)" -gt 100000000000 ]
	# The header has some 80 KB, and is read in steps of 64 KiB.
	./slices random big.gguf 1000 >said
	sed 's/^/# /' said >&3
	[ "$(awk '{ print $2 }' said)" -le $((2 * 65536)) ]
}

@test "aprml_view: a tensor of a file of 2 GB within 2 ms" {
	[ "$mode" = release ] || skip "timed without sanitizers"
	export LD_LIBRARY_PATH=$lib
	compile slices "${CC:-cc}" -std=c11 -x c "$root/tests/library/slices.c"
	for ((i = 0; i < 200; i++)); do
		echo "tensor blk.$i F32 100x25000 hole"
	done | PATH=$PATH:$APR_GEN mkmodel >two.gguf
	[ "$(stat -c %s two.gguf)" -gt 2000000000 ]
	# "view 0.101 ms, parsed 156.4 ms, 1550 times", of CPU time
	./slices parse two.gguf >said
	sed 's/^/# /' said >&3
	awk '{ exit !($2 < 2 && $7 > 100) }' said || fail "$(cat said)"
}

@test "kernels, models and inference are closed: each links without the rooms above it" {
	[ "$mode" = release ] || skip "once is enough"
	run_make closed
	readelf -d "$root/build/release/closed/kernels" | grep NEEDED >needed
	! grep -v -e 'lib[cm]\.so' -e 'ld-linux' needed
	! readelf -d "$root/build/release/closed/run" | grep NEEDED | grep -e crypto -e sodium -e curl
	# It would not link otherwise.
	run run_make CLOSED_RUN='core model infer arch' CLOSED_IN="$BATS_TEST_TMPDIR" closed
	[ "$status" -ne 0 ]
	grep -q 'undefined reference.*dot_product' <<<"$output"
}
