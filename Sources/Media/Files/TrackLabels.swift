internal import CMedia
import CompositionModel

extension MuxerFile {
  /// States a track's language and title. Of a language that was stated before, this one takes the place.
  func state(_ label: TrackLabel, of stream: UnsafeMutablePointer<AVStream>) {
    if let language = label.language { state(language: language, of: stream) }
    guard let title = label.title else { return }
    var name = title
    // QuickTime stores the length of the handler's name in a byte, which some readers take for a signed one.
    while isQuickTime, name.utf8.count > 127 { name.removeLast() }
    // Movies have a track's title in the name of its handler.
    av_dict_set(&stream.pointee.metadata, isMovie ? "handler_name" : "title", name, 0)
  }

  /// States the language of a track, as its code of ISO 639-2 is given.
  ///
  /// libavformat writes only the older of QuickTime's two kinds of codes, which is a list, and it finds few languages
  /// in it by their names in ISO 639-2. So the language is written when the file is complete.
  func state(language code: String, of stream: UnsafeMutablePointer<AVStream>) {
    if isQuickTime {
      languages[Int(stream.pointee.index)] = code.lowercased()
    } else {
      av_dict_set(&stream.pointee.metadata, "language", code, 0)
    }
  }
}

extension WrittenMovie {
  /// Writes the languages of tracks into a QuickTime file, which has codes of three letters alone.
  /// - Parameter languages: Codes of ISO 639-2 by the number of the track.
  func state(_ languages: [Int: String]) throws(MediaError) {
    let tracks = try boxes(in: index().index.contents).filter { $0.type == "trak" }
    for (track, code) in languages.sorted(by: { $0.key < $1.key }) {
      guard let packed = Self.packed(code) else { continue }
      guard tracks.indices.contains(track), let media = try box("mdia", in: tracks[track]),
        let header = try box("mdhd", in: media)
      else { throw failure("track \(track) has no header") }
      // Behind the version, two dates, the timescale and the duration, three of which version 1 has in eight bytes.
      let start = header.contents.lowerBound
      let version = try bytes(start..<(start + 1))
      try write(bigEndian(packed, 2), at: start + (version == [1] ? 32 : 20))
    }
  }

  private func box(_ type: String, in parent: Box) throws(MediaError) -> Box? {
    try boxes(in: parent.contents).first { $0.type == type }
  }

  /// Five bits a letter (QuickTime File Format, "Language Code Values"). Nil if it is not of three letters.
  private static func packed(_ code: String) -> UInt64? {
    let letters = code.utf8.map { UInt64($0) &- 0x60 }
    guard letters.count == 3, letters.allSatisfy({ (1...26).contains($0) }) else { return nil }
    return letters.reduce(0) { $0 << 5 | $1 }
  }
}
