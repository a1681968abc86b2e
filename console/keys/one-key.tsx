import { useState } from 'preact/hooks'
import type { FullKeyDocument } from '../../src/contract/documents.ts'
import { ApiError } from '../api/api-error.ts'
import { readFullKey, timeOfKey } from '../api/keys.ts'
import { session } from '../api/session.ts'
import { hrefOf, pathTo } from '../parts/browser/route.ts'
import { formatAge, formatTime } from '../parts/format.ts'
import { summaryOf, TypeBadge } from '../parts/key-summary.tsx'
import { Load, useLoaded } from '../parts/loading.tsx'
import { Empty, ErrorNotice } from '../parts/notice.tsx'
import { DeleteKey, RegenerateToken } from './key-acts.tsx'
import { KeySettings } from './key-settings.tsx'
import { keysOf } from './member.ts'
import { InvitationPanel } from './people/invitation-panel.tsx'
import { KeyActivity } from './people/key-activity.tsx'
import { PastStatements } from './people/past-statements.tsx'
import { ProofPanel } from './proof-panel.tsx'
import { askRights } from './rights.ts'
import { mayRunSql, RightsPanel } from './rights-panel.tsx'
import { statementsFor } from './statements-for.ts'
import { TokenPanel } from './token-panel.tsx'
import { TryPanel } from './try-panel.tsx'

export function OneKey({ name }: Readonly<{ name: string }>) {
  const key = useLoaded((signal) => readFullKey(name, { ...keysOf(), signal }), [name, session.value])
  if (key.error instanceof ApiError && key.error.status === 404) return <NoSuchKey name={name} />
  return <Load from={key}>{(found) => <KnownKey of={found} reload={key.reload} />}</Load>
}

/** Also shown after another tab has deleted the key. */
function NoSuchKey({ name }: Readonly<{ name: string }>) {
  return (
    <Empty>
      <span>Key “{name}” was not found. It may have been deleted.</span>
      <a class="button" href={hrefOf('/keys')}>
        All keys
      </a>
    </Empty>
  )
}

function KnownKey({ of: key, reload }: Readonly<{ of: FullKeyDocument; reload: () => void }>) {
  const [error, setError] = useState<unknown>(undefined)
  const isAsked = mayRunSql(key)
  const rights = useLoaded(
    async (signal) => (isAsked ? askRights(key, signal) : { tables: [], schemas: [] }),
    [key.token, isAsked],
  )
  const { allowed, refused } = statementsFor(rights.value?.tables ?? [])
  return (
    <>
      <Head of={key} />
      <div class="row">
        {isAsked && (
          <a class="button" href={hrefOf(`/sql#as=${encodeURIComponent(key.name)}`)}>
            Run SQL as this key
          </a>
        )}
        {key.type === 'regular' && (
          <a class="button" href={hrefOf(pathTo('keys', key.name, 'duplicate'))}>
            Duplicate
          </a>
        )}
        {key.type === 'regular' && (
          <a class="button" href={hrefOf(pathTo('keys', key.name, 'grants'))}>
            Change grants
          </a>
        )}
        <span class="grow" />
        {key.type !== 'default' && <RegenerateToken of={key} done={reload} failed={setError} />}
        {key.type === 'regular' && <DeleteKey of={key} failed={setError} />}
      </div>
      {error !== undefined && <ErrorNotice error={error} />}
      {isAsked && rights.value && <ProofPanel of={key} allowed={allowed} refused={refused} />}
      <TokenPanel of={key} statement={allowed} />
      {key.type === 'regular' && <InvitationPanel of={key} reload={reload} />}
      <KeyActivity of={key} />
      <PastStatements key={key.name} of={key} />
      <RightsPanel of={key} rights={rights} />
      <KeySettings key={key.updated_at} of={key} reload={reload} />
      {isAsked && <TryPanel of={key} example={refused ?? allowed} />}
    </>
  )
}

function Head({ of: key }: Readonly<{ of: FullKeyDocument }>) {
  return (
    <div class="stack tight">
      <p class="small">
        <a href={hrefOf('/keys')}>Keys</a> /
      </p>
      <div class="row">
        <h1 class="name">{key.name}</h1>
        <TypeBadge type={key.type} />
      </div>
      <p class="muted">
        {summaryOf(key)}. Created {formatAge(timeOfKey(key.created_at))}, changed{' '}
        {formatAge(timeOfKey(key.updated_at))}, last used{' '}
        {key.last_used_at ? formatAge(key.last_used_at) : 'never'}
        {key.expires_at && `, expires ${formatTime(key.expires_at)}`}.
      </p>
      {key.description && <p>{key.description}</p>}
      {key.type === 'default' && <p class="muted">Requests without a token use this key.</p>}
    </div>
  )
}
