import { type ParseArgsConfig, parseArgs } from 'node:util'
import { UsageError } from './command-error.ts'
import type { OptionValues } from './option-values.ts'
import type { Terminal } from './terminal.ts'

/** What an argument or the value of an option names. Completion offers such names; of a list, no other is taken. */
export type ArgumentKind = 'table' | 'key' | 'job' | 'query' | 'profile' | 'file' | 'text' | readonly string[]

export type CommandArgument = Readonly<{
  name: string
  kind: ArgumentKind
  isOptional?: true
  /** May be repeated. */
  isMany?: true
}>

export type CommandOption = Readonly<{
  type: 'string' | 'boolean'
  short?: string
  isRequired?: true
  /** May be given more than once. */
  multiple?: true
  /** The name of its value in the help. */
  value?: string
  help: string
  kind?: ArgumentKind
}>
export type CommandOptions = Readonly<Record<string, CommandOption>>

/** Every command takes them. */
export const outputOptions = {
  json: { type: 'boolean', help: 'print one JSON document' },
  help: { type: 'boolean', short: 'h', help: 'explain the command' },
} as const

/** The option of commands that ask for confirmation. */
export const yesOption = {
  yes: { type: 'boolean', short: 'y', help: 'do not ask for confirmation' },
} as const

/** All of a command but its code: enough for parsing, help and completion. */
export type CommandSpec = Readonly<{
  /** The words that call it, such as `job run`. */
  name: string
  summary: string
  arguments?: readonly CommandArgument[]
  options?: CommandOptions
  /** More sentences and examples for `cartage help COMMAND`. */
  details?: readonly string[]
}>

/** What a command gets when it runs. */
export type CommandCall = Readonly<{ args: readonly string[]; values: OptionValues; terminal: Terminal }>

/** `document` is printed with --json, `lines` without. The exit code is 0 unless given. */
export type CommandResult = Readonly<{ document?: unknown; lines?: readonly string[]; exitCode?: number }>

/** A command that prints its output itself returns nothing, or the exit code alone. */
export type Command<Call extends CommandCall = CommandCall> = CommandSpec &
  Readonly<{ run: (call: Call) => Promise<CommandResult | undefined> | Promise<void> }>

/** Commands that run in the same place and share options. */
export type CommandSection<Spec extends CommandSpec = CommandSpec> = Readonly<{
  title: string
  commands: readonly Spec[]
  /** Every command of the section takes them. */
  commonOptions: CommandOptions
}>

/** The command that the first words name, and the rest of the words. */
export function findCommand<Spec extends CommandSpec>(commands: readonly Spec[], words: readonly string[]) {
  const command = commands.find(({ name }) => name.split(' ').every((word, place) => words[place] === word))
  return command && { command, rest: words.slice(command.name.split(' ').length) }
}

/** Commands of a group such as `job`, or the command of that name. */
export const commandsOf = <Spec extends CommandSpec>(commands: readonly Spec[], group: string) =>
  commands.filter(({ name }) => name === group || name.startsWith(`${group} `))

/** With --help the arguments are not counted. */
export function parseCall(
  command: CommandSpec,
  commonOptions: CommandOptions,
  words: readonly string[],
): Pick<CommandCall, 'args' | 'values'> {
  const options = { ...command.options, ...commonOptions }
  const { args, values } = parse(command, options, words)
  if (values.help) return { args, values }
  const known = command.arguments ?? []
  const least = known.filter(({ isOptional }) => !isOptional).length
  const most = known.some(({ isMany }) => isMany) ? Number.POSITIVE_INFINITY : known.length
  if (args.length < least || args.length > most) throw wrongCall(command)
  for (const [place, { name, kind }] of known.entries()) checkChoice(name, kind, args[place])
  for (const [name, { isRequired, value, kind }] of Object.entries(options)) {
    if (isRequired && values[name] === undefined) throw wrongCall(command, `--${name} ${value} is required`)
    checkChoice(`--${name}`, kind, values[name])
  }
  return { args, values }
}

function checkChoice(name: string, kind: ArgumentKind | undefined, value: OptionValues[string]): void {
  if (typeof kind !== 'object' || typeof value !== 'string' || kind.includes(value)) return
  throw new UsageError(`${name} must be one of ${kind.join(', ')}, not '${value}'`)
}

function parse(command: CommandSpec, options: CommandOptions, words: readonly string[]) {
  try {
    const { positionals, values } = parseArgs({
      args: [...words],
      options: options as unknown as NonNullable<ParseArgsConfig['options']>,
      allowPositionals: true,
    })
    return { args: positionals, values: values as OptionValues }
  } catch (error) {
    // The sentences after the first explain how to pass a leading dash.
    throw wrongCall(command, (error as Error).message.split('. ')[0])
  }
}

/** A usage error: the reason if there is one, and the usage of the command. */
export function wrongCall(command: CommandSpec, reason?: string): UsageError {
  return new UsageError([reason, `usage: ${usageOf(command)}`].filter(Boolean).join('\n'))
}

/** `cartage user create NAME [--quota SIZE]` */
export function usageOf({ name, arguments: known = [], options = {} }: CommandSpec): string {
  const words = known.map((argument) => {
    const word = argument.isMany ? `${argument.name}…` : argument.name
    return argument.isOptional ? `[${word}]` : word
  })
  const flags = Object.entries(options).map(([option, { short, value, isRequired, multiple }]) => {
    const flag = short ? `-${short}` : `--${option}`
    const shown = value ? `${flag} ${value}` : flag
    return isRequired ? shown : `[${shown}]${multiple ? '…' : ''}`
  })
  return ['cartage', name, ...words, ...flags].join(' ')
}
