import CompositionModel
import Foundation
import TestMedia
import TestPrograms
import Testing

@testable import Media

/// Slices of H.264 that are made to refer to other parameter sets: two decoders, FFmpeg's and OpenH264, are the judges
/// of what is decoded of them.
@Suite struct AVCRetargetingTests {
  private let scratch: TemporaryFolder

  init() throws {
    scratch = try TemporaryFolder()
  }

  /// Values of parameter sets, which are written here from the standard.
  struct Sets: CustomTestStringConvertible, Sendable {
    var name: String
    var x264: String
    var profile = 100
    var frameNumberBits = 9
    var orderType = 0
    var orderBits = 12
    var identifier = 0
    var references = [1, 1]
    var isWeighted = false
    var bipredictionWeights = 0
    var quantiser = 30
    var hasBottomOrder = false
    var hasDeblockingControl = true
    var testDescription: String { name }
  }

  /// Sets for the pictures of a stream of 320x240 whose own sets are known.
  private func units(_ sets: Sets, like own: AVCParameterSets) -> [[UInt8]] {
    let (sequence, picture) = (own.sequences[0], own.pictures[0])
    var bits = BitWriter()
    for value in [sets.profile, 0, 30] { bits.append(value, bits: 8) }
    bits.append(golomb: 0)
    if sets.profile >= 100 {
      for value in [1, 0, 0] { bits.append(golomb: value) }
      bits.append(0, bits: 2)
    }
    bits.append(golomb: sets.frameNumberBits - 4)
    bits.append(golomb: sets.orderType)
    if sets.orderType == 0 { bits.append(golomb: sets.orderBits - 4) }
    bits.append(golomb: sequence.referenceFrames + 1)
    bits.append(0, bits: 1)
    bits.append(golomb: 19)
    bits.append(golomb: 14)
    // Frames alone, direct_8x8_inference_flag, no cropping, usability information with what is reordered alone.
    for value in [1, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1] { bits.append(value, bits: 1) }
    for value in [0, 0, 10, 10, sets.orderType == 2 ? 0 : 2, sequence.referenceFrames + 1] {
      bits.append(golomb: value)
    }
    bits.append(1, bits: 1)
    var other = BitWriter()
    other.append(golomb: sets.identifier)
    other.append(golomb: 0)
    other.append(picture.usesArithmeticCoding ? 1 : 0, bits: 1)
    other.append(sets.hasBottomOrder ? 1 : 0, bits: 1)
    other.append(golomb: 0)
    for count in sets.references { other.append(golomb: count - 1) }
    other.append(sets.isWeighted ? 1 : 0, bits: 1)
    other.append(sets.bipredictionWeights, bits: 2)
    other.append(signedGolomb: sets.quantiser - 26)
    other.append(signedGolomb: 0)
    other.append(signedGolomb: picture.chromaOffset)
    other.append(sets.hasDeblockingControl ? 1 : 0, bits: 1)
    other.append(picture.constrainsIntra ? 1 : 0, bits: 1)
    other.append(0, bits: 1)
    if picture.has8x8Transform {
      other.append(1, bits: 1)
      other.append(0, bits: 1)
      other.append(signedGolomb: picture.secondChromaOffset)
    }
    other.append(1, bits: 1)
    return [AVCUnits.unit(0x67, bits.bytes), AVCUnits.unit(0x68, other.bytes)]
  }

  /// An avcC record.
  private func record(_ units: [[UInt8]]) -> [UInt8] {
    var record: [UInt8] = [1, units[0][1], units[0][2], units[0][3], 0xFF, 0xE1]
    for (index, unit) in units.enumerated() {
      if index == 1 { record.append(1) }
      record += [UInt8(unit.count >> 8), UInt8(unit.count & 255)] + unit
    }
    return record
  }

  private func stream(_ units: [[UInt8]]) -> Data { Data(units.flatMap { [0, 0, 0, 1] + $0 }) }

  /// What ffmpeg decodes of a stream: the MD5 of each picture.
  private func decoded(_ path: String) throws -> [Substring] {
    let list = try Tool.result(of: "ffmpeg", ["-v", "error", "-i", path, "-f", "framemd5", "-"])
    return String(decoding: list.output, as: UTF8.self).split(separator: "\n").filter { !$0.hasPrefix("#") }
      .compactMap { $0.split(separator: " ").last }
  }

  /// The same of OpenH264.
  private func decodedByOpenH264(_ path: String) throws -> [Substring] {
    let repository = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    let result = try Tool.result(
      of: "python3", [repository.appendingPathComponent("scripts/openh264-frames").path, path])
    try #require(result.status == 0 && result.log.isEmpty, "\(result.log)")
    return String(decoding: result.output, as: UTF8.self).split(separator: "\n")
  }

  /// The units of a stream of moving pictures, with those of each picture.
  private func encoded(_ x264: String) throws -> (path: String, sets: AVCParameterSets, pictures: [[[UInt8]]]) {
    let path = scratch.path("own.h264")
    try Tool.ffmpeg(
      [
        "-f", "lavfi", "-i", "testsrc2=size=320x240:rate=25:duration=2", "-vf",
        "noise=alls=8:allf=t:all_seed=3,format=yuv420p",
        "-threads", "1", "-c:v", "libx264", "-x264-params", "keyint=20:\(x264)", path,
      ])
    let units = AVCUnits.split([UInt8](try Data(contentsOf: URL(fileURLWithPath: path))))
    let sets = try #require(
      AVCParameterSets(units.filter { [7, 8].contains($0[0] & 31) }.prefix(2).flatMap { [0, 0, 1] + $0 }))
    var pictures: [[[UInt8]]] = []
    for unit in units where [1, 5].contains(unit[0] & 31) {
      // The first macroblock of a picture is coded as one bit.
      if unit[1] & 0x80 != 0 { pictures.append([unit]) } else { pictures[pictures.count - 1].append(unit) }
    }
    return (path, sets, pictures)
  }

  static let targets = [
    Sets(
      name: "CABAC with B pictures", x264: "bframes=3:weightp=0:b-pyramid=2", isWeighted: true, bipredictionWeights: 2),
    Sets(
      name: "neutral weights, another identifier and other counts of references",
      x264: "bframes=2:weightp=0:weightb=0:ref=3", identifier: 3, references: [3, 2], isWeighted: true,
      bipredictionWeights: 1, quantiser: 41, hasBottomOrder: true),
    Sets(
      name: "CAVLC with few bits", x264: "cabac=0:bframes=1:b-pyramid=0:weightp=0:weightb=0:slices=2",
      frameNumberBits: 4,
      orderBits: 6, references: [2, 1], quantiser: 10),
    Sets(
      name: "Baseline, order by decoding", x264: "cabac=0:8x8dct=0:bframes=0:weightp=0:no-psy=1", profile: 66,
      frameNumberBits: 4, orderType: 2),
    Sets(
      name: "Main, order that is coded", x264: "8x8dct=0:bframes=0:weightp=0", profile: 77, frameNumberBits: 16,
      orderBits: 4, identifier: 17, quantiser: 26),
    Sets(
      name: "no control of the filter of blocks", x264: "bframes=0:weightp=0:deblock=0,0:qp=30",
      hasDeblockingControl: false),
  ]

  @Test(arguments: targets.spread(3)) func `rewritten slices are decoded to the same pictures`(target: Sets) throws {
    let (path, own, pictures) = try encoded(target.x264)
    let units = units(target, like: own)
    let sets = try #require(AVCParameterSets(record(units)))
    #expect(sets.obstacle == nil && sets.pictures[0].identifier == target.identifier)
    #expect(
      sets.sequences[0].frameNumberBits == target.frameNumberBits && sets.sequences[0].orderType == target.orderType)
    let isReordered = pictures.contains {
      AVCSliceHeader($0[0][0], AVCUnits.payload($0[0].dropFirst()), own)?.kind == .b
    }
    try #require(AVCRetargeting.difference(own, sets, hasBidirectional: isReordered) == nil)
    var retargeting = AVCRetargeting(own, to: sets)
    var written = units
    var identifiers: [Int] = []
    for picture in pictures {
      let packet = try retargeting.retargeted(picture.flatMap { [0, 0, 0, 1] + $0 })
      let slices = try packet.withUnsafeBytes { try #require(AVCUnits.split(withLengths: $0)) }
      #expect(slices.count == picture.count)
      written += slices
      let header = try #require(AVCSliceHeader(slices[0][0], AVCUnits.payload(slices[0].dropFirst()), sets))
      if let identifier = header.identifier { identifiers.append(identifier) }
    }
    #expect(identifiers.first == AVCIdentifiers.first && identifiers.count > 2)
    #expect(identifiers.dropFirst().allSatisfy(AVCIdentifiers.others.contains))
    #expect(zip(identifiers, identifiers.dropFirst()).allSatisfy { $0 != $1 })
    let rewritten = try scratch.write(stream(written), "rewritten.h264")
    let pictureHashes = try decoded(path)
    #expect(pictureHashes.count == 50)
    #expect(try decoded(rewritten) == pictureHashes)
    let byOther = try decodedByOpenH264(rewritten)
    // This decoder is not exact where pictures are predicted from both sides.
    #expect(isReordered ? byOther.count == 50 : byOther == pictureHashes)
    // Without being rewritten, they are others, or nothing.
    let kept = try scratch.write(stream(units + pictures.flatMap(\.self)), "kept.h264")
    #expect(try decoded(kept) != pictureHashes)
  }

  @Test func `the first picture of a copy has another identifier and the same pixels`() throws {
    for x264 in ["bframes=0", "cabac=0:slices=3"] {
      let (path, own, pictures) = try encoded(x264)
      let sets = try #require(AVCParameterSets(record(own.units.map { $0 })))
      let packet = AVCUnits.joined(pictures[0])
      let renewed = try #require(
        packet.withUnsafeBytes { AVCRetargeting.renewed($0, sets, identifier: AVCIdentifiers.afterCopy) })
      let slices = try renewed.withUnsafeBytes { try #require(AVCUnits.split(withLengths: $0)) }
      for slice in slices {
        #expect(
          AVCSliceHeader(slice[0], AVCUnits.payload(slice.dropFirst()), sets)?.identifier == AVCIdentifiers.afterCopy)
      }
      let file = try scratch.write(stream(own.units + slices + pictures.dropFirst().flatMap(\.self)), "renewed.h264")
      #expect(try decoded(file) == decoded(path))
    }
  }

  @Test func `bits are written as they are read`() {
    var writer = BitWriter()
    for value in [0, 1, 2, 5, 255, 60001] { writer.append(golomb: value) }
    for value in [0, 1, -1, 2, -2, -300] { writer.append(signedGolomb: value) }
    writer.append(-3, bits: 5)
    writer.bytes.withUnsafeBytes { bytes in
      var bits = Bits(bytes)
      for value in [0, 1, 2, 5, 255, 60001] { #expect(bits.golomb() == value) }
      for value in [0, 1, -1, 2, -2, -300] { #expect(bits.signedGolomb() == value) }
      #expect(bits.next(5) == 29)
    }
  }

  @Test func `units keep start codes out of payloads`() {
    var random = SeededRandom(seed: 7)
    for _ in 0..<200 {
      let payload =
        (0..<Int.random(in: 1...60, using: &random)).map { _ in UInt8.random(in: 0...4, using: &random) } + [0x80]
      let unit = AVCUnits.unit(0x65, payload)
      #expect(AVCUnits.payload(unit.dropFirst()) == payload)
      for index in 0..<max(0, unit.count - 2) {
        #expect(unit[index] != 0 || unit[index + 1] != 0 || unit[index + 2] > 2)
      }
      #expect(unit.last != 0)
      #expect(AVCUnits.split([0, 0, 1] + unit + [0, 0, 1] + unit) == [unit, unit])
    }
  }
}
