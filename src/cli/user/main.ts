import { readUserConfig, unknownVariables } from '../../config.ts'
import { ConfigError } from '../../config-variables.ts'
import { readVersion } from '../../version.ts'
import { UsageError } from '../command.ts'
import { commandsOf, unknownCommand, wordsToExplain } from '../command-group.ts'
import { visible } from '../printable.ts'
import { isForService, serviceCommands } from '../service-commands.ts'
import { parseCall, type UserCommand } from './command.ts'
import { commands, findCommand } from './commands.ts'
import { complete } from './completion.ts'
import { exitCodeOf, explain } from './explain.ts'
import { explainCommand, explainGroup, overview } from './help.ts'
import { openTerminal, tell } from './terminal.ts'

/** What `cartage` does for people, over HTTP alone; answers the exit code, of which `cartage help exit-codes` tells. */
export async function main(args: readonly string[]): Promise<number> {
  process.stdout.on('error', endWithReader)
  const unknown = unknownVariables()
  if (unknown.length > 0) warn(`not a variable of Cartage, so without effect: ${unknown.join(', ')}`)
  try {
    if (args.length === 0 || ['--help', '-h'].includes(args[0]!)) return print(overview(commands))
    if (args[0] === '--version') return print([readVersion()])
    if (args[0] === '__complete') return print(await complete(commands, args.slice(1)).catch(() => []))
    const group = wordsToExplain(args)?.join(' ') ?? ''
    if (group && !findCommand(args) && commandsOf(commands, group).length > 0)
      return print(explainGroup(commandsOf(commands, group)))
    const { command, rest } = find(args)
    return await run(command, rest)
  } catch (error) {
    return complain(error)
  }
}

function find(args: readonly string[]) {
  if (isForService(args)) {
    const [first] = args[0] === 'help' ? args.slice(1) : args
    throw new UsageError(
      `'cartage ${first}' is for the machine of the service: install the whole package there`,
    )
  }
  const found = findCommand(args)
  if (!found)
    throw unknownCommand([...commands.map(({ name }) => name), ...Object.keys(serviceCommands)], args)
  return found
}

async function run(command: UserCommand, rest: readonly string[]): Promise<number> {
  const { args, values } = parseCall(command, rest)
  if (values.help) return print(explainCommand(command))
  const config = readUserConfig()
  return (await command.run({ args, values, config, terminal: openTerminal(values, config) })) ?? 0
}

function print(lines: readonly string[]): number {
  const text = lines.map((line) => `${line}\n`).join('')
  process.stdout.write(process.stdout.isTTY ? visible(text) : text)
  return 0
}

const warn = (text: string) => tell(`warning: ${text}`)

/** Whoever reads our output, such as `head`, may have enough of it: that is no trouble. A full disk is. */
function endWithReader({ code, message }: NodeJS.ErrnoException): void {
  if (code === 'EPIPE') process.exit(0)
  tell(`error: standard output cannot be written: ${message}`)
  process.exit(1)
}

function complain(error: unknown): number {
  const exitCode = exitCodeOf(error)
  if (exitCode === undefined) throw error
  const isOurs = error instanceof UsageError || error instanceof ConfigError
  tell(isOurs ? `error: ${error.message}` : explain(error))
  return exitCode
}
