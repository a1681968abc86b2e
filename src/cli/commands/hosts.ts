import { addHost } from '../../accounts/add-host.ts'
import type { Command } from '../command.ts'
import { asOperator } from '../operator.ts'

const add: Command = {
  name: 'host add',
  usage: 'NAME URL',
  summary: 'register a PostgreSQL cluster for new users, or give a known one a new address',
  positionals: ['NAME', 'URL'],
  options: {},
  run: async ([name, url]) => {
    const host = await asOperator((accounts) => addHost(accounts, name!, url!))
    return { document: { id: host.id, name: host.name }, lines: [`host ${host.name} is ready`] }
  },
}

const list: Command = {
  name: 'host list',
  usage: '',
  summary: 'list hosts and how many databases each has',
  positionals: [],
  options: {},
  run: async () => {
    const { rows } = await asOperator(({ databases }) =>
      databases.control.query<{ name: string; databases: number }>(
        `select h.name, count(d.id)::integer as databases from cartage.hosts h
         left join cartage.databases d on d.host_id = h.id group by h.id order by h.id`,
      ),
    )
    return {
      document: { hosts: rows },
      lines: rows.map((host) => `${host.name} (${host.databases} databases)`),
    }
  },
}

export const hostCommands: readonly Command[] = [add, list]
