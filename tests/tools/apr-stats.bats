# apr-stats: statistics of the values of tensors
load ../helper

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	PATH=$PATH:$APR_GEN
}

# A tensor of each sort.
mixed() {
	mkmodel >mixed.gguf <<-END
		key general.architecture string llama
		tensor f32 F32 2x3 values 1 -2 0 4 -0.0 3
		tensor bf16 BF16 4 values 0.5 0.5 0.5 0.5
		tensor f64 F64 2 values 0x3ff0000000000000 0x4008000000000000
		tensor i8 I8 2x2 values 0x80 0x7f 0x00 0x01
		tensor i32 I32 2 values 0x80000000 0x7fffffff
		tensor scalar F32 - values 7
		tensor none F32 0x4 values 1
		tensor own 77:40 10 ramp
		tensor bad F32 2x3 values 1 2 0x7fc00000 4 0x7f800000 0xff800000
		tensor worse F16 2 values 0x7e00 0x7e00
	END
}

@test "apr-stats passes the exam" {
	exam report apr-stats
	exam report apr-stats --json
	exam report apr-stats --hist output.weight
}

@test "--json: the numbers of each sort of tensor" {
	mixed
	try apr-stats --json mixed.gguf
	quiet
	objects <"$out"
	diff "$out" - <<-END
		{"name":"f32","dtype":"F32","shape":[2,3],"count":6,"min":-2.0,"max":4.0,"mean":1.0,"std":2.0,"l2":5.4772255750516612,"zeros":2,"nan":0,"inf":0}
		{"name":"bf16","dtype":"BF16","shape":[4],"count":4,"min":0.5,"max":0.5,"mean":0.5,"std":0.0,"l2":1.0,"zeros":0,"nan":0,"inf":0}
		{"name":"f64","dtype":"F64","shape":[2],"count":2,"min":1.0,"max":3.0,"mean":2.0,"std":1.0,"l2":3.1622776601683795,"zeros":0,"nan":0,"inf":0}
		{"name":"i8","dtype":"I8","shape":[2,2],"count":4,"min":-128.0,"max":127.0,"mean":0.0,"std":90.158194303124773,"l2":180.31638860624955,"zeros":1,"nan":0,"inf":0}
		{"name":"i32","dtype":"I32","shape":[2],"count":2,"min":-2147483648.0,"max":2147483647.0,"mean":-0.5,"std":2147483647.5,"l2":3037000499.2689428,"zeros":0,"nan":0,"inf":0}
		{"name":"scalar","dtype":"F32","shape":[],"count":1,"min":7.0,"max":7.0,"mean":7.0,"std":0.0,"l2":7.0,"zeros":0,"nan":0,"inf":0}
		{"name":"none","dtype":"F32","shape":[0,4],"count":0,"min":null,"max":null,"mean":null,"std":null,"l2":null,"zeros":0,"nan":0,"inf":0}
		{"name":"own","dtype":"GGML_77","shape":[10],"count":10,"min":null,"max":null,"mean":null,"std":null,"l2":null,"zeros":null,"nan":null,"inf":null}
		{"name":"bad","dtype":"F32","shape":[2,3],"count":6,"min":1.0,"max":4.0,"mean":2.3333333333333335,"std":1.247219128924647,"l2":4.5825756949558398,"zeros":0,"nan":1,"inf":2}
		{"name":"worse","dtype":"F16","shape":[2],"count":2,"min":null,"max":null,"mean":null,"std":null,"l2":null,"zeros":0,"nan":2,"inf":0}
	END
}

@test "the table has a head, and a line for each tensor" {
	mixed
	try apr-stats mixed.gguf
	quiet
	[ "$(wc -l <"$out")" -eq 11 ]
	tr -s ' ' <"$out" | head -n 2 | diff - <(
		echo 'name dtype count min max mean std l2 zeros nan inf'
		echo 'f32 F32 6 -2 4 1 2 5.47723 2 0 0')
	tr -s ' ' <"$out" | grep -qx 'own GGML_77 10 - - - - - - - -'
	# Each line has as many columns as the head.
	[ "$(awk '{ print NF }' "$out" | sort -u)" = 11 ]
}

# The decoded values of a block type are those that a plain copy holds.
@test "a block type has the statistics of its decoded values" {
	local line
	apr-quant --pure q8_0 "$model" 2>/dev/null >q8.aprs
	apr-quant f32 q8.aprs 2>/dev/null >f32.aprs
	for line in q8 f32; do
		apr-stats --json $line.aprs | sed 's/"dtype":"[^"]*"/"dtype":"?"/' >$line
	done
	grep -q Q8_0 <(apr-stats q8.aprs)
	diff q8 f32
}

# The number is that of the version 2 text's list of 100.
@test "falsification 34: a q8_0 code of -128 is noted with its place" {
	# Byte i is 7i + 1: 128 is byte 201, code 29 of the sixth block; and 256 bytes further.
	mkmodel >odd.gguf <<-END
		tensor odd Q8_0 6x32 ramp
		tensor good Q8_0 5x32 ramp
		tensor more Q8_0 10x64 ramp
	END
	try apr-stats --json odd.gguf
	[ "$status" -eq 0 ]
	[ "$(grep -c '"minus_128"' "$out")" -eq 2 ]
	grep -q '"name":"odd",.*"minus_128":1}$' "$out"
	grep -qx 'apr-stats: odd: 1 of 192 codes is -128, the first at \[5,29\]: Q8_0 is symmetric, and its encoders write -127 to 127' "$err"
	grep -q '^apr-stats: more: 2 of 640 codes are -128, the first at \[2,61\]' "$err"
	# Counted alike in any pieces, and with any threads.
	cp "$out" want
	apr-unpack odd.gguf | dd bs=7 status=none | apr-stats --json -j 3 2>/dev/null | diff want -
	# The encoders here never write such codes.
	apr-quant --pure q8_0 "$model" 2>/dev/null | apr-stats --json >q8 2>notes
	grep -q Q8_0 q8
	! grep minus_128 q8 || false
	[ ! -s notes ]
}

@test "the result depends neither on threads nor on container nor on pieces" {
	local jobs
	apr-stats --json "$model" >want
	for jobs in 1 2 3 16; do
		apr-stats --json -j $jobs "$model" | diff want -
	done
	apr-unpack "$model" | apr-pack -o model.apr
	apr-stats --json model.apr | diff want -
	apr-unpack "$model" | dd bs=777 status=none | apr-stats --json | diff want -
	apr-stats --hist output.weight "$model" >want
	apr-unpack "$model" | dd bs=777 status=none | apr-stats -j 3 --hist output.weight |
		diff want -
}

@test "--hist: exact counts in bins of a power of two" {
	mkmodel >small.gguf <<-END
		tensor a F32 8 values 0 1 1 2 2.5 -1 3 31
		tensor one F16 5 values 11.1 11.1 11.1 11.1 11.1
		tensor no F32 2 values 0x7fc00000 0xff800000
	END
	try apr-stats --hist a small.gguf
	quiet
	diff <(sed 's/##*/#/' "$out") - <<-END
		Distribution: a (F32, 8)
		Min: -1  Max: 31  Mean: 4.9375  Std: 9.92609
	
		from    to         count
		  -2     0             1  #
		   0     2             3  #
		   2     4             3  #
		   4     6             0
		   6     8             0
		   8    10             0
		  10    12             0
		  12    14             0
		  14    16             0
		  16    18             0
		  18    20             0
		  20    22             0
		  22    24             0
		  24    26             0
		  26    28             0
		  28    30             0
		  30    32             1  #
	END
	[ "$(grep -o '#*$' "$out" | awk '{ print length }' | sort -nr | head -n 1)" -eq 50 ]
	try apr-stats --hist one small.gguf
	quiet
	[ "$(grep -c '#$' "$out")" -eq 1 ]
	try apr-stats --hist no small.gguf
	quiet
	diff "$out" - <<-END
		Distribution: no (F32, 2)
		Min: -  Max: -  Mean: -  Std: -
		NaN: 1  Inf: 1
	END
	try apr-stats --json --hist a small.gguf
	quiet
	objects <"$out"
	grep -qF '"histogram":{"low":-2.0,"width":2.0,"counts":[1,3,3,0,0,0,0,0,0,0,0,0,0,0,0,0,1]}}' "$out"
}

@test "--hist of a tensor that is not there: what it may have been" {
	try apr-stats --hist outpt.weight "$model"
	said 1 'has no tensor outpt.weight'
	grep -q '^hint: did you mean output.weight' "$err"
	try apr-stats --hist 'blk.0.attn_q' "$model"
	said 1 'has no tensor blk.0.attn_q'
	grep -q '^hint: did you mean blk.0.attn_q.weight' "$err"
	try apr-stats --hist zzzzzzzzzzzz "$model"
	said 1 'has no tensor zzzzzzzzzzzz'
	! grep -q hint "$err" || fail "nothing is like zzzzzzzzzzzz"
	mixed
	try apr-stats --hist own mixed.gguf
	said 4 'own: GGML_77 has no decoder (E001)'
}

@test "--fail-nonfinite names the tensor and the place" {
	mixed
	try apr-stats --fail-nonfinite mixed.gguf
	[ "$status" -eq 5 ]
	diff "$err" - <<-END
		apr-stats: 1 tensor cannot be decoded and was not checked
		apr-stats: bad: value 2, at [0,2], is NaN; 3 of 6 are not finite
		hint: 1 more tensor has such values
	END
	cp "$out" table
	apr-stats mixed.gguf | diff table -
	try apr-stats --fail-nonfinite --hist f32 mixed.gguf
	quiet
	try apr-stats --fail-nonfinite --hist worse mixed.gguf
	said 5 'worse: value 0, at [0], is NaN; 2 of 2 are not finite'
	try apr-stats --fail-nonfinite "$model"
	quiet
	# Far inside, behind many whole chunks.
	mkmodel >far.gguf <<-END
		tensor far F32 3x100001 noise
	END
	{ head -c -8 far.gguf | head -c 1000000; printf '\0\0\200\377'; tail -c +1000005 far.gguf; } >inf.gguf
	local start place
	start=$(apr-header --json far.gguf | sed 's/.*"data_offset":\([0-9]*\).*/\1/')
	place=$(((1000000 - start) / 4))
	try apr-stats --fail-nonfinite -j 3 inf.gguf
	said 5 "far: value $place, at [$((place / 100001)),$((place % 100001))], is infinite; 1 of 300003"
}

@test "memory does not grow with the model" {
	llama 2 1024 2816 32000 >big.gguf
	[ "$(stat -c %s big.gguf)" -gt 150000000 ]
	apr-unpack big.gguf >big.aprs
	try peak peak.txt apr-stats <big.aprs
	quiet
	[ "$(cat peak.txt)" -lt 65536 ] || fail "$(cat peak.txt) KiB"
}

# Damage far behind the tensor shows that the reader stops after the requested values.
@test "--hist of a FILE stops behind its tensor, of a stream it does not" {
	llama 2 1024 2816 32000 >big.gguf
	apr-unpack big.gguf >big.aprs
	printf '\377' | dd of=big.aprs bs=1 seek=$(($(stat -c %s big.aprs) - 5000)) \
		conv=notrunc status=none
	try apr-stats big.aprs
	said 4 '(E004)'
	try apr-stats --hist token_embd.weight big.aprs
	quiet
	try apr-stats --hist token_embd.weight <big.aprs
	said 4 '(E004)'
}
