internal import CMedia
internal import CompositionModel

extension HDRMetadata {
  /// The metadata of a picture, or of its track where the picture has none. Nil if neither has any.
  init?(_ frame: Frame, _ stream: UnsafeMutablePointer<AVStream>) {
    func data(
      _ ofFrame: AVFrameSideDataType, _ ofStream: AVPacketSideDataType, _ least: Int
    ) -> UnsafeRawPointer? {
      if let side = av_frame_get_side_data(frame.pointer, ofFrame), side.pointee.size >= least {
        return UnsafeRawPointer(side.pointee.data)
      }
      var size = 0
      guard let bytes = av_stream_get_side_data(stream, ofStream, &size), size >= least else { return nil }
      return UnsafeRawPointer(bytes)
    }
    let ofDisplay = data(
      AV_FRAME_DATA_MASTERING_DISPLAY_METADATA, AV_PKT_DATA_MASTERING_DISPLAY_METADATA,
      MemoryLayout<AVMasteringDisplayMetadata>.size)
    let ofLight = data(
      AV_FRAME_DATA_CONTENT_LIGHT_LEVEL, AV_PKT_DATA_CONTENT_LIGHT_LEVEL, MemoryLayout<AVContentLightMetadata>.size)
    let display = ofDisplay.flatMap { MasteringDisplay($0.loadUnaligned(as: AVMasteringDisplayMetadata.self)) }
    let light = ofLight.flatMap { ContentLightLevel($0.loadUnaligned(as: AVContentLightMetadata.self)) }
    guard display != nil || light != nil else { return nil }
    self.init(display: display, light: light)
  }

  /// Adds the metadata to a track that is to be written.
  func fill(_ stream: UnsafeMutablePointer<AVStream>, _ subject: String) throws(MediaError) {
    if let display {
      var values = AVMasteringDisplayMetadata()
      values.has_primaries = 1
      values.has_luminance = 1
      func pair(_ place: MasteringDisplay.Chromaticity) -> (AVRational, AVRational) {
        (AVRational(num: Int32(place.x), den: 50000), AVRational(num: Int32(place.y), den: 50000))
      }
      values.display_primaries = (pair(display.red), pair(display.green), pair(display.blue))
      values.white_point = pair(display.white)
      values.max_luminance = AVRational(num: Int32(display.maximumLuminance), den: 10000)
      values.min_luminance = AVRational(num: Int32(display.minimumLuminance), den: 10000)
      try add(values, AV_PKT_DATA_MASTERING_DISPLAY_METADATA, to: stream, subject)
    }
    if let light {
      let values = AVContentLightMetadata(MaxCLL: UInt32(light.maximum), MaxFALL: UInt32(light.maximumAverage))
      try add(values, AV_PKT_DATA_CONTENT_LIGHT_LEVEL, to: stream, subject)
    }
  }

  private func add<Values>(
    _ values: Values, _ type: AVPacketSideDataType, to stream: UnsafeMutablePointer<AVStream>, _ subject: String
  ) throws(MediaError) {
    let bytes = try allocated(
      av_stream_new_side_data(stream, type, MemoryLayout<Values>.size), "opening the output \(subject)")
    UnsafeMutableRawPointer(bytes).storeBytes(of: values, as: Values.self)
  }
}

extension MasteringDisplay {
  fileprivate init?(_ values: AVMasteringDisplayMetadata) {
    guard values.has_primaries != 0, values.has_luminance != 0 else { return nil }
    /// -1 for what is no number.
    func units(_ value: AVRational, _ scale: Double) -> Int {
      let number = av_q2d(value) * scale
      return value.den > 0 && number >= 0 && number < 1e9 ? Int(number.rounded()) : -1
    }
    func place(_ pair: (AVRational, AVRational)) -> Chromaticity {
      Chromaticity(x: units(pair.0, 50000), y: units(pair.1, 50000))
    }
    self.init(
      red: place(values.display_primaries.0), green: place(values.display_primaries.1),
      blue: place(values.display_primaries.2), white: place(values.white_point),
      maximumLuminance: units(values.max_luminance, 10000), minimumLuminance: units(values.min_luminance, 10000))
  }
}

extension ContentLightLevel {
  /// Nil if both levels are unknown, or are no brightness that SMPTE 2084 has.
  fileprivate init?(_ values: AVContentLightMetadata) {
    guard values.MaxCLL > 0 || values.MaxFALL > 0, values.MaxCLL <= 10000, values.MaxFALL <= 10000 else { return nil }
    self.init(maximum: Int(values.MaxCLL), maximumAverage: Int(values.MaxFALL))
  }
}
