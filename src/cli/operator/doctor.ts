import { doctor } from '../../doctor/doctor.ts'
import type { Command } from '../command.ts'
import { asOperator } from './as-operator.ts'

export const runDoctor: Command['run'] = async () => {
  const checks = await asOperator(doctor)
  return {
    document: { checks },
    lines: checks.map(({ name, status, advice }) => `${status.padEnd(4)}  ${name}: ${advice}`),
    exitCode: checks.some(({ status }) => status === 'fail') ? 1 : 0,
  }
}
