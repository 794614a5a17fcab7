# Rules of STYLE.md and ARCHITECTURE.md that a program can check.
load ../helper

setup() {
	cd "$root" || return
}

@test "indents: tabs in C, tests and completions, spaces in scripts" {
	! grep -nP '^ +\t' lib/*/*.[ch] lib/*/*/*.[ch] bin/*.c tests/*/*.[ch] || fail "a space before a tab"
	! grep -nE '^ {2,}[a-z}]' tests/*/*.bats tests/*.bash completions/*.bash ||
		fail "spaces begin a line"
	! grep -nP '^\t' .ci/run scripts/*.sh tests/*.sh tests/*/*.sh || fail "a tab begins a line"
	! grep -nE '[[:blank:]]$' .ci/run scripts/*.sh tests/*.sh tests/*/*.sh \
		lib/*/*.[ch] lib/*/*/*.[ch] bin/*.c ./*.md man/* Makefile || fail "white space at the end of a line"
}

@test "no source is longer than 600 lines, no program of bin/ than 300" {
	for file in lib/*/*.[ch] lib/*/*/*.[ch]; do
		[ "$(wc -l <"$file")" -le 600 ] || fail "$file: $(wc -l <"$file") lines"
	done
	for file in bin/*.c; do
		[ "$(wc -l <"$file")" -le 300 ] || fail "$file: $(wc -l <"$file") lines"
	done
}

@test "no name is defined by two files of the library" {
	local library=$APR_GEN/../../lib/libapr.a
	[ -e "$library" ]
	nm --defined-only -g "$library" | awk '$2 ~ /^[A-TV-Z]$/ { print $3 }' | sort | uniq -d >"$BATS_TEST_TMPDIR/twice"
	[ ! -s "$BATS_TEST_TMPDIR/twice" ] || fail "$(cat "$BATS_TEST_TMPDIR/twice")"
}

@test "formats of texts have no conversion that lib/core/wasm/print.c lacks" {
	local unknown="[aAmnoCSLq'\$]|\" *PRIo"
	local size='(?:hh?|ll?|[zjt])?' before='"(?:[^"%]|%[^"])*?%[-0+ #]*[*\d]*(?:\.[*\d]*)?'
	printf '%s\n' 'f("%s %-8lo");' 'f("%%%5.3a");' 'f("%" PRIo64);' "f(\"%2\$s\");" >"$BATS_TEST_TMPDIR/bad"
	[ "$(grep -cP "$before$size(?:$unknown)" "$BATS_TEST_TMPDIR/bad")" -eq 4 ]
	[ "$(grep -cP "$before$size(?:$unknown)" <<<'f("%%o %s 9%% of %d %.*s %-12.3g");')" -eq 0 ]
	! grep -rnP --include='*.[ch]' --exclude-dir=cli "$before$size(?:$unknown)" lib web || fail "print.c would end the module"
}

# "ROOM OTHER..." sorted, of the table in scripts/layers.sh.
rooms_checked() {
	sed -n "/^rooms='/,/^'/p" scripts/layers.sh | sed '1d; $d' |
		while read -r room others; do
			echo "$room $(tr ' ' '\n' <<<"$others" | sort | tr '\n' ' ')"
		done | sed 's/ *$//' | sort
}

# The same of the table in ARCHITECTURE.md.
rooms_told() {
	local rooms others room
	sed -n '/^| room | may include |/,/^$/p' ARCHITECTURE.md | sed '1,2d; $d' | tr -d , |
		while IFS='|' read -r _ rooms others _; do
		for room in $rooms; do
			if [[ $others == *'all except api'* ]]; then
				others=$(rooms_checked | sed 's/ .*//' | grep -vx -e api -e bin)
			fi
			echo "$room $(tr -s ' ' '\n' <<<"$others" | sort | tr '\n' ' ')" | tr -s ' '
		done
	done | sed 's/ *$//' | sort
}

@test "the table of rooms in ARCHITECTURE is the one that layers.sh checks" {
	diff <(rooms_checked) <(rooms_told)
	[ "$(rooms_told | wc -l)" -ge 18 ]
	# Each room stands in the picture, and is there.
	for room in $(rooms_checked | sed 's/ .*//'); do
		[ "$room" = bin ] || [ -d "lib/$room" ] || fail "no room $room"
		[ "$room" = bin ] || grep -q "^lib/$room/ " ARCHITECTURE.md || fail "$room is not told of"
	done
	for room in lib/*/; do
		rooms_checked | grep -q "^$(basename "$room")\b" || fail "$room is not in layers.sh"
	done
}

# Occurrences of a Perl pattern in sources, pages and documents.
occurrences() {
	cat lib/*/*.[ch] lib/*/*/*.[ch] bin/*.c man/*.[1357] tests/bench/ROOFLINE.md \
		{README,ARCHITECTURE,CONTRIBUTING,DEVIATIONS,NEWS}.md | grep -oP "$1" | wc -l
}

# STYLE.md, "English". "There is no" and "no longer" are English.
@test "phrases that STYLE.md replaces stay out" {
	local limit phrase found bad=
	while read -r limit phrase; do
		found=$(occurrences "$phrase")
		[ "$found" -le "$limit" ] || bad+="$found times, at most $limit: $phrase"$'\n'
	done <<-'E'
		5 (?<![Tt]here )\b(is|are) no (?!longer|more\b)
		1 \bof which\b
		0 \bbut for\b
		2 \bas it is\b
		0 \bso many\b
		0 \bwho shall\b
		0 \bcan do with\b
		6 \b(is|are) told\b
		0 \bmilliards?\b
		0 \bwhat there is\b
	E
	[ -z "$bad" ] || fail "$bad"
}
