import Foundation

/// The table of sources. Here are those with pictures.
enum Sources {
  static let all: [Source] = [pictures, times, surgery, sounds].flatMap(\.self)

  /// Whether SHEAF_EXACTNESS_ONLY takes a source. Nil if it is not set.
  static let isNamed: (@Sendable (Source) -> Bool)? = ProcessInfo.processInfo.environment["SHEAF_EXACTNESS_ONLY"].map {
    let parts = $0.split(separator: ",")
    return { source in parts.contains { source.name.contains($0) } }
  }

  /// One way of encoding in several containers.
  /// - Parameter quick: The containers whose file is among the sources of `make test`.
  static func sources(
    _ name: String, _ options: [String], in containers: [String], quick: Set<String> = [],
    picture: [String] = Step.picture(), rate: Source.Rate? = Source.Rate(25, 1)
  ) -> [Source] {
    containers.map { container in
      let kind = container.split(separator: ".").first.map { String($0) } ?? container
      return Source(
        name: "\(name).\(kind)", steps: [.encode(options, picture, to: container)], rate: rate,
        isQuick: quick.contains(container))
    }
  }

  static let x264 = ["-c:v", "libx264", "-preset", "veryfast", "-pix_fmt", "yuv420p"]
  static let x265 = ["-c:v", "libx265", "-preset", "ultrafast", "-x265-params", "log-level=none:keyint=25"]
  static let fragmented = ["-movflags", "frag_keyframe+empty_moov", "-frag_duration", "700000"]

  // MARK: Codecs, containers, and structures of groups of pictures

  private static let pictures: [Source] = [h264, hevc, mpeg, mpeg4, vpx, av1, others, formats].flatMap(\.self)

  private static let h264: [Source] = {
    func x264(_ options: String...) -> [String] { Sources.x264 + options }
    let structures: [(String, [String], Set<String>)] = [
      ("closed", x264("-g", "24", "-bf", "2"), ["mp4"]),
      ("no-b", x264("-g", "20", "-bf", "0"), ["ts"]),
      ("many-b", x264("-g", "40", "-bf", "8", "-b_strategy", "0", "-x264-params", "b-pyramid=normal"), ["mkv"]),
      ("open", x264("-g", "24", "-bf", "3", "-x264-params", "open-gop=1"), ["mp4", "ts"]),
      ("refresh", x264("-g", "25", "-x264-params", "intra-refresh=1"), ["mp4"]),
      ("intra", x264("-g", "1"), []),
      ("one-start", x264("-g", "1000", "-sc_threshold", "0"), ["mkv"]),
      ("short", x264("-g", "3", "-bf", "1"), []),
      ("references", x264("-g", "30", "-x264-params", "ref=12:bframes=4:weightp=2"), []),
      ("slices", x264("-g", "24", "-x264-params", "slices=4:cabac=0"), []),
      ("interlaced", x264("-g", "24", "-x264-params", "tff=1:bframes=2"), ["ts"]),
      ("lossless", x264("-g", "24", "-qp", "0"), []),
      (
        "annex-b-units",
        x264("-g", "24", "-x264-params", "aud=1:repeat-headers=1:nal-hrd=vbr:vbv-maxrate=500:vbv-bufsize=500"), []
      ),
    ]
    let lists: [[Source]] = [
      structures.flatMap { sources("h264-\($0.0)", $0.1, in: ["mp4", "mkv", "ts"], quick: $0.2) },
      sources(
        "h264", x264("-g", "24", "-bf", "2"), in: ["mov", "flv", "m4v", "3gp", "nut", "asf", "mxf"],
        quick: ["flv", "mxf"]),
      sources("h264-no-b", x264("-g", "24", "-bf", "0"), in: ["avi", "flv", "mov", "264.h264"], quick: ["avi"]),
      sources("h264-fragmented", x264("-g", "24", "-bf", "2") + fragmented, in: ["mp4", "mov"], quick: ["mp4"]),
      sources(
        "h264-open-fragmented", x264("-g", "24", "-bf", "3", "-x264-params", "open-gop=1") + fragmented, in: ["mp4"]),
      sources(
        "h264-open", x264("-g", "24", "-bf", "3", "-x264-params", "open-gop=1"), in: ["mov", "flv"]),
    ]
    return lists.flatMap(\.self)
  }()

  private static let hevc: [Source] = {
    func x265(_ parameters: String, _ options: String...) -> [String] {
      [
        "-c:v", "libx265", "-preset", "ultrafast", "-pix_fmt", "yuv420p", "-x265-params",
        "log-level=none:" + parameters,
      ] + options
    }
    let structures: [(String, [String], Set<String>)] = [
      ("closed", x265("keyint=24:open-gop=0:bframes=2"), ["mkv"]),
      ("open", x265("keyint=24:min-keyint=24:open-gop=1:bframes=4:b-adapt=0"), ["mp4"]),
      ("no-b", x265("keyint=20:bframes=0"), []),
      ("many-b", x265("keyint=40:bframes=8:b-adapt=0:rc-lookahead=20"), []),
      ("intra", x265("keyint=1"), []),
      ("refresh", x265("keyint=25:intra-refresh=1"), ["mp4"]),
      ("one-start", x265("keyint=1000:scenecut=0"), []),
      ("repeated-headers", x265("keyint=24:repeat-headers=1:aud=1"), []),
    ]
    let lists: [[Source]] = [
      structures.flatMap { sources("hevc-\($0.0)", $0.1, in: ["mp4", "mkv", "ts"], quick: $0.2) },
      sources("hevc-open", x265("keyint=24:open-gop=1:bframes=3"), in: ["mov", "265.hevc"]),
      sources("hevc-fragmented", x265("keyint=24:open-gop=1:bframes=3") + fragmented, in: ["mp4"]),
    ]
    return lists.flatMap(\.self)
  }()

  private static let mpeg: [Source] = {
    func two(_ options: String...) -> [String] { ["-c:v", "mpeg2video", "-b:v", "600k"] + options }
    func one(_ options: String...) -> [String] { ["-c:v", "mpeg1video", "-b:v", "600k"] + options }
    let lists: [[Source]] = [
      sources(
        "mpeg2-open", two("-g", "12", "-bf", "2"), in: ["mpg", "ts", "vob", "mkv", "mov", "mxf", "m2v"],
        quick: ["mpg", "ts"]),
      sources(
        "mpeg2-closed", two("-g", "12", "-bf", "2", "-flags", "+cgop", "-sc_threshold", "1000000000"),
        in: ["mpg", "ts", "mkv"], quick: ["mkv"]),
      sources("mpeg2-no-b", two("-g", "15", "-bf", "0"), in: ["mpg", "ts", "avi"], quick: ["avi"]),
      sources("mpeg2-intra", two("-g", "0"), in: ["mpg", "ts"]),
      sources(
        "mpeg2-interlaced", two("-g", "12", "-bf", "2", "-flags", "+ildct+ilme", "-top", "1"),
        in: ["mpg", "ts", "mov"], quick: ["mpg"]),
      sources("mpeg2-one-start", two("-g", "600", "-bf", "2", "-sc_threshold", "1000000000"), in: ["mpg", "ts"]),
      sources("mpeg1-open", one("-g", "12", "-bf", "2"), in: ["mpg", "mkv", "mov", "ts", "m1v"], quick: ["mpg"]),
      sources("mpeg1-no-b", one("-g", "18"), in: ["mpg", "avi"]),
    ]
    return lists.flatMap(\.self)
  }()

  private static let mpeg4: [Source] = {
    func encoder(_ name: String, _ options: String...) -> [String] {
      ["-c:v", name, "-g", "24", "-b:v", "500k"] + options
    }
    let lists: [[Source]] = [
      sources(
        "mpeg4", encoder("mpeg4"), in: ["avi", "mp4", "mkv", "mov", "3gp", "m4v", "ts", "nut"], quick: ["avi", "mp4"]),
      sources("mpeg4-b", encoder("mpeg4", "-bf", "3"), in: ["avi", "mp4", "mkv", "ts"], quick: ["avi"]),
      sources("mpeg4-quarter", encoder("mpeg4", "-bf", "2", "-flags", "+qpel+mv4"), in: ["mp4", "avi"]),
      sources("mpeg4-packed", encoder("libxvid", "-bf", "2"), in: ["avi"], quick: ["avi"]),
      sources("mpeg4-xvid", encoder("libxvid", "-bf", "2"), in: ["mp4", "mkv"], quick: ["mp4"]),
      sources(
        "mpeg4-interlaced", encoder("mpeg4", "-bf", "1", "-flags", "+ildct+ilme"), in: ["avi", "mp4"], quick: ["mp4"]),
      sources("msmpeg4v2", encoder("msmpeg4v2"), in: ["avi", "mkv"]),
      sources("msmpeg4v3", encoder("msmpeg4"), in: ["avi", "asf", "mkv"]),
      sources("wmv1", encoder("wmv1"), in: ["asf", "avi"]),
      sources("wmv2", encoder("wmv2"), in: ["asf", "avi", "mkv"], quick: ["asf"]),
      sources("flv1", encoder("flv"), in: ["flv", "avi"]),
      sources("h263", encoder("h263"), in: ["avi", "3gp", "mov"], quick: ["3gp"], picture: Step.picture("176x144")),
      sources("h263p", encoder("h263p"), in: ["avi", "mkv"], picture: Step.picture("176x144")),
      sources("h261", encoder("h261"), in: ["avi"], picture: Step.picture("176x144")),
    ]
    return lists.flatMap(\.self)
  }()

  private static let vpx: [Source] = {
    func vp8(_ options: String...) -> [String] {
      ["-c:v", "libvpx", "-deadline", "realtime", "-cpu-used", "8", "-g", "25"] + options
    }
    func vp9(_ options: String...) -> [String] {
      ["-c:v", "libvpx-vp9", "-deadline", "realtime", "-cpu-used", "8", "-g", "25"] + options
    }
    let hidden = ["-auto-alt-ref", "1", "-lag-in-frames", "16", "-deadline", "good"]
    let lists: [[Source]] = [
      sources("vp8", vp8(), in: ["webm", "mkv", "avi", "ivf", "nut"]),
      sources("vp8-hidden", vp8() + hidden, in: ["webm", "avi"], quick: ["webm"]),
      sources("vp9", vp9(), in: ["webm", "mkv", "mp4", "ivf"], quick: ["mp4"]),
      sources("vp9-hidden", vp9() + hidden, in: ["webm", "mp4", "ivf"], quick: ["webm"]),
      sources("vp9-one-start", vp9("-g", "1000"), in: ["webm"]),
      sources("vp9-444", vp9("-pix_fmt", "yuv444p"), in: ["webm"]),
      sources("vp9-10", vp9("-pix_fmt", "yuv420p10le"), in: ["webm", "mp4"]),
      sources("vp9-lossless", vp9("-lossless", "1"), in: ["mkv"]),
      sources("vp9-layers", vp9("-error-resilient", "1"), in: ["webm"]),
    ]
    return lists.flatMap(\.self)
  }()

  private static let av1: [Source] = {
    let aom = ["-c:v", "libaom-av1", "-cpu-used", "8", "-usage", "realtime", "-g", "25"]
    let hidden = ["-c:v", "libaom-av1", "-cpu-used", "8", "-lag-in-frames", "16", "-g", "32"]
    let svt = ["-c:v", "libsvtav1", "-preset", "12", "-g", "25", "-svtav1-params", "lp=1"]
    let lists: [[Source]] = [
      sources("av1", aom, in: ["mp4", "mkv", "webm", "ivf", "obu"], quick: ["mp4"]),
      sources("av1-hidden", hidden, in: ["mp4", "mkv"], picture: Step.picture(seconds: 3)),
      sources("av1-svt", svt, in: ["mp4", "mkv"], quick: ["mkv"]),
      sources("av1-10", aom + ["-pix_fmt", "yuv420p10le"], in: ["mp4"]),
    ]
    return lists.flatMap(\.self)
  }()

  private static let others: [Source] = {
    func encoder(_ name: String, _ options: String...) -> [String] { ["-c:v", name, "-g", "20"] + options }
    let short = Step.picture(seconds: 2)
    let lists: [[Source]] = [
      sources("theora", encoder("libtheora"), in: ["ogv", "mkv"], quick: ["ogv"]),
      sources("dirac", ["-c:v", "vc2", "-strict", "-1"], in: ["mov", "mkv"], picture: short),
      sources("ffv1-old", encoder("ffv1", "-level", "1"), in: ["avi", "mkv"], quick: ["avi"]),
      sources("ffv1", encoder("ffv1", "-level", "3"), in: ["mkv", "mov", "nut"], quick: ["mkv"]),
      sources(
        "prores", encoder("prores_ks", "-pix_fmt", "yuv422p10le"), in: ["mov", "mkv"], quick: ["mov"],
        picture: short),
      sources(
        "prores-444", encoder("prores_ks", "-profile:v", "4444", "-pix_fmt", "yuv444p10le"), in: ["mov"], picture: short
      ),
      sources(
        "dnxhr", encoder("dnxhd", "-profile:v", "dnxhr_sq", "-pix_fmt", "yuv422p"), in: ["mov", "mxf"],
        picture: Step.picture("256x128", seconds: 2)),
      sources(
        "mjpeg", encoder("mjpeg", "-pix_fmt", "yuvj420p"), in: ["avi", "mov", "mkv"], quick: ["avi"], picture: short),
      sources("ljpeg", encoder("ljpeg", "-strict", "-1"), in: ["avi"], picture: short),
      sources("jpeg2000", encoder("jpeg2000", "-pix_fmt", "yuv420p"), in: ["mov", "mxf"], picture: short),
      sources("huffyuv", encoder("huffyuv", "-pix_fmt", "yuv422p"), in: ["avi", "mkv"], picture: short),
      sources("ffvhuff", encoder("ffvhuff", "-pix_fmt", "yuv444p"), in: ["avi", "nut"], picture: short),
      sources("utvideo", encoder("utvideo", "-pix_fmt", "yuv420p"), in: ["avi", "mov"], picture: short),
      sources("magicyuv", encoder("magicyuv", "-pix_fmt", "yuv444p"), in: ["avi", "mkv"], picture: short),
      sources("cfhd", encoder("cfhd", "-pix_fmt", "yuv422p10le"), in: ["mov", "avi"], picture: short),
      sources(
        "raw", ["-c:v", "rawvideo", "-pix_fmt", "yuv420p"], in: ["avi", "nut", "mkv"],
        picture: short),
      sources("v210", ["-c:v", "v210"], in: ["mov", "avi"], picture: short),
      sources("uyvy", ["-c:v", "rawvideo", "-pix_fmt", "uyvy422"], in: ["mov", "avi"], picture: short),
      sources(
        "dv", ["-c:v", "dvvideo", "-pix_fmt", "yuv420p"], in: ["avi", "mov", "dv"],
        picture: Step.picture("720x576", seconds: 1)),
      sources("svq1", encoder("svq1"), in: ["mov"], quick: ["mov"]),
      sources("cinepak", encoder("cinepak"), in: ["avi", "mov"], picture: Step.picture("64x48", seconds: 2)),
      sources("frames", ["-pix_fmt", "yuv420p"], in: ["y4m"], picture: short),
      sources("rv10", encoder("rv10"), in: ["rm"], picture: Step.picture("160x112")),
      sources("rv20", encoder("rv20"), in: ["rm"], quick: ["rm"]),
      sources("snow", encoder("snow", "-strict", "-2"), in: ["avi"], picture: short),
      sources("asv1", encoder("asv1"), in: ["avi"], picture: short),
      sources("asv2", encoder("asv2"), in: ["avi"], picture: short),
      sources("flashsv", encoder("flashsv"), in: ["flv"], picture: short),
      sources("flashsv2", encoder("flashsv2"), in: ["flv"], picture: short),
      sources("zmbv", encoder("zmbv"), in: ["avi"], quick: ["avi"], picture: short),
      sources("qtrle", encoder("qtrle"), in: ["mov"], picture: short),
      sources("png", encoder("png"), in: ["mov", "avi", "mkv"], picture: short),
      sources("smc", encoder("smc"), in: ["mov"], picture: short),
      sources("msvideo1", encoder("msvideo1"), in: ["avi"], picture: short),
      sources("gif", ["-c:v", "gif"], in: ["gif"], quick: ["gif"], picture: short),
      sources("apng", ["-c:v", "apng"], in: ["apng"], picture: short),
      sources("zlib", encoder("zlib"), in: ["avi"], picture: short),
    ]
    return lists.flatMap(\.self)
  }()

  // MARK: Sizes, formats of pixels, orientations

  private static let formats: [Source] = {
    let sizes: [Source] = ["98x130", "16x16", "176x144", "640x360", "1920x64"].flatMap { size in
      sources(
        "h264-\(size)", x264 + ["-g", "24"], in: ["mp4", "mkv"], quick: size == "98x130" ? ["mp4"] : [],
        picture: Step.picture(size, seconds: 2))
    }
    let odd: [Source] = ["131x97", "97x130", "33x17"].flatMap { size in
      sources(
        "h264-odd-\(size)", x264 + ["-g", "24", "-pix_fmt", "yuv444p"], in: ["mp4", "mkv"],
        quick: size == "131x97" ? ["mkv"] : [], picture: Step.picture(size, seconds: 2))
    }
    let oddStored = sources(
      "mpeg4-odd", ["-c:v", "mpeg4", "-g", "20"], in: ["mp4", "avi"], quick: ["mp4"], picture: Step.picture("131x97"))
    let deep: [Source] = ["yuv420p10le", "yuv422p10le", "yuv444p10le", "yuv422p", "yuv444p"].flatMap {
      format -> [Source] in
      let avc = sources(
        "h264-\(format)", x264 + ["-g", "24", "-pix_fmt", format], in: ["mp4", "ts"],
        quick: format == "yuv422p10le" ? ["mp4"] : [])
      let hevc = sources(
        "hevc-\(format)", x265 + ["-pix_fmt", format], in: ["mkv"], quick: format == "yuv420p10le" ? ["mkv"] : [])
      return avc + hevc
    }
    let deeper: [[Source]] = [
      sources("hevc-12", x265 + ["-pix_fmt", "yuv420p12le"], in: ["mp4"]),
      sources(
        "ffv1-16", ["-c:v", "ffv1", "-level", "3", "-g", "20", "-pix_fmt", "yuv444p16le"], in: ["mkv"],
        picture: Step.picture(seconds: 2)),
      sources("h264-grey", x264 + ["-g", "24", "-pix_fmt", "gray"], in: ["mp4"]),
      sources("h264-full", x264 + ["-g", "24", "-pix_fmt", "yuvj420p"], in: ["mp4", "mkv"], quick: ["mp4"]),
      sources("h264-rgb", ["-c:v", "libx264rgb", "-preset", "veryfast", "-g", "24"], in: ["mp4", "mkv"]),
    ]
    let alpha = Step.picture(seconds: 2, filter: ",format=rgba,geq=r='r(X,Y)':g='g(X,Y)':b='b(X,Y)':a='X+Y'")
    let alphas: [[Source]] = [
      sources(
        "alpha-deep", ["-c:v", "ffv1", "-level", "3", "-g", "20", "-pix_fmt", "yuva444p10le"], in: ["mkv"],
        quick: ["mkv"], picture: alpha),
      sources("alpha-qtrle", ["-c:v", "qtrle", "-pix_fmt", "argb", "-g", "20"], in: ["mov"], picture: alpha),
      sources("alpha-png", ["-c:v", "png", "-pix_fmt", "rgba"], in: ["mov"], picture: alpha),
      sources(
        "alpha-ffv1", ["-c:v", "ffv1", "-level", "3", "-g", "20", "-pix_fmt", "yuva420p"], in: ["mkv"], picture: alpha),
      sources("alpha-utvideo", ["-c:v", "utvideo", "-pix_fmt", "gbrap"], in: ["avi"], picture: alpha),
    ]
    let turned: [Source] = ["90", "180", "270"].flatMap { (angle: String) -> [Source] in
      let coded = x264 + ["-g", "24", "-metadata:s:v", "rotate=\(angle)"]
      let quick: Set<String> = angle == "90" ? ["mp4"] : []
      let limited = sources("h264-turned-\(angle)", coded, in: ["mp4", "mov"], quick: quick)
      let full = coded + ["-pix_fmt", "yuvj420p"]
      return limited + sources("h264-full-turned-\(angle)", full, in: ["mp4"], quick: quick)
    }
    let stretched: [[Source]] = [
      sources(
        "h264-stretched", x264 + ["-g", "24", "-aspect", "16:9"], in: ["mp4", "mkv"], quick: ["mkv"],
        picture: Step.picture(seconds: 2)),
      sources(
        "mpeg2-stretched", ["-c:v", "mpeg2video", "-aspect", "16:9"], in: ["mpg"], picture: Step.picture(seconds: 2)),
    ]
    let lists: [[Source]] = [[sizes, odd, oddStored, deep, turned], deeper, alphas, stretched].flatMap(\.self)
    return lists.flatMap(\.self)
  }()
}
