import CompositionModel

extension Lowering {
  /// The most chapters that are carried.
  private static let mostChapters = Document.Chapter.greatestCount

  /// The chapters of the clips that are copied, on the output's own timeline.
  /// - Parameter range: What is exported.
  mutating func carriedChapters(in container: Container, range: MediaTimeRange) -> [Chapter] {
    guard document.export.carried?.contains(.chapters) ?? true else { return [] }
    let clips = copiedClips[.video] ?? copiedClips[.audio] ?? []
    let found = clips.flatMap { clip in (assets[clip.asset]?.chapters ?? []).map { (clip, $0) } }
    guard let first = found.first else { return [] }
    guard Container.withChapters.contains(container) else {
      lose(.chapter, nil, first.0.asset, "its \(found.count) chapters are left out: \(container) has none")
      return []
    }
    var chapters: [Chapter] = []
    for (clip, chapter) in found {
      let place = exact(at: document.export.pointer) { () throws(TimeError) in try clip.place(of: chapter, in: range) }
      guard let place = place ?? nil else { continue }
      let next = Chapter(range: place, title: chapter.title.map { String($0.prefix(while: { $0 != "\0" })) })
      if let last = chapters.last {
        guard last.range.start < place.start, chapters.count < Self.mostChapters else {
          lose(
            .chapter, nil, clip.asset,
            "the chapter '\(chapter.title ?? "")' at \(seconds(chapter.range.start)) is left out: "
              + (chapters.count < Self.mostChapters
                ? "another one begins there" : "there are more than \(Self.mostChapters)"))
          continue
        }
        // Chapters that lie in others end those.
        if place.start < last.range.end,
          let cut = try? MediaTimeRange(start: last.range.start, end: place.start)
        {
          chapters[chapters.count - 1].range = cut
        }
      }
      chapters.append(next)
    }
    return chapters
  }
}

extension Clip {
  /// What the clip has of a chapter of its asset, on the timeline of an output. Nil: nothing.
  fileprivate func place(of chapter: Chapter, in range: MediaTimeRange) throws(TimeError) -> MediaTimeRange? {
    let shift = try target.start - source.start
    let start = try max(chapter.range.start, source.start) + shift
    let end = try min(chapter.range.end, source.end) + shift
    let (from, to) = (max(start, range.start), min(end, range.end, target.end))
    guard from < to else { return nil }
    return try MediaTimeRange(start: from - range.start, end: to - range.start)
  }
}
