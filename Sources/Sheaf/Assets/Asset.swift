public import CompositionModel
public import FoundationEssentials
import Synchronization

/// A media file: AVFoundation's `AVURLAsset`. Nothing is read before a property is loaded. The file is probed once, in
/// a confined process, and every property comes from that probe.
///
/// A task that is cancelled while it loads does not wait any longer: it gets `.cancelled`. The probe ends when no task
/// waits for it, and a later one begins it again.
///
///     let asset = Asset(url)
///     let (duration, tracks) = try await asset.load(.duration, .tracks)
public final class Asset: Sendable {
  /// What a property's loading has come to.
  public enum Status<Value: Sendable>: Sendable {
    case notYetLoaded
    case loading
    case loaded(Value)
    case failed(SheafError)
  }

  public let path: String
  let renderer: LocalRenderer
  private let probe: Mutex<Probe>

  private typealias Outcome = Result<AssetDescription, SheafError>

  private struct Probe {
    /// The work that is under way, and its number.
    var task: Task<Void, Never>?
    var number = 0
    var result: Outcome?
    var waiting: [Int: CheckedContinuation<Outcome, Never>] = [:]
    var nextWaiting = 0
  }

  /// - Parameters:
  ///   - path: The path of a file on this machine. It is not opened before a property is loaded.
  ///   - renderer: Where the file is probed.
  public init(path: String, renderer: LocalRenderer = LocalRenderer()) {
    self.path = path
    self.renderer = renderer
    probe = Mutex(Probe())
  }

  /// - Parameters:
  ///   - url: The URL of a file on this machine. It is not opened before a property is loaded.
  ///   - renderer: Where the file is probed.
  public convenience init(_ url: URL, renderer: LocalRenderer = LocalRenderer()) {
    self.init(path: url.path, renderer: renderer)
  }

  /// What the file contains, all properties at once. The first call probes the file.
  public var contents: AssetDescription {
    get async throws(SheafError) { try await described().get() }
  }

  /// The whole of what is known of the file, which an edit takes.
  public func load() async throws(SheafError) -> LoadedAsset {
    LoadedAsset(path: path, contents: try await contents)
  }

  /// The value of a property.
  public func load<Value>(_ property: AssetProperty<Value>) async throws(SheafError) -> Value {
    try property.value(await contents)
  }

  /// The values of several properties. Throws if one of them fails; `result(of:)` gives each by itself.
  public func load<First, Second, each Other>(
    _ first: AssetProperty<First>, _ second: AssetProperty<Second>, _ other: repeat AssetProperty<each Other>
  ) async throws(SheafError) -> (First, Second, repeat each Other) {
    let contents = try await contents
    return (try first.value(contents), try second.value(contents), repeat try (each other).value(contents))
  }

  /// The value of a property, or why it has none.
  public func result<Value>(of property: AssetProperty<Value>) async -> Result<Value, SheafError> {
    await described().flatMap { description in
      Result { () throws(SheafError) in try property.value(description) }
    }
  }

  /// What is known of a property, without loading it.
  public func status<Value>(of property: AssetProperty<Value>) -> Status<Value> {
    let (isLoading, result) = probe.withLock { ($0.task != nil, $0.result) }
    guard let result else { return isLoading ? .loading : .notYetLoaded }
    do throws(SheafError) {
      return .loaded(try property.value(result.get()))
    } catch {
      return .failed(error)
    }
  }

  // MARK: Probing

  /// Waits for the one probe of the file, and begins it if nobody has.
  private func described() async -> Outcome {
    let number = probe.withLock { probe in
      probe.nextWaiting += 1
      return probe.nextWaiting
    }
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let outcome = probe.withLock { probe -> Outcome? in
          if let result = probe.result { return result }
          if Task.isCancelled { return .failure(SheafError(.cancelled, "cancelled")) }
          probe.waiting[number] = continuation
          if probe.task == nil {
            probe.number += 1
            probe.task = Task { [number = probe.number] in await self.run(number) }
          }
          return nil
        }
        if let outcome { continuation.resume(returning: outcome) }
      }
    } onCancel: {
      stopWaiting(number)
    }
  }

  private func run(_ number: Int) async {
    let outcome: Outcome
    do throws(SheafError) {
      outcome = .success(
        try await sheafErrors { [path, renderer] in
          try await renderer.describe([path])[path]?.get() ?? { throw SheafError(.failed, "\(path) was not probed") }()
        })
    } catch {
      outcome = .failure(error)
    }
    let waiting = probe.withLock { probe in
      // Nobody waits for it any more, and another may be under way.
      guard probe.number == number, probe.task != nil else { return [CheckedContinuation<Outcome, Never>]() }
      (probe.task, probe.result) = (nil, outcome)
      defer { probe.waiting = [:] }
      return Array(probe.waiting.values)
    }
    for continuation in waiting { continuation.resume(returning: outcome) }
  }

  /// Ends the wait of a task that is cancelled, and the probe if no other waits for it.
  private func stopWaiting(_ number: Int) {
    let (continuation, task) = probe.withLock { probe in
      guard let continuation = probe.waiting.removeValue(forKey: number) else {
        return (CheckedContinuation<Outcome, Never>?.none, Task<Void, Never>?.none)
      }
      guard probe.waiting.isEmpty else { return (continuation, nil) }
      defer { probe.task = nil }
      return (continuation, probe.task)
    }
    task?.cancel()
    continuation?.resume(returning: .failure(SheafError(.cancelled, "cancelled")))
  }
}

/// A property of an asset that is loaded.
public struct AssetProperty<Value: Sendable>: Sendable {
  let value: @Sendable (AssetDescription) throws(SheafError) -> Value

  private static func ofMedia(
    _ name: String, _ value: @escaping @Sendable (AssetDescription) throws(SheafError) -> Value
  ) -> AssetProperty {
    AssetProperty { (description) throws(SheafError) in
      guard description.font == nil, description.colourTable == nil else {
        throw SheafError(.noSuchProperty, "a file of the kind '\(description.container)' has no \(name)")
      }
      return try value(description)
    }
  }
}

extension AssetProperty<MediaTime> {
  /// The end of the last track, exactly. 0 for a still picture.
  public static var duration: Self {
    ofMedia("duration") { (description) throws(SheafError) in description.duration }
  }
}

extension AssetProperty<[TrackDescription]> {
  /// In the file's order.
  public static var tracks: Self { ofMedia("tracks") { (description) throws(SheafError) in description.tracks } }

  /// The tracks of a type.
  public static func tracks(_ type: MediaType) -> Self {
    ofMedia("tracks") { (description) throws(SheafError) in description.tracks.filter { $0.type == type } }
  }
}

extension AssetProperty<[String: String]> {
  /// By format key, such as `title`.
  public static var metadata: Self { AssetProperty { (description) throws(SheafError) in description.metadata } }
}

extension AssetProperty<[CommonMetadataKey: String]> {
  /// By the keys that all formats share, such as `.title`: each has the value of the format's key that expresses it
  /// best.
  public static var commonMetadata: Self {
    AssetProperty { (description) throws(SheafError) in description.commonMetadata }
  }
}

extension AssetProperty<PixelSize> {
  /// The size of the default video track as it is seen, in pixels: clean aperture, pixel aspect and orientation are
  /// applied.
  public static var presentationSize: Self {
    ofMedia("pictures") { (description) throws(SheafError) in
      guard let video = description.defaultTrack(.video)?.video else {
        throw SheafError(.noSuchProperty, "the file has no video track")
      }
      return video.presentationSize
    }
  }
}
