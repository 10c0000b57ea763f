import CompositionModel
import Media
import RenderTasks

/// The sources that a segment's clips and masks show. Each is opened when it is first needed and closed after the last
/// span that shows it. The decoder of one that is closed may go on for a later one of the same track.
final class SourceStreams {
  typealias Source = (stream: SourceStream, fitter: SourceFitter)

  private let task: VideoTask
  private let inputs: [String: any ByteSource]
  private let liveness: Liveness?
  /// Makes the frames of sources that are edits.
  private let nesting: (NestedPictures) throws(RenderError) -> any NestedFrameSource
  /// The last span that shows each source, by index in `task.sources`.
  private let lastSpan: [Int: Int]
  /// By index in `task.sources`.
  private var open: [Int: Source] = [:]
  /// Streams that are not needed any more, of tracks that later sources show too: one of each track, by index in
  /// `task.sources`.
  private var ended: [Int: SourceStream] = [:]

  /// - Parameters:
  ///   - liveness: Advanced with every picture that is decoded.
  ///   - nesting: Makes the frames of sources that are edits.
  init(
    _ task: VideoTask, inputs: [String: any ByteSource], liveness: Liveness?,
    nesting: @escaping (NestedPictures) throws(RenderError) -> any NestedFrameSource
  ) {
    (self.task, self.inputs, self.liveness, self.nesting) = (task, inputs, liveness, nesting)
    var lastSpan: [Int: Int] = [:]
    for (index, span) in task.spans.enumerated() {
      for clip in span.clips {
        lastSpan[clip.source] = index
        if let mask = clip.mask { lastSpan[mask.source] = index }
      }
    }
    self.lastSpan = lastSpan
  }

  /// The source with an index.
  func source(_ index: Int) throws(RenderError) -> Source {
    if let known = open[index] { return known }
    let source = task.sources[index]
    let uses =
      task.spans.map { span in
        span.clips.count { $0.source == index } + span.clips.count { $0.mask?.source == index }
      }.max() ?? 1
    let stream: SourceStream
    if let made = try made(source) {
      stream = made
    } else {
      stream = SourceStream(
        source, input: try input(source), capacity: uses, after: takeEnded(source), liveness: liveness)
    }
    let opened = (stream: stream, fitter: SourceFitter(source, format: task.format))
    open[index] = opened
    return opened
  }

  /// A stream that the caller keeps, of a source that one layer shows.
  func single(_ source: PlannedSource) throws(RenderError) -> SourceStream {
    if let made = try made(source) { return made }
    return SourceStream(source, input: try input(source), capacity: 1, liveness: liveness)
  }

  /// Nil: the pictures are stored.
  private func made(_ source: PlannedSource) throws(RenderError) -> SourceStream? {
    if let nested = source.nested { return SourceStream(source, nested: try nesting(nested)) }
    guard let painter = PicturePainter(source.video) else { return nil }
    let frame = source.video.hasAlpha ? try painter.placeholder() : try painter.frame(source.video.size, task.format)
    return SourceStream(source, drawn: frame)
  }

  /// Closes the sources that no span after this one shows. Returns their indices.
  func end(span: Int) -> [Int] {
    let closed = lastSpan.filter { $0.value == span }.keys.sorted()
    for index in closed {
      let ending = open.removeValue(forKey: index)?.stream
      let source = task.sources[index]
      _ = takeEnded(source)
      let isShownAgain = lastSpan.contains { other, last in
        last > span && open[other] == nil && task.sources[other].isOfSameTrack(as: source)
      }
      if isShownAgain { ended[index] = ending }
    }
    return closed
  }

  /// The stream of an earlier source of the same track, which is not kept any more.
  private func takeEnded(_ source: PlannedSource) -> SourceStream? {
    guard let found = ended.keys.first(where: { task.sources[$0].isOfSameTrack(as: source) }) else { return nil }
    return ended.removeValue(forKey: found)
  }

  private func input(_ source: PlannedSource) throws(RenderError) -> any ByteSource {
    guard let input = inputs[source.digest] else {
      throw RenderError(.task, "\(source.title) is not among the task's inputs")
    }
    return input
  }
}
