import CKernels
import CompositionModel
import Glibc
import Media
import RenderTasks

/// The conversion of R'G'B' from one encoding to another by way of light, in double precision: what the tables of
/// `ColourConversion` are made from, and for single colours.
struct LightPath {
  let path: ColourPath
  /// Light that is brighter than the film can show. Nil: it is cut off.
  private let highlights: CompressedHighlights?
  private let matrix: Matrix3
  private let sourceLuminance: [Double]
  private let filmLuminance: [Double]

  /// - Parameter peak: the greatest brightness of the source in cd/m2, for tone mapping. Nil: 1000.
  init(_ path: ColourPath, toneMapping: ToneMapping, peak: Double? = nil) {
    self.path = path
    matrix =
      path.source.primaries == path.film.primaries
      ? Matrix3(diagonal: [1, 1, 1]) : path.source.primaries.matrix(to: path.film.primaries)
    sourceLuminance = path.source.primaries.luminance
    filmLuminance = path.film.primaries.luminance
    let target: Double? =
      switch path.film.transfer {
      case .pq: nil
      case .hlg: TransferFunction.hlgHighest
      default: 1
      }
    let source =
      path.source.transfer == .hlg
      ? TransferFunction.hlgHighest : min(10000, max(TransferFunction.white, peak ?? 1000)) / TransferFunction.white
    if path.source.transfer.isHDR, toneMapping == .bt2390, let target, target < source {
      highlights = CompressedHighlights(sourcePeak: source, targetPeak: target)
    } else {
      highlights = nil
    }
  }

  /// R'G'B' of the film for R'G'B' of the source.
  func converted(_ numbers: [Double]) -> [Double] {
    var light = numbers.map(path.source.transfer.light(of:))
    if let before = gain(.before) { light = multiplied(light, before) }
    light = matrix.applied(to: light).map { max(0, $0) }
    if let after = gain(.after) { light = multiplied(light, after) }
    return light.map(path.film.transfer.number(of:))
  }

  private func multiplied(_ light: [Double], _ gain: Gain) -> [Double] {
    let brightness =
      gain.weights.map { weights in zip(weights, light).reduce(0) { $0 + $1.0 * $1.1 } } ?? light.max() ?? 0
    // Black stays black, whatever it is multiplied by.
    return brightness > 0 ? light.map { $0 * gain.factor(brightness) } : light
  }

  /// What light is multiplied by, as a function of its brightness.
  fileprivate struct Gain {
    /// The weights of red, green and blue in brightness. Nil: brightness is the greatest of them.
    var weights: [Double]?
    var factor: (Double) -> Double
  }

  fileprivate enum Stage {
    /// In the primaries of the source.
    case before
    /// In those of the film.
    case after
  }

  fileprivate func gain(_ stage: Stage) -> Gain? {
    switch stage {
    case .before:
      guard path.source.transfer == .hlg else { return nil }
      return Gain(weights: sourceLuminance, factor: TransferFunction.sceneToDisplay)
    case .after:
      if path.film.transfer == .hlg {
        // HLG's own gain is one of luminance, so highlights are compressed by it too.
        return Gain(weights: filmLuminance) { [highlights] in
          let shown = highlights?.brightness(of: $0) ?? $0
          return TransferFunction.displayToScene(shown) * shown / $0
        }
      }
      return highlights.map { highlights in Gain { highlights.brightness(of: $0) / $0 } }
    }
  }

  fileprivate var weights: [Double] { matrix.rows.flatMap(\.self) }
}

/// Converts pictures of one source to the colours of the film.
final class ColourConversion {
  private let light: [Float]
  private let before: [Float]?
  private let after: [Float]?
  private let samples: [UInt32]
  private let matrix: [Float]
  private let beforeWeights: [Float]
  private let afterWeights: [Float]
  private let isAfterGreatest: Bool

  init(_ path: LightPath) {
    light = (0...Int(SHEAF_COLOUR_TOP)).map { Float(path.path.source.transfer.light(of: Double($0) / 16384)) }
    matrix = path.weights.map { Float($0) }
    func table(_ gain: LightPath.Gain?) -> [Float]? {
      gain.map { gain in Self.lights.map { Float(gain.factor($0)) } }
    }
    func weights(_ gain: LightPath.Gain?) -> [Float] { (gain?.weights ?? [0, 0, 0]).map { Float($0) } }
    let (first, last) = (path.gain(.before), path.gain(.after))
    (before, beforeWeights) = (table(first), weights(first))
    (after, afterWeights) = (table(last), weights(last))
    isAfterGreatest = last.map { $0.weights == nil } ?? false
    // The first entry is black's.
    let numbers = Self.lights.enumerated().map { index, light in
      index == 0 ? 0 : UInt32((path.path.film.transfer.number(of: light) * 16384).rounded())
    }
    samples = zip(numbers, numbers.dropFirst() + [numbers[numbers.count - 1]]).map { ($1 - $0) << 16 | $0 }
  }

  /// The light of each entry of a table.
  private static let lights: [Double] = (0...Int(SHEAF_LIGHT_OCTAVES * SHEAF_LIGHT_STEPS)).map { index in
    let (octave, step) = index.quotientAndRemainder(dividingBy: Int(SHEAF_LIGHT_STEPS))
    return ldexp(1 + Double(step) / Double(SHEAF_LIGHT_STEPS), Int32(octave) + SHEAF_LIGHT_LEAST)
  }

  /// The transform for the kernels. It is valid inside `body` only.
  func withTransform<Result>(_ body: (UnsafePointer<sheaf_colour_transform>) -> Result) -> Result {
    light.withUnsafeBufferPointer { light in
      samples.withUnsafeBufferPointer { samples in
        (before ?? []).withUnsafeBufferPointer { before in
          (after ?? []).withUnsafeBufferPointer { after in
            var transform = sheaf_colour_transform()
            transform.light = light.baseAddress
            transform.samples = samples.baseAddress
            transform.matrix = (
              matrix[0], matrix[1], matrix[2], matrix[3], matrix[4], matrix[5], matrix[6], matrix[7], matrix[8]
            )
            transform.before.table = self.before == nil ? nil : before.baseAddress
            transform.before.weights = (beforeWeights[0], beforeWeights[1], beforeWeights[2])
            transform.after.table = self.after == nil ? nil : after.baseAddress
            transform.after.weights = (afterWeights[0], afterWeights[1], afterWeights[2])
            transform.after.is_greatest = isAfterGreatest ? 1 : 0
            return withUnsafePointer(to: transform, body)
          }
        }
      }
    }
  }

  /// Whether a frame can be converted as it is: planes of luma and chroma, subsampled as in the film.
  static func canConvert(_ format: FrameFormat, to film: FrameFormat) -> Bool {
    format.planeCount == 3 && !format.isRGB && !format.hasAlpha && format.name.hasPrefix("yuv")
      && (format.bitDepth == 8 || format.bitDepth <= 16 && format.name.hasSuffix("le"))
      && format.chromaShift == film.chromaShift
  }

  /// Converts the part of a frame from its pixel (x, y) on that has the size of `target`. The part starts on a chroma
  /// sample.
  func convert(
    _ frame: Frame, x: Int, y: Int, _ source: YCbCrMatrix, into target: Frame, _ film: YCbCrMatrix
  ) throws(RenderError) {
    let size = target.size
    let shift = frame.format.chromaShift
    let scratch = try SampleStorage(count: 2 * sheaf_colour_scratch(Int32(size.width)))
    func planes(_ frame: Frame, x: Int, y: Int) -> sheaf_colour_planes {
      let bytes = frame.format.bitDepth > 8 ? 2 : 1
      func plane(_ index: Int) -> UnsafeMutableRawPointer {
        let (column, row) = index == 0 ? (x, y) : (x >> shift.horizontal, y >> shift.vertical)
        // The pointer stays valid while the frame does.
        return frame.withPlane(index) {
          UnsafeMutableRawPointer(mutating: $0) + row * frame.stride(ofPlane: index) + column * bytes
        }
      }
      return sheaf_colour_planes(
        plane: (plane(0), plane(1), plane(2)),
        stride: (frame.stride(ofPlane: 0), frame.stride(ofPlane: 1), frame.stride(ofPlane: 2)))
    }
    withTransform { transform in
      withUnsafePointer(to: source.decoding) { decoding in
        withUnsafePointer(to: film.encoding) { encoding in
          scratch.base.withMemoryRebound(to: UInt32.self, capacity: sheaf_colour_scratch(Int32(size.width))) {
            sheaf_convert_colour(
              sheaf_colour_kernels_best(), planes(target, x: 0, y: 0), planes(frame, x: x, y: y), Int32(size.width),
              Int32(size.height), Int32(shift.horizontal), Int32(shift.vertical), decoding, transform, encoding, $0)
          }
        }
      }
    }
  }

  /// Converts a picture with alpha in place.
  func convert(_ picture: RGBAPicture) throws(RenderError) {
    let scratch = try SampleStorage(count: 2 * sheaf_colour_scratch(Int32(picture.size.width)))
    withTransform { transform in
      scratch.base.withMemoryRebound(to: UInt32.self, capacity: sheaf_colour_scratch(Int32(picture.size.width))) {
        sheaf_convert_rgba(
          sheaf_colour_kernels_best(), picture.planes(), Int32(picture.size.width), Int32(picture.size.height),
          transform, $0)
      }
    }
  }

  /// The conversion of texts to a film's colours. Nil if the film has the colours of texts.
  static func graphics(_ format: VideoTaskFormat) -> ColourConversion? {
    let path = ColourPath(graphicsIn: format.colour, size: format.size)
    return path.isSame ? nil : ColourConversion(LightPath(path, toneMapping: .bt2390))
  }
}

extension YCbCrMatrix {
  /// In 1/32768.
  private static func fixed(_ weight: Double) -> Int32 { Int32((weight * 32768).rounded()) }

  /// From codes to R'G'B', for the kernels.
  var decoding: sheaf_colour_decoding {
    let green = 1 - red - blue
    let luma = Self.fixed(16384 / (lumaScale * unit))
    let chroma = 16384 / (chromaScale * unit)
    let (ofCb, ofCr) = (2 * (1 - blue) * chroma, 2 * (1 - red) * chroma)
    return sheaf_colour_decoding(
      weights: (
        (luma, 0, Self.fixed(ofCr)), (luma, Self.fixed(-ofCb * blue / green), Self.fixed(-ofCr * red / green)),
        (luma, Self.fixed(ofCb), 0)
      ), luma_offset: Int32(lumaOffset * unit), depth: Int32(depth))
  }

  /// From R'G'B' to codes, for the kernels. Green gets what rounding leaves over, so that greys have no chroma.
  var encoding: sheaf_colour_encoding {
    let rows = codeRows.map { row in
      let (red, blue) = (Self.fixed(row.red * unit / 16384), Self.fixed(row.blue * unit / 16384))
      return (red, Self.fixed((row.red + row.green + row.blue) * unit / 16384) - red - blue, blue)
    }
    return sheaf_colour_encoding(
      weights: (rows[0], rows[1], rows[2]), offsets: (Int32(lumaOffset), Int32(chromaOffset), Int32(chromaOffset)),
      depth: Int32(depth))
  }

  /// A code in units of 14 bits.
  private var unit: Double { ldexp(1, Int32(14 - depth)) }
}
