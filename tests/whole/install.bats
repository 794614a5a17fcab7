# make install, the library, completions
load ../helper
load ../library/library

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	dest=$BATS_TEST_TMPDIR/dest
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
	cmp "$dest/opt/apr/bin/apr-qa" "$APR_BIN/apr"
	cmp "$dest/opt/apr/bin/apr-convert" "$APR_BIN/apr"
	cmp "$dest/opt/apr/share/man/man1/apr-qa.1" "$root/man/apr.1"
	cmp "$dest/opt/apr/share/man/man5/apr-stream.5" "$root/man/apr-stream.5"
	cmp "$dest/opt/apr/share/man/man7/apr.7" "$root/man/apr.7"
	cmp "$dest/opt/apr/share/zsh/site-functions/_apr-tools" "$root/completions/_apr-tools"
	cmp "$dest/opt/apr/share/fish/vendor_completions.d/apr-sum.fish" "$root/completions/apr-tools.fish"
	# Installed files contain neither the build folder nor DESTDIR.
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
	# It is found through a link too; if it is missing, a message says so.
	ln -s "$dest/opt/apr/bin/apr-sum" sum
	./sum m.gguf >/dev/null
	rm "$dest/opt/apr/bin/apr-unpack"
	try "$dest/opt/apr/bin/apr-sum" m.gguf
	said 3 'apr-unpack: is needed by apr-sum to read model files, but cannot be run'
}

# Compile $1.c against the installed static library; library.bats has the shared one.
compile() {
	# shellcheck disable=SC2046
	${CC:-cc} -std=c11 -Wall -Wextra -Wpedantic -Werror -o "$1" "$1.c" $(flags_of --static) \
		$(mode_flags)
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
	grep -oh '\<aprml_[a-z_]*(' "$dest"/opt/apr/include/aprml/aprml*.h | tr -d '(' | sort -u |
		diff - names
	[ "$(wc -l <names)" -gt 10 ]
	grep -qx "Version: $(apr-unpack --version | sed 's/.* //')" \
		"$dest/opt/apr/lib/pkgconfig/aprml.pc"
	# The header needs nothing before it.
	echo '#include <aprml/aprml.h>' |
		${CC:-cc} -std=c99 -Wall -Werror -fsyntax-only -I"$dest/opt/apr/include" -x c -
}

@test "aprml: values in any order, arrays, side files" {
	need_library
	run_make install
	cat >values.c <<-'END'
		#include <inttypes.h>
		#include <stdio.h>
		#include <stdlib.h>
		#include <string.h>

		#include <aprml/aprml.h>

		static struct aprml_error e;

		static void
		show(struct aprml_value *v)
		{
			static const char *const kinds[] = {
				"unsigned", "signed", "real", "bool", "string", "json", "array"
			};
			struct aprml_value item;
			uint64_t i;

			if (v->kind == APRML_STRING || v->kind == APRML_JSON)
				printf(" %.*s", (int)v->bytes, v->text);
			else if (v->kind != APRML_ARRAY)
				printf(" %s:%.9g", kinds[v->kind], v->number);
			else
				for (i = 0; i < v->count && aprml_item(v, i, &item) == 0; i++)
					show(&item);
		}

		/* key K | item K I | files | floats NAME FROM N | walk: 1 where it fails */
		static int
		answer(struct aprml *m, char **argv)
		{
			struct aprml_value v, item;
			struct aprml_file f;
			float *y = calloc(100000, sizeof *y);
			size_t i, n;
			int r = 0;

			if (strcmp(*argv, "key") == 0) {
				if ((r = aprml_value(m, argv[1], &v, &e)) == 0) {
					printf("%s %" PRIu64, v.type, v.count);
					show(&v);
				}
			} else if (strcmp(*argv, "item") == 0) {
				if ((r = aprml_value(m, argv[1], &v, &e)) == 0 &&
				    (r = aprml_item(&v, strtoull(argv[2], NULL, 10), &item)) == 0)
					show(&item);
			} else if (strcmp(*argv, "files") == 0) {
				for (i = 0; i < aprml_file_count(m) && r == 0; i++)
					if ((r = aprml_file(m, i, &f, &e)) == 0) {
						printf("%s %" PRIu64 "\n", f.name, f.bytes);
						if (strcmp(f.name, "tokenizer.json") == 0)
							fwrite(f.p, 1, (size_t)f.bytes, stderr);
					}
				r = r < 0 || aprml_file(m, i, &f, &e) == 0;
			} else if (strcmp(*argv, "walk") == 0) {
				for (n = 0; (r = aprml_next(m, &i, &e)) > 0; n++)
					;
				printf("%zu", n);
			} else {
				n = strtoull(argv[3], NULL, 10);
				r = aprml_find(m, argv[1], &i);
				if (r == 0)
					r = aprml_floats(m, i, strtoull(argv[2], NULL, 10), n, y, &e);
				for (i = 0; r == 0 && i < n; i++)
					printf("%.9g\n", (double)y[i]);
			}
			free(y);
			return r;
		}

		int
		main(int argc, char **argv)
		{
			struct aprml *m = aprml_open(argv[1], &e);
			int i, r = m ? 0 : -1;

			for (i = 2; r == 0 && i < argc; i += 4) {
				r = answer(m, argv + i);
				puts("");
			}
			if (r)
				printf("E%03d %s\n", e.code, e.text);
			aprml_close(m);
			return r != 0;
		}
	END
	compile values
	# Scalars, short and long arrays; the walk comes after them as if nothing had been.
	[ "$(./values "$model" key general.license - -)" = 'string 0 CC0-1.0' ]
	[ "$(./values "$model" key llama.block_count - -)" = 'u32 0 unsigned:3' ]
	[ "$(./values "$model" key tokenizer.ggml.add_bos_token - -)" = 'bool 0 bool:0' ]
	[[ $(./values "$model" key tokenizer.ggml.tokens - -) == 'array:string 1024 ! " # $ '* ]]
	[[ $(./values "$model" key tokenizer.ggml.token_type - -) == 'array:i32 1024 signed:1 '* ]]
	[ "$(./values "$model" item tokenizer.ggml.tokens 3 - item tokenizer.ggml.tokens 1 - \
		walk - - - | tr '\n' ,)" = ' $, ",30,' ]
	run ./values "$model" item tokenizer.ggml.tokens 1024 -
	[ "$status" -eq 1 ]
	run ./values "$model" key no.such.key - -
	[ "$status" -eq 1 ] && [[ ${lines[-1]} == 'E000 '*'no such key' ]]

	# Ranges that begin and end within blocks, of a file in place and of one that has to
	# be read again; after each other and against apr-get.
	apr-quant -o q.aprs q8_0 "$model"
	apr-pack -o q.gguf q.aprs
	apr-pack -z zstd -o q.apr q.aprs
	apr-get --text token_embd.weight q.gguf | tr -s ' ' '\n' | grep . >all
	[ "$(wc -l <all)" -eq 262144 ]
	for f in q.gguf q.apr q.aprs; do
		for range in '0 1' '0 32' '5 3' '31 2' '33 70000' '262143 1' '262140 4' '262144 0'; do
			# shellcheck disable=SC2086
			./values $f floats token_embd.weight $range | sed '$d' >some
			# shellcheck disable=SC2086
			set -- $range
			tail -n +$(($1 + 1)) all | head -n "$2" | paste - some | awk -v n="$2" '
				$1 - $2 > 1e-8 || $2 - $1 > 1e-8 { bad = 1 }
				END { exit bad || NR != n }' || fail "$f $range"
		done
		./values $f walk - - - floats output_norm.weight 0 2 floats token_embd.weight 7 1 >said
		[ "$(head -n 1 said)" -eq 30 ]
		run ./values $f floats token_embd.weight 262144 1
		[ "$status" -eq 1 ] && [[ ${lines[-1]} == 'E000 token_embd.weight: has fewer values' ]]
	done
	run ./values - floats token_embd.weight 0 1 < <(cat q.gguf)
	[ "$status" -eq 1 ] && [[ ${lines[-1]} == 'E000 '*' comes through a pipe'* ]]
	[ "$(./values - floats token_embd.weight 5 1 <q.gguf | head -n 1 | awk '{ print $1 + 0 }')" = \
		"$(sed -n 6p all | awk '{ print $1 + 0 }')" ]

	# Arrays of arrays, and those of more than 1024 items, which the header does not hold:
	# through a pipe too, but not after the tensors.
	"$APR_GEN/gguf_good" . >/dev/null 2>&1
	f=gguf_array_of_1025
	./values - item ids 1024 - walk - - - key ids - - < <(cat $f) >said
	./values $f key ids - - | cmp - <(tail -n 1 said)
	[[ $(tail -n 1 said) == 'array:u32 1025 unsigned:'* ]]
	[ "$(tail -n 1 said | wc -w)" -eq $((2 + 1025)) ]
	[ "$(head -n 1 said)" = " $(tail -n 1 said | awk '{ print $NF }')" ]
	[ "$(./values gguf_nested_arrays key alike - -)" = \
		'array:array:u8 3 unsigned:1 unsigned:2 unsigned:3' ]
	[ "$(./values gguf_nested_arrays key mixed - -)" = 'array:array 2 unsigned:1 x' ]
	run ./values $f walk - - - key ids - -
	[ "$status" -eq 1 ] && [[ ${lines[-1]} == 'E000 '*' has gone by: '* ]]

	# Models in shards, of each container that has them, and in a folder: by any of their
	# files, and the folder.
	apr-pack -t gguf --shard-size 600K -o shard.gguf q.aprs
	apr-pack --shard-size 600K -o shard.apr q.aprs
	mkdir pieces
	apr-quant f16 "$model" | apr-pack -t safetensors --shard-size 2M -o pieces/
	for f in shard-00001-of-*.gguf shard-00003-of-*.gguf shard-00002-of-*.apr pieces pieces/*.index.json; do
		want=q.gguf
		[[ $f != pieces* ]] || want=pieces
		./values "$f" key general.architecture - - walk - - - >said
		grep -qx 'string 0 llama' said || fail "$f: $(cat said)"
		grep -qx 30 said
		for name in token_embd.weight output.weight; do
			./values "$f" floats $name 1000 500 walk - - - >said
			head -n 500 said >some
			apr-get --text $name "$want" | tr -s ' ' '\n' | grep . | tail -n +1001 |
				head -n 500 | paste - some | awk '
				$1 - $2 > 1e-6 || $2 - $1 > 1e-6 { bad = 1 }
				END { exit bad || NR != 500 }' || fail "$f $name"
		done
	done

	"$APR_GEN/tamper" mother >mother.aprs
	./values - files - - - walk - - - <mother.aprs >said 2>tokenizer.json
	head -n 3 said | diff - <(printf '%s\n' 'README.md 8' 'TWIN.md 8' 'tokenizer.json 2')
	[ "$(cat tokenizer.json)" = '{}' ]
	run ./values mother.aprs walk - - - files - - -
	[ "$status" -eq 1 ] && [[ ${lines[-1]} == 'E000 '*' has gone by: '* ]]
}

@test "the library can be part of a shared object" {
	need_library
	# A sanitizer's own names are left to the program.
	[[ $mode == release ]] || skip "a sanitizer's library comes with the program"
	run_make install
	cat >half.c <<-'END'
		#include <aprml/aprml.h>

		long tensors_of(const char *path);

		long
		tensors_of(const char *path)
		{
			struct aprml_error e;
			struct aprml *m = aprml_open(path, &e);
			long n = 0, count = m ? (long)aprml_tensor_count(m) : -1;
			size_t i;

			while (m && aprml_next(m, &i, &e) > 0)
				n++;
			aprml_close(m);
			return n == count ? n : -1;
		}
	END
	cat >whole.c <<-'END'
		#include <dlfcn.h>
		#include <stdio.h>
		#include <string.h>

		int
		main(int argc, char **argv)
		{
			void *half = dlopen("./half.so", RTLD_NOW | RTLD_LOCAL);
			void *place = half ? dlsym(half, "tensors_of") : NULL;
			long (*tensors_of)(const char *);

			if (!place || argc < 2) {
				puts(dlerror());
				return 1;
			}
			memcpy(&tensors_of, &place, sizeof place);
			printf("%ld\n", tensors_of(argv[1]));
			return dlclose(half);
		}
	END
	# shellcheck disable=SC2046
	${CC:-cc} -shared -fPIC -std=c11 -Wall -Werror -Wl,-z,text -Wl,-z,defs -o half.so half.c \
		$(flags_of --static)
	${CC:-cc} -std=c11 -Wall -Werror -o whole whole.c -ldl
	[ "$(./whole "$model")" = 30 ]
	[ "$(./whole no-such-file)" = -1 ]
}

# complete WORDS…: prints the completions that bash offers for the last word.
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
	for tool in "$root"/bin/apr-*.c; do
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
	[ -z "$(offered apr-pack --align '')" ]
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
	for tool in "$root"/bin/apr-*.c; do
		tool=$(basename "$tool" .c)
		zsh -f -c '
			fpath=($1 $fpath)
			_call_program() { shift; "$@" }
			_arguments() { print -rl -- "$@" }
			_describe() { }
			autoload -Uz _apr-tools
			words=($2 -) CURRENT=2
			_apr-tools
		' - "$root/completions" "$tool" >specs
		sed -n 's/^\(--[a-z0-9-]*\).*/\1/p' specs | sort |
			diff - <("$tool" --help | sed -n 's/^  .\{4\}--\([a-z0-9-]*\).*/--\1/p' | sort)
	done
}
