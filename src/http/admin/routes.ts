import { createHash, timingSafeEqual } from 'node:crypto'
import type { FastifyInstance, FastifyRequest, FastifySchemaValidationError } from 'fastify'
import { createOrganization } from '../../accounts/create-organization.ts'
import { createUser } from '../../accounts/create-user.ts'
import { deleteOrganization } from '../../accounts/delete-organization.ts'
import { deleteUser } from '../../accounts/delete-user.ts'
import { findOrganization, listOrganizations, type Organization } from '../../accounts/organization-store.ts'
import { updateUser } from '../../accounts/update-user.ts'
import { listAccounts } from '../../accounts/user-store.ts'
import type { Account } from '../../auth/account.ts'
import { userByName } from '../../auth/account-store.ts'
import { errors } from '../../errors.ts'
import { resetMasterKey, showMasterKey } from '../../keys/master-key.ts'
import { noteRefusal } from '../frame/authenticate.ts'
import type { Services } from '../services.ts'
import {
  changesSchema,
  masterKeySchema,
  newMasterKeySchema,
  newOrganizationSchema,
  newUserSchema,
  organizationListSchema,
  organizationRemovalSchema,
  organizationSchema,
  userListSchema,
  userRemovalSchema,
  userSchema,
} from './schemas.ts'

/** Users and organizations, for the operator alone. */
export async function adminRoutes(app: FastifyInstance, services: Services): Promise<void> {
  const { accounts } = services
  const { control } = services.databases
  app.addHook('onRequest', async (request) => requireAdmin(services, request))

  app.post<{ Body: NewUserBody }>(
    '/users',
    { schema: newUserSchema, attachValidation: true },
    async (request, reply) => {
      refuseInvalid(request)
      const { username, quota_in_bytes, organization, org_admin, api_key } = request.body
      const created = await createUser(accounts, {
        username,
        quotaBytes: quota_in_bytes,
        organization,
        isOrgAdmin: org_admin,
        masterToken: api_key,
      })
      return reply.code(201).send({ ...userDocument(created.account), api_key: created.masterToken })
    },
  )

  app.get('/users', { schema: userListSchema }, async () => ({
    users: (await listAccounts(control)).map(userDocument),
  }))

  app.get<NameParams>('/users/:username', { schema: userSchema }, async ({ params }) => {
    const account = await userByName(control, params.username)
    if (!account) throw errors.accountNotFound('User', params.username)
    return userDocument(account)
  })

  app.patch<NameParams & { Body: ChangesBody }>(
    '/users/:username',
    { schema: changesSchema, attachValidation: true },
    async (request) => {
      refuseInvalid(request)
      const { quota_in_bytes, api_key_quota, org_admin, limits } = request.body
      return userDocument(
        await updateUser(accounts, request.params.username, {
          quotaBytes: quota_in_bytes,
          apiKeyQuota: api_key_quota,
          isOrgAdmin: org_admin,
          limits,
        }),
      )
    },
  )

  app.delete<NameParams>('/users/:username', { schema: userRemovalSchema }, async ({ params }) => {
    await deleteUser(accounts, params.username)
    return { username: params.username, deleted: true }
  })

  app.get<NameParams>('/users/:username/key', { schema: masterKeySchema }, async ({ params }, reply) => {
    const token = await showMasterKey(accounts, params.username)
    return reply.header('Cache-Control', 'no-store').send({ username: params.username, api_key: token })
  })

  app.post<NameParams>(
    '/users/:username/key/regenerate',
    { schema: newMasterKeySchema },
    async ({ params }, reply) => {
      const token = await resetMasterKey(accounts, params.username)
      return reply.header('Cache-Control', 'no-store').send({ username: params.username, api_key: token })
    },
  )

  app.post<{ Body: NewOrganizationBody }>(
    '/organizations',
    { schema: newOrganizationSchema, attachValidation: true },
    async (request, reply) => {
      refuseInvalid(request)
      const { name, owner } = request.body
      const created = await createOrganization(accounts, {
        name,
        owner: { username: owner.username, quotaBytes: owner.quota_in_bytes, masterToken: owner.api_key },
      })
      return reply.code(201).send({
        ...organizationDocument(created.organization),
        owner: { ...userDocument(created.owner.account), api_key: created.owner.masterToken },
      })
    },
  )

  app.get('/organizations', { schema: organizationListSchema }, async () => ({
    organizations: (await listOrganizations(control)).map(organizationDocument),
  }))

  app.get<OrganizationParams>(
    '/organizations/:organization',
    { schema: organizationSchema },
    async ({ params }) => {
      const found = await findOrganization(control, params.organization)
      if (found?.state !== 'active') throw errors.accountNotFound('Organization', params.organization)
      return organizationDocument(found)
    },
  )

  app.delete<OrganizationParams>(
    '/organizations/:organization',
    { schema: organizationRemovalSchema },
    async ({ params }) => {
      await deleteOrganization(accounts, params.organization)
      return { name: params.organization, deleted: true }
    },
  )
}

type NameParams = { Params: { username: string } }
type OrganizationParams = { Params: { organization: string } }
type OwnerBody = { username: string; quota_in_bytes?: number; api_key?: string }
type NewUserBody = OwnerBody & { organization?: string; org_admin?: boolean }
type NewOrganizationBody = { name: string; owner: OwnerBody }
type ChangesBody = {
  quota_in_bytes?: number
  api_key_quota?: number | null
  org_admin?: boolean
  limits?: Record<string, unknown>
}

function requireAdmin(services: Services, request: FastifyRequest): void {
  const { adminToken } = services
  if (!adminToken) throw errors.adminOff()
  const offered = /^bearer (.+)$/i.exec(request.headers.authorization ?? '')?.[1] ?? ''
  if (timingSafeEqual(sha256(offered), sha256(adminToken))) return
  if (request.headers.authorization) noteRefusal(services, request, '/admin', 'wrong-credential')
  throw errors.unauthorized('Send the admin token as "Authorization: Bearer <token>"')
}

const sha256 = (text: string) => createHash('sha256').update(text).digest()

/** A body that does not fit its schema is 422, with the place in the text. */
function refuseInvalid(request: FastifyRequest): void {
  const error = request.validationError
  if (error) throw errors.accountInvalid(unknownMemberIn(error.validation[0]) ?? error.message)
  if (request.body === undefined || request.body === null)
    throw errors.accountInvalid('A JSON body is required')
}

/** The validator says only that there is one. */
function unknownMemberIn(fault: FastifySchemaValidationError | undefined): string | undefined {
  if (fault?.keyword !== 'additionalProperties') return undefined
  return `body${fault.instancePath} has an unknown member: ${fault.params.additionalProperty}`
}

function userDocument(account: Account) {
  return {
    username: account.username,
    organization: account.organization?.name ?? null,
    org_role: account.orgRole,
    quota_in_bytes: account.quotaBytes,
    api_key_quota: account.apiKeyQuota,
    limits: account.limits,
    schema: account.schema,
    created_at: account.createdAt.toISOString(),
  }
}

function organizationDocument(organization: Organization) {
  return {
    name: organization.name,
    owner: { username: organization.owner },
    created_at: organization.createdAt.toISOString(),
  }
}
