import { createHash, createHmac, pbkdf2Sync, randomBytes } from 'node:crypto'
import { quoteLiteral } from '../contract/text/quote.ts'
import type { Secrets } from '../secrets.ts'

/** The password clause of CREATE ROLE or ALTER ROLE for a tenant's role. It holds only a verifier. */
export function passwordClause(secrets: Secrets, role: string): string {
  return `password ${quoteLiteral(scramVerifier(secrets.rolePassword(role)))}`
}

/**
 * The SCRAM-SHA-256 verifier of a role password, so that the password itself never appears in SQL or in a server log.
 * One iteration is enough: the password is 256 random bits, so there is nothing to stretch, and each login is some
 * milliseconds cheaper.
 */
function scramVerifier(password: string): string {
  const salt = randomBytes(16)
  const salted = pbkdf2Sync(password, salt, 1, 32, 'sha256')
  const clientKey = createHmac('sha256', salted).update('Client Key').digest()
  const storedKey = createHash('sha256').update(clientKey).digest()
  const serverKey = createHmac('sha256', salted).update('Server Key').digest()
  return `SCRAM-SHA-256$1:${salt.toString('base64')}$${storedKey.toString('base64')}:${serverKey.toString('base64')}`
}
