import { newestTokens } from '../../auth/token-store.ts'
import { AppError, errors } from '../../errors.ts'
import type { Queryable } from '../../postgres/transaction.ts'
import { deriveSecrets, type Secrets } from '../../secrets.ts'
import { insertVerifier, readVerifier } from './secret-store.ts'

/**
 * Refuses a server secret that is not the installation's. The first process stores its verifier; if there are tokens
 * but no verifier, the secret must decrypt them.
 */
export async function checkSecret(control: Queryable, secrets: Secrets): Promise<void> {
  const known = await readVerifier(control)
  if (known?.verifier.equals(secrets.verifier)) return
  if (known) throw wrongSecret(known.rotatedAt)
  const [newest] = await newestTokens(control, 1)
  if (newest && !opens(secrets, newest.encrypted)) throw wrongSecret(null)
  await insertVerifier(control, secrets.verifier)
  // Two processes may start at the same time with different secrets: the second is refused.
  await checkSecret(control, secrets)
}

/** True if this is the installation's secret. */
export async function isSecret(control: Queryable, secret: string): Promise<boolean> {
  const known = await readVerifier(control)
  return known?.verifier.equals(deriveSecrets(secret).verifier) ?? false
}

export const isWrongSecret = (error: unknown) => error instanceof AppError && error.code === 'secret-wrong'

function wrongSecret(rotatedAt: Date | null) {
  const since = rotatedAt ? `, which was changed by a rotation on ${rotatedAt.toISOString()}` : ''
  return errors.secretWrong(
    `This is not the secret of the installation${since}: start with its own CARTAGE_SECRET, or with the file 'secret' of its data directory`,
  )
}

function opens(secrets: Secrets, sealed: Buffer): boolean {
  try {
    secrets.decryptToken(sealed)
    return true
  } catch {
    return false
  }
}
