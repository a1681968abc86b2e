import type { Plan } from '../../accounts/limits/plan-store.ts'
import type { Organization } from '../../accounts/organization-store.ts'
import type { Account } from '../../auth/account.ts'
import { limitOf, rateOf } from '../../config/account-limits.ts'
import type { Config } from '../../config/config.ts'
import { rateText } from '../../config/config-variables.ts'
import { accountLimitNames, endpointGroups } from '../../contract/admin-names.ts'
import type {
  EffectiveLimits,
  OrganizationDocument,
  PlanDocument,
  UserDocument,
} from '../../contract/documents.ts'
import type { Hosts } from '../../postgres/hosts.ts'

/** With the limits as this process is configured, and the host by its name. */
export function userDocument(account: Account, config: Config, hosts: Hosts): UserDocument {
  return {
    username: account.username,
    organization: account.organization?.name ?? null,
    org_role: account.orgRole,
    quota_in_bytes: account.quotaBytes,
    api_key_quota: account.apiKeyQuota,
    limits: account.limits,
    plan: account.plan,
    effective_limits: effectiveLimits(account, config),
    host: hostName(hosts, account.hostId),
    schema: account.schema,
    created_at: account.createdAt.toISOString(),
    suspended_at: account.suspension?.since.toISOString() ?? null,
    suspended_reason: account.suspension?.reason ?? null,
  }
}

/** Null: this process has not heard of a host that was added at this moment. */
const hostName = (hosts: Hosts, id: number) => (hosts.has(id) ? hosts.get(id).name : null)

function effectiveLimits({ setLimits }: Account, config: Config): EffectiveLimits {
  const numbers = accountLimitNames.map((name) => [name, limitOf(config, setLimits, name).value])
  const rates = endpointGroups.map((group) => [group, rateText(rateOf(config, setLimits, group))])
  return { ...Object.fromEntries(numbers), rates: Object.fromEntries(rates) }
}

export const planDocument = ({ name, limits, users, createdAt, updatedAt }: Plan): PlanDocument => ({
  name,
  limits,
  users,
  created_at: createdAt.toISOString(),
  updated_at: updatedAt.toISOString(),
})

export function organizationDocument(organization: Organization, hosts: Hosts): OrganizationDocument {
  return {
    name: organization.name,
    owner: { username: organization.owner },
    host: hostName(hosts, organization.hostId),
    created_at: organization.createdAt.toISOString(),
  }
}
