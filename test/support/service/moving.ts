import assert from 'node:assert/strict'
import type { AdminClient } from '../../../src/client/admin-client.ts'
import { runSql } from '../runner/namespace.ts'
import { eventually } from './setup.ts'

/** Waits until a move has ended, successfully or not. */
export const untilEnded = (operator: AdminClient, id: number, timeoutMs = 60_000) =>
  eventually(async () => {
    const move = await operator.moves.read(id)
    assert.ok(move.ended_at !== null, `${move.phase}: ${move.error}`)
    return move
  }, timeoutMs)

/** Databases and roles of users on a host. */
export async function leftOn(url: string, namespace: string): Promise<readonly string[]> {
  const { rows } = await runSql(
    { connectionString: url },
    `select datname::text as name from pg_database where datname ~ $1
     union all select rolname from pg_roles where rolname ~ $1`,
    [`^${namespace}_[uo][0-9]+`],
  )
  return rows.map(({ name }) => name)
}

/** Its check constraint runs again when the row is copied, and takes a minute, but only there. */
export const slowTable = `
  create function waits() returns boolean language sql as $$ select pg_catalog.pg_sleep(
    case when pg_catalog.current_setting('application_name') = 'cartage move' then 60 else 0 end) is not null $$;
  create table t (n int check (public.waits()));
  insert into t values (1)`
