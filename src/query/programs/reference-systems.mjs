import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

/** The definition in PROJJSON, asked from GDAL; null: unknown. */
export async function crsOf(srid) {
  if (srid === 4326) return lonLat
  if (srid === 0) return null
  try {
    const options = { env: {}, timeout: askMs, maxBuffer: 1024 * 1024 }
    const { stdout } = await promisify(execFile)(
      '/usr/bin/gdalsrsinfo',
      ['-o', 'PROJJSON', `EPSG:${srid}`],
      options,
    )
    return JSON.parse(stdout)
  } catch {
    return null
  }
}

const lonLat = {
  $schema: 'https://proj.org/schemas/v0.6/projjson.schema.json',
  type: 'GeographicCRS',
  name: 'WGS 84 (CRS84)',
  datum_ensemble: {
    name: 'World Geodetic System 1984 ensemble',
    members: [
      { name: 'World Geodetic System 1984 (Transit)' },
      { name: 'World Geodetic System 1984 (G730)' },
      { name: 'World Geodetic System 1984 (G873)' },
      { name: 'World Geodetic System 1984 (G1150)' },
      { name: 'World Geodetic System 1984 (G1674)' },
      { name: 'World Geodetic System 1984 (G1762)' },
      { name: 'World Geodetic System 1984 (G2139)' },
    ],
    ellipsoid: { name: 'WGS 84', semi_major_axis: 6378137, inverse_flattening: 298.257223563 },
    accuracy: '2.0',
  },
  coordinate_system: {
    subtype: 'ellipsoidal',
    axis: [
      { name: 'Geodetic longitude', abbreviation: 'Lon', direction: 'east', unit: 'degree' },
      { name: 'Geodetic latitude', abbreviation: 'Lat', direction: 'north', unit: 'degree' },
    ],
  },
  id: { authority: 'OGC', code: 'CRS84' },
}

const askMs = 10_000
