import Testing

@testable import CompositionModel

@Suite struct GradientTests {
  @Test func `colours without a place are evenly between those that have one`() {
    func places(_ at: Double?...) -> [Double] { Gradient(stops: at.map { Gradient.Stop(.black, at: $0) }).places }
    #expect(places(nil, nil) == [0, 1])
    #expect(places(nil, nil, nil, nil, nil) == [0, 0.25, 0.5, 0.75, 1])
    #expect(places(0.5, nil, nil, 0.875, nil, nil) == [0.5, 0.625, 0.75, 0.875, 0.9375, 1])
    #expect(places(nil, 0.25, 0.25, 0.5) == [0, 0.25, 0.25, 0.5])
  }

  @Test func `a picture is opaque only from edge to edge`() {
    let (solid, clear) = (Color(red: 1, green: 2, blue: 3), Color(red: 1, green: 2, blue: 3, alpha: 254))
    #expect(DrawnPicture(color: solid).isOpaque && !DrawnPicture(color: clear).isOpaque)
    #expect(!DrawnPicture(.ellipse, fill: .color(solid)).isOpaque)
    #expect(!DrawnPicture(fill: .color(solid), cornerRadius: 1).isOpaque)
    #expect(!DrawnPicture(fill: nil, border: LayerBorder(width: 3)).isOpaque)
    let stops = [Gradient.Stop(solid), Gradient.Stop(clear)]
    #expect(!DrawnPicture(gradient: Gradient(stops: stops)).isOpaque)
    let asset = AssetDescription(DrawnPicture(color: clear), film: PixelSize(width: 8, height: 6))
    #expect(asset.defaultTrack(.video)?.video?.size == PixelSize(width: 8, height: 6))
    #expect(asset.defaultTrack(.video)?.video?.hasAlpha == true)
  }
}
