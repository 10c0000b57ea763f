import CompositionModel
import Media
import RenderTasks

/// Draws the layers of a frame one after the other, bottom first.
struct Compositor {
  let format: VideoTaskFormat

  /// A layer whose pictures are ready to be drawn.
  enum Layer {
    case clip(Weighted)
    /// The sum of both.
    case dissolve(Weighted, Weighted)
    /// A colour that fills the frame, mixed by its share in 1/16384 with a picture.
    case fade(Weighted?, Color, share: Int)
    case transition(Transition)
    case custom(CustomLayer)
  }

  /// Two pictures, of which nil is transparent, and how one gives way to the other.
  struct Transition {
    let from: Weighted?
    let to: Weighted?
    /// Neither a dissolve, nor a fade, nor one of the author's own.
    let kind: TransitionKind
    let progress: Double
    /// The matte of a luma transition. Nil for another kind.
    let levels: MatteLevels?
  }

  /// A picture and its opacity, or its share in a dissolve, in 1/16384.
  struct Weighted {
    let picture: LayerPicture
    let weight: Int
    /// Nil: drawn over what is below.
    var blendMode: BlendMode? = nil
  }

  /// What is drawn, bottom first: layers, then overlays.
  enum Item {
    case layer(Layer)
    case overlay(LayerPicture, weight: Int, BlendMode?)
  }

  /// The source's frame itself, if the only thing to draw is one opaque picture of the composition's size.
  func passed(_ items: [Item]) -> Frame? {
    guard items.count == 1, case .layer(.clip(let only)) = items[0], only.weight == Weight.one, only.blendMode == nil,
      case .opaque(let frame, 0, 0, PixelRect(format.size)) = only.picture, frame.size == format.size
    else { return nil }
    return frame
  }

  /// A new frame with the background.
  /// - Parameter first: the lowest item. If it hides all of the background, that is not drawn.
  func canvas(_ background: Color, under first: Item?) throws(RenderError) -> Frame {
    let canvas = try newFrame()
    if case .layer(let layer)? = first, hidesAll(layer) { return canvas }
    try canvas.withMutablePlanes { $0.fill(PixelRect(format.size), codes: YCbCrMatrix(format).codes(background)) }
    return canvas
  }

  /// A copy of a frame, which can be drawn on.
  func copy(_ frame: Frame) throws(RenderError) -> Frame {
    let copy = try newFrame()
    try frame.withPlanes { from throws(RenderError) in
      try copy.withMutablePlanes { $0.copy(PixelRect(format.size), from: from, x: 0, y: 0) }
    }
    return copy
  }

  /// Draws items one after the other on a frame that shares its planes with no other.
  func draw(_ items: some Sequence<Item>, on canvas: Frame) throws(RenderError) {
    try canvas.withMutablePlanes { planes throws(RenderError) in
      for item in items {
        switch item {
        case .layer(let layer): try draw(layer, on: planes)
        case .overlay(let picture, let weight, nil): try draw(picture, weight: weight, on: planes)
        case .overlay(let picture, let weight, let mode?):
          try planes.blend(picture.blendPicture, mode, weight: weight, in: format)
        }
      }
    }
  }

  func newFrame() throws(RenderError) -> Frame {
    try mapErrors(to: RenderError.during("making a frame")) { () throws(MediaError) in
      try Frame(size: format.size, format: FrameFormat(format.pixelFormat), colour: format.colour)
    }
  }

  /// Whether nothing that is below a layer can be seen, whatever its samples.
  private func hidesAll(_ layer: Layer) -> Bool {
    switch layer {
    case .clip(let clip): return isWhole(clip) && clip.weight == Weight.one
    case .dissolve(let from, let to): return isWhole(from) && isWhole(to) && from.weight + to.weight == Weight.one
    case .fade(let picture, _, let share):
      return share == Weight.one || picture.map { isWhole($0) && $0.weight == Weight.one } ?? false
    case .transition(let transition):
      return [transition.from, transition.to].allSatisfy { side in
        side.map { isWhole($0) && $0.weight == Weight.one } ?? false
      }
    case .custom: return false
    }
  }

  private func isWhole(_ side: Weighted) -> Bool {
    guard case .opaque(_, _, _, PixelRect(format.size)) = side.picture else { return false }
    return side.blendMode == nil
  }

  func draw(_ layer: Layer, on planes: Planes) throws(RenderError) {
    switch layer {
    case .clip(let clip):
      if let mode = clip.blendMode {
        try planes.blend(clip.picture.blendPicture, mode, weight: clip.weight, in: format)
      } else {
        try draw(clip.picture, weight: clip.weight, on: planes)
      }
    case .dissolve(let from, let to):
      if from.blendMode != nil || to.blendMode != nil {
        // There is no sum of two modes: each picture is drawn by its share.
        try draw(.clip(from), on: planes)
        try draw(.clip(to), on: planes)
        return
      }
      if try mix(from, to, on: planes) { return }
      let sum = try BlendPicture.sum(
        from.picture.blendPicture, weight: from.weight, to.picture.blendPicture, weight: to.weight)
      planes.draw(sum, weight: Weight.one)
    case .fade(let picture, let color, let share): try fade(picture, to: color, share: share, on: planes)
    case .transition(let transition): try draw(transition, on: planes)
    case .custom(let layer): try draw(layer, on: planes)
    }
  }

  private func fade(_ picture: Weighted?, to color: Color, share: Int, on planes: Planes) throws(RenderError) {
    let whole = PixelRect(format.size)
    let codes = YCbCrMatrix(format).codes(Color(red: color.red, green: color.green, blue: color.blue))
    try newFrame().withMutablePlanes { colour throws(RenderError) in
      colour.fill(whole, codes: codes)
      try withSide(picture, moved: nil, over: planes) { side, part in
        planes.mix(whole, (side, part), weightA: Weight.one - share, (colour, whole), weightB: share)
      }
    }
  }

  private func draw(_ transition: Transition, on planes: Planes) throws(RenderError) {
    let matte = TransitionMatte(
      transition.kind, progress: transition.progress, size: format.size, levels: transition.levels)
    guard let matte else { throw RenderError(.task, "a \(transition.kind.name) transition without a matte") }
    let moved = Displacement.of(transition.kind, progress: transition.progress, size: format.size)
    try withSide(transition.from, moved: moved.from, over: planes) { from, fromPart throws(RenderError) in
      try withSide(transition.to, moved: moved.to, over: planes) { to, toPart throws(RenderError) in
        try planes.mix(format.size, (from, fromPart), (to, toPart), by: matte, cell: format.cell)
      }
    }
  }

  /// A side of a transition as an opaque picture of the whole frame: the picture over what is drawn below it. The mix
  /// of two such sides is the mix of both pictures and of their coverage over what is below.
  /// - Parameter body: is passed the planes, and the part of them that has the frame's size.
  private func withSide(
    _ side: Weighted?, moved: Displacement?, over below: Planes,
    _ body: (Planes, PixelRect) throws(RenderError) -> Void
  ) throws(RenderError) {
    let whole = PixelRect(format.size)
    guard let side else { return try body(below, whole) }
    if case .opaque(let frame, let x, let y, whole) = side.picture, side.weight == Weight.one, side.blendMode == nil {
      let part = whole.shifted(x: x, y: y)
      return try frame.withPlanes { picture throws(RenderError) in
        guard let moved else { return try body(picture, part) }
        try newFrame().withMutablePlanes { planes throws(RenderError) in
          planes.draw(picture, at: part, moved: moved)
          try body(planes, whole)
        }
      }
    }
    try newFrame().withMutablePlanes { planes throws(RenderError) in
      planes.copy(whole, from: below, x: 0, y: 0)
      if let moved {
        let sheet = try side.picture.blendPicture.sheet(format.size, weight: side.weight, moved: moved)
        if let mode = side.blendMode {
          try planes.blend(sheet, mode, weight: Weight.one, in: format)
        } else {
          planes.draw(sheet, weight: Weight.one)
        }
      } else {
        try draw(.clip(side), on: planes)
      }
      try body(planes, whole)
    }
  }

  func draw(_ picture: LayerPicture, weight: Int, on planes: Planes) throws(RenderError) {
    switch picture {
    case .blend(let picture): planes.draw(picture, weight: weight)
    case .shaped(let picture): try picture.draw(on: planes, weight: weight)
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

  /// Draws a dissolve of opaque pictures whose weights sum up to one, without blend planes: one pass mixes them where
  /// both are, and where only one is, it is mixed with the frame below by the other's share. Returns false for other
  /// dissolves, which have coverage to mix.
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
