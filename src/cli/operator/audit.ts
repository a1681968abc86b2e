import { listAudit } from '../../audit/audit-store.ts'
import { auditActions } from '../../contract/admin-names.ts'
import { type Command, type OptionValues, UsageError, wholeNumber } from '../command.ts'
import { asOperator } from './as-operator.ts'

export const auditCommand: Command = {
  name: 'audit',
  usage: '[--account NAME] [--action ACTION] [--limit N] [--before ID]',
  summary: 'show changes of keys and accounts and refused authentications, the newest first',
  positionals: [],
  options: {
    account: { type: 'string' },
    action: { type: 'string' },
    limit: { type: 'string' },
    before: { type: 'string' },
  },
  run: async (_positionals, { account, action, limit, before }) => {
    const filter = {
      account: account as string | undefined,
      action: knownAction(action),
      limit: wholeNumber('limit', limit) ?? 50,
      beforeId: wholeNumber('before', before),
    }
    const records = await asOperator(({ databases }) => listAudit(databases.control, filter))
    return {
      document: { records },
      lines: records.map(({ id, at, actor, action, account, subject }) =>
        [id, at.toISOString(), actor, action, account ?? '', subject ?? ''].join('  ').trimEnd(),
      ),
    }
  },
}

/** A misspelt one would look as if nothing had happened. */
function knownAction(action: OptionValues[string]): string | undefined {
  if (action === undefined || auditActions.some((known) => known === action)) return action as undefined
  throw new UsageError(`--action must be one of ${auditActions.join(', ')}`)
}
