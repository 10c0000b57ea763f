#include "kernel_rows.h"
#include "sheaf_mattes.h"
#include "sheaf_resample.h"

#include <math.h>
#include <string.h>

// A product and a sum that are rounded at once would make circles depend on the processor.
#pragma STDC FP_CONTRACT OFF

#define MIX(name, type)                                                                                               \
  static void name(                                                                                                   \
    type *to, ptrdiff_t to_stride, const type *a, ptrdiff_t a_stride, const type *b, ptrdiff_t b_stride,              \
    const uint16_t *matte, ptrdiff_t matte_stride, int width, int height) {                                           \
    for (int y = 0; y < height; y++) {                                                                                \
      type *to_row = ROW(type, to, to_stride, y);                                                                     \
      const type *a_row = CONST_ROW(type, a, a_stride, y), *b_row = CONST_ROW(type, b, b_stride, y);                  \
      const uint16_t *weights = CONST_ROW(uint16_t, matte, matte_stride, y);                                          \
      for (int x = 0; x < width; x++)                                                                                 \
        to_row[x] = (type)((a_row[x] * (SHEAF_ONE - weights[x]) + b_row[x] * weights[x] + 8192) >> 14);               \
    }                                                                                                                 \
  }
MIX(mix8, uint8_t)
MIX(mix16, uint16_t)

const struct sheaf_matte_kernels *sheaf_matte_kernels_plain(void) {
  static const struct sheaf_matte_kernels kernels = {.mix8 = mix8, .mix16 = mix16};
  return &kernels;
}

const struct sheaf_matte_kernels *sheaf_matte_kernels_best(void) {
  const struct sheaf_matte_kernels *vector = sheaf_matte_kernels_avx2();
  return vector ? vector : sheaf_matte_kernels_plain();
}

#if defined(__x86_64__)

#include <immintrin.h>

#define AVX2 __attribute__((target("avx2")))

AVX2 static inline __m256i load(const void *from) { return _mm256_loadu_si256((const __m256i *)from); }

// Sixteen results of 16 bits.
AVX2 static inline __m256i mixed(__m256i a, __m256i b, __m256i weights) {
  const __m256i half = _mm256_set1_epi32(8192);
  __m256i rest = _mm256_sub_epi16(_mm256_set1_epi16(SHEAF_ONE), weights);
  __m256i low = _mm256_madd_epi16(_mm256_unpacklo_epi16(a, b), _mm256_unpacklo_epi16(rest, weights));
  __m256i high = _mm256_madd_epi16(_mm256_unpackhi_epi16(a, b), _mm256_unpackhi_epi16(rest, weights));
  low = _mm256_srai_epi32(_mm256_add_epi32(low, half), 14);
  high = _mm256_srai_epi32(_mm256_add_epi32(high, half), 14);
  return _mm256_packs_epi32(low, high);
}

AVX2 static void mix8_avx2(
  uint8_t *to, ptrdiff_t to_stride, const uint8_t *a, ptrdiff_t a_stride, const uint8_t *b, ptrdiff_t b_stride,
  const uint16_t *matte, ptrdiff_t matte_stride, int width, int height) {
  const __m256i one = _mm256_set1_epi16(SHEAF_ONE);
  int whole = width & ~15;
  for (int y = 0; y < height; y++) {
    uint8_t *to_row = to + y * to_stride;
    const uint8_t *a_row = a + y * a_stride, *b_row = b + y * b_stride;
    const uint16_t *weights = CONST_ROW(uint16_t, matte, matte_stride, y);
    for (int x = 0; x < whole; x += 16) {
      __m256i weight = load(weights + x);
      __m128i result;
      // Most of a frame shows one of the pictures alone.
      if (_mm256_testz_si256(weight, weight)) {
        result = _mm_loadu_si128((const __m128i *)(a_row + x));
      } else if (_mm256_testc_si256(_mm256_cmpeq_epi16(weight, one), _mm256_set1_epi8(-1))) {
        result = _mm_loadu_si128((const __m128i *)(b_row + x));
      } else {
        __m256i of_a = _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)(a_row + x)));
        __m256i of_b = _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)(b_row + x)));
        __m256i sum = mixed(of_a, of_b, weight);
        result = _mm256_castsi256_si128(_mm256_permute4x64_epi64(_mm256_packus_epi16(sum, sum), 0x08));
      }
      _mm_storeu_si128((__m128i *)(to_row + x), result);
    }
  }
  mix8(
    to + whole, to_stride, a + whole, a_stride, b + whole, b_stride, matte + whole, matte_stride, width - whole, height);
}

AVX2 static void mix16_avx2(
  uint16_t *to, ptrdiff_t to_stride, const uint16_t *a, ptrdiff_t a_stride, const uint16_t *b, ptrdiff_t b_stride,
  const uint16_t *matte, ptrdiff_t matte_stride, int width, int height) {
  int whole = width & ~15;
  for (int y = 0; y < height; y++) {
    uint16_t *to_row = ROW(uint16_t, to, to_stride, y);
    const uint16_t *a_row = CONST_ROW(uint16_t, a, a_stride, y), *b_row = CONST_ROW(uint16_t, b, b_stride, y);
    const uint16_t *weights = CONST_ROW(uint16_t, matte, matte_stride, y);
    for (int x = 0; x < whole; x += 16)
      _mm256_storeu_si256((__m256i *)(to_row + x), mixed(load(a_row + x), load(b_row + x), load(weights + x)));
  }
  mix16(
    to + whole, to_stride, a + whole, a_stride, b + whole, b_stride, matte + whole, matte_stride, width - whole, height);
}

const struct sheaf_matte_kernels *sheaf_matte_kernels_avx2(void) {
  static const struct sheaf_matte_kernels kernels = {.mix8 = mix8_avx2, .mix16 = mix16_avx2};
  return __builtin_cpu_supports("avx2") ? &kernels : NULL;
}

#else

const struct sheaf_matte_kernels *sheaf_matte_kernels_avx2(void) { return NULL; }

#endif

static inline uint16_t weight(int64_t value) {
  int64_t rounded = (value + (INT64_C(1) << 31)) >> 32;
  return (uint16_t)(rounded < 0 ? 0 : rounded > SHEAF_ONE ? SHEAF_ONE : rounded);
}

static void fill(uint16_t *to, int from, int end, uint16_t value) {
  for (int x = from; x < end; x++) to[x] = value;
}

void sheaf_matte_line(uint16_t *to, int count, int64_t first, int64_t step) {
  if (count < 1) return;
  // Weights rise or fall along a row, and most of them are 0 or one: those at its ends, up to where they change.
  uint16_t at_start = weight(first), at_end = weight(first + step * (count - 1));
  int start = 0, end = count;
  if (at_start == 0 || at_start == SHEAF_ONE)
    for (int high = count; start < high;) {
      int middle = start + (high - start) / 2;
      if (weight(first + step * middle) == at_start) start = middle + 1; else high = middle;
    }
  if (at_end == 0 || at_end == SHEAF_ONE)
    for (int low = start; low < end;) {
      int middle = low + (end - low) / 2;
      if (weight(first + step * middle) == at_end) end = middle; else low = middle + 1;
    }
  fill(to, 0, start, at_start);
  for (int x = start; x < end; x++) to[x] = weight(first + step * x);
  fill(to, end, count, at_end);
}

// The first column of 0...count at or after a distance from the circle's centre.
static inline int column(double start, double along, int count) {
  double x = ceil(along - start);
  return x < 0 ? 0 : x > count ? count : (int)x;
}

void sheaf_matte_circle(uint16_t *to, int count, double start, double across, double centre, double slope) {
  const double square = across * across;
  // Outside the circle's edge all weights are 0, and inside it one. A pixel more is computed on either side, so that
  // what is rounded here changes nothing.
  double outer = centre / slope + 1, inner = (centre - SHEAF_ONE) / slope - 1;
  double reach = outer > 0 && outer * outer > square ? sqrt(outer * outer - square) + 1 : -1;
  double core = inner > 0 && inner * inner > square ? sqrt(inner * inner - square) - 1 : -1;
  int from = reach < 0 ? count : column(start, -reach, count), end = reach < 0 ? count : column(start, reach, count);
  int core_from = core < 0 ? end : column(start, -core, count), core_end = core < 0 ? end : column(start, core, count);
  fill(to, 0, from, 0);
  for (int x = from; x < end; x++) {
    if (x == core_from && core_from < core_end) {
      fill(to, core_from, core_end, SHEAF_ONE);
      x = core_end;
      if (x >= end) break;
    }
    double along = start + x;
    double distance = sqrt(along * along + square);
    double value = centre - slope * distance;
    value = value < 0 ? 0 : value > SHEAF_ONE ? SHEAF_ONE : value;
    to[x] = (uint16_t)(value + 0.5);
  }
  fill(to, end, count, 0);
}

static inline uint16_t rounded(double value) {
  return (uint16_t)((value < 0 ? 0 : value > SHEAF_ONE ? SHEAF_ONE : value) + 0.5);
}

void sheaf_matte_tent(uint16_t *to, int count, double start, double peak, double slope, double limit) {
  for (int x = 0; x < count; x++) {
    double value = peak - slope * fabs(start + x);
    to[x] = rounded(value < limit ? value : limit);
  }
}

static const double turn = 6.283185307179586;

// The angle of a point from the ray upwards, clockwise, in turns; y is down. The series of the arc tangent, of numbers
// of at most tan(pi/8), is exact to 3e-13.
static double turns(double x, double y) {
  double across = fabs(x), along = fabs(y);
  double greater = across > along ? across : along, less = across > along ? along : across;
  if (greater == 0) return 0;
  double t = less / greater, base = 0;
  if (t > 0.41421356237309503) {
    t = (t - 1) / (t + 1);
    base = 0.125;
  }
  double square = t * t, sum = 0;
  for (int order = 27; order >= 1; order -= 2) sum = 1.0 / order - square * sum;
  double angle = base + t * sum / turn;
  if (across > along) angle = 0.25 - angle;
  if (y >= 0) angle = 0.5 - angle;
  return x < 0 ? 1 - angle : angle;
}

void sheaf_matte_clock(uint16_t *to, int count, double start, double down, double progress, double softness) {
  enum { block = 16 };
  for (int from = 0; from < count; from += block) {
    int end = from + block < count ? from + block : count;
    double first = start + from, last = start + end - 1;
    int is_at_ray = down < 0 && first < 0.5 && last > -0.5;
    if (!is_at_ray) {
      // Along the row the angle rises or falls. Most blocks are before the hand or behind it.
      double a = turns(first, down), b = turns(last, down);
      double least = a < b ? a : b, greatest = a < b ? b : a;
      double nearest = first > 0 ? first : last < 0 ? last : 0;
      double width = softness + 1 / (turn * sqrt(nearest * nearest + down * down));
      int is_behind = progress - greatest >= (1 - progress) * width, is_before = least - progress >= progress * width;
      if (is_behind || is_before) {
        fill(to, from, end, is_behind ? SHEAF_ONE : 0);
        continue;
      }
    }
    for (int x = from; x < end; x++) {
      double along = start + x, q = turn * sqrt(along * along + down * down), slope = q / (1 + q * softness);
      double a = turns(along, down), value = progress + (progress - a) * slope;
      if (is_at_ray && along > -0.5 && along < 0.5) {
        double before = progress + (progress - (along < 0 ? a : 1)) * slope;
        double after = progress + (progress - (along < 0 ? 0 : a)) * slope;
        before = before < 0 ? 0 : before > 1 ? 1 : before;
        after = after < 0 ? 0 : after > 1 ? 1 : after;
        value = (0.5 - along) * before + (0.5 + along) * after;
      }
      to[x] = rounded(value * SHEAF_ONE);
    }
  }
}

void sheaf_matte_shape(uint16_t *to, int count, const struct sheaf_span *span, const uint16_t *edges, int share) {
  fill(to, 0, span->start, 0);
  for (int x = span->start; x < span->inner_start; x++) to[x] = (uint16_t)((*edges++ * share + 8192) >> 14);
  fill(to, span->inner_start, span->inner_end, (uint16_t)share);
  for (int x = span->inner_end; x < span->end; x++) to[x] = (uint16_t)((*edges++ * share + 8192) >> 14);
  fill(to, span->end, count, 0);
}

void sheaf_matte_levels(uint16_t *to, const uint16_t *levels, int count, int64_t first, int64_t step) {
  for (int x = 0; x < count; x++) to[x] = weight(first + step * levels[x]);
}

void sheaf_matte_luma(uint16_t *to, ptrdiff_t to_stride, struct sheaf_rgba_planes from, int width, int height) {
  for (int y = 0; y < height; y++) {
    uint16_t *row = ROW(uint16_t, to, to_stride, y);
    const uint16_t *red = CONST_ROW(uint16_t, from.plane[0], from.stride, y);
    const uint16_t *green = CONST_ROW(uint16_t, from.plane[1], from.stride, y);
    const uint16_t *blue = CONST_ROW(uint16_t, from.plane[2], from.stride, y);
    // The weights sum up to 65536, so that white is 65535.
    for (int x = 0; x < width; x++)
      row[x] = (uint16_t)((13933u * red[x] + 46871u * green[x] + 4732u * blue[x] + 32768u) >> 16);
  }
}
