import { stringifyExact } from '../client/exact-json.ts'
import { readVersion } from '../version.ts'
import { type Command, parseCall, UsageError } from './command.ts'
import { commandsOf, unknownCommand, wordsToExplain } from './command-group.ts'
import { explainError } from './explain-error.ts'
import { Interrupted } from './interrupt.ts'
import { auditCommand } from './operator/audit.ts'
import { backupCommands } from './operator/backup.ts'
import { doctorCommand } from './operator/doctor.ts'
import { hostCommands } from './operator/hosts.ts'
import { organizationCommands } from './operator/organizations.ts'
import { repairCommand } from './operator/repair.ts'
import { secretCommand } from './operator/secret.ts'
import { tableCommands } from './operator/tables.ts'
import { userSetCommand } from './operator/user-set.ts'
import { userCommands } from './operator/users.ts'
import { visible } from './printable.ts'
import { serviceCommands } from './service-commands.ts'
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
  const explained = wordsToExplain(args)
  if (args.length === 0 || explained?.length === 0) return print(help())
  if (args[0] === '--version') return print([readVersion()])
  try {
    if (explained) return print(explain(explained))
    const { command, rest } = findCommand(args)
    const { positionals, options } = parseCall(command, rest)
    const { document, lines, exitCode = 0 } = await command.run(positionals, options)
    print(options.json ? [stringifyExact(document)] : lines)
    return exitCode
  } catch (error) {
    return complain(error)
  }
}

function findCommand(args: readonly string[]): { command: Command; rest: readonly string[] } {
  const command = commands.find(beginsWith(args))
  if (command) return { command, rest: args.slice(command.name.split(' ').length) }
  const running = processes.find(({ name }) => name === args[0])
  if (running) throw new UsageError(`usage: ${usageOf(running)}`)
  throw unknownCommand(Object.keys(serviceCommands), args)
}

type Described = Pick<Command, 'name' | 'usage' | 'summary'>

const processes: readonly Described[] = [
  { name: 'serve', usage: '[--no-worker]', summary: 'serve the API, with or without running jobs' },
  { name: 'worker', usage: '', summary: 'run jobs alone' },
]

const beginsWith =
  (words: readonly string[]) =>
  ({ name }: Described) =>
    name.split(' ').every((word, place) => words[place] === word)

const usageOf = ({ name, usage }: Described) => `cartage ${name} ${usage}`.trim()

/** One command, or all of a word such as `user`. */
function explain(words: readonly string[]): readonly string[] {
  const all = [...processes, ...commands]
  const command = all.find(beginsWith(words))
  const meant = command ? [command] : commandsOf(all, words.join(' '))
  if (meant.length === 0) throw unknownCommand(Object.keys(serviceCommands), words)
  return meant.flatMap((one) => [`usage: ${usageOf(one)}`, one.summary])
}

function help(): readonly string[] {
  return [
    'usage: cartage COMMAND',
    '',
    ...[...processes, ...commands].map(
      ({ name, usage, summary }) => `  ${`${name} ${usage}`.trim()}\n      ${summary}`,
    ),
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
