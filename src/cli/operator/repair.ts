import { repairAccounts } from '../../accounts/repair-accounts.ts'
import { repairKeys } from '../../keys/repair-keys.ts'
import type { Command } from '../command.ts'
import { asOperator } from './as-operator.ts'

export const runRepair: Command['run'] = async () => {
  const removed = await asOperator(async (installation) => ({
    accounts: await repairAccounts(installation),
    roles: await repairKeys(installation),
  }))
  const lines = [
    ...removed.accounts.map((name) => `removed account ${name}`),
    ...removed.roles.map((role) => `removed role ${role}`),
  ]
  return { document: removed, lines: lines.length > 0 ? lines : ['nothing to repair'] }
}
