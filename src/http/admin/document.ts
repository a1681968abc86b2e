import type { Organization } from '../../accounts/organization-store.ts'
import type { Account } from '../../auth/account.ts'
import type { ActivityDocument, OrganizationDocument, UserDocument } from '../../contract/documents.ts'
import type { Activity } from '../../jobs/activity-store.ts'

export function userDocument(account: Account): UserDocument {
  return {
    username: account.username,
    organization: account.organization?.name ?? null,
    org_role: account.orgRole,
    quota_in_bytes: account.quotaBytes,
    api_key_quota: account.apiKeyQuota,
    limits: account.limits,
    schema: account.schema,
    created_at: account.createdAt.toISOString(),
    suspended_at: account.suspension?.since.toISOString() ?? null,
    suspended_reason: account.suspension?.reason ?? null,
  }
}

export function organizationDocument(organization: Organization): OrganizationDocument {
  return {
    name: organization.name,
    owner: { username: organization.owner },
    created_at: organization.createdAt.toISOString(),
  }
}

export function activityDocument({ running, waiting, left }: Activity): ActivityDocument {
  return {
    running: running.map(({ id, startedAt, ...job }) => ({
      job_id: id,
      ...job,
      started_at: startedAt.toISOString(),
    })),
    waiting: waiting.map(({ oldestAt, ...user }) => ({ ...user, oldest_at: oldestAt.toISOString() })),
    left_out: left,
  }
}
