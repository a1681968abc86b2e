import { accountLimitNames, auditActions } from '../contract/admin-names.ts'
import { usageDays, usagePeriods } from '../contract/usage-names.ts'
import { type CommandSection, type CommandSpec, outputOptions, yesOption } from './command.ts'

const nameArgument = [{ name: 'NAME', kind: 'text' }] as const
const quotaOption = { type: 'string', value: 'SIZE', help: 'such as 500MB, 10GB or unlimited' } as const
const passphraseOption = {
  'passphrase-file': {
    type: 'string',
    value: 'FILE',
    kind: 'file',
    help: 'file with the passphrase; - is stdin',
  },
} as const

export const auditFormats = ['text', 'ndjson', 'csv'] as const

const limitOptions = {
  limit: {
    type: 'string',
    multiple: true,
    value: 'NAME=N',
    help: 'a limit: query_timeout_ms=60000, or NAME=default to remove it',
  },
  rate: {
    type: 'string',
    multiple: true,
    value: 'GROUP=RATE',
    help: 'a rate limit: sql=100/60+20, jobs=off, or sql=default to remove it',
  },
  schedules: { type: 'string', value: 'N|default', help: 'how many schedules; 100 if nothing says so' },
} as const
const limitDetails = [
  `Limits: ${accountLimitNames.slice(0, 4).join(', ')},`,
  `${accountLimitNames.slice(4).join(', ')}.`,
  'A limit of the user beats that of its plan, which beats the configured one.',
]

/**
 * The commands of the operator, without their code: the help and the completion of users have them too, and the bundle
 * for users must stay free of the service. The code is in operator/.
 */
export const serviceCommands = {
  serve: {
    summary: 'serve the API and run jobs',
    options: { 'no-worker': { type: 'boolean', help: 'serve the API only; run jobs with cartage worker' } },
  },
  worker: { summary: 'run jobs only' },
  'user create': {
    summary: 'create a user and print its master key',
    arguments: nameArgument,
    options: {
      quota: quotaOption,
      organization: { type: 'string', value: 'ORG', help: 'make the user a member of an organization' },
      admin: { type: 'boolean', help: 'make the member an admin of the organization' },
    },
  },
  'user list': {
    summary: 'list the users',
    details: ['With several hosts, also the host of each user.'],
  },
  'user show': {
    summary: 'show a user, its limits and its host',
    arguments: nameArgument,
    options: { key: { type: 'boolean', help: 'show the master key too; this is audited' } },
  },
  'user reset-key': {
    summary: 'give a user a new master key and print it',
    arguments: nameArgument,
    options: { 'all-keys': { type: 'boolean', help: 'give all its other keys new tokens too' } },
    details: ['The old key stops working at once. The master key reads the new tokens of the others.'],
  },
  'user keys': {
    summary: 'list the keys of a user, never their tokens',
    arguments: nameArgument,
  },
  'user suspend': {
    summary: 'refuse all requests of a user, and have its jobs wait',
    arguments: nameArgument,
    options: {
      reason: {
        type: 'string',
        value: 'TEXT',
        isRequired: true,
        help: 'text that callers with a key of the user see',
      },
    },
    details: ['Running requests and sessions end. The data stays. A second time changes the reason.'],
  },
  'user resume': {
    summary: 'end the suspension of a user; its jobs go on',
    arguments: nameArgument,
  },
  'user set': {
    summary: 'change the limits of a user',
    arguments: nameArgument,
    options: {
      quota: quotaOption,
      keys: { type: 'string', value: 'N|default', help: 'how many keys the user may have; 0 is unlimited' },
      plan: { type: 'string', value: 'NAME|none', help: 'the plan that has its other limits' },
      ...limitOptions,
      admin: {
        type: 'string',
        value: 'on|off',
        kind: ['on', 'off'],
        help: 'whether the member is an admin of its organization',
      },
    },
    details: limitDetails,
  },
  'user move': {
    summary: 'move a user to another host',
    arguments: [
      { name: 'NAME', kind: 'text' },
      { name: 'HOST', kind: 'text' },
    ],
    details: [
      'Requests of the user are refused meanwhile, and its jobs wait. A move that fails or is interrupted leaves the',
      'user where it was.',
    ],
  },
  'user delete': {
    summary: 'delete a user and all its data',
    arguments: nameArgument,
    options: yesOption,
  },
  'plan create': {
    summary: 'create a plan: a named set of limits',
    arguments: nameArgument,
    options: limitOptions,
    details: limitDetails,
  },
  'plan set': {
    summary: 'change the limits of a plan, and so of all its users',
    arguments: nameArgument,
    options: limitOptions,
    details: limitDetails,
  },
  'plan list': { summary: 'list the plans' },
  'plan show': { summary: 'show the limits of a plan', arguments: nameArgument },
  'plan delete': { summary: 'delete a plan that no user has', arguments: nameArgument },
  'org create': {
    summary: 'create an organization and its owner; prints its key',
    arguments: nameArgument,
    options: {
      owner: { type: 'string', value: 'USER', isRequired: true, help: 'the user to create as owner' },
      quota: quotaOption,
    },
  },
  'org list': { summary: 'list the organizations' },
  'org move': {
    summary: 'move an organization to another host',
    arguments: [
      { name: 'NAME', kind: 'text' },
      { name: 'HOST', kind: 'text' },
    ],
    details: [
      'Requests of its members are refused meanwhile, and their jobs wait. A move that fails or is interrupted leaves',
      'the organization where it was.',
    ],
  },
  'org delete': {
    summary: 'delete an organization and its owner',
    arguments: nameArgument,
    options: yesOption,
    details: ['All other members must be deleted before.'],
  },
  'table share': {
    summary: 'make a table of a user readable without a key',
    arguments: [
      { name: 'USER', kind: 'text' },
      { name: 'TABLE', kind: 'text' },
    ],
  },
  'table unshare': {
    summary: 'make a table of a user private again',
    arguments: [
      { name: 'USER', kind: 'text' },
      { name: 'TABLE', kind: 'text' },
    ],
  },
  'host add': {
    summary: 'register a PostgreSQL cluster, or change its address',
    arguments: [
      { name: 'NAME', kind: 'text' },
      { name: 'URL', kind: 'text', isOptional: true },
    ],
    options: {
      'url-file': { type: 'string', value: 'FILE', kind: 'file', help: 'file with the URL; - is stdin' },
    },
    details: [
      'New users are created on it. Give a URL with a password in CARTAGE_HOST_URL or in a file: other users of',
      'the machine can see arguments.',
    ],
  },
  'host list': { summary: 'list the hosts, with addresses and databases' },
  'host set': {
    summary: 'choose whether a host takes new users',
    arguments: nameArgument,
    options: {
      'no-new-users': { type: 'boolean', help: 'make no users there, and move none there' },
      'new-users': { type: 'boolean', help: 'the opposite' },
    },
  },
  'host replica add': {
    summary: 'let a standby of a host answer reads',
    arguments: nameArgument,
    options: {
      of: { type: 'string', value: 'HOST', help: 'the host that it follows; local by default' },
      url: { type: 'string', value: 'URL', help: 'its address, without a password' },
      'url-file': { type: 'string', value: 'FILE', kind: 'file', help: 'file with the URL; - is stdin' },
    },
    details: [
      'Requests and keys that ask for it are answered there. Give a URL with a password in CARTAGE_HOST_URL or in',
      'a file: other users of the machine can see arguments.',
    ],
  },
  'host replica list': {
    summary: 'list the replicas',
    options: { of: { type: 'string', value: 'HOST', help: 'of this host only' } },
  },
  'host replica remove': { summary: 'send no more reads to a replica', arguments: nameArgument },
  'move list': { summary: 'list the moves of accounts, the newest first' },
  'move cancel': {
    summary: 'cancel a move before its switch',
    arguments: [{ name: 'ID', kind: 'text' }],
    details: [
      'What was copied is dropped, and the account is served where it was. Later the move is past its switch.',
    ],
  },
  'host drain': {
    summary: 'move all users and organizations of a host to others',
    arguments: nameArgument,
    options: { to: { type: 'string', value: 'HOST', help: 'the host that takes all' } },
    details: [
      'The host takes no new users from then on. Its accounts go to the hosts with the most room, the largest',
      'first. Can be interrupted and repeated. The exit code is 1 if an account is left.',
    ],
  },
  'host remove': {
    summary: 'remove a host that has no users',
    arguments: nameArgument,
    options: {
      lost: { type: 'boolean', help: 'it never answers again: forget what moves have left there' },
      ...yesOption,
    },
  },
  repair: {
    summary: 'remove what a killed process left half-made',
    details: ['Every start of the service does the same.'],
  },
  doctor: {
    summary: 'check an installation and say what to fix',
    details: ['It changes nothing. The exit code is 1 if a check fails.'],
  },
  'activity stop': {
    summary: 'stop a statement, cancel a job, or stop all of a user',
    arguments: [{ name: 'ID', kind: 'text', isOptional: true }],
    options: { user: { type: 'string', value: 'USER', help: 'all that runs for this user' } },
    details: [
      'The caller gets 409 statement-cancelled. Waiting jobs stay in the queue: suspend the user to stop these.',
      'This is audited. The exit code is 1 if a process did not answer.',
    ],
  },
  activity: {
    summary: 'show what runs now in all processes, longest first',
    options: {
      user: { type: 'string', value: 'USER', help: 'of one user only' },
      full: { type: 'boolean', help: 'show whole texts of SQL; this is audited' },
      limit: { type: 'string', value: 'N', help: 'how many; 100 if not given' },
    },
  },
  usage: {
    summary: 'show what a user, or each of all users, has used',
    arguments: [{ name: 'USER', kind: 'text', isOptional: true }],
    options: {
      since: { type: 'string', value: 'DAY', help: 'a day or a time; 30 days ago if not given' },
      until: { type: 'string', value: 'DAY', help: 'a day or a time, not included; now if not given' },
      by: { type: 'string', value: 'PERIOD', kind: usagePeriods, help: 'hour, day or month, in UTC' },
      csv: { type: 'boolean', help: 'print CSV, of one user' },
    },
    details: [`It is kept for ${usageDays} days. A count is stored within a minute.`],
  },
  audit: {
    summary: 'show changes of keys and accounts, newest first',
    details: ['Refused credentials and the first use of each key a day are recorded too.'],
    options: {
      account: { type: 'string', value: 'NAME', help: 'of one account only' },
      user: { type: 'string', value: 'NAME', help: 'the same' },
      since: { type: 'string', value: 'TIME', help: 'records since, such as 24h or 2026-01-31' },
      format: {
        type: 'string',
        value: 'FORMAT',
        kind: auditFormats,
        help: 'text, ndjson or csv, with details',
      },
      action: {
        type: 'string',
        value: 'ACTION',
        kind: auditActions,
        help: 'of one action only, such as key.created',
      },
      limit: { type: 'string', value: 'N', help: 'how many records; 50 if not given' },
      before: { type: 'string', value: 'ID', help: 'records before this one' },
    },
  },
  'secret rotate': {
    summary: 'encrypt all tokens again with a new secret',
    details: [
      'The new secret is CARTAGE_NEW_SECRET. An embedded installation generates one if that is not set.',
      'Restart every process with the new secret afterwards.',
    ],
  },
  backup: {
    summary: 'save a running installation in one file',
    arguments: [{ name: 'FILE', kind: 'file' }],
    options: {
      ...passphraseOption,
      'without-secret': { type: 'boolean', help: 'leave the secret out' },
    },
    details: [
      'The file is compressed if its name ends in .gz or .tgz. The secret in it is sealed with a passphrase:',
      'CARTAGE_BACKUP_PASSPHRASE, or --passphrase-file.',
    ],
  },
  restore: {
    summary: 'make an installation, or one user, from a backup',
    arguments: [{ name: 'FILE', kind: 'file' }],
    options: {
      ...passphraseOption,
      user: { type: 'string', value: 'NAME', help: 'only this user, into the running installation' },
      as: { type: 'string', value: 'NEW', help: 'the name of the user that is made of it' },
      'with-hosts': { type: 'boolean', help: 'no other installation uses its further hosts' },
    },
    details: [
      'Into an empty CARTAGE_DATA_DIR, or into the PostgreSQL of CARTAGE_DATABASE_URL, which must have no',
      'installation. If the command fails, it leaves nothing there.',
      'With --user and --as it makes a new user with the data and keys of one in the backup, and prints its master',
      'key. The service goes on meanwhile. If the command fails, there is no new user.',
    ],
  },
} as const satisfies Readonly<Record<string, Omit<CommandSpec, 'name'>>>

export type ServiceCommandName = keyof typeof serviceCommands

export const serviceCommandNames = Object.keys(serviceCommands) as readonly ServiceCommandName[]

export const serviceCommand = (name: ServiceCommandName): CommandSpec => ({ name, ...serviceCommands[name] })

export const serviceSection: CommandSection = {
  title: 'On the machine of the service',
  commands: serviceCommandNames.map(serviceCommand),
  commonOptions: outputOptions,
}

/**
 * Whether the operator's program runs the words. The first word decides, except that users have `table`, too: there
 * the second word does.
 */
export function isOperatorCommand([first = '', second = '', ...rest]: readonly string[]): boolean {
  if (first === 'help') return second !== 'help' && isOperatorCommand([second, ...rest])
  if (first === 'table') return second === 'share' || second === 'unshare'
  return serviceCommandNames.some((name) => name.split(' ')[0] === first)
}
