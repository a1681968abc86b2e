import { repairAccounts } from '../../accounts/repair-accounts.ts'
import type { Command } from '../command.ts'
import { asOperator } from '../operator.ts'

/** What every start does by itself, on demand. */
export const repairCommand: Command = {
  name: 'repair',
  usage: '',
  summary: 'remove what a killed process left half-made or half-removed',
  positionals: [],
  options: {},
  run: async () => {
    const accounts = await asOperator((context) => repairAccounts(context))
    return {
      document: { accounts },
      lines:
        accounts.length === 0 ? ['nothing to repair'] : accounts.map((name) => `removed account ${name}`),
    }
  },
}
