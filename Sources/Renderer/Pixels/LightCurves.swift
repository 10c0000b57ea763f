import CompositionModel
import Glibc

/// The transfer functions, from a number to light and back. In light, 1 is the white of standard dynamic range and of
/// graphics: 203 cd/m2 in high dynamic range (BT.2408). HLG's is the light of the scene, of which 1 is the highest.
extension TransferFunction {
  /// cd/m2 of white.
  static let white = 203.0
  /// cd/m2 that HLG's highest number has on the display that it is meant for (BT.2100).
  private static let hlgPeak = 1000.0
  /// The exponent of that display's rendering intent.
  private static let hlgExponent = 1.2

  /// The light of a number. Numbers above 1 are the highlights that limited range has room for.
  func light(of number: Double) -> Double {
    let v = max(0, number)
    switch self {
    case .display: return pow(v, 2.4)
    case .gamma22: return pow(v, 2.2)
    case .gamma28: return pow(v, 2.8)
    case .cinema: return pow(v, 2.6) * 52.37 / 48
    case .linear: return v
    case .log100: return v == 0 ? 0 : pow(10, 2 * (v - 1))
    case .log316: return v == 0 ? 0 : pow(10, 2.5 * (v - 1))
    case .pq: return Perceptual.luminance(of: min(1, v)) / Self.white
    case .hlg: return v <= 0.5 ? v * v / 3 : (exp((min(1, v) - HLG.c) / HLG.a) + HLG.b) / 12
    }
  }

  /// The number of light, at most `highest`.
  func number(of light: Double) -> Double {
    let light = max(0, light)
    switch self {
    case .display: return min(Self.highest, pow(light, 1 / 2.4))
    case .gamma22: return min(Self.highest, pow(light, 1 / 2.2))
    case .gamma28: return min(Self.highest, pow(light, 1 / 2.8))
    case .cinema: return min(Self.highest, pow(light * 48 / 52.37, 1 / 2.6))
    case .linear: return min(Self.highest, light)
    case .log100: return light <= 0.01 ? 0 : min(Self.highest, 1 + log10(light) / 2)
    case .log316: return light <= 0.01 / sqrt(10.0) ? 0 : min(Self.highest, 1 + log10(light) / 2.5)
    case .pq: return min(1, Perceptual.number(of: light * Self.white))
    case .hlg:
      let scene = min(1, light)
      return scene <= 1.0 / 12 ? sqrt(3 * scene) : min(1, HLG.a * log(12 * scene - HLG.b) + HLG.c)
    }
  }

  /// The highest number that is kept, in 16384ths `SHEAF_COLOUR_TOP`: above 1 for the highlights of limited range.
  static let highest = 17858.0 / 16384

  private enum HLG {
    static let a = 0.17883277
    static let b = 1 - 4 * a
    static let c = 0.5 - a * log(4 * a)
  }

  /// HLG's light of the scene to light of the display: what all parts are multiplied by if their luminance is `scene`.
  static func sceneToDisplay(_ scene: Double) -> Double {
    hlgPeak / white * pow(scene, hlgExponent - 1)
  }

  /// The inverse, for a luminance of the display.
  static func displayToScene(_ display: Double) -> Double {
    white / hlgPeak * pow(display * white / hlgPeak, 1 / hlgExponent - 1)
  }

  /// The light that HLG's highest number has on the display.
  static let hlgHighest = hlgPeak / white
}

/// SMPTE 2084: the scale of brightness from 0 to 1 on which steps that can just be seen are equal.
enum Perceptual {
  private static let (m1, m2) = (2610.0 / 16384, 2523.0 / 4096 * 128)
  private static let (c1, c2, c3) = (3424.0 / 4096, 2413.0 / 4096 * 32, 2392.0 / 4096 * 32)

  /// cd/m2.
  static func luminance(of number: Double) -> Double {
    let power = pow(number, 1 / m2)
    return 10000 * pow(max(0, power - c1) / (c2 - c3 * power), 1 / m1)
  }

  static func number(of luminance: Double) -> Double {
    let power = pow(luminance / 10000, m1)
    return luminance <= 0 ? 0 : pow((c1 + c2 * power) / (1 + c3 * power), m2)
  }
}

/// The EETF of BT.2390, section 5.4: brightness up to a knee stays, and what is above is compressed so that the
/// source's peak becomes the target's. Black stays black.
struct CompressedHighlights {
  /// In light.
  let sourcePeak: Double
  let targetPeak: Double

  /// The brightness that light of a brightness is shown with.
  func brightness(of light: Double) -> Double {
    guard sourcePeak > targetPeak else { return min(targetPeak, light) }
    let peak = Perceptual.number(of: sourcePeak * TransferFunction.white)
    let greatest = Perceptual.number(of: targetPeak * TransferFunction.white) / peak
    let knee = 1.5 * greatest - 0.5
    let number = min(1, Perceptual.number(of: light * TransferFunction.white) / peak)
    guard number > knee else { return light }
    let t = (number - knee) / (1 - knee)
    let (t2, t3) = (t * t, t * t * t)
    let shown = (2 * t3 - 3 * t2 + 1) * knee + (t3 - 2 * t2 + t) * (1 - knee) + (3 * t2 - 2 * t3) * greatest
    return Perceptual.luminance(of: shown * peak) / TransferFunction.white
  }
}

extension ColourPrimaries {
  private typealias Place = (x: Double, y: Double)

  private var places: (red: Place, green: Place, blue: Place, white: Place) {
    let d65 = (0.3127, 0.3290)
    let c = (0.310, 0.316)
    switch self {
    case .bt709: return ((0.640, 0.330), (0.300, 0.600), (0.150, 0.060), d65)
    case .bt470m: return ((0.670, 0.330), (0.210, 0.710), (0.140, 0.080), c)
    case .bt470bg: return ((0.640, 0.330), (0.290, 0.600), (0.150, 0.060), d65)
    case .smpte170m: return ((0.630, 0.340), (0.310, 0.595), (0.155, 0.070), d65)
    case .film: return ((0.681, 0.319), (0.243, 0.692), (0.145, 0.049), c)
    case .bt2020: return ((0.708, 0.292), (0.170, 0.797), (0.131, 0.046), d65)
    case .smpte428: return ((1, 0), (0, 1), (0, 0), (1.0 / 3, 1.0 / 3))
    case .smpte431: return ((0.680, 0.320), (0.265, 0.690), (0.150, 0.060), (0.314, 0.351))
    case .smpte432: return ((0.680, 0.320), (0.265, 0.690), (0.150, 0.060), d65)
    case .ebu3213: return ((0.630, 0.340), (0.295, 0.605), (0.155, 0.077), d65)
    }
  }

  /// CIE XYZ of white, of luminance 1.
  private var white: [Double] {
    let (x, y) = places.white
    return [x / y, 1, (1 - x - y) / y]
  }

  /// From light of these primaries to CIE XYZ.
  private var toXYZ: Matrix3 {
    let all = [places.red, places.green, places.blue]
    let chromaticities = Matrix3(
      rows: [all.map(\.x), all.map(\.y), all.map { 1 - $0.x - $0.y }])
    let scale = chromaticities.inverse.applied(to: white)
    return chromaticities.times(Matrix3(diagonal: scale))
  }

  /// The weights of red, green and blue in luminance.
  var luminance: [Double] { toXYZ.rows[1] }

  /// From light of these primaries to that of others. White stays white: where the whites differ, it is adapted as
  /// Bradford's matrix says.
  func matrix(to others: ColourPrimaries) -> Matrix3 {
    let bradford = Matrix3(rows: [[0.8951, 0.2664, -0.1614], [-0.7502, 1.7135, 0.0367], [0.0389, -0.0685, 1.0296]])
    var adapted = toXYZ
    if white != others.white {
      let gains = zip(bradford.applied(to: others.white), bradford.applied(to: white)).map { $0 / $1 }
      adapted = bradford.inverse.times(Matrix3(diagonal: gains)).times(bradford).times(adapted)
    }
    return others.toXYZ.inverse.times(adapted)
  }
}

/// Nine numbers, by row.
struct Matrix3 {
  var rows: [[Double]]

  init(rows: [[Double]]) {
    self.rows = rows
  }

  init(diagonal: [Double]) {
    rows = (0..<3).map { row in (0..<3).map { $0 == row ? diagonal[row] : 0 } }
  }

  func applied(to values: [Double]) -> [Double] {
    rows.map { row in row[0] * values[0] + row[1] * values[1] + row[2] * values[2] }
  }

  /// This matrix applied after another.
  func times(_ first: Matrix3) -> Matrix3 {
    let columns = (0..<3).map { column in applied(to: first.rows.map { $0[column] }) }
    return Matrix3(rows: (0..<3).map { row in columns.map { $0[row] } })
  }

  /// The matrix must not be singular.
  var inverse: Matrix3 {
    func minor(_ row: Int, _ column: Int) -> Double {
      let (a, b) = ((row + 1) % 3, (row + 2) % 3)
      let (c, d) = ((column + 1) % 3, (column + 2) % 3)
      return rows[a][c] * rows[b][d] - rows[a][d] * rows[b][c]
    }
    let determinant = (0..<3).reduce(0) { $0 + rows[0][$1] * minor(0, $1) }
    return Matrix3(rows: (0..<3).map { row in (0..<3).map { minor($0, row) / determinant } })
  }
}
