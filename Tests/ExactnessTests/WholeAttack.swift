import CompositionModel
import Foundation
import Synchronization
import TestMedia
import TestPrograms
import Testing

/// `make exactness`: every source of the table and every file of the shared media, rendered by the program itself on
/// farms on this machine, as a table. It is run if SHEAF_EXACTNESS is set, to the seed of the cuts.
@Suite(.enabled(if: ProcessInfo.processInfo.environment["SHEAF_EXACTNESS"] != nil)) struct WholeAttack {
  private static let environment = ProcessInfo.processInfo.environment
  private static let seed = environment["SHEAF_EXACTNESS"].flatMap { UInt64($0) } ?? 1
  private static let clipCount = 30
  private static let repository = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent()
  private static let program = repository.appendingPathComponent(".build/release/sheaf").path

  /// A line of the table.
  private struct Row {
    var source: Source
    var comparison = Comparison()
    /// Why there is no comparison.
    var failure: String?

    var isWrong: Bool {
      failure != nil || comparison.wrongFrames > 0 || comparison.wrongSamples > 0
    }

    var text: String {
      let numbers = [comparison.frames, comparison.wrongFrames, comparison.samples, comparison.wrongSamples]
      let columns = numbers.map { String(repeating: " ", count: max(1, 10 - "\($0)".count)) + "\($0)" }
      let notes = [failure, comparison.firstProblem, source.remark.map { "(\($0))" }].compactMap(\.self)
      let name = source.name.padding(toLength: max(44, source.name.count), withPad: " ", startingAt: 0)
      return name + columns.joined() + (notes.isEmpty ? "" : "  " + notes.joined(separator: "; "))
    }
  }

  @Test func `every source, on farms on this machine`() async throws {
    let shared = Self.sharedMedia
    if shared.isEmpty {
      print("There is no SHEAF_SHARED_MEDIA and no ../shared/media, so no real files are compared.")
    }
    // A source has the same cuts whether the others are compared or not.
    let sources = (Sources.all + shared).enumerated().filter { Sources.isNamed?($0.element) ?? true }
    print("Seed \(Self.seed), \(sources.count) sources, each cut at \(Self.clipCount) places, at two segmentations.")
    print("source" + String(repeating: " ", count: 38) + "    frames     wrong   samples     wrong")
    let rows = await withTaskGroup(of: Row.self) { group in
      var rest = sources.makeIterator()
      var rows: [Row] = []
      func start() { if let (number, source) = rest.next() { group.addTask { Self.row(source, number) } } }
      for _ in 0..<ProcessInfo.processInfo.activeProcessorCount { start() }
      for await row in group {
        print(row.text)
        rows.append(row)
        start()
      }
      return rows
    }
    var sum = Row(source: Source(name: "\(rows.count) sources", steps: []))
    for row in rows { sum.comparison.add(row.comparison) }
    sum.comparison.firstProblem = nil
    print(sum.text)
    let wrong = rows.filter(\.isWrong)
    #expect(wrong.isEmpty, "\(wrong.map(\.source.name).sorted())")
  }

  private static func row(_ source: Source, _ number: Int) -> Row {
    var row = Row(source: source)
    do {
      var random = SeededRandom(seed: seed &* 0x1_0000 &+ UInt64(number))
      let folder = try TemporaryFolder()
      let attack = try Attack(source, in: folder, clipCount: clipCount, random: &random)
      if let reason = nothingToCompare(attack) {
        row.source.remark = reason
        return row
      }
      let edit = try folder.write(Data(attack.document.utf8), "edit.json")
      var films: [Data] = []
      // The number of workers changes no byte; it is tried for one source in eight.
      let runs = [("5f", "2"), ("5", "2")] + (number % 8 == 0 ? [("5f", "1"), ("5f", "3")] : [])
      for (run, (duration, workers)) in runs.enumerated() {
        let film = folder.path("film.mkv")
        let store = folder.path(run < 2 ? "store" : "store-\(run)")
        let options = ["-o", film, "--store", store, "--segment-duration", duration, "--workers", workers]
        _ = try Tool.run(program, ["render", edit] + options)
        if run < 2 { try compare(film, with: attack, into: &row.comparison) }
        films.append(try Data(contentsOf: URL(fileURLWithPath: film)))
      }
      if films.dropFirst(2).contains(where: { $0 != films[0] }) { row.failure = "1, 2 and 3 workers differ" }
    } catch {
      row.failure = "\(error)".split(separator: "\n").joined(separator: " ")
    }
    return row
  }

  /// Why a source cannot be cut or heard as it is, in the words of the table. Nil: it can.
  private static func nothingToCompare(_ attack: Attack) -> String? {
    if attack.asset.defaultTrack(.video)?.video?.isStill == true { return "a still picture has no frames to cut" }
    if let channels = attack.asset.defaultTrack(.audio)?.audio?.channels,
      !AudioCodec.pcm.definition.channelCounts.contains(channels)
    {
      return "\(channels) channels can only be heard mixed to fewer"
    }
    return nil
  }

  private static func compare(_ film: String, with attack: Attack, into comparison: inout Comparison) throws {
    let decode = ["-v", "error", "-nostdin", "-threads", "1", "-i", film]
    var frames: [String] = []
    var samples: [Int32] = []
    if attack.asset.defaultTrack(.video) != nil {
      let output = try Tool.run(
        "ffmpeg", decode + ["-map", "0:v", "-fps_mode", "passthrough", "-f", "framehash", "-hash", "sha256", "-"]
      ).output
      frames = try FrameList(String(decoding: output, as: UTF8.self), name: film).frames.map(\.hash)
    }
    if attack.asset.defaultTrack(.audio) != nil {
      samples = try Tool.run("ffmpeg", decode + ["-map", "0:a", "-f", "s24le", "-"]).output.samples24
    }
    try attack.compare(frames, samples, into: &comparison)
  }

  /// The files of a large collection of real media, if there is one.
  private static var sharedMedia: [Source] {
    let named = environment["SHEAF_SHARED_MEDIA"].map { URL(fileURLWithPath: $0) }
    let sibling = repository.deletingLastPathComponent().appendingPathComponent("shared/media")
    guard
      let folder = [named, sibling].compactMap(\.self).first(where: { FileManager.default.fileExists(atPath: $0.path) })
    else { return [] }
    let kinds: Set<String> = [
      "mp4", "mov", "m4v", "mkv", "webm", "mpg", "mpeg", "ts", "3gp", "gif", "apng", "wav", "mp3", "ogg", "opus", "m4a",
      "ac3",
    ]
    let found = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)?.allObjects ?? []
    return found.compactMap { $0 as? URL }.filter { kinds.contains($0.pathExtension.lowercased()) }
      .sorted { $0.path < $1.path }
      .map { Source(name: "shared/" + $0.lastPathComponent, steps: [.existing($0.path)], rate: nil) }
  }
}
