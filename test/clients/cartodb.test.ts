import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { test } from 'node:test'
import { promisify } from 'node:util'
import type { LayergroupDocument } from '../../src/contract/documents.ts'
import { installClient } from '../support/clients/npm-client.ts'
import { setup } from '../support/service/setup.ts'

let installed: ReturnType<typeof installClient> | undefined
const client = () => (installed ??= installClient('cartodb', '0.5.1'))
const driven = async (folder: string, driver: string, ...rest: string[]) =>
  JSON.parse(
    (
      await promisify(execFile)(process.execPath, [`test/clients/drivers/${driver}`, folder, ...rest], {
        timeout: 60_000,
      })
    ).stdout,
  ) as unknown

type Ended = Readonly<{ done?: unknown; error?: unknown }>

test('class Named of the npm package cartodb creates, opens, changes and deletes a named map', async (t) => {
  const { folder, missing } = await client()
  if (missing !== undefined) return t.skip(`NOT RUN: ${missing}`)
  const { user } = await setup(t)
  await user.sql(
    'create table places as select n, st_point(n, n, 3857) as the_geom_webmercator from generate_series(1, 3) n',
  )
  const seen = (await driven(folder, 'use-cartodb-maps.cjs', user.base, user.masterToken)) as Record<
    string,
    Ended
  >
  const { defined, instantiated, rows, ...short } = seen
  assert.deepEqual((rows!.done as { rows: unknown }).rows, [{ n: 3 }])
  assert.deepEqual(short, {
    created: { done: { template_id: 'world' } },
    again: { error: [`Template 'world' of user '${user.username}' already exists`] },
    listed: { done: { template_ids: ['world'] } },
    refused: { error: ['Unauthorized template instantiation'] },
    updated: { done: { template_id: 'world' } },
    deleted: { done: { success: true } },
    gone: { error: short.gone!.error },
  })
  const { template } = defined!.done as { template: { name: string; auth: object } }
  assert.deepEqual(template.auth, { method: 'token', valid_tokens: ['open sesame'] })
  const { layergroupid, metadata } = instantiated!.done as LayergroupDocument
  assert.match(layergroupid, new RegExp(`^${user.username}@`))
  assert.equal(metadata.layers.length, 1)
})

test('class SQL of the npm package cartodb reads, writes and gets errors', async (t) => {
  const { folder, missing } = await client()
  if (missing !== undefined) return t.skip(`NOT RUN: ${missing}`)
  const { user } = await setup(t)
  const [, , selected, csv, geojson, , failed] = (await driven(
    folder,
    'use-cartodb.cjs',
    user.base,
    user.masterToken,
  )) as Record<string, unknown>[]
  assert.deepEqual(selected!.rows, [{ name: 'it&#39;&#39;s 100%', n: 1 }])
  assert.equal(csv as unknown, 'name\r\nit&#39;&#39;s 100%\r\n')
  assert.match(String(geojson), /"FeatureCollection"/)
  assert.deepEqual(failed, ['column "nothing" does not exist'])
})
