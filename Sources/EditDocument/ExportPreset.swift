public import CompositionModel

/// What an output is for, in one word: AVFoundation's export presets. The raw value is the name in documents: that of
/// AVFoundation's constant without `AVAssetExportPreset`, beginning with a small letter.
///
/// A preset sets the codecs, the quality, the greatest size of a frame and the containers. A document's own keys
/// override what it sets of codecs and quality. A film is made smaller to fit a preset's size, never larger, and keeps
/// its shape.
public enum ExportPreset: String, Sendable, Hashable, Codable, CaseIterable {
  case lowQuality, mediumQuality, highestQuality
  case size640x480 = "640x480"
  case size960x540 = "960x540"
  case size1280x720 = "1280x720"
  case size1920x1080 = "1920x1080"
  case size3840x2160 = "3840x2160"
  case hevcHighestQuality, hevc1920x1080, hevc3840x2160, hevc7680x4320
  case appleProRes422LPCM, appleProRes4444LPCM, appleM4A

  /// AVFoundation's presets of transparent films, which are refused by name: x265 encodes no transparency.
  static let transparent = ["hevcHighestQualityWithAlpha", "hevc1920x1080WithAlpha", "hevc3840x2160WithAlpha"]

  /// The pictures that a preset gives.
  public struct Video: Sendable, Hashable {
    public var codec: VideoCodec
    /// The encoder's quality. Nil: the codec has no such setting.
    public var quality: Double?
    /// The pixels that the longer and the shorter side of a frame have at most. Nil: as the film is.
    public var greatestSize: PixelSize?
  }

  /// The sound that a preset gives.
  public struct Audio: Sendable, Hashable {
    public var codec: AudioCodec
    /// Bits a second for one or two channels. More channels have 64000 each at least. Nil: the codec is lossless.
    public var bitRate: Int?
  }

  /// AVFoundation's name of the preset, such as `AVAssetExportPresetHEVC1920x1080`.
  public var avFoundationName: String {
    let name = rawValue.hasPrefix("hevc") ? "HEVC" + rawValue.dropFirst(4) : rawValue
    return "AVAssetExportPreset" + name.prefix(1).uppercased() + name.dropFirst()
  }

  /// Nil: the preset has sound alone.
  public var video: Video? {
    func h264(_ quality: Double, _ width: Int? = nil, _ height: Int? = nil) -> Video {
      Video(codec: .h264, quality: quality, greatestSize: Self.size(width, height))
    }
    func hevc(_ quality: Double, _ width: Int? = nil, _ height: Int? = nil) -> Video {
      Video(codec: .hevc, quality: quality, greatestSize: Self.size(width, height))
    }
    switch self {
    case .lowQuality: return h264(30, 480, 360)
    case .mediumQuality: return h264(26, 960, 540)
    case .highestQuality: return h264(18)
    case .size640x480: return h264(23, 640, 480)
    case .size960x540: return h264(23, 960, 540)
    case .size1280x720: return h264(23, 1280, 720)
    case .size1920x1080: return h264(23, 1920, 1080)
    case .size3840x2160: return h264(23, 3840, 2160)
    case .hevcHighestQuality: return hevc(22)
    case .hevc1920x1080: return hevc(27, 1920, 1080)
    case .hevc3840x2160: return hevc(27, 3840, 2160)
    case .hevc7680x4320: return hevc(27, 7680, 4320)
    case .appleProRes422LPCM: return Video(codec: .prores422)
    case .appleProRes4444LPCM: return Video(codec: .prores4444)
    case .appleM4A: return nil
    }
  }

  private static func size(_ width: Int?, _ height: Int?) -> PixelSize? {
    guard let width, let height else { return nil }
    return PixelSize(width: width, height: height)
  }

  public var audio: Audio {
    switch self {
    case .lowQuality: Audio(codec: .aac, bitRate: 64_000)
    case .mediumQuality: Audio(codec: .aac, bitRate: 96_000)
    case .highestQuality, .hevcHighestQuality, .appleM4A: Audio(codec: .aac, bitRate: 192_000)
    case .appleProRes422LPCM, .appleProRes4444LPCM: Audio(codec: .pcm)
    default: Audio(codec: .aac, bitRate: 128_000)
    }
  }

  /// The containers that the preset can be written to. The first is the one that the settings assistant suggests.
  public var containers: [Container] {
    guard let video else { return [.m4a] }
    return Container.allCases.filter { $0.videoCodecs.contains(video.codec) && $0.audioCodecs.contains(audio.codec) }
  }

  /// Why a name is not that of a preset, for its author.
  public static func unknown(_ name: String) -> String {
    let names = list(PresetChoice.allCases.map(\.name))
    if transparent.contains(name) {
      return "the preset '\(name)' is for a transparent film, which x265 cannot encode and no other codec here stores; "
        + "'\(name.dropLast("WithAlpha".count))' has the same pictures without transparency, and "
        + "'\(appleProRes4444LPCM.rawValue)' has the finest colours"
    }
    let isEncoders = VideoCodec.allCases.contains { $0.definition.presets.contains(name) }
    let hint =
      isEncoders
      ? " (an encoder's preset is 'preset' of 'video')"
      : nearest(to: name).map { " (did you mean '\($0)'?)" } ?? ""
    return "unknown preset '\(name.shortened)'\(hint); allowed are \(names)"
  }

  /// The name of the preset that a name like AVFoundation's or a mistyped one most likely means.
  static func nearest(to name: String) -> String? {
    let prefix = "avassetexportpreset"
    var wanted = name.lowercased()
    if wanted.hasPrefix(prefix) { wanted = String(wanted.dropFirst(prefix.count)) }
    let names = PresetChoice.allCases.map(\.name) + transparent
    if let same = names.first(where: { $0.lowercased() == wanted }) { return same }
    if wanted.count >= 3, let longer = names.first(where: { $0.lowercased().hasPrefix(wanted) }) { return longer }
    return CompositionModel.nearest(to: wanted, among: names)
  }
}

extension ExportPreset.Video {
  /// How much smaller a film of a size becomes; 1 if it fits.
  func scale(of size: PixelSize) -> Rational {
    guard let greatestSize else { return .one }
    let long = Rational(Int32(greatestSize.width), over: Int32(clamping: max(size.width, size.height)))
    let short = Rational(Int32(greatestSize.height), over: Int32(clamping: min(size.width, size.height)))
    return min(.one, long, short)
  }
}

extension ExportPreset.Audio {
  /// Bits a second for a number of channels. Nil: the codec is lossless.
  func bitRate(channels: Int) -> Int? { bitRate.map { channels > 2 ? max($0, 64_000 * channels) : $0 } }
}

/// What the preset of an output can be: one by which it is encoded, or `passthrough`, by which stored pictures and
/// samples are copied.
public enum PresetChoice: Sendable, Hashable, CaseIterable {
  case encode(ExportPreset)
  case passthrough

  public static var allCases: [PresetChoice] { ExportPreset.allCases.map(PresetChoice.encode) + [.passthrough] }

  /// Nil: there is no preset of this name.
  public init?(_ name: String) {
    guard let choice = Self.allCases.first(where: { $0.name == name }) else { return nil }
    self = choice
  }

  /// In documents.
  public var name: String {
    switch self {
    case .encode(let preset): preset.rawValue
    case .passthrough: Passthrough.name
    }
  }

  public var avFoundationName: String {
    switch self {
    case .encode(let preset): preset.avFoundationName
    case .passthrough: "AVAssetExportPresetPassthrough"
    }
  }
}

// MARK: Settings assistant

/// The settings that a preset gives for some media: AVFoundation's `AVOutputSettingsAssistant`.
public struct SuggestedSettings: Sendable, Hashable, Codable {
  public var preset: ExportPreset
  public var container: Container
  /// The size of a frame. Nil: there is no video.
  public var size: PixelSize?
  /// Seconds from one frame to the next. Nil: there is no video.
  public var frameDuration: MediaTime?
  public var video: VideoSettings?
  public var audio: AudioSettings?

  private init(_ edit: Edit, _ preset: ExportPreset) {
    self.preset = preset
    container = edit.export.container
    video = edit.export.video
    audio = edit.export.audio
    if video != nil {
      size = edit.videoComposition.renderSize
      frameDuration = edit.videoComposition.frameDuration
    }
  }

  /// The settings of a preset for a film of these media, one after another, with every default filled in.
  /// - Parameters:
  ///   - preset: What is asked for.
  ///   - media: The descriptions of files with pictures, sound or both. Not empty.
  ///   - container: Nil: the preset's first that the film can be written to.
  /// - Throws: Why the preset cannot be met.
  public init(
    preset: ExportPreset, media: [AssetDescription], container: Container? = nil
  ) throws(DocumentError) {
    let film = MediaFilm(media)
    try self.init(
      preset: preset, document: Document.examine(film.document, preset: .encode(preset)), assets: film.assets,
      container: container)
  }

  /// The settings of a preset for a document.
  /// - Parameters:
  ///   - preset: What is asked for.
  ///   - document: As `Document.examine` has read it with this preset.
  ///   - assets: The descriptions of its media.
  ///   - container: Nil: that of the document's own output if the preset can be written to it, else the preset's first
  ///     that the film can be written to.
  /// - Throws: Why the preset cannot be met, and every other problem of the document.
  public init(
    preset: ExportPreset, document: ExaminedDocument, assets: [AssetID: AssetDescription], container: Container? = nil
  ) throws(DocumentError) {
    var candidates = container.map { [$0] } ?? preset.containers
    // That `to` is the name of no container is for `check` to report: what is suggested here replaces it.
    if container == nil, let own = document.export.to.flatMap({ try? Container(path: $0) }),
      let index = candidates.firstIndex(of: own)
    {
      candidates.insert(candidates.remove(at: index), at: 0)
    }
    self.init(try document.edits(in: candidates, assets: assets, most: 1)[0], preset)
  }

  /// The containers that a document's film can be written to with a preset. The parameters and the errors are those of
  /// `init`.
  public static func containers(
    of preset: ExportPreset, document: ExaminedDocument, assets: [AssetID: AssetDescription]
  ) throws(DocumentError) -> [Container] {
    try document.edits(in: preset.containers, assets: assets).map(\.export.container)
  }
}

extension ExaminedDocument {
  /// What the document means in each of some containers that can have its film, in their order; not empty.
  /// - Parameter most: How many of them are looked for.
  /// - Throws: If none can, the problems of the one that has the fewest, the first of them.
  func edits(
    in containers: [Container], assets: [AssetID: AssetDescription], most: Int = .max
  ) throws(DocumentError) -> [Edit] {
    var edits: [Edit] = []
    var least: DocumentError?
    for container in containers where edits.count < most {
      do {
        edits.append(try lower(assets: assets, output: "film.\(container.rawValue)"))
      } catch {
        if least.map({ error.problems.count < $0.problems.count }) ?? true { least = error }
      }
    }
    if edits.isEmpty, let least { throw least }
    return edits
  }
}

/// A film of some media, one after another.
struct MediaFilm {
  var document: [UInt8]
  var assets: [AssetID: AssetDescription] = [:]

  init(_ media: [AssetDescription]) {
    func clips(_ type: MediaType) -> String {
      media.enumerated().filter { $1.defaultTrack(type) != nil }.map { index, description in
        let isStill = type == .video && description.defaultTrack(.video)?.video?.isStill == true
        return #"{"asset": "\#(index)"\#(isStill ? #", "duration": 1"# : "")}"#
      }.joined(separator: ", ")
    }
    for (index, description) in media.enumerated() { assets["\(index)"] = description }
    let text = """
      { "sheaf": 1, "assets": { \(media.indices.map { #""\#($0)": "\#($0)""# }.joined(separator: ", ")) },
        "tracks": [ { "type": "video", "clips": [\(clips(.video))] },
                    { "type": "audio", "clips": [\(clips(.audio))] } ] }
      """
    document = Array(text.utf8)
  }
}
