internal import CMedia
internal import CompositionModel

/// What the packets of one video stream show without decoding. They are added in the file's order.
struct PacketScan {
  /// Presentation times of the packets that show a picture.
  private(set) var times: [Int64] = []
  /// Where decoding can start, as far as the packets show it.
  private(set) var keyframes: [Keyframe] = []
  /// The number of times before each of the keyframes.
  private var timesBefore: [Int] = []
  /// The presentation time of the first keyframe after all packets that have a time together with another. libavcodec
  /// counts such times, and takes decoding times if there are many: a decoder counts as the one that began at the head
  /// only if it has none. Nil if there is no such keyframe.
  private(set) var firstSteadyStart: Int64? = .min
  /// What decoders need before they start at a keyframe.
  private(set) var states = DecoderStates()
  private(set) var packetCount = 0
  /// Whether a presented packet had no presentation time.
  private var hasPacketWithoutTime = false
  /// Whether other packets show the times that packets lack. Found by `completeTimes`.
  private var hasFoundTimes = false
  /// Whether the track begins with packets that depend on others before them.
  private var startsWithDependentPackets = false
  /// Whether a packet may show several pictures, or only decoding shows how many.
  private var hidesPictures = false
  /// Whether a packet is damaged, so that it may decode to nothing.
  private var isDamaged = false
  private(set) var damage = DamagedStretches()
  /// The duration of the packet with the greatest time, in ticks; 0 if the file does not store it.
  private(set) var lastDuration: Int64 = 0

  let rule: KeyframeRule
  private var shown: ShownPictures
  private var headers: ActiveParameterSets?
  private var lost: LostPictures?
  private var codedOrder: AVCOrder?
  /// Nil for codecs of which nothing has to be known to copy them.
  private var copying: CopyScan?
  /// The presentation time of the first packet at which decoding can start. Its decoding time may be missing, as it is
  /// in Matroska for the first packets of a track with reordered pictures.
  private var firstStart: Int64?
  private var startLacksDecodingTime = false
  /// Whether a packet is presented before one that is earlier in the file.
  private var isReordered = false
  /// Whether the decoder holds pictures back to put them in order.
  private let decoderReorders: Bool
  /// Whether decoders of the codec give the pictures in the file's order.
  private let keepsOrder: Bool
  /// The greatest time of a packet that shows a picture.
  private var greatestShown = Int64.min
  /// Whether a picture is given after one with a greater time.
  private var contradictsFileOrder = false
  /// Whether a packet of H.264 has a B slice. The file may not state that its pictures are reordered.
  private var hasBidirectionalSlices = false
  private var greatest = Int64.min
  /// Nil for codecs whose packets do not state the types of pictures.
  private var order: PictureOrder?
  /// The picture of the first packet, if it is presented and decoding can start at it. Nil if starts are proved by
  /// decoding.
  private(set) var firstPicture: FirstPicture?
  private let stream: UnsafeMutablePointer<AVStream>
  private let name: String
  private let liveness: Liveness?

  /// - Parameters:
  ///   - name: The file's name, for messages.
  ///   - liveness: Advanced with the first picture.
  init(_ stream: UnsafeMutablePointer<AVStream>, name: String, liveness: Liveness?) {
    self.stream = stream
    self.name = name
    self.liveness = liveness
    let parameters = stream.pointee.codecpar!
    rule = KeyframeRule(parameters, hasAlphaBeside: StoredCodec.hasAlphaBeside(stream))
    shown = ShownPictures(parameters)
    headers = ActiveParameterSets(parameters)
    lost = LostPictures(parameters)
    codedOrder = AVCOrder(parameters)
    copying = StoredCodec.hasAlphaBeside(stream) ? nil : CopyScan(parameters)
    order = rule.statesPictureTypes ? PictureOrder() : nil
    // MPEG-1 and 2 state it for tracks without such pictures too.
    let codec = parameters.pointee.codec_id
    let properties = avcodec_descriptor_get(codec)?.pointee.props ?? AV_CODEC_PROP_REORDER
    // libavcodec flags H.263 too, of which it decodes no pictures that are reordered.
    keepsOrder =
      properties & AV_CODEC_PROP_REORDER == 0 || codec == AV_CODEC_ID_H263 || codec == AV_CODEC_ID_H263P
    decoderReorders = (codec == AV_CODEC_ID_H264 || codec == AV_CODEC_ID_HEVC) && parameters.pointee.video_delay > 0
  }

  mutating func add(_ packet: Packet) throws(MediaError) {
    packetCount += 1
    let pts = packet.pts
    let state = headers?.read(packet)
    codedOrder?.add(packet)
    copying?.add(packet)
    order?.add(packet, isBidirectional: rule.isBidirectional(packet))
    if packet.isKeyframe, pts != sheaf_no_pts, pts > greatest, rule.canStart(at: packet) {
      if firstStart == nil {
        firstStart = pts
        startLacksDecodingTime = packet.dts == sheaf_no_pts
        if packetCount == 1, !packet.isDiscarded, rule.proof != .decoding {
          // If the decoder cannot be opened, the reader that is used in its place says why.
          firstPicture = try? FirstPicture(
            Packet(referencing: packet), of: stream, name: name, liveness: liveness)
        }
      }
      if packet.dts != sheaf_no_pts, let index = states.index(of: state) {
        var keyframe = Keyframe(packet)
        keyframe.state = index
        keyframes.append(keyframe)
        timesBefore.append(times.count)
      }
    }
    if !hasBidirectionalSlices { hasBidirectionalSlices = rule.hasBidirectionalSlice(packet) }
    let isAfterLoss = lost?.areMissing(before: packet) ?? false
    if isAfterLoss || !rule.isWhole(packet) {
      isDamaged = true
      damage.add(packetAfter: keyframes.count)
    }
    if firstStart == nil { startsWithDependentPackets = true }
    if let firstStart, pts != sheaf_no_pts, pts < firstStart, !packet.isDiscarded {
      startsWithDependentPackets = true
    }
    if pts != sheaf_no_pts {
      if pts < greatest { isReordered = true }
      greatest = max(greatest, pts)
    }
    let shownCount = shown.count(in: packet)
    if !packet.isDiscarded, (shownCount ?? 2) > 1 { hidesPictures = true }
    if packet.isDiscarded { return }
    guard pts != sheaf_no_pts else {
      hasPacketWithoutTime = true
      return
    }
    if pts == greatest { lastDuration = packet.duration }
    guard shownCount != 0 else { return }
    times.append(pts)
    if keepsOrder, pts < greatestShown { contradictsFileOrder = true }
    greatestShown = max(greatestShown, pts)
  }

  /// Adds the times that packets lack, if other packets show them, and sorts the times. Returns whether they are those
  /// of the pictures that are shown, so that nothing need be decoded.
  mutating func completeTimes() -> Bool {
    if hasPacketWithoutTime, let missing = order?.missingTimes {
      times += missing
      hasFoundTimes = true
    }
    let stored = times
    times.sort()
    let doubled = Set(zip(times, times.dropFirst()).lazy.filter { $0 == $1 }.map(\.0))
    if !doubled.isEmpty, let last = stored.lastIndex(where: doubled.contains) {
      firstSteadyStart = zip(keyframes, timesBefore).first { $1 > last }?.0.pts
    }
    return !lacksTimes && !startsWithDependentPackets && !isDamaged && !hidesPictures && !hasDecodingTimes
      && !contradictsOrder && doubled.isEmpty
  }

  /// What can be copied of the track. Nil: nothing is known of it, or nothing has to be.
  /// - Parameter times: Those of the frames, rising.
  func copyable(_ times: [Int64]) -> CopyableStream? {
    var copying = copying
    return copying?.copyable(times)
  }

  /// Whether pictures have no stored time, and no other packets show it.
  var lacksTimes: Bool { hasPacketWithoutTime && !hasFoundTimes }

  /// Whether only decoding gives the time of some picture: neither its packet does nor the types of the pictures.
  /// Called after `completeTimes`.
  /// - Parameter shown: The times of the pictures that are shown.
  func lacksStoredTimes(_ shown: [Int64]) -> Bool {
    guard hasPacketWithoutTime, !hasDecodingTimes else { return hasDecodingTimes }
    return lacksTimes ? order?.possibleTimes.map { (times + $0).sorted() } != shown : times != shown
  }

  /// Whether stored times contradict the order in which a decoder gives the pictures. The time of each then depends on
  /// all that was decoded before it.
  var contradictsOrder: Bool {
    contradictsFileOrder || codedOrder?.contradictsTimes == true || order?.contradictsTimes == true
  }

  /// Whether the stored times are decoding times and no pictures have them, because pictures are reordered and the
  /// times rise from packet to packet, or a picture's type contradicts them.
  var hasDecodingTimes: Bool {
    // libavformat leaves the first decoding times out if the codec reorders pictures.
    let isReorderedByCodec = startLacksDecodingTime || decoderReorders || hasBidirectionalSlices
    return isReorderedByCodec && !isReordered && packetCount > 1 || order?.hasDecodingTimes == true
  }
}

/// The distinct states that a track's starts need.
struct DecoderStates {
  /// The most bytes that a description has for them. Starts that would need more are not used.
  private static let greatestSize = 64 << 10

  private var indices: [DecoderState: Int] = [:]
  private var list: [DecoderState] = []
  private var size = 0

  /// The index for `Keyframe.state`: -1 for none. Nil if there is no room.
  mutating func index(of state: DecoderState?) -> Int? {
    guard let state else { return -1 }
    if let index = indices[state] { return index }
    guard size + state.byteCount <= Self.greatestSize else { return nil }
    size += state.byteCount
    indices[state] = list.count
    list.append(state)
    return list.count - 1
  }

  func state(at keyframe: Keyframe) -> DecoderState? {
    list.indices.contains(keyframe.state) ? list[keyframe.state] : nil
  }

  /// The states that some keyframes need, and these with indices in that list. If they need none, the list is nil and
  /// all indices are 0.
  func used(by keyframes: [Keyframe]) -> (keyframes: [Keyframe], states: [DecoderState]?) {
    var used = DecoderStates()
    var keyframes = keyframes
    for index in keyframes.indices {
      keyframes[index].state = used.index(of: state(at: keyframes[index])) ?? -1
    }
    guard used.list.isEmpty else { return (keyframes, used.list) }
    for index in keyframes.indices { keyframes[index].state = 0 }
    return (keyframes, nil)
  }
}
