import CompositionModel

/// Names that people know from other programs, with what to write here.
enum ForeignNames {
  /// Nil: the name is not known from elsewhere.
  /// - Parameter noun: what the name is of, as in messages.
  static func hint(_ name: String, for noun: String) -> String? {
    let key = name.lowercased().filter { $0.isLetter || $0.isNumber }
    return table[noun]?[key]
  }

  /// The names in small letters and digits alone.
  private static let table: [String: [String: String]] = [
    "fit": [
      "crop": "'cover' fills the frame and cuts off what is beyond it; 'crop' is a key of its own",
      "fit": meant("contain"), "pad": meant("contain"), "letterbox": meant("contain"), "inside": meant("contain"),
      "scaletofit": meant("contain"), "aspectfit": meant("contain"), "resizeaspect": meant("contain"),
      "zoom": meant("cover"), "outside": meant("cover"), "aspectfill": meant("cover"), "scaletofill": meant("cover"),
      "resizeaspectfill": meant("cover"), "fillcrop": meant("cover"), "stretch": meant("fill"),
      "resize": meant("fill"), "distort": meant("fill"), "scale": meant("fill"), "original": meant("none"),
      "center": meant("none"), "blurred": meant("blur"), "blurredbackground": meant("blur"),
    ],
    "sound": [
      "false": "a clip that is silent has \"drop\"", "true": "a clip has its sound by default, which is \"keep\"",
      "mute": meant("drop"), "none": meant("drop"), "off": meant("drop"), "on": meant("keep"),
    ],
    "kind of transition": transitions,
    "kind of transition of an audio track": transitions,
    "video codec": videoCodecs,
    "audio codec": [
      "libfdkaac": meant("aac"), "fdkaac": meant("aac"), "mp4a": meant("aac"), "mpeg4aac": meant("aac"),
      "aaclc": meant("aac"), "libmp3lame": meant("mp3"), "lame": meant("mp3"), "libopus": meant("opus"),
      "wav": meant("pcm"), "lpcm": meant("pcm"), "linearpcm": meant("pcm"), "pcms16le": pcm(16), "pcms24le": pcm(24),
      "pcms16be": pcm(16), "pcms24be": pcm(24), "applelossless": meant("alac"),
      "copy": "what is stored is copied by the preset of the export: \"preset\": \"passthrough\"",
    ],
    "container": [
      "matroska": meant("mkv"), "quicktime": meant("mov"), "qt": meant("mov"), "mpeg4": meant("mp4"),
      "m4b": meant("m4a"), "aac": meant("m4a"), "wave": meant("wav"), "opus": meant("ogg"), "oga": meant("ogg"),
    ],
    "anchor": [
      "middle": meant("center"), "centre": meant("center"), "bottomcenter": meant("bottom"),
      "bottomcentre": meant("bottom"), "topcenter": meant("top"), "topcentre": meant("top"),
      "centerleft": meant("left"), "centerright": meant("right"), "north": meant("top"), "south": meant("bottom"),
      "west": meant("left"), "east": meant("right"), "northwest": meant("top-left"), "northeast": meant("top-right"),
      "southwest": meant("bottom-left"), "southeast": meant("bottom-right"), "lowerthird": meant("bottom"),
    ],
    "alignment": ["centre": meant("center"), "middle": meant("center"), "start": meant("left"), "end": meant("right")],
    "track type": [
      "sound": meant("audio"), "music": meant("audio"), "picture": meant("video"), "image": meant("video"),
      "captions": meant("subtitle"), "subtitles": meant("subtitle"), "text": "texts are among 'overlays'",
      "overlay": "'overlays' is a key of 'videoComposition'",
    ],
    "blend mode": [
      "lineardodge": meant("add"), "addition": meant("add"), "plus": meant("add"), "pluslighter": meant("add"),
      "over": meant("normal"), "none": meant("normal"), "dodge": meant("color-dodge"), "burn": meant("color-burn"),
    ],
    "colour": [
      "rec709": meant("bt709"), "rec601": meant("bt601"), "rec2020": meant("bt2020"), "srgb": meant("bt709"),
      "pq": meant("hdr10"), "p3": meant("displayP3"), "sdr": meant("bt709"), "hdr": "'hdr10' is PQ, and 'hlg' is HLG",
    ],
    "pixel format": [
      "yuvj420p": meant("yuv420p"), "yuv420p10le": meant("yuv420p10"), "yuv422p10le": meant("yuv422p10"),
      "yuv444p10le": meant("yuv444p10"), "p010": meant("yuv420p10"), "p010le": meant("yuv420p10"),
      "nv12": meant("yuv420p"), "10bit": meant("yuv420p10"), "8bit": meant("yuv420p"),
    ],
    "easing": [
      "easeinout": meant("ease-in-out"), "easein": meant("ease-in"), "easeout": meant("ease-out"),
      "none": meant("linear"),
    ],
  ]

  private static let transitions: [String: String] = [
    "crossfade": meant("dissolve"), "crossdissolve": meant("dissolve"), "xfade": meant("dissolve"),
    "mix": meant("dissolve"), "blend": meant("dissolve"), "acrossfade": meant("dissolve"),
    "fadeblack": meant("fade"), "dip": meant("fade"), "diptoblack": meant("fade"),
    "fadewhite": "'fade' with \"color\": \"#ffffff\"", "diptowhite": "'fade' with \"color\": \"#ffffff\"",
    "wipeleft": directed("wipe", "left"), "wiperight": directed("wipe", "right"), "wipeup": directed("wipe", "up"),
    "wipedown": directed("wipe", "down"), "slideleft": directed("slide", "left"),
    "slideright": directed("slide", "right"), "slideup": directed("slide", "up"),
    "slidedown": directed("slide", "down"), "pushleft": directed("push", "left"),
    "pushright": directed("push", "right"), "circleopen": meant("circle"),
    "radial": meant("clock"), "clockwipe": meant("clock"), "rectcrop": meant("iris"), "irisbox": meant("iris"),
    "irisround": meant("circle"), "irisdiamond": "'iris' with \"shape\": \"diamond\"",
    "diamond": "'iris' with \"shape\": \"diamond\"",
    "zoomin": meant("zoom"), "crosszoom": meant("zoom"), "hblur": meant("blur"), "crossblur": meant("blur"),
    "pixelize": meant("pixelate"), "mosaic": meant("pixelate"),
    "cut": "a cut is where a clip follows another without a transition",
    "none": "a cut is where a clip follows another without a transition",
  ]

  private static let videoCodecs: [String: String] = [
    "libx264": meant("h264"), "x264": meant("h264"), "avc": meant("h264"), "avc1": meant("h264"),
    "libopenh264": meant("h264"), "h264nvenc": meant("h264"), "mpeg4avc": meant("h264"), "libx265": meant("hevc"),
    "x265": meant("hevc"), "h265": meant("hevc"), "hvc1": meant("hevc"), "hev1": meant("hevc"),
    "hevcnvenc": meant("hevc"), "libvpxvp9": meant("vp9"), "libvpx": meant("vp9"), "vp8": meant("vp9"),
    "libaomav1": meant("av1"), "libsvtav1": meant("av1"), "librav1e": meant("av1"), "aom": meant("av1"),
    "prores": "'prores422' is ProRes 422, and 'prores4444' has the full colours",
    "proresks": "'prores422' is ProRes 422, and 'prores4444' has the full colours",
    "prores422hq": "'prores422' with \"profile\": \"hq\"", "mpeg4": meant("h264"),
    "copy": "what is stored is copied by the preset of the export: \"preset\": \"passthrough\"",
  ]

  private static func meant(_ name: String) -> String { "did you mean '\(name)'?" }
  private static func directed(_ kind: String, _ direction: String) -> String {
    "'\(kind)' with \"direction\": \"\(direction)\""
  }
  private static func pcm(_ bits: Int) -> String { "'pcm' with \"bitDepth\": \(bits)" }
}
