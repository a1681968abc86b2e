import { type Command, type CommandCall, wrongCall } from '../command.ts'
import { helpCommand } from '../help.ts'
import { type Program, runProgram } from '../run-program.ts'
import {
  type ServiceCommandName,
  serviceCommand,
  serviceCommandNames,
  serviceSection,
} from '../service-commands.ts'
import { openTerminal } from '../terminal.ts'
import { activityRuns } from './activity.ts'
import { runAudit } from './audit.ts'
import { backup } from './backup.ts'
import { drainRuns } from './drain.ts'
import { explainOperatorFailure } from './explain-error.ts'
import { hostRuns } from './hosts.ts'
import { maintenanceRuns } from './maintenance.ts'
import { moveRuns } from './moves.ts'
import { organizationRuns } from './organizations.ts'
import { planRuns } from './plans.ts'
import { replicaRuns } from './replicas.ts'
import { restore } from './restore.ts'
import { runSecretRotate } from './secret.ts'
import { shareRuns } from './tables.ts'
import { runUsage } from './usage.ts'
import { runUserSet } from './user-set.ts'
import { userRuns } from './users.ts'

/** `serve` and `worker` run in src/main.ts and reach this only if they were called wrongly. */
const runs: Readonly<Record<ServiceCommandName, Command['run']>> = {
  serve: async () => {
    throw wrongCall(serviceCommand('serve'))
  },
  worker: async () => {
    throw wrongCall(serviceCommand('worker'))
  },
  ...userRuns,
  'user set': runUserSet,
  ...planRuns,
  ...organizationRuns,
  ...shareRuns,
  ...hostRuns,
  ...replicaRuns,
  ...moveRuns,
  ...drainRuns,
  ...maintenanceRuns,
  ...activityRuns,
  usage: runUsage,
  audit: runAudit,
  'secret rotate': runSecretRotate,
  backup,
  restore,
}

const help = {
  sections: [serviceSection],
  topics: {},
  footer: 'cartage help COMMAND explains one. Configuration: docs/configuration.md.',
}

const program: Program<CommandCall> = {
  section: {
    ...serviceSection,
    commands: [
      ...serviceCommandNames.map((name) => ({ ...serviceCommand(name), run: runs[name] })),
      helpCommand(() => help),
    ],
  },
  help,
  // It uses neither colours nor a pager.
  openCall: (args, values) => ({
    args,
    values,
    terminal: openTerminal(values, { isPlain: true, pager: '' }),
  }),
  explain: explainOperatorFailure,
}

/** Exit codes: 0 done, 1 failed, 2 called wrongly, 130 interrupted. */
export const runCommandLine = (words: readonly string[]): Promise<number> => runProgram(program, words)
