import CompositionModel

extension Document.MetadataTrack {
  static let type = MediaType.metadata.rawValue
  static let instead = [
    "clips": "a metadata track has 'values'", "items": "did you mean 'values'?", "samples": "did you mean 'values'?",
    "name": "did you mean 'id'?", "easing": "did you mean 'interpolation'?",
  ]
  static let insteadOfItems = [
    "time": "did you mean 'at'?", "start": "did you mean 'at'?", "range": "did you mean 'over'?",
    "text": "did you mean 'value'?", "number": "did you mean 'value'?",
  ]
  /// The most values of a film.
  static let greatestCount = 100_000
  /// Numbers are written with up to `TrackText.greatestDecimals` decimals in texts.
  static let numbers = -1e9...1e9

  var hasTexts: Bool { if case .text? = values.first?.content { true } else { false } }

  /// The indices of the values in order of time, with their ranges. Nil if they overlap.
  func placed(frameDuration: MediaTime) throws(TimeError) -> [(index: Int, over: MediaTimeRange)]? {
    var placed: [(index: Int, over: MediaTimeRange)] = []
    for (index, item) in values.enumerated() {
      switch item.when {
      case .at(let time):
        guard let time = try time.resolved(frameDuration: frameDuration) else { return nil }
        placed.append((index, MediaTimeRange(emptyAt: time)))
      case .over(let range):
        guard let range = try range.resolved(frameDuration: frameDuration) else { return nil }
        placed.append((index, range))
      }
    }
    placed.sort { $0.over.start < $1.over.start }
    let areApart = zip(placed, placed.dropFirst()).allSatisfy {
      $0.over.end <= $1.over.start && $0.over.start < $1.over.start
    }
    return areApart ? placed : nil
  }

  /// One of the values as it is on the film's timeline. Nil if it has no time.
  /// - Parameters:
  ///   - placed: All values in order of time.
  ///   - end: How long the last value stays that is given at a time.
  func value(
    _ number: Int, of placed: [(index: Int, over: MediaTimeRange)], until end: MediaTime
  ) throws(TimeError) -> TimedMetadata? {
    let (index, range) = placed[number]
    let next = number + 1 < placed.count ? placed[number + 1] : nil
    var (over, content) = (range, values[index].content)
    if case .at = values[index].when {
      over = try MediaTimeRange(start: range.start, end: max(next?.over.start ?? end, range.start))
      if interpolation == .linear, let next, case .number(let from, _) = content,
        case .number(let to, _) = values[next.index].content
      {
        content = .number(from: from, to: to)
      }
    }
    return over.isEmpty ? nil : TimedMetadata(over: over, content)
  }
}

/// The use of a metadata track, with its place in the document.
struct MetadataUse: Sendable {
  var track: TrackID
  var pointer: JSONPointer
}

extension DocumentReader {
  /// Whether a track is one of metadata.
  static func isMetadataTrack(_ value: JSONValue) -> Bool {
    guard case .object(let members) = value.content else { return false }
    return members.contains { key, member in
      if key == "type", case .string(Document.MetadataTrack.type) = member.content { true } else { false }
    }
  }

  /// Reads a metadata track. Nil if its name cannot be used.
  mutating func metadataTrack(_ value: JSONValue) -> Document.MetadataTrack? {
    guard let fields = fields(value, MetadataTrackKeys.table) else { return nil }
    var track = Document.MetadataTrack("")
    track.pointer = fields.pointer
    read(fields, MetadataTrackKeys.properties, into: &track)
    let written = fields["values"].map { items($0, "values") } ?? []
    metadataCount += written.count
    guard metadataCount <= Document.MetadataTrack.greatestCount else {
      problems.add(
        fields.pointer.key("values"),
        "the metadata tracks have \(metadataCount) values; at most \(Document.MetadataTrack.greatestCount) are allowed")
      return nil
    }
    for item in written {
      guard let item = metadataValue(item) else { continue }
      let isText = if case .text = item.content { true } else { false }
      if track.values.isEmpty || isText == track.hasTexts {
        track.values.append(item)
      } else {
        problems.add(
          item.pointer.key("value"),
          "the track has \(track.hasTexts ? "texts" : "numbers"), and this is a \(isText ? "text" : "number")")
      }
    }
    if track.hasTexts, track.interpolation == .linear, let value = fields["interpolation"] {
      problems.add(value.pointer, "texts cannot be interpolated; \"linear\" is for numbers")
    }
    return track.id.isEmpty ? nil : track
  }

  mutating func metadataValue(_ value: JSONValue) -> Document.MetadataValue? {
    guard let fields = fields(value, MetadataTrackKeys.valueTable) else { return nil }
    let content = metadataContent(fields["value"], hasRange: fields.has("over"))
    guard fields.has("over") || fields.has("at"), let time = rampTime(fields, .plain), let content else {
      return nil
    }
    var item = Document.MetadataValue(time.when, content)
    item.pointer = fields.pointer
    return item
  }

  private mutating func metadataContent(_ value: JSONValue?, hasRange: Bool) -> TimedMetadata.Content? {
    guard let value else { return nil }
    switch value.content {
    case .string(let text):
      let greatest = OverlayEntry.greatestTextLength
      guard text.unicodeScalars.count <= greatest, !text.utf8.contains(0) else {
        problems.addShape(
          value.pointer, "a text has at most \(greatest) characters, and none of them is a null character")
        return nil
      }
      return .text(text)
    case .number:
      return number(value, in: Document.MetadataTrack.numbers).map { .number(from: $0, to: $0) }
    case .array(let ends) where hasRange && ends.count == 2:
      let (from, to) = (
        number(ends[0], in: Document.MetadataTrack.numbers), number(ends[1], in: Document.MetadataTrack.numbers)
      )
      guard let from, let to else { return nil }
      return .number(from: from, to: to)
    default:
      problems.addShape(
        value.pointer,
        "\(value.shown) should be a number or a text"
          + (hasRange ? ", or the numbers at the start and at the end of 'over', such as [0, 1]" : ""))
      return nil
    }
  }

  /// A reference to a metadata track, which is checked when all tracks are known.
  mutating func metadataReference(_ value: JSONValue?) -> TrackID? {
    guard let value, let id = string(value) else { return nil }
    metadataUses.append(MetadataUse(track: id, pointer: value.pointer))
    return id
  }

  /// Reports uses of metadata tracks that the document does not have.
  mutating func checkMetadataUses(_ tracks: [Document.MetadataTrack]) {
    guard names.tracksAreKnown, !isOfPart else { return }
    let known = Set(tracks.map(\.id))
    for use in metadataUses where !known.contains(use.track) {
      if names.tracks[use.track] != nil {
        problems.add(use.pointer, "track '\(use.track.shortened)' is not a metadata track")
      } else if tracks.isEmpty {
        problems.add(
          use.pointer, "there is no track '\(use.track.shortened)': the document has no metadata track")
      } else {
        problems.add(
          use.pointer,
          "there is no metadata track '\(use.track.shortened)'"
            + suggestion(for: use.track, amongDeclared: tracks.map(\.id)))
      }
    }
  }
}

extension Lowering {
  /// The metadata tracks on the composition's timeline.
  mutating func lowerMetadataTracks() -> [MetadataTrack] {
    document.metadataTracks.map { track in
      guard let placed = ordered(track.values.map { ($0.when, $0.pointer) }, noun: "value") else {
        return MetadataTrack(id: track.id)
      }
      var lowered = MetadataTrack(id: track.id)
      let end = film.end
      for number in placed.indices {
        let item = exact(at: track.values[placed[number].index].pointer) { () throws(TimeError) in
          // The last value stays to the end of the film.
          try track.value(number, of: placed, until: end)
        }
        if let item = item ?? nil { lowered.items.append(item) }
      }
      return lowered
    }
  }

  /// Metadata tracks that nothing uses, one warning each.
  func addUnusedMetadata(to warnings: inout ProblemList) {
    for track in document.metadataTracks where !document.usedMetadataTracks.contains(track.id) {
      warnings.add(track.pointer, "nothing uses the metadata track '\(track.id.shortened)'")
    }
  }
}

// MARK: Numbers

extension DocumentReader {
  /// Reads a metadata track whose numbers are those of an overlay: `{"track": "level"}`.
  /// - Returns: Whether the value is one, and the track, if it can be used.
  mutating func numberTrack(
    _ value: JSONValue?, in range: ClosedRange<Double>
  ) -> (isWritten: Bool, track: TrackID?) {
    guard let value, case .object = value.content else { return (false, nil) }
    guard let fields = fields(value, NumberTrackKeys.table), let track = metadataReference(fields["track"])
    else { return (true, nil) }
    if isOfPart { return (true, track) }
    guard let entry = metadataTracks.first(where: { $0.id == track })
    else { return (true, nil) }
    let pointer = fields.pointer.key("track")
    numberTrackCount += 1
    guard numberTrackCount <= TrackText.greatestOverlayCount else {
      problems.add(
        pointer, "at most \(TrackText.greatestOverlayCount) numbers of overlays may come from metadata tracks")
      return (true, nil)
    }
    guard !entry.hasTexts else {
      problems.add(pointer, "the track '\(track.shortened)' has texts; a number is needed")
      return (true, nil)
    }
    for item in entry.values {
      guard case .number(let from, let to) = item.content, !range.contains(from) || !range.contains(to) else {
        continue
      }
      problems.add(
        pointer,
        "the track '\(track.shortened)' has \(plain(range.contains(from) ? to : from)) (\(item.pointer.text)); from "
          + "\(plain(range.lowerBound)) to \(plain(range.upperBound)) is possible")
      return (true, nil)
    }
    return (true, track)
  }
}

extension Lowering {
  /// Gives an overlay the numbers of its metadata tracks: an opacity, which is 0 where the track has no value, and a
  /// rotation, which stays there as it was.
  func drive(_ overlay: inout Overlay, _ entry: OverlayEntry) {
    func numbers(_ id: TrackID) -> [(over: MediaTimeRange, from: Double, to: Double)] {
      (metadata.first { $0.id == id }?.items ?? []).compactMap { item in
        if case .number(let from, let to) = item.content { (item.over, from, to) } else { nil }
      }
    }
    if let track = entry.opacityTrack {
      var ramps = [Ramp(over: MediaTimeRange(emptyAt: RampList.earliest), from: 0, to: 0)]
      let numbers = numbers(track)
      for (index, number) in numbers.enumerated() {
        ramps.append(Ramp(over: number.over, from: number.from, to: number.to))
        if index + 1 == numbers.count || numbers[index + 1].over.start != number.over.end {
          ramps.append(Ramp(over: MediaTimeRange(emptyAt: number.over.end), from: 0, to: 0))
        }
      }
      overlay.ramps = RampList(ramps)
    }
    if let track = entry.rotationTrack {
      var turns = ValueRampList.constant(TransformComponents())
      turns.ramps += numbers(track).map { number in
        ValueRamp(
          over: number.over, from: TransformComponents(rotation: number.from),
          to: TransformComponents(rotation: number.to))
      }
      var geometry = overlay.geometry ?? LayerGeometry()
      geometry.transform = .turn(turns)
      overlay.geometry = geometry
    }
  }
}
