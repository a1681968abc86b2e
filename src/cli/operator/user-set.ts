import { updateUser } from '../../accounts/update-user.ts'
import type { Account } from '../../auth/account.ts'
import { userByName } from '../../auth/account-store.ts'
import { type Command, type OptionValues, UsageError, wholeNumber } from '../command.ts'
import { sizeInBytes } from '../size.ts'
import { asOperator } from './as-operator.ts'
import { describeUser, userDocument } from './users.ts'

/** What PATCH /admin/v1/users/NAME changes, for people. */
export const userSetCommand: Command = {
  name: 'user set',
  usage: 'NAME [--quota SIZE] [--keys N|default] [--rate GROUP=RATE]... [--admin on|off]',
  summary:
    'change the limits of a user: a rate such as sql=100/60+20 or jobs=off, GROUP=default for the configured one',
  positionals: ['NAME'],
  options: {
    quota: { type: 'string' },
    keys: { type: 'string' },
    rate: { type: 'string', multiple: true },
    admin: { type: 'string' },
  },
  run: async ([username], options) => {
    const changes = {
      quotaBytes: sizeInBytes('quota', options.quota),
      apiKeyQuota: options.keys === 'default' ? null : wholeNumber('keys', options.keys),
      isOrgAdmin: switchOf('admin', options.admin),
    }
    const rates = readRates(options)
    if (Object.values(changes).every((value) => value === undefined) && rates.length === 0)
      throw new UsageError(`usage: cartage user set ${userSetCommand.usage}`)
    const { account, host } = await asOperator(async (installation) => {
      const before = await userByName(installation.databases.control, username!)
      const limits = rates.length > 0 ? withRates(before?.limits ?? {}, rates) : undefined
      const account = await updateUser(installation, username!, { ...changes, limits })
      return { account, host: installation.databases.hosts.get(account.hostId) }
    })
    return {
      document: { ...userDocument(account), limits: account.limits },
      lines: describeUser(account, host),
    }
  },
}

function readRates({ rate }: OptionValues): readonly (readonly [group: string, text: string])[] {
  return ((rate ?? []) as unknown as readonly string[]).map((pair) => {
    const [, group, text] = /^([a-z_]+)=(.+)$/.exec(pair) ?? []
    if (!group || !text) throw new UsageError(`--rate must be GROUP=RATE, such as sql=100/60, not '${pair}'`)
    return [group, text]
  })
}

function withRates(limits: Account['limits'], rates: ReturnType<typeof readRates>): Account['limits'] {
  const merged = { ...(limits.rate as Record<string, string>), ...Object.fromEntries(rates) }
  return {
    ...limits,
    rate: Object.fromEntries(Object.entries(merged).filter(([, text]) => text !== 'default')),
  }
}

function switchOf(option: string, value: OptionValues[string]): boolean | undefined {
  if (value === undefined || value === 'on' || value === 'off') return value && value === 'on'
  throw new UsageError(`--${option} must be on or off`)
}
