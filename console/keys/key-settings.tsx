import { useState } from 'preact/hooks'
import type { FullKeyDocument } from '../../src/contract/documents.ts'
import { maxKeyDescriptionLength } from '../../src/contract/limits.ts'
import { changeKey } from '../api/keys.ts'
import { Field } from '../parts/controls/field.tsx'
import { ErrorNotice } from '../parts/notice.tsx'
import { toast } from '../parts/toast.tsx'
import { useWork } from '../parts/work.ts'
import { keysOf } from './member.ts'

/** The description and expiry of a key. Both change in place: the token stays. */
export function KeySettings({ of: key, reload }: Readonly<{ of: FullKeyDocument; reload: () => void }>) {
  const [description, setDescription] = useState(key.description)
  const [expiry, setExpiry] = useState(localTime(key.expires_at))
  const { isBusy, error, begin } = useWork()
  const canExpire = key.type === 'regular'
  const submit = (event: Event) => {
    event.preventDefault()
    void begin(async () => {
      const expires_at = expiry === '' ? null : new Date(expiry).toISOString()
      const isNew = canExpire && expiry !== localTime(key.expires_at)
      await changeKey(key.name, { description, ...(isNew && { expires_at }) }, keysOf())
      toast('Saved')
      reload()
    })
  }
  return (
    <form class="panel stack" onSubmit={submit}>
      <h2>Settings</h2>
      <Field label="Description" help="What the key is for.">
        {(props) => (
          <input
            {...props}
            maxLength={maxKeyDescriptionLength}
            autocomplete="off"
            value={description}
            onInput={(event) => setDescription(event.currentTarget.value)}
          />
        )}
      </Field>
      {canExpire && (
        <Field label="Expires" help="In your time zone. From then on the token is refused. Empty: never.">
          {(props) => (
            <input
              {...props}
              type="datetime-local"
              value={expiry}
              onInput={(event) => setExpiry(event.currentTarget.value)}
            />
          )}
        </Field>
      )}
      {error !== undefined && <ErrorNotice error={error} />}
      <div>
        <button type="submit" disabled={isBusy}>
          Save
        </button>
      </div>
    </form>
  )
}

/** In the form of the field: in the browser's time zone, to the minute. */
function localTime(text: string | null): string {
  if (text === null) return ''
  const time = new Date(text)
  return new Date(time.getTime() - time.getTimezoneOffset() * 60_000).toISOString().slice(0, 16)
}
