import CompositionModel
import Media
import RenderTasks
import SheafCompositing

/// The frames of an edit that is a source of another film, each made when it is shown.
///
/// Frames are made in rising order. Where times fall, because a clip is reversed or an overlay begins again, those
/// before are made again, as many together as fit the memory, and kept.
final class NestedFrames: NestedFrameSource {
  /// The most bytes of the frames that are kept: 16 of 1920x1080 with 8 bits.
  private static let greatestSize = 1 << 26

  private let pictures: NestedPictures
  private let inputs: [String: any ByteSource]
  private let compositors: CompositorRegistry
  private let liveness: Liveness?
  /// What is damaged is shown at the time of the film that shows it.
  private let damage: DamageLog?
  private var maker: Maker?
  /// By their number in the task, rising, without a gap; the last one is the one that was made last.
  private var kept: [Frame] = []
  private var last = -1

  init(
    _ pictures: NestedPictures, inputs: [String: any ByteSource], compositors: CompositorRegistry, liveness: Liveness?,
    damage: DamageLog?
  ) {
    (self.pictures, self.inputs, self.compositors, self.liveness) = (pictures, inputs, compositors, liveness)
    self.damage = damage.map(DamageLog.init(within:))
  }

  func frame(at tick: Int64) throws(RenderError) -> Frame {
    let count = Int64(pictures.task.frameCount)
    let number = Int(tick <= pictures.firstFrame ? 0 : min(tick - pictures.firstFrame, count - 1))
    let first = last - kept.count + 1
    if number >= first, number <= last { return kept[number - first] }
    if number > last, maker != nil {
      kept = [try make(number)]
      last = number
      return kept[0]
    }
    // Going back: what is needed next is before this one.
    let size = pictures.task.format.size
    let most = max(4, min(64, Self.greatestSize / max(1, 4 * size.width * size.height)))
    (maker, kept) = (nil, [])
    for number in max(0, number - most + 1)...number { kept.append(try make(number)) }
    last = number
    return kept[kept.count - 1]
  }

  /// The frame with a number, which rises from call to call.
  private func make(_ number: Int) throws(RenderError) -> Frame {
    let maker: Maker
    if let known = self.maker {
      maker = known
    } else {
      maker = try Maker(pictures, inputs, compositors, liveness, damage)
      self.maker = maker
    }
    return try maker.frame(number)
  }

  /// Makes frames in rising order.
  private final class Maker {
    /// Over the edit's own backgrounds, or over black.
    private let maker: FrameMaker
    /// The same over white. Nil: the frames are opaque.
    private let overWhite: FrameMaker?
    private let firstFrame: Int64
    /// How much higher the luma of white is than that of black, with 10 bits: less where there are brighter colours.
    private let contrast: Int
    private var latest: (black: Frame, white: Frame?, made: Frame)?

    init(
      _ pictures: NestedPictures, _ inputs: [String: any ByteSource], _ compositors: CompositorRegistry,
      _ liveness: Liveness?, _ damage: DamageLog?
    ) throws(RenderError) {
      firstFrame = pictures.firstFrame
      let matrix = YCbCrMatrix(pictures.task.format)
      contrast = matrix.codes(.white).luma - matrix.codes(.black).luma
      let task = pictures.task
      try task.check()
      func maker(_ task: VideoTask) throws(RenderError) -> FrameMaker {
        try FrameMaker(task, inputs: inputs, compositors: compositors, liveness: liveness, damage: damage)
      }
      if pictures.isTransparent == true {
        self.maker = try maker(task.over(.black))
        overWhite = try maker(task.over(.white))
      } else {
        self.maker = try maker(task)
        overWhite = nil
      }
    }

    func frame(_ number: Int) throws(RenderError) -> Frame {
      let black = try maker.frame(number)
      let white = try overWhite?.frame(number)
      // The same picture has the same timestamp.
      if let latest, latest.black === black, latest.white === white { return latest.made }
      let pts = firstFrame + Int64(number)
      let made: Frame
      if let white {
        made = try black.withAlpha(over: white, contrast: contrast)
        made.pts = pts
      } else {
        made = try mapErrors(to: RenderError.during("making a frame")) { () throws(MediaError) in try black.at(pts) }
      }
      latest = (black, white, made)
      return made
    }
  }
}

extension VideoTask {
  /// The same task over one colour.
  fileprivate func over(_ background: Color) -> VideoTask {
    var task = self
    for index in task.spans.indices { task.spans[index].background = background }
    return task
  }
}

extension Frame {
  /// A frame over black with the alpha by which it differs from the same frame over white: what is as bright over both
  /// is opaque. Its colours are multiplied by alpha. Both have 10 bits, and chroma of luma's size.
  /// - Parameter contrast: The luma of the white less that of black.
  func withAlpha(over white: Frame, contrast whole: Int) throws(RenderError) -> Frame {
    guard let format = FrameFormat(name: NestedPictures.transparentFormat) else {
      throw RenderError(.infrastructure, "libav has no \(NestedPictures.transparentFormat)")
    }
    let made = try mapErrors(to: RenderError.during("making a frame")) { () throws(MediaError) in
      try Frame(size: size, format: format, colour: colour)
    }
    for plane in 0..<3 {
      let (bytes, rows) = extent(ofPlane: plane)
      let (from, to) = (stride(ofPlane: plane), made.stride(ofPlane: plane))
      withPlane(plane) { source in
        made.withMutablePlane(plane) { target in
          for row in 0..<rows {
            (target + row * to).copyMemory(from: source + row * from, byteCount: bytes)
          }
        }
      }
    }
    let greatest = 1023
    let strides = (black: stride(ofPlane: 0), white: white.stride(ofPlane: 0), alpha: made.stride(ofPlane: 3))
    withPlane(0) { black in
      white.withPlane(0) { white in
        made.withMutablePlane(3) { alpha in
          for row in 0..<size.height {
            let under = (black + row * strides.black).assumingMemoryBound(to: UInt16.self)
            let over = (white + row * strides.white).assumingMemoryBound(to: UInt16.self)
            let share = (alpha + row * strides.alpha).assumingMemoryBound(to: UInt16.self)
            for column in 0..<size.width {
              let seen = min(max(0, Int(over[column]) - Int(under[column])), whole)
              share[column] = UInt16(greatest - (seen * greatest + whole / 2) / whole)
            }
          }
        }
      }
    }
    return made
  }
}
