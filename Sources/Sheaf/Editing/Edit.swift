public import CompositionModel

/// A whole edit: clips on tracks, how their pictures are composited and their sound is mixed, and how the film is
/// encoded.
///
/// It is a value. `document()` writes it as the JSON document that `sheaf render` and a farm take, and `init(document:
/// assets:)` reads it back, equal to what was written.
public struct Edit: Sendable, Hashable {
  /// One thing that is wrong in an edit, with its place in the edit's document.
  public typealias Problem = CompositionModel.Problem

  /// The path of each file by the name that clips and overlays refer to.
  public var assets: [AssetID: String]
  public var composition: Composition
  public var audioMix: AudioMix
  public var videoComposition: VideoComposition
  public var export: ExportSettings

  public init(
    assets: [AssetID: String] = [:], composition: Composition = Composition(), audioMix: AudioMix = AudioMix(),
    videoComposition: VideoComposition = VideoComposition(), export: ExportSettings = ExportSettings()
  ) {
    self.assets = assets
    self.composition = composition
    self.audioMix = audioMix
    self.videoComposition = videoComposition
    self.export = export
  }

  // MARK: Assets

  /// Gives an asset a name in the edit. Its ranges can then be inserted into the composition.
  /// - Parameter name: Nil: the file's name without its extension, with a number if another file has it.
  public mutating func add(_ asset: LoadedAsset, as name: AssetID? = nil) -> AssetSource {
    let id = name ?? unusedName(for: asset.path)
    assets[id] = asset.path
    return AssetSource(id: id, description: asset.description)
  }

  private func unusedName(for path: String) -> AssetID {
    let file = path.split(separator: "/").last.map(String.init) ?? path
    let stem = file.lastIndex(of: ".").map { String(file[..<$0]) } ?? file
    let base = stem.isEmpty ? file : stem
    var (id, number) = (base, 1)
    while let other = assets[id], other != path {
      number += 1
      id = "\(base)-\(number)"
    }
    return id
  }

  // MARK: Problems

  /// Every problem of the edit and of its use of media, in one pass, as `sheaf check` reports them.
  /// - Parameters:
  ///   - assets: What each file contains, such as `Asset.description`.
  ///   - output: The output's path, which selects the container. Nil: the edit's own.
  public func validate(against assets: [AssetID: AssetDescription], output: String? = nil) -> [Problem] {
    var problems: [Problem] = []
    for (number, track) in composition.tracks.enumerated() {
      for (index, clip) in track.clips.enumerated() {
        guard let standard = assets[clip.asset]?.defaultTrack(track.type)?.index, standard != clip.sourceTrack else {
          continue
        }
        problems.append(
          Problem(
            pointer: "/tracks/\(number)/clips/\(index)",
            message: "the clip plays track \(clip.sourceTrack) of '\(clip.asset)'; a document plays track \(standard)"))
      }
    }
    do {
      let document = try Document.examine(document(), output: output)
      _ = try document.lower(assets: assets, output: output)
    } catch {
      problems += error.problems
    }
    return problems
  }
}

/// An asset of an edit, of which ranges are inserted into a composition.
public struct AssetSource: Sendable, Hashable {
  /// Its name in the edit.
  public let id: AssetID
  public let description: AssetDescription

  public init(id: AssetID, description: AssetDescription) {
    self.id = id
    self.description = description
  }

  /// A range on the asset's timeline. For a still picture only its duration matters.
  public func range(_ range: MediaTimeRange) -> AssetRange {
    AssetRange(asset: id, description: description, range: range)
  }

  /// A range from `start` up to, and without, `end`.
  public func range(from start: MediaTime, to end: MediaTime) throws(EditingError) -> AssetRange {
    do { return range(try MediaTimeRange(start: start, end: end)) } catch { throw .time(error) }
  }

  /// The whole of an asset that has a duration of its own.
  public func whole() throws(EditingError) -> AssetRange { try AssetRange(whole: id, description: description) }
}

// MARK: As a document

extension Edit {
  /// The edit as a JSON document. Throws if a number in it is not finite, or cannot be written otherwise.
  public func document() throws(DocumentError) -> [UInt8] {
    var tracks: [JSONValue] = []
    for (number, track) in composition.tracks.enumerated() {
      tracks.append(try Self.written(track, at: "/tracks/\(number)"))
    }
    var members: [(String, JSONValue?)] = [
      ("sheaf", .integer(1)), ("assets", .object(assets.map { ($0.key, .text($0.value)) })), ("tracks", .array(tracks)),
    ]
    let standard = (AudioMix(), VideoComposition(), ExportSettings())
    if audioMix != standard.0 { members.append(("audioMix", try audioMix.written())) }
    if videoComposition != standard.1 { members.append(("videoComposition", try videoComposition.written())) }
    if export != standard.2 { members.append(("export", try export.written())) }
    return Array(JSONValue.object(members).canonicalText.utf8)
  }

  /// Reads an edit from a document that gives the place and the part of each clip, as `document()` writes it. Throws if
  /// the document has what an edit has not, such as clips that follow each other without `at`.
  ///
  /// - Parameter assets: What the files of the document's clips contain.
  public init(document: [UInt8], assets descriptions: [AssetID: AssetDescription]) throws(DocumentError) {
    let read: (value: JSONValue, duplicates: [JSONPointer])
    do {
      read = try JSONReader.read(document)
    } catch {
      let message = "not JSON at line \(error.line), column \(error.column): \(error.message)"
      throw DocumentError(problems: [Problem(pointer: "", message: message)])
    }
    if let duplicate = read.duplicates.first {
      let problem = Problem(pointer: duplicate.text, message: "this key occurs twice in its object")
      throw DocumentError(problems: [problem])
    }
    let fields = try read.value.fields(
      "a document", ["sheaf", "assets", "tracks", "videoComposition", "audioMix", "export"])
    let version = try fields.required("sheaf")
    guard case .number("1") = version.content else { throw version.problem("\(version.shown) is not version 1") }
    self.init()
    for (id, path) in try fields["assets"]?.members ?? [] { assets[id] = try path.text }
    composition.tracks = try fields.required("tracks").list { (track) throws(DocumentError) in
      try Self.track(track, descriptions)
    }
    if let mix = fields["audioMix"] { audioMix = try AudioMix(mix) }
    if let video = fields["videoComposition"] { videoComposition = try VideoComposition(video) }
    if let export = fields["export"] { self.export = try ExportSettings(export) }
    for index in videoComposition.overlays.indices {
      // The name of an asset is a font's file, and any other a family.
      guard case .text(var text) = videoComposition.overlays[index].content, assets[text.font] != nil else { continue }
      (text.fontFile, text.font) = (text.font, "sans-serif")
      videoComposition.overlays[index].content = .text(text)
    }
  }

  private static func written(_ track: CompositionTrack, at pointer: String) throws(DocumentError) -> JSONValue {
    var clips: [JSONValue] = []
    for (number, clip) in track.clips.enumerated() {
      let own = [
        ("pan", clip.pan != nil), ("audioFilters", clip.audioFilters != nil),
        ("a frozen picture", clip.source.isEmpty && clip.source.start != .zero),
      ]
      if let key = own.first(where: \.1)?.0 {
        throw DocumentError(
          problems: [
            Problem(
              pointer: "\(pointer)/clips/\(number)", message: "\(key) of a clip cannot be exported by this library yet")
          ])
      }
      clips.append(
        .object([
          ("asset", .text(clip.asset)), ("use", clip.source.isEmpty ? nil : .range(clip.source)),
          ("at", .time(clip.target.start)), ("duration", .time(clip.target.duration)),
          ("deinterlace", clip.deinterlace.map { .flag($0 == .always) }),
          ("alpha", clip.alpha.map { .text($0.rawValue) }),
          ("reverse", clip.retiming?.isReversed == true ? .flag(true) : nil),
          (
            "speed",
            clip.retiming?.speed.map { curve in
              .array(curve.points.map { .object([("at", .time($0.at)), ("value", .speed($0.speed))]) })
            }
          ),
          ("pitch", clip.pitch.map { .text($0.rawValue) }), ("layout", clip.layout.map { .text($0.rawValue) }),
        ]))
    }
    return .object([("id", .text(track.id)), ("type", .text(track.type.rawValue)), ("clips", .array(clips))])
  }

  private static func track(
    _ value: JSONValue, _ descriptions: [AssetID: AssetDescription]
  ) throws(DocumentError) -> CompositionTrack {
    let fields = try value.fields("a track", ["id", "type", "clips"])
    let type: MediaType = try fields.choice("type", "track type") ?? .video
    var track = CompositionTrack(id: try fields.required("id").text, type: type)
    track.clips = try fields.required("clips").list { (item) throws(DocumentError) in
      let fields = try item.fields(
        "a clip",
        [
          "asset", "use", "at", "duration", "deinterlace", "alpha", "reverse", "speed", "pitch", "layout",
        ])
      let asset = try fields.required("asset")
      guard let source = descriptions[try asset.text]?.defaultTrack(type) else {
        throw asset.problem("\(asset.shown) has no \(type) track, or is not described")
      }
      do {
        let target = try MediaTimeRange(
          start: try fields.required("at").time, duration: try fields.required("duration").time)
        var clip = Clip(
          asset: try asset.text, sourceTrack: source.index,
          source: try fields["use"]?.range ?? MediaTimeRange(start: .zero, duration: .zero), target: target)
        clip.deinterlace = try fields.flag("deinterlace").map { $0 ? .always : .never }
        clip.alpha = try fields.choice("alpha", "alpha")
        let points = try fields.read("speed") { (value) throws(DocumentError) in
          try value.list { (point) throws(DocumentError) in
            let fields = try point.fields("a point of a speed", ["at", "value"])
            let speed = try fields.required("value")
            guard let value = speed.speed else {
              throw speed.problem("\(speed.shown) should be a fraction such as \"1/3\"")
            }
            return SpeedCurve.Point(at: try fields.required("at").time, speed: value)
          }
        }
        let isReversed = try fields.flag("reverse") ?? false
        if isReversed || points != nil {
          clip.retiming = Retiming(isReversed: isReversed, speed: points.map { SpeedCurve(points: $0) })
        }
        clip.pitch = try fields.choice("pitch", "pitch algorithm")
        clip.layout = try fields.choice("layout", "layout of speakers")
        return clip
      } catch let error as DocumentError {
        throw error
      } catch {
        throw item.problem("\(error)")
      }
    }
    return track
  }
}

extension JSONValue {
  /// A number if it is whole, and otherwise a fraction such as "1/3".
  fileprivate static func speed(_ speed: Rational) -> JSONValue {
    speed == Rational(speed.floor) ? JSONValue(content: .number("\(speed)")) : .text("\(speed)")
  }

  /// Nil if it is none.
  fileprivate var speed: Rational? {
    switch content {
    case .number(let text), .string(let text): try? MediaTime(notation: text)?.exact
    default: nil
    }
  }
}
