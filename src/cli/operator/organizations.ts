import { createOrganization } from '../../accounts/create-organization.ts'
import { deleteOrganization } from '../../accounts/delete-organization.ts'
import { listOrganizations } from '../../accounts/organization-store.ts'
import { type Command, UsageError } from '../command.ts'
import { confirmation, confirmLoss } from '../confirm.ts'
import { sizeInBytes } from '../size.ts'
import { asOperator } from './as-operator.ts'
import { userDocument } from './users.ts'

const create: Command = {
  name: 'org create',
  usage: 'NAME --owner USER [--quota SIZE]',
  summary: 'create an organization and its owner, and print the owner’s master key',
  positionals: ['NAME'],
  options: { owner: { type: 'string' }, quota: { type: 'string' } },
  run: async ([name], { owner: username, quota }) => {
    if (typeof username !== 'string') throw new UsageError('--owner USER is required')
    const quotaBytes = sizeInBytes('quota', quota)
    const { organization, owner } = await asOperator((installation) =>
      createOrganization(installation, { name: name!, owner: { username, quotaBytes } }),
    )
    return {
      document: {
        name: organization.name,
        owner: { ...userDocument(owner.account), api_key: owner.masterToken },
      },
      lines: [
        `organization  ${organization.name}`,
        `owner         ${owner.account.username}`,
        `master key    ${owner.masterToken}`,
      ],
    }
  },
}

const list: Command = {
  name: 'org list',
  usage: '',
  summary: 'list organizations',
  positionals: [],
  options: {},
  run: async () => {
    const organizations = await asOperator(({ databases }) => listOrganizations(databases.control))
    return {
      document: {
        organizations: organizations.map(({ name, owner, createdAt }) => ({
          name,
          owner: { username: owner },
          created_at: createdAt.toISOString(),
        })),
      },
      lines: organizations.map(({ name, owner }) => `${name} (owner ${owner})`),
    }
  },
}

const remove: Command = {
  name: 'org delete',
  usage: 'NAME [--yes]',
  summary: 'delete an organization that has no members besides its owner, and the owner',
  positionals: ['NAME'],
  options: confirmation,
  run: async ([name], options) => {
    await confirmLoss(name!, `Deleting the organization ${name} with its owner and all their data`, options)
    await asOperator((installation) => deleteOrganization(installation, name!))
    return { document: { name, deleted: true }, lines: [`deleted organization ${name}`] }
  },
}

export const organizationCommands: readonly Command[] = [create, list, remove]
