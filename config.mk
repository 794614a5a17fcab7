# config.mk: the settings for packagers. Each can also be given to make.

PREFIX = /usr/local
bindir = $(PREFIX)/bin
libdir = $(PREFIX)/lib
includedir = $(PREFIX)/include
datadir = $(PREFIX)/share
mandir = $(datadir)/man
# Prefix of all these folders while a package is built.
DESTDIR =
CC = cc
AR = ar
LD = ld
OBJCOPY = objcopy
STRIP = strip
INSTALL = install
PKG_CONFIG = pkg-config
OPT = -O2 -g
CFLAGS =
LDFLAGS =
PACKAGES = jansson libsodium libcrypto libdeflate zlib libpcre2-8 liblz4 libzstd libutf8proc msgpack yaml-0.1 expat libcurl
# The libraries that programs with libaprml.a need; it contains jansson.
APRML_PACKAGES = libsodium libcrypto libdeflate zlib libpcre2-8 liblz4 libzstd libutf8proc msgpack yaml-0.1 expat
