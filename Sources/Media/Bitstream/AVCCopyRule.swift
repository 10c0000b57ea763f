/// Which packets of H.264 can be copied into a film whose other pictures are encoded by x264.
enum AVCCopyRule {
  /// Whether a packet can be copied.
  /// - Parameter isRefresh: Whether it has to be an instantaneous decoding refresh. Nil: it may be anything.
  static func isCopyable(_ packet: UnsafeRawBufferPointer, _ sets: AVCParameterSets, isRefresh: Bool?) -> Bool {
    guard let found = read(packet, sets), found.obstacle == nil else { return false }
    return isRefresh.map { $0 == found.isRefresh } ?? true
  }

  /// What a packet has. Nil: no slice, or its units do not fill it.
  static func read(
    _ packet: UnsafeRawBufferPointer, _ sets: AVCParameterSets
  ) -> (isRefresh: Bool, obstacle: String?)? {
    var units = NetworkUnits(packet, lengthSize: 4)
    var (refreshes, others, last) = (0, 0, -1)
    var obstacle: String?
    func refuse(_ reason: String) { obstacle = obstacle ?? reason }
    while let first = units.next() {
      guard units.offset <= packet.count else { return nil }
      let unit = packet[units.start..<units.offset]
      switch first & 31 {
      case 1, 5:
        if first & 31 == 5 { refreshes += 1 } else { others += 1 }
        // The longest header has the weights of 32 references of two lists.
        guard let header = AVCSliceHeader(first, AVCUnits.payload([UInt8](unit.prefix(2048).dropFirst())[...]), sets)
        else {
          refuse("a slice of it cannot be read")
          continue
        }
        if header.firstMacroblock <= last { refuse("its slices are in any order") }
        last = header.firstMacroblock
        guard let identifier = header.identifier else { continue }
        if header.dropsEarlierPictures { refuse("a keyframe drops pictures before it") }
        if !AVCIdentifiers.free.contains(identifier) { refuse("a keyframe has the identifier \(identifier)") }
      case 2, 3, 4: refuse("its slices are partitioned")
      case 7, 8:
        if !sets.units.contains([UInt8](unit)) { refuse("its parameter sets change") }
      case 14, 15, 20, 21: refuse("it has several layers or views")
      case 19: refuse("it has auxiliary pictures")
      default: break
      }
    }
    guard units.offset == packet.count, refreshes + others > 0 else { return nil }
    if refreshes > 0, others > 0 { refuse("a keyframe is one in a part of its slices only") }
    return (refreshes > 0, obstacle)
  }
}
