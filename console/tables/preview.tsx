import { useEffect, useState } from 'preact/hooks'
import type { KeyCredential } from '../api/credential.ts'
import { narrowKeyName } from '../api/narrow-key.ts'
import { session } from '../api/session.ts'
import { quotedTable, shownTable, type Table } from '../api/tables.ts'
import { useCommands } from '../parts/commands.ts'
import { Result } from '../result/result.ts'
import { ResultLook } from '../result/result-look.ts'
import { ResultView } from '../result/result-view.tsx'

const mostRows = 10_000

/** The first rows of a table, as they arrive. */
export function Preview({ table, who }: Readonly<{ table: Table; who: KeyCredential }>) {
  const [shown, show] = useState<Readonly<{ result: Result; look: ResultLook }> | undefined>(undefined)
  useEffect(() => {
    const result = new Result(`select * from ${quotedTable(table)} limit ${mostRows}`, who)
    show({ result, look: new ResultLook(result) })
    return () => result.drop()
  }, [who, table.schema, table.name])
  const stop = () => shown?.result.stop()
  useCommands([{ name: 'Stop reading rows', keys: 'Ctrl+.', run: stop }])
  if (!shown) return null
  const isRunning = shown.result.state.value === 'running'
  return (
    <>
      <div class="row preview-bar">
        <span class="muted small">
          Shows up to {mostRows.toLocaleString('en-US')} rows. Download includes all rows of{' '}
          {shownTable(table)}.
        </span>
        {isRunning && (
          <button type="button" onClick={stop}>
            Stop
          </button>
        )}
      </div>
      <ResultView
        result={shown.result}
        look={shown.look}
        asLabel={
          who.token === null ? 'anonymous' : who.token === session.value?.token ? 'you' : narrowKeyName(table)
        }
        source={{ text: `select * from ${quotedTable(table)}`, credential: who }}
      />
    </>
  )
}
