package import CompositionModel
package import RenderTasks

/// How far a picture may be from the time that is asked for, in seconds. Within it the place is taken that is reached
/// fastest.
package struct ImageTolerance: Sendable, Hashable {
  /// Not negative; infinity allows any.
  package var before: MediaTime
  package var after: MediaTime

  package init(before: MediaTime, after: MediaTime) {
    self.before = before
    self.after = after
  }

  package static let exact = ImageTolerance(before: .zero, after: .zero)

  /// Which picture is near enough to a time before the first picture, or after the last one is shown.
  fileprivate enum Edge {
    case first, last
  }

  /// Nil: none is.
  /// - Parameters:
  ///   - last: when the last picture begins to be shown.
  ///   - first: the same of the first one.
  fileprivate func edge(
    near time: Rational, first: Rational, last: Rational
  ) throws(TimeError) -> Edge? {
    if self == .exact { return nil }
    if time < first { return after.isNumeric ? try first - time <= after.exact ? .first : nil : .first }
    return before.isNumeric ? try time - last <= before.exact ? .last : nil : .last
  }

  /// The nearest of some times that is near enough; of two equally near ones the earlier. Nil if none is.
  /// - Parameter times: Rising.
  fileprivate func nearest(to time: Rational, of times: [Rational]) throws(TimeError) -> Int? {
    if self == .exact { return nil }
    let next = times.partitionPoint { time < $0 }
    var best: (index: Int, distance: Rational)?
    for index in [next - 1, next] where times.indices.contains(index) {
      let distance = index < next ? try time - times[index] : try times[index] - time
      let limit = index < next ? before : after
      let isNear = limit.isNumeric ? try distance <= limit.exact : true
      if isNear, best.map({ distance < $0.distance }) ?? true { best = (index, distance) }
    }
    return best?.index
  }
}

/// The still pictures of a request as parts of tasks.
package struct ImagePlan: Sendable {
  package struct Part: Sendable {
    package var part: ImagePart
    /// A picture's place is this many steps after time zero, and one step lasts so many seconds.
    package var origin: Int64
    package var step: MediaTime

    /// The time of a place in seconds.
    package func time(of place: Int64) throws(TimeError) -> Rational {
      try step.exact * Rational(Int128(place) - Int128(origin))
    }
  }

  package var parts: [Part]
  /// Why there is no picture, by its number.
  package var errors: [Int: String]
}

/// Plans single pictures of an asset or of a film. Pure.
package enum ImagePlanner {
  /// The most parts of a request, each of which is a task: twice as many as a large machine has processors, so that
  /// all of them are busy up to the end.
  private static let mostParts = 32
  /// The fewest pictures that are worth a task of their own.
  private static let fewestPictures = 4
  /// The work to convert and encode a picture, in frames that are decoded in the same time.
  private static let pictureWork = 4
  /// Frames of a film that are at most so many seconds apart are made in one go.
  private static let longestGap = MediaTime(seconds: 2)

  /// - Parameters:
  ///   - times: On the asset's timeline in seconds, by number.
  ///   - isWhole: Whether there is one part at most.
  ///   - isLabelled: Whether each picture gets its time as a label.
  package static func plan(
    _ asset: PlannedAsset, _ track: TrackDescription, _ video: VideoFormat, times: [Rational],
    tolerance: ImageTolerance, isWhole: Bool = false, isLabelled: Bool = false
  ) throws(PlanError) -> ImagePlan {
    try mapErrors(to: PlanError.time("the pictures of track \(track.index)")) { () throws(TimeError) in
      let starts = try video.keyframes.map { start throws(TimeError) in
        try track.timebase.exact * Rational(start.pts - track.origin)
      }
      let end = try track.range.end.exact
      var places: [(number: Int, place: Int64)] = []
      var lost: Set<Int> = []
      var plan = ImagePlan(parts: [], errors: [:])
      for (number, time) in times.enumerated() {
        guard time >= .zero, video.isStill || time < end else {
          let (first, last) = (video.frames.first ?? 0, video.frames.last ?? 0)
          let times = try [first, last].map { place throws(TimeError) in
            try track.timebase.exact * Rational(Int128(place) - Int128(track.origin))
          }
          switch video.isStill ? nil : try tolerance.edge(near: time, first: max(.zero, times[0]), last: times[1]) {
          case .first: places.append((number, first))
          case .last: places.append((number, last))
          case nil: plan.errors[number] = outside(track.range.end)
          }
          continue
        }
        if !video.isStill, let start = try tolerance.nearest(to: time, of: starts) {
          places.append((number, video.keyframes[start].pts))
          continue
        }
        let tick = try StoredTime.lastTick(
          dueAt: time + track.delay(ofFrameStoredAt: time), timebase: track.timebase, origin: track.origin,
          isRounded: track.hasRoundedTimes, cadence: video.cadence)
        let first = video.frames.first ?? 0
        let place = video.isStill ? first : video.frames.last(atOrBefore: tick) ?? first
        places.append((number, place))
        if let damaged = video.damagedFrames?.last(atOrBefore: tick), damaged > place { lost.insert(number) }
      }
      places.sort { ($0.place, $0.number) < ($1.place, $1.number) }
      for group in isWhole ? [places].filter({ !$0.isEmpty }) : groups(places, of: video) {
        let source = PlannedSource(pictures: group[0].place...group[group.count - 1].place, of: asset, track, video)
        var part = ImagePlan.Part(
          part: ImagePart(source: .asset(source), pictures: []), origin: track.origin, step: track.timebase)
        try part.append(group, isLabelled: isLabelled, lost: lost)
        plan.parts.append(part)
      }
      return plan
    }
  }

  /// Plans frames of a composition, whatever part of it is exported. The parameters are those of `RenderPlanner.plan`,
  /// and of the plan of an asset.
  /// - Throws: `.noPictures` if the film has sound alone, `.copied` if it is not rendered.
  package static func plan(
    _ edit: Edit, assets: [AssetID: PlannedAsset], fonts: [FontRequest: TextFonts], times: [Rational],
    tolerance: ImageTolerance, isWhole: Bool = false, isLabelled: Bool = false
  ) throws(PlanError) -> ImagePlan {
    guard let encoder = edit.export.video else {
      throw PlanError(edit.export.passthrough == nil ? .noPictures : .copied, "the film")
    }
    var edit = edit
    (edit.export.timeRange, edit.outputs) = (nil, nil)
    let frameDuration = edit.videoComposition.frameDuration
    var starts: [Int] = []
    if tolerance != .exact {
      starts = try RenderPlanner.plan(edit, assets: assets, fonts: fonts).segments.map(\.frames.lowerBound)
    }
    var plan = ImagePlan(parts: [], errors: [:])
    var places: [(number: Int, place: Int64)] = []
    try mapErrors(to: PlanError.time("a picture's time")) { () throws(TimeError) in
      let end = try edit.composition.duration.exact
      let times = (
        requested: times,
        starts: try starts.map { start throws(TimeError) in try (frameDuration * Rational(start)).exact }
      )
      for (number, time) in times.requested.enumerated() {
        guard time >= .zero, time < end else {
          let last = try (end / frameDuration.exact).ceiling - 1
          let shown = try frameDuration.exact * Rational(last)
          switch try tolerance.edge(near: time, first: .zero, last: shown) {
          case .first: places.append((number, 0))
          case .last: places.append((number, Int64(clamping: last)))
          case nil: plan.errors[number] = outside(edit.composition.duration)
          }
          continue
        }
        if let start = try tolerance.nearest(to: time, of: times.starts) {
          places.append((number, Int64(starts[start])))
        } else {
          places.append((number, Int64(clamping: try (time / frameDuration.exact).floor)))
        }
      }
    }
    places.sort { ($0.place, $0.number) < ($1.place, $1.number) }
    let gap = try mapErrors(to: PlanError.time("the frames")) { () throws(TimeError) in
      Int64(clamping: try (longestGap / frameDuration).floor)
    }
    let runs = groups(places).flatMap { withoutGaps($0, longest: gap) }
    let frames = runs.map { run in Int(run[0].place)..<(Int(run[run.count - 1].place) + 1) }
    let tasks = try RenderPlanner.tasks(edit, encoder, assets: assets, fonts: fonts, of: frames)
    for ((run, frames), task) in zip(zip(runs, frames), tasks) {
      let first = Int64(frames.lowerBound)
      var part = ImagePlan.Part(
        part: ImagePart(source: .film(task), pictures: []), origin: -first, step: frameDuration)
      try mapErrors(to: PlanError.time("a picture's time")) { () throws(TimeError) in
        try part.append(run.map { ($0.number, $0.place - first) }, isLabelled: isLabelled)
      }
      plan.parts.append(part)
    }
    return plan
  }

  private static func outside(_ end: MediaTime) -> String {
    "the time is not within the pictures, from 0 to before \(end) s"
  }

  private typealias Place = (number: Int, place: Int64)

  /// Neighbours in groups of about equal work. Pictures that are decoded from the same start are in one group, so that
  /// no frame is decoded in two tasks.
  private static func groups(_ places: [Place], of video: VideoFormat) -> [[Place]] {
    var starts: [(places: [Place], decoded: Double)] = []
    let frameTicks = video.frames.averageStep
    var latest: Int?
    for place in places {
      let next = video.keyframes.partitionPoint { place.place < $0.pts }
      if next != latest { starts.append(([], 0)) }
      latest = next
      starts[starts.count - 1].places.append(place)
      let start = next > 0 ? video.keyframes[next - 1].pts : video.frames.first ?? place.place
      starts[starts.count - 1].decoded = (Double(place.place) - Double(start)) / frameTicks
    }
    func work(_ start: (places: [Place], decoded: Double)) -> Double {
      start.decoded + Double(start.places.count * pictureWork)
    }
    let least = max(Double(fewestPictures * pictureWork), starts.reduce(0) { $0 + work($1) } / Double(mostParts))
    var groups: [(places: [Place], work: Double)] = []
    for start in starts {
      if groups.last.map({ $0.work >= least }) ?? true { groups.append(([], 0)) }
      groups[groups.count - 1].places += start.places
      groups[groups.count - 1].work += work(start)
    }
    return groups.map(\.places)
  }

  /// Neighbours in groups of about equal size. Equal places are in one group.
  private static func groups(_ places: [Place]) -> [[Place]] {
    let most = max(fewestPictures, (places.count + mostParts - 1) / mostParts)
    var groups: [[Place]] = []
    for place in places {
      if let last = groups.last, last.count < most || last.last?.place == place.place {
        groups[groups.count - 1].append(place)
      } else {
        groups.append([place])
      }
    }
    return groups
  }

  /// The parts of a group between longer gaps.
  private static func withoutGaps(_ group: [Place], longest gap: Int64) -> [[Place]] {
    var runs: [[Place]] = []
    for place in group {
      if let last = runs.last?.last, place.place - last.place <= gap {
        runs[runs.count - 1].append(place)
      } else {
        runs.append([place])
      }
    }
    return runs
  }
}

extension ImagePlan.Part {
  /// - Parameter lost: Numbers of pictures for which a later one is due that cannot be decoded.
  fileprivate mutating func append(
    _ places: [(number: Int, place: Int64)], isLabelled: Bool, lost: Set<Int> = []
  ) throws(TimeError) {
    for (number, place) in places {
      let label = isLabelled ? try self.time(of: place).clockText : nil
      part.pictures.append(
        PlannedImage(
          number: number, place: place, label: label, isInPlaceOfLost: lost.contains(number) ? true : nil))
    }
  }
}

extension Rational {
  /// Seconds as `ClockText` writes them, with the milliseconds rounded down, so that a time is not after its picture's.
  package var clockText: String {
    get throws(TimeError) { ClockText.of(milliseconds: Int64(clamping: max(0, try (self * Rational(1000)).floor))) }
  }
}

extension PlannedSource {
  /// A track for single pictures, whose stored timestamps are within a range.
  fileprivate init(
    pictures: ClosedRange<Int64>, of asset: PlannedAsset, _ track: TrackDescription, _ video: VideoFormat
  ) {
    let deinterlacing = video.deinterlacing(nil)
    let first = video.keyframes.partitionPoint { pictures.lowerBound < $0.pts } - 1
    let last = video.keyframes.partitionPoint { pictures.upperBound < $0.pts } - 1
    let neededBefore = Keyframe.neededBefore + (deinterlacing == nil ? 0 : 1)
    let starts = video.isStill ? nil : max(0, first - neededBefore)..<(last + 2)
    self.init(asset, track, video, decodeFrom: nil, starts: starts)
    self.deinterlacing = deinterlacing
  }
}
