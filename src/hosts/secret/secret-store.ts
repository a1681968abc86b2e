import type { ClientBase, QueryResultRow } from 'pg'
import type { Queryable } from '../../postgres/transaction.ts'

/** The verifier is derived from the installation's secret: it recognises the secret and does not reveal it. */
export type KnownSecret = Readonly<{ verifier: Buffer; rotatedAt: Date | null }>

export async function readVerifier(control: Queryable): Promise<KnownSecret | undefined> {
  const { rows } = await control.query<QueryResultRow & KnownSecret>(
    'select verifier, rotated_at as "rotatedAt" from cartage.server_secret',
  )
  return rows[0]
}

/** If several processes start together, the first one decides. */
export async function insertVerifier(control: Queryable, verifier: Buffer): Promise<void> {
  await control.query('insert into cartage.server_secret (verifier) values ($1) on conflict do nothing', [
    verifier,
  ])
}

/** Locks the secret and what is encrypted with it. A process that starts now waits, and is then refused. */
export async function lockSecret(tx: ClientBase): Promise<void> {
  await tx.query('lock table cartage.server_secret in access exclusive mode')
  await tx.query('lock table cartage.api_keys, cartage.hosts in exclusive mode')
}

export async function replaceVerifier(tx: ClientBase, verifier: Buffer): Promise<void> {
  await tx.query('update cartage.server_secret set verifier = $1, rotated_at = now()', [verifier])
}
