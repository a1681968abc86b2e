import { createUser } from '../../accounts/create-user.ts'
import { deleteUser } from '../../accounts/delete-user.ts'
import { listAccounts } from '../../accounts/user-store.ts'
import type { Account } from '../../auth/account.ts'
import { userByName } from '../../auth/account-store.ts'
import { describeKeyQuota, describeQuota } from '../../contract/text/sizes.ts'
import { errors } from '../../errors.ts'
import { resetMasterKey, showMasterKey } from '../../keys/master-key.ts'
import { addressOf, type Host } from '../../postgres/hosts.ts'
import type { Command } from '../command.ts'
import { confirmation, confirmLoss } from '../confirm.ts'
import { sizeInBytes } from '../size.ts'
import { asOperator } from './as-operator.ts'

const create: Command = {
  name: 'user create',
  usage: 'NAME [--quota SIZE] [--organization ORG] [--admin]',
  summary: 'create a user and print its master key; a quota such as 500MB or 10GB',
  positionals: ['NAME'],
  options: { quota: { type: 'string' }, organization: { type: 'string' }, admin: { type: 'boolean' } },
  run: async ([username], options) => {
    const quotaBytes = sizeInBytes('quota', options.quota)
    const { account, masterToken } = await asOperator((installation) =>
      createUser(installation, {
        username: username!,
        quotaBytes,
        organization: options.organization as string | undefined,
        isOrgAdmin: options.admin === true || undefined,
      }),
    )
    return {
      document: { ...userDocument(account), api_key: masterToken },
      lines: [`user        ${account.username}`, `master key  ${masterToken}`],
    }
  },
}

const list: Command = {
  name: 'user list',
  usage: '',
  summary: 'list users, and where there are several hosts, on which one each is',
  positionals: [],
  options: {},
  run: async () => {
    const { users, hosts } = await asOperator(async ({ databases }) => ({
      users: await listAccounts(databases.control),
      hosts: databases.hosts.all(),
    }))
    const hostOf = (account: Account) => hosts.find(({ id }) => id === account.hostId)?.name ?? null
    return {
      document: { users: users.map((user) => ({ ...userDocument(user), host: hostOf(user) })) },
      lines: users.map((user) =>
        [
          user.username,
          user.organization ? ` (${user.organization.name})` : '',
          hosts.length > 1 ? ` on ${hostOf(user)}` : '',
        ].join(''),
      ),
    }
  },
}

const show: Command = {
  name: 'user show',
  usage: 'NAME [--key]',
  summary: 'show a user, its limits and where it lives; with --key the master key, too, which is audited',
  positionals: ['NAME'],
  options: { key: { type: 'boolean' } },
  run: async ([username], { key }) => {
    const { account, host, token } = await asOperator(async (installation) => {
      const account = await userByName(installation.databases.control, username!)
      if (!account) throw errors.accountNotFound('User', username!)
      const host = installation.databases.hosts.get(account.hostId)
      return { account, host, token: key ? await showMasterKey(installation, username!) : undefined }
    })
    return {
      document: { ...wholeDocument(account, host), ...(token === undefined ? {} : { api_key: token }) },
      lines: [...describeUser(account, host), ...(token === undefined ? [] : [`master key    ${token}`])],
    }
  },
}

const resetKey: Command = {
  name: 'user reset-key',
  usage: 'NAME',
  summary: 'give a user a new master key and print it; the old one stops working at once',
  positionals: ['NAME'],
  options: {},
  run: async ([username]) => {
    const token = await asOperator((installation) => resetMasterKey(installation, username!))
    return {
      document: { username, api_key: token },
      lines: [`user        ${username}`, `master key  ${token}`],
    }
  },
}

const remove: Command = {
  name: 'user delete',
  usage: 'NAME [--yes]',
  summary: 'delete a user and everything it has',
  positionals: ['NAME'],
  options: confirmation,
  run: async ([username], options) => {
    await confirmLoss(username!, `Deleting the user ${username} and all its data`, options)
    await asOperator((installation) => deleteUser(installation, username!))
    return { document: { username, deleted: true }, lines: [`deleted user ${username}`] }
  },
}

export const userCommands: readonly Command[] = [create, list, show, resetKey, remove]

export function userDocument(account: Account) {
  return {
    username: account.username,
    organization: account.organization?.name ?? null,
    quota_in_bytes: account.quotaBytes,
    created_at: account.createdAt.toISOString(),
  }
}

function wholeDocument(account: Account, host: Host) {
  return {
    ...userDocument(account),
    org_role: account.orgRole,
    api_key_quota: account.apiKeyQuota,
    limits: account.limits,
    host: { name: host.name, address: addressOf(host) },
    database: account.database,
    schema: account.schema,
  }
}

export function describeUser(account: Account, host: Host): readonly string[] {
  const { organization, orgRole, quotaBytes, apiKeyQuota, limits } = account
  return [
    `user          ${account.username}`,
    ...(organization ? [`organization  ${organization.name} (${orgRole})`] : []),
    `quota         ${describeQuota(quotaBytes)}`,
    `keys          ${describeKeyQuota(apiKeyQuota)}`,
    `rates         ${describeRates(limits)}`,
    `host          ${host.name} (${addressOf(host)})`,
    `database      ${account.database}, schema ${account.schema}`,
    `created       ${account.createdAt.toISOString()}`,
  ]
}

function describeRates({ rate = {} }: Account['limits']): string {
  const rates = Object.entries(rate as Record<string, string>).map(([group, text]) => `${group}=${text}`)
  return rates.length > 0 ? rates.join(' ') : 'as configured'
}
