import type { Secrets } from '../secrets.ts'
import { quoteLiteral } from './quote.ts'
import { scramVerifier } from './scram-verifier.ts'

/** The password of a tenant's role, as CREATE ROLE and ALTER ROLE take it. The statement holds a verifier only. */
export function passwordClause(secrets: Secrets, role: string): string {
  return `password ${quoteLiteral(scramVerifier(secrets.rolePassword(role)))}`
}
