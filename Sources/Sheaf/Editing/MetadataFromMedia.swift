public import CompositionModel

extension Edit {
  /// The most values of all metadata tracks together.
  private static let greatestValueCount = 100_000

  /// Adds a metadata track with values that a file states over its time, where a track of the composition shows the
  /// file. An overlay or a compositor shows them then, as a speed beside the picture of a ride:
  ///
  ///     try edit.addMetadata(groups, of: ride, on: "A", as: "speed", isLinear: true) { group in
  ///       guard let speeds = group["gpmd/GPS5"]?.numbers, speeds.count == 5 else { return nil }
  ///       return .number(speeds[3] * 3.6)
  ///     }
  ///     edit.videoComposition.overlays.append(
  ///       .init(.metadata("speed", StyledText(text: ""), decimals: 1, suffix: " km/h")))
  /// - Parameters:
  ///   - groups: In order of time, as an `AssetReader` has them of the file.
  ///   - asset: The file.
  ///   - track: A track of the composition. Its clips of the file play forwards, each at one speed.
  ///   - id: The name of the metadata track, which no other has.
  ///   - isLinear: Whether each number goes linearly to the next one.
  ///   - value: The value of a group, a number from -1e9 to 1e9 or a text. Nil: the group has none, and is left out.
  ///     The metadata tracks of an edit have at most 100,000 values; of a sensor with hundreds of readings a second
  ///     some are taken.
  /// - Throws: `.misuse` if there is no such track, if a clip plays otherwise, or if there are too many values.
  public mutating func addMetadata(
    _ groups: [TimedMetadataGroup], of asset: AssetID, on track: TrackID, as id: TrackID, isLinear: Bool = false,
    value: (TimedMetadataGroup) -> MetadataValue?
  ) throws(SheafError) {
    guard let shown = composition.track(track) else {
      throw SheafError(.misuse, "the composition has no track '\(track)'")
    }
    let values = groups.compactMap { group in value(group).map { (group.timeRange, $0) } }
    let known = metadataTracks.reduce(0) { $0 + $1.items.count }
    var added = MetadataTrack(id: id)
    for clip in shown.clips where clip.asset == asset {
      guard clip.retiming == nil, !clip.source.isEmpty else {
        throw SheafError(
          .misuse, "the clip at \(clip.target.start) plays backwards or at a changing speed, or is a frozen picture")
      }
      do {
        added.items += try clip.timedMetadata(values, isLinear: isLinear)
      } catch {
        throw SheafError(.misuse, "the metadata of '\(asset)' have no exact place on the timeline: \(error)")
      }
      guard known + added.items.count <= Self.greatestValueCount else {
        throw SheafError(
          .misuse,
          "the metadata tracks of an edit have at most \(Self.greatestValueCount) values, and these are more; have "
            + "'value' return nil for some")
      }
    }
    metadataTracks.append(added)
  }
}

extension Clip {
  /// Values of the clip's file, on the composition's timeline.
  fileprivate func timedMetadata(
    _ values: [(range: MediaTimeRange, value: MetadataValue)], isLinear: Bool
  ) throws(TimeError) -> [TimedMetadata] {
    var items: [TimedMetadata] = []
    for (index, (range, value)) in values.enumerated() {
      let next = values.indices.contains(index + 1) ? values[index + 1] : nil
      // A number that goes to the next one lasts until then; others until the next one, if there is one sooner.
      let goesOn = isLinear && value.number != nil && next?.value.number != nil
      let until = goesOn ? next?.range.start ?? range.end : min(range.end, next?.range.start ?? range.end)
      let (first, last) = (max(range.start, source.start), min(until, source.end))
      guard first < last else { continue }
      let over = try MediaTimeRange(start: try place(of: first), end: try place(of: last))
      guard !over.isEmpty else { continue }
      switch value {
      case .text(let text): items.append(TimedMetadata(over: over, .text(text)))
      case .number(let number):
        var (from, to) = (number, number)
        if goesOn, let following = next?.value.number {
          let length = until.approximateSeconds - range.start.approximateSeconds
          func between(_ time: MediaTime) -> Double {
            let elapsed = time.approximateSeconds - range.start.approximateSeconds
            return number + (following - number) * elapsed / length
          }
          (from, to) = (between(first), between(last))
        }
        items.append(TimedMetadata(over: over, .number(from: from, to: to)))
      }
    }
    return items
  }

  /// Where the composition shows a time of the clip's file.
  private func place(of time: MediaTime) throws(TimeError) -> MediaTime {
    let speed = try target.duration.exact / source.duration.exact
    // Its end may have been rounded.
    return min(target.end, try MediaTime(place: target.start.exact + (time.exact - source.start.exact) * speed))
  }
}
