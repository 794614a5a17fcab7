# Files and destinations of "make install"; the folders are in config.mk.

VERSION := $(shell sed -n 's/^\#define APR_VERSION "\(.*\)"/\1/p' lib/core/version.h)
TOOL_NAMES = $(TOOL_SRC:bin/%.c=%)
PAGES = $(sort $(wildcard man/*.[1357]))
BASH_FOLDER = $(datadir)/bash-completion/completions
ZSH_FOLDER = $(datadir)/zsh/site-functions
FISH_FOLDER = $(datadir)/fish/vendor_completions.d

# libaprml, static and shared, is one object in which only the names of the header are global, so
# that it does not clash with names of a program. It contains a copy of jansson, since it limits
# jansson's memory. If there is no static jansson, only the tools are installed, without the static
# programs of apr-embed.
JANSSON := $(wildcard $(shell $(CC) -print-file-name=libjansson.a 2>/dev/null))
ifneq ($(JANSSON),)
APRML_STATIC = $(B)/lib/libaprml.a
APRML_SHARED = $(B)/lib/libaprml.so.$(VERSION)
# Kernels are compiled as for a program, and the address sanitizer then does not allow a shared object.
APRML = $(APRML_STATIC) $(if $(findstring address,$(mode_$(MODE))),,$(APRML_SHARED))
INSTALLED_RUNTIMES = $(RUNTIMES:%=$(B)/bin/%.static)
endif

# Programs ask for the number of the ABI, which changes if a program that was linked before would
# no longer work. tests/library has the names and layouts that it stands for.
APRML_ABI = 0
APRML_LINKS = libaprml.so.$(APRML_ABI) libaprml.so

# aprml.h includes the others.
APRML_HEADERS = $(sort $(wildcard lib/api/aprml*.h))
API_OBJ = $(patsubst %.c,$(B)/%.o,$(sort $(wildcard lib/api/*.c)))

# Debian's static jansson refers to stdin as a program does, which a shared object cannot do.
# Only json_loadf uses it, to name its input, and nothing here calls that. So it gets a
# variable of lib/api/aprml.c instead.
#
# Calls of the allocator go to lib/api/host.c, which alone calls that of the C library.
API_HOST = $(B)/lib/api/host.o
$(B)/lib/aprml.o: $(API_OBJ) $(B)/lib/libapr.a
	$(OBJCOPY) --redefine-sym stdin=jansson_stdin $(JANSSON) $(B)/lib/jansson.a
	$(LD) -r -o $@.calls $(filter-out $(API_HOST),$(API_OBJ)) $(B)/lib/libapr.a $(B)/lib/jansson.a
	$(OBJCOPY) $(foreach f,malloc calloc realloc free strdup strndup,--redefine-sym $f=api_$f) $@.calls
	$(LD) -r -o $@ $@.calls $(API_HOST)
	@rm -f $@.calls
	$(OBJCOPY) --wildcard --keep-global-symbol='aprml_*' $@

$(APRML_STATIC): $(B)/lib/aprml.o
	@rm -f $@
	$(AR) rcD $@ $<

# A sanitizer's names are left to the program.
$(APRML_SHARED): $(B)/lib/aprml.o lib/api/aprml.map
	$(CC) $(FLAGS) $(LDFLAGS) -shared -Wl,-soname,libaprml.so.$(APRML_ABI) \
		-Wl,--version-script,lib/api/aprml.map -Wl,-z,text,-z,relro,-z,now \
		$(if $(findstring -fsanitize,$(FLAGS)),,-Wl,-z,defs) -o $@ $< \
		-Wl,--as-needed $(shell $(PKG_CONFIG) --libs $(APRML_PACKAGES)) -lpthread -lm

# Libs is for programs with the shared library; Requires.private and Libs.private, which --static adds,
# for those with the static one. It contains the final folders, without DESTDIR.
define APRML_PC
includedir=$(includedir)
libdir=$(libdir)

Name: aprml
Description: reads, converts and checks models in GGUF, APR, safetensors and other formats
Version: $(VERSION)
Requires.private: $(APRML_PACKAGES)
Libs: -L$${libdir} -laprml
Libs.private: -lpthread -lm
Cflags: -I$${includedir}
endef

# All installed files, for uninstall.
INSTALLED = $(TOOL_NAMES:%=$(bindir)/%) $(LINKS:%=$(bindir)/%) \
	$(RUNTIMES:%=$(bindir)/%.static) \
	$(LINKS:%=$(mandir)/man1/%.1) \
	$(foreach p,$(PAGES),$(mandir)/man$(subst .,,$(suffix $(p)))/$(notdir $(p))) \
	$(TOOL_NAMES:%=$(BASH_FOLDER)/%) $(ZSH_FOLDER)/_apr-tools \
	$(TOOL_NAMES:%=$(FISH_FOLDER)/%.fish) \
	$(libdir)/libaprml.a $(libdir)/libaprml.so.$(VERSION) $(APRML_LINKS:%=$(libdir)/%) \
	$(libdir)/pkgconfig/aprml.pc $(APRML_HEADERS:lib/api/%=$(includedir)/aprml/%) \
	$(includedir)/aprml/apr_plugin.h

install: $(TOOLS) $(INSTALLED_RUNTIMES) $(if $(APRML),install-library) ## install below DESTDIR and PREFIX
	$(INSTALL) -d '$(DESTDIR)$(bindir)' '$(DESTDIR)$(BASH_FOLDER)' '$(DESTDIR)$(ZSH_FOLDER)' \
		'$(DESTDIR)$(FISH_FOLDER)'
	$(INSTALL) -m 755 $(TOOLS) $(INSTALLED_RUNTIMES) '$(DESTDIR)$(bindir)'
	for n in 1 3 5 7; do \
		$(INSTALL) -d "$(DESTDIR)$(mandir)/man$$n" && \
		$(INSTALL) -m 644 man/*.$$n "$(DESTDIR)$(mandir)/man$$n" || exit; \
	done
	for l in $(LINKS); do \
		ln -sf apr "$(DESTDIR)$(bindir)/$$l" && \
		ln -sf apr.1 "$(DESTDIR)$(mandir)/man1/$$l.1" || exit; \
	done
	$(INSTALL) -m 644 completions/_apr-tools '$(DESTDIR)$(ZSH_FOLDER)'
	$(INSTALL) -m 644 completions/apr-tools.bash \
		'$(DESTDIR)$(BASH_FOLDER)/$(firstword $(TOOL_NAMES))'
	$(INSTALL) -m 644 completions/apr-tools.fish \
		'$(DESTDIR)$(FISH_FOLDER)/$(firstword $(TOOL_NAMES)).fish'
	for t in $(wordlist 2,99,$(TOOL_NAMES)); do \
		ln -sf $(firstword $(TOOL_NAMES)) "$(DESTDIR)$(BASH_FOLDER)/$$t" && \
		ln -sf $(firstword $(TOOL_NAMES)).fish "$(DESTDIR)$(FISH_FOLDER)/$$t.fish" || exit; \
	done
	$(INSTALL) -d '$(DESTDIR)$(includedir)/aprml'
	$(INSTALL) -m 644 lib/quant/apr_plugin.h '$(DESTDIR)$(includedir)/aprml/apr_plugin.h'
	$(if $(APRML),,@echo 'no static jansson: the library is not installed' >&2)

# Tests that run at the same time find it built.
check: $(if $(call chosen,$(wildcard tests/whole/library*.bats tests/whole/install.bats)),$(APRML))

library: $(APRML) ## build libaprml, static and shared, alone

export APRML_PC
install-library: $(APRML)
	$(INSTALL) -d '$(DESTDIR)$(libdir)/pkgconfig' '$(DESTDIR)$(includedir)/aprml'
	$(INSTALL) -m 644 $(APRML) '$(DESTDIR)$(libdir)'
	for l in $(APRML_LINKS); do \
		ln -sf $(notdir $(APRML_SHARED)) "$(DESTDIR)$(libdir)/$$l" || exit; \
	done
	$(INSTALL) -m 644 $(APRML_HEADERS) '$(DESTDIR)$(includedir)/aprml'
	printf '%s\n' "$$APRML_PC" >'$(DESTDIR)$(libdir)/pkgconfig/aprml.pc'

uninstall: ## remove what install put there
	rm -f $(foreach f,$(INSTALLED),'$(DESTDIR)$(f)')
	rmdir '$(DESTDIR)$(includedir)/aprml' 2>/dev/null || :

.PHONY: install install-library library uninstall
