# apr-sparse: tensors without their zeros
load ../helper

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	PATH=$PATH:$APR_GEN
}

root_of() {
	apr-sum "$1" | sed -n 's/  content  root$//p'
}

# Small tensors of several types and shapes, most of their values zero.
holes() {
	mkmodel <<-END >holes.gguf
		tensor a.weight F32 4x4 values 0 0 0 1 0 0 0 0 0 -2 0 0 0x80000000 0 0 0
		tensor b.weight F16 3x8 values 0 0 0 0 0 0 0 0x3c00
		tensor c.weight BF16 2x4 values 0 0 0 0 0 0 0 0
		tensor d.weight I8 2x16 values 0x0 0x0 0x0 0x0 0x0 0x0 0x0 0x5
		tensor e.bias F32 4 values 0 0 0 0
		tensor f.weight Q8_0 2x32 noise
	END
}

@test "apr-sparse passes the exam" {
	exam filter apr-sparse --threshold 9 bitmap
}

@test "each form comes back bit for bit, through streams, APR2 and the other formats" {
	local form
	apr-unpack "$model" | apr-sparse --threshold 0.02 bitmap | apr-sparse dense 2>/dev/null |
		apr-pack -t gguf -o half.gguf
	for form in csr bitmap block:2 block:256; do
		apr-sparse "$form" half.gguf -f -o s.stream
		apr-pack -f -o s.apr s.stream
		apr-unpack s.apr | apr-sparse dense | apr-pack -t gguf | cmp - half.gguf
		# The form stays on the way, and the order of reading does not matter.
		apr-unpack s.apr | cmp - <(apr-pack s.stream | apr-unpack)
		apr-unpack s.apr | apr-pack | cmp - s.apr
		apr-pack s.stream | cmp - s.apr
		apr-pack -f -t safetensors -o s.safetensors s.apr 2>notes
		grep -q ' of 30 tensors are made dense: safetensors has no sparse form$' notes ||
			[ "$form" = block:256 ]
		[ "$(root_of s.apr)" = "$(root_of half.gguf)" ]
	done
}

@test "sizes are those that were printed before" {
	local form
	holes
	for form in csr bitmap block:2; do
		apr-sparse -n --json "$form" holes.gguf 2>/dev/null >said.json
		apr-sparse "$form" holes.gguf 2>notes | apr-pack -f -o s.apr
		sed 's/.*"stored":\([0-9]*\)}/\1/' said.json >said
		apr-header --json -l s.apr | sed -n '/^{"name"/{
			s/.*"stored_bytes":\([0-9]*\).*/\1/p
			t
			s/.*"bytes":\([0-9]*\).*/\1/p
		}' >stored
		diff said stored
		grep -q -- " -> $(($(tr '\n' + <stored)0)) bytes" notes
	done
	# By hand: a head of 24, a count, two bytes of bits, three values.
	grep -q '"name":"a.weight".*"form":"bitmap".*"zeros":0.8125,"bytes":64,"stored":42}' \
		<(apr-sparse -n --json bitmap holes.gguf 2>/dev/null)
}

@test "signatures hold at threshold 0, and a threshold ends them" {
	apr-keygen -W -o key 2>/dev/null
	apr-unpack "$model" | apr-sign key 2>/dev/null | apr-pack -o signed.apr
	apr-sparse block:4 signed.apr 2>/dev/null | apr-verify key.pub 2>/dev/null |
		apr-pack -o still.apr
	apr-verify -q key.pub still.apr
	apr-sparse --threshold 0.001 csr signed.apr 2>notes | apr-pack -o cut.apr
	grep -q 'signature, which was not verified, is dropped' notes
	try apr-verify key.pub cut.apr
	said 1 'not signed'
}

@test "values up to the threshold become zero, and no others" {
	mkmodel <<-END >values.gguf
		tensor a.weight F32 2x4 values 0.5 -0.5 0.50000006 -1 0x7fc00000 0x80000000 inf 1e-40
		tensor b.weight F16 1x4 values 0x3800 0xb800 0x3801 0x7e00
		tensor c.weight BF16 1x4 values 0x3f00 0xbf00 0x3f01 0x7fc0
		tensor d.weight I8 1x2 values 0x0 0x1
	END
	apr-sparse --threshold 0.5 csr values.gguf 2>/dev/null | apr-pack -o cut.apr
	[ "$(apr-get a.weight cut.apr | od -An -tx4 | tr -s ' \n' ' ')" = \
		' 00000000 00000000 3f000001 bf800000 7fc00000 00000000 7f800000 00000000 ' ]
	[ "$(apr-get b.weight cut.apr | od -An -tx2)" = ' 0000 0000 3801 7e00' ]
	[ "$(apr-get c.weight cut.apr | od -An -tx2)" = ' 0000 0000 3f01 7fc0' ]
	[ "$(apr-get d.weight cut.apr | od -An -tx1)" = ' 00 01' ]
}

@test "what stays dense, and the gain that is possible, are printed before" {
	holes
	apr-sparse bitmap holes.gguf 2>notes | apr-header -l >list
	grep -qx 'apr-sparse: bitmap of F16: shorter above 14.6 % zeros, at 50 % 1.55 times smaller at best' notes
	# Each row of csr has a count of 32 bits: here 4 values, and 1.
	printf 'tensor a F16 4 values 1\ntensor b F16 4x4 values 1\ntensor c I8 4x1 values 0x1\n' |
		mkmodel >short.gguf
	apr-sparse -n csr short.gguf 2>notes >list
	grep -qx 'apr-sparse: csr of F16: shorter above 75.0 % zeros, at 50 % 0.67 times smaller at best' notes
	grep -qx 'apr-sparse: csr of I8: never shorter, as its rows are too short' notes
	apr-quant q4_0 --pure "$model" 2>/dev/null | apr-sparse -n csr 2>&1 >/dev/null |
		grep -q 'tensors of Q4_0 stay dense: at 50 % zeros, a form for it would be 1.29 times smaller at best$'
	apr-sparse block:64 "$model" 2>notes | apr-pack | cmp - <(apr-unpack "$model" | apr-pack)
	grep -qx 'apr-sparse: no tensor gets shorter as block:64: all stay dense' notes
}

@test "every tool reads the dense tensor" {
	apr-unpack "$model" | apr-sparse --threshold 0.01 bitmap 2>/dev/null | apr-pack -o s.apr
	apr-pack -t gguf -o d.gguf s.apr 2>/dev/null
	apr-run -p ROMEO: -n 8 s.apr | cmp - <(apr-run -p ROMEO: -n 8 d.gguf)
	apr-stats s.apr | cmp - <(apr-stats d.gguf)
	apr-diff -q s.apr d.gguf
	apr-get blk.0.attn_q.weight s.apr | cmp - <(apr-get blk.0.attn_q.weight d.gguf)
	apr-quant q8_0 s.apr 2>/dev/null | apr-pack -t gguf | cmp - <(apr-quant q8_0 d.gguf 2>/dev/null | apr-pack -t gguf)
	# Metadata in place, shards, and a copy of some tensors keep the form.
	cp s.apr edited.apr
	apr-meta set --in-place general.name=x edited.apr
	[ "$(apr-header -l edited.apr | grep -c ' bitmap ')" -eq 23 ]
	apr-pack --shard-size 1M -o cut.apr s.apr
	apr-unpack cut.apr.json | apr-pack | cmp - s.apr
	# Sealed, it is dense until it is decrypted.
	cat >me.key <<-'END'
		# public key: age1zvkyg2lqzraa2lnjvqej32nkuu0ues2s82hzrye869xeexvn73equnujwj
		AGE-SECRET-KEY-1GFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPQ4EGAEX
	END
	apr-encrypt -r age1zvkyg2lqzraa2lnjvqej32nkuu0ues2s82hzrye869xeexvn73equnujwj -o sealed s.apr
	apr-pack -o sealed.apr sealed
	apr-decrypt -i me.key sealed.apr 2>/dev/null | apr-pack -t gguf | cmp - d.gguf
	apr-decrypt -i me.key sealed 2>/dev/null | apr-pack | cmp - s.apr
}

@test "wrong use is refused" {
	try apr-sparse
	said 2 'a form is missing'
	try apr-sparse coo "$model"
	said 2 'not a sparse form: coo; there are dense, csr, bitmap and block:N'
	try apr-sparse block:3 "$model"
	said 2 'a power of two from 2 to 1024'
	try apr-sparse csr --threshold -1 "$model"
	said 2
	try apr-sparse csr --threshold nan "$model"
	said 2
	try apr-sparse dense --threshold 1 "$model"
	said 2 'dense takes neither'
	try apr-sparse csr --json "$model"
	said 2 '--json needs --dry-run'
}

# FILE: its logits after two tokens, computed one by one, so from rows without zeros. The cache does not
# round, as that could make much of a last bit.
logits_of() {
	apr-run --logits --cache f32 --tokens 18,42 "$1"
}

@test "apr-run computes with sparse forms as with dense tensors" {
	local type asked
	for type in f16 bf16; do
		for asked in '--nm 2:4' '--sparsity 0.9'; do
			# shellcheck disable=SC2086
			apr-quant --force "$type" "$model" 2>notes | apr-prune $asked 2>notes | apr-pack -f -o d.apr
			apr-sparse bitmap d.apr 2>notes | apr-pack -f -o s.apr
			logits_of d.apr >dense
			logits_of s.apr >sparse
			nearlogits sparse dense 1024 1e-4 >near || fail "$type $asked: $(cat near)"
			APR_CPU=ref logits_of d.apr >dense
			APR_CPU=ref logits_of s.apr | cmp - dense # there it is dense
		done
		# Prompts multiply expanded rows.
		head -c 1000 "$BATS_TEST_DIRNAME/apr-sparse.bats" >text
		apr-run --perplexity text -c 64 d.apr 2>notes >want
		apr-run --perplexity text -c 64 s.apr 2>notes | cmp - want
	done
	apr-run --tokens 18,42 -n 4 --temp 0 s.apr >want
	apr-run --tokens 18,42 -n 4 --temp 0 --repack s.apr 2>notes | cmp - want
}
