import { quoteName } from '../../contract/text/quote.ts'
import type { Session } from '../../postgres/session.ts'
import { masterRoleOf } from '../../postgres/tenant-names.ts'

/** One privilege that one role gave another on an object, a column, or objects to come. */
export type Privilege = Readonly<{
  /** As in GRANT: table, sequence, routine, schema, type, database, large object; or `default` for objects to come. */
  kind: string
  object: string
  /** The column, or empty. For default privileges: the kind of the later objects. */
  part: string
  /** Null: the operator, whose name is another on each host. */
  grantor: string | null
  /** Null: PUBLIC. */
  grantee: string | null
  privilege: string
  isGrantable: boolean
}>

/** All privileges on what the roles own, and all that they have elsewhere in the database. Names in no code of a tenant. */
export async function readPrivileges(
  administrator: Session,
  roles: readonly string[],
): Promise<readonly Privilege[]> {
  const { rows } = await administrator.query<Privilege>(privilegesSql, [roles])
  return rows
}

const privilegesSql = `
  with role as (select oid, rolname::text as name from pg_catalog.pg_roles where rolname = any ($1)),
  item (kind, object, part, owner, acl) as (
    select case relkind when 'S' then 'sequence' else 'table' end,
      (pg_catalog.pg_identify_object('pg_catalog.pg_class'::regclass, oid, 0)).identity, '', relowner,
      coalesce(relacl, pg_catalog.acldefault(case relkind when 'S' then 's' else 'r' end::"char", relowner))
    from pg_catalog.pg_class
    where relkind in ('r', 'p', 'v', 'm', 'f', 'S') and (relacl is not null or relowner in (select oid from role))
    union all
    select 'table', (pg_catalog.pg_identify_object('pg_catalog.pg_class'::regclass, attrelid, 0)).identity,
      pg_catalog.quote_ident(attname), relowner, attacl
    from pg_catalog.pg_attribute join pg_catalog.pg_class on pg_class.oid = attrelid
    where attacl is not null and not attisdropped
    union all
    select 'routine', (pg_catalog.pg_identify_object('pg_catalog.pg_proc'::regclass, oid, 0)).identity, '', proowner,
      coalesce(proacl, pg_catalog.acldefault('f', proowner))
    from pg_catalog.pg_proc
    where proowner in (select oid from role)
      or exists (select from pg_catalog.aclexplode(proacl) where grantee in (select oid from role))
    union all
    select 'schema', pg_catalog.quote_ident(nspname), '', nspowner,
      coalesce(nspacl, pg_catalog.acldefault('n', nspowner))
    from pg_catalog.pg_namespace where nspacl is not null or nspowner in (select oid from role)
    union all
    select 'type', (pg_catalog.pg_identify_object('pg_catalog.pg_type'::regclass, t.oid, 0)).identity, '', typowner,
      coalesce(typacl, pg_catalog.acldefault('T', typowner))
    from pg_catalog.pg_type t left join pg_catalog.pg_class c on c.oid = t.typrelid
    where (typacl is not null or typowner in (select oid from role)) and (c.oid is null or c.relkind = 'c')
      and typcategory <> 'A' and typtype <> 'm'
    union all
    select 'large object', oid::text, '', lomowner, coalesce(lomacl, pg_catalog.acldefault('L', lomowner))
    from pg_catalog.pg_largeobject_metadata
    union all
    select 'database', pg_catalog.quote_ident(datname), '', datdba, datacl
    from pg_catalog.pg_database where datname = pg_catalog.current_database()
  ),
  given as (
    select kind, object, part, owner, access.*
    from item cross join lateral pg_catalog.aclexplode(acl) access
    where owner in (select oid from role) or grantor in (select oid from role) or grantee in (select oid from role)
    union all
    select 'default', role.name, objects.word, role.oid, access.*
    from role cross join (values ('r', 'tables'), ('S', 'sequences'), ('f', 'functions'), ('T', 'types'), ('n', 'schemas'))
      objects (letter, word)
    left join pg_catalog.pg_default_acl set_by_role
      on defaclrole = role.oid and defaclnamespace = 0 and defaclobjtype = letter::"char"
    cross join lateral pg_catalog.aclexplode(
      coalesce(defaclacl, pg_catalog.acldefault(replace(letter, 'S', 's')::"char", role.oid))) access
    union all
    select 'default', role.name || ' in schema ' || pg_catalog.quote_ident(nspname), objects.word, role.oid, access.*
    from pg_catalog.pg_default_acl join role on role.oid = defaclrole
    join pg_catalog.pg_namespace on pg_namespace.oid = defaclnamespace
    join (values ('r', 'tables'), ('S', 'sequences'), ('f', 'functions'), ('T', 'types'), ('n', 'schemas'))
      objects (letter, word) on letter::"char" = defaclobjtype
    cross join lateral pg_catalog.aclexplode(defaclacl) access
  )
  select kind, object, part, giver.name as grantor,
    case when grantee = 0 then null else pg_catalog.pg_get_userbyid(grantee)::text end as grantee,
    privilege_type as privilege, is_grantable as "isGrantable"
  from given left join role giver on giver.oid = grantor
  where grantee = 0 or grantee in (select oid from role)
  order by 1, 2, 3, 4 nulls first, 5 nulls first, 6`

/** What could not be made equal, and what was left out as it may not be given. */
export type PrivilegesLeft = Readonly<{ different: readonly Privilege[]; notGiven: readonly Privilege[] }>

/**
 * Makes the privileges on this host what they are on the other. Roles that gave a privilege give it again, so that it
 * can be taken back by them. GRANT and REVOKE run no code of a tenant. The other host may lie: see `nameableHere`.
 */
export async function alignPrivileges(
  administrator: Session,
  roles: readonly string[],
  wanted: readonly Privilege[],
  mayGive: (privilege: Privilege) => boolean,
): Promise<PrivilegesLeft> {
  const isNameable = await nameableHere(administrator, roles, wanted)
  let held = await readPrivileges(administrator, roles)
  const here = new Set(held.map(keyOf))
  // What may not be given is here already if every user has it.
  const isGiven = (each: Privilege) =>
    mayGive(each) || (here.has(keyOf(each)) && each.object !== largeObjectMaker)
  const given = wanted.filter(isGiven)
  const givenKeys = new Set(given.map(keyOf))
  for (let pass = 0; ; pass++) {
    const heldKeys = new Set(held.map(keyOf))
    const missing = given.filter((privilege) => !heldKeys.has(keyOf(privilege)))
    const surplus = held.filter((privilege) => !givenKeys.has(keyOf(privilege)))
    if (missing.length + surplus.length === 0 || pass === mostPasses)
      return { different: [...missing, ...surplus], notGiven: wanted.filter((each) => !isGiven(each)) }
    for (const privilege of surplus) await apply(administrator, privilege, 'revoke')
    for (const privilege of missing) if (isNameable(privilege)) await apply(administrator, privilege, 'grant')
    held = await readPrivileges(administrator, roles)
  }
}

/** The right to it is given to a user for the time of a copy, and stays only if it had it before. */
export const largeObjectMaker = 'pg_catalog.lo_create(pg_catalog.oid)'

/**
 * What the operator gives by hand stays out of the reach of a backup: who wrote the backup would choose the functions and
 * catalogs of the server that the user may use. So does what a role that is none of the account's has given.
 */
export const mayBackupGive = ({ kind, object, grantor }: Privilege) =>
  grantor !== null || kind === 'database' || (kind === 'schema' && object === 'public')

/**
 * Before all is made equal: members of an organization have the privileges on each other's objects that they have on the
 * other host, as far as the objects are there, and no others. What a user may do with its own objects stays as it is.
 */
export async function alignAcross(
  administrator: Session,
  roles: readonly string[],
  wanted: readonly Privilege[],
): Promise<void> {
  const held = await readPrivileges(administrator, roles)
  const objects = new Set(held.map(({ kind, object }) => `${kind} ${object}`))
  const [heldKeys, wantedKeys] = [new Set(held.map(keyAcross)), new Set(wanted.map(keyAcross))]
  // By the owner, who may not be the one that it will be.
  const byOwner = (privilege: Privilege) => ({ ...privilege, grantor: null })
  for (const privilege of held.filter(isAcross))
    if (!wantedKeys.has(keyAcross(privilege))) await apply(administrator, byOwner(privilege), 'revoke')
  const missing = wanted
    .filter(isAcross)
    .filter((each) => objects.has(`${each.kind} ${each.object}`) && !heldKeys.has(keyAcross(each)))
  if (missing.length === 0) return
  const isNameable = await nameableHere(administrator, roles, missing)
  for (const privilege of missing.filter(isNameable)) await apply(administrator, byOwner(privilege), 'grant')
}

const isAcross = ({ grantor, grantee }: Privilege) =>
  grantor !== null && (grantee === null || masterRoleOf(grantee) !== masterRoleOf(grantor))

const keyAcross = (privilege: Privilege) =>
  keyOf({ ...privilege, grantor: privilege.grantor && masterRoleOf(privilege.grantor) })

/** One pass for each link of a chain of grants with grant option. */
const mostPasses = 8

/** A privilege whose grantor does not have the right yet is granted in the next pass. */
async function apply(administrator: Session, privilege: Privilege, verb: 'grant' | 'revoke'): Promise<void> {
  const { grantor } = privilege
  const as = grantor === null ? '' : `set local role ${quoteName(grantor)};`
  await administrator
    .query(`begin; ${as} ${statementOf(privilege, verb)}; commit`)
    .catch(async (error: unknown) => {
      await administrator.query('rollback')
      if (!administrator.isAlive) throw error
    })
}

function statementOf(
  { kind, object, part, grantee, privilege, isGrantable }: Privilege,
  verb: 'grant' | 'revoke',
): string {
  const to = grantee === null ? 'public' : quoteName(grantee)
  const end = verb === 'revoke' ? `from ${to} cascade` : `to ${to}${isGrantable ? ' with grant option' : ''}`
  if (kind === 'default')
    return `alter default privileges for role ${object} ${verb} ${privilege} on ${part} ${end}`
  const what = part === '' ? privilege : `${privilege} (${part})`
  return `${verb} ${what} on ${kind} ${object} ${end}`
}

const keyOf = (privilege: Privilege) => JSON.stringify(privilege)

/**
 * Privileges are read from another server, which may lie, and become statements of the administrator. Says which of them
 * name a privilege of PostgreSQL, the roles of the account, and an object of this database as this server writes it.
 */
async function nameableHere(
  administrator: Session,
  roles: readonly string[],
  privileges: readonly Privilege[],
): Promise<(privilege: Privilege) => boolean> {
  const isOurs = (role: string | null) => role === null || roles.includes(role)
  const items = new Map(privileges.map((privilege) => [keyOfItem(privilege), itemOf(privilege)]))
  const { rows } = await administrator.query<OnWhat>(itemsSql, [JSON.stringify([...items.values()]), roles])
  const here = new Set(rows.map(keyOfItem))
  return (privilege) =>
    words.has(privilege.privilege) &&
    isOurs(privilege.grantor) &&
    isOurs(privilege.grantee) &&
    here.has(keyOfItem(privilege))
}

type OnWhat = Pick<Privilege, 'kind' | 'object' | 'part'>

const itemOf = ({ kind, object, part }: OnWhat): OnWhat => ({ kind, object, part })

const keyOfItem = (item: OnWhat) => JSON.stringify(itemOf(item))

/** As aclexplode() writes them. */
const words: ReadonlySet<string> = new Set([
  ...['SELECT', 'INSERT', 'UPDATE', 'DELETE', 'TRUNCATE', 'REFERENCES', 'TRIGGER', 'MAINTAIN'],
  ...['EXECUTE', 'USAGE', 'CREATE', 'CONNECT', 'TEMPORARY'],
])

/** The names are made as `readPrivileges` makes them. */
const itemsSql = `
  with relation as materialized (
    select oid, case relkind when 'S' then 'sequence' else 'table' end as kind,
      (pg_catalog.pg_identify_object('pg_catalog.pg_class'::regclass, oid, 0)).identity as name
    from pg_catalog.pg_class where relkind in ('r', 'p', 'v', 'm', 'f', 'S')
  ),
  home as (select pg_catalog.quote_ident(nspname) as name from pg_catalog.pg_namespace),
  here (kind, object, part) as (
    select kind, name, '' from relation
    union all
    select 'table', name, pg_catalog.quote_ident(attname)
    from relation join pg_catalog.pg_attribute on attrelid = relation.oid where not attisdropped
    union all
    select 'routine', (pg_catalog.pg_identify_object('pg_catalog.pg_proc'::regclass, oid, 0)).identity, ''
    from pg_catalog.pg_proc
    union all
    select 'schema', name, '' from home
    union all
    select 'type', (pg_catalog.pg_identify_object('pg_catalog.pg_type'::regclass, oid, 0)).identity, ''
    from pg_catalog.pg_type
    union all
    select 'large object', oid::text, '' from pg_catalog.pg_largeobject_metadata
    union all
    select 'database', pg_catalog.quote_ident(pg_catalog.current_database()), ''
    union all
    select 'default', role.name || place.name, objects.word
    from pg_catalog.unnest($2::text[]) role (name)
    cross join (select '' as name union all select ' in schema ' || name from home) place
    cross join (values ('tables'), ('sequences'), ('functions'), ('types'), ('schemas')) objects (word)
  )
  select distinct kind, object, part
  from here join pg_catalog.json_to_recordset($1) wanted (kind text, object text, part text) using (kind, object, part)`
