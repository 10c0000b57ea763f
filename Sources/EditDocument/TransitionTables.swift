import CompositionModel

/// What a transition looks like, and its tables: between tracks, between clips, and between clips of an audio track.
enum TransitionKeys {
  static let from = Key(required: "from", .text, "the video track that is shown first")
  static let to = Key(required: "to", .text, "the video track that is shown after it")
  static let over = Key(
    required: "over", .range(.film), "the time of the transition; both tracks must have clips throughout it")
  static let duration = Key(
    "duration", .time, default: "1 s; with `at` the time for which both clips overlap",
    "how long it lasts, more than 0")

  static let sound = Key(
    "sound", Form<Document.FadeCurve>.choice("curve"), default: "`linear`",
    "how the sound of the one clip gives way to that of the other: the volumes add up to 1, or (`equal-power`) their "
      + "squares do, which is as loud throughout with different sounds")

  static let kind = Key(
    "kind", Form<Document.TransitionStyle.Kind>.choice("kind of transition"), default: "`dissolve`", "see below")
  static let direction = Key(
    "direction", Form<WipeDirection>.choice("direction"), default: "`left`", kinds: ["wipe", "slide", "push"],
    type: "`left`, `right`, `up`, `down`; for `wipe` also `up-left`, `up-right`, `down-left`, `down-right`",
    "wipe: where the edge moves; slide, push: where B moves")
  static let color = Key(
    "color", .solidColor, default: "`\"#000000\"`", kinds: ["fade"],
    "fade: the colour between both pictures; solid")
  static let center = Key(
    "center",
    Form<Document.TransitionStyle.Center>(
      "`[x, y]`", .tuple(.number(0...1), .number(0...1))
    ) { $0.center($1) }, default: "`[0.5, 0.5]`", kinds: ["circle", "clock", "iris"],
    "circle, clock, iris: the centre, in parts of the frame's width and height, each 0 to 1")
  static let shape = Key(
    "shape", Form<IrisShape>.choice("shape"), default: "`rectangle`", kinds: ["iris"],
    "iris: a rectangle with the frame's shape, or a rhombus")
  static let amount = Key(
    "amount", .number(0...0.5), default: plain(TransitionKind.standardAmount), kinds: ["blur", "pixelate"],
    "in parts of the frame's shorter side, what is reached in the middle; blur: the standard deviation of the Gaussian; "
      + "pixelate: the side of a block")
  static let softness = Key(
    "softness", .number(0...1), default: "0", kinds: ["wipe", "circle", "clock", "iris", "luma"],
    "wipe, circle, clock, iris, luma: the width of the soft edge as a part of the way that it takes; at 0 it is sharp and "
      + "antialiased")
  static let matte = Key(
    required: "matte", .asset, kinds: ["luma"], "luma: a name of `assets` whose file is a still picture")
  static let invert = Key(
    "invert", .boolean, default: "`false`", kinds: ["luma"],
    "luma: whether B is seen first where the matte is brightest, and not where it is darkest")
  static let name = Key(
    required: "name", CompositorKeys.name.form, kinds: ["custom"],
    "custom: the compositor's name, 1 to 40 ASCII letters, digits and `-`, `_`, `.`")
  static let parameters = Key(
    "parameters", CompositorKeys.parameters.form, default: "`{}`", kinds: ["custom"],
    "custom: what the compositor is given, at most \(CompositorEntry.greatestParameters) bytes")
  static let metadata = Key(
    "metadata", CompositorKeys.metadata.form, kinds: ["custom"],
    "custom: the [metadata tracks](metadata-tracks.md) whose values the compositor is given")
  static let easing = Key(
    "easing", .easing, default: "`linear`",
    "how the progress follows the time: a name of CSS, or a cubic Bézier curve as in CSS, with `x1` and `x2` from 0 to "
      + "1 and `y1` and `y2` from -10 to 10; `hold` shows A until the end. The progress is limited to 0 to 1")

  static let styleProperties: [Property<Document.TransitionStyle>] = [
    kind.of(\.kind), direction.of(\.direction), color.of(\.color), center.of(\.center), shape.of(\.shape),
    softness.of(\.softness), amount.of(\.amount), matte.of(\.matte), invert.of(\.invert), name.of(\.name),
    parameters.of(\.parameters), metadata.of(list: \.metadata), easing.of(\.easing),
  ]
  static let style: [any DeclaredKey] = Array(styleProperties)

  static let standardKind = TransitionKind.Name.dissolve.rawValue
  private static let kinds = KindKey(
    name: "kind", standard: standardKind, names: TransitionKind.Name.allCases.map(\.rawValue)
  ) { key, kind in
    let nouns = key.kinds.count == 1 ? "the kind '\(key.kinds[0])'" : "the kinds \(list(key.kinds))"
    return "'\(key.name)' is for transitions of \(nouns); this one is '\(kind)'"
  }
  /// What slides has no diagonal directions.
  private static let straight = JSONValue.when(
    .chosen("kind", among: ["slide", "push"]),
    then: .has("direction", among: SlideDirection.allCases.map(\.rawValue)))

  /// Between tracks.
  static let properties: [Property<Document.Transition>] =
    [from.of(\.from), to.of(\.to), over.of(\.over)] + styleProperties.map { $0.within(\.style) }
  static let table = ObjectTable(
    name: "transition", noun: "a transition", keys: Array(properties), kind: kinds, restrictions: [straight])
  /// Between clips.
  static let clipProperties: [Property<Document.ClipTransition>] =
    [duration.of(\.duration), sound.of(\.sound)] + styleProperties.map { $0.within(\.style) }
  static let clipTable = ObjectTable(
    name: "clipTransition", noun: "a transition", keys: Array(clipProperties), instead: Document.ClipTransition.instead,
    kind: kinds, restrictions: [straight])
  /// Between clips of an audio track.
  static let audioTable = ObjectTable(
    name: "audioTransition", noun: "a transition of an audio track",
    keys: [
      duration, sound,
      Key(
        "kind",
        .choice("kind of transition of an audio track", among: [TransitionKind.Name.dissolve.rawValue]),
        default: "`dissolve`", ""),
    ], instead: Document.ClipTransition.instead)

  /// The kinds that need no key of their own, by their names alone.
  private static let plainKinds = TransitionKind.Name.allCases.map(\.rawValue).filter { kind in
    !style.contains { $0.isRequired && $0.kinds.contains(kind) }
  }
  static let ofClips = JSONValue.any(.reference("time"), ["enum": .array(plainKinds)], clipTable.reference)
  /// From nothing, or to nothing.
  static let ofEdges = JSONValue.any(["enum": .array(plainKinds)], clipTable.reference)
  static let ofAudioClips = JSONValue.any(.reference("time"), ["const": "dissolve"], audioTable.reference)
}

/// A compositor of the author's own.
enum CompositorKeys {
  static let name = Key(
    required: "name",
    Form<String>("string", .pattern("^[A-Za-z0-9._-]{1,40}$"), write: JSONValue.text) { $0.compositorName($1) },
    "1 to 40 ASCII letters, digits and `-`, `_`, `.`")
  static let parameters = Key(
    "parameters",
    Form<String>("object", ["type": "object"], write: JSONValue.parameters) { $0.parameters($1) }, default: "`{}`",
    "what the compositor is given, at most \(CompositorEntry.greatestParameters) bytes")
  static let metadata = Key(
    "metadata",
    Form<[TrackID]>(
      "array of strings", ["type": "array", "items": ["type": "string"]], write: JSONValue.array
    ) { reader, value in
      reader.items(value, "the names of metadata tracks").compactMap { reader.metadataReference($0) }
    }, "the [metadata tracks](metadata-tracks.md) whose values the compositor is given")

  static let properties: [Property<Document.Compositor>] = [
    name.of(\.name), parameters.of(\.parameters), metadata.of(list: \.metadata),
  ]
  static let table = ObjectTable(name: "compositor", noun: "a compositor", keys: Array(properties))
}
