import type { TenantDatabase } from '../postgres/tenant-names.ts'
import type { Queryable } from '../postgres/transaction.ts'

export type TenantNames = Readonly<{ databases: readonly string[]; roles: readonly string[] }>

/** `spareRoles` are of future members. They may be missing. */
type KnownNames = TenantNames & Readonly<{ spareRoles: readonly string[] }>

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

/** Databases with a user that has a quota. */
export async function quotaDatabases(control: Queryable): Promise<readonly TenantDatabase[]> {
  const { rows } = await control.query<TenantDatabase>(
    `select distinct d.host_id as "hostId", d.name as database
     from cartage.users u join cartage.databases d on d.id = u.database_id
     where u.state = 'active' and u.quota_in_bytes > 0`,
  )
  return rows
}

export type RefusedUser = Readonly<{ username: string; limit: string; requests: number }>

/** Users whose requests were refused in the last 24 hours because they were at a limit, most requests first. */
export async function refusedUsers(control: Queryable): Promise<readonly RefusedUser[]> {
  const { rows } = await control.query<RefusedUser>(
    `select u.username, r.limit_name as "limit", sum(r.requests)::float8 as requests
     from cartage.refusals r join cartage.users u on u.id = r.user_id
     where r.hour > clock_timestamp() - interval '24 hours'
     group by 1, 2 order by 3 desc, 1, 2`,
  )
  return rows
}

/** Users with as many jobs queued as they may have. */
export async function fullQueues(
  control: Queryable,
  configured: number,
): Promise<readonly Readonly<{ username: string; jobs: number; most: number }>[]> {
  const { rows } = await control.query<{ username: string; jobs: number; most: number }>(
    `select u.username, q.pending + q.delayed as jobs, coalesce(q.most_pending, $1) as most
     from cartage.job_queues q join cartage.users u on u.id = q.user_id
     where not q.is_import and q.pending + q.delayed >= coalesce(q.most_pending, $1) order by u.username`,
    [configured],
  )
  return rows
}
