import { readConfig } from '../../config.ts'
import { addHost } from '../../hosts/add-host.ts'
import { listHosts } from '../../hosts/list-hosts.ts'
import { removeHost } from '../../hosts/remove-host.ts'
import { type Command, UsageError } from '../command.ts'
import { readSecretFile } from '../secret-input.ts'
import { asOperator } from './as-operator.ts'

const add: Command = {
  name: 'host add',
  usage: 'NAME [URL] [--url-file FILE]',
  summary:
    'register a PostgreSQL cluster for new users, or give a known one a new address; a URL with a password comes from CARTAGE_HOST_URL or a file (- is standard input)',
  positionals: ['NAME'],
  optional: ['URL'],
  options: { 'url-file': { type: 'string' } },
  run: async ([name, given], options) => {
    const url = await givenUrl(given, options['url-file'] as string | undefined)
    const host = await asOperator((installation) => addHost(installation, name!, url))
    return { document: { id: host.id, name: host.name }, lines: [`host ${host.name} is ready`] }
  },
}

const list: Command = {
  name: 'host list',
  usage: '',
  summary: 'list hosts, their addresses and how many databases each has',
  positionals: [],
  options: {},
  run: async () => {
    const hosts = await asOperator(listHosts)
    return {
      document: { hosts },
      lines: hosts.map((host) => `${host.name} (${host.databases} databases) at ${host.address}`),
    }
  },
}

const remove: Command = {
  name: 'host remove',
  usage: 'NAME',
  summary: 'forget a host that has no users',
  positionals: ['NAME'],
  options: {},
  run: async ([name]) => {
    await asOperator((installation) => removeHost(installation, name!))
    return { document: { name, removed: true }, lines: [`removed host ${name}`] }
  },
}

export const hostCommands: readonly Command[] = [add, list, remove]

/** What stands on the command line is there for everybody on the machine to see. */
async function givenUrl(given: string | undefined, file: string | undefined): Promise<string> {
  if (given === '-' || file !== undefined) return readSecretFile(file ?? '-', 'address')
  if (given !== undefined && /:[^/@]*@/.test(given.replace(/^\w+:\/\//, '')))
    throw new UsageError(
      'others on this machine can see a password on the command line: use CARTAGE_HOST_URL, --url-file FILE, or - for standard input',
    )
  const url = given ?? readConfig().hostUrl
  if (!url) throw new UsageError(`usage: cartage host add ${add.usage}; or set CARTAGE_HOST_URL`)
  return url
}
