import CompositionModel
import Foundation
import Media
import RenderTasks
import TestMedia
import TestPrograms
import Testing

@testable import Renderer

/// Filters against a reference in double precision.
@Suite struct FilterTests {
  static let size = PixelSize(width: 98, height: 62)
  static let bt709 = ColourTags(matrix: "bt709")

  private func filter(_ kind: FilterKind, _ values: [Double], color: Color? = nil, table: String? = nil) throws
    -> Filter<RampList>
  {
    Filter(kind, try values.map { try RampList.constant($0) }, color: color, table: table)
  }

  /// A source of one picture, of noise or of waves.
  private struct Scene {
    let fixture: VideoFixture
    let format: PixelFormat
    let size: PixelSize
    let original: FilterReference
    private let source: Int

    init(_ format: PixelFormat, size: PixelSize = FilterTests.size, soft: Bool = false) throws {
      self.format = format
      self.size = size
      var fixture = try VideoFixture()
      let picture =
        soft ? FilterTests.smooth(size, format) : CompositingTests.noise(size, format, count: 1, seed: 7)
      source = try fixture.make(
        "picture.mov", raw: picture, format: FrameFormat(format).name, width: size.width, height: size.height,
        ["-c:v", "ffv1"])
      self.fixture = fixture
      original = FilterReference(CompositingTests.samples(picture, format), size, format)
    }

    /// The picture filtered, in codes.
    func rendered(
      _ filters: [Filter<RampList>], inputs: [String: any ByteSource] = [:], ofFilm: Bool = false
    ) throws -> [Int] {
      var clip = try fixture.clip(source)
      if !ofFilm { clip.filters = filters }
      var task = fixture.task([.clip(clip)], size: size, format: format, colour: FilterTests.bt709, frameCount: 1)
      if ofFilm { task.filters = filters }
      let maker = try FrameMaker(task, inputs: fixture.inputs.merging(inputs) { first, _ in first })
      return CompositingTests.samples(try maker.frame(0).packed, format)
    }
  }

  /// Waves of colour, so that neighbouring pixels are alike as in a photograph.
  fileprivate static func smooth(_ size: PixelSize, _ format: PixelFormat) -> [UInt8] {
    let chroma = ChromaCell(format).chroma(PixelRect(size)).size
    var bytes: [UInt8] = []
    for (plane, extent) in [size, chroma, chroma].enumerated() {
      for y in 0..<extent.height {
        for x in 0..<extent.width {
          let (across, down) = (Double(x) / Double(extent.width), Double(y) / Double(extent.height))
          let wave = sin(5 * across + Double(plane)) * cos(4 * down + 2 * Double(plane))
          let code = (128 + (plane == 0 ? 90 : 60) * wave) * Double(1 << (format.bitDepth - 8))
          let whole = UInt16(code.rounded())
          bytes += format.bitDepth > 8 ? [UInt8(whole & 255), UInt8(whole >> 8)] : [UInt8(whole)]
        }
      }
    }
    return bytes
  }

  private func least(_ format: PixelFormat) -> Double { format.bitDepth > 8 ? 60 : 50 }

  @Test(arguments: TestExtent.of([PixelFormat.yuv420p, .yuv422p10, .yuv444p], whole: PixelFormat.allCases))
  func `colour filters are their formulas`(format: PixelFormat) throws {
    let gain: Double = pow(2, 0.7 / 2.4)
    let turn = 40.0 * .pi / 180
    let cases: [(Filter<RampList>, (inout FilterReference) -> Void)] = [
      (try filter(.exposure, [0.7]), { $0.change { (gain * $0, gain * $1, gain * $2) } }),
      (try filter(.brightness, [-0.2]), { $0.change { ($0 - 0.2, $1, $2) } }),
      (try filter(.contrast, [1.6]), { $0.change { (1.6 * ($0 - 0.5) + 0.5, 1.6 * $1, 1.6 * $2) } }),
      (try filter(.saturation, [1.9]), { $0.change { ($0, 1.9 * $1, 1.9 * $2) } }),
      (try filter(.grayscale, [0.75]), { $0.change { ($0, 0.25 * $1, 0.25 * $2) } }),
      (try filter(.invert, [1]), { $0.change { (1 - $0, -$1, -$2) } }),
      (
        try filter(.hue, [40]),
        { $0.change { ($0, cos(turn) * $1 - sin(turn) * $2, sin(turn) * $1 + cos(turn) * $2) } }
      ),
      (
        try filter(.sepia, [0.6]),
        {
          $0.changeRGB { rgb in
            [[0.393, 0.769, 0.189], [0.349, 0.686, 0.168], [0.272, 0.534, 0.131]].enumerated().map { index, row in
              0.4 * rgb[index] + 0.6 * (row[0] * rgb[0] + row[1] * rgb[1] + row[2] * rgb[2])
            }
          }
        }
      ),
      (
        try filter(.colorBalance, [0.8, -0.5]),
        {
          let gains = [1.2, 1.125, 0.8]
          let white = 0.2126 * gains[0] + 0.7152 * gains[1] + 0.0722 * gains[2]
          $0.changeRGB { zip($0, gains).map { $0 * $1 / white } }
        }
      ),
    ]
    let scene = try Scene(format)
    for (filter, formula) in cases {
      var reference = scene.original
      formula(&reference)
      let psnr = reference.psnr(try scene.rendered([filter]))
      #expect(psnr >= least(format), "\(filter.kind): \(psnr) dB")
    }
    // Several in a row are rounded once.
    let made = try scene.rendered(cases.map(\.0))
    var reference = scene.original
    for (_, formula) in cases { formula(&reference) }
    #expect(reference.psnr(made) >= least(format) - 8, "\(reference.psnr(made)) dB")
    // A filter of the film is the same as one of its only layer.
    #expect(try scene.rendered(cases.map(\.0), ofFilm: true) == made)
  }

  @Test(arguments: [PixelFormat.yuv420p, .yuv422p10, .yuv444p])
  func `a blur is a Gaussian with its edges repeated`(format: PixelFormat) throws {
    let scene = try Scene(format, size: PixelSize(width: 50, height: 38))
    for radius in [0.7, 3, 6, 7.5, 15, 40] {
      var reference = scene.original
      reference.blur(radius)
      let psnr = reference.psnr(try scene.rendered([try filter(.blur, [radius])]))
      #expect(psnr >= least(format), "radius \(radius): \(psnr) dB")
    }
    #expect(try scene.rendered([try filter(.blur, [0])]) == scene.rendered([]))
  }

  @Test(arguments: [PixelFormat.yuv420p, .yuv444p10]) func `sharpening is an unsharp mask`(format: PixelFormat) throws {
    let scene = try Scene(format)
    for (amount, radius) in [(0.5, 1.5), (2, 4.0)] {
      let made = try scene.rendered([try filter(.sharpen, [amount, radius])])
      var reference = scene.original
      var soft = reference
      soft.blur(radius, planes: [0])
      reference.planes[0] = zip(reference.planes[0], soft.planes[0]).map { $0 + amount * ($0 - $1) }
      #expect(reference.psnr(made) >= least(format), "\(reference.psnr(made)) dB")
    }
  }

  @Test(arguments: [PixelFormat.yuv420p, .yuv422p10]) func `a vignette darkens towards the corners`(format: PixelFormat)
    throws
  {
    let scene = try Scene(format)
    let made = try scene.rendered([try filter(.vignette, [0.8, 0.3, 0.6])])
    var reference = scene.original
    let size = Self.size
    func kept(_ x: Double, _ y: Double) -> Double {
      let (w, h) = (Double(size.width) / 2, Double(size.height) / 2)
      let part = min(1, max(0, (hypot(x - w, y - h) / hypot(w, h) - 0.3) / 0.6))
      return 1 - 0.8 * part * part * (3 - 2 * part)
    }
    for y in 0..<size.height {
      for x in 0..<size.width { reference.planes[0][y * size.width + x] *= kept(Double(x) + 0.5, Double(y) + 0.5) }
    }
    let (chroma, cell) = (reference.chroma, reference.cell)
    for y in 0..<chroma.height {
      for x in 0..<chroma.width {
        let factor = kept((Double(x) + 0.5) * Double(cell.width), (Double(y) + 0.5) * Double(cell.height))
        for plane in 1...2 { reference.planes[plane][y * chroma.width + x] *= factor }
      }
    }
    #expect(reference.psnr(made) >= least(format), "\(reference.psnr(made)) dB")
  }

  @Test(arguments: [PixelFormat.yuv420p, .yuv422p10, .yuv444p])
  func `blocks are the means of their pixels`(format: PixelFormat) throws {
    let scene = try Scene(format)
    for side in [2, 7, 12.5, 300] {
      var reference = scene.original
      reference.mosaic(side)
      let made = try scene.rendered([try filter(.pixelate, [side])])
      #expect(reference.psnr(made) >= least(format), "side \(side): \(reference.psnr(made)) dB")
    }
    #expect(try scene.rendered([try filter(.pixelate, [1])]) == scene.rendered([]))
  }

  // MARK: Look-up tables

  /// A table of size n whose entries are a function of theirs.
  private func cube(_ n: Int, _ formula: ([Double]) -> [Double]) -> String {
    var lines = ["TITLE \"test\"", "# a comment", "LUT_3D_SIZE \(n)", "DOMAIN_MIN 0 0 0", "DOMAIN_MAX 1 1 1"]
    for b in 0..<n {
      for g in 0..<n {
        for r in 0..<n {
          let values = formula([r, g, b].map { Double($0) / Double(n - 1) })
          lines.append(values.map { String(format: "%.6f", $0) }.joined(separator: " "))
        }
      }
    }
    return lines.joined(separator: "\n") + "\n"
  }

  /// Warm shadows, cold lights, and channels that are mixed.
  private func grade(_ rgb: [Double]) -> [Double] {
    [
      pow(rgb[0], 0.8) * 0.9 + 0.05 * rgb[1], 0.85 * rgb[1] + 0.1 * rgb[2] + 0.02,
      pow(rgb[2], 1.3) * 0.8 + 0.1 * rgb[0] * rgb[1],
    ]
  }

  @Test(arguments: [PixelFormat.yuv420p, .yuv422p10, .yuv444p])
  func `a table is interpolated in tetrahedra`(format: PixelFormat) throws {
    let text = cube(9, grade)
    let input: [String: any ByteSource] = ["table": MemorySource(Array(text.utf8))]
    let scene = try Scene(format, soft: true)
    for amount in [1, 0.4] {
      let made = try scene.rendered([try filter(.lut, [amount], table: "table")], inputs: input)
      var reference = scene.original
      reference.changeRGB { colour in
        let limited = colour.map { min(1, max(0, $0)) }
        let places = limited.map { $0 * 8 }
        let corner = places.map { min(7, Int($0)) }
        let parts = zip(places, corner).map { $0 - Double($1) }
        var point = corner
        var value = grade(point.map { Double($0) / 8 })
        for axis in [0, 1, 2].sorted(by: { parts[$0] > parts[$1] }) {
          let before = grade(point.map { Double($0) / 8 })
          point[axis] += 1
          let after = grade(point.map { Double($0) / 8 })
          for channel in 0..<3 { value[channel] += parts[axis] * (after[channel] - before[channel]) }
        }
        return zip(limited, value).map { $0 * (1 - amount) + min(1, max(0, $1)) * amount }
      }
      let psnr = reference.psnr(made)
      #expect(psnr >= least(format), "amount \(amount): \(psnr) dB")
    }
  }

  @Test func `a table is that of ffmpeg`() throws {
    var fixture = try VideoFixture()
    try cube(17, grade).write(toFile: fixture.folder.path("grade.cube"), atomically: true, encoding: .utf8)
    let size = PixelSize(width: 320, height: 240)
    for (name, format) in [("a.mov", "yuv444p"), ("b.mov", "yuv420p")] {
      let source = try fixture.make(
        name,
        [
          "-f", "lavfi", "-i", "testsrc2=size=320x240:rate=30:duration=0.1,gblur=sigma=2,format=\(format)", "-c:v",
          "ffv1", "-colorspace", "bt709",
        ])
      var clip = try fixture.clip(source, frames: 0..<1)
      clip.filters = [try filter(.lut, [1], table: "grade")]
      let pixelFormat = format == "yuv444p" ? PixelFormat.yuv444p : .yuv420p
      let task = fixture.task([.clip(clip)], size: size, format: pixelFormat, colour: Self.bt709, frameCount: 1)
      let table: any ByteSource = try openSource(fixture.folder.path("grade.cube"))
      let maker = try FrameMaker(task, inputs: fixture.inputs.merging(["grade": table]) { first, _ in first })
      let made = try maker.frame(0).packed
      let other = try fixture.decoded(
        fixture.folder.path(name), format: format, size: size,
        [
          "-vf",
          "scale=in_color_matrix=bt709:flags=accurate_rnd+full_chroma_int,format=gbrp,"
            + "lut3d=file=\(fixture.folder.path("grade.cube")):interp=tetrahedral,"
            + "scale=out_color_matrix=bt709:out_range=tv:flags=accurate_rnd+full_chroma_int+area,format=\(format)",
        ])[0]
      let difference = zip(made, other).reduce(0) { $0 + abs(Int($1.0) - Int($1.1)) }
      #expect(Double(difference) / Double(made.count) <= 1, "\(Double(difference) / Double(made.count)) in \(format)")
    }
  }

  @Test func `curves and domains are used`() throws {
    // An inverted curve over a domain of twice the range: 0…1 becomes 1…0.5.
    let text = "LUT_1D_SIZE 3\nDOMAIN_MIN 0 0 0\nDOMAIN_MAX 2 2 2\n1 1 1\n0.5 0.5 0.5\n0 0 0\n"
    let input: [String: any ByteSource] = ["table": MemorySource(Array(text.utf8))]
    let scene = try Scene(.yuv444p10, soft: true)
    let made = try scene.rendered([try filter(.lut, [1], table: "table")], inputs: input)
    var reference = scene.original
    reference.changeRGB { $0.map { 1 - min(1, max(0, $0)) / 2 } }
    #expect(reference.psnr(made) >= 60, "\(reference.psnr(made)) dB")
  }

  // MARK: Coverage

  @Test(arguments: [PixelFormat.yuv420p, .yuv422p, .yuv444p10])
  func `a chroma key shows what is behind and keeps the rest`(format: PixelFormat) throws {
    var fixture = try VideoFixture()
    let size = PixelSize(width: 128, height: 96)
    // A red square on green.
    let front = try fixture.make(
      "front.mov",
      [
        "-f", "lavfi", "-i", "color=0x00ff00:size=128x96:rate=30:duration=0.1", "-vf",
        "format=rgb24,drawbox=x=32:y=24:w=64:h=48:color=0xff0000:t=fill,scale=out_color_matrix=bt709,format=yuv444p",
        "-c:v", "ffv1", "-colorspace", "bt709",
      ])
    let behind = try fixture.make(
      "behind.mov",
      [
        "-f", "lavfi", "-i", "color=0x0000ff:size=128x96:rate=30:duration=0.1", "-vf",
        "scale=out_color_matrix=bt709,format=yuv444p", "-c:v", "ffv1", "-colorspace", "bt709",
      ])
    var clip = try fixture.clip(front, frames: 0..<1)
    clip.filters = [try filter(.chromaKey, [0.15, 0.1, 0.5], color: Color(red: 0, green: 255, blue: 0))]
    let layers = [PlannedLayer.clip(clip), .clip(try fixture.clip(behind, frames: 0..<1))]
    // In the middle of its cell, so that no chroma sample is of both colours: the square is of whole cells.
    var colour = Self.bt709
    colour.chromaLocation = "center"
    let codes = CompositingTests.samples(
      try fixture.frame(fixture.task(layers, size: size, format: format, colour: colour, frameCount: 1)), format)
    let depth = 1 << (format.bitDepth - 8)
    let (red, blue) = (63, 32)
    #expect(abs(codes[48 * 128 + 64] - red * depth) <= 2 * depth)
    #expect(abs(codes[4 * 128 + 4] - blue * depth) <= 2 * depth)
    // Two pixels from the edge nothing of the other is seen, and no pixel is lighter than both: no halo.
    #expect(abs(codes[48 * 128 + 34] - red * depth) <= 2 * depth)
    #expect(abs(codes[48 * 128 + 29] - blue * depth) <= 2 * depth)
    #expect(codes[(48 * 128)..<(48 * 128 + 128)].allSatisfy { $0 <= (red + 4) * depth && $0 >= (blue - 4) * depth })
  }

  /// Noise over a colour: the key of each pixel, with chroma interpolated to it or between those of its chroma samples,
  /// whichever is less, and for each chroma sample the weighted mean around its place.
  @Test(arguments: TransitionTests.films)
  func `a chroma key is its definition, wherever chroma lies`(film: TransitionTests.Film) throws {
    let (format, size) = (film.format, film.size)
    let (similarity, blend, spill) = (0.15, 0.3, 0.6)
    let step = Double(1 << (format.bitDepth - 8))
    let highest = Double(1 << format.bitDepth) - 1
    func codes(_ color: Color) -> [Double] {
      let (r, g, b) = (Double(color.red) / 255, Double(color.green) / 255, Double(color.blue) / 255)
      let luma = 0.2126 * r + 0.7152 * g + 0.0722 * b
      return [16 + 219 * luma, 128 + 224 * (b - luma) / 1.8556, 128 + 224 * (r - luma) / 1.5748].map {
        ($0 * step).rounded()
      }
    }
    let (key, background) = (Color(red: 60, green: 170, blue: 90), Color(red: 220, green: 90, blue: 160))
    let (ofKey, below) = (codes(key), codes(background))

    let raw = CompositingTests.noise(size, format, count: 1, seed: 11)
    let samples = CompositingTests.samples(raw, format).map(Double.init)
    let (shiftX, shiftY) = format.chromaShift
    let (width, height) = (size.width, size.height)
    let columns = (width + (1 << shiftX) - 1) >> shiftX
    let rows = (height + (1 << shiftY) - 1) >> shiftY
    let cb = Array(samples[(width * height)..<(width * height + columns * rows)])
    let cr = Array(samples[(width * height + columns * rows)...])
    let name = film.chromaLocation ?? "left"
    let site = (
      x: shiftX == 0 || name.hasSuffix("left") ? 0.5 : 1,
      y: shiftY == 0 || name.hasPrefix("top") ? 0.5 : name.hasPrefix("bottom") ? 1.5 : 1
    )
    func interpolated(_ plane: [Double], _ x: Int, _ y: Int) -> Double {
      let u = (Double(x) + 0.5 - site.x) / Double(1 << shiftX)
      let v = (Double(y) + 0.5 - site.y) / Double(1 << shiftY)
      let (left, top) = (u.rounded(.down), v.rounded(.down))
      var sum = 0.0
      for (row, ofRow) in [(top, 1 - v + top), (top + 1, v - top)] {
        for (column, ofColumn) in [(left, 1 - u + left), (left + 1, u - left)] {
          let at = (min(columns - 1, max(0, Int(column))), min(rows - 1, max(0, Int(row))))
          sum += ofRow * ofColumn * plane[at.1 * columns + at.0]
        }
      }
      return sum
    }
    func left(_ cb: Double, _ cr: Double) -> Double {
      min(1, max(0, (hypot(cb - ofKey[1], cr - ofKey[2]) / (224 * step) - similarity) / blend))
    }
    let ofSamples = zip(cb, cr).map(left)
    var kept = [Double](repeating: 0, count: width * height)
    for y in 0..<height {
      for x in 0..<width {
        kept[y * width + x] = min(
          left(interpolated(cb, x, y), interpolated(cr, x, y)), interpolated(ofSamples, x, y))
      }
    }
    var right = (0..<(width * height)).map { kept[$0] * samples[$0] + (1 - kept[$0]) * below[0] }
    let length = hypot(ofKey[1] - 128 * step, ofKey[2] - 128 * step)
    let along = [(ofKey[1] - 128 * step) / length, (ofKey[2] - 128 * step) / length]
    for plane in 1...2 {
      for y in 0..<rows {
        for x in 0..<columns {
          var share = 0.0
          for row in film.down {
            for column in film.across {
              let at = (
                min(width - 1, max(0, x << shiftX + column.at)), min(height - 1, max(0, y << shiftY + row.at))
              )
              share += row.weight * column.weight * kept[at.1 * width + at.0]
            }
          }
          let chroma = [cb[y * columns + x] - 128 * step, cr[y * columns + x] - 128 * step]
          let towards = max(0, chroma[0] * along[0] + chroma[1] * along[1])
          let rest = chroma[plane - 1] - spill * towards * along[plane - 1] + 128 * step
          right.append(share * min(highest, max(0, rest)) + (1 - share) * below[plane])
        }
      }
    }

    var fixture = try VideoFixture()
    let source = try fixture.make(
      "noise.mov", raw: raw, format: FrameFormat(format).name, width: width, height: height, ["-c:v", "ffv1"])
    fixture.change(source) { $0.video.colour = film.colour }
    var clip = try fixture.clip(source, frames: 0..<1)
    clip.filters = [try filter(.chromaKey, [similarity, blend, spill], color: key)]
    let task = fixture.task(
      [.clip(clip)], size: size, format: format, colour: film.colour, frameCount: 1, background: background)
    let made = CompositingTests.samples(try fixture.frame(task), format)
    let errors = zip(made, right).map { Double($0) - $1 }
    let error = errors.reduce(0) { $0 + $1 * $1 } / Double(errors.count)
    let psnr = 10 * log10(highest * highest / error)
    let worst = errors.map(abs).max() ?? .infinity
    #expect(psnr >= (format.bitDepth > 8 ? 71.5 : 59.5), "\(psnr) dB")
    #expect(worst <= 0.55, "\(worst)")
  }

  /// Where a picture with alpha is partly transparent, its colour is that of what is covered.
  @Test(arguments: [PixelFormat.yuv420p, .yuv422p, .yuv444p10])
  func `nothing is left of a picture with alpha in the colour of its key`(format: PixelFormat) throws {
    var fixture = try VideoFixture()
    let size = PixelSize(width: 64, height: 48)
    let disc = try fixture.make(
      "disc.png",
      [
        "-f", "lavfi", "-i",
        "color=white:size=64x48,format=rgba,geq=r=0:g=200:b=80:a='255*clip((20-hypot(X-31,Y-23))/6,0,1)'", "-frames:v",
        "1",
      ])
    var clip = try fixture.clip(disc, frames: 0..<1)
    clip.filters = [try filter(.chromaKey, [0.1, 0.1, 0.5], color: Color(red: 0, green: 200, blue: 80))]
    func film(_ layers: [PlannedLayer]) throws -> [UInt8] {
      try fixture.frame(
        fixture.task(layers, size: size, format: format, colour: Self.bt709, frameCount: 1, background: .white))
    }
    #expect(try film([.clip(clip)]) == film([]))
    // Of another colour all is left.
    clip.filters = [try filter(.chromaKey, [0.1, 0.1, 0], color: Color(red: 255, green: 0, blue: 255))]
    let kept = try film([.clip(clip)])
    clip.filters = nil
    let plain = try film([.clip(clip)])
    let difference = zip(CompositingTests.samples(kept, format), CompositingTests.samples(plain, format)).map {
      abs($0 - $1)
    }
    #expect(difference.allSatisfy { $0 <= 1 })
  }

  @Test func `keyed pictures are independent of one another`() throws {
    var fixture = try VideoFixture()
    func source(_ name: String, _ square: String) throws -> Int {
      try fixture.make(
        name,
        [
          "-f", "lavfi", "-i", "color=0x00ff00:size=64x64:rate=30:duration=0.2", "-vf",
          "drawbox=\(square):color=0xff0000:t=fill", "-c:v", "ffv1", "-pix_fmt", "yuv420p",
        ])
    }
    let sources = [try source("left.mov", "x=4:y=4:w=20:h=50"), try source("right.mov", "x=36:y=10:w=20:h=50")]
    let over = try MediaTimeRange(start: .zero, duration: MediaTime(value: 3, timescale: 30))
    let layers = try sources.map { source in
      var clip = try fixture.clip(source, frames: 0..<3)
      clip.filters = [
        .saturation(amount: RampList([Ramp(over: over, from: 1, to: 0.5)])),
        try filter(.chromaKey, [0.2, 0.1, 0.5], color: Color(red: 0, green: 255, blue: 0)),
      ]
      return PlannedLayer.clip(clip)
    }
    let size = PixelSize(width: 64, height: 64)
    let both = fixture.task(layers, size: size, frameCount: 3, background: .white)
    let frames = try fixture.frames(both)
    for index in 0..<3 { #expect(try frames[index] == fixture.frame(both, index)) }
    let alone = try layers.map { try fixture.frame(fixture.task([$0], size: size, frameCount: 3, background: .white)) }
    let (left, right) = (PackedFrame(alone[0], size), PackedFrame(alone[1], size))
    let made = PackedFrame(frames[0], size)
    for y in 0..<64 {
      for x in 0..<64 where made[0, x, y] != (x < 32 ? left[0, x, y] : right[0, x, y]) {
        Issue.record("\(x), \(y) differs")
        return
      }
    }
  }

  @Test func `a blur of a picture with alpha blurs its coverage`() throws {
    var fixture = try VideoFixture()
    let size = PixelSize(width: 64, height: 64)
    let source = try fixture.make(
      "disc.png",
      [
        "-f", "lavfi", "-i", "color=white:size=64x64,format=rgba,geq=r=255:g=255:b=255:a='if(lt(X,32),255,0)'",
        "-frames:v", "1",
      ])
    var clip = try fixture.clip(source, frames: 0..<1)
    clip.filters = [try filter(.blur, [4]), try filter(.invert, [1])]
    let task = fixture.task([.clip(clip)], size: size, colour: Self.bt709, frameCount: 1, background: .white)
    let codes = try fixture.frame(task).map(Int.init)
    // White that was inverted is black, over white: what is seen is the coverage of a blurred edge.
    for x in 0..<64 {
      let covered = 0.5 * erfc((Double(x) - 31.5) / (4 * 2.0.squareRoot()))
      #expect(abs(Double(codes[20 * 64 + x]) - (235 - 219 * covered)) <= 1.5, "at \(x)")
    }
  }

  @Test func `the fit blur is a picture over its blurred self`() throws {
    var fixture = try VideoFixture()
    let wide = try fixture.make(
      "wide.mov",
      ["-f", "lavfi", "-i", "testsrc2=size=160x40:rate=30:duration=0.1", "-c:v", "ffv1", "-pix_fmt", "yuv420p"])
    let size = PixelSize(width: 100, height: 100)
    func frame(_ fit: Fit, _ filters: [Filter<RampList>]? = nil) throws -> PackedFrame {
      var clip = try fixture.clip(wide, frames: 0..<1, fit: fit)
      clip.filters = filters
      return PackedFrame(try fixture.frame(fixture.task([.clip(clip)], size: size, frameCount: 1)), size)
    }
    let (made, contained) = (try frame(.blur), try frame(.contain))
    let behind = try frame(.cover, [try filter(.blur, [4])])
    let rows = Fitting(
      PixelSize(width: 160, height: 40), fit: .contain, frame: size, cell: ChromaCell(.yuv420p)
    ).target.rows
    #expect(rows.count < 30)
    for plane in 0..<3 {
      let (length, scale) = plane == 0 ? (100, 1) : (50, 2)
      for y in 0..<length {
        for x in 0..<length {
          let right = rows.contains(y * scale) ? contained[plane, x, y] : behind[plane, x, y]
          if made[plane, x, y] != right {
            Issue.record("plane \(plane) differs at \(x), \(y)")
            return
          }
        }
      }
    }
  }

  @Test func `a filter is evaluated at each frame's time`() throws {
    var fixture = try VideoFixture()
    let noise = CompositingTests.noise(Self.size, .yuv420p, count: 1, seed: 7)
    let bytes = noise + noise + noise + noise
    let source = try fixture.make(
      "noise.mov", raw: bytes, format: "yuv420p", width: Self.size.width, height: Self.size.height, ["-c:v", "ffv1"])
    var clip = try fixture.clip(source, frames: 0..<4)
    let over = try MediaTimeRange(start: .zero, duration: MediaTime(value: 3, timescale: 30))
    clip.filters = [.blur(radius: RampList([Ramp(over: over, from: 0, to: 6)]))]
    let task = fixture.task([.clip(clip)], size: Self.size, colour: Self.bt709, frameCount: 4)
    for (index, frame) in try fixture.frames(task).enumerated() {
      var reference = FilterReference(noise.map(Int.init), Self.size, .yuv420p)
      if index > 0 { reference.blur(2 * Double(index)) }
      #expect(reference.psnr(frame.map(Int.init)) >= 50)
    }
  }
}
