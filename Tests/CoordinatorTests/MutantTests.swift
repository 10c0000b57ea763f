import CompositionModel
import Foundation
import TestPrograms
import Testing

@testable import Coordinator

/// Whatever a worker returns, a peer sends or a store has, the coordinator lives.
///
/// Each kind of input is changed at random, 100,000 times in `make chaos` and less often here, in a process of its own,
/// which writes the number of each mutant to a file before it reads it. `SHEAF_MUTANTS` is how many, `SHEAF_SEED` which
/// ones, and `SHEAF_MUTANT_KIND` one kind alone.
@Suite(.timeLimit(.minutes(60))) struct MutantTests {
  private static let environment = ProcessInfo.processInfo.environment
  static let count = environment["SHEAF_MUTANTS"].flatMap { Int($0) } ?? 500
  static let seed = environment["SHEAF_SEED"].flatMap { Int($0) } ?? 1
  static let kinds = MutantKind.allCases.filter { kind in
    environment["SHEAF_MUTANT_KIND"].map { $0 == kind.rawValue } ?? true
  }
  /// A kind whose mutants end so many processes is not tried further.
  private static let mostEnds = 50

  /// Else their mutants would prove nothing.
  @Test(arguments: MutantFilm.all.indices) func `every film of which mutants are made can be planned`(
    number: Int
  ) throws {
    let film = MutantFilm.all[number]
    let trees = try MutantFilm.descriptions()
    var read: [String: AssetDescription] = [:]
    for id in film.assets { read[id] = try ProbeTasks.decode(Data(try #require(trees[id]).text.utf8)) }
    do {
      try MutantPlanning().run(film.request(), read)
    } catch {
      Issue.record("film \(number): \(error)")
    }
  }

  /// What the worst numbers of a description are answered with.
  @Test(arguments: [
    (
      #""width":128"#, #""width":9223372036854775807"#,
      "tracks[0].video.size.width: 9223372036854775807 is not from 1 to "
    ),
    (#""height":96"#, #""height":0"#, "tracks[0].video.size.height: 0 is not from 1 to 1048576"),
    (
      "[0,512,90]", "[-9223372036854775808,512,90]",
      "tracks[0].video.frames.runs[0]: [-9223372036854775808, 512, 90] is not"
    ),
    (
      "[0,512,90]", "[0,512,9223372036854775807]",
      "tracks[0].video.frames.runs[0]: [0, 512, 9223372036854775807] is not"
    ),
    (#""origin":0"#, #""origin":9223372036854775807"#, "tracks[0].origin: 9223372036854775807 is not from "),
    (#""sampleRate":44100"#, #""sampleRate":0"#, "tracks[1].audio.sampleRate: 0 is not from 1 to 16777216"),
    (#""codec":"h264","#, "", "tracks[0].codec: it is missing"),
  ]) func `a number out of range is named with its field`(from: String, to: String, words: String) throws {
    let text = try #require(try MutantFilm.descriptions()["pair.mp4"]).text
    let changed = text.replacingOccurrences(of: from, with: to)
    #expect(changed != text)
    let error = #expect(throws: WrongResult.self) { try ProbeTasks.decode(Data(changed.utf8)) }
    #expect(
      error?.description.contains("what a worker returned is not the description of a file: \(words)") == true,
      "\(error as Any)")
    #expect(throws: WrongResult.self) {
      try Measurements.decode(
        Data(#"[{"rateFactors":[1],"frameBits":[[9223372036854775807,1]]}]"#.utf8))
    }
  }

  @Test(arguments: kinds) func `no input ends the process that reads it`(kind: MutantKind) async throws {
    let folder = try TemporaryFolder()
    let file = try folder.write(Data(count: 16), "numbers")
    let first = Self.seed * 1_000_000
    let end = first + max(10, Self.count * kind.share / 100)
    var next = first
    for _ in 0..<Self.mostEnds where next < end {
      let ended = await #expect(processExitsWith: .success) {
        [kind = kind as MutantKind, file = file as String, next = next as Int, end = end as Int] in
        try await MutantProcess.run(kind, next..<end, file)
      }
      let (number, accepted) = try MutantProcess.numbers(in: file)
      // Nil: it did not succeed, which is an issue already.
      if ended?.exitStatus == .exitCode(0) {
        // What is never accepted is not read further than its first error.
        if next == first { #expect(kind.isOfPeers || accepted > 0, "only \(accepted) were accepted") }
        return
      }
      let log = String(decoding: try Data(contentsOf: URL(filePath: file + ".log")).suffix(4000), as: UTF8.self)
      Issue.record("the mutant \(number) of the kind \(kind.rawValue) ended its process: \(log)")
      next = number + 1
    }
    if next < end { Issue.record("too many mutants of the kind \(kind.rawValue) ended their processes") }
  }
}

enum MutantProcess {
  /// The most memory that a mutant may take, and the longest that it may compute, in seconds.
  private static let (memory, seconds) = (rlim_t(6 << 30), 60)
  /// The longest that a peer may wait, in seconds: more than it takes on any machine, however busy.
  private static let longestWait: UInt32 = 900

  static func run(_ kind: MutantKind, _ numbers: Range<Int>, _ path: String) async throws {
    var limit = rlimit(rlim_cur: memory, rlim_max: memory)
    setrlimit(__rlimit_resource_t(RLIMIT_AS.rawValue), &limit)
    let file = open(path, O_WRONLY)
    // What a trap reports.
    dup2(open(path + ".log", O_WRONLY | O_CREAT | O_TRUNC, 0o600), STDERR_FILENO)
    func write(_ number: Int, at place: Int) {
      _ = withUnsafeBytes(of: Int64(number).bigEndian) { pwrite(file, $0.baseAddress, 8, off_t(8 * place)) }
    }
    var count = 0
    try await MutantRun(kind).run(numbers) { number in
      if kind.isOfPeers {
        alarm(longestWait)
      } else {
        setitimer(
          __itimer_which_t(ITIMER_PROF.rawValue),
          [itimerval(it_interval: timeval(), it_value: timeval(tv_sec: seconds, tv_usec: 0))], nil)
      }
      write(number, at: 0)
    } accepted: {
      count += 1
      write(count, at: 1)
    }
  }

  /// The mutant that was read last, and how many were accepted.
  static func numbers(in path: String) throws -> (last: Int, accepted: Int) {
    let bytes = try Data(contentsOf: URL(filePath: path))
    func number(_ place: Int) -> Int { bytes.dropFirst(8 * place).prefix(8).reduce(0) { $0 << 8 | Int($1) } }
    return (number(0), number(1))
  }
}
