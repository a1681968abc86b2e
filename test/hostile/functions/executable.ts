import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Setup, TestUser } from '../../support/service/setup.ts'

/** A function that a tenant can call, with what a call needs. */
export type Executable = Readonly<{
  /** As in the list: `schema.name(types)`. */
  signature: string
  name: string
  types: readonly string[]
  kind: 'function' | 'aggregate' | 'ordered' | 'window' | 'procedure'
  role: string
}>

/**
 * Functions that at least one of the roles can execute, in the schemas of a new database. Operators, casts and
 * aggregates are functions too. SQL cannot call a function with an argument of type internal.
 */
export async function executables({ admin }: Setup, user: TestUser, roles: readonly string[]) {
  const { rows } = await admin(
    `select n.nspname || '.' || p.proname || '(' || types.list || ')' as signature,
       format('%I.%I', n.nspname, p.proname) as name, types.each as types,
       case when p.prokind = 'a' and (select aggkind from pg_aggregate where aggfnoid = p.oid) <> 'n' then 'ordered'
         else (array['aggregate', 'window', 'procedure', 'function'])[strpos('awpf', p.prokind::text)] end as kind,
       (select role from unnest($1::text[]) role where has_function_privilege(role, p.oid, 'execute') limit 1) as role
     from pg_proc p join pg_namespace n on n.oid = p.pronamespace
     cross join lateral (
       select coalesce(string_agg(format_type(type, null), ', ' order by place), '') as list,
         coalesce(array_agg(format_type(type, null) order by place), '{}') as each
       from unnest(p.proargtypes) with ordinality argument (type, place)) types
     where n.nspname in ('pg_catalog', 'information_schema', 'postgis', 'cartodb', 'cartage')
       and not 'internal'::regtype = any (p.proargtypes)
       and exists (select from unnest($1::text[]) role
         where has_function_privilege(role, p.oid, 'execute') and has_schema_privilege(role, n.oid, 'usage'))
     order by n.nspname, p.proname, types.list`,
    [roles],
    user.account.database,
  )
  return rows as Executable[]
}

const listed = join(import.meta.dirname, '../../../test/hostile/functions/known-functions.txt')

/** The signatures that were reviewed. */
export async function knownFunctions(): Promise<ReadonlySet<string>> {
  const lines = (await readFile(listed, 'utf8')).split('\n')
  return new Set(lines.filter((line) => line !== '' && !line.startsWith('#')))
}
