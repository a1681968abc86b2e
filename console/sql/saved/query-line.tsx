import type { SavedQueryDocument } from '../../../src/contract/saved-queries.ts'
import { curlLine } from '../../api/curl.ts'
import { session } from '../../api/session.ts'
import { copyText } from '../../parts/controls/copy-button.tsx'
import { formatAge, shorten } from '../../parts/format.ts'

type LineProps = Readonly<{
  query: SavedQueryDocument
  /** The part of the name that its folder already shows. */
  folder: string
  open: (query: SavedQueryDocument) => void
  insert: (query: SavedQueryDocument) => void
  remove: (name: string) => void
}>

export function QueryLine({ query, folder, open, insert, remove }: LineProps) {
  const { name, description, sql, public: isPublic, updated_at: changed } = query
  return (
    <div class="saved-query">
      <button type="button" class="quiet grow" onClick={() => open(query)}>
        <span>
          <strong>{name.slice(folder.length)}</strong> {isPublic && <span class="badge">public</span>}
          <br />
          <span class="small muted">{description || shorten(sql, 120)}</span>
        </span>
        <span class="small muted">{formatAge(changed)}</span>
      </button>
      <button
        type="button"
        class="quiet"
        aria-label={`Insert ${name}`}
        title="Insert its SQL at the cursor"
        onClick={() => insert(query)}
      >
        Insert
      </button>
      <button
        type="button"
        class="quiet"
        onClick={() => void copyText(curlOf(query), 'curl command copied, without the token')}
      >
        Copy curl
      </button>
      <button type="button" class="quiet" aria-label={`Delete ${name}`} onClick={() => remove(name)}>
        Delete
      </button>
    </div>
  )
}

const curlOf = ({ name, params }: SavedQueryDocument) =>
  curlLine('runQueryByGet', {
    username: session.value?.username ?? '',
    token: undefined,
    parameters: { query: name },
    query: Object.fromEntries(Object.keys(params).map((param) => [param, ''])),
  })
