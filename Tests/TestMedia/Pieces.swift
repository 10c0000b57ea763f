package import CompositionModel
import Digest
package import Foundation
package import Media
package import PieceFiles
import TestPrograms

/// Pieces as the renderer writes them, of frames and samples that a test computes.
package enum Pieces {
  /// Writes a piece of frames.
  package static func writeVideo(
    _ settings: VideoSettings, size: PixelSize, frameDuration: MediaTime, frameCount: Int, to file: FileHandle,
    frame: (Int) throws -> Frame
  ) throws {
    let encoder = try VideoEncoder(settings, size: size, frameDuration: frameDuration)
    let writer = try PieceWriter(descriptor: file.fileDescriptor, header: encoder.header)
    for index in 0..<frameCount {
      try encoder.send(frame(index), pts: Int64(index))
      while let packet = try encoder.receive() { try writer.write(packet) }
    }
    encoder.finish()
    while let packet = try encoder.receive() { try writer.write(packet) }
    try writer.finish()
  }

  /// Writes a piece of samples, the same in every channel.
  /// - Parameter sample: Within -1...1.
  package static func writeAudio(
    _ settings: AudioSettings, sampleCount: Int, to file: FileHandle, sample: (Int) -> Double
  ) throws {
    let encoder = try AudioEncoder(settings)
    let writer = try PieceWriter(descriptor: file.fileDescriptor, header: encoder.header)
    var done = 0
    while done < sampleCount {
      let count = min(encoder.frameSize, sampleCount - done)
      try encoder.send(count: count) { rows in
        for index in 0..<count {
          let value = sample(done + index)
          for channel in 0..<settings.channels {
            let (row, first, stride) = encoder.sampleLayout.place(ofChannel: channel, of: settings.channels)
            let place = first + index * stride
            switch encoder.sampleLayout.type {
            case .float32: rows[row].storeBytes(of: Float(value), toByteOffset: place * 4, as: Float.self)
            case .int16: rows[row].storeBytes(of: Int16(value * 32768), toByteOffset: place * 2, as: Int16.self)
            case .int32:
              rows[row].storeBytes(of: Int32(value * 8_388_608) << 8, toByteOffset: place * 4, as: Int32.self)
            }
          }
        }
      }
      done += count
      try drain(encoder, into: writer, sampleCount: sampleCount)
    }
    try encoder.finish()
    try drain(encoder, into: writer, sampleCount: sampleCount)
    try writer.finish()
  }

  private static func drain(_ encoder: AudioEncoder, into writer: PieceWriter, sampleCount: Int) throws {
    while let packet = try encoder.receive() {
      if packet.pts < Int64(sampleCount) { try writer.write(packet) }
    }
  }

  /// Takes a piece out of a package, as a file beside it. Returns its path.
  package static func take(_ number: Int = 0, of package: String) throws -> String {
    let whole = try openSource(package)
    guard let file = try ContentPackage.read(whole, name: package).files.first(where: { $0.name == "\(number)" }) else {
      throw Tool.Failure(description: "\(package) has no piece \(number)")
    }
    let path = "\(package).\(number)"
    try Data(PartByteSource(whole, file).bytes(count: Int(file.content.size))).write(to: URL(fileURLWithPath: path))
    return path
  }

  /// The header and the packets of a piece, in order.
  package static func read(_ path: String) throws -> (header: PieceHeader, packets: [Packet]) {
    let reader = try PieceReader(source: openSource(path), name: path)
    var packets: [Packet] = []
    while let packet = try reader.next() { packets.append(packet) }
    return (reader.header, packets)
  }
}
