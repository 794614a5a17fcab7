# library: an installation below DESTDIR, for tests of it
# shellcheck shell=bash

# The mode that is under test: build/MODE/bin.
mode=release
[[ $APR_BIN != */build/*/bin ]] || mode=$(basename "$(dirname "$APR_BIN")")

# make, apart from one that may run these tests.
run_make() {
	env -u MAKEFLAGS -u MAKELEVEL -u MFLAGS make -s -C "$root" MODE="$mode" \
		DESTDIR="$dest" PREFIX=/opt/apr "$@"
}

# The flags of pkg-config for the installed library. The system's own libraries do not lie in
# DESTDIR. --static: with the static library, although the shared one lies beside it.
flags_of() {
	PKG_CONFIG_SYSROOT_DIR=$dest PKG_CONFIG_PATH=$dest/opt/apr/lib/pkgconfig \
		pkg-config --cflags --libs "$@" aprml |
		sed -e "s|$dest/usr|/usr|g" -e "${1:+s/-laprml/-l:libaprml.a/}"
}

# What programs need with a library of this mode.
mode_flags() {
	case $mode in
	asan) echo -fsanitize=address ;;
	ubsan) echo -fsanitize=undefined ;;
	san) echo -fsanitize=address,undefined ;;
	cov) echo --coverage ;;
	esac
}

need_library() {
	[ -e "$(${CC:-cc} -print-file-name=libjansson.a)" ] ||
		skip "no static jansson: the library is not built"
}
