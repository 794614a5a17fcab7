# apr-embed: one program with a model inside. tests/unit/t_embedded.c has the table and its faults.
load ../helper

# The static program, or, with sanitizers, the one of the build.
setup() {
	cd "$BATS_TEST_TMPDIR" || return
	PATH=$PATH:$APR_GEN
	export APR_LOG_LEVEL=error
	sanitized=
	! grep -q __asan_init "$APR_BIN/apr-run" || sanitized=1
	run_program=$APR_BIN/apr-run.static predict_program=$APR_BIN/apr-predict.static
	[ -z "$sanitized" ] || run_program=$APR_BIN/apr-run predict_program=$APR_BIN/apr-predict
	[ -x "$run_program" ] && [ -x "$predict_program" ] ||
		skip "no static programs in $APR_BIN: run make runtimes"
}

ask() {
	apr-embed --runtime "$run_program" --arg -n --arg 20 -o ask "$model"
}

@test "apr-embed passes the exam" {
	ask
	exam maker apr-embed --list ../ask
}

@test "apr-embed: the program speaks as apr-run with the model, and takes the user's options" {
	try apr-embed --runtime "$run_program" --arg -n --arg 20 -o ask "$model"
	quiet
	[ "$(stat -c %a ask)" = "$(printf %o $((0777 & ~$(umask))))" ] || fail "mode $(stat -c %a ask)"
	apr-run -n 20 -p ROMEO: "$model" >want
	try ./ask -p ROMEO:
	quiet
	cmp "$out" want
	apr-run -n 5 -p ROMEO: "$model" >want
	try ./ask -n 5 -p ROMEO:
	quiet
	cmp "$out" want
	try ./ask -n 5 -n 6 -p ROMEO:
	said 2 '--count is given twice'
	try ./ask -p ROMEO: "$model"
	said 2 'one operand too many'
	try ./ask --help
	quiet
	grep -q '^usage: apr-run' "$out"
	try ./ask --trusted-key key -p ROMEO:
	said 2 'is not verified by the program that it lies in'
	# The path by which a program is started does not matter.
	mkdir bin
	mv ask bin/
	(cd / && env PATH="$BATS_TEST_TMPDIR/bin" ask -n 5 -p ROMEO:) | cmp - want
	ln -s bin/ask link
	./link -n 5 -p ROMEO: | cmp - want
}

@test "apr-embed: the same parts give the same bytes, and the same files come out" {
	ask
	apr-embed --runtime "$run_program" --arg -n --arg 20 "$model" >again
	cmp ask again
	# What lay behind a program is left out.
	apr-embed --runtime ask -o twice "$model" license="$root/LICENSE"
	apr-embed --runtime twice --arg -n --arg 20 -o again -f "$model"
	cmp ask again
	apr-embed --extract "${model##*/}" twice | cmp - "$model"
	apr-embed --extract license -o l twice
	cmp l "$root/LICENSE"
	try apr-embed --list twice
	quiet
	[ "$(wc -l <"$out")" -eq 2 ]
	grep -q "^file $(sha256sum <"$root/LICENSE" | cut -c1-64)  $(wc -c <"$root/LICENSE") bytes at [0-9]*  license$" "$out"
	head -c "$(wc -c <"$run_program")" ask | cmp - "$run_program"
}

@test "apr-embed: other tools read the model in a program, and its signature holds" {
	apr-keygen -W -o key 2>&1
	apr-unpack "$model" | apr-sign key | apr-pack -o signed.apr
	apr-embed --runtime "$run_program" -o ask signed.apr
	apr-verify -q key.pub ask
	apr-embed --extract signed.apr ask | cmp - signed.apr
	diff <(apr-sum ask) <(apr-sum signed.apr)
	diff <(apr-header ask | grep -v ^file) <(apr-header signed.apr | grep -v ^file)
	apr-quant q4_0 ask | cmp - <(apr-quant q4_0 signed.apr)
	apr-get output_norm.weight ask | cmp - <(apr-get output_norm.weight signed.apr)
	apr-run -n 5 -p A ask | cmp - <(apr-run -n 5 -p A signed.apr)
	diff <(apr-lint ask 2>&1 | sed 's/ask/signed.apr/') <(apr-lint signed.apr 2>&1)
	cp ask copy
	try apr-meta set --in-place general.name=X copy
	said 4 'which cannot be changed in place'
	cmp ask copy
	# A changed byte of the model.
	printf X | dd of=copy bs=1 seek=$(($(wc -c <copy) - 2000000)) conv=notrunc status=none
	try apr-verify -q key.pub copy
	[ "$status" -ne 0 ]
	try apr-embed --extract signed.apr -o made copy
	said 4 'the SHA-256 of its file signed.apr differs (E004)'
	[ ! -e made ]
}

@test "apr-embed: a classical model with rows beside it" {
	printf '%s\n' tree version=v4 num_class=1 num_tree_per_iteration=1 max_feature_idx=1 \
		objective=regression 'feature_names=a b' '' Tree=0 num_leaves=2 num_cat=0 \
		split_feature=1 threshold=0.5 decision_type=10 left_child=-1 right_child=-2 \
		'leaf_value=10 20.25' '' 'end of trees' >v.txt
	printf '1,0\n1,1\n' >rows.csv
	apr-embed --tool apr-predict --runtime "$predict_program" -o tell v.txt rows=rows.csv
	apr-predict v.txt rows.csv >want
	./tell rows.csv | cmp - want
	./tell <rows.csv | cmp - want
	rm rows.csv
	./tell embedded:rows | cmp - want
	try ./tell embedded:none
	said 3 'embedded:none: cannot be opened'
	# The same words name plain files where nothing is embedded.
	try apr-predict v.txt embedded:rows
	said 3 'embedded:rows: cannot be opened'
}

@test "apr-embed: what cannot be embedded or taken out is refused, and nothing is left" {
	ask
	mkfifo fifo
	mkdir there
	refused() { # STATUS TEXT ARG…
		try apr-embed "${@:3}"
		said "$1" "$2"
		[ ! -e made ] || fail "a file is left: ${*:3}"
	}
	refused 2 'a MODEL is expected'
	refused 2 'is not NAME=FILE' -o made --runtime "$run_program" "$model" "$model"
	refused 2 'without / and control characters' -o made --runtime "$run_program" "$model" a/b="$model"
	refused 2 'without / and control characters' -o made --runtime "$run_program" "$model" ..="$model"
	refused 2 'without / and control characters' -o made --runtime "$run_program" "$model" =="$model"
	refused 2 'is the name of two files' -o made --runtime "$run_program" "$model" "${model##*/}=$model"
	refused 2 'is the name of two files' -o made --runtime "$run_program" "$model" a=ask a=ask
	refused 3 'no: cannot be opened' -o made --runtime "$run_program" "$model" a=no
	refused 3 'no: cannot be opened' -o made --runtime no "$model"
	refused 4 'is not a program for Linux' -o made --runtime "$model" "$model"
	refused 4 'is not a model file of a known format' -o made --runtime "$run_program" "$root/LICENSE"
	refused 1 'is a directory' -o made --runtime "$run_program" there
	refused 2 'not apr-quant' -o made --tool apr-quant "$model"
	refused 2 'ask: exists already' -o ask --runtime "$run_program" "$model"
	cp "$model" mine
	refused 2 'is the input file itself' -f -o mine --runtime "$run_program" mine
	refused 2 'is the input file itself' -f -o ask --runtime ask mine
	refused 1 'has no embedded file none' --extract none ask
	refused 4 'has no embedded files' --list "$run_program"
	refused 4 'is not a program' --list "$model"
	refused 2 'cannot be combined' --list --extract none ask
	cmp mine "$model"
}

@test "apr-embed: a program whose table is damaged does not start" {
	ask
	local size
	size=$(wc -c <ask)
	cp ask bad
	printf X | dd of=bad bs=1 seek=$((size - 40)) conv=notrunc status=none
	try ./bad -p A
	said 4 'the table of its embedded files is damaged (E002)'
	try apr-embed --list bad
	said 4 '(E002)'
	try apr-header bad
	said 4 'is a program (ELF)'
	# Without its end, wherever it is cut behind the program.
	local left program
	program=$(wc -c <"$run_program")
	for left in $((size - 1)) $((size - 32)) $((size - 100)) $((size - 1000000)) $((program + 1)); do
		head -c "$left" ask >cut
		chmod +x cut
		try ./cut -p A
		said 4 'is incomplete, or longer than it was: the table of its embedded files is not at its end (E002)'
	done
	cp ask longer
	echo 'bytes that a signer appends' >>longer
	try ./longer -p A
	said 4 'is incomplete, or longer than it was'
	try apr-embed --list cut
	said 4 'is incomplete'
	try apr-embed --runtime cut -o made "$model"
	said 4 'is incomplete'
	[ ! -e made ]
	# Behind other bytes it is the plain program.
	cat "$run_program" "$root/LICENSE" >cut
	chmod +x cut
	try ./cut no-such-file -p A
	said 3 'no-such-file: cannot be opened'
}

@test "apr-embed: files come out only where none is replaced" {
	ask
	local name=${model##*/}
	echo keep >there
	try apr-embed --extract "$name" -o there ask
	said 2 'there: exists already'
	ln -s there link
	ln -s nowhere lost
	local existing
	for existing in link lost; do
		try apr-embed --extract "$name" -o "$existing" ask
		said 2 "$existing: exists already"
	done
	[ ! -e nowhere ]
	ln ask hard
	ln -s ask soft
	local itself
	for itself in ask hard soft; do
		try apr-embed --extract "$name" -f -o "$itself" ask
		said 2 'is the input file itself'
	done
	# A link is replaced, not what it points to.
	apr-embed --extract "$name" -f -o link ask
	[ ! -L link ]
	cmp link "$model"
	[ "$(cat there)" = keep ]
	# The same model under two names, and a program as a model: the model in it.
	apr-embed --runtime "$run_program" -o twice "$model" again="$model"
	apr-embed --extract again twice | cmp - "$model"
	apr-embed --runtime "$run_program" -o nested twice
	apr-embed --extract twice nested | cmp - "$model"
}

# Nothing but the program is needed: no libraries, /proc, /dev or folder for temporary files.
@test "apr-embed: the program runs in an empty root" {
	[ -z "$sanitized" ] || skip 'a program with sanitizers is not static'
	mkdir empty
	chroot empty /none 2>err || [ $? -eq 127 ] || skip "no chroot here: $(cat err)"
	ask
	cp ask empty/
	apr-run -n 8 -p ROMEO: "$model" >want
	chroot empty /ask -n 8 -p ROMEO: | cmp - want
	chroot empty /ask -n 8 -p ROMEO: --seed 3 --temp 0.8 >"$out"
	chroot empty /ask --version | diff - <(apr-run --version)
	local tool
	for tool in "$APR_BIN"/../static/apr-{header,sum,unpack,check}; do
		[ -x "$tool" ] || continue # after "make static"
		cp "$tool" empty/
		chroot empty "/${tool##*/}" /ask >static
		"${tool##*/}" ask | sed 's,^\(file *\)ask,\1/ask,' | cmp - static || fail "$tool"
		rm "empty/${tool##*/}"
	done
	[ "$(ls empty)" = ask ]
}

@test "apr-embed: from start to the first token in less than 100 ms of CPU time" {
	[ -z "$sanitized" ] || skip 'sanitizers are slow'
	ask
	local best=9999 i ms
	TIMEFORMAT='%3U %3S'
	for i in 1 2 3 4 5; do
		ms=$({ time ./ask -t 1 -n 1 -p ROMEO: >/dev/null; } 2>&1 |
			awk '{ printf "%d", 1000 * ($1 + $2) }')
		[ "$ms" -ge "$best" ] || best=$ms
	done
	echo "# first token: $best ms"
	[ "$best" -lt 100 ]
}

@test "apr-embed: a sparse model of 5 GiB is embedded and opened" {
	[ -z "$sanitized" ] || skip 'hashing 5 GiB takes too long'
	mkmodel >big.gguf <<-'END'
		key general.architecture string llama
		tensor large F32 1310720x1024 hole
		tensor last F32 8 hole
	END
	printf '%b' '\0\0\0200?'{,,,,,,,} |
		dd of=big.gguf bs=1 seek=$(($(stat -c %s big.gguf) - 32)) conv=notrunc status=none
	[ "$(stat -c %s big.gguf)" -gt $((5 << 30)) ]
	apr-embed --runtime "$run_program" -o ask big.gguf
	[ "$(stat -c %s ask)" -gt $((5 << 30)) ]
	[ "$(du -k ask | cut -f1)" -lt 65536 ] || fail "$(du -k ask): its holes are filled"
	[ "$(apr-get --text last ask)" = '1 1 1 1 1 1 1 1' ]
	try ./ask -p A
	said 4 'embedded:big.gguf: has no vocabulary'
}
