import { useState } from 'preact/hooks'
import type { ExportLink } from '../../src/contract/documents.ts'
import type { Credential } from '../api/credential.ts'
import { request, requestJson } from '../api/request.ts'
import { CodeBlock } from '../parts/code-block.tsx'
import { Dialog } from '../parts/controls/dialog.tsx'
import { SelectField } from '../parts/controls/select-field.tsx'
import { formatTime } from '../parts/format.ts'
import { ErrorNotice } from '../parts/notice.tsx'
import { toast } from '../parts/toast.tsx'
import { downloadFormats } from './download.ts'

type LinkDialogProps = Readonly<{
  source: Readonly<{ text: string; credential: Credential & { kind: 'key' } }>
  close: () => void
}>

/** Makes a link that downloads the rows of a statement without a key. */
export function LinkDialog({ source, close }: LinkDialogProps) {
  const [format, setFormat] = useState<string>('csv')
  const [seconds, setSeconds] = useState<string>('86400')
  const [made, setMade] = useState<ExportLink | undefined>(undefined)
  const [error, setError] = useState<unknown>(undefined)
  const call = { as: source.credential, parameters: { name: source.credential.username } }
  const make = async () => {
    setError(undefined)
    const json = { q: source.text, format, expires_in: Number(seconds) }
    await requestJson<ExportLink>('createExport', { ...call, json }).then(setMade, setError)
  }
  const withdraw = async (exportId: string) => {
    const parameters = { ...call.parameters, exportId }
    await request('deleteExport', { ...call, parameters }).then(
      () => toast('The link is withdrawn'),
      setError,
    )
    close()
  }
  return (
    <Dialog title="Link without a key" onClose={close}>
      <p>
        Everyone who has the link can download the rows of this statement, as they are at that time. It ends
        with the key that made it.
      </p>
      {error !== undefined && <ErrorNotice error={error} />}
      {made ? (
        <Made link={made} withdraw={() => void withdraw(made.id)} />
      ) : (
        <form
          class="stack"
          onSubmit={(event) => {
            event.preventDefault()
            void make()
          }}
        >
          <SelectField label="Format" value={format} choose={setFormat} options={formats} />
          <SelectField label="Works for" value={seconds} choose={setSeconds} options={durations} />
          <div class="row">
            <button type="submit" class="primary">
              Make link
            </button>
          </div>
        </form>
      )}
    </Dialog>
  )
}

function Made({ link, withdraw }: Readonly<{ link: ExportLink; withdraw: () => void }>) {
  return (
    <>
      <CodeBlock label="Link" text={link.url} />
      <p class="muted">Works until {formatTime(link.expires_at)}. The address is shown only now.</p>
      <div class="row">
        <button type="button" class="danger" onClick={withdraw}>
          Withdraw
        </button>
      </div>
    </>
  )
}

const formats = downloadFormats.flatMap(({ format, label }) =>
  format ? [[format as string, label] as const] : [],
)
const durations: readonly (readonly [string, string])[] = [
  ['3600', 'an hour'],
  ['86400', 'a day'],
  ['604800', 'a week'],
]
