# Letters of options: one meaning each, except llama.cpp's in some tools.
load ../helper

# Tools that keep llama.cpp's letters.
llama='apr-canary apr-run apr-tok'

setup() {
	cd "$BATS_TEST_TMPDIR" || return
}

tools() {
	basename -s .c "$root"/bin/apr-*.c
}

is_llama() {
	[[ " $llama " == *" $1 "* ]]
}

# TOOL LETTER NAME of each option that --help shows with a letter.
letters() {
	local tool
	for tool in $(tools); do
		"$tool" --help | sed -n "s/^  -\(.\), --\([a-z0-9-]*\).*/$tool \1 \2/p"
	done
}

# The same as the lists in apr(7) have it: LIST TOOL LETTER NAME, where LIST is 1 for
# all tools and 2 for llama.cpp's letters.
documented() {
	sed -n '/^\.Ss Letters/,/^\.Ss Memory/p' "$root/man/apr.7" | awk -v tools="$(tools | tr '\n' ' ')" '
		/^\.Bl/ { list++ }
		/^\.It/ {
			split($0, part, / *Ta */)
			if (part[1] != ".It") {
				letter = part[1]; sub(/^.It Fl /, "", letter)
				name = part[2]; sub(/^Fl -/, "", name)
			}
			n = split(part[3] == "all tools" ? tools : part[3], tool, " ")
			for (i = 1; i <= n; i++)
				print list, tool[i], letter, name
		}'
}

@test "a letter means one thing in all tools but those with llama.cpp's" {
	local tool letter name
	local -A means
	letters >letters.txt
	[ "$(wc -l <letters.txt)" -gt 50 ]
	while read -r tool letter name; do
		! is_llama "$tool" || continue
		[ "${means[$letter]:=$name}" = "$name" ] ||
			fail "-$letter is --$name in $tool, and --${means[$letter]} elsewhere"
	done <letters.txt
}

@test "apr(7) lists the letters of all tools" {
	local tool letter name
	documented >documented.txt
	# Those of these tools stand in the second list, or mean what they mean elsewhere.
	letters | while read -r tool letter name; do
		if is_llama "$tool" && grep -qx "2 $tool $letter $name" documented.txt; then
			echo "2 $tool $letter $name"
		else
			echo "1 $tool $letter $name"
		fi
	done | sort >are.txt
	diff are.txt <(sort documented.txt)
	grep -q '^2 apr-run t threads$' are.txt
	grep -q '^1 apr-run j jobs$' are.txt
}

# old TOOL OPTION NEW: the note that OPTION causes.
old() {
	try "$1" "$2" "${@:4}"
	grep -qxF -e "$1: $2 is deprecated: use $3" "$err" || fail "$1 $2:" "$(cat "$err")"
	! "$1" --help | grep -qE -e " $2\b" || fail "$1 --help shows $2"
	APR_LOG_LEVEL=error "$1" "$2" "${@:4}" 2>"$err" || :
	! grep -q deprecated "$err" || fail "APR_LOG_LEVEL=error does not silence it"
}

@test "old spellings still work, and a note names the new ones" {
	old apr-header -t -l "$model"
	cmp "$out" <(apr-header --list "$model")
	old apr-header --tensors --list "$model"
	cmp "$out" <(apr-header -l "$model")
	try apr-header -t --list "$model"
	grep -qF -e '--list is given twice' "$err"

	# It takes its value too.
	old apr-open -k --reply-to who -i /dev/null /dev/null
	try apr-open -k who --reply-to who -i /dev/null /dev/null
	grep -qF -e '--reply-to is given twice' "$err"
}

@test "apr-run takes -j for threads, as other tools do" {
	for option in -t -j --threads --jobs; do
		try apr-run --json --tokens 1,2 -n 2 $option 1 "$model"
		quiet
		cp "$out" "run$option"
		cmp "$out" run-t
	done
	try apr-run -t 1 -j 2 -p x "$model"
	said 2 '--threads is given twice'
	try apr-run -j 0 -p x "$model"
	said 2 '--jobs needs a number from 1 to 1024'
}
