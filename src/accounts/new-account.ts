import { defaultToken } from '../auth/token.ts'
import { errors } from '../errors.ts'
import type { Installation } from '../hosts/installation.ts'

export function checkQuota(quotaBytes: number | undefined): void {
  if (quotaBytes === undefined) return
  if (!Number.isSafeInteger(quotaBytes) || quotaBytes < 0) {
    throw errors.accountInvalid('quota_in_bytes must be a whole number of 0 (unlimited) or more')
  }
}

/** A master token may be brought along (a move from another installation), if nobody else could be meant by it. */
export async function checkMasterToken(installation: Installation, token: string | undefined): Promise<void> {
  if (token === undefined) return
  if (!/^[\x21-\x7e]{16,255}$/.test(token) || token.includes(':') || token === defaultToken) {
    throw errors.accountInvalid(
      'api_key must be 16 to 255 printable ASCII characters without blanks and colons',
    )
  }
  const { rowCount } = await installation.databases.control.query(
    'select from cartage.api_keys where token_hash = $1',
    [installation.secrets.hashToken(token)],
  )
  if (rowCount) throw errors.accountInvalid('api_key is in use already')
}
