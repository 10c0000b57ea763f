import CompositionModel
import Media

/// Samples at a speed that changes, with the same pitch, by the finer engine of the Rubber Band library.
///
/// The engine's ratio is set anew with every few samples that are sent, so that each of its windows is put where the
/// integral of the speed puts the window's middle; what it has put elsewhere is made up within a few windows. Where the
/// speed is below a hundredth, which includes a frozen picture, there is silence. It begins and ends with a short fade,
/// and the sound after it starts anew.
final class VariableStretchStream: SampleStream {
  /// A part of the clip that is heard, or is silent.
  private struct Part {
    /// The range of the clip's samples.
    var samples: Range<Int64>
    var isHeard: Bool
  }

  /// A place in the source, in samples at the output's rate.
  struct Place {
    var whole: Int64
    var fraction: Double

    /// To a millionth of a sample.
    var exact: Rational {
      get throws(TimeError) { try Rational(whole) + Rational(Int128((fraction * 1_048_576).rounded()), 1_048_576) }
    }
  }

  /// Below it there is silence.
  private static let slowest = 0.01

  private let path: SourcePath
  private let (outputRate, outputChannels): (Int, Int)
  private let open: (Place) throws(RenderError) -> any SampleStream
  private let parts: [Part]
  private let fade: Int64
  private var position: Int64 = 0
  private var part = 0
  private var sound: FollowingStretcher?

  /// - Parameters:
  ///   - path: In a source at the output's rate.
  ///   - open: Opens the source in the output's rate and channels from a place on.
  init(
    _ path: SourcePath, outputRate: Int, outputChannels: Int,
    open: @escaping (Place) throws(RenderError) -> any SampleStream
  ) {
    self.path = path
    (self.outputRate, self.outputChannels) = (outputRate, outputChannels)
    self.open = open
    parts = Self.parts(of: path)
    fade = max(1, Int64(outputRate / 200))
  }

  private static func parts(of path: SourcePath) -> [Part] {
    var parts: [Part] = []
    func add(_ samples: Range<Int64>, isHeard: Bool) {
      guard !samples.isEmpty else { return }
      if let last = parts.last, last.isHeard == isHeard {
        parts[parts.count - 1].samples = last.samples.lowerBound..<samples.upperBound
      } else {
        parts.append(Part(samples: samples, isHeard: isHeard))
      }
    }
    for (index, run) in path.runs.enumerated() {
      let end = index + 1 < path.runs.count ? path.runs[index + 1].first : .max
      let isHeard = run.step(at: run.first) >= slowest
      guard run.bend != 0, end > run.first, (run.step(at: end - 1) >= slowest) != isHeard else {
        add(run.first..<max(run.first, end), isHeard: isHeard)
        continue
      }
      let crossing = run.first + Int64(((slowest - run.step) / run.bend - run.elapsed).rounded(.up))
      let middle = min(end, max(run.first, crossing))
      add(run.first..<middle, isHeard: isHeard)
      add(middle..<end, isHeard: !isHeard)
    }
    return parts
  }

  func read(into block: SampleBlock, _ range: SampleRange) throws(RenderError) {
    var filled = 0
    while filled < range.count {
      let current = parts[part]
      guard position < current.samples.upperBound else {
        part += 1
        sound = nil
        continue
      }
      let count = Int(min(Int64(range.count - filled), current.samples.upperBound - position))
      let start = range.start + filled
      if current.isHeard {
        let stretcher: FollowingStretcher
        if let sound {
          stretcher = sound
        } else {
          stretcher = try FollowingStretcher(
            path, from: position, sampleRate: outputRate, channels: outputChannels, open: open)
          sound = stretcher
        }
        try stretcher.read(into: block, SampleRange(start: start, count: count))
        fadeEnds(of: current.samples, in: block, from: start, count)
      } else {
        block.clear(start, count)
      }
      position += Int64(count)
      filled += count
    }
  }

  /// Fades a part where it borders on silence. `start` is the block's sample at `position`.
  private func fadeEnds(of part: Range<Int64>, in block: SampleBlock, from start: Int, _ count: Int) {
    for offset in 0..<count {
      let sample = position + Int64(offset)
      let (after, before) = (sample - part.lowerBound, part.upperBound - 1 - sample)
      var gain = 1.0
      if part.lowerBound > 0, after < fade { gain = Double(after) / Double(fade) }
      if part.upperBound < .max, before < fade { gain *= Double(before) / Double(fade) }
      guard gain < 1 else { continue }
      for channel in 0..<block.channels { block.row(channel)[start + offset] *= Float(gain) }
    }
  }
}

/// Sound of a clip from one of its samples on, stretched as the clip's speed changes.
private final class FollowingStretcher: RunUpStream {
  private let path: SourcePath
  private let input: any SampleStream
  private let inputBlock: SampleBlock
  private let stretcher: TimeStretcher
  private let first: Int64
  /// The place in the source of the clip's sample `first`.
  private let origin: VariableStretchStream.Place
  var discarded: Int
  private var sent = 0
  private var received = 0
  private let firstRun: Int
  /// Where each run starts in the source, after `origin`.
  private let starts: [Double]
  private let startTempo: Double

  init(
    _ path: SourcePath, from first: Int64, sampleRate: Int, channels: Int,
    open: (VariableStretchStream.Place) throws(RenderError) -> any SampleStream
  ) throws(RenderError) {
    self.path = path
    self.first = first
    firstRun = max(0, (path.runs.firstIndex { $0.first > first } ?? path.runs.count) - 1)
    let start = path.runs[firstRun]
    let tempo = Self.tempo(start.step(at: first))
    startTempo = tempo
    let exact = try mapErrors(to: RenderError.audioTime) { () throws(TimeError) in
      try Rational(Int128((tempo * 1_000_000).rounded()), 1_000_000)
    }
    stretcher = try TimeStretcher(.spectral, tempo: exact, sampleRate: sampleRate, channels: channels)
    let distance = start.distance(at: first)
    let below = distance.rounded(.down)
    let origin = VariableStretchStream.Place(whole: start.whole + Int64(below), fraction: distance - below)
    self.origin = origin
    input = try open(.init(whole: origin.whole - Int64(stretcher.runUp), fraction: origin.fraction))
    inputBlock = SampleBlock(channels: channels, capacity: 1024)
    discarded = stretcher.runUp
    starts = path.runs.map { FollowingStretcher.base($0, from: origin) + $0.distance(at: $0.first) }
  }

  private static func tempo(_ speed: Double) -> Double { min(100, max(0.01, speed)) }

  func receive(into block: SampleBlock, start: Int, capacity: Int) throws(RenderError) -> Int {
    while true {
      let count = stretcher.receive(into: block, start: start, capacity: capacity)
      received += count
      if count > 0 { return count }
      try send()
    }
  }

  /// Sends a few samples, with the ratio that puts the next windows in their places.
  private func send() throws(RenderError) {
    let position = stretcher.position(after: sent)
    let tempo = tempo(at: position)
    let count = Int(min(1024, max(16, 256 * tempo)))
    let due = place(of: position + count) - Double(received)
    stretcher.setTempo(Self.tempo(Double(count) / max(due, 1e-9)))
    try input.read(into: inputBlock, SampleRange(start: 0, count: count))
    stretcher.send(inputBlock, count: count)
    sent += count
  }

  /// The speed at the middle of the window that starts at an input sample.
  private func tempo(at position: Int) -> Double {
    let sample = first + Int64(max(0, min(sample(at: Double(position - stretcher.runUp)), 1e15)))
    return Self.tempo(path.run(at: sample).run.step(at: sample))
  }

  /// The output sample at which the window has to be put that starts at an input sample.
  private func place(of position: Int) -> Double {
    let middle = stretcher.middle(tempo: tempo(at: position))
    return Double(stretcher.runUp) + sample(at: Double(position - stretcher.runUp) + middle) - middle
  }

  /// How many of the clip's samples after `first` the source's sample is heard that is so far after `origin`.
  private func sample(at distance: Double) -> Double {
    if distance <= 0 { return distance / startTempo }
    let number = max(firstRun, (starts.firstIndex { $0 > distance } ?? starts.count) - 1)
    let run = path.runs[number]
    let rest = distance - Self.base(run, from: origin) - run.fraction
    let root = run.step * run.step + 2 * run.bend * rest
    // After the apex the speed is no more than 0, and the source's sample is not reached.
    let elapsed = root > 0 ? 2 * rest / (run.step + root.squareRoot()) : run.bend < 0 ? -run.step / run.bend : 1e15
    let sample = Double(run.first - first) - run.elapsed + elapsed
    return number + 1 < path.runs.count ? min(sample, Double(path.runs[number + 1].first - first)) : sample
  }

  private static func base(_ run: SourcePath.Run, from origin: VariableStretchStream.Place) -> Double {
    Double(run.whole - origin.whole) - origin.fraction
  }
}
