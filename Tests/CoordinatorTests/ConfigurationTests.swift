import Digest
import FarmModel
import Jobs
import SwiftProtobuf
import SystemSupport
import Testing
import Wire

@testable import Coordinator

struct ConfigurationTests {
  @Test func `a worker is told to end a hung task before the store does`() throws {
    var configuration = CoordinatorConfiguration(name: "c", token: nil, policy: LeasePolicy(hang: .seconds(37)))
    #expect(configuration.policy.workerHang == .milliseconds(18_500))
    let hello = Sheaf_Hello.with {
      ($0.role, $0.workerID, $0.session, $0.slots, $0.build) = (.worker, "w", 1, 1, "b")
    }
    #expect(try configuration.welcome(hello).get().hangMilliseconds == 18_500)
    configuration.policy = LeasePolicy()
    #expect(try configuration.welcome(hello).get().hangMilliseconds == 60_000)
  }
}

struct TaskLabelTests {
  private func label(_ paths: [String]) -> (TaskLabel, [String]) {
    let assets = paths.enumerated().map { index, path in
      JobRequest.Asset(
        id: "a\(index)", path: path, content: Content(digest: SHA256Digest.of("\(index)".utf8), size: 1))
    }
    let request = JobRequest(document: "", assets: assets, output: "")
    return (TaskLabel(request), assets.map(\.digest))
  }

  @Test func `a label names what a task reads`() {
    let (label, digests) = label(["/media/beach.mp4", "music.wav", "c.mov", "d.mov"])
    #expect(label.probe(digests[0]) == "probe of beach.mp4")
    #expect(label.video(0..<300, of: [digests[0], digests[1], digests[0]]) == "frames 0..299 of beach.mp4, music.wav")
    #expect(label.video(300..<301, of: []) == "frames 300..300")
    #expect(label.audio(of: digests) == "audio of 4 assets")
    #expect((label.stitch(pieces: 1), label.stitch(pieces: 12)) == ("stitch of 1 piece", "stitch of 12 pieces"))
  }
}

struct ProbeFingerprintTests {
  @Test func `a probe does not depend on the build, and other tasks do`() {
    func fingerprint(_ kind: TaskKind, _ build: String) -> SHA256Digest {
      TaskFingerprint.of(build: build, kind: kind, payload: [1], inputs: [SHA256Digest.of([2])])
    }
    #expect(fingerprint(.probe, "build 1") == fingerprint(.probe, "build 2"))
    for kind in [TaskKind.video, .audio, .stitch] {
      #expect(fingerprint(kind, "build 1") != fingerprint(kind, "build 2"))
    }
  }
}

struct UnitTests {
  private func bytes(_ text: String) throws -> Int64? { try Setting.bytes(text, "--store-limit", "SHEAF_STORE_LIMIT") }
  private func time(_ text: String) throws -> Duration? { try Setting.duration(text, "--keep-jobs", "SHEAF_KEEP_JOBS") }

  @Test func `sizes and times have units`() throws {
    #expect(try bytes("1000000") == 1_000_000)
    #expect(try bytes("500M") == 500 << 20)
    #expect(try bytes("20G") == 20 << 30)
    #expect(try time("7d") == .seconds(7 * 86_400))
    #expect(try time("12h") == .seconds(43_200))
    #expect(try time("30m") == .seconds(1800))
    #expect(try Setting.bytes(nil, "--store-limit", "SHEAF_STORE_LIMIT", environment: { _ in nil }) == nil)
  }

  @Test(arguments: ["", "G", "-1", "5X", "5 G", "1.5G", "99999999999T", "20g"]) func `other sizes are refused`(
    text: String
  ) {
    #expect(throws: SettingError.self) { try bytes(text) }
  }

  @Test(arguments: ["", "7", "d", "7w", "-7d", "99999999d"]) func `other times are refused`(text: String) {
    #expect(throws: SettingError.self) { try time(text) }
  }
}
