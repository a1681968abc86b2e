import { startJob } from '../api/jobs.ts'
import { narrowKeyFor } from '../api/narrow-key.ts'
import { addressOf } from '../api/request.ts'
import { session } from '../api/session.ts'
import { packStatement } from '../api/share.ts'
import { quoteLiteral } from '../api/sql.ts'
import { changePrivacy, quotedTable, readColumns, shownTable, type Table } from '../api/tables.ts'
import { navigate, pathTo } from '../parts/browser/route.ts'
import { CopyButton } from '../parts/controls/copy-button.tsx'
import { Menu, type MenuItem } from '../parts/controls/menu.tsx'
import { ErrorNotice } from '../parts/notice.tsx'
import { toast } from '../parts/toast.tsx'
import { useWork } from '../parts/work.ts'
import { statementsFor } from './statements-for.ts'

/** The commands for a table. DDL is only opened in the editor, not run. */
export function TableActs({ table, reload }: Readonly<{ table: Table; reload: () => void }>) {
  const { isBusy, error, begin } = useWork()
  const { isMaster } = session.value!
  const changeAndReload = () => begin(() => togglePrivacy(table).then(reload))
  return (
    <>
      <div class="row">
        {table.privacy && isMaster && (
          <label class="check">
            <input
              type="checkbox"
              checked={table.privacy === 'PUBLIC'}
              disabled={isBusy}
              onChange={changeAndReload}
            />
            Public: readable without a key
          </label>
        )}
        {table.privacy === 'PUBLIC' && <CopyButton label="Copy link" text={() => linkTo(table)} />}
        <span class="grow" />
        {table.kind === 'table' && !table.isPrepared && !table.isOfAnother && (
          <button
            type="button"
            disabled={isBusy || !isMaster}
            title={isMaster ? '' : 'Needs the Master key'}
            onClick={() => begin(() => prepare(table))}
          >
            Prepare for maps
          </button>
        )}
        <Menu label="Write SQL ▾" items={sqlItems(table, isMaster, (work) => void begin(work))} />
      </div>
      {error !== undefined && <ErrorNotice error={error} />}
    </>
  )
}

async function togglePrivacy(table: Table): Promise<void> {
  const next = table.privacy === 'PUBLIC' ? 'PRIVATE' : 'PUBLIC'
  await changePrivacy(table.name, next)
  toast(
    next === 'PUBLIC'
      ? `${shownTable(table)} is public`
      : `${shownTable(table)} is private: only keys with access can read it`,
  )
}

const linkTo = (table: Table) => addressOf('query', { query: { q: `select * from ${quotedTable(table)}` } })

async function prepare(table: Table): Promise<void> {
  const { job_id } = await startJob(`SELECT CDB_CartodbfyTable(${quoteLiteral(quotedTable(table))})`)
  navigate(pathTo('jobs', job_id))
}

function sqlItems(
  table: Table,
  isMaster: boolean,
  begin: (work: () => Promise<void>) => void,
): readonly MenuItem[] {
  const { createIndex, alter, drop } = statementsFor(table, [])
  return [
    { note: 'Opens in the editor. Nothing runs until you press Run.' },
    { label: 'SELECT', run: () => begin(() => openSelect(table)) },
    ...(table.isOfAnother && isMaster
      ? [
          {
            label: 'SELECT with a key for this table only',
            run: () => begin(async () => openSelect(table, (await narrowKeyFor(table)).name)),
          },
        ]
      : []),
    { label: 'CREATE INDEX', run: () => begin(() => openInEditor(createIndex)) },
    { label: 'ALTER TABLE', run: () => begin(() => openInEditor(alter)) },
    'line',
    { label: 'DROP', isDanger: true, run: () => begin(() => openInEditor(drop)) },
  ]
}

async function openSelect(table: Table, key?: string): Promise<void> {
  const columns = await readColumns(table, new AbortController().signal)
  await openInEditor(statementsFor(table, columns).select, key)
}

/** `key`: the name of the key to run it with. */
async function openInEditor(text: string, key?: string): Promise<void> {
  const as = key === undefined ? '' : `&as=${encodeURIComponent(key)}`
  navigate(`/sql#s=${await packStatement(text)}${as}`)
}
