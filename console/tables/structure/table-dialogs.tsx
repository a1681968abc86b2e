import { useState } from 'preact/hooks'
import { listAllKeys } from '../../api/keys.ts'
import { session } from '../../api/session.ts'
import { shownTable, type Table } from '../../api/tables.ts'
import { navigate, pathTo } from '../../parts/browser/route.ts'
import type { MenuItem } from '../../parts/controls/menu.tsx'
import { useLoaded } from '../../parts/loading.tsx'
import { toast } from '../../parts/toast.tsx'
import { ChangeDialog, TextLine } from './change-dialog.tsx'
import { Dependents, useDependents } from './dependents.tsx'
import { commentOnTable, dropTable, renameTable } from './structure-sql.ts'

export type TableChange = 'rename' | 'comment' | 'delete'

/** Only its owner can change a table. */
export function changeItems({ isOwned }: Table, open: (change: TableChange) => void): readonly MenuItem[] {
  const why = isOwned ? {} : { why: 'only with the Master key of its owner' }
  return [
    { label: 'Rename…', run: () => open('rename'), ...why },
    { label: 'Comment…', run: () => open('comment'), ...why },
    'line',
    { label: 'Delete…', isDanger: true, run: () => open('delete'), ...why },
  ]
}

type ChangeProps = Readonly<{ table: Table; close: () => void; reload: () => void }>

export function TableChangeDialog({ change, ...props }: ChangeProps & Readonly<{ change: TableChange }>) {
  if (change === 'rename') return <Rename {...props} />
  return change === 'comment' ? <Comment {...props} /> : <Delete {...props} />
}

function Rename({ table, close }: ChangeProps) {
  const [name, setName] = useState(table.name)
  const isReady = name.trim() !== '' && name !== table.name
  const done = () => {
    close()
    navigate(pathTo('tables', table.schema, name), { replace: true })
  }
  return (
    <ChangeDialog
      title={`Rename ${shownTable(table)}`}
      act="Rename"
      sql={isReady ? renameTable(table, name) : ''}
      close={close}
      done={done}
    >
      <p>Views and keys follow the table. Programs and saved queries that name it must be changed.</p>
      <TextLine label="Name" value={name} change={setName} />
    </ChangeDialog>
  )
}

function Comment({ table, close, reload }: ChangeProps) {
  const [comment, setComment] = useState(table.comment ?? '')
  const isReady = comment !== (table.comment ?? '')
  const done = () => {
    close()
    reload()
  }
  return (
    <ChangeDialog
      title={`Comment on ${shownTable(table)}`}
      act="Save"
      sql={isReady ? commentOnTable(table, comment) : ''}
      close={close}
      done={done}
    >
      <TextLine label="Comment" value={comment} change={setComment} />
    </ChangeDialog>
  )
}

function Delete({ table, close }: ChangeProps) {
  const [isCascading, cascade] = useState(false)
  const from = useDependents(table)
  const keys = useLoaded(async (signal) => (session.value?.isMaster ? keysOf(table, signal) : []), [])
  const done = () => {
    toast(`${shownTable(table)} is deleted`)
    navigate('/tables', { replace: true })
  }
  return (
    <ChangeDialog
      title={`Delete ${table.kind} ${shownTable(table)}?`}
      act="Delete"
      isDanger
      typed={table.name}
      sql={from.value ? dropTable(table, isCascading) : ''}
      close={close}
      done={done}
    >
      <p>{table.kind === 'table' ? 'All its rows are lost. ' : ''}This cannot be undone.</p>
      <Dependents from={from} what={`this ${table.kind}`} isCascading={isCascading} cascade={cascade} />
      {keys.value && keys.value.length > 0 && <p>Keys with access to it: {keys.value.join(', ')}.</p>}
    </ChangeDialog>
  )
}

async function keysOf({ schema, name }: Table, signal: AbortSignal): Promise<readonly string[]> {
  const isIt = (each: Readonly<{ schema: string; name: string }>) =>
    each.schema === schema && each.name === name
  const keys = await listAllKeys({ signal })
  return keys
    .filter(({ type }) => type !== 'master')
    .filter(({ grants }) => grants.some((grant) => grant.type === 'database' && grant.tables?.some(isIt)))
    .map((key) => key.name)
}
