import { operator, recordAudit } from '../../audit/audit-store.ts'
import { userByName } from '../../auth/account-store.ts'
import { errors } from '../../errors.ts'
import { tellReplicas } from '../../hosts/replicas/fence-replicas.ts'
import { shareTable, unshareTable } from '../../tables/share-table.ts'
import type { Command } from '../command.ts'
import { asOperator } from './as-operator.ts'

export const shareRuns = {
  'table share': setPrivacy('public', shareTable),
  'table unshare': setPrivacy('private', unshareTable),
} as const

function setPrivacy(privacy: string, change: typeof shareTable): Command['run'] {
  return async ({ args }) => {
    const [username, table] = args as [string, string]
    await asOperator(async ({ databases, log }) => {
      const account = await userByName(databases.control, username)
      if (!account) throw errors.accountNotFound('User', username)
      await change(databases, account, table)
      await tellReplicas(databases, account, log)
      if (privacy === 'public')
        await recordAudit(databases.control, {
          actor: operator,
          action: 'table.published',
          account: username,
          subject: table,
        })
    })
    return { document: { username, table, privacy }, lines: [`${username}.${table} is ${privacy}`] }
  }
}
