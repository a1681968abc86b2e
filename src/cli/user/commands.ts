import { UsageError } from '../command.ts'
import { commandsOf } from '../command-group.ts'
import { keyCommands } from './account/keys.ts'
import { tableCommands } from './account/tables.ts'
import type { UserCommand } from './command.ts'
import { completionCommand } from './completion.ts'
import { explainCommand, explainGroup, overview, topics } from './help.ts'
import { jobCommands } from './jobs/commands.ts'
import { openCommand } from './open.ts'
import { profileCommands } from './profile/commands.ts'
import { sqlCommand } from './sql/command.ts'
import { transferCommands } from './transfer/commands.ts'
import { importCommand } from './transfer/import.ts'

const help: UserCommand = {
  name: 'help',
  summary: 'explain a command, the formats or the exit codes',
  arguments: [{ name: 'COMMAND', kind: 'text', isOptional: true, isMany: true }],
  run: async ({ args, terminal }) => {
    const topic = topics[args.join(' ')]
    const [command, ...others] = commandsOf(commands, args.join(' '))
    if (args.length > 0 && !topic && !command)
      throw new UsageError(`there is no help for '${args.join(' ')}'`)
    const one = command && (others.length > 0 ? explainGroup([command, ...others]) : explainCommand(command))
    const lines = topic ?? one ?? overview(commands)
    terminal.out.write(lines.map((line) => `${line}\n`).join(''))
    return 0
  },
}

/** In the order of the help. */
export const commands: readonly UserCommand[] = [
  ...profileCommands,
  sqlCommand,
  ...jobCommands,
  importCommand,
  ...transferCommands,
  ...tableCommands,
  ...keyCommands,
  completionCommand,
  openCommand,
  help,
]

export function findCommand(args: readonly string[]) {
  const command = commands.find(({ name }) => name.split(' ').every((word, place) => args[place] === word))
  return command && { command, rest: args.slice(command.name.split(' ').length) }
}
