# Memory: each process of a pipe stays within 64 MiB, whatever the size of the
# model and the number of threads.
load ../helper

LIMIT=65536 # KiB; peak resident memory, which counts code and more besides

setup_file() {
	export FOLDER=$BATS_FILE_TMPDIR
	! grep -q -e __asan_init -e __ubsan_handle "$APR_BIN/apr-quant" ||
		export WHY='a sanitizer has memory of its own'
	[ -n "${WHY:-}" ] || [ "$(df -Pk "$FOLDER" | awk 'NR == 2 { print $4 }')" -gt 6000000 ] ||
		export WHY='less than 6 GB of disk are free'
	[ -n "${WHY:-}" ] || [ "$(stat -f -c %T "$FOLDER")" != tmpfs ] ||
		export WHY='the temporary folder is memory, not disk'
}

setup() {
	[ -z "${WHY:-}" ] || skip "$WHY"
	cd "$FOLDER" || return
	PATH=$PATH:$APR_GEN
	export APR_LOG_LEVEL=error
	# 2.2 GB, once for all tests.
	[ -e model.gguf ] || llama 19 2048 5632 26000 >model.gguf
	[ "$(wc -c <model.gguf)" -gt 2147483648 ]
	[ -e key ] || apr-keygen -W -o key >key.id
}

teardown_file() {
	rm -f "$FOLDER"/*.gguf "$FOLDER"/*.apr
}

# Memory of each process of the last pipe, in the named files; shown as a comment.
within() {
	local f
	for f; do
		[ "$(cat "$f")" -le "$LIMIT" ] || fail "$f: $(cat "$f") KiB"
		echo "# $f $(($(cat "$f") / 1024)) MiB" >&3
		rm "$f"
	done
}

@test "both pipes on 2.2 GB, one thread" {
	pipe 'peak unpack apr-unpack model.gguf | peak quant apr-quant -j 1 q4_0 |
		peak sign apr-sign -j 1 key | peak pack apr-pack >model.apr'
	within unpack quant sign pack
	pipe 'peak unpack apr-unpack model.apr | peak verify apr-verify -j 1 key.pub |
		peak pack apr-pack -f -t gguf -o back.gguf'
	within unpack verify pack
	mv model.apr one.apr
}

@test "2.2 GB judged, one thread and 64" {
	local jobs
	for jobs in 1 64; do
		peak check apr-check -j $jobs model.gguf >judged.$jobs
		within check
	done
	cmp judged.1 judged.64
}

@test "2.2 GB sealed and opened" {
	echo AGE-SECRET-KEY-1GFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPQ4EGAEX >me.key
	pipe 'peak unpack apr-unpack model.gguf | peak encrypt apr-encrypt -r \
		age1zvkyg2lqzraa2lnjvqej32nkuu0ues2s82hzrye869xeexvn73equnujwj |
		peak pack apr-pack --no-sync -o sealed.apr'
	within unpack encrypt pack
	pipe 'peak unpack apr-unpack sealed.apr | peak decrypt apr-decrypt -i me.key |
		peak pack apr-pack --no-sync -t gguf | cmp - model.gguf'
	within unpack decrypt pack
	rm sealed.apr
}

@test "both pipes on 2.2 GB, two threads, from a pipe and to one" {
	pipe 'cat model.gguf | peak unpack apr-unpack | peak quant apr-quant -j 2 q4_0 |
		peak sign apr-sign -j 2 key | peak pack apr-pack | cat >model.apr'
	within unpack quant sign pack
	pipe 'cat model.apr | peak unpack apr-unpack | peak verify apr-verify -j 2 key.pub |
		peak pack apr-pack -f -t gguf -o back.gguf'
	within unpack verify pack
	cmp model.apr one.apr
}

@test "both pipes on 2.2 GB, 64 threads, with the error summed up" {
	pipe 'peak unpack apr-unpack model.gguf | peak quant apr-quant -j 64 --check q4_0 2>check |
		peak sign apr-sign -j 64 key | peak pack apr-pack >model.apr'
	within unpack quant sign pack
	# A FILE is read by a child, twice: peak sees the larger of both.
	pipe 'peak verify apr-verify -j 64 key.pub model.apr |
		peak pack apr-pack -f -t gguf -o back.gguf'
	within verify pack
	cmp model.apr one.apr
}

@test "apr-diff of 2.2 GB: the same model from a pipe, and one of another type" {
	pipe 'apr-unpack model.gguf | peak same apr-diff -j 64 - model.gguf'
	peak other apr-diff -j 64 --only 'blk.1[0-3]?\.' model.gguf one.apr >differs || true
	grep -q '^Similarity' differs
	within same other
}

@test "a row of 256 MiB is no more" {
	# Two rows, since GGUF stores a single row as a vector, which is not quantized.
	mkmodel <<-'END' >wide.gguf
		tensor wide.weight F32 2x67108864 hole
	END
	pipe 'peak unpack apr-unpack wide.gguf | peak quant apr-quant --pure -j 64 q4_0 |
		peak sign apr-sign -j 64 key | peak pack apr-pack -f -o model.apr'
	within unpack quant sign pack
	pipe 'peak verify apr-verify -q key.pub model.apr'
	within verify
}

# The walk looks at each member, and the kernel maps at least 64 KiB around it.
@test "2 GB in 4000 members of a zip file" {
	torch_huge model.pt 4000 524288
	pipe 'peak header apr-header -l model.pt | grep -c F32 >count'
	[ "$(cat count)" -eq 4000 ]
	pipe 'peak unpack apr-unpack model.pt >/dev/null'
	within header unpack
	rm model.pt
}

# A tree of the JSON would take up to 60 times the size of its text.
@test "200 MB of APR2 metadata, of four kinds" {
	local kind
	for kind in string numbers zeros names; do
		apr2_long $kind 200000000 >long.apr
		pipe 'peak unpack apr-unpack long.apr | peak pack apr-pack >again.apr'
		cmp long.apr again.apr
		peak header apr-header long.apr >/dev/null
		within unpack pack header
	done
	apr2_long twice 200000000 >long.apr
	try peak header apr-header long.apr
	said 4 'two members of the object that ends here have one name'
	within header
	# Each key is part of the plan.
	apr2_long keys 200000000 >long.apr
	try apr-header long.apr
	said 4 'more than 2097152 members'
}
