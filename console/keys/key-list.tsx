import { useState } from 'preact/hooks'
import type { KeyDocument } from '../../src/contract/documents.ts'
import { listAllKeys, timeOfKey } from '../api/keys.ts'
import { session } from '../api/session.ts'
import { useActs } from '../parts/acts.ts'
import { copyText } from '../parts/copy-button.tsx'
import { Field } from '../parts/field.tsx'
import { FilterField, LeftOut } from '../parts/filter-field.tsx'
import { formatAge, plural } from '../parts/format.ts'
import { Load, useLoaded } from '../parts/loading.tsx'
import { Empty } from '../parts/notice.tsx'
import { hrefOf, navigate } from '../parts/route.ts'
import { keysOf, member, pathToKey } from './member.ts'
import { databaseGrantOf } from './wanted-key.ts'

/** More than a person reads; the filter finds the rest. */
const mostShown = 200

export function KeyList() {
  const keys = useLoaded((signal) => listAllKeys({ ...keysOf(), signal }), [session.value, member.value])
  const [filter, setFilter] = useState('')
  useActs([{ name: 'New key', keys: 'Alt+n', run: () => navigate('/keys/new') }])
  return (
    <>
      <div class="page-head">
        <h1 class="grow">Keys{member.value && ` of ${member.value}`}</h1>
        <FilterField label="Filter the keys" value={filter} change={setFilter} />
        <a class="button primary" href={hrefOf('/keys/new')}>
          New key
        </a>
      </div>
      <p class="muted">A key is a role of PostgreSQL: the database itself decides what its token may do.</p>
      {session.value?.organization && <MemberForm />}
      <Load from={keys}>{(found) => <Found keys={found} filter={filter} />}</Load>
    </>
  )
}

/** Who may and whether there is such a member, the service says. */
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
      <Field label="Keys of a member" help="For owners and admins of the organization. Empty: your own.">
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

function Found({ keys, filter }: Readonly<{ keys: readonly KeyDocument[]; filter: string }>) {
  const text = filter.trim().toLowerCase()
  const found = keys.filter(({ name }) => name.toLowerCase().includes(text))
  if (found.length === 0) return <Empty>No key has “{filter}” in its name.</Empty>
  return (
    <>
      <div class="panel flush scroll-x">
        <table class="list keys-list">
          <thead>
            <tr>
              <th scope="col">Name</th>
              <th scope="col">Type</th>
              <th scope="col">May</th>
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
            These two came with the account. <a href={hrefOf('/keys/new')}>Make a key</a> for each program,
            with no more than it needs.
          </span>
        </Empty>
      )}
    </>
  )
}

function KeyLine({ of: key }: Readonly<{ of: KeyDocument }>) {
  return (
    <tr>
      <td>
        <a href={hrefOf(pathToKey(key.name))}>{key.name}</a>
      </td>
      <td>
        <TypeBadge type={key.type} />
      </td>
      <td>{summaryOf(key)}</td>
      <td title={key.updated_at}>{formatAge(timeOfKey(key.updated_at))}</td>
      <td>
        <button
          type="button"
          aria-label={`Copy the token of ${key.name}`}
          onClick={() => copyText(key.token, 'Token copied')}
        >
          Copy
        </button>
      </td>
    </tr>
  )
}

export function TypeBadge({ type }: Pick<KeyDocument, 'type'>) {
  const kind = { master: 'warning', default: 'info', regular: '' }[type]
  return <span class={`badge ${kind}`}>{type}</span>
}

/** In one line what a key was given. */
export function summaryOf({ type, grants }: Pick<KeyDocument, 'type' | 'grants'>): string {
  if (type === 'master') return 'everything, and manage keys and jobs'
  if (type === 'default') return 'read what is public'
  const { tables = [], schemas = [], table_metadata } = databaseGrantOf(grants) ?? {}
  const writable = tables.filter(({ permissions }) => permissions.some((each) => each !== 'select'))
  const names = grants.flatMap((grant) => (grant.type === 'apis' ? grant.apis : []))
  return [
    names.length === 0 ? 'no API' : names.join(', '),
    tables.length > 0 && `${plural(tables.length, 'table')}, ${writable.length || 'none'} to write`,
    schemas.length > 0 && `create in ${schemas.map(({ name }) => name).join(', ')}`,
    table_metadata && 'list tables',
    grants.flatMap((grant) => (grant.type === 'dataservices' ? grant.services : [])).join(', '),
  ]
    .filter(Boolean)
    .join(' · ')
}
