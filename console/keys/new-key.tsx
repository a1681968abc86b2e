import { useState } from 'preact/hooks'
import { maxKeyNameLength } from '../../src/contract/limits.ts'
import { schemaRightsSql, type TableRights, tableRightsSql } from '../../src/contract/rights-sql.ts'
import { ApiError } from '../api/api-error.ts'
import { curlLine } from '../api/curl.ts'
import { createKey, readKey } from '../api/keys.ts'
import { readRows } from '../api/sql.ts'
import { hrefOf, navigate } from '../parts/browser/route.ts'
import { CodeBlock } from '../parts/code-block.tsx'
import { Field } from '../parts/controls/field.tsx'
import { Load, useLoaded } from '../parts/loading.tsx'
import { ErrorNotice } from '../parts/notice.tsx'
import { toast } from '../parts/toast.tsx'
import { useWork } from '../parts/work.ts'
import { GrantsPicker } from './grants-picker.tsx'
import { keysOf, masterCredential, member, pathToKey, usernameOf } from './member.ts'
import { emptyKey, grantsOf, keyLike, type WantedKey } from './wanted-key.ts'

export function NewKey({ like = emptyKey }: Readonly<{ like?: WantedKey }>) {
  const grantable = useLoaded(readGrantable, [member.value])
  return (
    <>
      <h1>New key{member.value && ` for ${member.value}`}</h1>
      <Load from={grantable}>{(found) => <KeyForm like={like} {...found} />}</Load>
    </>
  )
}

export function DuplicateKey({ name }: Readonly<{ name: string }>) {
  const key = useLoaded((signal) => readKey(name, { ...keysOf(), signal }), [name])
  return <Load from={key}>{(found) => <NewKey like={keyLike(found)} />}</Load>
}

export type Grantable = Readonly<{ tables: readonly TableRights[]; schemas: readonly string[] }>

export async function readGrantable(signal: AbortSignal): Promise<Grantable> {
  const as = await masterCredential(signal)
  const call = { signal, as, parameters: { name: usernameOf() } }
  const [tables, schemas] = await Promise.all([
    readRows<TableRights>(tableRightsSql, call),
    readRows<{ name: string }>(schemaRightsSql, call),
  ])
  return {
    tables: tables.filter((table) =>
      [table.select, table.insert, table.update, table.delete].includes('all'),
    ),
    schemas: schemas.map(({ name }) => name),
  }
}

function KeyForm({ like, tables, schemas }: Grantable & Readonly<{ like: WantedKey }>) {
  const [wanted, change] = useState(like)
  const { isBusy, error, begin } = useWork()
  const faults = faultsOf(error)
  const body = { name: wanted.name, grants: grantsOf(wanted) }
  const submit = (event: Event) => {
    event.preventDefault()
    void begin(async () => {
      const key = await createKey(body, keysOf())
      toast(`Key ${key.name} created`)
      navigate(pathToKey(key.name))
    })
  }
  return (
    <form class="key-form" onSubmit={submit}>
      <div class="stack">
        <Field label="Name" help="For example the program that will use it." problem={faults.name}>
          {(props) => (
            <input
              {...props}
              required
              maxLength={maxKeyNameLength}
              autocomplete="off"
              value={wanted.name}
              onInput={(event) => change({ ...wanted, name: event.currentTarget.value })}
            />
          )}
        </Field>
        <GrantsPicker
          wanted={wanted}
          change={change}
          tables={tables}
          schemas={schemas}
          like={like}
          problem={faults.grants}
        />
      </div>
      <aside class="stack" aria-label="Request">
        <h2>Request</h2>
        <CodeBlock label="Request as JSON" text={JSON.stringify(body, null, 2)} />
        <CodeBlock label="Request with curl" text={curlToCreate(body)} />
        {faults.other !== undefined && <ErrorNotice error={faults.other} />}
        <div class="row">
          <button type="submit" class="primary" disabled={isBusy}>
            {isBusy ? 'Creating…' : 'Create key'}
          </button>
          <a class="button" href={hrefOf('/keys')}>
            Cancel
          </a>
        </div>
      </aside>
    </form>
  )
}

const curlToCreate = (body: unknown) =>
  curlLine('createKey', {
    username: usernameOf(),
    query: { target_user: member.value || undefined },
    json: body,
  })

type Faults = Readonly<{ name?: string; grants?: string; other?: unknown }>

/** Splits `Validation failed: Name …, Grants …` into messages for the fields. */
function faultsOf(error: unknown): Faults {
  if (error === undefined) return {}
  if (!(error instanceof ApiError) || error.status !== 422) return { other: error }
  const text = error.message.replace(/^Validation failed: /, '')
  const parts = text.split(/, (?=Name |Grants )/)
  const of = (place: string) =>
    parts
      .filter((part) => part.startsWith(`${place} `))
      .map((part) => part.slice(place.length + 1))
      .join('. ')
  const [name, grants] = [of('Name'), of('Grants')]
  return { ...(name && { name }), ...(grants && { grants }), ...(!name && !grants && { other: error }) }
}
