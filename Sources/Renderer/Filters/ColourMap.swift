import CKernels
import CompositionModel
import Glibc

/// A linear change of luma and chroma: each of the three is a weighted sum of all and a constant. Luma is 0…1, and Cb
/// and Cr are -0.5…0.5.
struct ColourMap: Equatable {
  /// Three rows of the weights of luma, Cb and Cr, and a constant.
  var rows: [[Double]]

  static let identity = ColourMap(rows: [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]])

  /// This change made after another.
  func after(_ first: ColourMap) -> ColourMap {
    ColourMap(
      rows: rows.map { row in
        (0..<4).map { column in
          (0..<3).reduce(column == 3 ? row[3] : 0) { $0 + row[$1] * first.rows[$1][column] }
        }
      })
  }

  /// Luma times a gain and plus a constant, and chroma times a gain.
  fileprivate init(luma: Double, plus: Double, chroma: Double) {
    rows = [[luma, 0, 0, plus], [0, chroma, 0, 0], [0, 0, chroma, 0]]
  }

  fileprivate init(rows: [[Double]]) {
    self.rows = rows
  }
}

/// The composition's luma and chroma in the samples that filters work on, in which 1 is 16384.
struct ColourSpace {
  /// The sample of black.
  let lumaOffset: Double
  /// The distance of white from black.
  let lumaScale: Double
  /// The distance of the greatest Cb from the least.
  let chromaScale: Double
  /// From luma, Cb, Cr and coverage to red, green and blue.
  let toRGB: [sheaf_sum]
  /// From red, green, blue and coverage to luma, Cb and Cr.
  let fromRGB: [sheaf_sum]
  /// From R'G'B' to luma and chroma as a `ColourMap` has them, and back.
  private let encoding: [[Double]]
  private let decoding: [[Double]]

  init(_ matrix: YCbCrMatrix) {
    let (red, blue) = (matrix.red, matrix.blue)
    let green = 1 - red - blue
    let highest = Double(1 << matrix.depth) - 1
    let unit = Double(1 << (14 - matrix.depth)) / 16384
    let step = Double(1 << (matrix.depth - 8))
    lumaOffset = matrix.isFullRange ? 0 : 16 * step * unit
    lumaScale = matrix.isFullRange ? highest * unit : 219 * step * unit
    chromaScale = matrix.isFullRange ? highest * unit : 224 * step * unit
    let (ofCb, ofCr) = (2 * (1 - blue), 2 * (1 - red))
    encoding = [
      [red, green, blue], [-red / ofCb, -green / ofCb, 0.5], [0.5, -green / ofCr, -blue / ofCr],
    ]
    decoding = [[1, 0, ofCr], [1, -blue * ofCb / green, -red * ofCr / green], [1, ofCb, 0]]
    let (offset, luma, chroma) = (lumaOffset, lumaScale, chromaScale)
    toRGB = decoding.map { row in
      ColourSpace.sum([row[0] / luma, row[1] / chroma, row[2] / chroma], at: [offset, 0.5, 0.5], gives: 0)
    }
    fromRGB = zip(encoding, [(luma, offset), (chroma, 0.5), (chroma, 0.5)]).map { row, code in
      ColourSpace.sum(row.map { $0 * code.0 }, at: [0, 0, 0], gives: code.1)
    }
  }

  /// A filter as a change of luma and chroma. Nil if it is none.
  func map(of filter: Filter<Double>) -> ColourMap? {
    switch filter {
    case .exposure(let stops):
      // The light of a display with the exponent 2.4 (BT.1886) is multiplied by 2^stops.
      let gain = exp2(stops / 2.4)
      return ColourMap(luma: gain, plus: 0, chroma: gain)
    case .brightness(let amount): return ColourMap(luma: 1, plus: amount, chroma: 1)
    case .contrast(let amount): return ColourMap(luma: amount, plus: 0.5 - 0.5 * amount, chroma: amount)
    case .saturation(let amount): return ColourMap(luma: 1, plus: 0, chroma: amount)
    case .grayscale(let amount): return ColourMap(luma: 1, plus: 0, chroma: 1 - amount)
    case .invert(let amount): return ColourMap(luma: 1 - 2 * amount, plus: amount, chroma: 1 - 2 * amount)
    case .hue(let degrees):
      let angle = degrees * .pi / 180
      let (across, up) = (cos(angle), sin(angle))
      return ColourMap(rows: [[1, 0, 0, 0], [0, across, -up, 0], [0, up, across, 0]])
    case .colorBalance(let temperature, let tint):
      var gains = [1 + 0.25 * temperature, 1 - 0.25 * tint, 1 - 0.25 * temperature]
      let luma = zip(encoding[0], gains).reduce(0) { $0 + $1.0 * $1.1 }
      gains = gains.map { $0 / luma }
      return map(ofRGB: [[gains[0], 0, 0], [0, gains[1], 0], [0, 0, gains[2]]])
    case .sepia(let amount):
      let full = [[0.393, 0.769, 0.189], [0.349, 0.686, 0.168], [0.272, 0.534, 0.131]]
      return map(
        ofRGB: full.enumerated().map { row, weights in
          weights.enumerated().map { column, weight in
            amount * weight + (row == column ? 1 - amount : 0)
          }
        })
    case .blur, .sharpen, .vignette, .pixelate, .grain, .glow, .denoise: return nil
    case .posterize, .curves, .chromaKey, .lut: return nil
    }
  }

  /// A matrix of R'G'B' as a change of luma and chroma.
  private func map(ofRGB matrix: [[Double]]) -> ColourMap {
    func times(_ a: [[Double]], _ b: [[Double]]) -> [[Double]] {
      a.map { row in (0..<3).map { column in (0..<3).reduce(0) { $0 + row[$1] * b[$1][column] } } }
    }
    return ColourMap(rows: times(times(encoding, matrix), decoding).map { $0 + [0] })
  }

  /// A change as sums of the samples of luma, Cb, Cr and coverage.
  func sums(_ map: ColourMap) -> [sheaf_sum] {
    let (scales, offsets) = ([lumaScale, chromaScale, chromaScale], [lumaOffset, 0.5, 0.5])
    return (0..<3).map { row in
      let weights = (0..<3).map { map.rows[row][$0] * scales[row] / scales[$0] }
      return ColourSpace.sum(weights, at: offsets, gives: offsets[row] + map.rows[row][3] * scales[row])
    }
  }

  /// The sum with three weights that is `result` at a place. The constant, which is the weight of coverage, makes up
  /// for what the weights are rounded by, so that there the result is right.
  private static func sum(_ weights: [Double], at place: [Double], gives result: Double) -> sheaf_sum {
    let constant = result - zip(weights, place).reduce(0) { $0 + $1.0 * $1.1 }
    var sum = sheaf_sum(weights + [constant])
    let unit = Double(1 << Int(sum.shift))
    let made =
      Double(sum.weight.0) * place[0] + Double(sum.weight.1) * place[1] + Double(sum.weight.2) * place[2]
    let highest = Double(Int16.max)
    sum.weight.3 = Int16(min(highest, max(-highest, (result * unit - made).rounded())))
    return sum
  }
}
