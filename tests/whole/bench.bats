# tests/bench/run.sh with fake peers: how it processes their figures.
load ../helper

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	mkdir models
	cp "$model" models/bf16.gguf
}

# NAME PROMPT DECODE: makes a program that prints fixed figures in the form of llama-bench.
peer() {
	cat >"$1" <<-END
		#!/bin/sh
		echo "\$0 \$*" >>"$PWD/asked"
		echo '[ { "n_prompt": 8, "avg_ts": $2, "stddev_ts": 0 },'
		echo '  { "n_prompt": 0, "avg_ts": $3, "stddev_ts": 0 } ]'
	END
	chmod +x "$1"
}

run() {
	MODELS=$PWD/models PAIRS=2 JOBS=1 PROMPT=8 COUNT=4 BENCH_DIR=$PWD APR_PEER_RUN=$1 \
		"$root/tests/bench/run.sh" bf16 >table 2>err
}

@test "run.sh: a ratio to each of several peers, and to the better one" {
	peer slow 0.5 0.125
	peer mixed 0.25 0.25
	run "$PWD/slow $PWD/mixed"
	# Both are asked once to warm up and once a run, for the same work.
	[ "$(wc -l <asked)" -eq 6 ]
	[ "$(grep -c -- "-m $PWD/models/bf16.gguf -p 8 -n 4 -t 1" asked)" -eq 6 ]
	grep -qx "peer 1: $PWD/slow" table
	grep -qx "peer 2: $PWD/mixed" table
	# type phase ours peer1 ratio peer2 ratio better: ratios are those of the figures, to
	# the values after rounding.
	awk '
		function near(a, b) { return a > 0 && a / b > 0.9 && a / b < 1.1 }
		$2 == "prompt" && $1 == "bf16" { ok += near($5, $3 / 0.5) && near($7, $3 / 0.25) && $8 == $5 }
		$2 == "decode" { ok += near($5, $3 / 0.125) && near($7, $3 / 0.25) && $8 == $7 }
		END { exit ok != 2 }' table || fail "$(cat table)"
	# One peer: no column for the better one. No peer: a message.
	run "$PWD/slow"
	awk '$2 == "prompt" && $1 == "bf16" { exit NF != 5 }' table || fail "$(cat table)"
	run ''
	grep -q '^no peer' table
}

@test "run.sh: a peer that is not a program is named" {
	peer slow 1 1
	! run "$PWD/slow $PWD/none" || false
	[ "$(cat err)" = "run.sh: $PWD/none is not a program" ]
}
