import CompositionModel
import Media
import Segmenter

/// The frames of one planned source by time: opened when first asked for, closed when the owner lets go of it.
///
/// Times mostly rise. Where two layers show the same source at different times there is a cursor for each; a time that
/// goes back beyond every cursor starts one again.
final class SourceStream {
  private let source: PlannedSource
  private let input: any ByteSource
  /// How many layers may show the source at once.
  private let capacity: Int
  /// Least recently used first.
  private var cursors: [SourceCursor] = []
  private var still: Frame?

  init(_ source: PlannedSource, input: any ByteSource, capacity: Int) {
    self.source = source
    self.input = input
    self.capacity = max(1, capacity)
  }

  /// The frame shown at a time of the asset. Of a still, its only one.
  func frame(at time: Rational) throws(RenderError) -> Frame {
    if source.video.isStill { return try onlyFrame() }
    let tick = try source.tick(at: time)
    let nearest = cursors.indices.filter { cursors[$0].canServe(tick) }
      .max { cursors[$0].current.pts < cursors[$1].current.pts }
    let cursor: SourceCursor
    if let nearest {
      cursor = cursors.remove(at: nearest)
    } else {
      if cursors.count == capacity { cursors.removeFirst() }
      cursor = try SourceCursor(source, input: input, at: tick)
    }
    cursors.append(cursor)
    return try cursor.frame(at: tick)
  }

  /// The picture of a still, or the first frame of anything else; the decoder is closed at once.
  func onlyFrame() throws(RenderError) -> Frame {
    if let still { return still }
    let frame = try SourceCursor(source, input: input, at: .min).current
    still = frame
    return frame
  }
}
