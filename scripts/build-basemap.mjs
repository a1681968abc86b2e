import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'

/** Steps from one end of the world to the other: finer than the atlas. */
const quantization = 10_000

/**
 * The countries of the world as a topology, cut at the antimeridian: a polygon that crosses it would be smeared across
 * the map. Each border is stored once, so it is half the size of the GeoJSON.
 */
export async function worldMap() {
  const { topology } = await import('topojson-server')
  const features = await cutCountries()
  const countries = {
    type: 'FeatureCollection',
    features: features.map(({ geometry }) => ({ type: 'Feature', properties: {}, geometry })),
  }
  return topology({ countries }, quantization)
}

/** The same countries as valid GeoJSON with their names and areas: sample data for a new account. */
export async function sampleCountries() {
  const { geoArea } = await import('d3-geo')
  const [whole, cut] = await Promise.all([readCountries(), cutCountries()])
  return {
    type: 'FeatureCollection',
    features: whole.map((country, at) => ({
      type: 'Feature',
      properties: {
        name: country.properties.name,
        area_km2: Math.round(geoArea(country) * earthRadiusKm ** 2),
      },
      geometry: validGeometry((crossesAntimeridian(country.geometry) ? cut[at] : country).geometry),
    })),
  }
}

const earthRadiusKm = 6371.0088

async function cutCountries() {
  const [{ geoProject }, { geoEquirectangular }] = await Promise.all([
    import('d3-geo-projection'),
    import('d3-geo'),
  ])
  // Degrees to degrees: only the cut of the projection is used.
  const plane = geoEquirectangular()
    .scale(180 / Math.PI)
    .translate([0, 0])
    .reflectY(true)
    .precision(0)
  const { features } = geoProject({ type: 'FeatureCollection', features: await readCountries() }, plane)
  return features
}

/** From Natural Earth, which is in the public domain. */
async function readCountries() {
  const { feature } = await import('topojson-client')
  const path = createRequire(import.meta.url).resolve('world-atlas/countries-110m.json')
  const atlas = JSON.parse(readFileSync(path, 'utf8'))
  return feature(atlas, atlas.objects.countries).features
}

const polygonsOf = ({ type, coordinates }) => (type === 'Polygon' ? [coordinates] : coordinates)

const crossesAntimeridian = (geometry) =>
  polygonsOf(geometry).some(([ring]) => ring.some(([x], at) => at > 0 && Math.abs(x - ring[at - 1][0]) > 180))

/** Removes spikes from its rings, and cuts them where they touch themselves. */
function validGeometry(geometry) {
  const polygons = polygonsOf(geometry).flatMap(([outer, ...holes]) =>
    simpleRings(outer).map((shell, at) => [shell, ...(at === 0 ? holes.flatMap(simpleRings) : [])]),
  )
  return { type: 'MultiPolygon', coordinates: polygons }
}

function simpleRings(ring) {
  // Rounded to ten metres: neighbours still share their points.
  const points = ring.map((point) => point.map((value) => Math.round(value * 10_000) / 10_000)).slice(0, -1)
  const open = points.filter(
    (point, at) => !isSpike(points.at(at - 1), point, points[(at + 1) % points.length]),
  )
  const rings = []
  const path = []
  for (const point of open) {
    const before = path.findIndex((known) => isSame(known, point))
    if (before >= 0) rings.push(path.splice(before))
    path.push(point)
  }
  return [path, ...rings]
    .filter((each) => each.length >= 3 && Math.abs(areaOf(each)) > 1e-6)
    .map((each) => [...each, each[0]])
}

const isSame = ([x, y], [otherX, otherY]) => x === otherX && y === otherY

/** Whether a line runs to this point and back, or the point is duplicate. */
function isSpike(before, [x, y], after) {
  const [ax, ay, bx, by] = [before[0] - x, before[1] - y, after[0] - x, after[1] - y]
  return (
    ax * bx + ay * by >= 0 && Math.abs(ax * by - ay * bx) <= 0.005 * Math.hypot(ax, ay) * Math.hypot(bx, by)
  )
}

const areaOf = (points) =>
  points.reduce((sum, [x, y], at) => {
    const [nextX, nextY] = points[(at + 1) % points.length]
    return sum + (x * nextY - nextX * y) / 2
  }, 0)
