import { startJob } from '../api/jobs.ts'
import { narrowKeyFor } from '../api/narrow-key.ts'
import { addressOf } from '../api/request.ts'
import { session } from '../api/session.ts'
import { packStatement } from '../api/share.ts'
import { quoteLiteral } from '../api/sql.ts'
import { changePrivacy, quotedTable, readColumns, shownTable, type Table } from '../api/tables.ts'
import { CopyButton } from '../parts/copy-button.tsx'
import { Menu } from '../parts/menu.tsx'
import { ErrorNotice } from '../parts/notice.tsx'
import { navigate, pathTo } from '../parts/route.ts'
import { toast } from '../parts/toast.tsx'
import { useWork } from '../parts/work.ts'
import { statementsFor } from './statements-for.ts'

/** The commands for a table. DDL is only opened in the editor, not run. */
export function TableActs({ table, reload }: Readonly<{ table: Table; reload: () => void }>) {
  const { isBusy, error, begin } = useWork()
  const { isMaster } = session.value!
  const togglePrivacy = () =>
    begin(async () => {
      const next = table.privacy === 'PUBLIC' ? 'PRIVATE' : 'PUBLIC'
      await changePrivacy(table.name, next)
      toast(
        next === 'PUBLIC'
          ? `${shownTable(table)} is public`
          : `${shownTable(table)} is private: only keys with access can read it`,
      )
      reload()
    })
  const prepare = () =>
    begin(async () => {
      const { job_id } = await startJob(`SELECT CDB_CartodbfyTable(${quoteLiteral(quotedTable(table))})`)
      navigate(pathTo('jobs', job_id))
    })
  const write = (text: string) => begin(async () => navigate(`/sql#s=${await packStatement(text)}`))
  const writeSelect = () =>
    begin(async () => {
      const columns = await readColumns(table, new AbortController().signal)
      navigate(`/sql#s=${await packStatement(statementsFor(table, columns).select)}`)
    })
  const writeNarrowSelect = () =>
    begin(async () => {
      const { name } = await narrowKeyFor(table)
      const { select } = statementsFor(table, await readColumns(table, new AbortController().signal))
      navigate(`/sql#s=${await packStatement(select)}&as=${encodeURIComponent(name)}`)
    })
  const { createIndex, alter, drop } = statementsFor(table, [])
  return (
    <>
      <div class="row">
        {table.privacy && isMaster && (
          <label class="check">
            <input
              type="checkbox"
              checked={table.privacy === 'PUBLIC'}
              disabled={isBusy}
              onChange={togglePrivacy}
            />
            Public: readable without a key
          </label>
        )}
        {table.privacy === 'PUBLIC' && (
          <CopyButton
            label="Copy link"
            text={() => addressOf('query', { query: { q: `select * from ${quotedTable(table)}` } })}
          />
        )}
        <span class="grow" />
        {table.kind === 'table' && !table.isPrepared && !table.isOfAnother && (
          <button
            type="button"
            disabled={isBusy || !isMaster}
            title={isMaster ? '' : 'Needs the Master key'}
            onClick={prepare}
          >
            Prepare for maps
          </button>
        )}
        <Menu
          label="Write SQL ▾"
          items={[
            { note: 'Opens in the editor. Nothing runs until you press Run.' },
            { label: 'SELECT', run: writeSelect },
            ...(table.isOfAnother && isMaster
              ? [{ label: 'SELECT with a key for this table only', run: () => void writeNarrowSelect() }]
              : []),
            { label: 'CREATE INDEX', run: () => void write(createIndex) },
            { label: 'ALTER TABLE', run: () => void write(alter) },
            'line',
            { label: 'DROP', isDanger: true, run: () => void write(drop) },
          ]}
        />
      </div>
      {error !== undefined && <ErrorNotice error={error} />}
    </>
  )
}
