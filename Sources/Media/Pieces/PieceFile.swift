import CompositionModel
internal import FoundationEssentials
internal import Glibc
package import PieceFiles
internal import SystemSupport

/// Writes a piece, a packet at a time, to an open descriptor, at its offset, or as a part of a package. The caller
/// closes the descriptor. It is only written to, so it may be a pipe. A full disk is an error with the code
/// `.outOfSpace`.
package final class PieceWriter {
  private let place: Place
  /// Small records are gathered here and written together.
  private var pending: [UInt8] = []
  private var packetCount: Int64 = 0

  private static let capacity = 256 * 1024
  private static let subject = "a piece"

  /// Where the bytes go.
  private enum Place {
    case descriptor(Int32)
    case part(Int, PackageParts)
  }

  package convenience init(descriptor: Int32, header: PieceHeader) throws(MediaError) {
    try self.init(.descriptor(descriptor), header)
  }

  /// Writes to a part of a package that is made.
  package convenience init(part: Int, of package: PackageParts, header: PieceHeader) throws(MediaError) {
    try self.init(.part(part, package), header)
  }

  private init(_ place: Place, _ header: PieceHeader) throws(MediaError) {
    self.place = place
    pending.reserveCapacity(PieceWriter.capacity)
    let json: [UInt8]
    do {
      json = try Array(JSONCoding.encoder.encode(header))
    } catch {
      throw MediaError(
        .invalidRequest, operation: "writing", subject: PieceWriter.subject,
        message: "its header cannot be written as JSON: \(error)")
    }
    guard json.count <= PieceFormat.headerLimit else {
      throw MediaError(
        .tooLarge, operation: "writing", subject: PieceWriter.subject,
        message: "its header takes \(json.count) bytes; at most \(PieceFormat.headerLimit) can be read back")
    }
    let length = PieceFormat.bytes(UInt32(json.count))
    try append(PieceFormat.magic + PieceFormat.bytes(PieceFormat.version) + length + json)
  }

  /// Appends a packet, whose timestamps are in ticks of the header's timebase.
  package func write(_ packet: Packet) throws(MediaError) {
    var record = [PieceFormat.packetRecord]
    for time in [packet.pts, packet.dts, packet.duration] { record += PieceFormat.bytes(time) }
    record += PieceFormat.bytes(packet.isKeyframe ? PieceFormat.keyframeFlag : 0)
    record += PieceFormat.bytes(UInt32(packet.byteCount))
    try append(record)
    try packet.withBytes { bytes throws(MediaError) in try append(bytes) }
    packetCount += 1
  }

  /// Appends the end record. A reader refuses a piece without it.
  /// - Parameter damage: The damaged media that the piece shows, in an encoding that is opaque here; empty if there are
  ///   none.
  package func finish(damage: [UInt8] = []) throws(MediaError) {
    if !damage.isEmpty {
      try append([PieceFormat.damageRecord] + PieceFormat.bytes(UInt32(damage.count)) + damage)
    }
    try append([PieceFormat.endRecord] + PieceFormat.bytes(packetCount))
    try flush()
  }

  private func append(_ bytes: [UInt8]) throws(MediaError) {
    try bytes.withUnsafeBufferPointer { buffer throws(MediaError) in try append(UnsafeRawBufferPointer(buffer)) }
  }

  private func append(_ bytes: UnsafeRawBufferPointer) throws(MediaError) {
    if pending.count + bytes.count > PieceWriter.capacity { try flush() }
    if bytes.count >= PieceWriter.capacity { return try writeThrough(bytes) }
    pending.append(contentsOf: bytes)
  }

  private func flush() throws(MediaError) {
    try pending.withUnsafeBufferPointer { buffer throws(MediaError) in
      try writeThrough(UnsafeRawBufferPointer(buffer))
    }
    pending.removeAll(keepingCapacity: true)
  }

  private func writeThrough(_ bytes: UnsafeRawBufferPointer) throws(MediaError) {
    guard case .descriptor(let descriptor) = place else {
      if case .part(let part, let package) = place { try package.append(bytes, to: part) }
      return
    }
    try mapErrors(to: MediaError.during("writing", PieceWriter.subject)) {
      () throws(SystemError) in
      try writeAll(descriptor, bytes, name: PieceWriter.subject)
    }
  }
}

/// Reads a piece. Its contents are not trusted: every size is checked, and a truncated piece is refused.
package final class PieceReader {
  package let header: PieceHeader
  /// What the piece's damage record has, once the last packet was read; empty if there is none.
  package private(set) var damage: [UInt8] = []
  private let name: String
  private var cursor: ByteCursor
  private var packetCount: Int64 = 0
  private var isAtEnd = false

  /// - Parameter name: The piece's name, for messages.
  package init(source: any ByteSource, name: String) throws(MediaError) {
    self.name = name
    var cursor = ByteCursor(source)
    header = try PieceReader.readHeader(&cursor, name)
    self.cursor = cursor
  }

  /// The next packet in the order written; nil after the last, when the end record has been read and is correct.
  package func next() throws(MediaError) -> Packet? {
    if isAtEnd { return nil }
    let start = cursor.offset
    guard let kind = try cursor.take(UInt8.self) else { throw truncated(start) }
    switch kind {
    case PieceFormat.packetRecord where damage.isEmpty: return try packet(start)
    case PieceFormat.damageRecord:
      guard damage.isEmpty else { throw invalid("there are two records of damage") }
      guard let size = try cursor.take(UInt32.self), size > 0, size <= PieceFormat.damageLimit,
        Int64(size) <= cursor.remaining
      else { throw truncated(start) }
      damage = [UInt8](repeating: 0, count: Int(size))
      guard try cursor.take(into: &damage) else { throw truncated(start) }
      return try next()
    case PieceFormat.endRecord:
      guard let count = try cursor.take(Int64.self) else { throw truncated(start) }
      guard count == packetCount else {
        throw invalid("it has \(packetCount) packets and its end record counts \(count)")
      }
      guard cursor.remaining == 0 else { throw invalid("\(cursor.remaining) bytes follow its end") }
      isAtEnd = true
      return nil
    default: throw invalid("there is a record of the unknown kind \(kind) at byte \(start)")
    }
  }

  private func packet(_ start: Int64) throws(MediaError) -> Packet {
    guard let pts = try cursor.take(Int64.self), let dts = try cursor.take(Int64.self),
      let duration = try cursor.take(Int64.self), let flags = try cursor.take(UInt32.self),
      let size = try cursor.take(UInt32.self)
    else { throw truncated(start) }
    guard flags & ~PieceFormat.keyframeFlag == 0 else { throw invalid("unknown flags \(flags) at byte \(start)") }
    guard size > 0, size <= PieceFormat.packetLimit else { throw invalid("a packet of \(size) bytes at byte \(start)") }
    guard Int64(size) <= cursor.remaining else { throw truncated(start) }
    let packet = try Packet(byteCount: Int(size))
    packet.pts = pts
    packet.dts = dts
    packet.duration = duration
    packet.isKeyframe = flags & PieceFormat.keyframeFlag != 0
    let isWhole = try packet.withMutableBytes { bytes throws(MediaError) in try cursor.take(into: bytes) }
    guard isWhole else { throw truncated(start) }
    packetCount += 1
    return packet
  }

  private static func readHeader(_ cursor: inout ByteCursor, _ name: String) throws(MediaError) -> PieceHeader {
    func invalid(_ message: String) -> MediaError {
      MediaError(.invalidPiece, operation: "reading", subject: name, message: message)
    }
    var magic = [UInt8](repeating: 0, count: PieceFormat.magic.count)
    guard try cursor.take(into: &magic), magic == PieceFormat.magic else { throw invalid("it is not a piece") }
    guard let version = try cursor.take(UInt32.self), let length = try cursor.take(UInt32.self) else {
      throw invalid("it is truncated in its header")
    }
    guard version == PieceFormat.version else {
      throw invalid("it has version \(version) of the format; this build reads \(PieceFormat.version)")
    }
    guard length <= PieceFormat.headerLimit, Int64(length) <= cursor.remaining else {
      throw invalid("its header of \(length) bytes is too long or truncated")
    }
    var json = [UInt8](repeating: 0, count: Int(length))
    guard try cursor.take(into: &json) else { throw invalid("it is truncated in its header") }
    do {
      return try JSONDecoder().decode(PieceHeader.self, from: Data(json))
    } catch {
      throw invalid("its header cannot be decoded: \(error)")
    }
  }

  private func invalid(_ message: String) -> MediaError {
    MediaError(.invalidPiece, operation: "reading", subject: name, message: message)
  }

  private func truncated(_ start: Int64) -> MediaError {
    invalid("it is truncated in the record at byte \(start), after \(packetCount) packets")
  }
}

/// Reads a byte source from its first byte to its last, through a buffer.
private struct ByteCursor: ~Copyable {
  private let source: any ByteSource
  private let buffer: UnsafeMutableRawBufferPointer
  private var start = 0
  private var end = 0
  /// The place in the source of the next byte to be taken.
  private(set) var offset: Int64 = 0

  init(_ source: any ByteSource, capacity: Int = 256 * 1024) {
    self.source = source
    buffer = .allocate(byteCount: capacity, alignment: 16)
  }

  deinit {
    buffer.deallocate()
  }

  /// Bytes not yet taken.
  var remaining: Int64 { max(0, source.byteCount - offset) }

  /// Fills all of `target` with the next bytes; false if the source ends before.
  mutating func take(into target: UnsafeMutableRawBufferPointer) throws(MediaError) -> Bool {
    var done = 0
    while done < target.count {
      if start == end {
        start = 0
        end = 0
        let missing = target.count - done
        if missing >= buffer.count {
          let count = try source.read(at: offset, into: UnsafeMutableRawBufferPointer(rebasing: target[done...]))
          if count == 0 { return false }
          done += count
          offset += Int64(count)
          continue
        }
        end = try source.read(at: offset, into: buffer)
        if end == 0 { return false }
      }
      let count = min(end - start, target.count - done)
      let part = UnsafeRawBufferPointer(rebasing: buffer[start..<(start + count)])
      UnsafeMutableRawBufferPointer(rebasing: target[done...]).copyMemory(from: part)
      start += count
      done += count
      offset += Int64(count)
    }
    return true
  }

  /// Fills all of `target` with the next bytes; false if the source ends before.
  mutating func take(into target: inout [UInt8]) throws(MediaError) -> Bool {
    try target.withUnsafeMutableBufferPointer { bytes throws(MediaError) in
      try take(into: UnsafeMutableRawBufferPointer(bytes))
    }
  }

  /// The next little-endian integer; nil if the source ends before.
  mutating func take<T: FixedWidthInteger>(_: T.Type) throws(MediaError) -> T? {
    var value: T = 0
    let isWhole = try withUnsafeMutableBytes(of: &value) { bytes throws(MediaError) in try take(into: bytes) }
    return isWhole ? T(littleEndian: value) : nil
  }
}
