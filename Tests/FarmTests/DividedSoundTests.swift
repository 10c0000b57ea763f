import Foundation
import TestPrograms
import Testing

/// Films whose sound several tasks encode.
@Suite(.ownThreads, .timeLimit(.minutes(10))) struct DividedSoundTests {
  private static let rate = 48000
  /// The length of a part in samples.
  private static let unit = 5_758_976
  private static let seconds = TestExtent.of(190, whole: 310)
  /// The last is at least half as long as the others.
  private static let parts = TestExtent.of(2, whole: 3)

  /// Noise that swells and a bell, from a file that can be sought in exactly.
  private static func source(_ files: Workspace, _ name: String = "source.wav") async throws {
    _ = try await Command.output(
      "ffmpeg", "-v", "error", "-f", "lavfi", "-i",
      "anoisesrc=r=\(rate):d=\(seconds):a=0.3:color=pink:seed=4,tremolo=f=0.7:d=0.6", "-f", "lavfi", "-i",
      "aevalsrc=0.3*sin(2*PI*523*t)*exp(-4*mod(t\\,0.37)):s=\(rate):d=\(seconds)", "-filter_complex",
      "[0][1]amerge=inputs=2,aformat=sample_fmts=s16", files.path(name))
  }

  /// Packets of the sound: their time in samples, and the digest of their data.
  private static func packets(_ path: String) async throws -> [(time: Int, hash: Substring)] {
    try await Command.output("ffmpeg", "-v", "error", "-i", path, "-map", "0:a", "-c", "copy", "-f", "framemd5", "-")
      .split(separator: "\n").filter { !$0.hasPrefix("#") }.map { line in
        let fields = line.split(separator: ",").map { Substring($0.trimmingCharacters(in: .whitespaces)) }
        return (time: Int(fields[2]) ?? .min, hash: fields[5])
      }
  }

  /// The energy of the difference between a film's sound and its source, of some times 1024 samples.
  private static func noise(_ path: String, _ packets: Range<Int>, _ files: Workspace) async throws -> [Double] {
    func samples(_ input: String) async throws -> [Int16] {
      let (raw, end) = (files.path("samples"), packets.upperBound * 1024)
      _ = try await Command.output(
        "ffmpeg", "-v", "error", "-y", "-i", input, "-map", "0:a", "-af",
        "atrim=start_sample=\(packets.lowerBound * 1024):end_sample=\(end)", "-f", "s16le", "-c:a", "pcm_s16le", raw)
      return try Data(contentsOf: URL(fileURLWithPath: raw)).withUnsafeBytes { Array($0.bindMemory(to: Int16.self)) }
    }
    let (encoded, source) = (try await samples(path), try await samples(files.path("source.wav")))
    try #require(encoded.count == packets.count * 2048 && source.count == encoded.count)
    return stride(from: 0, to: encoded.count, by: 2048).map { first in
      (first..<first + 2048).reduce(0) { sum, index in
        let difference = Double(encoded[index]) - Double(source[index])
        return sum + difference * difference
      }
    }
  }

  @Test func `the parts of a sound are heard as one, and are the same from any workers`() async throws {
    let farm = try await Farm(workers: 2, slots: 1)
    defer { farm.stop() }
    let files = try Workspace()
    defer { files.remove() }
    try await Self.source(files)
    _ = try files.write(
      #"""
      { "sheaf": 1, "assets": { "a": "source.wav" }, "tracks": [ { "type": "audio", "clips": [ { "asset": "a" } ] } ],
        "export": { "to": "film.m4a", "audio": { "bitRate": 128000, "sampleRate": 48000 } } }
      """#, to: "edit.json")
    let plan = try await Command.sheaf("plan", files.path("edit.json"), "--store", files.path("store")).run()
    #expect(plan.output.contains("encoded, \(Self.parts) parts"), "\(plan)")
    let local = try await Command.sheaf(
      "render", files.path("edit.json"), "-o", files.path("film.m4a"), "--store", files.path("store"), "--workers", "1"
    ).run(seconds: 120)
    try #require(local.status == 0, "\(local)")
    let remote = try await farm.sheaf("render", files.path("edit.json"), "-o", files.path("farm.m4a")).run(seconds: 120)
    let logs = try farm.logs()
    try #require(remote.status == 0, "\(remote) \(logs)")
    func bytes(_ name: String) throws -> Data { try Data(contentsOf: URL(fileURLWithPath: files.path(name))) }
    #expect(try bytes("farm.m4a") == bytes("film.m4a"))

    if TestExtent.isWhole {
      // Beside an output that is not divided, it is the same.
      _ = try files.write(
        #"""
        { "sheaf": 1, "assets": { "a": "source.wav" }, "tracks": [ { "type": "audio", "clips": [ { "asset": "a" } ] } ],
          "export": { "video": false, "audio": { "sampleRate": 48000 }, "outputs": [
            { "name": "opus", "container": "mkv", "audio": { "codec": "opus" } },
            { "name": "aac", "container": "m4a", "audio": { "bitRate": 128000 } } ] } }
        """#, to: "both.json")
      let both = try await farm.sheaf("render", files.path("both.json"), "-o", files.path("both")).run(seconds: 120)
      try #require(both.status == 0, "\(both)")
      #expect(try bytes("both/aac.m4a") == bytes("film.m4a"))
    }

    // The first part is what one encoder makes of a sound that is not divided. There are as many packets as one makes.
    _ = try files.write(
      try String(contentsOfFile: files.path("edit.json"), encoding: .utf8)
        .replacing(#""to":"#, with: #""timeRange": "0..125", "to":"#), to: "start.json")
    let start = try await Command.sheaf(
      "render", files.path("start.json"), "-o", files.path("start.m4a"), "--store", files.path("store")
    ).run(seconds: 120)
    try #require(start.status == 0, "\(start)")
    _ = try await Command.output(
      "ffmpeg", "-v", "error", "-i", files.path("source.wav"), "-c:a", "aac", "-b:a", "128k", files.path("alone.m4a"))
    let (film, undivided) = (
      try await Self.packets(files.path("film.m4a")), try await Self.packets(files.path("start.m4a"))
    )
    #expect(zip(film, undivided).prefix { $0.hash == $1.hash }.count == Self.unit / 1024 + 1)
    #expect(try await film.map(\.time) == Self.packets(files.path("alone.m4a")).map(\.time))
    // Where parts meet, the noise is what one encoder makes there.
    for join in (1..<Self.parts).map({ $0 * Self.unit / 1024 }) {
      let packets = (join - 8)..<(join + 40)
      let found = try await Self.noise(files.path("film.m4a"), packets, files)
      let usual = try await Self.noise(files.path("alone.m4a"), packets, files)
      func decibels(_ range: Range<Int>) -> Double {
        10 * log10(found[range].reduce(0, +) / usual[range].reduce(0, +))
      }
      for packet in 7..<10 {
        #expect(abs(decibels(packet..<packet + 1)) < 3, "\(packet - 8) packets after a join")
      }
      #expect(abs(decibels(found.indices)) < 1)
    }
  }
}
