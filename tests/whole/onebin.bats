# Programs for other machines: 64-bit ARM Linux under qemu-aarch64, Cortex-M under qemu-system-arm.
load ../helper

setup() {
	cd "$BATS_TEST_TMPDIR" || return
}

@test "make small: smaller programs that say the same" {
	local small=$root/build/small/bin name
	[ -x "$small/apr-run.static" ] || skip 'no small programs: run make small'
	for name in apr-run apr-predict; do
		[ "$(stat -c %s "$small/$name.static")" -lt "$(stat -c %s "$APR_BIN/$name.static")" ]
	done
	apr-embed --runtime "$small/apr-run.static" -o ask "$model"
	./ask -n 50 -p ROMEO: | cmp - <(apr-run -n 50 -p ROMEO: "$model")
	printf '1,0.5\n-3,9\n' >rows
	"$small/apr-predict.static" "$root/tests/bare/trees.txt" rows | cmp - <(apr-predict "$root/tests/bare/trees.txt" rows)
}

# The whole address space of the program, its code, model and memory, is 128 MiB.
@test "arm64: a program with the model inside speaks in 128 MiB" {
	local program=$root/build/arm64/bin/apr-run.static
	[ -x "$program" ] || skip 'no programs for 64-bit ARM: run make arm64'
	command -v qemu-aarch64 >/dev/null || skip 'no qemu-aarch64'
	apr-embed --runtime "$program" --arg -n --arg 8 -o ask "$model"
	apr-run -n 8 -p ROMEO: "$model" >want
	try qemu-aarch64 -R 128M ./ask -p ROMEO:
	quiet
	cmp "$out" want
	try qemu-aarch64 -R 128M ./ask -p ROMEO: --json
	quiet
	apr-embed --extract "${model##*/}" ask | cmp - "$model"
	printf '%s\n' '{"prompt":"A"}' | qemu-aarch64 -R 128M ./ask --serve-stdin >served
	[ -s served ]
}

@test "arm64: a classical model inside predicts as here" {
	local program=$root/build/arm64/bin/apr-predict.static
	[ -x "$program" ] || skip 'no programs for 64-bit ARM: run make arm64'
	command -v qemu-aarch64 >/dev/null || skip 'no qemu-aarch64'
	apr-embed --tool apr-predict --runtime "$program" -o tell "$root/tests/bare/trees.txt"
	printf '0,0\n1,0.5\n2,0.75\n-3,9\n' >rows
	qemu-aarch64 -R 128M ./tell rows | cmp - <(apr-predict "$root/tests/bare/trees.txt" rows)
}

@test "Cortex-M: header, dequantized tensors and predictions are those of this machine" {
	local folder=$root/build/cortex
	[ -e "$folder/bare.elf" ] || skip 'no program for Cortex-M: run make cortex'
	command -v qemu-system-arm >/dev/null || skip 'no qemu-system-arm'
	timeout 60 qemu-system-arm -M mps2-an385 -nographic -semihosting -kernel "$folder/bare.elf" \
		</dev/null | tr -d '\r' >got
	"$folder/native" | diff - got
	[ "$(tail -n 1 got)" = 'done' ]
	[ "$(grep -c ' values, ' got)" -eq 7 ]
	# The predictions as apr-predict prints them.
	[ "$(printf '0,0\n1,0.5\n2,0.75\n-3,9\n' | apr-predict "$root/tests/bare/trees.txt" | tr '\n' ' ')" = \
		'10.001 10.001 -0.099 20.55 ' ]
	grep -q '^row 0: 40240083126e978d$' got
}
