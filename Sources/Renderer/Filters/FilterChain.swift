import CKernels
import CompositionModel
import Media
import RenderTasks

/// Applies filters to pictures, in order. Filters of colour that follow one another are applied in one pass.
final class FilterChain {
  private let format: VideoTaskFormat
  private let colours: ColourSpace
  private let tables: ColourTables
  private let blur = GaussianBlur()
  /// Used again for the next opaque picture of the same place.
  private var opaque: FilterPicture?
  private var vignette: (key: VignetteMap.Key, map: VignetteMap)?
  private var curveTable: (key: Filter<Double>, table: ColourTable)?
  private var scratch: SampleStorage?
  private var scratchCount = 0

  init(_ format: VideoTaskFormat, tables: ColourTables) {
    self.format = format
    self.tables = tables
    colours = ColourSpace(YCbCrMatrix(format))
  }

  /// A picture with filters applied. It shares nothing with the one that is given.
  /// - Parameters:
  ///   - lengths: Nil: a sample of the picture is a pixel of the film.
  ///   - site: Where the picture's chroma lies. Nil: where the film's does.
  func apply(
    _ filters: [Filter<Double>], to picture: LayerPicture, _ lengths: FilterLengths? = nil, site: ChromaSite? = nil
  ) throws(RenderError) -> LayerPicture {
    var work: FilterPicture
    switch picture {
    case .blend(let planes): work = FilterPicture(planes: try planes.copy(), isOpaque: false)
    case .shaped: work = FilterPicture(planes: try picture.blendPicture, isOpaque: false)
    case .opaque(let frame, let x, let y, let rect):
      if let opaque, opaque.planes.rect == rect {
        work = opaque
      } else {
        let planes = try BlendPicture(rect: rect, cell: format.cell)
        planes.coverAll()
        work = FilterPicture(planes: planes, isOpaque: true)
      }
      opaque = work
      work.load(frame, x: x, y: y)
    }
    var map = ColourMap.identity
    func applyMap() throws(RenderError) {
      if map == .identity { return }
      try mix(map, in: work)
      map = .identity
    }
    for filter in filters {
      if let next = colours.map(of: filter) {
        map = next.after(map)
        continue
      }
      try applyMap()
      try apply(filter, to: &work, lengths ?? FilterLengths(work.size), site ?? format.cell.site)
    }
    try applyMap()
    guard work.isOpaque else {
      // The picture keeps its planes, and their coverage is not one any more.
      if opaque?.planes === work.planes { opaque = nil }
      return .blend(work.planes)
    }
    return .opaque(frame: try work.frame(format), x: 0, y: 0, rect: work.planes.rect)
  }

  /// A composited frame with filters applied.
  func apply(_ filters: [Filter<Double>], to frame: Frame) throws(RenderError) -> Frame {
    guard case .opaque(let filtered, _, _, _) = try apply(filters, to: .whole(frame)) else {
      throw RenderError(.task, "a filter of the whole film that makes it transparent")
    }
    return filtered
  }

  /// An opaque picture over another, blurred, that fills the frame: the fit `blur`.
  func over(blurred cover: LayerPicture, _ picture: LayerPicture) throws(RenderError) -> LayerPicture {
    let side = min(format.size.width, format.size.height)
    let blurred = try apply([.blur(radius: Double(side) * FilterChain.backgroundRadius)], to: cover)
    // The blurred picture shares its planes with nothing.
    guard case .opaque(let back, 0, 0, _) = blurred, case .opaque(let front, let x, let y, let rect) = picture else {
      throw RenderError(.task, "the fit 'blur' of a picture with alpha")
    }
    try front.withPlanes { front throws(RenderError) in
      try back.withMutablePlanes { $0.copy(rect, from: front, x: x, y: y) }
    }
    return blurred
  }

  /// The standard deviation of the fit `blur`, in parts of the shorter side of what it fills.
  static let backgroundRadius = 0.04

  private func apply(
    _ filter: Filter<Double>, to work: inout FilterPicture, _ lengths: FilterLengths, _ site: ChromaSite
  ) throws(RenderError) {
    switch filter {
    case .blur(let radius):
      try blur.apply(sigmaX: radius / lengths.across, sigmaY: radius / lengths.down, to: work)
    case .sharpen(let amount, let radius):
      try sharpen(work, amount: amount, sigmaX: radius / lengths.across, sigmaY: radius / lengths.down)
    case .vignette(let amount, let radius, let softness):
      try fade(
        work,
        VignetteMap.Key(
          size: work.size, cell: work.planes.cell, lengths: lengths, amount: amount, radius: radius, softness: softness
        ))
    case .grain(let amount, let size, let seed, let time):
      let amplitude = amount * colours.lumaScale * Double(Weight.one)
      try Grain(amplitude: amplitude, size: size, seed: seed, time: time, lengths).apply(to: work)
    case .glow(let amount, let radius, let threshold):
      try glow(
        work, amount: amount, sigmaX: radius / lengths.across, sigmaY: radius / lengths.down, threshold: threshold)
    case .posterize(let levels):
      let count = levels.rounded(.down)
      let curves = curveTable(filter) { value in
        let level = min(count - 1, (value * count).rounded(.down)) / (count - 1)
        return (level, level, level)
      }
      try lookUp(work, curves, amount: 1)
    case .curves(let curves, let amount):
      let table = curveTable(.curves(curves, amount: 1)) { curves.value(red: $0, green: $0, blue: $0) }
      try lookUp(work, table, amount: amount)
    case .denoise(let amount): try denoise(work, amount: amount)
    case .pixelate(let size): Mosaic(size: size, lengths).apply(to: work)
    case .chromaKey(let color, let similarity, let blend, let spill):
      let codes = YCbCrMatrix(format).codes(color)
      try ChromaKey(
        cb: codes.cb, cr: codes.cr, depth: format.pixelFormat.bitDepth, similarity: similarity, blend: blend,
        spill: spill, scale: colours.chromaScale
      ).apply(to: &work, site: site)
    case .lut(let digest, let amount): try lookUp(work, try tables.table(digest), amount: amount)
    case .exposure, .brightness, .contrast, .saturation, .hue, .colorBalance, .grayscale, .sepia, .invert:
      // `ColourSpace.map(of:)` has these.
      break
    }
  }

  /// The table of a filter's curves, which is made once while the filter stays the same.
  private func curveTable(
    _ filter: Filter<Double>, _ curves: (Double) -> (red: Double, green: Double, blue: Double)
  ) -> ColourTable {
    if let curveTable, curveTable.key == filter { return curveTable.table }
    let table = ColourTable(curves)
    curveTable = (filter, table)
    return table
  }

  private func scratchRows(_ width: Int) throws(RenderError) -> UnsafeMutablePointer<UInt16> {
    let count = sheaf_filter_scratch(Int32(width))
    if let scratch, scratchCount >= count { return scratch.base }
    let made = try SampleStorage(count: count)
    scratch = made
    scratchCount = count
    return made.base
  }

  private func mix(_ map: ColourMap, in work: FilterPicture) throws(RenderError) {
    let sums = colours.sums(map)
    sheaf_filter_mix_colours(FilterKernels.best, work.kernelPicture, sums, try scratchRows(work.size.width))
  }

  private func lookUp(_ work: FilterPicture, _ table: ColourTable, amount: Double) throws(RenderError) {
    let scratch = try scratchRows(work.size.width)
    table.withKernelTable(amount: amount) { table in
      sheaf_filter_look_up(
        FilterKernels.best, work.kernelPicture, colours.toRGB, colours.fromRGB, table, work.isOpaque ? 1 : 0, scratch)
    }
  }

  private func fade(_ work: FilterPicture, _ key: VignetteMap.Key) throws(RenderError) {
    let map: VignetteMap
    if let vignette, vignette.key == key {
      map = vignette.map
    } else {
      map = try VignetteMap(key)
      vignette = (key, map)
    }
    for (plane, coverage, offset) in [
      (BlendPicture.Plane.luma, BlendPicture.Plane.coverage, colours.lumaOffset), (.cb, .chromaCoverage, 0.5),
      (.cr, .chromaCoverage, 0.5),
    ] {
      let size = work.planes.rect(of: plane).size
      let factors = plane.isChroma ? map.chroma : map.luma
      sheaf_filter_fade(
        FilterKernels.best, work.planes.plane(plane), work.planes.strideInBytes(plane), work.planes.plane(coverage),
        work.planes.strideInBytes(coverage), factors.base, size.width * 2, Int32(size.width), Int32(size.height),
        Int32((offset * Double(Weight.one)).rounded()))
    }
  }

  /// Light around the bright parts: a blurred copy of them in red, green and blue, which is drawn like `screen`.
  private func glow(
    _ work: FilterPicture, amount: Double, sigmaX: Double, sigmaY: Double, threshold: Double
  ) throws(RenderError) {
    let (size, scratch) = (work.size, try scratchRows(work.size.width))
    let count = size.width * size.height
    let light = try SampleStorage(count: 3 * count)
    var planes: [UnsafeMutablePointer<UInt16>?] = [light.base, light.base + count, light.base + 2 * count]
    let isOpaque: Int32 = work.isOpaque ? 1 : 0
    sheaf_filter_bright(
      FilterKernels.best, work.kernelPicture, colours.toRGB, Int32(Weight.of(threshold)), isOpaque, &planes, scratch)
    for plane in 0..<3 {
      try blur.apply(light.base + plane * count, size: size, sigmaX: sigmaX, sigmaY: sigmaY)
    }
    sheaf_filter_screen(
      FilterKernels.best, work.kernelPicture, colours.toRGB, colours.fromRGB,
      Int32((amount * Double(Weight.one)).rounded()), isOpaque, &planes, scratch)
  }

  private func denoise(_ work: FilterPicture, amount: Double) throws(RenderError) {
    for plane in [BlendPicture.Plane.luma, .cb, .cr] {
      let size = work.planes.rect(of: plane).size
      let (samples, width) = (work.planes.plane(plane), Int32(size.width))
      let unit = (plane.isChroma ? colours.chromaScale : colours.lumaScale) * Double(Weight.one)
      try SampleStorage.withFloats(sheaf_filter_denoise_scratch(width)) {
        sheaf_filter_denoise(
          samples, work.planes.strideInBytes(plane), width, Int32(size.height), Float(amount * unit), $0)
      }
      if !work.isOpaque {
        let coverage = work.planes.plane(plane.isChroma ? .chromaCoverage : .coverage)
        sheaf_limit_colour(samples, coverage, size.width * size.height)
      }
    }
  }

  /// An unsharp mask on luma: what a blur would take away is added once more, `amount` times.
  private func sharpen(
    _ work: FilterPicture, amount: Double, sigmaX: Double, sigmaY: Double
  ) throws(RenderError) {
    let (planes, size) = (work.planes, work.size)
    let count = size.width * size.height
    let stride = planes.strideInBytes(.luma)
    let (width, height) = (Int32(size.width), Int32(size.height))
    let (luma, coverage) = (planes.plane(.luma), planes.plane(.coverage))
    let soft = try SampleStorage(count: count)
    soft.base.update(from: luma, count: count)
    try blur.apply(soft.base, size: size, sigmaX: sigmaX, sigmaY: sigmaY)
    if !work.isOpaque {
      // The mean of what is covered, so that the edge of a picture is no edge in it.
      let softCoverage = try SampleStorage(count: count)
      softCoverage.base.update(from: coverage, count: count)
      try blur.apply(softCoverage.base, size: size, sigmaX: sigmaX, sigmaY: sigmaY)
      sheaf_filter_rescale(
        soft.base, stride, soft.base, stride, softCoverage.base, stride, coverage, stride, width, height)
    }
    let sum = sheaf_sum([1 + amount, -amount, 0, 0])
    for row in 0..<size.height {
      let first = luma + row * size.width
      let from: [UnsafePointer<UInt16>?] = [
        UnsafePointer(first), UnsafePointer(soft.base + row * size.width), UnsafePointer(first),
        UnsafePointer(coverage + row * size.width),
      ]
      FilterKernels.best.pointee.sum(first, from, sum, width)
    }
  }
}

enum FilterKernels {
  /// The fastest version that this processor runs.
  nonisolated(unsafe) static let best = sheaf_filter_kernels_best()!
}

extension sheaf_sum {
  /// The weights to the nearest that the kernels can have.
  init(_ weights: [Double]) {
    let greatest = weights.map(abs).max() ?? 0
    let highest = Double(Int16.max)
    var shift = 14
    while shift > 0, greatest * Double(1 << shift) > highest { shift -= 1 }
    let scaled = weights.map { Int16(min(highest, max(-highest, ($0 * Double(1 << shift)).rounded()))) }
    self.init(weight: (scaled[0], scaled[1], scaled[2], scaled[3]), shift: Int32(shift))
  }
}
