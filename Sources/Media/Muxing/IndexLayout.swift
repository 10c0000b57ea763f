internal import CompositionModel

/// The muxers' options: exact timescales, and room for the index before the data.
struct IndexLayout {
  let container: Container
  let tracks: [FileMuxer.Track]
  let metadata: [String: String]

  func options(indexFirst: Bool) -> [(key: String, value: String)] {
    switch container {
    case .mkv: return indexFirst ? [("reserve_index_space", "\(cuesBound)")] : []
    case .mp4, .mov:
      var options = [(key: "movie_timescale", value: "\(movieTimescale)")]
      if let timescale = videoTimescale { options.append(("video_track_timescale", "\(timescale)")) }
      if indexFirst { options.append(("moov_size", "\(moovBound)")) }
      if metadata.keys.contains(where: { !IndexLayout.atoms.contains($0) }) {
        options.append(("movflags", "use_metadata_tags"))
      }
      return options
    }
  }

  /// Keys that QuickTime's own atoms hold; any other needs the `mdta` form, which fewer players read.
  private static let atoms: Set<String> = [
    "title", "artist", "album_artist", "composer", "album", "date", "comment", "genre", "copyright", "grouping",
    "lyrics", "description", "synopsis", "show", "episode_id", "network", "keywords", "track", "disc",
  ]

  /// The frame duration's timescale, doubled until it is fine enough for players that round to it.
  private var videoTimescale: Int32? {
    guard let video = tracks.first(where: { $0.header.isVideo }) else { return nil }
    var timescale = video.header.timebase.timescale
    while timescale < 10000 { timescale *= 2 }
    return timescale
  }

  /// The least timescale in which every track's duration is whole; edit lists count in it.
  private var movieTimescale: Int32 {
    var least: Int64 = 1
    for track in tracks {
      let timescale = Int64(track.header.timebase.timescale)
      let product = least / greatestCommonDivisor(least, timescale) * timescale
      if product <= Int64(Int32.max) { least = product }
    }
    while least < 1000 { least *= 2 }
    return Int32(least)
  }

  private func greatestCommonDivisor(_ a: Int64, _ b: Int64) -> Int64 {
    b == 0 ? a : greatestCommonDivisor(b, a % b)
  }

  /// Bytes that no header of these tracks and metadata exceeds, without what grows with the packets.
  private var fixedBound: Int {
    let texts = metadata.reduce(0) { $0 + $1.key.utf8.count + $1.value.utf8.count + 128 }
    return 4096 + texts + tracks.reduce(0) { $0 + $1.header.extradata.count + 2048 }
  }

  /// A sample of the index takes at most: size 4, sync sample 4, decoding time 8, composition offset 8, and, where it is
  /// a chunk of its own, 12 + 8.
  private var moovBound: Int {
    fixedBound + tracks.reduce(0) { $0 + $1.packetCount * ($1.header.isVideo ? 44 : 32) }
  }

  /// A cue point takes at most: its head 2, time 10, position's head 2, track 3, cluster 10, relative position 10.
  private var cuesBound: Int {
    let cued = tracks.first { $0.header.isVideo } ?? tracks.first
    return 64 + (cued?.packetCount ?? 0) * 40
  }
}
