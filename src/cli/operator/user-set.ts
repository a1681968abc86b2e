import { updateUser } from '../../accounts/update-user.ts'
import { type Command, wrongCall } from '../command.ts'
import { bytesOf, textOf, wholeNumberOf } from '../option-values.ts'
import { serviceCommand } from '../service-commands.ts'
import { asOperator } from './as-operator.ts'
import { readLimitOptions } from './limit-options.ts'
import { describeUser, userDocument } from './users.ts'

/** Changes the same limits as PATCH /admin/v1/users/NAME. */
export const runUserSet: Command['run'] = async ({ args, values }) => {
  const username = args[0]!
  const changes = {
    quotaBytes: bytesOf(values, 'quota'),
    apiKeyQuota: values.keys === 'default' ? null : wholeNumberOf(values, 'keys'),
    isOrgAdmin: values.admin === undefined ? undefined : values.admin === 'on',
    plan: values.plan === 'none' ? null : textOf(values, 'plan'),
    limits: readLimitOptions(values),
  }
  if (Object.values(changes).every((value) => value === undefined))
    throw wrongCall(serviceCommand('user set'), 'give at least one limit to change')
  const { account, host } = await asOperator(async (installation) => {
    const account = await updateUser(installation, username, changes)
    return { account, host: installation.databases.hosts.get(account.hostId) }
  })
  return {
    document: { ...userDocument(account), plan: account.plan, limits: account.limits },
    lines: describeUser(account, host),
  }
}
