import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { zipOf } from '../support/imports/zip.ts'
import { startProcess } from '../support/service/processes.ts'
import { eventually, setup } from '../support/service/setup.ts'

/** Runs a command where these programs cannot be started, and as a user who is not root. */
const without = (...programs: readonly string[]) => [
  ...['unshare', '--user', '--map-root-user', '--mount', 'sh', '-c'],
  `exec 9</usr/bin/unshare
  ${programs.map((path) => `mount --bind /dev/null ${path}`).join(' && ')} &&
  exec /proc/self/fd/9 --user --map-user=1000 --map-group=1000 "$@"`,
  'sh',
]

const gdal = 'GDAL is not installed (Debian: gdal-bin)'
const sandbox = 'no sandbox works here (Debian: bubblewrap)'
const servers = [
  [['/usr/bin/ogr2ogr'], `only CSV, Parquet and Arrow: ${gdal}`, gdal],
  [['/usr/bin/bwrap', '/usr/bin/unshare'], `only CSV: ${sandbox}`, sandbox],
] as const

for (const [programs, told, missing] of servers)
  test(`a server without ${programs.join(' and ')} says so, and does what it can`, async (t) => {
    const { user, service, keys } = await setup(t, { isIsolated: true })
    const { config } = service.services
    const folder = await mkdtemp(join(tmpdir(), 'without-gdal-'))
    t.after(() => rm(folder, { recursive: true }))
    const { url } = await startProcess(
      t,
      { config, keys },
      ['serve'],
      { CARTAGE_IMPORT_DIR: folder },
      without(...programs),
    )
    const ask = (path: string, init?: RequestInit) =>
      fetch(`${url}/user/${user.username}/api/${path}&api_key=${user.masterToken}`, init)
    const post = async (name: string, content: string | Buffer = 'a\n1\n') => {
      const body = new Uint8Array(Buffer.from(content))
      const answer = await ask(`v1/imports?filename=${name}`, { method: 'POST', body })
      return [answer.status, ((await answer.json()) as { error?: string[] }).error?.[0]]
    }
    const refused = (kind: string) =>
      `Imports of .${kind} files are not possible, as ${missing}: they are disabled on this server`
    assert.deepEqual(await post('a.gpkg'), [400, refused('gpkg')])
    assert.deepEqual(await post('a.csv'), [200, undefined])
    const hasSandbox = missing === gdal
    assert.deepEqual(await post('a.parquet'), hasSandbox ? [200, undefined] : [400, refused('parquet')])
    const zip = (kind: string) =>
      post(`${kind}.zip`, zipOf(['csv', kind].map((each) => ({ name: `a.${each}`, content: 'a\n1\n' }))))
    assert.deepEqual(await zip('geojson'), [400, refused('geojson')])
    assert.deepEqual(await zip('txt'), [200, undefined])
    await eventually(async () => {
      const health = (await (await fetch(`${url}/health/ready`)).json()) as { imports: string }
      assert.equal(health.imports, told)
    })
    const point = encodeURIComponent('select 1 as n, st_makepoint(1, 2) as the_geom')
    const gpkg = await ask(`v2/sql?format=gpkg&q=${point}`)
    assert.deepEqual(
      [gpkg.status, ((await gpkg.json()) as { error: string[] }).error],
      [400, [`The format gpkg is disabled on this server: ${missing}`]],
    )
    const shp = await ask(`v2/sql?format=shp&q=${point}`)
    assert.deepEqual([shp.status, Buffer.from(await shp.arrayBuffer()).toString('latin1', 0, 2)], [200, 'PK'])
  })
