import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { LayergroupDocument } from '../../src/contract/documents.ts'
import { clientOf } from '../support/keys/client-of.ts'
import { askMapTile } from '../support/maps/map-api.ts'
import { refusal, saved } from '../support/queries/queries-api.ts'
import { setup, type TestUser } from '../support/service/setup.ts'
import { askMaps } from '../support/tiles/tile-api.ts'

/** A function that writes if it can, and a query that looks like a read. */
const visits = `create table visits (n int);
  create function visit() returns int language plpgsql as $$ begin
    begin perform set_config('transaction_read_only', 'off', false); exception when others then null; end;
    begin perform set_config('default_transaction_read_only', 'off', false); exception when others then null; end;
    insert into visits values (1); return 1; end $$`
const visit =
  'select 1 as cartodb_id, visit() as n, st_setsrid(st_makepoint(1, 1), 4326) as the_geom, st_setsrid(st_makepoint(1, 1), 3857) as the_geom_webmercator'

const map = {
  version: '0.0.1',
  name: 'visits',
  auth: { method: 'open' },
  layergroup: {
    layers: [
      {
        type: 'cartodb',
        options: { source: { id: 'a0' }, attributes: { id: 'cartodb_id', columns: ['n'] } },
      },
    ],
    analyses: [{ id: 'a0', type: 'source', params: { query: visit } }],
    dataviews: { sum: { type: 'formula', source: { id: 'a0' }, options: { column: 'n', operation: 'sum' } } },
  },
}

/** What a caller without a key gets from the map. */
async function openMap(user: TestUser): Promise<readonly number[]> {
  await askMaps(user, '/api/v1/map/named', { body: map })
  const opened = await askMaps(user, '/api/v1/map/named/visits', { token: '', body: {} })
  assert.equal(opened.status, 200, opened.bytes.toString())
  const { layergroupid } = opened.body as unknown as LayergroupDocument
  const paths = ['/0/0/0.mvt', '/layer0/0/0/0.mvt', '/0/attributes/1', '/dataview/sum']
  const asked = paths.map((path) => askMapTile(user, layergroupid, path, { token: '' }))
  return (await Promise.all(asked)).map(({ status }) => status)
}

test('a query that calls a writing function cannot write through a link or map opened without a key', async (t) => {
  const house = await setup(t)
  const { user } = house
  await user.sql(visits)
  const written = async () => (await user.sql('select count(*)::int as n from visits')).rows[0].n
  await user.sql(visit)
  assert.equal(await written(), 1, 'the key itself writes')
  const client = clientOf(t, house)
  for (const format of ['json', 'csv', 'gpkg', 'parquet', 'svg'] as const) {
    const { url } = await client.exports.link(visit, { format })
    const answer = await fetch(url)
    const { error, sqlstate, hint } = (await answer.json()) as Record<string, unknown>
    assert.deepEqual(
      [answer.status, sqlstate, error, hint],
      [
        400,
        '25006',
        ['cannot execute INSERT in a read-only transaction'],
        'A link only reads, and so must the functions that its query calls',
      ],
      format,
    )
  }
  const refused = await openMap(user)
  assert.ok(
    refused.every((status) => status >= 400 && status < 500),
    refused.join(),
  )
  // A public query, and so a dashboard, runs as its caller, who has none of the key's rights.
  await saved(user, 'visit', { sql: visit, public: true })
  assert.equal((await refusal(user, '/visit', { token: '' })).status, 403)
  assert.equal(await written(), 1)
  await user.sql(visit)
  assert.equal(await written(), 2, 'a connection that a link has used can write again')
})
