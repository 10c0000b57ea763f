// Pango, Cairo and fontconfig as one module. The inline functions replace what Swift does not import: macros that cast,
// and a system call.
#ifndef SHEAF_CPANGO_SHIM_H
#define SHEAF_CPANGO_SHIM_H

#include <fontconfig/fontconfig.h>
#include <pango/pangocairo.h>
#include <pango/pangofc-fontmap.h>
#include <sys/syscall.h>
#include <unistd.h>

// `g_object_unref` takes an untyped pointer; Swift imports these objects as different types.
static inline void sheaf_pango_release(void *object) { g_object_unref(object); }

// A font map of Pango's that takes its fonts from `config` and from nowhere else. NULL if it cannot be made.
static inline PangoFontMap *sheaf_font_map(FcConfig *config) {
  PangoFontMap *map = pango_cairo_font_map_new();
  if (!map) return NULL;
  if (!PANGO_IS_FC_FONT_MAP(map)) {
    g_object_unref(map);
    return NULL;
  }
  pango_fc_font_map_set_config(PANGO_FC_FONT_MAP(map), config);
  return map;
}

// fontconfig's pattern of a font that Pango chose, which belongs to the font. NULL if it has none.
static inline FcPattern *sheaf_font_pattern(PangoFont *font) {
  return font && PANGO_IS_FC_FONT(font) ? pango_fc_font_get_pattern(PANGO_FC_FONT(font)) : NULL;
}

// Whether a line starts at the right, because its paragraph is of a script that is written from there.
static inline int sheaf_line_runs_from_right(PangoLayoutLine *line) {
  PangoDirection direction = pango_layout_line_get_resolved_direction(line);
  return direction == PANGO_DIRECTION_RTL || direction == PANGO_DIRECTION_WEAK_RTL;
}

// Whether a line may be wrapped before the character at an index of a layout's text, and whether it is a space there.
static inline int sheaf_may_wrap(const PangoLogAttr *attributes, int index) { return attributes[index].is_line_break; }
static inline int sheaf_is_white(const PangoLogAttr *attributes, int index) { return attributes[index].is_white; }

// Whether a letter begins at an index: an accent of its own belongs to the one before it.
static inline int sheaf_begins_letter(const PangoLogAttr *attributes, int index) {
  return attributes[index].is_cursor_position;
}

// In the place of a glyph: nothing is drawn, as wide as the glyph was.
static const PangoGlyph sheaf_glyph_empty = PANGO_GLYPH_EMPTY;

// A new file in memory, closed when another program is executed. -1 and errno if there is none.
static inline int sheaf_memory_file(const char *name) { return (int)syscall(SYS_memfd_create, name, 1U); }

#endif
