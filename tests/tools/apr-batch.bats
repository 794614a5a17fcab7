# apr-batch: a word over many models
load ../helper

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	export TMPDIR=$BATS_TEST_TMPDIR
}

# A tool beside apr-batch that does what its second argument says; copies of both programs.
own_tool() {
	mkdir -p own
	cp "$APR_BIN/apr-batch" own
	cat >own/apr-own <<-'END'
		#!/bin/bash
		eval "$2"
	END
	chmod +x own/apr-own
	PATH=$PWD/own:$PATH
}

@test "apr-batch: options" {
	exam_prepare maker
	try apr-batch --help
	quiet
	try apr-batch --version
	quiet
	exam_synopsis apr-batch
	try apr-batch --no-such-option
	said 2 'unknown option --no-such-option'
	try apr-batch x
	said 2 '-- WORD is missing'
	try apr-batch x --
	said 2 '-- WORD is missing'
	try apr-batch -- inspect
	said 2 'no models: give a PATTERN before --'
	try apr-batch "$model" -- inspet
	said 2 'unknown word inspet'
	grep -qF 'did you mean inspect?' "$err"
	try apr-batch "$model" -- apr-nothing
	said 2 'apr-nothing is not installed'
	try apr-batch "$model" -- ../apr-sum
	said 2 'unknown word ../apr-sum'
	try apr-batch "$model" -- apr
	said 2 'a word is missing after apr'
	try apr-batch -j 0 "$model" -- sum
	said 2 '--jobs needs a number from 1 to 256'
	try apr-batch none.gguf -- sum
	said 3 'none.gguf: matches no file'
	try apr-batch "$model" 'no*.gguf' -- sum
	said 3 'no*.gguf: matches no file'
	[ ! -s "$out" ]
	try bash -c 'exec apr-batch "$0" -- sum >/dev/full' "$model"
	[ "$status" -eq 1 ] && grep -q '<stdout>: cannot be written' "$err"
}

@test "words, tools and apr WORD run as they do alone, in the order of the models" {
	local m
	for m in c b a; do
		apr-quant -o $m.aprs q8_0 "$model" 2>/dev/null
	done
	for m in a b c; do apr-sum $m.aprs; done >want
	for word in sum apr-sum 'apr sum'; do
		# shellcheck disable=SC2086
		apr-batch -j 3 '?.aprs' -- $word 2>table | cmp - want
		[ "$(sed -n '/^model/,$p' table | awk '{ print $1, $2 }' | tr '\n' ,)" = \
			'model exit,a.aprs 0,b.aprs 0,c.aprs 0,3 models,,' ]
	done
	# Each model once, in the order of the patterns.
	apr-batch c.aprs '*.aprs' a.aprs -- sum 2>table >/dev/null
	[ "$(grep -o '^[abc]\.aprs' table | tr '\n' ' ')" = 'c.aprs a.aprs b.aprs ' ]
	# A word with a plan.
	apr-batch 'a.aprs' -- convert {} -o {.}.gguf 2>/dev/null
	apr-header a.gguf | grep -q '^types .*Q8_0'
}

@test "placeholders, and names of any bytes" {
	own_tool
	try apr-batch -n "$model" -- sum x{}y '{/}' '{.}' '{/.}' '{//}' '{}{}' '{' '{x}'
	[ "$(cat "$out")" = "apr sum x${model}y ${model##*/} ${model%.gguf} shakespeare-BF16 ${model%/*} \
$model$model '{' '{x}'" ]
	mkdir -p d.x/e
	touch -- -x.gguf $'new\nline' $'\xff\xfe' "it's" .hidden d.x/no-suffix '[a].gguf' a.gguf
	try apr-batch -n -- -x.gguf
	said 2 'no models'
	apr-batch -n ./d.x/no-suffix d.x/e/ .hidden -- own '{.}' '{//}' '{/.}' >said
	diff said - <<-'END'
		apr own ./d.x/no-suffix ./d.x no-suffix
		apr own d.x/e d.x e
		apr own .hidden . .hidden
	END
	# A name that looks like a pattern is a name first.
	[ "$(apr-batch -n '[a].gguf' -- sum)" = "apr sum '[a].gguf'" ]
	# What a shell makes of a dry run is what a run gets.
	apr-batch '*' -- apr-own {} 'printf "%s\0" "$1"' 2>/dev/null >got
	printf '%s\0' ./-x.gguf * | grep -zv '^-x' | sort -z >want
	sort -z got | cmp - want
	# A name cannot disturb the terminal or the table.
	apr-batch $'new\nline' $'\xff\xfe' -- apr-own {} 'echo "$1" >&2' 2>table
	grep -q '^new\\x0aline  *0' table && grep -q '^\\xff\\xfe  *0' table
	[ -z "$(tr -d '\n' <table | tail -c 200 | grep -a '[[:cntrl:]]')" ]
}

@test "it goes on after failures; the table and the exit status say what failed" {
	own_tool
	touch 1 2 3 4 5
	try apr-batch '[1-5]' -- apr-own {} '
		case $1 in
		2) echo "apr-own: two: is bad (E002)" >&2; echo "hint: mend it" >&2; exit 4 ;;
		3) kill -KILL $$ ;;
		4) exit 3 ;;
		esac
		echo "out $1"; echo "note $1" >&2'
	[ "$status" -eq 4 ]
	[ "$(cat "$out")" = $'out 1\nout 5' ]
	[ "$(sed -n '/^model/,$p' "$err" | sed 's/[0-9]*\.[0-9] s/T/' | tr -s ' ')" = \
'model exit time last message
1 0 T note 1
2 4 T apr-own: two: is bad (E002)
3 signal 9 T
4 3 T
5 0 T note 5
5 models, 3 failed' ]
	[ "$(grep -c '^==> ' "$err")" -eq 3 ]
	try apr-batch 3 -- apr-own {} 'kill -KILL $$'
	[ "$status" -eq 1 ]
	try apr-batch --json '[1-5]' -- apr-own {} 'printf "a\"$1"; echo m >&2; exit $1'
	[ "$status" -eq 5 ]
	[ "$(sed 's/"milliseconds":[0-9]*/T/' "$out" | head -n 1)" = \
		'{"model":"1","exit":1,T,"message":"m","stdout_bytes":3,"stdout":"a\"1"}' ]
	[ "$(wc -l <"$out")" -eq 5 ]
	! grep -q '^model' "$err" || fail 'a table with --json'
	apr-batch --json 1 -- apr-own {} 'printf "\377"; kill -TERM $$' >said 2>/dev/null || [ $? -eq 1 ]
	[[ $(<said) == '{"model":"1","signal":15,'*'"stdout_bytes":1}' ]]
	# Standard input is not theirs.
	echo x | apr-batch 1 -- apr-own {} 'cat' 2>/dev/null | cmp - /dev/null
	# The program cannot be started; no space for the output.
	printf '\177ELF' >own/apr-broken
	chmod +x own/apr-broken
	try apr-batch 1 -- apr-broken
	[ "$status" -eq 126 ] && grep -q 'apr-broken: cannot be run' "$err"
	try env TMPDIR="$PWD/none" apr-batch 1 2 -- apr-own {} true
	[ "$status" -eq 3 ] && grep -q 'a spool file cannot be created' "$err"
	rm 1
	[ "$(find . -newer own/apr-own -type f -name 'apr.*')" = '' ]
}

@test "-j: N at a time, and their output is not mixed" {
	own_tool
	touch 1 2 3 4
	mkfifo go
	# Each run waits for another one: with -j 2 they meet.
	apr-batch -j 2 1 2 -- apr-own {} '
		echo "a$1"
		if [ "$1" = 1 ]; then read -r x <go; else echo x >go; fi
		echo "b$1"' >said 2>/dev/null
	[ "$(tr '\n' ' ' <said)" = 'a1 b1 a2 b2 ' ]
	# With -j 1 each ends before the next one begins.
	apr-batch '[1-4]' -- apr-own {} '[ ! -e busy ] && touch busy && rm busy' 2>/dev/null
}

@test "a signal ends the runs, and then apr-batch" {
	own_tool
	local signal pid got
	touch 1 2 3
	for signal in TERM INT HUP; do
		rm -f run up
		mkfifo up
		env --default-signal=INT,HUP,TERM apr-batch -j 2 1 2 3 -- apr-own {} '
			sleep 60 &
			trap "kill $!; echo ended-$1 >>run; exit 9" TERM INT HUP
			echo up >up
			wait' >said 2>table 3>&- &
		pid=$!
		exec 8<>up
		read -r -u 8
		read -r -u 8
		exec 8>&-
		kill -$signal $pid
		got=0
		wait $pid || got=$?
		[ $got -eq $((128 + $(kill -l $signal))) ]
		sort run | tr '\n' ' ' | grep -qx 'ended-1 ended-2 ' || fail "$(cat run)"
		grep -q '^3  *-  .* not started' table
	done
}
