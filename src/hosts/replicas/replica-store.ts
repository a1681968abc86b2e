import type { ClientBase } from 'pg'
import type { TenantDatabase } from '../../postgres/tenant-names.ts'
import type { Queryable } from '../../postgres/transaction.ts'

export type SealedReplica = Readonly<{ id: number; hostId: number; name: string; sealedUrl: Buffer }>

/** The replicas of all hosts, by name. */
export async function readSealedReplicas(control: Queryable): Promise<readonly SealedReplica[]> {
  const { rows } = await control.query<SealedReplica>(
    'select id, host_id as "hostId", name, sealed_url as "sealedUrl" from cartage.replicas order by name',
  )
  return rows
}

export type Fence = TenantDatabase & Readonly<{ position: string }>

/** Positions as numbers of bytes. No replica may be as old as those that are left out: see `CARTAGE_REPLICA_MAX_LAG_MS`. */
export async function readFences(control: Queryable): Promise<readonly Fence[]> {
  const { rows } = await control.query<Fence>(
    `select d.host_id as "hostId", d.name as database, (f.position - '0/0'::pg_lsn)::text as position
     from cartage.replica_fences f join cartage.databases d on d.id = f.database_id and d.host_id = f.host_id
     where f.raised_at > now() - interval '2 hours'`,
  )
  return rows
}

/** A fence never goes back on its host. */
export async function raiseFence(
  control: Queryable,
  hostId: number,
  database: string,
  position: bigint,
): Promise<void> {
  await control.query(
    `insert into cartage.replica_fences as known (database_id, host_id, position)
     select id, host_id, '0/0'::pg_lsn + $3::numeric from cartage.databases where host_id = $1 and name = $2
     on conflict (database_id) do update
     set host_id = excluded.host_id, raised_at = now(), position =
       case when known.host_id = excluded.host_id then greatest(known.position, excluded.position) else excluded.position end`,
    [hostId, database, String(position)],
  )
}

export async function hasReplicas(control: Queryable, hostId: number): Promise<boolean> {
  const { rowCount } = await control.query('select from cartage.replicas where host_id = $1 limit 1', [
    hostId,
  ])
  return rowCount === 1
}

/** False: the name is taken, by a replica or a host. */
export async function insertReplica(
  tx: ClientBase,
  { hostId, name, sealedUrl }: Omit<SealedReplica, 'id'>,
): Promise<boolean> {
  const { rowCount } = await tx.query(
    `insert into cartage.replicas (host_id, name, sealed_url)
     select $1, $2, $3 where not exists (select from cartage.hosts where name = $2)
     on conflict (name) do nothing`,
    [hostId, name, sealedUrl],
  )
  return rowCount === 1
}

export async function resealReplica(tx: ClientBase, id: number, sealedUrl: Buffer): Promise<void> {
  await tx.query('update cartage.replicas set sealed_url = $2 where id = $1', [id, sealedUrl])
}

/** Deletes a replica of this host, or of any host. Returns the name of the host; undefined: there is no such replica. */
export async function deleteReplica(
  tx: ClientBase,
  name: string,
  host: string | undefined,
): Promise<string | undefined> {
  const { rows } = await tx.query<{ host: string }>(
    `delete from cartage.replicas r using cartage.hosts h
     where h.id = r.host_id and r.name = $1 and ($2::text is null or h.name = $2) returning h.name as host`,
    [name, host ?? null],
  )
  return rows[0]?.host
}
