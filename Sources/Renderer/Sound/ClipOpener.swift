import CompositionModel
import Media
import Segmenter

/// Makes a clip's sound fit the output, by as little as it takes: copied where rate, channels and speed agree.
final class ClipOpener {
  /// A clip that is being heard.
  struct Playing {
    let sound: any SampleStream
    fileprivate let track: DecodedTrack
    fileprivate let source: Int
  }

  private let task: AudioTask
  private let inputs: [String: any ByteSource]
  /// Tracks that no clip is using, the latest last: the next clip often goes on where one ended.
  private var idle: [(source: Int, track: DecodedTrack)] = []
  private static let mostIdle = 8

  init(_ task: AudioTask, inputs: [String: any ByteSource]) {
    self.task = task
    self.inputs = inputs
  }

  func open(_ clip: PlannedAudioClip, _ placement: ClipPlacement) throws(RenderError) -> Playing {
    guard task.sources.indices.contains(clip.source) else {
      throw RenderError(
        soundTask: "a clip names source \(clip.source); the task has \(task.sources.count), counted from 0")
    }
    let planned = task.sources[clip.source]
    guard planned.audio.sampleRate > 0, planned.audio.channels > 0 else {
      throw RenderError(soundTask: "source \(clip.source) has no sample rate or no channels")
    }
    let track = try track(clip.source, planned, near: placement)
    let (rate, channels) = (task.encoder.sampleRate, task.encoder.channels)
    let plan = ChannelPlan(from: planned.audio, to: channels)
    let isStretched = placement.speed != .one
    let runUp = isStretched ? StretchedSound.runUp(sampleRate: rate) : 0
    let sound: any SampleStream
    if plan == .same, planned.audio.sampleRate == rate {
      sound = CopiedSound(track, from: placement.alignedSource - Int64(runUp))
    } else {
      let start: Rational
      do { start = try placement.sourceStart - Rational(Int128(runUp), Int128(rate)) } catch {
        throw RenderError(soundTime: error)
      }
      sound = try ConvertedSound(track, plan: plan, start: start, outputRate: rate, outputChannels: channels)
    }
    guard isStretched else { return Playing(sound: sound, track: track, source: clip.source) }
    let stretched = try StretchedSound(sound, tempo: placement.speed, sampleRate: rate, channels: channels)
    return Playing(sound: stretched, track: track, source: clip.source)
  }

  /// Keeps the track of a clip that has been heard for the next.
  func close(_ playing: Playing) {
    idle.append((playing.source, playing.track))
    if idle.count > Self.mostIdle { idle.removeFirst() }
  }

  private func track(
    _ source: Int, _ planned: PlannedAudioSource, near placement: ClipPlacement
  ) throws(RenderError) -> DecodedTrack {
    let start: Int64
    do {
      start = Int64(clamping: try (placement.sourceStart * Rational(planned.audio.sampleRate)).floor)
    } catch {
      throw RenderError(soundTime: error)
    }
    if let index = idle.lastIndex(where: { $0.source == source && $0.track.isNear(start) }) {
      return idle.remove(at: index).track
    }
    guard let input = inputs[planned.digest] else {
      throw RenderError(soundTask: "source \(source), \(planned.digest), is not among the task's inputs")
    }
    return DecodedTrack(planned, input: input)
  }
}
