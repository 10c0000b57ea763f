import CompositionModel
import Digest
import Foundation
import RenderTasks
import SwiftProtobuf
import Synchronization
import SystemSupport
import TestPrograms
import Wire

@testable import Coordinator

/// A worker that uses the protocol and renders nothing: a piece is the digest of its payload and inputs, and the result
/// of a stitch task is the pieces one after the other. As with a real worker, a result depends on the task alone.
final class ScriptedWorker: Sendable {
  /// How a task ends instead of with a result; nil executes it.
  typealias Failing = @Sendable (Sheaf_Grant) -> Sheaf_AttemptEnd?

  let hello: Sheaf_Hello
  let failing: Failing
  /// The input that a failure names; nil names none.
  let naming: @Sendable (Sheaf_Grant) -> SHA256Digest?
  /// What it returns in place of the right result.
  let changing: @Sendable (Sheaf_Grant, [UInt8]) -> [UInt8]
  let granted = Mutex<[Sheaf_Grant]>([])
  private let held = Mutex<[Sheaf_Lease]>([])

  init(
    _ hello: Sheaf_Hello, failing: @escaping Failing = { _ in nil },
    naming: @escaping @Sendable (Sheaf_Grant) -> SHA256Digest? = { _ in nil },
    changing: @escaping @Sendable (Sheaf_Grant, [UInt8]) -> [UInt8] = { $1 }
  ) {
    self.changing = changing
    self.hello = hello
    self.naming = naming
    self.failing = failing
  }

  var kinds: [Sheaf_TaskKind] { granted.withLock { $0.map(\.kind) } }

  /// Works until the connection is closed or the task is cancelled.
  func run(at address: WireAddress) async throws {
    try await WireClient.withConnection(to: address, hello: hello, timeout: .seconds(300)) { connection, _ in
      let exchange = ContentExchange(connection)
      try await withThrowingDiscardingTaskGroup { group in
        group.addTask {
          while !Task.isCancelled {
            try await connection.send(.heartbeat(self.heartbeat()))
            try await Task.sleep(for: .milliseconds(200))
          }
        }
        for try await message in connection.inbound {
          if await exchange.take(message) { continue }
          switch message {
          case .grant(let grant):
            self.held.withLock { $0.append(grant.lease) }
            self.granted.withLock { $0.append(grant) }
            group.addTask { try await self.work(grant, connection, exchange) }
          case .publishReply(let reply): self.forget(reply.lease)
          case .failureReply(let reply): self.forget(reply.lease)
          case .heartbeatReply(let reply): reply.cancelled.forEach(self.forget)
          default: break
          }
        }
        group.cancelAll()
      }
    }
  }

  private func forget(_ lease: Sheaf_Lease) {
    held.withLock { $0.removeAll { $0 == lease } }
  }

  private func heartbeat() -> Sheaf_Heartbeat {
    let leases = held.withLock { $0 }
    return .with {
      $0.freeSlots = UInt32(max(0, Int(hello.slots) - leases.count))
      $0.progress = leases.map { lease in
        .with {
          $0.lease = lease
          $0.done = 1
        }
      }
    }
  }

  private func work(_ grant: Sheaf_Grant, _ connection: WireConnection, _ exchange: ContentExchange) async throws {
    if let end = failing(grant) {
      try await connection.send(
        .failure(
          .with {
            $0.lease = grant.lease
            $0.end = end
            $0.message = "the script fails this task"
            if let input = naming(grant) { $0.damagedInput = Data(input.bytes) }
            $0.process = .with { $0.exitCode = 7 }
          }))
      return
    }
    var inputs: [Data] = []
    for input in grant.inputs {
      guard let digest = input.content?.digest else { continue }
      var bytes = Data()
      while bytes.count < Int(input.size) {
        bytes += try await exchange.read(digest, offset: UInt64(bytes.count), length: 1 << 20)
      }
      inputs.append(bytes)
    }
    let result = changing(grant, try Self.result(of: grant, inputs))
    let folder = try TemporaryFolder()
    let file = try OpenFile.open(folder.write(Data(result), "result"))
    let digest = SHA256Digest.of(result)
    try await exchange.upload(file, Content(digest: digest, size: Int64(result.count)))
    try await connection.send(
      .publish(
        .with {
          $0.lease = grant.lease
          $0.digest = Data(digest.bytes)
          $0.size = UInt64(result.count)
        }))
  }

  /// A font's file, for all texts.
  static let font = Array("the glyphs of a font".utf8)

  private static func fonts(of task: FontTask) throws -> [UInt8] {
    let digest = SHA256Digest.of(font).hex
    let planned = PlannedFont(
      digest: digest, index: 0, format: "TrueType", weight: 80, slant: 0, variations: "", isColor: false,
      pictureSize: nil)
    let list = FontList(
      files: [.init(name: "font.ttf", digest: digest, size: Int64(font.count))],
      texts: task.texts.map {
        // The tests write it in place of a font whose list is wrong.
        let length = $0.font == "Wrong" ? 1 : $0.text.utf8.count
        return TextFonts(fonts: [planned], runs: [FontRun(length: length, font: 0)])
      },
      findings: task.texts.map { FontFindings(substitute: $0.font == "Gone" ? "Sea Sans" : nil, missing: []) })
    return try list.encoded() + font
  }

  static func result(of grant: Sheaf_Grant, _ inputs: [Data]) throws -> [UInt8] {
    switch grant.kind {
    case .probe where inputs.isEmpty:
      guard case .fonts(let task) = try JSONDecoder().decode(TaskPayload.self, from: grant.payload) else { return [] }
      return try fonts(of: task)
    case .probe:
      // The tests write the duration into the file.
      guard let seconds = Int64(String(decoding: inputs[0], as: UTF8.self)) else { return Array("no description".utf8) }
      return try [UInt8](JSONCoding.encoder.encode(AssetDescription.film(seconds: seconds)))
    case .stitch: return inputs.flatMap { [UInt8]($0) }
    case .measure:
      guard case .measure(let task) = try JSONDecoder().decode(TaskPayload.self, from: grant.payload),
        let factors = task.renditions.first?.encoder.bitRateModel?.measuringFactors
      else { return [] }
      // Each segment has another measurement.
      let bits = 10_000 + SHA256Digest.of([UInt8](grant.payload)).bytes.prefix(2).reduce(0) { $0 * 256 + Int($1) }
      return try [UInt8](
        JSONCoding.encoder.encode(
          task.renditions.map { _ in
            Measurement(
              rateFactors: factors,
              frameBits: factors.indices.map { [Int](repeating: bits / ($0 + 1), count: task.frameCount) })
          }))
    default:
      return [UInt8](SHA256Digest.of([UInt8](grant.payload) + inputs.flatMap { [UInt8]($0) }).bytes)
    }
  }
}

extension AssetDescription {
  /// 10 frames of 64x48 pixels a second, a keyframe every second.
  static func film(seconds: Int64) throws -> AssetDescription {
    let range = try MediaTimeRange(start: .zero, duration: MediaTime(seconds: seconds))
    let frames = FrameTimes(0..<seconds * 10)
    let keyframes = (0..<seconds).map { Keyframe(pts: $0 * 10, dts: $0 * 10, position: -1) }
    return AssetDescription(
      container: "mov", duration: range.duration,
      tracks: [
        TrackDescription(
          index: 0, type: .video, codec: "h264", timebase: MediaTime(value: 1, timescale: 10), range: range,
          video: VideoFormat(
            size: PixelSize(width: 64, height: 48), pixelFormat: "yuv420p",
            nominalFrameRate: MediaTime(seconds: 10), frames: frames, keyframes: keyframes))
      ])
  }
}
