# Sparse files: what a file does not store is neither read nor written, whatever its length.
load ../helper

setup_file() {
	export FOLDER=$BATS_FILE_TMPDIR
	# A terabyte; file systems have a maximum length of files.
	if ! truncate -s 1200G "$FOLDER/long" 2>/dev/null || [ "$(stat -c %b "$FOLDER/long")" -gt 1000 ]; then
		export WHY='the file system has no sparse files of 1.2 TB'
	fi
	rm -f "$FOLDER/long"
	[ -n "${WHY:-}" ] && return
	cp -r "$BATS_TEST_DIRNAME/../data/convert/qwen3moe/hf" "$FOLDER/hf"
	rm "$FOLDER"/hf/*.safetensors*
	sed -i -E 's/("hidden_size": )64/\18192/; s/("moe_intermediate_size": )32/\132768/
		s/("num_experts": )4/\116/; s/("num_hidden_layers": )2/\144/' "$FOLDER/hf/config.json"
	"$APR_GEN/sparse_experts" make "$FOLDER/hf/model.safetensors"
	"$APR_GEN/sparse_experts" list "$FOLDER/hf/model.safetensors" >"$FOLDER/list"
	cut -d' ' -f2- "$FOLDER/list" | sort >"$FOLDER/marks"
	[ "$(wc -l <"$FOLDER/marks")" -eq 264 ]
}

setup() {
	[ -z "${WHY:-}" ] || skip "$WHY"
	cd "$FOLDER" || return
	PATH=$PATH:$APR_GEN
	export APR_LOG_LEVEL=error LIMIT=65536
	! grep -q __asan_init "$APR_BIN/apr-adapt" || LIMIT=1000000
}

# The memory of each process, in the named files, and the space that a file takes.
within() {
	local f
	for f in "${@:2}"; do
		[ "$(cat "$f")" -le "$LIMIT" ] || fail "$f: $(cat "$f") KiB"
		rm "$f"
	done
	[ "$(stat -c %s "$1")" -gt 1100000000000 ] || fail "$1 is too short"
	[ "$(($(stat -c %b "$1") / 2048))" -lt 1000 ] || fail "$1 takes $(du -m "$1" | cut -f1) MiB"
}

# The bytes of a GGUF tensor at an offset from its beginning, or from the end of its 16 experts
# of 32768 x 8192 values.
bytes_of() {
	local at
	at=$(apr-header -l "$1" | awk -v name="$2" '$1 == name { print $4 }')
	[ "$3" = first ] || at=$((at + 16 * 32768 * 8192 * 2 - 8))
	dd if="$1" iflag=skip_bytes,count_bytes skip="$at" count=8 status=none
}

@test "a folder of 1.1 TB becomes a GGUF file, and a folder with the same bytes" {
	# The experts are placed by their offsets.
	pipe 'peak adapt apr-adapt gguf hf | peak pack apr-pack --no-sync -t gguf -o file.gguf'
	within file.gguf adapt pack
	[ "$(bytes_of file.gguf blk.7.ffn_up_exps.weight first)" = 'ua 00007' ]
	[ "$(bytes_of file.gguf blk.7.ffn_up_exps.weight last)" = 'uz 00007' ]
	[ "$(bytes_of file.gguf blk.43.ffn_down_exps.weight first)" = 'da 00043' ]
	[ "$(bytes_of file.gguf blk.43.ffn_down_exps.weight last)" = 'dz 00043' ]
	pipe 'peak adapt apr-adapt hf file.gguf |
		peak pack apr-pack --no-sync -t safetensors -o back/'
	within back/model.safetensors adapt pack
	sparse_experts list back/model.safetensors | cmp - list
	rm -r back
}

@test "the same from a pipe, through a sparse spool" {
	pipe 'peak unpack apr-unpack hf | peak adapt apr-adapt gguf |
		peak pack apr-pack --no-sync -t gguf -o pipe.gguf'
	within pipe.gguf unpack adapt pack
	[ "$(bytes_of pipe.gguf blk.7.ffn_gate_exps.weight first)" = 'ga 00007' ]
	[ "$(bytes_of pipe.gguf blk.7.ffn_gate_exps.weight last)" = 'gz 00007' ]
	pipe 'peak unpack apr-unpack pipe.gguf | peak adapt apr-adapt hf |
		peak pack apr-pack --no-sync -t safetensors -o back/'
	within back/model.safetensors unpack adapt pack
	# The order of layers is that of the stream.
	sparse_experts list back/model.safetensors | cut -d' ' -f2- | sort | cmp - marks
	rm -r back pipe.gguf
}

@test "APR2 and shards take holes and give them back" {
	local shard
	pipe 'peak unpack apr-unpack hf | peak pack apr-pack --no-sync -o file.apr'
	within file.apr unpack pack
	pipe 'peak pack apr-pack --no-sync -t safetensors --shard-size 400G -o shards/ hf'
	rm pack
	[ "$(du -sm shards | cut -f1)" -lt 1000 ] # MiB
	for shard in shards/*.safetensors; do
		sparse_experts list "$shard"
	done | cut -d' ' -f2- | sort | cmp - marks
	rm -r shards file.apr
}

@test "a sparse file gives what a copy without holes gives" {
	local format
	mkmodel <<-'END' >few.gguf
		tensor a.weight F32 100x1024 noise
		tensor b.weight BF16 2048x1111 hole
		tensor c.weight F32 1024x1000 hole
		tensor d.weight F16 11x1024 noise
	END
	cp --sparse=never few.gguf all.gguf
	apr-unpack few.gguf | frames | grep -q '^GAPS'
	! apr-unpack all.gguf | frames | grep -q '^GAPS' || fail 'holes in a copy without'
	apr-unpack few.gguf | apr-meta set x.y=1 >few.set
	frames <few.set | grep -q '^GAPS' || fail 'apr-meta fills holes'
	apr-meta set x.y=1 all.gguf | apr-pack -t gguf -f -o all
	apr-pack -t gguf -f -o few <few.set
	cmp few all
	for format in gguf apr2 safetensors apr1 apr2-64; do
		pipe "apr-unpack few.gguf | apr-pack -t $format --no-sync -f -o few"
		apr-pack -t $format --no-sync -f -o placed few.gguf
		apr-pack -t $format --no-sync -f -o all all.gguf
		cmp few all
		cmp placed all
	done
	cmp few.gguf all.gguf
	pipe 'apr-unpack few.gguf | apr-quant q8_0 | apr-pack -t gguf' >few.q8
	pipe 'apr-unpack all.gguf | apr-quant q8_0 | apr-pack -t gguf' | cmp - few.q8
}

@test "a model without holes on the disk has none in the stream" {
	mkmodel <<-'END' >dense.gguf
		tensor a.weight F32 1024x1024 values 0
	END
	apr-unpack dense.gguf | frames | cut -f1 | tr '\n' ' ' | grep -qx 'APRS TENS DONE '
	apr-unpack dense.gguf | apr-pack -t gguf -o same.gguf
	cmp dense.gguf same.gguf
}
