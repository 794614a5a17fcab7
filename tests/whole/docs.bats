# The documents: their examples run, and the files that they list exist.
load ../helper

# The tools, as their sources name them; the front apr has words instead.
tools() {
	basename -s .c "$root"/bin/apr-*.c
}

# ---- examples ----
#
# A line "$ COMMAND" of a manual page's EXAMPLES, or of a fenced block in a
# Markdown file, is run; one that ends in a backslash or a bar goes on in the
# next. What stands under it is what it says on both outputs, "..." for any text;
# where nothing stands, that is left open. Each document has its own folder, in
# which m.gguf lies.

# A manual page as it reads: no escapes in literal blocks.
plain() {
	sed -e 's/\\e/\\/g' -e 's/\\&//g' "$1"
}

page_examples() {
	plain "$1" | awk '
		/^\.Sh/ { examples = $2 == "EXAMPLES" }
		/^\.Bd/ { block = examples; next }
		/^\.Ed/ { if (block) print ""; block = 0 }
		block'
}

fenced_examples() {
	awk '/^```/ { if (block) print ""; block = !block; next } block' "$1"
}

alike() {
	local pattern=${2//\\/\\\\} c
	for c in '*' '?' '['; do
		pattern=${pattern//"$c"/\\$c}
	done
	pattern=${pattern//.../*}
	# shellcheck disable=SC2053
	[[ $1 == $pattern ]]
}

# Runs $command in this shell, so that its variables stay, and compares with $want.
run_one() {
	local said=$BATS_TEST_TMPDIR/said
	[ -n "$command" ] || return 0
	eval "$command" >"$said" 2>&1 </dev/null ||
		fail "$document: exit status $? of: $command" "$(cat "$said")" || return
	[ -z "$want" ] || alike "$(cat "$said")" "${want%$'\n'}" ||
		fail "$document: $command" "says:" "$(cat "$said")" "not:" "$want" || return
	command= want= ran=$((ran + 1))
}

# run_examples DOCUMENT COUNT: the lines come on descriptor 3, and hold at least
# so many commands.
run_examples() {
	local document=$1 command='' want='' ran=0 line
	set -o pipefail
	while IFS= read -r line <&3; do
		if [[ $line == '$ '* ]]; then
			run_one || return
			command=${line#??}
			while [[ $command == *[\\\|] ]] && IFS= read -r line <&3; do
				command+=$'\n'$line
			done
		elif [ -z "$line" ]; then
			run_one || return
		elif [ -n "$command" ]; then
			want+=$line$'\n'
		fi
	done
	run_one || return
	[ "$ran" -ge "$2" ] || fail "$document: $ran examples"
}

# The folder of a document, with a home of its own.
enter() {
	mkdir -p "$BATS_TEST_TMPDIR/$1/home"
	cd "$BATS_TEST_TMPDIR/$1" || return
	export HOME=$PWD/home TMPDIR=$PWD/home
	cp "$model" m.gguf
	chmod u+w m.gguf
	[ "$1" != apr-lora.1 ] || enter_adapter
}

# An adapter of the model, as a folder of PEFT.
enter_adapter() {
	mkdir adapter
	"$APR_GEN/mkmodel" <<-END >adapter.gguf
		tensor base_model.model.blk.0.attn_q.lora_A.weight F32 1x256 values 0.5
		tensor base_model.model.blk.0.attn_q.lora_B.weight F32 256x1 values 0.25
	END
	apr-unpack adapter.gguf | apr-pack --plain -t safetensors -o adapter/adapter_model.safetensors 2>made
	echo '{"peft_type":"LORA","r":1,"lora_alpha":2}' >adapter/adapter_config.json
}

@test "the examples of each manual page run" {
	for page in "$root"/man/*.[1357]; do
		enter "$(basename "$page")"
		plain "$page" | sed -n '/^\/\* entropy/,/^\.Ed/p' | sed '$d' >entropy.c
		least=0
		[[ $page != *.1 ]] || least=1
		(run_examples "$(basename "$page")" $least 3< <(page_examples "$page"))
	done
}

@test "apr-stream(5) has a whole filter of at most 100 lines" {
	plain "$root/man/apr-stream.5" | sed -n '/^\/\* entropy/,/^\.Ed/p' | sed '$d' >"$out"
	lines=$(wc -l <"$out")
	[ "$lines" -gt 50 ] && [ "$lines" -le 100 ]
	page_examples "$root/man/apr-stream.5" | grep -q '^\$ cc .*-Werror.* entropy\.c'
}

@test "apr-stream(5) has a reader in Python, of some 30 lines" {
	command -v python3 >/dev/null || skip "no python3"
	cd "$BATS_TEST_TMPDIR" || return
	plain "$root/man/apr-stream.5" | sed -n '/^# tensors:/,/^\.Ed/p' | sed '$d' >tensors.py
	[ "$(wc -l <tensors.py)" -gt 20 ] && [ "$(wc -l <tensors.py)" -lt 36 ]
	apr-unpack "$model" >m.aprs
	python3 tensors.py <m.aprs >said
	[ "$(wc -l <said)" = "$(apr-header "$model" | sed -n 's/^tensors[: ]*\([0-9]*\).*/\1/p')" ]
	[ "$(tail -n 1 said)" = "output.weight BF16 [1024, 256] $(apr-get --text --slice 0,0 \
		output.weight "$model" | awk '{ printf "%.6g", $1 }')" ]
	head -c 1000000 m.aprs >cut
	run python3 tensors.py <cut
	[ "$status" -eq 1 ] && [[ $output == *'tensors: the stream ends too early' ]]
	printf x | dd of=m.aprs bs=1 seek=3000000 conv=notrunc status=none
	run python3 tensors.py <m.aprs
	[ "$status" -eq 1 ] && [[ $output == *'tensors: a checksum differs' ]]
}

@test "the tour of the README runs" {
	enter README
	ln -s "$APR_BIN" bin
	ln -s "$root/tests" tests
	run_examples README.md 10 3< <(fenced_examples "$root/README.md")
}

# ---- pages and tables ----

@test "each tool has a manual page whose SYNOPSIS is its usage" {
	[ -x "$(command -v mandoc)" ] || skip "mandoc is not installed"
	for tool in apr $(tools); do
		[ -e "$root/man/$tool.1" ] || fail "$tool has no page"
		exam_synopsis "$tool"
	done
}

@test "each option of a tool stands in its page or in apr(7)" {
	for tool in $(tools); do
		"$tool" --help | sed -n 's/.* --\([a-z0-9-]*\).*/\1/p' | while read -r option; do
			grep -qE "Fl -$option\b" "$root/man/$tool.1" "$root/man/apr.7" ||
				fail "$tool --$option is not documented"
		done
	done
}

@test "each environment variable that is looked at stands in apr(7)" {
	local name names
	names=$(cat "$root"/lib/*/*.c "$root"/lib/*/*/*.c "$root"/bin/*.c |
		grep -Eo 'getenv\("[A-Z_]+"|^#define LIMIT ".*"' | cut -d'"' -f2 | sort -u)
	[ "$(wc -w <<<"$names")" -ge 5 ]
	for name in $names; do
		sed -n '/^.Sh ENVIRONMENT/,/^.Sh FILES/p' "$root/man/apr.7" | grep -qw -e "$name" ||
			fail "$name is not in apr(7)" || return
	done
}

@test "apr-quant(1) knows every type, and which of them can be written" {
	page=$root/man/apr-quant.1
	[ -n "$(apr-quant 2>&1 | sed -n 's/.* TYPE is missing: //p')" ]
	for name in $(apr-quant 2>&1 | sed -n 's/.* TYPE is missing: //p'); do
		if apr-quant --pure "$name" "$model" 2>&1 >/dev/null | grep -q 'no encoder'; then
			grep -qE "^\.Li (.* )?$name( |$)" "$page"
		else
			grep -q "^\.It Cm $name " "$page"
		fi || fail "apr-quant(1) is wrong about $name"
	done
}

# TOOL <tab> description
from_names() {
	for tool in $(tools); do
		printf '%s\t%s\n' "$tool" "$(sed -n 's/^\.Nd //p' "$root/man/$tool.1")"
	done
}
from_overview() {
	sed -n '/^\.It Xr apr-.* 1$/{s/^\.It Xr \(.*\) 1$/\1/;N;s/\n/\t/;p}' "$root/man/apr.7"
}
from_readme() {
	sed -n 's/^| `\(apr-[a-z]*\)` | \(.*\) |$/\1\t\2/p' "$root/README.md"
}

@test "README and apr(7) list the tools alike, as their pages name them" {
	diff <(from_names) <(from_overview | sort)
	diff <(from_overview) <(from_readme | sed '/\t.* | /d')
}

@test "the completions are for the tools that have a page, and for no others" {
	local pages
	pages=$(from_names | cut -f1)
	diff <(sed -n 's/^#compdef apr //p' "$root/completions/_apr-tools" | tr ' ' '\n') <(echo "$pages")
	diff <(sed -n '/^complete /,$p' "$root/completions/apr-tools.bash" | grep -o 'apr-[a-z]*') \
		<(echo "$pages")
	diff <(sed -n '/^for tool in apr /,/^$/p' "$root/completions/apr-tools.fish" |
		sed '/^\tcomplete/,$d' | grep -o 'apr-[a-z]*') <(echo "$pages")
}

@test "README names each package that make deps installs" {
	for package in $(sed -n '/^packages=(/,/^)/p' "$root/scripts/deps.sh" | sed '1d; $d'); do
		grep -q "\`$package\`" "$root/README.md" || fail "$package is not in the README"
	done
}

@test "each file that the documents name is there" {
	for page in README ARCHITECTURE CONTRIBUTING STYLE DEVIATIONS NEWS; do
		[ -s "$root/$page.md" ]
		grep -oE '`[A-Za-z0-9_.-]+/[A-Za-z0-9_./]*`' "$root/$page.md" | tr -d '`' | sort -u |
			while read -r name; do
				[[ $name == *NAME* || $name == *TYPE* || $name == build/* || -e $root/$name || -e $root/lib/$name ||
					-e $root/lib/kernels/$name ]] ||
					fail "$page.md: $name is not there"
			done
	done
}

# Is there a test of that name: of bats, or a function of a unit test that runs?
is_test() {
	[ -e "$root/$1" ] || fail "no file $1" || return
	if [[ $1 == *.bats ]]; then
		grep -qF "@test \"$2\" {" "$root/$1" || fail "$1 has no test $2"
	else
		grep -q "^$2(" "$root/$1" && grep -qP "^\t+$2\(.*\);" "$root/$1" ||
			fail "$1 does not run $2"
	fi
}

@test "each part of apr-formats(7) names a test that holds it" {
	local line part='' parts=0 held=0
	while IFS= read -r line; do
		if [[ $line == .S[sh]\ * ]]; then
			[ -z "$part" ] || [ $held -gt 0 ] || fail "$part: no test is named" || return
			part=''
			[[ $line != .Ss\ * ]] || part=${line#.Ss } held=0 parts=$((parts + 1))
		elif [[ $line =~ ^\.Pq\ Pa\ (tests/[^ ]+)\ ,\ Dq\ (.*)$ ]]; then
			line=${BASH_REMATCH[2]% [;.]}
			is_test "${BASH_REMATCH[1]}" "$line" || return
			held=$((held + 1))
		fi
	done <"$root/man/apr-formats.7"
	[ $parts -ge 10 ]
}

# The vectors of all generators: NAME <tab> fault, same or changed.
what_vectors_are() {
	local g
	for g in gguf_good safetensors_good stream_good; do
		vectors $g $g
		awk -F'\t' '{ print $1 "\t" ($2 == $1 ? "same" : "changed") }' $g/MANIFEST
	done
	vectors apr1_good apr1_good
	cut -f1,2 apr1_good/MANIFEST
	vectors apr64_good apr64_good
	cut -f1,4 apr64_good/MANIFEST
	for g in gguf_faults safetensors_faults stream_faults apr2_faults apr2_packed \
		apr1_faults apr64_faults safetensors_folders gguf_shards apr2_shards packed \
		torch_faults torch_folders onnx_faults; do
		vectors $g $g
		awk -F'\t' '$2 == 4 || $2 == 3 { sub("/.*", "", $1); print $1 "\tfault" }' $g/MANIFEST
	done
	for g in safetensors_folders gguf_shards apr2_shards; do
		awk -F'\t' '{ sub("/.*", "", $1); print $1 "\tsame" }' $g/SOUND
	done
	printf 'good_unpadded\tsame\n'
}

# row WHAT-HAPPENS HELD-BY: the named tests exist, and the vectors have the stated kind.
row_holds() {
	local file title name is rest=$2 n=0
	while [[ $rest =~ \`(tests/[^\`]+)\`((,?\ \"[^\"]+\")+) ]]; do
		file=${BASH_REMATCH[1]} title=${BASH_REMATCH[2]}
		rest=${rest/"${BASH_REMATCH[0]}"/}
		while [[ $title =~ \"([^\"]+)\" ]]; do
			is_test "$file" "${BASH_REMATCH[1]}" || return
			title=${title/"${BASH_REMATCH[0]}"/} n=$((n + 1))
		done
	done
	while [[ $rest =~ \`([a-z0-9_]+)\` ]]; do
		name=${BASH_REMATCH[1]} rest=${rest/"${BASH_REMATCH[0]}"/} n=$((n + 1))
		is=$(awk -F'\t' -v name="$name" '$1 == name { print $2; exit }' vectors)
		case $1:$is in
		refused*:fault | accepted*:same | changed*:changed) ;;
		accepted*' changed'*:changed | accepted*refused*:fault) ;;
		accepted*' up to '*:fault | noted*:* | 'as in '*:?* | if*:?*) ;;
		*) fail "$name is a vector of kind \"$is\", but: $1" || return ;;
		esac
	done
	[ $n -gt 0 ] || fail "no test is named: $2" || return
	rest=${rest//[;, ]/}
	[ -z "$rest" ] || fail "not understood: $rest"
}

@test "each row of DEVIATIONS names a test that holds it" {
	local line what by rows=0
	cd "$BATS_TEST_TMPDIR"
	what_vectors_are >vectors
	while IFS= read -r line; do
		[[ $line == '| '* && $line != '| oddity '* ]] || continue
		by=${line##* | } what=${line% | *}
		row_holds "${what##* | }" "${by% |}" || fail "$line" || return
		rows=$((rows + 1))
	done <"$root/DEVIATIONS.md"
	[ $rows -ge 65 ]
}

@test "each row of apr-security(7) names tests that are there" {
	local name file tests=0
	while IFS= read -r name && IFS= read -r file; do
		is_test "$file" "$name" || fail "$file: $name" || return
		tests=$((tests + 1))
	done < <(awk '/^Held by$/ { getline; sub(/^\.Dq "/, ""); sub(/"$/, ""); print
		getline; getline; sub(/^\.Pa /, ""); sub(/ \.$/, ""); print }' "$root/man/apr-security.7")
	[ $tests -ge 18 ]
	# And each row names one.
	[ "$(grep -c '^\.It Somebody\|^\.It The same' "$root/man/apr-security.7")" -le $tests ]
	awk '/^\.It (Somebody|The same)/ { if (open) exit 1; open = 1 } /^Held by$/ { open = 0 }
		END { exit open }' "$root/man/apr-security.7"
}

@test "the manual pages are clean" {
	[ -x "$(command -v mandoc)" ] || skip "mandoc is not installed"
	mandoc -Tlint -Wwarning "$root"/man/*.[1357]
}

@test "includes point one way" {
	"$root/scripts/layers.sh"
}

@test "apr-rename(1) has the names of the form apr as lib/arch/match.c has them" {
	cd "$BATS_TEST_TMPDIR"
	sed -n '/} words\[\] = {/,/^};/p' "$root/lib/arch/match.c" |
		sed -n 's/^\t{ "\(.*\)", "\(.*\)" },$/\1 \2/p' >code.txt
	sed -n '/^\.Sh NAMES/,/^\.El/p' "$root/man/apr-rename.1" | sed 's/ No nothing$/ Li /' |
		sed -n 's/^\.It Li \([^ ]*\) Ta Li \(.*\)$/\1 \2/p' >page.txt
	[ "$(wc -l <code.txt)" -gt 8 ]
	diff code.txt page.txt
}
