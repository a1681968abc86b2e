import { quoteName } from '../../contract/text/quote.ts'
import { errors } from '../../errors.ts'
import type { Owners } from '../../postgres/dump/contents.ts'
import type { Session } from '../../postgres/session.ts'
import { masterRoleOf, otherRolesPattern } from '../../postgres/tenant-names.ts'
import type { Household } from './household.ts'

/** An object that a role owns, as PostgreSQL names it. */
export type Owned = Readonly<{ type: string; identity: string; owner: string }>

/** What the roles own in the database. Objects that belong to another, such as the index of a table, go with it. */
export async function readOwned(administrator: Session, roles: readonly string[]): Promise<readonly Owned[]> {
  const { rows } = await administrator.query<Owned>(
    `select found.type, found.identity, owner.rolname::text as owner
     from pg_catalog.pg_shdepend d
     join pg_catalog.pg_roles owner on owner.oid = d.refobjid
     cross join lateral pg_catalog.pg_identify_object(d.classid, d.objid, 0) found
     where d.dbid = (select oid from pg_catalog.pg_database where datname = pg_catalog.current_database())
       and d.refclassid = 'pg_catalog.pg_authid'::regclass and d.deptype = 'o' and owner.rolname = any ($1)
       and d.classid <> 'pg_catalog.pg_default_acl'::regclass
       and not exists (
         select from pg_catalog.pg_depend part
         where part.classid = d.classid and part.objid = d.objid and part.deptype in ('i', 'e'))
     order by 1, 2`,
    [roles],
  )
  return rows
}

/**
 * After a copy everything is its user's master role's. Gives the roles of keys what was theirs. Who owned what is read
 * from another server, which may lie: only what the roles own here is named in a statement, as this server names it.
 */
export async function giveToOwners(
  administrator: Session,
  roles: readonly string[],
  owned: readonly Owned[],
): Promise<void> {
  const ownerOf = new Map(owned.map((object) => [nameOf(object), object.owner]))
  for (const { type, identity } of await readOwned(administrator, roles)) {
    const owner = ownerOf.get(nameOf({ type, identity }))
    if (owner === undefined) continue
    if (!roles.includes(owner))
      throw errors.moveFailed(`${type} ${identity} has an owner that is no role of the account`)
    // The sequence of a column has gone with its table. PostgreSQL has no command for the owner of an extension.
    if (owner === masterRoleOf(owner) || type === 'extension') continue
    await administrator
      .query(`alter ${alterWord[type] ?? type} ${identity} owner to ${quoteName(owner)}`)
      .catch((error: unknown) => {
        if (type !== 'sequence') throw error
      })
  }
}

const nameOf = ({ type, identity }: Pick<Owned, 'type' | 'identity'>) => `${type} ${identity}`

/** By which the entries of a dump are chosen and restored. */
export async function readOwners(
  administrator: Session,
  { members }: Household,
  roles: readonly string[],
): Promise<Owners> {
  const { rows } = await administrator.query<{ key: string; role: string }>(
    `select pg_catalog.concat(e.tableoid::integer, ' ', e.oid) as key, r.rolname::text as role
     from pg_catalog.pg_extension e join pg_catalog.pg_roles r on r.oid = e.extowner where r.rolname = any ($1)
     union all
     select pg_catalog.concat(c.tableoid::integer, ' ', c.oid), r.rolname from pg_catalog.pg_cast c
     join pg_catalog.pg_type t on t.oid in (c.castsource, c.casttarget)
     join pg_catalog.pg_roles r on r.oid = t.typowner where r.rolname = any ($1)`,
    [roles],
  )
  return {
    masterOf: new Map(roles.map((role) => [role, masterRoleOf(role)])),
    roleOfUnnamed: new Map(rows.map(({ key, role }) => [key, role])),
    first: members[0]!.masterRole,
    schemas: new Set(members.flatMap(({ organization, schema }) => (organization ? [schema] : []))),
  }
}

/** The tables and sequences of a user, in groups of so many, as arguments of `pg_dump --table`. */
export async function tablesOf(
  administrator: Session,
  masterRole: string,
  atOnce: number,
): Promise<readonly (readonly string[])[]> {
  const { rows } = await administrator.query<{ tables: string[] }>(
    `select pg_catalog.array_agg(name order by place) as tables from (
       select pg_catalog.quote_ident(n.nspname) || '.' || pg_catalog.quote_ident(c.relname) as name,
         pg_catalog.row_number() over (order by c.oid) as place
       from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
       join pg_catalog.pg_roles r on r.oid = c.relowner
       where c.relkind in ('r', 'S') and (r.rolname = $1 or r.rolname ~ $2)) stored
     group by (place - 1) / $3 order by 1`,
    [masterRole, otherRolesPattern(masterRole), atOnce],
  )
  return rows.map(({ tables }) => tables)
}

/** Where ALTER has another word than the catalogs. */
const alterWord: Readonly<Record<string, string>> = {
  'statistics object': 'statistics',
  'composite type': 'type',
}

/** The materialized views of these oids that hold rows, in this order. */
export async function readFilledViews(
  administrator: Session,
  oids: readonly string[],
): Promise<readonly Readonly<{ name: string; owner: string }>[]> {
  const { rows } = await administrator.query<{ name: string; owner: string }>(
    `select pg_catalog.format('%I.%I', n.nspname, c.relname) as name, pg_catalog.pg_get_userbyid(c.relowner) as owner
     from pg_catalog.unnest($1::oid[]) with ordinality wanted (oid, place)
     join pg_catalog.pg_class c on c.oid = wanted.oid
     join pg_catalog.pg_namespace n on n.oid = c.relnamespace
     where c.relispopulated order by place`,
    [oids],
  )
  return rows
}
