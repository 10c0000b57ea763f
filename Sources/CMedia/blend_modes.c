#include "sheaf_blend_modes.h"
#include "kernel_rows.h"

#include <math.h>

#pragma STDC FP_CONTRACT OFF

#define INLINE static inline __attribute__((always_inline))

INLINE float least(float a, float b) { return a < b ? a : b; }
INLINE float most(float a, float b) { return a > b ? a : b; }
INLINE float unit(float a) { return most(0, least(1, a)); }
INLINE float screen(float b, float s) { return b + s - b * s; }
INLINE float hard_light(float b, float s) { return s <= 0.5f ? b * (2 * s) : screen(b, 2 * s - 1); }

INLINE float soft_light(float b, float s) {
  if (s <= 0.5f) return b - (1 - 2 * s) * b * (1 - b);
  float d = b <= 0.25f ? ((16 * b - 12) * b + 4) * b : sqrtf(b);
  return b + (2 * s - 1) * (d - b);
}

// One component of what is below and of the picture, each 0...1.
INLINE float blended(enum sheaf_blend_mode mode, float b, float s) {
  switch (mode) {
    case SHEAF_BLEND_MULTIPLY: return b * s;
    case SHEAF_BLEND_SCREEN: return screen(b, s);
    case SHEAF_BLEND_OVERLAY: return hard_light(s, b);
    case SHEAF_BLEND_DARKEN: return least(b, s);
    case SHEAF_BLEND_LIGHTEN: return most(b, s);
    case SHEAF_BLEND_ADD: return least(1, b + s);
    case SHEAF_BLEND_DIFFERENCE: return b > s ? b - s : s - b;
    case SHEAF_BLEND_SOFT_LIGHT: return soft_light(b, s);
    case SHEAF_BLEND_HARD_LIGHT: return hard_light(b, s);
    case SHEAF_BLEND_COLOR_DODGE: return b <= 0 ? 0 : s >= 1 ? 1 : least(1, b / (1 - s));
    case SHEAF_BLEND_COLOR_BURN: return b >= 1 ? 1 : s <= 0 ? 0 : 1 - least(1, (1 - b) / s);
    case SHEAF_BLEND_EXCLUSION: return b + s - 2 * b * s;
    case SHEAF_BLEND_SUBTRACT: return most(0, b - s);
  }
  return s;
}

struct rgb {
  float red, green, blue;
};

INLINE struct rgb rgb(const struct sheaf_code_space *space, float luma, float cb, float cr) {
  float y = (luma - space->luma_offset) / space->luma_scale;
  float u = (cb - space->chroma_offset) / space->chroma_scale, v = (cr - space->chroma_offset) / space->chroma_scale;
  float red = y + 2 * (1 - space->red) * v, blue = y + 2 * (1 - space->blue) * u;
  float green = (y - space->red * red - space->blue * blue) / space->green;
  return (struct rgb){unit(red), unit(green), unit(blue)};
}

INLINE int code(float value, int highest) {
  float rounded = floorf(value + 0.5f);
  return rounded < 0 ? 0 : rounded > highest ? highest : (int)rounded;
}

INLINE float sample(const void *row, int x, int is_deep) {
  return is_deep ? ((const uint16_t *)row)[x] : ((const uint8_t *)row)[x];
}

INLINE void set_sample(void *row, int x, int is_deep, int value) {
  if (is_deep) {
    ((uint16_t *)row)[x] = (uint16_t)value;
  } else {
    ((uint8_t *)row)[x] = (uint8_t)value;
  }
}

INLINE void blend(
  enum sheaf_blend_mode mode, int is_deep, const struct sheaf_blended_planes *planes,
  const struct sheaf_code_space *space, int opacity) {
  const int across = 1 << planes->shift_x, down = 1 << planes->shift_y, highest = (1 << space->depth) - 1;
  const float unit_of_code = (float)(1 << (14 - space->depth)), one = 16384;
  for (int top = 0; top < planes->height; top += down) {
    const int row = top >> planes->shift_y;
    void *cb_row = ROW(uint8_t, planes->cb, planes->cb_stride, row);
    void *cr_row = ROW(uint8_t, planes->cr, planes->cr_stride, row);
    const uint16_t *of_cb = CONST_ROW(uint16_t, planes->of_cb, planes->picture_chroma_stride, row);
    const uint16_t *of_cr = CONST_ROW(uint16_t, planes->of_cr, planes->picture_chroma_stride, row);
    const uint16_t *chroma_coverage = CONST_ROW(uint16_t, planes->chroma_coverage, planes->picture_chroma_stride, row);
    for (int left = 0; left < planes->width; left += across) {
      const int x0 = left >> planes->shift_x, chroma_alpha = chroma_coverage[x0];
      if (chroma_alpha == 0) continue;
      const float cb = sample(cb_row, x0, is_deep), cr = sample(cr_row, x0, is_deep);
      const float scale = one / ((float)chroma_alpha * unit_of_code);
      const float own_cb = (float)of_cb[x0] * scale, own_cr = (float)of_cr[x0] * scale;
      float change_cb = 0, change_cr = 0;
      int count = 0;
      for (int y = top; y < top + down && y < planes->height; y++) {
        void *luma_row = ROW(uint8_t, planes->luma, planes->luma_stride, y);
        const uint16_t *of_luma = CONST_ROW(uint16_t, planes->of_luma, planes->picture_stride, y);
        const uint16_t *coverage = CONST_ROW(uint16_t, planes->coverage, planes->picture_stride, y);
        for (int x = left; x < left + across && x < planes->width; x++) {
          count++;
          if (coverage[x] == 0) continue;
          const float luma = sample(luma_row, x, is_deep), alpha = (float)coverage[x] / one * ((float)opacity / one);
          const float own_luma = (float)of_luma[x] * (one / ((float)coverage[x] * unit_of_code));
          const struct rgb below = rgb(space, luma, cb, cr), own = rgb(space, own_luma, own_cb, own_cr);
          const float red = (blended(mode, below.red, own.red) - below.red) * alpha;
          const float green = (blended(mode, below.green, own.green) - below.green) * alpha;
          const float blue = (blended(mode, below.blue, own.blue) - below.blue) * alpha;
          const float change = space->red * red + space->green * green + space->blue * blue;
          set_sample(luma_row, x, is_deep, code(luma + change * space->luma_scale, highest));
          change_cb += (blue - change) / (2 * (1 - space->blue));
          change_cr += (red - change) / (2 * (1 - space->red));
        }
      }
      set_sample(cb_row, x0, is_deep, code(cb + change_cb / (float)count * space->chroma_scale, highest));
      set_sample(cr_row, x0, is_deep, code(cr + change_cr / (float)count * space->chroma_scale, highest));
    }
  }
}

void sheaf_blend(
  enum sheaf_blend_mode mode, const struct sheaf_blended_planes *planes, const struct sheaf_code_space *space,
  int opacity) {
// A loop of its own for each mode.
#define MODE(name)                                                                                                    \
  case name:                                                                                                          \
    if (space->depth > 8) {                                                                                           \
      blend(name, 1, planes, space, opacity);                                                                         \
    } else {                                                                                                          \
      blend(name, 0, planes, space, opacity);                                                                         \
    }                                                                                                                 \
    break;
  switch (mode) {
    MODE(SHEAF_BLEND_MULTIPLY)
    MODE(SHEAF_BLEND_SCREEN)
    MODE(SHEAF_BLEND_OVERLAY)
    MODE(SHEAF_BLEND_DARKEN)
    MODE(SHEAF_BLEND_LIGHTEN)
    MODE(SHEAF_BLEND_ADD)
    MODE(SHEAF_BLEND_DIFFERENCE)
    MODE(SHEAF_BLEND_SOFT_LIGHT)
    MODE(SHEAF_BLEND_HARD_LIGHT)
    MODE(SHEAF_BLEND_COLOR_DODGE)
    MODE(SHEAF_BLEND_COLOR_BURN)
    MODE(SHEAF_BLEND_EXCLUSION)
    MODE(SHEAF_BLEND_SUBTRACT)
  }
}
