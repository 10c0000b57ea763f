import CompositionModel
import RenderTasks

/// Plans what is shown of an edit that is an asset of another one: the frames of its own film, in the pixel format and
/// the colours of the film that shows them. So a frame that is shown whole, in a film of its size, is the frame that
/// its own film would have there.
struct NestedPlanner {
  /// The edits that are planned for a film. One that is shown several times, or within others, is planned each time.
  final class Count {
    /// The most of one segment: each has decoders and frames of its own.
    static let greatestOfSegment = 500
    static let greatestOfFilm = 50_000

    private var (film, segment) = (0, 0)

    func beginSegment() { segment = 0 }

    func add(_ id: AssetID) throws(PlanError) {
      (film, segment) = (film + 1, segment + 1)
      guard segment <= Self.greatestOfSegment, film <= Self.greatestOfFilm else {
        throw PlanError(
          .tooManyNested(segment: Self.greatestOfSegment, film: Self.greatestOfFilm), "the document '\(id)'")
      }
    }
  }

  /// The format of the film that shows them.
  let format: VideoTaskFormat
  let fonts: [FontRequest: TextFonts]
  let count: Count

  /// - Parameters:
  ///   - shown: Frames of the asset's film; those that it does not have are left out.
  ///   - sources: Of the film that shows them.
  /// - Returns: Nil if the asset is no edit.
  func pictures(
    of id: AssetID, _ shown: ClosedRange<Int64>, in sources: SourceLookup
  ) throws(PlanError) -> NestedPictures? {
    guard let (nested, own) = sources.nested(id) else { return nil }
    try count.add(id)
    let film = try NestedFilm(id, nested, own, within: format)
    let end = Int64(film.timeline.grid.frameCount - 1)
    let first = Int(min(max(0, shown.lowerBound), end))
    let last = Int(min(max(0, shown.upperBound), end))
    let builder = try SegmentBuilder(
      edit: nested.edit, timeline: film.timeline, format: film.format, renditions: [], sources: own, fonts: fonts,
      segments: [first..<last + 1], within: count)
    return NestedPictures(
      task: try builder.task(0), firstFrame: Int64(first), isTransparent: nested.isTransparent)
  }

  /// What the frames of such pictures are.
  /// - Parameter described: What the asset is described as.
  func format(of pictures: NestedPictures, _ described: VideoFormat) -> VideoFormat {
    let format = pictures.task.format
    var video = described
    video.colour = format.colour
    video.hdr = nil
    video.pixelFormat =
      pictures.isTransparent == true ? NestedPictures.transparentFormat : format.pixelFormat.rawValue
    video.bitDepth = format.pixelFormat.bitDepth
    return video
  }
}

/// The film of an edit that is an asset, in the pixel format and the colours of the film that shows it.
struct NestedFilm {
  let format: VideoTaskFormat
  let timeline: Timeline

  /// - Parameter outer: The format of the film that shows it.
  init(
    _ id: AssetID, _ nested: NestedEdit, _ sources: SourceLookup, within outer: VideoTaskFormat
  ) throws(PlanError) {
    let (edit, composition) = (nested.edit, nested.edit.videoComposition)
    let (start, frameCount) = try mapErrors(to: PlanError.time("the length of '\(id)'")) { () throws(TimeError) in
      (try edit.exportedRange.start, try edit.frameCount)
    }
    var format = outer
    (format.size, format.frameDuration) = (composition.renderSize, composition.frameDuration)
    format.toneMapping = composition.toneMapping == .bt2390 ? nil : composition.toneMapping
    if nested.isTransparent { format.pixelFormat = .yuv444p10 }
    let grid = FrameGrid(frameDuration: format.frameDuration, frameCount: frameCount, start: start)
    timeline = try Timeline(edit, grid: grid, visibility: Visibility(format: format, sources: sources))
    self.format = format
  }
}
