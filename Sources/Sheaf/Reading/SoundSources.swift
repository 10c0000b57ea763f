import CompositionModel
import Media
import Renderer

/// The positions [round(start · rate), round(end · rate)) of a range's samples.
func sampleRange(_ range: MediaTimeRange, rate: Int) throws(SheafError) -> Range<Int64> {
  do throws(TimeError) {
    let rate = Rational(rate)
    let start = Int64(clamping: try (range.start.exact * rate).rounded)
    return start..<max(start, Int64(clamping: try (range.end.exact * rate).rounded))
  } catch {
    throw SheafError(.misuse, "\(range): \(error)")
  }
}

/// A track's samples as they are decoded.
final class SoundSource: SampleSource {
  private let reader: AudioReader
  private let rate: Int
  private let positions: Range<Int64>

  init(_ path: String, _ track: TrackDescription, _ audio: AudioFormat, _ positions: Range<Int64>) throws {
    rate = audio.sampleRate
    self.positions = positions
    reader = try AudioReader(
      source: openFile(path), name: path, track: track.index, timebase: track.timebase, origin: track.origin,
      discontinuities: track.discontinuities, format: audio, from: max(0, positions.lowerBound))
  }

  func next() throws -> AudioSample? {
    while let block = try reader.next() {
      if positions.upperBound <= block.position { return nil }
      let samples = block.samples
      let sample = AudioSample(
        position: block.position, sampleRate: rate,
        channels: (0..<samples.channels).map { channel in
          Array(UnsafeBufferPointer(start: samples.row(channel), count: samples.capacity))
        })
      if let part = sample.clamped(to: positions) { return part }
    }
    return nil
  }
}

/// A track's samples as settings ask for them.
final class ConvertedSoundSource<Value: LinearPCM>: SampleSource {
  private let track: ConvertedTrack
  private let rate: Int
  private let isInterleaved: Bool

  /// - Parameter positions: At the rate that the settings have for the track.
  init(
    _ path: String, _ track: TrackDescription, _ audio: AudioFormat, _ settings: AudioOutputSettings<Value>,
    _ positions: Range<Int64>
  ) throws {
    let resolved = try settings.resolved(for: audio)
    rate = resolved.sampleRate
    isInterleaved = settings.isInterleaved
    self.track = try readingSound {
      try ConvertedTrack(
        track, audio, input: openFile(path), sampleRate: resolved.sampleRate, channels: resolved.channels,
        positions: positions)
    }
  }

  func next() throws -> PCMBuffer<Value>? {
    let next = try readingSound { try track.next() }
    guard let (position, block) = next else { return nil }
    let (channels, count) = (block.channels, block.capacity)
    var planes: [[Value]]
    if isInterleaved {
      let plane = [Value](unsafeUninitializedCapacity: channels * count) { buffer, filled in
        for channel in 0..<channels {
          let row = block.row(channel)
          for index in 0..<count {
            buffer.initializeElement(at: index * channels + channel, to: Value(sample: row[index]))
          }
        }
        filled = channels * count
      }
      planes = [plane]
    } else {
      planes = (0..<channels).map { channel in
        UnsafeBufferPointer(start: block.row(channel), count: count).map { Value(sample: $0) }
      }
    }
    return PCMBuffer(position: position, sampleRate: rate, channelCount: channels, planes: planes)
  }
}

/// What the renderer reports of a file that it cannot read is an error of media.
private func readingSound<Result>(_ body: () throws -> Result) throws -> Result {
  do {
    return try body()
  } catch let error as RenderError {
    if case .media(let cause) = error.code { throw cause }
    throw error
  }
}
