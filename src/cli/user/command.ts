import { type ParseArgsConfig, parseArgs } from 'node:util'
import type { UserConfig } from '../../config.ts'
import { UsageError } from '../command.ts'
import type { Terminal } from './terminal.ts'

/** What can be told of an argument, for completion. */
export type ArgumentKind = 'table' | 'key' | 'job' | 'profile' | 'file' | 'text' | readonly string[]

export type Argument = Readonly<{ name: string; kind: ArgumentKind; isOptional?: true; isMany?: true }>

export type Option = Readonly<{
  type: 'string' | 'boolean'
  short?: string
  /** May be given more than once. */
  multiple?: true
  /** How its value is called in the help. */
  value?: string
  help: string
  kind?: ArgumentKind
}>
export type Options = Readonly<Record<string, Option>>

export type Values = Readonly<Record<string, string | boolean | readonly string[] | undefined>>

/** What a command is given when it runs. */
export type Call = Readonly<{
  args: readonly string[]
  values: Values
  config: UserConfig
  terminal: Terminal
}>

export type UserCommand = Readonly<{
  /** The words that call it, such as `job run`. */
  name: string
  summary: string
  arguments?: readonly Argument[]
  options?: Options
  /** Further sentences and examples for `cartage help`. */
  details?: readonly string[]
  /** Answers the exit code, 0 if nothing is said. */
  run: (call: Call) => Promise<number | undefined>
}>

/** Every command takes these. */
export const commonOptions = {
  profile: { type: 'string', value: 'P', kind: 'profile', help: 'the profile to use' },
  url: { type: 'string', value: 'URL', help: 'where the service is' },
  user: { type: 'string', value: 'USER', help: 'whose data' },
  'key-file': { type: 'string', value: 'FILE', kind: 'file', help: 'file with the key; - is stdin' },
  key: { type: 'string', value: 'TOKEN', help: 'the key; others on this machine can see it' },
  json: { type: 'boolean', help: 'print one JSON document' },
  quiet: { type: 'boolean', short: 'q', help: 'say nothing but errors' },
  'no-progress': { type: 'boolean', help: 'show no progress' },
  'no-color': { type: 'boolean', help: 'no colours' },
  verbose: { type: 'boolean', short: 'v', help: 'show the requests, without tokens' },
  help: { type: 'boolean', short: 'h', help: 'explain the command' },
} as const satisfies Options

export function parseCall(command: UserCommand, args: readonly string[]): Pick<Call, 'args' | 'values'> {
  const { positionals, values } = parse(command, args)
  const wanted = command.arguments ?? []
  const least = wanted.filter(({ isOptional }) => !isOptional).length
  const most = wanted.some(({ isMany }) => isMany) ? Number.POSITIVE_INFINITY : wanted.length
  if (!values.help && (positionals.length < least || positionals.length > most)) throw wrongCall(command)
  return { args: positionals, values }
}

function parse(command: UserCommand, args: readonly string[]) {
  try {
    const options = { ...command.options, ...commonOptions } as unknown as ParseArgsConfig['options']
    const { positionals, values } = parseArgs({ args: [...args], options: options!, allowPositionals: true })
    return { positionals, values: values as Values }
  } catch (error) {
    throw wrongCall(command, (error as Error).message.split('. ')[0])
  }
}

/** It was called wrongly: what is wrong, and how it is called. */
export function wrongCall(command: Pick<UserCommand, 'name' | 'arguments' | 'options'>, reason?: string) {
  return new UsageError([reason, `usage: ${usageOf(command)}`].filter(Boolean).join('\n'))
}

export function usageOf({
  name,
  arguments: wanted = [],
  options = {},
}: Pick<UserCommand, 'name' | 'arguments' | 'options'>): string {
  const words = wanted.map((one) => {
    const word = one.isMany ? `${one.name}…` : one.name
    return one.isOptional ? `[${word}]` : word
  })
  const flags = Object.entries(options).map(([option, { short, value }]) => {
    const flag = short && option.length > 1 ? `-${short}` : option.length > 1 ? `--${option}` : `-${option}`
    return `[${value ? `${flag} ${value}` : flag}]`
  })
  return ['cartage', name, ...words, ...flags].join(' ')
}

export const textOf = (values: Values, option: string) => values[option] as string | undefined
export const listOf = (values: Values, option: string) => (values[option] ?? []) as readonly string[]
