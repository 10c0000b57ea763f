import CompositionModel

/// What is known of a timeline's media: where the files are, and what is in them.
package struct TimelineMedia: Sendable {
  /// A file as clips of a name mean it.
  package struct Key: Hashable, Sendable {
    var reference: MediaReference
    /// Empty if the reference has a path.
    var clip: String

    package init(_ reference: MediaReference, clip: String) {
      self.reference = reference
      self.clip = reference.path.isEmpty ? clip : ""
    }
  }

  package private(set) var found: [Key: MediaLocator.Found] = [:]
  /// The folders in which files were looked for, and that cannot be read.
  package private(set) var notes: [TimelineNote] = []
  /// By the path at which a file can be opened.
  package var facts: [String: MediaFacts] = [:]

  package init() {}

  package init(of timeline: Timeline, by locator: MediaLocator) {
    var locator = locator
    for key in timeline.media where found[key] == nil { found[key] = locator.find(key.reference, clip: key.clip) }
    notes = locator.notes.all
  }

  /// The files whose clock the timeline does not state, which have to be examined.
  package var unknown: [String] {
    Set(found.filter { $0.key.reference.available == nil }.compactMap(\.value.file)).sorted()
  }

  func facts(of key: Key) -> MediaFacts? { found[key]?.file.flatMap { facts[$0] } }
}

extension Timeline {
  /// The files of its clips and of the timelines in it.
  var media: [TimelineMedia.Key] {
    var media: [TimelineMedia.Key] = []
    for clip in tracks.flatMap(\.clips) {
      switch clip.source {
      case .media(let reference): media.append(TimelineMedia.Key(reference, clip: clip.name))
      case .timeline(let timeline): media += timeline.media
      case .picture: break
      }
    }
    return media
  }
}

extension Timeline {
  /// The size of the largest picture of the files that were examined. Nil: there is none.
  var largestPicture: PixelSize? {
    media.compactMap(\.reference.facts?.size).max { $0.width * $0.height < $1.width * $1.height }
  }

  /// The same for a file in another folder: relative paths lead to the same media.
  /// - Parameters:
  ///   - folder: Absolute, that relative paths are relative to.
  ///   - target: Absolute, that they will be relative to.
  package func movingPaths(from folder: String, to target: String) -> Timeline {
    var moved = self
    for (number, track) in tracks.enumerated() {
      for (index, item) in track.items.enumerated() {
        guard case .clip(var clip) = item else { continue }
        switch clip.source {
        case .media(var reference) where !reference.path.hasPrefix("/") && !reference.path.isEmpty:
          reference.path = MediaLocator.relative(MediaLocator.join(folder, reference.path), to: target)
          clip.source = .media(reference)
        case .timeline(let timeline): clip.source = .timeline(timeline.movingPaths(from: folder, to: target))
        case .media, .picture: break
        }
        moved.tracks[number].items[index] = .clip(clip)
      }
    }
    return moved
  }
}
