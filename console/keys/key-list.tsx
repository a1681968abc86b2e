import { useState } from 'preact/hooks'
import type { FullKeyDocument } from '../../src/contract/documents.ts'
import { listFullKeys } from '../api/keys.ts'
import { session } from '../api/session.ts'
import { hrefOf, navigate } from '../parts/browser/route.ts'
import { useCommands } from '../parts/commands.ts'
import { copyText } from '../parts/controls/copy-button.tsx'
import { Field } from '../parts/controls/field.tsx'
import { FilterField, LeftOut } from '../parts/controls/filter-field.tsx'
import { formatAge, formatTime } from '../parts/format.ts'
import { summaryOf, TypeBadge } from '../parts/key-summary.tsx'
import { Load, useLoaded } from '../parts/loading.tsx'
import { Empty } from '../parts/notice.tsx'
import { keysOf, member, pathToKey } from './member.ts'
import { OpenInvitations } from './people/open-invitations.tsx'

/** The filter finds the others. */
const mostShown = 200

export function KeyList() {
  const keys = useLoaded((signal) => listFullKeys({ ...keysOf(), signal }), [session.value, member.value])
  const [filter, setFilter] = useState('')
  useCommands([{ name: 'New key', keys: 'Alt+n', run: () => navigate('/keys/new') }])
  return (
    <>
      <div class="page-head">
        <h1 class="grow">Keys{member.value && ` of ${member.value}`}</h1>
        <FilterField label="Filter keys" value={filter} change={setFilter} />
        <a class="button primary" href={hrefOf('/keys/new')}>
          New key
        </a>
      </div>
      <p class="muted">Each key is a PostgreSQL role: the database decides what it can do.</p>
      {session.value?.organization && <MemberForm />}
      <Load from={keys}>
        {(found) => (
          <>
            <OpenInvitations keys={found} reload={keys.reload} />
            <Found keys={found} filter={filter} />
          </>
        )}
      </Load>
    </>
  )
}

/** The service checks whether the user may do this and whether the member exists. */
function MemberForm() {
  const [text, setText] = useState(member.value)
  return (
    <form
      class="row"
      onSubmit={(event) => {
        event.preventDefault()
        member.value = text.trim() === session.value?.username ? '' : text.trim()
      }}
    >
      <Field label="Keys of a member" help="For owners and admins of the organization. Empty: your own keys.">
        {(props) => (
          <span class="row">
            <input
              {...props}
              autocapitalize="none"
              spellcheck={false}
              value={text}
              onInput={(event) => setText(event.currentTarget.value)}
            />
            <button type="submit">Show</button>
          </span>
        )}
      </Field>
    </form>
  )
}

function Found({ keys, filter }: Readonly<{ keys: readonly FullKeyDocument[]; filter: string }>) {
  const text = filter.trim().toLowerCase()
  const found = keys.filter(({ name }) => name.toLowerCase().includes(text))
  if (found.length === 0) return <Empty>No key name contains “{filter}”.</Empty>
  return (
    <>
      <div class="panel flush scroll-x">
        <table class="list keys-list">
          <thead>
            <tr>
              <th scope="col">Name</th>
              <th scope="col">Type</th>
              <th scope="col">Rights</th>
              <th scope="col">Last used</th>
              <th scope="col">Changed</th>
              <th scope="col">Token</th>
            </tr>
          </thead>
          <tbody>
            {found.slice(0, mostShown).map((key) => (
              <KeyLine key={key.name} of={key} />
            ))}
          </tbody>
        </table>
      </div>
      <LeftOut count={found.length - mostShown} noun="key" />
      {keys.length <= 2 && !text && (
        <Empty>
          <span>
            These two keys came with the account. <a href={hrefOf('/keys/new')}>Create a key</a> for each
            program, with only the rights it needs.
          </span>
        </Empty>
      )}
    </>
  )
}

function KeyLine({ of: key }: Readonly<{ of: FullKeyDocument }>) {
  return (
    <tr>
      <td>
        <a href={hrefOf(pathToKey(key.name))}>{key.name}</a>
      </td>
      <td>
        <TypeBadge type={key.type} />
      </td>
      <td>{summaryOf(key)}</td>
      <td title={key.last_used_at ? formatTime(key.last_used_at) : undefined}>
        {key.last_used_at ? formatAge(key.last_used_at) : 'never'}
      </td>
      <td title={formatTime(key.updated_at)}>{formatAge(key.updated_at)}</td>
      <td>
        <button
          type="button"
          aria-label={`Copy token of ${key.name}`}
          onClick={() => copyText(key.token, 'Token copied')}
        >
          Copy
        </button>
      </td>
    </tr>
  )
}
