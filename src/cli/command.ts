import { type ParseArgsConfig, parseArgs } from 'node:util'

export type OptionValues = Readonly<Record<string, string | boolean | undefined>>

/** One command: how it is called, what it says of itself, what it does. Its result is printed. */
export type Command = Readonly<{
  /** The words that call it, such as `user create`. */
  name: string
  usage: string
  summary: string
  /** Names of the positional arguments, all required. */
  positionals: readonly string[]
  /** Those that may follow. */
  optional?: readonly string[]
  options: NonNullable<ParseArgsConfig['options']>
  run: (positionals: readonly string[], options: OptionValues) => Promise<CommandResult>
}>

/** `document` is what --json prints; `lines` are for people. */
export type CommandResult = Readonly<{ document: unknown; lines: readonly string[]; exitCode?: number }>

/** The person at the terminal called it wrongly. */
export class UsageError extends Error {}

export type ParsedCall = Readonly<{ positionals: readonly string[]; options: OptionValues }>

export function parseCall(command: Command, args: readonly string[]): ParsedCall {
  const parsed = parse(command, args)
  const { positionals, optional = [] } = command
  const given = parsed.positionals.length
  if (given < positionals.length || given > positionals.length + optional.length) {
    throw new UsageError(`usage: cartage ${command.name} ${command.usage}`.trim())
  }
  return parsed
}

function parse(command: Command, args: readonly string[]): ParsedCall {
  try {
    const { positionals, values } = parseArgs({
      args: [...args],
      options: { ...command.options, json: { type: 'boolean' }, help: { type: 'boolean', short: 'h' } },
      allowPositionals: true,
      strict: true,
    })
    return { positionals, options: values as OptionValues }
  } catch (error) {
    throw new UsageError(`${(error as Error).message}\nusage: cartage ${command.name} ${command.usage}`)
  }
}

/** A whole number given as an option. */
export function wholeNumber(option: string, value: OptionValues[string]): number | undefined {
  if (value === undefined) return undefined
  if (typeof value === 'string' && /^\d{1,15}$/.test(value)) return Number(value)
  throw new UsageError(`--${option} must be a whole number`)
}
