import CompositionModel
import Foundation
import RenderTasks

@testable import Renderer

/// A picture in double precision: luma 0…1, Cb and Cr -0.5…0.5 for each chroma cell. What the filters of
/// `docs/document.md` are defined on.
struct FilterReference {
  let size: PixelSize
  let format: PixelFormat
  /// By plane.
  var planes: [[Double]]

  var cell: ChromaCell { ChromaCell(format) }
  var chroma: PixelSize { cell.chroma(PixelRect(size)).size }
  private var step: Double { Double(1 << (format.bitDepth - 8)) }

  /// From codes of the limited range.
  init(_ codes: [Int], _ size: PixelSize, _ format: PixelFormat) {
    self.size = size
    self.format = format
    planes = []
    let counts = [size.width * size.height, chroma.width * chroma.height, chroma.width * chroma.height]
    var start = 0
    for (index, count) in counts.enumerated() {
      planes.append(
        codes[start..<(start + count)].map { code in
          index == 0 ? (Double(code) / step - 16) / 219 : (Double(code) / step - 128) / 224
        })
      start += count
    }
  }

  /// The codes, not rounded, limited to what the depth has.
  var codes: [Double] {
    let highest = Double(1 << format.bitDepth) - 1
    return planes.enumerated().flatMap { index, plane in
      plane.map { value in
        min(highest, max(0, (index == 0 ? value * 219 + 16 : value * 224 + 128) * step))
      }
    }
  }

  /// 10·log10(highest² / mean squared difference).
  func psnr(_ made: [Int]) -> Double {
    let right = codes
    let error = zip(made, right).reduce(0) { $0 + pow(Double($1.0) - $1.1, 2) } / Double(right.count)
    let highest = Double(1 << format.bitDepth) - 1
    return 10 * log10(highest * highest / max(error, 1e-12))
  }

  /// The luma samples of a chroma sample.
  private func pixels(of column: Int, _ row: Int) -> [(Int, Int)] {
    let rows = (row * cell.height)..<((row + 1) * cell.height)
    let columns = (column * cell.width)..<((column + 1) * cell.width)
    return rows.flatMap { y in columns.map { (min($0, size.width - 1), min(y, size.height - 1)) } }
  }

  /// Changes every pixel, whose chroma is its cell's; the cell's new chroma is the mean.
  mutating func change(_ formula: (_ luma: Double, _ cb: Double, _ cr: Double) -> (Double, Double, Double)) {
    let old = self
    func colour(_ x: Int, _ y: Int) -> (Double, Double, Double) {
      let sample = (y >> cell.verticalShift) * chroma.width + (x >> cell.horizontalShift)
      return formula(old.planes[0][y * size.width + x], old.planes[1][sample], old.planes[2][sample])
    }
    for y in 0..<size.height { for x in 0..<size.width { planes[0][y * size.width + x] = colour(x, y).0 } }
    for row in 0..<chroma.height {
      for column in 0..<chroma.width {
        let colours = pixels(of: column, row).map { colour($0.0, $0.1) }
        planes[1][row * chroma.width + column] = colours.reduce(0) { $0 + $1.1 } / Double(colours.count)
        planes[2][row * chroma.width + column] = colours.reduce(0) { $0 + $1.2 } / Double(colours.count)
      }
    }
  }

  /// The same by R'G'B' of BT.709.
  mutating func changeRGB(_ formula: ([Double]) -> [Double]) {
    change { luma, cb, cr in
      let rgb = formula([luma + 1.5748 * cr, luma - 0.187324 * cb - 0.468124 * cr, luma + 1.8556 * cb])
      let new = 0.2126 * rgb[0] + 0.7152 * rgb[1] + 0.0722 * rgb[2]
      return (new, (rgb[2] - new) / 1.8556, (rgb[0] - new) / 1.5748)
    }
  }

  /// A Gaussian of a standard deviation in luma samples, edges repeated.
  mutating func blur(_ radius: Double, planes chosen: [Int] = [0, 1, 2]) {
    for index in chosen {
      let extent = index == 0 ? size : chroma
      let (across, down) = index == 0 ? (1, 1) : (cell.width, cell.height)
      let rows = FilterReference.convolved(
        planes[index], count: extent.width, lines: extent.height, step: 1, lineStep: extent.width,
        radius / Double(across))
      planes[index] = FilterReference.convolved(
        rows, count: extent.height, lines: extent.width, step: extent.width, lineStep: 1, radius / Double(down))
    }
  }

  /// Blocks whose corners meet in the centre, each the mean of the samples whose centres are in it.
  mutating func mosaic(_ side: Double) {
    for index in 0..<3 {
      let extent = index == 0 ? size : chroma
      let (across, down) = index == 0 ? (1.0, 1.0) : (Double(cell.width), Double(cell.height))
      struct Block: Hashable {
        var x: Double
        var y: Double
      }
      func block(_ place: Int) -> Block {
        let x = (Double(place % extent.width) + 0.5) * across - Double(size.width) / 2
        let y = (Double(place / extent.width) + 0.5) * down - Double(size.height) / 2
        return Block(x: floor(x / side), y: floor(y / side))
      }
      let members = Dictionary(grouping: planes[index].indices, by: block)
      let means = members.mapValues { places in places.reduce(0) { $0 + planes[index][$1] } / Double(places.count) }
      planes[index] = planes[index].indices.map { means[block($0)] ?? .nan }
    }
  }

  /// One plane by itself.
  struct Lines {
    private(set) var samples: [Double]
    private let width: Int
    private let height: Int

    init(_ samples: [Double], _ width: Int, _ height: Int) {
      (self.samples, self.width, self.height) = (samples, width, height)
    }

    /// A Gaussian of a standard deviation in samples; below 0.2 there is none.
    mutating func blur(_ sigmaX: Double, _ sigmaY: Double) {
      if sigmaX >= 0.2 {
        samples = convolved(samples, count: width, lines: height, step: 1, lineStep: width, sigmaX)
      }
      if sigmaY >= 0.2 {
        samples = convolved(samples, count: height, lines: width, step: width, lineStep: 1, sigmaY)
      }
    }
  }

  private static func convolved(
    _ from: [Double], count: Int, lines: Int, step: Int, lineStep: Int, _ sigma: Double
  ) -> [Double] {
    let reach = Int((4.5 * sigma).rounded(.up))
    var weights = (-reach...reach).map { exp(-Double($0 * $0) / (2 * sigma * sigma)) }
    let total = weights.reduce(0, +)
    weights = weights.map { $0 / total }
    let places = (-reach..<(count + reach)).map { min(count - 1, max(0, $0)) * step }
    var to = from
    for line in 0..<lines {
      for place in 0..<count {
        var sum = 0.0
        var index = 0
        while index < weights.count {
          sum += weights[index] * from[line * lineStep + places[place + index]]
          index += 1
        }
        to[line * lineStep + place * step] = sum
      }
    }
    return to
  }
}
