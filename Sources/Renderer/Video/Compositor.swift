import CompositionModel
import Media
import Segmenter

/// Draws the layers of a frame one after the other, bottom first.
struct Compositor {
  let format: VideoTaskFormat

  /// A layer whose pictures are ready to be drawn.
  enum Layer {
    case clip(Weighted)
    /// The sum of both.
    case dissolve(Weighted, Weighted)
  }

  /// A picture and its opacity, or its share in a dissolve, in 1/16384.
  struct Weighted {
    let picture: LayerPicture
    let weight: Int
  }

  /// The source's frame itself, if the only thing to draw is one opaque picture of the composition's size; else a new
  /// frame.
  /// - Parameter hasBase: Whether the first layer is opaque from edge to edge, so that no background is drawn.
  func frame(
    _ layers: [Layer], hasBase: Bool, background: Color, overlays: [(picture: LayerPicture, weight: Int)]
  ) throws(RenderError) -> Frame {
    if hasBase, layers.count == 1, overlays.isEmpty, case .clip(let only) = layers[0],
      case .opaque(let frame, 0, 0, _) = only.picture, frame.size == format.size
    {
      return frame
    }
    let canvas = try mapErrors(to: RenderError.during("making a frame")) { () throws(MediaError) in
      try Frame(size: format.size, format: FrameFormat(format.pixelFormat), colour: format.colour)
    }
    try canvas.withMutablePlanes { planes throws(RenderError) in
      if !hasBase { planes.fill(PixelRect(format.size), codes: YCbCrMatrix(format).codes(background)) }
      for layer in layers { try draw(layer, on: planes) }
      for overlay in overlays { try draw(overlay.picture, weight: overlay.weight, on: planes) }
    }
    return canvas
  }

  private func draw(_ layer: Layer, on planes: Planes) throws(RenderError) {
    switch layer {
    case .clip(let clip): try draw(clip.picture, weight: clip.weight, on: planes)
    case .dissolve(let from, let to):
      if try mix(from, to, on: planes) { return }
      let sum = try BlendPicture.sum(
        from.picture.blendPicture, weight: from.weight, to.picture.blendPicture, weight: to.weight)
      planes.draw(sum, weight: Weight.one)
    }
  }

  private func draw(_ picture: LayerPicture, weight: Int, on planes: Planes) throws(RenderError) {
    switch picture {
    case .blend(let picture): planes.draw(picture, weight: weight)
    case .opaque(let frame, let x, let y, let rect):
      try frame.withPlanes { picture in
        if weight == Weight.one {
          planes.copy(rect, from: picture, x: x, y: y)
        } else {
          let part = PixelRect(x: x, y: y, size: rect.size)
          planes.mix(rect, (planes, rect), weightA: Weight.one - weight, (picture, part), weightB: weight)
        }
      }
    }
  }

  /// Draws a dissolve of opaque pictures whose weights sum up to one, without blend planes: one pass mixes them where both
  /// are, and where only one is, it is mixed with the frame below by the other's share. Returns false for other dissolves,
  /// which have coverage to mix.
  private func mix(_ from: Weighted, _ to: Weighted, on planes: Planes) throws(RenderError) -> Bool {
    guard case .opaque(let a, let ax, let ay, let rectA) = from.picture,
      case .opaque(let b, let bx, let by, let rectB) = to.picture, from.weight + to.weight == Weight.one
    else { return false }
    try a.withPlanes { ofA throws(RenderError) in
      try b.withPlanes { ofB in
        func inA(_ rect: PixelRect) -> (Planes, PixelRect) { (ofA, rect.shifted(x: ax - rectA.x, y: ay - rectA.y)) }
        func inB(_ rect: PixelRect) -> (Planes, PixelRect) { (ofB, rect.shifted(x: bx - rectB.x, y: by - rectB.y)) }
        if let shared = rectA.intersection(rectB) {
          planes.mix(shared, inA(shared), weightA: from.weight, inB(shared), weightB: to.weight)
        }
        for rect in rectA.subtracting(rectB) {
          planes.mix(rect, inA(rect), weightA: from.weight, (planes, rect), weightB: to.weight)
        }
        for rect in rectB.subtracting(rectA) {
          planes.mix(rect, (planes, rect), weightA: from.weight, inB(rect), weightB: to.weight)
        }
      }
    }
    return true
  }
}

/// A layer's picture, fitted into the frame.
enum LayerPicture {
  /// Opaque, in the composition's format: the part of `frame` from (x, y) on that is as large as `rect` is drawn at `rect`,
  /// in pixels of the composition's frame.
  case opaque(frame: Frame, x: Int, y: Int, rect: PixelRect)
  case blend(BlendPicture)

  /// All of an opaque frame of the composition's size.
  static func whole(_ frame: Frame) -> LayerPicture {
    .opaque(frame: frame, x: 0, y: 0, rect: PixelRect(frame.size))
  }

  /// The picture with coverage.
  fileprivate var blendPicture: BlendPicture {
    get throws(RenderError) {
      switch self {
      case .blend(let picture): return picture
      case .opaque(let frame, let x, let y, let rect):
        return try frame.withPlanes { planes throws(RenderError) in try planes.blendPicture(rect, x: x, y: y) }
      }
    }
  }
}
