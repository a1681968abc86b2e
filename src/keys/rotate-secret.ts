import type { ClientBase } from 'pg'
import { operator, recordAudit } from '../audit/audit-store.ts'
import { announceChange } from '../auth/change-feed.ts'
import { errors } from '../errors.ts'
import type { Installation } from '../hosts/installation.ts'
import { isOutOfReach } from '../hosts/out-of-reach.ts'
import { moveRolePasswords } from '../hosts/role-passwords.ts'
import { allowLongStatements } from '../postgres/control-pool.ts'
import type { Host } from '../postgres/hosts.ts'
import { hasOtherProcesses } from '../postgres/other-processes.ts'
import { inTransaction } from '../postgres/transaction.ts'
import type { Secrets } from '../secrets.ts'

export type Rotation = Readonly<{ keys: number; hosts: number; roles: number }>

/**
 * Moves everything that follows from the server secret to another one, while no other process runs. Tokens stay what
 * they are. One transaction decides: cut off before its commit, nothing has happened; after it the new secret is the
 * installation's, and the next start gives the roles their passwords. `stage` puts the new secret where that start
 * finds it.
 */
export async function rotateSecret(
  installation: Installation,
  fresh: Secrets,
  stage: () => Promise<void>,
): Promise<Rotation> {
  const { control, hosts } = installation.databases
  const stored = await inTransaction(control, async (tx) => {
    await allowLongStatements(tx)
    // Who starts at this moment waits here, and is then turned away.
    await tx.query('lock table cartage.server_secret in access exclusive mode')
    await tx.query('lock table cartage.api_keys, cartage.hosts in exclusive mode')
    if (await hasOtherProcesses(control, tx)) throw errors.secretWrong(stopTheOthers)
    const counts = {
      keys: await moveTokens(tx, installation.secrets, fresh),
      hosts: await moveHosts(tx, installation.secrets, fresh),
    }
    await stage()
    await tx.query('update cartage.server_secret set verifier = $1, rotated_at = now()', [fresh.verifier])
    await tx.query('update cartage.hosts set has_old_passwords = true')
    await recordAudit(tx, { actor: operator, action: 'secret.rotated', details: counts })
    await announceChange(tx)
    return counts
  })
  const roles = await movePasswords({ ...installation, secrets: fresh }, hosts.all())
  return { ...stored, roles }
}

/** A host that does not answer gets them when it is back. */
async function movePasswords(installation: Installation, hosts: readonly Host[]): Promise<number> {
  let count = 0
  for (const { id, name } of hosts) {
    count += await moveRolePasswords(installation, id).catch((error: unknown) => {
      if (!isOutOfReach(error)) throw error
      installation.log.error(
        { host: name },
        'a host does not answer: its roles keep their old passwords until it does',
      )
      return 0
    })
  }
  return count
}

const stopTheOthers =
  'Other Cartage processes run on this installation: stop them all, change the secret, then start them with the new one'

async function moveTokens(tx: ClientBase, old: Secrets, fresh: Secrets): Promise<number> {
  const { rows } = await tx.query<{ id: number; token_encrypted: Buffer }>(
    'select id, token_encrypted from cartage.api_keys',
  )
  const tokens = rows.map((row) =>
    opened(() => old.decryptToken(row.token_encrypted), `the token of key ${row.id}`),
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
    const url = opened(() => old.open(sealed_url), `the address of host ${id}`)
    await tx.query('update cartage.hosts set sealed_url = $2 where id = $1', [id, fresh.seal(url)])
  }
  return rows.length
}

function opened(open: () => string, what: string): string {
  try {
    return open()
  } catch {
    throw errors.secretWrong(`The secret does not open ${what}, which was made with another one`)
  }
}
