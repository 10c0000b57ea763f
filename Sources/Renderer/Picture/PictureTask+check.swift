import CompositionModel
import Segmenter

extension VideoTask {
  /// Throws `.task` unless the task makes sense by itself: what rendering then takes for granted.
  func check() throws(RenderError) {
    guard frameCount > 0 else {
      throw RenderError(.task, "a segment of \(frameCount) frames; there must be one at least")
    }
    guard format.frameDuration > .zero, format.frameDuration.isNumeric else {
      throw RenderError(.task, "a frame duration of \(format.frameDuration) s; it must be positive")
    }
    let side = 1...32_767
    guard side.contains(format.size.width), side.contains(format.size.height) else {
      throw RenderError(.task, "frames of \(format.size.width)x\(format.size.height); each side must be within \(side)")
    }
    var next = 0
    for span in spans {
      guard span.frames.lowerBound == next, !span.frames.isEmpty else {
        throw RenderError(.task, "a span of frames \(span.frames) where one that starts at \(next) belongs")
      }
      next = span.frames.upperBound
    }
    guard next == frameCount else {
      throw RenderError(.task, "spans for \(next) of \(frameCount) frames")
    }
    for index in usedSources where !sources.indices.contains(index) {
      throw RenderError(.task, "a layer of source \(index), of which there are \(sources.count)")
    }
    for source in sources {
      let size = source.video.size
      guard side.contains(size.width), side.contains(size.height), source.timebase > .zero, source.timebase.isNumeric,
        source.video.pixelAspect.horizontal > 0, source.video.pixelAspect.vertical > 0
      else { throw RenderError(.task, "source \(source.digest) of \(size.width)x\(size.height) pixels") }
    }
  }

  private var usedSources: [Int] {
    let ofOverlays = overlays.compactMap { overlay in
      if case .image(let source, _, _) = overlay.content { source } else { nil }
    }
    return spans.flatMap(\.clips).map(\.source) + ofOverlays
  }
}

extension Span {
  /// Every clip of the span's layers.
  var clips: [ClipLayer] {
    layers.flatMap { layer in
      switch layer {
      case .clip(let clip): [clip]
      case .dissolve(let from, let to, _): [from, to].compactMap(\.self)
      }
    }
  }
}
