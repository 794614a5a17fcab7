# apr-cache: the caches of fetched models, in the layout of the hub's own client.
load ../helper

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	export HF_HUB_CACHE=$BATS_TEST_TMPDIR/hub APR_CACHE=$BATS_TEST_TMPDIR/apr
	unset HUGGINGFACE_HUB_CACHE HF_HOME XDG_CACHE_HOME
}

one=1111111111111111111111111111111111111111
two=2222222222222222222222222222222222222222

# small FOLDER REVISION PATH CONTENT, large …: a file as the hub's client stores it.
small() {
	store "$1" "$2" "$3" "$4" "$(printf 'blob %d\0%s' "${#4}" "$4" | sha1sum | cut -c 1-40)"
}
large() {
	store "$1" "$2" "$3" "$4" "$(printf %s "$4" | sha256sum | cut -c 1-64)"
}
store() {
	local up=${3//[^\/]/}
	mkdir -p "hub/$1/blobs" "hub/$1/refs" "hub/$1/snapshots/$2"
	[ "$(dirname "$3")" = . ] || mkdir -p "hub/$1/snapshots/$2/$(dirname "$3")"
	printf %s "$4" >"hub/$1/blobs/$5"
	ln -s "../../${up//\//../}blobs/$5" "hub/$1/snapshots/$2/$3"
}

# A model with two revisions that share a file, a data set, an artifact and an address.
fill() {
	local m=models--org--m digest config
	small $m $one config.json '{"a":1}'
	large $m $one sub/weights.safetensors 'the weights, old'
	large $m $one shared.bin 'shared by both'
	small $m $two config.json '{"a":2}'
	ln -s ../../blobs/"$(sha256 'shared by both')" hub/$m/snapshots/$two/shared.bin
	printf %s $two >hub/$m/refs/main
	printf '%s\n' $one >hub/$m/refs/v1
	mkdir -p hub/$m/refs/refs/pr hub/$m/.no_exist/$one hub/$m/trees hub/.locks/$m
	printf %s $two >hub/$m/refs/refs/pr/1
	touch hub/$m/.no_exist/$one/absent
	echo '{}' >hub/$m/trees/$one.json
	small datasets--org--d $one data.csv 'a,b'
	mkdir -p apr/blobs/sha256 apr/oci/localhost:5000/lib/m apr/urls
	config=$(blob '{}')
	digest=$(blob 'the layer')
	printf '{"config":{"digest":"sha256:%s"},"layers":[{"digest":"sha256:%s"}]}' \
		"$config" "$digest" >apr/oci/localhost:5000/lib/m/latest.json
	printf '{"url":"https://host/x.gguf","sha256":"%s"}' "$(blob 'the file')" >apr/urls/aa.json
}
sha256() {
	printf %s "$1" | sha256sum | cut -c 1-64
}
blob() {
	printf %s "$1" >"apr/blobs/sha256/$(sha256 "$1")"
	sha256 "$1"
}

# What is in the caches, as one text.
listing() {
	(cd "$BATS_TEST_TMPDIR" && find hub apr -printf '%p %l\n' | sort)
}

@test "apr-cache passes the exam" {
	exam maker apr-cache info
}

@test "apr-cache: caches that do not exist are empty" {
	try apr-cache info
	quiet
	diff "$out" - <<-END
		$PWD/hub: does not exist
		$PWD/apr: does not exist
	END
	try apr-cache list
	quiet
	[ ! -s "$out" ]
	try apr-cache verify
	quiet
	grep -qx '0 contents, 0 B: valid' "$out"
	try apr-cache clear --all
	quiet
	[ ! -e hub ] && [ ! -e apr ]
}

@test "apr-cache info and list: each content counts once" {
	fill
	printf 'part' >hub/models--org--m/blobs/"$(sha256 x)".1a2b3c4d.incomplete
	printf 'nobody' >hub/models--org--m/blobs/"$(sha256 nobody)"
	try apr-cache info
	quiet
	# 7 + 16 + 14 + 7 of the model, 3 of the data set, 4 unfinished, 6 unused.
	diff "$out" - <<-END
		$PWD/hub: 57 B
		  2 repositories, 3 revisions, 6 files with 6 contents
		  1 unfinished: 4 B
		  not used by any revision: 6 B
		$PWD/apr: 19 B
		  2 artifacts and addresses, 3 files with 3 contents
	END
	try apr-cache info --json
	quiet
	grep -q '^{"hub":{"path":"/.*","exists":true,"repositories":2,"revisions":3,"files":6,"blobs":6,"bytes":57,"unfinished":1,"unfinished_bytes":4,"unused_bytes":6,"broken":0,"uploads":0},"apr":{' "$out"
	try apr-cache list
	quiet
	sed 's/20[0-9][0-9]-[0-9][0-9]-[0-9][0-9]/2026-01-01/' "$out" | diff - <(cat <<-END
		       3 B      1  2026-01-01  datasets/org/d@111111111111
		      37 B      3  2026-01-01  org/m@111111111111 (v1)
		      21 B      2  2026-01-01  org/m@222222222222 (main refs/pr/1)
		       4 B      -  -           org/m: unfinished
		       6 B      -  -           org/m: unused
		      11 B      2  2026-01-01  oci://localhost:5000/lib/m:latest
		       8 B      1  2026-01-01  https://host/x.gguf
	END
	)
	try apr-cache list --json hf://org/m@v1 https://host/x.gguf
	quiet
	sed 's/"used":[0-9]*/"used":1/' "$out" | diff - <(cat <<-END
		{"cache":"hub","name":"org/m","commit":"$one","refs":"v1","bytes":37,"files":3,"broken":0,"used":1}
		{"cache":"apr","name":"https://host/x.gguf","bytes":8,"files":1,"broken":0,"used":1}
	END
	)
	try apr-cache list org/none
	said 3 'org/none: is not in the cache'
	try apr-cache list org/m@v9
	said 3 'org/m@v9: is not in the cache'
}

@test "apr-cache verify: content against SHA-256 and git blob ids, and links" {
	fill
	try apr-cache verify
	quiet
	diff "$out" - <<<'8 contents, 66 B: valid'
	printf 'the weights, odd' >hub/models--org--m/blobs/"$(sha256 'the weights, old')"
	printf '{"a":3}' >hub/models--org--m/blobs/"$(printf 'blob 7\0{"a":2}' | sha1sum | cut -c 1-40)"
	rm "apr/blobs/sha256/$(sha256 'the layer')"
	ln -s ../../../../secret hub/models--org--m/snapshots/$two/evil.bin
	ln -s /etc/passwd hub/models--org--m/snapshots/$two/passwd
	try apr-cache verify
	said 5 '5 files of the cache are not valid'
	diff <(sort "$out") <(sort <<-END
		oci://localhost:5000/lib/m:latest: sha256:$(sha256 'the layer'): the content is missing
		org/m: $(sha256 'the weights, old'): the content differs from its digest
		org/m: $(printf 'blob 7\0{"a":2}' | sha1sum | cut -c 1-40): the content differs from its digest
		org/m@222222222222 (main refs/pr/1): evil.bin: the link leads out of the cache
		org/m@222222222222 (main refs/pr/1): passwd: the link leads out of the cache
	END
	)
	# Only what is named is read.
	try apr-cache verify datasets/org/d
	quiet
	diff "$out" - <<<'1 content, 3 B: valid'
	try apr-cache verify --json org/m@v1
	said 5 '1 file of the cache is not valid'
	[ "$(grep -c '"result":"ok"' "$out")" -eq 2 ]
	[ "$(grep -c '"result":"differs"' "$out")" -eq 1 ]
}

@test "apr-cache clear: a revision goes, what others need stays" {
	fill
	listing >before
	try apr-cache clear -n org/m@v1
	quiet
	diff "$out" - <<-END
		org/m@111111111111 (v1)
		23 B would be freed
	END
	listing | diff before -
	try apr-cache clear org/m@v1
	quiet
	grep -qx '23 B freed' "$out"
	listing | diff before - | sed -n 's/^< //p' | sort >gone
	diff gone <(sort <<-END
		hub/models--org--m/.no_exist/$one 
		hub/models--org--m/.no_exist/$one/absent 
		hub/models--org--m/blobs/$(printf 'blob 7\0{"a":1}' | sha1sum | cut -c 1-40) 
		hub/models--org--m/blobs/$(sha256 'the weights, old') 
		hub/models--org--m/refs/v1 
		hub/models--org--m/snapshots/$one 
		hub/models--org--m/snapshots/$one/config.json ../../blobs/$(printf 'blob 7\0{"a":1}' | sha1sum | cut -c 1-40)
		hub/models--org--m/snapshots/$one/shared.bin ../../blobs/$(sha256 'shared by both')
		hub/models--org--m/snapshots/$one/sub 
		hub/models--org--m/snapshots/$one/sub/weights.safetensors ../../../blobs/$(sha256 'the weights, old')
		hub/models--org--m/trees/$one.json 
	END
	)
	apr-cache verify org/m
	try apr-cache clear org/m oci://localhost:5000/lib/m
	quiet
	[ ! -e hub/models--org--m ]
	[ "$(ls apr/blobs/sha256)" = "$(sha256 'the file')" ]
	try apr-cache clear --all --json
	quiet
	grep -qx '{"revisions":2,"bytes":11,"dry_run":false}' "$out"
	[ -z "$(find hub apr -type f)" ]
}

@test "apr-cache clear --older-than: by the last use of any file of a revision" {
	fill
	find hub apr -exec touch -h -d '40 days ago' {} +
	touch -a "hub/models--org--m/blobs/$(sha256 'shared by both')"
	try apr-cache clear --older-than 30d
	quiet
	# Both revisions of the model have the file that was read today.
	diff "$out" - <<-END
		datasets/org/d@111111111111
		oci://localhost:5000/lib/m:latest
		https://host/x.gguf
		22 B freed
	END
	[ ! -e hub/datasets--org--d ]
	apr-cache verify org/m
	find hub -exec touch -h -d '2 hours ago' {} +
	try apr-cache clear --older-than 1d org/m
	quiet
	diff "$out" - <<<'0 B freed'
	try apr-cache clear --older-than 60m org/m
	quiet
	[ ! -e hub/models--org--m ]
}

@test "apr-cache clear: nothing outside the cache is removed, locks are respected" {
	local m=hub/models--org--m
	fill
	mkdir outside
	echo kept >outside/file
	ln -s "$PWD/outside" $m/snapshots/$one/folder
	ln -s "$PWD/outside/file" $m/snapshots/$one/file
	ln -s ../../../../outside/file $m/blobs/link
	ln -s "$PWD/outside" hub/models--org--moved
	ln -s "$PWD/outside" $m/trees/link
	echo mine >$m/notes.txt
	touch "hub/.locks/models--org--m/$(sha256 'the weights, old').lock"
	exec 8<"hub/.locks/models--org--m/$(sha256 'the weights, old').lock"
	flock 8
	try apr-cache clear org/m
	[ "$status" -eq 1 ]
	diff "$err" - <<-END
		apr-cache: org/m is kept: a download is using it
		apr-cache: 1 part of the cache is kept: downloads or uploads hold locks
	END
	[ -e $m/snapshots/$one ] && [ ! -e $m/snapshots/$two ]
	exec 8<&-
	try apr-cache clear --all
	quiet
	[ -z "$(find hub -type f ! -name '*.lock' ! -name notes.txt)" ]
	[ "$(cat outside/file)" = kept ]
	# What is not part of the layout stays, and its folder with it.
	[ "$(cat $m/notes.txt)" = mine ]
	[ -L hub/models--org--moved ]
}

@test "apr-cache: wrong usage, and caches with odd content" {
	local args
	while IFS='|' read -r args text; do
		# shellcheck disable=SC2086
		try apr-cache $args
		said 2 "$text"
	done <<-'END'
		|a command is missing
		remove|unknown command remove
		info x|one operand too many
		list --all|--all is for clear
		verify --older-than 3d|--older-than is for clear
		info -n|--dry-run is for clear
		clear|what to clear is missing
		clear --all x|--all excludes NAME
		clear --all --older-than 1d|--all excludes NAME and --older-than
		clear --older-than 30|--older-than 30: not a number with s, m, h, d or w
		clear --older-than 1y|not a number
		clear --older-than 99999999999999999999d|not a number
	END
	mkdir -p hub/models--org--m/blobs/folder hub/models--org--m/refs apr/oci/h apr/urls hub/models-- \
		hub/models--org--m/snapshots/$'\e[31m'
	printf '%300s' x >hub/models--org--m/refs/long
	mkfifo hub/models--org--m/refs/fifo hub/models--org--m/snapshots/$'\e[31m'/fifo
	echo '{' >apr/oci/h/t.json
	echo '[1]' >apr/urls/b.json
	printf x >hub/models--org--m/blobs/$'odd\n'
	touch hub/file
	try apr-cache list
	quiet
	[[ $(cat "$out") != *$'\e'* ]]
	try apr-cache verify
	[ "$status" -eq 5 ]
	grep -qx 'oci://h:t: is not valid JSON' "$out"
	try apr-cache clear --all
	quiet
	rm -r hub apr
	mkdir hub
	touch apr
	try apr-cache info
	said 3 'apr: cannot be opened'
}

# record NAME OID: of an object of 25 bytes in parts of 10, of which one has arrived.
record() {
	printf '{"oid":"%s","size":25,"chunk":10,"complete":"https://h/c","addresses":["https://h/1?secret","https://h/2","https://h/3"]}\n{"part":2,"etag":"x"}\n{"part":3,"et' \
		"$2" >"apr/uploads/$1.json"
}

@test "apr-cache: uploads that never finished are shown and cleared" {
	local a b
	a=$(sha256 a) b=$(sha256 b)
	mkdir -p apr/uploads outside
	record 1 "$a"
	record 2 "$b"
	echo 'not a record' >apr/uploads/3.json
	ln -s ../../outside apr/uploads/4.json
	try apr-cache info
	quiet
	diff "$out" - <<-END
		$PWD/hub: does not exist
		$PWD/apr: $(cat apr/uploads/[123].json | wc -c) B
		  0 artifacts and addresses, 0 files with 0 contents
		  3 uploads that are not finished
	END
	try apr-cache list
	quiet
	! grep secret "$out"
	[ "$(sed 's/.*  //' "$out")" = "upload:$a: 1 of 3 parts of 25 B
upload:$b: 1 of 3 parts of 25 B
uploads/3.json: not a record" ]
	try apr-cache list --json "upload:${a:0:9}"
	quiet
	grep -q "^{\"cache\":\"apr\",\"name\":\"upload:$a\",.*\"parts\":3,\"sent\":1,\"object_bytes\":25}$" "$out"
	[ "$(wc -l <"$out")" = 1 ]
	try apr-cache verify
	quiet

	exec 8<apr/uploads/1.json
	flock 8
	try apr-cache clear upload:
	[ "$status" = 1 ]
	diff "$err" - <<-END
		apr-cache: upload:$a is kept: an upload is using it
		apr-cache: 1 part of the cache is kept: downloads or uploads hold locks
	END
	exec 8<&-
	[ "$(ls apr/uploads)" = "$(printf '1.json\n3.json\n4.json')" ]
	touch -d '3 days ago' apr/uploads/1.json
	try apr-cache clear -n --older-than 2d
	quiet
	grep -qx "upload:$a" "$out"
	[ -e apr/uploads/1.json ]
	try apr-cache clear --older-than 2d
	quiet
	[ ! -e apr/uploads/1.json ]
	try apr-cache clear --all
	quiet
	[ "$(ls apr/uploads)" = 4.json ] && [ -d outside ]
}
