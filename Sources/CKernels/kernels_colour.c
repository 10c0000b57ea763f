// Colours of one encoding to another. `sheaf_colour.h` says what each function does.
#include "kernel_rows.h"
#include "sheaf_colour.h"

#include <string.h>

#pragma STDC FP_CONTRACT OFF

#define INLINE static inline __attribute__((always_inline))

static const int32_t first_place = (127 + SHEAF_LIGHT_LEAST) << 23;
static const int32_t place_count = (SHEAF_LIGHT_OCTAVES * SHEAF_LIGHT_STEPS) << 16;

// The place of light in a table, in 1/65536 of the distance of two entries.
static inline uint32_t place(float light) {
  int32_t bits;
  memcpy(&bits, &light, sizeof bits);
  bits -= first_place;
  return (uint32_t)(bits < 0 ? 0 : bits >= place_count ? place_count - 1 : bits);
}

static inline float between(const float *table, uint32_t at) {
  float part = (float)(int32_t)(at & 65535) * (1.0f / 65536), from = table[at >> 16];
  float step = table[(at >> 16) + 1] - from;
  float more = step * part;
  return from + more;
}

static inline float weighted(const float weights[3], const float light[3]) {
  float red = weights[0] * light[0], green = weights[1] * light[1], blue = weights[2] * light[2];
  float sum = red + green;
  return sum + blue;
}

static inline float greater(float a, float b) { return a > b ? a : b; }

static inline void multiply(const struct sheaf_light_gain *gain, float light[3]) {
  if (!gain->table) return;
  float brightness =
    gain->is_greatest ? greater(greater(light[0], light[1]), light[2]) : weighted(gain->weights, light);
  float factor = between(gain->table, place(brightness));
  for (int i = 0; i < 3; i++) light[i] *= factor;
}

static void convert_from(
  uint16_t *const rgb[3], const struct sheaf_colour_transform *transform, int start, int width) {
  for (int x = start; x < width; x++) {
    float light[3], mixed[3];
    for (int i = 0; i < 3; i++) {
      int sample = rgb[i][x];
      light[i] = transform->light[sample > SHEAF_COLOUR_TOP ? SHEAF_COLOUR_TOP : sample];
    }
    multiply(&transform->before, light);
    for (int i = 0; i < 3; i++) mixed[i] = greater(weighted(transform->matrix + 3 * i, light), 0);
    multiply(&transform->after, mixed);
    for (int i = 0; i < 3; i++) {
      uint32_t at = place(mixed[i]), entry = transform->samples[at >> 16];
      rgb[i][x] = (uint16_t)((entry & 65535) + (((entry >> 16) * (at & 65535) + 32768) >> 16));
    }
  }
}

static void convert_plain(uint16_t *const rgb[3], const struct sheaf_colour_transform *transform, int width) {
  convert_from(rgb, transform, 0, width);
}

// MARK: Y'CbCr

INLINE void decode_rows(
  uint16_t *restrict red, uint16_t *restrict green, uint16_t *restrict blue, const void *luma,
  const int16_t *restrict cb, const int16_t *restrict cr, const struct sheaf_colour_decoding *decoding, int width) {
  const int32_t(*w)[3] = decoding->weights;
  const int32_t offset = decoding->luma_offset;
  const int up = decoding->depth < 14 ? 14 - decoding->depth : 0, down = decoding->depth > 14 ? decoding->depth - 14 : 0;
#define LIMITED(value) (uint16_t)((value) < 0 ? 0 : (value) > SHEAF_COLOUR_TOP ? SHEAF_COLOUR_TOP : (value))
#define LOOP(type) \
  for (int x = 0; x < width; x++) { \
    int32_t y = ((((const type *)luma)[x] << up) >> down) - offset, u = cb[x], v = cr[x]; \
    int32_t r = (w[0][0] * y + w[0][1] * u + w[0][2] * v + 16384) >> 15; \
    int32_t g = (w[1][0] * y + w[1][1] * u + w[1][2] * v + 16384) >> 15; \
    int32_t b = (w[2][0] * y + w[2][1] * u + w[2][2] * v + 16384) >> 15; \
    red[x] = LIMITED(r); \
    green[x] = LIMITED(g); \
    blue[x] = LIMITED(b); \
  }
  if (decoding->depth > 8)
    LOOP(uint16_t)
  else
    LOOP(uint8_t)
#undef LOOP
#undef LIMITED
}

// Codes of one channel, from samples or from their sums.
#define ENCODE(type, sample) \
  INLINE void encode_##type##_##sample( \
    type *restrict to, const sample *restrict red, const sample *restrict green, const sample *restrict blue, \
    const int32_t weights[3], int32_t offset, int depth, int shift, int width) { \
    const int32_t r = weights[0], g = weights[1], b = weights[2], half = 1 << shift >> 1, highest = (1 << depth) - 1; \
    for (int x = 0; x < width; x++) { \
      int32_t sum = r * (int32_t)red[x] + g * (int32_t)green[x] + b * (int32_t)blue[x] + half; \
      int32_t code = (sum >> shift) + offset; \
      to[x] = (type)(code < 0 ? 0 : code > highest ? highest : code); \
    } \
  }

ENCODE(uint8_t, uint16_t)
ENCODE(uint16_t, uint16_t)
ENCODE(uint8_t, uint32_t)
ENCODE(uint16_t, uint32_t)
#undef ENCODE

INLINE void encode_luma_row(
  void *luma, const uint16_t *const rgb[3], const struct sheaf_colour_encoding *encoding, int width) {
  const int depth = encoding->depth, shift = 15 + 14 - depth;
  if (depth > 8)
    encode_uint16_t_uint16_t(
      luma, rgb[0], rgb[1], rgb[2], encoding->weights[0], encoding->offsets[0], depth, shift, width);
  else
    encode_uint8_t_uint16_t(
      luma, rgb[0], rgb[1], rgb[2], encoding->weights[0], encoding->offsets[0], depth, shift, width);
}

INLINE void encode_chroma_rows(
  void *cb, void *cr, const uint32_t *const sums[3], const struct sheaf_colour_encoding *encoding, int cells,
  int width) {
  const int depth = encoding->depth, shift = 15 + 14 - depth + cells;
  for (int row = 1; row < 3; row++) {
    void *to = row == 1 ? cb : cr;
    if (depth > 8)
      encode_uint16_t_uint32_t(
        to, sums[0], sums[1], sums[2], encoding->weights[row], encoding->offsets[row], depth, shift, width);
    else
      encode_uint8_t_uint32_t(
        to, sums[0], sums[1], sums[2], encoding->weights[row], encoding->offsets[row], depth, shift, width);
  }
}

static void decode_plain(
  uint16_t *const rgb[3], const void *luma, const int16_t *cb, const int16_t *cr,
  const struct sheaf_colour_decoding *decoding, int width) {
  decode_rows(rgb[0], rgb[1], rgb[2], luma, cb, cr, decoding, width);
}

static void encode_luma_plain(
  void *luma, const uint16_t *const rgb[3], const struct sheaf_colour_encoding *encoding, int width) {
  encode_luma_row(luma, rgb, encoding, width);
}

static void encode_chroma_plain(
  void *cb, void *cr, const uint32_t *const sums[3], const struct sheaf_colour_encoding *encoding, int shift,
  int width) {
  encode_chroma_rows(cb, cr, sums, encoding, shift, width);
}

const struct sheaf_colour_kernels *sheaf_colour_kernels_plain(void) {
  static const struct sheaf_colour_kernels kernels = {
    .convert = convert_plain,
    .decode = decode_plain,
    .encode_luma = encode_luma_plain,
    .encode_chroma = encode_chroma_plain};
  return &kernels;
}

const struct sheaf_colour_kernels *sheaf_colour_kernels_best(void) {
  const struct sheaf_colour_kernels *vector = sheaf_colour_kernels_avx2();
  return vector ? vector : sheaf_colour_kernels_plain();
}

// MARK: Pictures

// Rounded up, so that each part of the scratch memory can be read in whole vectors.
static inline size_t room(int width) { return ((size_t)width + 15) & ~(size_t)15; }

// Three sums, and in half as much memory each three rows of two rows' R'G'B' and two of chroma.
size_t sheaf_colour_scratch(int width) { return 7 * room(width); }

// Chroma of a row in 14 bits less the middle, for each of its pixels.
static void widen(int16_t *to, const void *from, int depth, int shift_x, int width) {
  for (int x = 0; x < width; x++) {
    int at = x >> shift_x;
    int code = depth > 8 ? ((const uint16_t *)from)[at] : ((const uint8_t *)from)[at];
    to[x] = (int16_t)((depth > 14 ? code >> (depth - 14) : code << (14 - depth)) - 8192);
  }
}

// Adds the samples of each cell. The last one is repeated in a cell that is not whole.
static void add(uint32_t *sums, const uint16_t *from, int shift_x, int width) {
  if (shift_x == 0) {
    for (int x = 0; x < width; x++) sums[x] += from[x];
    return;
  }
  for (int x = 0; x < width / 2; x++) sums[x] += (uint32_t)from[2 * x] + from[2 * x + 1];
  if (width & 1) sums[width / 2] += 2u * from[width - 1];
}

void sheaf_convert_colour(
  const struct sheaf_colour_kernels *kernels, struct sheaf_colour_planes to, struct sheaf_colour_planes from, int width,
  int height, int shift_x, int shift_y, const struct sheaf_colour_decoding *decoding,
  const struct sheaf_colour_transform *transform, const struct sheaf_colour_encoding *encoding, uint32_t *scratch) {
  size_t part = room(width);
  uint32_t *const sums[3] = {scratch, scratch + part, scratch + 2 * part};
  uint16_t *rows = (uint16_t *)(scratch + 3 * part);
  uint16_t *const rgb[3] = {rows, rows + part, rows + 2 * part};
  int16_t *cb = (int16_t *)(rows + 3 * part), *cr = cb + part;
  int chroma_width = (width + (1 << shift_x) - 1) >> shift_x;
  int chroma_height = (height + (1 << shift_y) - 1) >> shift_y;
  for (int row = 0; row < chroma_height; row++) {
    widen(cb, CONST_ROW(void, from.plane[1], from.stride[1], row), decoding->depth, shift_x, width);
    widen(cr, CONST_ROW(void, from.plane[2], from.stride[2], row), decoding->depth, shift_x, width);
    for (int i = 0; i < 3; i++) memset(sums[i], 0, (size_t)chroma_width * sizeof *sums[i]);
    int first = row << shift_y, end = first + (1 << shift_y);
    for (int y = first; y < end; y++) {
      // The last row is repeated in a cell that is not whole.
      if (y < height) {
        kernels->decode(rgb, CONST_ROW(void, from.plane[0], from.stride[0], y), cb, cr, decoding, width);
        kernels->convert(rgb, transform, width);
        kernels->encode_luma(
          ROW(void, to.plane[0], to.stride[0], y), (const uint16_t *const *)rgb, encoding, width);
      }
      for (int i = 0; i < 3; i++) add(sums[i], rgb[i], shift_x, width);
    }
    kernels->encode_chroma(
      ROW(void, to.plane[1], to.stride[1], row), ROW(void, to.plane[2], to.stride[2], row),
      (const uint32_t *const *)sums, encoding, shift_x + shift_y, chroma_width);
  }
}

void sheaf_convert_rgba(
  const struct sheaf_colour_kernels *kernels, struct sheaf_rgba_planes picture, int width, int height,
  const struct sheaf_colour_transform *transform, uint32_t *scratch) {
  size_t part = room(width);
  uint16_t *rows = (uint16_t *)scratch;
  uint16_t *const rgb[3] = {rows, rows + part, rows + 2 * part};
  for (int y = 0; y < height; y++) {
    const uint16_t *alpha = CONST_ROW(uint16_t, picture.plane[3], picture.stride, y);
    for (int i = 0; i < 3; i++) {
      const uint16_t *from = CONST_ROW(uint16_t, picture.plane[i], picture.stride, y);
      for (int x = 0; x < width; x++)
        rgb[i][x] = alpha[x] == 0 ? 0 : (uint16_t)((from[x] * 16384u + alpha[x] / 2u) / alpha[x]);
    }
    kernels->convert(rgb, transform, width);
    for (int i = 0; i < 3; i++) {
      uint16_t *to = ROW(uint16_t, picture.plane[i], picture.stride, y);
      for (int x = 0; x < width; x++) {
        uint32_t sample = rgb[i][x] > 16384 ? 16384 : rgb[i][x];
        to[x] = (uint16_t)((sample * alpha[x] + 8192) >> 14);
      }
    }
  }
}

#if defined(__x86_64__)

#include <immintrin.h>

#define AVX2 __attribute__((target("avx2")))

AVX2 INLINE __m256i places(__m256 light) {
  __m256i bits = _mm256_sub_epi32(_mm256_castps_si256(light), _mm256_set1_epi32(first_place));
  bits = _mm256_max_epi32(bits, _mm256_setzero_si256());
  return _mm256_min_epi32(bits, _mm256_set1_epi32(place_count - 1));
}

AVX2 INLINE __m256 weighted8(const float weights[3], const __m256 light[3]) {
  __m256 red = _mm256_mul_ps(_mm256_set1_ps(weights[0]), light[0]);
  __m256 green = _mm256_mul_ps(_mm256_set1_ps(weights[1]), light[1]);
  __m256 blue = _mm256_mul_ps(_mm256_set1_ps(weights[2]), light[2]);
  return _mm256_add_ps(_mm256_add_ps(red, green), blue);
}

AVX2 INLINE void multiply8(const struct sheaf_light_gain *gain, __m256 light[3]) {
  if (!gain->table) return;
  __m256 brightness = gain->is_greatest ? _mm256_max_ps(_mm256_max_ps(light[0], light[1]), light[2])
                                        : weighted8(gain->weights, light);
  __m256i at = places(brightness), entry = _mm256_srli_epi32(at, 16);
  __m256 part = _mm256_mul_ps(
    _mm256_cvtepi32_ps(_mm256_and_si256(at, _mm256_set1_epi32(65535))), _mm256_set1_ps(1.0f / 65536));
  __m256 from = _mm256_i32gather_ps(gain->table, entry, 4);
  __m256 next = _mm256_i32gather_ps(gain->table + 1, entry, 4);
  __m256 factor = _mm256_add_ps(from, _mm256_mul_ps(_mm256_sub_ps(next, from), part));
  for (int i = 0; i < 3; i++) light[i] = _mm256_mul_ps(light[i], factor);
}

AVX2 static void convert_avx2(uint16_t *const rgb[3], const struct sheaf_colour_transform *transform, int width) {
  const __m256i low = _mm256_set1_epi32(65535), top = _mm256_set1_epi32(SHEAF_COLOUR_TOP);
  const __m256i half = _mm256_set1_epi32(32768);
  int whole = width & ~7;
  for (int x = 0; x < whole; x += 8) {
    __m256 light[3], mixed[3];
    for (int i = 0; i < 3; i++) {
      __m256i sample = _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)(rgb[i] + x)));
      light[i] = _mm256_i32gather_ps(transform->light, _mm256_min_epi32(sample, top), 4);
    }
    multiply8(&transform->before, light);
    for (int i = 0; i < 3; i++)
      mixed[i] = _mm256_max_ps(weighted8(transform->matrix + 3 * i, light), _mm256_setzero_ps());
    multiply8(&transform->after, mixed);
    for (int i = 0; i < 3; i++) {
      __m256i at = places(mixed[i]);
      __m256i entry = _mm256_i32gather_epi32((const int *)transform->samples, _mm256_srli_epi32(at, 16), 4);
      __m256i more = _mm256_mullo_epi32(_mm256_srli_epi32(entry, 16), _mm256_and_si256(at, low));
      more = _mm256_srli_epi32(_mm256_add_epi32(more, half), 16);
      __m256i value = _mm256_add_epi32(_mm256_and_si256(entry, low), more);
      value = _mm256_permute4x64_epi64(_mm256_packus_epi32(value, value), 8);
      _mm_storeu_si128((__m128i *)(rgb[i] + x), _mm256_castsi256_si128(value));
    }
  }
  convert_from(rgb, transform, whole, width);
}

AVX2 static void decode_avx2(
  uint16_t *const rgb[3], const void *luma, const int16_t *cb, const int16_t *cr,
  const struct sheaf_colour_decoding *decoding, int width) {
  decode_rows(rgb[0], rgb[1], rgb[2], luma, cb, cr, decoding, width);
}

AVX2 static void encode_luma_avx2(
  void *luma, const uint16_t *const rgb[3], const struct sheaf_colour_encoding *encoding, int width) {
  encode_luma_row(luma, rgb, encoding, width);
}

AVX2 static void encode_chroma_avx2(
  void *cb, void *cr, const uint32_t *const sums[3], const struct sheaf_colour_encoding *encoding, int shift,
  int width) {
  encode_chroma_rows(cb, cr, sums, encoding, shift, width);
}

const struct sheaf_colour_kernels *sheaf_colour_kernels_avx2(void) {
  static const struct sheaf_colour_kernels kernels = {
    .convert = convert_avx2,
    .decode = decode_avx2,
    .encode_luma = encode_luma_avx2,
    .encode_chroma = encode_chroma_avx2};
  return __builtin_cpu_supports("avx2") ? &kernels : NULL;
}

#else

const struct sheaf_colour_kernels *sheaf_colour_kernels_avx2(void) { return NULL; }

#endif
