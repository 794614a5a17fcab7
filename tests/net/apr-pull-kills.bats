#!/usr/bin/env bats
# apr-pull is killed at random moments, connections are cut, and two clients race: the cache never
# has a wrong byte under a final name, and little is fetched twice.
#
# APR_TRIALS: number of kills (default: 6); APR_TRIAL_BYTES: size of the file; APR_SEED.

setup() {
	load ../helper
	load server
	cd "$BATS_TEST_TMPDIR" || return
	export HF_HUB_CACHE=$PWD/cache APR_LOG_LEVEL=error
	unset HF_HOME HF_TOKEN HF_HUB_OFFLINE
	bytes=${APR_TRIAL_BYTES:-20000000} trials=${APR_TRIALS:-6}
	head -c "$bytes" /dev/urandom >weights
	repo org/m model.bin <weights
	sha256=$(sha256sum <weights | cut -c 1-64)
	server_start
	export HF_ENDPOINT=$HUB
	blob=cache/models--org--m/blobs/$sha256
}

# The body of a download that will stand still after a random number of bytes: about ten kills for
# each file. On the way there, a connection is cut at a random offset.
next_faults() {
	local stall=$((1 + (RANDOM << 15 | RANDOM) % (bytes / 5)))
	faults "GET /cdn/* cut=$(((RANDOM << 15 | RANDOM) % bytes)) times=1" \
		"GET /cdn/* stall=$stall skip=$((1 + RANDOM % 2)) times=1"
}

# Starts a client and kills it once the server has stalled $1 answers in all, unless the client
# has finished before. Sets $ended to its status.
kill_at_stall() {
	apr-pull --retry-wait 0 -j $((1 + RANDOM % 4)) --path hf://org/m/model.bin >/dev/null 3>&- &
	client=$!
	server_stalled "$1" 3>&- &
	event=$!
	wait -n "$client" "$event" || true
	kill -KILL "$client" 2>/dev/null || true
	ended=0
	wait "$client" 2>/dev/null || ended=$?
}

@test "kills and cuts at random moments: no wrong byte, little is fetched twice" {
	local whole=0 kills=0 before=0 stalled=0
	RANDOM=${APR_SEED:-1}
	while [ $kills -lt "$trials" ]; do
		next_faults
		kill_at_stall $((stalled + 1))
		if [ $ended -eq 0 ]; then
			# It went to its end before the server stood still; the waiting is not over.
			kill "$event" 2>/dev/null || true
			wait "$event" 2>/dev/null || true
			cmp "$blob" weights
			rm -r cache
			whole=$((whole + 1))
		else
			stalled=$((stalled + 1)) kills=$((kills + 1))
			[ ! -e "$blob" ]
		fi
	done
	faults
	try apr-pull --path hf://org/m/model.bin
	quiet
	cmp "$blob" weights
	whole=$((whole + 1))
	sent=$(served '^/cdn' | cut -d ' ' -f 2)
	twice=$((sent - whole * bytes))
	echo "$kills kills, $whole files: $twice bytes fetched twice, $((twice / (kills + 1))) a kill" >&3
	# At each kill at most 1 % of the file, with what the buffers of the sockets hold. These
	# depend on the load of the machine, so only a run by hand counts them.
	[ $twice -ge 0 ]
	[ -z "${APR_TRIALS-}" ] || [ $twice -le $(((kills + 1) * bytes / 100)) ]
}

@test "clients that race fetch a file once, and wait for each other" {
	local i pids=()
	for i in 1 2 3; do
		apr-pull --path hf://org/m/model.bin >"path.$i" 3>&- &
		pids+=($!)
	done
	for i in "${pids[@]}"; do
		wait "$i"
	done
	cmp "$blob" weights
	cmp path.1 path.2
	cmp path.2 path.3
	[ "$(served '^/cdn' | cut -d ' ' -f 2)" -eq "$bytes" ]
	# One is killed while it holds the lock, the other goes on.
	rm -r cache
	faults 'GET /cdn/* stall=1000000 times=1'
	apr-pull --path hf://org/m/model.bin >/dev/null 3>&- &
	client=$!
	server_stalled 1
	apr-pull --path hf://org/m/model.bin >path.4 3>&- &
	other=$!
	kill -KILL $client
	wait $other
	cmp "$blob" weights
	cmp path.1 path.4
}
