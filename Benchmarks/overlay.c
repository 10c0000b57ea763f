// The CPU time of drawing a picture with alpha over a frame of 1920x1080 in 4:2:0: a copy of the frame, and the kernels
// that the compositor draws overlays with. Arguments: the picture's width and height, even. Prints milliseconds a
// frame.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sheaf_kernels.h"

enum { WIDTH = 1920, HEIGHT = 1080, FRAMES = 300 };

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

int main(int count, char **arguments) {
  if (count != 3) return 64;
  int width = atoi(arguments[1]), height = atoi(arguments[2]);
  size_t size = WIDTH * HEIGHT * 3 / 2, samples = (size_t)width * (size_t)height;
  uint8_t *from = malloc(size), *to = malloc(size);
  uint16_t *colour = malloc(2 * samples), *coverage = malloc(2 * samples);
  for (size_t i = 0; i < size; i++) from[i] = (uint8_t)(i * 31);
  for (size_t i = 0; i < samples; i++) {
    coverage[i] = (uint16_t)(i * 7 % (SHEAF_ONE + 1));
    colour[i] = coverage[i] / 2;
  }
  const struct sheaf_kernels *kernels = sheaf_kernels_best();
  double start = now();
  unsigned sum = 0;
  for (int frame = 0; frame < FRAMES; frame++) {
    from[frame]++;
    memcpy(to, from, size);
    ptrdiff_t stride = 2 * width;
    kernels->over8(to, WIDTH, colour, stride, coverage, stride, width, height, SHEAF_ONE);
    for (int plane = 0; plane < 2; plane++) {
      uint8_t *chroma = to + WIDTH * HEIGHT + plane * (WIDTH * HEIGHT / 4);
      kernels->over8(chroma, WIDTH / 2, colour, stride, coverage, stride, width / 2, height / 2, SHEAF_ONE);
    }
    sum += to[frame * 997];
  }
  printf("%.4f\n", (now() - start) / FRAMES * 1e3);
  return sum == 1;
}
