import CompositionModel
import FoundationEssentials
import SystemSupport

/// Renders films one after the other to temporary files and reads them. While one is read, the next is rendered.
actor FilmParts<Sample: Sendable>: SampleParts {
  private let edits: [Edit]
  private let renderer: LocalRenderer
  private let open: @Sendable (_ number: Int, _ part: RenderedPart) throws -> any SampleSource<Sample>
  private var number = 0
  private var ahead: Task<RenderedPart, any Error>?

  /// - Parameters:
  ///   - edits: What is rendered, with the settings of its export.
  ///   - renderer: Where it is rendered.
  ///   - open: Opens the film of a number. The file is there as long as the part.
  init(
    _ edits: [Edit], _ renderer: LocalRenderer,
    _ open: @escaping @Sendable (_ number: Int, _ part: RenderedPart) throws -> any SampleSource<Sample>
  ) {
    (self.edits, self.renderer, self.open) = (edits, renderer, open)
  }

  deinit { ahead?.cancel() }

  func next() async throws -> (@Sendable () throws -> any SampleSource<Sample>)? {
    guard number < edits.count else { return nil }
    let task = ahead ?? render(number)
    let part = try await withTaskCancellationHandler {
      try await task.value
    } onCancel: {
      task.cancel()
    }
    let current = number
    number += 1
    ahead = number < edits.count ? render(number) : nil
    return { [open] in try open(current, part) }
  }

  private func render(_ number: Int) -> Task<RenderedPart, any Error> {
    Task { [edit = edits[number], renderer] in try await RenderedPart(edit, renderer) }
  }
}

/// A film in a temporary file, which is removed with it.
final class RenderedPart: Sendable {
  private let folder: TemporaryFolder
  let path: String
  private let description: AssetDescription

  init(_ edit: Edit, _ renderer: LocalRenderer) async throws {
    folder = try TemporaryFolder()
    path = folder.path + "/film.mkv"
    _ = try await ExportSession(edit, to: URL(fileURLWithPath: path), on: .local(renderer)).export()
    let described = try await renderer.describe([path])[path]?.get()
    guard let described else { throw SheafError(.failed, "\(path) was not probed") }
    description = described
  }

  /// The film's track of a type.
  func track(_ type: MediaType) throws(SheafError) -> TrackDescription {
    if let track = description.defaultTrack(type) { return track }
    throw SheafError(.failed, "a rendered part of the film has no \(type) track")
  }
}

extension RenderedPart {
  /// Seconds of a film in its first part. Each later one is twice as long as the one before it.
  private static let firstSeconds: Int128 = 1
  /// The most seconds of a part for each task that runs at once: as many as a segment has.
  private static let secondsPerSlot: Int128 = 5

  /// The frames of each part.
  /// - Parameters:
  ///   - frames: All frames.
  ///   - duration: Of a frame, in seconds.
  ///   - slots: How many tasks run at once. Nil: one for each processor core.
  static func ranges(
    of frames: Range<Int128>, lasting duration: MediaTime, slots: Int?
  ) throws(TimeError) -> [Range<Int128>] {
    let rate = try Rational.one / duration.exact
    var count = max(1, try (rate * Rational(firstSeconds)).ceiling)
    let most = max(
      1, try (rate * Rational(secondsPerSlot * Int128(slots ?? ProcessInfo.processInfo.activeProcessorCount))).ceiling)
    var ranges: [Range<Int128>] = []
    var start = frames.lowerBound
    while start < frames.upperBound {
      let end = min(frames.upperBound, start + count)
      ranges.append(start..<end)
      (start, count) = (end, min(most, 2 * count))
    }
    return ranges
  }
}

/// Keeps an object as long as what is read from it.
final class OwningSource<Sample: Sendable>: SampleSource {
  private let source: any SampleSource<Sample>
  private let owner: any AnyObject & Sendable

  init(_ source: any SampleSource<Sample>, _ owner: any AnyObject & Sendable) {
    (self.source, self.owner) = (source, owner)
  }

  func next() throws -> Sample? { try withExtendedLifetime(owner) { try source.next() } }
}
