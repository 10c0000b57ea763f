import Client
public import CompositionModel
import EditDocument
import FarmAPI
import FoundationEssentials
import LocalFarm
import Runtime
import SystemSupport

/// Makes the waveform of a file's sound, of the mix of an edit or of one of its tracks, as `sheaf waveform` does: what
/// an editor draws, and what silence is found in. AVFoundation leaves it to programs. Media are opened in confined
/// processes, as for an export.
///
///     let waveform = try await WaveformGenerator(asset).waveform(.points(1000))
///     for (low, high) in zip(waveform.minimums, waveform.maximums) { draw(low, high) }
public struct WaveformGenerator: Sendable {
  /// How many points a waveform has.
  public enum Resolution: Sendable, Hashable {
    /// 1 to 1,000,000. A sound with fewer samples has a point for each.
    case points(Int)
    /// Points a second, from 0.001 to 100,000.
    case rate(Double)
  }

  /// The lowest and the highest sample of equal parts of a sound, over all its channels.
  public struct Waveform: Sendable, Hashable {
    /// Samples a second of each channel.
    public var sampleRate: Int
    /// How many channels the sound has.
    public var channels: Int
    /// The number of samples of each channel.
    public var sampleCount: Int64
    /// The lowest sample of each point, from -1 to 1.
    public var minimums: [Double]
    /// The highest sample of each point, from -1 to 1.
    public var maximums: [Double]
    /// The root of the mean of the squares of each point's samples.
    public var rootMeanSquares: [Double]

    /// How long the sound is, in seconds.
    public var duration: MediaTime { MediaTime(value: sampleCount, timescale: Int32(clamping: sampleRate)) }

    init(_ data: WaveformData) {
      (sampleRate, channels, sampleCount) = (data.sampleRate, data.channels, data.samples)
      (minimums, maximums, rootMeanSquares) = (data.min, data.max, data.rms)
    }
  }

  private enum Subject: Sendable {
    /// Nil: the track that clips use.
    case asset(Asset, track: TrackDescription?)
    /// Nil: the mix.
    case edit(Edit, track: TrackID?)
  }

  private let subject: Subject
  /// Where the sound is rendered.
  public var renderer: LocalRenderer

  /// The waveform of a file's sound, with the channels of the file.
  /// - Parameters:
  ///   - asset: The file.
  ///   - track: One of its audio tracks. Nil: the one that clips use.
  ///   - renderer: Nil: that of the asset.
  public init(_ asset: Asset, track: TrackDescription? = nil, renderer: LocalRenderer? = nil) {
    subject = .asset(asset, track: track)
    self.renderer = renderer ?? asset.renderer
  }

  /// The waveform of the sound of an edit.
  /// - Parameters:
  ///   - edit: What is heard, as it is now, whatever part of it is exported.
  ///   - track: An audio track, such as `music` or, for the sound of a video track, `A.sound`: the track as it is in
  ///     the mix, but for ducking and loudness. Nil: the mix of all tracks.
  ///   - renderer: Where the sound is rendered.
  public init(_ edit: Edit, track: TrackID? = nil, renderer: LocalRenderer = LocalRenderer()) {
    subject = .edit(edit, track: track)
    self.renderer = renderer
  }

  /// Renders the sound and finds the peaks of its parts.
  /// - Parameter resolution: How many points there are. They divide the sound into equal parts.
  /// - Throws: `.invalidEdit` if there is no such sound, or it would have more than 1,000,000 points at a rate;
  ///   `.misuse` if the resolution is out of its range.
  public func waveform(_ resolution: Resolution = .points(1000)) async throws(SheafError) -> Waveform {
    let resolution = try resolution.checked()
    return try await sheafErrors {
      let folder = try TemporaryFolder()
      let path = folder.path + "/sound.wav"
      let (file, channels) = try await document(path)
      _ = try await LocalRender(edit: file, output: path).run(try renderer.configuration()) { _ in }
      return try await BlockingWork.run {
        defer { withExtendedLifetime(folder) {} }
        return Waveform(try WaveformData(OpenFile.open(path), resolution, channels: channels))
      }
    }
  }

  /// The document of the sound alone, and which channels of its output count; nil: all.
  private func document(_ path: String) async throws -> (EditFile, channels: [Int]?) {
    let bytes: [UInt8]
    var channels: [Int]?
    switch subject {
    case .edit(let edit, let track):
      bytes = try Document.ofSound(edit.document(), track: track, output: path)
    case .asset(let asset, let track):
      let contents = try await asset.contents
      let number = try track.map { track in
        let sounds = contents.tracks(.audio)
        guard let number = sounds.firstIndex(where: { $0.index == track.index }) else {
          throw SheafError(.misuse, "\(asset.path) has no audio track \(track.index)")
        }
        return number
      }
      let sound = try Document.ofSound(path: Directories.resolve(asset.path), contents, track: number)
      (bytes, channels) = (sound.document, sound.channels)
    }
    let folder = FileManager.default.currentDirectoryPath
    return (try EditFile(bytes, name: path, folder: folder, output: path), channels)
  }
}

extension WaveformGenerator.Resolution {
  fileprivate func checked() throws(SheafError) -> WaveformData.Resolution {
    switch self {
    case .points(let count) where WaveformData.pointCounts.contains(count): return .points(count)
    case .rate(let rate) where WaveformData.rates.contains(rate): return .rate(rate)
    case .points(let count):
      throw SheafError(.misuse, "a waveform of \(count) points; they are 1 to \(WaveformData.pointCounts.upperBound)")
    case .rate(let rate):
      let rates = WaveformData.rates
      throw SheafError(
        .misuse, "a waveform of \(rate) points a second; they are \(rates.lowerBound) to \(rates.upperBound)")
    }
  }
}
