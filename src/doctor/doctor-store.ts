import type { Queryable } from '../postgres/transaction.ts'

export type Names = Readonly<{ databases: readonly string[]; roles: readonly string[] }>

/** `spareRoles` are of future members. They may be missing. */
type KnownNames = Names & Readonly<{ spareRoles: readonly string[] }>

/** What should be on a host. Includes half-made accounts: another process may be working on them. */
export async function readKnownNames(control: Queryable, hostId: number): Promise<KnownNames> {
  const { rows } = await control.query<KnownNames>(
    `with here as (select u.* from cartage.users u join cartage.databases d on d.id = u.database_id where d.host_id = $1)
     select array(select name from cartage.databases where host_id = $1) as databases,
       array(select master_role from here union select public_role from here
         union select k.role_name from cartage.api_keys k where k.user_id in (select id from here)) as roles,
       array(select unnest(array[master_role, public_role]) from cartage.spare_members) as "spareRoles"`,
    [hostId],
  )
  return rows[0]!
}

/** Users and organizations that have been half-made or half-removed for ten minutes. */
export async function readUnfinishedNames(control: Queryable): Promise<readonly string[]> {
  const { rows } = await control.query<{ name: string }>(
    `select username as name from cartage.users where state <> 'active' and updated_at < now() - interval '10 minutes'
     union select name from cartage.organizations where state <> 'active' and created_at < now() - interval '10 minutes'`,
  )
  return rows.map(({ name }) => name)
}
