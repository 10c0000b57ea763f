// The kernels for AVX2. Each processes whole vectors and calls the plain version for the rest of a row.
#include "kernel_rows.h"
#include "sheaf_kernels.h"

#if defined(__x86_64__)

#include <immintrin.h>

#define AVX2 __attribute__((target("avx2")))

AVX2 static inline __m256i load(const void *from) { return _mm256_loadu_si256((const __m256i *)from); }
AVX2 static inline void store(void *to, __m256i value) { _mm256_storeu_si256((__m256i *)to, value); }

AVX2 static void fill8(uint8_t *to, ptrdiff_t to_stride, int width, int height, int value) {
  const __m256i values = _mm256_set1_epi8((char)value);
  int whole = width & ~31;
  for (int y = 0; y < height; y++)
    for (int x = 0; x < whole; x += 32) store(to + y * to_stride + x, values);
  sheaf_kernels_plain()->fill8(to + whole, to_stride, width - whole, height, value);
}

AVX2 static void fill16(uint16_t *to, ptrdiff_t to_stride, int width, int height, int value) {
  const __m256i values = _mm256_set1_epi16((short)value);
  int whole = width & ~15;
  for (int y = 0; y < height; y++)
    for (int x = 0; x < whole; x += 16) store(ROW(uint16_t, to, to_stride, y) + x, values);
  sheaf_kernels_plain()->fill16(to + whole, to_stride, width - whole, height, value);
}

// Sixteen (a*weight_a + b*weight_b + 8192) >> 14 of 16-bit samples; `weights` alternates weight_a and weight_b.
AVX2 static inline __m256i mix(__m256i a, __m256i b, __m256i weights) {
  const __m256i half = _mm256_set1_epi32(8192);
  __m256i low = _mm256_madd_epi16(_mm256_unpacklo_epi16(a, b), weights);
  __m256i high = _mm256_madd_epi16(_mm256_unpackhi_epi16(a, b), weights);
  low = _mm256_srai_epi32(_mm256_add_epi32(low, half), 14);
  high = _mm256_srai_epi32(_mm256_add_epi32(high, half), 14);
  return _mm256_packs_epi32(low, high);
}

AVX2 static void mix8(
  uint8_t *to, ptrdiff_t to_stride, const uint8_t *a, ptrdiff_t a_stride, const uint8_t *b, ptrdiff_t b_stride,
  int width, int height, int weight_a, int weight_b) {
  const __m256i weights = _mm256_set1_epi32(weight_b << 16 | weight_a), zero = _mm256_setzero_si256();
  int whole = width & ~31;
  for (int y = 0; y < height; y++)
    for (int x = 0; x < whole; x += 32) {
      __m256i of_a = load(a + y * a_stride + x), of_b = load(b + y * b_stride + x);
      __m256i low = mix(_mm256_unpacklo_epi8(of_a, zero), _mm256_unpacklo_epi8(of_b, zero), weights);
      __m256i high = mix(_mm256_unpackhi_epi8(of_a, zero), _mm256_unpackhi_epi8(of_b, zero), weights);
      store(to + y * to_stride + x, _mm256_packus_epi16(low, high));
    }
  sheaf_kernels_plain()->mix8(
    to + whole, to_stride, a + whole, a_stride, b + whole, b_stride, width - whole, height, weight_a, weight_b);
}

AVX2 static void mix16(
  uint16_t *to, ptrdiff_t to_stride, const uint16_t *a, ptrdiff_t a_stride, const uint16_t *b, ptrdiff_t b_stride,
  int width, int height, int weight_a, int weight_b) {
  const __m256i weights = _mm256_set1_epi32(weight_b << 16 | weight_a);
  int whole = width & ~15;
  for (int y = 0; y < height; y++)
    for (int x = 0; x < whole; x += 16)
      store(
        ROW(uint16_t, to, to_stride, y) + x,
        mix(load(CONST_ROW(uint16_t, a, a_stride, y) + x), load(CONST_ROW(uint16_t, b, b_stride, y) + x), weights));
  sheaf_kernels_plain()->mix16(
    to + whole, to_stride, a + whole, a_stride, b + whole, b_stride, width - whole, height, weight_a, weight_b);
}

struct over {
  __m256i opacity, twice_opacity, one, half;
  __m128i under_shift, sum_shift;
  int is_full;
};

AVX2 static inline struct over over_prepare(int opacity, int depth) {
  struct over over = {
    .opacity = _mm256_set1_epi16((short)opacity), .twice_opacity = _mm256_set1_epi16((short)(2 * opacity)),
    .one = _mm256_set1_epi16(SHEAF_ONE), .half = _mm256_set1_epi32(1 << (13 + 14 - depth)),
    .under_shift = _mm_cvtsi32_si128(14 - depth), .sum_shift = _mm_cvtsi32_si128(28 - depth),
    .is_full = opacity == SHEAF_ONE,
  };
  return over;
}

// Sixteen codes under colour and coverage, not yet limited to the highest code.
AVX2 static inline __m256i over16_codes(struct over over, __m256i under, __m256i colour, __m256i coverage) {
  // mulhrs is (x*y + 2^14) >> 15, which with twice the opacity is (x*opacity + 2^13) >> 14. Twice a full opacity does
  // not fit into 16 bits; there the product is the coverage itself.
  __m256i covered = over.is_full ? coverage : _mm256_mulhrs_epi16(coverage, over.twice_opacity);
  __m256i rest = _mm256_sub_epi16(over.one, covered), shifted = _mm256_sll_epi16(under, over.under_shift);
  __m256i low = _mm256_madd_epi16(
    _mm256_unpacklo_epi16(colour, shifted), _mm256_unpacklo_epi16(over.opacity, rest));
  __m256i high = _mm256_madd_epi16(
    _mm256_unpackhi_epi16(colour, shifted), _mm256_unpackhi_epi16(over.opacity, rest));
  low = _mm256_sra_epi32(_mm256_add_epi32(low, over.half), over.sum_shift);
  high = _mm256_sra_epi32(_mm256_add_epi32(high, over.half), over.sum_shift);
  return _mm256_packs_epi32(low, high);
}

// The same at full opacity, for depths below 14, where the sum needs no more than 16 bits: of c*2^14 + p + 2^(13+s), in
// which p is (d << s)*(16384 - a), only whole multiples of 2^14 matter, as s is at least 1. `under` is d << s + 2.
AVX2 static inline __m256i full_codes(__m256i under, __m256i colour, __m256i coverage, __m256i half, __m128i shift) {
  __m256i rest = _mm256_sub_epi16(_mm256_set1_epi16(SHEAF_ONE), coverage);
  return _mm256_srl_epi16(_mm256_add_epi16(_mm256_add_epi16(colour, half), _mm256_mulhi_epu16(under, rest)), shift);
}

// Returns how many columns were drawn.
AVX2 static int over8_full(
  uint8_t *under, ptrdiff_t under_stride, const uint16_t *colour, ptrdiff_t colour_stride, const uint16_t *coverage,
  ptrdiff_t coverage_stride, int width, int height) {
  const __m256i half = _mm256_set1_epi16(1 << 5);
  const __m128i shift = _mm_cvtsi32_si128(6);
  int whole = width & ~31;
  for (int y = 0; y < height; y++) {
    uint8_t *row = under + y * under_stride;
    const uint16_t *colours = CONST_ROW(uint16_t, colour, colour_stride, y);
    const uint16_t *coverages = CONST_ROW(uint16_t, coverage, coverage_stride, y);
    for (int x = 0; x < whole; x += 32) {
      __m256i first = load(coverages + x), second = load(coverages + x + 16), either = _mm256_or_si256(first, second);
      // Transparent here, as most of a title is.
      if (_mm256_testz_si256(either, either)) continue;
      __m256i codes = load(row + x);
      __m256i low = _mm256_slli_epi16(_mm256_cvtepu8_epi16(_mm256_castsi256_si128(codes)), 8);
      __m256i high = _mm256_slli_epi16(_mm256_cvtepu8_epi16(_mm256_extracti128_si256(codes, 1)), 8);
      low = full_codes(low, load(colours + x), first, half, shift);
      high = full_codes(high, load(colours + x + 16), second, half, shift);
      store(row + x, _mm256_permute4x64_epi64(_mm256_packus_epi16(low, high), 0xd8));
    }
  }
  return whole;
}

AVX2 static void over8(
  uint8_t *under, ptrdiff_t under_stride, const uint16_t *colour, ptrdiff_t colour_stride, const uint16_t *coverage,
  ptrdiff_t coverage_stride, int width, int height, int opacity) {
  const struct over over = over_prepare(opacity, 8);
  int whole = width & ~15, start = 0;
  if (over.is_full)
    start = over8_full(under, under_stride, colour, colour_stride, coverage, coverage_stride, width, height);
  for (int y = 0; y < height && start < whole; y++) {
    uint8_t *row = under + y * under_stride;
    const uint16_t *colours = CONST_ROW(uint16_t, colour, colour_stride, y);
    const uint16_t *coverages = CONST_ROW(uint16_t, coverage, coverage_stride, y);
    for (int x = start; x < whole; x += 16) {
      __m256i covering = load(coverages + x);
      if (_mm256_testz_si256(covering, covering)) continue;
      __m256i codes = _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)(row + x)));
      __m256i result = over16_codes(over, codes, load(colours + x), covering);
      __m256i packed = _mm256_permute4x64_epi64(_mm256_packus_epi16(result, result), 0x08);
      _mm_storeu_si128((__m128i *)(row + x), _mm256_castsi256_si128(packed));
    }
  }
  sheaf_kernels_plain()->over8(
    under + whole, under_stride, colour + whole, colour_stride, coverage + whole, coverage_stride, width - whole,
    height, opacity);
}

AVX2 static void over16(
  uint16_t *under, ptrdiff_t under_stride, const uint16_t *colour, ptrdiff_t colour_stride, const uint16_t *coverage,
  ptrdiff_t coverage_stride, int width, int height, int opacity, int depth) {
  const struct over over = over_prepare(opacity, depth);
  const __m256i highest = _mm256_set1_epi16((short)((1 << depth) - 1));
  const __m256i half = _mm256_set1_epi16((short)(1 << (14 - depth) >> 1));
  const __m128i shift = _mm_cvtsi32_si128(14 - depth), up = _mm_cvtsi32_si128(16 - depth);
  const int is_narrow = over.is_full && depth < 14;
  int whole = width & ~15;
  for (int y = 0; y < height; y++) {
    uint16_t *row = ROW(uint16_t, under, under_stride, y);
    const uint16_t *colours = CONST_ROW(uint16_t, colour, colour_stride, y);
    const uint16_t *coverages = CONST_ROW(uint16_t, coverage, coverage_stride, y);
    for (int x = 0; x < whole; x += 16) {
      __m256i covering = load(coverages + x);
      if (_mm256_testz_si256(covering, covering)) continue;
      __m256i result = is_narrow
        ? full_codes(_mm256_sll_epi16(load(row + x), up), load(colours + x), covering, half, shift)
        : over16_codes(over, load(row + x), load(colours + x), covering);
      store(row + x, _mm256_min_epi16(result, highest));
    }
  }
  sheaf_kernels_plain()->over16(
    under + whole, under_stride, colour + whole, colour_stride, coverage + whole, coverage_stride, width - whole,
    height, opacity, depth);
}

// A square of 2^n rows is transposed by interleaving rows i and i + half of them, n times.
AVX2 static void transpose8(
  uint8_t *to, ptrdiff_t to_stride, const uint8_t *from, ptrdiff_t from_stride, int width, int height) {
  int columns = width & ~15, rows = height & ~15;
  for (int top = 0; top < rows; top += 16)
    for (int left = 0; left < columns; left += 16) {
      __m128i a[16], b[16];
      for (int i = 0; i < 16; i++) a[i] = _mm_loadu_si128((const __m128i *)(from + (top + i) * from_stride + left));
      for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 8; i++) {
          b[2 * i] = _mm_unpacklo_epi8(a[i], a[i + 8]);
          b[2 * i + 1] = _mm_unpackhi_epi8(a[i], a[i + 8]);
        }
        for (int i = 0; i < 8; i++) {
          a[2 * i] = _mm_unpacklo_epi8(b[i], b[i + 8]);
          a[2 * i + 1] = _mm_unpackhi_epi8(b[i], b[i + 8]);
        }
      }
      for (int i = 0; i < 16; i++) _mm_storeu_si128((__m128i *)(to + (left + i) * to_stride + top), a[i]);
    }
  const struct sheaf_kernels *plain = sheaf_kernels_plain();
  plain->transpose8(to + columns * to_stride, to_stride, from + columns, from_stride, width - columns, height);
  plain->transpose8(to + rows, to_stride, from + rows * from_stride, from_stride, columns, height - rows);
}

AVX2 static void transpose16(
  uint16_t *to, ptrdiff_t to_stride, const uint16_t *from, ptrdiff_t from_stride, int width, int height) {
  int columns = width & ~7, rows = height & ~7;
  for (int top = 0; top < rows; top += 8)
    for (int left = 0; left < columns; left += 8) {
      __m128i a[8], b[8];
      for (int i = 0; i < 8; i++)
        a[i] = _mm_loadu_si128((const __m128i *)(CONST_ROW(uint16_t, from, from_stride, top + i) + left));
      for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 4; i++) {
          b[2 * i] = _mm_unpacklo_epi16(a[i], a[i + 4]);
          b[2 * i + 1] = _mm_unpackhi_epi16(a[i], a[i + 4]);
        }
        for (int i = 0; i < 8; i++) a[i] = b[i];
      }
      for (int i = 0; i < 8; i++)
        _mm_storeu_si128((__m128i *)(ROW(uint16_t, to, to_stride, left + i) + top), a[i]);
    }
  const struct sheaf_kernels *plain = sheaf_kernels_plain();
  plain->transpose16(
    ROW(uint16_t, to, to_stride, columns), to_stride, from + columns, from_stride, width - columns, height);
  plain->transpose16(
    to + rows, to_stride, CONST_ROW(uint16_t, from, from_stride, rows), from_stride, columns, height - rows);
}

AVX2 static void mirror8(
  uint8_t *to, ptrdiff_t to_stride, const uint8_t *from, ptrdiff_t from_stride, int width, int height) {
  const __m256i backwards = _mm256_broadcastsi128_si256(
    _mm_setr_epi8(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0));
  int whole = width & ~31;
  for (int y = 0; y < height; y++)
    for (int x = 0; x < whole; x += 32) {
      __m256i turned = _mm256_shuffle_epi8(load(from + y * from_stride + width - 32 - x), backwards);
      store(to + y * to_stride + x, _mm256_permute4x64_epi64(turned, 0x4e));
    }
  sheaf_kernels_plain()->mirror8(to + whole, to_stride, from, from_stride, width - whole, height);
}

AVX2 static void mirror16(
  uint16_t *to, ptrdiff_t to_stride, const uint16_t *from, ptrdiff_t from_stride, int width, int height) {
  const __m256i backwards = _mm256_broadcastsi128_si256(
    _mm_setr_epi8(14, 15, 12, 13, 10, 11, 8, 9, 6, 7, 4, 5, 2, 3, 0, 1));
  int whole = width & ~15;
  for (int y = 0; y < height; y++)
    for (int x = 0; x < whole; x += 16) {
      __m256i turned =
        _mm256_shuffle_epi8(load(CONST_ROW(uint16_t, from, from_stride, y) + width - 16 - x), backwards);
      store(ROW(uint16_t, to, to_stride, y) + x, _mm256_permute4x64_epi64(turned, 0x4e));
    }
  sheaf_kernels_plain()->mirror16(to + whole, to_stride, from, from_stride, width - whole, height);
}

const struct sheaf_kernels *sheaf_kernels_avx2(void) {
  static const struct sheaf_kernels kernels = {
    .fill8 = fill8, .fill16 = fill16, .mix8 = mix8, .mix16 = mix16, .over8 = over8, .over16 = over16,
    .transpose8 = transpose8, .transpose16 = transpose16, .mirror8 = mirror8, .mirror16 = mirror16,
  };
  return __builtin_cpu_supports("avx2") ? &kernels : NULL;
}

#else

const struct sheaf_kernels *sheaf_kernels_avx2(void) { return NULL; }

#endif
