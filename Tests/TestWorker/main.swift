import Glibc
import SheafWorker

// A worker for the tests of compositors that fail, of those of instructions, and of tasks that disturb others.

/// Shows the second picture, unless it is to fail.
struct Faulty: VideoCompositing {
  struct Parameters: Decodable {
    /// Seconds of the transition.
    var throwsAt: Double?
    var trapsAt: Double?
    /// What `init` throws.
    var refusal: String?
    var trapsAtOnce: Bool?
  }

  static let name = "faulty"
  static let revision = 3

  let parameters: Parameters

  init(parameters: Parameters, size: PixelSize) throws {
    if let refusal = parameters.refusal {
      throw CompositorError("\(refusal) at \(size.width)x\(size.height)")
    }
    if parameters.trapsAtOnce == true { fatalError("the compositor does not get up") }
    self.parameters = parameters
  }

  func compose(_ request: VideoCompositionRequest, into picture: inout MutablePixelBuffer) throws {
    let time = request.time.approximateSeconds
    if let limit = parameters.throwsAt, time >= limit { throw CompositorError("this is not to my taste") }
    if let limit = parameters.trapsAt, time >= limit { fatalError("the compositor is beside itself") }
    let to = try request.to
    picture.setEachSample(of: .luma) { x, y in to[.luma, x, y] }
  }
}

/// The first track at the left of a border that moves on the film's time, the second one at its right.
struct MovingBorder: VideoCompositing {
  struct Parameters: Decodable {
    var left: String
    var right: String
  }

  static let name = "moving-border"
  static let revision = 1

  let parameters: Parameters

  init(parameters: Parameters, size: PixelSize) { self.parameters = parameters }

  func compose(_ request: VideoCompositionRequest, into picture: inout MutablePixelBuffer) throws {
    let (left, right) = (try request.source(parameters.left), try request.source(parameters.right))
    let seconds = request.compositionTime?.approximateSeconds ?? 0
    let border = Int(seconds * 20) % picture.width
    let below = PixelColour.clear
    picture.setEachPixel { x, y in (x < border ? left : right)?.pixel(x, y) ?? below }
  }
}

/// A bar whose width in pixels is the number of the track `level`, in the luma that the text of the track `tone` names,
/// over the first track.
struct Gauge: VideoCompositing {
  static let name = "gauge"
  static let revision = 1
  static let dependsOnTime = false

  init(parameters: NoParameters, size: PixelSize) {}

  func compose(_ request: VideoCompositionRequest, into picture: inout MutablePixelBuffer) throws {
    guard let level = try request.metadata("level")?.number else { return }
    let luma = try request.metadata("tone")?.text == "bright" ? 200 : 100
    picture.setEachSample(of: .luma) { x, _ in Double(x) + 0.5 < level ? luma : 16 }
  }
}

/// Shows the brightness of a track. Each frame waits until a gate is open, which takes nothing of the processor.
struct Patient: VideoCompositing {
  struct Parameters: Decodable {
    var track: String
    /// A file. Frames of the seconds before its size in bytes do not wait.
    var gate: String
    /// The longest that a frame waits.
    var milliseconds: Int
    /// Films with different ones have no task in common.
    var number: Int?
  }

  static let name = "patient"
  static let revision = 1

  let parameters: Parameters

  init(parameters: Parameters, size: PixelSize) { self.parameters = parameters }

  func compose(_ request: VideoCompositionRequest, into picture: inout MutablePixelBuffer) throws {
    let seconds = request.compositionTime?.approximateSeconds ?? 0
    let limit = ContinuousClock.now + .milliseconds(parameters.milliseconds)
    while try !isOpen(at: seconds), ContinuousClock.now < limit { usleep(20_000) }
    guard let source = try request.source(parameters.track) else { return }
    picture.setEachSample(of: .luma) { x, y in source[.luma, x, y] }
  }

  /// A task process may not open the file, but it may ask for its size.
  private func isOpen(at seconds: Double) throws -> Bool {
    var status = stat()
    guard stat(parameters.gate, &status) == 0 else { throw CompositorError("no gate: errno \(errno)") }
    return seconds < Double(status.st_size)
  }
}

/// Does to its task process what damaged media do to a decoder.
struct Neighbour: VideoCompositing {
  struct Parameters: Decodable {
    enum Kind: String, Decodable { case memory, crash, hang, slow }

    var kind: Kind
  }

  static let name = "neighbour"
  static let revision = 1

  let kind: Parameters.Kind

  init(parameters: Parameters, size: PixelSize) { kind = parameters.kind }

  func compose(_ request: VideoCompositionRequest, into picture: inout MutablePixelBuffer) throws {
    switch kind {
    case .memory:
      // All that there is. What the task allocates next has no place. Not with malloc, calls of which an optimizing
      // compiler leaves out.
      let size = 1 << 20
      while let block = mmap(nil, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), block != MAP_FAILED
      {
        memset(block, 1, size)
      }
    case .crash: abort()
    case .hang: while true { sleep(1000) }
    case .slow: usleep(300_000)
    }
  }
}

WorkerMain.run(compositors: [Faulty.self, MovingBorder.self, Gauge.self, Patient.self, Neighbour.self])
