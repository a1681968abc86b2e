import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { cartage, connection } from '../support/http/call.ts'
import { setup } from '../support/service/setup.ts'

test('`cartage map` creates, lists, shows, shares and deletes named maps', async (t) => {
  const house = await setup(t)
  const folder = await mkdtemp(join(tmpdir(), 'cartage-map-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  const run = (...words: string[]) => cartage(connection(house), 'map', ...words)
  const file = join(folder, 'map.json')
  const template = {
    version: '0.0.1',
    name: 'shops',
    auth: { method: 'token', valid_tokens: ['secret'] },
    layergroup: {
      layers: [{ options: { sql: 'select st_setsrid(st_point(0, 0), 3857) as the_geom_webmercator' } }],
    },
  }
  await writeFile(file, JSON.stringify(template))
  assert.deepEqual(await run('create', file), { code: 0, out: 'shops\n', err: '' })
  assert.equal((await run('create', file)).code, 1)
  assert.equal((await run('create', '--replace', file)).code, 0)
  assert.deepEqual((await run('list')).out, '{"name":"shops"}\n')
  assert.deepEqual(JSON.parse((await run('show', 'shops')).out), template)
  const shared = async (...options: string[]) => (await run('share', 'shops', ...options)).out
  const page = `${house.user.base}/map/shops`
  assert.equal(await shared(), `${page}?auth_token=secret\n`)
  assert.equal((await fetch((await shared()).trim())).status, 200)
  assert.match(
    await shared('--frame'),
    new RegExp(`^<iframe src="${page}\\?auth_token=secret" .*></iframe>\n$`),
  )
  assert.equal((await fetch((await shared('--style')).trim())).status, 200)
  assert.equal((await run('share', 'shops', '--style', '--tiles')).code, 2)
  const out = await shared('--tiles')
  assert.equal(out, `${house.user.base}/api/v1/map/named/shops/all/{z}/{x}/{y}.mvt?auth_token=secret\n`)
  assert.equal((await fetch(out.trim().replace('{z}/{x}/{y}', '0/0/0'))).status, 200)
  const tileJson = await fetch((await shared('--tilejson')).trim())
  assert.equal(tileJson.status, 200)
  assert.deepEqual(((await tileJson.json()) as { tiles: string[] }).tiles, [out.trim()])
  assert.equal((await run('delete', 'shops', '--yes')).code, 0)
  assert.equal((await run('show', 'shops')).code, 1)
})
