import type { FullKeyDocument } from '../../../src/contract/documents.ts'
import { withdrawInvitation } from '../../api/keys.ts'
import { serviceNow } from '../../parts/browser/clock.ts'
import { hrefOf } from '../../parts/browser/route.ts'
import { LeftOut } from '../../parts/controls/filter-field.tsx'
import { formatTime } from '../../parts/format.ts'
import { summaryOf } from '../../parts/key-summary.tsx'
import { ErrorNotice } from '../../parts/notice.tsx'
import { Table } from '../../parts/table.tsx'
import { toast } from '../../parts/toast.tsx'
import { useWork } from '../../parts/work.ts'
import { keysOf, pathToKey } from '../member.ts'

/** An expired key cannot be given out. */
export const isInvited = ({ invited_until: until, expires_at: end }: FullKeyDocument) =>
  isAhead(until) && (end === null || isAhead(end))

const isAhead = (time: string | null) => time !== null && Date.parse(time) > serviceNow()

const mostShown = 100

type OpenInvitationsProps = Readonly<{ keys: readonly FullKeyDocument[]; reload: () => void }>

/** The open invitations: to whom, which key, until when. */
export function OpenInvitations({ keys, reload }: OpenInvitationsProps) {
  const { isBusy, error, begin } = useWork()
  const withdraw = (name: string) =>
    begin(async () => {
      await withdrawInvitation(name, keysOf())
      toast(`Invitation to ${name} withdrawn`)
      reload()
    })
  const open = keys
    .filter(isInvited)
    .sort((one, other) => Date.parse(one.invited_until!) - Date.parse(other.invited_until!))
  if (open.length === 0)
    return (
      <p class="muted">
        No invitation is open. The page of a regular key makes one, under “Invite a colleague”.
      </p>
    )
  return (
    <div class="panel stack">
      <h2>Open invitations</h2>
      {error !== undefined && <ErrorNotice error={error} />}
      <Table label="Open invitations" head={['Key', 'Rights', 'Good until', 'Withdraw']}>
        {open.slice(0, mostShown).map((key) => (
          <tr key={key.name}>
            <td>
              <a href={hrefOf(pathToKey(key.name))}>{key.name}</a>
              {key.description && <div class="small muted">{key.description}</div>}
            </td>
            <td>{summaryOf(key)}</td>
            <td class="key-time">{formatTime(key.invited_until!)}</td>
            <td>
              <button
                type="button"
                disabled={isBusy}
                aria-label={`Withdraw the invitation to ${key.name}`}
                onClick={() => void withdraw(key.name)}
              >
                Withdraw
              </button>
            </td>
          </tr>
        ))}
      </Table>
      <LeftOut count={open.length - mostShown} noun="invitation" />
    </div>
  )
}
