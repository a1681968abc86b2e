import { curlLine } from '../api/curl.ts'
import { addressOf } from '../api/request.ts'
import { session } from '../api/session.ts'
import { shownName } from '../api/sql.ts'
import { shownTable, type Table } from '../api/tables.ts'
import { CodeBlock } from '../parts/code-block.tsx'
import { Dialog } from '../parts/controls/dialog.tsx'

type AskProps = Readonly<{ table: Table; makePublic: () => void; close: () => void }>

/** Asks before it makes a table readable by everybody. */
export function AskToMakePublic({ table, makePublic, close }: AskProps) {
  const act = () => {
    close()
    makePublic()
  }
  return (
    <Dialog title={`Make ${shownTable(table)} public?`} onClose={close}>
      <p>
        Anyone who knows the address can read all rows and columns of {shownTable(table)}, without a key. They
        can also find it in the list of your public tables.
      </p>
      <p>Changes still need a key. You can make the table private again at any time.</p>
      <div class="dialog-acts">
        <button type="button" onClick={close}>
          Cancel
        </button>
        <button type="button" class="primary" onClick={act}>
          Make public
        </button>
      </div>
    </Dialog>
  )
}

/** Where everybody can read a public table. */
export function PublicAddresses({ table, close }: Readonly<{ table: Table; close: () => void }>) {
  const q = `select * from ${[table.schema, table.name].map(shownName).join('.')}`
  const addressAs = (format?: string) => addressOf('query', { query: { q, format } })
  const curl = curlLine('query', {
    username: session.value!.username,
    token: null,
    form: { q, format: 'csv' },
  })
  return (
    <Dialog title={`${shownTable(table)} is public`} onClose={close} isWide>
      <p>These addresses work without a key, in a browser, in a program and in a web map.</p>
      <span>JSON:</span>
      <CodeBlock label="Address of the rows as JSON" text={addressAs()} />
      {table.geometry && (
        <>
          <span>GeoJSON:</span>
          <CodeBlock label="Address of the rows as GeoJSON" text={addressAs('geojson')} />
        </>
      )}
      <span>CSV, with curl:</span>
      <CodeBlock label="As CSV with curl" text={curl} />
    </Dialog>
  )
}
