/// A document held against its media: finds every problem, and the edit where there is none.
///
/// It goes on after a problem with what is sure, and checks nothing that a part in doubt would decide: a clip whose
/// place is not known overlaps nothing, but one whose opacity is wrong does.
struct Lowering {
  let document: Document
  let assets: [AssetID: AssetDescription]
  let output: String?
  var problems: ProblemList
  /// How long an output frame lasts; for times in frames.
  var frameDuration = MediaTime(value: 1, timescale: 30)
  var tracks: [LoweredTrack] = [] {
    didSet { trackNumbers = Dictionary(tracks.enumerated().map { ($1.entry.id, $0) }) { first, _ in first } }
  }
  private var trackNumbers: [TrackID: Int] = [:]
  /// Whether everything about the clips is known, so that the film's length is.
  var isFilmKnown = false
  var film = MediaTimeRange(emptyAt: .zero)

  init(_ document: Document, assets: [AssetID: AssetDescription], output: String?, unreadable: [AssetID: String]) {
    self.document = document
    self.assets = assets.filter { unreadable[$0.key] == nil }
    self.output = output
    problems = document.problemList
    for asset in document.assets {
      if let reason = unreadable[asset.id] {
        problems.add(asset.pointer, reason)
      } else if assets[asset.id] == nil {
        problems.add(asset.pointer, "nothing is known of '\(asset.path.shortened)': it has not been described")
      }
    }
  }

  mutating func edit() -> Edit? {
    let entry = document.videoComposition
    lowerFrameDuration()
    tracks = document.tracks.map { lower($0) }
    isFilmKnown = document.hasSureTimes && tracks.allSatisfy(\.isWhole)
    let composition = Composition(tracks: tracks.flatMap(\.composed))
    if let whole = exactly(
      at: .root, { () throws(TimeError) in try MediaTimeRange(start: .zero, end: composition.duration) })
    {
      film = whole
    }
    checkDynamicRange()
    let format = pictureFormat()
    let settings = exportSettings(format)
    let instructions = entry.instructions.map { lower($0) } ?? derivedInstructions()
    let overlays = entry.overlays.compactMap { lower($0, frame: format.size) }
    let audioMix = lowerAudioMix()
    if isFilmKnown, film.isEmpty {
      problems.add(.root.key("tracks"), "the film has no frames: there is no clip on any track")
    }
    guard let settings, let size = format.size ?? (settings.video == nil ? PixelSize(width: 2, height: 2) : nil)
    else { return nil }
    let edit = Edit(
      composition: composition,
      videoComposition: VideoComposition(
        renderSize: size, frameDuration: frameDuration, instructions: instructions, overlays: overlays),
      audioMix: audioMix, export: settings)
    if (try? edit.frameCount) ?? .max > Int(Int32.max) {
      problems.add(.root, "the film has more frames than a file can hold: it lasts \(seconds(composition.duration))")
    }
    return edit
  }

  /// The track of this name, if the document has it.
  func track(_ id: TrackID) -> LoweredTrack? { trackNumbers[id].map { tracks[$0] } }

  // MARK: Times

  mutating func resolve(_ time: WrittenTime, at pointer: JSONPointer) -> MediaTime? {
    do {
      return try time.resolved(frameDuration: frameDuration)
    } catch {
      problems.add(pointer, "\(error)")
      return nil
    }
  }

  /// A range that is not empty.
  mutating func resolve(_ range: WrittenRange, at pointer: JSONPointer) -> MediaTimeRange? {
    do {
      guard let resolved = try range.resolved(frameDuration: frameDuration) else {
        problems.add(pointer, "the range ends before it starts; it is written \(WrittenRange.notations)")
        return nil
      }
      if !resolved.isEmpty { return resolved }
      problems.add(pointer, "the range \(resolved) is empty: a range goes up to its end and is without it")
    } catch {
      problems.add(pointer, "\(error)")
    }
    return nil
  }

  /// Runs an exact computation; where its result does not fit, that is a problem.
  mutating func exactly<Value>(at pointer: JSONPointer, _ compute: () throws(TimeError) -> Value) -> Value? {
    do {
      return try compute()
    } catch {
      problems.add(pointer, "\(error)")
      return nil
    }
  }
}

/// For a message: `35.2 s`, or `35.167 s (211/6)` where three digits do not say it exactly.
func seconds(_ time: MediaTime) -> String {
  guard let scaled = try? time.exact * Rational(1000) else { return "\(time) s" }
  let rounded = scaled.rounded
  let (whole, rest) = rounded.magnitude.quotientAndRemainder(dividingBy: 1000)
  var text = (rounded < 0 ? "-" : "") + "\(whole)"
  if rest != 0 {
    let digits = "\(1000 + rest)".dropFirst()
    text += "." + String(digits.reversed().drop { $0 == "0" }.reversed())
  }
  return scaled.denominator == 1 ? "\(text) s" : "\(text) s (\(time))"
}
