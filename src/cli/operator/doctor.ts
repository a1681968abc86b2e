import { doctor } from '../../doctor/doctor.ts'
import type { Command } from '../command.ts'
import { asOperator } from './as-operator.ts'

/** Changes nothing; exit code 1 when something fails. */
export const doctorCommand: Command = {
  name: 'doctor',
  usage: '',
  summary: 'look an installation over and say what to do',
  positionals: [],
  options: {},
  run: async () => {
    const checks = await asOperator(doctor)
    return {
      document: { checks },
      lines: checks.map(({ name, status, advice }) => `${status.padEnd(4)}  ${name}: ${advice}`),
      exitCode: checks.some(({ status }) => status === 'fail') ? 1 : 0,
    }
  },
}
