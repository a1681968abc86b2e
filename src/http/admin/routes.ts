import { createHash, timingSafeEqual } from 'node:crypto'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { createOrganization } from '../../accounts/create-organization.ts'
import { createUser } from '../../accounts/create-user.ts'
import { deleteOrganization } from '../../accounts/delete-organization.ts'
import { deleteUser } from '../../accounts/delete-user.ts'
import { findOrganization, listOrganizations } from '../../accounts/organization-store.ts'
import { resumeUser, suspendUser } from '../../accounts/suspension/suspend-user.ts'
import { updateUser } from '../../accounts/update-user.ts'
import { listAccounts } from '../../accounts/user-store.ts'
import type { Account } from '../../auth/account.ts'
import { userByName } from '../../auth/account-store.ts'
import { errors } from '../../errors.ts'
import type { Key } from '../../keys/key.ts'
import { resetAllKeys, resetMasterKey, showMasterKey } from '../../keys/master-key.ts'
import { listKeys } from '../../keys/reading/list-keys.ts'
import { fullKeyDocument } from '../keys/document.ts'
import { readListing } from '../keys/request.ts'
import { noteRefusal } from '../middleware/authenticate.ts'
import { clientAddress } from '../middleware/credential/client-address.ts'
import { forbidStoring } from '../middleware/guard-answers.ts'
import type { Parameters } from '../middleware/parameters.ts'
import type { Services } from '../services.ts'
import { organizationDocument, userDocument } from './document.ts'
import { hostRoutes } from './host-routes.ts'
import { installationRoutes } from './installation-routes.ts'
import { moveRoutes } from './move-routes.ts'
import { planRoutes } from './plan-routes.ts'
import { replicaRoutes } from './replica-routes.ts'
import {
  type OneOrganization,
  type OneUser,
  readChanges,
  readNewOrganization,
  readNewUser,
  readRegeneration,
  readSuspension,
} from './request.ts'
import { restoreRoutes } from './restore-routes.ts'
import {
  changesSchema,
  masterKeySchema,
  newMasterKeySchema,
  newOrganizationSchema,
  newUserSchema,
  organizationListSchema,
  organizationRemovalSchema,
  organizationSchema,
  resumptionSchema,
  suspensionSchema,
  userKeyListSchema,
  userListSchema,
  userRemovalSchema,
  userSchema,
} from './schemas.ts'

/** Users, organizations and the installation itself, for the operator only. */
export async function adminRoutes(app: FastifyInstance, services: Services): Promise<void> {
  forbidStoring(app)
  app.addHook('onRequest', async (request) => requireAdmin(services, request))
  userRoutes(app, services)
  suspensionRoutes(app, services)
  userKeysRoute(app, services)
  masterKeyRoutes(app, services)
  planRoutes(app, services)
  organizationRoutes(app, services)
  installationRoutes(app, services)
  hostRoutes(app, services)
  moveRoutes(app, services)
  replicaRoutes(app, services)
  restoreRoutes(app, services)
}

/** Only the operator's own token opens the admin API. */
function requireAdmin(services: Services, request: FastifyRequest): void {
  const { adminToken } = services
  if (!adminToken) throw errors.adminOff()
  const offered = /^bearer (.+)$/i.exec(request.headers.authorization ?? '')?.[1] ?? ''
  if (timingSafeEqual(sha256(offered), sha256(adminToken))) return
  if (request.headers.authorization) {
    services.wrongTokens.count(clientAddress(request))
    noteRefusal(services, request, '/admin', 'wrong-credential')
  }
  throw errors.unauthorized('Send the admin token as "Authorization: Bearer <token>"')
}

const sha256 = (text: string) => createHash('sha256').update(text).digest()

function userRoutes(app: FastifyInstance, { installation, config, databases }: Services): void {
  const { control, hosts } = databases
  const documentOf = (account: Account) => userDocument(account, config, hosts)
  app.post('/users', { schema: newUserSchema, attachValidation: true }, async (request, reply) => {
    const created = await createUser(installation, readNewUser(request))
    return reply.code(201).send({ ...documentOf(created.account), api_key: created.masterToken })
  })

  app.get('/users', { schema: userListSchema }, async () => ({
    users: (await listAccounts(control)).map(documentOf),
  }))

  app.get<OneUser>('/users/:username', { schema: userSchema }, async ({ params }) => {
    const account = await userByName(control, params.username)
    if (!account) throw errors.accountNotFound('User', params.username)
    return documentOf(account)
  })

  app.patch<OneUser>('/users/:username', { schema: changesSchema, attachValidation: true }, async (request) =>
    documentOf(await updateUser(installation, request.params.username, readChanges(request))),
  )

  app.delete<OneUser>('/users/:username', { schema: userRemovalSchema }, async ({ params }) => {
    await deleteUser(installation, params.username)
    return { username: params.username, deleted: true }
  })
}

function suspensionRoutes(
  app: FastifyInstance,
  { installation, config, databases: { hosts } }: Services,
): void {
  const suspension = { schema: suspensionSchema, attachValidation: true }
  app.post<OneUser>('/users/:username/suspend', suspension, async (request) => {
    const reason = readSuspension(request)
    return userDocument(await suspendUser(installation, request.params.username, reason), config, hosts)
  })

  app.post<OneUser>('/users/:username/resume', { schema: resumptionSchema }, async ({ params }) =>
    userDocument(await resumeUser(installation, params.username), config, hosts),
  )
}

/** Never with tokens. */
function userKeysRoute(app: FastifyInstance, { installation, databases: { control } }: Services): void {
  // The schema only describes; the reader reports what is wrong.
  const route = { schema: userKeyListSchema, validatorCompiler: () => () => true }
  app.get<OneUser>('/users/:username/keys', route, async ({ params: { username }, query }) => {
    const account = await userByName(control, username)
    if (!account) throw errors.accountNotFound('User', username)
    const { total, keys } = await listKeys(installation, account, readListing(query as Parameters))
    const withoutToken = (key: Key) => {
      const { token: _secret, ...shown } = fullKeyDocument(key, username)
      return shown
    }
    return { keys: keys.map(withoutToken), total }
  })
}

function masterKeyRoutes(app: FastifyInstance, { installation }: Services): void {
  app.get<OneUser>('/users/:username/key', { schema: masterKeySchema }, async (request) => ({
    username: request.params.username,
    api_key: await showMasterKey(
      { ...installation, address: clientAddress(request) },
      request.params.username,
    ),
  }))

  const regenerate = { schema: newMasterKeySchema, attachValidation: true }
  app.post<OneUser>('/users/:username/key/regenerate', regenerate, async (request) => {
    const { username } = request.params
    const { areAll } = readRegeneration(request)
    const context = { ...installation, address: clientAddress(request) }
    if (!areAll) return { username, api_key: await resetMasterKey(context, username) }
    const { token, names } = await resetAllKeys(context, username)
    return { username, api_key: token, keys: names }
  })
}

function organizationRoutes(app: FastifyInstance, services: Services): void {
  const { installation, config } = services
  const { control, hosts } = services.databases
  const creation = { schema: newOrganizationSchema, attachValidation: true }
  app.post('/organizations', creation, async (request, reply) => {
    const { organization, owner } = await createOrganization(installation, readNewOrganization(request))
    return reply.code(201).send({
      ...organizationDocument(organization, hosts),
      owner: { ...userDocument(owner.account, config, hosts), api_key: owner.masterToken },
    })
  })

  app.get('/organizations', { schema: organizationListSchema }, async () => ({
    organizations: (await listOrganizations(control)).map((each) => organizationDocument(each, hosts)),
  }))

  app.get<OneOrganization>(one, { schema: organizationSchema }, async ({ params }) => {
    const found = await findOrganization(control, params.organization)
    if (found?.state !== 'active') throw errors.accountNotFound('Organization', params.organization)
    return organizationDocument(found, hosts)
  })

  app.delete<OneOrganization>(one, { schema: organizationRemovalSchema }, async ({ params }) => {
    await deleteOrganization(installation, params.organization)
    return { name: params.organization, deleted: true }
  })
}

const one = '/organizations/:organization'
