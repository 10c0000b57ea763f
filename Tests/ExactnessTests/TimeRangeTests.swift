import CompositionModel
import Foundation
import Media
import TestMedia
import TestPrograms
import Testing

/// A part of a film that is exported by itself.
@Suite struct TimeRangeTests {
  /// Cuts, a transition, moving geometry, ramps of opacity and volume, a moving overlay, and sound at another rate.
  private static func document(_ path: String, timeRange: String?) -> String {
    """
    { "sheaf": 1, "assets": { "a": "\(path)" },
      "tracks": [
        { "id": "A", "sound": true, "clips": [
          { "asset": "a", "use": "0..2", "ramps": [ { "over": "0..2", "opacity": [0.2, 1] } ] },
          { "asset": "a", "use": "1..3", "transition": "0.8" },
          { "asset": "a", "use": "0..2", "ramps": [ { "over": "0..2", "transform": [
            { "scale": 1 }, { "scale": 1.4, "rotate": 20 } ] } ] } ] },
        { "id": "music", "type": "audio", "clips": [ { "asset": "a", "use": "0..3.9", "at": "1/3" } ] } ],
      "videoComposition": { "overlays": [ { "video": "a", "over": "0.5..4", "width": 60, "loop": true } ],
        "filters": [ { "kind": "brightness", "amount": [ { "over": "0..5", "value": [0, 0.2] } ] } ] },
      "audioMix": { "music": [ { "over": "0..4", "volume": [0, 1] } ] },
      "export": { "to": "film.mkv", "video": { "codec": "ffv1" },
        "audio": { "codec": "pcm", "bitDepth": 24, "sampleRate": 48000 }\(timeRange.map { #", "timeRange": "\#($0)""# } ?? "") } }
    """
  }

  @Test func `a part of a film has the frames and the samples that the whole film has there`() throws {
    let folder = try TemporaryFolder()
    let path = folder.path("a.mkv")
    _ = try Tool.run(
      "ffmpeg",
      [
        "-v", "error", "-f", "lavfi", "-i", "testsrc2=s=192x108:r=25:d=4", "-f", "lavfi", "-i",
        "aevalsrc=exprs='0.3*sin(2*PI*(200+300*t)*t)|0.3*sin(2*PI*440*t)':s=44100:d=4", "-c:v", "libx264", "-preset",
        "ultrafast", "-g", "12", "-c:a", "pcm_s16le", path,
      ])
    let probed = try AssetProbe.probe(openSource(path), name: path)
    let asset = try JSONDecoder().decode(AssetDescription.self, from: JSONEncoder().encode(probed))
    var random = SeededRandom(seed: 5)
    func film(_ timeRange: String?, _ segmentDuration: String?) throws -> InProcessFilm {
      try InProcessFilm(
        Self.document(path, timeRange: timeRange), of: path, asset, segmentDuration: segmentDuration, random: &random)
    }
    let whole = try film(nil, nil)
    #expect(whole.frames.count == 130 && whole.samples.count == 2 * 249_600)
    #expect(Set(whole.frames).count > 100)
    // In a clip, across a cut, within a transition, to the end; the third ends between two frames and two samples.
    for (range, frames, samples) in [
      ("1..3", 25..<75, 48000..<144_000), ("1.24..1.6", 31..<40, 59520..<76800),
      ("3..4.01001", 75..<101, 144_000..<192_480), ("90f+40f", 90..<130, 172_800..<249_600),
    ] {
      for segmentDuration in [nil, "7f"] {
        let part = try film(range, segmentDuration)
        #expect(part.frames == Array(whole.frames[frames]), "\(range)")
        #expect(part.samples.count == 2 * samples.count, "\(range)")
        let expected = whole.samples[2 * samples.lowerBound..<2 * samples.upperBound]
        let difference = zip(part.samples, expected).map { abs(Int($0) - Int($1)) }.max() ?? 0
        // Resampling that begins elsewhere rounds in another place: at most one step of 24 bits.
        #expect(difference <= 1, "\(range): \(difference)")
      }
    }
  }
}
