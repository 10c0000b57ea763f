import SheafWorker

/// Diagonal stripes that open over the next picture, all at once.
struct DiagonalBlinds: VideoCompositing {
  struct Parameters: Decodable {
    var stripes: Int?
    var softness: Double?
  }

  static let name = "diagonal-blinds"
  static let revision = 1

  /// Pixels from one stripe to the next, along a row.
  let period: Double
  /// The width of a stripe's soft edge, as a part of the stripe.
  let softness: Double

  init(parameters: Parameters, size: PixelSize) throws {
    let stripes = parameters.stripes ?? 12
    guard (1...100).contains(stripes) else {
      throw CompositorError("'stripes' is \(stripes); it must be 1 to 100")
    }
    period = Double(size.width + size.height) / Double(stripes)
    softness = min(1, max(0, parameters.softness ?? 0.2)) + 1 / period
  }

  func compose(_ request: VideoCompositionRequest, into picture: inout MutablePixelBuffer) throws {
    let edge = request.progress * (1 + softness)
    picture.mix(try request.from, try request.to) { x, y in
      let position = (Double(x + y) / period).truncatingRemainder(dividingBy: 1)
      return (edge - position) / softness
    }
  }
}

WorkerMain.run(compositors: [DiagonalBlinds.self])
