import assert from 'node:assert/strict'
import type { TestUser } from '../service/setup.ts'
import { column, rows, value } from './tenant-session.ts'

/** Asserts what every prepared table has, whatever it was before. */
export async function assertPrepared(user: TestUser, table: string): Promise<void> {
  const literal = `'${table.replaceAll("'", "''")}'`
  const types = await rows(
    user,
    `select attname, format_type(atttypid, atttypmod) as type, attnotnull from pg_attribute
     where attrelid = ${literal}::regclass and attname in ('cartodb_id', 'the_geom', 'the_geom_webmercator')
     order by attname`,
  )
  assert.match(String(types[0]?.type), /^(integer|bigint)$/)
  assert.deepEqual(
    [types[0]?.attnotnull, types[1]?.type, types[2]?.type],
    [true, 'geometry(Geometry,4326)', 'geometry(Geometry,3857)'],
  )
  assert.deepEqual(
    await column(
      user,
      `select tgname from pg_trigger where tgrelid = ${literal}::regclass and tgfoid::regproc::text ~ 'cdb_' order by 1`,
    ),
    ['test_quota', 'test_quota_per_row', 'track_updates', 'update_the_geom_webmercator_trigger'],
  )
  assert.deepEqual(
    await column(
      user,
      `select string_agg(attname, ',' order by attname) from pg_index join pg_class on oid = indexrelid
       join pg_am on pg_am.oid = relam join pg_attribute on attrelid = indrelid and attnum = any (indkey)
       where indrelid = ${literal}::regclass and (indisprimary or amname = 'gist')
       group by indisprimary, indexrelid order by 1`,
    ),
    ['cartodb_id', 'the_geom', 'the_geom_webmercator'],
  )
  assert.equal(
    await value(
      user,
      `select count(*)::int from ${table} where the_geom_webmercator is distinct from CDB_TransformToWebmercator(the_geom)`,
    ),
    0,
  )
  const isNextIdFree = `select nextval(pg_get_serial_sequence(${literal}, 'cartodb_id')) > coalesce(max(cartodb_id), 0) from ${table}`
  assert.equal(await value(user, isNextIdFree), true)
}
