import type { KeptStatement } from '../../../contract/documents.ts'
import { maxHistoryEntries, maxHistoryPage } from '../../../contract/limits.ts'
import { formatDuration, shorten } from '../../../contract/text/format.ts'
import { UsageError } from '../../command-error.ts'
import { textOf, wholeNumberOf } from '../../option-values.ts'
import type { UserCall, UserCommand } from '../command.ts'
import { printList } from '../output/list.ts'
import { withService } from '../service.ts'

export const historyCommand: UserCommand = {
  name: 'history',
  summary: 'list the statements that were run with the key, newest first',
  options: {
    of: { type: 'string', value: 'KEY', kind: 'key', help: 'what was run with this key of the account' },
    search: { type: 'string', value: 'TEXT', help: 'only statements with this text' },
    limit: { type: 'string', value: 'N', help: `how many; 20 unless told, ${maxHistoryEntries} at most` },
  },
  details: [
    'The service keeps what people ran in the console and in the interactive cartage sql.',
    '--of needs the master key.',
  ],
  run: (call) =>
    withService(call, async ({ client }) => {
      const limit = wholeNumberOf(call.values, 'limit') ?? 20
      if (limit < 1 || limit > maxHistoryEntries)
        throw new UsageError(`--limit must be from 1 to ${maxHistoryEntries}`)
      const filter = { key: textOf(call.values, 'of'), search: textOf(call.values, 'search') }
      const found: KeptStatement[] = []
      let isOff = false
      for (let before: number | undefined; ; ) {
        const page = await client.history.list({
          ...filter,
          before,
          limit: Math.min(maxHistoryPage, limit - found.length),
        })
        found.push(...page.statements)
        isOff = page.kept_days === 0
        if (page.next === null || found.length >= limit) break
        before = page.next
      }
      const none = isOff ? 'The operator keeps no history of statements' : 'No statements found'
      await printList(
        call,
        found.map((one) => lineOf(call, one)),
        none,
      )
    }),
}

/** Whole texts for programs. */
function lineOf({ terminal, values }: UserCall, { at, key, outcome, rows, code, ms, text }: KeptStatement) {
  const isForPeople = terminal.out.isTerminal && !values.json
  return {
    at,
    key,
    outcome: code ? `${outcome} ${code}` : outcome,
    rows,
    took: formatDuration(ms),
    statement: isForPeople ? shorten(text, 200) : text,
  }
}
