#include "sheaf_resample.h"

#include <libavutil/channel_layout.h>
#include <libavutil/error.h>
#include <libavutil/opt.h>
#include <libswresample/swresample.h>

static int layout(AVChannelLayout *layout, const char *name, int channels, int isFree) {
  if (isFree) {
    *layout = (AVChannelLayout){.order = AV_CHANNEL_ORDER_UNSPEC, .nb_channels = channels};
    return 0;
  }
  int error = av_channel_layout_from_string(layout, name);
  return error < 0 ? error : layout->nb_channels == channels ? 0 : AVERROR(EINVAL);
}

int sheaf_resample_open(SheafResampler **result, int inputRate, int inputChannels, const char *inputLayout,
                        int outputRate, int outputChannels, const char *outputLayout, const double *matrix) {
  AVChannelLayout input = {0}, output = {0};
  SwrContext *swr = NULL;
  int error = layout(&input, inputLayout, inputChannels, matrix != NULL);
  if (error >= 0) error = layout(&output, outputLayout, outputChannels, matrix != NULL);
  if (error >= 0)
    error = swr_alloc_set_opts2(&swr, &output, AV_SAMPLE_FMT_FLTP, outputRate, &input, AV_SAMPLE_FMT_FLTP, inputRate,
                                0, NULL);
  // What libswresample 4.7 does by default, said here so that another version's defaults change nothing.
  static const struct { const char *name; double value; } options[] = {
      {"filter_size", 32}, {"phase_shift", 10}, {"linear_interp", 1}, {"exact_rational", 1}, {"cutoff", 0.97},
      // Full scale of all channels at once still fits: a downmix is made quieter and never clips by itself.
      {"rematrix_maxval", 1}, {"internal_sample_fmt", AV_SAMPLE_FMT_FLTP}, {"dither_method", SWR_DITHER_NONE}};
  for (size_t i = 0; error >= 0 && i < sizeof options / sizeof *options; i++)
    error = av_opt_set_double(swr, options[i].name, options[i].value, 0);
  if (error >= 0 && matrix) error = swr_set_matrix(swr, matrix, inputChannels);
  if (error >= 0) error = swr_init(swr);
  av_channel_layout_uninit(&input);
  av_channel_layout_uninit(&output);
  if (error < 0) swr_free(&swr);
  *result = swr;
  return error;
}

int sheaf_resample(SheafResampler *swr, float *const *output, int capacity, const float *const *input, int count) {
  return swr_convert(swr, (uint8_t **)output, capacity, (const uint8_t **)input, count);
}

void sheaf_resample_close(SheafResampler *swr) { swr_free(&swr); }
