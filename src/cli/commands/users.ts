import { createUser } from '../../accounts/create-user.ts'
import { deleteUser } from '../../accounts/delete-user.ts'
import { listAccounts } from '../../accounts/user-store.ts'
import type { Account } from '../../auth/account.ts'
import { type Command, wholeNumber } from '../command.ts'
import { asOperator } from '../operator.ts'

const create: Command = {
  name: 'user create',
  usage: 'NAME [--quota BYTES] [--organization ORG] [--admin]',
  summary: 'create a user and print its master key',
  positionals: ['NAME'],
  options: { quota: { type: 'string' }, organization: { type: 'string' }, admin: { type: 'boolean' } },
  run: async ([username], options) => {
    const quotaBytes = wholeNumber('quota', options.quota)
    const { account, masterToken } = await asOperator((accounts) =>
      createUser(accounts, {
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
  summary: 'list users',
  positionals: [],
  options: {},
  run: async () => {
    const users = await asOperator(({ databases }) => listAccounts(databases.control))
    return {
      document: { users: users.map(userDocument) },
      lines: users.map(({ username, organization }) =>
        organization ? `${username} (${organization.name})` : username,
      ),
    }
  },
}

const remove: Command = {
  name: 'user delete',
  usage: 'NAME',
  summary: 'delete a user and everything it has',
  positionals: ['NAME'],
  options: {},
  run: async ([username]) => {
    await asOperator((accounts) => deleteUser(accounts, username!))
    return { document: { username, deleted: true }, lines: [`deleted user ${username}`] }
  },
}

export const userCommands: readonly Command[] = [create, list, remove]

export function userDocument(account: Account) {
  return {
    username: account.username,
    organization: account.organization?.name ?? null,
    quota_in_bytes: account.quotaBytes,
    created_at: account.createdAt.toISOString(),
  }
}
