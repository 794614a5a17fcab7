# apr-meta --in-place: a file's header, changed without its data
load ../helper

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	PATH=$PATH:$APR_GEN
	# The search for leaks does not work in a process that is traced.
	ASAN_OPTIONS+=:detect_leaks=0
}

# The containers that can be changed, with room: a.gguf, a.apr, a.safetensors, z.apr.
containers() {
	apr-unpack "$model" | apr-pack -t gguf --reserve 4k -o a.gguf
	apr-unpack "$model" | apr-pack -t apr2 --reserve 8k -o a.apr
	apr-unpack "$model" | apr-pack -t apr2 -z zstd --reserve 8k -o z.apr
	apr-unpack "$model" | apr-pack -t safetensors --reserve 64k -o a.safetensors 2>/dev/null
}

# A model of some bytes with room, in the container $1.
little() {
	mkmodel <<-END >little.gguf
		key general.architecture string llama
		key general.name string $(printf 'n%.0s' {1..900})
		key general.tags array:string a b c
		tensor t F32 2x2 ramp
		tensor u F32 3 ramp
	END
	apr-unpack little.gguf | apr-pack -t "$1" --reserve 3000 -o old 2>/dev/null
}

@test "in place gives the model that the filter gives, in each container" {
	local file edits=('general.name=Other' 'general.description=a longer text than before' \
		'tokenizer.ggml.tokens[5]=longer than it was' 'a.new:array:i16=[1,2,3]' \
		'a.json:json={"x":[1,{"y":2}]}')
	containers
	for file in a.gguf a.apr z.apr a.safetensors; do
		apr-unpack $file | apr-meta set "${edits[@]}" | apr-meta delete general.license |
			apr-meta rename llama.vocab_size llama.vocab | apr-sum >want
		size=$(stat -c %s $file)
		try apr-meta set "${edits[@]}" --in-place $file
		quiet
		try apr-meta delete general.license --in-place $file
		quiet
		try apr-meta rename llama.vocab_size llama.vocab --in-place $file
		quiet
		apr-sum $file | diff want -
		[ "$(stat -c %s $file)" -eq "$size" ]
		try apr-header --strict $file
		quiet
		# The room is there again, and all can be undone.
		try apr-meta copy --from "$model" general.name general.license --in-place $file
		quiet
		[ "$(apr-meta get general.name $file)" = 'Shakespeare 2.3M' ]
	done
}

@test "a file without room takes values that are not longer, and one message says what is missing" {
	local file
	apr-unpack "$model" | apr-pack -o m.apr
	apr-unpack "$model" | apr-pack -t safetensors -o m.safetensors 2>/dev/null
	cp "$model" m.gguf
	chmod u+w m.gguf
	for file in m.gguf m.apr m.safetensors; do
		try apr-meta set 'general.name=Shakespeare 9.9M' --in-place $file
		quiet
		try apr-meta set general.name=Short --in-place $file
		quiet
		[ "$(apr-meta get general.name $file)" = Short ]
		apr-unpack $file >/dev/null
		cp $file before
		try apr-meta set "general.name=$(printf 'x%.0s' {1..300})" --in-place $file
		said 5 'bytes more than there is room for'
		grep -q 'hint: .*--reserve' "$err"
		cmp $file before
	done
}

# Room is counted exactly: what the message asks for suffices, and one byte less does not.
@test "the number of missing bytes is exact" {
	local t missing
	for t in gguf apr2 safetensors; do
		rm -f old
		little $t
		try apr-meta set "general.name=$(printf 'x%.0s' {1..8000})" --in-place old
		said 5
		missing=$(sed -n 's/.*needs \([0-9]*\) bytes.*/\1/p' "$err")
		cp old one
		try apr-meta set "general.name=$(head -c $((8000 - missing + 1)) /dev/zero | tr '\0' x)" --in-place one
		said 5 'needs 1 byte more'
		cmp old one
		try apr-meta set "general.name=$(head -c $((8000 - missing)) /dev/zero | tr '\0' x)" --in-place one
		quiet
		apr-unpack one >/dev/null
	done
}

# bats test_tags=repeats
@test "each length of a value leaves a GGUF file that is whole" {
	local n
	little gguf
	apr-sum old | grep -v metadata >tensors
	for n in $(seq 1 70); do
		try apr-meta set "general.name=$(head -c "$n" /dev/zero | tr '\0' x)" --in-place old
		quiet
		apr-meta delete general.tags --in-place old 2>/dev/null || true
		[ "$(apr-meta get general.name old | wc -c)" -eq "$n" ]
	done
	# Without the reserve: padding alone, and room for no more than one byte.
	for n in $(seq 0 70); do
		apr-meta set "general.name=$(head -c 100 /dev/zero | tr '\0' x)" little.gguf |
			apr-pack -t gguf -f -o one.gguf
		try apr-meta set "general.name=$(head -c $((100 - n)) /dev/zero | tr '\0' x)" --in-place one.gguf
		quiet
		[ "$(apr-meta get general.name one.gguf | wc -c)" -eq $((100 - n)) ]
	done
}

# ---- old or new ----

# Kills the edit of the file "old" at each of its system calls.
killed_at_each() {
	local n=0 status=0 edit=(set general.name=new general.more=value)
	cp old new
	apr-meta "${edit[@]}" --in-place new
	! cmp -s old new || fail "nothing changes"
	while n=$((n + 1)); do
		cp old now
		status=0
		killed $n apr-meta "${edit[@]}" --in-place now 2>/dev/null || status=$?
		[ $status -ne 77 ] || skip "ptrace is not possible here"
		[ $status -eq 0 ] || break
		cmp -s now old || cmp -s now new || fail "$1: between old and new after $n calls" || return
		# What is left does not hinder the next change, which leaves nothing.
		if [ -e .now.apr-meta ]; then
			left=$((left + 1))
			try apr-meta "${edit[@]}" --in-place now
			quiet || return
			cmp now new || return
			[ ! -e .now.apr-meta ] || return
		fi
		rm -f .now.apr-meta.tmp
	done
	[ $n -gt 50 ] || fail "only $n calls"
	cmp now new
	[ "$(find . -name '.*.apr-meta*' | wc -l)" -eq 0 ]
}

# bats test_tags=repeats
@test "killed at each system call, a file is the old one or the new one" {
	local t left=0
	for t in gguf apr2 safetensors; do
		rm -f old
		little $t
		killed_at_each $t
		apr-header --strict old >/dev/null
		apr-header --strict new >/dev/null
		apr-unpack new >/dev/null
	done
	[ $left -gt 0 ]
}

# Stops an edit of "now" in front of the write to the file, when the journal is there.
stop_with_journal() {
	local n=0
	while n=$((n + 1)); do
		cp old now
		killed $n apr-meta set "$1" --in-place now 2>/dev/null || skip "ptrace is not possible here"
		[ ! -e .now.apr-meta ] || break
	done
}

@test "a change that tore inside the system call is completed by the next one" {
	little gguf
	cp old new
	apr-meta set "general.name=$(printf 'y%.0s' {1..2500})" --in-place new
	stop_with_journal "general.name=$(printf 'y%.0s' {1..2500})"
	cmp old now
	# The first and the third sector have been written.
	dd if=new of=now bs=512 count=1 conv=notrunc status=none
	dd if=new of=now bs=512 skip=2 seek=2 count=1 conv=notrunc status=none
	! cmp -s old now && ! cmp -s new now
	try apr-meta set "general.name=$(printf 'y%.0s' {1..2500})" --in-place now
	[ "$status" -eq 0 ]
	grep -q 'an earlier change, which was interrupted, is completed' "$err"
	cmp now new
	[ ! -e .now.apr-meta ]
}

@test "a journal that does not belong to the file changes nothing" {
	little gguf
	stop_with_journal "general.name=$(printf 'y%.0s' {1..2500})"
	cp .now.apr-meta journal
	# The file was replaced meanwhile.
	cp little.gguf now
	try apr-meta set general.architecture=llama --in-place now
	quiet
	cmp now little.gguf
	[ ! -e .now.apr-meta ]
	# The journal is cut, or changed; the name is no journal at all.
	for how in 'truncate -s -1' 'truncate -s 40' 'truncate -s 0'; do
		cp old now
		cp journal .now.apr-meta
		$how .now.apr-meta
		dd if=/dev/zero of=now bs=1 seek=40 count=1 conv=notrunc status=none
		cp now was
		apr-meta set general.architecture=llama --in-place now 2>/dev/null || true
		cmp now was
	done
	mkdir .old.apr-meta
	try apr-meta set general.name=x --in-place old
	said 1 'is not a journal of this user'
	rmdir .old.apr-meta
	ln -s little.gguf .old.apr-meta
	cp little.gguf was
	try apr-meta set general.name=x --in-place old
	said 1
	cmp little.gguf was
}

@test "a write that the system cuts short goes on; one that fails is undone" {
	little gguf
	cp old new
	apr-meta set "general.name=$(printf 'y%.0s' {1..2500})" --in-place new
	cp old now
	try killed short apr-meta set "general.name=$(printf 'y%.0s' {1..2500})" --in-place now
	[ "$status" -ne 77 ] || skip "ptrace is not possible here"
	quiet
	cmp now new
	cp old now
	try killed full apr-meta set "general.name=$(printf 'y%.0s' {1..2500})" --in-place now
	said 1 'cannot be written; it is as before'
	cmp now old
	[ ! -e .now.apr-meta ]
	# The limit of ulimit -f lies inside the header, or before the journal.
	for blocks in 0 1 2 4 8; do
		cp old now
		try bash -c "ulimit -f $blocks; apr-meta set general.name=$(printf 'y%.0s' {1..2500}) --in-place now"
		cmp -s now old || cmp -s now new
	done
}

@test "a sparse file of 2 GB: less than a megabyte is read and written" {
	mkmodel <<-END >big
		key general.name string short
		key general.x string $(printf 'n%.0s' {1..900})
		tensor t F32 1024x524288 hole
	END
	try killed count apr-meta set general.name=longer general.x=y --in-place big
	[ "$status" -ne 77 ] || skip "ptrace is not possible here"
	[ "$status" -eq 0 ] || fail "$(cat "$err")"
	awk '{ exit !($4 < 1000000 && $6 < 1000000) }' "$out" || fail "$(cat "$out")"
	[ "$(apr-meta get general.name big)" = longer ]
}

# ---- what is refused ----

@test "two at once: the second one is refused" {
	little gguf
	exec 8<>old
	flock -n 8
	try apr-meta set general.name=x --in-place old
	said 1 'is being changed by another process'
	exec 8>&-
	try apr-meta set general.name=x --in-place old
	quiet
}

@test "a signed file needs -f, and then has a record" {
	local file
	apr-keygen -W -o key 2>/dev/null
	for file in s.gguf s.safetensors s.apr; do
		apr-unpack "$model" | apr-sign key 2>/dev/null | apr-pack -o $file 2>/dev/null
		cp $file before
		try apr-meta set general.name=x --in-place $file
		said 5 'is signed'
		cmp $file before
		apr-verify -q key.pub $file
	done
	for file in s.gguf s.safetensors; do
		try apr-meta -f set general.name=x --in-place $file
		[ "$status" -eq 0 ]
		grep -q 'a record of its claims kept' "$err"
		apr-header $file | grep -Eq '^signatures +0'
		apr-header $file | grep -Eq '^provenance +1'
		apr-unpack "$model" | apr-sign key 2>/dev/null | apr-meta set general.name=x 2>/dev/null |
			apr-sum | diff - <(apr-sum $file)
		# Another change keeps the record.
		apr-meta set general.name=y --in-place $file
		apr-header $file | grep -Eq '^provenance +1'
	done
	try apr-meta -f set general.name=x --in-place s.apr
	said 4 'its signature lies after its data'
	apr-verify -q key.pub s.apr
}

@test "what cannot be changed in place is refused, and stays" {
	cp "$model" m.gguf
	chmod u+w m.gguf
	apr-unpack m.gguf >m.aprs
	apr-unpack m.gguf | apr-pack -t apr1 -o m1.apr 2>/dev/null
	apr-unpack m.gguf | apr-pack --shard-size 2M -o shard.gguf
	apr-unpack m.gguf | apr-pack -t safetensors -o folder/ 2>/dev/null
	apr-unpack m.gguf | apr-pack -t apr2-64 -o m64.apr 2>/dev/null
	for file in m.aprs m1.apr m64.apr shard-00001-of-*.gguf; do
		cp "$file" before
		try apr-meta set general.name=x --in-place "$file"
		said 4 'cannot be changed in place (E001) hint: apr-unpack FILE | apr-meta'
		cmp "$file" before
	done
	try apr-meta set general.name=x --in-place m.aprs
	said 4 'm.aprs: has the format "apr stream", which cannot be changed in place (E001)'
	try apr-meta set general.name=x --in-place folder
	said 4 'is a folder, which cannot be changed in place (E001) hint: its file model.safetensors can'
	mkdir empty
	try apr-meta set general.name=x --in-place empty
	said 4 'is a folder'
	try apr-meta set general.name=x --in-place none
	said 3
	try apr-meta set general.name=x --in-place
	said 2 '--in-place needs FILE'
	try apr-meta set general.name=x --in-place -
	said 2 '--in-place needs FILE'
	try apr-meta list --in-place m.gguf
	said 2 'changes nothing'
	try apr-meta set general.name=x --in-place -o y m.gguf
	said 2 'cannot be combined'
	# An edit that changes nothing does not write.
	touch -d 2020-01-01 m.gguf
	try apr-meta set 'general.name=Shakespeare 2.3M' --in-place m.gguf
	quiet
	[ "$(stat -c %Y m.gguf)" -eq "$(date -d 2020-01-01 +%s)" ]
	[ "$(find . -name '.*.apr-meta' | wc -l)" -eq 0 ]
}

@test "links lead to the file itself" {
	little gguf
	mkdir other
	ln -s ../old other/soft
	ln old hard
	try apr-meta set general.name=changed --in-place other/soft
	quiet
	[ -L other/soft ]
	[ "$(apr-meta get general.name hard)" = changed ]
}

# The rows of MANIFEST: file, status, message.
not_changed() {
	[ "$2" = 4 ] && [ -f "$1" ] || return 0
	cp "$1" before
	chmod u+w "$1"
	status=0
	apr-meta set general.name=x a.b=c --in-place "$1" >/dev/null 2>&1 || status=$?
	# What only the data or the footer shows to be wrong is not seen; then the header is changed.
	[ $status -ne 0 ] || [ "$(stat -c %s "$1")" -eq "$(stat -c %s before)" ] || return
	[ $status -eq 0 ] || cmp "$1" before
	[ $status -lt 100 ]
}

@test "files with faults are not changed" {
	local g
	for g in gguf_faults safetensors_faults apr2_faults; do
		vectors $g $g
		(cd $g && rows not_changed)
	done
}

@test "a caller that ignores the end of children gets the right exit status" {
	apr-unpack "$model" | apr-pack -t gguf --reserve 4k -o a.gguf
	head -c 5000 a.gguf >cut.gguf
	(trap '' CHLD && apr-meta set general.name=kept --in-place a.gguf)
	[ "$(apr-meta get general.name a.gguf)" = kept ]
	run -4 bash -c "trap '' CHLD && apr-meta set general.name=kept --in-place cut.gguf"
}
