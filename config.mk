# config.mk: all that a packager edits. Each line can also be given to make.

PREFIX = /usr/local
bindir = $(PREFIX)/bin
libdir = $(PREFIX)/lib
includedir = $(PREFIX)/include
datadir = $(PREFIX)/share
mandir = $(datadir)/man
# In front of all of these while a package is made.
DESTDIR =
CC = cc
AR = ar
LD = ld
OBJCOPY = objcopy
INSTALL = install
PKG_CONFIG = pkg-config
OPT = -O2 -g
CFLAGS =
LDFLAGS =
PACKAGES = jansson libsodium libcrypto libdeflate zlib libpcre2-8 liblz4 libzstd libutf8proc msgpack
# Those of them that programs with libaprml.a need; jansson is inside it.
APRML_PACKAGES = libdeflate zlib liblz4 libzstd msgpack
