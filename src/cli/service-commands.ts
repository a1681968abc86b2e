/** The commands that need the service itself, its databases and its secret. The help for people names them too. */
export const serviceCommands = {
  serve: 'serve the API and run jobs; --no-worker serves alone',
  worker: 'run jobs alone',
  'user create': 'create a user and print its master key',
  'user list': 'list users',
  'user show': 'show a user and its limits',
  'user reset-key': 'give a user a new master key',
  'user set': 'change the limits of a user',
  'user delete': 'delete a user and everything it has',
  'org create': 'create an organization and its owner',
  'org list': 'list organizations',
  'org delete': 'delete an organization without members',
  'table share': 'make a table of a user readable without a key',
  'table unshare': 'make it private again',
  'host add': 'register a PostgreSQL cluster',
  'host list': 'list the clusters',
  'host remove': 'forget a cluster without users',
  repair: 'remove what a killed process left half-made',
  doctor: 'look an installation over and say what to do',
  audit: 'show who changed what',
  'secret rotate': 're-encrypt all tokens with a new secret',
  backup: 'save a running installation whole',
  restore: 'make an installation from a backup',
} as const satisfies Record<string, string>

/** `table` is for people, but for `table share` and `table unshare`; everything else is told by its first word. */
export function isForService([first = '', second = '', ...rest]: readonly string[]): boolean {
  if (first === 'help') return second !== 'help' && isForService([second, ...rest])
  if (first === 'table') return second === 'share' || second === 'unshare'
  return Object.keys(serviceCommands).some((name) => name.split(' ')[0] === first)
}
