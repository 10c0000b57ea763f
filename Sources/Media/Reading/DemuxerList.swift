/// The kinds of file that are opened: those that hold their media themselves. Playlists, concatenations, image sequences
/// and whatever else refers to other files are not among them.
enum DemuxerList {
  /// libavformat's names, separated by commas.
  static let allowed = (movies + streams + sound + pictures).joined(separator: ",")

  private static let movies = [
    "mov,mp4,m4a,3gp,3g2,mj2", "matroska,webm", "mpegts", "mpeg", "avi", "ogg", "flv", "live_flv", "asf", "dv", "mxf",
    "gxf", "nut", "rm", "swf", "ivf", "wtv", "dvr_ms", "yuv4mpegpipe",
  ]

  private static let streams = [
    "mpegvideo", "h264", "hevc", "m4v", "h263", "h261", "vc1", "vc1test", "obu", "av1", "mjpeg", "dirac", "cavsvideo",
  ]

  private static let sound = [
    "wav", "w64", "aiff", "au", "caf", "mp3", "flac", "aac", "loas", "ac3", "eac3", "dts", "dtshd", "truehd", "mlp",
    "tta", "wv", "ape", "amr", "amrnb", "amrwb", "voc", "tak", "aptx", "gsm",
  ]

  private static let pictures = [
    "gif", "apng", "png_pipe", "jpeg_pipe", "jpegls_pipe", "webp_pipe", "bmp_pipe", "tiff_pipe", "j2k_pipe",
    "jpegxl_pipe", "dpx_pipe", "exr_pipe", "psd_pipe", "ppm_pipe", "pgm_pipe", "pgmyuv_pipe", "pbm_pipe", "pam_pipe",
    "qoi_pipe", "sgi_pipe", "sunrast_pipe", "hdr_pipe", "xbm_pipe", "xpm_pipe", "gif_pipe",
  ]
}
