# libaprml writes: what the public headers convert, quantize, judge, sign and seal is what the tools
# make of it, byte for byte
load ../helper
load ../library/library

setup_file() {
	dest=$BATS_FILE_TMPDIR/dest
	cd "$BATS_FILE_TMPDIR" || return
	[ -e "$(${CC:-cc} -print-file-name=libjansson.a)" ] || return 0
	run_make install-library
	# shellcheck disable=SC2046
	${CC:-cc} -std=c11 -O1 -Wall -Wextra -Wpedantic -Werror -o makes "$root/tests/library/makes.c" \
		$(flags_of --static) $(mode_flags)
	export APR_LOG_LEVEL=error
	everything | "$APR_GEN/mkmodel" >m.gguf
}

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	need_library
	PATH=$BATS_FILE_TMPDIR:$PATH:$APR_GEN
	export APR_LOG_LEVEL=error
	shared=$BATS_FILE_TMPDIR
}

# A finding of a leak is a failure here.
export ASAN_OPTIONS=exitcode=99

# Keys short and long, scalars, empty tensors, rows for each kind of block.
everything() {
	cat <<-'END'
		key general.architecture string llama
		key text string what a model says of itself
		key f32.nan f32 nan
		key u64 u64 18446744073709551615
		key list array:i32 *5000
		key words array:string one two three
		key none array:f32
		tensor token_embd.weight F32 8x256 noise
		tensor blk.0.attn_v.weight F32 16x512 noise
		tensor blk.0.ffn_down.weight BF16 8x256 noise
		tensor blk.0.ffn_norm.weight F32 256 noise
		tensor output.weight F16 8x256 noise
		tensor scalar F32 - values 0.5
		tensor empty F16 0x32 ramp
	END
}

# made COMMANDS...: makes, one command an argument, with its output in the file said. It ends well only
# if nothing is left of what the library allocated.
made() {
	local status=0
	printf '%s\n' "$@" >commands
	makes <commands >said || status=$?
	[ $status -eq 0 ] || { cat said; fail "makes: $status"; }
}

# says COMMANDS...: made, and the output is as on standard input.
says() {
	made "$@"
	diff said - || fail "$*"
}

@test "every container from every container: the bytes of apr-unpack and apr-pack" {
	local from to lines=() containers=(gguf safetensors apr1 apr2 apr2-64 stream)
	for from in "${containers[@]}"; do
		if [ $from = stream ]; then
			apr-unpack "$shared/m.gguf" >in.stream
		else
			apr-unpack "$shared/m.gguf" | apr-pack -t $from -o in.$from
		fi
		apr-unpack in.$from >now.aprs
		for to in "${containers[@]}"; do
			lines+=("convert in.$from mem:$from.$to to=$to" "convert in.$from app:$from.$to.a to=$to @mem")
			if [ $to = stream ]; then
				cp now.aprs $from.$to.tool
			else
				apr-pack -t $to -o $from.$to.tool now.aprs
				apr-pack -t $to now.aprs | cat >$from.$to.a.tool
			fi
		done
		ln -f now.aprs $from.stream.a.tool
		cp now.aprs $from.stream.tool
		rm now.aprs
	done
	says "${lines[@]}" </dev/null
	for from in "${containers[@]}"; do
		for to in "${containers[@]}"; do
			cmp $from.$to $from.$to.tool || fail "$from to $to"
			cmp $from.$to.a $from.$to.a.tool || fail "$from to $to, appended"
		done
	done
}

@test "files, folders, shards, compression, options of one format: those of apr-pack" {
	says "convert $model z.apr compress=zstd:5 align=64 no-sync" \
		"convert $model s-00001-of-00002.gguf shard-size=3000000" "convert $model folder/ to=safetensors" \
		"convert $model n.apr1 to=apr1 trueno-native" \
		"convert $model r.gguf reserve=1000" "convert $model r.gguf" "convert $model there/r.gguf" \
		"convert missing r2.gguf" "convert $model r2.gguf tpye=q4_0" "convert $model r2.gguf plain=1" \
		"convert $model r2.gguf trueno-native" "convert $model r2.gguf pure" "convert $model r2.gguf @stop" \
		"convert $model r2.gguf @seconds=0.000001" <<-'END'
		7 there/r.gguf: cannot be created: No such file or directory
		7 missing: cannot be opened: No such file or directory
		0 tpye: is not an option of a maker
		0 plain: cannot be 1
		0 trueno-native: is an option of apr1
		0 the option type is missing
		0 the program has ended the call
		8 takes more than 1e-06 seconds
	END
	apr-unpack "$model" >m.aprs
	apr-pack -z zstd:5 --align 64 m.aprs | cmp - z.apr
	apr-pack -t apr1 --trueno-native m.aprs | cmp - n.apr1
	apr-pack -t gguf m.aprs | cmp - r.gguf
	mkdir tool && apr-pack -t gguf --shard-size 3000000 -o tool/s-00001-of-00002.gguf m.aprs
	for f in tool/*; do cmp "$f" "${f#tool/}"; done
	apr-pack -t safetensors -o other/ m.aprs
	diff -r folder other
	# Nothing is left of what failed.
	[ "$(find . -name 'r2*' -o -name '.*.tmp' | wc -l)" -eq 0 ]
}

@test "every type and mixture: the bytes of apr-quant" {
	local type lines=() fails=0
	apr-unpack "$shared/m.gguf" >in.aprs
	for type in $(apr-quant --list | awk 'NF && $1 ~ /^[a-z0-9_]+$/ { print $1 }' |
		grep -vx -e mixture -e type | sort -u); do
		if apr-quant "$type" in.aprs >$type.tool 2>why; then
			lines+=("convert in.aprs mem:$type.lib to=stream type=$type")
		else
			rm $type.tool
			sed -n 's/^apr-quant: \(.*\)$/\1/p' why | head -n 1 | sed 's/ (E0[0-9]*)$//' >>expected
			lines+=("convert in.aprs mem:$type.lib to=stream type=$type")
			fails=$((fails + 1))
		fi
	done
	[ ${#lines[@]} -ge 30 ]
	touch expected
	made "${lines[@]}"
	sed 's/^[0-9]* //' said | diff - expected
	for type in *.tool; do
		cmp "$type" "${type%.tool}.lib"
	done
	[ "$fails" -lt 15 ]
}

@test "options of apr-quant, an importance matrix, threads, limits" {
	printf 'ROMEO: what light\n%.0s' {1..150} >text
	apr-imatrix --text text -o im.gguf "$model"
	printf 'ffn_down=q8_0\n\nattn_v=f16\n' >rules
	says "convert $model a.gguf type=q4_k_m @imatrix=im.gguf @threads=3" \
		"convert $model e.gguf type=q4_k @imatrix=im.gguf include-weights=blk.0 include-weights=blk.1 exclude-weights=attn_k tensor-type-file=rules" \
		"convert $model f.gguf type=q4_k @imatrix=im.gguf exclude-weights=no.such" \
		"convert $model f.gguf type=q4_k include-weights=blk" \
		"convert $model b.gguf type=q5_0 pure tensor-type=ffn_down=q8_0 output-tensor-type=f16 override-kv=x=int:3" \
		"convert $model c.gguf type=q8_0 max-rmse=0.0000001" <<-'END'
		0 exclude-weights: no.such: no entry's name contains it
		0 include-weights and exclude-weights need an importance matrix
		0 token_embd.weight: as Q8_0, its rmse of 0.000194424645 exceeds 1e-07
	END
	apr-unpack "$model" | apr-quant --imatrix im.gguf q4_k_m | apr-pack -t gguf | cmp - a.gguf
	apr-unpack "$model" | apr-quant --pure --tensor-type ffn_down=q8_0 --output-tensor-type f16 \
		--override-kv x=int:3 q5_0 | apr-pack -t gguf | cmp - b.gguf
	apr-unpack "$model" | apr-quant --imatrix im.gguf --include-weights blk.0 --include-weights blk.1 \
		--exclude-weights attn_k --tensor-type-file rules q4_k | apr-pack -t gguf | cmp - e.gguf
	[ ! -e c.gguf ] && [ ! -e f.gguf ]
	# The limit of memory counts what the C library gives.
	PLAIN=1 says "convert $model d.gguf type=q4_k_m @memory=3000000" <<<'8 needs more than 3000000 bytes of memory'
	[ ! -e d.gguf ]
	PLAIN=1 says "convert $model d.gguf type=q4_k_m @memory=300000000" </dev/null
	[ -e d.gguf ]
}

@test "signatures and seals: the tools take those of the library, and the library theirs" {
	says "keys key key.pub" "identity id rec" "convert $model s.apr @sign=key name=Bard date=2026-11-22" \
		"convert s.apr v.aprs to=stream @verify=key.pub" "convert s.apr seal.apr @seal=rec @outer=key" \
		"convert seal.apr copy.apr @sealed" "convert seal.apr open.apr @open=id" \
		"convert seal.apr open2.apr @open=id @mem" "convert $model all.gguf type=q4_k_m @sign=key" \
		"convert seal.apr no.gguf @sealed" "convert seal.apr no.apr" "convert s.apr no.apr @sign=key.pub" \
		"convert $model no.apr @verify=key.pub" <<-'END'
		1 seal.apr: is sealed, which the output cannot hold
		5 seal.apr: is sealed
		0 the ring has no secret key
		6 the model is not signed
	END
	apr-sign --name Bard --date 2026-11-22 key "$model" | apr-pack | cmp - s.apr
	apr-verify --trusted-key key.pub s.apr | cmp - v.aprs
	apr-verify -q key.pub seal.apr
	cmp seal.apr copy.apr && cmp open.apr s.apr && cmp open2.apr s.apr
	apr-decrypt -i id seal.apr | apr-pack | cmp - s.apr
	apr-quant q4_k_m "$model" | apr-sign key | apr-pack -o all.tool.gguf
	cmp all.tool.gguf all.gguf
	# The other way.
	apr-keygen -W -o other >/dev/null
	apr-sign other "$model" | apr-encrypt -r "$(cat rec)" --sign-key other | apr-pack -o theirs.apr
	apr-unpack "$model" | apr-pack -t apr1 --sign-key other -o one.apr1
	apr-unpack "$model" | apr-pack -t apr1 -r "$(cat rec)" -o two.apr1
	says "convert theirs.apr mine.gguf @open=id" "convert one.apr1 one.gguf @open=other.pub" \
		"convert two.apr1 two.gguf @open=id" "convert $model three.apr1 to=apr1 @vault=other" \
		"convert one.apr1 bad.gguf @open=key.pub" <<-'END'
		6 one.apr1: SignatureInvalid: it is signed by a key other than the trusted one
	END
	cmp one.gguf two.gguf
	cmp three.apr1 one.apr1
	apr-decrypt -i id theirs.apr | apr-pack -o tool.gguf
	cmp tool.gguf mine.gguf
}

@test "verify and check say what apr-verify and apr-check say" {
	local id
	apr-keygen -W -o key >id
	id=$(cat id)
	apr-sign --name Bard --comment quick key "$model" | apr-pack -o s.apr
	says "verify s.apr key.pub Bard" "check $model good.json" "check s.apr signed.json" \
		"verify $model key.pub" "verify s.apr key.pub Will" <<-END
		$id $(apr-verify -q --json key.pub s.apr | grep -o '"root":"[0-9a-f]*"' | cut -d'"' -f4) name=Bard version= date= comment=quick
		100 EXCELLENT, 0 errors
		100 EXCELLENT, 0 errors
		6 the model is not signed
		6 signature: is for the name "Bard", not "Will"
	END
	apr-check --json "$model" | diff - good.json
	apr-check --json s.apr | diff - signed.json
	# A model with an error in the middle still gets a report.
	apr-check --json "$shared/m.gguf" >tool.json || :
	made "check $shared/m.gguf lib.json"
	diff tool.json lib.json
	printf '\377' | dd of=s.apr bs=1 seek=4000000 conv=notrunc status=none
	apr-check --json s.apr >tool.json 2>/dev/null || :
	made "check s.apr lib.json"
	diff tool.json lib.json
}

@test "a model of the program, in every container, quantized and signed" {
	local to lines=()
	for to in gguf safetensors apr1 apr2 apr2-64 stream; do
		lines+=("build mem:b.$to to=$to")
	done
	says "keys key key.pub" "${lines[@]}" "build q.gguf type=q8_0 @sign=key name=built" "build bad.gguf @stop" <<-'END'
		0 the program has ended the call
	END
	for to in safetensors apr1 apr2 apr2-64 stream; do
		[ "$(apr-get --text a.weight b.$to | xargs)" = "$(apr-get --text a.weight b.gguf | xargs)" ]
		apr-unpack b.$to | apr-sum >sum
		apr-unpack b.stream | apr-sum | diff - sum
	done
	[ "$(apr-get --text a.weight b.gguf | xargs | cut -d' ' -f1-3)" = '-40 -39 -38' ]
	apr-verify -q key.pub q.gguf
	apr-quant q8_0 b.gguf | apr-sign --name built key | apr-pack -o tool.gguf
	cmp tool.gguf q.gguf
}

@test "misused, and with call-backs that fail, lie or cancel: an error each" {
	# shellcheck disable=SC2046
	dest=$shared/dest ${CC:-cc} -std=c11 -D_GNU_SOURCE -O1 -Wall -Wextra -Wpedantic -Werror -o misuse \
		"$root/tests/library/misuse.c" $(dest=$shared/dest flags_of --static) $(mode_flags)
	./misuse calls "$model"
	./misuse writes "$model"
	./misuse reads "$shared/m.gguf"
	apr-unpack "$model" | apr-pack -o m.apr
	./misuse reads m.apr
	./misuse crowd "$model"
}

@test "the library leaves signals to its program" {
	[ "$mode" = release ] || skip "a sanitizer catches signals of its own"
	cat >quiet.c <<-'END'
		#include <aprml/aprml.h>
		#include <signal.h>
		#include <stdio.h>

		int
		main(int argc, char **argv)
		{
			struct aprml_output to = { sizeof to, argv[2], 1, NULL, NULL, NULL, 0 };
			struct aprml_error e = { 0, "" };
			struct aprml *m = argc == 3 ? aprml_open(argv[1], &e) : NULL;
			struct aprml_maker *k = aprml_maker_open(&to, NULL, &e);
			struct sigaction now;
			int i, bad = !m || !k || aprml_maker_model(k, m, &e) < 0;

			for (i = 1; i < 32; i++)
				if (sigaction(i, NULL, &now) == 0 && now.sa_handler != SIG_DFL)
					bad = printf("signal %d\n", i);
			aprml_maker_close(k);
			aprml_close(m);
			return bad;
		}
	END
	# shellcheck disable=SC2046
	dest=$shared/dest ${CC:-cc} -std=gnu11 -o quiet quiet.c $(dest=$shared/dest flags_of --static) $(mode_flags)
	./quiet "$model" q.apr
	[ -d "$APR_TEST_DATA/import" ] || skip "no data of importers"
	./quiet "$APR_TEST_DATA/import/pytorch/crepe-tiny.pth" q.apr
	./quiet "$APR_TEST_DATA/import/keras/ad01.h5" q.apr
}
