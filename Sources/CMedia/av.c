#include "sheaf_av.h"

#include <libavutil/bswap.h>
#include <libavutil/intreadwrite.h>
#include <libavutil/log.h>
#include <libavutil/murmur3.h>
#include <linux/capability.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LINE 512

// Codecs run with one thread, so what this thread logged was caused by its own call.
static _Thread_local char latest[LINE];
static _Thread_local char partial[LINE];
static _Thread_local struct sheaf_codec_messages messages;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void capture(void *object, int level, const char *format, va_list arguments) {
  if (level > AV_LOG_INFO) return;
  if (object && *(const AVClass **)object == avcodec_get_class()) {
    messages.all++;
    // Supplemental information does not change a picture.
    if (level <= AV_LOG_ERROR && strncmp(format, "SEI", 3)) messages.errors++;
  }
  if (level > AV_LOG_ERROR) return;
  int printPrefix = 0;
  char text[LINE];
  av_log_format_line(object, level, format, arguments, text, sizeof text, &printPrefix);
  size_t used = strlen(partial), added = strlen(text);
  if (added > LINE - 1 - used) added = LINE - 1 - used;
  memcpy(partial + used, text, added);
  partial[used + added] = 0;
  char *end = strchr(partial, '\n');
  if (!end && used + added < LINE - 1) return;
  if (end) *end = 0;
  memcpy(latest, partial, LINE);
  partial[0] = 0;
}

static void start(void) {
  av_log_set_callback(capture);
  // SVT-AV1 would write its settings to standard error; 1: errors alone.
  setenv("SVT_LOG", "1", 0);
}

void sheaf_log_capture(void) { pthread_once(&once, start); }

size_t sheaf_log_take(char *line, size_t capacity) {
  size_t length = strlen(latest);
  if (length >= capacity) length = capacity - 1;
  memcpy(line, latest, length);
  line[length] = 0;
  latest[0] = 0;
  return length;
}

struct sheaf_codec_messages sheaf_codec_messages_now(void) { return messages; }

// Fills every plane with the middle of its samples' range.
static void fill(AVFrame *frame) {
  const AVPixFmtDescriptor *format = av_pix_fmt_desc_get(frame->format);
  const uint64_t others = AV_PIX_FMT_FLAG_PAL | AV_PIX_FMT_FLAG_BITSTREAM | AV_PIX_FMT_FLAG_FLOAT;
  int depth = format && !(format->flags & others) ? format->comp[0].depth : 0;
  for (int index = 0; index < AV_NUM_DATA_POINTERS && frame->buf[index]; index++) {
    uint8_t *bytes = frame->buf[index]->data;
    size_t size = frame->buf[index]->size;
    if (depth <= 8) {
      memset(bytes, depth == 8 ? 0x80 : 0, size);
    } else {
      uint16_t middle = 1 << (depth - 1);
      if (format->flags & AV_PIX_FMT_FLAG_BE) middle = av_bswap16(middle);
      for (size_t place = 0; place + 1 < size; place += 2) memcpy(bytes + place, &middle, 2);
    }
  }
}

static int get_filled_buffer(AVCodecContext *context, AVFrame *frame, int flags) {
  int result = avcodec_default_get_buffer2(context, frame, flags);
  if (result >= 0) fill(frame);
  return result;
}

void sheaf_fill_buffers(AVCodecContext *context) { context->get_buffer2 = get_filled_buffer; }

int sheaf_open_encoder(AVCodecContext *context, AVDictionary **options) {
  // Capabilities are a thread's own, and the threads that it starts inherit them.
  struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
  struct __user_cap_data_struct held[_LINUX_CAPABILITY_U32S_3], used[_LINUX_CAPABILITY_U32S_3];
  int isChanged = 0;
  if (syscall(SYS_capget, &header, held) == 0) {
    memcpy(used, held, sizeof used);
    used[CAP_TO_INDEX(CAP_SYS_NICE)].effective &= ~CAP_TO_MASK(CAP_SYS_NICE);
    isChanged = syscall(SYS_capset, &header, used) == 0;
  }
  int result = avcodec_open2(context, NULL, options);
  if (isChanged) syscall(SYS_capset, &header, held);
  return result;
}

static int refuse(AVFormatContext *context, AVIOContext **io, const char *url, int flags, AVDictionary **options) {
  (void)context, (void)io, (void)url, (void)flags, (void)options;
  return AVERROR(EPERM);
}

void sheaf_refuse_other_files(AVFormatContext *context) { context->io_open = refuse; }

uint64_t sheaf_frame_hash(const AVFrame *frame) {
  struct AVMurMur3 *hash = av_murmur3_alloc();
  if (!hash) return 0;
  av_murmur3_init(hash);
  const int32_t header[3] = {frame->width, frame->height, frame->format};
  av_murmur3_update(hash, (const uint8_t *)header, sizeof header);
  const AVPixFmtDescriptor *format = av_pix_fmt_desc_get(frame->format);
  int planes = av_pix_fmt_count_planes(frame->format);
  for (int plane = 0; plane < planes && frame->data[plane]; plane++) {
    int size = av_image_get_linesize(frame->format, frame->width, plane);
    int isChroma = plane == 1 || plane == 2;
    int rows = isChroma ? AV_CEIL_RSHIFT(frame->height, format->log2_chroma_h) : frame->height;
    for (int row = 0; row < rows && size > 0; row++) {
      av_murmur3_update(hash, frame->data[plane] + (ptrdiff_t)row * frame->linesize[plane], size);
    }
  }
  if (format->flags & AV_PIX_FMT_FLAG_PAL && frame->data[1]) {
    av_murmur3_update(hash, frame->data[1], AVPALETTE_SIZE);
  }
  uint8_t digest[16];
  av_murmur3_final(hash, digest);
  av_free(hash);
  return AV_RL64(digest) | 1;
}

int sheaf_frame_bytes(const AVFrame *frame, uint8_t *bytes, size_t capacity) {
  int size = av_image_get_buffer_size(frame->format, frame->width, frame->height, 1);
  if (size < 0 || (size_t)size > capacity) return size;
  return av_image_copy_to_buffer(bytes, size, (const uint8_t *const *)frame->data, frame->linesize, frame->format,
                                 frame->width, frame->height, 1);
}

void sheaf_frame_samples(const AVFrame *frame, uint8_t *bytes) {
  size_t size = (size_t)av_get_bytes_per_sample(frame->format);
  size_t channels = (size_t)frame->ch_layout.nb_channels;
  size_t count = (size_t)frame->nb_samples;
  if (!av_sample_fmt_is_planar(frame->format)) {
    memcpy(bytes, frame->extended_data[0], size * channels * count);
    return;
  }
  for (size_t channel = 0; channel < channels; channel++) {
    const uint8_t *plane = frame->extended_data[channel];
    for (size_t sample = 0; sample < count; sample++)
      memcpy(bytes + (sample * channels + channel) * size, plane + sample * size, size);
  }
}
