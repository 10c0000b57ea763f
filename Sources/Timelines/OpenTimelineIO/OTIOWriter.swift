import CompositionModel
import EditDocument
import FoundationEssentials

/// Writes the JSON of OpenTimelineIO.
struct OTIOWriter {
  private(set) var notes: [TimelineNote] = []
  private let rate: Rational?

  static func write(_ timeline: Timeline) throws(TimelineError) -> (bytes: [UInt8], notes: [TimelineNote]) {
    var writer = OTIOWriter(rate: timeline.rate)
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    do {
      var root = OTIOObject("Timeline.1", name: timeline.name)
      root.tracks = OTIOBox(try writer.stack(timeline, name: "tracks"))
      // It states the rate, whichever the first clip's media have.
      if timeline.rate != nil { root.globalStartTime = writer.time(timeline.startTime ?? .zero, of: "") }
      return (try [UInt8](encoder.encode(root)) + [UInt8(ascii: "\n")], writer.notes)
    } catch let error as TimeError {
      throw TimelineError(error)
    } catch {
      throw TimelineError("", "\(error)")
    }
  }

  private init(rate: Rational?) { self.rate = rate }

  private mutating func stack(_ timeline: Timeline, name: String) throws -> OTIOObject {
    var stack = OTIOObject("Stack.1", name: name)
    stack.children = try timeline.tracks.map { try track($0) }
    stack.markers = []
    for marker in timeline.markers {
      var written = OTIOObject("Marker.2", name: marker.name)
      written.markedRange = range(marker.time, .zero, of: marker.place)
      stack.markers?.append(written)
    }
    return stack
  }

  private mutating func track(_ track: TimelineTrack) throws -> OTIOObject {
    var written = OTIOObject("Track.1", name: track.name)
    written.kind = track.type == .audio ? "Audio" : "Video"
    written.children = try track.items.map { try item($0) }
    return written
  }

  private mutating func item(_ item: TimelineItem) throws -> OTIOObject {
    switch item {
    case .gap(let duration):
      var gap = OTIOObject("Gap.1", name: "")
      gap.sourceRange = range(.zero, duration, of: "")
      return gap
    case .transition(let transition):
      var written = OTIOObject("Transition.1", name: transition.name)
      written.inOffset = time(transition.before, of: transition.place)
      written.outOffset = time(transition.after, of: transition.place)
      OTIOTransitions.write(transition.style, to: &written)
      if transition.style.matte != nil {
        note(transition.place, "the matte of the transition", "not taken: OpenTimelineIO has none")
      }
      if transition.curve != nil {
        note(transition.place, "'sound' of the transition", "not taken: OpenTimelineIO has no curves")
      }
      return written
    case .clip(let clip): return try self.clip(clip)
    }
  }

  private mutating func clip(_ clip: TimelineClip) throws -> OTIOObject {
    for key in clip.settings.writtenKeys {
      note(
        "\(clip.place)/\(key)", "'\(key)' of the clip '\(clip.name)'", "not taken: OpenTimelineIO has no such property")
    }
    var written: OTIOObject
    switch clip.source {
    case .timeline(let timeline):
      written = try stack(timeline, name: clip.name)
    case .media(let reference):
      written = OTIOObject("Clip.1", name: clip.name)
      var media = OTIOObject("ExternalReference.1")
      media.targetURL = MediaPath.url(ofPath: reference.path)
      if let available = reference.available, let duration = available.duration {
        media.availableRange = range(available.start, duration, of: clip.place)
      }
      written.mediaReference = OTIOBox(media)
    case .picture(let picture):
      written = OTIOObject("Clip.1", name: clip.name)
      if case .color(let color)? = picture.fill, picture == DrawnPicture(color: color) {
        written.mediaReference = OTIOBox(OTIOGenerators.reference(color))
      } else {
        note(
          clip.place, "the drawn picture of the clip '\(clip.name)'",
          "missing media: of drawn pictures OpenTimelineIO has those of one colour that have no size")
        written.mediaReference = OTIOBox(OTIOObject("MissingReference.1"))
      }
    }
    written.sourceRange = range(clip.start, clip.duration, of: clip.place)
    switch clip.motion {
    case .speed(.one): break
    case .speed(let speed):
      var warp = OTIOObject("LinearTimeWarp.1", name: "")
      warp.effectName = "LinearTimeWarp"
      warp.timeScalar = OTIONumber(speed.approximate)
      written.effects = [warp]
    case .frozen:
      var freeze = OTIOObject("FreezeFrame.1", name: "")
      freeze.effectName = "FreezeFrame"
      freeze.timeScalar = OTIONumber(0)
      written.effects = [freeze]
    }
    return written
  }

  private mutating func note(_ place: String, _ item: String, _ reason: String) {
    notes.append(TimelineNote(place, item, reason))
  }

  private mutating func range(_ start: Rational, _ duration: Rational, of place: String) -> OTIORange {
    OTIORange(start: time(start, of: place), duration: time(duration, of: place))
  }

  /// In frames, if it is a whole number of them, and else exact at a rate of its own.
  private mutating func time(_ time: Rational, of place: String) -> OTIOTime {
    if let rate, let frames = Self.frames(time, rate) {
      return OTIOTime(value: OTIONumber(frames.approximate), rate: OTIONumber(rate.approximate))
    }
    let most: Int128 = 1 << 53
    if time.numerator.magnitude > most || time.denominator > most {
      note(place, "the time \(time) s", "not exact: OpenTimelineIO's numbers have 53 bits")
    }
    return OTIOTime(
      value: OTIONumber(Double(time.numerator)), rate: OTIONumber(Double(time.denominator)))
  }

  /// Nil: it is no whole number of frames.
  private static func frames(_ time: Rational, _ rate: Rational) -> Rational? {
    do throws(TimeError) {
      let frames = try time * rate
      return frames.denominator == 1 && frames.magnitude <= Rational(1 << 53) ? frames : nil
    } catch {
      return nil  // It is too finely divided to be one.
    }
  }
}
