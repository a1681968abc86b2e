import { repairAccounts } from '../../accounts/repair-accounts.ts'
import { doctor } from '../../doctor/doctor.ts'
import { repairKeys } from '../../keys/repair-keys.ts'
import { repairTemporaryTables } from '../../keys/temporary-tables.ts'
import { removeAllAbandoned } from '../../postgres/cluster/temporary-cluster.ts'
import type { Command } from '../command.ts'
import { asOperator } from './as-operator.ts'

const repair: Command['run'] = async () => {
  const repaired = await asOperator(async (installation, { dataDir }) => ({
    restore: await removeAllAbandoned(dataDir, installation.log),
    accounts: await repairAccounts(installation),
    roles: await repairKeys(installation),
    settled: await repairTemporaryTables(installation),
  }))
  const lines = [
    ...(repaired.restore ? ['removed what a restore has left that was killed'] : []),
    ...repaired.accounts.map((name) => `removed account ${name}`),
    ...repaired.roles.map((role) => `removed role ${role}`),
    ...repaired.settled.map((role) => `settled the right of ${role} to make temporary tables`),
  ]
  return { document: repaired, lines: lines.length > 0 ? lines : ['nothing to repair'] }
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
