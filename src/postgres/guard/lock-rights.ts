import type { Session } from '../session.ts'
import type { LockRow } from './lock-rules.ts'

/**
 * True if a role may hold such a lock in this database. A strong lock needs ownership, or a privilege that PostgreSQL
 * requires for it; a weak one needs any privilege. A role may also lock relations that it cannot name, through objects
 * of others that it may use: views, functions and triggers with their owners' rights, foreign keys.
 */
export async function mayLock(
  administrator: Session,
  role: string,
  { locktype, relation, classid, objid }: LockRow,
  isStrong: boolean,
): Promise<boolean> {
  const { rows } =
    locktype === 'relation'
      ? await administrator.query<Verdict>(onRelation, [role, relation, isStrong ? strong : any])
      : await administrator.query<Verdict>(onObject, [role, classid, objid])
  return rows[0]!.may
}

type Verdict = { may: boolean }

const strong = 'update, delete, truncate, references, trigger'
const any = `select, insert, ${strong}`

/** A view counts only if its owner may read the table: anyone can make a view of anything. */
const onRelation = `
  with recursive related as (
    select $2::oid as oid
    union
    select next.oid from related cross join lateral (
      select indrelid from pg_catalog.pg_index where indexrelid = related.oid
      union select oid from pg_catalog.pg_class where reltoastrelid = related.oid
      union select inhparent from pg_catalog.pg_inherits where inhrelid = related.oid
      union select conrelid from pg_catalog.pg_constraint where contype = 'f' and confrelid = related.oid
      union select confrelid from pg_catalog.pg_constraint where contype = 'f' and conrelid = related.oid
      union select view.oid from pg_catalog.pg_depend
        join pg_catalog.pg_rewrite rule on rule.oid = objid
        join pg_catalog.pg_class view on view.oid = ev_class
        where classid = 'pg_catalog.pg_rewrite'::regclass and refclassid = 'pg_catalog.pg_class'::regclass
          and refobjid = related.oid
          and pg_catalog.has_any_column_privilege(view.relowner, related.oid, 'select')
    ) next (oid)
  )
  select not exists (select from pg_catalog.pg_class where oid = $2)
    or (
      select not pg_catalog.has_schema_privilege($1::name, relnamespace, 'usage')
        or exists (
          select from pg_catalog.pg_proc
          where prosecdef and not (select rolsuper from pg_catalog.pg_roles where oid = proowner)
            and pg_catalog.pg_has_role(proowner, relowner, 'usage')
            and (pg_catalog.has_function_privilege($1::name, pg_proc.oid, 'execute') or exists (
              select from pg_catalog.pg_trigger
              where tgfoid = pg_proc.oid
                and pg_catalog.has_table_privilege($1::name, tgrelid, 'insert, update, delete, truncate'))))
      from pg_catalog.pg_class where oid = $2)
    or exists (
      select from related join pg_catalog.pg_class on pg_class.oid = related.oid
      join pg_catalog.pg_namespace on pg_namespace.oid = relnamespace
      where pg_catalog.pg_has_role($1::name, relowner, 'usage') or pg_catalog.pg_has_role($1::name, nspowner, 'usage')
        or pg_catalog.has_table_privilege($1::name, related.oid, $3)
        or pg_catalog.has_any_column_privilege($1::name, related.oid, 'references')
        or ($3 like 'select%' and pg_catalog.has_any_column_privilege($1::name, related.oid, 'select, insert, update'))) as may`

/** Objects of the administrator have no row in pg_shdepend. */
const onObject = `
  select exists (
      select from pg_catalog.pg_shdepend
      where dbid = (select oid from pg_catalog.pg_database where datname = pg_catalog.current_database())
        and classid = $2 and objid = $3 and refclassid = 'pg_catalog.pg_authid'::regclass and deptype = 'o'
        and pg_catalog.pg_has_role($1::name, refobjid, 'usage'))
    or exists (
      select from pg_catalog.pg_identify_object($2, $3, 0) object
      join pg_catalog.pg_namespace on pg_catalog.quote_ident(nspname) = object.schema
      where pg_catalog.pg_has_role($1::name, nspowner, 'usage')) as may`
