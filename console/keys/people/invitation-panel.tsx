import { useState } from 'preact/hooks'
import type { FullKeyDocument, InvitationDocument } from '../../../src/contract/documents.ts'
import { inviteByKey, withdrawInvitation } from '../../api/keys.ts'
import { CopyButton } from '../../parts/controls/copy-button.tsx'
import { formatTime } from '../../parts/format.ts'
import { ErrorNotice } from '../../parts/notice.tsx'
import { toast } from '../../parts/toast.tsx'
import { useWork } from '../../parts/work.ts'
import { keysOf } from '../member.ts'

/** A link for a colleague, so that the Master key is not passed on. */
export function InvitationPanel({
  of: { name, invited_until: until },
  reload,
}: Readonly<{ of: FullKeyDocument; reload: () => void }>) {
  const [made, setMade] = useState<InvitationDocument | undefined>(undefined)
  const { isBusy, error, begin } = useWork()
  const isOpen = until !== null && Date.parse(until) > Date.now()
  const invite = () =>
    begin(async () => {
      setMade(await inviteByKey(name, keysOf()))
      reload()
    })
  const withdraw = () =>
    begin(async () => {
      await withdrawInvitation(name, keysOf())
      setMade(undefined)
      toast('Invitation withdrawn')
      reload()
    })
  return (
    <section class="panel stack" aria-labelledby="invitation">
      <h2 id="invitation">Invite a colleague</h2>
      <p class="muted">
        The link works once and gives its receiver this key with a new token. From then on the present token
        is refused.
      </p>
      {isOpen && made && (
        <div class="row">
          <code class="token" data-testid="invitation">
            {made.url}
          </code>
          <CopyButton text={made.url} label="Copy link" />
        </div>
      )}
      {isOpen && (
        <p>
          A link is good until {formatTime(until)}.
          {!made && ' It was shown when it was made, and cannot be shown again.'}
        </p>
      )}
      {error !== undefined && <ErrorNotice error={error} />}
      <div class="row">
        <button type="button" disabled={isBusy} onClick={invite}>
          {isOpen ? 'Make another link' : 'Make a link'}
        </button>
        {isOpen && (
          <button type="button" disabled={isBusy} onClick={withdraw}>
            Withdraw
          </button>
        )}
      </div>
    </section>
  )
}
