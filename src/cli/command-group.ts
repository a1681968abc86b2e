import { UsageError } from './command.ts'

/** Those of a word such as `job`, or the one of that name. */
export const commandsOf = <C extends Readonly<{ name: string }>>(commands: readonly C[], words: string) =>
  commands.filter(({ name }) => name === words || name.startsWith(`${words} `))

/** What is said of a command that there is not; of one that begins well, how it could go on. */
export function unknownCommand(names: readonly string[], args: readonly string[]): UsageError {
  const [first = ''] = args
  const next = names
    .filter((name) => name.startsWith(`${first} `))
    .map((name) => name.slice(first.length + 1))
  const help =
    next.length > 0 ? `after '${first}' comes one of ${next.join(', ')}` : 'cartage --help lists them'
  return new UsageError(`unknown command '${args.slice(0, 2).join(' ')}'; ${help}`)
}

/** `help user create`, `user create --help`, `user --help`: the words that are to be explained. */
export function wordsToExplain(args: readonly string[]): readonly string[] | undefined {
  const words = args.filter((word) => !helpFlags.has(word))
  if (args[0] === 'help') return words.slice(1)
  return words.length < args.length ? words : undefined
}

const helpFlags: ReadonlySet<string> = new Set(['--help', '-h'])
