import { useState } from 'preact/hooks'
import { hasCode } from '../../src/client/cartage-error.ts'
import { session } from '../api/session.ts'
import { hrefOf, navigate, pathTo } from '../parts/browser/route.ts'
import { useCommands } from '../parts/commands.ts'
import { copyText } from '../parts/controls/copy-button.tsx'
import { FilterField } from '../parts/controls/filter-field.tsx'
import { Load, useLoaded } from '../parts/loading.tsx'
import { Empty } from '../parts/notice.tsx'
import { listMaps, readMap, sharedAddresses, tokenOf } from './named-maps.ts'

export function MapList() {
  const maps = useLoaded(listMaps, [session.value])
  const [filter, setFilter] = useState('')
  useCommands([{ name: 'New map', keys: 'Alt+n', run: () => navigate('/maps/new') }])
  return (
    <div class="page">
      <div class="inside">
        <div class="page-head">
          <h1 class="grow">Maps</h1>
          <FilterField label="Filter maps" value={filter} change={setFilter} />
          <a class="button primary" href={hrefOf('/maps/new')}>
            New map
          </a>
        </div>
        <p class="muted">Maps that people without an account can open. Each runs as the key that made it.</p>
        {hasCode(maps.error, 'api-forbidden') ? (
          <Empty>This key cannot make maps. Sign in with a key that has maps among its APIs.</Empty>
        ) : (
          <Load from={maps}>
            {(names) =>
              names.length === 0 ? (
                <Empty>
                  <span>
                    No maps yet. <a href={hrefOf('/maps/new')}>Make one</a> from a table or a query.
                  </span>
                </Empty>
              ) : (
                <FoundMaps names={names.filter((name) => name.includes(filter.trim()))} />
              )
            }
          </Load>
        )}
      </div>
    </div>
  )
}

function FoundMaps({ names }: Readonly<{ names: readonly string[] }>) {
  if (names.length === 0) return <Empty>No map has such a name.</Empty>
  return (
    <div class="panel flush scroll-x">
      <table class="list">
        <thead>
          <tr>
            <th scope="col">Name</th>
            <th scope="col">Link</th>
          </tr>
        </thead>
        <tbody>
          {names.map((name) => (
            <tr key={name}>
              <td>
                <a href={hrefOf(pathTo('maps', 'map', name))}>{name}</a>
              </td>
              <td>
                <button type="button" aria-label={`Copy link of ${name}`} onClick={() => void copyLink(name)}>
                  Copy link
                </button>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

/** Includes its token, if it needs one. */
async function copyLink(name: string): Promise<void> {
  const { template } = await readMap(name, new AbortController().signal)
  await copyText(sharedAddresses(name, tokenOf(template)).page, 'Link copied')
}
