package import CompositionModel

/// When the parts of a document are in its film: clips, the assets that they use, transitions between clips, and
/// overlays with their assets. Other parts are about the film as a whole.
package struct FilmTimes: Sendable {
  private var parts: [(pointer: JSONPointer, range: MediaTimeRange)] = []

  fileprivate mutating func add(_ pointer: JSONPointer?, _ range: MediaTimeRange) {
    if let pointer { parts.append((pointer, range)) }
  }

  /// The ranges of the parts at some pointers, or of the nearest parts around them, on the composition's timeline.
  /// A part that is in the film several times has several, in no order. What has none is left out.
  package func ranges(at pointers: Set<String>) -> [String: [MediaTimeRange]] {
    if pointers.isEmpty { return [:] }
    // The parts that are asked for, with the places around them: the text of each part is only looked up.
    let around = Dictionary(uniqueKeysWithValues: pointers.map { ($0, Self.places(around: $0)) })
    let wanted = Set(around.values.joined())
    var found: [String: [MediaTimeRange]] = [:]
    for part in parts {
      let text = part.pointer.text
      if wanted.contains(text) { found[text, default: []].append(part.range) }
    }
    return around.compactMapValues { places in places.lazy.compactMap { found[$0] }.first }
  }

  /// The pointer itself, then the places around it from the nearest on.
  private static func places(around pointer: String) -> [String] {
    var places: [String] = []
    var place = pointer[...]
    while !place.isEmpty {
      places.append(String(place))
      place = place[..<(place.lastIndex(of: "/") ?? place.startIndex)]
    }
    return places
  }
}

extension Lowering {
  /// - Parameter edit: The edit that this has made.
  func times(_ edit: Edit) -> FilmTimes {
    let pointers =
      document.assets.map { ($0.id, $0.pointer) } + document.pictures.map { ($0.id, $0.pointer) }
      + document.nested.map { ($0.id, $0.pointer) }
    let assets = Dictionary(pointers) { first, _ in first }
    var times = FilmTimes()
    for track in tracks {
      for (range, clip) in track.clips.entries {
        times.add(clip.entry.pointer, range)
        times.add(assets[clip.clip.asset], range)
      }
      for transition in track.transitions { times.add(transition.pointer, transition.range) }
    }
    for (overlay, pointer) in zip(edit.videoComposition.overlays, overlayPlaces) {
      times.add(pointer, overlay.over)
      switch overlay.content {
      case .image(let asset, _, _): times.add(assets[asset], overlay.over)
      case .video(let video): times.add(assets[video.asset], overlay.over)
      case .waveform(let waveform):
        if case .asset(let asset, _) = waveform.sound { times.add(assets[asset], overlay.over) }
      case .text: break
      }
    }
    return times
  }
}
