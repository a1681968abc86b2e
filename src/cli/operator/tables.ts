import { userByName } from '../../auth/account-store.ts'
import { errors } from '../../errors.ts'
import { shareTable, unshareTable } from '../../tables/share-table.ts'
import type { Command } from '../command.ts'
import { asOperator } from './as-operator.ts'

const share = sharing('share', 'make a table readable without a key', 'public', shareTable)
const unshare = sharing('unshare', 'make a table private again', 'private', unshareTable)

export const tableCommands: readonly Command[] = [share, unshare]

function sharing(verb: string, summary: string, privacy: string, act: typeof shareTable): Command {
  return {
    name: `table ${verb}`,
    usage: 'USER TABLE',
    summary,
    positionals: ['USER', 'TABLE'],
    options: {},
    run: async ([username, table]) => {
      await asOperator(async ({ databases }) => {
        const account = await userByName(databases.control, username!)
        if (!account) throw errors.accountNotFound('User', username!)
        await act(databases, account, table!)
      })
      return { document: { username, table, privacy }, lines: [`${username}.${table} is ${privacy}`] }
    },
  }
}
