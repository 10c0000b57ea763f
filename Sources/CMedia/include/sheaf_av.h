#ifndef SHEAF_AV_H
#define SHEAF_AV_H

#include <errno.h>
#include <libavcodec/avcodec.h>
#include <libavcodec/vorbis_parser.h>
#include <libavformat/avformat.h>
#include <libavutil/channel_layout.h>
#include <libavutil/cpu.h>
#include <libavutil/display.h>
#include <libavutil/imgutils.h>
#include <libavutil/mastering_display_metadata.h>
#include <libavutil/opt.h>
#include <libavutil/pixdesc.h>
#include <libswresample/swresample.h>
#include <libswscale/swscale.h>
#include <stddef.h>
#include <stdint.h>

// The parts of libav* that Swift does not import: macros with casts or calls, and functions with a variable argument
// list.

// AV_NOPTS_VALUE is a cast: "no timestamp".
static const int64_t sheaf_no_pts = AV_NOPTS_VALUE;

// AVERROR(x) and the tags are macros that compute.
static inline int sheaf_averror(int code) { return AVERROR(code); }
static const int sheaf_error_again = AVERROR(EAGAIN);
static const int sheaf_error_end = AVERROR_EOF;
static const int sheaf_error_invalid = AVERROR_INVALIDDATA;
static const int sheaf_error_no_decoder = AVERROR_DECODER_NOT_FOUND;
static const int sheaf_error_no_encoder = AVERROR_ENCODER_NOT_FOUND;
static const int sheaf_error_patch_welcome = AVERROR_PATCHWELCOME;

// Makes libav* keep its latest error line for messages and write nothing to standard error. The first call takes
// effect; later ones do nothing.
void sheaf_log_capture(void);

// Copies the latest line that libav* logged at level "error" or worse in this thread, and clears it. Returns its
// length; 0 if there is none.
size_t sheaf_log_take(char *line, size_t capacity);

// How many messages codecs have logged in this thread, after sheaf_log_capture.
struct sheaf_codec_messages {
  // At level "info" or worse.
  uint64_t all;
  // At level "error" or worse, without those about supplemental enhancement information.
  uint64_t errors;
};
struct sheaf_codec_messages sheaf_codec_messages_now(void);

// Makes a decoder write into buffers that are grey at first. Without it, what a damaged picture leaves out is what an
// earlier picture left in the buffer. To be called before the decoder is opened.
void sheaf_fill_buffers(AVCodecContext *context);

// Opens an encoder without the right to set priorities. With it, as root has it, SVT-AV1 would give its threads and the
// calling one the highest real-time priority for good, and programs that are started by that thread would have it too.
int sheaf_open_encoder(AVCodecContext *context, AVDictionary **options);

// Sets an io_open that refuses every file that a file refers to: playlists, references, external tracks.
void sheaf_refuse_other_files(AVFormatContext *context);

// The size, the format and the pixels of a frame, without padding, as a number above 0. Frames that differ have the
// same one by a chance of 2^-63. 0 if there is no memory for it.
uint64_t sheaf_frame_hash(const AVFrame *frame);

// Copies the pixels of a frame plane by plane and row by row, without padding, as libavcodec's codec "rawvideo" has
// them. Returns how many bytes they are, also if that is more than the capacity, and then nothing is copied; or an
// AVERROR.
int sheaf_frame_bytes(const AVFrame *frame, uint8_t *bytes, size_t capacity);

// Copies the samples of a frame, those of the channels one after the other for each time, in the frame's own kind of
// numbers. `bytes` has room for all of them.
void sheaf_frame_samples(const AVFrame *frame, uint8_t *bytes);

// 1U << 31 does not fit the int that `flags` is.
static const int sheaf_flag_closed_gop = (int)AV_CODEC_FLAG_CLOSED_GOP;

static const int sheaf_pixel_format_none = AV_PIX_FMT_NONE;

// Native-endian formats are macros.
static const enum AVPixelFormat sheaf_pixel_format_yuv420p10 = AV_PIX_FMT_YUV420P10;
static const enum AVPixelFormat sheaf_pixel_format_yuv422p10 = AV_PIX_FMT_YUV422P10;
static const enum AVPixelFormat sheaf_pixel_format_yuv444p10 = AV_PIX_FMT_YUV444P10;

#endif
