import { useState } from 'preact/hooks'
import type { FullKeyDocument } from '../../src/contract/documents.ts'
import { requestJson } from '../api/request.ts'
import { fragment, navigate, path, pathTo, segmentsOf } from '../parts/browser/route.ts'
import { CopyButton } from '../parts/controls/copy-button.tsx'
import { ErrorNotice } from '../parts/notice.tsx'
import { useWork } from '../parts/work.ts'

type SignIn = (username: string, token: string) => Promise<void>

/** The page of an invitation link. Accepting needs a click: programs that fetch links do not use it up. */
export function Invitation({ signIn }: Readonly<{ signIn: SignIn }>) {
  const [, username = ''] = segmentsOf(path.value)
  const [key, setKey] = useState<FullKeyDocument | undefined>(undefined)
  return key ? <Accepted of={key} signIn={signIn} /> : <Offer username={username} accepted={setKey} />
}

function Offer({
  username,
  accepted,
}: Readonly<{ username: string; accepted: (key: FullKeyDocument) => void }>) {
  const { isBusy, error, begin } = useWork()
  const accept = () =>
    begin(async () => {
      const invitation = fragment.value.slice(1)
      const as = { kind: 'key', username, token: null } as const
      const call = { as, parameters: { name: username }, json: { invitation } }
      accepted(await requestJson<FullKeyDocument>('acceptInvitation', call))
      navigate(pathTo('invitation', username), { replace: true })
    })
  return (
    <>
      <p>
        You are invited to work in the account <strong>{username}</strong>, with a key of your own.
      </p>
      <p class="muted">The link works once. You get your token when you accept.</p>
      {error !== undefined && <ErrorNotice error={error} />}
      <button type="button" class="primary" disabled={isBusy} onClick={accept}>
        {isBusy ? 'Accepting…' : 'Accept'}
      </button>
    </>
  )
}

function Accepted({ of: { name, token, user }, signIn }: Readonly<{ of: FullKeyDocument; signIn: SignIn }>) {
  const { isBusy, error, begin } = useWork()
  const open = () =>
    begin(async () => {
      navigate('/', { replace: true })
      await signIn(user.username, token)
    })
  return (
    <>
      <p>
        This is the token of your key <strong>{name}</strong> of the account <strong>{user.username}</strong>.
        Store it now, for example in a password manager: it is not shown to you again.
      </p>
      <div class="row">
        <code class="token">{token}</code>
        <CopyButton text={token} label="Copy token" />
      </div>
      {error !== undefined && <ErrorNotice error={error} />}
      <button type="button" class="primary" disabled={isBusy} onClick={open}>
        Open the console
      </button>
    </>
  )
}
