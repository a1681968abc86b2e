import type { TilePlace } from '../../src/contract/documents.ts'

/**
 * A tenth around one of ten large cities, the rest around a thousand towns. Neighbouring points are not neighbours in
 * the table. Key and both geometries exist already, so preparing it for maps rewrites no row.
 */
export const pointsSql = (rows: number) => `
create table points as select i::bigint as cartodb_id, place::geometry(Geometry, 4326) as the_geom,
    st_transform(place, 3857)::geometry(Geometry, 3857) as the_geom_webmercator
  from (select i, st_setsrid(st_point(
      (town * 137.5)::numeric % 340 - 170 + random() + random() - 1,
      (town * 61.8)::numeric % 120 - 60 + random() + random() - 1), 4326) as place
  from (select i, case when i % 10 = 0 then i / 10 % ${largeCities} else ${largeCities} + i % 1000 end as town
    from generate_series(1, ${rows}) i) as numbered) as placed`

const largeCities = 10

/** The centre of a city, where its points are densest. */
export const largeCity = (town: number): [longitude: number, latitude: number] => [
  ((town * 137.5) % 340) - 170,
  ((town * 61.8) % 120) - 60,
]

export function tileAt([longitude, latitude]: readonly [number, number], z: number): TilePlace {
  const radians = (latitude * Math.PI) / 180
  const [across, down] = [(longitude + 180) / 360, (1 - Math.asinh(Math.tan(radians)) / Math.PI) / 2]
  return { z, x: Math.floor(across * 2 ** z), y: Math.floor(down * 2 ** z) }
}
