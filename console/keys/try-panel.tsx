import { useState } from 'preact/hooks'
import type { KeyDocument } from '../../src/contract/documents.ts'
import { Field } from '../parts/controls/field.tsx'
import { plural, shorten } from '../parts/format.ts'
import { tell } from '../parts/live.tsx'
import { ErrorNotice, Notice } from '../parts/notice.tsx'
import { Table } from '../parts/table.tsx'
import { useWork } from '../parts/work.ts'
import { type Trial, tryStatement } from './try-statement.ts'

/** Runs a statement with the token of the key and rolls it back. */
export function TryPanel({ of: key, example }: Readonly<{ of: KeyDocument; example: string }>) {
  const [typed, setText] = useState<string | undefined>(undefined)
  const [trial, setTrial] = useState<Trial | undefined>(undefined)
  const { isBusy, error, begin } = useWork()
  const text = typed ?? example
  const submit = (event: Event) => {
    event.preventDefault()
    setTrial(undefined)
    void begin(async () => {
      setTrial(await tryStatement(key, text))
      tell('Allowed, and rolled back')
    })
  }
  return (
    <section class="panel stack" aria-labelledby="try">
      <h2 id="try">Try a statement as this key</h2>
      <form class="stack" onSubmit={submit}>
        <Field label="Statement" help="Runs with the token of this key, then rolls back.">
          {(props) => (
            <textarea
              {...props}
              class="mono"
              rows={3}
              spellcheck={false}
              required
              value={text}
              onInput={(event) => setText(event.currentTarget.value)}
            />
          )}
        </Field>
        <div class="row">
          <button type="submit" class="primary" disabled={isBusy}>
            {isBusy ? 'Trying…' : 'Try it'}
          </button>
        </div>
      </form>
      {error !== undefined && <ErrorNotice title="Refused by the database" error={error} />}
      {trial && <TrialOutcome trial={trial} />}
    </section>
  )
}

function TrialOutcome({ trial }: Readonly<{ trial: Trial }>) {
  if (trial === 'too-long') {
    return (
      <Notice kind="good">
        Allowed. The answer is long and was cut off. Run it in the editor to see all.
      </Notice>
    )
  }
  const rows = trial.rows.slice(0, 5)
  const columns = Object.keys(rows[0] ?? {}).slice(0, 12)
  return (
    <>
      <Notice kind="good">Allowed: {plural(trial.total, 'row')}. Rolled back, nothing changed.</Notice>
      {columns.length > 0 && (
        <Table label="The first rows" head={columns}>
          {rows.map((row, at) => (
            <tr key={at}>
              {columns.map((column) => (
                <td key={column}>{shorten(shownValue(row[column]), 60)}</td>
              ))}
            </tr>
          ))}
        </Table>
      )}
    </>
  )
}

const shownValue = (value: unknown) =>
  value === null ? 'NULL' : typeof value === 'string' ? value : jsonOf(value)

/** JSON.stringify fails on values nested too deep. */
function jsonOf(value: unknown): string {
  try {
    return JSON.stringify(value)
  } catch {
    return '(nested too deep to show)'
  }
}
