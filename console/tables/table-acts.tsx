import { useState } from 'preact/hooks'
import { startJob } from '../api/jobs.ts'
import { narrowKeyFor } from '../api/narrow-key.ts'
import { session } from '../api/session.ts'
import { packStatement } from '../api/share.ts'
import { quoteLiteral } from '../api/sql.ts'
import { changePrivacy, quotedTable, readColumns, shownTable, type Table } from '../api/tables.ts'
import { hrefOf, navigate, pathTo } from '../parts/browser/route.ts'
import { Menu, type MenuItem } from '../parts/controls/menu.tsx'
import { ErrorNotice } from '../parts/notice.tsx'
import { toast } from '../parts/toast.tsx'
import { useWork } from '../parts/work.ts'
import { AskToMakePublic, PublicAddresses } from './make-public.tsx'
import { statementsFor } from './statements-for.ts'
import { changeItems, type TableChange, TableChangeDialog } from './structure/table-dialogs.tsx'

/** The commands for a table. */
export function TableActs({ table, reload }: Readonly<{ table: Table; reload: () => void }>) {
  const { isBusy, error, begin } = useWork()
  const { isMaster } = session.value!
  const [opened, open] = useState<'ask' | 'addresses' | undefined>(undefined)
  const [changing, change] = useState<TableChange | undefined>(undefined)
  const isPublic = table.privacy === 'PUBLIC'
  const makePublic = () =>
    begin(async () => {
      await changePrivacy(table.name, 'PUBLIC')
      reload()
      open('addresses')
    })
  const makePrivate = () => begin(() => changeToPrivate(table).then(reload))
  return (
    <>
      <div class="row">
        {table.privacy && isMaster && (
          <PublicBox
            isPublic={isPublic}
            isBusy={isBusy}
            change={() => (isPublic ? void makePrivate() : open('ask'))}
          />
        )}
        {isPublic && (
          <button type="button" onClick={() => open('addresses')}>
            Public address
          </button>
        )}
        <span class="grow" />
        <MapLink table={table} />
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
        <Menu label="Change ▾" items={changeItems(table, change)} />
        <Menu label="Write SQL ▾" items={sqlItems(table, isMaster, (work) => void begin(work))} />
      </div>
      {error !== undefined && <ErrorNotice error={error} />}
      {changing && (
        <TableChangeDialog change={changing} table={table} reload={reload} close={() => change(undefined)} />
      )}
      {opened === 'ask' && (
        <AskToMakePublic table={table} makePublic={makePublic} close={() => open(undefined)} />
      )}
      {opened === 'addresses' && <PublicAddresses table={table} close={() => open(undefined)} />}
    </>
  )
}

function PublicBox({
  isPublic,
  isBusy,
  change,
}: Readonly<{ isPublic: boolean; isBusy: boolean; change: () => void }>) {
  return (
    <label class="check">
      <input
        type="checkbox"
        checked={isPublic}
        disabled={isBusy}
        onClick={(event) => {
          // Checked only once it is true.
          event.preventDefault()
          change()
        }}
      />
      Public: readable without a key
    </label>
  )
}

/** Creating a map needs a key. */
function MapLink({ table: { geometry, isOfAnother, schema, name } }: Readonly<{ table: Table }>) {
  if (geometry === null || isOfAnother || session.value!.token === null) return null
  return (
    <a class="button" href={hrefOf(pathTo('maps', 'new', schema, name))}>
      Make a map
    </a>
  )
}

async function changeToPrivate(table: Table): Promise<void> {
  await changePrivacy(table.name, 'PRIVATE')
  toast(`${shownTable(table)} is private: only keys with access can read it`)
}

async function prepare(table: Table): Promise<void> {
  const { job_id } = await startJob(`SELECT cartodb.CDB_CartodbfyTable(${quoteLiteral(quotedTable(table))})`)
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
