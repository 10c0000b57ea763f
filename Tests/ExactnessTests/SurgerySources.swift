extension Sources {
  // MARK: Files that are cut off, joined, damaged, or state what is not so

  static let surgery: [Source] = [truncated, flagged, joined, damaged].flatMap(\.self)

  private static let concealment = "H.264 is concealed with motion vectors that are left of pictures long before"
  private static let buffers = "what is left out shows grey, and in ffmpeg what an earlier picture left in the buffer"
  private static let h264 = x264 + ["-g", "24", "-bf", "2"]
  private static let mpeg2 = ["-c:v", "mpeg2video", "-bf", "2", "-g", "12"]
  private static let mpeg4 = ["-c:v", "mpeg4", "-bf", "2", "-g", "24"]

  private static func source(
    _ name: String, _ encoder: [String], _ container: String, _ steps: Step..., isQuick: Bool = false,
    remark: String? = nil
  ) -> Source {
    Source(
      name: "\(name).\(container)", steps: [.encode(encoder, to: container)] + steps, isQuick: isQuick, remark: remark)
  }

  private static let truncated: [Source] = [
    source("cut-off", h264 + ["-movflags", "faststart"], "mp4", .truncated(0.6), isQuick: true),
    source("cut-off-fragmented", h264 + fragmented, "mp4", .truncated(0.7), isQuick: true),
    source("cut-off", h264, "mkv", .truncated(0.6), isQuick: true),
    source("cut-off", h264, "ts", .truncated(0.6), remark: concealment),
    source("cut-off", h264, "flv", .truncated(0.61)), source("cut-off", mpeg2, "mpg", .truncated(0.6), isQuick: true),
    source("cut-off-mpeg2", mpeg2, "ts", .truncated(0.45)), source("cut-off-mpeg2", mpeg2, "mkv", .truncated(0.45)),
    source("cut-off", ["-c:v", "mpeg4", "-g", "24"], "avi", .truncated(0.6), isQuick: true),
    source("cut-off-b", mpeg4, "avi", .truncated(0.55)),
    source("cut-off-hevc", x265 + ["-movflags", "faststart"], "mp4", .truncated(0.6)),
    source("cut-off-hevc", x265, "mkv", .truncated(0.6)), source("cut-off-hevc", x265, "ts", .truncated(0.6)),
    source("cut-off", ["-c:v", "libvpx", "-g", "25"], "webm", .truncated(0.6)),
    source("cut-off", ["-c:v", "libtheora", "-g", "20"], "ogv", .truncated(0.6)),
    source("cut-off", ["-c:v", "wmv2", "-g", "20"], "asf", .truncated(0.6)),
    source("cut-off", h264, "nut", .truncated(0.6), remark: concealment),
  ]

  /// Files whose container flags every packet as a keyframe.
  private static let flagged: [Source] = {
    func encoder(_ name: String, _ options: String...) -> [String] { ["-c:v", name, "-g", "20"] + options }
    let x264 = encoder("libx264", "-preset", "veryfast", "-pix_fmt", "yuv420p")
    let avi: [(String, [String], Bool)] = [
      ("mpeg4", encoder("mpeg4"), false), ("mpeg4-b", encoder("mpeg4", "-bf", "2"), true),
      ("msmpeg4v2", encoder("msmpeg4v2"), true),
      ("msmpeg4v3", encoder("msmpeg4"), false), ("wmv1", encoder("wmv1"), false), ("wmv2", encoder("wmv2"), false),
      ("flv1", encoder("flv"), false), ("mpeg2", encoder("mpeg2video", "-bf", "2"), true),
      ("mpeg1", encoder("mpeg1video"), false),
      ("ffv1", encoder("ffv1", "-level", "1"), true), ("ffv1-3", encoder("ffv1", "-level", "3"), false),
      ("vp8", encoder("libvpx", "-deadline", "realtime"), false), ("h264", x264, true),
      ("h264-no-b", x264 + ["-bf", "0"], false),
      ("zmbv", encoder("zmbv"), false), ("cinepak", encoder("cinepak"), false),
      ("snow", encoder("snow", "-strict", "-2"), false),
      ("mjpeg", encoder("mjpeg"), false), ("packed", encoder("libxvid", "-bf", "2"), true),
    ]
    let movies: [(String, [String], Bool)] = [
      ("mpeg4", encoder("mpeg4", "-bf", "2"), true), ("msmpeg4v3", encoder("msmpeg4"), false),
      ("mpeg2", encoder("mpeg2video", "-bf", "2"), false),
      ("h264", x264, true), ("svq1", encoder("svq1"), false), ("hevc", x265 + ["-tag:v", "hvc1"], false),
      ("vp9", encoder("libvpx-vp9", "-deadline", "realtime", "-cpu-used", "8"), false),
      ("av1", encoder("libsvtav1", "-preset", "12"), false),
    ]
    let indexless = avi.map { source("no-index-\($0.0)", $0.1, "avi", .withoutIndex, isQuick: $0.2) }
    let unsynced = movies.map { name, encoder, isQuick in
      source(
        "all-flagged-\(name)", encoder, ["vp9", "av1"].contains(name) ? "mp4" : "mov", .withoutSyncSamples,
        isQuick: isQuick)
    }
    let others = [
      source("all-flagged-flv1", encoder("flv"), "flv", .withAllTagsFlagged),
      source("all-flagged-h264", x264, "flv", .withAllTagsFlagged, isQuick: true),
      source("no-index-h263", encoder("h263", "-s", "176x144"), "avi", .withoutIndex),
    ]
    return [indexless, unsynced, others].flatMap(\.self)
  }()

  private static let joined: [Source] = {
    func clock(_ name: String, _ encoder: [String], _ container: String, _ offsets: String..., isQuick: Bool = false)
      -> Source
    {
      let parts = offsets.enumerated().map { number, offset in
        [
          Step.encode(
            encoder + ["-output_ts_offset", offset], Step.picture(seconds: 2, filter: ",hue=h=\(60 * number)"),
            to: container)
        ]
      }
      return Source(name: "joined-\(name).\(container)", steps: [.joined(parts)], isJoined: true, isQuick: isQuick)
    }
    func headers(_ name: String, _ codec: String, _ encoders: [[String]], _ container: String, isQuick: Bool = false)
      -> Source
    {
      let parts = encoders.enumerated().map { number, encoder in
        [
          Step.encode(
            encoder + ["-g", "20", "-bf", "0", "-f", codec], Step.picture(seconds: 2, filter: ",hue=h=\(60 * number)"),
            to: codec),
          .withHeadersOnce(codec: codec == "mpeg2video" ? "mpegvideo" : codec),
        ]
      }
      let format = codec == "mpeg2video" ? "mpegvideo" : codec
      return Source(
        name: "headers-\(name).\(container)",
        steps: [
          .joined(parts),
          .ffmpeg(["-fflags", "+genpts", "-r", "25", "-f", format, "-i", "IN", "-c", "copy"], to: container),
        ], isQuick: isQuick)
    }
    let matrix = (0..<64).map { "\(16 + $0)" }.joined(separator: ",")
    let avc = [
      ["-c:v", "libx264", "-pix_fmt", "yuv420p", "-x264-params", "ref=1:cabac=1:weightp=0:aud=1"],
      ["-c:v", "libx264", "-pix_fmt", "yuv420p", "-x264-params", "ref=4:cabac=0:aud=1"],
    ]
    let hevc = ["ultrafast", "fast"].map {
      ["-c:v", "libx265", "-preset", $0, "-pix_fmt", "yuv420p", "-x265-params", "log-level=none:aud=1:bframes=0"]
    }
    let quantised = [["-c:v", "mpeg2video"], ["-c:v", "mpeg2video", "-inter_matrix", matrix]]
    let visual = [["-c:v", "mpeg4"], ["-c:v", "mpeg4", "-flags", "+qpel"]]
    return [
      clock("back", h264, "ts", "0", "5000", "0", isQuick: true), clock("again", h264, "ts", "0", "0", isQuick: true),
      clock("forth", h264, "ts", "100", "9000"), clock("mpeg2", mpeg2, "ts", "0", "300", "20", isQuick: true),
      clock("hevc", x265, "ts", "10", "0"), clock("mpeg2", mpeg2, "mpg", "0", "0"),
      clock("mpeg2-forth", mpeg2, "mpg", "0", "700"),
      clock("mpeg4", mpeg4, "ts", "0", "50"),
      headers("h264", "h264", avc, "ts"), headers("h264", "h264", avc, "mkv", isQuick: true),
      headers("h264", "h264", avc, "mp4"),
      headers("h264", "h264", avc, "flv", isQuick: true), headers("hevc", "hevc", hevc, "ts", isQuick: true),
      headers("hevc", "hevc", hevc, "mkv"),
      headers("mpeg2", "mpeg2video", quantised, "ts", isQuick: true), headers("mpeg2", "mpeg2video", quantised, "mkv"),
      headers("mpeg4", "m4v", visual, "mkv"), headers("mpeg4", "m4v", visual, "avi"),
      // The arithmetic coding of 4:4:4 is another one before build 151. Without it, the relabelled stream is valid.
      source(
        "version-444", x264 + ["-pix_fmt", "yuv444p", "-qp", "0", "-bf", "0", "-g", "20", "-coder", "vlc"], "mkv",
        .replaced("x264 - core 164", by: "x264 - core 148"), isQuick: true),
      source(
        "version-lossless", x264 + ["-qp", "0", "-bf", "0", "-g", "20"], "mkv",
        .replaced("x264 - core 164", by: "x264 - core 148"), isQuick: true),
      source(
        "version-444", x264 + ["-pix_fmt", "yuv444p", "-g", "20", "-coder", "vlc"], "mp4",
        .replaced("x264 - core 164", by: "x264 - core 148")),
    ]
  }()

  private static let damaged: [Source] = {
    let encoders: [(String, [String])] = [
      ("h264", h264), ("h264-no-b", x264 + ["-g", "12", "-bf", "0"]), ("mpeg2", mpeg2), ("hevc", x265),
      ("mpeg4", mpeg4),
    ]
    func remark(_ name: String) -> String? {
      name.hasPrefix("h264") ? concealment : ["hevc", "vp8"].contains(name) ? buffers : nil
    }
    let lost = [97, 211, 431].flatMap { every in
      encoders.map { name, encoder in
        source(
          "lost-\(every)-\(name)", encoder + ["-b:v", "800k"], "ts", .withoutPackets(every: every),
          isQuick: every == 97 && ["h264", "mpeg2"].contains(name), remark: remark(name))
      }
    }
    let files: [(String, [String], String)] = [
      ("h264", h264, "mp4"), ("h264", h264, "mkv"), ("mpeg2", mpeg2, "mpg"), ("mpeg4", mpeg4, "avi"),
      ("hevc", x265, "mkv"), ("vp8", ["-c:v", "libvpx", "-g", "25"], "webm"),
    ]
    let inverted = files.map { name, encoder, container in
      source(
        "inverted-\(name)", encoder, container, .inverted(every: 2003, from: 0.3, to: 0.6), remark: remark(name))
    }
    return lost + inverted
  }()
}
