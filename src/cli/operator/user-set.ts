import { updateUser } from '../../accounts/update-user.ts'
import { type Command, wrongCall } from '../command.ts'
import { UsageError } from '../command-error.ts'
import { bytesOf, listOf, type OptionValues, wholeNumberOf } from '../option-values.ts'
import { serviceCommand } from '../service-commands.ts'
import { asOperator } from './as-operator.ts'
import { describeUser, userDocument } from './users.ts'

/** Changes the same limits as PATCH /admin/v1/users/NAME. */
export const runUserSet: Command['run'] = async ({ args, values }) => {
  const username = args[0]!
  const changes = {
    quotaBytes: bytesOf(values, 'quota'),
    apiKeyQuota: values.keys === 'default' ? null : wholeNumberOf(values, 'keys'),
    isOrgAdmin: values.admin === undefined ? undefined : values.admin === 'on',
  }
  const rates = readRates(values)
  const schedules = values.schedules === 'default' ? null : wholeNumberOf(values, 'schedules')
  const hasLimits = rates.length > 0 || schedules !== undefined
  if (Object.values(changes).every((value) => value === undefined) && !hasLimits)
    throw wrongCall(serviceCommand('user set'), 'give at least one limit to change')
  const limits = { ...(rates.length > 0 && { rate: Object.fromEntries(rates) }), schedules }
  const { account, host } = await asOperator(async (installation) => {
    const account = await updateUser(installation, username, {
      ...changes,
      limits: hasLimits ? limits : undefined,
    })
    return { account, host: installation.databases.hosts.get(account.hostId) }
  })
  return {
    document: { ...userDocument(account), limits: account.limits },
    lines: describeUser(account, host),
  }
}

/** Null: the configured one. */
function readRates(values: OptionValues): readonly (readonly [group: string, text: string | null])[] {
  return listOf(values, 'rate').map((pair) => {
    const [, group, text] = /^([a-z_]+)=(.+)$/.exec(pair) ?? []
    if (!group || !text) throw new UsageError(`--rate must be GROUP=RATE, such as sql=100/60, not '${pair}'`)
    return [group, text === 'default' ? null : text]
  })
}
