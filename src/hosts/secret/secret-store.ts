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
  await tx.query('lock table cartage.api_keys, cartage.hosts, cartage.map_templates in exclusive mode')
}

export async function replaceVerifier(tx: ClientBase, verifier: Buffer): Promise<void> {
  await tx.query('update cartage.server_secret set verifier = $1, rotated_at = now()', [verifier])
}

export type SealedTemplate = Readonly<{ userId: number; name: string; sealedTokens: Buffer }>

/** The templates of maps that have tokens of their viewers. */
export async function readSealedTemplates(tx: ClientBase): Promise<readonly SealedTemplate[]> {
  const { rows } = await tx.query<QueryResultRow & SealedTemplate>(
    `select user_id as "userId", name, sealed_tokens as "sealedTokens" from cartage.map_templates where sealed_tokens is not null`,
  )
  return rows
}

export type SealedWebhook = Readonly<{ id: string; sealedSecret: Buffer }>

/** The secrets with which webhooks are signed. */
export async function readSealedWebhooks(tx: ClientBase): Promise<readonly SealedWebhook[]> {
  const { rows } = await tx.query<QueryResultRow & SealedWebhook>(
    `select id, sealed_secret as "sealedSecret" from cartage.webhooks where sealed_secret is not null`,
  )
  return rows
}

export async function resealWebhook(tx: ClientBase, { id, sealedSecret }: SealedWebhook): Promise<void> {
  await tx.query('update cartage.webhooks set sealed_secret = $2 where id = $1', [id, sealedSecret])
}

export async function resealTemplate(
  tx: ClientBase,
  { userId, name, sealedTokens }: SealedTemplate,
): Promise<void> {
  await tx.query('update cartage.map_templates set sealed_tokens = $3 where user_id = $1 and name = $2', [
    userId,
    name,
    sealedTokens,
  ])
}
