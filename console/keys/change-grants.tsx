import { useState } from 'preact/hooks'
import { changeKey, readKey } from '../api/keys.ts'
import { hrefOf, navigate } from '../parts/browser/route.ts'
import { Load, useLoaded } from '../parts/loading.tsx'
import { ErrorNotice } from '../parts/notice.tsx'
import { toast } from '../parts/toast.tsx'
import { useWork } from '../parts/work.ts'
import { GrantsPicker } from './grants-picker.tsx'
import { keysOf, member, pathToKey } from './member.ts'
import { type Grantable, readGrantable } from './new-key.tsx'
import { grantsOf, keyLike, type WantedKey } from './wanted-key.ts'

/** Replaces the grants of a key in place: its token stays. */
export function ChangeGrants({ name }: Readonly<{ name: string }>) {
  const loaded = useLoaded(
    async (signal) => {
      const [key, grantable] = await Promise.all([
        readKey(name, { ...keysOf(), signal }),
        readGrantable(signal),
      ])
      return { like: keyLike(key), ...grantable }
    },
    [name, member.value],
  )
  return (
    <>
      <h1>Grants of {name}</h1>
      <p class="muted">Changes take effect when you save them. The token stays the same.</p>
      <Load from={loaded}>{(found) => <GrantsForm name={name} {...found} />}</Load>
    </>
  )
}

function GrantsForm({
  name,
  like,
  tables,
  schemas,
}: Grantable & Readonly<{ name: string; like: WantedKey }>) {
  const [wanted, change] = useState(like)
  const { isBusy, error, begin } = useWork()
  const submit = (event: Event) => {
    event.preventDefault()
    void begin(async () => {
      await changeKey(name, { grants: grantsOf(wanted) }, keysOf())
      toast(`Grants of ${name} changed`)
      navigate(pathToKey(name))
    })
  }
  return (
    <form class="stack" onSubmit={submit}>
      <GrantsPicker
        wanted={wanted}
        change={change}
        tables={tables}
        schemas={schemas}
        like={like}
        problem={undefined}
      />
      {error !== undefined && <ErrorNotice error={error} />}
      <div class="row">
        <button type="submit" class="primary" disabled={isBusy}>
          {isBusy ? 'Saving…' : 'Save grants'}
        </button>
        <a class="button" href={hrefOf(pathToKey(name))}>
          Cancel
        </a>
      </div>
    </form>
  )
}
