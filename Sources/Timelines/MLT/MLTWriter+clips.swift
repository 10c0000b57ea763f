import CompositionModel
import EditDocument

// Clips as entries of playlists.

extension MLTWriter {
  /// - Parameter count: Frames of the film.
  mutating func entry(
    _ whole: WholeClip, _ count: Int, on track: TimelineTrack
  ) throws(TimeError) -> XMLNode {
    let clip = whole.clip
    let (id, first, filters) = try source(of: clip, count, on: track)
    let used = first..<first + count
    var entry = XMLNode("entry", ["producer": id, "in": "\(first)", "out": "\(used.upperBound - 1)"], filters)
    let isHeard = track.type == .audio || track.hasSound && clip.settings.sound != .drop
    var taken: Set = ["sound", "pitch"]
    if isHeard, case .constant(let volume)? = clip.settings.volume {
      taken.insert("volume")
      entry.children.append(Self.filter(used, [("mlt_service", "volume"), ("gain", plain(volume))]))
    }
    if let fade = whole.fadeIn {
      let length = min(count, try nearest(fade.duration, fade.place, "the transition '\(fade.name)'"))
      noteStyle(of: fade, on: track.type, as: "a fade")
      let range = first..<first + length
      entry.children += Self.fades(range, isIn: true, isOfPicture: track.type == .video, isHeard: isHeard)
    }
    if let fade = whole.fadeOut {
      let length = min(count, try nearest(fade.duration, fade.place, "the transition '\(fade.name)'"))
      noteStyle(of: fade, on: track.type, as: "a fade")
      let range = used.upperBound - length..<used.upperBound
      entry.children += Self.fades(range, isIn: false, isOfPicture: track.type == .video, isHeard: isHeard)
    }
    for key in clip.settings.writtenKeys where !taken.contains(key) {
      notes.add("\(clip.place)/\(key)", "'\(key)' of the clip '\(clip.name)'", "not taken: it has no equal in MLT")
    }
    return entry
  }

  /// The service that an entry plays, from which of its frames on, and what makes it stand still.
  private mutating func source(
    of clip: TimelineClip, _ count: Int, on track: TimelineTrack
  ) throws(TimeError) -> (id: String, first: Int, filters: [XMLNode]) {
    let shown = "the clip '\(clip.name)'"
    switch clip.source {
    case .picture(let picture):
      var color = DocumentOfTimeline.nothing
      if case .color(let own)? = picture.fill, picture == DrawnPicture(color: own) {
        color = own
      } else {
        notes.add(clip.place, "the drawn picture of \(shown)", "nothing: MLT has those of one colour without a size")
      }
      let made = MLTProducer(resource: MLTColors.text(color), service: "color", name: clip.name, length: count)
      return (producer(made), 0, [])
    case .timeline(let timeline):
      if clip.motion != .speed(.one) {
        notes.add(clip.place, "the speed of \(shown)", "its own: MLT has other speeds of files alone")
      }
      if clip.settings.sound == .drop {
        notes.add("\(clip.place)/sound", "'sound' of \(shown)", "kept: of a document within another MLT has all")
      }
      return (try nested(timeline), try nearest(clip.start, clip.place, "the start of \(shown)"), [])
    case .media(let reference):
      var made = MLTProducer(resource: reference.path)
      let file = MediaPath.name(of: reference.path)
      if ![file, MediaPath.stem(file)].contains(clip.name) { made.name = clip.name }
      guard !(reference.facts?.isStill ?? MediaPath.isStill(reference.path)) else {
        made.length = count
        return (producer(made), 0, [])
      }
      made.service = "avformat"
      made.isSilent = track.type == .video && track.hasSound && clip.settings.sound == .drop
      // MLT counts from the first picture, whichever timecode it has.
      let start = try clip.start - (reference.available?.start ?? .zero)
      guard case .speed(let speed) = clip.motion else {
        let frame = try nearest(start, clip.place, "the start of \(shown)")
        (made.length, made.isSilent) = (max(count, frame + 1), track.hasSound)
        return (
          producer(made), 0, [Self.filter(0..<count, [("mlt_service", "freeze"), ("frame", "\(frame)")])]
        )
      }
      made.speed = speed
      made.keepsPitch = speed != .one && clip.settings.pitch != .varispeed
      let first = try nearest(start / speed.magnitude, clip.place, "the start of \(shown)")
      guard speed < .zero else { return (producer(made), first, []) }
      // Backwards it counts from its end, for which the end of the part that is used serves.
      made.length = first + count
      return (producer(made), 0, [])
    }
  }

  private static func filter(_ range: Range<Int>, _ properties: [(String, String)]) -> XMLNode {
    XMLNode(
      "filter", ["in": "\(range.lowerBound)", "out": "\(range.upperBound - 1)"], Self.properties(properties))
  }

  private static func fades(_ range: Range<Int>, isIn: Bool, isOfPicture: Bool, isHeard: Bool) -> [XMLNode] {
    guard !range.isEmpty else { return [] }
    let ends = isIn ? ("0", "1") : ("1", "0")
    var filters: [XMLNode] = []
    if isOfPicture {
      filters.append(
        filter(
          range,
          [
            ("mlt_service", "brightness"), ("kdenlive_id", isIn ? "fade_from_black" : "fade_to_black"),
            ("alpha", "0=\(ends.0);\(range.count)=\(ends.1)"), ("level", "1"),
          ]))
    }
    if isHeard {
      filters.append(
        filter(
          range,
          [
            ("mlt_service", "volume"), ("kdenlive_id", isIn ? "fadein" : "fadeout"), ("gain", ends.0),
            ("end", ends.1),
          ]))
    }
    return filters
  }
}

extension MLTColors {
  /// `#aarrggbb`.
  static func text(_ color: Color) -> String {
    func two(_ code: UInt8) -> String { (code < 16 ? "0" : "") + String(code, radix: 16) }
    return "#" + two(color.alpha) + two(color.red) + two(color.green) + two(color.blue)
  }
}
