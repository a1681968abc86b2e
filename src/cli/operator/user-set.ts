import { updateUser } from '../../accounts/update-user.ts'
import type { Account } from '../../auth/account.ts'
import { userByName } from '../../auth/account-store.ts'
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
  const { account, host } = await asOperator(async (installation) => {
    const before = await userByName(installation.databases.control, username)
    const limits = hasLimits ? withSchedules(withRates(before?.limits ?? {}, rates), schedules) : undefined
    const account = await updateUser(installation, username, { ...changes, limits })
    return { account, host: installation.databases.hosts.get(account.hostId) }
  })
  return {
    document: { ...userDocument(account), limits: account.limits },
    lines: describeUser(account, host),
  }
}

function readRates(values: OptionValues): readonly (readonly [group: string, text: string])[] {
  return listOf(values, 'rate').map((pair) => {
    const [, group, text] = /^([a-z_]+)=(.+)$/.exec(pair) ?? []
    if (!group || !text) throw new UsageError(`--rate must be GROUP=RATE, such as sql=100/60, not '${pair}'`)
    return [group, text]
  })
}

/** Null: the usual limit. */
function withSchedules(
  { schedules: former, ...others }: Account['limits'],
  most: number | null | undefined,
): Account['limits'] {
  const schedules = most === undefined ? former : (most ?? undefined)
  return { ...others, ...(schedules !== undefined && { schedules }) }
}

function withRates(limits: Account['limits'], rates: ReturnType<typeof readRates>): Account['limits'] {
  const merged = { ...(limits.rate as Record<string, string>), ...Object.fromEntries(rates) }
  return {
    ...limits,
    rate: Object.fromEntries(Object.entries(merged).filter(([, text]) => text !== 'default')),
  }
}
