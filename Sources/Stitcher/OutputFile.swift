import Media
import Segmenter

/// The file that is being written.
struct OutputFile {
  /// Progress is told when so many bytes are new.
  private static let step: Int64 = 1 << 20

  private let muxer: FileMuxer
  private var told: Int64 = 0

  init(_ task: StitchTask, tracks: [FileMuxer.Track], descriptor: Int32) throws(StitchError) {
    do {
      muxer = try FileMuxer(
        descriptor: descriptor, name: "the output", container: task.container, tracks: tracks,
        indexFirst: task.optimizeForNetworkUse, metadata: task.metadata)
    } catch {
      throw Self.fault(error)
    }
  }

  mutating func write(
    _ packet: Packet, track: Int, discarded: Int = 0, progress: (Int64) -> Void
  ) throws(StitchError) {
    do { try muxer.write(packet, track: track, discarded: discarded) } catch { throw Self.fault(error) }
    if muxer.byteCount - told >= Self.step {
      told = muxer.byteCount
      progress(told)
    }
  }

  func finish(progress: (Int64) -> Void) throws(StitchError) {
    do { try muxer.finish() } catch { throw Self.fault(error) }
    progress(muxer.byteCount)
  }

  private static func fault(_ error: MediaError) -> StitchError {
    switch error.code {
    case .outOfSpace, .outOfMemory, .io: StitchError(.infrastructure, "\(error)")
    default: StitchError(.media(error), "the output cannot be written")
    }
  }
}
