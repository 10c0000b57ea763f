import CompositionModel
import Digest
import FarmAPI
import FarmModel
import Jobs
import RenderTasks
import Segmenter

extension EstimateReport {
  /// Seconds that a slot mixes a second of sound, about.
  private static let soundPace = 0.02
  /// Bytes that the stitch writes in a second, about, and reads again.
  private static let stitchRate = 100_000_000.0
  /// Bytes of a container for each packet, and for all of them together.
  private static let packetBytes = 14.0
  private static let headerBytes = 3000.0

  /// - Parameters:
  ///   - descriptions: Of the document's assets.
  ///   - slots: Of the workers that may render it.
  init(
    _ planned: PlannedJob, _ request: JobRequest, descriptions: [AssetID: AssetDescription], slots: Int,
    pace: RenderingPace
  ) throws {
    let plan = planned.plan
    let videos = planned.isMeasuring ? [] : planned.tasks.filter { $0.kind == .video }
    let cached = plan.segments.indices.map { $0 < videos.count ? videos[$0].cached : nil }
    let pieces = cached.map { $0?.size }
    var outputs: [Output] = []
    /// What the files have, by digest, and their seconds.
    func files(_ bytes: (AssetDescription, Int64) -> Int64) -> [String: (bytes: Int64, seconds: Double)] {
      let known = request.assets.compactMap { asset -> (String, (bytes: Int64, seconds: Double))? in
        descriptions[asset.id].map { (asset.digest, (bytes($0, asset.size), $0.duration.approximateSeconds)) }
      }
      return Dictionary(known) { first, _ in first }
    }
    if let copy = plan.passthrough {
      if let size = plan.expectedSize(of: copy, files: files { $1 }) {
        outputs = [Output(nil, copy.container, [size], packets: 0)]
      }
    } else {
      // A package has the pieces of all renditions together.
      let isAlone = (plan.segments.first?.task.renditions.count ?? 0) <= 1
      let hasOneSound = (plan.audio?.mixes.reduce(0) { $0 + $1.encoders.count } ?? 0) <= 1
      let parts = planned.audio.compactMap(\.cached?.size)
      let sound = hasOneSound && parts.count == planned.audio.count ? parts.reduce(0, +) : nil
      let pictures = files { $0.pictureBytes(of: $1) }
      outputs = plan.stitch.outputs.map { output in
        var sizes: [ExpectedSize] = []
        var packets = 0.0
        if let video = output.file.video {
          sizes += plan.expectedSizes(of: video, pieces: isAlone ? pieces : pieces.map { _ in nil }, files: pictures)
          packets += Double(plan.frameCount)
        }
        if let audio = output.file.audio {
          sizes.append(plan.expectedSize(of: audio, piece: sound))
          packets += Double(audio.sampleCount) / 1024
        }
        return Output(output.name, output.file.container, sizes, packets: packets)
      }
    }
    let work = plan.segments.reduce(0) { $0 + $1.cost }
    let remaining = zip(plan.segments, cached).filter { $1 == nil }.map(\.0.cost)
    var time: Time?
    if slots > 0, plan.passthrough == nil {
      // A film with an average bit rate is measured first.
      let measuring = planned.isMeasuring ? planned.tasks.filter { $0.cached == nil }.map(\.cost) : []
      let seconds = plan.duration.approximateSeconds
      var serial = outputs.reduce(0) { $0 + Double($1.bytes) } / Self.stitchRate
      let mixed = planned.audio.filter { $0.cached == nil }.count
      if mixed > 0 {
        // It runs beside the segments, and alone if there are none.
        let beside = plan.segments.isEmpty ? min(slots, mixed) : slots
        serial += seconds * Self.soundPace * Double(mixed) / Double(planned.audio.count * beside)
      }
      time = Time(
        (remaining + measuring.map { $0 / 2 }).map { $0 / 1_000_000 }, serial: serial, slots: slots, pace: pace)
    }
    self.init(
      duration: plan.duration, frames: plan.frameCount, outputs: outputs, work: (work / 100_000).rounded() / 10,
      remainingWork: (remaining.reduce(0, +) / 100_000).rounded() / 10, segments: plan.segments.count,
      cachedSegments: cached.compactMap(\.self).count, time: time)
  }
}

extension AssetDescription {
  /// The bytes of a file without those of its sound, about.
  fileprivate func pictureBytes(of size: Int64) -> Int64 {
    let sound = tracks.compactMap(\.audio).reduce(0.0) { sum, audio in
      // A codec without loss states the bits of a sample, of which it may save some.
      sum + (audio.bitDepth.map { Double(audio.sampleRate * audio.channels * $0) / 8 } ?? 16_000)
    }
    return max(size / 10, size - Int64(min(sound * duration.approximateSeconds, Double(size))))
  }
}

extension EstimateReport.Output {
  fileprivate init(_ file: String?, _ container: Container, _ sizes: [ExpectedSize], packets: Double) {
    let extra = sizes.allSatisfy { $0.basis == .files } ? 0 : EstimateReport.overhead(packets: packets)
    func sum(_ part: (ExpectedSize) -> Double) -> Int64 { Int64((sizes.reduce(0) { $0 + part($1) } + extra).rounded()) }
    var seen: Set<String> = []
    self.init(
      file: file, container: container.rawValue, bytes: sum(\.bytes), leastBytes: sum(\.least), mostBytes: sum(\.most),
      basis: sizes.map(\.basis.rawValue).filter { seen.insert($0).inserted })
  }
}

extension EstimateReport {
  fileprivate static func overhead(packets: Double) -> Double { headerBytes + packets * packetBytes }
}
