import CSandbox
import CompositionModel
import FoundationEssentials
import Glibc
import Media
import SystemSupport

/// `sheaf-worker compare REQUEST FILM [OTHER]`: compares two films, confined as a task process is, and prints the
/// result as JSON. `sheaf verify` starts it. It ends when its standard input ends, and so with the process that has
/// started it.
enum FilmComparisonMain {
  static let subcommand = "compare"
  /// Something is wrong with this machine or with the film that was rendered again.
  private static let failure: Int32 = 71

  /// - Parameter arguments: The subcommand, a `ComparisonRequest` as JSON, and the paths of one or two films.
  static func run(_ arguments: [String]) -> Never {
    guard (3...4).contains(arguments.count) else { endProcess(64, "a request and one or two films must be given") }
    do {
      let request = try JSONDecoder().decode(ComparisonRequest.self, from: Data(arguments[1].utf8))
      // The last files that this process opens.
      let film = try open(arguments[2])
      let other = arguments.count > 3 ? try open(arguments[3]) : nil
      try confine()
      let comparison = try FilmComparer.compare(film, with: other, request)
      try StandardOutput.write(String(decoding: JSONCoding.encoder.encode(comparison), as: UTF8.self))
    } catch {
      endProcess(failure, "\(error)")
    }
    _exit(0)
  }

  private static func open(_ path: String) throws(SystemError) -> FileByteSource {
    let descriptor = Glibc.open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw SystemError(errno, "opening \(path)") }
    return FileByteSource(descriptor: descriptor)
  }

  private static func confine() throws {
    limitMemory()
    MediaBuild.pinProcessor()
    _ = try Confinement.confineFiles().confineCalls()
    try startThread {
      let input = OpenFile(owning: STDIN_FILENO, name: "standard input")
      // An input that cannot be read is treated as one that has ended.
      while let bytes = try? input.readSome(64), !bytes.isEmpty {}
      _exit(failure)
    }
  }

  /// As the only task of a worker.
  private static func limitMemory() {
    let bytes = MachineMemory.current().share(ofSlots: 1)
    guard bytes > 0 else { return }
    var limit = rlimit(rlim_cur: rlim_t(bytes), rlim_max: rlim_t(bytes))
    // It is the machine's memory that is protected: where the limit cannot be set, a lower one is set already.
    setrlimit(Int32(RLIMIT_DATA.rawValue), &limit)
  }
}
