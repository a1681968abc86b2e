import type { Holder } from '../../auth/account.ts'
import type { MeDocument } from '../../contract/documents.ts'
import type { AccountUsage } from '../../tables/account-usage.ts'

/**
 * The caller's account, and its remaining quota. `base`: the base of the account's endpoints. Clients of version 3 read
 * `user_data`, of version 4 the rest.
 */
export function meDocument(
  { account, key }: Holder,
  usage: AccountUsage,
  base: string,
  copyMaxBytes: number,
): MeDocument {
  const organization = account.organization && { name: account.organization.name }
  return {
    username: account.username,
    organization,
    key: { name: key.name, type: key.type },
    config: { user_name: account.username },
    api_endpoints: { sql: base, maps: base, import: base, auth: base },
    user_data: {
      id: account.username,
      username: account.username,
      organization,
      base_url: base,
      quota_in_bytes: account.quotaBytes,
      db_size_in_bytes: usage.usedBytes,
      // Clients compare it with a number, so it is absent without a quota.
      ...(usage.remainingBytes !== null && { remaining_byte_quota: usage.remainingBytes }),
      table_count: usage.tableCount,
      copy_max_bytes: copyMaxBytes,
      created_at: account.createdAt.toISOString(),
    },
  }
}
