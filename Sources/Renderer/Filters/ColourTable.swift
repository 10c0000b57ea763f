import CKernels
import CompositionModel
import Media

/// A look-up table of colours in the numbers that the kernels take.
final class ColourTable {
  private let dimensions: Int
  private let size: Int
  private let entries: [UInt16]
  private var scale: (Int64, Int64, Int64) = (0, 0, 0)
  private var offset: (Int64, Int64, Int64) = (0, 0, 0)

  init(_ file: CubeFile) {
    dimensions = file.format.dimensions
    size = file.format.size
    func sample(_ value: Float) -> UInt16 { UInt16((min(1, max(0, value)) * 16384).rounded()) }
    let count = file.values.count / 3
    if file.format.dimensions == 1 {
      entries = (0..<3).flatMap { channel in (0..<count).map { sample(file.values[3 * $0 + channel]) } }
    } else {
      var packed = [UInt16](repeating: 0, count: 4 * count)
      for index in 0..<count {
        for channel in 0..<3 { packed[4 * index + channel] = sample(file.values[3 * index + channel]) }
      }
      entries = packed
    }
    func place(_ domain: ClosedRange<Double>) -> (Int64, Int64) {
      let step = Double(file.format.size - 1) / (domain.upperBound - domain.lowerBound) * 65536
      return (Int64(step.rounded()), Int64((-domain.lowerBound * 16384 * step).rounded()) + 32768)
    }
    let places = file.domain.map(place)
    scale = (places[0].0, places[1].0, places[2].0)
    offset = (places[0].1, places[1].1, places[2].1)
  }

  /// A table of curves with an entry for each sample. A value is 0…1.
  init(_ curves: (_ value: Double) -> (red: Double, green: Double, blue: Double)) {
    (dimensions, size) = (1, Weight.one + 1)
    let values = (0...Weight.one).map { curves(Double($0) / Double(Weight.one)) }
    func sample(_ value: Double) -> UInt16 { UInt16(Weight.of(value)) }
    entries = values.map { sample($0.red) } + values.map { sample($0.green) } + values.map { sample($0.blue) }
    // A sample's place is its own number.
    let step = Int64(Weight.one) * 65536
    (scale, offset) = ((step, step, step), (32768, 32768, 32768))
  }

  /// The table for the kernels. It is valid inside `body` only.
  /// - Parameter amount: 0…1.
  func withKernelTable(amount: Double, _ body: (sheaf_colour_table) -> Void) {
    entries.withUnsafeBufferPointer { entries in
      body(
        sheaf_colour_table(
          dimensions: Int32(dimensions), size: Int32(size), entries: entries.baseAddress, scale: scale, offset: offset,
          amount: Int32(Weight.of(amount))))
    }
  }
}

/// The look-up tables of a task. Each is read when it is first needed.
final class ColourTables {
  private let inputs: [String: any ByteSource]
  private var tables: [String: ColourTable] = [:]

  /// - Parameter inputs: The inputs of the task, by digest.
  init(_ inputs: [String: any ByteSource]) {
    self.inputs = inputs
  }

  /// The table in the file of a digest.
  func table(_ digest: String) throws(RenderError) -> ColourTable {
    if let known = tables[digest] { return known }
    guard let input = inputs[digest] else {
      throw RenderError(.task, "the look-up table \(digest.prefix(12)) is not among the task's inputs")
    }
    let file = try mapErrors(to: RenderError.during("reading a look-up table")) { () throws(MediaError) in
      try CubeFile(input, name: "look-up table \(digest.prefix(12))")
    }
    let table = ColourTable(file)
    tables[digest] = table
    return table
  }
}
