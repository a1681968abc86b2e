import assert from 'node:assert/strict'
import { test } from 'node:test'
import { rowsOf } from '../../../console/api/sql.ts'
import {
  aboutColumnSql,
  aboutTableSql,
  nameOf,
  percentFor,
  rowsAtSql,
} from '../../../console/geo/rows-sql.ts'
import { setup } from '../../support/service/setup.ts'

test('of ten million rows about one million are read', () => {
  assert.equal(percentFor(2_000_000), 100)
  assert.equal(percentFor(10_000_000), 10)
  assert.equal(percentFor(1e12), 0.05)
})

test('the box of a column is in degrees in every SRID, and rows at a position are found in each', async (t) => {
  const { user } = await setup(t)
  for (const srid of [0, 4326, 3857, 25832]) {
    const point = (x: number) =>
      srid === 0 ? `st_point(${x}, 51)` : `st_transform(st_point(${x}, 51, 4326), ${srid})`
    const from = rowsOf(`select * from (values (1, ${point(8)}), (2, ${point(9)})) as p (n, g); `)
    const [about] = (await user.sql(aboutColumnSql(from, 'g'))).rows
    assert.deepEqual([about.srid, about.dimension], [srid, 0])
    // The box of a curved grid is a little wider.
    const [west, , east, north] = about.box as number[]
    assert.ok(
      Math.abs(west! - 8) < 0.01 && Math.abs(east! - 9) < 0.01 && Math.abs(north! - 51) < 0.01,
      `${about.box}`,
    )
    const { rows } = await user.sql(rowsAtSql({ from, column: 'g', srid }, ['n'], [7.9, 50.9, 8.1, 51.1], 10))
    assert.deepEqual(rows, [{ values: ['1'] }])
  }
})

test("an account's functions named like those of PostGIS or PostgreSQL are not called", async (t) => {
  const { user } = await setup(t)
  await user.sql(`create table p as select 1 as n, st_point(7, 51, 4326) as g;
    create function public.st_intersects(geometry, geometry) returns boolean language sql as 'select false';
    create function public.st_srid(geometry) returns int language sql as 'select 1 / 0'`)
  const drawn = { from: 'p', column: 'g', srid: 4326 }
  const { rows } = await user.sql(rowsAtSql(drawn, ['n'], [6, 50, 8, 52], 10))
  assert.deepEqual(rows, [{ values: ['1'] }])
  const [of] = (await user.sql(aboutColumnSql('p', 'g'))).rows
  assert.deepEqual(of, { srid: 4326, dimension: 0, box: [7, 51, 7, 51] })
})

test('hostile names stay names in the SQL for table facts and rows at a position', async (t) => {
  const { user } = await setup(t)
  const name = `<b>"x"'; drop table y; --\\`
  const quoted = `"${name.replaceAll('"', '""')}"`
  await user.sql(`create table ${quoted} (${quoted} text, big numeric, ${quoted.replace('x', 'g')} geometry)`)
  await user.sql(
    `insert into ${quoted} values ('<i>', 9007199254740993.10, st_setsrid(st_point(7, 51), 4326)), (null, 2, st_setsrid(st_point(8, 52), 4326))`,
  )
  const column = name.replace('x', 'g')
  const table = { schema: 'public', name }
  const [about] = (await user.sql(aboutTableSql(table))).rows
  assert.deepEqual(about.columns, [
    { name, isGeometry: false },
    { name: 'big', isGeometry: false },
    { name: column, isGeometry: true },
  ])
  const [of] = (await user.sql(aboutColumnSql(nameOf(table), column))).rows
  assert.deepEqual(of, { srid: 4326, dimension: 0, box: [7, 51, 8, 52] })
  const drawn = { from: nameOf(table), column, srid: 4326 }
  const { rows } = await user.sql(rowsAtSql(drawn, [name, 'big'], [6.9, 50.9, 7.1, 51.1], 10))
  assert.deepEqual(rows, [{ values: ['<i>', '9007199254740993.10'] }])
})
