// Pictures at another size, place or angle: filters along rows and columns, sampling at any places, and the exact
// coverage of pixels by a polygon. Each of the four inner loops exists twice: in plain C, which defines the result, and
// for AVX2, which gives the same result bit for bit.
//
// Samples are codes of 8 bits in a byte, or of 9 to 14 bits in the low end of 16; 14 bits are those of blend planes
// (sheaf_kernels.h). Strides are in bytes. The interpolation is cubic (Keys, a = -0.6, as libswscale's), widened where
// a picture is made smaller, so that nothing is lost between its samples.
#ifndef SHEAF_RESAMPLE_H
#define SHEAF_RESAMPLE_H

#include <stddef.h>
#include <stdint.h>

#include "sheaf_kernels.h"

// A filter along one axis: output i is the sum of `taps` samples from first[i] on, each times its weight in 1/16384.
// The weights of an output add up to 16384. `taps` is a multiple of 4, and `count` is rounded up to a multiple of 8.
// Weight k of output i is weights[((k / 4) * count + i) * 4 + k % 4].
struct sheaf_filter {
  int32_t *first;
  int16_t *weights;
  int taps;
  int count;
};

struct sheaf_resampling_kernels {
  // One row through a filter, to units of 2^-(14-depth) of a code: (sum + 2^(depth-1)) >> depth, limited to 16 bits.
  // Writes the filter's whole count.
  void (*row8)(int16_t *to, const uint8_t *from, const struct sheaf_filter *filter);
  void (*row16)(int16_t *to, const uint16_t *from, const struct sheaf_filter *filter, int depth);
  // The sum of rows, each times its weight, as codes: (sum + 2^(27-depth)) >> (28-depth), limited to 0...highest. There
  // is an even number of rows.
  void (*column8)(uint8_t *to, const int16_t *const *rows, const int16_t *weights, int taps, int width);
  void (*column16)(
    uint16_t *to, const int16_t *const *rows, const int16_t *weights, int taps, int width, int depth, int highest);
  // Samples x = 0...count-1 at (u + x*du, v + x*dv), in 2^-32 of a sample, sample centres at whole numbers. Places are
  // limited to -1...width and -1...height. `from` is sample (0, 0), and there are SHEAF_MARGIN samples more on each
  // side.
  void (*sample8)(
    uint8_t *to, int count, const uint8_t *from, ptrdiff_t stride, int width, int height, int64_t u, int64_t v,
    int64_t du, int64_t dv);
  void (*sample16)(
    uint16_t *to, int count, const uint16_t *from, ptrdiff_t stride, int width, int height, int64_t u, int64_t v,
    int64_t du, int64_t dv, int depth, int highest);
};

// Samples that a plane has beyond each of its edges for sample8 and sample16.
#define SHEAF_MARGIN 4

const struct sheaf_resampling_kernels *sheaf_resampling_plain(void);
// NULL if this processor has no AVX2, or the code was built for another kind of processor.
const struct sheaf_resampling_kernels *sheaf_resampling_avx2(void);
const struct sheaf_resampling_kernels *sheaf_resampling_best(void);

// The taps of a filter for outputs that are `step` samples apart, in a plane of `size` samples.
int sheaf_filter_taps(double step, int size);
// Fills a filter of `taps` taps: output i is at the sample offset + step*i. Beyond the plane of `size` samples, its
// first and last sample are repeated. `scratch` has room for `taps` numbers.
void sheaf_filter_fill(struct sheaf_filter *filter, int outputs, double step, double offset, int size, double *scratch);

// A plane through two filters, as codes of the same depth. `from` has `size` samples in a row; `outputs` are the rows
// of `to`. `scratch` has room for across->count * down->taps samples, and then across->taps more.
void sheaf_resample(
  const struct sheaf_resampling_kernels *kernels, void *to, ptrdiff_t to_stride, int width, int outputs,
  const struct sheaf_filter *across, const struct sheaf_filter *down, const void *from, ptrdiff_t from_stride, int size,
  int height, int depth, int highest, int16_t *scratch);

// Repeats the edges of a plane into SHEAF_MARGIN samples on each side. `plane` is its sample (0, 0).
void sheaf_extend_edges(void *plane, ptrdiff_t stride, int width, int height, int sample_bytes);

// The part of a row of pixels that a shape touches, and the part that it covers completely.
struct sheaf_span {
  int32_t start, inner_start, inner_end, end;
};

#define SHEAF_MOST_CORNERS 1024

// The spans of rows 0...height-1, within 0...width, of a convex polygon of `count` corners (x, y), y down, in either
// direction; at most SHEAF_MOST_CORNERS. Returns how many pixels are touched and not covered completely.
ptrdiff_t sheaf_polygon_spans(const double *corners, int count, int width, int height, struct sheaf_span *spans);
// The coverage of those pixels in 1/16384, from left to right and from top to bottom: the area of the pixel within the
// polygon, rounded to nearest.
void sheaf_polygon_edges(
  const double *corners, int count, int height, const struct sheaf_span *spans, uint16_t *edges);

// The same of a shape's chroma samples: the coverage is what sheaf_subsample16 makes of that of width x height pixels.
ptrdiff_t sheaf_subsample_spans(
  struct sheaf_span *chroma_spans, const struct sheaf_span *spans, const uint16_t *edges, int width, int height,
  struct sheaf_subsampling how);
void sheaf_subsample_edges(
  uint16_t *chroma_edges, const struct sheaf_span *chroma_spans, const struct sheaf_span *spans,
  const uint16_t *edges, int width, int height, struct sheaf_subsampling how);

// Draws codes that have the shape's place over others, by coverage times opacity: with a = (coverage*opacity + 8192) >>
// 14, (code*a + under*(16384-a) + 8192) >> 14.
void sheaf_draw_shape8(
  uint8_t *under, ptrdiff_t under_stride, const uint8_t *codes, ptrdiff_t stride, int height,
  const struct sheaf_span *spans, const uint16_t *edges, int opacity);
void sheaf_draw_shape16(
  uint16_t *under, ptrdiff_t under_stride, const uint16_t *codes, ptrdiff_t stride, int height,
  const struct sheaf_span *spans, const uint16_t *edges, int opacity);

// Codes and their coverage as a blend plane's colour, and the coverage. Outside of the shape both are left as they are.
// Either may be NULL.
void sheaf_widen_shape8(
  uint16_t *colour, uint16_t *coverage, ptrdiff_t to_stride, const uint8_t *codes, ptrdiff_t stride, int height,
  const struct sheaf_span *spans, const uint16_t *edges);
void sheaf_widen_shape16(
  uint16_t *colour, uint16_t *coverage, ptrdiff_t to_stride, const uint16_t *codes, ptrdiff_t stride, int height,
  const struct sheaf_span *spans, const uint16_t *edges, int depth);
// Limits a blend plane's colour to what its coverage allows, which resampling may exceed next to edges.
void sheaf_limit_colour(uint16_t *colour, const uint16_t *coverage, ptrdiff_t count);
// Multiplies a blend plane by the coverage of a shape; it is 0 outside.
void sheaf_cut_shape(
  uint16_t *plane, ptrdiff_t stride, int width, int height, const struct sheaf_span *spans, const uint16_t *edges);

// A mask: the sum of red, green, blue and alpha (each 1 for 65535), each times its weight, in 1/16384, or one less
// that.
void sheaf_mask_plane(
  uint16_t *to, struct sheaf_rgba_planes from, int width, int height, const float weights[4], int is_inverted);
// to = (a*b + 8192) >> 14.
void sheaf_multiply16(uint16_t *to, const uint16_t *a, const uint16_t *b, ptrdiff_t count);
// Draws the row of a blend plane over another: to = over + (to*(16384 - coverage) + 8192) >> 14, 16384 at most.
void sheaf_over16(uint16_t *to, const uint16_t *over, const uint16_t *coverage, ptrdiff_t count);
// Coverage as a part of that of a whole that contains it: to = to*16384 / whole, rounded to nearest, and 0 where the
// whole has none.
void sheaf_part16(uint16_t *to, const uint16_t *whole, ptrdiff_t count);

#endif
