import CompositionModel
import Glibc
package import RenderTasks

// The two plans of a film with an average bit rate: what to measure, and what to render when everything is measured.

extension RenderPlan {
  /// How all segments are encoded, before their bits are shared.
  private var renditions: [VideoRendition] { segments.first?.task.renditions ?? [] }

  /// The numbers of the renditions with an average bit rate, and which of the renditions that are measured is theirs.
  private var measuredRenditions: (numbers: [(rendition: Int, measured: Int)], measured: [VideoRendition]) {
    var (numbers, measured): ([(rendition: Int, measured: Int)], [VideoRendition]) = ([], [])
    for (number, rendition) in renditions.enumerated() where rendition.encoder.averageBitRate != nil {
      let own = VideoRendition(size: rendition.size, encoder: rendition.encoder.measuring)
      if let known = measured.firstIndex(of: own) {
        numbers.append((number, known))
      } else {
        numbers.append((number, measured.count))
        measured.append(own)
      }
    }
    return (numbers, measured)
  }

  /// What to measure before the video can be rendered: one task a segment, whose renditions are those of an average bit
  /// rate. Empty: nothing.
  package var measureTasks: [VideoTask] {
    let measured = measuredRenditions.measured
    guard !measured.isEmpty else { return [] }
    return segments.map { segment in
      var task = segment.task
      task.renditions = measured
      return task
    }
  }

  /// The plan with the rate factors at which the film's segments are expected to have the average bit rate together,
  /// and each segment's share of the bits, for each rendition that has an average bit rate.
  ///
  /// The film has one rate factor, and each segment differs from it by what `BitPrediction.offset` says. Rate factors
  /// are multiples of 1/10, or whole numbers if the encoder takes no other, and a share depends on nothing but the
  /// film's and the segment: after an edit that changes the film's bits by a little, all other segments have the tasks
  /// that they had.
  /// - Parameter measurements: The results of `measureTasks`, in order.
  package func sharingBits(_ measurements: [[Measurement]]) throws(PlanError) -> RenderPlan {
    let (numbers, measured) = measuredRenditions
    guard !numbers.isEmpty else { return self }
    guard measurements.count == segments.count, measurements.allSatisfy({ $0.count == measured.count }) else {
      throw PlanError(.notMeasured, "the average bit rate")
    }
    var plan = self
    for (rendition, place) in numbers {
      let shares = try bitShares(renditions[rendition].encoder, measurements.map { $0[place] })
      for (segment, share) in shares.enumerated() {
        plan.segments[segment].task.renditions[rendition].encoder.rateControl = .quality(share.factor)
        plan.segments[segment].task.renditions[rendition].share = share.share
      }
    }
    return plan
  }

  /// The rate factor of each segment, and its share of the bits.
  /// - Parameter encoder: The settings of all segments, which have an average bit rate.
  func bitShares(
    _ encoder: VideoSettings, _ measurements: [Measurement]
  ) throws(PlanError) -> [(factor: Double, share: BitShare)] {
    guard let rate = encoder.averageBitRate, let model = encoder.bitRateModel, let format else { return [] }
    let counts = segments.map(\.task.frameCount)
    guard measurements.count == counts.count,
      zip(measurements, counts).allSatisfy({ $0.isComplete(model, frameCount: $1) })
    else { throw PlanError(.notMeasured, "the average bit rate") }
    let seconds = try mapErrors(to: PlanError.time("the film's length")) { () throws(TimeError) in
      try (format.frameDuration * Rational(frameCount)).approximateSeconds
    }
    let predictions = measurements.map { BitPrediction($0, model: model) }
    let pixels = format.size.width * format.size.height
    let segments = zip(predictions, counts).map { ($0, offset: $0.offset(pixels: pixels * $1)) }
    func own(_ factor: Double, _ offset: Double) -> Double { (factor + offset).clamped(to: model.rateFactors) }
    let factor = RateFactorSearch(model).factor(of: Double(rate) * seconds) { factor in
      segments.reduce(0) { $0 + $1.0.bits(at: own(factor, $1.offset)) }
    }
    return segments.map { prediction, offset in
      let factor = own(factor, offset)
      return (factor, BitShare(frameBits: prediction.frameBits(at: factor)))
    }
  }
}

extension VideoSettings {
  /// How a segment is measured.
  var measuring: VideoSettings {
    guard let model = bitRateModel else { return self }
    var settings = self
    settings.rateControl = .quality(model.measuringFactors[0])
    // Nothing in a measurement depends on how many bits a film is to have.
    (settings.level, settings.rateLimit) = (nil, nil)
    return settings
  }
}

extension Measurement {
  /// Whether this can be the measurement of a segment.
  fileprivate func isComplete(_ model: BitRateModel, frameCount: Int) -> Bool {
    rateFactors == model.measuringFactors && frameBits.count == rateFactors.count
      && frameBits.allSatisfy { $0.count == frameCount && $0.allSatisfy { $0 >= 0 } }
  }
}

/// The bits that one segment is expected to take at any rate factor.
struct BitPrediction {
  private let model: BitRateModel
  private let measurement: Measurement
  /// At the higher measuring factor; above 0.
  private let bits: Double
  /// At each correction's rate factor: the natural logarithm of the expected bits by `bits`. It falls.
  private let logarithms: [Double]

  /// The least fall of the logarithm for each unit of the rate factor.
  private static let leastFall = 0.02

  /// - Parameter measurement: complete.
  init(_ measurement: Measurement, model: BitRateModel) {
    self.model = model
    self.measurement = measurement
    let totals = measurement.frameBits.map { Double(max(1, $0.reduce(0, +))) }
    bits = totals[1]
    let slope = (log(totals[0] / totals[1]) / (model.measuringFactors[1] - model.measuringFactors[0]))
      .clamped(to: model.slopes)
    var logarithms: [Double] = []
    for (index, point) in model.corrections.enumerated() {
      var value = point.constant + point.slope * slope
      if let last = logarithms.last {
        value = min(value, last - Self.leastFall * (point.factor - model.corrections[index - 1].factor))
      }
      logarithms.append(value)
    }
    self.logarithms = logarithms
  }

  /// What is added to the film's rate factor for each doubling of the bits a pixel.
  private static let rise = 1.6
  /// The measured bits a pixel at which nothing is added.
  private static let middle = 0.05
  static let greatestOffset = 5.0

  /// What is added to the film's rate factor for the segment: less where its pictures need few bits.
  ///
  /// At one rate factor quiet pictures have very few bits. More cost the film little there, and each of them shows, so
  /// that an encoder's second pass spends more too. The numbers are those at which films of quiet and busy halves have
  /// the mean PSNR of x264's two passes.
  /// - Parameter pixels: The number of pixels of all frames together.
  func offset(pixels: Int) -> Double {
    let offset = (Self.rise * log2(bits / (Double(pixels) * Self.middle)))
      .clamped(to: -Self.greatestOffset...Self.greatestOffset)
    return (offset * Double(model.stepsPerUnit)).rounded() / Double(model.stepsPerUnit)
  }

  /// The bits of all frames together. They fall as the rate factor rises.
  func bits(at factor: Double) -> Double {
    let points = model.corrections
    let right = max(1, points.firstIndex { $0.factor >= factor } ?? points.count - 1)
    let position = (factor - points[right - 1].factor) / (points[right].factor - points[right - 1].factor)
    return bits * exp(logarithms[right - 1] + (logarithms[right] - logarithms[right - 1]) * position)
  }

  /// The frames share the segment's bits as they do at the rate factors that were measured.
  func frameBits(at factor: Double) -> [Int] {
    let span = model.measuringFactors[1] - model.measuringFactors[0]
    let position = ((factor - model.measuringFactors[0]) / span).clamped(to: -0.3...1.3)
    let weights = zip(measurement.frameBits[0], measurement.frameBits[1]).map { low, high in
      Double(max(1, low)) * pow(Double(max(1, high)) / Double(max(1, low)), position)
    }
    let scale = bits(at: factor) / weights.reduce(0, +)
    return weights.map { max(1, Int(($0 * scale).rounded())) }
  }
}

extension Double {
  fileprivate func clamped(to range: ClosedRange<Double>) -> Double {
    min(max(self, range.lowerBound), range.upperBound)
  }
}

/// Finds a film's rate factor by the bits that it gives. It may lie outside of the encoder's range by as much as that
/// of a segment differs from it.
struct RateFactorSearch {
  private let steps: ClosedRange<Int>
  private let stepsPerUnit: Double

  init(_ model: BitRateModel) {
    stepsPerUnit = Double(model.stepsPerUnit)
    let (low, high) = (
      model.rateFactors.lowerBound - BitPrediction.greatestOffset,
      model.rateFactors.upperBound + BitPrediction.greatestOffset
    )
    steps = Int((low * stepsPerUnit).rounded(.up))...Int((high * stepsPerUnit).rounded(.down))
  }

  private func factor(_ step: Int) -> Double { Double(step) / stepsPerUnit }

  /// The rate factor whose bits are nearest to a number of bits, by their ratio.
  /// - Parameter bits: falls with the rate factor.
  func factor(of target: Double, bits: (Double) -> Double) -> Double {
    var (low, high) = (steps.lowerBound, steps.upperBound)
    // The first step whose bits are not above the target, or the last one.
    while low < high {
      let middle = low + (high - low) / 2
      if bits(factor(middle)) > target { low = middle + 1 } else { high = middle }
    }
    guard low > steps.lowerBound else { return factor(low) }
    let (below, above) = (bits(factor(low)), bits(factor(low - 1)))
    return factor(above * below < target * target ? low - 1 : low)
  }
}
