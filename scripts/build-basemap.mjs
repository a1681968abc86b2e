import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'

/** Steps from one end of the world to the other: finer than the atlas. */
const quantization = 10_000

/**
 * The countries of the world as a topology, cut at the antimeridian: a polygon that crosses it would be smeared over the
 * map. Borders are in it once, so it is half the size of its GeoJSON.
 */
export async function worldMap() {
  const [{ feature }, { topology }, { geoProject }, { geoEquirectangular }] = await Promise.all([
    import('topojson-client'),
    import('topojson-server'),
    import('d3-geo-projection'),
    import('d3-geo'),
  ])
  const path = createRequire(import.meta.url).resolve('world-atlas/countries-110m.json')
  const atlas = JSON.parse(readFileSync(path, 'utf8'))
  // Degrees to degrees: what remains of the projection is its cut.
  const plane = geoEquirectangular()
    .scale(180 / Math.PI)
    .translate([0, 0])
    .reflectY(true)
    .precision(0)
  const { features } = geoProject(feature(atlas, atlas.objects.countries), plane)
  const countries = {
    type: 'FeatureCollection',
    features: features.map(({ geometry }) => ({ type: 'Feature', properties: {}, geometry })),
  }
  return topology({ countries }, quantization)
}
