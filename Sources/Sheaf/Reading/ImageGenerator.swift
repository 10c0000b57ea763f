import Client
public import CompositionModel
import FarmAPI
public import FoundationEssentials
import LocalFarm
import Runtime
import SystemSupport

/// Makes still pictures of a file or of an edit: AVFoundation's `AVAssetImageGenerator`. The files are opened in
/// confined processes, as for an export.
///
///     let generator = ImageGenerator(asset)
///     for try await result in generator.images(for: times) { try result.image.data.write(to: url) }
///
/// A picture is the one that is shown at its time: of a file its own, upright and in square pixels, and of an edit the
/// frame of the film. Pictures of high dynamic range are converted to standard range.
public struct ImageGenerator: Sendable {
  /// The format of a still picture's file.
  public typealias Format = CompositionModel.ImageFormat

  private enum Subject: Sendable {
    case asset(path: String)
    case edit(Edit)
  }

  private let subject: Subject
  /// Where the pictures are made.
  public var renderer: LocalRenderer
  /// Seconds that a picture may be before its time, and after it; infinite for any. Within them the nearest keyframe of
  /// a file, or start of a segment of an edit, is taken, which is faster. 0 by default: the exact picture.
  public var requestedTimeToleranceBefore = MediaTime.zero
  public var requestedTimeToleranceAfter = MediaTime.zero
  /// A picture that is larger is made smaller, and keeps its shape. Nil: its own size.
  public var maximumSize: PixelSize?
  public var format: Format
  /// The quality of JPEG and WebP, 1 to 100: 1 is the smallest file, 100 the best picture, which WebP stores without
  /// loss.
  public var quality = Format.defaultQuality

  /// - Parameters:
  ///   - asset: The asset whose default video track has the pictures.
  ///   - format: In which the pictures are encoded.
  ///   - renderer: Nil: that of the asset.
  public init(_ asset: Asset, format: Format = .png, renderer: LocalRenderer? = nil) {
    subject = .asset(path: asset.path)
    self.renderer = renderer ?? asset.renderer
    self.format = format
  }

  /// The pictures are of the whole composition, whatever part of it is exported.
  public init(_ edit: Edit, format: Format = .png, renderer: LocalRenderer = LocalRenderer()) {
    subject = .edit(edit)
    self.renderer = renderer
    self.format = format
  }

  /// A still picture.
  public struct Image: Sendable, Hashable {
    /// A file of `format`.
    public var data: Data
    public var format: Format
    public var size: PixelSize
    /// Whether the media that it shows are damaged there.
    public var isDamaged: Bool
  }

  /// What came of one time.
  public enum Result: Sendable {
    /// `actualTime` is when the picture begins to be shown.
    case success(requestedTime: MediaTime, image: Image, actualTime: MediaTime)
    case failure(requestedTime: MediaTime, error: SheafError)

    public var requestedTime: MediaTime {
      switch self {
      case .success(let time, _, _), .failure(let time, _): time
      }
    }

    /// Throws if there is no picture.
    public var image: Image {
      get throws(SheafError) {
        switch self {
        case .success(_, let image, _): return image
        case .failure(_, let error): throw error
        }
      }
    }

    /// Throws if there is no picture.
    public var actualTime: MediaTime {
      get throws(SheafError) {
        switch self {
        case .success(_, _, let time): return time
        case .failure(_, let error): throw error
        }
      }
    }
  }

  /// The picture at a time, and when it begins to be shown.
  public func image(at time: MediaTime) async throws(SheafError) -> (image: Image, actualTime: MediaTime) {
    var results = images(for: [time]).makeAsyncIterator()
    guard let result = try await results.next() else { throw SheafError(.failed, "there is no picture at \(time) s") }
    return (try result.image, try result.actualTime)
  }

  /// The pictures at some times, in their order. Each succeeds or fails by itself. An iteration throws if nothing can
  /// be made: the file or the edit cannot be used, or there is no `sheaf-worker`.
  /// - Parameter times: At most 10,000.
  public func images(for times: [MediaTime]) -> Images { Images(generator: self, times: times) }

  /// Pictures that are made, all at once, when the first of them is asked for. Until they are read they are files in a
  /// temporary folder.
  public struct Images: AsyncSequence, Sendable {
    public typealias Element = Result
    public typealias Failure = SheafError

    fileprivate let generator: ImageGenerator
    fileprivate let times: [MediaTime]

    public func makeAsyncIterator() -> Iterator { Iterator(generator: generator, times: times) }

    /// A position in the pictures. It belongs to one task.
    public struct Iterator: AsyncIteratorProtocol {
      fileprivate let generator: ImageGenerator
      fileprivate let times: [MediaTime]
      private var pictures: MadePictures?
      private var next = 0

      fileprivate init(generator: ImageGenerator, times: [MediaTime]) {
        (self.generator, self.times) = (generator, times)
      }

      /// What came of the next time; nil after the last, and after an error.
      public mutating func next() async throws(SheafError) -> Result? {
        guard next < times.count else { return nil }
        do {
          try Task.checkCancellation()
          let pictures: MadePictures
          if let made = self.pictures { pictures = made } else { pictures = try await generator.make(times) }
          self.pictures = pictures
          defer { next += 1 }
          return try await pictures.result(next, requested: times[next], generator.format)
        } catch {
          (next, pictures) = (times.count, nil)
          throw Task.isCancelled ? SheafError(.cancelled, "cancelled") : SheafError(error)
        }
      }
    }
  }

  // MARK: Making

  fileprivate func make(_ times: [MediaTime]) async throws -> MadePictures {
    let isPossible = times.map { $0.isNumeric && .zero <= $0 }
    var numbers: [Int?] = []
    var asked: [MediaTime] = []
    for (time, isPossible) in zip(times, isPossible) {
      numbers.append(isPossible ? asked.count : nil)
      if isPossible { asked.append(time) }
    }
    let pictures = MadePictures(folder: try TemporaryFolder(), numbers: numbers)
    if asked.isEmpty { return pictures }
    let configuration = try renderer.configuration()
    let request = ImageRequest(
      times: .list(asked.map(\.description)), tolerance: try tolerance(), format: format, quality: quality,
      box: maximumSize)
    let output = LocalImages.Output.numbered(prefix: pictures.folder.path + "/", digits: 1, suffix: "")
    switch subject {
    case .asset(let path):
      let asset = try await LocalRenderer.submitted(path, configuration).get()
      let images = LocalImages(edit: nil, assets: [asset], request: request, output: output)
      pictures.written = try await images.run(configuration, found: []).pictures
    case .edit(let edit):
      let file = try EditFile(edit)
      let (assets, missing) = try await file.assets(configuration.contents)
      let images = LocalImages(edit: file, assets: assets, request: request, output: output)
      pictures.written = try await images.run(configuration, found: missing).pictures
    }
    return pictures
  }

  /// Before and after a time, as a request has it. Nil: exact.
  private func tolerance() throws(SheafError) -> [String]? {
    let tolerances = [requestedTimeToleranceBefore, requestedTimeToleranceAfter]
    if tolerances == [.zero, .zero] { return nil }
    var written: [String] = []
    for tolerance in tolerances {
      guard tolerance == .positiveInfinity || tolerance.isNumeric && .zero <= tolerance else {
        throw SheafError(.misuse, "a tolerance of \(tolerance) s; it is 0, more, or infinite")
      }
      written.append(tolerance == .positiveInfinity ? "inf" : tolerance.description)
    }
    return written
  }
}

/// The pictures of one iteration. They belong to its task.
private final class MadePictures {
  let folder: TemporaryFolder
  /// For each requested time, its number among `written`; nil for a time that no picture has.
  private let numbers: [Int?]
  var written: [LocalImages.Written] = []

  init(folder: TemporaryFolder, numbers: [Int?]) {
    self.folder = folder
    self.numbers = numbers
  }

  /// Reads a picture and removes its file.
  func result(
    _ index: Int, requested: MediaTime, _ format: ImageFormat
  ) async throws -> ImageGenerator.Result {
    guard let number = numbers[index] else {
      let error = SheafError(.invalidMedia, "\(requested) is no time of pictures, which start at 0")
      return .failure(requestedTime: requested, error: error)
    }
    let picture = written[number].picture
    guard let path = written[number].path, let size = picture.size,
      let actual = picture.actual.flatMap({ MediaTime(notation: $0.exact) })
    else {
      let error = SheafError(.invalidMedia, picture.error ?? "there is no picture at \(requested) s")
      return .failure(requestedTime: requested, error: error)
    }
    let data = try await BlockingWork.run {
      let data = try Data(contentsOf: URL(fileURLWithPath: path))
      try FileManager.default.removeItem(atPath: path)
      return data
    }
    let image = ImageGenerator.Image(data: data, format: format, size: size, isDamaged: picture.isDamaged)
    return .success(requestedTime: requested, image: image, actualTime: actual)
  }
}
