import Foundation

/// Conversions of colours in double precision, as the standards write them, for what no filter of ffmpeg does. Light is
/// in cd/m2 and of BT.2020's primaries.
enum ColourReference {
  // MARK: SMPTE 2084

  static func pqLuminance(_ number: Double) -> Double {
    let power = pow(number, 32.0 / 2523)
    return 10000 * pow(max(power - 0.8359375, 0) / (18.8515625 - 18.6875 * power), 8192.0 / 1305)
  }

  static func pqNumber(_ luminance: Double) -> Double {
    let power = pow(luminance / 10000, 1305.0 / 8192)
    return pow((0.8359375 + 18.8515625 * power) / (1 + 18.6875 * power), 2523.0 / 32)
  }

  // MARK: BT.2100, HLG at 1000 cd/m2

  private static let (a, b, c) = (0.17883277, 0.28466892, 0.55991073)

  static func hlgLight(_ numbers: [Double]) -> [Double] {
    let scene = numbers.map { $0 <= 0.5 ? $0 * $0 / 3 : (exp(($0 - c) / a) + b) / 12 }
    let luminance = 0.2627 * scene[0] + 0.6780 * scene[1] + 0.0593 * scene[2]
    return scene.map { luminance > 0 ? 1000 * pow(luminance, 0.2) * $0 : 0 }
  }

  static func hlgNumbers(_ light: [Double]) -> [Double] {
    let luminance = 0.2627 * light[0] + 0.6780 * light[1] + 0.0593 * light[2]
    return light.map { part in
      let scene = luminance > 0 ? min(1, pow(luminance / 1000, -0.2 / 1.2) * part / 1000) : 0
      return scene <= 1.0 / 12 ? sqrt(3 * scene) : a * log(12 * scene - b) + c
    }
  }

  // MARK: BT.2390

  /// The EETF without a change of black, for a display with the peak `to`.
  static func compressed(_ luminance: Double, from peak: Double, to: Double) -> Double {
    let e1 = min(1, pqNumber(luminance) / pqNumber(peak))
    let maxLum = pqNumber(to) / pqNumber(peak)
    let ks = 1.5 * maxLum - 0.5
    if e1 < ks { return luminance }
    let t = (e1 - ks) / (1 - ks)
    let e2 =
      (2 * pow(t, 3) - 3 * pow(t, 2) + 1) * ks + (pow(t, 3) - 2 * pow(t, 2) + t) * (1 - ks)
      + (-2 * pow(t, 3) + 3 * pow(t, 2)) * maxLum
    return pqLuminance(e2 * pqNumber(peak))
  }

  // MARK: Primaries

  /// BT.2087.
  static let bt709ToBT2020 = [
    [0.627403895934699, 0.329283038377884, 0.043313065687417],
    [0.069097289358232, 0.919540395075459, 0.011362315566309],
    [0.016391438875150, 0.088013307877226, 0.895595253247624],
  ]
  static let bt2020ToBT709 = [
    [1.660491002108435, -0.587641138788550, -0.072849863319885],
    [-0.124550474521591, 1.132899897125960, -0.008349422604369],
    [-0.018150763354905, -0.100578898008007, 1.118729661362913],
  ]

  static func times(_ matrix: [[Double]], _ light: [Double]) -> [Double] {
    matrix.map { max(0, $0[0] * light[0] + $0[1] * light[1] + $0[2] * light[2]) }
  }

  // MARK: Codes of limited range

  /// R'G'B' of a pixel, 0…1.09.
  static func numbers(_ codes: [Int], red: Double, blue: Double, depth: Int) -> [Double] {
    let step = Double(1 << (depth - 8))
    let y = (Double(codes[0]) - 16 * step) / (219 * step)
    let cb = (Double(codes[1]) - 128 * step) / (224 * step)
    let cr = (Double(codes[2]) - 128 * step) / (224 * step)
    let r = y + 2 * (1 - red) * cr
    let b = y + 2 * (1 - blue) * cb
    return [r, (y - red * r - blue * b) / (1 - red - blue), b].map { min(17858.0 / 16384, max(0, $0)) }
  }

  static func codes(_ numbers: [Double], red: Double, blue: Double, depth: Int) -> [Double] {
    let step = Double(1 << (depth - 8))
    let y = red * numbers[0] + (1 - red - blue) * numbers[1] + blue * numbers[2]
    return [
      (16 + 219 * y) * step, (128 + 224 * (numbers[2] - y) / (2 * (1 - blue))) * step,
      (128 + 224 * (numbers[0] - y) / (2 * (1 - red))) * step,
    ]
  }
}
