import type { ClientBase } from 'pg'
import { operator, recordAudit } from '../../audit/audit-store.ts'
import { announceChange } from '../../auth/change-feed.ts'
import { readTokens, resealTokens } from '../../auth/token-store.ts'
import { errors } from '../../errors.ts'
import { allowLongStatements } from '../../postgres/control/control-pool.ts'
import { hasOtherProcesses } from '../../postgres/control/other-processes.ts'
import type { Host } from '../../postgres/hosts.ts'
import { isOutOfReach } from '../../postgres/sqlstate.ts'
import { inTransaction } from '../../postgres/transaction.ts'
import type { Secrets } from '../../secrets.ts'
import { changeUrl, markPasswordsOld, readSealedHosts } from '../host-store.ts'
import type { Installation } from '../installation.ts'
import { readSealedReplicas, resealReplica } from '../replicas/replica-store.ts'
import { moveRolePasswords } from './role-passwords.ts'
import {
  lockSecret,
  readSealedTemplates,
  readSealedWebhooks,
  replaceVerifier,
  resealTemplate,
  resealWebhook,
} from './secret-store.ts'

export type Rotation = Readonly<{ keys: number; hosts: number; roles: number }>

/**
 * Moves everything derived from the server secret to a new one, while no other process runs. Tokens stay the same. One
 * transaction decides: before its commit nothing has happened; after it the new secret is valid, and the next start
 * sets the roles' passwords. `stage` puts the new secret where that start finds it.
 */
export async function rotateSecret(
  installation: Installation,
  fresh: Secrets,
  stage: () => Promise<void>,
): Promise<Rotation> {
  const { control, hosts } = installation.databases
  const stored = await inTransaction(control, async (tx) => {
    await allowLongStatements(tx)
    await lockSecret(tx)
    if (await hasOtherProcesses(control, tx)) throw errors.secretWrong(stopTheOthers)
    const counts = {
      keys: await moveTokens(tx, installation.secrets, fresh),
      hosts: await moveHosts(tx, installation.secrets, fresh),
    }
    await moveTemplates(tx, installation.secrets, fresh)
    await moveWebhooks(tx, installation.secrets, fresh)
    await stage()
    await replaceVerifier(tx, fresh.verifier)
    await markPasswordsOld(tx)
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
        'a host does not answer: its roles keep their old passwords until it is back',
      )
      return 0
    })
  }
  return count
}

const stopTheOthers =
  'Other Cartage processes run on this installation: stop them all, change the secret, then start them with the new one'

async function moveTokens(tx: ClientBase, old: Secrets, fresh: Secrets): Promise<number> {
  const sealed = await readTokens(tx)
  const moved = sealed.map(({ keyId, encrypted }) => {
    const token = opened(() => old.decryptToken(encrypted), `the token of key ${keyId}`)
    return { keyId, encrypted: fresh.encryptToken(token), hash: fresh.hashToken(token) }
  })
  await resealTokens(tx, moved)
  return moved.length
}

async function moveHosts(tx: ClientBase, old: Secrets, fresh: Secrets): Promise<number> {
  const sealed = await readSealedHosts(tx)
  for (const { id, sealedUrl } of sealed) {
    const url = opened(() => old.open(sealedUrl), `the address of host ${id}`)
    await changeUrl(tx, id, fresh.seal(url))
  }
  for (const { id, name, sealedUrl } of await readSealedReplicas(tx)) {
    const url = opened(() => old.open(sealedUrl), `the address of the replica ${name}`)
    await resealReplica(tx, id, fresh.seal(url))
  }
  return sealed.length
}

async function moveTemplates(tx: ClientBase, old: Secrets, fresh: Secrets): Promise<void> {
  for (const template of await readSealedTemplates(tx)) {
    const tokens = opened(
      () => old.open(template.sealedTokens),
      `the tokens of the named map ${template.name}`,
    )
    await resealTemplate(tx, { ...template, sealedTokens: fresh.seal(tokens) })
  }
}

async function moveWebhooks(tx: ClientBase, old: Secrets, fresh: Secrets): Promise<void> {
  for (const { id, sealedSecret } of await readSealedWebhooks(tx)) {
    const secret = opened(() => old.open(sealedSecret), `the secret of the webhook ${id}`)
    await resealWebhook(tx, { id, sealedSecret: fresh.seal(secret) })
  }
}

function opened(open: () => string, what: string): string {
  try {
    return open()
  } catch {
    throw errors.secretWrong(`The secret does not decrypt ${what}: it was encrypted with another one`)
  }
}
