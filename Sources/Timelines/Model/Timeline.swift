package import CompositionModel
package import EditDocument

/// An edit as editors keep it: tracks of clips, gaps and transitions, one after the other. All times are exact seconds.
/// Each format is read into this and written from it, and this is what becomes a document and is made of one.
package struct Timeline: Sendable, Hashable {
  package var name: String
  /// Frames a second. Nil: the format states none, and nothing in the timeline has one.
  package var rate: Rational?
  /// Of a frame, in pixels. Nil: the format states none.
  package var size: PixelSize?
  /// The timecode of the first frame, in seconds. Nil: the format states none.
  package var startTime: Rational?
  /// The first is at the bottom.
  package var tracks: [TimelineTrack]
  package var markers: [TimelineMarker] = []
  /// Over everything; the last is on top.
  package var titles: [TimelineTitle] = []

  package init(name: String, rate: Rational? = nil, tracks: [TimelineTrack] = []) {
    (self.name, self.rate, self.tracks) = (name, rate, tracks)
  }

  package var duration: Rational {
    get throws(TimeError) {
      var longest = Rational.zero
      for track in tracks { longest = max(longest, try track.duration) }
      return longest
    }
  }

  /// The most timelines that are each a clip of the one before, as of documents.
  static let greatestDepth = 8
  /// The most clips that are read of a file: timelines in it that have each other many times would have any number.
  static let greatestClipCount = 20_000

  package var clipCount: Int { tracks.reduce(0) { $0 + $1.clips.count } }
}

package struct TimelineTrack: Sendable, Hashable {
  package var name: String
  /// `video` or `audio`.
  package var type: MediaType
  package var items: [TimelineItem]
  /// Of a video track: whether the sound of its clips is heard.
  package var hasSound = false

  package init(name: String, type: MediaType, items: [TimelineItem] = []) {
    (self.name, self.type, self.items) = (name, type, items)
  }

  package var clips: [TimelineClip] {
    items.compactMap { if case .clip(let clip) = $0 { clip } else { nil } }
  }

  /// Transitions have none of their own.
  package var duration: Rational {
    get throws(TimeError) {
      var duration = Rational.zero
      for item in items { duration = try duration + item.duration }
      return duration
    }
  }
}

package enum TimelineItem: Sendable, Hashable {
  case clip(TimelineClip)
  /// So many seconds in which the track is transparent, or silent.
  case gap(Rational)
  /// Between the items before it and after it.
  case transition(TimelineTransition)

  /// The time that it takes on its track.
  package var duration: Rational {
    switch self {
    case .clip(let clip): clip.duration
    case .gap(let duration): duration
    case .transition: .zero
    }
  }
}

package struct TimelineClip: Sendable, Hashable {
  /// As in the file; not unique.
  package var name: String
  package var source: Source
  /// The first time of the source that is used, by its own clock: that of its timecode if it has one.
  package var start: Rational
  /// On the track, without the parts that only transitions show. Above zero.
  package var duration: Rational
  package var motion = Motion.speed(.one)
  /// How it looks and sounds: a clip of a document, of which neither the asset nor the times count.
  package var settings = Document.Clip("")
  /// On the clip's own time.
  package var markers: [TimelineMarker] = []
  /// Where it is in its file.
  package var place: String

  package enum Source: Sendable, Hashable {
    case media(MediaReference)
    case picture(DrawnPicture)
    indirect case timeline(Timeline)
  }

  package enum Motion: Sendable, Hashable {
    /// Seconds of the source a second of the track, not zero. Negative: backwards, from the end of the part that is
    /// used to its start.
    case speed(Rational)
    /// The picture at `start` all the time.
    case frozen
  }

  package init(
    name: String, source: Source, start: Rational, duration: Rational, motion: Motion = .speed(.one), place: String
  ) {
    (self.name, self.source, self.start, self.duration) = (name, source, start, duration)
    (self.motion, self.place) = (motion, place)
  }
}

/// A file of media as a timeline names it.
package struct MediaReference: Sendable, Hashable {
  /// A path, absolute or relative to the timeline's file. Empty: the timeline names none, and the file is looked for by
  /// the clip's name.
  package var path: String
  /// What the file contains, by its own clock. Nil: the timeline does not state it.
  package var available: Available?
  /// The name of the tape or card that the file is from.
  package var reel: String?
  /// What the file contains, if it was examined.
  package var facts: MediaFacts?

  package struct Available: Sendable, Hashable {
    package var start: Rational
    /// Nil: it is not stated.
    package var duration: Rational?

    package init(start: Rational, duration: Rational?) { (self.start, self.duration) = (start, duration) }
  }

  package init(path: String, available: Available? = nil, reel: String? = nil) {
    (self.path, self.available, self.reel) = (path, available, reel)
  }
}

/// Over the end of an item and the start of the next. It shows `before` seconds of the item after it earlier, and
/// `after` seconds of the item before it longer.
package struct TimelineTransition: Sendable, Hashable {
  package var name: String
  /// How long before the cut it starts.
  package var before: Rational
  /// How long after the cut it ends.
  package var after: Rational
  package var style: Document.TransitionStyle
  package var curve: Document.FadeCurve?
  package var place: String

  package init(
    name: String, before: Rational, after: Rational, style: Document.TransitionStyle = Document.TransitionStyle(),
    curve: Document.FadeCurve? = nil, place: String
  ) {
    (self.name, self.before, self.after) = (name, before, after)
    (self.style, self.curve, self.place) = (style, curve, place)
  }

  package var duration: Rational {
    get throws(TimeError) { try before + after }
  }
}

package struct TimelineMarker: Sendable, Hashable {
  package var name: String
  package var time: Rational
  package var place: String

  package init(name: String, time: Rational, place: String) {
    (self.name, self.time, self.place) = (name, time, place)
  }
}

/// A text over the picture.
package struct TimelineTitle: Sendable, Hashable {
  package var text: String
  package var start: Rational
  package var duration: Rational
  package var color: Color?
  /// The name of a family of fonts.
  package var font: String?
  package var isBold = false
  package var isItalic = false
  package var align: StyledText.Alignment?
  package var place: String

  package init(_ text: String, start: Rational, duration: Rational, place: String) {
    (self.text, self.start, self.duration, self.place) = (text, start, duration, place)
  }
}
