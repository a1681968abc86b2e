import { readConfig } from '../../config/config.ts'
import { addHost } from '../../hosts/add-host.ts'
import { changeHost } from '../../hosts/change-host.ts'
import { listHosts } from '../../hosts/list-hosts.ts'
import { removeHost } from '../../hosts/remove-host.ts'
import { confirm } from '../ask.ts'
import { type Command, wrongCall } from '../command.ts'
import { UsageError } from '../command-error.ts'
import { readSecretFile } from '../named-file.ts'
import { textOf } from '../option-values.ts'
import { serviceCommand } from '../service-commands.ts'
import { asOperator } from './as-operator.ts'

const add: Command['run'] = async ({ args, values }) => {
  const [name, given] = args as [string, string?]
  const url = await hostUrl('host add', given, textOf(values, 'url-file'))
  const host = await asOperator((installation) => addHost(installation, name, url))
  return { document: { id: host.id, name: host.name }, lines: [`host ${host.name} is ready`] }
}

/** Other users of the machine can see arguments, so a password is refused there. */
export async function hostUrl(
  command: 'host add' | 'host replica add',
  given: string | undefined,
  file: string | undefined,
): Promise<string> {
  if (given === '-' || file !== undefined) return readSecretFile(file ?? '-', 'address')
  if (given !== undefined && /:[^/@]*@/.test(given.replace(/^\w+:\/\//, '')))
    throw new UsageError(
      'others on this machine can see a password on the command line: use CARTAGE_HOST_URL, --url-file FILE, or - for standard input',
    )
  const url = given ?? readConfig().hostUrl
  const wanted = command === 'host add' ? 'URL' : '--url URL'
  if (!url) throw wrongCall(serviceCommand(command), `give ${wanted}, --url-file FILE or CARTAGE_HOST_URL`)
  return url
}

const list: Command['run'] = async () => {
  const hosts = await asOperator(listHosts)
  return {
    document: { hosts },
    lines: hosts.map(
      (host) =>
        `${host.name} (${host.databases} databases) at ${host.address}${host.accepts_users ? '' : `, ${host.control_only ? 'only the control database' : 'no new users'}`}`,
    ),
  }
}

const set: Command['run'] = async ({ args, values }) => {
  const [isClosed, isOpened] = [values['no-new-users'] === true, values['new-users'] === true]
  if (isClosed === isOpened) throw wrongCall(serviceCommand('host set'), 'give --no-new-users or --new-users')
  const host = await asOperator((installation) => changeHost(installation, args[0]!, isOpened))
  const line = `host ${host.name} takes ${isOpened ? '' : 'no '}new users`
  return { document: host, lines: [line] }
}

const remove: Command['run'] = async (call) => {
  const name = call.args[0]!
  const isLost = call.values.lost === true
  const loss = `What moves of accounts have left on the host ${name} is forgotten, and never dropped`
  if (isLost) await confirm(call, { name, loss, verb: 'remove' })
  await asOperator((installation) => removeHost(installation, name, isLost))
  return { document: { name, removed: true }, lines: [`removed host ${name}`] }
}

export const hostRuns = {
  'host add': add,
  'host list': list,
  'host set': set,
  'host remove': remove,
} as const
