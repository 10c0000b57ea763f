internal import CMedia
import CompositionModel
package import SystemSupport

/// What libavformat states of a packet beside its times and its bytes.
package struct PacketMarks: Sendable, Hashable {
  /// libavcodec's flags without that of keyframes.
  fileprivate var flags: Int32 = 0
  fileprivate var sideData: [PacketSideData] = []
  /// Whether the file states when the packet is presented.
  package fileprivate(set) var hasPresentationTime = true

  package init() {}
}

extension Packet {
  package var marks: PacketMarks {
    var marks = PacketMarks()
    marks.flags = pointer.pointee.flags & ~AV_PKT_FLAG_KEY
    marks.sideData = (0..<Int(pointer.pointee.side_data_elems)).compactMap {
      PacketSideData(pointer.pointee.side_data[$0])
    }
    marks.hasPresentationTime = hasPresentationTime
    return marks
  }
}

/// Packets of one track that wait in a file until all of them are there.
package final class PacketSpool {
  package struct Entry: Sendable {
    /// In ticks of the track's timebase, as the decoding time and the duration are.
    package var pts: Int64
    package var dts: Int64
    package var duration: Int64
    package var isKeyframe: Bool
    /// Whether decoding can start here, as far as the bytes show it, whatever the file states.
    package var isStart: Bool
    /// Whether the packet is decoded for others that depend on it, and not presented itself: the file marks it so, or
    /// its frame is only for reference.
    package var isHidden: Bool
    fileprivate var flags: Int32
    fileprivate var place: Int64
    fileprivate var byteCount: Int
    /// They follow the bytes.
    fileprivate var sideData: [(type: UInt32, byteCount: Int)]
  }

  package let format: StoredTrackFormat
  package private(set) var entries: [Entry] = []
  private let file: OpenFile
  private let rule: KeyframeRule
  private var shown: ShownPictures
  private var size: Int64 = 0

  /// - Parameter file: Empty, and open for reading and writing.
  package init(_ format: StoredTrackFormat, in file: OpenFile) {
    (self.format, self.file) = (format, file)
    rule = format.keyframeRule
    shown = format.shownPictures
  }

  package func append(
    _ bytes: [UInt8], pts: Int64, dts: Int64, duration: Int64, isKeyframe: Bool, marks: PacketMarks
  ) throws(MediaError) {
    let sideData = marks.sideData.map { ($0.type, $0.bytes.count) }
    let packet = try Packet(byteCount: bytes.count)
    try packet.withMutableBytes { buffer throws(MediaError) in buffer.copyBytes(from: bytes) }
    let entry = Entry(
      pts: pts, dts: dts, duration: duration, isKeyframe: isKeyframe,
      isStart: isKeyframe && rule.canStart(at: packet),
      isHidden: marks.flags & AV_PKT_FLAG_DISCARD != 0 || shown.count(in: packet) == 0, flags: marks.flags, place: size,
      byteCount: bytes.count, sideData: sideData)
    for part in [bytes] + marks.sideData.map(\.bytes) {
      try mapErrors(to: MediaError.during("writing", file.name)) { () throws(SystemError) in
        try part.withUnsafeBufferPointer { buffer throws(SystemError) in
          try file.write(UnsafeRawBufferPointer(buffer), at: size)
        }
      }
      size += Int64(part.count)
    }
    entries.append(entry)
  }

  /// The packets from an entry on.
  package func packets(from first: Int = 0) -> any PacketSource { SpooledPackets(self, from: first) }

  fileprivate func packet(_ index: Int) throws(MediaError) -> Packet {
    let entry = entries[index]
    let packet = try Packet(byteCount: entry.byteCount)
    try packet.withMutableBytes { buffer throws(MediaError) in try read(buffer, at: entry.place) }
    var place = entry.place + Int64(entry.byteCount)
    for side in entry.sideData {
      let type = AVPacketSideDataType(rawValue: side.type)
      let data = try allocated(av_packet_new_side_data(packet.pointer, type, side.byteCount), "reading a packet")
      try read(UnsafeMutableRawBufferPointer(start: data, count: side.byteCount), at: place)
      place += Int64(side.byteCount)
    }
    (packet.pts, packet.dts, packet.duration) = (entry.pts, entry.dts, entry.duration)
    packet.pointer.pointee.flags = entry.flags
    packet.isKeyframe = entry.isKeyframe
    return packet
  }

  private func read(_ buffer: UnsafeMutableRawBufferPointer, at place: Int64) throws(MediaError) {
    let count = try mapErrors(to: MediaError.during("reading", file.name)) { () throws(SystemError) in
      try file.read(into: buffer, at: place)
    }
    guard count == buffer.count else {
      throw MediaError(.io, operation: "reading", subject: file.name, message: "it was shortened while it was in use")
    }
  }
}

private final class SpooledPackets: PacketSource {
  let format: StoredTrackFormat
  private let spool: PacketSpool
  private var index: Int

  init(_ spool: PacketSpool, from first: Int) {
    (self.spool, format, index) = (spool, spool.format, first)
  }

  func next() throws(MediaError) -> Packet? {
    guard index < spool.entries.count else { return nil }
    index += 1
    return try spool.packet(index - 1)
  }
}
