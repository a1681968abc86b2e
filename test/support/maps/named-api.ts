import assert from 'node:assert/strict'
import type { NamedMapTemplate, NamedMapView } from '../../../src/contract/documents.ts'
import type { TestUser } from '../service/setup.ts'
import { askMaps, type TileCall } from '../tiles/tile-api.ts'

/** Ten points on the equator. */
export const places = `create table places as select n as cartodb_id, 'it''s ' || n as name, n * 1.5 as size, st_setsrid(st_makepoint(n * 100000, 0), 3857) as the_geom_webmercator
  from generate_series(1, 10) n`

/** A template of one layer with the id `places`. */
export const templateOf = (
  name: string,
  view: NamedMapView | undefined,
  more: Partial<NamedMapTemplate> = {},
): NamedMapTemplate => ({
  version: '0.0.1',
  name,
  layergroup: { layers: [{ id: 'places', options: { sql: 'select * from places' } }] },
  ...(view && { view }),
  ...more,
})

/** A layer of a style that MapLibre accepts. */
export const circles = (more: Readonly<Record<string, unknown>> = {}) => ({
  id: 'dots',
  type: 'circle',
  source: 'places',
  paint: { 'circle-color': '#0b6e6e' },
  ...more,
})

export const writeMap = (user: TestUser, template: unknown, call: TileCall = {}) =>
  askMaps(user, '/api/v1/map/named', { ...call, body: template })

/** The same for a map that must succeed. */
export async function makeMap(
  user: TestUser,
  template: NamedMapTemplate,
  call: TileCall = {},
): Promise<void> {
  const { status, bytes } = await writeMap(user, template, call)
  assert.equal(status, 200, bytes.toString())
}
