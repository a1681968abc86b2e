import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { setup } from '../support/service/setup.ts'
import { tileOf } from '../support/tiles/tile-api.ts'

test('GDAL reads a tile and counts the same features as SQL', async (t) => {
  const { user } = await setup(t)
  const folder = await mkdtemp(join(tmpdir(), 'cartage-tile-'))
  t.after(() => rm(folder, { recursive: true }))
  await user.sql(`create table dots as select n, st_point(n % 170, n % 80, 4326) as the_geom from generate_series(1, 5000) n;
    create table areas as select n, st_buffer(st_point(n % 170, n % 80, 4326), 1) as the_geom from generate_series(1, 300) n;
    create table ways as select n, st_makeline(st_point(n % 170, n % 80, 4326), st_point(n % 170 + 5, n % 80 + 3, 4326)) as the_geom
      from generate_series(1, 300) n`)
  const place = '3/5/3'
  for (const [name, type] of [
    ['dots', 'Point'],
    ['areas', 'Polygon'],
    ['ways', 'Line String'],
  ] as const) {
    const file = join(folder, `${name}.mvt`)
    await writeFile(file, (await tileOf(user, `/${name}/${place}`)).bytes)
    const { stdout } = await promisify(execFile)('ogrinfo', ['-so', '-al', '-oo', 'CLIP=NO', `MVT:${file}`])
    const { rows } = await user.sql(
      `select count(*)::int as n from ${name} where st_intersects(st_transform(the_geom, 3857), st_tileenvelope(3, 5, 3, margin => 64 / 4096.0))`,
    )
    assert.ok(rows[0].n > 20)
    assert.match(stdout, new RegExp(`^Layer name: ${name}$`, 'm'))
    assert.match(stdout, new RegExp(`^Feature Count: ${rows[0].n}$`, 'm'), stdout)
    assert.match(stdout, new RegExp(`^Geometry: .*${type}`, 'm'))
    assert.match(stdout, /^n: Integer/m)
  }
})
