extension Sources {
  // MARK: Times

  /// Rates, times that vary, are late, wrap, begin before zero or contradict the order of pictures, and edit lists.
  static let times: [Source] = [rates, varying, shifted, contradictory, untimed, edited, withSound].flatMap(\.self)

  private static let h264 = x264 + ["-g", "24", "-bf", "2"]

  private static let vp9 = ["-c:v", "libvpx-vp9", "-deadline", "realtime", "-cpu-used", "8", "-g", "25"]

  private static let rates: [Source] = {
    let rates = [
      Source.Rate(24000, 1001), Source.Rate(30000, 1001), Source.Rate(60000, 1001), Source.Rate(30, 1),
      Source.Rate(50, 1), Source.Rate(15, 1), Source.Rate(24, 1), Source.Rate(120, 1),
    ]
    let quick: [Int64: Set<String>] = [24000: ["mp4"], 30000: ["mkv", "flv"], 60000: ["mkv"]]
    return rates.flatMap { rate -> [Source] in
      let picture = Step.picture(rate: rate.text, seconds: rate.frames > 50 * rate.seconds ? 2 : 4)
      let name = "rate-\(rate.frames)-\(rate.seconds)"
      let lists: [[Source]] = [
        sources(
          name, h264, in: ["mp4", "mkv", "ts", "flv"], quick: quick[rate.frames] ?? [], picture: picture, rate: rate),
        sources(
          name + "-mpeg4", ["-c:v", "mpeg4", "-bf", "2", "-g", "24"], in: ["avi", "mkv"], picture: picture, rate: rate),
        sources(name + "-vp9", vp9, in: ["webm"], picture: picture, rate: rate),
      ]
      return lists.flatMap(\.self)
    }
  }()

  private static let varying: [Source] = {
    let drops = Step.picture(rate: "50", filter: ",select='not(eq(mod(n\\,7)\\,3))*not(between(n\\,60\\,85))'")
    let jitter = Step.picture(filter: ",settb=1/1000,setpts='PTS+floor(random(1)*25)'")
    let slow = Step.picture(filter: ",setpts='if(lt(N\\,40)\\,PTS\\,PTS*2-1.6/TB)'")
    let quick: [String: Set<String>] = ["drops": ["mp4", "mkv"], "jitter": ["flv"]]
    return [("drops", drops), ("jitter", jitter), ("slow", slow)].flatMap { name, picture -> [Source] in
      let lists: [[Source]] = [
        sources(
          "varying-\(name)", h264 + ["-fps_mode", "vfr"], in: ["mp4", "mkv", "ts", "flv", "nut"],
          quick: quick[name] ?? [], picture: picture, rate: nil),
        sources("varying-\(name)-vp9", vp9 + ["-fps_mode", "vfr"], in: ["webm"], picture: picture, rate: nil),
      ]
      return lists.flatMap(\.self)
    }
  }()

  private static let shifted: [Source] = {
    let lists: [[Source]] = [
      sources("late", h264 + ["-output_ts_offset", "3600.7"], in: ["ts", "mkv", "mp4", "nut"]),
      sources("late-mpeg2", ["-c:v", "mpeg2video", "-bf", "2", "-output_ts_offset", "20000"], in: ["mpg", "ts"]),
      sources("wrapped", h264 + ["-output_ts_offset", "95441.9"], in: ["ts"], quick: ["ts"]),
      sources("wrapped-mpeg2", ["-c:v", "mpeg2video", "-bf", "2", "-output_ts_offset", "95441.9"], in: ["ts", "mpg"]),
      sources("wrapped-hevc", x265 + ["-output_ts_offset", "95442.3"], in: ["ts"]),
      sources("early", h264 + ["-output_ts_offset", "-1", "-avoid_negative_ts", "disabled"], in: ["mkv"]),
      sources("fine", h264 + ["-video_track_timescale", "1000003"], in: ["mp4"], quick: ["mp4"]),
      sources("coarse", h264 + ["-video_track_timescale", "25"], in: ["mp4"]),
    ]
    return lists.flatMap(\.self)
  }()

  /// Some presentation times are not those of the order in which a decoder gives the pictures.
  private static let contradictory: [Source] = {
    func source(
      _ name: String, _ times: String, _ container: String, _ encoder: [String] = h264, isQuick: Bool = false
    ) -> Source {
      Source(
        name: "contradictory-\(name).\(container)",
        steps: [
          .encode(encoder, to: container),
          .ffmpeg(["-i", "IN", "-c", "copy", "-bsf:v", "setts=pts='\(times)'"], to: container),
        ],
        rate: nil, isQuick: isQuick)
    }
    let mpeg2 = ["-c:v", "mpeg2video", "-bf", "2", "-g", "12"]
    let mpeg4 = ["-c:v", "mpeg4", "-bf", "2", "-g", "24"]
    let swapped = "PTS+if(mod(N,2),-0.04/TB,0.04/TB)"
    // 1.5 frames, 6 frames, and 4 frames from a place on.
    let (little, much, back) = ("0.06/TB", "0.24/TB", "if(gt(N,50),PTS-0.16/TB,PTS)")
    return [
      source("early", "if(eq(N,41),PTS-\(little),PTS)", "mkv", isQuick: true),
      source("early", "if(eq(N,41),PTS-\(little),PTS)", "mp4"),
      source("much-early", "if(eq(N,41),PTS-\(much),PTS)", "mkv"),
      source("much-early", "if(eq(N,41),PTS-\(much),PTS)", "mp4"),
      source("back", back, "mp4", isQuick: true), source("back", back, "mkv"),
      source("early-without-b", "if(eq(N,41),PTS-\(little),PTS)", "mkv", x264 + ["-g", "24", "-bf", "0"]),
      source("early-h263", "if(eq(N,41),PTS-\(little),PTS)", "mov", ["-c:v", "h263p", "-g", "20"], isQuick: true),
      source("early-hevc", "if(eq(N,41),PTS-\(little),PTS)", "mkv", x265),
      source("early-hevc", "if(eq(N,41),PTS-\(little),PTS)", "mp4", x265),
      source("swapped-hevc", swapped, "mkv", x265), source("late-hevc", "if(eq(N,41),PTS+\(much),PTS)", "mp4", x265),
      source("swapped-vp8", swapped, "mkv", ["-c:v", "libvpx", "-deadline", "realtime", "-g", "25"]),
      source("swapped-vp9", swapped, "mkv", vp9),
      source("swapped-av1", swapped, "mp4", ["-c:v", "libsvtav1", "-preset", "12", "-g", "25"]),
      source("swapped-mpeg4", swapped, "mp4", mpeg4), source("swapped-mpeg2", swapped, "mov", mpeg2),
      source("back-h263", back, "mov", ["-c:v", "h263p", "-g", "20"]),
      source("back-mjpeg", back, "mov", ["-c:v", "mjpeg"]),
      source("back-vp8", back, "mkv", ["-c:v", "libvpx", "-deadline", "realtime", "-g", "25"]),
      source("back-vp9", back, "mp4", vp9), source("back-mpeg4", back, "mp4", mpeg4),
      source("back-mpeg2", back, "mov", mpeg2, isQuick: true), source("back-mpeg2", back, "ts", mpeg2),
      source("back-hevc", back, "mp4", x265), source("back-hevc", back, "mkv", x265),
      source("early-mpeg2", "if(eq(N,41),PTS-\(little),PTS)", "mov", mpeg2),
      source("early-mpeg4", "if(eq(N,41),PTS-\(little),PTS)", "mp4", mpeg4),
      source("early-vp9", "if(eq(N,41),PTS-\(little),PTS)", "mkv", vp9),
    ]
  }()

  /// The last pictures come after the last packet, and no packet states their times.
  private static let untimed: [Source] = {
    let pulldown: [Step] = [
      .encode(
        ["-c:v", "mpeg2video", "-bf", "2", "-g", "12"], Step.picture(rate: "24000/1001", seconds: 2), to: "m2v"),
      .withPulldown,
    ]
    // The demuxer of elementary streams states no presentation times.
    let timed: [Step] = [
      .ffmpeg(["-i", "IN", "-c", "copy"], to: "mpg"),
      .ffmpeg(["-fflags", "+genpts", "-i", "IN", "-c", "copy"], to: "mkv"),
    ]
    func source(_ name: String, _ container: String, _ steps: [Step], isQuick: Bool = false) -> Source {
      Source(name: "untimed-\(name).\(container)", steps: steps, rate: nil, isQuick: isQuick)
    }
    let copy = Step.ffmpeg(["-i", "IN", "-c", "copy"], to: "avi")
    return [
      source("pulldown", "m2v", pulldown, isQuick: true), source("pulldown", "mpg", Array(pulldown + timed.prefix(1))),
      source("pulldown", "mkv", pulldown + timed),
      source("pulldown", "ts", pulldown + timed + [.ffmpeg(["-i", "IN", "-c", "copy"], to: "ts")]),
      source("pulldown", "avi", pulldown + [copy]),
      source("copied-h264", "avi", [.encode(x264 + ["-g", "24", "-bf", "3"], to: "mp4"), copy], isQuick: true),
      source("copied-mpeg4", "avi", [.encode(["-c:v", "mpeg4", "-bf", "2", "-g", "24"], to: "mp4"), copy]),
    ]
  }()

  private static let edited: [Source] = {
    func trimmed(
      _ name: String, _ encoder: [String], at start: String, _ container: String, _ options: [String] = [],
      isQuick: Bool = false
    ) -> Source {
      Source(
        name: "edited-\(name).\(container)",
        steps: [
          .encode(encoder, to: container), .ffmpeg(["-ss", start, "-i", "IN", "-c", "copy"] + options, to: container),
        ],
        isQuick: isQuick)
    }
    /// Eleven edits of three frames each, whose starts are so many frames of 512 ticks apart.
    func short(_ name: String, from first: Int, step: Int, _ encoder: [String], isQuick: Bool = false) -> Source {
      let edits = (0..<11).map { (duration: 120, start: 512 * (first + step * $0)) }
      return Source(
        name: "edited-short-\(name).mp4", steps: [.encode(encoder, to: "mp4"), .withEdits(edits)], isQuick: isQuick)
    }
    let open = x264 + ["-g", "24", "-bf", "3", "-x264-params", "open-gop=1"]
    return [
      short("forward", from: 2, step: 7, h264), short("back", from: 82, step: -7, h264, isQuick: true),
      short("overlapping", from: 2, step: 1, h264),
      short("mpeg4", from: 80, step: -7, ["-c:v", "mpeg4", "-bf", "0", "-g", "24"]),
      trimmed("start", h264, at: "1.3", "mp4", isQuick: true), trimmed("start", h264, at: "1.3", "mov"),
      trimmed("open", open, at: "1.3", "mp4", isQuick: true), trimmed("hevc", x265, at: "1.7", "mp4", isQuick: true),
      trimmed("mpeg4", ["-c:v", "mpeg4", "-bf", "2", "-g", "30"], at: "0.7", "mp4"),
      trimmed("end", h264, at: "0", "mp4", ["-t", "2.1"]), trimmed("both", open, at: "2.3", "mov", ["-t", "1.1"]),
      trimmed("ignored", h264, at: "1.3", "mp4", ["-movflags", "use_metadata_tags"]),
      trimmed("late", h264, at: "1.3", "mp4", ["-output_ts_offset", "5"]),
      trimmed("start", h264, at: "1.3", "mkv"), trimmed("open", open, at: "1.3", "mkv", isQuick: true),
      trimmed("open", open, at: "1.3", "ts"), trimmed("start", h264, at: "1.3", "flv"),
      trimmed("mpeg2", ["-c:v", "mpeg2video", "-bf", "2", "-g", "12"], at: "1.1", "ts"),
      trimmed("mpeg2", ["-c:v", "mpeg2video", "-bf", "2", "-g", "12"], at: "1.1", "mpg"),
      trimmed("hevc", x265, at: "1.7", "ts"), trimmed("hevc", x265, at: "1.7", "mkv"),
      trimmed("fragmented", h264, at: "1.3", "mp4", fragmented),
      trimmed("av1", ["-c:v", "libsvtav1", "-preset", "12", "-g", "25"], at: "1.5", "mp4"),
    ]
  }()

  /// Pictures and sound in one file, of which one begins later than the other.
  private static let withSound: [Source] = {
    func source(
      _ name: String, _ offset: String, _ picture: [String], _ sound: [String], _ container: String,
      isQuick: Bool = false, remark: String? = nil
    ) -> Source {
      let inputs = Step.noise(rate: 44100, seconds: 4) + ["-itsoffset", offset] + Step.picture()
      return Source(
        name: "with-sound-\(name).\(container)",
        steps: [.ffmpeg(inputs + ["-map", "1:v", "-map", "0:a"] + picture + sound, to: container)], isQuick: isQuick,
        remark: remark)
    }
    let aac = ["-c:a", "aac"]
    return [
      source("early", "0.5", h264, aac, "mp4", isQuick: true), source("early", "0.5", h264, aac, "mkv", isQuick: true),
      source("early", "0.5", h264, aac, "ts", isQuick: true), source("early", "0.37", h264, aac, "flv"),
      source("early", "0.5", h264, ["-c:a", "pcm_s16le"], "mov"), source("even", "0", h264, aac, "mp4"),
      source("even", "0", h264, aac, "mkv"), source("even", "0", h264, ["-c:a", "mp2"], "ts"),
      source("late", "-0.5", h264, aac, "mp4"), source("late", "-0.5", h264, aac, "mkv"),
      source("even", "0", ["-c:v", "mpeg2video", "-bf", "2"], ["-c:a", "mp2"], "mpg", isQuick: true),
      source("even", "0", ["-c:v", "mpeg4"], ["-c:a", "libmp3lame"], "avi", isQuick: true),
      source("even", "0", h264, aac, "flv"),
      source("even", "0", ["-c:v", "libvpx"], ["-c:a", "libvorbis"], "webm", isQuick: true),
      source("even", "0", ["-c:v", "libtheora"], ["-c:a", "libvorbis"], "ogv"),
      source("even", "0", ["-c:v", "wmv2"], ["-c:a", "wmav2"], "asf"),
      source("delayed-fragments", "0", h264 + fragmented + ["-movflags", "+delay_moov"], aac, "mp4"),
      source(
        "fragments", "0", h264 + fragmented, aac, "mp4",
        remark: "the file's times leave 2504 samples out after the first packet, which are silence"),
    ]
  }()
}
