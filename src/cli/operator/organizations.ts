import { createOrganization } from '../../accounts/create-organization.ts'
import { deleteOrganization } from '../../accounts/delete-organization.ts'
import { listOrganizations } from '../../accounts/organization-store.ts'
import { confirm } from '../ask.ts'
import type { Command } from '../command.ts'
import { bytesOf, textOf } from '../option-values.ts'
import { asOperator } from './as-operator.ts'
import { userDocument } from './users.ts'

const create: Command['run'] = async ({ args, values }) => {
  const name = args[0]!
  const username = textOf(values, 'owner')!
  const quotaBytes = bytesOf(values, 'quota')
  const { organization, owner } = await asOperator((installation) =>
    createOrganization(installation, { name, owner: { username, quotaBytes } }),
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
}

const list: Command['run'] = async () => {
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
}

const remove: Command['run'] = async (call) => {
  const name = call.args[0]!
  const loss = `This deletes the organization ${name}, its owner and all their data`
  await confirm(call, { name, loss, verb: 'delete' })
  await asOperator((installation) => deleteOrganization(installation, name))
  return { document: { name, deleted: true }, lines: [`deleted organization ${name}`] }
}

export const organizationRuns = { 'org create': create, 'org list': list, 'org delete': remove } as const
