import CKernels
import CompositionModel
import Media
import RenderTasks
import SheafCompositing

/// The picture that a compositor of the author's own makes in a frame.
struct StackCompositor: Hashable {
  enum Content: Hashable {
    /// A side that is nil is transparent.
    case transition(from: ClipUse?, to: ClipUse?)
    /// The first is on top. Tracks without a picture are left out.
    case tracks([Track])
  }

  struct Track: Hashable {
    var track: TrackID
    var use: ClipUse
  }

  /// Where in its time a frame is.
  struct Moment: Hashable {
    var progress: Double
    /// Since the start of the transition or the instruction.
    var time: MediaTime
    var duration: MediaTime
    /// Nil for a transition.
    var filmTime: MediaTime?

    init(at time: MediaTime, in range: MediaTimeRange, progress: Double) throws(TimeError) {
      self.progress = progress
      self.time = try time - range.start
      duration = range.duration
    }
  }

  var compositor: CustomCompositor
  var content: Content
  /// Nil if the picture does not depend on time.
  var moment: Moment?
  /// The values of the compositor's metadata tracks, as far as they have one.
  var metadata: [TrackID: MetadataValue] = [:]

  /// In the order of the content.
  var clips: [ClipUse] {
    switch content {
    case .transition(let from, let to): [from, to].compactMap(\.self)
    case .tracks(let tracks): tracks.map(\.use)
    }
  }

  func map(_ change: (ClipUse) -> ClipUse) -> StackCompositor {
    var changed = self
    switch content {
    case .transition(let from, let to): changed.content = .transition(from: from.map(change), to: to.map(change))
    case .tracks(let tracks): changed.content = .tracks(tracks.map { Track(track: $0.track, use: change($0.use)) })
    }
    return changed
  }
}

extension CompositorRegistry {
  /// The compositors that a task needs. Throws `.task` if one is not there or refuses its parameters.
  func composers(of task: VideoTask) throws(RenderError) -> [CustomCompositor: any VideoCompositing] {
    var made: [CustomCompositor: any VideoCompositing] = [:]
    for compositor in task.compositors {
      do {
        made[compositor] = try make(compositor, size: task.format.size)
      } catch {
        throw RenderError(.task, error.description)
      }
    }
    return made
  }

  /// Those of a task whose pictures do not depend on time.
  func timeless(of task: VideoTask) throws(RenderError) -> Set<CustomCompositor> {
    var timeless: Set<CustomCompositor> = []
    for compositor in task.compositors {
      do {
        if try !type(of: compositor).dependsOnTime { timeless.insert(compositor) }
      } catch {
        throw RenderError(.task, error.description)
      }
    }
    return timeless
  }
}

/// A compositor's layer whose pictures are ready.
struct CustomLayer {
  enum Content {
    case transition(from: Compositor.Weighted?, to: Compositor.Weighted?)
    case tracks([(track: TrackID, picture: Compositor.Weighted)])
  }

  let compositor: CustomCompositor
  let moment: StackCompositor.Moment?
  let metadata: [TrackID: MetadataValue]
  let composer: any VideoCompositing
  let content: Content

  init(_ layer: StackCompositor, _ composer: any VideoCompositing, _ content: Content) {
    compositor = layer.compositor
    moment = layer.moment
    metadata = layer.metadata
    self.composer = composer
    self.content = content
  }
}

extension Compositor {
  /// Lets a compositor of the author's own change the planes, which show what lies below it.
  func draw(_ layer: CustomLayer, on planes: Planes) throws(RenderError) {
    let layout = PixelLayout(format)
    let (moment, zero) = (layer.moment, MediaTime.zero)
    var request: VideoCompositionRequest
    switch layer.content {
    case .transition(let from, let to):
      request = .transition(
        from: try side(from, over: planes, layout), to: try side(to, over: planes, layout),
        progress: moment?.progress ?? 0, time: moment?.time ?? zero, duration: moment?.duration ?? zero)
    case .tracks(let tracks):
      var sources: [String: PixelBuffer] = [:]
      for (track, picture) in tracks { sources[track] = try source(picture, layout) }
      request = .instruction(
        sources, progress: moment?.progress ?? 0, time: moment?.time ?? zero, duration: moment?.duration ?? zero,
        compositionTime: moment?.filmTime)
    }
    request.setMetadata(layer.metadata, of: layer.compositor.metadata ?? [])
    var picture = MutablePixelBuffer(layout, planes: planes.addresses)
    do {
      try layer.composer.compose(request, into: &picture)
    } catch {
      throw RenderError(.task, "\(layer.compositor.title) failed\(layer.place): \(error)")
    }
  }

  /// A side of a transition as an opaque picture of the whole frame: over what is drawn below it, as those of every
  /// transition are.
  private func side(
    _ side: Weighted?, over below: Planes, _ layout: PixelLayout
  ) throws(RenderError) -> PixelBuffer {
    if let side, side.weight == Weight.one, side.blendMode == nil,
      case .opaque(let frame, let x, let y, PixelRect(format.size)) = side.picture
    {
      return try frame.withPlanes { PixelBuffer(layout, planes: $0.addresses(x: x, y: y), owner: frame) }
    }
    let frame = try newFrame()
    return try frame.withMutablePlanes { planes throws(RenderError) in
      planes.copy(PixelRect(format.size), from: below, x: 0, y: 0)
      if let side { try draw(.clip(side), on: planes) }
      return PixelBuffer(layout, planes: planes.addresses, owner: frame)
    }
  }

  /// A track's picture over black, with its coverage as alpha.
  private func source(_ side: Weighted, _ layout: PixelLayout) throws(RenderError) -> PixelBuffer {
    let whole = PixelRect(format.size)
    if side.weight == Weight.one, case .opaque(let frame, let x, let y, whole) = side.picture {
      return try frame.withPlanes { PixelBuffer(layout, planes: $0.addresses(x: x, y: y), owner: frame) }
    }
    let frame = try newFrame()
    let blend = try side.picture.blendPicture
    let alpha = try Coverage(blend, weight: side.weight, size: format.size, depth: format.pixelFormat.bitDepth)
    return try frame.withMutablePlanes { planes throws(RenderError) in
      planes.fill(whole, codes: YCbCrMatrix(format).codes(.black))
      planes.draw(blend, weight: side.weight)
      return PixelBuffer(
        layout, planes: planes.addresses + [(alpha.base, alpha.stride)], owner: FrameWithCoverage(frame, alpha))
    }
  }
}

extension CustomLayer {
  /// For messages: which frame.
  fileprivate var place: String {
    guard let moment else { return "" }
    if let film = moment.filmTime { return " at \(film) s of the film" }
    return " \(moment.time) s after the start of its transition, which lasts \(moment.duration) s"
  }
}

/// What keeps the planes of a track's picture.
private final class FrameWithCoverage {
  private let frame: Frame
  private let coverage: Coverage

  init(_ frame: Frame, _ coverage: Coverage) {
    (self.frame, self.coverage) = (frame, coverage)
  }
}

/// The coverage of a picture in the whole frame, as samples of the film's depth.
private final class Coverage {
  private let samples: SampleStorage
  let stride: Int
  var base: UnsafeMutableRawPointer { UnsafeMutableRawPointer(samples.base) }

  init(_ picture: BlendPicture, weight: Int, size: PixelSize, depth: Int) throws(RenderError) {
    let bytes = depth > 8 ? 2 : 1
    stride = size.width * bytes
    samples = try SampleStorage(count: (stride * size.height + 1) / 2)
    let highest = 1 << depth - 1
    let (rect, from) = (picture.rect, picture.plane(.coverage))
    for y in rect.rows {
      let row = from + (y - rect.y) * rect.size.width
      for x in rect.columns {
        let code = (Weight.product(Int(row[x - rect.x]), weight) * highest + Weight.one / 2) / Weight.one
        if bytes == 1 {
          base.storeBytes(of: UInt8(code), toByteOffset: y * stride + x, as: UInt8.self)
        } else {
          base.storeBytes(of: UInt16(code), toByteOffset: y * stride + 2 * x, as: UInt16.self)
        }
      }
    }
  }
}

extension PixelLayout {
  fileprivate init(_ format: VideoTaskFormat) {
    self.init(size: format.size, format: format.pixelFormat, colour: format.colour)
  }
}

extension Planes {
  /// For `PixelBuffer`. A frame's memory stays where it is as long as the frame does.
  fileprivate var addresses: [(base: UnsafeMutableRawPointer, stride: Int)] { addresses(x: 0, y: 0) }

  /// From a pixel on that is the first of its chroma cell.
  fileprivate func addresses(x: Int, y: Int) -> [(base: UnsafeMutableRawPointer, stride: Int)] {
    let (column, row) = (x >> cell.horizontalShift, y >> cell.verticalShift)
    return [
      (luma.address(x: x, y: y, sampleBytes: sampleBytes), luma.stride),
      (cb.address(x: column, y: row, sampleBytes: sampleBytes), cb.stride),
      (cr.address(x: column, y: row, sampleBytes: sampleBytes), cr.stride),
    ]
  }
}
