internal import CompositionModel

/// The edits of a movie's tracks that libavformat plays otherwise than the file states them.
///
/// An empty edit is a delay before the first edit with media; after it, libavformat plays the beginning of the track's
/// media in its place. Every edit is played at rate 1, whatever rate it has (ISO/IEC 14496-12, 8.6.6).
enum EditListScan {
  /// In order. Nil if the edits of a track are played as they are stated.
  static func misplayedEdits(_ track: MovieTracks.Track, of tracks: MovieTracks) -> [MisplayedEdit]? {
    guard let list = track.editList, let timescale = Int32(exactly: tracks.timescale), timescale > 0 else { return nil }
    let edits = misplayedEdits(list, timescale: timescale)
    return edits.isEmpty ? nil : edits
  }

  private static func misplayedEdits(_ list: [UInt8], timescale: Int32) -> [MisplayedEdit] {
    let width = list.first == 1 ? 8 : 4
    var edits: [MisplayedEdit] = []
    var place = 8
    var start: Int64 = 0
    var hasMedia = false
    while place + 2 * width + 4 <= list.count {
      let fields = [place..<(place + width), (place + width)..<(place + 2 * width)].map { list[$0] }
      let duration = Int64(clamping: bigEndian(fields[0]))
      let isEmpty = fields[1].allSatisfy { $0 == 0xFF }
      // 16 bits before the point and 16 after it.
      let rate = Int32(bitPattern: UInt32(bigEndian(list[(place + 2 * width)..<(place + 2 * width + 4)])))
      place += 2 * width + 4
      let (end, isTooLate) = start.addingReportingOverflow(duration)
      guard !isTooLate,
        let range = try? MediaTimeRange(
          start: MediaTime(value: start, timescale: timescale), end: MediaTime(value: end, timescale: timescale))
      else { break }
      start = end
      hasMedia = hasMedia || !isEmpty
      guard duration > 0, hasMedia, isEmpty || rate != 1 << 16 else { continue }
      edits.append(MisplayedEdit(range: range, rate: isEmpty ? nil : Double(rate) / 65536))
    }
    return edits
  }
}
