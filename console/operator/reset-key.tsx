import { useState } from 'preact/hooks'
import { regenerateMasterKey } from '../api/operator.ts'
import { ConfirmedAct } from '../parts/controls/confirmed-act.tsx'
import { plural } from '../parts/format.ts'
import { ErrorNotice } from '../parts/notice.tsx'
import { MadeKey } from './made-key.tsx'

/** A new Master key for a user whose key is known to others. */
export function ResetKey({ username }: Readonly<{ username: string }>) {
  const [areAll, setAll] = useState(false)
  const [error, setError] = useState<unknown>(undefined)
  const [made, setMade] = useState<Awaited<ReturnType<typeof regenerateMasterKey>>>()
  const reset = async () => {
    setMade(undefined)
    setMade(await regenerateMasterKey(username, areAll))
  }
  return (
    <div class="stack">
      {error !== undefined && <ErrorNotice error={error} />}
      {made && (
        <MadeKey username={username} token={made.api_key}>
          The old Master key does not work any more.
          {made.keys && ` ${plural(made.keys.length, 'key')} with new tokens: ${made.keys.join(', ')}.`}
        </MadeKey>
      )}
      <div>
        <ConfirmedAct
          name={username}
          label="New Master key"
          act="Replace Master key"
          run={reset}
          failed={setError}
        >
          <p>Programs that use the Master key of {username} stop working at once.</p>
          <label class="check">
            <input type="checkbox" checked={areAll} onChange={() => setAll(!areAll)} />
            Give all other keys new tokens too
          </label>
        </ConfirmedAct>
      </div>
    </div>
  )
}
