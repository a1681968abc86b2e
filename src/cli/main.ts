import { stringifyExact } from '../client/exact-json.ts'
import { readVersion } from '../version.ts'
import { type Command, parseCall, UsageError } from './command.ts'
import { auditCommand } from './commands/audit.ts'
import { backupCommands } from './commands/backup.ts'
import { doctorCommand } from './commands/doctor.ts'
import { hostCommands } from './commands/hosts.ts'
import { organizationCommands } from './commands/organizations.ts'
import { repairCommand } from './commands/repair.ts'
import { secretCommand } from './commands/secret.ts'
import { tableCommands } from './commands/tables.ts'
import { userSetCommand } from './commands/user-set.ts'
import { userCommands } from './commands/users.ts'
import { explainError } from './explain-error.ts'
import { Interrupted } from './interrupt.ts'
import { visible } from './printable.ts'
import { talk } from './talk.ts'

/** `serve` and `worker` are not among them: they run until they are told to stop. */
export const commands: readonly Command[] = [
  ...userCommands,
  userSetCommand,
  ...organizationCommands,
  ...tableCommands,
  ...hostCommands,
  repairCommand,
  doctorCommand,
  auditCommand,
  secretCommand,
  ...backupCommands,
]

/** Exit codes: 0 it is done, 1 it could not be done, 2 it was called wrongly, 130 it was interrupted. */
export async function runCommandLine(args: readonly string[]): Promise<number> {
  process.stdout.on('error', endWithReader)
  if (args.length === 0 || ['help', '--help', '-h'].includes(args[0]!)) return print(help())
  if (args[0] === '--version') return print([readVersion()])
  try {
    const { command, rest } = findCommand(args)
    const { positionals, options } =
      rest.includes('--help') || rest.includes('-h') ? helpCall : parseCall(command, rest)
    if (options.help) return print([`usage: cartage ${command.name} ${command.usage}`, command.summary])
    const { document, lines, exitCode = 0 } = await command.run(positionals, options)
    print(options.json ? [stringifyExact(document)] : lines)
    return exitCode
  } catch (error) {
    return complain(error)
  }
}

const helpCall = { positionals: [], options: { help: true, json: undefined } }

function findCommand(args: readonly string[]): { command: Command; rest: readonly string[] } {
  const command = commands.find(({ name }) => name.split(' ').every((word, place) => args[place] === word))
  if (!command)
    throw new UsageError(`unknown command '${args.slice(0, 2).join(' ')}'; cartage --help lists them`)
  return { command, rest: args.slice(command.name.split(' ').length) }
}

function help(): readonly string[] {
  const rows = [
    ['serve [--no-worker]', 'serve the API, with or without running jobs'],
    ['worker', 'run jobs alone'],
    ...commands.map(({ name, usage, summary }) => [`${name} ${usage}`.trim(), summary]),
  ] as const
  return [
    'usage: cartage COMMAND',
    '',
    ...rows.map(([call, summary]) => `  ${call}\n      ${summary}`),
    '',
    'Every command takes --json (one JSON document) and --help. Configuration: docs/configuration.md.',
  ]
}

function print(lines: readonly string[]): number {
  const text = lines.map((line) => `${line}\n`).join('')
  process.stdout.write(process.stdout.isTTY ? visible(text) : text)
  return 0
}

/** Whoever reads our output, such as `head`, may have enough of it: that is no trouble. A full disk is. */
function endWithReader({ code, message }: NodeJS.ErrnoException): void {
  if (code === 'EPIPE') process.exit(0)
  talk(`standard output cannot be written: ${message}`)
  process.exit(1)
}

function complain(error: unknown): number {
  const sentence =
    error instanceof UsageError || error instanceof Interrupted ? error.message : explainError(error)
  if (sentence === undefined) throw error
  talk(sentence)
  if (error instanceof Interrupted) return 130
  return error instanceof UsageError ? 2 : 1
}
