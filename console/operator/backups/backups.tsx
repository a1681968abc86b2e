import { useState } from 'preact/hooks'
import { hasCode } from '../../../src/client/cartage-error.ts'
import type { BackupDocument } from '../../../src/contract/documents.ts'
import { createRestore, listBackups } from '../../api/operator.ts'
import { SelectField } from '../../parts/controls/select-field.tsx'
import { formatBytes, formatTime } from '../../parts/format.ts'
import { Skeleton, useLoaded } from '../../parts/loading.tsx'
import { Empty, ErrorNotice } from '../../parts/notice.tsx'
import { Table } from '../../parts/table.tsx'
import { useWork } from '../../parts/work.ts'
import { TextField } from '../text-field.tsx'
import { Restores } from './restores.tsx'

/** The backups that the service sees, and the users that are restored from them. */
export function BackupsPage() {
  const { value, error } = useLoaded(listBackups, [])
  return (
    <>
      <h1>Backups</h1>
      <p class="muted">
        Made on the server with <code>cartage backup FILE</code>. A user of a backup becomes a new user, while
        the service goes on.
      </p>
      {value === undefined ? error === undefined && <Skeleton lines={2} /> : <Found backups={value} />}
      {error !== undefined && <NoBackups error={error} />}
      <Restores />
    </>
  )
}

function NoBackups({ error }: Readonly<{ error: unknown }>) {
  if (!hasCode(error, 'backups-off')) return <ErrorNotice error={error} />
  return (
    <Empty>
      <span>
        The service sees no backups. Set <code>CARTAGE_BACKUP_DIR</code> to their folder.
      </span>
    </Empty>
  )
}

function Found({ backups }: Readonly<{ backups: readonly BackupDocument[] }>) {
  if (backups.length === 0) return <Empty>No backups in the folder yet.</Empty>
  return (
    <>
      <Table label="Backups" head={['File', 'Made', 'Size', 'Cartage', 'PostgreSQL']}>
        {backups.map((backup) => (
          <tr key={backup.file}>
            <td class="mono">{backup.file}</td>
            <td>{formatTime(backup.created_at)}</td>
            <td class="number">{formatBytes(backup.bytes)}</td>
            <td>{backup.version}</td>
            <td>{backup.postgres}</td>
          </tr>
        ))}
      </Table>
      <RestoreUser backups={backups} />
    </>
  )
}

const empty = { file: '', username: '', as: '' }

function RestoreUser({ backups }: Readonly<{ backups: readonly BackupDocument[] }>) {
  const [wanted, setWanted] = useState(empty)
  const { isBusy, error, begin } = useWork()
  const change = (part: Partial<typeof empty>) => setWanted({ ...wanted, ...part })
  const names = backups.map(({ file }) => file)
  const file = names.includes(wanted.file) ? wanted.file : names[0]!
  const submit = (event: Event) => {
    event.preventDefault()
    void begin(async () => {
      await createRestore({ file, username: wanted.username.trim(), as: wanted.as.trim() })
      setWanted(empty)
    })
  }
  return (
    <form class="panel stack" onSubmit={submit}>
      <h2>Restore a user</h2>
      <p class="muted">
        The user that has the name now is not changed. The new user has a new Master key, and its other keys
        have new tokens.
      </p>
      <div class="form-grid">
        <SelectField label="Backup" options={names} value={file} choose={(name) => change({ file: name })} />
        <TextField
          label="User in the backup"
          isRequired
          value={wanted.username}
          change={(username) => change({ username })}
        />
        <TextField
          label="Name of the new user"
          isRequired
          value={wanted.as}
          change={(as) => change({ as })}
        />
      </div>
      {error !== undefined && <ErrorNotice error={error} />}
      <div>
        <button type="submit" disabled={isBusy}>
          {isBusy ? 'Beginning…' : 'Restore user'}
        </button>
      </div>
    </form>
  )
}
