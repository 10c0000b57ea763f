internal import CompositionModel

/// Red, green, blue and alpha as numbers from 0 to 1: the values that are stored, after the film's transfer function
/// (R'G'B'). The colours are multiplied by alpha. Colours outside 0 to 1 are possible where the film's codes are.
public struct PixelColour: Sendable, Hashable {
  public var red: Float
  public var green: Float
  public var blue: Float
  public var alpha: Float

  public init(red: Float, green: Float, blue: Float, alpha: Float = 1) {
    (self.red, self.green, self.blue, self.alpha) = (red, green, blue, alpha)
  }

  public static let black = PixelColour(red: 0, green: 0, blue: 0)
  public static let white = PixelColour(red: 1, green: 1, blue: 1)
  public static let clear = PixelColour(red: 0, green: 0, blue: 0, alpha: 0)

  /// The mix (1-share)·self + share·other.
  public func mixed(with other: PixelColour, share: Float) -> PixelColour {
    let rest = 1 - share
    return PixelColour(
      red: rest * red + share * other.red, green: rest * green + share * other.green,
      blue: rest * blue + share * other.blue, alpha: rest * alpha + share * other.alpha)
  }
}

extension PixelBuffer {
  /// The colour of a pixel. Its chroma is that of the stored sample that it belongs to.
  public func pixel(_ x: Int, _ y: Int) -> PixelColour { memory.pixel(x, y) }
}

extension MutablePixelBuffer {
  /// The colour of a pixel. Its chroma is that of the stored sample that it belongs to.
  public func pixel(_ x: Int, _ y: Int) -> PixelColour { memory.pixel(x, y) }

  /// Sets each pixel to a colour; where its alpha is below 1, it is drawn over what is there. A stored chroma sample is
  /// the mean of its pixels'.
  /// - Parameter colour: Called for each pixel, the rows of each chroma sample one after the other.
  public mutating func setEachPixel(_ colour: (_ x: Int, _ y: Int) throws -> PixelColour) rethrows {
    let layout = memory.layout
    let (across, down) = layout.shift
    for (row, top) in stride(from: 0, to: height, by: 1 << down).enumerated() {
      for (column, left) in stride(from: 0, to: width, by: 1 << across).enumerated() {
        let (right, bottom) = (min(width, left + 1 << across), min(height, top + 1 << down))
        var (sumCb, sumCr) = (Float(0), Float(0))
        for y in top..<bottom {
          for x in left..<right {
            var new = try colour(x, y)
            if new.alpha < 1 {
              let (below, rest) = (memory.pixel(x, y), 1 - max(0, new.alpha))
              new.red += rest * below.red
              new.green += rest * below.green
              new.blue += rest * below.blue
            }
            let luma = layout.weights.red * new.red + layout.greenWeight * new.green + layout.weights.blue * new.blue
            memory.store(code(luma * layout.luma.scale + layout.luma.offset), .luma, x, y)
            sumCb += (new.blue - luma) * layout.cbPerBlue
            sumCr += (new.red - luma) * layout.crPerRed
          }
        }
        let count = Float((right - left) * (bottom - top))
        memory.store(code(sumCb / count + layout.chroma.offset), .cb, column, row)
        memory.store(code(sumCr / count + layout.chroma.offset), .cr, column, row)
      }
    }
  }

  /// Sets each sample of a plane.
  public mutating func setEachSample(
    of plane: PixelPlane, _ sample: (_ x: Int, _ y: Int) throws -> Int
  ) rethrows {
    let size = size(of: plane)
    for y in 0..<size.height {
      for x in 0..<size.width { memory.store(try sample(x, y), plane, x, y) }
    }
  }

  /// Sets the picture to a mix of two others without transparency, (1-share)·a + share·b for each pixel, in units of
  /// 1/16384, rounded to nearest. The share of a stored chroma sample is the mean of its pixels'.
  /// - Parameters:
  ///   - a: A picture of this one's size and format.
  ///   - b: Another picture of this one's size and format.
  ///   - share: The share of b, limited to 0 to 1.
  public mutating func mix(
    _ a: PixelBuffer, _ b: PixelBuffer, share: (_ x: Int, _ y: Int) throws -> Double
  ) rethrows {
    precondition(a.size == size && b.size == size, "the pictures of a mix have the film's size")
    let (across, down) = memory.layout.shift
    let chromaWidth = self.size(of: .cb).width
    var shares = [UInt16](repeating: 0, count: width << down)
    var chromaShares = [UInt16](repeating: 0, count: chromaWidth)
    for (row, top) in stride(from: 0, to: height, by: 1 << down).enumerated() {
      let count = min(height - top, 1 << down)
      for y in 0..<count {
        for x in 0..<width {
          shares[y * width + x] = UInt16((min(1, max(0, try share(x, top + y))) * 16384).rounded())
        }
        memory.mixRow(.luma, top + y, a.memory, b.memory, shares[(y * width)..<((y + 1) * width)])
      }
      for column in 0..<chromaWidth {
        let (left, right) = (column << across, min(width, (column + 1) << across))
        var sum = 0
        for y in 0..<count { for x in left..<right { sum += Int(shares[y * width + x]) } }
        let pixels = count * (right - left)
        chromaShares[column] = UInt16((sum + pixels / 2) / pixels)
      }
      for chroma in [PixelPlane.cb, .cr] { memory.mixRow(chroma, row, a.memory, b.memory, chromaShares[...]) }
    }
  }
}

extension PixelLayout {
  var greenWeight: Float { 1 - weights.red - weights.blue }
  /// Codes of Cb for each difference of blue and luma.
  var cbPerBlue: Float { chroma.scale / (2 * (1 - weights.blue)) }
  var crPerRed: Float { chroma.scale / (2 * (1 - weights.red)) }
}

extension PixelMemory {
  fileprivate func pixel(_ x: Int, _ y: Int) -> PixelColour {
    let (across, down) = layout.shift
    let luma = (Float(load(.luma, x, y)) - layout.luma.offset) / layout.luma.scale
    let blue = luma + (Float(load(.cb, x >> across, y >> down)) - layout.chroma.offset) / layout.cbPerBlue
    let red = luma + (Float(load(.cr, x >> across, y >> down)) - layout.chroma.offset) / layout.crPerRed
    let green = (luma - layout.weights.red * red - layout.weights.blue * blue) / layout.greenWeight
    let alpha = alpha == nil ? 1 : Float(load(.alpha, x, y)) / Float(layout.highest)
    return PixelColour(red: red, green: green, blue: blue, alpha: alpha)
  }

  /// Sets a row of a plane to the mix of two others by shares in 1/16384.
  fileprivate func mixRow(
    _ plane: PixelPlane, _ y: Int, _ a: PixelMemory, _ b: PixelMemory, _ shares: ArraySlice<UInt16>
  ) {
    if layout.isDeep {
      mixRow(plane, y, a, b, shares, UInt16.self)
    } else {
      mixRow(plane, y, a, b, shares, UInt8.self)
    }
  }

  private func mixRow<Sample: PixelSample>(
    _ name: PixelPlane, _ y: Int, _ a: PixelMemory, _ b: PixelMemory, _ shares: ArraySlice<UInt16>, _: Sample.Type
  ) {
    func row(_ memory: PixelMemory) -> UnsafeMutablePointer<Sample> {
      let plane = memory.plane(name)
      return (plane.base + y * plane.stride).assumingMemoryBound(to: Sample.self)
    }
    let (to, ofA, ofB) = (row(self), row(a), row(b))
    for (x, share) in shares.enumerated() {
      let share = UInt32(share)
      to[x] = Sample(truncatingIfNeeded: (UInt32(ofA[x]) * (16384 - share) + UInt32(ofB[x]) * share + 8192) >> 14)
    }
  }
}

/// The nearest code. What is not a number is 0.
private func code(_ value: Float) -> Int { value.isFinite ? Int(max(-65536, min(65536, value.rounded()))) : 0 }
