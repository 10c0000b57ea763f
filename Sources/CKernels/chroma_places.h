// How chroma samples and pixels are made from each other by where the samples lie, for the kernels' own files.
#ifndef SHEAF_CHROMA_PLACES_H
#define SHEAF_CHROMA_PLACES_H

#include "sheaf_kernels.h"

#pragma STDC FP_CONTRACT OFF

// The pixels of one axis that a chroma sample is the weighted mean of, counted from the first of its cell.
struct taps {
  int first, count, shift;
  unsigned weight[3];
};

static inline struct taps taps_of(int shift, enum sheaf_place place) {
  if (shift == 0) return (struct taps){0, 1, 0, {1}};
  if (place == SHEAF_MIDDLE) return (struct taps){0, 2, 1, {1, 1}};
  return (struct taps){place == SHEAF_FIRST ? -1 : 0, 3, 2, {1, 2, 1}};
}

// The chroma samples of one axis that a pixel lies between, and the share of the second.
struct neighbours {
  int first;
  float share;
};

static inline struct neighbours neighbours_of(int pixel, int shift, enum sheaf_place place) {
  if (shift == 0) return (struct neighbours){pixel, 0};
  int cell = pixel >> 1, is_second = pixel & 1;
  switch (place) {
    case SHEAF_FIRST: return (struct neighbours){cell, is_second ? 0.5f : 0};
    case SHEAF_MIDDLE: return is_second ? (struct neighbours){cell, 0.25f} : (struct neighbours){cell - 1, 0.75f};
    case SHEAF_LAST: return is_second ? (struct neighbours){cell, 0} : (struct neighbours){cell - 1, 0.5f};
  }
  return (struct neighbours){cell, 0};
}

// The pixels of a row of chroma samples, which has one more at either end. It writes whole cells.
static inline void interpolate_row(
  float *restrict to, const float *restrict line, int columns, int shift, enum sheaf_place place) {
  if (shift == 0) {
    for (int x = 0; x < columns; x++) to[x] = line[x];
    return;
  }
  const struct neighbours even = neighbours_of(0, shift, place), odd = neighbours_of(1, shift, place);
  const float *of_even = line + even.first, *of_odd = line + odd.first;
  for (int x = 0; x < columns; x++) {
    to[2 * x] = of_even[x] * (1 - even.share) + of_even[x + 1] * even.share;
    to[2 * x + 1] = of_odd[x] * (1 - odd.share) + of_odd[x + 1] * odd.share;
  }
}

// The samples of a plane that is 2^shift times smaller along one side, of which the last may have a part of its own.
static inline int shifted_up(int length, int shift) { return (length + (1 << shift) - 1) >> shift; }

#endif
