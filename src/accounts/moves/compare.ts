import { errors } from '../../errors.ts'
import type { Installation } from '../../hosts/installation.ts'
import type { Session } from '../../postgres/session.ts'
import { adminTarget, type SessionTarget } from '../../postgres/session-target.ts'
import { type Privilege, readPrivileges } from './access-lists.ts'
import { moverOf } from './mover.ts'
import { readRecords } from './new-place.ts'
import { readOwned } from './owners.ts'

/** Everything by which two copies of an account are compared, each thing as one line. */
export type Picture = ReadonlyMap<string, string>

/** Throws unless both are the same, with the first difference. */
export function requireEqual(before: Picture, after: Picture): void {
  for (const [name, value] of before) {
    const other = after.get(name)
    if (other === value) continue
    throw errors.moveFailed(
      `The copy differs in ${name}: ${cut(value)} here, ${other === undefined ? 'missing' : cut(other)} there`,
    )
  }
  for (const name of after.keys())
    if (!before.has(name)) throw errors.moveFailed(`The copy has ${name}, which is not here`)
}

const cut = (text: string) => (text.length > 200 ? `${text.slice(0, 200)}...` : text)

/** Counts and checksums of all rows, sequences, definitions, owners, access lists and what the service keeps. */
export async function picture(
  { databases }: Installation,
  database: string,
  hostId: number,
  roles: readonly string[],
): Promise<Picture> {
  const { admin, hosts, job } = databases
  const seen = new Map<string, string>()
  await admin.use(adminTarget(hosts, hostId, database), async (session) => {
    const note = (what: string, things: readonly unknown[]) => {
      for (const thing of things) seen.set(lineOf(what, thing), (thing as { value?: string }).value ?? '')
    }
    note('object', await readOwned(session, roles))
    note('privilege', await readPrivileges(session, roles))
    for (const [what, text] of Object.entries(definitions))
      note(what, (await session.query<CatalogEntry>(shortened(text), [roles])).rows)
    seen.set('record of the service', JSON.stringify(await readRecords(session)))
  })
  const reader: SessionTarget = { hostId, database, role: moverOf(database), searchPath: 'pg_catalog' }
  await job.use(reader, async (session) => {
    await session.query(`set datestyle = 'ISO, YMD'; set timezone = 'UTC'; set intervalstyle = 'postgres';
      set extra_float_digits = 3; set bytea_output = 'hex'; set lc_monetary = 'C'; set statement_timeout = 0`)
    for (const { name, kind } of await listStored(session, roles))
      seen.set(`rows of ${name}`, await sumOf(session, name, kind))
  })
  return seen
}

function lineOf(what: string, thing: unknown): string {
  const { value, ...name } = thing as { value?: string }
  return `${what} ${Object.values(name).join(' ')}`
}

/** The same without these privileges, which the copy is not to have. */
export function withoutPrivileges(whole: Picture, privileges: readonly Privilege[]): Picture {
  const left = new Map(whole)
  for (const privilege of privileges) left.delete(lineOf('privilege', privilege))
  return left
}

/** A definition may be large, and all of them are kept. */
const shortened = (text: string) =>
  `select name, case when pg_catalog.length(value) > 200 then pg_catalog.md5(value) else value end as value from (${text}) d`

type CatalogEntry = Readonly<{ name: string; value: string }>

const ofRoles = `any (array(select r.oid from pg_catalog.pg_roles r where r.rolname = any ($1)))`
const inTables = `select c.oid from pg_catalog.pg_class c where c.relowner = ${ofRoles}`

/** PostgreSQL writes stored code as text, without running it. */
const definitions: Readonly<Record<string, string>> = {
  column: `
    select a.attrelid::regclass::text || '.' || a.attname as name, pg_catalog.concat_ws(' ',
      pg_catalog.format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attidentity, a.attgenerated, a.attstorage,
      a.attstattarget, pg_catalog.pg_get_expr(d.adbin, d.adrelid)) as value
    from pg_catalog.pg_attribute a left join pg_catalog.pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
    where a.attnum > 0 and not a.attisdropped and a.attrelid in (${inTables} and c.relkind in ('r', 'p', 'v', 'm', 'f', 'c'))`,
  relation: `
    select c.oid::regclass::text as name, pg_catalog.concat_ws(' ', c.relkind, c.relpersistence, c.relrowsecurity,
      c.relforcerowsecurity, c.relispopulated, c.relreplident, c.reloptions::text,
      case when c.relkind in ('v', 'm') then pg_catalog.md5(pg_catalog.pg_get_viewdef(c.oid)) end) as value
    from pg_catalog.pg_class c where c.relowner = ${ofRoles} and c.relkind in ('r', 'p', 'v', 'm', 'f', 'S')`,
  constraint: `
    select k.conrelid::regclass::text || ' ' || k.contypid::regtype::text || ' ' || k.conname as name,
      pg_catalog.pg_get_constraintdef(k.oid) as value
    from pg_catalog.pg_constraint k
    where k.conrelid in (${inTables}) or k.contypid in (select t.oid from pg_catalog.pg_type t where t.typowner = ${ofRoles})`,
  index: `
    select i.indexrelid::regclass::text as name, pg_catalog.pg_get_indexdef(i.indexrelid) || i.indisclustered::text as value
    from pg_catalog.pg_index i where i.indrelid in (${inTables} and c.relkind in ('r', 'p', 'm'))`,
  trigger: `
    select t.tgrelid::regclass::text || ' ' || t.tgname as name,
      pg_catalog.pg_get_triggerdef(t.oid) || t.tgenabled::text as value
    from pg_catalog.pg_trigger t where not t.tgisinternal and t.tgrelid in (${inTables})`,
  rule: `
    select w.ev_class::regclass::text || ' ' || w.rulename as name, pg_catalog.pg_get_ruledef(w.oid) || w.ev_enabled::text as value
    from pg_catalog.pg_rewrite w where w.rulename <> '_RETURN' and w.ev_class in (${inTables})`,
  policy: `
    select p.polrelid::regclass::text || ' ' || p.polname as name, pg_catalog.concat_ws(' ', p.polcmd, p.polpermissive,
      array(select pg_catalog.pg_get_userbyid(r.oid) from pg_catalog.unnest(p.polroles) r (oid) order by 1)::text,
      pg_catalog.pg_get_expr(p.polqual, p.polrelid), pg_catalog.pg_get_expr(p.polwithcheck, p.polrelid)) as value
    from pg_catalog.pg_policy p where p.polrelid in (${inTables})`,
  routine: `
    select p.oid::regprocedure::text as name, pg_catalog.concat_ws(' ', p.prokind, p.prosecdef, p.provolatile, p.proparallel,
      p.proisstrict, p.proconfig::text, pg_catalog.pg_get_function_result(p.oid), pg_catalog.md5(p.prosrc)) as value
    from pg_catalog.pg_proc p where p.proowner = ${ofRoles}`,
  label: `
    select e.enumtypid::regtype::text || ' ' || e.enumlabel as name, e.enumsortorder::text as value
    from pg_catalog.pg_enum e join pg_catalog.pg_type t on t.oid = e.enumtypid where t.typowner = ${ofRoles}`,
  comment: `
    select found.type || ' ' || found.identity as name, pg_catalog.md5(d.description) as value
    from pg_catalog.pg_description d cross join lateral pg_catalog.pg_identify_object(d.classoid, d.objoid, d.objsubid) found
    where (d.classoid, d.objoid) in (
      select 'pg_catalog.pg_class'::regclass, o.oid from (${inTables}) o
      union all select 'pg_catalog.pg_proc'::regclass, p.oid from pg_catalog.pg_proc p where p.proowner = ${ofRoles}
      union all select 'pg_catalog.pg_type'::regclass, t.oid from pg_catalog.pg_type t where t.typowner = ${ofRoles}
      union all select 'pg_catalog.pg_namespace'::regclass, n.oid from pg_catalog.pg_namespace n where n.nspowner = ${ofRoles})`,
  membership: `
    select pg_catalog.pg_get_userbyid(m.roleid) || ' ' || pg_catalog.pg_get_userbyid(m.member) as name, m.admin_option::text as value
    from pg_catalog.pg_auth_members m where m.roleid = ${ofRoles} and m.member = ${ofRoles}`,
  'large object': `
    select m.oid::text as name, pg_catalog.concat_ws(' ', pg_catalog.count(l.pageno),
      pg_catalog.sum(pg_catalog.hashtextextended(pg_catalog.encode(l.data, 'hex'), l.pageno))) as value
    from pg_catalog.pg_largeobject_metadata m left join pg_catalog.pg_largeobject l on l.loid = m.oid
    where m.lomowner = ${ofRoles} group by m.oid`,
}

type StoredObject = Readonly<{ name: string; kind: string }>

/** Not materialized views: their rows are those of a query that ran at another time. */
async function listStored(session: Session, roles: readonly string[]): Promise<readonly StoredObject[]> {
  const { rows } = await session.query<StoredObject>(
    `select pg_catalog.format('%I.%I', n.nspname, c.relname) as name, c.relkind as kind
     from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid operator(pg_catalog.=) c.relnamespace
     join pg_catalog.pg_roles r on r.oid operator(pg_catalog.=) c.relowner
     where r.rolname operator(pg_catalog.=) any ($1::name[]) and c.relkind operator(pg_catalog.=) any ('{r,S}'::"char"[])`,
    [roles],
  )
  return rows
}

/** The sum does not depend on the order of the rows. No name in it can be that of a tenant's function. */
async function sumOf(session: Session, name: string, kind: string): Promise<string> {
  const text =
    kind === 'S'
      ? `select pg_catalog.concat_ws(' ', s.last_value, s.is_called) as sum from ${name} s`
      : `select pg_catalog.concat_ws(' ', pg_catalog.count(*),
           pg_catalog.sum(pg_catalog.hashtextextended(pg_catalog.textin(pg_catalog.record_out(t)), 0))) as sum
         from only ${name} t`
  const { rows } = await session.onClient((client) => client.query<{ sum: string }>(text))
  return rows[0]!.sum
}
