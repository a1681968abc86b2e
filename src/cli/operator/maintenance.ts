import { repairAccounts } from '../../accounts/repair-accounts.ts'
import { doctor } from '../../doctor/doctor.ts'
import { repairKeys } from '../../keys/repair-keys.ts'
import type { Command } from '../command.ts'
import { asOperator } from './as-operator.ts'

const repair: Command['run'] = async () => {
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

const check: Command['run'] = async () => {
  const checks = await asOperator(doctor)
  return {
    document: { checks },
    lines: checks.map(({ name, status, advice }) => `${status.padEnd(4)}  ${name}: ${advice}`),
    exitCode: checks.some(({ status }) => status === 'fail') ? 1 : 0,
  }
}

export const maintenanceRuns = { repair, doctor: check } as const
