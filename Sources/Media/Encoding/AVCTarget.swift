internal import CompositionModel
internal import PieceFiles

/// The parameter sets of a film of H.264 whose encoded pictures follow copied ones: those of the copied ones. x264 is
/// set up so that it uses nothing that they do not allow.
struct AVCTarget {
  let record: [UInt8]
  let sets: AVCParameterSets
  private let subject: String

  /// - Parameter record: An avcC record.
  init(_ record: [UInt8], subject: String) throws(MediaError) {
    self.record = record
    self.subject = subject
    guard let sets = AVCParameterSets(record), sets.obstacle == nil else {
      throw MediaError(
        .invalidRequest, operation: "setting up", subject: subject,
        message: "parameter sets to which encoded pictures cannot refer")
    }
    self.sets = sets
  }

  private var sequence: AVCParameterSets.Sequence { sets.sequences[0] }
  private var picture: AVCParameterSets.Picture { sets.pictures[0] }

  /// What is asked of x264: what the sets fix, and what an attempt has found to be too much.
  struct Request {
    /// To be added to the quantiser of chroma, which x264 changes by itself.
    fileprivate var chromaCorrection = 0
    fileprivate var limitsReferences = false
    fileprivate var isInOrder = false
    fileprivate var hasPyramid = true
    fileprivate var hasNoWeights = false
  }

  /// x264's parameters, each after a colon.
  func parameters(_ request: Request) -> String {
    var parameters =
      ":cabac=\(picture.usesArithmeticCoding ? 1 : 0):8x8dct=\(picture.has8x8Transform ? 1 : 0)"
      + ":constrained-intra=\(picture.constrainsIntra ? 1 : 0):level=\(sequence.level)"
      + ":chroma-qp-offset=\(picture.chromaOffset + request.chromaCorrection)"
      + ":weightb=\(picture.bipredictionWeights == 2 ? 1 : 0)"
    if request.hasNoWeights || !picture.isWeighted { parameters += ":weightp=0" }
    if request.limitsReferences { parameters += ":ref=\(max(1, sequence.referenceFrames))" }
    if request.isInOrder { parameters += ":bframes=0" }
    if !request.hasPyramid { parameters += ":b-pyramid=0" }
    if !picture.hasDeblockingControl { parameters += ":deblock=0,0" }
    return parameters
  }

  /// How many pictures may be decoded before one that is presented earlier, as far as decoders of the copied pictures
  /// are prepared for it. Few bits of the order leave room for few.
  private var reorderFrames: Int {
    let isPossible =
      sequence.orderType == 0 && sequence.orderBits >= 6 && sequence.profile != 66 && sequence.infersDirect8x8
      && sequence.referenceFrames > 1
    guard isPossible else { return 0 }
    return min(sequence.reorderFrames ?? 0, sequence.referenceFrames >= 4 ? 2 : 1)
  }

  var firstRequest: Request {
    var request = Request()
    request.isInOrder = reorderFrames == 0
    request.hasPyramid = reorderFrames > 1
    return request
  }

  /// What is asked next of x264, if its own sets do not fit yet. Nil: they fit.
  /// - Parameters:
  ///   - own: The encoder's extradata.
  ///   - reorderDepth: How many pictures it reorders by.
  func nextRequest(
    after request: Request, own: AVCParameterSets, reorderDepth: Int
  ) throws(MediaError) -> Request? {
    var next = request
    let difference = picture.chromaOffset - own.pictures[0].chromaOffset
    if difference != 0, request.chromaCorrection == 0 { next.chromaCorrection = difference }
    if own.sequences[0].referenceFrames > sequence.referenceFrames { next.limitsReferences = true }
    // With weights x264 lists a reference twice, which it states by the number of values of frame_num.
    if own.pictures[0].isWeighted, own.sequences[0].frameNumberBits != sequence.frameNumberBits {
      next.hasNoWeights = true
    }
    if next.hasNoWeights != request.hasNoWeights { return next }
    if next.chromaCorrection != request.chromaCorrection || next.limitsReferences != request.limitsReferences {
      return next
    }
    let problem =
      reorderDepth > reorderFrames
      ? "reordering, by \(reorderDepth) pictures and not \(reorderFrames)"
      : AVCRetargeting.difference(own, sets, hasBidirectional: reorderDepth > 0)
    if let problem {
      throw MediaError(
        .unsupported, operation: "setting up", subject: subject,
        message: "the encoder does not fit the parameter sets of the copied pictures: another value of \(problem)")
    }
    return nil
  }

  /// The header of pieces with the sets.
  static func stated(_ header: PieceHeader, _ record: [UInt8]) -> PieceHeader {
    guard let sequence = AVCParameterSets(record)?.sequences.first else { return header }
    var header = header
    header.extradata = record
    (header.profile, header.level, header.bitRate) = (sequence.profile, sequence.level, 0)
    return header
  }
}
