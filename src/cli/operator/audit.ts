import { listAudit } from '../../audit/audit-store.ts'
import type { Command } from '../command.ts'
import { textOf, wholeNumberOf } from '../option-values.ts'
import { asOperator } from './as-operator.ts'

export const runAudit: Command['run'] = async ({ values }) => {
  const filter = {
    account: textOf(values, 'account'),
    action: textOf(values, 'action'),
    limit: wholeNumberOf(values, 'limit') ?? 50,
    beforeId: wholeNumberOf(values, 'before'),
  }
  const records = await asOperator(({ databases }) => listAudit(databases.control, filter))
  return {
    document: { records },
    lines: records.map(({ id, at, actor, action, account, subject }) =>
      [id, at.toISOString(), actor, action, account ?? '', subject ?? ''].join('  ').trimEnd(),
    ),
  }
}
