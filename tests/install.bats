# make install, the library, completions
load helper

# The mode that is under test: build/MODE/bin.
mode=release
[[ $APR_BIN != */build/*/bin ]] || mode=$(basename "$(dirname "$APR_BIN")")

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	dest=$BATS_TEST_TMPDIR/dest
}

# make, apart from one that may run these tests.
run_make() {
	env -u MAKEFLAGS -u MAKELEVEL -u MFLAGS make -s -C "$root" MODE="$mode" \
		DESTDIR="$dest" PREFIX=/opt/apr "$@"
}

left() {
	find "$dest" ! -type d
}

@test "make install: everything, with the modes it needs" {
	local tool
	run_make install
	for tool in "$root"/bin/*.c; do
		tool=$(basename "$tool" .c)
		cmp "$dest/opt/apr/bin/$tool" "$APR_BIN/$tool"
		[ -x "$dest/opt/apr/bin/$tool" ]
		cmp "$dest/opt/apr/share/man/man1/$tool.1" "$root/man/$tool.1"
		cmp "$dest/opt/apr/share/bash-completion/completions/$tool" \
			"$root/completions/apr-tools.bash"
	done
	cmp "$dest/opt/apr/share/man/man5/apr-stream.5" "$root/man/apr-stream.5"
	cmp "$dest/opt/apr/share/man/man7/apr.7" "$root/man/apr.7"
	cmp "$dest/opt/apr/share/zsh/site-functions/_apr-tools" "$root/completions/_apr-tools"
	# Nothing that is installed knows where it was built or what DESTDIR was.
	! find "$dest" -name '*.pc' -exec grep -q "$dest" {} + || fail "DESTDIR is in aprml.pc"
	[ -z "$(find "$dest" -type f ! -perm -444)" ]

	# Again over itself, and away: only folders stay.
	run_make install
	[ -n "$(left)" ]
	: >"$dest/opt/apr/bin/apr-of-somebody-else"
	run_make uninstall
	[ "$(left)" = "$dest/opt/apr/bin/apr-of-somebody-else" ]
	[ ! -e "$dest/opt/apr/include/aprml" ]
	run_make uninstall
}

@test "make install: folders can be chosen one by one" {
	run_make install bindir=/b libdir=/l/x includedir=/i mandir=/m datadir=/d
	[ -x "$dest/b/apr-unpack" ]
	[ -e "$dest/m/man7/apr.7" ]
	[ -e "$dest/d/zsh/site-functions/_apr-tools" ]
	[ ! -e "$dest/l" ] || grep -qx 'libdir=/l/x' "$dest/l/x/pkgconfig/aprml.pc"
	[ ! -e "$dest/opt" ]
	run_make uninstall bindir=/b libdir=/l/x includedir=/i mandir=/m datadir=/d
	[ -z "$(left)" ]
}

@test "an installed tool finds the apr-unpack beside it, whatever PATH is" {
	run_make install
	(
		cp "$model" m.gguf
		cd /
		env -i HOME="$HOME" "$dest/opt/apr/bin/apr-quant" -o "$BATS_TEST_TMPDIR/q.aprs" \
			q8_0 "$BATS_TEST_TMPDIR/m.gguf"
	) 2>/dev/null
	apr-header q.aprs | grep -q '^types .*Q8_0'
	# Through a link it finds it as well; without it, it says so.
	ln -s "$dest/opt/apr/bin/apr-sum" sum
	./sum m.gguf >/dev/null
	rm "$dest/opt/apr/bin/apr-unpack"
	try "$dest/opt/apr/bin/apr-sum" m.gguf
	said 3 'apr-unpack: reads model files for apr-sum, but cannot be run'
}

need_library() {
	[ -e "$(${CC:-cc} -print-file-name=libjansson.a)" ] ||
		skip "no static jansson: the library is not built"
}

# Compile $1.c against the installed library.
compile() {
	local flags
	flags=$(PKG_CONFIG_SYSROOT_DIR=$dest PKG_CONFIG_PATH=$dest/opt/apr/lib/pkgconfig \
		pkg-config --cflags --libs aprml)
	# The system's own libraries do not lie in DESTDIR.
	flags=${flags//$dest\/usr/\/usr}
	case $mode in
	asan) flags+=" -fsanitize=address" ;;
	ubsan) flags+=" -fsanitize=undefined" ;;
	san) flags+=" -fsanitize=address,undefined" ;;
	cov) flags+=" --coverage" ;;
	esac
	# shellcheck disable=SC2086
	${CC:-cc} -std=c11 -Wall -Wextra -Wpedantic -Werror -o "$1" "$1.c" $flags
}

@test "a program is compiled against the installed library by pkg-config" {
	need_library
	run_make install
	cat >reader.c <<-'END'
		#include <inttypes.h>
		#include <stdio.h>
		#include <string.h>

		#include <aprml/aprml.h>

		/* Names of the library's insides and of its jansson are the program's to use. */
		int buf_put(void);
		int buf_put(void) { return 1; }
		int reader_open = 2, json_loads = 3, format_open = 4;

		int
		main(int argc, char **argv)
		{
			static unsigned char bytes[3 * 1000];
			static float numbers[3000];
			struct aprml_error e;
			struct aprml *m = aprml_open(argc > 1 ? argv[1] : "-", &e);
			struct aprml_tensor t;
			uint64_t layers = 0;
			size_t i, n, count = 0;
			int more = -1;

			if (m) {
				aprml_integer(m, "llama.block_count", &layers);
				printf("%s, %" PRIu64 " layers, %zu tensors, %zu keys\n",
				       aprml_text(m, "general.architecture"), layers,
				       aprml_tensor_count(m), aprml_key_count(m));
			}
			while (m && (more = aprml_next(m, &i, &e)) > 0) {
				uint64_t all = 0;

				aprml_tensor(m, i, &t);
				printf("%s %s %u %" PRIu64 " %" PRIu64, t.name, t.type, t.ndim, t.dims[0],
				       t.bytes);
				/* Of every second tensor the bytes, of the others none. */
				while (count % 2 == 0 && aprml_read(m, bytes, sizeof bytes, &n, &e) == 0 &&
				       n > 0) {
					if (all == 0 && aprml_decode(t.type, bytes, 4, numbers, 3000) > 0)
						printf(" %.9g", (double)numbers[0]);
					all += n;
				}
				printf(count % 2 == 0 ? " %s\n" : "\n", all == t.bytes ? "whole" : "cut");
				count++;
			}
			aprml_close(m);
			if (more == 0)
				return buf_put() + reader_open + json_loads + format_open == 10 ? 0 : 9;
			printf("E%03d %s\n", e.code, e.text);
			return 1;
		}
	END
	compile reader
	./reader "$model" >said
	head -n 1 said | diff - <(echo "llama, 3 layers, 30 tensors, $(apr-header --json "$model" |
		grep -o '\["[a-z][^"]*","[a-z0-9:]*",' | wc -l) keys")
	[ "$(wc -l <said)" -eq 31 ]
	grep -qx 'token_embd.weight BF16 2 1024 524288 .* whole' said
	[ "$(grep -c 'whole$' said)" -eq 15 ]
	apr-get --text --slice 0,0 token_embd.weight "$model" >first
	[ "$(awk '/^token_embd/ { print $6 + 0 }' said)" = "$(awk '{ print $1 + 0 }' first)" ]
	# Any format; the same names.
	apr-unpack "$model" | apr-pack -o m.apr
	./reader m.apr | diff said -
	./reader <m.apr | diff said -

	run ./reader no-such-file
	[ "$status" -eq 1 ] && [[ $output == 'E007 no-such-file: cannot be opened'* ]]
	head -c 3000000 "$model" >cut.gguf
	run ./reader cut.gguf
	[ "$status" -eq 1 ] && [[ ${lines[-1]} == 'E002 '*' exceed '* ]]
	run ./reader reader.c
	[ "$status" -eq 1 ] && [[ $output == 'E001 reader.c: '* ]]
	printf '\377' | dd of=m.apr bs=1 seek=4000000 conv=notrunc status=none
	run ./reader m.apr
	[ "$status" -eq 1 ] && [[ ${lines[-1]} == 'E004 '* ]]
}

@test "the library has no names but those in its header" {
	need_library
	run_make install
	nm -g --defined-only "$dest/opt/apr/lib/libaprml.a" | awk 'NF == 3 { print $3 }' |
		grep -v '^__\(asan\|odr_asan\|gcov\|gcda\)' | sort >names
	grep -o '\<aprml_[a-z_]*(' "$dest/opt/apr/include/aprml/aprml.h" | tr -d '(' | sort -u |
		diff - names
	[ "$(wc -l <names)" -gt 10 ]
	grep -qx "Version: $(apr-unpack --version | sed 's/.* //')" \
		"$dest/opt/apr/lib/pkgconfig/aprml.pc"
	# The header needs nothing before it.
	echo '#include <aprml/aprml.h>' |
		${CC:-cc} -std=c99 -Wall -Werror -fsyntax-only -I"$dest/opt/apr/include" -x c -
}

# complete WORDS…: what bash offers for the last of them.
offered() {
	bash -c '
		source "$1"
		shift
		COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
		_apr_tools "$1" "${@: -1}" "${@: -2:1}"
		printf "%s\n" "${COMPREPLY[@]}" | sort
	' - "$root/completions/apr-tools.bash" "$@"
}

@test "bash completes the options that each tool has, and values" {
	local tool
	for tool in "$root"/bin/*.c; do
		tool=$(basename "$tool" .c)
		offered "$tool" -- | diff - <("$tool" --help |
			sed -n 's/^  .\{4\}--\([a-z0-9-]*\).*/--\1/p' | sort)
		tr '\n\t\\' ' ' <"$root/completions/apr-tools.bash" | grep -q "complete .* $tool\b"
		grep -q "^#compdef.* $tool\b" "$root/completions/_apr-tools"
	done
	[ "$(offered apr-pack --pla)" = --plain ]
	[ "$(offered apr-pack -t '' | tr '\n' ' ')" = "$(apr-pack --help |
		sed -n 's/.*\[-t \([a-z0-9|-]*\)\].*/\1/p' | tr '|' '\n' | sort | tr '\n' ' ')" ]
	[ "$(offered apr-pack --to g)" = gguf ]
	[ "$(offered apr-pack --to = g)" = gguf ]
	[ "$(offered apr-pack --align '' | tr '\n' ' ')" = '32 64 ' ]
	[ "$(offered apr-quant --fallback w)" = warn ]
	[ "$(offered apr-quant q8)" = q8_0 ]
	# Names of files: bash's own.
	[ -z "$(offered apr-sum -c '')" ]
	[ -z "$(offered apr-unpack '')" ]
	[ -z "$(offered no-such-tool --)" ]
}

@test "zsh completes the same" {
	[ -x "$(command -v zsh)" ] || skip "zsh is not installed"
	local tool
	for tool in "$root"/bin/*.c; do
		tool=$(basename "$tool" .c)
		zsh -f -c '
			fpath=($1 $fpath)
			_call_program() { shift; "$@" }
			_arguments() { print -rl -- "$@" }
			autoload -Uz _apr-tools
			words=($2 "") CURRENT=2
			_apr-tools
		' - "$root/completions" "$tool" >specs
		sed -n 's/^\(--[a-z0-9-]*\).*/\1/p' specs | sort |
			diff - <("$tool" --help | sed -n 's/^  .\{4\}--\([a-z0-9-]*\).*/--\1/p' | sort)
	done
}
