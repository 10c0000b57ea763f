// Deinterlacing of one plane. Each row that is missing lies between two rows c and e of the field that is kept; the
// fields before and after have its own row, called p and n here.
//
// Where little moves the row is the mean of p and n. Where more moves it is interpolated: from the high frequencies of
// the rows of p and n around it and the low ones of the kept field (Weston, BBC R&D), or from
// the kept field alone. The result is limited to the mean of p and n plus or minus the movement that yadif measures.
#include "kernel_rows.h"
#include "sheaf_filters.h"

#include <stdlib.h>
#include <string.h>

// Weston's weights, in 1/8192.
enum { LOW_NEAR = 4309, LOW_FAR = 213, HIGH_OWN = 5570, HIGH_NEAR = 3801, HIGH_FAR = 1016 };
// The weights of the kept field alone.
enum { FIELD_NEAR = 5077, FIELD_FAR = 981 };

static inline int least(int a, int b) { return a < b ? a : b; }
static inline int most(int a, int b) { return a > b ? a : b; }
static inline int limited(int value, int lowest, int highest) { return most(lowest, least(value, highest)); }

// What is known of the rows around a missing one. Rows are counted from it.
#define DEINTERLACE(type, row_name, plane_name)                                                                       \
  struct row_name {                                                                                                   \
    /* Rows -3, -1, 1 and 3 of the frame; -1 and 1 of the frames before and after. */                                 \
    const type *far_up, *up, *down, *far_down, *up_before, *down_before, *up_after, *down_after;                      \
    /* Rows -4, -2, 0, 2 and 4 of the nearest fields that have them. */                                               \
    const type *before[5], *after[5];                                                                                 \
  };                                                                                                                  \
                                                                                                                      \
  static void row_name##_field(type *to, struct row_name rows, int width, int highest) {                              \
    for (int x = 0; x < width; x++) {                                                                                 \
      int near = rows.up[x] + rows.down[x], far = rows.far_up[x] + rows.far_down[x];                                  \
      to[x] = (type)limited((FIELD_NEAR * near - FIELD_FAR * far) >> 13, 0, highest);                                 \
    }                                                                                                                 \
  }                                                                                                                   \
                                                                                                                      \
  static void row_name##_whole(type *to, struct row_name rows, int width, int highest, int is_edge, int has_second) { \
    for (int x = 0; x < width; x++) {                                                                                 \
      int c = rows.up[x], e = rows.down[x], p = rows.before[2][x], n = rows.after[2][x], mean = (p + n) >> 1;         \
      int change = abs(p - n);                                                                                        \
      int change_before = (abs(rows.up_before[x] - c) + abs(rows.down_before[x] - e)) >> 1;                           \
      int change_after = (abs(rows.up_after[x] - c) + abs(rows.down_after[x] - e)) >> 1;                              \
      int movement = most(change >> 1, most(change_before, change_after));                                            \
      if (movement == 0) {                                                                                            \
        to[x] = (type)mean;                                                                                           \
        continue;                                                                                                     \
      }                                                                                                               \
      if (has_second) {                                                                                               \
        int b = ((rows.before[1][x] + rows.after[1][x]) >> 1) - c, f = ((rows.before[3][x] + rows.after[3][x]) >> 1) - e; \
        int highest_step = most(mean - e, most(mean - c, least(b, f)));                                               \
        int lowest_step = least(mean - e, least(mean - c, most(b, f)));                                               \
        movement = most(movement, most(lowest_step, -highest_step));                                                  \
      }                                                                                                               \
      int value;                                                                                                      \
      if (is_edge) {                                                                                                  \
        value = (c + e) >> 1;                                                                                         \
      } else if (abs(c - e) > change) {                                                                               \
        int near = rows.before[1][x] + rows.after[1][x] + rows.before[3][x] + rows.after[3][x];                       \
        int far = rows.before[0][x] + rows.after[0][x] + rows.before[4][x] + rows.after[4][x];                        \
        int high = (HIGH_OWN * (p + n) - HIGH_NEAR * near + HIGH_FAR * far) >> 2;                                     \
        value = (high + LOW_NEAR * (c + e) - LOW_FAR * (rows.far_up[x] + rows.far_down[x])) >> 13;                    \
      } else {                                                                                                        \
        value = (FIELD_NEAR * (c + e) - FIELD_FAR * (rows.far_up[x] + rows.far_down[x])) >> 13;                       \
      }                                                                                                               \
      to[x] = (type)limited(limited(value, mean - movement, mean + movement), 0, highest);                            \
    }                                                                                                                 \
  }                                                                                                                   \
                                                                                                                      \
  static const type *row_name##_at(const void *base, ptrdiff_t stride, int height, int own, int distance) {           \
    int row = own + distance;                                                                                         \
    /* Of the same field, on the other side, and next to the missing row. */                                          \
    if (row < 0 || row >= height) row = own + (distance & 1 ? (distance < 0 ? 1 : -1) : 0);                           \
    return CONST_ROW(type, base, stride, row);                                                                        \
  }                                                                                                                   \
                                                                                                                      \
  static void plane_name(void *to, ptrdiff_t to_stride, struct sheaf_fields of) {                                     \
    int highest = (1 << of.depth) - 1, kept = of.is_top_first ? 0 : 1;                                                \
    /* The missing rows of the frame belong to its second field, and are before the first one in the frame before. */ \
    for (int y = 0; y < of.height; y++) {                                                                             \
      type *to_row = ROW(type, to, to_stride, y);                                                                     \
      if ((y & 1) == kept || of.height < 2) {                                                                         \
        memcpy(to_row, CONST_ROW(type, of.current, of.current_stride, y), (size_t)of.width * sizeof *to_row);         \
        continue;                                                                                                     \
      }                                                                                                               \
      struct row_name rows;                                                                                           \
      rows.far_up = row_name##_at(of.current, of.current_stride, of.height, y, -3);                                   \
      rows.up = row_name##_at(of.current, of.current_stride, of.height, y, -1);                                       \
      rows.down = row_name##_at(of.current, of.current_stride, of.height, y, 1);                                      \
      rows.far_down = row_name##_at(of.current, of.current_stride, of.height, y, 3);                                  \
      if (!of.previous || !of.next) {                                                                                 \
        row_name##_field(to_row, rows, of.width, highest);                                                            \
        continue;                                                                                                     \
      }                                                                                                               \
      rows.up_before = row_name##_at(of.previous, of.previous_stride, of.height, y, -1);                              \
      rows.down_before = row_name##_at(of.previous, of.previous_stride, of.height, y, 1);                             \
      rows.up_after = row_name##_at(of.next, of.next_stride, of.height, y, -1);                                       \
      rows.down_after = row_name##_at(of.next, of.next_stride, of.height, y, 1);                                      \
      for (int i = 0; i < 5; i++) {                                                                                   \
        rows.before[i] = row_name##_at(of.previous, of.previous_stride, of.height, y, 2 * i - 4);                     \
        rows.after[i] = row_name##_at(of.current, of.current_stride, of.height, y, 2 * i - 4);                        \
      }                                                                                                               \
      int is_edge = y < 4 || y + 5 > of.height, has_second = !(y < 2 || y + 3 > of.height);                           \
      row_name##_whole(to_row, rows, of.width, highest, is_edge, has_second);                                         \
    }                                                                                                                 \
  }
DEINTERLACE(uint8_t, rows8, deinterlace8)
DEINTERLACE(uint16_t, rows16, deinterlace16)

void sheaf_deinterlace(void *to, ptrdiff_t to_stride, struct sheaf_fields fields) {
  if (fields.depth > 8)
    deinterlace16(to, to_stride, fields);
  else
    deinterlace8(to, to_stride, fields);
}
