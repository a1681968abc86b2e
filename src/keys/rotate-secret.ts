import type { ClientBase } from 'pg'
import { operator, recordAudit } from '../accounts/audit.ts'
import { announceChange, awaitCaches } from '../auth/change-feed.ts'
import { allowLongStatements } from '../postgres/control-pool.ts'
import { quoteIdentifier, quoteLiteral } from '../postgres/quote.ts'
import { scramVerifier } from '../postgres/scram-verifier.ts'
import { adminTarget } from '../postgres/session-target.ts'
import { inTransaction } from '../postgres/transaction.ts'
import type { Secrets } from '../secrets.ts'
import type { KeysContext } from './key.ts'

export type Rotation = Readonly<{ keys: number; hosts: number; roles: number }>

/**
 * Moves everything that follows from the server secret to another one: stored tokens and connection strings in one
 * transaction, then the passwords of all roles. Tokens stay what they are. `context` knows the old secret. Every
 * process has to be started anew with the new one; a run that was cut short can be repeated.
 */
export async function rotateSecret(context: KeysContext, fresh: Secrets): Promise<Rotation> {
  const { control } = context.databases
  const stored = await inTransaction(control, async (tx) => {
    await allowLongStatements(tx)
    await tx.query('lock table cartage.api_keys, cartage.hosts in exclusive mode')
    const counts = {
      keys: await moveTokens(tx, context.secrets, fresh),
      hosts: await moveHosts(tx, context.secrets, fresh),
    }
    await recordAudit(tx, { actor: operator, action: 'secret.rotated', details: counts })
    await announceChange(tx)
    return counts
  })
  await awaitCaches(control, context.log)
  return { ...stored, roles: await movePasswords(context, fresh) }
}

async function moveTokens(tx: ClientBase, old: Secrets, fresh: Secrets): Promise<number> {
  const { rows } = await tx.query<{ id: number; token_encrypted: Buffer }>(
    'select id, token_encrypted from cartage.api_keys',
  )
  const tokens = rows.map((row) =>
    openWithEither(row.token_encrypted, old.decryptToken, fresh.decryptToken, `the token of key ${row.id}`),
  )
  await tx.query(
    `update cartage.api_keys key set token_hash = moved.hash, token_encrypted = moved.sealed
     from unnest($1::integer[], $2::bytea[], $3::bytea[]) as moved(id, hash, sealed) where key.id = moved.id`,
    [rows.map((row) => row.id), tokens.map(fresh.hashToken), tokens.map(fresh.encryptToken)],
  )
  return rows.length
}

async function moveHosts(tx: ClientBase, old: Secrets, fresh: Secrets): Promise<number> {
  const { rows } = await tx.query<{ id: number; sealed_url: Buffer }>(
    'select id, sealed_url from cartage.hosts where sealed_url is not null',
  )
  for (const { id, sealed_url } of rows) {
    const url = openWithEither(sealed_url, old.open, fresh.open, `the address of host ${id}`)
    await tx.query('update cartage.hosts set sealed_url = $2 where id = $1', [id, fresh.seal(url)])
  }
  return rows.length
}

/** A run that was cut short has moved some things already. */
function openWithEither(
  sealed: Buffer,
  openOld: (sealed: Buffer) => string,
  openFresh: (sealed: Buffer) => string,
  what: string,
): string {
  for (const open of [openOld, openFresh]) {
    try {
      return open(sealed)
    } catch {}
  }
  throw new Error(`neither the old nor the new secret opens ${what}`)
}

/** The old passwords end here, not at the next login of each role. */
async function movePasswords({ databases, namespace }: KeysContext, fresh: Secrets): Promise<number> {
  let count = 0
  for (const { id: hostId } of databases.hosts.all()) {
    await databases.admin.use(adminTarget(databases.hosts, hostId), async (session) => {
      const { rows } = await session.query<{ rolname: string }>(
        `select rolname from pg_catalog.pg_roles where rolname ~ ('^' || $1 || '_u[0-9]+(_public|_k[0-9]+)?$')`,
        [namespace],
      )
      for (const { rolname } of rows) {
        const verifier = quoteLiteral(scramVerifier(fresh.rolePassword(rolname)))
        await session.query(`alter role ${quoteIdentifier(rolname)} password ${verifier}`)
      }
      count += rows.length
    })
  }
  return count
}
