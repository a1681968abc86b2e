/** Every command takes them. */
export const outputOptions = {
  json: { type: 'boolean', help: 'print one JSON document' },
  help: { type: 'boolean', short: 'h', help: 'explain the command' },
} as const

/** Of commands that ask for confirmation. */
export const yesOption = {
  yes: { type: 'boolean', short: 'y', help: 'do not ask for confirmation' },
} as const
