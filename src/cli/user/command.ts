import type { UserConfig } from '../../config/config.ts'
import { type Command, type CommandCall, type CommandOptions, outputOptions } from '../command.ts'

export type UserCall = CommandCall & Readonly<{ config: UserConfig }>
export type UserCommand = Command<UserCall>

/** Every command of users takes them. */
export const userOptions = {
  profile: { type: 'string', value: 'P', kind: 'profile', help: 'the profile to use' },
  url: { type: 'string', value: 'URL', help: 'the address of the service' },
  user: { type: 'string', value: 'USER', help: 'the account to work with' },
  'key-file': { type: 'string', value: 'FILE', kind: 'file', help: 'file with the key; - is stdin' },
  key: { type: 'string', value: 'TOKEN', help: 'the key; others on this machine can see it' },
  json: outputOptions.json,
  quiet: { type: 'boolean', short: 'q', help: 'print errors only' },
  'no-progress': { type: 'boolean', help: 'show no progress' },
  'no-color': { type: 'boolean', help: 'no colours' },
  verbose: { type: 'boolean', short: 'v', help: 'show the requests, without tokens' },
  help: outputOptions.help,
} as const satisfies CommandOptions

/** The option of a command that takes its SQL from a file. */
export const fileOption = (what: string) =>
  ({
    type: 'string',
    short: 'f',
    value: 'FILE',
    kind: 'file',
    help: `file with ${what}; - is stdin`,
  }) as const
