// The types of the model that a program names. The model's other types, such as its `Color` and its `Layer`, have short
// names that a program may want for its own: they are reached through a type that they belong to, such as
// `VideoComposition.Color`.
@_exported public import struct CompositionModel.AffineMatrix
@_exported public import struct CompositionModel.AssetDescription
@_exported public import typealias CompositionModel.AssetID
@_exported public import struct CompositionModel.AssetRange
@_exported public import enum CompositionModel.AudioCodec
@_exported public import struct CompositionModel.AudioFormat
@_exported public import struct CompositionModel.Clip
@_exported public import struct CompositionModel.Composition
@_exported public import struct CompositionModel.CompositionTrack
@_exported public import struct CompositionModel.DocumentError
@_exported public import enum CompositionModel.Easing
@_exported public import enum CompositionModel.EditingError
@_exported public import struct CompositionModel.MediaTime
@_exported public import struct CompositionModel.MediaTimeRange
@_exported public import enum CompositionModel.MediaType
@_exported public import enum CompositionModel.PixelFormat
@_exported public import struct CompositionModel.PixelSize
@_exported public import struct CompositionModel.RampList
@_exported public import struct CompositionModel.Rational
@_exported public import struct CompositionModel.StyledText
@_exported public import struct CompositionModel.TextBox
@_exported public import struct CompositionModel.TextOutline
@_exported public import struct CompositionModel.TextShadow
@_exported public import enum CompositionModel.TimeError
@_exported public import struct CompositionModel.TrackDescription
@_exported public import typealias CompositionModel.TrackID
@_exported public import struct CompositionModel.TransitionStyle
@_exported public import struct CompositionModel.ValueRampList
@_exported public import enum CompositionModel.VideoCodec
@_exported public import struct CompositionModel.VideoFormat
@_exported public import struct SheafCompositing.MutablePixelBuffer
@_exported public import struct SheafCompositing.PixelBuffer
@_exported public import enum SheafCompositing.PixelPlane
