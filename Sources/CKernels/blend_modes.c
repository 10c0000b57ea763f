#include "sheaf_blend_modes.h"
#include "chroma_places.h"
#include "kernel_rows.h"

#include <math.h>
#include <string.h>

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

// Rounded to nearest, halves up.
INLINE int code(float value, int highest) {
  float raised = value + 0.5f;
  return raised < 0 ? 0 : raised > (float)highest ? highest : (int)raised;
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

// Samples beyond either end of a row in scratch memory.
enum { MARGIN = 4 };

static size_t room(int width) { return ((size_t)width + 2 * MARGIN + 7) & ~(size_t)7; }

// What a row of chroma is at each pixel: of the frame, of the picture, and the picture's coverage.
enum { CB, CR, OWN_CB, OWN_CR, COVERED, CHROMA_COUNT };
// What the luma of a row of pixels is before it is blended: of the frame, of the picture, and the picture's share.
enum { LUMA, OWN_LUMA, ALPHA, LUMA_COUNT };

// The rows in scratch memory.
struct work {
  // Of the two latest rows of chroma, by the number's last bit.
  float *chroma[2][CHROMA_COUNT];
  // Of the four latest rows of pixels, by the number's last bits: the first and the second pixels of all cells.
  float *luma[4][2][LUMA_COUNT];
  int is_covered[4];
  // Of a row of chroma: its samples, and how they change.
  float *samples[COVERED], *change[2];
  float *line;
};

enum { ROWS = 2 * CHROMA_COUNT + 4 * 2 * LUMA_COUNT + COVERED + 2 + 1 };

size_t sheaf_blend_scratch(int width) { return ROWS * room(width); }

static struct work work_of(float *scratch, int width) {
  struct work work = {0};
  float *next = scratch + MARGIN;
  for (int row = 0; row < 2; row++)
    for (int plane = 0; plane < CHROMA_COUNT; plane++, next += room(width)) work.chroma[row][plane] = next;
  for (int row = 0; row < 8; row++)
    for (int plane = 0; plane < LUMA_COUNT; plane++, next += room(width)) work.luma[row / 2][row % 2][plane] = next;
  for (int plane = 0; plane < COVERED; plane++, next += room(width)) work.samples[plane] = next;
  for (int plane = 0; plane < 2; plane++, next += room(width)) work.change[plane] = next;
  work.line = next;
  return work;
}

static int limited(int value, int least, int most) { return value < least ? least : value > most ? most : value; }

struct chroma_size {
  int columns, rows;
};

static struct chroma_size chroma_size(const struct sheaf_blended_planes *planes) {
  return (struct chroma_size){
    (planes->width + planes->shift_x) >> planes->shift_x, (planes->height + planes->shift_y) >> planes->shift_y};
}

// Interpolates a row of chroma, which may be one beyond those of the picture.
INLINE void load_chroma(
  struct work work, const struct sheaf_blended_planes *planes, int is_deep, int number) {
  const struct chroma_size size = chroma_size(planes);
  const int in_frame = limited(number, planes->goes_on_top ? -1 : 0, size.rows - (planes->goes_on_bottom ? 0 : 1));
  const int in_picture = limited(number, 0, size.rows - 1);
  const void *const frame[2] = {
    CONST_ROW(uint8_t, planes->cb, planes->cb_stride, in_frame),
    CONST_ROW(uint8_t, planes->cr, planes->cr_stride, in_frame)};
  const uint16_t *const picture[3] = {
    CONST_ROW(uint16_t, planes->of_cb, planes->picture_chroma_stride, in_picture),
    CONST_ROW(uint16_t, planes->of_cr, planes->picture_chroma_stride, in_picture),
    CONST_ROW(uint16_t, planes->chroma_coverage, planes->picture_chroma_stride, in_picture)};
  float *line = work.line;
  for (int plane = 0; plane < CHROMA_COUNT; plane++) {
    if (plane < OWN_CB) {
      for (int x = 0; x < size.columns; x++) line[x] = sample(frame[plane], x, is_deep);
      line[-1] = planes->goes_on_left ? sample(frame[plane], -1, is_deep) : line[0];
      line[size.columns] =
        planes->goes_on_right ? sample(frame[plane], size.columns, is_deep) : line[size.columns - 1];
    } else {
      for (int x = 0; x < size.columns; x++) line[x] = picture[plane - OWN_CB][x];
      line[-1] = line[0];
      line[size.columns] = line[size.columns - 1];
    }
    interpolate_row(work.chroma[number & 1][plane], line, size.columns, planes->shift_x, planes->place_x);
  }
}

// How a picture changes what is below it, by its share: red, green and blue, and their luma.
struct change {
  float red, green, blue, luma;
};

INLINE struct change change_of(
  enum sheaf_blend_mode mode, const struct sheaf_code_space *codes, struct rgb below, struct rgb own, float alpha) {
  struct change change;
  change.red = (blended(mode, below.red, own.red) - below.red) * alpha;
  change.green = (blended(mode, below.green, own.green) - below.green) * alpha;
  change.blue = (blended(mode, below.blue, own.blue) - below.blue) * alpha;
  change.luma = codes->red * change.red + codes->green * change.green + codes->blue * change.blue;
  return change;
}

// Keeps the luma of a row of pixels. Beyond the picture it is repeated; nothing is covered there if the frame goes on.
INLINE void keep_luma(
  struct work *work, const struct sheaf_blended_planes *planes, const struct sheaf_code_space *space, int is_deep,
  int opacity, int y) {
  const void *luma = CONST_ROW(uint8_t, planes->luma, planes->luma_stride, y);
  const uint16_t *of_luma = CONST_ROW(uint16_t, planes->of_luma, planes->picture_stride, y);
  const uint16_t *coverage = CONST_ROW(uint16_t, planes->coverage, planes->picture_stride, y);
  const float unit_of_code = (float)(1 << (14 - space->depth)), one = 16384, drawn = (float)opacity / one;
  const int width = planes->width, step = 1 << planes->shift_x;
  int covered = 0;
  for (int x = 0; x < width; x++) covered |= coverage[x];
  work->is_covered[y & 3] = covered != 0;
  if (!covered) return;
  for (int second = 0; second < step; second++) {
    float *const *to = work->luma[y & 3][second];
    float *restrict below = to[LUMA], *restrict own = to[OWN_LUMA], *restrict alpha = to[ALPHA];
    const int count = (width - second + step - 1) / step;
    for (int x = 0; x < count; x++) {
      const float share = coverage[x * step + second];
      // A divisor of 1 where there is no colour, whose share is 0.
      own[x] = (float)of_luma[x * step + second] * (one / ((share > 0 ? share : 1) * unit_of_code));
      alpha[x] = share / one * drawn;
      below[x] = sample(luma, x * step + second, is_deep);
    }
  }
  for (int side = 0; side < 2; side++) {
    const int goes_on = side ? planes->goes_on_right : planes->goes_on_left, edge = side ? width - 1 : 0;
    const float *const *from = (const float *const *)work->luma[y & 3][edge % step];
    for (int i = 1; i <= 2 * step; i++) {
      const int pixel = side ? edge + i : -i, second = pixel & (step - 1), at = (pixel - second) / step;
      for (int plane = 0; plane < LUMA_COUNT; plane++)
        work->luma[y & 3][second][plane][at] = goes_on && plane == ALPHA ? 0 : from[plane][edge / step];
    }
  }
}

// Blends the luma of one row of pixels, which is kept, from `first` to before `end`.
INLINE void blend_luma(
  enum sheaf_blend_mode mode, int is_deep, const struct sheaf_code_space *space, int opacity, void *restrict luma_row,
  const uint16_t *restrict of_luma, const uint16_t *restrict coverage, float *const upper[CHROMA_COUNT],
  float *const lower[CHROMA_COUNT], float share, int first, int end) {
  const struct sheaf_code_space codes = *space;
  const int highest = (1 << codes.depth) - 1;
  const float unit_of_code = (float)(1 << (14 - codes.depth)), one = 16384, rest = 1 - share;
  const float drawn = (float)opacity / one;
  const float *restrict cb0 = upper[CB], *restrict cr0 = upper[CR], *restrict own_cb0 = upper[OWN_CB];
  const float *restrict own_cr0 = upper[OWN_CR], *restrict covered0 = upper[COVERED];
  const float *restrict cb1 = lower[CB], *restrict cr1 = lower[CR], *restrict own_cb1 = lower[OWN_CB];
  const float *restrict own_cr1 = lower[OWN_CR], *restrict covered1 = lower[COVERED];
  for (int x = first; x < end; x++) {
    const float covered = covered0[x] * rest + covered1[x] * share;
    const int is_covered = coverage[x] > 0 && covered > 0;
    const float alpha = is_covered ? (float)coverage[x] / one * drawn : 0;
    // A divisor of 1 where there is no colour, whose share is 0 then.
    const float scale = one / ((is_covered ? covered : 1) * unit_of_code);
    const float own_luma = (float)of_luma[x] * (one / ((is_covered ? (float)coverage[x] : 1) * unit_of_code));
    const struct rgb own = rgb(
      &codes, own_luma, (own_cb0[x] * rest + own_cb1[x] * share) * scale,
      (own_cr0[x] * rest + own_cr1[x] * share) * scale);
    const float luma = sample(luma_row, x, is_deep);
    const struct rgb below = rgb(&codes, luma, cb0[x] * rest + cb1[x] * share, cr0[x] * rest + cr1[x] * share);
    const struct change change = change_of(mode, &codes, below, own, alpha);
    set_sample(luma_row, x, is_deep, code(luma + change.luma * codes.luma_scale, highest));
  }
}

// The chroma of a picture where it has none, from the samples around it.
static void find_chroma(
  const struct sheaf_blended_planes *planes, struct chroma_size size, float unit_of_code, int row, int column,
  float *cb, float *cr) {
  uint32_t sums[3] = {0};
  for (int y = row > 1 ? row - 1 : 0; y <= row + 1 && y < size.rows; y++) {
    const uint16_t *of_cb = CONST_ROW(uint16_t, planes->of_cb, planes->picture_chroma_stride, y);
    const uint16_t *of_cr = CONST_ROW(uint16_t, planes->of_cr, planes->picture_chroma_stride, y);
    const uint16_t *covered = CONST_ROW(uint16_t, planes->chroma_coverage, planes->picture_chroma_stride, y);
    for (int x = column > 1 ? column - 1 : 0; x <= column + 1 && x < size.columns; x++) {
      sums[0] += of_cb[x];
      sums[1] += of_cr[x];
      sums[2] += covered[x];
    }
  }
  const float scale = 16384 / ((float)(sums[2] ? sums[2] : 1) * unit_of_code);
  *cb = (float)sums[0] * scale;
  *cr = (float)sums[1] * scale;
}

// The chroma of a row, of the frame and of the picture.
INLINE void load_samples(
  struct work work, const struct sheaf_blended_planes *planes, const struct sheaf_code_space *space, int is_deep,
  int number, int first, int end) {
  const struct chroma_size size = chroma_size(planes);
  const void *cb_row = CONST_ROW(uint8_t, planes->cb, planes->cb_stride, number);
  const void *cr_row = CONST_ROW(uint8_t, planes->cr, planes->cr_stride, number);
  const float unit_of_code = (float)(1 << (14 - space->depth)), one = 16384;
  float *restrict cb = work.samples[CB], *restrict cr = work.samples[CR];
  float *restrict own_cb = work.samples[OWN_CB], *restrict own_cr = work.samples[OWN_CR];
  for (int x = first; x < end; x++) cb[x] = sample(cb_row, x, is_deep);
  for (int x = first; x < end; x++) cr[x] = sample(cr_row, x, is_deep);
  const int is_inside = number >= 0 && number < size.rows, row = is_inside ? number : 0;
  const uint16_t *of_cb = CONST_ROW(uint16_t, planes->of_cb, planes->picture_chroma_stride, row);
  const uint16_t *of_cr = CONST_ROW(uint16_t, planes->of_cr, planes->picture_chroma_stride, row);
  const uint16_t *covered = CONST_ROW(uint16_t, planes->chroma_coverage, planes->picture_chroma_stride, row);
  if (is_inside) {
    for (int x = 0; x < size.columns; x++) {
      const float scale = one / ((covered[x] ? (float)covered[x] : 1) * unit_of_code);
      own_cb[x] = (float)of_cb[x] * scale;
      own_cr[x] = (float)of_cr[x] * scale;
    }
  }
  for (int x = first; x < end; x++)
    if (!is_inside || x < 0 || x >= size.columns || covered[x] == 0)
      find_chroma(planes, size, unit_of_code, number, x, own_cb + x, own_cr + x);
}

// Adds how the chroma of a row changes with the luma of one pixel of each, at a weight.
INLINE void add_changes(
  enum sheaf_blend_mode mode, const struct sheaf_code_space *space, struct work work, float *const pixels[LUMA_COUNT],
  int shift, float weight, int first, int end) {
  const struct sheaf_code_space codes = *space;
  const float *restrict luma = pixels[LUMA] + shift, *restrict own_luma = pixels[OWN_LUMA] + shift;
  const float *restrict alpha = pixels[ALPHA] + shift, *restrict cb = work.samples[CB], *restrict cr = work.samples[CR];
  const float *restrict own_cb = work.samples[OWN_CB], *restrict own_cr = work.samples[OWN_CR];
  float *restrict change_cb = work.change[0], *restrict change_cr = work.change[1];
  for (int x = first; x < end; x++) {
    const struct change change = change_of(
      mode, &codes, rgb(&codes, luma[x], cb[x], cr[x]), rgb(&codes, own_luma[x], own_cb[x], own_cr[x]), alpha[x]);
    change_cb[x] += (change.blue - change.luma) / (2 * (1 - codes.blue)) * weight;
    change_cr[x] += (change.red - change.luma) / (2 * (1 - codes.red)) * weight;
  }
}

// Blends a row of the frame's chroma with the luma of the pixels around its samples.
INLINE void blend_chroma(
  enum sheaf_blend_mode mode, struct work work, const struct sheaf_blended_planes *planes,
  const struct sheaf_code_space *space, int is_deep, int number) {
  const struct taps across = taps_of(planes->shift_x, planes->place_x);
  const struct taps down = taps_of(planes->shift_y, planes->place_y);
  const int highest = (1 << space->depth) - 1, step = 1 << planes->shift_x;
  const int first = planes->goes_on_left ? -1 : 0, end = chroma_size(planes).columns + (planes->goes_on_right ? 1 : 0);
  const float part = 1 / (float)(1 << (across.shift + down.shift));
  int is_loaded = 0;
  for (int line = 0; line < down.count; line++) {
    int y = number * (1 << planes->shift_y) + down.first + line;
    if ((y < 0 && planes->goes_on_top) || (y >= planes->height && planes->goes_on_bottom)) continue;
    y = limited(y, 0, planes->height - 1);
    if (!work.is_covered[y & 3]) continue;
    if (!is_loaded) {
      load_samples(work, planes, space, is_deep, number, first, end);
      for (int plane = 0; plane < 2; plane++)
        memset(work.change[plane] + first, 0, (size_t)(end - first) * sizeof **work.change);
    }
    is_loaded = 1;
    for (int tap = 0; tap < across.count; tap++) {
      const int pixel = across.first + tap, second = pixel & (step - 1);
      add_changes(
        mode, space, work, work.luma[y & 3][second], (pixel - second) / step,
        (float)(across.weight[tap] * down.weight[line]) * part, first, end);
    }
  }
  if (!is_loaded) return;
  for (int plane = 0; plane < 2; plane++) {
    void *restrict row = plane == 0 ? ROW(uint8_t, planes->cb, planes->cb_stride, number)
                                    : ROW(uint8_t, planes->cr, planes->cr_stride, number);
    const float *restrict from = work.samples[plane], *restrict change = work.change[plane];
    for (int x = first; x < end; x++)
      set_sample(row, x, is_deep, code(from[x] + change[x] * space->chroma_scale, highest));
  }
}

INLINE void blend(
  enum sheaf_blend_mode mode, int is_deep, const struct sheaf_blended_planes *planes,
  const struct sheaf_code_space *space, int opacity, float *scratch) {
  struct work work = work_of(scratch, planes->width);
  const struct taps down = taps_of(planes->shift_y, planes->place_y);
  const int chroma_end = chroma_size(planes).rows + (planes->goes_on_bottom ? 1 : 0);
  int loaded = neighbours_of(0, planes->shift_y, planes->place_y).first, done = planes->goes_on_top ? -1 : 0;
  for (int y = 0; y < planes->height; y++) {
    const struct neighbours rows = neighbours_of(y, planes->shift_y, planes->place_y);
    // The second row of chroma has no share where luma and chroma have the same rows.
    const int last = rows.first + (planes->shift_y ? 1 : 0);
    for (; loaded <= last; loaded++) load_chroma(work, planes, is_deep, loaded);
    keep_luma(&work, planes, space, is_deep, opacity, y);
    const uint16_t *coverage = CONST_ROW(uint16_t, planes->coverage, planes->picture_stride, y);
    int first = 0, end = planes->width;
    while (first < end && coverage[first] == 0) first++;
    while (first < end && coverage[end - 1] == 0) end--;
    blend_luma(
      mode, is_deep, space, opacity, ROW(uint8_t, planes->luma, planes->luma_stride, y),
      CONST_ROW(uint16_t, planes->of_luma, planes->picture_stride, y), coverage, work.chroma[rows.first & 1],
      work.chroma[last & 1], rows.share, first, end);
    // Of the last row of pixels all rows of chroma can be made that are left.
    while (done < chroma_end
           && (y == planes->height - 1 || done * (1 << planes->shift_y) + down.first + down.count - 1 <= y))
      blend_chroma(mode, work, planes, space, is_deep, done++);
  }
}

void sheaf_blend(
  enum sheaf_blend_mode mode, const struct sheaf_blended_planes *planes, const struct sheaf_code_space *space,
  int opacity, float *scratch) {
// A loop of its own for each mode.
#define MODE(name)                                                                                                    \
  case name:                                                                                                          \
    if (space->depth > 8) {                                                                                           \
      blend(name, 1, planes, space, opacity, scratch);                                                                         \
    } else {                                                                                                          \
      blend(name, 0, planes, space, opacity, scratch);                                                                         \
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
