// The operators of times and fractions as methods, for a module that declares the same operators for programs that do
// not import this one: in such a declaration the operator would be the declaration itself.

extension MediaTime {
  package func adding(_ other: MediaTime) throws(TimeError) -> MediaTime { try self + other }
  package func subtracting(_ other: MediaTime) throws(TimeError) -> MediaTime { try self - other }
  package func multiplied(by factor: Rational) throws(TimeError) -> MediaTime { try self * factor }
  package func divided(by other: MediaTime) throws(TimeError) -> Rational { try self / other }
}

extension Rational {
  package func adding(_ other: Rational) throws(TimeError) -> Rational { try self + other }
  package func subtracting(_ other: Rational) throws(TimeError) -> Rational { try self - other }
  package func multiplied(by other: Rational) throws(TimeError) -> Rational { try self * other }
  package func divided(by other: Rational) throws(TimeError) -> Rational { try self / other }
}
