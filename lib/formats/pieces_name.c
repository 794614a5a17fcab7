#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "core/dir.h"
#include "formats/pieces.h"

/* ---- existing files ---- */

/* Only an empty folder may be replaced by a folder. */
static int
refuse_folder(const struct pieces *s, struct err *e)
{
	if (place_vacant(s->place) == 0)
		return 0;
	if (errno != ENOTEMPTY && errno != ENOTDIR)
		return err_errno(e, s->path, "cannot be made");
	err_set(e, ERR_USAGE, s->path, "exists already");
	return err_hint(e, "a folder is never replaced, also not with -f");
}

static int
refuse_file(const struct pieces *s, const char *name, struct err *e)
{
	struct out_options where = s->where;
	char *path = dir_label(s->folder, name);
	struct stat st;
	int r;

	if (!path)
		return err_memory(e);
	where.path = path;
	r = out_refuse(&where, e);
	if (r == 0 && stat(path, &st) == 0 && !S_ISREG(st.st_mode))
		r = err_set(e, ERR_USAGE, path, "is not a regular file");
	free(path);
	return r;
}

int
pieces_refuse(const struct pieces *s, struct err *e)
{
	size_t i;

	if (s->makes_folder)
		return refuse_folder(s, e);
	for (i = 0; i < s->piece_count; i++)
		if (refuse_file(s, s->pieces[i].name, e) < 0)
			return -1;
	return s->index_name ? refuse_file(s, s->index_name, e) : 0;
}

/* ---- names in the stage ---- */

/* Name all files in the stage. */
static int
name_all(struct pieces *s, struct err *e)
{
	size_t i;
	int r = 0;

	for (i = 0; r == 0 && i < s->piece_count; i++) {
		s->ops->rename(s->pieces[i].sink, s->pieces[i].label);
		r = sink_end(s->pieces[i].sink, e);
	}
	for (i = 0; r == 0 && i < s->beside_count; i++) {
		s->besides[i].out.path = s->besides[i].label;
		s->besides[i].out.stage_name = s->besides[i].name;
		r = out_finish(&s->besides[i].out);
	}
	return r;
}

/* ---- the destination ---- */

static const char *
label_of(const struct pieces *s, size_t file)
{
	size_t i;

	for (i = 0; i < s->piece_count; i++)
		if (s->pieces[i].file == file)
			return s->pieces[i].label;
	return s->beside_count ? s->besides[s->beside_count - 1].label : s->path;
}

int
pieces_name(struct pieces *s, struct err *e)
{
	bool sync = !s->where.no_sync;
	size_t file = 0;

	if (place_stage(s->place) < 0)
		return err_errno(e, s->path, "cannot be made");
	if (name_all(s, e) < 0)
		return -1;
	if (s->makes_folder && place_become(s->place, sync) < 0)
		return err_errno(e, s->path, "cannot be given its name");
	if (!s->makes_folder && place_move(s->place, sync, &file) < 0)
		return err_errno(e, label_of(s, file), "cannot be given its name");
	return 0;
}
