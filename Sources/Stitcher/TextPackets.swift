import CompositionModel
import Media
import RenderTasks

/// The captions of the output's text tracks, encoded and written at their times between the other packets.
struct TextPackets {
  private struct Track {
    var text: StitchedText
    var encoder: CaptionEncoder
    var next = 0
  }

  private var open: [Track] = []

  init(_ texts: [StitchedText]) throws(StitchError) {
    for text in texts {
      let encoder = try mapErrors(to: StitchError.writing) { () throws(MediaError) in
        try CaptionEncoder(text.codec, header: text.header)
      }
      open.append(Track(text: text, encoder: encoder))
    }
  }

  /// As the muxer needs them.
  var tracks: [TextTrack] {
    open.map {
      TextTrack(
        codec: $0.text.codec, extradata: $0.encoder.extradata, description: $0.text.description,
        packetCount: $0.text.events.count)
    }
  }

  /// Writes the captions that start at a time, in milliseconds, or before.
  mutating func write(through time: Int64, to muxer: some CaptionMuxer) throws(StitchError) {
    for index in open.indices {
      while open[index].next < open[index].text.events.count {
        let event = open[index].text.events[open[index].next]
        guard event.start <= time else { break }
        open[index].next += 1
        let encoder = open[index].encoder
        try mapErrors(to: StitchError.writing) { () throws(MediaError) in
          let bytes = try encoder.encode(event.fields)
          guard !bytes.isEmpty else { return }
          try muxer.write(EncodedCaption(bytes, start: event.start, duration: event.end - event.start), text: index)
        }
      }
    }
  }
}
