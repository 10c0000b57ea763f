package import CompositionModel

/// The layers of an instruction that a compositor of the author's own makes into one picture.
package struct PlannedCompositor: Sendable, Hashable, Codable {
  package struct Source: Sendable, Hashable, Codable {
    package var track: TrackID
    package var clip: ClipLayer

    package init(track: TrackID, clip: ClipLayer) {
      self.track = track
      self.clip = clip
    }
  }

  /// The first is on top. Tracks in a gap are left out.
  package var sources: [Source]
  /// The position in the instruction's whole time, 0…1, on the segment's clock.
  package var progress: Ramp
  /// The time of the film at the segment's first frame: the compositor is given the time of the film.
  package var filmStart: MediaTime
  package var compositor: CustomCompositor

  package init(sources: [Source], progress: Ramp, filmStart: MediaTime, compositor: CustomCompositor) {
    self.sources = sources
    self.progress = progress
    self.filmStart = filmStart
    self.compositor = compositor
  }
}

extension PlannedLayer {
  /// Nil if no compositor of the author's own makes its picture.
  package var customCompositor: CustomCompositor? {
    switch self {
    case .clip: return nil
    case .transition(_, _, _, let style, _):
      if case .custom(let compositor) = style?.kind { return compositor } else { return nil }
    case .compositor(let layer): return layer.compositor
    }
  }
}

extension VideoTask {
  /// The compositors of the author's own that the task needs, each once, in order of first appearance.
  package var compositors: [CustomCompositor] {
    var seen: Set<CustomCompositor> = []
    return spans.flatMap(\.layers).compactMap(\.customCompositor).filter { seen.insert($0).inserted }
  }
}

/// The compositors that a worker's program has: a part of its build, so that a worker without one, or with another
/// revision of it, is another build.
package struct LinkedCompositors: Sendable, Hashable {
  /// Sorted by name.
  package var list: [Entry]

  package struct Entry: Sendable, Hashable {
    package var name: String
    package var revision: Int

    package init(name: String, revision: Int) {
      self.name = name
      self.revision = revision
    }
  }

  private static let start = ", compositors "

  package init(_ list: [Entry]) {
    self.list = list.sorted { ($0.name, $0.revision) < ($1.name, $1.revision) }
  }

  /// Those of a build.
  package init(build: String) {
    guard let start = build.ranges(of: Self.start).last else {
      list = []
      return
    }
    list = build[start.upperBound...].split(separator: " ").compactMap { part in
      guard let at = part.lastIndex(of: ":"), let revision = Int(part[part.index(after: at)...]) else { return nil }
      return Entry(name: String(part[..<at]), revision: revision)
    }
  }

  /// What follows the rest of a build, such as `, compositors blinds:1 ripple:3`. Empty if there are none.
  package var buildPart: String {
    list.isEmpty ? "" : Self.start + list.map { "\($0.name):\($0.revision)" }.joined(separator: " ")
  }

  package var names: Set<String> { Set(list.map(\.name)) }
}
