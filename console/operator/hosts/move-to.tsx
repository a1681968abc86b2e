import { useState } from 'preact/hooks'
import type { HostDocument } from '../../../src/contract/documents.ts'
import { moveOrganization, moveUser } from '../../api/operator.ts'
import { hrefOf } from '../../parts/browser/route.ts'
import { SelectField } from '../../parts/controls/select-field.tsx'
import { ErrorNotice } from '../../parts/notice.tsx'
import { useWork } from '../../parts/work.ts'

type Movable = Readonly<{ kind: 'user' | 'organization'; name: string; host: string | null }>

/** Starts a move to another host. Empty if no other host takes users. */
export function MoveTo({
  of: { kind, name, host },
  hosts,
}: Readonly<{ of: Movable; hosts: readonly HostDocument[] }>) {
  const names = hosts.filter((each) => each.accepts_users && each.name !== host).map((each) => each.name)
  const [chosen, choose] = useState('')
  const [begun, setBegun] = useState(false)
  const { isBusy, error, begin } = useWork()
  const target = names.includes(chosen) ? chosen : names[0]
  if (target === undefined) return null
  const submit = (event: Event) => {
    event.preventDefault()
    void begin(async () => {
      await (kind === 'user' ? moveUser : moveOrganization)(name, target)
      setBegun(true)
    })
  }
  return (
    <form class="stack" onSubmit={submit}>
      <div class="row">
        <SelectField label={`New host of ${name}`} options={names} value={target} choose={choose} />
        <button type="submit" disabled={isBusy}>
          Move {name}
        </button>
      </div>
      {error !== undefined && <ErrorNotice error={error} />}
      {begun && error === undefined && (
        <p role="status">
          The move has begun. <a href={hrefOf('/operator/hosts')}>Hosts</a> shows how far it is.
        </p>
      )}
    </form>
  )
}
