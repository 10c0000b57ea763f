package import FoundationEssentials

/// A signed message in the form of DSSE (https://github.com/secure-systems-lab/dsse, version 1.0.2): the payload, its
/// type, and signatures of both.
package struct SignedEnvelope: Sendable, Hashable, Codable {
  package struct Signature: Sendable, Hashable, Codable {
    /// Says which key it is of. It proves nothing.
    package var keyid: String?
    package var sig: Data

    package init(keyid: String?, sig: Data) {
      (self.keyid, self.sig) = (keyid, sig)
    }
  }

  /// As JSON in base64, like the signatures.
  package var payload: Data
  package var payloadType: String
  /// Empty: the message is not signed, and who has changed it is not known.
  package var signatures: [Signature]

  /// - Parameter key: A private one. Nil: the message is not signed.
  package init(_ payload: [UInt8], type: String, key: Ed25519Key?) {
    (self.payload, payloadType) = (Data(payload), type)
    signatures = []
    if let key { signatures = [Signature(keyid: key.id.hex, sig: Data(key.sign(signedBytes)))] }
  }

  /// What is signed: DSSE's pre-authentication encoding.
  package var signedBytes: [UInt8] {
    let head = "DSSEv1 \(payloadType.utf8.count) \(payloadType) \(payload.count) "
    return Array(head.utf8) + payload
  }

  /// Whether one of the signatures is of this key.
  package func isSigned(by key: Ed25519Key) -> Bool {
    signatures.contains { key.verifies([UInt8]($0.sig), of: signedBytes) }
  }
}
