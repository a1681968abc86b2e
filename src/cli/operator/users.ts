import { createUser } from '../../accounts/create-user.ts'
import { deleteUser } from '../../accounts/delete-user.ts'
import { resumeUser, suspendUser } from '../../accounts/suspension/suspend-user.ts'
import { listAccounts } from '../../accounts/user-store.ts'
import type { Account } from '../../auth/account.ts'
import { userByName } from '../../auth/account-store.ts'
import { describeKeyQuota, describeQuota } from '../../contract/text/sizes.ts'
import { errors } from '../../errors.ts'
import type { Key } from '../../keys/key.ts'
import { listUserKeys, resetAllKeys, resetMasterKey, showMasterKey } from '../../keys/master-key.ts'
import { addressOf, type Host } from '../../postgres/hosts.ts'
import { confirm } from '../ask.ts'
import type { Command } from '../command.ts'
import { bytesOf, textOf } from '../option-values.ts'
import { asOperator } from './as-operator.ts'
import { describeLimits } from './limit-options.ts'

const create: Command['run'] = async ({ args, values }) => {
  const quotaBytes = bytesOf(values, 'quota')
  const { account, masterToken } = await asOperator((installation) =>
    createUser(installation, {
      username: args[0]!,
      quotaBytes,
      organization: textOf(values, 'organization'),
      isOrgAdmin: values.admin === true || undefined,
    }),
  )
  return {
    document: { ...userDocument(account), api_key: masterToken },
    lines: [`user        ${account.username}`, `master key  ${masterToken}`],
  }
}

const list: Command['run'] = async () => {
  const { users, hosts } = await asOperator(async ({ databases }) => ({
    users: await listAccounts(databases.control),
    hosts: databases.hosts.all(),
  }))
  const hostOf = (account: Account) => hosts.find(({ id }) => id === account.hostId)?.name ?? null
  return {
    document: {
      users: users.map((user) => ({
        ...userDocument(user),
        host: hostOf(user),
        ...suspensionDocument(user),
      })),
    },
    lines: users.map((user) =>
      [
        user.username,
        user.organization ? ` (${user.organization.name})` : '',
        hosts.length > 1 ? ` on ${hostOf(user)}` : '',
        user.suspension ? ', suspended' : '',
        user.isMoving ? ', moving' : '',
      ].join(''),
    ),
  }
}

const show: Command['run'] = async ({ args, values }) => {
  const username = args[0]!
  const { account, host, token } = await asOperator(async (installation) => {
    const account = await userByName(installation.databases.control, username)
    if (!account) throw errors.accountNotFound('User', username)
    const host = installation.databases.hosts.get(account.hostId)
    return { account, host, token: values.key ? await showMasterKey(installation, username) : undefined }
  })
  return {
    document: { ...wholeDocument(account, host), ...(token === undefined ? {} : { api_key: token }) },
    lines: [...describeUser(account, host), ...(token === undefined ? [] : [`master key    ${token}`])],
  }
}

const resetKey: Command['run'] = async ({ args, values }) => {
  const username = args[0]!
  const { token, names } = await asOperator(async (installation) =>
    values['all-keys'] === true
      ? resetAllKeys(installation, username)
      : { token: await resetMasterKey(installation, username), names: undefined },
  )
  return {
    document: { username, api_key: token, ...(names && { keys: names }) },
    lines: [
      `user        ${username}`,
      `master key  ${token}`,
      ...(names ? [`new tokens  ${names.join(', ')}`] : []),
    ],
  }
}

const keys: Command['run'] = async ({ args }) => {
  const found = await asOperator((installation) => listUserKeys(installation, args[0]!))
  return {
    document: { keys: found.map(keyDocument) },
    lines: found.map((key) =>
      [
        `${key.name} (${key.type})`,
        `last used ${key.lastUsedAt === null ? 'never' : isoTime(key.lastUsedAt)}`,
        ...(key.expiresAt === null ? [] : [`expires ${isoTime(key.expiresAt)}`]),
        ...key.tables.map(({ schema, name, permissions }) => `${schema}.${name}: ${permissions.join(' ')}`),
        ...key.schemas.map(({ name }) => `create in ${name}`),
      ].join(', '),
    ),
  }
}

/** Without the token. */
const keyDocument = ({ name, type, description, scope, tables, schemas, ...times }: Key) => ({
  name,
  type,
  description,
  apis: scope.apis,
  tables,
  schemas,
  created_at: isoTime(times.createdAt),
  expires_at: times.expiresAt && isoTime(times.expiresAt),
  last_used_at: times.lastUsedAt && isoTime(times.lastUsedAt),
})

const isoTime = (time: string) => new Date(time).toISOString()

const suspend: Command['run'] = async ({ args, values }) => {
  const reason = textOf(values, 'reason') ?? ''
  const account = await asOperator((installation) => suspendUser(installation, args[0]!, reason))
  return { document: suspensionDocument(account), lines: [`suspended user ${account.username}: ${reason}`] }
}

const resume: Command['run'] = async ({ args }) => {
  const account = await asOperator((installation) => resumeUser(installation, args[0]!))
  return { document: suspensionDocument(account), lines: [`resumed user ${account.username}`] }
}

const remove: Command['run'] = async (call) => {
  const username = call.args[0]!
  const loss = `This deletes the user ${username} and all its data`
  await confirm(call, { name: username, loss, verb: 'delete' })
  await asOperator((installation) => deleteUser(installation, username))
  return { document: { username, deleted: true }, lines: [`deleted user ${username}`] }
}

export const userRuns = {
  'user create': create,
  'user list': list,
  'user show': show,
  'user reset-key': resetKey,
  'user keys': keys,
  'user suspend': suspend,
  'user resume': resume,
  'user delete': remove,
} as const

export function userDocument(account: Account) {
  return {
    username: account.username,
    organization: account.organization?.name ?? null,
    quota_in_bytes: account.quotaBytes,
    created_at: account.createdAt.toISOString(),
  }
}

const suspensionDocument = ({ username, suspension }: Account) => ({
  username,
  suspended_at: suspension?.since.toISOString() ?? null,
  suspended_reason: suspension?.reason ?? null,
})

function wholeDocument(account: Account, host: Host) {
  return {
    ...userDocument(account),
    ...suspensionDocument(account),
    org_role: account.orgRole,
    api_key_quota: account.apiKeyQuota,
    plan: account.plan,
    limits: account.limits,
    host: { name: host.name, address: addressOf(host) },
    database: account.database,
    schema: account.schema,
  }
}

export function describeUser(account: Account, host: Host): readonly string[] {
  const { organization, orgRole, quotaBytes, apiKeyQuota, suspension } = account
  return [
    `user          ${account.username}`,
    ...(organization ? [`organization  ${organization.name} (${orgRole})`] : []),
    `quota         ${describeQuota(quotaBytes)}`,
    `keys          ${describeKeyQuota(apiKeyQuota)}`,
    ...(account.plan === null ? [] : [`plan          ${account.plan}`]),
    ...describeLimits(account),
    `host          ${host.name} (${addressOf(host)})`,
    `database      ${account.database}, schema ${account.schema}`,
    `created       ${account.createdAt.toISOString()}`,
    ...(suspension ? [`suspended     ${suspension.since.toISOString()}: ${suspension.reason}`] : []),
  ]
}
