// Pango, Cairo and fontconfig as one module. The inline functions replace what Swift does not import: macros that cast,
// and macros that are strings where a C string with a fixed address is needed.
#ifndef SHEAF_CPANGO_SHIM_H
#define SHEAF_CPANGO_SHIM_H

#include <fontconfig/fontconfig.h>
#include <pango/pangocairo.h>

// `g_object_unref` takes an untyped pointer; Swift imports these objects as different types.
static inline void sheaf_pango_release(void *object) { g_object_unref(object); }

// FC_FILE and FC_FONTVERSION are macros. NULL and -1 if the pattern has no such property.
static inline const char *sheaf_font_file(FcPattern *font) {
  FcChar8 *file = NULL;
  return FcPatternGetString(font, FC_FILE, 0, &file) == FcResultMatch ? (const char *)file : NULL;
}

static inline int sheaf_font_version(FcPattern *font) {
  int version = -1;
  return FcPatternGetInteger(font, FC_FONTVERSION, 0, &version) == FcResultMatch ? version : -1;
}

static inline FcObjectSet *sheaf_font_fields(void) { return FcObjectSetBuild(FC_FILE, FC_FONTVERSION, (char *)0); }

#endif
